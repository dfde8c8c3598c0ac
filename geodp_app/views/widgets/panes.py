"""A pane: a titled frame with room for a mark and buttons in its head."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget


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
