"""Measures how stable and how good chunks' models are: for the curator, before or after a run.

Everything here looks at votes, predictions and truth, and is not private: use it on simulated or
public data to choose K, T and a base learner.

agreement           share of the models that vote for the winner of a query.
nearness to truth   share of models within alpha of the truth, on average over queries and at the
                    worst one: for simulated data.  Not a notion of the source.
consistent          definition 5.9: the expected prediction, over samples, is the same whatever the
randomization       coins are; a verdict with confidence bounds (:func:`check_randomization`).

On-average stability, and what it says about soft labels (definition 5.7, lemma 5.8)
------------------------------------------------------------------------------------
A learner A with predictions in [0, 1] is gamma-stable on average at x if

    E |A(S)(x) - A(S^i)(x)|^2 <= gamma^2      on average over i = 1..n,

S of n independent examples, S^i the same with the i-th replaced by a new one, and the same coins.

Lemma (*derived*, by Efron and Stein's inequality): Var A(S)(x) <= n gamma^2 / 2.  So a chunk's
prediction is further than nu/4 from the mean with probability at most q = 8 n gamma^2 / nu^2
(Chebyshev), and with K independent chunks more than q K + sqrt(K ln(1/beta) / 2) of them are with
probability at most beta (Hoeffding).  All others lie in an interval of length nu/2, hence in one
plain or one shifted bin of width nu: the histogram of the predictions is stable, its fullest bin
far from another one, and that bin is right to within nu.

An answer is then within 3/4 nu of the mean: if fewer than K/3 are outliers, the fullest bin holds
more than these, so it meets that interval, and its middle is within nu/2 + nu/4.

Uniform stability, sup |A(S)(x) - A(S^i)(x)| <= gamma for all samples, implies it; the average is
often much smaller.

Learners that are sure
----------------------
Their predictions are near 0 or 1, whatever the truth, in expectation or with high probability.

weak quality     definition 5.11: the expected prediction at x is at most alpha, or at least
                 1 - alpha; expected over samples of n examples and coins.
strong quality   definition 5.12: the prediction itself is, always on the same side, except with
                 probability beta.  (Our copy of the source has lost the formula: this is the
                 stricter reading.)

Models of independent chunks are independent draws of predictions, so both get verdicts with
confidence bounds (:func:`end_quality`).  For the curator, of simulated or public data: predictions
are private.  The queries without weak quality are the T that theorem 5.14 asks for: at all others
a private prediction spends nothing.

From weak to strong (lemma 5.13)
--------------------------------
Let 1/nu be a whole number, and the expected prediction at x be at most alpha < nu; near 1 all is
mirrored.  A chunk's prediction lies outside the first bin only if it is off its mean by nu - alpha,
with probability at most q = V / (V + (nu - alpha)^2) (Cantelli), V = n gamma^2 / 2 bounding its
variance (see above).  O of K chunks lie outside, O binomial at most; the
first bin leads by K - 2 O votes at least, and its test fails with probability at most P(noise >=
distance - w).  So the private prediction is nu/2, but for

    beta = E P(noise >= ceil((K - 2 O) / 2) - 1 - w):

weak quality at every chunk makes strong quality of the whole (:func:`strong_failure`; *derived*,
with exact sums in the place of BTT's constants).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.arrays import Floats, Ints
from learners.core.accuracy import Verdict, clopper_pearson, mean_bounds, verdict
from learners.declaration import check_count, check_open_unit
from learners.stability.sample_and_aggregate import fresh_copy, train_chunks, trained
from learners.stability.soft_labels import soft_predictions
from learners.stability.stable_queries import SparseVectorBudget, difference_tail


def agreement(counts: Ints) -> Floats:
    """Share of votes (m, classes) for the winner of each query, float of shape (m,)."""
    return np.asarray(counts.max(axis=1) / counts.sum(axis=1))


@dataclass(frozen=True, slots=True)
class Quality:
    """Nearness to the truth: shares of models within alpha, on average and at the worst query."""

    weak: float
    strong: float


def quality(predictions: Floats, truth: ArrayLike, alpha: float) -> Quality:
    """Nearness of models to a truth that is known.

    Parameters
    ----------
    predictions : ndarray, shape (K, m)
    truth : array, shape (m,)
    alpha : float
        At least 0; classes are within 0 of the truth if they are right.
    """
    if alpha < 0:
        raise ValueError(f"alpha must not be negative, got {alpha}")
    shares = np.mean(np.abs(predictions - np.asarray(truth)) <= alpha, axis=0)
    return Quality(float(shares.mean()), float(shares.min()))


@dataclass(frozen=True, slots=True)
class RandomizationCheck:
    """Whether expected predictions depend on a learner's coins.

    `shared` and `own` are the spread of predictions over chunks, standard deviations averaged over
    queries: with the same coins for all models, and with coins of their own.  `lower` and `upper`
    bound the largest difference, over queries and the coins that were tried, of two expected
    predictions with different coins; the threshold still counts as none.  The verdict is on
    consistent randomization: "yes" if `upper` is at most the threshold, "no" if `lower` is above
    it.
    """

    shared: float
    own: float
    lower: float
    upper: float
    threshold: float
    verdict: Verdict


#: Pairs of coins whose expected predictions are compared.
_COINS = 3


def check_randomization(
    make: Callable[[int], Any],
    X: NDArray[Any],
    y: NDArray[Any],
    chunk: Ints,
    chunks: int,
    points: NDArray[Any],
    *,
    threshold: float = 0.1,
    confidence: float = 0.99,
) -> RandomizationCheck:
    """Compare models with shared coins and with coins of their own (definition 5.9).

    Models of the same chunk with two values of the coins make a pair; the mean of their difference
    over chunks estimates that of their expectations, and pairs take what the samples do away.
    "yes" is about the coins that were tried: no number of runs can tell of all.

    Parameters
    ----------
    make : callable
        make(coins) is a learner with these coins, a whole number.
    X, y, chunk, chunks :
        As in :func:`learners.stability.sample_and_aggregate.train_chunks`; independent examples.
    points : ndarray, shape (m, ...)
        Queries.
    threshold : float
        Difference that counts as none, in (0, 1): by so much the means may differ, around which
        predictions of chunks with coins of their own gather.
    confidence : float
        Of the bounds of all differences together, in (0, 1).

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    check_open_unit(threshold=threshold, confidence=confidence)
    coins = iter(range(1, chunks + 1))
    classes = np.array([0, 1])

    def drawn(base: Callable[[], Any]) -> Floats:
        models = train_chunks(base, X, y, chunk, chunks, classes).models
        return soft_predictions(models, points)

    first = drawn(lambda: make(0))
    shared, own = (float(p.std(axis=0).mean()) for p in (first, drawn(lambda: make(next(coins)))))
    tried = range(chunks + 1, chunks + 1 + _COINS)
    apart = np.stack([drawn(lambda c=c: make(c)) - first for c in tried], axis=1)  # type: ignore[misc]
    low, high = mean_bounds(apart, 2.0, (1 - confidence) / (_COINS * len(points)))
    lower = max(0.0, float(np.maximum(low, -high).max()))
    upper = min(1.0, float(np.maximum(high, -low).max()))
    found = verdict(upper <= threshold, lower > threshold)
    return RandomizationCheck(shared, own, lower, upper, threshold, found)


