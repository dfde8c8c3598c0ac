"""Computes the dual lines of examples as segments cut to a window, how many of them are shown there
or else their density, and the cell of their arrangement around a dual point.

In a sheet where an example lies at abscissa t and height s (:func:`geometry.halfplane.dual_line`),
its line within the admitted region is one segment.  With w the slope of the halfplane's boundary,
a in -2d^2..2d^2 (paper) or v - u in -d..d (chord), it is

    chord: u = s - t*w/d,  v = s + (d - t)*w/d        paper: u = s - t*w,  v = w.

In chord coordinates no further clipping is needed: a line through an example always meets the
square.  Private: everything here is about examples.

Drawing 2,000 lines takes 5 ms; 20,000 hide the plane and one another.  What is shown is chosen by
what crosses the window, so zooming in turns a density into lines and thinned lines into all of
them.  A density counts exactly how many lines cross each cell of a raster between lattice points.
Dual lines fall (a*u + b*v = c with a, b >= 0), so a line crosses a rectangle if and only if it
passes above its lower left corner, and on or below its upper right one.  Along a row of corners
each line has one place, found by one integer division, from which on it passes below: histograms
of the places count the corners' lines, and a cell's count is the difference at two of them.  That
takes O(m * r) integer operations for m lines and r rows, in numpy; 1e5 lines on 256 x 256 about
0.3 s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodp_app.dual.sheets import Scale, density_scale
from geodp_app.runs.protocol import Window, extent
from geometry.arrays import Flags, Floats, Ints
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet, Vertex, clip, dual_line

# An odd factor spreads keys over 64 bits and can be undone (Knuth's multiplicative hashing).
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_GATHER = np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64))


@dataclass(frozen=True, slots=True)
class ExampleLines:
    """Distinct labelled examples in a fixed, scattered order, so that any prefix is a fair part."""

    #: Grid units; shape (m,).
    x: Ints
    y: Ints
    #: Shape (m,).
    positive: Flags
    #: Examples that share the place and the label; shape (m,).
    counts: Ints

    def __len__(self) -> int:
        return len(self.x)

    def on(self, sheet: Sheet) -> tuple[Ints, Ints]:
        """(t, s): abscissae and heights of the examples as the sheet reads them."""
        return (self.x, self.y) if sheet.flat else (self.y, self.x)


def distinct_lines(
    points: Ints, labels: NDArray[np.generic], alive: Flags | None = None
) -> ExampleLines:
    """Distinct labelled examples among those alive.

    Parameters
    ----------
    points : ndarray of int, shape (n, 2)
        Grid coordinates, 0..2**20.
    labels : ndarray of bool or int, shape (n,)
    alive : ndarray of bool, shape (n,), optional
        By default all are.
    """
    xy, positive = np.asarray(points, dtype=np.int64), np.asarray(labels).astype(np.bool_)
    if alive is not None:
        xy, positive = xy[alive], positive[alive]
    side = int(xy.max(initial=0)) + 1
    keys = ((xy[:, 0] * side + xy[:, 1]) * 2 + positive).astype(np.uint64)
    spread, counts = np.unique(keys * _SPREAD, return_counts=True)
    kept = (spread * _GATHER).astype(np.int64)
    place = kept >> 1
    return ExampleLines(
        place // side, place % side, (kept & 1).astype(np.bool_), counts.astype(np.int64)
    )


@dataclass(frozen=True, slots=True)
class Segments:
    """Lines cut to a window."""

    #: Which lines cross the window; shape (m,).
    index: Ints
    #: Their slopes w at the two ends (module docstring); shape (m,).
    low: Floats
    high: Floats

    def __getitem__(self, some: Flags | slice) -> Segments:
        """Some of them."""
        return Segments(self.index[some], self.low[some], self.high[some])


def cut(lattice: HalfplaneLattice, t: Ints, s: Ints, window: Window) -> Segments:
    """The parts of dual lines within the region and a window.

    `t` and `s`: shape (m,): abscissa and height of each example in the sheet.  `window`: grid
    units.
    """
    chord = lattice.measure == "chord"
    whole = extent(lattice)
    steepest = float(lattice.d) if chord else whole.v1
    window = window.within(whole)
    low, high = np.full(len(t), -steepest), np.full(len(t), steepest)
    height = s.astype(np.float64)
    per_u = (t / lattice.d if chord else t).astype(np.float64)
    _narrow(low, high, per_u, height - window.u1, height - window.u0)
    if chord:
        per_v = ((lattice.d - t) / lattice.d).astype(np.float64)
        _narrow(low, high, per_v, window.v0 - height, window.v1 - height)
    else:
        np.maximum(low, window.v0, out=low)
        np.minimum(high, window.v1, out=high)
    index = np.flatnonzero(low <= high)
    return Segments(index, low[index], high[index])


def _narrow(low: Floats, high: Floats, factor: Floats, least: Floats, most: Floats) -> None:
    """Narrow low..high to the w with least <= factor*w <= most, in place; factor >= 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first, last = least / factor, most / factor
    flat = factor == 0
    if flat.any():  # u or v does not depend on w: all of it or nothing
        out = (least > 0) | (most < 0)
        first[flat] = np.where(out[flat], np.inf, -np.inf)
        last[flat] = np.where(out[flat], -np.inf, np.inf)
    np.maximum(low, first, out=low)
    np.minimum(high, last, out=high)


