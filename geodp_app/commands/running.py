"""Runs a learner for a command, step by step, with a progress bar at the terminal.

`geodp learn --ask` goes on after a run by votes of models: it labels public points one by one.
The learner keeps some of its halts and half of its queries for them; run and questions together
have one budget and one statement (docs/privacy.md, lemma S6).  What is asked and answered is
published: it goes to standard output, what is said besides to standard error.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp_app.document.examples import Examples, Frame
from geodp_app.errors import InputError, refusals
from geodp_app.progress import ProgressBar, telling_of_compiling
from geodp_app.tables.counts import TableCounts
from geometry.grid import BoundsError, GridMap
from learners.core.records import StepRecord
from learners.core.selection import SelectionProgress
from learners.declaration import Learner
from learners.privacy.accounting import PrivacySpent

if TYPE_CHECKING:
    from learners.stability.stability_learner import StabilityLearner


def fit_learner(
    learner: Learner,
    sample: Examples | TableCounts,
    parameters: dict[str, Any],
    *,
    quiet: bool,
    progress: bool = False,
    before: Callable[[PrivacySpent | None], None] = lambda plan: None,
) -> tuple[Any, list[StepRecord]]:
    """Run a learner to its end; what it warns of at the start is told in one line each.

    Raises InputError if the learner refuses a parameter.  Returns the estimator, fitted, and its
    records.

    Parameters
    ----------
    parameters : dict
        Of the learner, without ``grid``.
    quiet : bool
        Show no progress bar and no warnings.
    progress : bool
        Show lines instead of the bar, for a program that reads them.
    before : callable
        Called with what the run will spend before anything is drawn; what it raises ends the run.

    """
    bar = ProgressBar(quiet=quiet, lines=progress)
    records: list[StepRecord] = []

    def show(selection: SelectionProgress | None = None) -> None:
        total = records[-1].steps if records else None
        text = f"step {len(records) + 1}" + (f" of {total}" if total else "")
        if selection is not None and not progress:  # a private figure: for a terminal alone
            text += f", {selection.trials:,} trials"
        bar.update(len(records) / total if total else 0.0, text)

    # boxes are not looked up for nobody
    watch = show if bar.seen else None
    model = learner.build(grid=sample.frame.d, **parameters)
    with bar, telling_of_compiling(bar):
        bar.update(0.0, "planning")  # takes seconds for thousands of steps
        with refusals():
            before(model.plan())
            with warnings.catch_warnings(action="always", record=True) as warned:
                if isinstance(sample, TableCounts):
                    stream: Iterator[StepRecord] = model.steps_counts(sample.counts, watch=watch)
                else:
                    stream = model.steps(sample.points, sample.labels, watch=watch)
        if not quiet:
            sys.stderr.writelines(f"geodp: warning: {one.message}\n" for one in warned)
        show()
        for record in stream:
            records.append(record)
            if record.step < record.steps:
                show()
    return model, records


#: What stands for no answer.
NO_ANSWER = "?"


def answer_questions(
    model: StabilityLearner, frame: Frame, lines: Iterable[str], *, quiet: bool
) -> None:
    """Label points, a line each, until there are no more lines, halts or queries.

    Parameters
    ----------
    model : StabilityLearner
        Fitted, with something kept for questions.
    frame : Frame
        With bounds, points are lon,lat in degrees; else x,y in grid units.
    lines : iterable of str
        Two numbers each, with a comma between them; a line that is none is told, and asks nothing.
    quiet : bool
        Say nothing but answers.
    """
    where = "x,y" if frame.bounds is None else "lon,lat"
    queries = model.private_models_.queries

    def tell(text: str) -> None:
        if not quiet:
            print(f"geodp: {text}", file=sys.stderr, flush=True)

    tell(
        f"points to be labelled, {where}, a line each: {queries.queries_left:,} at most, until "
        f"{queries.halts_left:,} of them have no answer ({NO_ANSWER})"
    )
    for number, line in enumerate(until_cancelled(lines), start=1):
        if not line.strip():
            continue
        try:
            (record,) = model.ask([_point(line, frame)])
        except ValueError as error:
            tell(f"line {number}: {error}; give {where}")
            continue
        value = record.release.value
        answer = NO_ANSWER if value is None else str(value)
        print(f"{','.join(part.strip() for part in line.split(','))},{answer}", flush=True)
        if not record.release.halts_left or not record.release.queries_left:
            what = "points may have no answer" if record.release.queries_left else "points"
            tell(f"no more {what}: the budget is used up")
            return


def until_cancelled(lines: Iterable[str]) -> Iterator[str]:
    """The lines until there are no more; Ctrl+C ends them, too, for the shape is written.  Raises
    InputError if they are no text."""
    try:
        yield from lines
    except KeyboardInterrupt:
        return
    except UnicodeDecodeError:
        raise InputError("standard input: is not text; give points, a line each") from None


def _point(line: str, frame: Frame) -> tuple[int, int]:
    """The grid point of a line; ValueError if it is not two numbers, or they lie elsewhere."""
    read = int if frame.bounds is None else float
    try:
        x, y = (read(part) for part in line.split(","))
    except ValueError:
        what = "whole numbers" if frame.bounds is None else "numbers"
        raise ValueError(f"{line.strip()!r} is not two {what} with a comma between them") from None
    if frame.bounds is None:
        if not (0 <= x <= frame.d and 0 <= y <= frame.d):
            raise ValueError(f"{line.strip()} is off the grid 0..{frame.d}")
        return int(x), int(y)
    try:
        spot = GridMap(frame.d, frame.bounds).to_grid(np.array([[x, y]]))
    except BoundsError:
        raise ValueError(f"{line.strip()} is outside the bounds") from None
    return int(spot[0, 0]), int(spot[0, 1])
