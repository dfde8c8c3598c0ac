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
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from geometry.compiled_loops import inner
from geometry.counting import NEGATIVE, NO_LINE, POSITIVE, count_piece, line_row
from geometry.halfplane import HalfplaneLattice
from learners.envelope.paper_box import passing_lines, proposals, readings

#: Columns of a box: u0, u1, v0, v1 of each of three edges (half-open), then its counts, its sheets,
#: and two numbers in one (:func:`orders_of`, :func:`pairs_across`)
NEGATIVES, POSITIVES, SHEETS, ORDERS = 12, 13, 14, 15

#: In place of the sheet of an edge that a box does not have.
NO_SHEET = 7


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
def first_boxes(lattice: HalfplaneLattice, size: int) -> NDArray[np.int64]:
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
