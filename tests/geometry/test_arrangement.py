"""Arrangements of dual lines against brute force; lattice points counted and drawn."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from geometry.arrangement import Arrangement, Cell, LatticePolygon, arrange
from geometry.halfplane import MAX_D, HalfplaneLattice, Sheet, admitted_parts, area, clip, side


def small_lattices() -> list[HalfplaneLattice]:
    """Every d in 1..6 and both measures, coarse enough to enumerate."""
    chord = [HalfplaneLattice(d, "chord", bits) for d in range(1, 7) for bits in (0, 2)]
    return chord + [HalfplaneLattice(d, "paper", bits) for d in range(1, 7) for bits in (0, 1)]


def samples(d: int) -> list[list[tuple[int, int]]]:
    """No example, one, the corners, a full column and diagonal, the whole grid, random ones."""
    rng = np.random.default_rng(d)
    span = range(d + 1)
    grid = [(x, y) for x in span for y in span]
    chosen = [[], [(d, 0)], [(0, 0), (0, d), (d, 0), (d, d)], [(d // 2, y) for y in span]]
    chosen += [[(x, x) for x in span], grid if d <= 3 else grid[::3]]
    for n in (2, 3, 5, 8):
        chosen.append([(int(x), int(y)) for x, y in rng.integers(0, d + 1, (n, 2))])
    return chosen


def enumerated(
    lattice: HalfplaneLattice, sheet: Sheet, examples: tuple[tuple[int, int], ...]
) -> Counter[int]:
    """Signature of every admitted lattice point, straight from the definition."""
    span = np.arange(lattice.low, lattice.high + 1, dtype=np.int64)
    u, v = (axis.ravel() for axis in np.meshgrid(span, span, indexing="ij"))
    if lattice.measure == "chord":
        s = lattice.d << lattice.bits
        keep = (abs(u - v) <= s) & (np.maximum(u, v) >= 0) & (np.minimum(u, v) <= s)
        u, v = u[keep], v[keep]
    inside = np.zeros(len(u), dtype=object)
    for i, (x, y) in enumerate(examples):
        t, s = (x, y) if sheet in (Sheet.FLAT_ABOVE, Sheet.FLAT_BELOW) else (y, x)
        unit = 1 << lattice.bits
        if lattice.measure == "chord":
            gap = s * lattice.d * unit - (lattice.d - t) * u - t * v
        else:
            gap = s * unit - u - t * v
        held = gap >= 0 if sheet in (Sheet.FLAT_ABOVE, Sheet.STEEP_RIGHT) else gap <= 0
        inside += held.astype(object) << i
    return Counter(inside.tolist())


def counted(arrangement: Arrangement) -> Counter[int]:
    """Lattice points of the cells, by signature; signatures without any left out."""
    total: Counter[int] = Counter()
    for cell in arrangement.cells:
        total[cell.inside] += cell.lattice_points.count
    return +total


def cell_at(arrangement: Arrangement, u: Fraction | int, v: Fraction | int) -> Cell | None:
    """The cell of a dual point in lattice units; None outside the region."""
    homes = [
        i
        for i, part in enumerate(admitted_parts(arrangement.lattice))
        if all(a * u + b * v >= c for a, b, c in part.closed)
    ]
    gaps = [a * u + b * v - c for a, b, c in arrangement.lines]
    held = [gap <= 0 if arrangement.sheet.upper else gap >= 0 for gap in gaps]
    inside = sum(1 << i for i, one in enumerate(held) if one)
    return next((c for c in arrangement.cells if c.inside == inside and c.part in homes), None)


@pytest.mark.parametrize("lattice", small_lattices(), ids=str)
def test_cells_partition_the_lattice_by_signature(lattice: HalfplaneLattice) -> None:
    """For every sheet and sample, each signature has as many points as enumeration finds."""
    for points in samples(lattice.d):
        for sheet in lattice.sheets:
            arrangement = arrange(lattice, sheet, points)
            assert counted(arrangement) == enumerated(lattice, sheet, arrangement.examples)


@pytest.mark.parametrize("measure", ["chord", "paper"])
@pytest.mark.parametrize(("d", "n"), [(5, 30), (64, 40), (1024, 80), (4096, 20), (MAX_D, 20)])
def test_areas_and_lattice_points_sum_to_the_region(measure: str, d: int, n: int) -> None:
    """Exactly, at the finest resolution."""
    lattice = HalfplaneLattice(d, measure)
    points = np.random.default_rng(n).integers(0, d + 1, (n, 2))
    s = d << lattice.bits
    whole = 3 * s * s if measure == "chord" else (lattice.high - lattice.low) ** 2
    for sheet in lattice.sheets:
        cells = arrange(lattice, sheet, points).cells
        assert sum(area(cell.vertices) for cell in cells) == whole
        assert sum(cell.lattice_points.count for cell in cells) == lattice.points_per_sheet


def crossings_within(arrangement: Arrangement, part: int) -> tuple[int, int]:
    """Lines that cut a part's interior, and sum of (lines through it - 1) over inner crossings."""
    closed = admitted_parts(arrangement.lattice)[part].closed
    corners = [
        (Fraction(c * q - r * b, a * q - p * b), Fraction(a * r - p * c, a * q - p * b))
        for (a, b, c), (p, q, r) in combinations(closed, 2)
        if a * q != p * b
    ]
    corners = [k for k in corners if all(a * k[0] + b * k[1] >= c for a, b, c in closed)]
    cutting = []
    for a, b, c in arrangement.lines:
        signs = {(a * u + b * v > c) - (a * u + b * v < c) for u, v in corners}
        if {-1, 1} <= signs:
            cutting.append((a, b, c))
    through: dict[tuple[Fraction, Fraction], set[int]] = {}
    for (i, (a, b, c)), (j, (p, q, r)) in combinations(enumerate(cutting), 2):
        w = a * q - p * b
        if w:
            point = Fraction(c * q - r * b, w), Fraction(a * r - p * c, w)
            if all(e * point[0] + f * point[1] > g for e, f, g in closed):
                through.setdefault(point, set()).update((i, j))
    return len(cutting), sum(len(lines) - 1 for lines in through.values())


