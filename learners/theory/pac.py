"""Computes errors on a finite domain, and checks what a learner promises, by simulation.

A learner promises (alpha, beta) if on n independent examples its error on new ones exceeds alpha
with probability at most beta.  :func:`check_promise` runs it many times and bounds the probability
of failure by Clopper and Pearson's exact interval (1934): a lower end above beta refutes the
promise, an upper end of at most beta confirms it, at the stated confidence.

Everything here looks at true errors: it is for simulated data, and its results are the curator's.

Generalization of differential privacy (Nissim's lecture; Dwork, Feldman, Hardt, Pitassi, Reingold,
Roth 2015): :func:`generalization_gap`, proved as lemma F4 of docs/privacy.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from geometry.arrays import Flags, Ints
from learners.core.accuracy import clopper_pearson
from learners.core.examples import check_labels
from learners.declaration import check_count, check_open_unit
from learners.privacy.noise import below_array
from learners.privacy.randomness import RandomSource

#: Sum of weights of a distribution at most.
_MOST_WEIGHT = 1 << 62


@dataclass(frozen=True, slots=True)
class LabelledDistribution:
    """A distribution over points 0..N-1 with a label, by whole weights: exact probabilities.

    Attributes
    ----------
    weights : ndarray of int64, shape (N, 2)
        Of point x with label 0 and with label 1; the sum is at most 2^62.

    Raises
    ------
    ValueError
        If the shape is another, a weight is negative, or all are 0.
    """

    weights: Ints

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights)
        if weights.ndim != 2 or weights.shape[1] != 2 or weights.dtype.kind not in "iu":
            raise ValueError(
                f"weights must be whole numbers of shape (N, 2), got {weights.dtype} "
                f"{weights.shape}"
            )
        if (weights < 0).any() or not 0 < sum(weights.ravel().tolist()) <= _MOST_WEIGHT:
            raise ValueError("weights must not be negative, nor sum to 0 or to more than 2^62")
        object.__setattr__(self, "weights", weights.astype(np.int64))

    @classmethod
    def labelled(
        cls, labels: ArrayLike, weights: ArrayLike | None = None, noise: Fraction | int = 0
    ) -> LabelledDistribution:
        """Points labelled by a concept, each label wrong with probability `noise`.

        Parameters
        ----------
        labels : array of 0/1, shape (N,)
        weights : array of int, shape (N,), optional
            Of the points; by default all alike.
        noise : Fraction or int
            In 0..1.
        """
        truth = np.asarray(labels, dtype=np.bool_)
        each = np.ones(len(truth), dtype=np.int64) if weights is None else np.asarray(weights)
        flipped = Fraction(noise)
        right, wrong = each * (flipped.denominator - flipped.numerator), each * flipped.numerator
        sides = np.where(truth, wrong, right), np.where(truth, right, wrong)
        return cls(np.column_stack(sides))

    def sample(self, n: int, source: RandomSource) -> tuple[Ints, Flags]:
        """n independent examples: points int64 (n,) and labels bool (n,)."""
        sums = np.cumsum(self.weights.ravel())
        found = np.searchsorted(sums, below_array(source, int(sums[-1]), n), side="right")
        return found // 2, found % 2 == 1

    def error(self, predicted: ArrayLike) -> Fraction:
        """Probability that a concept, its labels of all points (N,), errs: the population error."""
        labels = check_labels(predicted, len(self.weights)).astype(np.int64)
        wrong = self.weights[np.arange(len(labels)), 1 - labels]
        return Fraction(sum(wrong.tolist()), sum(self.weights.ravel().tolist()))


@dataclass(frozen=True, slots=True)
class PromiseCheck:
    """Outcome of a simulation.

    Attributes
    ----------
    alpha, beta : float
        The promise.
    runs, failures : int
    lower, upper : float
        Of the probability of failure, each at the confidence.
    """

    alpha: float
    beta: float
    runs: int
    failures: int
    lower: float
    upper: float

    @property
    def refuted(self) -> bool:
        """Whether the learner fails more often than promised."""
        return self.lower > self.beta

    @property
    def confirmed(self) -> bool:
        """Whether it fails no more often than promised."""
        return self.upper <= self.beta


def check_promise(
    run: Callable[[int], float | Fraction],
    *,
    alpha: float,
    beta: float,
    runs: int,
    confidence: float = 0.999,
) -> PromiseCheck:
    """Run a learner many times and count errors above alpha.

    Parameters
    ----------
    run : callable
        run(i) draws the i-th sample, learns, and returns the population error; 1 for no output.
    alpha, beta : float
    runs : int
    confidence : float
        Of each end of the interval, in (0, 1).
    """
    check_count("runs", runs)
    failures = sum(run(i) > alpha for i in range(runs))
    lower, upper = clopper_pearson(failures, runs, confidence)
    return PromiseCheck(alpha, beta, runs, failures, lower, upper)


def generalization_gap(n: int, epsilon: float, beta: float) -> float:
    """How far apart errors on the sample and on new examples may be, but for probability beta.

    Parameters
    ----------
    n : int
        Number of examples.
    epsilon : float
        Of the learner, when one example is replaced; twice that for add/remove.
    beta : float
        In (0, 1).

    Returns
    -------
    float
        tau = sqrt((k + ln(4/beta)) / (2 n)), k = v + sqrt(v^2 + 2 v ln(2/beta)), v = n
        epsilon^2/4; at most epsilon from n = ln(4/beta) / epsilon^2 on.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    check_count("n", n)
    check_open_unit(beta=beta)
    if not epsilon > 0:
        raise ValueError(f"epsilon must be positive, got {epsilon}")
    v = n * epsilon**2 / 4
    k = v + math.sqrt(v * v + 2 * v * math.log(2 / beta))
    return math.sqrt((k + math.log(4 / beta)) / (2 * n))
