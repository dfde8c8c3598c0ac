"""The cell around a dual point is that of the exact arrangement."""

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geodp_app.dual.lines import cell_around, distinct_lines
from geodp_app.dual.sheets import dual_position, region
from geodp_app.runs.protocol import Window, extent
from geometry.arrangement import Arrangement, arrange
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet, dual_line

FINE = [HalfplaneLattice(1024), HalfplaneLattice(1024, "paper")]
COARSE = [HalfplaneLattice(4, "chord", 1), HalfplaneLattice(3, "paper", 1)]


def examples(lattice: HalfplaneLattice, n: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(3)
    return rng.integers(0, lattice.d + 1, size=(n, 2))


def admitted(lattice: HalfplaneLattice, sheet: Sheet, n: int) -> list[Halfplane]:
    """Halfplanes drawn evenly; all of them, if there are no more."""
    span = range(lattice.low, lattice.high + 1)
    if len(span) ** 2 <= 10_000:
        places = [(u, v) for u in span for v in span]
    else:
        rng = np.random.default_rng(4)
        places = rng.integers(lattice.low, lattice.high + 1, size=(n, 2)).tolist()
    return [lattice.halfplane(sheet, u, v) for u, v in places if lattice.admits(u, v)]


class Exact:
    """The cells of an arrangement by the examples they hold, in grid units."""

    def __init__(self, arrangement: Arrangement, lattice: HalfplaneLattice) -> None:
        self.examples, unit = np.array(arrangement.examples), 1 << lattice.bits
        cells: dict[int, list[shapely.Polygon]] = {}
        for cell in arrangement.cells:
            outline = [(u / w / unit, v / w / unit) for u, v, w in cell.vertices]
            if len(outline) > 2:
                cells.setdefault(cell.inside, []).append(shapely.Polygon(outline))
        self.cells = {held: shapely.union_all(parts) for held, parts in cells.items()}

    def cell(self, halfplane: Halfplane) -> BaseGeometry:
        held = halfplane.contains(self.examples).tolist()
        signature = sum(1 << i for i, inside in enumerate(held) if inside)
        return self.cells.get(signature, shapely.Polygon())


def found(
    lattice: HalfplaneLattice, points: NDArray[np.int64], halfplane: Halfplane, window: Window
) -> BaseGeometry:
    lines = distinct_lines(points, np.arange(len(points)) % 2)
    corners = cell_around(lattice, lines, halfplane, window)
    assert corners.shape[1] == 2
    if len(corners) < 3:
        return shapely.Polygon()
    cell = shapely.Polygon(corners)
    assert cell.is_valid
    assert cell.exterior.is_ccw
    return cell


@pytest.mark.parametrize("lattice", FINE, ids=str)
@pytest.mark.parametrize("sheet", [Sheet.FLAT_ABOVE, Sheet.FLAT_BELOW, Sheet.STEEP_LEFT])
def test_the_outline_is_that_of_the_arrangement(lattice: HalfplaneLattice, sheet: Sheet) -> None:
    """More lines than are looked at together, over the whole sheet and in a part of it."""
    if sheet not in lattice.sheets:
        return
    points, whole, shape = examples(lattice, 90), extent(lattice), region(lattice)
    exact = Exact(arrange(lattice, sheet, points), lattice)
    for halfplane in admitted(lattice, sheet, 60):
        u, v = dual_position(halfplane)
        expected = exact.cell(halfplane)
        across, up = whole.width / 90, whole.height / 90
        # whole numbers: corners are of the lattice
        edges = np.floor([u - across, u + 2 * across, v - up / 9, v + up]).tolist()
        near = Window(*edges)
        for window in (whole, near):
            seen = shapely.box(window.u0, window.v0, window.u1, window.v1)
            cell = found(lattice, points, halfplane, window)
            assert cell.covers(shapely.Point(u, v))
            missed = cell.intersection(shape).symmetric_difference(expected.intersection(seen))
            assert missed.area < 1e-9 * seen.area


@pytest.mark.parametrize("lattice", COARSE, ids=str)
def test_a_point_on_lines_is_in_the_cell_whose_halfplanes_hold_the_same_examples(lattice):
    """Every lattice point of every sheet; on such a grid most are on some line."""
    points, whole, shape = examples(lattice, 9), extent(lattice).grown(0.1), region(lattice)
    on_some = 0
    for sheet in lattice.sheets:
        arrangement = arrange(lattice, sheet, points)
        exact = Exact(arrangement, lattice)
        lines = [dual_line(lattice, sheet, point) for point in arrangement.examples]
        for halfplane in admitted(lattice, sheet, 0):
            on_some += any(a * halfplane.u + b * halfplane.v == c for a, b, c in lines)
            cell = found(lattice, points, halfplane, whole)
            expected = exact.cell(halfplane)
            assert cell.intersection(shape).symmetric_difference(expected).area < 1e-9
    assert on_some > 50


def test_outside_the_window_there_is_no_cell_and_without_lines_the_window_is_it() -> None:
    lattice, points = FINE[0], np.array([[3, 4]])
    halfplane = lattice.halfplane(Sheet.FLAT_ABOVE, 500 << lattice.bits, 600 << lattice.bits)
    lines = distinct_lines(points, np.array([1]))
    away = Window(0.0, 400.0, 0.0, 400.0)
    assert cell_around(lattice, lines, halfplane, away).shape == (0, 2)
    none = distinct_lines(points[:0], np.empty(0))
    here = Window(400.0, 700.0, 500.0, 800.0)
    corners = cell_around(lattice, none, halfplane, here)
    assert shapely.Polygon(corners).equals(shapely.box(400, 500, 700, 800))
