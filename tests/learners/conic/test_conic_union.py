"""Learners of discs and ellipses: recovery, release, parameters."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from grids import grid_points

from geometry.geojson import feature_collection
from geometry.polygons import contains_points
from learners import DiscUnionLearner


def uniform(d: int, n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, d + 1, (n, 2))


def disc(X: np.ndarray, p: float, q: float, r: float) -> np.ndarray:
    return (X[:, 0] - p) ** 2 + (X[:, 1] - q) ** 2 <= r * r


def two_discs(X: np.ndarray) -> np.ndarray:
    return disc(X, 80, 90, 55) | disc(X, 180, 170, 60)


@pytest.fixture(scope="module")
def fitted() -> DiscUnionLearner:
    X = uniform(256, 20_000, seed=1)
    return DiscUnionLearner(k=2, grid=256, seed=3).fit(X, two_discs(X))


def test_a_disc_at_the_edge_is_recovered() -> None:
    X, test = uniform(256, 20_000, seed=1), uniform(256, 20_000, seed=2)
    model = DiscUnionLearner(grid=256, seed=1).fit(X, disc(X, 250, 5, 100))
    assert model.score(test, disc(test, 250, 5, 100)) > 0.995


def test_the_shape_is_the_hypothesis_up_to_its_chords(fitted: DiscUnionLearner) -> None:
    shape = fitted.polygons_
    X = grid_points(256)
    near = shapely.distance(shape.boundary, shapely.points(X)) <= 1 / 64 + 1e-9
    inside = contains_points(shape, X)
    assert (inside == (fitted.predict(X) == 1))[~near].all()
    collection = feature_collection(shape, member={}, d=256)
    assert collection["features"][0]["geometry"]["type"] in ("Polygon", "MultiPolygon")
