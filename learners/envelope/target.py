"""What is drawn from: the score, its rate and the prior.  Compiled."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import math
from typing import NamedTuple

from geometry.inner_loops import inner
from learners.envelope.paper_box import PaperBox


class Target(NamedTuple):
    """What is drawn from.

    k, c_pos, c_neg, total : the integer score, total for the sum of its two parts and not the
    smaller; prior : weight of a lattice piece of no edge, one, two and three; rate : nats per unit
    of the score; reference : the score that weighs 1, the same for all strands of one draw; side :
    the square's in cells of a box, or 0 when the whole rectangle is admitted; low, step : origin
    and step of the coarse lattice; narrow : longest side of a box that may be factorised, 0 for
    none; own : the class in measure "paper", whose boxes are made of readings
    (:mod:`learners.envelope.paper_box`), or None.
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
    own: PaperBox | None = None


@inner
def score_value(target, positives, negatives):
    gained = target.k * positives + target.c_pos
    lost = -target.k * negatives + target.c_neg
    return gained + lost if target.total else min(gained, lost)


@inner
def most_negatives(target, positives, least):
    """The most negatives with which a piece of at most so many positives scores `least`."""
    room = target.c_neg - least
    if target.total:
        room += target.k * positives + target.c_pos
    return room // target.k


@inner
def score_weight(target, positives, negatives, reference):
    value = score_value(target, positives, negatives)
    return math.exp(target.rate * (value - reference))
