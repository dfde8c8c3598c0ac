"""Learners that are sure: predictions near 0 or 1, in expectation or with high probability.

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
variance (:mod:`learners.stability.quality`).  O of K chunks lie outside, O binomial at most; the
first bin leads by K - 2 O votes at least, and its test fails with probability at most P(noise >=
distance - w).  So the private prediction is nu/2, but for

    beta = E P(noise >= ceil((K - 2 O) / 2) - 1 - w):

weak quality at every chunk makes strong quality of the whole (:func:`strong_failure`; *derived*,
with exact sums in the place of BTT's constants).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.checks import check_count, check_open_unit
from learners.confidence import Verdict, clopper_pearson, mean_bounds, verdict
from learners.stability.sparse_vector import SparseVectorBudget, difference_tail


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
    predictions: NDArray[np.float64], alpha: float, beta: float, *, confidence: float = 0.999
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
