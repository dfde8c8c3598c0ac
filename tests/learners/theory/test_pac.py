"""Errors on a distribution, samples of it, and the sizes that inequalities allow."""

import math
from fractions import Fraction

import numpy as np
import pytest
from chi_square import assert_counted

from benchmarks.promises.bounds import empirical_error
from learners.finite.sample_sizes import (
    agnostic_examples,
    consistent_examples,
    laplace_examples,
    private_examples,
    uniform_convergence_examples,
)
from learners.privacy.randomness import SeededRandom
from learners.theory.pac import LabelledDistribution, generalization_gap

ALPHA, BETA = 0.1, 0.2


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
    assert_counted([1, 2, 0, 4, 3, 0], np.bincount(2 * X + y, minlength=6), outcomes=4)


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
    with pytest.raises(ValueError, match="epsilon must be positive"):
        generalization_gap(5, 0.0, 0.1)
