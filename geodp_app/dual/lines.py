"""Computes the dual lines of examples as segments cut to a window, and the cell of their
arrangement around a dual point.

In a sheet where an example lies at abscissa t and height s (:func:`geometry.halfplane.dual_line`),
its line within the admitted region is one segment.  With w the slope of the halfplane's boundary,
a in -2d^2..2d^2 (paper) or v - u in -d..d (chord), it is

    chord: u = s - t*w/d,  v = s + (d - t)*w/d        paper: u = s - t*w,  v = w.

In chord coordinates no further clipping is needed: a line through an example always meets the
square.  Private: everything here is about examples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodp_app.dual.sheets import Window, extent
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet, Vertex, clip, dual_line

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# An odd factor spreads keys over 64 bits and can be undone (Knuth's multiplicative hashing).
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_GATHER = np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64))


@dataclass(frozen=True, slots=True)
class ExampleLines:
    """Distinct labelled examples in a fixed, scattered order, so that any prefix is a fair part.

    Attributes
    ----------
    x, y : ndarray of int64, shape (m,)
        Grid units.
    positive : ndarray of bool, shape (m,)
    counts : ndarray of int64, shape (m,)
        Examples that share the place and the label.
    """

    x: Ints
    y: Ints
    positive: NDArray[np.bool_]
    counts: Ints

    def __len__(self) -> int:
        return len(self.x)

    def on(self, sheet: Sheet) -> tuple[Ints, Ints]:
        """(t, s): abscissae and heights of the examples as the sheet reads them."""
        return (self.x, self.y) if sheet.flat else (self.y, self.x)


def distinct_lines(
    points: Ints, labels: NDArray[np.generic], alive: NDArray[np.bool_] | None = None
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
    """Lines cut to a window.

    Attributes
    ----------
    index : ndarray of int64, shape (m,)
        Which lines cross the window.
    low, high : ndarray of float64, shape (m,)
        Their slopes w at the two ends (module docstring).
    """

    index: Ints
    low: Floats
    high: Floats


def cut(lattice: HalfplaneLattice, t: Ints, s: Ints, window: Window) -> Segments:
    """The parts of dual lines within the region and a window.

    Parameters
    ----------
    lattice : HalfplaneLattice
    t, s : ndarray of int64, shape (m,)
        Abscissa and height of each example in the sheet.
    window : Window
        Grid units.
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
) -> NDArray[np.float64]:
    """Corners of the cell that holds a halfplane's dual point, cut to a window.

    Halfplanes of one cell hold the same examples.  A point on a line belongs to the cell whose
    halfplanes hold that line's example (they are closed): below it, of an upper sheet.

    Parameters
    ----------
    lattice : HalfplaneLattice
    lines : ExampleLines
    halfplane : Halfplane
        Of the lattice's sheets.
    window : Window
        Grid units of the dual plane.

    Returns
    -------
    ndarray of float64, shape (m, 2)
        (u, v) in grid units, counterclockwise; no rows if the point is outside the window.
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
