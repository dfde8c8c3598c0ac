"""Labels of words and numbers; panes with a title, folds that open at a press, rows that fold."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)


def sentences(kind: str, text: str = "") -> QLabel:
    """Words that wrap and can be copied; `kind` is the name of their style."""
    label = QLabel(text, wordWrap=True)
    label.setObjectName(kind)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def number_label(kind: str, text: str = "") -> QLabel:
    """A number at the right that can be copied; `kind` is the name of its style."""
    label = QLabel(text, alignment=Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    label.setObjectName(kind)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


class PrivateMark(QLabel):
    """The mark on what only the curator may see."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Private data", parent)
        self.setObjectName("privateMark")
        self.setToolTip("What is shown here is not part of the release: do not publish it")
        self.setAccessibleName("This part shows private data")


class Note(QLabel):
    """One line that gives way: what does not fit ends in dots, the tool tip has all of it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("note")
        self.words = self._tip = ""
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def set_words(self, words: str, tip: str = "") -> None:
        """Another line, and what to say when it is pointed at."""
        self.words, self._tip = words, tip
        self.setAccessibleName(words)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        shown = self.fontMetrics().elidedText(self.words, Qt.TextElideMode.ElideRight, self.width())
        self.setText(shown)
        cut = "" if shown == self.words else self.words
        self.setToolTip("\n".join(part for part in (cut, self._tip) if part))


class Pane(QFrame):
    """A title, a private mark and a body."""

    def __init__(self, title: str, body: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pane")
        self.mark = PrivateMark()
        self.note = Note()
        self.heading = QLabel(title)
        self.heading.setObjectName("paneTitle")
        self.heading.setMinimumWidth(30)  # a long title gives way where the window is narrow
        self.head = QHBoxLayout()
        self.head.setContentsMargins(12, 6, 8, 4)
        self.head.setSpacing(10)
        self.head.addWidget(self.heading)
        self.head.addWidget(self.mark)
        self.head.addWidget(self.note, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self.head)
        layout.addWidget(body, 1)
        self.note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def set_private(self, private: bool) -> None:
        """Show or hide the mark."""
        self.mark.setVisible(private)


class Fold(QWidget):
    """A body that is shown when its title is pressed.

    Parameters
    ----------
    title : str
    body : QWidget
    """

    #: Whether it is open now.
    opened = Signal(bool)

    def __init__(self, title: str, body: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.button = QToolButton()
        self.button.setCheckable(True)
        self.button.setObjectName("fold")
        self.button.setText(title)
        self.button.setAccessibleName(title)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.button.toggled.connect(self._toggle)
        self.body = body
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.button)
        column.addWidget(body)
        self._toggle(False)

    def set_open(self, on: bool) -> None:
        """Open it, or close it."""
        self.button.setChecked(on)

    def _toggle(self, on: bool) -> None:
        self.button.setArrowType(Qt.ArrowType.DownArrow if on else Qt.ArrowType.RightArrow)
        self.body.setVisible(on)
        self.opened.emit(on)


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
