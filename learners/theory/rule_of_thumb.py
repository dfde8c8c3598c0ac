"""Estimates what a run is likely to reach in practice, by what was measured: not a bound.

The theorems hold for every shape and sample and are far from what runs do; by tiles nothing is
proved of the error at all.  So runs were measured (benchmarks/practice.py): for a kind of runs, n
and epsilon, the range in which nine of ten errors lay.  Between what was measured its ends are
interpolated, log error over log n and log epsilon; beyond, nothing is said but what was measured
otherwise (:func:`means_of`).  The table, measured.json, is made from practice.csv and means.csv
by `python benchmarks/practice.py table`.

Measured with all labels right, on a grid of d = 1024, delta = 1e-6 and the learners' defaults,
neighbours add or remove one example.  Replacing one runs at epsilon / 2, and is read there.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from learners.privacy.accounting import LEAST_DELTA, Neighbours, check_budget, inner_budget

_Row = TypeVar("_Row")
_Computed = TypeVar("_Computed", bound=Callable[..., Any])


def within_floats(compute: _Computed) -> _Computed:
    """Decorator of what is computed of numbers that people give: beyond all floats is an error.

    Raises
    ------
    ValueError
        Where a float overflows or a divisor vanishes: a number is larger or smaller than anybody's.
    """

    @wraps(compute)
    def computed(*args: Any, **kwargs: Any) -> Any:
        try:
            return compute(*args, **kwargs)
        except (OverflowError, ZeroDivisionError):
            raise ValueError(
                "one of these numbers is so large, or so near to 0 or 1, that the answer is beyond "
                "what can be computed: take less extreme ones"
            ) from None

    return cast(_Computed, computed)


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


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _rows(kind: type[_Row], found: Iterable[Mapping[str, Any]]) -> Iterator[_Row]:
    """Rows of the table as they are declared."""
    return (kind(**{name: _frozen(value) for name, value in row.items()}) for row in found)


_TABLE = json.loads(Path(__file__).with_name("measured.json").read_text(encoding="utf-8"))

MEANS = tuple(_rows(Means, _TABLE["means"]))
EPSILONS: tuple[float, ...] = _frozen(_TABLE["epsilons"])
RANGES = dict(zip(_TABLE["ranges"], _rows(Ranges, _TABLE["ranges"].values()), strict=True))

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