@dataclass(frozen=True, slots=True)
class StabilityEstimate:
    """What was measured; at the worst query unless said otherwise.

    `squared` is the estimate of gamma^2, `mean_squared` the same averaged over queries, `upper`
    that of gamma^2 at every query, at the confidence (Hoeffding, over runs and queries); `variance`
    is that of the predictions over independent samples.
    """

    n: int
    runs: int
    squared: float
    mean_squared: float
    upper: float
    variance: float


def estimate_stability(
    base: Any,
    draw: Callable[[int], tuple[NDArray[Any], NDArray[Any]]],
    points: NDArray[Any],
    *,
    n: int,
    runs: int,
    confidence: float = 0.95,
) -> StabilityEstimate:
    """Train on pairs of samples that differ in one example, cycling through its positions.

    Parameters
    ----------
    base : object with fit and predict (or predict_proba), or factory of such
        With coins that do not depend on the sample.
    draw : callable
        draw(count) returns so many fresh examples (X, y).
    points : ndarray, shape (m, ...)
        Queries.
    n, runs : int
        Examples of a sample; pairs.
    confidence : float
        In (0, 1).
    """
    check_count("n", n)
    if check_count("runs", runs) < 2 or not 0 < confidence < 1:
        raise ValueError(f"two runs are needed, and a confidence in (0, 1): {runs}, {confidence}")
    squares, firsts = [], []
    for run in range(runs):
        X, y = draw(n + 1)
        place = run % n
        other = np.arange(n)
        other[place] = n
        models = tuple(trained(fresh_copy(base), X[r], y[r]) for r in (np.arange(n), other))
        pair = soft_predictions(models, points)
        firsts.append(pair[0])
        squares.append((pair[0] - pair[1]) ** 2)
    means = np.mean(squares, axis=0)
    spread = math.sqrt(math.log(len(points) / (1 - confidence)) / (2 * runs))
    return StabilityEstimate(
        n,
        runs,
        float(means.max()),
        float(means.mean()),
        min(1.0, float(means.max()) + spread),
        float(np.var(firsts, axis=0, ddof=1).max()),
    )


