"""Pieces that cut off next to nothing of their tile are left out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from shapely.geometry import Polygon

from geometry.edge_zones import EdgeZones
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet, area
from geometry.polygons import clip_to_box
from geometry.tiling import Tile, tile_square, tiles_shape
from learners import PolygonUnionLearner
from learners.core.records import TileStep
from learners.core.releases import TilesRelease
from learners.tiles import tiles
from learners.tiles.tidying import EXPECTED, largest_speck, without_speck

LATTICE = HalfplaneLattice(8, "chord")
TILE = tile_square(24, 3)[4]

halfplanes = st.builds(
    Halfplane,
    st.just(LATTICE),
    st.sampled_from(list(LATTICE.sheets)),
    st.integers(0, 16),
    st.integers(0, 16),
)
steps = st.builds(TileStep, st.just(TILE), st.tuples(halfplanes, halfplanes), st.booleans())


@given(steps, st.integers(0, 400))
def test_a_step_stays_or_has_the_label_of_the_larger_part(step: TileStep, hundredths: int) -> None:
    largest = Fraction(hundredths, 100)
    cleared = without_speck(step, largest)
    whole = TILE.polygon().area
    labelled = step.shape().area
    speck = min(labelled, whole - labelled)
    least = min(float(largest), whole / 50)
    if abs(speck - least) < 1e-9:
        return
    if speck >= least:
        assert cleared == step
    else:
        assert cleared.piece == ()
        assert cleared.inside == (labelled > whole / 2)
        wrong = step.predict(grid_of(TILE)) != cleared.predict(grid_of(TILE))
        # half a unit around the points: their number is about the area
        assert wrong.sum() <= 4 * speck + 2 * (TILE.x1 - TILE.x0)


def grid_of(tile: Tile) -> np.ndarray:
    x, y = np.arange(tile.x0, tile.x1 + 1), np.arange(tile.y0, tile.y1 + 1)
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


@given(st.lists(halfplanes, max_size=4))
def test_the_area_is_that_of_the_polygon(piece: list[Halfplane]) -> None:
    corners = clip_to_box(piece, -1, -1, Fraction(17, 2), 8)
    assert float(area(corners)) == pytest.approx(
        Polygon([(x / w, y / w) for x, y, w in corners]).area if corners else 0.0
    )


def test_as_many_examples_are_expected_in_the_largest_speck_as_said() -> None:
    d, count, rate = 1024, 10_000, 0.75
    assert largest_speck(count, rate, d) * count * Fraction(rate) / d**2 == EXPECTED
    # noise may leave no count at all
    assert largest_speck(-3, rate, d) == largest_speck(1, rate, d)


def test_no_more_than_a_fiftieth_of_a_tile_is_a_speck() -> None:
    """However few examples there may be."""
    half = Halfplane(LATTICE, Sheet.FLAT_ABOVE, 4, 4)
    step = TileStep(TILE, (half,), True)
    assert without_speck(step, Fraction(10**9)) == step


def test_zones_stay_as_they_are() -> None:
    triangle = tuple(Halfplane(LATTICE, sheet, 3, 5) for sheet in list(LATTICE.sheets)[:3])
    zone = EdgeZones((triangle,)).all()[0]
    step = TileStep(zone, (Halfplane(LATTICE, Sheet.FLAT_ABOVE, 0, 1),), True)
    assert without_speck(step, Fraction(10**9)) == step


def parts(release: TilesRelease) -> int:
    """Polygons and holes of what is drawn, before it is tidied."""
    shape = tiles_shape(step.shape() for step in release.tiles)
    polygons = list(getattr(shape, "geoms", [shape]))
    return len(polygons) + sum(len(polygon.interiors) for polygon in polygons)


@pytest.fixture
def sample() -> tuple[np.ndarray, np.ndarray]:
    """A disc in the middle of a grid of size 256: it takes many tiles."""
    points = np.random.default_rng(1).integers(0, 257, (10_000, 2))
    return points, np.hypot(*(points - 128).T) < 85


def test_fewer_parts_come_out(sample, monkeypatch):
    def runs() -> int:
        learners = (PolygonUnionLearner(grid=256, seed=seed) for seed in range(3))
        return sum(parts(learner.fit(*sample).release_) for learner in learners)

    cleared = runs()
    monkeypatch.setattr(tiles, "without_speck", lambda step, largest: step)
    assert cleared < runs()


def test_none_is_left_out_where_the_tiles_are_told(sample, monkeypatch):
    """Nothing is known then of how many examples there are."""

    def run() -> TilesRelease:
        return PolygonUnionLearner(grid=256, seed=3, tiles=6).fit(*sample).release_

    outcome = run()
    monkeypatch.setattr(tiles, "without_speck", lambda step, largest: step)
    assert outcome == run()
