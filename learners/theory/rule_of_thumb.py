"""What a run is likely to reach in practice: what was measured, not a bound.

The theorems hold for every shape and sample and are far from what runs do; by tiles nothing is
proved of the error at all.  So runs were measured (benchmarks/practice.py): for a kind of runs, n
and epsilon, the range in which nine of ten errors lay.  Between what was measured its ends are
interpolated, log error over log n and log epsilon; beyond, nothing is said but what was measured
otherwise (:func:`means_of`).

Measured with all labels right, on a grid of d = 1024, delta = 1e-6 and the learners' defaults,
neighbours add or remove one example.  Replacing one runs at epsilon / 2, and is read there.

Too few examples are hopeless: two of three runs that were measured with so many, or with more and
a larger epsilon, were about as wrong as one label for all points.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from geometry.halfplane import Measure
from learners.core.checks import within_floats
from learners.privacy.accounting import LEAST_DELTA, Neighbours, check_budget, inner_budget
from learners.theory.practice_table import EPSILONS, MEANS, RANGES, Means

#: Kinds of runs: by tiles on shapes of few edges, and on outlines with many bends; convex polygons
#: by tiles; a cover by one triangle; a convex polygon as a cover by k halfplanes.  Covers by more
#: triangles are not here: some of their runs do not end within an hour (docs/accuracy.md).
Kind = Literal["few-edges", "outlines", "convex", "one-triangle", "halfplanes"]

#: Learners of these.
MeasuredLearner = Literal["tiles", "convex", "cover", "convex-cover"]

#: Grids that were tried; on coarser ones runs can be much better.
LEAST_GRID, MOST_GRID = 256, 16_384

#: Edges of covers by halfplanes that were measured.
_HALFPLANES = range(3, 9)

#: Of covers; runs by tiles know neither.
_DELTA, _BETA = 1e-6, 0.1


class NotMeasuredError(ValueError):
    """No runs with such settings were measured; says which were."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Public settings of a run that is to be estimated, named as the learners name them.

    Attributes
    ----------
    learner : {"tiles", "convex", "cover", "convex-cover"}
    epsilon, delta, neighbours, measure, grid :
        As the learner's.
    k, n_steps, beta :
        Of a cover.
    """

    learner: MeasuredLearner
    epsilon: float
    delta: float = _DELTA
    neighbours: Neighbours = "add-remove"
    measure: Measure = "chord"
    grid: int = 1024
    k: int | None = None
    n_steps: int | None = None
    beta: float = _BETA


class ErrorRange(NamedTuple):
    """Errors on new points, 0..1, that nine runs of ten lie between."""

    least: float
    largest: float


class ExamplesRange(NamedTuple):
    """Examples for an error, by the ends of its range; None for more than were measured."""

    least: int | None
    most: int | None


def kinds_of(settings: Settings) -> tuple[Kind, ...]:
    """The kinds of runs that were measured with such settings, never none.

    Raises
    ------
    NotMeasuredError
        If there are none.
    ValueError
        If epsilon and delta state no guarantee.
    """
    check_budget(settings.epsilon, settings.delta)
    if settings.measure != "chord":
        raise NotMeasuredError("only runs with the chord measure were measured")
    if not LEAST_GRID <= settings.grid <= MOST_GRID:
        raise NotMeasuredError(f"only grids from d = {LEAST_GRID:,} to {MOST_GRID:,} were tried")
    k = settings.k
    if settings.learner == "tiles":
        return ("few-edges", "outlines")
    if settings.learner == "convex":
        return ("convex",)
    if (settings.delta, settings.beta, settings.n_steps) != (_DELTA, _BETA, None):
        raise NotMeasuredError(
            f"covers were measured with delta = {_DELTA:g}, beta = {_BETA:g} and the default steps"
        )
    if settings.learner == "cover" and k == 1:
        return ("one-triangle",)
    if settings.learner == "convex-cover" and k in _HALFPLANES:
        return ("halfplanes",)
    named = "k = 1 triangle"
    if settings.learner == "convex-cover":
        named = f"k = {_HALFPLANES[0]} to {_HALFPLANES[-1]} edges"
    raise NotMeasuredError(f"covers were measured with {named}")


def means_of(learner: str, finish: str | None = None, k: int = 0) -> tuple[Means, ...]:
    """What was measured of runs that have no range; k is 0 where a run is not told it."""
    return tuple(
        one
        for one in MEANS
        if one.learner == learner and one.finish in ("any", finish)
        and one.least_k <= k <= one.most_k
    )  # fmt: skip


@within_floats
def expected_error(kind: Kind, settings: Settings, examples: int) -> ErrorRange | None:
    """Errors that runs of a kind reach with so many examples; None where it is hopeless.

    Raises
    ------
    NotMeasuredError
        If so many examples, or such an epsilon, were not measured.
    ValueError
        If epsilon states no guarantee.
    """
    epsilon = _inner(settings)
    if examples <= _hopeless(kind, epsilon):
        return None
    sizes = RANGES[kind].sizes
    _check_epsilon(settings)
    if not sizes[0] <= examples <= sizes[-1]:
        raise NotMeasuredError(
            f"n was measured from {sizes[0]:,} to {sizes[-1]:,}, not at {examples:,}"
        )
    return _range(kind, epsilon, examples)


@within_floats
def examples_for(kind: Kind, settings: Settings, error: float) -> ExamplesRange:
    """Examples from which on the ends of the range of a kind reach an error, in (0, 1).

    Raises
    ------
    NotMeasuredError
        If such an epsilon was not measured.
    ValueError
        If epsilon states no guarantee.
    """
    epsilon = _inner(settings)
    _check_epsilon(settings)
    sizes = RANGES[kind].sizes
    candidates = range(max(sizes[0], _hopeless(kind, epsilon) + 1), sizes[-1] + 1)

    best = bisect_left(candidates, True, key=lambda n: _range(kind, epsilon, n).least <= error)
    worst = bisect_left(candidates, True, key=lambda n: _range(kind, epsilon, n).largest <= error)
    return ExamplesRange(*(candidates[i] if i < len(candidates) else None for i in (best, worst)))


def _inner(settings: Settings) -> float:
    """epsilon of the neighbours that add or remove an example."""
    check_budget(settings.epsilon, LEAST_DELTA)
    return inner_budget(settings.epsilon, LEAST_DELTA, settings.neighbours)[0]


def _check_epsilon(settings: Settings) -> None:
    inner = _inner(settings)
    if not EPSILONS[0] <= inner <= EPSILONS[-1]:
        ratio = settings.epsilon / inner
        low, high = ratio * EPSILONS[0], ratio * EPSILONS[-1]
        raise NotMeasuredError(
            f"epsilon was measured from {low:g} to {high:g}, not at {settings.epsilon:g}"
        )


def _hopeless(kind: Kind, epsilon: float) -> int:
    """Examples up to which it is hopeless: found so with no smaller an epsilon."""
    found = RANGES[kind].hopeless
    return max((n for e, n in zip(EPSILONS, found, strict=True) if e >= epsilon), default=0)


def _range(kind: Kind, epsilon: float, examples: int) -> ErrorRange:
    """Interpolated, inside of what was measured."""
    ranges = RANGES[kind]
    row, along = _between(EPSILONS, epsilon)
    column, across = _between(ranges.sizes, examples)

    def end(table: tuple[tuple[float, ...], ...]) -> float:
        by_epsilon = [
            (1 - across) * math.log(one[column]) + across * math.log(one[column + 1])
            for one in table[row : row + 2]
        ]
        return math.exp((1 - along) * by_epsilon[0] + along * by_epsilon[1]) / 100

    return ErrorRange(end(ranges.least), end(ranges.largest))


def _between(marks: Sequence[float], value: float) -> tuple[int, float]:
    """The last mark but one that is at most the value, and the way to the next, 0..1, in logs."""
    at = min(max(bisect_left(marks, value) - 1, 0), len(marks) - 2)
    way = math.log(value / marks[at]) / math.log(marks[at + 1] / marks[at])
    return at, way
