"""Randomized response: bits that are each right with odds exp(epsilon).

No epsilon-DP mechanism tells two samples apart better than such a bit (Kairouz, Oh, Viswanath
2015), and a count with integer Laplace noise tells as much (docs/privacy.md, lemma 4).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


@lru_cache(maxsize=8)
def right_answers(count: int, epsilon: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probability of each number 0..count of right bits, and what they show.

    Parameters
    ----------
    count : int
        At least 0.
    epsilon : float
        Of each bit, not negative.

    Returns
    -------
    odds, losses : ndarray of float64, shape (count + 1,)
        A loss is the log ratio of the two laws, epsilon for each right bit less epsilon for each
        wrong one.
    """
    right = np.arange(count + 1, dtype=np.float64)
    ways = np.cumsum(np.log(np.append(1.0, (count + 1 - right[1:]) / right[1:])))
    log_odds = ways - epsilon * (count - right) - count * np.log1p(np.exp(-epsilon))
    odds, losses = np.exp(log_odds), epsilon * (2 * right - count)
    odds.setflags(write=False)
    losses.setflags(write=False)
    return odds, losses
