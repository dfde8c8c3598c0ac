"""Bounds that sources state and no run is planned by: for the table, and for tests of its rows.

halts and chunks   corollary 4.1 of Bassily, Thakurta, Thakkar (BTT), with the constants that they
                   print, and with those of :mod:`learners.stability.stable_queries`.  BTT print
                   ln(m/beta) for ln(1/beta) in T, and K = 136 ln(4mT/min(delta, beta/2)) sqrt(T
                   ln(2/delta)) / epsilon chunks for a gap of sensitivity 1: K doubled here, as one
                   record moves the gap by 2.
stability          of gradient descent, and how many models of chunks are outliers
                   (:mod:`learners.stability.base_learners`, :mod:`learners.stability.quality`).
errors             on a sample, and of a run on a distribution (:mod:`learners.theory.pac`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from learners.core.examples import check_labels
from learners.declaration import check_count, check_open_unit
from learners.privacy.accounting import check_budget
from learners.privacy.randomness import SeededRandom
from learners.stability.base_learners import Order
from learners.stability.sample_and_aggregate import NoisyVotesBudget
from learners.stability.stable_queries import Constants, chunks_needed, plan_sparse_vector
from learners.theory.pac import LabelledDistribution


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """Public parameters m, T, K of a run, and the probability beta that its promise fails."""

    queries: int
    halts: int
    chunks: int
    beta: float

    @property
    def error(self) -> float:
        """Most of the queries that are answered wrong or not at all, as a fraction."""
        return min(1.0, self.halts / self.queries)


def halts_needed(
    queries: int, alpha: float, beta: float, *, gamma: float = 0.0, constants: Constants = "tight"
) -> int:
    """T = ceil(3 ((gamma + alpha) m + sqrt(m ln(1/beta) / 2))), with ln(m/beta) as printed.

    Parameters
    ----------
    queries : int
        m.
    alpha : float
        Error of a chunk's model beyond the best concept's, in [0, 1].
    beta : float
        In (0, 1).
    gamma : float
        Error of the best concept, in [0, 1]; 0 in the realizable case.
    constants : {"tight", "printed"}

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    m = check_count("queries", queries)
    if not (0 <= alpha <= 1 and 0 <= gamma <= 1 and 0 < beta < 1):
        raise ValueError(
            f"alpha and gamma must lie in [0, 1] and beta in (0, 1), got {alpha}, {gamma}, {beta}"
        )
    log = math.log((m if constants == "printed" else 1) / beta)
    return max(1, math.ceil(3 * ((gamma + alpha) * m + math.sqrt(m * log / 2))))


def printed_chunks(epsilon: float, delta: float, queries: int, halts: int, beta: float) -> int:
    """Twice BTT's 136 ln(4mT/min(delta, beta/2)) sqrt(T ln(2/delta)) / epsilon."""
    check_budget(epsilon, delta)
    log = math.log(4 * queries * halts / min(delta, beta / 2))
    return math.ceil(2 * 136 * log * math.sqrt(halts * math.log(2 / delta)) / epsilon)


def plan_queries(
    epsilon: float,
    delta: float,
    *,
    queries: int,
    alpha: float,
    beta: float = 0.1,
    gamma: float = 0.0,
    constants: Constants = "tight",
) -> QuerySettings:
    """T and K with the promise of corollary 4.1: half of beta for the queries, half for the noise.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    halts = halts_needed(queries, alpha, beta / 2, gamma=gamma, constants=constants)
    if constants == "printed":
        chunks = printed_chunks(epsilon, delta, queries, halts, beta)
    else:
        budget = plan_sparse_vector(epsilon, delta, queries=queries, halts=halts)
        chunks = chunks_needed(budget, beta / 2)
    return QuerySettings(queries, halts, chunks, beta)


def noisy_chunks(budget: NoisyVotesBudget, beta: float, agreement: float, classes: int = 2) -> int:
    """Chunks with which all m queries on which this share agrees are right but for beta."""
    if not (0.5 < agreement <= 1 and 0 < beta < 1):
        raise ValueError(
            f"agreement must lie in (1/2, 1] and beta in (0, 1), got {agreement}, {beta}"
        )
    lead = math.log((classes - 1) * budget.queries / beta) / budget.rate
    return math.ceil(lead / (2 * agreement - 1))


#: Lipschitz constant of the loss, for |z| <= 1.
LIPSCHITZ = 1.0


def _times_met(n: int, steps: int, order: Order) -> tuple[float, float]:
    """E c and E c^2 of the module, the place of the example uniform."""
    count, most = check_count("n", n), check_count("steps", steps)
    if order == "replacement":
        mean = most / count
        return mean, mean * (1 - 1 / count) + mean**2
    if order == "one-pass":
        mean = min(most, count) / count
        return mean, mean
    whole, rest = divmod(most, count)
    return most / count, whole**2 + rest / count * (2 * whole + 1)


def uniform_stability(n: int, steps: int, rate: float, order: Order = "replacement") -> float:
    """Uniform stability of the loss: 2 L^2 eta S/n on average over the coins.

    In one pass there are no coins, and the example at a place is met: 2 L^2 eta.  With its place
    uniform it would be as of a permutation (BTT's reduction).

    Parameters
    ----------
    n, steps : int
        Examples of a sample, and steps.
    rate : float
        eta.
    order : {"replacement", "permutation", "one-pass"}
    """
    met = 1.0 if order == "one-pass" else _times_met(n, steps, order)[0]
    return 2 * LIPSCHITZ**2 * rate * met


def prediction_stability(n: int, steps: int, rate: float, order: Order = "replacement") -> float:
    """Bound on gamma^2 of the predictions, for every sample.

    For every example replaced where there are coins, on average over the examples in one pass;
    parameters as of :func:`uniform_stability`.
    """
    return (2 * LIPSCHITZ * rate) ** 2 * _times_met(n, steps, order)[1] / 16


def outlier_share(n: int, squared: float, width: float) -> float:
    """q = 8 n gamma^2 / nu^2, at most 1: share of chunks expected off the mean by over nu/4."""
    return min(1.0, 8 * n * squared / width**2)


def most_outliers(chunks: int, share: float, beta: float) -> int:
    """Outliers among K chunks that are exceeded with probability at most beta."""
    check_count("chunks", chunks)
    check_open_unit(beta=beta)
    return min(chunks, math.floor(share * chunks + math.sqrt(chunks * math.log(1 / beta) / 2)))


def empirical_error(predicted: ArrayLike, labels: ArrayLike) -> Fraction:
    """Share of n >= 1 examples that are predicted wrong."""
    truth = np.asarray(labels)
    if truth.ndim != 1 or len(truth) == 0:
        raise ValueError(f"labels must have shape (n,), n at least 1, got {truth.shape}")
    wrong = check_labels(predicted, len(truth)) != check_labels(truth, len(truth))
    return Fraction(int(np.count_nonzero(wrong)), len(truth))


def learning_run(
    make: Callable[[int], Any], law: LabelledDistribution, n: int
) -> Callable[[int], Fraction]:
    """A run for :func:`check_promise`: sample n examples, learn, population error.

    Parameters
    ----------
    make : callable
        make(i) is the learner of the i-th run, with fit and predict over points 0..N-1.
    law : LabelledDistribution
    n : int
    """

    def run(i: int) -> Fraction:
        X, y = law.sample(n, SeededRandom(10_000 + i))
        return law.error(make(i).fit(X, y).predict(np.arange(len(law.weights))))

    return run
