"""Asking about points after a run by votes: where, what was answered, and what is left.

The answer, and what is left of the halts, are released; the votes are not.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from geodp_app.drawing.editor import Editor
from geodp_app.files.run_record import Point, Question
from geodp_app.runs.protocol import Queried
from geodp_app.runs.questions import halts_left, refusal
from geodp_app.runs.run_log import RunLog
from geodp_app.views.run.window_runs import WindowRuns
from geodp_app.views.widgets.number_fields import WholeField
from geodp_app.views.widgets.panes import PrivateMark, card_column, dressed, fill, sentences
from geometry.halfplane import MAX_D

#: What the theorem asks of whoever asks.
_RULE = "The points that you ask about are published: choose them by what is released alone."


class QueryCard(QFrame):
    """Fields for a point, and the newest answer; hidden while no run by votes is there."""

    #: The point (x, y) to ask about.
    asked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._release = False
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

    def show_run(self, log: RunLog | None, refusal: str) -> None:
        """Follow a run by votes, else hide; `refusal`: why nothing can be asked, if so."""
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
        shown = newest is not None and bool(newest.votes) and not self._release
        self.votes.setVisible(shown)
        self.mark.setVisible(shown)
        _say(self.left, refusal or f"Halts left: {halts_left(log)}")
        self.rule.setVisible(not refusal)

    def _ask(self) -> None:
        self.asked.emit((self.x_field.value(), self.y_field.value()))

    def set_release_view(self, release: bool) -> None:
        """Whether votes may be shown; takes effect when the run is shown next."""
        self._release = release


def _say(label: QLabel, text: str) -> None:
    """To those who see the window, and to those who hear it."""
    label.setText(text)
    label.setAccessibleDescription(text)


class WindowQuestions(QObject):
    """Asks, also by the editor's ask tool, and keeps the card up to date."""

    def __init__(
        self, card: QueryCard, runs: WindowRuns, editor: Editor, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.card = card
        self._runs = runs
        self.card.asked.connect(self.ask)
        editor.on_ask(self.ask)
        runs.changed.connect(lambda _: self._follow())
        runs.document.subscribe(self._follow)
        runs.controller.queried.connect(self._queried)

    @property
    def refusal(self) -> str:
        """Why no point can be asked about now, in a sentence; empty if one can."""
        return refusal(self._runs.current, self._runs.controller.state == "finished")

    def set_release_view(self, release: bool) -> None:
        """Whether votes may be shown."""
        self.card.set_release_view(release)
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
        self.card.show_run(log if by_votes else None, self.refusal)
