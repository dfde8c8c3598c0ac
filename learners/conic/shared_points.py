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

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geometry.columns import Counts
from geometry.grid_counts import GridCounts
from geometry.inner_loops import inner
from learners.envelope.target import score_value

#: Most points taken out: their bits fit 32-bit tables.
MOST = 30

#: Nats that the fewer label of a point must weigh, or it is left among the others.
_HEAVY = 4.0

#: And it must have at least so large a share of what all points have of the fewer label: where
#: nearly every point is shared, draws end without this, and sooner.
_SHARE = 1 / 64

#: So many ways to hold open points are tried, a power of two.
_WAYS = 64

#: For points further down the score, the smaller of A and B, is bounded by mixes of the two,
#: (m * A + (_MIX - m) * B) / _MIX, and each point is held where that is more.
_MIX = 16


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
    # a point's negatives stand before its positives
    second = np.flatnonzero(~counts.begins)
    fewer = np.minimum(counts.amounts[second - 1], counts.amounts[second])
    taken = np.argsort(-fewer, kind="stable")[:MOST]
    least = max(_HEAVY / eta, _SHARE * int(fewer.sum()))
    second = second[taken[fewer[taken] >= least]]
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


@inner
def examples_of(shared, label, held):
    """Examples of a label on the shared points of a word."""
    found = np.int64(0)
    for i in range(len(shared)):
        if (held >> i) & 1:
            found += shared[i, label]
    return found


@inner
def greatest_score(target, shared, held, open_points, positives, negatives):
    """The greatest score with all points of one word and any of those of the other.

    positives, negatives : those on no shared point, at most and at least.
    """
    positives += examples_of(shared, 1, held)
    negatives += examples_of(shared, 0, held)
    if open_points == 0:
        return score_value(target, positives, negatives)
    mixed = np.zeros(_MIX + 1, dtype=np.int64)
    gained = np.empty(_WAYS, dtype=np.int64)
    lost = np.empty(_WAYS, dtype=np.int64)
    gained[0], lost[0] = positives, negatives
    ways, mixes = 1, False
    for i in range(len(shared)):
        if (open_points >> i) & 1 == 0:
            continue
        if ways == _WAYS:
            mixes = True
            for m in range(_MIX + 1):
                more = m * shared[i, 1] - (_MIX - m) * shared[i, 0]
                mixed[m] += target.k * max(more, 0)
            continue
        for way in range(ways):
            gained[ways + way] = gained[way] + shared[i, 1]
            lost[ways + way] = lost[way] + shared[i, 0]
        ways *= 2
    best = np.int64(-(1 << 62))
    for way in range(ways):
        if mixes:
            best = max(best, _least_mix(target, mixed, gained[way], lost[way]))
        else:
            best = max(best, score_value(target, gained[way], lost[way]))
    return best


@inner
def _least_mix(target, mixed, positives, negatives):
    """The least bound of the score, mixed[m] being the most that further points add to mix m."""
    above, below = target.k * positives + target.c_pos, -target.k * negatives + target.c_neg
    if target.total:
        return above + below + mixed[_MIX // 2] // (_MIX // 2)
    least = below
    for m in range(1, _MIX + 1):
        least = min(least, (m * above + (_MIX - m) * below + mixed[m]) // _MIX)
    return least
