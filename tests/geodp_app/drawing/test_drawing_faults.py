"""Faults of drawings: found where they are, named, and all there are."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import assume, given, settings, strategies as st
from shapely.geometry import LineString, Polygon

from geodp_app.drawing import faults as module
from geodp_app.drawing.faults import (
    CROSS,
    MOST_FAULTS,
    OVERLAP,
    TOUCH,
    Fault,
    Meetings,
    draft_faults,
    faults,
    meetings,
)
from geodp_app.drawing.shapes import Drawing, Ring, Shape
from geometry.halfplane import MAX_D

SQUARE: Ring = ((0, 0), (20, 0), (20, 20), (0, 20))


def box(x: int, y: int, width: int, height: int) -> Ring:
    return ((x, y), (x + width, y), (x + width, y + height), (x, y + height))


def shape_faults(shape: Shape) -> tuple[Fault, ...]:
    """Of a shape that stands alone."""
    return faults(Drawing(MAX_D, (shape,)))


def kinds(shape: Shape) -> list[str]:
    return [fault.kind for fault in shape_faults(shape)]


def points(size: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(0, size), st.integers(0, size))


def rings(size: int, most: int) -> st.SearchStrategy[Ring]:
    return st.lists(points(size), min_size=3, max_size=most).map(tuple)


RINGS: dict[str, tuple[Ring, tuple[str, tuple[float, float]]]] = {
    "Edges 1 and 3 cross at (3.33, 3.33)": (
        ((0, 0), (10, 10), (10, 0), (0, 5)), ("crossing", (10 / 3, 10 / 3)),
    ),
    "The edge turns back on itself at vertex 3, (15, 0)": (
        ((0, 0), (10, 0), (15, 0), (10, 0), (10, 10)), ("spike", (15, 0)),
    ),
    "Vertices 2 and 3 are both at (10, 0)": (
        ((0, 0), (10, 0), (10, 0), (10, 10)), ("repeated", (10, 0)),
    ),
    "Vertices 4 and 1 are both at (0, 0)": (
        ((0, 0), (10, 0), (10, 10), (0, 0)), ("repeated", (0, 0)),
    ),
    "Vertices 2 and 5 are both at (5, 5)": (
        ((0, 0), (5, 5), (10, 0), (10, 10), (5, 5), (0, 10)), ("touching", (5, 5)),
    ),
    "Vertex 4 lies on edge 1 at (5, 0)": (
        ((0, 0), (10, 0), (10, 10), (5, 0), (0, 10)), ("touching", (5, 0)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", RINGS)
def test_a_fault_is_named_placed_and_told_once(text: str) -> None:
    ring, (kind, at) = RINGS[text]
    fault, *others = shape_faults(Shape(ring))
    assert (fault.kind, fault.text) == (kind, text)
    assert fault.at == pytest.approx(at)
    assert kind == "spike" or not others


def test_the_words_name_the_shape_among_several_and_the_hole() -> None:
    crossing = ((4, 4), (8, 8), (8, 4), (4, 8))
    drawing = Drawing(20, (Shape(SQUARE), Shape(SQUARE, (crossing,))))
    (fault,) = faults(drawing)
    assert (fault.shape, fault.ring) == (1, 1)
    assert fault.text == "Shape 2, hole 1: edges 1 and 3 cross at (6, 6)"


def test_overlapping_edges_are_a_crossing() -> None:
    ring = ((0, 0), (10, 0), (10, 5), (8, 5), (8, 0), (2, 0), (2, 5), (0, 5))
    assert "Edges 1 and 5 overlap at (5, 0)" in [f.text for f in shape_faults(Shape(ring))]


@pytest.mark.parametrize(
    "ring", [((1, 1),) * 3, ((0, 0), (4, 4), (2, 2)), ((0, 0), (3, 0), (9, 0))]
)
def test_vertices_on_one_line_have_no_area(ring: Ring) -> None:
    assert "flat" in kinds(Shape(ring))
    assert "flat" in kinds(Shape(SQUARE, (ring,)))


@pytest.mark.parametrize(
    ("holes", "kind", "text"),
    [
        ([box(30, 30, 3, 3)], "hole-outside", "Hole 1 lies outside the outline"),
        ([box(15, 5, 10, 3)], "hole-crossing", "Hole 1 crosses the outline at (20, 5)"),
        ([box(0, 5, 3, 3)], "hole-crossing", "Hole 1 runs along the outline at (0, 6.5)"),
        ([box(2, 2, 9, 9), box(4, 4, 3, 3)], "hole-nested", "Hole 2 lies inside hole 1"),
        ([box(4, 4, 3, 3), box(2, 2, 9, 9)], "hole-nested", "Hole 1 lies inside hole 2"),
        ([box(2, 2, 5, 5), box(4, 4, 9, 9)], "hole-crossing", "Hole 2 crosses hole 1 at (7, 4)"),
        ([((0, 5), (5, 5), (20, 9))], "apart", "Hole 1 cuts the shape apart at (20, 9)"),
        # through a vertex of the outline: no edges cross properly
        (
            [((10, 10), (20, 20), (30, 10), (20, 0))],
            "hole-crossing",
            "Hole 1 crosses the outline at (20, 0)",
        ),
    ],
)
def test_holes_have_their_place(holes: list[Ring], kind: str, text: str) -> None:
    (fault, *_) = shape_faults(Shape(SQUARE, tuple(holes)))
    assert (fault.kind, fault.text) == (kind, text)


def test_three_holes_in_a_ring_cut_the_shape_apart() -> None:
    holes = (((4, 4), (8, 4), (6, 7)), ((8, 4), (12, 4), (10, 7)), ((6, 7), (10, 7), (8, 12)))
    assert kinds(Shape(SQUARE, holes)) == ["apart"]
    assert kinds(Shape(SQUARE, holes[:2])) == []


@given(rings(6, 9))
@settings(max_examples=120, deadline=None)
def test_a_ring_without_faults_is_valid_and_an_invalid_ring_has_one(ring: Ring) -> None:
    valid = Polygon(ring).is_valid
    found = [fault for fault in shape_faults(Shape(ring)) if fault.kind != "repeated"]
    assert valid == (not found)


@given(st.lists(rings(7, 5), min_size=1, max_size=3))
@settings(max_examples=200, deadline=None)
def test_a_shape_without_faults_is_valid_and_an_invalid_shape_has_one(holes: list[Ring]) -> None:
    outline = ((0, 0), (4, 0), (7, 1), (7, 7), (3, 6), (0, 7))
    valid = Polygon(outline, holes).is_valid
    found = [f for f in shape_faults(Shape(outline, tuple(holes))) if f.kind != "repeated"]
    assert valid == (not found), [f.text for f in found]


@given(st.lists(st.tuples(points(9), st.integers(1, 3), st.booleans()), min_size=2, max_size=6))
@settings(max_examples=120, deadline=None)
def test_triangular_holes_that_touch(corners: list[tuple[tuple[int, int], int, bool]]) -> None:
    """Small triangles on a grid touch often: the connected interior is decided as in GEOS."""
    holes = tuple(
        ((x, y), (x + size, y), (x + size, y + size) if up else (x, y + size))
        for (x, y), size, up in corners
    )
    shape = Shape(box(0, 0, 12, 12), holes)
    assert Polygon(shape.outer, shape.holes).is_valid == (not shape_faults(shape))


@given(rings(5, 8))
@settings(max_examples=60, deadline=None)
def test_every_crossing_lies_on_both_edges_it_names(ring: Ring) -> None:
    for fault in shape_faults(Shape(ring)):
        if fault.kind == "crossing":
            numbers = [int(word) - 1 for word in fault.text.split() if word.isdigit()]
            for i in numbers:
                edge = LineString([ring[i], ring[(i + 1) % len(ring)]])
                assert edge.distance(shapely.Point(fault.at)) < 1e-9


@given(points(MAX_D), points(MAX_D), points(MAX_D), points(MAX_D))
def test_segments_meet_where_fractions_say(a, b, c, d) -> None:  # type: ignore[no-untyped-def]
    assume(a != b and c != d)
    u, v = (b[0] - a[0], b[1] - a[1]), (d[0] - c[0], d[1] - c[1])
    turn = u[0] * v[1] - u[1] * v[0]
    if turn:
        t = Fraction((c[0] - a[0]) * v[1] - (c[1] - a[1]) * v[0], turn)
        s = Fraction((c[0] - a[0]) * u[1] - (c[1] - a[1]) * u[0], turn)
        meet = 0 <= t <= 1 and 0 <= s <= 1
        assert meet == bool(LineString([a, b]).intersects(LineString([c, d])))
        assume(meet)
        met = meetings(np.array([[*a, *b], [*c, *d]]), np.array([0]), np.array([1]))
        assert met.kind[0] == (TOUCH if {s, t} & {0, 1} else CROSS)
        assert tuple(met.at[0]) == (float(a[0] + t * u[0]), float(a[1] + t * u[1]))


@pytest.mark.parametrize(
    ("other", "kind"),
    [((2, 0, 9, 0), OVERLAP), ((4, 0, 9, 0), TOUCH), ((2, 0, 2, 3), TOUCH), ((2, -1, 2, 3), CROSS)],
)
def test_kinds_of_meeting(other: tuple[int, ...], kind: int) -> None:
    edges = np.array([[0, 0, 4, 0], other])
    assert meetings(edges, np.array([0]), np.array([1])).kind.tolist() == [kind]


def test_an_open_chain_may_lie_on_a_line_and_need_not_close() -> None:
    assert draft_faults([(0, 0), (4, 0), (9, 0)], closed=False) == ()
    zigzag = [(0, 0), (10, 0), (10, 10), (5, -5)]
    assert draft_faults(zigzag[:3], closed=False) == ()
    (fault,) = draft_faults(zigzag, closed=False)
    assert (fault.shape, fault.kind) == (-1, "crossing")


def test_drafts_of_no_and_one_vertex_have_no_faults() -> None:
    assert draft_faults([], closed=False) == draft_faults([(3, 3)], closed=False) == ()


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pairs of edges are looked at each time."""
    found: list[int] = []

    def counted(edges: Any, i: Any, j: Any) -> Meetings:
        found.append(len(i))
        return meetings(edges, i, j)

    monkeypatch.setattr(module, "meetings", counted)
    return found


def test_a_scribble_is_told_in_part(compared: list[int]) -> None:
    rng = np.random.default_rng(1)
    ring = tuple((int(x), int(y)) for x, y in rng.integers(0, 1025, (3000, 2)))
    found = faults(Drawing(1024, (Shape(ring),)))
    assert len(found) == MOST_FAULTS
    assert 0 < sum(compared) < 3000 * 3000 / 8  # of 4.5 million pairs


def test_of_a_long_outline_few_pairs_of_edges_are_compared(compared: list[int]) -> None:
    angles = np.linspace(0, 2 * math.pi, 3000, endpoint=False)
    radii = 1500 + 300 * np.sin(40 * angles)
    xy = np.rint(2048 + radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1))
    ring = tuple(dict.fromkeys((int(x), int(y)) for x, y in xy))
    assert len(ring) > 2900
    assert faults(Drawing(4096, (Shape(ring),))) == ()
    assert sum(compared) < 20 * len(ring)  # of 4.5 million
    assert len(compared) < len(ring)
