"""Descents in three orders, and verdicts on predictions near 0 or 1."""

import itertools
import math
from typing import Self

import numpy as np
import pytest

from learners.core.accuracy import mean_bounds, verdict
from learners.privacy.randomness import SeededRandom
from learners.stability.base_learners import GradientDescentClassifier, visits
from learners.stability.quality import EndQuality, check_randomization, end_quality, strong_failure
from learners.stability.sample_and_aggregate import assign_chunks
from learners.stability.soft_labels import plan_soft_queries


def test_verdicts_are_the_definitions_where_models_are_many() -> None:
    rng = np.random.default_rng(1)
    columns = [
        0.02 * rng.random(6000),  # weak and strong
        1 - 0.02 * rng.random(6000),  # the same at 1
        (rng.random(6000) < 0.02) * 1.0,  # expected .02, and .02 of them far off: both
        (rng.random(6000) < 0.07) * 1.0,  # expected .07: weak, but off with more than beta
        (rng.random(6000) < 0.5) * 1.0,  # always near an end, on either: neither
        0.3 + 0.1 * rng.random(6000),  # neither
    ]
    found = end_quality(np.stack(columns, axis=1), 0.1, 0.04)
    assert found.weak == ("yes", "yes", "yes", "yes", "no", "no")
    assert found.strong == ("yes", "yes", "yes", "no", "no", "no")
    assert found.halts == (2, 2)


def test_few_models_leave_it_open() -> None:
    found = end_quality(np.full((5, 2), 0.01), 0.1, 0.1)
    assert found == EndQuality(("open", "open"), ("open", "open"))
    assert found.halts == (0, 2)
    for bad in ((0.5, 0.1), (0.0, 0.1), (0.1, 1.0)):
        with pytest.raises(ValueError, match="must lie"):
            end_quality(np.full((5, 2), 0.01), *bad)
    budget = plan_soft_queries(8.0, 0.2, queries=1, halts=1)
    with pytest.raises(ValueError, match="alpha must lie"):
        strong_failure(budget, 24, 7, 0.01, 0.25, 0.25)
    with pytest.raises(ValueError, match="two models"):
        mean_bounds(np.zeros((1, 3)), 1.0, 0.1)
    assert [verdict(True, False), verdict(False, True), verdict(False, False)] == [
        "yes", "no", "open",
    ]  # fmt: skip


def test_bounds_of_means_hold() -> None:
    """The mean of ten coins, exactly: a bound fails no more often than its half of the risk."""
    for p in (0.05, 0.3, 0.5):
        failed = [0.0, 0.0]
        for hits in range(41):
            chance = math.comb(40, hits) * p**hits * (1 - p) ** (40 - hits)
            low, high = mean_bounds(np.repeat([1.0, 0.0], [hits, 40 - hits])[:, None], 1.0, 0.2)
            failed[0] += chance * (low[0] > p)
            failed[1] += chance * (high[0] < p)
        assert max(failed) <= 0.1


class Tossed:
    """Predicts 1 with the share of label 1 and, by half, its coins."""

    def __init__(self, weight: float, coins: int) -> None:
        self.weight, self.coins = weight, coins

    def fit(self, X: object, y: np.ndarray) -> Self:
        self.share = float(np.mean(y))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        tossed = 37 * self.coins % 100 / 100
        return np.full(len(X), (1 - self.weight) * self.share + self.weight * tossed)


@pytest.mark.parametrize(
    ("weight", "threshold", "outcome"), [(0.0, 0.1, "yes"), (0.5, 0.1, "no"), (0.02, 0.012, "open")]
)
def test_consistent_randomization_has_a_verdict(weight, threshold, outcome):
    rng = np.random.default_rng(2)
    n, chunks = 4000, 600 if weight != 0.02 else 30
    X, y = rng.random((n, 1)), (rng.random(n) < 0.3).astype(int)
    chunk = assign_chunks(n, chunks, SeededRandom(1))
    found = check_randomization(
        lambda coins: Tossed(weight, coins), X, y, chunk, chunks, X[:2], threshold=threshold
    )
    assert found.verdict == outcome
    # coins chunks + 1 to chunks + 3 are compared with 0
    true = weight * max(37 * (chunks + i) % 100 / 100 for i in (1, 2, 3))
    assert found.lower <= true <= found.upper + 1e-12
    with pytest.raises(ValueError, match="threshold"):
        check_randomization(lambda c: Tossed(0, c), X, y, chunk, chunks, X[:2], threshold=1.0)


#: Three labelled points of a grid of 8.
POINTS = np.array([[0, 0], [8, 3], [8, 8]])
LABELS = np.array([0, 1, 1])


def test_orders_visit_the_examples_as_they_say() -> None:
    assert visits("one-pass", 4, 3, 9).tolist() == [0, 1, 2]
    assert visits("one-pass", 4, 30, 9).tolist() == [0, 1, 2, 3]
    twice = visits("permutation", 4, 10, 9).tolist()
    assert sorted(twice[:4]) == [0, 1, 2, 3]
    assert twice[4:8] == twice[:4]
    assert twice[8:] == twice[:2]
    assert {tuple(visits("permutation", 3, 3, coins)) for coins in range(60)} == set(
        itertools.permutations(range(3))
    )
    with pytest.raises(ValueError, match="order must be one of replacement, permutation, one-pass"):
        visits("any", 3, 3, 1)  # type: ignore[arg-type]


def test_a_pass_has_no_coins_and_says_its_order() -> None:
    X, y = POINTS[[0, 1, 2, 0]], LABELS[[0, 1, 2, 0]]
    one, other = (
        GradientDescentClassifier(grid=8, steps=4, order="one-pass", coins=c).fit(X, y)
        for c in (1, 2)
    )
    assert one.release_.weights == other.release_.weights
    assert dict(one.release_.parameters)["order"] == "one-pass"
    # as it was before there were orders
    assert "order" not in dict(GradientDescentClassifier(grid=8).fit(X, y).release_.parameters)
