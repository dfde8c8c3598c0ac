"""Soft labels, on-average stability, SGD and quality: laws, bounds and identities."""

import itertools
import math
from fractions import Fraction
from typing import Any, Self

import numpy as np
import pytest
from chi_square import assert_drawn_from
from numpy.typing import NDArray
from stability_laws import exact_delta, law_of_tests

from benchmarks.promises.bounds import prediction_stability, uniform_stability
from learners.privacy.noise import below_array
from learners.privacy.randomness import SeededRandom
from learners.stability.base_learners import GradientDescentClassifier, lift
from learners.stability.classifiers import StableSoftClassifier
from learners.stability.quality import (
    agreement,
    check_randomization,
    estimate_stability,
    quality,
)
from learners.stability.sample_and_aggregate import ConstantModel, assign_chunks, distances
from learners.stability.soft_labels import (
    Bins,
    SoftQueries,
    bin_counts,
    plan_soft_queries,
    soft_predictions,
)
from learners.stability.stable_queries import SparseVectorBudget

BINS: tuple[Bins, Bins] = ("plain", "shifted")


# -- bins ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1.0, 0.5, 0.3, 0.1, 0.07])
def test_an_interval_of_half_a_width_lies_in_one_bin_of_either(width: float) -> None:
    for start in np.linspace(0, 1 - width / 2, 97):
        inside = np.clip(start + np.linspace(0, width / 2 * (1 - 1e-9), 7), 0, 1)
        alone = [np.count_nonzero(bin_counts(inside, width, bins)[0]) == 1 for bins in BINS]
        assert any(alone)


@pytest.mark.parametrize("width", [1.0, 0.5, 0.3, 0.1])
@pytest.mark.parametrize("bins", BINS)
def test_a_middle_is_within_half_a_width_and_every_prediction_counts(width, bins):
    for value in np.linspace(0, 1, 301):
        counts, middles = bin_counts(np.array([value]), width, bins)
        assert counts.sum() == 1
        assert len(counts) == len(middles) >= 2
        assert abs(middles[counts.argmax()] - value) <= width / 2 + 1e-12


def test_ends_have_one_bin_each_where_1_is_a_whole_number_of_widths() -> None:
    for parts in (*range(2, 60), 98, 103, 1000):
        counts, middles = bin_counts(np.array([0.0, 1.0, 1 - 0.4 / parts]), 1 / parts, "plain")
        assert len(counts) == parts
        assert (counts[0], counts[-1]) == (1, 2)
        assert middles[-1] == pytest.approx(1 - 0.5 / parts)


# -- privacy -------------------------------------------------------------------------------------


def soft_law(
    columns: list[NDArray[np.float64]], width: float, budget: SparseVectorBudget
) -> dict[tuple[object, ...], float]:
    """Probability of every sequence of answers, each (value, bins) or None."""

    def answered(passes: tuple[bool, ...]) -> tuple[tuple[object, ...], int]:
        """The answers so far, and how often the query that comes next has failed."""
        answers: tuple[object, ...] = ()
        failed = 0
        for passed in passes:
            counts, middles = bin_counts(columns[len(answers)], width, BINS[failed])
            if passed:
                answers = (*answers, (float(middles[counts.argmax()]), BINS[failed]))
            elif failed:
                answers = (*answers, None)
            failed = int(not passed and not failed)
        return answers, failed

    def distance_after(passes: tuple[bool, ...]) -> int | None:
        answers, failed = answered(passes)
        if len(answers) == len(columns):
            return None
        counts, _ = bin_counts(columns[len(answers)], width, BINS[failed])
        return int(distances(counts[None])[0])

    found: dict[tuple[object, ...], float] = {}
    for passes, chance in law_of_tests(distance_after, budget, reach=150).items():
        answers, _ = answered(passes)
        outcome = answers + (None,) * (len(columns) - len(answers))
        found[outcome] = found.get(outcome, 0.0) + chance
    return found


def test_soft_answers_keep_epsilon_and_delta_for_every_moved_prediction() -> None:
    epsilon, delta, width = 1.0, 0.3, 0.5
    budget = plan_soft_queries(epsilon, delta, queries=2, halts=1)
    assert (budget.queries, budget.halts) == (4, 2)
    levels = np.array([0.1, 0.3, 0.6, 0.9])
    columns = [levels[list(c)] for c in itertools.combinations_with_replacement(range(4), 3)]
    worst = 0.0
    for one in columns:
        law = soft_law([one, one], width, budget)
        assert sum(law.values()) == pytest.approx(1)
        for level in levels:
            other = np.array([level, *one[1:]])
            moved = soft_law([other, other], width, budget)
            worst = max(worst, exact_delta(law, moved, epsilon))
    assert delta / 20 < worst <= delta


