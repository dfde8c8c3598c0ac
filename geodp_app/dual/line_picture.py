"""Chooses how a window of the dual plane shows its lines: all, some of them, or their density.

Drawing 2,000 lines takes 5 ms; 20,000 hide the plane and one another.  The choice is by what
crosses the window, so zooming in turns a density into lines and thinned lines into all of them.

A density counts exactly how many lines cross each cell of a raster.
Dual lines fall: their coefficients are non-negative.  So a line crosses a rectangle if and only
if it passes between its lower left and its upper right corner.  In chord coordinates, on a raster
of squares, those corners lie on lines v - u = const: along one of them each dual line has one
place, found by one integer division, and a histogram of the places counts the cells of a whole
diagonal.  In the paper's coordinates places are counted along the rows v = const, and a cell's
count is the difference at its two corners.

Cost: O(m * r) integer operations for m lines and r rows, in numpy; 1e5 lines on 256 x 256 take
about 0.2 s.  Corners are lattice points, so nothing rounds.  A line through a lower left corner
that enters no cell there is counted to the neighbour: every cell holds its upper right corner
and not its lower left one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodp_app.dual.lines import ExampleLines, Floats, Segments, cut, ends
from geodp_app.dual.shade_colours import Scale, density_scale
from geodp_app.dual.sheets import Window, extent
from geometry.halfplane import HalfplaneLattice, Sheet

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Raster:
    """Rectangular cells between lattice points, all of one size.

    Attributes
    ----------
    u0, v0 : int
        Lower left corner, lattice units.
    width, height : int
        Of one cell, lattice units.
    columns, rows : int
    """

    u0: int
    v0: int
    width: int
    height: int
    columns: int
    rows: int

    def window(self, lattice: HalfplaneLattice) -> Window:
        """What it covers, in grid units."""
        unit = 1 << lattice.bits
        return Window(
            self.u0 / unit,
            (self.u0 + self.columns * self.width) / unit,
            self.v0 / unit,
            (self.v0 + self.rows * self.height) / unit,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Density:
    """Lines in each cell; equal only to itself.

    Attributes
    ----------
    counts : ndarray of int64, shape (columns, rows)
        [i, j]: weight of the lines that cross the i-th cell in u and j-th in v.
    window : Window
        What the cells cover, in grid units.
    """

    counts: Ints
    window: Window


def raster_over(lattice: HalfplaneLattice, window: Window, cells: int = 256) -> Raster:
    """A raster over a window, `cells` along its longer side; squares in chord coordinates.

    A window of few lattice points gets fewer cells: none is smaller than a lattice step.
    """
    unit = 1 << lattice.bits
    window = window.within(extent(lattice))
    u0, v0 = int(np.floor(window.u0 * unit)), int(np.floor(window.v0 * unit))
    across = max(1, int(np.ceil(window.u1 * unit)) - u0)
    up = max(1, int(np.ceil(window.v1 * unit)) - v0)
    width, height = -(-across // cells), -(-up // cells)
    if lattice.measure == "chord":
        width = height = max(width, height)
    return Raster(u0, v0, width, height, -(-across // width), -(-up // height))


def count_lines(
    lattice: HalfplaneLattice,
    t: Ints,
    s: Ints,
    weights: Ints | None,
    raster: Raster,
    stop: Callable[[], bool] = lambda: False,
) -> Density | None:
    """Count the dual lines in each cell.

    Parameters
    ----------
    lattice : HalfplaneLattice
    t, s : ndarray of int64, shape (m,)
        Abscissa and height, 0..d, of each example in the sheet.
    weights : ndarray of int64, shape (m,), or None
        Examples on each line; by default one.
    raster : Raster
    stop : callable
        Asked now and then; when true the result is None.
    """
    count = _count_squares if lattice.measure == "chord" else _count_rows
    weight = None if weights is None else weights.astype(np.float64)
    counts = count(lattice, t, s, weight, raster, stop)
    return None if counts is None else Density(counts, raster.window(lattice))


def _count_squares(
    lattice: HalfplaneLattice,
    t: Ints,
    s: Ints,
    weights: NDArray[np.float64] | None,
    raster: Raster,
    stop: Callable[[], bool],
) -> Ints | None:
    """Chord coordinates, diagonal by diagonal.

    The corners of diagonal k have u = u0 + i*h and w = v - u = v0 - u0 + k*h.  A line passes on
    or below one if d*u + t*w >= d*s*2**bits, from i = ceil((d*s*2**bits - d*u0 - t*w) / (d*h)) on.
    """
    counts = np.zeros((raster.columns, raster.rows), dtype=np.int64)
    d, h = lattice.d, raster.width
    start = d * raster.u0 - ((d * s) << lattice.bits)
    places = np.empty_like(start)
    for k in range(1 - raster.columns, raster.rows):
        if stop():
            return None
        w = raster.v0 - raster.u0 + k * h
        if abs(w) > (d << lattice.bits) + h:
            continue  # outside the admitted region
        np.multiply(t, w, out=places)
        np.add(places, start, out=places)
        np.floor_divide(places, d * h, out=places)  # -i
        column = np.arange(max(0, -k), min(raster.columns, raster.rows - k))
        # the cell in column j is passed between corners j and j + 1: counted at i = j + 1
        hits = _histogram(places, weights, -column[-1] - 1, -column[0] - 1)
        counts[column, column + k] = hits[::-1]
    return counts


def _count_rows(
    lattice: HalfplaneLattice,
    t: Ints,
    s: Ints,
    weights: NDArray[np.float64] | None,
    raster: Raster,
    stop: Callable[[], bool],
) -> Ints | None:
    """The paper's coordinates: a line passes on or below a corner if u + t*v >= s*2**bits."""
    below = np.zeros((raster.columns + 1, raster.rows + 1), dtype=np.int64)
    start = raster.u0 - (s << lattice.bits)
    places = np.empty_like(start)
    for j in range(raster.rows + 1):
        if stop():
            return None
        np.multiply(t, raster.v0 + j * raster.height, out=places)
        np.add(places, start, out=places)
        np.floor_divide(places, raster.width, out=places)  # -i, with i the first corner passed
        np.minimum(places, 0, out=places)
        below[:, j] = np.cumsum(_histogram(places, weights, -raster.columns, 0)[::-1])
    return below[1:, 1:] - below[:-1, :-1]


