"""Rows of empirical risk minimization, and of what privacy itself says of new examples.

Nikolov, CSC2412; Nissim's lecture *Private Learning 1* (2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.finite.empirical_risk import EmpiricalRiskMinimizer, PrivateERM
from learners.finite.finite_class import FiniteClass, PrivateFiniteClassLearner
from learners.finite.sample_sizes import (
    agnostic_examples,
    laplace_examples,
    private_examples,
    uniform_convergence_examples,
)
from learners.privacy.randomness import SeededRandom
from learners.theory.pac import LabelledDistribution, check_promise, generalization_gap
from promises.bounds import empirical_error
from promises.finite import wrong_points
from promises.row import Row, Verdict, exact, simulated

ALPHA, BETA, EPSILON = 0.1, 0.1, 0.5
_KEPT = f"error at most {ALPHA:g} with probability {1 - BETA:g}"
_NIKOLOV = "Nikolov, CSC2412"

#: Ten hypotheses, one of which is right; five, with a quarter of the labels wrong.
_TEN, _TEN_LAW = wrong_points(9, 110)
_FIVE = wrong_points(4, 220)[0]
_NOISE = Fraction(1, 4)
_FIVE_LAW = LabelledDistribution.labelled(np.zeros(5), [220, 220, 220, 220, 120], _NOISE)


class _Losses:
    """0 or 1 for each hypothesis: the losses of a class of concepts."""

    def __init__(self, concepts: FiniteClass) -> None:
        self.table = concepts.concepts

    def __call__(self, X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int64]:
        return np.asarray(y[:, None] != self.table[:, X].T, dtype=np.int64)


# -- 19 ----------------------------------------------------------------------------------------


def _convergence(n: int, beta: float, *, above_only: bool = False) -> Callable[[int], Verdict]:
    """All of thirty random concepts, none of them right, at once."""
    table = np.random.default_rng(3).random((30, 60)) < 0.5
    law = LabelledDistribution.labelled(np.zeros(60), noise=Fraction(1, 3))
    errors = np.array([float(law.error(one)) for one in table])

    def run(i: int) -> float:
        X, y = law.sample(n, SeededRandom(i))
        found = (table[:, X] != y).mean(axis=1)
        apart = found - errors if above_only else np.abs(found - errors)
        return float(apart.max())

    return lambda runs: simulated(check_promise(run, alpha=ALPHA, beta=beta, runs=runs))


_PRINTED_UNIFORM = math.ceil(math.log(30 / BETA) / (2 * ALPHA**2))
_UNIFORM = uniform_convergence_examples(30, ALPHA, BETA)


def _minimizer(
    make: Callable[[int], Any], law: LabelledDistribution, concepts: FiniteClass, n: int,
    above: Fraction | int = 0,
) -> Callable[[int], Verdict]:  # fmt: skip
    errors = [law.error(one) for one in concepts.concepts]

    def run(i: int) -> Fraction:
        X, y = law.sample(n, SeededRandom(10_000 + i))
        return errors[make(i).fit(X, y).release_.index] - above

    return lambda runs: simulated(check_promise(run, alpha=ALPHA, beta=BETA, runs=runs))


_PLAIN = agnostic_examples(_FIVE.size, ALPHA, BETA)
_LOG = math.log(2 * _TEN.size / BETA)
_PRINTED = math.ceil(max(4 * _LOG / (EPSILON * ALPHA), 2 * _LOG / ALPHA**2))
_TIGHT = private_examples(_TEN.size, ALPHA, BETA, EPSILON)
_AGNOSTIC = private_examples(_FIVE.size, ALPHA, BETA, EPSILON, agnostic=True)
_LAPLACE = laplace_examples(_TEN.size, ALPHA, BETA, EPSILON)


def _erm(concepts: FiniteClass, **more: Any) -> Callable[[int], PrivateERM]:
    losses = _Losses(concepts)
    return lambda i: PrivateERM(losses=losses, epsilon=EPSILON, seed=i, **more)


def _growth(runs: int) -> Verdict:
    """Noise on all losses needs n in proportion to |C|, the exponential mechanism to its log."""
    del runs
    laplace, drawn = (
        [needed(size, ALPHA, BETA, EPSILON) for size in (100, 10_000)]
        for needed in (laplace_examples, private_examples)
    )
    outcome = f"100 to 10,000 hypotheses: {laplace[0]:,} to {laplace[1]:,} examples by noise on all"
    outcome += f" losses, {drawn[0]:,} to {drawn[1]:,} by a draw"
    return exact(laplace[1] > 50 * laplace[0] and drawn[1] < 3 * drawn[0], outcome)


# -- 18 ----------------------------------------------------------------------------------------

_GAP_EPSILON, _GAP_BETA = 0.25, 0.1
_GAP_N = math.ceil(math.log(4 / _GAP_BETA) / _GAP_EPSILON**2)
_TAU = generalization_gap(_GAP_N, _GAP_EPSILON, _GAP_BETA)
#: Coins for labels: every concept errs on half of new examples, whatever it does on the sample.
_MANY = FiniteClass(np.random.default_rng(5).random((2_000, 200)) < 0.5)
_COINS = LabelledDistribution.labelled(np.zeros(200), noise=Fraction(1, 2))


def _generalizes(runs: int) -> Verdict:
    def run(i: int) -> float:
        X, y = _COINS.sample(_GAP_N, SeededRandom(i))
        model = PrivateFiniteClassLearner(
            concepts=_MANY, epsilon=_GAP_EPSILON, neighbours="replace-one", seed=i
        ).fit(X, y)
        return abs(float(empirical_error(model.predict(X), y)) - 0.5)

    return simulated(check_promise(run, alpha=_TAU, beta=_GAP_BETA, runs=runs))


def _least_n(runs: int) -> Verdict:
    """tau <= epsilon at n = ln(4/beta) / epsilon^2, for many epsilon and beta."""
    del runs
    worst = 0.0
    for i, j in ((i, j) for i in range(1, 41) for j in range(1, 30)):
        epsilon, beta = 0.025 * i, 0.7**j
        n = math.ceil(math.log(4 / beta) / epsilon**2)
        worst = max(worst, generalization_gap(n, epsilon, beta) / epsilon)
    return exact(worst <= 1, f"tau is at most {worst:.4f} of epsilon, in 1,160 settings")


ROWS: tuple[Row, ...] = (
    Row(
        (18,), "Nissim, Private Learning 1, generalization of privacy",
        "The error of an epsilon-DP learner on new examples is within tau of that on its sample, "
        f"with probability {1 - _GAP_BETA:g}.",
        f"2,000 random concepts, coins for labels, epsilon = {_GAP_EPSILON:g}, n = "
        f"ln(4/beta) / epsilon^2 = {_GAP_N}: tau = {_TAU:.3f}", _generalizes, 2_000, 60,
    ),
    Row(
        (18,), "Nissim, Private Learning 1, generalization of privacy",
        "From n = ln(4/beta) / epsilon^2 on, tau is at most epsilon: alpha on the sample is at "
        "most alpha + epsilon on new examples.",
        "epsilon 0.025 to 1, beta 0.7 to 3e-5", _least_n, 1, 1,
        "The lecture has O(ln(1/delta) / epsilon^2), with delta for what is beta here.",
    ),
    Row(
        (19,), f"{_NIKOLOV}, uniform convergence as printed",
        "n >= ln(|C|/beta) / (2 alpha^2): no hypothesis errs on the sample by more than alpha "
        f"above its expectation, with probability {1 - BETA:g}.",
        f"30 random concepts, a third of the labels wrong, n = {_PRINTED_UNIFORM}",
        _convergence(_PRINTED_UNIFORM, BETA, above_only=True), 4_000, 200,
        "Printed is a bound on one side; for both sides there is a 2 in the logarithm.",
    ),
    Row(
        (19,), f"{_NIKOLOV}, uniform convergence",
        "n >= ln(2|C|/beta) / (2 alpha^2): errors on the sample and expected ones of all "
        f"hypotheses differ by at most alpha, with probability {1 - BETA:g}.",
        f"30 random concepts, a third of the labels wrong, n = {_UNIFORM}",
        _convergence(_UNIFORM, BETA), 4_000, 200,
    ),
    Row(
        (19,), f"{_NIKOLOV}, empirical risk minimization",
        f"The least loss on the sample is within {ALPHA:g} of the best with probability "
        f"{1 - BETA:g}.",
        f"5 hypotheses, a quarter of the labels wrong, n = {_PLAIN}",
        _minimizer(
            lambda i: EmpiricalRiskMinimizer(losses=_Losses(_FIVE)), _FIVE_LAW, _FIVE, _PLAIN,
            _NOISE,
        ),
        4_000, 300, "n from learners/finite/sample_sizes.py, less than uniform convergence asks.",
    ),
    Row(
        (19,), f"{_NIKOLOV}, private learning as printed",
        "n >= max{4 ln(2|C|/beta) / (epsilon alpha), 2 ln(2|C|/beta) / alpha^2} with weights "
        f"exp(-epsilon n L / 2): {_KEPT}.",
        f"10 hypotheses, 9 of which err by 11 %, epsilon = {EPSILON:g}, n = {_PRINTED:,}",
        _minimizer(_erm(_TEN, neighbours="replace-one"), _TEN_LAW, _TEN, _PRINTED), 4_000, 150,
        "Printed is the rate of neighbours that replace an example; that of others is twice it.",
    ),
    Row(
        (19,), "learners/finite/sample_sizes.py, for Nikolov's private learning",
        f"The same, every constant kept: {_KEPT}.",
        f"10 hypotheses, 9 of which err by 11 %, epsilon = {EPSILON:g}, n = {_TIGHT}",
        _minimizer(_erm(_TEN), _TEN_LAW, _TEN, _TIGHT), 4_000, 300,
    ),
    Row(
        (19,), "learners/finite/sample_sizes.py, for Nikolov's private learning",
        f"No hypothesis is right: within {ALPHA:g} of the best with probability {1 - BETA:g}.",
        f"5 hypotheses, a quarter of the labels wrong, epsilon = {EPSILON:g}, n = {_AGNOSTIC}",
        _minimizer(_erm(_FIVE), _FIVE_LAW, _FIVE, _AGNOSTIC, _NOISE), 4_000, 300,
    ),
    Row(
        (19,), f"{_NIKOLOV}, the exercise: noise on all losses",
        f"The least of all noisy losses has {_KEPT}.",
        f"10 hypotheses, 9 of which err by 11 %, epsilon = {EPSILON:g}, n = {_LAPLACE:,}",
        _minimizer(_erm(_TEN, mechanism="laplace"), _TEN_LAW, _TEN, _LAPLACE), 4_000, 150,
    ),
    Row(
        (19,), f"{_NIKOLOV}, the exercise: noise on all losses",
        "It needs n in proportion to |C|, where a draw needs its logarithm.",
        f"alpha = beta = {ALPHA:g}, epsilon = {EPSILON:g}", _growth, 1, 1,
    ),
)  # fmt: skip
