"""Finite classes: mistakes, the private law enumerated for all neighbours, and its promise."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from concept_matrix import concept_matrix
from heard_draws import heard_choices, silent_noise
from numpy.typing import NDArray
from tiny_samples import all_neighbours, most_moved

from benchmarks.promises.bounds import learning_run
from learners import (
    EmpiricalRiskMinimizer,
    FiniteClassLearner,
    PrivateERM,
    PrivateFiniteClassLearner,
)
from learners.finite import empirical_risk
from learners.finite.empirical_risk import choose_least
from learners.finite.experts import PrivateExperts
from learners.finite.finite_class import (
    ConceptClass,
    FiniteClass,
    MemorizingLearner,
    PointClass,
    ThresholdClass,
    check_domain_points,
    count_labels,
)
from learners.finite.sample_sizes import one_sided_examples, vc_dimension
from learners.privacy.accounting import Charge
from learners.privacy.randomness import SeededRandom
from learners.theory.pac import LabelledDistribution, check_promise

TINY = FiniteClass(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]]))
CLASSES: list[ConceptClass] = [
    TINY, PointClass(7), PointClass(7, all_zero=False), ThresholdClass(6),
    ThresholdClass(6, "x < t"),
]  # fmt: skip
KINDS = [(x, label) for x in range(3) for label in (0, 1)]


def brute_mistakes(concepts: ConceptClass, sample: list[tuple[int, int]]) -> list[int]:
    matrix = concept_matrix(concepts)
    return [sum(int(row[x]) != label for x, label in sample) for row in matrix]


@pytest.mark.parametrize("concepts", CLASSES)
@pytest.mark.parametrize("seed", range(5))
def test_mistakes_are_those_of_the_matrix(concepts: ConceptClass, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, concepts.domain, 30), rng.integers(0, 2, 30)
    found = concepts.mistakes(*count_labels(X, y == 1, concepts.domain))
    expected = brute_mistakes(concepts, list(zip(X.tolist(), y.tolist(), strict=True)))
    assert found.tolist() == expected
    matrix = concept_matrix(concepts)
    assert matrix.shape == (concepts.size, concepts.domain)
    model = FiniteClassLearner(concepts=concepts).fit(X[:, None], y)
    assert model.release_.index == int(np.argmin(expected))
    assert model.diagnostics_.mistakes == model.diagnostics_.fewest_mistakes == min(expected)
    np.testing.assert_array_equal(model.predict(X), matrix[model.release_.index, X])
    assert model.score(X, y) == 1 - min(expected) / 30
    assert model.privacy_ is None


def test_the_named_classes() -> None:
    assert concept_matrix(PointClass(4)).tolist() == [[0] * 4, *np.eye(4).tolist()]
    assert concept_matrix(PointClass(4, all_zero=False)).tolist() == np.eye(4).tolist()
    assert concept_matrix(ThresholdClass(2)).astype(int).tolist() == [
        [1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 0],
    ]  # fmt: skip
    assert concept_matrix(ThresholdClass(2, "x < t")).astype(int).tolist() == [
        [0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1],
    ]  # fmt: skip
    assert vc_dimension(concept_matrix(PointClass(9))) == 1
    assert vc_dimension(concept_matrix(ThresholdClass(9))) == 1
    by_function = FiniteClass.of([lambda x: x > 2, lambda x: x % 2 == 0], [1, 2, 3])
    assert by_function.concepts.astype(int).tolist() == [[0, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("all_zero", [True, False])
def test_without_the_concept_of_nothing_points_are_learned_worse(all_zero: bool) -> None:
    """On 18 even points, at n = ln(1/beta) / -ln(1 - alpha) for alpha = beta = 0.1."""
    n, law = one_sided_examples(0.1, 0.1), LabelledDistribution.labelled(np.arange(18) == 17)
    concepts = PointClass(18, all_zero=all_zero)
    run = learning_run(lambda i: FiniteClassLearner(concepts=concepts), law, n)
    found = check_promise(run, alpha=0.1, beta=0.1, runs=200)
    assert found.confirmed if all_zero else found.refuted
    # a random member of the points alone: the target unseen, and another point drawn
    assert Fraction(17, 18) ** (n + 1) > Fraction(1, 4)


# -- privacy -------------------------------------------------------------------------------


def law(
    sample: tuple[tuple[int, int], ...], rate: float, concepts: ConceptClass = TINY
) -> list[float]:
    weights = [math.exp(-rate * m) for m in brute_mistakes(concepts, list(sample))]
    return [w / sum(weights) for w in weights]


@pytest.mark.parametrize("concepts", [TINY, PointClass(3), ThresholdClass(2, "x < t")])
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_neighbours_of_every_small_sample_are_within_epsilon(epsilon, concepts):
    for relation in ("add-remove", "replace-one"):
        rate = law_rate(epsilon, relation)
        worst = most_moved(lambda s: law(s, rate, concepts), all_neighbours(KINDS, 3, relation))  # noqa: B023
        assert 0.5 * epsilon < worst <= epsilon * (1 + 1e-12)


def law_rate(epsilon: float, neighbours: str) -> float:
    """The rate that the learner states."""
    choice = choose_least(
        np.zeros(4, dtype=np.int64), 1, epsilon, SeededRandom(0), neighbours  # type: ignore[arg-type]
    )  # fmt: skip
    return choice.spent.charges[0].each


@pytest.mark.parametrize(("neighbours", "rate"), [("add-remove", 1.5), ("replace-one", 0.75)])
def test_a_concept_is_drawn_by_its_mistakes_at_the_stated_rate(neighbours, rate, monkeypatch):
    sample = [(0, 1), (1, 0), (1, 1), (2, 1), (2, 1)]
    for index in range(4):
        heard = heard_choices(monkeypatch, empirical_risk, index)
        model = PrivateFiniteClassLearner(
            concepts=TINY, epsilon=1.5, neighbours=neighbours, seed=1
        ).fit(*np.array(sample).T)
        assert model.release_.index == index
        assert heard == [([-each for each in brute_mistakes(TINY, sample)], rate, None)]
        assert model.privacy_.charges == (Charge("selections", rate),)


def test_laplace_adds_noise_of_the_classs_size_to_every_sum(monkeypatch):
    asked = silent_noise(monkeypatch, empirical_risk)
    for neighbours, factor in (("add-remove", 1), ("replace-one", 2)):
        for bound in (1, 5):
            sums = np.array([7, 3, 9, 3])
            choice = choose_least(sums, bound, 0.5, SeededRandom(0), neighbours, "laplace")  # type: ignore[arg-type]
            assert choice.noisy_sums == (7, 3, 9, 3)
            assert choice.index == 1
            assert asked.pop() == (Fraction(bound * factor * 4 * 2), 4)
            assert choice.spent.epsilon == 0.5
            assert choice.spent.charges == (Charge("noisy sums of losses", 0.5 / factor / 4, 4),)


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_an_example_moves_the_noisy_vector_by_a_factor_of_epsilon_at_most(epsilon: float) -> None:
    # integer noise on a vector: the log ratio is at most (L1 distance) / scale
    scale = 4 / epsilon
    for sample in itertools.combinations_with_replacement(KINDS, 3):
        here = np.array(brute_mistakes(TINY, list(sample)))
        moved = [
            np.abs(np.array(brute_mistakes(TINY, [*sample, extra])) - here).sum() for extra in KINDS
        ]
        assert max(moved) / scale <= epsilon
    # attained where all concepts err alike
    both = FiniteClass(np.array([[1], [1], [1], [1]]))
    assert sum(brute_mistakes(both, [(0, 0)])) / scale == pytest.approx(epsilon)


def test_a_million_thresholds() -> None:
    d = 1 << 20
    rng = np.random.default_rng(0)
    X = rng.integers(0, d + 1, 20_000)
    model = PrivateFiniteClassLearner(concepts=ThresholdClass(d), seed=1).fit(X, X >= 600_000)
    assert model.score(X, X >= 600_000) > 0.998
    points = PrivateFiniteClassLearner(concepts=PointClass(d), seed=1, epsilon=2.0)
    assert points.fit(np.full(40, 31_337), np.ones(40)).release_.index == 31_338


# -- private ERM ---------------------------------------------------------------------------


def test_erm_weighs_whole_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.array([[0, 3, 1], [2, 0, 3]])
    X = np.array([0, 1, 1, 0, 1])
    sums = table[X].sum(axis=0)
    heard = heard_choices(monkeypatch, empirical_risk, 2)
    model = PrivateERM(losses=lambda X, y: table[X], bound=3, epsilon=2.0, seed=1)
    model.fit(X, np.zeros(5))
    # per example, whose loss is 3 at most
    assert heard == [((-sums).tolist(), pytest.approx(2 / 3), None)]
    assert model.privacy_.charges[0].each == pytest.approx(2)
    assert model.diagnostics_.loss == sums[2] / 5
    assert model.diagnostics_.least_loss == sums.min() / 5


def test_without_privacy_the_least_sum_is_taken() -> None:
    table = np.array([[0, 3, 1], [2, 0, 3]])
    X = np.array([0, 1, 1])
    model = EmpiricalRiskMinimizer(losses=lambda X, y: table[X], bound=3).fit(X, np.zeros(3))
    assert (model.release_.index, model.privacy_) == (1, None)
    assert model.diagnostics_.loss == model.diagnostics_.least_loss == 1.0
    fine = EmpiricalRiskMinimizer(losses=lambda X, y: table[X] / 3, levels=30).fit(X, np.zeros(3))
    assert fine.diagnostics_.loss == pytest.approx(1 / 3)


def test_erm_rounds_real_losses_one_by_one_and_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random(100), rng.random(100)
    seen = []

    def losses(X: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        seen.append(len(X))
        return np.abs(X - y)[:, None] * np.array([1.0, 0.3, 0.999])

    choices = []

    def note(sums: NDArray[np.int64], *rest: object) -> object:
        choices.append((sums.tolist(), rest[0]))
        return choose_least(sums, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(empirical_risk, "choose_least", note)
    monkeypatch.setattr(empirical_risk, "_BATCH", 60)
    model = PrivateERM(losses=losses, levels=50, seed=1).fit(X, y)
    whole = np.rint(np.abs(X - y)[:, None] * np.array([1.0, 0.3, 0.999]) * 50).sum(axis=0)
    assert choices == [(whole.tolist(), 50)]
    assert seen == [1, 20, 20, 20, 20, 19]
    assert abs(model.diagnostics_.least_loss - 0.3 * np.abs(X - y).mean()) <= 1 / 100


@pytest.mark.parametrize(
    ("options", "losses", "message"),
    [
        ({}, [[0, 2]], r"row 0: the loss 2 of hypothesis 1 is not a whole number in 0..1"),
        ({}, [[0, 0.5]], "whole number"),
        ({"levels": 9}, [[0.2, 1.5]], r"row 0: the loss 1.5 of hypothesis 1 is not in \[0, 1\]"),
        ({"levels": 9}, [[0.2, math.nan]], "nan"),
        ({}, [0, 1], "shape"),
        ({"bound": 0}, [[0, 0]], "bound must be a whole number"),
        # their sums would wrap around: one example more moves them by more than it is charged for
        ({"bound": 2**62}, [[0, 2**62]], "bound must be a whole number and lie between"),
        ({"levels": 10**15}, [[0, 1.0]], "levels must be a whole number and lie between"),
    ],
)
def test_impossible_losses_and_parameters_are_refused(options, losses, message):
    model = PrivateERM(losses=lambda X, y: losses, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        model.fit(np.zeros((1, 1)), np.zeros(1))
    assert not hasattr(model, "release_")


def test_more_losses_than_64_bits_can_add_up_are_refused_before_any_is_asked_for() -> None:
    asked: list[object] = []
    n = (1 << 62) // 10**9 + 1
    X = np.broadcast_to(np.uint8(0), (n, 1))
    model = PrivateERM(losses=lambda X, y: asked.append(X) or X, bound=10**9)
    with pytest.raises(ValueError, match="more than 64 bits hold"):
        model.fit(X, X[:, 0])
    assert not asked
    with pytest.raises(ValueError, match="more than 64 bits hold"):
        PrivateExperts(experts=2, rounds=n, bound=10**9)


def test_wrong_classes_and_examples_are_refused() -> None:
    with pytest.raises(ValueError, match=r"row 1: 7 is not a point of the domain 0..6"):
        FiniteClassLearner(concepts=PointClass(7)).fit([0, 7], [0, 1])
    by_heart = MemorizingLearner(points=7, seed=1).fit([[1], [2]], [0, 1])
    for learn in (by_heart.predict, by_heart.release_.predict):
        for off in ([-1], [7], [1.5], ["1"], [[1, 2]]):
            with pytest.raises(ValueError, match=r"not a point|X must"):
                learn(off)
    for wrong in ([0.5], [math.nan], [-1]):
        with pytest.raises(ValueError, match="is not a point"):
            check_domain_points(wrong, 4)
    with pytest.raises(ValueError, match=r"shape \(n,\) or \(n, 1\)"):
        check_domain_points([[1, 2]], 4)
    with pytest.raises(ValueError, match="0 and 1 only"):
        FiniteClass(np.array([[0, 2]]))
    with pytest.raises(ValueError, match="at least one point"):
        FiniteClass(np.zeros((2, 0)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="domain must be a whole number"):
        PointClass(0)
    with pytest.raises(ValueError, match="unknown rule 'x <= t': use one of"):
        ThresholdClass(5, "x <= t")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="same examples"):
        PrivateERM(losses=lambda X, y: [[0]]).fit([], [1])
