"""What a run is about, and whether what it has shown is out of date.

A run that was there follows by itself when simulated examples are labelled anew or settings
change.  Imported examples are real people's: every run on them must be asked for, as it spends
epsilon again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

from geodp_app.document.charges import RunCharge
from geodp_app.document.document import Document, same_sample
from geodp_app.document.work import RunSettings, Work
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


@dataclass(slots=True, eq=False)
class LoggedRun:
    """A run, what it is about, and what it costs.

    Attributes
    ----------
    work : Work
        The examples, the drawing that labels them, and the settings.
    log : RunLog
    tried : bool
        It follows a drag: its examples are in the document only if the drag ends there.
    name : str
        Its name in a ledger; empty as long as it is in none.
    charge, noted : RunCharge or None
        What it spends, from its first step on, and what the document says of it.
    entered : bool
        It is in a ledger, which has not been told of its end.
    over : bool
        No step of it is to come.
    quick : bool
        It follows at full speed, whatever the pace.
    automatic : bool
        It follows by itself, and nobody has pressed Run since.
    begun : float
        When, in seconds.
    """

    work: Work
    log: RunLog
    tried: bool = False
    name: str = ""
    charge: RunCharge | None = None
    noted: RunCharge | None = None
    entered: bool = False
    over: bool = False
    quick: bool = False
    automatic: bool = False
    begun: float = field(default_factory=time.monotonic)

    @property
    def just_begun(self) -> bool:
        """Whether it may come to its end though something has changed: else a hand that never
        rests would never see one."""
        return self.quick and time.monotonic() - self.begun < YOUNG / 1000

    @property
    def hardly_seen(self) -> bool:
        """Whether it has begun by itself so lately that Run is pressed to begin it."""
        return self.automatic and time.monotonic() - self.begun < YOUNG / 1000

    def begin(self, document: Document) -> None:
        """Note what it spends, once: its first step begins."""
        s, stated = self.log.settings, self.log.privacy
        if self.charge is None and stated is not None and s.private and not self.log.records:
            self.charge = RunCharge(stated, finished=False)
            self.note(document)

    def note(self, document: Document) -> None:
        """Have the document say what it spends, unless its examples are only tried."""
        if not self.tried and self.charge is not None and self.charge is not self.noted:
            before, self.noted = self.noted, self.charge
            assert self.work.examples is not None  # it has begun
            document.charge(self.work.examples, self.charge, before)

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
        return "" if _same(self.log.settings, work.run) else "Out of date: the settings changed"

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
