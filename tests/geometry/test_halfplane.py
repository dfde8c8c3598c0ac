"""Halfplanes and their lattice; the dual map both ways."""

import numpy as np
import pytest
from any_pieces import any_halfplane, boundary, holds
from grids import grid_points

from geometry.columns import column_shift
from geometry.halfplane import (
    MAX_D,
    Halfplane,
    HalfplaneLattice,
    Sheet,
    admitted_parts,
    dual_line,
    side,
)
from learners.envelope.boxes import first_boxes, readings

SMALL = [
    HalfplaneLattice(d, measure, bits)
    for d in (1, 2, 3)
    for measure in ("chord", "paper")
    for bits in (0, 1)
] + [HalfplaneLattice(6, "chord", 0), HalfplaneLattice(5, "chord", 2)]


def admitted(lattice: HalfplaneLattice) -> list[tuple[int, int]]:
    """All admitted dual points, from the box of the largest coordinates."""
    span = range(lattice.low, lattice.high + 1)
    return [(u, v) for u in span for v in span if lattice.admits(u, v)]


@pytest.mark.parametrize("lattice", SMALL, ids=str)
def test_points_per_sheet_is_the_number_of_admitted_points(lattice: HalfplaneLattice) -> None:
    """The base measure's denominator, by enumeration."""
    assert lattice.points_per_sheet == len(admitted(lattice))


@pytest.mark.parametrize("lattice", SMALL, ids=str)
def test_membership_is_the_definition_on_every_grid_point(lattice: HalfplaneLattice) -> None:
    """Also for the grid points that lie on the boundary, and there are such."""
    rng = np.random.default_rng(0)
    on_the_line = 0
    some = [any_halfplane(lattice, rng) for _ in range(60)]
    for u, v in [(one.u, one.v) for one in some] + admitted(lattice)[::17]:
        for sheet in lattice.sheets:
            halfplane = lattice.halfplane(sheet, u, v)
            found = halfplane.contains(grid_points(lattice.d))
            expected = [holds(halfplane, int(x), int(y)) for x, y in grid_points(lattice.d)]
            assert found.tolist() == expected
            on_the_line += sum(
                boundary(lattice, u, v, int(x)) == y for x, y in grid_points(lattice.d)
            )
    assert on_the_line > 0


@pytest.mark.parametrize("measure", ["chord", "paper"])
@pytest.mark.parametrize("d", [1, 7, 1000, 1024, MAX_D])
def test_membership_is_exact_at_the_finest_resolution(d: int, measure: str) -> None:
    """Near the boundary too: points just above, on and just below a line through the grid."""
    lattice = HalfplaneLattice(d, measure)
    rng = np.random.default_rng(d)
    for _ in range(200):
        some, points = any_halfplane(lattice, rng), rng.integers(0, d + 1, (20, 2))
        for sheet in lattice.sheets:
            halfplane = Halfplane(lattice, sheet, some.u, some.v)
            expected = [holds(halfplane, int(x), int(y)) for x, y in points]
            assert halfplane.contains(points).tolist() == expected
    y = d // 2
    row = np.array([(x, y) for x in (0, d // 3, d)])
    u = y << lattice.bits
    for sheet, step in ((Sheet.FLAT_ABOVE, 1), (Sheet.FLAT_BELOW, -1)):
        # a horizontal line through the row, and one a single lattice step further
        v, shift = (0, 0) if measure == "paper" else (u, step)
        assert Halfplane(lattice, sheet, u, v).contains(row).all()
        assert not Halfplane(lattice, sheet, u + step, v + shift).contains(row).any()


@pytest.mark.parametrize("measure", ["chord", "paper"])
@pytest.mark.parametrize("d", [1, 3, 1000, 1024, 2049, MAX_D])
def test_products_of_crossings_stay_below_62_bits(d: int, measure: str) -> None:
    """At the corners of the region, where coefficients are largest."""
    lattice = HalfplaneLattice(d, measure)
    s = d << lattice.bits
    extremes = (
        [(-s, 0), (0, -s), (s, 2 * s), (2 * s, s), (0, 0), (s, s)]
        if measure == "chord"
        else [(u, v) for u in (lattice.low, lattice.high) for v in (lattice.low, lattice.high)]
    )
    lines = [
        lattice.halfplane(sheet, u, v).coefficients for u, v in extremes for sheet in lattice.sheets
    ]
    crossing = max(abs(c * q - r * b) for _, b, c in lines for _, q, r in lines)
    assert crossing < 2**62
    assert all(abs(a) * d + abs(b) * d + abs(c) < 2**62 for a, b, c in lines)


@pytest.mark.parametrize("measure", ["chord", "paper"])
@pytest.mark.parametrize("d", [4096, 4097, 2**15, 2**15 + 1, 2**16, 2**18, MAX_D - 1, MAX_D])
def test_products_at_corners_of_boxes_fit_64_bits(d: int, measure: str) -> None:
    """Corners may lie outside the class, and a line is followed to the end of its last column."""
    own = HalfplaneLattice(d, measure)
    lattice, boxes = readings(own), first_boxes(own, 1)
    beyond = (d >> column_shift(d) << column_shift(d)) + (1 << column_shift(d))
    corners = {
        (int(u), int(v)) for box in boxes for u in (box[0], box[1]) for v in (box[2], box[3])
    }
    lines = [Halfplane(lattice, s, u, v).coefficients for u, v in corners for s in lattice.sheets]
    assert max(abs(c * q) for _, _, c in lines for _, q, _ in lines) < 2**63
    assert max(abs(c * q - r * b) for _, b, c in lines for _, q, r in lines) < 2**63
    assert max(abs(a * q - p * b) for a, b, _ in lines for p, q, _ in lines) < 2**62
    assert all((abs(a) + abs(b)) * beyond + abs(c) < 2**62 for a, b, c in lines)
    assert max(int(box[1] - box[0]) for box in boxes) <= 2**48


@pytest.mark.parametrize("lattice", SMALL[:6], ids=str)
def test_raising_u_or_v_shrinks_upper_sheets_and_grows_the_others(lattice):
    """So a box of dual points has its extreme halfplanes at two corners."""
    points = grid_points(lattice.d)
    for u, v in admitted(lattice)[::5]:
        for sheet in lattice.sheets:
            here = Halfplane(lattice, sheet, u, v).contains(points)
            for higher in (
                Halfplane(lattice, sheet, u + 1, v),
                Halfplane(lattice, sheet, u, v + 1),
            ):
                there = higher.contains(points)
                small, large = (there, here) if sheet.upper else (here, there)
                assert not (small & ~large).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "grid size"),
        ((MAX_D + 1,), "grid size"),
        ((4, "polar"), "unknown measure"),
        ((4, "chord", 21), "bits"),
        ((4, "chord", -2), "bits"),
    ],
)
def test_unusable_lattices_are_refused(arguments: tuple, message: str) -> None:
    """Each message names what is wrong."""
    with pytest.raises(ValueError, match=message):
        HalfplaneLattice(*arguments)


