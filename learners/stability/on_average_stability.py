"""On-average stability, and what it says about soft labels (definition 5.7, lemma 5.8).

A learner A with predictions in [0, 1] is gamma-stable on average at x if

    E |A(S)(x) - A(S^i)(x)|^2 <= gamma^2      on average over i = 1..n,

S of n independent examples, S^i the same with the i-th replaced by a new one, and the same coins.

Lemma (*derived*, by Efron and Stein's inequality): Var A(S)(x) <= n gamma^2 / 2.  So a chunk's
prediction is further than nu/4 from the mean with probability at most q = 8 n gamma^2 / nu^2
(Chebyshev), and with K independent chunks more than q K + sqrt(K ln(1/beta) / 2) of them are with
probability at most beta (Hoeffding).  All others lie in an interval of length nu/2, hence in one
plain or one shifted bin of width nu: a stable histogram, whose bin is right to within nu.

Uniform stability, sup |A(S)(x) - A(S^i)(x)| <= gamma for all samples, implies it; the average is
often much smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.estimator import check_count
from learners.stability.sample_and_aggregate import fresh_copy
from learners.stability.soft_labels import soft_predictions


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

    @property
    def variance_bound(self) -> float:
        """Efron and Stein's n gamma^2 / 2 at the estimate."""
        return self.n * self.squared / 2


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
        pair = soft_predictions(
            tuple(_fit(base, X[r], y[r]) for r in (np.arange(n), other)), points
        )
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


def _fit(base: Any, X: NDArray[Any], y: NDArray[Any]) -> Any:
    model = fresh_copy(base)
    fitted = model.fit(X, y)
    return model if fitted is None else fitted


def outlier_share(n: int, squared: float, width: float) -> float:
    """q = 8 n gamma^2 / nu^2, at most 1: share of chunks expected off the mean by over nu/4."""
    return min(1.0, 8 * n * squared / width**2)


def most_outliers(chunks: int, share: float, beta: float) -> int:
    """Outliers among K chunks that are exceeded with probability at most beta."""
    check_count("chunks", chunks)
    if not 0 < beta < 1:
        raise ValueError(f"beta must lie strictly between 0 and 1, got {beta}")
    return min(chunks, math.floor(share * chunks + math.sqrt(chunks * math.log(1 / beta) / 2)))
