"""Which grid points polygons on a fine grid hold, against shapely and by hand."""

import numpy as np
import pytest
import shapely
from hypothesis import given, strategies as st
from shapely.geometry import MultiPolygon, Polygon, box
from shapely.geometry.base import BaseGeometry

from geometry.halfplane import MAX_D
from geometry.polygons import Outline, units

D = 12
GRID = np.indices((D + 1, D + 1)).reshape(2, -1).T.astype(np.int64)


def covered(shape: BaseGeometry, points: np.ndarray) -> list[bool]:
    return [bool(shape.covers(shapely.Point(x, y))) for x, y in points.tolist()]


@given(st.lists(st.tuples(st.integers(0, 4 * D), st.integers(0, 4 * D)), min_size=3, max_size=9))
def test_it_holds_what_shapely_covers(corners: list[tuple[int, int]]) -> None:
    """Corners at quarters of a unit: many points lie on the boundary."""
    shape = shapely.make_valid(Polygon(np.array(corners) / 4), method="structure")
    outline = Outline.of(shape, D)
    found = outline.polygon()
    assert found.is_valid
    assert outline.holds(GRID).tolist() == covered(found, GRID)
    # what has area is the same up to the grid of corners
    assert found.symmetric_difference(shape).area <= (1 + shape.length) / units(D) + 1e-12
    assert Outline.of(found, D).polygon().equals(found)


def test_holes_and_islands_in_them() -> None:
    ring = box(1, 1, 11, 11).difference(box(3, 3, 9, 9))
    shape = MultiPolygon([ring, box(5, 5, 7, 7)])
    outline = Outline.of(shape, D)
    assert [len(rings) for rings in outline.polygons] in ([2, 1], [1, 2])
    x, y = GRID.T
    far = np.maximum(abs(x - 6), abs(y - 6))
    # with all boundaries
    assert outline.holds(GRID).tolist() == (((far >= 3) & (far <= 5)) | (far <= 1)).tolist()
    assert outline.polygon().equals(shape)


def test_no_polygon_holds_no_point() -> None:
    outline = Outline.of(Polygon(), D)
    assert outline == Outline(D, ())
    assert not outline.holds(GRID).any()
    assert outline.polygon().is_empty
    assert outline.holds(GRID[:0]).shape == (0,)


def test_the_whole_square_is_told_from_all_that_is_less() -> None:
    square = box(0, 0, D, D)
    assert Outline.of(square, D).whole
    for less in (Polygon(), box(0, 0, D, D - 1 / 8), square - box(2, 2, 3, 3)):
        assert not Outline.of(less, D).whole


def test_it_is_exact_on_the_largest_grid() -> None:
    """Between the diagonal and a line that misses the opposite corner by one part of a unit."""
    most = MAX_D * units(MAX_D)
    outline = Outline(MAX_D, ((((0, 0), (most, most - 1), (most, most)),),))
    for x in (0, 1, MAX_D // 3, MAX_D - 1, MAX_D):
        # the lower side is at x (1 - 1 / most)
        points = np.array([(x, x), (x, x - 1), (x, min(MAX_D, x + 1))])
        expected = [True, False, x == MAX_D]
        if x == 0:
            points, expected = points[[0, 2]], [True, False]
        assert outline.holds(points).tolist() == expected


@pytest.mark.parametrize(
    ("polygons", "outcome"),
    [
        (((),), "needs a ring"),
        (((((0, 0), (1, 1)),),), "2 corners"),
        (((((0, 0), (1, 1), (0, D * units(D) + 1)),),), "off the square"),
        (((((0, 0), (-1, 1), (0, 1)),),), "off the square"),
    ],
)
def test_what_is_no_outline_is_refused(polygons: tuple, outcome: str) -> None:
    with pytest.raises(ValueError, match=outcome):
        Outline(D, polygons)
