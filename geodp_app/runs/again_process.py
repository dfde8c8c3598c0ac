"""The process in which the same learner runs again and again on the same examples.

It reads an :class:`AgainJob` and answers with :class:`AgainBegun` and :class:`AgainShape` for each
run, and as :mod:`geodp_app.runs.task_process` says at the end.

A private learner's shape is one draw of many: that is what the runs show.  Every one of them
spends its own epsilon, so this is for simulated examples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shapely.geometry.base import BaseGeometry

from geodp_app.runs import messages
from geodp_app.runs.learner_process import make_learner
from geodp_app.runs.protocol import Job
from geodp_app.runs.task_process import run_task
from learners.accounting import PrivacySpent

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from learners.estimator import Estimator


@dataclass(frozen=True, slots=True)
class AgainJob:
    """Runs to be made.  Private: it holds the examples.

    Attributes
    ----------
    job : Job
        A seed of its settings is the first run's; the others take the next ones.
    times : int
    """

    job: Job
    times: int


@dataclass(frozen=True, slots=True)
class AgainBegun:
    """A run has begun.

    Attributes
    ----------
    number : int
        From 1.
    plan : PrivacySpent or None
        What it will spend; None for a learner that is not private.
    """

    number: int
    plan: PrivacySpent | None


@dataclass(frozen=True, slots=True)
class AgainShape:
    """What a run learned: `number` from 1, and its shape in grid units."""

    number: int
    shape: BaseGeometry


def main(pipe: Connection[Any, Any]) -> None:
    """Run again and again: the process's entry."""
    run_task(pipe, run_again, "The runs have stopped")


def run_again(pipe: Connection[Any, Any], asked: AgainJob) -> None:
    """Make the runs, one after the other."""
    for number in range(1, asked.times + 1):
        learner = make_again(asked.job, number)
        messages.send(pipe, AgainBegun(number, learner.plan()))
        learner.fit(asked.job.points, asked.job.labels)
        messages.send(pipe, AgainShape(number, learner.release_.shape()))


def make_again(job: Job, number: int) -> Estimator:
    """The learner of the run of that number, not yet fitted."""
    settings = job.settings
    if settings.seed is not None:
        settings = replace(settings, seed=settings.seed + number - 1)
    return make_learner(settings, job.grid)
