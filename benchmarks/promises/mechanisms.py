"""Rows of the mechanisms that all learners draw by: integer Laplace noise, exponential mechanism.

Kaplan, Mansour, Matias, Stemmer 2019 (KMMS), section 2; Nikolov, CSC2412.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from learners.privacy.accounting import noise_scale
from learners.privacy.exponential_mechanism import exponential_index, private_rate
from learners.privacy.noise import discrete_laplace
from learners.privacy.randomness import SeededRandom
from learners.theory.pac import check_promise
from promises.row import Row, Verdict, exact, simulated

_EPSILONS = tuple(Fraction(i, 20) for i in range(1, 61))


def _odds(runs: int) -> Verdict:
    """P(z) is proportional to exp(-|z| / scale): one example moves a count by 1."""
    del runs
    worst = max(1 / noise_scale(float(epsilon), 1) / epsilon for epsilon in _EPSILONS)
    figures = f"an outcome's odds change by {float(worst):.9f} of epsilon at most"
    return exact(worst <= 1, figures)


_BETA = 0.05


def _tail(runs: int) -> Verdict:
    scale = noise_scale(1.0, 1)
    most = math.ceil(float(scale) * math.log(1 / _BETA))

    def run(i: int) -> float:
        return abs(discrete_laplace(SeededRandom(i), scale))

    return simulated(check_promise(run, alpha=most, beta=_BETA, runs=runs))


def _private(runs: int) -> Verdict:
    """All scores of four candidates in 0..2, all moves by -1, 0 or 1."""
    del runs
    epsilon, worst = 0.7, 0.0
    rate = float(private_rate(epsilon))
    scores = np.array(list(itertools.product(range(3), repeat=4)))
    moves = np.array(list(itertools.product((-1, 0, 1), repeat=4)))

    def logs(q: np.ndarray) -> np.ndarray:
        return np.asarray(rate * q - np.log(np.exp(rate * q).sum(axis=-1, keepdims=True)))

    for q in scores:
        worst = max(worst, float(np.abs(logs(q + moves) - logs(q)).max()))
    return exact(worst <= epsilon * (1 + 1e-12), f"at most {worst:.4f} of epsilon = {epsilon}")


#: One candidate is best; all others are worse by lambda, which is the worst case of the bound.
_CANDIDATES, _LOSS = 50, 12
_FAILS = _CANDIDATES * math.exp(-_LOSS / 2)


def _useful(runs: int) -> Verdict:
    scores = np.full(_CANDIDATES, -_LOSS)
    scores[7] = 0
    rate = private_rate(1.0)

    def run(i: int) -> float:
        return float(exponential_index(SeededRandom(i), scores, rate) != 7)

    return simulated(check_promise(run, alpha=0.5, beta=_FAILS, runs=runs))


ROWS: tuple[Row, ...] = (
    Row(
        (2,), "KMMS, theorem 2.4; BTT, lemma 2.6",
        "Laplace noise of scale 1/epsilon, added to a count, is epsilon-DP.",
        "epsilon 0.05 to 3; the law's own odds, in fractions", _odds, 1, 1,
        "Noise is a whole number: P(z) is proportional to exp(-|z| / scale).",
    ),
    Row(
        (2,), "KMMS, theorem 2.4",
        f"Its size is at most scale * ln(1/beta), rounded up, with probability {1 - _BETA:g}.",
        f"epsilon = 1, beta = {_BETA:g}", _tail, 20_000, 1_000,
    ),
    Row(
        (2,), "KMMS, proposition 2.5 (i); Nikolov, exponential mechanism",
        "Weights exp(epsilon q / 2) are epsilon-DP for scores of sensitivity 1.",
        "four candidates, all scores in 0..2 and all moves by at most 1, epsilon = 0.7",
        _private, 1, 1,
    ),
    Row(
        (2,), "KMMS, proposition 2.5 (ii); Nikolov, accuracy",
        "A draw falls short of the best score by lambda with probability at most "
        "|H| exp(-epsilon lambda / 2).",
        f"{_CANDIDATES} candidates, all but one short by lambda = {_LOSS}, epsilon = 1",
        _useful, 10_000, 600,
    ),
)  # fmt: skip
