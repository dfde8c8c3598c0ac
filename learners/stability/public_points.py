"""Public grid points to be labelled: at random, or refined where answers differ.

random    independent uniform grid points, as BTT take them.
refined   a coarse lattice of points; then, where the four corners of a cell are not all
          answered alike, the five points that halve the cell; and so on.  Queries may be chosen in
          view of earlier answers, so this costs nothing, and most queries fall where they tell
          something.  The order within a level is random.

Both are functions of public numbers, answers and coins alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from learners.noise_arrays import below_array
from learners.randomness import RandomSource, below
from learners.stability.stable_queries import QueryRelease

PointChoice = Literal["refined", "random"]

#: Cells along a side of the first lattice.
FIRST_CELLS = 4

Point = tuple[int, int]
Cell = tuple[int, int, int, int]

#: Labels points (m, 2), one after the other.
Ask = Callable[[NDArray[np.int64]], Iterable[QueryRelease]]


def label_points(
    ask: Ask, choice: PointChoice, d: int, most: int, source: RandomSource
) -> list[tuple[Point, QueryRelease]]:
    """Choose public points and have them labelled, until `most` are or the run is halted.

    Parameters
    ----------
    ask : callable
    choice : {"refined", "random"}
    d : int
        Points have coordinates in 0..d.
    most : int
    source : RandomSource

    Raises
    ------
    ValueError
        If the choice is unknown.
    """
    if choice not in get_args(PointChoice):
        raise ValueError(f"points must be 'refined' or 'random', got {choice!r}")
    if choice == "random":
        points = below_array(source, d + 1, 2 * most).reshape(most, 2)
        return label_given(ask, points)
    return _refine(ask, d, most, source)


def label_given(ask: Ask, points: NDArray[np.int64]) -> list[tuple[Point, QueryRelease]]:
    """Have points (m, 2) labelled, one after the other."""
    return [((x, y), answer) for (x, y), answer in zip(points.tolist(), ask(points), strict=True)]


def shuffled(items: list[Point], source: RandomSource) -> list[Point]:
    """The items in a uniformly random order."""
    mixed = list(items)
    for last in range(len(mixed) - 1, 0, -1):
        other = below(source, last + 1)
        mixed[last], mixed[other] = mixed[other], mixed[last]
    return mixed


def _refine(ask: Ask, d: int, most: int, source: RandomSource) -> list[tuple[Point, QueryRelease]]:
    answers: dict[Point, QueryRelease] = {}
    cuts = sorted({d * i // FIRST_CELLS for i in range(FIRST_CELLS + 1)})
    spans = list(itertools.pairwise(cuts))
    cells = [(x0, y0, x1, y1) for x0, x1 in spans for y0, y1 in spans]
    while cells:
        new = dict.fromkeys(p for cell in cells for p in _corners(cell) if p not in answers)
        asked = shuffled(list(new), source)[: most - len(answers)]
        if asked:
            answers.update(zip(asked, ask(np.array(asked, dtype=np.int64)), strict=True))
        if len(answers) == most or any(a.halts_left == 0 for a in answers.values()):
            break
        cells = [part for cell in cells if _differ(cell, answers) for part in _halves(cell)]
    return list(answers.items())


def _corners(cell: Cell) -> tuple[Point, ...]:
    x0, y0, x1, y1 = cell
    return (x0, y0), (x0, y1), (x1, y0), (x1, y1)


def _differ(cell: Cell, answers: dict[Point, QueryRelease]) -> bool:
    return len({answers[corner].value for corner in _corners(cell)}) > 1


def _halves(cell: Cell) -> list[Cell]:
    """Up to four cells; none if the cell has no grid point but its corners."""
    x0, y0, x1, y1 = cell
    if max(x1 - x0, y1 - y0) <= 1:
        return []
    across, up = sorted({x0, (x0 + x1) // 2, x1}), sorted({y0, (y0 + y1) // 2, y1})
    return [(a, b, c, e) for a, c in itertools.pairwise(across) for b, e in itertools.pairwise(up)]