def ends(lattice: HalfplaneLattice, t: Ints, s: Ints, segments: Segments) -> Floats:
    """End points of segments, shape (2 m, 2): (u, v) of both ends of the first, and so on."""
    some = segments.index
    abscissa, height = t[some], s[some]
    corners = np.empty((len(some), 2, 2))
    for end, w in enumerate((segments.low, segments.high)):
        if lattice.measure == "chord":
            # the product first: at w = ±d it is a multiple of d and the end is exact
            corners[:, end, 0] = height - abscissa * w / lattice.d
            corners[:, end, 1] = height + (lattice.d - abscissa) * w / lattice.d
        else:
            corners[:, end, 0] = height - abscissa * w
            corners[:, end, 1] = w
    return corners.reshape(-1, 2)


def example_segment(
    lattice: HalfplaneLattice, sheet: Sheet, x: int, y: int, window: Window
) -> Floats:
    """Both ends, shape (2, 2), of one example's line in a window; shape (0, 2) if it misses it."""
    t, s = (np.array([c], dtype=np.int64) for c in ((x, y) if sheet.flat else (y, x)))
    return ends(lattice, t, s, cut(lattice, t, s, window))


def distances(lattice: HalfplaneLattice, t: Ints, s: Ints, u: float, v: float) -> Floats:
    """How far from (u, v), in u, each line's window begins.

    The least r for which the line crosses the window |u' - u| <= r, |v' - v| <= r * h, where h is
    1 (chord) or 1/d (paper).
    """
    chord = lattice.measure == "chord"
    slope, stretch = ((v - u) / lattice.d, 1.0) if chord else (v, 1 + t / lattice.d)
    # the example's distance from the boundary, along heights
    gaps: Floats = np.abs(u + t * slope - s) / stretch
    return gaps


def held(lines: ExampleLines, halfplane: Halfplane) -> tuple[int, int]:
    """Positive and negative examples in a halfplane, counted exactly."""
    a, b, c = halfplane.coefficients
    inside = a * lines.x + b * lines.y >= c
    positive = int(lines.counts[inside & lines.positive].sum())
    return positive, int(lines.counts[inside].sum()) - positive


#: Lines are looked at in order of their distance, so many at a time.
_SOME = 64


def cell_around(
    lattice: HalfplaneLattice, lines: ExampleLines, halfplane: Halfplane, window: Window
) -> Floats:
    """Corners of the cell that holds a halfplane's dual point, cut to a window.

    Halfplanes of one cell hold the same examples.  A point on a line belongs to the cell whose
    halfplanes hold that line's example (they are closed): below it, of an upper sheet.

    The corners are (u, v) in grid units, shape (m, 2), counterclockwise; none if the point is
    outside the window, which is in grid units of the dual plane.  The halfplane is of the lattice's
    sheets.
    """
    unit = 1 << lattice.bits
    place = halfplane.u / unit, halfplane.v / unit
    if not window.holds(*place):
        return np.empty((0, 2))
    u0, u1, v0, v1 = (round(e * unit) for e in (window.u0, window.u1, window.v0, window.v1))
    corners: tuple[Vertex, ...] = ((u0, v0, 1), (u1, v0, 1), (u1, v1, 1), (u0, v1, 1))
    upper = halfplane.sheet.upper
    t, s = lines.on(halfplane.sheet)
    gaps = distances(lattice, t, s, *place)
    stretch = 1.0 if lattice.measure == "chord" else float(lattice.d)
    order = np.argsort(gaps)
    for start in range(0, len(order), _SOME):
        if gaps[order[start]] > _radius(corners, place, unit, stretch):
            break
        for i in order[start : start + _SOME].tolist():
            a, b, c = dual_line(lattice, halfplane.sheet, (int(lines.x[i]), int(lines.y[i])))
            side = a * halfplane.u + b * halfplane.v - c
            sign = 1 if side > 0 or (side == 0 and not upper) else -1
            corners = clip(corners, (sign * a, sign * b, sign * c))
            if not corners:
                return np.empty((0, 2))
    return np.array([(u / w, v / w) for u, v, w in corners]) / unit


