"""The run behind the window: what the buttons ask of the controller, and the log of its answers.

A log belongs to one sample and one set of settings.  Pressing Run after a finished run, or after
the settings changed, begins another run, which spends its epsilon again.  What every run spends is
noted with the sample when its first step begins: one that is cancelled counts in full, as a new
run in its place is chosen by what was seen of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtCore import QObject, Signal

from geodp_app.document.charges import RunCharge, spent_words
from geodp_app.document.document import Document
from geodp_app.errors import InputError
from geodp_app.examples_csv import Examples
from geodp_app.runs.protocol import Answered, Job, Progressed, Shaded, Stepped
from geodp_app.runs.questions import Point, Question, refusal
from geodp_app.runs.run_log import RunLog, test_sample
from geodp_app.workers.run_controller import RunController
from learners.accounting import PrivacySpent
from learners.releases import Release

#: Pauses between steps, in seconds, from slow to fast.
SPEEDS = (2.0, 1.0, 0.5, 0.2, 0.0)

_CANCELLED = (
    "Cancelled: nothing is released, and the run counts in full. "
    "A new run is not covered by its own statement alone."
)
_STOPPED = "Stopped: nothing is released."


class WindowRuns(QObject):
    """Run, step, pause, back, reset, cancel; one log at a time."""

    #: The log, its cursor or the controller's state changed; True when a step has just arrived.
    changed = Signal(bool)
    #: From inside a selection.
    progressed = Signal(object)
    #: One line for the person.
    told = Signal(str)
    #: Answers about the dual plane.
    shaded = Signal(object)

    def __init__(self, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.document = document
        self.controller = RunController(self)
        self.log: RunLog | None = None
        self._sample: Examples | None = None
        #: Of the run in the log, from its first step to its end.
        self._charge: RunCharge | None = None
        c = self.controller
        c.state_changed.connect(self._state_changed)
        c.preparing.connect(self._preparing)
        c.progressed.connect(self._progressed)
        c.started.connect(self._started)
        c.stepped.connect(self._stepped)
        c.finished.connect(self._finished)
        c.stopped.connect(self._stopped)
        c.failed.connect(self._failed)
        c.shaded.connect(self._shaded)
        c.answered.connect(self._answered)
        c.prepare()

    @property
    def busy(self) -> bool:
        """Whether a run goes on by itself."""
        return self.controller.state in ("selecting", "waiting") or self.controller.pending

    @property
    def current(self) -> RunLog | None:
        """The log, if it belongs to the examples that are there now."""
        fits = self.log is not None and self._sample is self.document.work.examples
        return self.log if fits else None

    @property
    def spent_words(self) -> str:
        """What the runs on the examples cost together; empty if that is one run's own statement."""
        under_way = self._charge is not None and self.current is not None
        return spent_words(self.document.work.spent, under_way=under_way)

    def run_or_pause(self) -> None:
        """Run to the end, or pause after the step under way."""
        if self.busy:
            self.controller.pause()
        elif self._ready():
            self.controller.run()

    def step(self) -> None:
        """One step."""
        if not self.busy and self._ready():
            self.controller.step()

    def cancel(self) -> None:
        """Stop now; what the selection under way would have chosen is never known."""
        self.controller.cancel()

    def reset(self) -> None:
        """Forget the run."""
        self.controller.reset()
        self._give_up()
        self.log = None
        self.changed.emit(False)

    @property
    def refusal(self) -> str:
        """Why no point can be asked about now, in a sentence; empty if one can."""
        return refusal(self.current, self.controller.state == "finished")

    def ask(self, point: Point) -> None:
        """Ask the chunks of a run by votes for the label of a public point."""
        if why := self.refusal:
            self.told.emit(why)
        else:
            self.controller.ask(np.array([point], dtype=np.int64))

    def move_cursor(self, step: int) -> None:
        """Show the run as it was after that many steps."""
        log = self.current
        if log is not None and 0 <= step <= len(log.records) and step != log.cursor:
            log.cursor = step
            self.changed.emit(False)

    def walk(self, by: int) -> None:
        """Go back or forward through the steps."""
        if self.current is not None:
            self.move_cursor(self.current.cursor + by)

    def follow_document(self) -> None:
        """End a run whose examples are gone; an undo brings its steps back."""
        if self.log is None or self.current is not None:
            return
        if self.busy:
            self.controller.cancel()
        elif self.controller.state == "failed":
            self.controller.reset()  # nothing is left of what failed

    def set_speed(self, index: int) -> None:
        """Pause between steps by place in SPEEDS."""
        self.controller.set_delay(SPEEDS[index])

    def adopt(self, log: RunLog | None) -> None:
        """Show a log that was read from a file."""
        self.controller.reset()
        self._give_up()
        self.log, self._sample = log, self.document.work.examples
        self.changed.emit(False)

    def close(self) -> None:
        """End the learner's process."""
        self.controller.close()

    def _ready(self) -> bool:
        """Have a run that can go on, beginning one if need be; False when there can be none."""
        log = self.current
        state = self.controller.state
        unfinished = log is not None and log.release is None and state == "paused"
        if unfinished and log is not None and log.settings == self.document.work.run:
            log.cursor = len(log.records)
            return True
        try:
            if self.document.work.examples is None:
                self.document.sample()
        except InputError as error:
            self.told.emit(str(error))
            return False
        self._begin()
        return True

    def _begin(self) -> None:
        work = self.document.work
        examples = work.examples
        assert examples is not None  # sampled just now, or imported
        self._give_up()
        self._sample = examples
        self.document.settle()
        labels = examples.labels.astype(np.bool_)
        test = test_sample(work)
        self.log = RunLog(examples.points, labels, work.drawing.grid, work.run, test)
        self.controller.start(Job(examples.points, labels, work.drawing.grid, work.run))
        self.changed.emit(False)

    def _state_changed(self, state: str) -> None:
        if state == "selecting":
            self._charge_run()
        self.changed.emit(False)

    def _charge_run(self) -> None:
        """Note what the run spends: its first step begins."""
        log, sample = self.log, self._sample
        if log is None or sample is None or log.records or self._charge is not None:
            return
        stated = log.privacy if log.settings.private else None
        if stated is not None:
            s = log.settings
            self._charge = RunCharge(stated.epsilon, stated.delta, s.neighbours, finished=False)
            self.document.charge(sample, self._charge)

    def _preparing(self) -> None:
        self.told.emit("Preparing the learner: its loops are compiled once, about a minute.")

    def _started(self, plan: PrivacySpent | None) -> None:
        if self.log is not None:
            self.log.plan = plan

    def _progressed(self, reply: Progressed) -> None:
        self.progressed.emit(reply)

    def _stepped(self, reply: Stepped) -> None:
        if self.log is None:
            return
        follows = self.log.cursor == len(self.log.records)
        self.log.add(reply.record, reply.views)
        self.log.votes = reply.votes
        if follows:
            self.log.cursor = len(self.log.records)
        self.changed.emit(True)

    def _finished(self, release: Release) -> None:
        if self.log is None:
            return
        self.log.finish(release)
        begun, self._charge = self._charge, None
        if begun is not None and self._sample is not None:
            self.document.charge(self._sample, replace(begun, finished=True), begun)
        self.changed.emit(False)

    def _stopped(self) -> None:
        if self._charge is None:
            self.told.emit(_STOPPED)
        self._give_up()
        self.changed.emit(False)

    def _give_up(self) -> None:
        """The run under way, if there is one, will not come to its end: say what that means."""
        if self._charge is not None:
            self._charge = None
            self.told.emit(_CANCELLED)

    def _failed(self, message: str) -> None:
        if self.controller.state not in ("paused", "waiting", "selecting"):
            self._charge = None  # the run has ended; it was begun, and counts
        self.told.emit(message)
        self.changed.emit(False)

    def _answered(self, reply: Answered) -> None:
        log = self.log
        if log is None:
            return
        for (x, y), record in zip(reply.points.tolist(), reply.records, strict=False):
            # what was asked before it was known that the halts are used up has no answer
            if record.release.status != "halted":
                log.questions.append(Question((x, y), record.release, record.diagnostics))
                self.told.emit(f"({x}, {y}): {log.questions[-1].answer}. {self.refusal}".rstrip())
        if reply.refused:
            self.told.emit(f"The point cannot be asked about: {reply.refused}.")
        self.changed.emit(False)

    def _shaded(self, reply: Shaded) -> None:
        self.shaded.emit(reply)
