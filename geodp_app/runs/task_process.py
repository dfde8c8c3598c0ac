"""Runs one task in a process, which reads a job, answers as it goes along, and tells how it ended.

One runs the same learner again and again on the same examples: a private learner's shape is one
draw of many.  Every run spends its own epsilon, so this is for simulated examples.  The other
compares learners.  To cancel, end the process: an answer is there whole or not at all.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Examples, Frame
from geodp_app.runs.comparison import Contender, Progress, compare
from geodp_app.runs.learner_process import REPORT_EVERY, make_learner, prepare_process
from geodp_app.runs.process_link import receive, send
from geodp_app.runs.protocol import Job
from geodp_app.runs.rehearsal import rehearse
from geometry.errors import InputError
from learners.privacy.accounting import PrivacySpent

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from learners.core.estimator import Estimator


@dataclass(frozen=True, slots=True)
class TaskDone:
    """All answers have been sent."""


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """The task has ended before its last answer; `message` is one line for the person."""

    message: str


def run_task(
    pipe: Connection[Any, Any], work: Callable[[Connection[Any, Any], Any], None], failed: str
) -> None:
    """Do one task: what the entry of its process calls.

    `work`: called with the pipe and the job that came through it; sends its answers.  `failed`: the
    beginning of the sentence that tells of an error.
    """
    prepare_process()
    with contextlib.suppress(EOFError, OSError):  # nobody is left to answer to
        job = receive(pipe)
        try:
            work(pipe, job)
        except OSError:
            raise
        except Exception as error:
            send(pipe, TaskFailed(_in_words(error, failed)))
        else:
            send(pipe, TaskDone())
        # the owner closes the pipe when it has read everything
        receive(pipe)


def _in_words(error: Exception, failed: str) -> str:
    if isinstance(error, MemoryError):
        return f"{failed}, memory is short: use a coarser grid, fewer examples or fewer learners."
    text = " ".join(str(error).split())
    if isinstance(error, InputError | ValueError):
        return f"{failed}: {text}."
    return f"{failed}, an internal error: {type(error).__name__}: {text}"


@dataclass(frozen=True, slots=True)
class AgainJob:
    """Runs to be made.  Private: it holds the examples.

    A seed of the job's settings is the first run's; the others take the next ones.
    """

    job: Job
    times: int


@dataclass(frozen=True, slots=True)
class AgainBegun:
    """A run has begun, and what it will spend; None if that is not private."""

    plan: PrivacySpent | None


def again(pipe: Connection[Any, Any]) -> None:
    """Run again and again: the process's entry."""
    run_task(pipe, run_again, "The runs have stopped")


def run_again(pipe: Connection[Any, Any], asked: AgainJob) -> None:
    """Make the runs, one after the other: each begins, and ends with its shape in grid units."""
    for number in range(1, asked.times + 1):
        learner = make_again(asked.job, number)
        send(pipe, AgainBegun(learner.plan()))
        learner.fit(asked.job.points, asked.job.labels)
        send(pipe, learner.release_.shape())


def make_again(job: Job, number: int) -> Estimator:
    """The learner of the run of that number, not yet fitted."""
    settings = job.settings
    if settings["seed"] is not None:
        settings = settings.with_(seed=settings["seed"] + number - 1)
    return make_learner(settings, job.grid)


@dataclass(frozen=True, slots=True)
class CompareJob:
    """A comparison to be made.  Private: it holds the examples."""

    examples: Examples
    test: Examples
    contenders: tuple[Contender, ...]


@dataclass(frozen=True, slots=True)
class RehearsalJob:
    """A rehearsal to be made on what is drawn: what `rehearse` takes, and no examples."""

    shape: BaseGeometry
    frame: Frame
    contenders: tuple[Contender, ...]
    sizes: tuple[int, ...]
    how: dict[str, Any]


def compare_once(pipe: Connection[Any, Any]) -> None:
    """Compare once: the process's entry."""
    run_task(pipe, _compare, "The comparison failed")


def _compare(pipe: Connection[Any, Any], job: CompareJob | RehearsalJob) -> None:
    teller = _Teller(pipe)
    if isinstance(job, RehearsalJob):
        how = {**job.how, "watch": teller.tell_rehearsal}
        for one in rehearse(job.shape, job.frame, job.contenders, job.sizes, **how):
            send(pipe, one)
        return
    for row in compare(job.examples, job.test, job.contenders, teller.tell):
        send(pipe, row)


class _Teller:
    """Tells the owner where the task is, not too often."""

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        self._pipe = pipe
        self._last: tuple[str, object] = ("", None)
        self._when = 0.0

    def tell(self, progress: Progress) -> None:
        """The watch of a comparison."""
        self._send(progress.name, progress)

    def tell_rehearsal(self, share: float, text: str) -> None:
        """The watch of a rehearsal; the owner gets the same two."""
        self._send(text, (share, text))

    def _send(self, name: str, news: object) -> None:
        now, last = time.monotonic(), self._last
        if (name, news) != last and (name != last[0] or now - self._when >= REPORT_EVERY):
            self._last, self._when = (name, news), now
            send(self._pipe, news)
