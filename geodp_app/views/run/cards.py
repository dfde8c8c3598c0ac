"""Two cards beside a run: one explains the step that is looked at, one asks about points.

The first says why the step chose its piece and what the next one looks for, in sentences; at the
end, what the run came to and what to do with it.  The second follows a run by votes: where, what
was answered, and what is left of the halts, which are released; the votes are not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from geodp_app.actions import key
from geodp_app.drawing.editor import Editor
from geodp_app.files.run_record import Point, Question
from geodp_app.runs.protocol import Queried
from geodp_app.runs.questions import halts_left, refusal
from geodp_app.runs.run_log import RunLog
from geodp_app.views.run.window_runs import WindowRuns
from geodp_app.views.widgets.number_fields import WholeField
from geodp_app.views.widgets.panes import (
    PrivateMark,
    card_column,
    dressed,
    fill,
    scrolled,
    sentences,
    tool_button,
)
from geometry.halfplane import MAX_D

#: Said before the first step.
BEFORE = (
    f"Press Run ({key('run')}), or make one step ({key('step')}): each chooses a piece by what it "
    "gets right and wrong, and here it says why that one."
)
_RELEASE = "Why a piece was chosen is private: the release view hides it."


class WhyCard(QFrame):
    """A heading, what the step did with its score spelled out, its odds, and the aim of the next
    step; at the end a summary over buttons."""

    #: A run is wanted that draws the edges of its triangles again.
    sharpen_asked = Signal()
    #: The same run is wanted once more.
    again_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("pane")
        self._release = False
        self.setProperty("past", False)
        self.heading, self.mark = dressed(QLabel(), "paneTitle"), PrivateMark()
        self.what = dressed(sentences("why"), name="Why this piece")
        self.odds = dressed(sentences("note"), name="How likely edges as good were")
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
        #: To be shown where the run could be followed by one that is sharpened.
        self.sharpen = tool_button("Sharpen", "endButton", name="Sharpen", tip=tip)
        self.sharpen.clicked.connect(self.sharpen_asked)
        tip = f"Another run, which spends ε again ({key('run')})"
        again = tool_button("Run again", "endButton", name="Run again", tip=tip)
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
        self, heading: str, what: str | None, aim: str = "", *, odds: str = "", at_end: bool = False
    ) -> None:
        """Another step and the aim of the next; None before the first.  Or the end of the run."""
        self._heading, self._why, self._at_end = heading, (what, odds), at_end
        self.aim.setText(aim)
        self._show()

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
        what, odds = self._why
        if self._release and not self._at_end:
            what, odds = _RELEASE, ""
        what = BEFORE if what is None else what
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


class _Room(QScrollArea):
    """Sentences, with a bar only where they are too long for the whole width.

    Left to itself, a bar that was there once stays: the text beside it is narrower, and so longer.
    """

    def __init__(self, body: QWidget) -> None:
        super().__init__()
        scrolled(self, body).setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._body = body

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        """Make the card as high as its sentences need."""
        fits = self._body.heightForWidth(self.width()) <= self.height()
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAlwaysOff if fits else policy.ScrollBarAsNeeded
        )


#: What the theorem asks of whoever asks.
_RULE = "The points that you ask about are published: choose them by what is released alone."


class QueryCard(QFrame):
    """Fields for a point, and the newest answer; hidden while no run by votes is there."""

    #: The point (x, y) to ask about.
    asked = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.x_field, self.y_field = WholeField(0, MAX_D), WholeField(0, MAX_D)
        tip = "Ask for the label of this point, as a click with the ask tool does"
        self.button = dressed(QPushButton("Ask"), tip=tip)
        self.button.clicked.connect(self._ask)
        row = fill(QHBoxLayout(), spacing=6)
        for name, field in (("x", self.x_field), ("y", self.y_field)):
            label = QLabel(name)
            label.setBuddy(dressed(field, name=f"Ask about a point: {name}"))
            fill(row, label, (field, 1))
        row.addWidget(self.button)
        self.answer = dressed(sentences(""), name="Answer")
        self.left = dressed(sentences("note"), name="What is left")
        self.votes, self.mark = dressed(sentences(""), name="Votes of the chunks"), PrivateMark()
        self.rule = dressed(sentences("note", _RULE), name="What is published")
        private = fill(QHBoxLayout(), (self.votes, 1))
        private.addWidget(self.mark, 0, Qt.AlignmentFlag.AlignTop)
        column = card_column(self, QLabel("Ask about a point"), private=False, spacing=4)
        fill(column, row, self.answer, self.left, private, self.rule)
        self.hide()

    def show_run(self, log: RunLog | None, refusal: str, *, release: bool) -> None:
        """Follow a run by votes, else hide; `refusal`: why nothing can be asked, if so; in the
        `release` view without votes."""
        self.setVisible(log is not None)
        if log is None:
            return
        for field in (self.x_field, self.y_field):
            field.setMaximum(log.grid)
        self.button.setEnabled(not refusal)
        newest = log.questions[-1] if log.questions else None
        self.answer.setVisible(newest is not None)
        if newest is not None:
            x, y = newest.point
            _say(self.answer, f"({x}, {y}): {newest.answer}")
            _say(self.votes, f"Votes: {newest.votes}")
        shown = newest is not None and bool(newest.votes) and not release
        self.votes.setVisible(shown)
        self.mark.setVisible(shown)
        _say(self.left, refusal or f"Halts left: {halts_left(log)}")
        self.rule.setVisible(not refusal)

    def _ask(self) -> None:
        self.asked.emit((self.x_field.value(), self.y_field.value()))


def _say(label: QLabel, text: str) -> None:
    """To those who see the window, and to those who hear it."""
    label.setText(text)
    label.setAccessibleDescription(text)


class WindowQuestions(QObject):
    """Asks about points, also by the editor's ask tool, and keeps the card up to date."""

    def __init__(
        self, card: QueryCard, runs: WindowRuns, editor: Editor, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.card, self._runs, self._release = card, runs, False
        self.card.asked.connect(self.ask)
        editor.desk.ask = self.ask
        runs.changed.connect(lambda _: self._follow())
        runs.document.subscribe(self._follow)
        runs.controller.queried.connect(self._queried)

    @property
    def refusal(self) -> str:
        """Why no point can be asked about now, in a sentence; empty if one can."""
        return refusal(self._runs.current, self._runs.controller.state == "finished")

    def set_release_view(self, release: bool) -> None:
        """Whether votes may be shown."""
        self._release = release
        self._follow()

    def ask(self, point: Point) -> None:
        """Ask the chunks of a run by votes for the label of a public point."""
        self.card.x_field.setValue(point[0])
        self.card.y_field.setValue(point[1])
        if why := self.refusal:
            self._runs.announced.emit(why)
        else:
            self._runs.controller.query(np.array([point], dtype=np.int64))

    def _queried(self, reply: Queried) -> None:
        log, tell = self._runs.log, self._runs.announced.emit
        if log is None:
            return
        for (x, y), record in zip(reply.points.tolist(), reply.records, strict=False):
            # what was asked before it was known that the halts are used up has no answer
            if record.release.status != "halted":
                log.ask(Question((x, y), record.release, record.diagnostics))
                tell(f"({x}, {y}): {log.questions[-1].answer}. {self.refusal}".rstrip())
        if reply.refused:
            tell(f"The point cannot be asked about: {reply.refused}.")
        self._runs.changed.emit(False)

    def _follow(self) -> None:
        log = self._runs.current
        by_votes = log is not None and "votes" in log.settings.declared.shows
        self.card.show_run(log if by_votes else None, self.refusal, release=self._release)
