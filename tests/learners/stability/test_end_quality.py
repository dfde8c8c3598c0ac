"""Predictions near 0 or 1: verdicts, T, and from weak to strong by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from stability_laws import pass_law

from learners.core.accuracy import mean_bounds, verdict
from learners.privacy.randomness import SeededRandom
from learners.stability.quality import EndQuality, check_randomization, end_quality, strong_failure
from learners.stability.sample_and_aggregate import assign_chunks, distances
from learners.stability.soft_labels import bin_counts, plan_soft_queries


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


def laws(width: float, n: int) -> Iterator[tuple[list[tuple[float, float]], float, float]]:
    """Laws of one chunk's prediction, the variance n gamma^2 / 2 that they have, the mean."""
    for low, high, chance in itertools.product((0.0, 0.1), (0.3, 0.6, 1.0), (0.02, 0.1)):
        mean = low + chance * (high - low)
        if mean < width:
            spread = chance * (1 - chance) * (high - low) ** 2
            yield [(low, 1 - chance), (high, chance)], 2 * spread / n, mean


def test_weak_quality_becomes_strong_exactly() -> None:
    """Lemma 5.13: the law of the first answer, over all predictions of the chunks."""
    width, n, chunks = 0.25, 7, 24
    budget = plan_soft_queries(8.0, 0.2, queries=1, halts=1)
    passed = {
        far: sum(p for out, p in pass_law((far,), budget, reach=150).items() if out[0])
        for far in range(chunks)
    }
    bounds = []
    for law, squared, mean in laws(width, n):
        (low, _), (high, chance) = law
        right = 0.0
        for outside in range(chunks + 1):
            column = np.repeat([low, high], [chunks - outside, outside])
            counts, middles = bin_counts(column, width, "plain")
            if middles[counts.argmax()] == width / 2:
                choose = math.comb(chunks, outside)
                p = choose * chance**outside * (1 - chance) ** (chunks - outside)
                right += p * passed[int(distances(counts[None])[0])]
        bound = strong_failure(budget, chunks, n, squared, width, mean)
        assert 1 - right <= bound
        bounds.append((1 - right, bound))
    assert len(bounds) > 8
    # some bound says something, and is not far off
    assert min(bound for _, bound in bounds) < 0.1
    assert min(bound / (fails + 1e-9) for fails, bound in bounds) < 6
    with pytest.raises(ValueError, match="alpha must lie"):
        strong_failure(budget, chunks, n, 0.01, width, 0.25)


class Tossed:
    """Predicts 1 with the share of label 1 and, by half, its coins."""

    def __init__(self, weight: float, coins: int) -> None:
        self.weight, self.coins = weight, coins

    def fit(self, X: object, y: np.ndarray) -> Tossed:
        self.share = float(np.mean(y))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        tossed = 37 * self.coins % 100 / 100
        return np.full(len(X), (1 - self.weight) * self.share + self.weight * tossed)


@pytest.mark.parametrize(
    ("weight", "threshold", "outcome"), [(0.0, 0.1, "yes"), (0.5, 0.1, "no"), (0.02, 0.012, "open")]
)
def test_consistent_randomization_has_a_verdict(
    weight: float, threshold: float, outcome: str
) -> None:
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
