"""Clipping is exact, and the shapes built from it are valid, oriented and of the exact area."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings, strategies as st
from shapely.geometry import GeometryCollection, LineString, MultiPolygon, Point, Polygon, box

from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from geometry.polygons import (
    clip_to_square,
    contains_points,
    orient_valid,
    piece_polygon,
    piece_sides,
    union_shape,
)

#: (d, pieces)
Case = tuple[int, tuple[tuple[Halfplane, ...], ...]]
Position = tuple[Fraction | int, Fraction | int]
Vertex = tuple[Fraction, Fraction]


@st.composite
def halfplanes(
    draw: st.DrawFn, lattice: HalfplaneLattice, near: tuple[Halfplane, ...] = ()
) -> Halfplane:
    """A halfplane: through grid points, anywhere, or almost the same as an earlier one."""
    kind = draw(st.sampled_from(("grid", "any", "near") if near else ("grid", "any")))
    sheet = draw(st.sampled_from(lattice.sheets))
    if kind == "near":
        model = draw(st.sampled_from(near))
        step = st.integers(-2, 2)
        sheet = Sheet(draw(st.sampled_from((model.sheet, model.sheet ^ 1))))
        u, v = model.u + draw(step), model.v + draw(step)
    elif kind == "grid":
        height = st.integers(0, lattice.d)
        u, v = draw(height) << lattice.bits, draw(height) << lattice.bits
    else:
        value = st.integers(lattice.low, lattice.high)
        u, v = draw(value), draw(value)
    if not lattice.admits(u, v):
        u = v = (lattice.d // 2) << lattice.bits
    return lattice.halfplane(sheet, u, v)


@st.composite
def pieces(
    draw: st.DrawFn, sizes: Sequence[int] = (1, 2, 3, 7, 1024), most: int = 4, longest: int = 4
) -> Case:
    """(d, pieces): up to ``most`` tuples of up to ``longest`` halfplanes of one lattice."""
    d = draw(st.sampled_from(sizes))
    lattice = HalfplaneLattice(d, draw(st.sampled_from(("chord", "paper"))))
    seen: tuple[Halfplane, ...] = ()
    made = []
    for _ in range(draw(st.integers(1, most))):
        piece = []
        for _ in range(draw(st.integers(1, longest))):
            piece.append(draw(halfplanes(lattice, seen)))
            seen = (*seen, piece[-1])
        made.append(tuple(piece))
    return d, tuple(made)


def clipped(planes: Sequence[Halfplane], d: int) -> tuple[Vertex, ...]:
    return tuple((Fraction(x, w), Fraction(y, w)) for x, y, w in clip_to_square(planes, d))


def corners_by_brute_force(planes: Sequence[Halfplane], d: int) -> set[Vertex]:
    """Feasible crossings of all pairs of boundary lines, cut down to the extreme ones."""
    lines = [h.coefficients for h in planes]
    lines += [(1, 0, 0), (0, 1, 0), (-1, 0, -d), (0, -1, -d)]
    found = set()
    for (a, b, c), (e, f, g) in combinations(lines, 2):
        det = a * f - b * e
        if det:
            x, y = Fraction(c * f - b * g, det), Fraction(a * g - c * e, det)
            if all(p * x + q * y >= r for p, q, r in lines):
                found.add((x, y))
    return extreme_points(found)


def extreme_points(points: Iterable[Vertex]) -> set[Vertex]:
    """Corners of the convex hull, by Andrew's monotone chain; none if it has no area."""
    ordered = sorted(points)

    def chain(sequence: Sequence[Vertex]) -> list[Vertex]:
        hull: list[Vertex] = []
        for p in sequence:
            while len(hull) > 1 and cross(hull[-2], hull[-1], p) <= 0:
                hull.pop()
            hull.append(p)
        return hull

    hull = chain(ordered)[:-1] + chain(ordered[::-1])[:-1]
    return set(hull) if len(hull) > 2 else set()


def cross(o: Position, p: Position, q: Position) -> Fraction | int:
    return (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0])


def exact_area(corners: Sequence[Vertex]) -> Fraction:
    pairs = zip(corners, [*corners[1:], *corners[:1]], strict=True)
    return sum((p[0] * q[1] - q[0] * p[1] for p, q in pairs), Fraction(0)) / 2


@settings(max_examples=300, deadline=None)
@given(pieces(most=1, longest=6))
def test_clipping_finds_exactly_the_extreme_points(case: Case) -> None:
    d, (planes,) = case
    corners = clipped(planes, d)
    assert len(set(corners)) == len(corners)
    assert set(corners) == corners_by_brute_force(planes, d)
    # counterclockwise
    for i in range(len(corners)):
        assert cross(corners[i - 2], corners[i - 1], corners[i]) > 0


@settings(max_examples=300, deadline=None)
@given(pieces(most=1, longest=6))
def test_a_side_is_what_all_others_leave_of_a_boundary(case: Case) -> None:
    """Along each line the others are cut off one by one, in fractions."""
    d, (planes,) = case
    has_area = bool(corners_by_brute_force(planes, d))
    lines = [h.coefficients for h in planes]
    lines += [(1, 0, 0), (0, 1, 0), (-1, 0, -d), (0, -1, -d)]
    sides = piece_sides(planes, d)
    assert len(sides) == len(planes)
    for (a, b, c), found in zip(lines, sides, strict=False):
        foot = (Fraction(a * c, a * a + b * b), Fraction(b * c, a * a + b * b))
        along = (-b, a)
        low, high, open_ = -Fraction(10**12), Fraction(10**12), has_area
        for p, q, r in lines:
            slope = p * along[0] + q * along[1]
            gap = r - p * foot[0] - q * foot[1]  # slope * t >= gap
            if slope > 0:
                low = max(low, Fraction(gap) / slope)
            elif slope < 0:
                high = min(high, Fraction(gap) / slope)
            else:
                open_ = open_ and gap <= 0
        if not open_ or low >= high:
            assert found is None
            continue
        ends = {tuple(float(f + t * s) for f, s in zip(foot, along, strict=True))
                for t in (low, high)}  # fmt: skip
        assert set(found) == ends


