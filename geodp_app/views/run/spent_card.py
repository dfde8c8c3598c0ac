"""What all runs on the sample cost together: shown where one run's own statement does not tell all.

Private: that a run was cancelled, or made again, may depend on the examples.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from geodp_app.views.widgets.panes import PrivateMark

#: Below the sum, which is right only if this is kept.
_RULE = "What to publish must not depend on a run's time or on private figures: no ε covers that."


class SpentCard(QFrame):
    """A sum in words, wrapped to any width; hidden when there is nothing to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.setProperty("private", True)
        self._release = False
        title = QLabel("Runs so far")
        title.setObjectName("cardTitle")
        self.words, self.rule = QLabel(), QLabel(_RULE)
        self.words.setAccessibleName("Runs on this sample")
        self.rule.setObjectName("note")
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(title, 1)
        head.addWidget(PrivateMark())
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 10)
        column.setSpacing(4)
        column.addLayout(head)
        for label in (self.words, self.rule):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            column.addWidget(label)
        self.hide()

    def set_words(self, words: str) -> None:
        """The sum; empty to say nothing."""
        self.words.setText(words)
        self._show()

    def set_release_view(self, release: bool) -> None:
        """Hide it, or show it."""
        self._release = release
        self._show()

    def _show(self) -> None:
        self.setVisible(bool(self.words.text()) and not self._release)
