"""Computes what several steps of a run cost together: of a set cover, and of any mechanisms.

A private set cover, its noisy counts and selections together.

An example of a set cover stops mattering once a piece decides it.  Under neighbours that add
or remove one example, m selections of range eta then cost, one way, delta = V_m(epsilon),

    V_m(x) = (1 - exp(-u))^(m + 1) / (1 - exp(-eta))^m,  u = (m eta - x) / (m + 1),

for -eta <= x <= m eta, 1 - exp(x) below and 0 above; the other way U_m(x) = 1 - exp(x) +
exp(x) V_m(-x), which is 0 from x = eta on; and no less holds for all classes of pieces: a sample of
one example and a class of two pieces attain it (docs/privacy.md, lemma 4).  A noisy count that
costs e tells as much as a bit that is right with odds exp(e), so a run with such a count in every
step costs at most the greater of

    E[V_m(epsilon - W)],  E[U_m(epsilon - W)],  W = e (2 B - m),  B ~ Binomial(m, 1/(1 + exp(-e))).

Optimal is said of the selections alone, over all classes of pieces; with counts it is a bound.

T adaptive mechanisms, each of them epsilon0-DP with delta = 0.

optimal   delta(epsilon) = sum over l = 0..T of
          C(T, l) [e^(l epsilon0) - e^(epsilon + (T - l) epsilon0)]+ / (1 + e^epsilon0)^T.
          T answers of randomized response, bits that are each right with odds exp(epsilon0),
          attain it (Kairouz, Oh, Viswanath 2015; docs/privacy.md, lemma S3).
basic     epsilon = T epsilon0, delta = 0; contained in the optimal one.
advanced  epsilon = sqrt(2 T ln(1/delta)) epsilon0 + T epsilon0 (e^epsilon0 - 1) (Dwork,
          Rothblum, Vadhan 2010): what BTT and KMMS use; here for comparison.

Selections alone, of bounded range eta, by general accounts; learners use the first two, comparisons
all three (proofs: docs/privacy.md, lemmas 4 and A1):

basic      eta = epsilon_s / m
zcdp       m * eta^2 / 8 = rho, with rho -> (epsilon_s, delta) by the optimal
           conversion of Renyi divergence (Canonne, Kamath, Steinke 2020,
           proposition 12; Dong, Durfee, Rogers 2020 for bounded range)
set-cover  eta = ln(1 + epsilon_s / ln(e / delta)), whatever m (KMMS claim 3.4 in
           its tight form: an example stops mattering once it is covered)

What is granted is the lower end of a bisection, so it never exceeds what the account proves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from geometry.arrays import Floats
from learners.privacy.accounting import (
    ARITHMETIC,
    GIVEN_UP,
    AccountName,
    Neighbours,
    PrivacySpent,
    check_budget,
    halve_for_replacement,
    neglected_delta,
)


@lru_cache(maxsize=8)
def right_answers(count: int, epsilon: float) -> tuple[Floats, Floats]:
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


#: Room for the rounding of U_m, in parts of (m + 1)^2.
_ROUNDING = 1e-14


def selections_delta(eta: float, steps: int, epsilon: ArrayLike) -> Floats:
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


def _edge(
    holds: float, fails: float, condition: Callable[[float], bool], within: float = 1e-13
) -> float:
    """Where a condition ends to hold, within that relative error, on the side where it holds."""
    while abs(holds - fails) > within * max(holds, fails):
        middle = (holds + fails) / 2
        if condition(middle):
            holds = middle
        else:
            fails = middle
    return holds


def _log_delta(eta: float, steps: int, x: Floats) -> Floats:
    """ln V_m(x)."""
    u = np.clip((steps * eta - x) / (steps + 1), 0.0, eta)
    formula = (steps + 1) * _log_complement(u) - steps * _log_complement(np.array(eta))
    return np.where(x < -eta, _log_complement(np.maximum(-x, 0.0)), formula)


def _log_complement(u: Floats) -> Floats:
    """ln(1 - exp(-u)) of u >= 0, to a relative 1e-15 or so."""
    with np.errstate(divide="ignore"):
        return np.where(u > 0.7, np.log1p(-np.exp(-u)), np.log(-np.expm1(-u)))


#: Relative room for the rounding of the sums here: 10^5 terms round to 10^-10 at most.
_SUM_ROUNDING = 1e-8

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
    return min(1.0, float(terms.sum()) * (1 + _SUM_ROUNDING))


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
    high = epsilon / math.sqrt(2 * count * math.log(1 / delta))
    return _edge(0.0, high, lambda each: advanced_epsilon(each, count, delta) <= epsilon, 1e-12)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Least epsilon with (epsilon, delta)-DP from rho-zCDP: the optimum over Renyi orders.

    The inverse of Canonne, Kamath, Steinke 2020, proposition 12: delta =
    inf over a > 1 of exp((a-1)(a rho - epsilon)) / (a-1) * (1 - 1/a)^a.
    Any order gives a valid bound; the search only tightens it.
    """
    if rho <= 0:
        return 0.0
    order = zcdp_order(rho, delta)
    return max(0.0, order * rho + zcdp_tail(order, delta))


