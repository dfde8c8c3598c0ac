"""Defines the law that is drawn from: the score, its rate, the prior, and labels that are expected
of some grid points; and bounds scores where a point holds many examples of both labels.  Compiled.

A piece holds all examples of a grid point or none.  A box that leaves the point open would count
its positives as held and its negatives as not, and promise too much by the fewer of the two.  Of
the heaviest such points it is known which all pieces of a box hold, and which some may: the score's
bound is the greatest over all ways to hold the others (docs/privacy.md, lemma E5; for discs and
ellipses, lemma L1; measured: docs/decisions/0019-softened-scores.md and 0023-close-pairs.md).  Sets
of such points are words of bits.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geometry.arrays import Flags, Ints
from geometry.columns import column_shift
from geometry.compiled_loops import inner
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from learners.core.selection import Score
from learners.envelope.boxes import PaperBox, paper_box, readings

#: Cells of the coarse lattice along a side of the square; most trials end there.
_COARSE = 8

#: A box no longer than this share of the square's side may be factorised; with more than _DENSE
#: examples alive it must be shorter in proportion: shorter boxes leave fewer of them uncertain.
_NARROW, _DENSE = 32, 100_000


class Expected(NamedTuple):
    """Labels that are expected of some grid points: a piece weighs less where it differs from them.

    points : int64, shape (p, 2), on the lattice's grid; held : bool, shape (p,), which of them a
    piece should hold; shares : int64, shape (p,), what each of them counts; nats : what a share
    costs that differs; most : what all may cost together.
    """

    points: Ints
    held: Flags
    shares: Ints
    nats: float
    most: float

    def cost(self, held: Flags) -> float:
        """Nats of a piece that holds these of the points; it weighs e to minus that."""
        return nats_of(self, int(self.shares[held != self.held].sum()))


@inner
def nats_of(expected: Expected, share: int | np.int64) -> float:
    """What a piece costs that differs in so many shares: one double, with boxes and without."""
    return min(expected.most, expected.nats * share)


#: Where nothing is expected all pieces weigh the same.
NOTHING = Expected(
    np.empty((0, 2), np.int64), np.empty(0, np.bool_), np.empty(0, np.int64), 0.0, 0.0
)


class Target(NamedTuple):
    """What is drawn from.

    k, c_pos, c_neg, total : the integer score, total for the sum of its two parts and not the
    smaller; prior : weight of a lattice piece of no edge, one, two and three; rate : nats per unit
    of the score; reference : the score that weighs 1, the same for all strands of one draw; side :
    the square's in cells of a box; low, step : origin and step of the coarse lattice; narrow :
    longest side of a box that may be factorised, 0 for none; paper : the class in measure "paper",
    whose boxes are made of readings (:mod:`learners.envelope.boxes`), or None.
    """

    k: int
    c_pos: int
    c_neg: int
    total: bool
    prior: tuple[float, float, float, float]
    rate: float
    reference: int
    side: int
    low: int
    step: int
    narrow: int
    paper: PaperBox | None = None


def make_target(
    lattice: HalfplaneLattice,
    score: Score,
    rate: float,
    n: int,
    prior: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0),
    narrow: int = _NARROW,
) -> Target:
    """The target of a draw: score, rate, and the weight of a lattice piece by its edges.

    A box may be factorised when it is no longer than 1/`narrow` of the square's side, or
    shorter when there are many examples; n and `narrow` steer the sampler, never its law.
    """
    factors = lattice.measure == "chord" and column_shift(lattice.d) == 0
    made_of = readings(lattice)
    side = made_of.d << made_of.bits
    return Target(
        k=score.k,
        c_pos=score.c_pos,
        c_neg=score.c_neg,
        total=score.total,
        prior=prior,
        rate=rate,
        reference=0,
        side=side,
        low=made_of.low,
        step=-(-side // _COARSE),
        narrow=side * _DENSE // (narrow * max(n, _DENSE)) if factors else 0,
        paper=paper_box(lattice),
    )


@inner
def score_value(target, positives, negatives):
    gained = target.k * positives + target.c_pos
    lost = -target.k * negatives + target.c_neg
    return gained + lost if target.total else min(gained, lost)


@inner
def bound_value(target, positives, negatives, across):
    """What no piece scores above: by examples that bound it from above and from below, or, where
    `across` is not negative, by those that are left of both labels and that many pairs.

    The smaller of two parts is at most half of their sum, in which a positive and a negative that a
    piece holds together cancel (docs/privacy.md, lemma E5).
    """
    bound = score_value(target, positives, negatives)
    if across < 0:
        return bound
    if target.total:
        return bound + target.k * across
    return (target.k * (positives - negatives + across) + target.c_pos + target.c_neg) >> 1


@inner
def most_negatives(target, positives, least):
    """The most negatives with which a piece of at most so many positives scores `least`."""
    room = target.c_neg - least
    if target.total:
        room += target.k * positives + target.c_pos
    return room // target.k


# -- points of both labels ---------------------------------------------------------------------

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


def heavy_points(counts: GridCounts, eta: float, most: int) -> Ints:
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
