"""Audits by canaries: the bound is honest, and it is not vacuous."""

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks.audits.one_run import audit_canaries, chance, least_epsilon
from learners.privacy.accounting import PrivacySpent
from learners.privacy.randomness import SeededRandom


def test_the_chance_without_delta_is_a_binomial_tail() -> None:
    q = Fraction(3, 4)
    tail = sum(math.comb(10, i) * q**i * (1 - q) ** (10 - i) for i in range(8, 11))
    assert chance(12, 10, 8, math.log(3), 0.0) == pytest.approx(float(tail), rel=1e-12)


def test_the_chance_with_delta_is_what_the_theorem_adds() -> None:
    law = stats.binom(10, 1 / (1 + math.exp(-0.5)))
    extra = max(sum(law.pmf(8 - j) for j in range(1, i + 1)) / i for i in range(1, 9))
    expected = law.sf(7) + 2 * 12 * 0.001 * extra
    assert chance(12, 10, 8, 0.5, 0.001) == pytest.approx(expected, rel=1e-12)


def test_the_bound_is_where_the_chance_is_what_confidence_leaves() -> None:
    for right, delta in itertools.product((60, 80, 100), (0.0, 1e-4)):
        lower = least_epsilon(100, 100, right, delta, 0.95)
        if lower > 0:
            assert chance(100, 100, right, lower, delta) == pytest.approx(0.05, rel=1e-6)
    assert least_epsilon(100, 100, 80, 1e-4) < least_epsilon(100, 100, 80)
    with pytest.raises(ValueError, match="cannot be"):
        least_epsilon(10, 5, 6)
    with pytest.raises(ValueError, match="confidence"):
        least_epsilon(10, 5, 5, confidence=1.0)


class Response:
    """Says of each of m places whether it has an example, right with probability p."""

    def __init__(self, m: int, p: float, coins: random.Random, neighbours: Any) -> None:
        self._m, self._p, self._coins, self._neighbours = m, p, coins, neighbours

    def fit(self, X: Any, y: Any) -> None:
        there = np.isin(np.arange(self._m), X)
        wrong = np.array([self._coins.random() >= self._p for _ in range(self._m)])
        self.privacy = PrivacySpent(1.0, 0.0, self._neighbours, "basic", (), True)
        self.outcome = there ^ wrong
        self.release_ = self


def response(coins: random.Random, epsilon: float, neighbours: Any = "add-remove") -> Response:
    return Response(50, math.exp(epsilon) / (1 + math.exp(epsilon)), coins, neighbours)


PLACES = np.arange(50), np.zeros(50)


def guess(release: Any) -> Any:
    return 2 * release.outcome.astype(np.int64) - 1


def test_the_bound_fails_no_more_often_than_its_confidence_says() -> None:
    """Of a learner that loses exactly 1, at 90 %."""
    coins, source = random.Random(4), SeededRandom(4)
    found = [
        audit_canaries(lambda: response(coins, 1.0), PLACES, guess, source, confidence=0.9)
        for _ in range(150)
    ]
    assert sum(one.refuted for one in found) <= stats.binom.ppf(0.999, 150, 0.1)
    assert np.median([one.lower for one in found]) > 0.5


def test_a_learner_that_loses_more_is_refuted_in_a_few_runs() -> None:
    coins = random.Random(5)
    found = audit_canaries(lambda: response(coins, 2.5), PLACES, guess, SeededRandom(5), runs=4)
    assert found.refuted
    assert found.lower < 2.5
    assert (found.runs, found.canaries, found.guesses) == (4, 200, 200)


def test_only_learners_that_add_or_remove_are_audited() -> None:
    coins = random.Random(6)
    for runs, neighbours in ((1, "replace-one"), (0, "add-remove")):
        with pytest.raises(ValueError, match="canaries"):
            audit_canaries(
                lambda one=neighbours: response(coins, 1.0, one), PLACES, guess, SeededRandom(6),
                runs=runs,
            )  # fmt: skip
