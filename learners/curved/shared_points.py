"""Grid points that hold many examples of both labels: a draw would not end by them.  Compiled.

A disc or an ellipse holds all examples of a grid point or none.  A box that leaves the point open
would count its positives as held and its negatives as not, and promise too much by the fewer of
the two, in boxes about every outline through the point.  So the heaviest such points, at most
:data:`MOST`, are taken out of the counts.  For a box it is known which of them all its members
hold, and which some may; the score's bound is the greatest over all ways to hold the others
(docs/privacy.md, lemma L1; measured: docs/decisions/0019-softened-scores.md).

Point i has the weight 2**i in prefix sums like those of the examples, so what counts the examples
of a shape gives the set of the points that it holds, as a word of bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geometry.columns import Counts
from geometry.grid_counts import GridCounts
from learners.envelope.shared_points import heavy_points

#: Most points taken out: their bits fit 32-bit tables.
MOST = 30


class Tables(NamedTuple):
    """Prefix sums of a sample, each of shape (d + 2, d + 2).

    Attributes
    ----------
    negatives, positives : ndarray of int
        Examples of the grid points left.
    points : ndarray of int
        2**i at shared point i; of shape (1, 1) when there is none.
    shared : int64 array, shape (m, 2)
        Negatives and positives of each shared point, the heaviest first.
    """

    negatives: Counts
    positives: Counts
    points: Counts
    shared: NDArray[np.int64]


def make_tables(counts: GridCounts, eta: float) -> Tables:
    """Take the shared points out, and count.

    Parameters
    ----------
    counts : GridCounts
    eta : float
        Nats an example; it steers the sampler, never its law.
    """
    second = heavy_points(counts, eta, MOST)
    left = np.ones(len(counts), dtype=np.bool_)
    left[second] = left[second - 1] = False
    negatives, positives = count_areas(counts.where(left), counts.count_type)
    points = np.zeros((1, 1), dtype=counts.count_type)
    if len(second):
        bits = np.int64(1) << np.arange(len(second))
        cells = np.zeros((counts.d + 1, counts.d + 1), dtype=np.int64)
        cells[counts.points[second, 1], counts.points[second, 0]] = bits
        points = _prefix_sums(cells, counts.count_type)
    shared = np.column_stack([counts.amounts[second - 1], counts.amounts[second]])
    return Tables(negatives, positives, points, shared)


def count_areas(counts: GridCounts, kind: type | None = None) -> tuple[Counts, Counts]:
    """Prefix sums of the negatives and of the positives, each of shape (d + 2, d + 2).

    Entry [j, i] counts the examples with x < i and y < j: an arc runs along its rows.
    """
    side = counts.d + 1
    x, y = counts.points.T
    negatives, positives = counts.by_group(y * side + x, side * side)
    kind = kind or counts.count_type
    return (
        _prefix_sums(negatives.reshape(side, side), kind),
        _prefix_sums(positives.reshape(side, side), kind),
    )


def _prefix_sums(cells: NDArray[np.int64], kind: type) -> Counts:
    side = len(cells)
    area: Counts = np.zeros((side + 1, side + 1), dtype=kind)
    area[1:, 1:] = cells.cumsum(axis=0).cumsum(axis=1)
    return area