def test_soft_queries_follow_that_law() -> None:
    budget = plan_soft_queries(1.0, 0.3, queries=2, halts=1)
    column = np.array([0.2, 0.3, 0.7, 0.6, 0.6])
    law = soft_law([column, column], 0.5, budget)
    runs, seen = 2000, dict.fromkeys(law, 0)
    source = SeededRandom(1)
    for _ in range(runs):
        queries = SoftQueries(budget, source)
        outcome = [queries.ask(column, 0.5).release for _ in range(2)]
        seen[tuple(None if a.value is None else (a.value, a.bins) for a in outcome)] += 1
    assert_drawn_from(law, seen, runs, outcomes=5)


# -- soft queries --------------------------------------------------------------------------------


def test_predictions_across_a_border_are_answered_by_shifted_bins() -> None:
    budget = plan_soft_queries(1.0, 1e-6, queries=5, halts=2)
    chunks = 40 * budget.margin
    around = np.linspace(0.48, 0.52, chunks)
    queries = SoftQueries(budget, SeededRandom(1))
    first = queries.ask(around, 0.1)
    assert (first.release.bins, first.release.failed) == ("shifted", 1)
    assert first.release.value == pytest.approx(0.5)
    assert first.release.failures_left == 3
    assert first.diagnostics.distance_plain < first.diagnostics.distance_shifted
    # a width of its own: all in one plain bin, no failure
    assert queries.ask(around, 1.0).release.failed == 0
    # no answer: two failures
    spread = queries.ask(np.linspace(0, 1, chunks), 0.01).release
    assert (spread.value, spread.failed, spread.failures_left) == (None, 2, 1)
    last = [queries.ask(np.linspace(0, 1, chunks), 0.01).release for _ in range(2)]
    assert [(r.failed, r.failures_left) for r in last] == [(1, 0), (0, 0)]
    with pytest.raises(ValueError, match="used up"):
        queries.ask(around, 0.1)


