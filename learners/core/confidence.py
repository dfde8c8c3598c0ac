"""Bounds of probabilities and of means from independent draws, and verdicts by them.

probability   Clopper and Pearson's exact interval (1934).
mean          The empirical Bernstein bound of Maurer and Pontil (2009, theorem 4): the mean of n
              draws from an interval of length r, of sample variance V, is within
              sqrt(2 V ln(2/p) / n) + 7 r ln(2/p) / (3 (n - 1)) of the expectation, on either side
              except with probability p.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from learners.parameters import check_open_unit

#: Whether something holds, at a confidence; "open" if the draws are too few to tell.
Verdict = Literal["yes", "no", "open"]


def verdict(yes: bool, no: bool) -> Verdict:
    """What bounds tell: whether they show that something holds, or that it does not."""
    return "yes" if yes else "no" if no else "open"


def clopper_pearson(failures: int, runs: int, confidence: float) -> tuple[float, float]:
    """Bounds of a probability of which `failures` of `runs` trials are seen.

    Each bound alone holds with the given confidence, whatever the probability is.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    if not 0 <= failures <= runs or runs < 1 or not 0 < confidence < 1:
        raise ValueError(
            "failures must lie in 0..runs, runs be at least 1 and the confidence in (0, 1); got "
            f"{failures}, {runs}, {confidence}"
        )
    # loaded here: most that is imported from this package needs no scipy (decision 21)
    from scipy.special import betaincinv

    # P(at least so many | p) is a beta law's distribution at p, and so is P(at most so many | p)
    level = 1 - confidence
    lower = betaincinv(failures, runs - failures + 1, level) if failures else 0.0
    upper = betaincinv(failures + 1, runs - failures, confidence) if failures < runs else 1.0
    return float(lower), float(upper)


def mean_bounds(
    values: NDArray[np.float64], length: float, risk: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds of expectations, each failing with probability at most half of `risk`.

    Parameters
    ----------
    values : ndarray of float64, shape (K, ...)
        Independent draws along the first axis, K at least 2, from an interval.
    length : float
        Of the interval.
    risk : float
        In (0, 1).

    Raises
    ------
    ValueError
        If there are fewer than two draws.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"two models are needed at least, got {n}")
    check_open_unit(risk=risk)
    log = math.log(4 / risk)
    variance = values.var(axis=0, ddof=1)
    off = np.sqrt(2 * variance * log / n) + 7 * length * log / (3 * (n - 1))
    mean = values.mean(axis=0)
    return mean - off, mean + off