@pytest.mark.parametrize(
    ("measure", "sheet", "u", "v"),
    [
        ("chord", Sheet.FLAT_ABOVE, 0, 5),  # steeper than the sheet serves
        ("chord", Sheet.FLAT_ABOVE, -1, -1),  # misses the square
        ("chord", Sheet.STEEP_LEFT, 5, 5),
        ("paper", Sheet.STEEP_LEFT, 0, 0),  # no such sheet
        ("paper", Sheet.FLAT_BELOW, 33, 0),
    ],
)
def test_halfplanes_outside_the_class_are_refused(measure, sheet, u, v):
    """The class is what carries base measure, nothing else."""
    with pytest.raises(ValueError, match="not in the"):
        HalfplaneLattice(4, measure, 0).halfplane(sheet, u, v)


# the dual map: incidence, inverses, units, and the parts of the admitted region

LATTICES = [
    HalfplaneLattice(1, "chord", 1),
    HalfplaneLattice(3, "chord", 0),
    HalfplaneLattice(5, "chord", 2),
    HalfplaneLattice(1, "paper", 1),
    HalfplaneLattice(3, "paper", 0),
]


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
def test_the_halfplane_holds_the_example_on_its_side_of_the_dual_line(lattice):
    """And an example is on the boundary exactly when the dual point is on the dual line."""
    grid = grid_points(lattice.d).tolist()
    incident = 0
    for sheet in lattice.sheets:
        lines = [dual_line(lattice, sheet, point) for point in grid]
        assert len(set(lines)) == len(grid)
        assert all(a >= 0 and b >= 0 and a + b > 0 for a, b, _ in lines)
        for u, v in admitted(lattice)[::3]:
            halfplane = lattice.halfplane(sheet, u, v)
            a, b, c = halfplane.coefficients
            held = halfplane.contains(np.array(grid))
            for (x, y), line, inside in zip(grid, lines, held, strict=True):
                where = side(line, (u, v, 1))
                assert inside == (where <= 0 if sheet.upper else where >= 0)
                assert (where == 0) == (a * x + b * y == c)
                incident += where == 0
    assert incident > 0


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
def test_each_admitted_lattice_point_belongs_to_one_part(lattice: HalfplaneLattice) -> None:
    """And points that are not admitted to none, nor to a part's closed region."""
    parts = admitted_parts(lattice)
    for u in range(lattice.low - 2, lattice.high + 3):
        for v in range(lattice.low - 2, lattice.high + 3):
            homes = sum(all(side(e, (u, v, 1)) >= 0 for e in part.lattice) for part in parts)
            closed = any(all(side(e, (u, v, 1)) >= 0 for e in part.closed) for part in parts)
            assert homes == lattice.admits(u, v)
            assert closed == lattice.admits(u, v)
