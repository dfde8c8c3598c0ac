"""Writes down boxes of KMMS's own class, lines y = a x + b, a and b in -2 d^2 .. 2 d^2.  Compiled.

The class is that of the measure "paper" of :class:`geometry.halfplane.HalfplaneLattice`.  Nearly
all its lines are steep or miss the square, and those that cross it near one place lie in a thin
wedge of (b, a) that no rectangle follows.  So a box is a rectangle of *readings*: where a line
crosses two opposite sides of the square, which are the chord coordinates of
:mod:`geometry.halfplane`, rounded down to cells.

- A line of slope -1 to 1 that meets the square is read at x = 0 and x = d (sheets 0 and 1).
- A steeper line that meets the square is read at y = 0 and y = d (sheets 2 and 3): what is above
  or below it is to its right or left, by the sign of its slope.
- The lines that pass above the square, and those below it, are one cell each of sheets 0 and 1:
  they keep everything or nothing.

A dual point of the class lies in one cell of one sheet, and its halfplane between those at the
cell's corners.  A trial chooses a slope, then an intercept among as many for every slope, each
dual point of the box in exactly one way, and is rejected unless the line's reading lies in the box:
docs/privacy.md, lemma E3; docs/decisions/0017-the-papers-own-box.md.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from geometry.compiled_loops import inner, njit
from geometry.halfplane import HalfplaneLattice

#: Cells of the readings that stand for the lines above the square, past its side, and below it.
#: Neither touches a rectangle of lines that meet the square, so they are never merged.
_ABOVE, _BELOW = 3, -2


class PaperBox(NamedTuple):
    """The class, for compiled loops.

    d : grid size; one : the slope 1 and the height 1, in lattice units; most : greatest a and b,
    in those; cells : cells of the readings, for each grid unit; basis : of the lattice.
    """

    d: int
    one: int
    most: int
    cells: int
    basis: tuple[int, int, int]


def readings(lattice: HalfplaneLattice) -> HalfplaneLattice:
    """The lattice that boxes are made of: that of the readings, or in "chord" the class itself.

    A reading of up to 2 d, in cells, times a slope stays within 2**62.
    """
    if lattice.measure == "chord":
        return lattice
    longest = (2 * lattice.d * lattice.high - 1).bit_length()
    finest = HalfplaneLattice.finest_bits(lattice.d, "chord")
    return HalfplaneLattice(lattice.d, "chord", min(finest, 62 - longest))


def paper_box(lattice: HalfplaneLattice) -> PaperBox | None:
    """The class for compiled loops; None in the measure "chord"."""
    if lattice.measure == "chord":
        return None
    cells = 1 << readings(lattice).bits
    return PaperBox(lattice.d, 1 << lattice.bits, lattice.high, cells, lattice.basis)


def passing_lines(lattice: HalfplaneLattice) -> list[tuple[int, int, int, int]]:
    """The cells of the lines above the square and of those below it: u0, u1, v0, v1, half-open."""
    side = lattice.d << readings(lattice).bits
    return [(at, at + 1, at, at + 1) for at in (side + _ABOVE, _BELOW)]


@inner
def class_sheets(packed: Any, theta: Any) -> Any:
    """The packed sheets of a piece in the class: above (0) or below (1) each of its lines.

    theta : int64 array, shape (12,): readings of three edges, then their intercepts and slopes.
    """
    found = packed
    for e in range(3):
        sheet = (packed >> (3 * e)) & 7
        if sheet == 2 or sheet == 3:
            below = (sheet == 2) == (theta[7 + 2 * e] > 0)
            found += (int(below) - sheet) << (3 * e)
    return found


@inner
def _flat_slopes(paper, p0, p1, q0, q1):
    """Slopes first..last of -1 to 1, and starts..ends - 1 of an end's height, for each of them.

    The end is the one with the shorter side: at x = 0, or at x = d.
    """
    low, high = -((-p0 * paper.one) // paper.cells), -((-p1 * paper.one) // paper.cells)
    left, right = -((-q0 * paper.one) // paper.cells), -((-q1 * paper.one) // paper.cells)
    first = max(-paper.one, -((high - 1 - left) // paper.d))
    last = min(paper.one, (right - 1 - low) // paper.d)
    if p1 - p0 <= q1 - q0:
        return first, last, low, high
    return first, last, left, right


@inner
def _steep_slopes(paper, p0, p1, q0, q1):
    """Slopes first..last above 1 of rising lines, and how many intercepts to try for each."""
    height = paper.d * paper.one * paper.cells
    first, last = paper.one + 1, paper.most
    if q1 <= p0:
        return first, first - 1, 0
    first = max(first, height // (q1 - p0) + 1)
    if q0 > p1:
        last = min(last, (height - 1) // (q0 - p1))
    # the intercept is at most `most`, or for a mirrored line within d of that
    reach = (paper.most + paper.d * paper.one) * paper.cells
    for end in (p0, -p1, q0, -q1):
        if end > 0:
            last = min(last, reach // end)
    if first > last:
        return first, first - 1, 0
    # intercepts end where p or q does; how many there are is concave in the slope
    apart = q0 - p1
    width = min(
        min(p1 - p0, q1 - q0) * last,
        height - apart * (first if apart > 0 else last),
        (q1 - p0) * last - height,
    )
    return first, last, min(width // paper.cells + 1, 2 * paper.most + 1)


@inner
def proposals(paper, side, sheet, p0, p1, q0, q1):
    """How many slopes, and intercepts for each, a trial in a rectangle of readings chooses from.

    One of the two is 0 only if no line of the class is read in the rectangle.
    """
    if sheet < 2:
        if (p0 > side and q0 > side) or (p1 <= 0 and q1 <= 0):
            top = paper.d * paper.one
            slopes = paper.most + (paper.most - (top + 1 if p0 > side else 1)) // paper.d + 1
            return slopes, paper.most - (top if p0 > side else 0)
        first, last, starts, ends = _flat_slopes(paper, p0, p1, q0, q1)
        return max(last - first + 1, 0), max(ends - starts, 0)
    first, last, width = _steep_slopes(paper, p0, p1, q0, q1)
    begin, end, breadth = _steep_slopes(paper, q0, q1, p0, p1)
    return last - first + 1 + end - begin + 1, max(width, breadth)


@inner
def _misses(paper, intercept, slope):
    """Whether a line passes above the square, or below it."""
    top, end = paper.d * paper.one, intercept + paper.d * slope
    return (intercept > top and end > top) or (intercept < 0 and end < 0)


@inner
def _steep_line(paper, p0, p1, q0, q1, slope, turn, least):
    """(inside, intercept) of the rising line number `turn` of a slope in the rectangle.

    Intercepts are at least `least`.
    """
    height = paper.d * paper.one * paper.cells
    low = max(max(-p1 * slope, height - q1 * slope) // paper.cells + 1, least)
    high = min(-p0 * slope, height - q0 * slope) // paper.cells
    return low + turn <= high, low + turn


@inner
def line_of(paper, side, sheet, p0, p1, q0, q1, which, turn):
    """(inside, intercept, slope, readings p and q) of one of the :func:`proposals`.

    which : 0 .. slopes - 1; turn : 0 .. intercepts - 1.
    """
    top = paper.d * paper.one
    if sheet < 2:
        if p0 > side and q0 > side:
            # at x = 0 any height above the square, and any slope that may stay above it
            intercept, slope = top + 1 + turn, paper.most - which
            return intercept + paper.d * slope > top, intercept, slope, p0, q0
        if p1 <= 0 and q1 <= 0:
            intercept, slope = -1 - turn, which - paper.most
            return intercept + paper.d * slope < 0, intercept, slope, p0, q0
        first, _, starts, _ = _flat_slopes(paper, p0, p1, q0, q1)
        slope = first + which
        intercept = starts + turn
        if p1 - p0 > q1 - q0:
            intercept -= paper.d * slope
        p = intercept * paper.cells // paper.one
        q = (intercept + paper.d * slope) * paper.cells // paper.one
        inside = p0 <= p < p1 and q0 <= q < q1
    else:
        first, last, width = _steep_slopes(paper, p0, p1, q0, q1)
        if which <= last - first:
            slope = first + which
            inside, intercept = _steep_line(paper, p0, p1, q0, q1, slope, turn, -paper.most)
        else:
            # a falling line is a rising one with the square turned upside down
            begin, _, width = _steep_slopes(paper, q0, q1, p0, p1)
            slope = begin + which - (last - first + 1)
            least = top - paper.most
            inside, intercept = _steep_line(paper, q0, q1, p0, p1, slope, turn, least)
            slope, intercept = -slope, top - intercept
        inside &= turn < width
        p = -intercept * paper.cells // slope
        q = (top - intercept) * paper.cells // slope
    inside &= abs(intercept) <= paper.most and not _misses(paper, intercept, slope)
    return inside, intercept, slope, p, q


@njit(cache=True, nogil=True, error_model="numpy")
def around(paper, side, sheets, rectangles, found, shares):
    """Rectangles of (b, a) around rectangles of readings, for pictures.

    sheets : int64, shape (m,); rectangles : int64, shape (m, 4); found : int64, shape (2 m, 5), and
    shares, shape (2 m,): sheet, b0, b1, a0, a1, half-open, and part of the lines.  A rectangle of
    steep lines has two, for rising and falling ones; what has no lines has the share 0.
    """
    height, top = paper.d * paper.one * paper.cells, paper.d * paper.one
    for i in range(len(sheets)):
        sheet = sheets[i]
        p0, p1, q0, q1 = rectangles[i]
        shares[2 * i] = shares[2 * i + 1] = 0.0
        found[2 * i : 2 * i + 2] = 0
        if sheet > 3:
            # an edge that the box does not have
            continue
        if sheet < 2:
            shares[2 * i] = 1.0
            low, high, first, last = -paper.most, paper.most, -paper.most, paper.most
            if p0 > side and q0 > side:
                low = top + 1
            elif p1 <= 0 and q1 <= 0:
                high = np.int64(-1)
            else:
                low, high = p0 * paper.one // paper.cells, -(-p1 * paper.one // paper.cells) - 1
                first, last, _, _ = _flat_slopes(paper, p0, p1, q0, q1)
            found[2 * i] = np.array([sheet, low, high + 1, first, last + 1])
            continue
        first, last, width = _steep_slopes(paper, p0, p1, q0, q1)
        begin, end, breadth = _steep_slopes(paper, q0, q1, p0, p1)
        rising, falling = float(last - first + 1) * width, float(end - begin + 1) * breadth
        if rising > 0.0:
            low, high = _steep_ends(height, p0, p1, q0, q1, first, last)
            low, high = max(low // paper.cells, -paper.most), min(high // paper.cells, paper.most)
            found[2 * i] = np.array([1 if sheet == 2 else 0, low, high + 1, first, last + 1])
            shares[2 * i] = rising / (rising + falling)
        if falling > 0.0:
            low, high = _steep_ends(height, q0, q1, p0, p1, begin, end)
            low, high = (
                max(top - high // paper.cells, -paper.most),
                min(top - low // paper.cells, paper.most),
            )
            found[2 * i + 1] = np.array([0 if sheet == 2 else 1, low, high + 1, -end, 1 - begin])
            shares[2 * i + 1] = falling / (rising + falling)


@inner
def _steep_ends(height, p0, p1, q0, q1, first, last):
    """Ends, in cells, between which all intercepts of rising lines in a rectangle lie."""
    low = max(min(-p1 * first, -p1 * last), min(height - q1 * first, height - q1 * last))
    high = min(max(-p0 * first, -p0 * last), max(height - q0 * first, height - q0 * last))
    return low, high
