"""Runs a learner for a command, step by step, with a progress bar at the terminal."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from geodp_app.document.examples import Examples
from geodp_app.errors import refusals
from geodp_app.progress import ProgressBar, telling_of_compiling
from geodp_app.tables.counts import TableCounts
from learners.core.records import StepRecord
from learners.core.selection import SelectionProgress
from learners.declaration import Learner
from learners.privacy.accounting import PrivacySpent


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

    Parameters
    ----------
    learner : Learner
    sample : Examples or TableCounts
    parameters : dict
        Of the learner, without ``grid``.
    quiet : bool
        Show no progress bar and no warnings.
    progress : bool
        Show lines instead of the bar, for a program that reads them.
    before : callable
        Called with what the run will spend before anything is drawn; what it raises ends the run.

    Returns
    -------
    (estimator, list of StepRecord)
        Fitted, and its records.

    Raises
    ------
    InputError
        If the learner refuses a parameter.
    """
    bar = ProgressBar(quiet=quiet, lines=progress)
    records: list[StepRecord] = []

    def show(selection: SelectionProgress | None = None) -> None:
        total = records[-1].steps if records else None
        text = f"step {len(records) + 1}" + (f" of {total}" if total else "")
        if selection is not None and not progress:  # a private figure: for a terminal alone
            text += f", {selection.trials:,} trials"
        bar.update(len(records) / total if total else 0.0, text)

    model = learner.build(grid=sample.frame.d, **parameters)
    with bar, telling_of_compiling(bar):
        bar.update(0.0, "planning")  # takes seconds for thousands of steps
        with refusals():
            before(model.plan())
            with warnings.catch_warnings(action="always", record=True) as warned:
                if isinstance(sample, TableCounts):
                    stream: Iterator[StepRecord] = model.steps_counts(sample.counts, watch=show)
                else:
                    stream = model.steps(sample.points, sample.labels, watch=show)
        if not quiet:
            sys.stderr.writelines(f"geodp: warning: {one.message}\n" for one in warned)
        show()
        for record in stream:
            records.append(record)
            if record.step < record.steps:
                show()
    return model, records
