"""Again × 20 makes twenty runs on the same simulated examples, and outlines each on the plane.

One private shape is one draw; twenty show how far draws are apart (hypothetical outcome plots:
Hullman, Resnick and Adar, PLoS ONE 10(11), 2015).  Each run counts with the sample.
"""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Signal
from shapely.geometry.base import BaseGeometry

from geodp_app.document.document import Document
from geodp_app.document.work import RunCharge, Work
from geodp_app.formatting import counted
from geodp_app.runs.protocol import Job
from geodp_app.runs.task_process import AgainBegun, AgainJob, AgainShape, again
from geodp_app.workers.processes import OneTask

#: How many runs are made.
TIMES = 20


class Again(QObject):
    """Twenty runs and their shapes, as long as examples and settings are the same."""

    #: Shapes or state have changed.
    changed = Signal()
    #: One line for the person.
    announced = Signal(str)

    def __init__(self, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._work: Work | None = None
        self._charge: RunCharge | None = None
        self.shapes: tuple[BaseGeometry, ...] = ()
        self.controller = OneTask(again, self)
        self.controller.replied.connect(self._replied)
        self.controller.finished.connect(self.changed)
        self.controller.failed.connect(self._failed)

    @property
    def possible(self) -> bool:
        """Whether there are simulated examples: on real ones each run would spend epsilon."""
        work = self._document.work
        return work.simulated and work.examples is not None

    @property
    def words(self) -> str:
        """How far it is, or what is shown; empty for nothing."""
        made = len(self.shapes)
        if self.controller.busy:
            return f"{made} of {TIMES} runs"
        return f"{counted(made, 'run')}, one outline each" if made else ""

    def start_or_stop(self) -> None:
        """Begin twenty runs, or end those under way."""
        if self.controller.busy:
            self.controller.cancel()
            self.changed.emit()
            return
        work = self._document.work
        if not self.possible or work.examples is None:
            self.announced.emit("Again is for simulated examples: on real ones each run spends ε.")
            return
        self._work, self.shapes = work, ()
        self.controller.start(AgainJob(Job.of(work), TIMES))
        self.changed.emit()

    def follow_document(self) -> None:
        """Forget the shapes of other examples or settings."""
        was, now = self._work, self._document.work
        if was is not None and (was.examples is not now.examples or was.run != now.run):
            self.clear()

    def clear(self) -> None:
        """End the runs and forget their shapes."""
        self.controller.drop()
        self._work, self.shapes = None, ()
        self.changed.emit()

    def _replied(self, reply: AgainBegun | AgainShape) -> None:
        assert self._work is not None
        assert self._work.examples is not None
        work, examples, charge = self._work, self._work.examples, self._charge
        if isinstance(reply, AgainBegun):
            self._charge = None
            if reply.plan is not None and work.run.private:
                self._charge = RunCharge(reply.plan, finished=False)
                self._document.charge(examples, self._charge)
        else:
            if charge is not None:
                self._document.charge(examples, replace(charge, finished=True), charge)
            self.shapes = (*self.shapes, reply.shape)
            self.changed.emit()

    def _failed(self, message: str) -> None:
        self.announced.emit(message)
        self.changed.emit()