def test_what_cannot_be_asked_spends_no_query() -> None:
    X = np.indices((9, 9)).reshape(2, -1).T
    base = GradientDescentClassifier(grid=8, steps=9)
    model = StableSoftClassifier(base=base, queries=4, chunks=9, seed=1).fit(X, X[:, 0] // 5)
    masked = np.ma.array([0.1], mask=[True])
    for points, widths in ((5, None), (X[:1], ["x"]), (X[:1], [None]), (X[:1], masked)):
        with pytest.raises(ValueError, match=r"must|masked"):
            model.steps(points, widths)
    assert model.queries_left_ == 4


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_printed_soft_constants(epsilon: float) -> None:
    m, halts, delta = 50, 4, 1e-6
    budget = plan_soft_queries(epsilon, delta, queries=m, halts=halts, constants="printed")
    rate = math.sqrt(64 * halts * math.log(2 / delta)) / epsilon
    assert float(budget.threshold_scale) == pytest.approx(rate, rel=1e-5)
    assert budget.margin == pytest.approx(2 * rate * math.log(4 * m / delta), abs=2)


def draw_disc(count: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    X = rng.integers(0, 65, (count, 2))
    inside = ((X - 32) ** 2).sum(axis=1) < 20**2
    return X, (inside ^ (rng.random(count) < 0.05)).astype(int)


def test_private_soft_labels_come_close_to_the_mean_prediction() -> None:
    X, y = draw_disc(30_000, np.random.default_rng(1))
    base = GradientDescentClassifier(grid=64, steps=100, rate=0.5)
    model = StableSoftClassifier(
        base=base, epsilon=4.0, queries=10, halts=2, width=0.2, seed=2
    ).fit(X, y)
    points = np.array([[32, 32], [1, 1], [60, 60], [32, 60]])
    records = list(model.steps(points, widths=[0.2, 0.3, 0.3, 0.2]))
    for record in records:
        off = abs(record.release.value - record.diagnostics.mean)
        assert off <= record.release.width
    assert records[0].release.value > records[1].release.value
    again = StableSoftClassifier(
        base=base, epsilon=4.0, queries=10, halts=2, width=0.2, seed=2, workers=3
    ).fit(X, y)
    widths = [0.2, 0.3, 0.3, 0.2]
    assert [r.release for r in again.steps(points, widths)] == [r.release for r in records]
    with pytest.raises(ValueError, match="too many"):
        model.steps(np.zeros((7, 2), dtype=int))
    with pytest.raises(ValueError, match="width"):
        model.steps(points, widths=[2.0] * 4)
    with pytest.raises(ValueError, match="shape"):
        model.steps(points, widths=[0.1])
    with pytest.raises(ValueError, match=r"row 1.*\[0, 1\]"):
        model.fit(X[:2], [0.0, 1.5])
    assert not hasattr(model, "release_")


def test_what_is_no_prediction_is_0() -> None:
    class Odd:
        def __init__(self, values: Any) -> None:
            self.values = values

        def predict(self, X: Any) -> Any:
            return self.values

    models = (Odd([0.5, np.nan]), Odd([-3.0, 7.0]), Odd(["a", "b"]), ConstantModel(1))
    with pytest.warns(UserWarning, match="failed"):
        found = soft_predictions(models, np.zeros((2, 1)))
    assert found.tolist() == [[0.5, 0], [0, 1], [0, 0], [1, 1]]


# -- on-average stability ------------------------------------------------------------------------


class Mean:
    """Predicts the share of label 1: gamma^2 = 2 p (1 - p) / n^2, Efron-Stein an equality."""

    def fit(self, X: Any, y: Any) -> Self:
        self.share = float(np.mean(y))
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        return np.full(len(X), self.share)


def test_the_estimator_finds_a_stability_that_is_known() -> None:
    rng, p, n = np.random.default_rng(3), 0.3, 10

    def draw(count: int) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.zeros((count, 1)), (rng.random(count) < p).astype(float)

    found = estimate_stability(Mean(), draw, np.zeros((2, 1)), n=n, runs=4000)
    exact = 2 * p * (1 - p) / n**2
    assert found.squared == pytest.approx(exact, rel=0.1)
    assert found.mean_squared == pytest.approx(found.squared)
    assert found.upper >= exact
    assert found.variance == pytest.approx(p * (1 - p) / n, rel=0.1)
    assert n * found.squared / 2 == pytest.approx(found.variance, rel=0.15)


# -- gradient descent ----------------------------------------------------------------------------


def test_lifted_points_have_length_at_most_one() -> None:
    points = np.array(list(itertools.product(range(17), repeat=2)))
    lengths = (lift(points, 16) ** 2).sum(axis=1)
    assert lengths.max() == pytest.approx(1)
    assert (lengths <= 1 + 1e-12).all()


def test_a_step_is_the_gradient_of_the_logistic_loss() -> None:
    X, y = np.array([[3, 9], [14, 2]]), np.array([1, 0])
    one = GradientDescentClassifier(grid=16, steps=1, rate=0.5, coins=7).fit(X, y)
    row = int(below_array(SeededRandom(7), 2, 1)[0])
    sign, z = 2 * y[row] - 1, lift(X, 16)[row]

    def loss(w: NDArray[np.float64]) -> float:
        return math.log1p(math.exp(-sign * float(w @ z)))

    slope = [(loss(e) - loss(-e)) / 2e-5 for e in 1e-5 * np.eye(6)]
    np.testing.assert_allclose(one.weights_, -0.5 * np.array(slope), atol=1e-9)


def test_the_second_moment_is_that_of_a_binomial_count() -> None:
    n, steps, rate = 7, 11, 0.3
    hits = [Fraction(math.comb(steps, h) * (n - 1) ** (steps - h), n**steps) for h in range(12)]
    second = sum(p * h * h for h, p in enumerate(hits))
    assert prediction_stability(n, steps, rate) == pytest.approx(4 * rate**2 * float(second) / 16)
    assert uniform_stability(n, steps, rate) == pytest.approx(2 * steps * rate / n)


def test_descent_says_what_is_wrong() -> None:
    X, y = draw_disc(20, np.random.default_rng(0))
    with pytest.raises(ValueError, match="rate"):
        GradientDescentClassifier(grid=64, rate=9.0).fit(X, y)
    with pytest.raises(ValueError, match="no example"):
        GradientDescentClassifier(grid=64).fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="steps"):
        GradientDescentClassifier(grid=64, steps=0).fit(X, y)


# -- quality -------------------------------------------------------------------------------------


def test_measures_are_their_definitions() -> None:
    counts = np.array([[6, 4], [1, 9], [5, 5]])
    assert agreement(counts).tolist() == [0.6, 0.9, 0.5]
    predictions = np.array([[0.1, 0.9], [0.2, 0.5], [0.3, 0.8]])
    measured = quality(predictions, [0.2, 0.9], 0.1 + 1e-12)
    assert measured.weak == pytest.approx((1 + 2 / 3) / 2)
    assert measured.strong == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="negative"):
        quality(predictions, [0, 0], -0.1)


class Tossed(Mean):
    """Half of its prediction is the share of label 1, half is its coins."""

    def __init__(self, coins: int) -> None:
        self.coins = coins

    def predict(self, X: Any) -> NDArray[np.float64]:
        return super().predict(X) / 2 + 0.5 * (37 * self.coins % 100) / 100


def test_shared_coins_leave_the_spread_of_the_sample() -> None:
    X, y = draw_disc(1500, np.random.default_rng(2))
    chunk = assign_chunks(1500, 30, SeededRandom(1))
    found = check_randomization(Tossed, X, y, chunk, 30, X[:5])
    shares = [float(y[chunk == i].mean()) / 2 for i in range(30)]
    assert found.shared == pytest.approx(np.std(shares))
    assert found.own > 3 * found.shared
