"""Discs and ellipses: integer tests against rationals, and outlines."""

from fractions import Fraction

import numpy as np
import pytest
import shapely
from grids import grid_points
from shapely.geometry import Point

from geometry.lift import CHORD_ERROR, Conic, ConicLattice, conic_union


def random_conics(lattice: ConicLattice, count: int, seed: int) -> list[Conic]:
    rng = np.random.default_rng(seed)
    low, high = np.array(lattice.low), np.array(lattice.high)
    drawn = [lattice.conic(*rng.integers(low, high + 1)) for _ in range(count)]
    # small ones, whose boundary passes many grid points, and the extremes
    unit = 1 << lattice.bits
    small = np.minimum(high, np.maximum(low, rng.integers(0, 4, (count, len(low))) * unit))
    return drawn + [lattice.conic(*row) for row in small] + [lattice.conic(*low)]


def holds(conic: Conic, x: int, y: int) -> bool:
    """Membership in rationals, from what the parameters mean."""
    values = [Fraction(v, 1 << conic.lattice.bits) for v in conic.parameters]
    if conic.lattice.kind == "disc":
        p, q, r = values
        return (x - p) ** 2 + (y - q) ** 2 <= r**2
    p, q, w, h, t = values
    s = (x - p) / w
    return abs(s) <= 1 and (y - q - s * t) ** 2 <= h**2 * (1 - s**2)


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
@pytest.mark.parametrize(("d", "bits"), [(1, 0), (6, 0), (7, 2), (9, -1)])
def test_members_hold_what_rationals_say(kind: str, d: int, bits: int) -> None:
    lattice = ConicLattice(d, kind, bits)
    points = grid_points(d)
    for conic in random_conics(lattice, 30, seed=d):
        wanted = [holds(conic, int(x), int(y)) for x, y in points]
        assert conic.contains(points).tolist() == wanted


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
def test_the_test_does_not_overflow_on_the_largest_grid(kind: str) -> None:
    lattice = ConicLattice(2048, kind)
    rng = np.random.default_rng(5)
    points = np.vstack([rng.integers(0, 2049, (40, 2)), [[0, 0], [0, 2048], [2048, 2048]]])
    corners = [lattice.high, (0, lattice.side, *lattice.high[2:])]
    if kind == "ellipse":
        corners += [(0, 0, lattice.side, lattice.side, -lattice.side), (0, 0, 1, lattice.side, 0)]
    for conic in [*random_conics(lattice, 20, seed=2), *(lattice.conic(*c) for c in corners)]:
        assert conic.contains(points).tolist() == [holds(conic, int(x), int(y)) for x, y in points]


def test_points_on_the_boundary_belong_to_it() -> None:
    disc = ConicLattice(10, "disc", 0).conic(5, 5, 5)
    assert disc.contains(np.array([[0, 5], [8, 9], [9, 9]])).tolist() == [True, True, False]
    # touches its leftmost abscissa at q - t, and has half chord h in the middle
    tilted = ConicLattice(10, "ellipse", 0).conic(5, 5, 4, 3, 2)
    edge = np.array([[1, 3], [9, 7], [5, 8], [5, 2], [1, 4], [5, 9]])
    assert tilted.contains(edge).tolist() == [True] * 4 + [False] * 2


def test_every_rotated_ellipse_can_be_written() -> None:
    """An ellipse by its axes and angle, and the same by (p, q, w, h, t)."""
    a, b, angle = 6.0, 2.5, 0.7
    cos, sin = np.cos(angle), np.sin(angle)
    w = np.hypot(a * cos, b * sin)
    t = (a * a - b * b) * cos * sin / w
    h = a * b / w
    lattice = ConicLattice(16, "ellipse")
    conic = lattice.conic(*(round(v * 2**lattice.bits) for v in (8, 8, w, h, t)))
    whole = shapely.affinity.rotate(
        shapely.affinity.scale(Point(8, 8).buffer(1, quad_segs=400), a, b), angle, use_radians=True
    )
    assert shapely.hausdorff_distance(conic.outline(), whole) < 0.05
    # the outline is inscribed: 1/64 of a grid unit all along it
    assert 0 < whole.area - conic.outline().area < whole.length / 64


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
def test_no_chord_is_farther_from_its_arc_than_stated(kind: str) -> None:
    lattice = ConicLattice(1024, kind)
    for conic in random_conics(lattice, 6, seed=4):
        unit = 1 << lattice.bits
        p, q, *rest = (v / unit for v in conic.parameters)
        w, h, t = rest if kind == "ellipse" else (rest[0], rest[0], 0.0)
        angle = np.linspace(0, 2 * np.pi, 5_001)
        fine = np.column_stack([p + w * np.cos(angle), q + t * np.cos(angle) + h * np.sin(angle)])
        away = shapely.distance(conic.outline().exterior, shapely.points(fine))
        assert away.max() <= CHORD_ERROR + 1e-9


def test_shapes_are_cut_to_the_square_and_valid() -> None:
    lattice = ConicLattice(16, "ellipse", 2)
    for conic in random_conics(lattice, 20, seed=8):
        shape = conic.polygon()
        assert shape.is_valid
        assert shapely.box(0, 0, 16, 16).buffer(1e-9).covers(shape)
    whole = conic_union(tuple(random_conics(lattice, 4, seed=9)))
    assert whole.is_valid
    assert whole.area <= 256
    assert conic_union(()).is_empty


def test_the_class_is_what_its_bounds_say() -> None:
    assert ConicLattice(3, "disc", 0).members == 4 * 4 * 3
    assert ConicLattice(2, "ellipse", 1).members == 5 * 5 * 4 * 4 * 9
    assert ConicLattice(1024, "disc").bits == 10
    assert ConicLattice(1024, "ellipse").bits == 5
    assert ConicLattice(2048, "ellipse").side == 1 << 15


@pytest.mark.parametrize(
    ("d", "kind", "bits", "reason"),
    [
        (0, "disc", -1, "outside 1..2048"),
        (2049, "ellipse", -1, "use a coarser grid"),
        (8, "square", -1, "unknown kind"),
        (1024, "ellipse", 6, "outside 0..5"),
    ],
)
def test_lattices_that_are_not_exact_are_refused(d: int, kind: str, bits: int, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        ConicLattice(d, kind, bits)  # type: ignore[arg-type]


def test_parameters_outside_the_class_are_refused() -> None:
    lattice = ConicLattice(8, "ellipse", 1)
    with pytest.raises(ValueError, match=r"w = 0 is outside 1\.\.16"):
        lattice.conic(3, 3, 0, 2, 0)
    with pytest.raises(ValueError, match="p, q, w, h, t"):
        lattice.conic(3, 3, 2)
