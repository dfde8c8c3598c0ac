"""A live run is steered by the window, and knows whether what it has shown is out of date; and the
same run, made twenty times beside it.

A run that was there follows by itself when simulated examples are labelled anew or settings
change.  Imported examples are real people's: every run on them must be asked for, as it spends
epsilon again.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

from PySide6.QtCore import QObject, Signal
from shapely.geometry.base import BaseGeometry

from geodp_app.document.document import Document, same_sample
from geodp_app.document.work import RunCharge, Work
from geodp_app.files.run_record import RunRecord
from geodp_app.formatting import counted
from geodp_app.runs.protocol import Job
from geodp_app.runs.run_log import RunLog
from geodp_app.runs.task_process import AgainBegun, AgainJob, again
from geodp_app.views.widgets.tasks import OneTask

#: Milliseconds that an edit rests before a run follows that takes its time.
REST = 150
#: Milliseconds after which what is shown is out of date, though a quick run is on its way; and
#: for which one that is overtaken by a further change may go on.
OVERDUE, JUST_BEGUN = 500, 1500
#: A run by tiles of no more examples is quick: it follows a drag.
QUICK = 100_000
#: Runs kept for an undo.
MOST_KEPT = 6


class LiveRun(RunLog):
    """A run that the window steers: its log, and what it costs.

    One that is `tried` follows a drag: its examples are in the document only if the drag ends
    there.  One that is `quick` follows at full speed, whatever the pace; one that is `automatic`
    follows by itself, and nobody has pressed Run since.
    """

    def __init__(
        self,
        work: Work,
        run: RunRecord | None = None,
        *,
        tried: bool = False,
        quick: bool = False,
        automatic: bool = False,
    ) -> None:
        super().__init__(work, run)
        self.tried, self.quick, self.automatic = tried, quick, automatic
        #: Its name in the ledger that waits for its end; empty if none does.
        self.name = ""
        #: Whether its first step has begun, and whether no step of it is to come.
        self.begun, self.over = False, run is not None
        self._noted: RunCharge | None = None
        self._since = time.monotonic()

    @property
    def just_begun(self) -> bool:
        """Whether it has begun but now.  Then Run is pressed to begin one that began by itself, and
        a quick one may come to its end though something has changed: else a hand that never rests
        would never see one."""
        return time.monotonic() - self._since < JUST_BEGUN / 1000

    @property
    def charge(self) -> RunCharge | None:
        """What it spends, from its first step on."""
        if not self.begun or self.plan is None or not self.settings.private:
            return None
        return RunCharge(self.plan, finished=self.release is not None)

    def note(self, document: Document) -> None:
        """Have the document say what it spends, unless its examples are only tried."""
        charge, before = self.charge, self._noted
        if not self.tried and charge is not None and charge != before:
            self._noted = charge
            assert self.work.examples is not None  # it has begun
            document.charge(self.work.examples, charge, before)

    def related(self, work: Work) -> bool:
        """Whether the work's examples are the run's, with these labels or others."""
        mine, other = self.work.examples, work.examples
        if mine is None or other is None or not work.simulated:
            return same_sample(mine, other)
        return mine.points is other.points

    def out_of_date(self, work: Work) -> str:
        """Why its results are not those of a work with related examples; empty if they are."""
        if not same_sample(self.work.examples, work.examples):
            return "Out of date: the drawing changed"
        one, other = self.settings, work.run
        same = one.learner == other.learner and one.parameters() == other.parameters()
        return "" if same else "Out of date: the settings changed"

    def fresh(self, work: Work) -> bool:
        """Whether it is about these examples and settings."""
        return self.related(work) and not self.out_of_date(work)


class Shown(NamedTuple):
    """What the views show."""

    #: The examples, as they are labelled.
    work: Work
    log: LiveRun | None
    #: Why the log's results are of the past; empty if they are not.
    out_of_date: str = ""


def is_quick(work: Work) -> bool:
    """Whether a run is over before a hand notices."""
    few = work.examples is not None and len(work.examples.labels) <= QUICK
    return work.run.by_tiles and few


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
        """End the runs on other examples or settings, and forget their shapes."""
        was, now = self._work, self._document.work
        if was is not None and (was.examples is not now.examples or was.run != now.run):
            self.controller.drop()
            self._work, self.shapes = None, ()
            self.changed.emit()

    def _replied(self, reply: AgainBegun | BaseGeometry) -> None:
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
            self.shapes = (*self.shapes, reply)
            self.changed.emit()

    def _failed(self, message: str) -> None:
        self.announced.emit(message)
        self.changed.emit()