@pytest.mark.parametrize("measure", ["chord", "paper"])
@pytest.mark.parametrize(("d", "n"), [(3, 16), (6, 20), (1000, 25)])
def test_the_number_of_cells_is_eulers(measure: str, d: int, n: int) -> None:
    """1 + lines + crossings, a crossing of m lines counted m - 1 times."""
    lattice = HalfplaneLattice(d, measure)
    points = np.random.default_rng(d + n).integers(0, d + 1, (n, 2))
    for sheet in lattice.sheets:
        arrangement = arrange(lattice, sheet, points)
        for part in range(len(admitted_parts(lattice))):
            lines, crossings = crossings_within(arrangement, part)
            cells = [c for c in arrangement.cells if c.part == part and area(c.vertices) > 0]
            assert len(cells) == 1 + lines + crossings
            assert len({c.inside for c in cells}) == len(cells)


def turns_left(cell: Cell) -> bool:
    """Whether the polygon turns strictly left at every corner."""
    corners = [(Fraction(u, w), Fraction(v, w)) for u, v, w in cell.vertices]
    n = len(corners)
    for i in range(n):
        (a, b), (c, d), (e, f) = corners[i], corners[(i + 1) % n], corners[(i + 2) % n]
        if (c - a) * (f - d) - (e - c) * (d - b) <= 0:
            return False
    return True


@pytest.mark.parametrize("measure", ["chord", "paper"])
def test_cells_are_convex_and_their_signature_is_that_of_their_centre(measure: str) -> None:
    """Corners counterclockwise, within the region; sides by the dual lines in fractions."""
    lattice = HalfplaneLattice(7, measure)
    points = np.random.default_rng(5).integers(0, 8, (14, 2))
    for sheet in lattice.sheets:
        arrangement = arrange(lattice, sheet, points)
        for cell in arrangement.cells:
            closed = admitted_parts(lattice)[cell.part].closed
            assert all(side(e, vertex) >= 0 for e in closed for vertex in cell.vertices)
            if area(cell.vertices) == 0:
                continue
            assert turns_left(cell)
            n = len(cell.vertices)
            u = sum((Fraction(p, w) for p, _, w in cell.vertices), Fraction(0)) / n
            v = sum((Fraction(q, w) for _, q, w in cell.vertices), Fraction(0)) / n
            for i, (a, b, c) in enumerate(arrangement.lines):
                gap = a * u + b * v - c
                assert gap != 0
                assert (cell.inside >> i & 1) == ((gap < 0) if sheet.upper else (gap > 0))
            found = cell_at(arrangement, u, v)
            assert found == cell


def test_clipping_a_square() -> None:
    """By a diagonal, by a side that keeps it, by one that touches a corner, by one beyond."""
    square = ((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
    assert area(square) == 1
    assert area(clip(square, (-2, -2, -1))) == Fraction(1, 8)
    assert clip(square, (1, 0, -1)) == square
    assert set(clip(square, (1, 1, 2))) == {(1, 1, 1)}
    assert clip(square, (1, 1, 3)) == ()


def test_sheets_and_points_of_another_lattice_are_refused() -> None:
    """The paper's measure has no steep sheets; points must be on the grid."""
    with pytest.raises(ValueError, match="not a sheet"):
        arrange(HalfplaneLattice(4, "paper"), Sheet.STEEP_LEFT, [])
    with pytest.raises(ValueError, match="outside the grid"):
        arrange(HalfplaneLattice(4), Sheet.STEEP_LEFT, [(0, 5)])


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
