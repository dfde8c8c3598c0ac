# compiled loops: numba infers the types of what it compiles
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""Branches and bounds over boxes of dual points, for :mod:`learners.cover.best_piece`.  Compiled.

What a box is, and why its bound holds, is told there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geometry.arrays import Ints
from geometry.columns import NO_LINE
from geometry.compiled_loops import inner, njit
from geometry.counting import NEGATIVE, POSITIVE, count_piece, forget_lines, line_row

#: Key of a box that is none.
_NO_KEY = np.int64(-1)

#: Which piece of a box is meant: one type, so that numba compiles one function for both.
_OUTER, _INNER = np.int64(0), np.int64(1)

#: Columns of a box: the rectangles of three edges, then
SHEETS, _BOUND, _DEPTH = 12, 13, 14

#: Entries of `Search.tally`.
_KEPT, TAKEN, TRIED = range(3)

#: Bits of a key below the bound: among equal bounds the smaller box is taken first.
DEPTH_BITS = 10

NO_SHEET = 7

#: Sides of at most so many lattice steps are cut between two steps.
_SHORT = 8


class Objective(NamedTuple):
    """value = gain - weight * loss of a piece, or -1 where that is negative.

    A piece that decides nothing has value 0, so how much is lost below it does not matter, and the
    product may be too large for 64 bits.

    outside : what lies outside the piece is gained (negatives) and lost (positives), not what lies
    inside; weight : at least 1; positives, negatives : examples alive.
    """

    outside: bool
    weight: int
    positives: int
    negatives: int


class Search(NamedTuple):
    """State of a search.

    Attributes
    ----------
    boxes : int64 array, shape (capacity, 15)
        Rectangles of three edges (12), sheets (3 bits an edge, 7 = no such edge), bound, and
        number of halvings.
    tree : int64 array, shape (2 * capacity,)
        Keys at capacity + box, -1 for none; every other node is the greater of its children.
    tally : int64 array, shape (3,)
        Rows of boxes in use, boxes taken, pieces tried.
    best : int64 array, shape (8,)
        The best piece so far: value, sheets, and u, v of three edges.
    side : int64 array, shape (1,)
        d * 2**bits, or 0 when the whole rectangle is admitted (measure "paper").
    """

    boxes: Ints
    tree: Ints
    tally: Ints
    best: Ints
    side: Ints


@njit(cache=True, nogil=True, error_model="numpy")
def value_of(objective, positives, negatives):
    gain, loss = positives, negatives
    if objective.outside:
        gain, loss = objective.negatives - negatives, objective.positives - positives
    if loss > gain // objective.weight:
        return np.int64(-1)
    return gain - objective.weight * loss


@inner
def _admits(side, u, v):
    return side == 0 or (abs(u - v) <= side and max(u, v) >= 0 and min(u, v) <= side)


@inner
def _holds_some(side, box, e):
    """False only when no dual point of edge e's closed rectangle is in the lattice."""
    u0, u1, v0, v1 = box[4 * e], box[4 * e + 1], box[4 * e + 2], box[4 * e + 3]
    if side == 0:
        return True
    return u0 - v1 <= side and v0 - u1 <= side and max(u1, v1) >= 0 and min(u0, v0) <= side


@inner
def _put_key(search, index, key):
    tree = search.tree
    node = len(search.boxes) + index
    tree[node] = key
    node >>= 1
    while node >= 1:
        tree[node] = max(tree[2 * node], tree[2 * node + 1])
        node >>= 1


@inner
def _greatest(search):
    tree = search.tree
    node = 1
    while node < len(search.boxes):
        node = 2 * node if tree[2 * node] >= tree[2 * node + 1] else 2 * node + 1
    return node - len(search.boxes)


@inner
def _keep(search, index, box):
    # an assignment of slices is slow to compile
    for column in range(len(box)):
        search.boxes[index, column] = box[column]
    _put_key(search, index, (box[_BOUND] << DEPTH_BITS) | box[_DEPTH])


@inner
def _make_room(tables):
    """Room for all lines of one box and its halves, of which there are fewer than 64."""
    if len(tables.lines) - tables.used[0] < 64:
        forget_lines(tables)


@inner
def _corner_rows(tables, box, label, inner, rows):
    """Rows, for a label, of the lines of the outer piece or of the inner one."""
    for e in range(3):
        sheet = (box[SHEETS] >> (3 * e)) & 7
        rows[e] = NO_LINE
        if sheet != NO_SHEET:
            # an upper sheet (0, 2) keeps most at its low corner
            at = 4 * e + ((sheet & 1) ^ inner)
            rows[e] = line_row(tables, sheet, box[at], box[at + 2], label)


@inner
def _count(tables, label, rows):
    return count_piece(tables.lines, tables.below, tables.totals[label], rows[0], rows[1], rows[2])


@inner
def _count_with(tables, label, rows, e, row):
    """The count with edge e's line replaced."""
    whole = rows[e]
    rows[e] = row
    count = _count(tables, label, rows)
    rows[e] = whole
    return count


@inner
def _add_box(objective, tables, search, box):
    """Append a starting box if it can beat the best piece."""
    _make_room(tables)
    rows = np.zeros(3, dtype=np.int64)
    _corner_rows(tables, box, POSITIVE, _OUTER, rows)
    positives = _count(tables, POSITIVE, rows)
    _corner_rows(tables, box, NEGATIVE, _INNER, rows)
    box[_BOUND] = value_of(objective, positives, _count(tables, NEGATIVE, rows))
    if box[_BOUND] > search.best[0]:
        _keep(search, search.tally[_KEPT], box)
        search.tally[_KEPT] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def add_boxes(objective, tables, search, boxes):
    """Append starting boxes, each if it can beat the best piece."""
    for i in range(len(boxes)):
        _add_box(objective, tables, search, boxes[i])


