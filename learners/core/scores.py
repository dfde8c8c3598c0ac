"""The selection score, as one integer function of two counts.

KMMS section 3 scores a piece by min{gain - b/k, -loss}.  In a disjunction a piece
gains the positive examples inside it and loses the negative ones; in a
conjunction it gains the negative examples *outside* and loses the positive ones
outside.  Multiplied by k and written with the counts inside, both become

    value = min(k * P + c_pos, -k * N + c_neg),

so the score rises with P and falls with N in either role, and a selection needs
to know nothing about roles.

Sensitivity: for fixed b, adding one example moves value / k by at most 1, and by
the same sign for every piece (docs/privacy.md, lemma 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# a score is of a role, as the declarations are
from learners.declaration import Role as Role


@dataclass(frozen=True, slots=True)
class Score:
    """Integer score of a piece holding P positives, N negatives: min(k*P + c_pos, -k*N + c_neg).

    Attributes
    ----------
    k : int
        Number of edges the hypothesis may need; one example moves the value by at most k.
    c_pos, c_neg : int
        Constants of the role, the noisy count and the examples still alive.
    total : bool
        The sum of the two parts in place of the smaller one.
    """

    k: int
    c_pos: int
    c_neg: int
    total: bool = False

    def value(self, positives: int, negatives: int) -> int:
        """Score of a piece that holds that many alive positive and negative examples."""
        gained, lost = self.k * positives + self.c_pos, -self.k * negatives + self.c_neg
        return gained + lost if self.total else min(gained, lost)

    def values(
        self, positives: NDArray[np.int64], negatives: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Scores of many pieces at once."""
        gained, lost = self.k * positives + self.c_pos, -self.k * negatives + self.c_neg
        return gained + lost if self.total else np.minimum(gained, lost)


#: Power of the law of :func:`softened_nats` (docs/decisions/0019-softened-scores.md).
POWER = 64


def softened_nats(value: float, rate: float) -> float:
    """Log of a piece's weight where scores are softened: -POWER * ln(1 + rate * -value / POWER).

    `value` is at most 0.  Near 0 that is rate * value; it rises with the value, by less than `rate`
    a unit (docs/privacy.md, lemma L1), and the slower the less a piece fits.

    Parameters
    ----------
    value : float
        Integer score.
    rate : float
        Nats per unit of it, at 0.
    """
    return -POWER * math.log1p(-value * rate / POWER)


def softened_shortfall(nats: float) -> float:
    """rate * -value of a piece whose weight is e^-nats: the inverse of :func:`softened_nats`."""
    return POWER * math.expm1(nats / POWER)


def set_cover_score(role: Role, k: int, noisy: int, positives: int, negatives: int) -> Score:
    """KMMS's score for one step.

    Parameters
    ----------
    role : {"disjunction", "conjunction"}
    k : int
        Edges (disjunction: triangles; conjunction: halfplanes) of a good hypothesis.
    noisy : int
        b_j, the noisy lower estimate of how many examples are left to gain.
    positives, negatives : int
        Examples still alive (exact; they only shift both arguments of the minimum, and
        reach the output through the selection alone).
    """
    if role == "disjunction":
        return Score(k, -noisy, 0)
    return Score(k, -k * positives, k * negatives - noisy)


def mistakes_score(outside: int) -> Score:
    """Minus the number of mistakes of a piece that labels its inside 1 and the rest 0.

    Adding one example changes it by 0 or -1, for every piece.

    Parameters
    ----------
    outside : int
        Positive examples in all: those that a piece does not hold are mistakes.
    """
    return Score(1, -outside, 0, total=True)
