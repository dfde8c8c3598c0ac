"""How stable and how good chunks' models are: for the curator, before or after a run.

Everything here looks at votes, predictions and truth, and is not private: use it on simulated or
public data to choose K, T and a base learner.

agreement           share of the models that vote for the winner of a query.
stable histogram    the histogram of a query's predictions, in bins of a width, whose fullest bin
                    is at some distance to instability; plain or shifted (section 5.2).
nearness to truth   share of models within alpha of the truth, on average over queries and at the
                    worst one: for simulated data.  Not a notion of the source.
consistent          definition 5.9: the expected prediction, over samples, is the same whatever the
randomization       coins are; a verdict with confidence bounds (:func:`check_randomization`).

Predictions near 0 or 1, whatever the truth: :mod:`learners.stability.end_quality`.

On-average stability, and what it says about soft labels (definition 5.7, lemma 5.8)
------------------------------------------------------------------------------------
A learner A with predictions in [0, 1] is gamma-stable on average at x if

    E |A(S)(x) - A(S^i)(x)|^2 <= gamma^2      on average over i = 1..n,

S of n independent examples, S^i the same with the i-th replaced by a new one, and the same coins.

Lemma (*derived*, by Efron and Stein's inequality): Var A(S)(x) <= n gamma^2 / 2.  So a chunk's
prediction is further than nu/4 from the mean with probability at most q = 8 n gamma^2 / nu^2
(Chebyshev), and with K independent chunks more than q K + sqrt(K ln(1/beta) / 2) of them are with
probability at most beta (Hoeffding).  All others lie in an interval of length nu/2, hence in one
plain or one shifted bin of width nu: a stable histogram, whose bin is right to within nu.

An answer is then within 3/4 nu of the mean: if fewer than K/3 are outliers, the fullest bin holds
more than these, so it meets that interval, and its middle is within nu/2 + nu/4.

Uniform stability, sup |A(S)(x) - A(S^i)(x)| <= gamma for all samples, implies it; the average is
often much smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.checks import check_count, check_open_unit
from learners.confidence import Verdict, mean_bounds, verdict
from learners.stability.sample_and_aggregate import distances, fresh_copy, train_chunks, trained
from learners.stability.soft_labels import BINS, bin_counts, soft_predictions


def agreement(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Share of votes (m, classes) for the winner of each query, float of shape (m,)."""
    return np.asarray(counts.max(axis=1) / counts.sum(axis=1))


def stable_histograms(
    predictions: NDArray[np.float64], width: float, least: int
) -> NDArray[np.bool_]:
    """Which queries have a stable plain, and a stable shifted histogram, bool of shape (m, 2).

    Parameters
    ----------
    predictions : ndarray of float64, shape (K, m)
        In [0, 1].
    width : float
        Of the bins.
    least : int
        Distance to instability that counts as stable, in votes.
    """
    found = [
        [distances(bin_counts(column, width, bins)[0][None])[0] >= least for bins in BINS]
        for column in predictions.T
    ]
    return np.array(found, dtype=np.bool_).reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class Quality:
    """Nearness to the truth: shares of models within alpha, on average and at the worst query."""

    weak: float
    strong: float


def quality(predictions: NDArray[np.float64], truth: ArrayLike, alpha: float) -> Quality:
    """Nearness of models to a truth that is known.

    Without one: :mod:`learners.stability.end_quality`.

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

    Attributes
    ----------
    shared, own : float
        Spread of predictions over chunks, standard deviations averaged over queries: with the same
        coins for all models, and with coins of their own.
    lower, upper : float
        Of the largest difference, over queries and the coins that were tried, of two expected
        predictions with different coins.
    threshold : float
        The difference that still counts as none.
    verdict : {"yes", "no", "open"}
        Whether randomization is consistent: "yes" if `upper` is at most the threshold, "no" if
        `lower` is above it.
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
    chunk: NDArray[np.int64],
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

    def told(base: Callable[[], Any]) -> NDArray[np.float64]:
        models = train_chunks(base, X, y, chunk, chunks, classes).models
        return soft_predictions(models, points)

    first = told(lambda: make(0))
    shared, own = (float(p.std(axis=0).mean()) for p in (first, told(lambda: make(next(coins)))))
    tried = range(chunks + 1, chunks + 1 + _COINS)
    apart = np.stack([told(lambda c=c: make(c)) - first for c in tried], axis=1)  # type: ignore[misc]
    low, high = mean_bounds(apart, 2.0, (1 - confidence) / (_COINS * len(points)))
    lower = max(0.0, float(np.maximum(low, -high).max()))
    upper = min(1.0, float(np.maximum(high, -low).max()))
    found = verdict(upper <= threshold, lower > threshold)
    return RandomizationCheck(shared, own, lower, upper, threshold, found)


@dataclass(frozen=True, slots=True)
class StabilityEstimate:
    """What was measured; at the worst query unless said otherwise.

    Attributes
    ----------
    n, runs : int
    squared : float
        Estimate of gamma^2.
    mean_squared : float
        The same, averaged over queries.
    upper : float
        Of gamma^2 at every query, at the confidence (Hoeffding, over runs and queries).
    variance : float
        Of the predictions over independent samples.
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
