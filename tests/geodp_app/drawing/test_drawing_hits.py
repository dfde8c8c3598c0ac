"""What lies at a place: as shapely says, and fast."""

import math
import time
from collections.abc import Callable

import numpy as np
import pytest
import shapely
from hypothesis import given, settings, strategies as st
from shapely.geometry import LineString, Polygon

from geodp_app.drawing.hits import Handle, Outlines, nearest_edge, nearest_vertex, shape_at
from geodp_app.drawing.shapes import Drawing, Ring, Shape

SQUARE: Ring = ((0, 0), (10, 0), (10, 10), (0, 10))
HOLE: Ring = ((4, 4), (6, 4), (6, 6), (4, 6))
DRAWING = Drawing(20, (Shape(SQUARE, (HOLE,)), Shape(((8, 8), (20, 8), (20, 20), (8, 20)))))
OUTLINES = Outlines.of(DRAWING)

places = st.tuples(st.floats(-3, 23), st.floats(-3, 23))


def test_the_nearest_vertex_within_the_radius() -> None:
    assert nearest_vertex(OUTLINES, (6.4, 6.4), 1) == Handle("vertex", 0, 1, 2, (6, 6))
    assert nearest_vertex(OUTLINES, (6.4, 6.4), 0.5) is None


def test_of_vertices_at_one_place_the_topmost_is_hit() -> None:
    twice = Outlines.of(Drawing(20, (Shape(SQUARE), Shape(SQUARE))))
    assert nearest_vertex(twice, (0, 0), 1) == Handle("vertex", 1, 0, 0, (0, 0))


def test_a_ring_can_be_left_out() -> None:
    assert nearest_vertex(OUTLINES, (6, 6), 1, beside=(0, 1)) is None
    assert nearest_edge(OUTLINES, (5, 4), 1, beside=(0, 1)) is None


@pytest.mark.parametrize(
    ("end", "at", "spot"),
    [((20, 10), (7.2, 3.2), (8, 4)), ((19, 10), (9.2, 5.3), (9, 5))],  # every two steps; none
)
def test_an_edge_is_hit_at_a_grid_point_of_its_own_or_at_the_nearest_one(end, at, spot) -> None:
    outlines = Outlines.of(Drawing(20, (Shape(((0, 0), end, (0, 10))),)))
    assert nearest_edge(outlines, at, 1.5) == Handle("edge", 0, 0, 0, spot)


def test_the_closing_edge_begins_at_the_last_vertex() -> None:
    assert nearest_edge(OUTLINES, (-0.5, 5), 1) == Handle("edge", 0, 0, 3, (0, 5))


@pytest.mark.parametrize(
    ("at", "hit"),
    [
        ((2, 2), Handle("shape", 0)),
        ((9, 9), Handle("shape", 1)),  # both: the topmost
        ((5, 5), Handle("hole", 0, 1)),
        ((15, 2), None),
    ],
)
def test_shapes_and_holes_at_a_place(at: tuple[float, float], hit: Handle | None) -> None:
    assert shape_at(OUTLINES, at) == hit


def test_a_shape_in_the_hole_of_another_comes_first() -> None:
    drawing = Drawing(20, (Shape(((5, 5), (6, 5), (5, 6))), Shape(SQUARE, (HOLE,))))
    assert shape_at(Outlines.of(drawing), (5.2, 5.2)) == Handle("shape", 0)


def test_an_empty_drawing_has_nothing_to_hit() -> None:
    empty = Outlines.of(Drawing(20))
    assert nearest_vertex(empty, (1, 1), 9) is None
    assert nearest_edge(empty, (1, 1), 9) is None
    assert shape_at(empty, (1, 1)) is None


@given(places, st.floats(0, 5))
@settings(max_examples=100, deadline=None)
def test_edges_are_hit_exactly_within_the_radius(at: tuple[float, float], radius: float) -> None:
    lines = [
        LineString([ring[i], ring[(i + 1) % len(ring)]])
        for shape in DRAWING.shapes
        for ring in shape.rings
        for i in range(len(ring))
    ]
    least = min(line.distance(shapely.Point(at)) for line in lines)
    if abs(least - radius) < 1e-9:
        return
    hit = nearest_edge(OUTLINES, at, radius)
    assert (hit is not None) == (least <= radius)
    if hit is not None:
        ring = DRAWING.shapes[hit.shape].rings[hit.ring]
        edge = LineString([ring[hit.index], ring[(hit.index + 1) % len(ring)]])
        assert edge.distance(shapely.Point(at)) == pytest.approx(least)
        assert hit.position is not None
        assert edge.distance(shapely.Point(hit.position)) == 0


@given(places)
@settings(max_examples=100, deadline=None)
def test_a_place_is_in_the_shape_that_shapely_says(at: tuple[float, float]) -> None:
    polygons = [Polygon(shape.outer, shape.holes) for shape in DRAWING.shapes]
    point = shapely.Point(at)
    if any(polygon.boundary.distance(point) < 1e-9 for polygon in polygons):
        return
    inside = [i for i, polygon in enumerate(polygons) if polygon.contains(point)]
    hit = shape_at(OUTLINES, at)
    assert (hit.shape if hit and hit.kind == "shape" else None) == (max(inside, default=None))


def test_ten_thousand_vertices_are_hit_sooner_than_python_looks_at_each() -> None:
    angles = np.linspace(0, 2 * math.pi, 10_000, endpoint=False)
    xy = np.rint(2048 + 2000 * np.stack([np.cos(angles), np.sin(angles)], axis=1))
    ring = tuple((int(x), int(y)) for x, y in xy)
    outlines = Outlines.of(Drawing(4096, (Shape(ring),)))

    def took(look: Callable[[], object]) -> float:
        """The least of several, of this thread's own time."""
        times = []
        for _ in range(7):
            begun = time.thread_time()
            look()
            times.append(time.thread_time() - begun)
        return min(times)

    one_by_one = took(lambda: [math.dist(vertex, (1000, 1000)) for vertex in ring for _ in "abcde"])
    for hit in (
        lambda: nearest_vertex(outlines, (1000, 1000), 5),
        lambda: nearest_edge(outlines, (1000, 1000), 5),
        lambda: shape_at(outlines, (1000, 1000)),
    ):
        assert took(hit) < one_by_one
