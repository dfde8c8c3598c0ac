"""Which points rings hold, against fractions: on edges, at corners, where rings cross."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import shapely
from held_by_fractions import held
from hypothesis import given, settings, strategies as st

from geometry.polygons import contains_points, region_of, united
from geometry.rings import held_points


def figure(polygons: Any) -> shapely.GeometryCollection:
    return shapely.GeometryCollection([shapely.Polygon(p[0], p[1:]) for p in polygons])


def square(d: int) -> np.ndarray:
    return np.indices((d + 1, d + 1)).reshape(2, -1).T


def by_fractions(polygons: Any, points: np.ndarray) -> list[bool]:
    return [held(polygons, x, y) for x, y in points.tolist()]


def rings(d: int, most: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    corner = st.tuples(st.integers(0, d), st.integers(0, d))
    return st.lists(corner, min_size=3, max_size=most)


KINDS = {
    "triangles": st.lists(st.lists(rings(9, 3), min_size=1, max_size=1), min_size=2, max_size=4),
    "rings that cross themselves": st.lists(st.lists(rings(6, 9), min_size=1, max_size=1),
                                            min_size=1, max_size=2),
    "holes anywhere": st.lists(st.lists(rings(5, 5), min_size=2, max_size=4), min_size=1,
                               max_size=2),
    "edges that go back": st.lists(st.lists(rings(2, 8), min_size=1, max_size=3), min_size=1,
                                   max_size=3),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_grid_point_is_judged_as_by_fractions(kind: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(KINDS[kind])
    def each(polygons: list[Any]) -> None:
        points = square(max(max(spot) for p in polygons for ring in p for spot in ring) + 1)
        right = by_fractions(polygons, points)
        assert contains_points(figure(polygons), points).tolist() == right
        # in another order, some of them often
        again = np.random.default_rng(1).integers(0, len(points), 1000)
        found = contains_points(figure(polygons), points[again])
        assert found.tolist() == np.array(right)[again].tolist()

    each()


@pytest.mark.parametrize(
    ("scale", "shift"),
    [(Fraction(1, 2**40), 0), (Fraction(1, 2**12), 2**40), (Fraction(2**30), -(2**40))],
)
def test_doubles_are_taken_as_they_are(scale: Fraction, shift: int) -> None:
    """A sliver through points that are on an edge, or one last digit beside it."""
    ring = [(0, 0), (3 * 2**9, 2**9), (3 * 2**9, 2**9 + 1), (3, 1)]
    points = [(3 * i, i + j) for i in range(0, 512, 73) for j in (-1, 0, 1)]
    exact = [[(x * scale + shift, y * scale + shift) for x, y in ring]]
    near = [(x * scale + shift, y * scale + shift) for x, y in points]
    assert all(Fraction(float(v)) == v for spot in (*exact[0], *near) for v in spot)
    found = contains_points(figure([[[(float(x), float(y)) for x, y in exact[0]]]]),
                            [(float(x), float(y)) for x, y in near])  # fmt: skip
    right = by_fractions([[[(x, y) for x, y in ring]]], np.array(points))
    assert found.tolist() == right
    assert 0 < sum(right) < len(right)


@pytest.mark.parametrize("turned", [False, True])
def test_many_edges_have_the_same_answers(turned: bool) -> None:
    """Combs, with long and with short teeth, against shapely where no point is on an edge."""
    rng = np.random.default_rng(5)
    x = np.arange(4001.0)
    y = np.where(x % 2 == 0, 100.0, rng.integers(200, 4000, len(x)))
    ring = np.vstack([np.column_stack([x, y]), [[4000, 0], [0, 0]]])
    points = rng.integers(0, 4001, (4000, 2)) + 0.25
    ring, points = (each[:, ::-1] if turned else each for each in (ring, points))
    polygon = shapely.Polygon(ring)
    right = shapely.intersects_xy(polygon, *points.T)
    assert (held_points([[ring]], points) == right).all()
    assert 0 < right.sum() < len(right)
    corners = ring.astype(np.int64)
    assert contains_points(polygon, corners).all()


def star(n: int, d: int, every: int = 2) -> np.ndarray:
    """n wedges round a corner: every second, which share that alone, or all, which share sides."""
    angle = np.linspace(0, 2 * np.pi, every * n, endpoint=False)
    ends = np.rint(d / 2 * (1 + 0.9 * np.stack([np.cos(angle), np.sin(angle)], axis=1)))
    corners = [np.full_like(ends, d / 2), ends, np.roll(ends, -1, axis=0)]
    return shapely.polygons(np.stack(corners, axis=1)[::every])


fan = partial(star, every=1)


def overlapping(n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(2)
    angle, reach = rng.uniform(0, 2 * np.pi, n), rng.uniform(0.2, 0.45, n) * d
    at = [d / 2 + reach[:, None] * np.stack([np.cos(a), np.sin(a)], axis=1)
          for a in (angle, angle + 0.004)]  # fmt: skip
    tips = np.full((n, 2), d / 2)
    return shapely.polygons(np.stack([tips, *np.rint(at)], axis=1))


def beside(n: int, d: int) -> np.ndarray:
    """Wedges, and what goes round their corner, meets it otherwise or is far from it."""
    m = d // 2
    hub = shapely.Point(m, m)
    more = [
        hub.buffer(d / 8), hub.buffer(d / 4).difference(hub.buffer(d / 5)),
        shapely.box(m, m, m + d // 16, m + d // 16), shapely.box(m - 9, m - 70, m + 9, m),
        shapely.Polygon([(m, m), (m - 50, m + 80), (m - 90, m), (m, m), (m + 70, m - 30),
                         (m, m - 99)]).buffer(0),
        shapely.Polygon([(m, m), (0, 5), (0, 0), (d, 0), (d, d), (m, d)]),  # seen over half a turn
        shapely.box(3, 3, 40, 40),
    ]  # fmt: skip
    return np.array([*star(n, d), *more], dtype=object)


def two_corners(n: int, d: int) -> np.ndarray:
    first = star(n, d // 2)
    return np.concatenate([first, shapely.transform(first, lambda xy: xy + (d / 3, 7))])


def holed(n: int, d: int) -> np.ndarray:
    corner = shapely.box(d / 2, d / 2, 0.8 * d, 0.9 * d)
    return np.array([corner.difference(corner.buffer(-9)), *overlapping(n, d)], dtype=object)


WEDGES = [star, fan, overlapping, beside, two_corners, holed]


@pytest.mark.parametrize("wedges", WEDGES)
def test_the_union_of_wedges_at_one_point_is_what_geos_makes_of_it(wedges: Any) -> None:
    d = 1 << 16
    shapes = wedges(200, d)
    shapes = shapes[shapely.is_valid(shapes)]
    ours, theirs = united(shapes), shapely.union_all(shapes)
    assert ours.is_valid
    again = region_of(shapely.MultiPolygon(shapely.get_parts(shapes).tolist()))
    assert again.is_valid
    assert again.symmetric_difference(theirs).area < 1e-9 * theirs.area
    for part in shapes[:: len(shapes) // 9]:  # no corner is moved
        assert ours.distance(shapely.Point(part.exterior.coords[0])) == 0
    assert ours.symmetric_difference(theirs).area < 1e-9 * theirs.area
    tip = d // 4 if wedges is two_corners else d // 2
    assert contains_points(shapely.GeometryCollection(list(shapes)), [[tip, tip]]).all()


@pytest.mark.parametrize("wedges", [star, fan, overlapping])
def test_thousands_of_wedges_are_united_by_few_that_meet(wedges, monkeypatch):
    """GEOS is never given many sides at one point, which takes it the square of their number."""
    shapes = wedges(4000, 1 << 20)
    given = []
    union_all = shapely.union_all

    def watched(parts: Any, **options: Any) -> Any:
        given.append(int((shapely.get_coordinates(parts) == 1 << 19).all(axis=1).sum()))
        return union_all(parts, **options)

    monkeypatch.setattr(shapely, "union_all", watched)
    area = united(shapes[shapely.is_valid(shapes)]).area
    assert max(given) <= 512
    assert sum(given) < 4 * 4000
    if wedges is not overlapping:
        assert area == pytest.approx(shapely.area(shapes).sum(), rel=1e-9)


def test_the_region_of_a_figure_has_its_clear_points() -> None:
    """Rings that cross each other and themselves: where no edge is near, both say the same."""
    rng = np.random.default_rng(9)
    points = rng.uniform(0, 50, (300, 2))
    for _ in range(20):
        polygons = [[rng.integers(0, 51, (rng.integers(3, 8), 2)).tolist() for _ in range(k)]
                    for k in rng.integers(1, 4, 3)]  # fmt: skip
        drawn = figure(polygons)
        region = region_of(drawn)
        assert region.is_valid
        lines = shapely.union_all([shapely.LineString([*r, r[0]]) for p in polygons for r in p])
        clear = shapely.distance(lines, shapely.points(points)) > 1e-6
        inside = shapely.intersects_xy(region, *points.T)
        assert (inside == contains_points(drawn, points))[clear].all()
