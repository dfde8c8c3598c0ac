"""Why the step at the cursor chose its piece and what the next one looks for, in sentences; at the
end, what the run came to and what to do with it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from geodp_app.runs.why import Why
from geodp_app.views.widgets.panes import PrivateMark, dressed, fill, scrolled, sentences

#: Said before the first step.
BEFORE = (
    "Press Run (F5), or make one step (F10): each chooses a piece by what it gets right and wrong, "
    "and here it says why that one."
)
_RELEASE = "Why a piece was chosen is private: the release view hides it."


class WhyCard(QFrame):
    """A heading, what the step did with its score spelled out, its odds, and the aim of the next
    step; at the end a summary over buttons."""

    #: A run is wanted that draws the edges of its triangles again.
    sharpen_asked = Signal()
    #: The same run is wanted once more.
    again_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pane")
        self._release = False
        self.setProperty("past", False)
        self.heading, self.mark = dressed(QLabel(), "paneTitle"), PrivateMark()
        self.what = dressed(sentences("why"), name="Why this piece")
        self.odds = dressed(sentences("note"), name="How likely a piece as good was")
        self.aim = dressed(sentences("why"), name="What the next step looks for")
        self.report = dressed(sentences("why"), name="What one report changes")
        self.buttons = QWidget()
        head = fill(QHBoxLayout(), self.heading, self.mark, None, self.buttons, spacing=6)
        body = dressed(QWidget(), "below")
        parts = (self.report, self.what, self.odds, self.aim, None)
        fill(QVBoxLayout(body), *parts, margins=(0, 0, 0, 0), spacing=4)
        self._room = _Room(body)
        tip = (
            "Run again on the same examples: triangles get 3/10 of ε, and their edges, drawn "
            "again, the rest. It spends its own ε"
        )
        self.sharpen = _button("Sharpen", tip)
        self.sharpen.clicked.connect(self.sharpen_asked)
        again = _button("Run again", "Another run, which spends ε again (F5)")
        again.clicked.connect(self.again_asked)
        fill(QHBoxLayout(self.buttons), again, self.sharpen, margins=(0, 0, 0, 0), spacing=4)
        column = (head, (self._room, 1))
        fill(QVBoxLayout(self), *column, margins=(12, 6, 6, 4), spacing=2)
        self.setMinimumSize(200, 92)
        self._at_end = False
        self.show_why("Why this piece", None)

    def set_actions(self, actions: Sequence[QAction]) -> None:
        """What can be done with a finished run, as buttons."""
        row = self.buttons.layout()
        assert isinstance(row, QHBoxLayout)
        for place, action in enumerate(actions):
            button = dressed(QToolButton(), "endButton")
            button.setDefaultAction(action)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
            row.insertWidget(place, button)

    def show_why(
        self, heading: str, why: Why | None, aim: str = "", *, at_end: bool = False
    ) -> None:
        """Another step and the aim of the next; None before the first.  Or the end of the run."""
        self._heading, self._why, self._at_end = heading, why, at_end
        self.aim.setText(aim)
        self._show()

    def set_sharpens(self, sharpens: bool) -> None:
        """Whether the run shown could be followed by one that is sharpened."""
        self.sharpen.setVisible(sharpens)

    def show_report(self, words: str) -> None:
        """What one report changes: it comes before why; empty for none."""
        self.report.setText(words)
        self._show()

    def set_release_view(self, release: bool) -> None:
        """Hide the sentences, or show them."""
        self._release = release
        self.mark.setVisible(not release)
        self._show()

    def set_past(self, past: bool) -> None:
        """Grey the sentences, or not: what they are about has changed."""
        if past != self.property("past"):
            self.setProperty("past", past)
            for label in (self.heading, self.what):
                label.style().polish(label)

    def _show(self) -> None:
        why = self._why
        if self._release and not self._at_end:
            what, odds = _RELEASE, ""
        elif why is None:
            what, odds = BEFORE, ""
        else:
            what, odds = why.what, why.odds
        self.what.setText(what)
        self.odds.setText(odds)
        looked_at = bool(self.report.text()) and not self._release
        self.report.setVisible(looked_at)
        self.what.setVisible(not looked_at)
        self.odds.setVisible(bool(odds) and not looked_at)
        self.aim.setVisible(bool(self.aim.text()) and not looked_at and not self._release)
        self.buttons.setVisible(self._at_end)
        self.heading.setText("One report" if looked_at else self._heading)
        self._room.fit()


def _button(text: str, tip: str) -> QToolButton:
    button = dressed(QToolButton(), "endButton", name=text, tip=tip)
    button.setText(text)
    return button


class _Room(QScrollArea):
    """Sentences, with a bar only where they are too long for the whole width.

    Left to itself, a bar that was there once stays: the text beside it is narrower, and so longer.
    """

    def __init__(self, body: QWidget) -> None:
        super().__init__()
        scrolled(self, body).setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._body = body

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width, other lines."""
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        """Make the card as high as its sentences need."""
        fits = self._body.heightForWidth(self.width()) <= self.height()
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAlwaysOff if fits else policy.ScrollBarAsNeeded
        )
