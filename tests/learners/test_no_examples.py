"""A sample of no examples is in the domain of every private learner, as one of one is."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import learners
from learners.finite.finite_class import FiniteClass

THREE = FiniteClass(np.array([[0, 1], [1, 0], [1, 1]]))

#: How each is made, and what one row of X is.
PRIVATE: dict[str, tuple[Callable[[], Any], list[int]]] = {
    "PolygonUnionLearner": (lambda: learners.PolygonUnionLearner(grid=16), [3, 4]),
    "ConvexPolygonLearner": (lambda: learners.ConvexPolygonLearner(grid=16), [3, 4]),
    "ThresholdLearner": (lambda: learners.ThresholdLearner(grid=16), [3, 4]),
    "DiscUnionLearner": (lambda: learners.DiscUnionLearner(grid=16, k=1), [3, 4]),
    "EllipseUnionLearner": (lambda: learners.EllipseUnionLearner(grid=16, k=1), [3, 4]),
    "NoisyHistogramLearner": (lambda: learners.NoisyHistogramLearner(grid=16), [3, 4]),
    "QuadtreeLearner": (lambda: learners.QuadtreeLearner(grid=16), [3, 4]),
    "StabilityLearner": (lambda: learners.StabilityLearner(grid=16), [3, 4]),
    "ConvexPolytopeLearner": (lambda: learners.ConvexPolytopeLearner(grid=3, k=2), [1, 2, 3]),
    "SimplexUnionLearner": (lambda: learners.SimplexUnionLearner(grid=3, k=1), [1, 2, 3]),
    "BallUnionLearner": (lambda: learners.BallUnionLearner(grid=3, k=1), [1, 2, 3]),
    "PolynomialUnionLearner": (lambda: learners.PolynomialUnionLearner(grid=4, k=1), [3, 4]),
    "StrawmanConjunctionLearner": (lambda: learners.StrawmanConjunctionLearner(k=2), [0, 1, 1]),
    "StrawmanDisjunctionLearner": (lambda: learners.StrawmanDisjunctionLearner(k=2), [0, 1, 1]),
    "ConjunctionLearner": (lambda: learners.ConjunctionLearner(k=2), [0, 1, 1]),
    "DisjunctionLearner": (lambda: learners.DisjunctionLearner(k=2), [0, 1, 1]),
    "PrivateConsistentConjunctionLearner": (
        lambda: learners.PrivateConsistentConjunctionLearner(), [0, 1, 1]),
    "PrivateConsistentDisjunctionLearner": (
        lambda: learners.PrivateConsistentDisjunctionLearner(), [0, 1, 1]),
    "PrivateParityLearner": (lambda: learners.PrivateParityLearner(), [0, 1, 1]),
    "PrivateFiniteClassLearner": (
        lambda: learners.PrivateFiniteClassLearner(concepts=THREE), [1]),
    "PrivateERM": (
        lambda: learners.PrivateERM(losses=lambda X, y: np.zeros((len(X), 3), int)), [1]),
}  # fmt: skip


def test_they_are_all_here():
    private = {
        name
        for name in learners.__all__
        if "epsilon" in inspect.signature(getattr(learners, name)).parameters
    }
    assert private - set(PRIVATE) == {"PrivateExperts"}  # it sees rounds, of a public number


@pytest.mark.parametrize("name", PRIVATE)
def test_every_private_learner_takes_no_examples(name):
    make, row = PRIVATE[name]
    for n in (0, 1):
        X, y = np.array([row] * n, dtype=np.int64).reshape(n, len(row)), np.ones(n, np.int64)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = make().fit(X, y)
        assert model.release_.privacy.epsilon == 1
