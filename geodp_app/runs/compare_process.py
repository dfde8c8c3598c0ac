"""The process in which the window compares learners: one comparison, then it ends.

It reads a :class:`CompareJob` and answers with :class:`Told` any number of times, a
:class:`~geodp_app.runs.comparison.Row` for each learner, and as
:mod:`geodp_app.runs.task_process` says at the end.

:mod:`geodp_app.runs.learner_process` says why learners have processes of their own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from geodp_app.document.examples import Examples
from geodp_app.errors import InputError
from geodp_app.runs import messages
from geodp_app.runs.comparison import Contender, Progress, compare, hold_out
from geodp_app.runs.learner_process import REPORT_EVERY
from geodp_app.runs.task_process import run_task

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Without test examples, each example is held out with this probability.
HELD_OUT = 0.2


@dataclass(frozen=True, slots=True)
class CompareJob:
    """A comparison to be made.  Private: it holds the examples.

    Attributes
    ----------
    examples : Examples
    test : Examples or None
        None to hold out some of the examples.
    contenders : tuple of Contender
    seed : int or None
        Of what is held out.
    """

    examples: Examples
    test: Examples | None
    contenders: tuple[Contender, ...]
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """How far it is.

    Attributes
    ----------
    progress : Progress
    preparing : bool
        The learners are being tried on a made-up sample, which compiles their loops.
    """

    progress: Progress
    preparing: bool


def main(pipe: Connection[Any, Any]) -> None:
    """Compare once: the process's entry."""
    run_task(pipe, _compare, "The comparison failed")


def _compare(pipe: Connection[Any, Any], job: CompareJob) -> None:
    examples, test = job.examples, job.test
    if test is None:
        examples, test = hold_out(examples, HELD_OUT, job.seed)
        if not (len(examples.labels) and len(test.labels)):
            raise InputError(f"{len(job.examples.labels)} examples are too few to hold some out")
    teller = _Teller(pipe)
    rows = compare(examples, test, job.contenders, teller.tell)
    teller.preparing = False
    for row in rows:
        messages.send(pipe, row)


class _Teller:
    """Tells the owner where the comparison is, not too often."""

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        self._pipe = pipe
        self._last: Progress | None = None
        self._when = 0.0
        self.preparing = True

    def tell(self, progress: Progress) -> None:
        """The watch of a comparison."""
        now = time.monotonic()
        news = self._last is None or self._last.name != progress.name
        if progress != self._last and (news or now - self._when >= REPORT_EVERY):
            self._last, self._when = progress, now
            messages.send(self._pipe, Told(progress, self.preparing))
