"""Defines the law that is drawn from: the score, its rate and the prior.  Compiled."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

from typing import NamedTuple

from geometry.columns import column_shift
from geometry.compiled_loops import inner
from geometry.halfplane import HalfplaneLattice
from learners.core.selection import Score
from learners.envelope.paper_box import PaperBox, paper_box, readings

#: Cells of the coarse lattice along a side of the square; most trials end there.
_COARSE = 8

#: A box no longer than this share of the square's side may be factorised; with more than _DENSE
#: examples alive it must be shorter in proportion: shorter boxes leave fewer of them uncertain.
_NARROW, _DENSE = 32, 100_000


class Target(NamedTuple):
    """What is drawn from.

    k, c_pos, c_neg, total : the integer score, total for the sum of its two parts and not the
    smaller; prior : weight of a lattice piece of no edge, one, two and three; rate : nats per unit
    of the score; reference : the score that weighs 1, the same for all strands of one draw; side :
    the square's in cells of a box; low, step : origin and step of the coarse lattice; narrow :
    longest side of a box that may be factorised, 0 for none; paper : the class in measure "paper",
    whose boxes are made of readings (:mod:`learners.envelope.paper_box`), or None.
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
