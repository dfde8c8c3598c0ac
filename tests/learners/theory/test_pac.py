"""Errors, the exact interval, and every promise of the finite learners held against simulation."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from concept_matrix import concept_matrix
from numpy.typing import NDArray
from scipy.stats import binom

from benchmarks.promises.bounds import empirical_error, learning_run
from learners.boolean.parity import PrivateParityLearner, plan_parity
from learners.finite.empirical_risk import PrivateERM
from learners.finite.finite_class import (
    ConceptClass,
    FiniteClass,
    FiniteClassLearner,
    PointClass,
    PrivateFiniteClassLearner,
    ThresholdClass,
)
from learners.finite.sample_sizes import (
    agnostic_examples,
    consistent_examples,
    laplace_examples,
    private_examples,
    uniform_convergence_examples,
)
from learners.finite.vc import consistent_size
from learners.randomness import SeededRandom
from learners.theory.pac import (
    LabelledDistribution,
    check_promise,
    clopper_pearson,
    generalization_gap,
)
from learners.threshold_learner import ThresholdLearner, threshold_class_size, threshold_piece

ROOT = Path(__file__).parents[3]
ALPHA, BETA, RUNS = 0.1, 0.2, 100


# -- errors --------------------------------------------------------------------------------


def test_errors_are_exact() -> None:
    law = LabelledDistribution(np.array([[1, 2], [0, 4], [3, 0]]))
    assert law.error([0, 0, 0]) == Fraction(6, 10)
    assert law.error([1, 1, 0]) == Fraction(1, 10)
    assert empirical_error([0, 1, 1], [0, 0, 1]) == Fraction(1, 3)
    noisy = LabelledDistribution.labelled([0, 1], [3, 2], Fraction(1, 4))
    assert noisy.weights.tolist() == [[9, 3], [2, 6]]
    assert noisy.error([0, 1]) == Fraction(1, 4)


def test_samples_follow_the_distribution() -> None:
    law = LabelledDistribution(np.array([[1, 2], [0, 4], [3, 0]]))
    X, y = law.sample(20_000, SeededRandom(1))
    counts = np.bincount(2 * X + y, minlength=6)
    expected = 2000 * np.array([1, 2, 0, 4, 3, 0])
    seen = expected > 0
    assert (counts[~seen] == 0).all()
    chi_square = ((counts - expected)[seen] ** 2 / expected[seen]).sum()
    assert chi_square < 3 + 5 * math.sqrt(6)


@pytest.mark.parametrize(("failures", "runs"), [(0, 50), (1, 1), (3, 100), (50, 50), (200, 1000)])
@pytest.mark.parametrize("confidence", [0.9, 0.999])
def test_the_interval_is_clopper_and_pearsons(failures: int, runs: int, confidence: float) -> None:
    """At each end the tail that was seen has just the level, summed in whole numbers."""
    lower, upper = clopper_pearson(failures, runs, confidence)
    level = pytest.approx(1 - confidence, rel=1e-9)
    assert lower == 0 if failures == 0 else at_least(failures, runs, lower) == level
    assert upper == 1 if failures == runs else 1 - at_least(failures + 1, runs, upper) == level
    assert lower <= failures / runs <= upper


def at_least(failures: int, runs: int, p: float) -> float:
    """P(Binomial(runs, p) >= failures)."""
    a, b = p.as_integer_ratio()
    terms = (math.comb(runs, k) * a**k * (b - a) ** (runs - k) for k in range(failures, runs + 1))
    return float(Fraction(sum(terms), b**runs))


@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
def test_the_interval_covers(p: float) -> None:
    runs = 40
    for side in (0, 1):
        covered = sum(
            binom.pmf(k, runs, p)
            for k in range(runs + 1)
            if (clopper_pearson(k, runs, 0.9)[side] <= p) == (side == 0)
        )
        assert covered >= 0.9


# -- sizes ---------------------------------------------------------------------------------


def test_sizes_are_the_least_that_their_inequalities_allow() -> None:
    n = consistent_examples(50, ALPHA, BETA)
    assert 50 * (1 - ALPHA) ** n <= BETA < 50 * (1 - ALPHA) ** (n - 1)
    n = private_examples(50, ALPHA, BETA, 0.7)
    moment = 1 - ALPHA * (1 - math.exp(-0.7))
    assert 50 * moment**n <= BETA < 50 * moment ** (n - 1)
    n = private_examples(50, ALPHA, BETA, 0.05, agnostic=True)
    moment = math.cosh(0.05) - ALPHA * math.sinh(0.05)
    assert 50 * moment**n <= BETA < 50 * moment ** (n - 1)
    n = agnostic_examples(50, ALPHA, BETA)
    assert 50 * (1 - ALPHA**2) ** (n / 2) <= BETA < 50 * (1 - ALPHA**2) ** ((n - 1) / 2)
    n = uniform_convergence_examples(50, ALPHA, BETA)
    assert 100 * math.exp(-2 * n * ALPHA**2) <= BETA < 100 * math.exp(-2 * (n - 1) * ALPHA**2)


def test_privacy_is_free_for_an_agnostic_learner_from_artanh_alpha_on() -> None:
    free = agnostic_examples(50, ALPHA, BETA)
    assert private_examples(50, ALPHA, BETA, math.atanh(ALPHA), agnostic=True) == free
    assert private_examples(50, ALPHA, BETA, 5.0, agnostic=True) == free
    assert private_examples(50, ALPHA, BETA, 0.01, agnostic=True) > 5 * free
    # and never below the realizable case's
    assert private_examples(50, ALPHA, BETA, 0.01) <= private_examples(
        50, ALPHA, BETA, 0.01, agnostic=True
    )
    assert private_examples(50, ALPHA, BETA, 40.0) == consistent_examples(50, ALPHA, BETA)
    assert laplace_examples(50, ALPHA, BETA, 1.0) > 10 * private_examples(50, ALPHA, BETA, 1.0)


@pytest.mark.parametrize("wrong", [(0, 0.1, 0.1), (5, 0.0, 0.1), (5, 0.1, 1.0)])
def test_impossible_sizes_are_refused(wrong: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        consistent_examples(*wrong)
    with pytest.raises(ValueError, match="rate must be positive"):
        private_examples(5, 0.1, 0.1, 0.0)


# -- promises ------------------------------------------------------------------------------


def random_class(seed: int, size: int = 40, domain: int = 25) -> FiniteClass:
    return FiniteClass(np.random.default_rng(seed).random((size, domain)) < 0.5)


#: Classes with a target and weights of the points: many concepts just worse than allowed.
def cases() -> list[tuple[ConceptClass, int, NDArray[np.int64] | None]]:
    points = np.full(60, 11)
    points[0] = 100
    return [
        (random_class(1), 3, None),
        (ThresholdClass(200), 90, None),
        (PointClass(60), 1, points),
    ]


@pytest.mark.parametrize("case", range(3))
def test_the_consistent_learner_keeps_its_promise(case: int) -> None:
    concepts, target, weights = cases()[case]
    law = LabelledDistribution.labelled(concept_matrix(concepts)[target], weights)
    n = consistent_examples(concepts.size, ALPHA, BETA)
    run = learning_run(lambda i: FiniteClassLearner(concepts=concepts), law, n)
    assert check_promise(run, alpha=ALPHA, beta=BETA, runs=RUNS).confirmed


@pytest.mark.parametrize("case", range(3))
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_the_private_learner_keeps_its_promise(case: int, neighbours: str, epsilon: float) -> None:
    concepts, target, weights = cases()[case]
    law = LabelledDistribution.labelled(concept_matrix(concepts)[target], weights)
    rate = epsilon / (1 if neighbours == "add-remove" else 2)
    n = private_examples(concepts.size, ALPHA, BETA, rate)
    run = learning_run(
        lambda i: PrivateFiniteClassLearner(
            concepts=concepts, epsilon=epsilon, neighbours=neighbours, seed=i  # type: ignore[arg-type]
        ),
        law,
        n,
    )  # fmt: skip
    assert check_promise(run, alpha=ALPHA, beta=BETA, runs=RUNS).confirmed


def test_a_broken_promise_is_found() -> None:
    concepts, target, weights = cases()[2]
    law = LabelledDistribution.labelled(concept_matrix(concepts)[target], weights)
    n = private_examples(concepts.size, ALPHA, BETA, 0.2) // 10
    run = learning_run(
        lambda i: PrivateFiniteClassLearner(concepts=concepts, epsilon=0.2, seed=i), law, n
    )
    outcome = check_promise(run, alpha=ALPHA, beta=BETA, runs=RUNS)
    assert outcome.refuted
    assert not outcome.confirmed


@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_the_agnostic_promise(epsilon: float) -> None:
    concepts = random_class(2)
    law = LabelledDistribution.labelled(concepts.concepts[5], noise=Fraction(1, 4))
    best = min(law.error(row) for row in concepts.concepts)
    assert best == Fraction(1, 4)
    n = private_examples(concepts.size, ALPHA, BETA, epsilon, agnostic=True)
    run = learning_run(
        lambda i: PrivateFiniteClassLearner(concepts=concepts, epsilon=epsilon, seed=i), law, n
    )
    outcome = check_promise(lambda i: run(i) - best, alpha=ALPHA, beta=BETA, runs=RUNS)
    assert outcome.confirmed
    erm = learning_run(
        lambda i: FiniteClassLearner(concepts=concepts), law, agnostic_examples(40, ALPHA, BETA)
    )
    assert check_promise(lambda i: erm(i) - best, alpha=ALPHA, beta=BETA, runs=RUNS).confirmed


@pytest.mark.parametrize("agnostic", [False, True])
def test_the_baselines_promise(agnostic: bool) -> None:
    concepts = random_class(3)
    noise = Fraction(agnostic, 5)
    law = LabelledDistribution.labelled(concepts.concepts[0], noise=noise)
    best = law.error(concepts.concepts[0])
    n = laplace_examples(40, ALPHA, BETA, 1.0, agnostic=agnostic)
    run = learning_run(
        lambda i: PrivateFiniteClassLearner(concepts=concepts, mechanism="laplace", seed=i), law, n
    )
    outcome = check_promise(lambda i: run(i) - best, alpha=ALPHA, beta=BETA, runs=RUNS)
    assert outcome.confirmed


def test_private_erms_promise() -> None:
    grid = np.arange(101) / 100
    # the mean loss of c is |c - 0.4| / 2 + constant near 0.4; y is 0.2 or 0.6
    n = private_examples(101, ALPHA, BETA, 0.5, agnostic=True)

    def mean_loss(c: float) -> float:
        return (abs(c - 0.2) + 3 * abs(c - 0.6)) / 4

    best = min(mean_loss(float(c)) for c in grid)

    def run(i: int) -> float:
        coins = np.random.default_rng(i).random(n) < 0.25
        y = np.where(coins, 0.2, 0.6)
        model = PrivateERM(
            losses=lambda X, y: np.abs(y[:, None] - grid), levels=1000, epsilon=0.5, seed=i
        )
        return mean_loss(float(grid[model.fit(y[:, None], y).release_.index])) - best

    # rounding to 1/1000 costs at most 1/1000
    assert check_promise(run, alpha=ALPHA + 1e-3, beta=BETA, runs=RUNS).confirmed


def test_thresholds_on_the_grid_keep_their_promise() -> None:
    d, epsilon = 40, 0.5
    points = np.array([[x, y] for x in range(d + 1) for y in range(d + 1)])
    model = ThresholdLearner(grid=d, seed=0).fit(points, points[:, 1] <= 25)
    target = threshold_piece(model.release_.lattice, "below", 25)[0].contains(points)
    law = LabelledDistribution.labelled(target)
    n = private_examples(threshold_class_size(d), ALPHA, BETA, epsilon)

    def run(i: int) -> Fraction:
        X, y = law.sample(n, SeededRandom(i))
        model = ThresholdLearner(grid=d, epsilon=epsilon, seed=i).fit(points[X], y)
        return law.error(model.predict(points))

    assert check_promise(run, alpha=ALPHA, beta=BETA, runs=RUNS).confirmed


@pytest.mark.parametrize("constants", ["tight", "source"])
@pytest.mark.parametrize("test_share", [0.0, 0.2])
def test_private_parity_keeps_its_promise(constants: str, test_share: float) -> None:
    # vectors of weight one: a parity that is wrong in one bit has error 1/8 only
    d, alpha, runs = 8, 0.12, 150
    vectors = np.eye(d, dtype=int)
    law = LabelledDistribution.labelled(np.arange(d) % 2)
    plan = plan_parity(1.0, "add-remove", BETA, constants, test_share)  # type: ignore[arg-type]
    n = plan.examples_needed(d, alpha, BETA)

    def run(i: int) -> Fraction:
        X, y = law.sample(n, SeededRandom(i))
        model = PrivateParityLearner(
            beta=BETA, constants=constants, test_share=test_share, seed=i  # type: ignore[arg-type]
        ).fit(vectors[X], y)  # fmt: skip
        return Fraction(1) if model.release_.parity is None else law.error(model.predict(vectors))

    outcome = check_promise(run, alpha=alpha, beta=BETA, runs=runs)
    # all blocks say ⊥ with probability beta/2 or somewhat less: this is seen
    assert not outcome.refuted
    assert outcome.failures / runs <= BETA
    assert (outcome.failures > 0) or constants == "source"


def test_the_vc_learner_keeps_its_promise() -> None:
    concepts = ThresholdClass(10**6)
    truth = np.arange(10**6 + 1) >= 123_456
    n = consistent_size(1, ALPHA, BETA)

    def run(i: int) -> float:
        X = np.random.default_rng(i).integers(0, 10**6 + 1, n)
        index = FiniteClassLearner(concepts=concepts).fit(X, truth[X]).release_.index
        return abs(index - 123_456) / (10**6 + 1)

    assert check_promise(run, alpha=ALPHA, beta=BETA, runs=40, confidence=0.99).confirmed


# -- generalization ------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_the_gap_is_at_most_epsilon_from_the_stated_number_on(epsilon: float) -> None:
    for beta in (0.5, 0.05, 1e-9):
        n = math.ceil(math.log(4 / beta) / epsilon**2)
        assert generalization_gap(n, epsilon, beta) <= epsilon
        assert generalization_gap(100 * n, epsilon, beta) <= generalization_gap(n, epsilon, beta)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        generalization_gap(5, 0.0, 0.1)


def overfitting(
    epsilon: float, n: int, runs: int, size: int = 4000
) -> tuple[list[float], list[float]]:
    """Empirical and population errors of private draws from a class that fits any sample."""
    # labels are fair coins: all concepts have error 1/2, whatever the sample says
    concepts = random_class(4, size=size, domain=60)
    law = LabelledDistribution(np.ones((60, 2), dtype=np.int64))
    seen, true = [], []
    for i in range(runs):
        X, y = law.sample(n, SeededRandom(i))
        model = PrivateFiniteClassLearner(
            concepts=concepts, epsilon=epsilon, neighbours="replace-one", seed=i
        ).fit(X, y)
        seen.append(float(empirical_error(model.predict(X), y)))
        true.append(float(law.error(concepts.concepts[model.release_.index])))
    return seen, true


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_private_learners_generalize_as_they_must(epsilon: float) -> None:
    beta, runs = 0.05, 60
    n = math.ceil(math.log(4 / beta) / epsilon**2)
    seen, true = overfitting(epsilon, n, runs)
    gaps = np.abs(np.array(true) - np.array(seen))
    tau = generalization_gap(n, epsilon, beta)
    failures = int((gaps > tau).sum())
    assert clopper_pearson(failures, runs, 0.999)[0] <= beta
    assert np.mean(true) <= math.exp(epsilon) * np.mean(seen) + 0.02


def test_what_is_not_private_need_not_generalize() -> None:
    # the same class, but hardly private: the gap exceeds what privacy would allow
    seen, true = overfitting(20.0, 75, 20, size=20_000)
    gap = np.mean(true) - np.mean(seen)
    assert gap > generalization_gap(75, 0.05, 0.05)
    assert np.mean(true) > math.exp(0.05) * np.mean(seen) + 0.05


# -- libraries -----------------------------------------------------------------------------


def test_scipy_is_loaded_only_when_it_computes() -> None:
    code = """
import sys, learners, geodp_app.cli
assert geodp_app.cli.main(["--version"]) == 0
assert not any(name.split(".")[0] == "scipy" for name in sys.modules)
import learners.theory.pac, learners.theory.theorems
for name in learners.__all__:
    getattr(learners, name)
# numba looks up scipy's version, which loads none of its parts
assert not {"scipy.special", "scipy.ndimage"} & set(sys.modules)
learners.theory.pac.clopper_pearson(1, 2, 0.9)
assert "scipy.special" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
