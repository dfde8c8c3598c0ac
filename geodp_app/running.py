"""Running a learner at the keyboard: its stream of step records, a progress bar, its release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geodp_app.errors import InputError
from geodp_app.examples_csv import Examples
from geodp_app.progress import ProgressBar
from learners.conic_union import DiscUnionLearner, EllipseUnionLearner
from learners.convex_polygon import ConvexPolygonLearner
from learners.estimator import Estimator
from learners.polygon_union import PolygonUnionLearner
from learners.records import Release, StepRecord
from learners.selection import SelectionProgress
from learners.stability.stability_learner import StabilityLearner
from learners.threshold_learner import ThresholdLearner

_LEARNERS: dict[str, Callable[..., Estimator]] = {
    "union": PolygonUnionLearner,
    "convex": ConvexPolygonLearner,
    "threshold": ThresholdLearner,
    "stability": StabilityLearner,
    "discs": DiscUnionLearner,
    "ellipses": EllipseUnionLearner,
}


def run_learner(
    name: str, examples: Examples, parameters: dict[str, Any], *, quiet: bool
) -> tuple[Release, list[StepRecord]]:
    """Run a learner to its end.

    Parameters
    ----------
    name : {"union", "convex", "threshold", "discs", "ellipses", "stability"}
    examples : Examples
    parameters : dict
        Of the learner, without ``grid``.
    quiet : bool
        Show no progress bar.

    Raises
    ------
    InputError
        If the learner refuses a parameter.
    """
    bar = ProgressBar(quiet=quiet)
    records: list[StepRecord] = []

    def show(progress: SelectionProgress | None = None) -> None:
        total = records[-1].steps if records else None
        text = f"step {len(records) + 1}" + (f" of {total}" if total else "")
        if progress is not None:
            text += f", {progress.trials:,} trials"
        bar.update(len(records) / total if total else 0.0, text)

    model = _LEARNERS[name](grid=examples.frame.d, **parameters)
    try:
        stream = model.steps(examples.points, examples.labels, watch=show)
    except ValueError as error:
        raise InputError(str(error)) from None
    with bar:
        show()
        for record in stream:
            records.append(record)
            if record.step < record.steps:
                show()
    return model.release_, records