def _histogram(places: Ints, weights: NDArray[np.float64] | None, first: int, last: int) -> Ints:
    """Weight of the places equal to first, ..., last; `places` is overwritten."""
    np.clip(places, first - 1, last + 1, out=places)
    np.subtract(places, first - 1, out=places)
    counts = np.bincount(places, weights, minlength=last - first + 3)
    return counts[1:-1].astype(np.int64)


#: At most so many distinct lines are drawn, and beyond so many a density is.
MOST_DRAWN, MOST_THINNED = 2_000, 20_000
#: Over a density so many of its lines are drawn, to see what it is made of.
SOME_DRAWN = 250

#: Cells along the longer side of a density.
CELLS = 256


@dataclass(frozen=True, slots=True)
class LinePicture:
    """Lines or a density in a window of one sheet.  Private.

    Attributes
    ----------
    positive, negative : ndarray of float64, shape (2 m, 2)
        End points (u, v), grid units, of the lines drawn, two by two.
    density : Density or None
    scale : Scale or None
        Range of the density.
    note : str
        What is shown, for the person.
    """

    positive: Floats
    negative: Floats
    density: Density | None
    scale: Scale | None
    note: str


def draw_lines(
    lattice: HalfplaneLattice,
    sheet: Sheet,
    lines: ExampleLines,
    window: Window,
    *,
    shown: tuple[bool, bool] = (True, True),
    stop: Callable[[], bool] = lambda: False,
) -> LinePicture | None:
    """The picture of a window.

    Parameters
    ----------
    lattice : HalfplaneLattice
    sheet : Sheet
    lines : ExampleLines
    window : Window
        Grid units.
    shown : (bool, bool)
        Whether lines of positive and of negative examples are wanted.
    stop : callable
        Asked now and then; when true the result is None.
    """
    t, s = lines.on(sheet)
    segments = _wanted(cut(lattice, t, s, window), lines, shown)
    crossing = len(segments.index)
    density = scale = None
    if crossing > MOST_THINNED:
        some, part = segments.index, slice(SOME_DRAWN)
        density = count_lines(
            lattice, t[some], s[some], lines.counts[some], raster_over(lattice, window, CELLS), stop
        )
        if density is None:
            return None
        note = f"{int(lines.counts[some].sum()):,} lines, {SOME_DRAWN} of them drawn"
        scale = density_scale(density.counts)
    else:
        every = max(1, -(-crossing // MOST_DRAWN))
        note = _note(crossing, every)
        # a prefix of the scattered order is every so-manieth line, and stays when zoomed
        part = slice(crossing // every)
    segments = Segments(segments.index[part], segments.low[part], segments.high[part])
    drawn = ends(lattice, t, s, segments)
    positive = np.repeat(lines.positive[segments.index], 2)
    return LinePicture(drawn[positive], drawn[~positive], density, scale, note)


def _wanted(segments: Segments, lines: ExampleLines, shown: tuple[bool, bool]) -> Segments:
    if all(shown):
        return segments
    positive = lines.positive[segments.index]
    kept = (positive & shown[0]) | (~positive & shown[1])
    return Segments(segments.index[kept], segments.low[kept], segments.high[kept])


def _note(crossing: int, every: int) -> str:
    if every > 1:
        return f"every {ordinal(every)} of {crossing:,} lines shown"
    if crossing == 0:
        return "no line here"
    return "1 line" if crossing == 1 else f"{crossing:,} lines"


def ordinal(number: int) -> str:
    """A number as an English ordinal: 2nd, 3rd, 11th."""
    tens, ones = number // 10 % 10, number % 10
    ending = "th" if tens == 1 else {1: "st", 2: "nd", 3: "rd"}.get(ones, "th")
    return f"{number}{ending}"
