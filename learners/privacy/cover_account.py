"""The optimal account of a private set cover: its noisy counts and selections together.

An example of a set cover stops mattering once a piece decides it.  Under neighbours that add
or remove one example, m selections of range eta then cost, one way, delta = V_m(epsilon),

    V_m(x) = (1 - exp(-u))^(m + 1) / (1 - exp(-eta))^m,  u = (m eta - x) / (m + 1),

for -eta <= x <= m eta, 1 - exp(x) below and 0 above; the other way U_m(x) = 1 - exp(x) +
exp(x) V_m(-x), which is 0 from x = eta on; and no less holds for all classes of pieces: a sample of
one example and a class of two pieces attain it (docs/privacy.md, lemma 4).  A noisy count that
costs e tells as much as a bit that is right with odds exp(e), so a run with such a count in every
step costs at most the greater of

    E[V_m(epsilon - W)],  E[U_m(epsilon - W)],  W = e (2 B - m),  B ~ Binomial(m, 1/(1 + exp(-e))).

Counts and selections are not charged one by one: both cost their most with a probability far
below delta.  Optimal is said of the selections alone, over all classes of pieces: a class at hand
may lose less.  With counts it is a bound, as the bits are taken to be known before the first step.

Randomized response: bits that are each right with odds exp(epsilon).

No epsilon-DP mechanism tells two samples apart better than such a bit (Kairouz, Oh, Viswanath
2015), and a count with integer Laplace noise tells as much (docs/privacy.md, lemma 4).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray


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


#: Part of a rate, or of delta, that pays for the rounding of an account's own lines.
GIVEN_UP = 1e-9

#: Room for the rounding of U_m, in parts of (m + 1)^2.
_ROUNDING = 1e-14


def selections_delta(eta: float, steps: int, epsilon: ArrayLike) -> NDArray[np.float64]:
    """V_m at each epsilon: the least delta of m selections over all classes of pieces, for the
    sample of lower scores.

    Parameters
    ----------
    eta : float
        Range of each selection, positive: nats per example.
    steps : int
        m, at least 1.
    epsilon : array of float
        Of any sign.
    """
    return np.exp(_log_delta(eta, steps, np.asarray(epsilon, dtype=np.float64)))


def run_delta(eta: float, steps: int, epsilon: float, noise: float = 0.0) -> float:
    """A delta for which a whole run is (epsilon, delta)-DP, add/remove.

    Parameters
    ----------
    eta : float
        Range of each selection.
    steps : int
    epsilon : float
    noise : float
        What each noisy count costs, 1 / scale of its integer Laplace noise; 0 for none.
    """
    odds, losses = right_answers(steps, noise)
    left = epsilon - losses
    lower = selections_delta(eta, steps, left)
    # 1 - exp(x)(1 - V(-x)), rounded up; what all outcomes' losses of at most eta cost bounds it too
    with np.errstate(divide="ignore"):
        missed = left + np.log(-np.expm1(_log_delta(eta, steps, -left)))
    higher = _ROUNDING * (steps + 1) ** 2 - np.expm1(np.minimum(missed, 0.0))
    higher = np.minimum(higher, -np.expm1(np.minimum(left - eta, 0.0)))
    return float(max(odds @ lower, odds @ higher))


@lru_cache(maxsize=256)
def run_rate(epsilon: float, delta: float, steps: int, noise: float = 0.0) -> float:
    """The largest eta of a run that is (epsilon, delta)-DP, add/remove, less GIVEN_UP.

    Raises
    ------
    ValueError
        If epsilon does not exceed steps * noise.
    """
    # by basic composition
    low = (epsilon - steps * noise) / steps
    if not low > 0:
        raise ValueError(f"epsilon = {epsilon} does not pay for {steps} counts of {noise} each")
    if delta == 0:
        # a larger rate may seem to keep it, where its own delta is below all doubles
        return low * (1 - GIVEN_UP)
    high = 2 * low
    while run_delta(high, steps, epsilon, noise) <= delta:
        low, high = high, 2 * high
    eta = _edge(low, high, lambda rate: run_delta(rate, steps, epsilon, noise) <= delta)
    return eta * (1 - GIVEN_UP)


def run_epsilon(eta: float, delta: float, steps: int, noise: float = 0.0) -> float:
    """The least epsilon for which a run that uses eta is (epsilon, delta)-DP, GIVEN_UP charged."""
    eta /= 1 - GIVEN_UP
    by_basic = steps * (eta + noise)
    if delta == 0:
        return by_basic
    return _edge(by_basic, 0.0, lambda epsilon: run_delta(eta, steps, epsilon, noise) <= delta)


def _edge(holds: float, fails: float, condition: Callable[[float], bool]) -> float:
    """Where a condition ends to hold, within a relative 1e-13, on the side where it holds."""
    while abs(holds - fails) > 1e-13 * max(holds, fails):
        middle = (holds + fails) / 2
        if condition(middle):
            holds = middle
        else:
            fails = middle
    return holds


def _log_delta(eta: float, steps: int, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln V_m(x)."""
    u = np.clip((steps * eta - x) / (steps + 1), 0.0, eta)
    formula = (steps + 1) * _log_complement(u) - steps * _log_complement(np.array(eta))
    return np.where(x < -eta, _log_complement(np.maximum(-x, 0.0)), formula)


def _log_complement(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln(1 - exp(-u)) of u >= 0, to a relative 1e-15 or so."""
    with np.errstate(divide="ignore"):
        return np.where(u > 0.7, np.log1p(-np.exp(-u)), np.log(-np.expm1(-u)))
