"""What T adaptive mechanisms cost together, each of them epsilon0-DP with delta = 0.

optimal   delta(epsilon) = sum over l = 0..T of
          C(T, l) [e^(l epsilon0) - e^(epsilon + (T - l) epsilon0)]+ / (1 + e^epsilon0)^T.
          No pair of epsilon0-DP laws is easier to tell apart than answers of randomized response,
          and T of these attain it (Kairouz, Oh, Viswanath 2015; docs/privacy.md, lemma S3).
basic     epsilon = T epsilon0, delta = 0; contained in the optimal one.
advanced  epsilon = sqrt(2 T ln(1/delta)) epsilon0 + T epsilon0 (e^epsilon0 - 1) (Dwork,
          Rothblum, Vadhan 2010): what BTT and KMMS use; here for comparison.

What is granted is the lower end of a bisection, so it never exceeds what the account proves.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from learners.privacy.accounting import check_budget
from learners.privacy.cover_account import GIVEN_UP, right_answers

#: Relative room for the rounding of the sums here: 10^5 terms round to 10^-10 at most.
_ROUNDING = 1e-8

#: Most mechanisms for which the optimal sum is taken.
MOST_MECHANISMS = 100_000


def optimal_delta(epsilon0: float, count: int, epsilon: float) -> float:
    """Least delta at which `count` epsilon0-DP mechanisms are (epsilon, delta)-DP; rounded up."""
    if not 1 <= count <= MOST_MECHANISMS:
        raise ValueError(f"the number of mechanisms must lie in 1..{MOST_MECHANISMS}, got {count}")
    odds, losses = right_answers(count, epsilon0)
    excess = losses - epsilon
    some = excess > 0
    if not some.any():
        return 0.0
    terms = odds[some] * -np.expm1(-excess[some])
    return min(1.0, float(terms.sum()) * (1 + _ROUNDING))


#: exp of more may be no double.
_VANISHING = 700.0


@lru_cache(maxsize=256)
def largest_epsilon0(epsilon: float, delta: float, count: int) -> float:
    """An epsilon0 just below the largest with which `count` mechanisms are (epsilon, delta)-DP.

    `epsilon` is positive, `delta` lies in [0, 1).
    """
    low = epsilon / count
    if count > 1 and delta > 0:
        high = epsilon
        for _ in range(60):
            middle = (low + high) / 2
            if optimal_delta(middle, count, epsilon) <= delta:
                low = middle
            else:
                high = middle
    return low * (1 - GIVEN_UP)


def advanced_epsilon(epsilon0: float, count: int, delta: float) -> float:
    """Epsilon of `count` epsilon0-DP mechanisms at delta by advanced composition."""
    if epsilon0 > _VANISHING:
        return math.inf  # beyond all doubles, or nearly so
    spread = math.sqrt(2 * count * math.log(1 / delta)) * epsilon0
    return spread + count * epsilon0 * math.expm1(epsilon0)


def advanced_rate(epsilon: float, delta: float, count: int) -> float:
    """The largest epsilon0, within a relative 1e-12, that advanced composition grants `count`.

    Raises
    ------
    ValueError
        If epsilon or delta states no guarantee, or count < 1.
    """
    check_budget(epsilon, delta)
    if count < 1:
        raise ValueError(f"steps must be at least 1, got {count}")
    low, high = 0.0, epsilon / math.sqrt(2 * count * math.log(1 / delta))
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if advanced_epsilon(middle, count, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low
