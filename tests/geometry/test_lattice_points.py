"""Lattice points of convex polygons against enumeration and Pick's theorem."""

import math

import numpy as np
import pytest

from geometry.lattice_points import LatticePolygon, floor_sum


def enumerate_points(constraints: list[tuple[int, int, int]], radius: int) -> list[tuple[int, int]]:
    """Lattice points by trying all within the radius, ordered by u and then v."""
    span = range(-radius, radius + 1)
    return [
        (u, v) for u in span for v in span if all(a * u + b * v >= c for a, b, c in constraints)
    ]


def sides(corners: list[tuple[int, int]], *, open_edges: bool) -> list[tuple[int, int, int]]:
    """Inequalities of a counterclockwise polygon with lattice corners."""
    result = []
    for (u, v), (p, q) in zip(corners, corners[1:] + corners[:1], strict=True):
        a, b = v - q, p - u
        result.append((a, b, a * u + b * v + open_edges))
    return result


def test_floor_sum_is_the_sum_of_floors() -> None:
    """Negative slopes and offsets included."""
    rng = np.random.default_rng(1)
    for _ in range(2000):
        slope, offset = (int(c) for c in rng.integers(-40, 40, 2))
        count, modulus = int(rng.integers(0, 25)), int(rng.integers(1, 20))
        expected = sum((slope * i + offset) // modulus for i in range(count))
        assert floor_sum(count, slope, offset, modulus) == expected


def test_random_polygons_are_counted_and_listed_in_order() -> None:
    """Boxes cut by up to five random halfplanes: full, thin, and empty ones all occur."""
    rng = np.random.default_rng(2)
    counts = []
    for _ in range(1500):
        radius = int(rng.integers(1, 8))
        system = [(1, 0, -radius), (-1, 0, -radius), (0, 1, -radius), (0, -1, -radius)]
        for a, b, c in rng.integers((-9, -9, -40), (10, 10, 30), (int(rng.integers(0, 6)), 3)):
            system.append((int(a), int(b), int(c)))
        expected = enumerate_points(system, radius)
        polygon = LatticePolygon.of(system)
        assert polygon.count == len(expected)
        assert [polygon.point(rank) for rank in range(polygon.count)] == expected
        counts.append(len(expected))
    assert {0, 1, 2} < set(counts)
    assert max(counts) > 50


def test_thin_triangles_without_lattice_points_in_some_columns() -> None:
    """Columns that the real polygon meets between two lattice points count nothing."""
    system = [(0, 1, 0), (-1, 3, 0), (2, -5, 0), (-1, 0, -20)]
    expected = enumerate_points(system, 20)
    columns = {u for u, _ in expected}
    assert columns != set(range(min(columns), max(columns) + 1))
    assert [LatticePolygon.of(system).point(r) for r in range(len(expected))] == expected


@pytest.mark.parametrize("size", [10, 2**31, 2**45])
def test_pick_on_large_triangles(size: int) -> None:
    """Closed: area + border/2 + 1 points; open: area - border/2 + 1."""
    rng = np.random.default_rng(size % 97)
    for _ in range(40):
        corners = [tuple(int(c) for c in p) for p in rng.integers(-size, size, (3, 2))]
        (a, b), (c, d), (e, f) = corners
        twice = (c - a) * (f - b) - (e - a) * (d - b)
        if twice == 0:
            continue
        if twice < 0:
            corners.reverse()
        border = sum(
            math.gcd(u - p, v - q)
            for (u, v), (p, q) in zip(corners, corners[1:] + corners[:1], strict=True)
        )
        closed = LatticePolygon.of(sides(corners, open_edges=False)).count
        opened = LatticePolygon.of(sides(corners, open_edges=True)).count
        assert 2 * closed == abs(twice) + border + 2
        assert 2 * opened == abs(twice) - border + 2


def test_ranks_of_a_large_polygon_count_the_points_before() -> None:
    """With coordinates near 2^31 the r-th point has exactly r predecessors."""
    corners = [(-(2**31), -5), (2**31 - 7, -(2**30)), (2**29, 2**31 - 1)]
    system = sides(corners, open_edges=False)
    polygon = LatticePolygon.of(system)
    for rank in (0, 1, polygon.count // 3, polygon.count // 2, polygon.count - 1):
        u, v = polygon.point(rank)
        assert all(a * u + b * v >= c for a, b, c in system)
        earlier = LatticePolygon.of([*system, (-1, 0, 1 - u)]).count
        same = LatticePolygon.of([*system, (1, 0, u), (-1, 0, -u), (0, -1, 1 - v)]).count
        assert earlier + same == rank


def test_ranks_outside_the_count_are_refused() -> None:
    """Negative ranks do not count from the end."""
    square = [(1, 0, 0), (-1, 0, -1), (0, 1, 0), (0, -1, -1)]
    assert LatticePolygon.of(square).count == 4
    for rank in (-1, 4):
        with pytest.raises(IndexError, match="outside"):
            LatticePolygon.of(square).point(rank)


@pytest.mark.parametrize(
    "system",
    [
        [],
        [(1, 0, 0), (-1, 0, -5), (0, 1, 0)],
        [(0, 1, 0), (0, -1, -5), (1, 0, 0)],
        [(1, 1, 0), (-1, -1, -5)],
    ],
)
def test_unbounded_systems_are_refused(system: list[tuple[int, int, int]]) -> None:
    """Strips and quadrants have no count."""
    with pytest.raises(ValueError, match="do not bound"):
        LatticePolygon.of(system)


def test_contradictory_systems_are_empty() -> None:
    """Also when nothing else bounds them."""
    assert LatticePolygon.of([(0, 1, 3), (0, -1, -2)]).count == 0
    assert LatticePolygon.of([(1, 0, 3), (-1, 0, -2), (0, 1, 0), (0, -1, -9)]).count == 0
    assert LatticePolygon.of([(0, 0, 1)]).count == 0
