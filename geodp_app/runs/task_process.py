"""A process for one task: it reads a job, answers as it goes along, and tells how it ended.

What is done, and what the answers are, its entry says (:mod:`geodp_app.runs.again_process`,
:mod:`geodp_app.runs.compare_process`).  To cancel, end the process: an answer is there whole or not
at all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from geodp_app.errors import InputError
from geodp_app.runs import messages
from geodp_app.runs.learner_process import settle

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


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

    Parameters
    ----------
    pipe : Connection
    work : callable
        Called with the pipe and the job that came through it; sends its answers.
    failed : str
        The beginning of the sentence that tells of an error.
    """
    settle()
    with contextlib.suppress(EOFError, OSError):  # nobody is left to answer to
        serve(pipe, work, failed)


def serve(
    pipe: Connection[Any, Any], work: Callable[[Connection[Any, Any], Any], None], failed: str
) -> None:
    """Read a job and answer it; see :func:`run_task`."""
    job = messages.receive(pipe)
    try:
        work(pipe, job)
    except OSError:
        raise
    except Exception as error:
        messages.send(pipe, TaskFailed(_in_words(error, failed)))
    else:
        messages.send(pipe, TaskDone())
    # the owner closes the pipe when it has read everything
    messages.receive(pipe)


def _in_words(error: Exception, failed: str) -> str:
    if isinstance(error, MemoryError):
        return f"{failed}, memory is short: use a coarser grid, fewer examples or fewer learners."
    text = " ".join(str(error).split())
    if isinstance(error, InputError | ValueError):
        return f"{failed}: {text}."
    return f"{failed}, an internal error: {type(error).__name__}: {text}"
