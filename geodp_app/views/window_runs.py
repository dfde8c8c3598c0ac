"""The run behind the window: what the buttons ask of the controller, and the log of its answers.

A log belongs to one sample and one set of settings.  Pressing Run after a finished run, or after
the settings changed, begins another run, which spends its epsilon again: the count of finished
runs on the sample is kept and shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QObject, Signal

from geodp_app.document.document import Document
from geodp_app.errors import InputError
from geodp_app.examples_csv import Examples
from geodp_app.runs.protocol import Job, Progressed, Shaded, Stepped
from geodp_app.runs.run_log import RunLog, test_sample
from geodp_app.workers.run_controller import RunController
from learners.accounting import PrivacySpent
from learners.releases import Release

#: Pauses between steps, in seconds, from slow to fast.
SPEEDS = (2.0, 1.0, 0.5, 0.2, 0.0)


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
        self.spent: list[PrivacySpent] = []
        self._sample: Examples | None = None
        c = self.controller
        c.state_changed.connect(lambda _: self.changed.emit(False))
        c.preparing.connect(self._preparing)
        c.progressed.connect(self._progressed)
        c.stepped.connect(self._stepped)
        c.finished.connect(self._finished)
        c.stopped.connect(self._stopped)
        c.failed.connect(self._failed)
        c.shaded.connect(self._shaded)
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
        self.log = None
        self.changed.emit(False)

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
        if self.log is not None and self.current is None and self.busy:
            self.controller.cancel()

    def set_speed(self, index: int) -> None:
        """Pause between steps by place in SPEEDS."""
        self.controller.set_delay(SPEEDS[index])

    def adopt(self, log: RunLog | None) -> None:
        """Show a log that was read from a file."""
        self.controller.reset()
        self.log, self._sample = log, self.document.work.examples
        self.spent = []
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
        if examples is not self._sample:
            self.spent = []
        self._sample = examples
        self.document.settle()
        labels = examples.labels.astype(np.bool_)
        test = test_sample(work)
        self.log = RunLog(examples.points, labels, work.drawing.grid, work.run, test)
        self.controller.start(Job(examples.points, labels, work.drawing.grid, work.run))
        self.changed.emit(False)

    def _preparing(self) -> None:
        self.told.emit("Preparing the learner: its loops are compiled once, about a minute.")

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
        if release.privacy is not None and release.privacy.private:
            self.spent.append(release.privacy)
        self.changed.emit(False)

    def _stopped(self) -> None:
        self.told.emit("Stopped: the selection under way released nothing.")
        self.changed.emit(False)

    def _failed(self, message: str) -> None:
        self.told.emit(message)
        self.changed.emit(False)

    def _shaded(self, reply: Shaded) -> None:
        self.shaded.emit(reply)


def spent_text(runs: Sequence[PrivacySpent]) -> str:
    """What the finished runs on one sample cost together, if more than one is published."""
    if len(runs) < 2:
        return ""
    epsilon, delta = sum(run.epsilon for run in runs), sum(run.delta for run in runs)
    return f"{len(runs)} runs on this sample: ε = {epsilon:g}, δ = {delta:g} if all are published"