def zcdp_order(rho: float, delta: float) -> float:
    """The Renyi order a > 1 at which rho-zCDP converts best; any other gives a valid bound too."""

    def epsilon(log_order: float) -> float:
        a = 1.0 + math.exp(log_order)
        return a * rho + zcdp_tail(a, delta)

    return 1.0 + math.exp(_minimize(epsilon, -20.0, 20.0))


def zcdp_tail(order: float, delta: float) -> float:
    """What epsilon exceeds a Renyi divergence of that order by, at delta."""
    above = order - 1
    return (math.log(1 / delta) + above * math.log1p(-1 / order) - math.log(order)) / above


@lru_cache(maxsize=256)
def zcdp_budget(epsilon: float, delta: float) -> float:
    """A rho, within a relative 1e-12 below the largest, that converts to (epsilon, delta)-DP."""
    high = 1.0
    while zcdp_epsilon(high, delta) < epsilon:
        high *= 2
    return _edge(0.0, high, lambda rho: zcdp_epsilon(rho, delta) <= epsilon)


def _minimize(f: Callable[[float], float], low: float, high: float) -> float:
    """Golden-section search; any point it returns is a valid Renyi order."""
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    fa, fb = f(a), f(b)
    for _ in range(200):
        if fa < fb:
            high, b, fb = b, a, fa
            a = high - ratio * (high - low)
            fa = f(a)
        else:
            low, a, fa = a, b, fb
            b = low + ratio * (high - low)
            fb = f(b)
    return (low + high) / 2


@dataclass(frozen=True, slots=True)
class Account:
    """The selection rate granted to each of m steps, and by which account.

    Attributes
    ----------
    name : {"basic", "zcdp", "set-cover"}
    eta : float
        Nats per example of score.
    alternatives : tuple of (name, eta)
        What each valid account would have granted.
    """

    name: AccountName
    eta: float
    alternatives: tuple[tuple[AccountName, float], ...]


def selection_account(epsilon: float, delta: float, steps: int) -> Account:
    """The largest eta of m adaptive selections at (epsilon, delta), by three general accounts.

    `epsilon` here already excludes the charge for arithmetic; `delta` is the whole delta.

    Raises
    ------
    ValueError
        If epsilon <= 0, delta is not in (0, 1), or steps < 1.
    """
    check_budget(epsilon, delta)
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    options: tuple[tuple[AccountName, float], ...] = (
        ("basic", epsilon / steps),
        ("zcdp", math.sqrt(8 * zcdp_budget(epsilon, delta) / steps)),
        ("set-cover", math.log1p(epsilon / (1 - math.log(delta)))),
    )
    name, eta = max(options, key=lambda option: option[1])
    return Account(name, eta * (1 - GIVEN_UP), options)


