"""A row that folds: groups of widgets side by side if there is room, else one below the other."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLayout, QWidget

_ACROSS, _DOWN = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom


class FoldingRow(QWidget):
    """Groups of widgets in a row, or in a column as narrow as the widest of them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._row = QBoxLayout(_ACROSS, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(6)
        self._row.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        self._members: list[QWidget] = []

    def set_groups(self, *groups: QWidget, apart: bool = False) -> None:
        """What the row is made of, from left to right, once; `apart`: the last at its right end."""
        self._members = list(groups)
        for group in groups:
            self._row.addWidget(group, 0, Qt.AlignmentFlag.AlignLeft)
        self._row.insertStretch(len(groups) - apart, 1)

    @property
    def folded(self) -> bool:
        """Whether the groups are one below the other."""
        return self._row.direction() == _DOWN

    def fold(self) -> None:
        """Fold or unfold as the width asks; to be called when a group's width has changed."""
        wanted = _ACROSS if self.width() >= self._needed() else _DOWN
        if wanted != self._row.direction():
            self._row.setDirection(wanted)
            self.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width."""
        super().resizeEvent(event)
        self.fold()

    def minimumSizeHint(self) -> QSize:
        """As narrow as the widest group; as high as it is now."""
        widest = max((group.minimumSizeHint().width() for group in self._members), default=0)
        return QSize(widest, self._row.minimumSize().height())

    def sizeHint(self) -> QSize:
        """All side by side."""
        return QSize(self._needed(), self._row.sizeHint().height())

    def _needed(self) -> int:
        widths = [group.sizeHint().width() for group in self._members]
        return sum(widths) + self._row.spacing() * max(len(widths) - 1, 0)