@dataclass(frozen=True, slots=True)
class EndQuality:
    """Definitions 5.11 and 5.12 at every query, as far as the models tell.

    Attributes
    ----------
    weak, strong : tuple of {"yes", "no", "open"}
    """

    weak: tuple[Verdict, ...]
    strong: tuple[Verdict, ...]

    @property
    def halts(self) -> tuple[int, int]:
        """T of theorem 5.14, at least and at most: queries without weak quality."""
        return self.weak.count("no"), len(self.weak) - self.weak.count("yes")


def end_quality(
    predictions: Floats, alpha: float, beta: float, *, confidence: float = 0.999
) -> EndQuality:
    """Whether a learner has weak and strong quality at queries, by models of independent chunks.

    Parameters
    ----------
    predictions : ndarray of float64, shape (K, m)
        In [0, 1], K at least 2.
    alpha, beta : float
        In (0, 1/2) and (0, 1).
    confidence : float
        Of all verdicts together, in (0, 1).

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha must lie in (0, 1/2), got {alpha}")
    check_open_unit(beta=beta, confidence=confidence)
    chunks, m = predictions.shape
    risk = (1 - confidence) / (2 * m)
    low, high = mean_bounds(predictions, 1.0, risk)
    weak = [
        verdict(up <= alpha or down >= 1 - alpha, alpha < down and up < 1 - alpha)
        for down, up in zip(low.tolist(), high.tolist(), strict=True)
    ]
    ends = np.stack([predictions <= alpha, predictions >= 1 - alpha]).sum(axis=1).max(axis=0)
    strong = []
    for near in ends.tolist():
        # of the two ends one is looked at: half of the risk for each
        least, most = clopper_pearson(chunks - near, chunks, 1 - risk / 2)
        strong.append(verdict(most <= beta, least > beta))
    return EndQuality(tuple(weak), tuple(strong))


def strong_failure(
    budget: SparseVectorBudget, chunks: int, n: int, squared: float, width: float, alpha: float
) -> float:
    """Probability that a private prediction is not the middle of the end's bin, at most.

    Lemma 5.13, see the module; of a query of weak quality, the tests before it answered.

    Parameters
    ----------
    budget : SparseVectorBudget
        Of :func:`learners.stability.soft_labels.plan_soft_queries`.
    chunks, n : int
        K, and examples of a chunk.
    squared : float
        gamma^2, of the on-average stability at n.
    width, alpha : float
        nu, 1 over a whole number, and alpha < nu.

    Raises
    ------
    ValueError
        If alpha, or a count, is out of range.
    """
    count = check_count("chunks", chunks)
    if not 0 <= alpha < width:
        raise ValueError(f"alpha must lie in [0, nu), nu = {width:g}, got {alpha}")
    variance = check_count("n", n) * squared / 2
    share = variance / (variance + (width - alpha) ** 2)
    failure = 0.0
    for outside in range(count + 1):
        # fails if the difference of the noises is at least distance - w
        least = max(0, math.ceil((count - 2 * outside) / 2) - 1) - budget.margin
        turned = 1.0
        if least > 0:
            turned = difference_tail(budget.threshold_scale, budget.query_scale, least - 1)
        failure += _binomial(count, outside, share) * turned
    return min(1.0, failure * (1 + 1e-9))


def _binomial(count: int, hits: int, share: float) -> float:
    """Probability of so many hits."""
    if share in (0.0, 1.0):
        return float(hits == share * count)
    choose = math.lgamma(count + 1) - math.lgamma(hits + 1) - math.lgamma(count - hits + 1)
    return math.exp(choose + hits * math.log(share) + (count - hits) * math.log1p(-share))
