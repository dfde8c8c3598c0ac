"""One report and what it changes in a step, in words.  Private."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from geodp_app.document.examples import Examples
from geodp_app.formatting import amount
from geodp_app.runs.protocol import Change, WhyNone
from learners.privacy.accounting import PrivacySpent

_NOTHING: dict[WhyNone, str] = {
    "decided": "An earlier step has decided it, so it changes nothing in this step.",
    "outside": (
        "It lies outside the edges that are held fixed, so it changes nothing for this edge: "
        "choose another one."
    ),
    "elsewhere": "It lies in another tile, so it changes nothing in this one.",
}


@dataclass(frozen=True, slots=True)
class OneReport:
    """An example of the sample, or one that is put there.

    Attributes
    ----------
    point : (int, int)
        Grid units.
    label : bool
    present : bool
        Whether it is in the sample.
    """

    point: tuple[int, int]
    label: bool
    present: bool

    @property
    def words(self) -> str:
        """Say the report's label, where it is, and whether the sample holds it."""
        label, (x, y) = "positive" if self.label else "negative", self.point
        where = f"at ({x}, {y})"
        if self.present:
            return f"A {label} report {where}, one of the sample."
        return f"A {label} report {where}, put there: it is not in the sample."


def find_report(
    examples: Examples, point: tuple[int, int], radius: float, label: bool
) -> OneReport:
    """The example nearest to a place within a radius, else a new one there with this label."""
    if len(examples.points):
        gaps = np.hypot(*(examples.points - np.array(point)).T)
        nearest = int(np.argmin(gaps))
        if gaps[nearest] <= radius:
            x, y = examples.points[nearest].tolist()
            return OneReport((x, y), bool(examples.labels[nearest]), present=True)
    return OneReport(point, label, present=False)


def change_words(change: Change, eta: float, spent: PrivacySpent | None) -> str:
    """What the report changes here, and how much it can change at most."""
    most = f"at most {_times(eta)} in the whole step (η = {amount(eta)})"
    run = ""
    if spent is not None and not spent.private:
        run = " The run is seeded and can be repeated: it promises nothing."
    elif spent is not None:
        but = f", but for a probability of δ = {amount(spent.delta)}" if spent.delta else ""
        most_of_run = f"{_times(spent.epsilon)} (ε = {amount(spent.epsilon)})"
        run = f" In the whole run: at most {most_of_run}{but}."
    if change.why_none is not None:
        return f"{_NOTHING[change.why_none]} Any report could change a probability {most}.{run}"
    here = "more" if change.chosen >= 0 else "less"
    about = "about " if change.error else ""
    return (
        f"With it the edge that was chosen is {about}{_times(abs(change.chosen))} {here} likely; "
        f"any other, {about}{_times(change.largest)} more or less at most. One report can change "
        f"a probability {most}.{run}"
    )


def _times(log_ratio: float) -> str:
    """e to the power, with as many digits as tell it from 1."""
    if log_ratio > 50:
        return f"e^{amount(log_ratio)} times"
    factor = math.exp(log_ratio)
    digits = 3 if factor >= 1.1 or factor == 1 else 3 + math.ceil(-math.log10(factor - 1))
    return f"{amount(factor, min(digits, 8))} times"
