"""A box holds all pieces whose edges lie in given rectangles of the dual plane.  Compiled.

A box is a row of :class:`learners.envelope.partition.Partition`: for each of up to three edges a
sheet and a rectangle of dual points.  Its *outer* piece is the largest it contains: it bounds the
positives from above; its *inner* piece lies in all of them and bounds the negatives from below
(docs/privacy.md, lemma E3).

A row may be of 32 bits (:func:`learners.envelope.partition.box_type`).  Compiled loops add,
subtract and multiply its numbers in 64 bits; a number that is passed on as it stands is made one of
64 bits first, or the function that takes it would be compiled a second time.

:func:`first_boxes` are those that a selection begins with: together they hold the whole class,
every piece once, which is half of what docs/privacy.md, lemma E2 asks of a partition.

The measure "paper" has KMMS's own class, lines y = a x + b, a and b in -2 d^2 .. 2 d^2.  Nearly all
its lines are steep or miss the square, and those that cross it near one place lie in a thin wedge
of (b, a) that no rectangle follows.  So a box is a rectangle of *readings*: where a line crosses
two opposite sides of the square, which are the chord coordinates of :mod:`geometry.halfplane`,
rounded down to cells.

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

import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from geometry.arrays import Ints
from geometry.columns import NO_LINE
from geometry.compiled_loops import inner, njit
from geometry.counting import NEGATIVE, POSITIVE, count_piece, line_row
from geometry.halfplane import HalfplaneLattice

#: Columns of a box: u0, u1, v0, v1 of each of three edges (half-open), then its counts, its sheets,
#: and two numbers in one (:func:`orders_of`, :func:`pairs_across`)
NEGATIVES, POSITIVES, SHEETS, ORDERS = 12, 13, 14, 15

#: In place of the sheet of an edge that a box does not have.
NO_SHEET = 7


#: Cells of the readings that stand for the lines above the square, past its side, and below it.
#: Neither touches a rectangle of lines that meet the square, so they are never merged.
_ABOVE, _BELOW = 3, -2


def pack_sheets(sheets: tuple[int, ...]) -> int:
    """Three bits an edge; missing edges are 7."""
    padded = (*sheets, NO_SHEET, NO_SHEET, NO_SHEET)[:3]
    return sum(sheet << (3 * e) for e, sheet in enumerate(padded))


@inner
def copy_box(box, to):
    """Column by column: an assignment of slices brings a message along that is slow to compile."""
    for column in range(len(box)):
        to[column] = box[column]


@inner
def orders_of(box):
    """The number of ordered pieces that an unordered one of the box stands for."""
    return np.int64(box[ORDERS] & 7)


@inner
def pairs_across(box):
    """How many close pairs a piece of the box may part, at most, where its counts are of the
    examples left (:mod:`learners.envelope.close_pairs`); below 0 where they are of all: -1 less by
    how much the bound is lower than their score, for points of both labels
    (:mod:`learners.envelope.target`)."""
    return np.int64(box[ORDERS] >> 3) - 1


@inner
def set_pairs_across(box, pairs):
    box[ORDERS] = orders_of(box) + 8 * (pairs + 1)


@inner
def edge_in(box, e):
    """Whether the box has an edge e."""
    return (box[SHEETS] >> (3 * e)) & 7 != NO_SHEET


@inner
def edge_count(box):
    edges = 0
    for e in range(3):
        edges += edge_in(box, e)
    return edges


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


@inner
def admits_some(side, u0, u1, v0, v1):
    """False only when no lattice point of the rectangle carries base measure."""
    if u0 >= u1 or v0 >= v1:
        return False
    if u0 - v1 >= side or v0 - u1 >= side:
        return False
    return max(u1, v1) > 0 and min(u0, v0) <= side


@inner
def trim(side, box, e):
    """Cut what carries no base measure off the rectangle of edge e; True if that was anything.

    What is left is the bounding box of the admitted points; empty when there are none.
    """
    u0, u1, v0, v1 = box[4 * e], box[4 * e + 1], box[4 * e + 2], box[4 * e + 3]
    if u0 >= u1 or v0 >= v1:
        return False
    if v1 <= 0:
        u0 = max(u0, 0)
    if u1 <= 0:
        v0 = max(v0, 0)
    if v0 > side:
        u1 = min(u1, side + 1)
    if u0 > side:
        v1 = min(v1, side + 1)
    # |u - v| <= side
    u0, u1 = max(u0, v0 - side), min(u1, v1 + side)
    v0, v1 = max(v0, u0 - side), min(v1, u1 + side)
    # never less than nothing
    u1, v1 = max(u0, u1), max(v0, v1)
    changed = u0 != box[4 * e] or u1 != box[4 * e + 1]
    changed = changed or v0 != box[4 * e + 2] or v1 != box[4 * e + 3]
    box[4 * e], box[4 * e + 1], box[4 * e + 2], box[4 * e + 3] = u0, u1, v0, v1
    return changed


@inner
def admitted_box(target, box):
    """False only when no piece of the box carries base measure."""
    for e in range(3):
        if edge_in(box, e) and grown(target.paper, target.side, box, e, 1.0) == 0.0:
            return False
    return True


@inner
def grown(paper, side, box, e, volume):
    """A volume times the number of dual points that a trial chooses from for edge e."""
    u0, u1, v0, v1 = box[4 * e], box[4 * e + 1], box[4 * e + 2], box[4 * e + 3]
    if paper is not None:
        sheet = (box[SHEETS] >> (3 * e)) & 7
        slopes, intercepts = proposals(
            paper, side, sheet, np.int64(u0), np.int64(u1), np.int64(v0), np.int64(v1)
        )
        return volume * float(slopes) * float(intercepts)
    if not admits_some(side, u0, u1, v0, v1):
        return 0.0
    volume *= float(u1 - u0)
    volume *= float(v1 - v0)
    return volume


@inner
def far_corner(paper, low, high):
    """The high corner of [low, high): `high`, which boxes share, or the only point there is.

    Where a line passes through grid points, neighbouring lattice points may differ by many
    examples; with the only point as its corner, a box of one piece has that piece's own score.
    In the measure "paper" a cell holds many points, and none of them is its corner.
    """
    if paper is not None:
        return high
    return low if high - low == 1 else high


@inner
def corner_rows(paper, tables, box, rows):
    """Rows of the outer lines, for positives (0..2), and of the inner ones, for negatives (3..5).

    False when the tables are full.
    """
    for e in range(3):
        sheet = (box[SHEETS] >> (3 * e)) & 7
        if sheet == NO_SHEET:
            rows[e] = rows[3 + e] = NO_LINE
            continue
        u0, v0 = np.int64(box[4 * e]), np.int64(box[4 * e + 2])
        u1 = far_corner(paper, u0, np.int64(box[4 * e + 1]))
        v1 = far_corner(paper, v0, np.int64(box[4 * e + 3]))
        # an upper (even) sheet keeps most at its low corner
        if sheet & 1:
            u0, u1, v0, v1 = u1, u0, v1, v0
        rows[e] = line_row(tables, sheet, u0, v0, POSITIVE)
        rows[3 + e] = line_row(tables, sheet, u1, v1, NEGATIVE)
        if rows[e] < 0 or rows[3 + e] < 0:
            return False
    return True


@inner
def recount(paper, tables, box, rows):
    """Count in the box's outer and inner piece; it keeps its counts when the tables are full."""
    if corner_rows(paper, tables, box, rows):
        lines, below, totals = tables.lines, tables.below, tables.totals
        box[POSITIVES] = count_piece(lines, below, totals[1], rows[0], rows[1], rows[2])
        box[NEGATIVES] = count_piece(lines, below, totals[0], rows[3], rows[4], rows[5])


