"""The dual map: incidence, inverses, units, and the parts of the admitted region."""

import numpy as np
import pytest
import shapely

from geometry.halfplane import (
    HalfplaneLattice,
    Sheet,
    admitted_parts,
    dual_line,
    side,
)

LATTICES = [
    HalfplaneLattice(1, "chord", 1),
    HalfplaneLattice(3, "chord", 0),
    HalfplaneLattice(5, "chord", 2),
    HalfplaneLattice(1, "paper", 1),
    HalfplaneLattice(3, "paper", 0),
]


def some_points(lattice: HalfplaneLattice) -> list[tuple[int, int]]:
    """Every third admitted dual point."""
    span = range(lattice.low, lattice.high + 1)
    return [(u, v) for u in span for v in span if lattice.admits(u, v)][::3]


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
def test_the_halfplane_holds_the_example_on_its_side_of_the_dual_line(
    lattice: HalfplaneLattice,
) -> None:
    """And an example is on the boundary exactly when the dual point is on the dual line."""
    grid = [(x, y) for x in range(lattice.d + 1) for y in range(lattice.d + 1)]
    incident = 0
    for sheet in lattice.sheets:
        lines = [dual_line(lattice, sheet, point) for point in grid]
        assert len(set(lines)) == len(grid)
        assert all(a >= 0 and b >= 0 and a + b > 0 for a, b, _ in lines)
        for u, v in some_points(lattice):
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


def test_the_chord_region_is_the_hexagon_with_two_notches() -> None:
    """Heights of lines that meet the square with slope at most one; it is not convex."""
    s = 12
    hexagon = shapely.Polygon([(0, 0), (0, -s), (2 * s, s), (s, s), (s, 2 * s), (-s, 0)])
    lattice = HalfplaneLattice(3, "chord", 2)
    for u in range(lattice.low, lattice.high + 1):
        for v in range(lattice.low, lattice.high + 1):
            assert hexagon.covers(shapely.Point(u, v)) == lattice.admits(u, v)
    assert hexagon.convex_hull.area > hexagon.area


@pytest.mark.parametrize("point", [(-1, 0), (0, 5), (5, 5)])
def test_points_off_the_grid_have_no_dual_line(point: tuple[int, int]) -> None:
    """The message names the point."""
    with pytest.raises(ValueError, match="outside the grid"):
        dual_line(HalfplaneLattice(4), Sheet.FLAT_ABOVE, point)
