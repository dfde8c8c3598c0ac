"""Bounds scores where a grid point holds many examples of both labels: else a draw would not end.

A piece holds all examples of a grid point or none.  A box that leaves the point open would count
its positives as held and its negatives as not, and promise too much by the fewer of the two, in
boxes about every boundary through the point.  Of the heaviest such points it is known which all
pieces of a box hold, and which some may: the score's bound is the greatest over all ways to hold
the others (docs/privacy.md, lemma E5; for discs and ellipses, lemma L1; measured:
docs/decisions/0019-softened-scores.md and 0023-close-pairs.md).

Sets of such points are words of bits.  The bounds are compiled.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geometry.compiled_loops import inner
from geometry.grid_counts import GridCounts
from learners.envelope.target import score_value

#: Nats that the fewer label of a point must weigh, or it is left among the others.
_HEAVY = 4.0

#: And it must have at least so large a share of what all points have of the fewer label: where
#: nearly every point is shared, draws end without this, and sooner.
_SHARE = 1 / 64

#: So many ways to hold open points are tried, a power of two.
_WAYS = 64

#: For points further down the score, the smaller of A and B, is bounded by mixes of the two,
#: (m * A + (_MIX - m) * B) / _MIX, and each point is held where that is more; and by how many of
#: them are held, which is better where they are alike.
_MIX = 16


def heavy_points(counts: GridCounts, eta: float, most: int) -> NDArray[np.int64]:
    """The entries of the heaviest points' positives, the heaviest first; each one's negatives are
    the entry before.

    Parameters
    ----------
    counts : GridCounts
    eta : float
        Nats an example; it steers the sampler, never its law.
    most : int
        Points at most.
    """
    # a point's negatives stand before its positives
    second = np.flatnonzero(~counts.begins)
    fewer = np.minimum(counts.amounts[second - 1], counts.amounts[second])
    taken = np.argsort(-fewer, kind="stable")[:most]
    least = max(_HEAVY / eta if eta else np.inf, _SHARE * int(fewer.sum()))
    return second[taken[fewer[taken] >= least]]


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
    most = np.zeros(len(shared), dtype=np.int64)
    fewest = np.zeros(len(shared), dtype=np.int64)
    ways, further = 1, 0
    for i in range(len(shared)):
        if (open_points >> i) & 1 == 0:
            continue
        if ways == _WAYS:
            for m in range(_MIX + 1):
                more = m * shared[i, 1] - (_MIX - m) * shared[i, 0]
                mixed[m] += target.k * max(more, 0)
            at = further
            while at > 0 and most[at - 1] < shared[i, 1]:
                most[at] = most[at - 1]
                at -= 1
            most[at] = shared[i, 1]
            at = further
            while at > 0 and fewest[at - 1] > shared[i, 0]:
                fewest[at] = fewest[at - 1]
                at -= 1
            fewest[at] = shared[i, 0]
            further += 1
            continue
        for way in range(ways):
            gained[ways + way] = gained[way] + shared[i, 1]
            lost[ways + way] = lost[way] + shared[i, 0]
        ways *= 2
    best = np.int64(-(1 << 62))
    for way in range(ways):
        bound = score_value(target, gained[way], lost[way])
        if further > 0:
            positives, negatives = gained[way], lost[way]
            for i in range(further):
                positives += most[i]
                negatives += fewest[i]
                bound = max(bound, score_value(target, positives, negatives))
            bound = min(bound, _least_mix(target, mixed, gained[way], lost[way]))
        best = max(best, bound)
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
