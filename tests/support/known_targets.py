"""Targets that are known, and samples of them, for learners of the plane."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import assets
from geodp_app.document.sampling import draw_points
from geometry.geojson import read_geojson
from geometry.polygons import contains_points
from learners.core.estimator import Estimator


def square_geojson(low: float, high: float, **member: Any) -> dict[str, Any]:
    """A square target as a GeoJSON object, with a member geodp if one is given."""
    ring = [[low, low], [high, low], [high, high], [low, high], [low, low]]
    target: dict[str, Any] = {"type": "Polygon", "coordinates": [ring]}
    if member:
        target["geodp"] = member
    return target


def halved(n: int, d: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Uniform points, labelled by a halfplane with some labels flipped."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, d + 1, size=(n, 2))
    return points, ((points.sum(axis=1) < d) ^ (rng.random(n) < 0.1)).astype(int)


def mean_error(make: Callable[[], Estimator], n: int) -> float:
    """Test error over the drawn examples and two distributions."""
    errors = []
    for name, distribution in itertools.product(
        ("tri", "L", "three", "star"), ("uniform", "clustered")
    ):
        target = read_geojson(assets.example_path(name)).on_grid(1024)
        rng = np.random.default_rng(n)
        points = draw_points(target, n, 1024, distribution, rng)  # type: ignore[arg-type]
        fresh = draw_points(target, 40_000, 1024, distribution, rng)  # type: ignore[arg-type]
        model = make().fit(points, contains_points(target, points))
        errors.append(1 - model.score(fresh, contains_points(target, fresh)))
    return float(np.mean(errors))