def _radius(
    corners: tuple[Vertex, ...], place: tuple[float, float], unit: int, stretch: float
) -> float:
    """How far the corners are from a place, as lines' distances are measured."""
    return max(
        max(abs(u / w / unit - place[0]), stretch * abs(v / w / unit - place[1]))
        for u, v, w in corners
    )


@dataclass(frozen=True, slots=True)
class Raster:
    """Rectangular cells between lattice points, all of one size."""

    #: Lower left corner, lattice units.
    u0: int
    v0: int
    #: Of one cell, lattice units.
    width: int
    height: int
    #: How many, across and up.
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
    """Lines in each cell; equal only to itself."""

    #: [i, j]: weight of the lines that cross the i-th cell in u and j-th in v; shape (columns,
    #: rows).
    counts: Ints
    #: What the cells cover, in grid units.
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
    weight = None if weights is None else weights.astype(np.float64)
    chord, d, columns = lattice.measure == "chord", lattice.d, raster.columns
    # on or below (u, v) if a*u + t*v >= c
    a, c = (d - t, (d * s) << lattice.bits) if chord else (np.ones_like(t), s << lattice.bits)
    level = np.flatnonzero(a == 0)  # wherever it is
    start, step = a * raster.u0 - c, np.maximum(a * raster.width, 1)
    below = np.zeros((columns + 1, raster.rows + 1), dtype=np.int64)
    for j in range(raster.rows + 1):
        if stop():
            return None
        reach = t * (raster.v0 + j * raster.height) + start
        places = -(reach // step)  # the first corner that it passes below
        places[level] = np.where(reach[level] >= 0, 0, columns + 1)
        np.clip(places, 0, columns + 1, out=places)
        passed = np.bincount(places, weight, minlength=columns + 2)[:-1]
        below[:, j] = np.cumsum(passed.astype(np.int64))
    counts = below[1:, 1:] - below[:-1, :-1]
    if chord:  # what lies outside of the admitted region is not to be seen
        across, up = np.ogrid[:columns, : raster.rows]
        slope = raster.v0 - raster.u0 + (up - across) * raster.width
        counts[abs(slope) > (d << lattice.bits) + raster.width] = 0
    return Density(counts, raster.window(lattice))


#: At most so many distinct lines are drawn, and beyond so many a density is.
MOST_DRAWN, MOST_THINNED = 2_000, 20_000
#: Over a density so many of its lines are drawn, to see what it is made of.
SOME_DRAWN = 250


@dataclass(frozen=True, slots=True)
class LinePicture:
    """Lines or a density in a window of one sheet.  Private."""

    #: End points (u, v), grid units, of the lines drawn, two by two; shape (2 m, 2).
    positive: Floats
    negative: Floats
    #: Where there are too many lines, and its range.
    density: Density | None
    scale: Scale | None
    #: What is shown, for the person.
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
    segments = cut(lattice, t, s, window)
    segments = segments[np.where(lines.positive[segments.index], *shown)]
    crossing = len(segments.index)
    density = scale = None
    if crossing > MOST_THINNED:
        some, part = segments.index, slice(SOME_DRAWN)
        raster = raster_over(lattice, window)
        density = count_lines(lattice, t[some], s[some], lines.counts[some], raster, stop)
        if density is None:
            return None
        note = f"{int(lines.counts[some].sum()):,} lines, {SOME_DRAWN} of them drawn"
        scale = density_scale(density.counts)
    else:
        every = max(1, -(-crossing // MOST_DRAWN))
        note = _note(crossing, every)
        # a prefix of the scattered order is every so-manieth line, and stays when zoomed
        part = slice(crossing // every)
    segments = segments[part]
    drawn = ends(lattice, t, s, segments)
    positive = np.repeat(lines.positive[segments.index], 2)
    return LinePicture(drawn[positive], drawn[~positive], density, scale, note)


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