def spent_after(privacy: PrivacySpent, steps: int) -> tuple[float, AccountName]:
    """What the first `steps` steps of a run have cost, at the run's own delta and neighbours.

    The first j steps of a run of m are themselves a run of j steps, with the same noise of scale
    s and the same eta, both fixed by public numbers before the first step.
    So docs/privacy.md applies to them:

    * by the optimal account, j counts and selections cost what it charges for them together, at
      the delta d that lemma 5 leaves of the run's, the whole run's neglected events taken off;
    * by the others, j counts cost j / s (lemma 3), and j selections of
      range eta the least that one of these accounts charges (lemma A1) at d: j * eta by basic
      composition, the conversion of j * eta^2 / 8 by zCDP, and (e^eta - 1) * ln(e / d) by set
      cover, whatever j;
    * the arithmetic of j draws costs 2 * j * ARITHMETIC, and delta grows back from d to no more
      than the run's (lemma 5).

    The charge is for the eta that the account granted, a little above the one that is used, as
    for the whole run.  Each term grows with j, and j = m is the run itself, so no charge exceeds
    the run's.  When replacing one example, the cost e at (e, d') doubles, and delta is
    d' * (1 + exp(e)), which is greatest for the whole run.

    It holds for a number of steps fixed beforehand; stopping a run because of what its
    diagnostics show is not covered.

    Parameters
    ----------
    privacy : PrivacySpent
        Of the whole run.
    steps : int
        Not negative.  After `privacy.steps` all is spent, but for what a sharpening after these
        steps will spend at once.

    Returns
    -------
    epsilon : float
        At privacy.delta, for privacy.neighbours; privacy.epsilon after the last step.
    account : {"optimal", "basic", "zcdp", "set-cover"}
        The run's if it is optimal, else the one that charges least.

    Raises
    ------
    ValueError
        If `steps` is negative.
    """
    if steps < 0:
        raise ValueError(f"steps must not be negative, got {steps}")
    # all is spent in the first step, or before it
    last = privacy.steps + (privacy.charge("sharpening") is not None)
    known = privacy.charge("selections") is not None and privacy.rows == 1
    if steps == 0 or steps >= last or not known:
        return (privacy.epsilon if steps else 0.0), privacy.account
    spent, name, whole = steps_cost(privacy, steps)
    return min(spent, whole), name


def steps_cost(privacy: PrivacySpent, steps: int) -> tuple[float, AccountName, float]:
    """What the charges of so many steps of a cover come to, by :func:`spent_after`.

    Returns
    -------
    epsilon : float
        At the statement's delta, however much the statement says.
    account : {"optimal", "basic", "zcdp", "set-cover"}
    whole : float
        What the statement leaves the cover beside its sharpening.
    """
    counts, selections = privacy.charge("noisy counts"), privacy.charge("selections")
    sharpening = privacy.charge("sharpening")
    assert selections is not None  # of a cover
    delta, factor = privacy.delta, 1
    neighbours: Neighbours = "replace-one" if privacy.neighbours == "replace-one" else "add-remove"
    if privacy.account == "optimal":
        delta = max(0.0, delta - neglected_delta(selections.each, privacy.steps, neighbours))
    whole = privacy.epsilon
    if sharpening is not None:
        # the draws of the zones see none of these steps' delta
        moves = 2 if neighbours == "replace-one" else 1
        whole -= moves * (sharpening.each + 2 * ARITHMETIC)
    if neighbours == "replace-one":
        delta, factor = halve_for_replacement(whole, delta)[1], 2
    delta *= math.exp(-privacy.steps * ARITHMETIC)
    arithmetic = 2 * steps * ARITHMETIC
    noise = 0.0 if counts is None else counts.each
    if privacy.account == "optimal":
        spent = factor * (run_epsilon(selections.each, delta, steps, noise) + arithmetic)
        return spent, "optimal", whole
    eta = selections.each / (1 - GIVEN_UP)
    options: tuple[tuple[AccountName, float], ...] = (
        ("basic", steps * eta),
        ("zcdp", zcdp_epsilon(steps * eta**2 / 8, delta)),
        ("set-cover", math.expm1(eta) * (1 - math.log(delta))),
    )
    name, cost = min(options, key=lambda option: option[1])
    return factor * (steps * noise + cost + arithmetic), name, whole