@functools.lru_cache(maxsize=8)
def first_boxes(lattice: HalfplaneLattice, size: int) -> Ints:
    """The starting boxes, shape (count, 16): every multiset of `size` sheets and rectangles.

    Together they hold every admitted piece; an unordered choice of edges stands for all its
    orders.
    """
    made_of = readings(lattice)
    edges = [(sheet, part) for sheet in made_of.sheets for part in rectangles(made_of)]
    if lattice.measure == "paper":
        edges += [(sheet, part) for sheet in lattice.sheets for part in passing_lines(lattice)]
    choices = list(itertools.combinations_with_replacement(edges, size))
    boxes = np.zeros((len(choices), 16), dtype=np.int64)
    for box, chosen in zip(boxes, choices, strict=True):
        for e, (_, part) in enumerate(chosen):
            box[4 * e : 4 * e + 4] = part
        box[SHEETS] = pack_sheets(tuple(sheet for sheet, _ in chosen))
        box[ORDERS] = math.factorial(size) // math.prod(
            math.factorial(chosen.count(edge)) for edge in set(chosen)
        )
    boxes.setflags(write=False)
    return boxes


def rectangles(lattice: HalfplaneLattice) -> list[tuple[int, int, int, int]]:
    """Half-open rectangles u0, u1, v0, v1 that cover the admitted points of a sheet."""
    side = lattice.d << lattice.bits
    ends = {-side: 0, 0: side + 1, side + 1: lattice.high + 1}
    # u and v lie within side of each other and the line meets the square: one is in 0..side
    return [(u, ends[u], v, ends[v]) for u in ends for v in ends if u == 0 or v == 0]