@inner
def _try_inner(objective, tables, search, box, negatives, rows):
    """Make the inner piece the best one if it is, and if it belongs to the lattice."""
    theta = np.zeros(6, dtype=np.int64)
    for e in range(3):
        sheet = (box[SHEETS] >> (3 * e)) & 7
        if sheet != NO_SHEET:
            at = 4 * e + 1 - (sheet & 1)
            u, v = box[at], box[at + 2]
            if not _admits(search.side[0], u, v):
                return
            theta[2 * e], theta[2 * e + 1] = u, v
    search.tally[TRIED] += 1
    _corner_rows(tables, box, POSITIVE, _INNER, rows)
    value = value_of(objective, _count(tables, POSITIVE, rows), negatives)
    if value > search.best[0]:
        search.best[0], search.best[1] = value, box[SHEETS]
        for i in range(6):
            search.best[2 + i] = theta[i]


@inner
def _cut(box, axis):
    """Inner end of the half that keeps the axis's outer end, and outer end of the other half.

    Both are the middle, so that halves share lines; the halves of a short side share no point,
    for on a coarse lattice most pieces would be met many times.
    """
    low, high = box[2 * axis], box[2 * axis + 1]
    middle = (low + high) >> 1
    beyond = middle if high - low > _SHORT else middle + 1
    odd = (box[SHEETS] >> (3 * (axis >> 1))) & 1
    return (middle, beyond) if odd == 0 else (beyond, middle)


@inner
def _line_at(tables, box, axis, inner, at, label):
    """Row of the outer or inner line of an edge, moved to `at` along the axis."""
    e = axis >> 1
    sheet = (box[SHEETS] >> (3 * e)) & 7
    corner = 4 * e + ((sheet & 1) ^ inner)
    if axis & 1:
        return line_row(tables, sheet, box[corner], at, label)
    return line_row(tables, sheet, at, box[corner + 2], label)


@inner
def _choose_axis(objective, tables, search, box, outer, inner, positives, negatives):
    """(axis, bound of the half that keeps the outer corner, bound of the other half).

    Of the sides that move the boundary at least half as far as the longest, the one whose
    halves have the least bounds.  Shorter sides would do so more often than they should: it
    is the long side that makes every bound poor.  Axis -1: a single point.
    """
    floor = search.best[0]
    reach = (tables.basis[0], np.int64(tables.totals[0][0]))
    longest = np.int64(0)
    for axis in range(6):
        longest = max(longest, reach[axis & 1] * (box[2 * axis + 1] - box[2 * axis]))
    chosen, least = -1, np.int64(1) << 62
    bound_outer = bound_inner = np.int64(0)
    for axis in range(6):
        side = reach[axis & 1] * (box[2 * axis + 1] - box[2 * axis])
        if side == 0 or 2 * side < longest:
            continue
        e = axis >> 1
        inner_end, outer_end = _cut(box, axis)
        row = _line_at(tables, box, axis, _INNER, inner_end, NEGATIVE)
        first = value_of(objective, positives, _count_with(tables, NEGATIVE, inner, e, row))
        row = _line_at(tables, box, axis, _OUTER, outer_end, POSITIVE)
        second = value_of(objective, _count_with(tables, POSITIVE, outer, e, row), negatives)
        weight = max(first, floor) + max(second, floor)
        if weight < least:
            chosen, least = axis, weight
            bound_outer, bound_inner = first, second
    return chosen, bound_outer, bound_inner


@inner
def _take(objective, tables, search, index):
    """Try the box's inner piece, and put its halves in its place."""
    box = search.boxes[index].copy()
    outer = np.zeros(3, dtype=np.int64)
    inner = np.zeros(3, dtype=np.int64)
    rows = np.zeros(3, dtype=np.int64)
    _corner_rows(tables, box, POSITIVE, _OUTER, outer)
    _corner_rows(tables, box, NEGATIVE, _INNER, inner)
    positives = _count(tables, POSITIVE, outer)
    negatives = _count(tables, NEGATIVE, inner)
    _try_inner(objective, tables, search, box, negatives, rows)
    _put_key(search, index, _NO_KEY)
    axis, bound_outer, bound_inner = _choose_axis(
        objective, tables, search, box, outer, inner, positives, negatives
    )
    if axis < 0:
        return
    inner_end, outer_end = _cut(box, axis)
    odd = (box[SHEETS] >> (3 * (axis >> 1))) & 1
    box[_DEPTH] += 1
    slot = index
    for keeps_inner in range(2):
        half = box.copy()
        # an upper sheet's outer end is the low one
        if keeps_inner:
            half[2 * axis + odd], half[_BOUND] = outer_end, bound_inner
        else:
            half[2 * axis + 1 - odd], half[_BOUND] = inner_end, bound_outer
        if half[_BOUND] > search.best[0] and _holds_some(search.side[0], half, axis >> 1):
            _keep(search, slot, half)
            if slot != index:
                search.tally[_KEPT] += 1
            slot = search.tally[_KEPT]


@njit(cache=True, nogil=True, error_model="numpy")
def run(objective, tables, search, work):
    """Take up to `work` boxes, the greatest bound first, while one may beat the best piece."""
    for _ in range(work):
        if search.tree[1] >> DEPTH_BITS <= search.best[0]:
            return
        _make_room(tables)
        search.tally[TAKEN] += 1
        _take(objective, tables, search, _greatest(search))
