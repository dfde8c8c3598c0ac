"""The convex polygon fitted to a region, and the learner that uses it."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPoint, Polygon

from geometry.halfplane import HalfplaneLattice
from geometry.polygons import contains_points, piece_polygon
from learners import ConvexPolygonLearner
from learners.core.releases import CoverRelease
from learners.cover.polygons import fit_convex


def octagon(d: int, seed: int) -> Polygon:
    """The hull of random points that has eight corners."""
    rng = np.random.default_rng(seed)
    while True:
        hull = MultiPoint(rng.random((9, 2)) * d).convex_hull
        if len(hull.exterior.coords) == 9:
            return hull


@pytest.mark.parametrize("seed", range(3))
def test_a_convex_region_is_fitted_closely(seed: int) -> None:
    target = octagon(256, seed)
    edges = fit_convex(HalfplaneLattice(256), lambda p: contains_points(target, p).astype(int))
    shape = piece_polygon(edges, 256)
    assert shapely.area(shape.symmetric_difference(target)) < 0.01 * target.area
    assert len(edges) <= 12


def test_a_spur_far_away_does_not_draw_the_polygon_out() -> None:
    square = shapely.box(60, 60, 160, 160)
    spur = shapely.box(230, 230, 233, 233)

    def predict(points: NDArray[np.int64]) -> NDArray[np.int64]:
        return contains_points(square.union(spur), points).astype(np.int64)

    shape = piece_polygon(fit_convex(HalfplaneLattice(256), predict), 256)
    assert shapely.area(shape.symmetric_difference(square)) < 0.04 * square.area


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("d", [1, 16, 300])
def test_one_label_everywhere(d: int, label: int) -> None:
    edges = fit_convex(HalfplaneLattice(d), lambda p: np.full(len(p), label))
    grid = np.array([[x, y] for x in range(0, d + 1, max(1, d // 16)) for y in (0, d // 2, d)])
    held = np.ones(len(grid), dtype=bool)
    for edge in edges:
        held &= edge.contains(grid)
    assert np.mean(held == label) > (0.95 if d > 1 else 0.2)


def test_the_number_of_edges_can_be_limited() -> None:
    target = octagon(256, 1)
    edges = fit_convex(HalfplaneLattice(256), lambda p: contains_points(target, p).astype(int), 5)
    assert len(edges) <= 5


def test_the_learner_releases_a_convex_polygon_at_the_price_of_its_tiles() -> None:
    target = octagon(256, 2)
    points = np.random.default_rng(0).integers(0, 257, (20_000, 2))
    labels = contains_points(target, points)
    model = ConvexPolygonLearner(grid=256, seed=3)
    records = list(model.steps(points, labels))
    release = model.release_
    assert isinstance(release, CoverRelease)
    assert release.role == "conjunction"
    assert release.thresholds == ()
    assert release.pieces == tuple(r.release.piece for r in records)
    assert [r.steps for r in records] == [len(records)] * len(records)
    privacy = release.privacy
    assert (privacy.account, privacy.epsilon, privacy.steps) == ("basic", 1.0, 1)
    outcome = {"tiles", "edges", "noisy_count", "noisy_mistakes", "choice_rate"}
    assert set(dict(release.parameters)) == outcome
    errors = [r.diagnostics.empirical_error for r in records]
    assert errors[-1] == pytest.approx(1 - model.score(points, labels))
    assert errors[-1] < 0.02
    assert shapely.equals(model.polygons_.convex_hull, model.polygons_)