def at(lattice: HalfplaneLattice, sheet: Sheet, u: int, v: int) -> Halfplane:
    """The halfplane whose boundary has heights u and v in grid units."""
    return lattice.halfplane(sheet, u << lattice.bits, v << lattice.bits)


@settings(max_examples=200, deadline=None)
@given(pieces())
def test_union_is_valid_oriented_and_of_the_exact_area(case: Case) -> None:
    d, parts = case
    shape = union_shape(parts, d)
    exact = sum(  # inclusion and exclusion: an intersection of pieces is a clip of all of them
        (-1) ** (r + 1) * exact_area(clipped([h for p in chosen for h in p], d))
        for r in range(1, len(parts) + 1)
        for chosen in combinations(parts, r)
    )
    assert shape.geom_type in ("Polygon", "MultiPolygon")
    assert shapely.is_valid(shape)
    assert shape.area == pytest.approx(float(exact), rel=1e-9, abs=1e-12 * d * d)
    assert shape.equals_exact(shapely.orient_polygons(shape))
    assert shape.is_empty or box(0, 0, d, d).covers(shape)


@settings(max_examples=200, deadline=None)
@given(pieces(most=1, longest=8))
def test_intersection_is_valid_convex_and_of_the_exact_area(case: Case) -> None:
    d, (planes,) = case
    shape = piece_polygon(planes, d)
    assert shape.geom_type == "Polygon"
    assert shapely.is_valid(shape)
    exact = exact_area(clipped(planes, d))
    assert shape.area == pytest.approx(float(exact), rel=1e-9, abs=1e-12 * d * d)
    assert shape.convex_hull.area == pytest.approx(shape.area, rel=1e-9, abs=1e-12 * d * d)


def test_a_triangle_thinner_than_doubles_is_exact_in_rationals_and_empty_as_a_shape() -> None:
    lattice = HalfplaneLattice(1024, "paper")
    needle = [
        lattice.halfplane(Sheet.FLAT_BELOW, -19389218816, 25165824),
        lattice.halfplane(Sheet.FLAT_ABOVE, 416261848, 29),
        lattice.halfplane(Sheet.FLAT_BELOW, 416262635, 28),
    ]
    corners = clipped(needle, 1024)
    assert len(corners) == 3
    assert exact_area(corners) > 0
    assert not shapely.is_valid(Polygon([(float(x), float(y)) for x, y in corners]))
    assert piece_polygon(needle, 1024).equals_exact(Polygon())
    square = [at(lattice, Sheet.FLAT_ABOVE, 0, 0)]
    assert union_shape([needle, square], 1024).area == 1024**2


_STROKE = [(0, 0), (6, 0), (6, 6), (2, 6), (2, 2), (8, 2), (8, 4), (0, 4), (0, 0)]


@pytest.mark.parametrize(
    ("shape", "kind", "area"),
    [
        (Polygon([(0, 0), (2, 2), (2, 0), (0, 2)]), "MultiPolygon", 2),
        # overlapping parts are covered, with no hole punched
        (MultiPolygon([box(0, 0, 2, 2), box(1, 0, 3, 2)]), "Polygon", 6),
        (MultiPolygon([box(0, 0, 4, 4), box(1, 1, 2, 2)]), "Polygon", 16),
        (Polygon(_STROKE), "Polygon", 36),
        (
            GeometryCollection([
                Point(9, 9), box(0, 0, 2, 2),
                GeometryCollection([LineString([(5, 5), (6, 6)]), MultiPolygon([box(1, 0, 3, 2)])]),
            ]),
            "Polygon", 6,
        ),
        (Point(1, 1), "Polygon", 0),
    ],
)  # fmt: skip
def test_orient_valid_covers_what_has_area(shape: Any, kind: str, area: float) -> None:
    found = orient_valid(shape)
    assert (found.geom_type, found.area) == (kind, area)
    assert shapely.is_valid(found)


def test_orient_valid_turns_rings_and_keeps_vertices() -> None:
    hole = [(1, 1), (2, 1), (2, 2), (1, 2)]
    clockwise = Polygon([(0, 0), (0, 4), (4, 4), (4, 0)], [hole])
    shape = orient_valid(clockwise)
    assert shape.exterior.is_ccw
    assert not shape.interiors[0].is_ccw
    before = {tuple(p) for p in shapely.get_coordinates(clockwise)}
    assert {tuple(p) for p in shapely.get_coordinates(shape)} == before


def test_contains_points_of_an_empty_shape_or_no_points() -> None:
    assert contains_points(Polygon(), [[0, 0], [1, 1]]).tolist() == [False, False]
    assert contains_points(box(0, 0, 1, 1), np.empty((0, 2))).shape == (0,)


@pytest.mark.parametrize("points", [[1, 2], [[1, 2, 3]], [[[1, 2]]]])
def test_contains_points_needs_pairs(points: Any) -> None:
    with pytest.raises(ValueError, match="shape"):
        contains_points(box(0, 0, 1, 1), points)
