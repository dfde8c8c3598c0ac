"""A fold: a line to press, and what it opens."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSizePolicy, QToolButton, QVBoxLayout, QWidget


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
