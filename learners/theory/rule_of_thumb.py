"""Estimates what a run is likely to reach in practice, by what was measured: not a bound.

The theorems hold for every shape and sample and are far from what runs do; by tiles nothing is
proved of the error at all.  So runs were measured (benchmarks/practice.py): for a kind of runs, n
and epsilon, the range in which nine of ten errors lay.  Between what was measured its ends are
interpolated, log error over log n and log epsilon; beyond, nothing is said but what was measured
otherwise (:func:`means_of`).  The tables are made from practice.csv and means.csv by
`python benchmarks/practice.py table`.

Measured with all labels right, on a grid of d = 1024, delta = 1e-6 and the learners' defaults,
neighbours add or remove one example.  Replacing one runs at epsilon / 2, and is read there.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from learners.parameters import within_floats
from learners.privacy.accounting import LEAST_DELTA, Neighbours, check_budget, inner_budget


@dataclass(frozen=True, slots=True)
class Means:
    """What was measured of runs that have no range, at epsilon = 1.

    Attributes
    ----------
    learner, finish : str
        Of the runs; "any" finish.
    ks : tuple of int
        Least and largest k of the runs; 0 of those that are not told k.
    source : str
    runs : str
        What k and which shapes.
    errors : tuple of (int, str)
        Numbers of examples, and mean errors on new points in %, or the ends of all.
    """

    learner: str
    finish: str
    ks: tuple[int, int]
    source: str
    runs: str
    errors: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Ranges:
    """Errors of one kind of runs.

    Attributes
    ----------
    learner, shapes : str
        Of the runs; {k} among the shapes is the learner's.
    ks : tuple of int
        Least and largest k of the runs; 0 of those without.
    sizes : tuple of int
        Numbers of examples.
    least, largest : tuple of tuple of float
        Errors on new points, in %, that about nine of ten other runs lie between: a row
        for each of :data:`EPSILONS`, a column for each size.
    hopeless : tuple of int
        For each epsilon, the most examples with which two runs of three learned nothing; 0 if
        there are none.
    """

    learner: str
    shapes: str
    ks: tuple[int, int]
    sizes: tuple[int, ...]
    least: tuple[tuple[float, ...], ...]
    largest: tuple[tuple[float, ...], ...]
    hopeless: tuple[int, ...]


# fmt: off
MEANS = (
    Means("cover", "any", (0, 0), "docs/accuracy.md",
        "on shapes of one to five triangles",
        ((1_000, "5.7"), (10_000, "0.97"), (100_000, "0.13"),)),
    Means("cover", "any", (0, 0), "docs/accuracy.md",
        "on outlines of many corners",
        ((10_000, "2–5"),)),
    Means("cover", "sharpen", (2, 5), "docs/accuracy.md",
        "with the right k given, on shapes of two to five triangles",
        ((1_000, "5.9"), (10_000, "0.94"), (100_000, "0.12"),)),
    Means("cover", "sharpen", (6, 1_000), "docs/accuracy.md",
        "with k = 12, on three outlines where tiles had 2–3 %",
        ((10_000, "3–8"),)),
    Means("cover", "none", (2, 5), "docs/decisions/0036-two-acts.md",
        "with k from the drawing, on three shapes of four to six triangles",
        ((10_000, "3.4"), (20_000, "2.5"), (30_000, "2.1"),)),
    Means("cover", "none", (6, 1_000), "docs/accuracy.md",
        "with k = 12 in 36 steps, on three outlines where tiles had 2–3 %",
        ((10_000, "15–19"),)),
    Means("stability", "any", (0, 0), "docs/stability.md",
        "with one halt, on one triangle",
        ((100_000, "2.0–6.4"), (1_000_000, "0.5–1.3"),)),
)

EPSILONS = (0.1, 0.3, 1, 3, 10)

RANGES = {
    "few-edges": Ranges(
        "tiles", "shapes of few edges", (0, 0),
        sizes=(30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
        least=((15.8, 15.8, 15.7, 7.67, 3.04, 1.35, 0.776, 0.212, 0.0512, 0.0176),
               (15.8, 15.6, 7.54, 3.93, 1.71, 0.67, 0.182, 0.0732, 0.0248, 0.0088),
               (12.9, 7.67, 3.75, 1.79, 0.794, 0.256, 0.0932, 0.0228, 0.0068, 0.0036),
               (8.06, 5.34, 2.19, 1.21, 0.424, 0.148, 0.06, 0.0152, 0.0036, 0.002),
               (8.06, 4.76, 2.19, 0.832, 0.388, 0.148, 0.06, 0.0152, 0.0036, 0.002)),
        largest=((90.4, 63.5, 52.4, 34.4, 14.5, 6.34, 2.79, 0.949, 0.421, 0.119),
                 (79, 46.1, 34.2, 16.8, 7.37, 2.97, 0.959, 0.275, 0.103, 0.04),
                 (52.6, 31.4, 15.5, 6.64, 3.61, 1.03, 0.447, 0.119, 0.0481, 0.0181),
                 (39.6, 19.9, 9.83, 4.25, 1.61, 0.639, 0.239, 0.119, 0.0481, 0.0119),
                 (31.3, 15.4, 7.77, 3.21, 1.5, 0.591, 0.239, 0.119, 0.0481, 0.0119)),
        hopeless=(300, 30, 30, 0, 0),
    ),
    "outlines": Ranges(
        "tiles", "outlines with many bends, such as coasts", (0, 0),
        sizes=(30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
        least=((16.2, 16.1, 13.7, 10.2, 5.78, 3.73, 2.18, 0.772, 0.321, 0.0956),
               (16.2, 16.1, 13.1, 5.84, 3.54, 2.46, 1.04, 0.342, 0.0832, 0.03),
               (16.2, 12.6, 6.28, 3.63, 2.5, 0.845, 0.381, 0.113, 0.0472, 0.0104),
               (10.6, 7.06, 4.72, 2.86, 1.26, 0.5, 0.151, 0.0628, 0.0288, 0.006),
               (9.26, 5.93, 4.14, 2.25, 1.16, 0.466, 0.151, 0.0628, 0.0236, 0.0044)),
        largest=((66.9, 49, 42.2, 34.5, 21.5, 11.2, 7.85, 2.69, 0.984, 0.545),
                 (58, 42.1, 34.4, 22.3, 11, 9.23, 2.44, 0.896, 0.394, 0.162),
                 (42.2, 34.5, 24.4, 12.5, 9.63, 2.97, 1.02, 0.454, 0.165, 0.0631),
                 (39.3, 28.8, 14.6, 9.27, 4, 1.68, 0.734, 0.242, 0.0887, 0.0344),
                 (39.3, 22.7, 14.6, 7.68, 4, 1.51, 0.734, 0.219, 0.0887, 0.0306)),
        hopeless=(300, 100, 30, 0, 0),
    ),
    "convex": Ranges(
        "convex", "convex shapes of few edges", (0, 0),
        sizes=(100, 1_000, 10_000, 100_000),
        least=((20.4, 5.85, 1.17, 0.112),
               (10.8, 2.47, 0.402, 0.0716),
               (6.57, 1.41, 0.124, 0.0136),
               (5.81, 0.616, 0.0764, 0.0032),
               (3.77, 0.547, 0.0664, 0.0032)),
        largest=((68.4, 36.9, 4.72, 0.714),
                 (68.4, 16.2, 3.81, 0.252),
                 (40.2, 6.37, 0.737, 0.114),
                 (40.2, 3.01, 0.576, 0.0775),
                 (40.2, 2.58, 0.576, 0.0462)),
        hopeless=(100, 0, 0, 0, 0),
    ),
    "one-triangle": Ranges(
        "cover", "a triangle", (1, 1),
        sizes=(30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000),
        least=((5.48, 5.34, 5.34, 1.87, 0.684, 0.216, 0.052, 0.0216),
               (5.48, 5.34, 3.56, 0.716, 0.253, 0.064, 0.0248, 0.0032),
               (5.48, 3.75, 1.05, 0.439, 0.108, 0.0068, 0.0064, 0.001),
               (2.87, 1.72, 0.435, 0.084, 0.068, 0.0068, 0.0056, 0.001),
               (1.36, 1.36, 0.287, 0.084, 0.0596, 0.0068, 0.002, 0.001)),
        largest=((52.6, 47.5, 30.3, 19.6, 3.68, 1.11, 0.56, 0.129),
                 (52.6, 40.6, 14.3, 5.04, 1.63, 0.439, 0.208, 0.0431),
                 (31.7, 23.3, 7.91, 1.59, 0.743, 0.163, 0.0575, 0.0175),
                 (31.4, 11.2, 3.44, 1.19, 0.27, 0.08, 0.0456, 0.0106),
                 (27.4, 9.07, 3.04, 0.938, 0.27, 0.08, 0.0312, 0.0106)),
        hopeless=(300, 100, 30, 0, 0),
    ),
    "halfplanes": Ranges(
        "convex-cover", "convex polygons of {k} edges", (3, 8),
        sizes=(30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000),
        least=((20.3, 20.3, 16.3, 10.4, 10.4, 8.76, 4.92, 1.79),
               (20.3, 16.3, 10.5, 10.4, 4.27, 4.27, 1.91, 0.78),
               (20.3, 16.2, 10.5, 6.14, 2.92, 1.71, 1.15, 0.272),
               (19.4, 10.2, 6.17, 3.04, 2.01, 0.818, 0.382, 0.272),
               (10.2, 6.85, 3.99, 2.52, 1.01, 0.361, 0.361, 0.161)),
        largest=((77, 76.9, 76.9, 64.3, 64.3, 48.8, 20, 9.07),
                 (77, 76.9, 76.9, 63.1, 51.4, 29, 10.7, 4.06),
                 (77, 70.6, 58.1, 52.2, 23.1, 9.33, 4.57, 1.74),
                 (77, 60.1, 57.2, 33, 12.1, 4.33, 2.07, 1.45),
                 (63.8, 56.2, 20.8, 10.4, 5.24, 2.24, 1.3, 1.3)),
        hopeless=(300, 100, 30, 0, 0),
    ),
}
# fmt: on


#: Learners of runs that have a range.  Covers by more triangles have none: some do not end within
#: an hour (docs/accuracy.md).
MEASURED = frozenset(one.learner for one in RANGES.values())

#: Grids that were tried; on coarser ones runs can be much better.
LEAST_GRID, MOST_GRID = 256, 16_384

#: Of covers; runs by tiles know neither.
_DELTA, _BETA = 1e-6, 0.1


class NotMeasuredError(ValueError):
    """No runs with such settings were measured; says which were."""


class ErrorRange(NamedTuple):
    """Errors on new points, 0..1, that nine runs of ten lie between."""

    least: float
    largest: float


class ExamplesRange(NamedTuple):
    """Examples for an error, by the ends of its range; None for more than were measured."""

    least: int | None
    most: int | None


def kinds_of(learner: str, parameters: Mapping[str, Any], grid: int) -> tuple[str, ...]:
    """The kinds of runs, rows of the table, that were measured with such settings, never none.

    Parameters
    ----------
    learner : str
        One of :data:`MEASURED`.
    parameters : mapping
        Of the learner, by name.
    grid : int
        d.

    Raises
    ------
    NotMeasuredError
        If there are none.
    ValueError
        If epsilon and delta state no guarantee.
    """
    check_budget(parameters["epsilon"], parameters["delta"])
    if parameters["measure"] != "chord":
        raise NotMeasuredError("only runs with the chord measure were measured")
    if not LEAST_GRID <= grid <= MOST_GRID:
        raise NotMeasuredError(f"only grids from d = {LEAST_GRID:,} to {MOST_GRID:,} were tried")
    kinds = {name: one for name, one in RANGES.items() if one.learner == learner}
    for one in kinds.values():
        least_k, most_k = one.ks
        if not most_k:
            continue
        given = parameters["delta"], parameters["beta"], parameters.get("n_steps")
        if given != (_DELTA, _BETA, None):
            raise NotMeasuredError(
                f"covers were measured with delta = {_DELTA:g}, beta = {_BETA:g} and the default "
                "steps"
            )
        k = parameters["k"]
        if k == "auto" or not least_k <= k <= most_k:
            most = f" to {most_k} edges" if most_k > least_k else " triangle"
            raise NotMeasuredError(f"covers were measured with k = {least_k}{most}")
    return tuple(kinds)


def means_of(learner: str, finish: str | None = None, k: int = 0) -> tuple[Means, ...]:
    """What was measured of runs that have no range; k is 0 where a run is not told it."""
    return tuple(
        one
        for one in MEANS
        if one.learner == learner and one.finish in ("any", finish)
        and one.ks[0] <= k <= one.ks[1]
    )  # fmt: skip


@within_floats
def expected_error(
    kind: str, epsilon: float, examples: int, neighbours: Neighbours = "add-remove"
) -> ErrorRange | None:
    """Errors that runs of a kind reach with so many examples; None where it is hopeless.

    Raises
    ------
    NotMeasuredError
        If so many examples, or such an epsilon, were not measured.
    ValueError
        If epsilon states no guarantee.
    """
    inner, hopeless = _measured(kind, epsilon, neighbours, examples)
    if examples <= hopeless:
        return None
    sizes = RANGES[kind].sizes
    if not sizes[0] <= examples <= sizes[-1]:
        raise NotMeasuredError(
            f"n was measured from {sizes[0]:,} to {sizes[-1]:,}, not at {examples:,}"
        )
    return _range(kind, inner, examples)


@within_floats
def examples_for(
    kind: str, epsilon: float, error: float, neighbours: Neighbours = "add-remove"
) -> ExamplesRange:
    """Examples from which on the ends of the range of a kind reach an error, in (0, 1).

    Raises
    ------
    NotMeasuredError
        If such an epsilon was not measured.
    ValueError
        If epsilon states no guarantee.
    """
    inner, hopeless = _measured(kind, epsilon, neighbours)
    sizes = RANGES[kind].sizes
    candidates = range(max(sizes[0], hopeless + 1), sizes[-1] + 1)
    best = bisect_left(candidates, True, key=lambda n: _range(kind, inner, n).least <= error)
    worst = bisect_left(candidates, True, key=lambda n: _range(kind, inner, n).largest <= error)
    return ExamplesRange(*(candidates[i] if i < len(candidates) else None for i in (best, worst)))


def _measured(
    kind: str, epsilon: float, neighbours: Neighbours, examples: float = math.inf
) -> tuple[float, int]:
    """epsilon of the neighbours that add or remove an example, among what was measured unless so
    many examples are hopeless; and up to how many are, with no smaller an epsilon."""
    check_budget(epsilon, LEAST_DELTA)
    inner = inner_budget(epsilon, LEAST_DELTA, neighbours)[0]
    found = zip(EPSILONS, RANGES[kind].hopeless, strict=True)
    hopeless = max((n for e, n in found if e >= inner), default=0)
    if examples > hopeless and not EPSILONS[0] <= inner <= EPSILONS[-1]:
        low, high = (epsilon / inner * end for end in (EPSILONS[0], EPSILONS[-1]))
        raise NotMeasuredError(f"epsilon was measured from {low:g} to {high:g}, not at {epsilon:g}")
    return inner, hopeless


def _range(kind: str, epsilon: float, examples: int) -> ErrorRange:
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
