"""How stable and how good chunks' models are: for the curator, before or after a run.

Everything here looks at votes, predictions and truth, and is not private: use it on simulated or
public data to choose K, T and a base learner.

agreement           share of the models that vote for the winner of a query.
stable histogram    the histogram of a query's predictions, in bins of a width, whose fullest bin
                    is at some distance to instability; plain or shifted (section 5.2).
weak quality        share of models within alpha of the truth, on average over queries: what a
                    learner's expected error gives.
strong quality      the same share at the worst query: a stable answer to *every* query needs it.
consistent          models trained with the same coins (the same order of SGD's steps, the same
randomization       start) on different chunks; their predictions spread by the sample alone.

BTT use these notions in the analysis of section 5; the measures here are our reading of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.stability.sample_and_aggregate import train_chunks
from learners.stability.soft_labels import bin_counts, soft_predictions
from learners.stability.votes import distances


def agreement(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Share of votes for the winner of each query, float of shape (m,).

    Parameters
    ----------
    counts : ndarray of int64, shape (m, classes)
    """
    return np.asarray(counts.max(axis=1) / counts.sum(axis=1))


def stable_queries(counts: NDArray[np.int64], least: int) -> NDArray[np.bool_]:
    """Which queries are at least so far from instability, bool of shape (m,)."""
    return np.asarray(distances(counts) >= least)


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
    found = np.zeros((predictions.shape[1], 2), dtype=np.bool_)
    for query, column in enumerate(predictions.T):
        for j, bins in enumerate(("plain", "shifted")):
            counts, _ = bin_counts(column, width, "shifted" if bins == "shifted" else "plain")
            found[query, j] = distances(counts[None])[0] >= least
    return found


@dataclass(frozen=True, slots=True)
class Quality:
    """Shares of models within alpha of the truth.

    Attributes
    ----------
    weak : float
        Mean over queries.
    strong : float
        At the worst query.
    """

    weak: float
    strong: float


def quality(predictions: NDArray[np.float64], truth: ArrayLike, alpha: float) -> Quality:
    """Weak and strong quality of models.

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
    """Spread of predictions over chunks, standard deviations averaged over queries.

    Attributes
    ----------
    shared, own : float
        With the same coins for all models, and with coins of their own.
    """

    shared: float
    own: float


def check_randomization(
    make: Callable[[int], Any],
    X: NDArray[Any],
    y: NDArray[Any],
    chunk: NDArray[np.int64],
    chunks: int,
    points: NDArray[Any],
) -> RandomizationCheck:
    """Compare models with shared coins and with coins of their own.

    Parameters
    ----------
    make : callable
        make(coins) is a learner with these coins, a whole number.
    X, y, chunk, chunks :
        As in :func:`learners.stability.sample_and_aggregate.train_chunks`.
    points : ndarray, shape (m, ...)
        Queries.
    """
    coins = iter(range(1, chunks + 1))

    def own() -> Any:
        return make(next(coins))

    spreads = []
    for base in (lambda: make(0), own):
        models = train_chunks(base, X, y, chunk, chunks, np.array([0, 1])).models
        spreads.append(float(soft_predictions(models, points).std(axis=0).mean()))
    return RandomizationCheck(*spreads)
