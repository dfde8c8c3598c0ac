"""A live run is steered by the window, and knows whether what it has shown is out of date.

A run that was there follows by itself when simulated examples are labelled anew or settings
change.  Imported examples are real people's: every run on them must be asked for, as it spends
epsilon again.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from geodp_app.document.document import Document, same_sample
from geodp_app.document.work import RunCharge, RunSettings, Work
from geodp_app.files.run_record import RunRecord
from geodp_app.runs.run_log import RunLog

#: Milliseconds that an edit rests before a run follows that takes its time.
REST = 150
#: Milliseconds after which what is shown is out of date, though a quick run is on its way; and
#: for which one that is overtaken by a further change may go on.
HURRY, YOUNG = 500, 1500
#: A run by tiles of no more examples is quick: it follows a drag.
QUICK = 100_000
#: Finished runs kept for an undo.
MOST_KEPT = 6


class LiveRun(RunLog):
    """A run that the window steers: its log, and what it costs.

    Parameters
    ----------
    work, run
        As of a :class:`RunLog`.
    tried : bool
        It follows a drag: its examples are in the document only if the drag ends there.
    quick : bool
        It follows at full speed, whatever the pace.
    automatic : bool
        It follows by itself, and nobody has pressed Run since.

    Attributes
    ----------
    name : str
        Its name in the ledger that waits for its end; empty if none does.
    begun : bool
        Its first step has begun.
    over : bool
        No step of it is to come.
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
        self.name, self.begun, self.over = "", False, run is not None
        self._noted: RunCharge | None = None
        self._since = time.monotonic()

    @property
    def just_begun(self) -> bool:
        """Whether it may come to its end though something has changed: else a hand that never
        rests would never see one."""
        return self.quick and self._young

    @property
    def hardly_seen(self) -> bool:
        """Whether it has begun by itself so lately that Run is pressed to begin it."""
        return self.automatic and self._young

    @property
    def _young(self) -> bool:
        return time.monotonic() - self._since < YOUNG / 1000

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
        if mine is None or other is None or mine is other:
            return mine is other
        return work.simulated and mine.points is other.points

    def out_of_date(self, work: Work) -> str:
        """Why its results are not those of a work with related examples; empty if they are."""
        if not same_sample(self.work.examples, work.examples):
            return "Out of date: the drawing changed"
        return "" if _same(self.settings, work.run) else "Out of date: the settings changed"

    def fresh(self, work: Work) -> bool:
        """Whether it is about these examples and settings."""
        return self.related(work) and not self.out_of_date(work)


class Shown(NamedTuple):
    """What the views show.

    Attributes
    ----------
    work : Work
        The examples, as they are labelled.
    log : RunLog or None
    out_of_date : str
        Why the log's results are of the past; empty if they are not.
    """

    work: Work
    log: RunLog | None
    out_of_date: str = ""


def is_quick(work: Work) -> bool:
    """Whether a run is over before a hand notices."""
    few = work.examples is not None and len(work.examples.labels) <= QUICK
    return work.run.by_tiles and few


def _same(one: RunSettings, other: RunSettings) -> bool:
    """Whether the learner would get the same parameters."""
    return one.learner == other.learner and one.parameters() == other.parameters()
