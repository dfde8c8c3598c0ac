"""Examples of a test, counted as the learners' engine takes them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from geometry.grid_counts import GridCounts


def counted(points: Any, labels: Any, d: int) -> GridCounts:
    """Rows on the grid 0..d, counted."""
    rows = np.asarray(points, dtype=np.int64)
    return GridCounts.of_examples(rows, np.asarray(labels, dtype=np.bool_), d)


#: A power of two: rates divided by it give the same doubles.
TIMES = 1 << 31


def times_as_many(counts: GridCounts) -> GridCounts:
    return replace(counts, amounts=counts.amounts * TIMES)


def as_counter(counts: GridCounts) -> Counter[tuple[int, int, bool]]:
    """Examples by place and label."""
    found: Counter[tuple[int, int, bool]] = Counter()
    entries = zip(
        counts.points.tolist(), counts.labels.tolist(), counts.amounts.tolist(), strict=True
    )
    for (x, y), label, amount in entries:
        found[x, y, label] += amount
    return found


def of_rows(inside: Sequence[bool], counts: GridCounts, points: Any) -> tuple[bool, ...]:
    """What is said of each entry, said of each row: entries of one point agree."""
    of_point: dict[tuple[int, ...], bool] = {}
    for point, held in zip(counts.points.tolist(), inside, strict=True):
        assert of_point.setdefault(tuple(point), held) == held
    return tuple(of_point[tuple(point)] for point in np.asarray(points).tolist())


#: Examples by grid point and label: how often (x, y, label) stands there.
Cells = Counter[tuple[int, int, int]]


def cells(points: Any, labels: Any, amounts: Any = None) -> Cells:
    """Examples of a sample, or of counts with an amount for each place."""
    found = Cells()
    amounts = [1] * len(points) if amounts is None else amounts
    for (x, y), label, n in zip(points.tolist(), labels.tolist(), amounts, strict=True):
        found[int(x), int(y), int(label)] += int(n)
    return found
