"""The learners reach the stated test errors at epsilon = 1, delta = 1e-6, n = 100,000.

Samples are seeded, the learners' own randomness as well: medians of five seeds.
"""

from __future__ import annotations

import numpy as np
import pytest
from shapely.geometry import Polygon
from shapely.geometry.base import BaseGeometry

import assets
from geodp_app.sampling import draw_points
from geometry.geojson import read_geojson
from geometry.polygons import contains_points
from learners import ConvexPolygonLearner, PolygonUnionLearner

D = 1024


def example(name: str) -> BaseGeometry:
    """A bundled target in grid units."""
    return read_geojson(assets.example_path(name)).on_grid(D)


def octagon() -> Polygon:
    """A convex octagon with random corners on a circle."""
    angles = np.sort(np.random.default_rng(3).random(8)) * 2 * np.pi
    return Polygon(D * (0.5 + 0.4 * np.column_stack([np.cos(angles), np.sin(angles)])))


def error_of(
    model: PolygonUnionLearner | ConvexPolygonLearner, target: BaseGeometry, seed: int
) -> float:
    """Error on 200,000 fresh points after learning from 100,000 uniform ones."""
    rng = np.random.default_rng(seed)
    points = draw_points(target, 100_000, D, "uniform", rng)
    fresh = draw_points(target, 200_000, D, "uniform", rng)
    model.set_params(seed=seed).fit(points, contains_points(target, points))
    return 1 - model.score(fresh, contains_points(target, fresh))


def test_a_triangle_is_learned_to_half_a_percent() -> None:
    errors = [error_of(PolygonUnionLearner(k=1), example("tri"), seed) for seed in range(5)]
    assert np.median(errors) < 0.005


def test_a_convex_octagon_is_learned_to_two_percent() -> None:
    errors = [error_of(ConvexPolygonLearner(k=8), octagon(), seed) for seed in range(5)]
    assert np.median(errors) < 0.02


@pytest.mark.slow
def test_an_l_shape_is_learned_to_two_percent() -> None:
    errors = [error_of(PolygonUnionLearner(k=2), example("L"), seed) for seed in range(5)]
    assert np.median(errors) < 0.02
