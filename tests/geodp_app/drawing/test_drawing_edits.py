"""Edits of drawings: nothing leaves the grid, nothing is lost that was not meant."""

import pytest
import shapely
from hypothesis import given, settings, strategies as st
from shapely.geometry import Polygon

from geodp_app.drawing.faults import draft_faults, faults
from geodp_app.drawing.ring_tools import cut
from geodp_app.drawing.shapes import (
    Drawing,
    Ring,
    Shape,
    translated,
    vertex_rows,
    with_inserted,
    with_vertex,
    without_vertex,
)

SQUARE: Ring = ((2, 2), (12, 2), (12, 12), (2, 12))
HOLE: Ring = ((4, 4), (6, 4), (6, 6), (4, 6))
TRIANGLE: Ring = ((14, 14), (18, 14), (18, 18))
DRAWING = Drawing(20, (Shape(SQUARE, (HOLE,)), Shape(TRIANGLE)))


def test_rows_of_vertices_name_each_by_shape_ring_and_index() -> None:
    rows = vertex_rows(DRAWING)
    assert len(rows) == 11
    assert rows[0] == (0, 0, 0, 2, 2)
    assert rows[5] == (0, 1, 1, 6, 4)
    assert rows[10] == (1, 0, 2, 18, 18)


def test_a_typed_vertex_moves_alone() -> None:
    moved = with_vertex(DRAWING, 0, 1, 2, (7, 8))
    changed = [
        (a, b) for a, b in zip(vertex_rows(DRAWING), vertex_rows(moved), strict=True) if a != b
    ]
    assert changed == [((0, 1, 2, 6, 6), (0, 1, 2, 7, 8))]
    assert moved.shapes[1] is DRAWING.shapes[1]


@pytest.mark.parametrize("point", [(-1, 0), (0, 21)])
def test_a_vertex_cannot_be_put_off_the_grid(point: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"off the grid 0\.\.20"):
        with_vertex(DRAWING, 0, 0, 0, point)
    with pytest.raises(ValueError, match=r"off the grid 0\.\.20"):
        with_inserted(DRAWING, 0, 0, 0, point)


@pytest.mark.parametrize("place", [(2, 0, 0), (0, 2, 0), (0, 0, 4), (-1, 0, 0), (0, 0, -1)])
def test_unknown_vertices_are_refused(place: tuple[int, int, int]) -> None:
    with pytest.raises(IndexError, match="in the drawing"):
        with_vertex(DRAWING, *place, (3, 3))
    with pytest.raises(IndexError, match="in the drawing"):
        without_vertex(DRAWING, *place)


def test_a_vertex_is_inserted_before_an_index_or_last() -> None:
    assert with_inserted(DRAWING, 1, 0, 1, (15, 13)).shapes[1].outer[1] == (15, 13)
    assert with_inserted(DRAWING, 1, 0, 3, (15, 16)).shapes[1].outer == (*TRIANGLE, (15, 16))


def test_a_ring_of_three_goes_with_its_vertex() -> None:
    assert without_vertex(DRAWING, 0, 0, 3).shapes[0].outer == SQUARE[:3]
    assert without_vertex(DRAWING, 1, 0, 0).shapes == DRAWING.shapes[:1]
    holed = Drawing(20, (Shape(SQUARE, (HOLE[:3],)),))
    assert without_vertex(holed, 0, 1, 0).shapes == (Shape(SQUARE),)


@given(st.integers(-40, 40), st.integers(-40, 40))
def test_moves_stop_at_the_edge_of_the_grid(dx: int, dy: int) -> None:
    moved, by = translated(DRAWING, [(0, 0)], (dx, dy))
    assert moved.shapes[0] == Shape(
        tuple((x + by[0], y + by[1]) for x, y in SQUARE),
        (tuple((x + by[0], y + by[1]) for x, y in HOLE),),
    )
    assert moved.shapes[1] == DRAWING.shapes[1]
    assert by == (max(-2, min(8, dx)), max(-2, min(8, dy)))


def test_a_hole_partly_outside_is_subtracted() -> None:
    (left, right) = cut(DRAWING, ((10, 5), (16, 5), (16, 9), (10, 9))).shapes
    assert set(left.outer) == {*SQUARE, (12, 5), (10, 5), (10, 9), (12, 9)}
    assert left.holes[0][0] in HOLE
    assert right == Shape(TRIANGLE)


def test_a_hole_cuts_all_shapes_under_it() -> None:
    twice = Drawing(20, (Shape(SQUARE), Shape(((1, 1), (13, 1), (13, 13), (1, 13)))))
    assert [shape.holes for shape in cut(twice, HOLE).shapes] == [(HOLE,), (HOLE,)]


def test_a_hole_may_divide_or_remove_a_shape() -> None:
    divided = cut(DRAWING, ((0, 8), (20, 8), (20, 10), (0, 10)))
    assert len(divided.shapes) == 3
    assert cut(DRAWING, ((13, 13), (20, 13), (20, 20), (13, 20))).shapes == DRAWING.shapes[:1]


def test_a_hole_outside_every_shape_changes_nothing() -> None:
    for ring in (((15, 2), (18, 2), (18, 5)), ((12, 2), (15, 2), (12, 12))):
        assert cut(DRAWING, ring) is DRAWING


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=3, max_size=7).map(tuple)
)
@settings(max_examples=150, deadline=None)
def test_what_is_left_of_a_cut_has_no_faults_and_is_the_difference(ring: Ring) -> None:
    if draft_faults(ring, closed=True):
        return
    after = cut(DRAWING, ring)
    assert not faults(after)
    assert all(0 <= x <= 20 and 0 <= y <= 20 for *_, x, y in vertex_rows(after))
    exact = DRAWING.region().difference(Polygon(ring))
    # what differs lies within a grid step of the outlines, which were moved to grid points
    differing = shapely.symmetric_difference(after.region(), exact)
    assert shapely.difference(differing, shapely.buffer(exact.boundary, 1.0)).area < 1e-9
