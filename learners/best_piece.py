# compiled loops: numba infers the types of what it compiles
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""The piece of greatest gain less weighted loss, by branch and bound in the dual plane.

A box of dual points has an outer piece that contains all its pieces and an inner piece that
lies in all of them (two corners of each dual rectangle), and the value rises with the positives P
that a piece holds and falls with the negatives N, so

    bound = value(P(outer), N(inner))

is at least every value in it.  The box of the greatest bound is taken first (branch and bound:
Land, Doig 1960); its inner piece is tried, the box is halved, and halves that cannot beat the
best piece so far are dropped.  Boxes are closed, so that a single dual point is bounded by its
own value: when no box is left, the best piece is a maximiser over the whole lattice.

A halfplane has two coordinates, and mostly some hundreds of boxes settle it.  A triangle has
six, and the search may end before that, after `max_boxes` boxes: it then says by how much a
better piece could be better.  To know good triangles early, some that hold a single point, and
later the best so far, are improved edge by edge, each time by the same search with the two
other edges fixed.

Deterministic: work is counted in boxes, never by a clock.  Not private.

Complexity: tables O(m + c^2) for m entries and c columns (:mod:`geometry.columns`); then O(1)
counts a box, and O(c) for each line not met before.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from geometry.columns import count_columns
from geometry.counting import (
    NO_LINE,
    LineTables,
    count_piece,
    forget_lines,
    line_row,
    make_tables,
)
from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.scores import Role
from learners.selection import PIECE_SIZE, PieceKind, SelectionProgress, Watch

#: An edge: its sheet, and a rectangle u0, u1, v0, v1 of dual points, both ends included.
Edge = tuple[int, tuple[int, int, int, int]]

#: Columns of a box: the rectangles of three edges, then
_SHEETS, _BOUND, _DEPTH = 12, 13, 14

#: Entries of `Search.tally`.
_KEPT, _TAKEN, _TRIED = range(3)

#: Bits of a key below the bound: among equal bounds the smaller box is taken first.
_DEPTH_BITS = 10

_NO_SHEET = 7

#: Sides of at most so many lattice steps are cut between two steps.
_SHORT = 8

#: Boxes between two looks at the watch: doubled from the first to the last.
_FIRST_SLICE, _LAST_SLICE = 1000, 1 << 15

#: Boxes for the improvement of one edge.
_EDGE_BOXES = 1 << 13

#: Triangles of a single point that are improved first.
_SEEDS = 8


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


def gain_less_loss(
    role: Role, loss_weight: int | None, positives: int, negatives: int
) -> Objective:
    """gain - loss_weight * loss, in examples.

    Parameters
    ----------
    role : {"disjunction", "conjunction"}
        A disjunction gains the positives inside a piece and loses the negatives there; a
        conjunction gains the negatives outside and loses the positives there.
    loss_weight : int or None
        None: no loss is worth any gain.
    positives, negatives : int
        Examples alive.
    """
    outside = role == "conjunction"
    gain = negatives if outside else positives
    # a weight above every gain forbids losses, so no larger one is needed
    weight = gain + 1 if loss_weight is None else min(loss_weight, gain + 1)
    return Objective(outside, weight, positives, negatives)


@dataclass(frozen=True, slots=True)
class BestPiece:
    """What a search found.

    Attributes
    ----------
    piece : tuple of Halfplane
    value : int
        Of the objective.
    gap : int
        No piece of the lattice has a value above `value + gap`: 0 for a maximiser.
    progress : SelectionProgress
        `trials` counts the pieces tried; there is no envelope, so `log_mass` is nan.
    """

    piece: tuple[Halfplane, ...]
    value: int
    gap: int
    progress: SelectionProgress


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

    boxes: NDArray[np.int64]
    tree: NDArray[np.int64]
    tally: NDArray[np.int64]
    best: NDArray[np.int64]
    side: NDArray[np.int64]


def best_piece(
    counts: GridCounts,
    lattice: HalfplaneLattice,
    kind: PieceKind,
    objective: Objective,
    *,
    max_boxes: int = 1 << 18,
    table_bytes: int = 300 << 20,
    watch: Watch | None = None,
) -> BestPiece:
    """Find a piece of the greatest value.

    Parameters
    ----------
    counts : GridCounts
        Examples alive, on the grid of the lattice.
    lattice : HalfplaneLattice
    kind : {"halfplane", "triangle"}
    objective : Objective
    max_boxes : int
        Boxes after which the search ends (once an improvement in progress is done).
    table_bytes : int
        Memory for line tables; when it is used up they are dropped and made anew.
    watch : callable, optional
        Progress and cancel.
    """
    tables = make_tables(count_columns(counts), lattice.basis, table_bytes)
    size = PIECE_SIZE[kind]
    edges = _all_edges(lattice)
    starts = list(itertools.combinations_with_replacement(edges, size))
    search = _make_search(lattice, max_boxes + len(starts), _trivial_piece(lattice, size))
    _add_boxes(objective, tables, search, starts)
    if size > 1:
        for seed in _point_pieces(counts, lattice, objective):
            if search.tally[_TAKEN] < max_boxes // 2:
                _improve_edges(objective, tables, search, lattice, edges, seed)
    work, improved = _FIRST_SLICE, int(search.best[0])
    while not _finished(search) and search.tally[_TAKEN] < max_boxes:
        _run(objective, tables, search, min(work, max_boxes - search.tally[_TAKEN]))
        work = min(2 * work, _LAST_SLICE)
        if size > 1 and search.best[0] > improved:
            _improve_edges(objective, tables, search, lattice, edges, search.best)
            improved = int(search.best[0])
        if watch is not None:
            watch(_progress(search))
    value = int(search.best[0])
    gap = max(0, _greatest_bound(search) - value)
    return BestPiece(_piece(lattice, search.best), value, gap, _progress(search))


def _improve_edges(
    objective: Objective,
    tables: LineTables,
    search: Search,
    lattice: HalfplaneLattice,
    edges: Sequence[Edge],
    start: NDArray[np.int64],
) -> None:
    """Replace edges of a triangle, one at a time, while that raises its value."""
    best = start.copy()
    stale, e = 0, 0
    while stale < 3:
        chosen: list[Sequence[Edge]] = [
            [(h.sheet, (h.u, h.u, h.v, h.v))] for h in _piece(lattice, best)
        ]
        chosen[e] = edges
        one_edge = _make_search(lattice, _EDGE_BOXES + len(edges), best)
        _add_boxes(objective, tables, one_edge, itertools.product(*chosen))
        _run(objective, tables, one_edge, _EDGE_BOXES)
        stale = 0 if one_edge.best[0] > best[0] else stale + 1
        best = one_edge.best
        search.tally[_TAKEN] += one_edge.tally[_TAKEN]
        search.tally[_TRIED] += one_edge.tally[_TRIED]
        e = (e + 1) % 3
    if best[0] > search.best[0]:
        search.best[:] = best


def _point_pieces(
    counts: GridCounts, lattice: HalfplaneLattice, objective: Objective
) -> Iterator[NDArray[np.int64]]:
    """`Search.best` of triangles that hold a single grid point, a positive example's.

    y >= y0, y - y0 <= x - x0 and y - y0 <= x0 - x, for points spread evenly over the positives
    in order of their coordinates.
    """
    positives = counts.where(counts.labels)
    order = np.lexsort(positives.points.T)
    ranks = np.cumsum(positives.amounts[order])
    total = int(ranks[-1]) if len(ranks) else 0
    for i in range(_SEEDS if total else 0):
        rank = (2 * i + 1) * total // (2 * _SEEDS)
        point = positives.points[order[np.searchsorted(ranks, rank, side="right")]]
        held = counts.where((counts.points == point).all(axis=1))
        value = int(_value(objective, held.positives, held.negatives))
        x, y = point.tolist()
        if value <= 0:
            continue
        best = [value, _pack_sheets((Sheet.FLAT_ABOVE, Sheet.FLAT_BELOW, Sheet.FLAT_BELOW))]
        for slope in (0, 1, -1):
            height = y - slope * x
            far = height + slope * lattice.d if lattice.measure == "chord" else slope
            best += [height << lattice.bits, far << lattice.bits]
        yield np.array(best, dtype=np.int64)


def _all_edges(lattice: HalfplaneLattice) -> list[Edge]:
    """Rectangles that cover the admitted dual points, on every sheet."""
    if lattice.measure == "paper":
        side, corners = lattice.high, [(u, v) for u in (lattice.low, 0) for v in (lattice.low, 0)]
    else:
        side = lattice.d << lattice.bits
        # u and v lie within side of each other: one of them is in 0..side
        corners = [(u, v) for u in (-side, 0, side) for v in (-side, 0, side) if u == 0 or v == 0]
    return [(s, (u, u + side, v, v + side)) for s in lattice.sheets for u, v in corners]


def _trivial_piece(lattice: HalfplaneLattice, size: int) -> NDArray[np.int64]:
    """`Search.best` of a piece that decides nothing: y >= 0; or y >= d and y <= 0, no points."""
    best = np.zeros(8, dtype=np.int64)
    if size == 1:
        best[1] = _pack_sheets((Sheet.FLAT_ABOVE,))
        return best
    top = lattice.d << lattice.bits
    best[1] = _pack_sheets((Sheet.FLAT_ABOVE, Sheet.FLAT_BELOW, Sheet.FLAT_BELOW))
    best[2:4] = (top, top if lattice.measure == "chord" else 0)
    return best


def _pack_sheets(sheets: Sequence[int]) -> int:
    padded = (*sheets, _NO_SHEET, _NO_SHEET)[:3]
    return sum(sheet << (3 * e) for e, sheet in enumerate(padded))


def _piece(lattice: HalfplaneLattice, best: NDArray[np.int64]) -> tuple[Halfplane, ...]:
    sheets, *theta = best[1:].tolist()
    return tuple(
        lattice.halfplane(Sheet(sheets >> (3 * e) & 7), theta[2 * e], theta[2 * e + 1])
        for e in range(3)
        if sheets >> (3 * e) & 7 != _NO_SHEET
    )


def _make_search(lattice: HalfplaneLattice, room: int, best: NDArray[np.int64]) -> Search:
    capacity = 1 << room.bit_length()
    chord = lattice.measure == "chord"
    return Search(
        boxes=np.empty((capacity, 15), dtype=np.int64),
        tree=np.full(2 * capacity, -1, dtype=np.int64),
        tally=np.zeros(3, dtype=np.int64),
        best=best.copy(),
        side=np.array([lattice.d << lattice.bits if chord else 0], dtype=np.int64),
    )


def _add_boxes(
    objective: Objective,
    tables: LineTables,
    search: Search,
    starts: Iterable[tuple[Edge, ...]],
) -> None:
    each = list(starts)
    if not each:
        return
    boxes = np.zeros((len(each), 15), dtype=np.int64)
    edges = len(each[0])
    boxes[:, : 4 * edges] = np.array(
        [[end for _, rectangle in box for end in rectangle] for box in each]
    )
    sheets = np.array([[sheet for sheet, _ in box] for box in each], dtype=np.int64)
    boxes[:, _SHEETS] = _pack_sheets((0,) * edges) + sheets @ (1 << 3 * np.arange(edges))
    _add_all(objective, tables, search, boxes)


def _greatest_bound(search: Search) -> int:
    return int(search.tree[1]) >> _DEPTH_BITS


def _finished(search: Search) -> bool:
    return _greatest_bound(search) <= int(search.best[0])


def _progress(search: Search) -> SelectionProgress:
    return SelectionProgress(int(search.tally[_TRIED]), int(search.tally[_TAKEN]), math.nan)


# -- compiled ------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def _value(objective, positives, negatives):
    gain, loss = positives, negatives
    if objective.outside:
        gain, loss = objective.negatives - negatives, objective.positives - positives
    if loss > gain // objective.weight:
        return np.int64(-1)
    return gain - objective.weight * loss


@njit(cache=True, nogil=True, error_model="numpy")
def _admits(side, u, v):
    return side == 0 or (abs(u - v) <= side and max(u, v) >= 0 and min(u, v) <= side)


@njit(cache=True, nogil=True, error_model="numpy")
def _holds_some(side, box, e):
    """False only when no dual point of edge e's closed rectangle is in the lattice."""
    u0, u1, v0, v1 = box[4 * e], box[4 * e + 1], box[4 * e + 2], box[4 * e + 3]
    if side == 0:
        return True
    return u0 - v1 <= side and v0 - u1 <= side and max(u1, v1) >= 0 and min(u0, v0) <= side


@njit(cache=True, nogil=True, error_model="numpy")
def _put_key(search, index, key):
    tree = search.tree
    node = len(search.boxes) + index
    tree[node] = key
    node >>= 1
    while node >= 1:
        tree[node] = max(tree[2 * node], tree[2 * node + 1])
        node >>= 1


@njit(cache=True, nogil=True, error_model="numpy")
def _greatest(search):
    tree = search.tree
    node = 1
    while node < len(search.boxes):
        node = 2 * node if tree[2 * node] >= tree[2 * node + 1] else 2 * node + 1
    return node - len(search.boxes)


@njit(cache=True, nogil=True, error_model="numpy")
def _keep(search, index, box):
    search.boxes[index] = box
    _put_key(search, index, (box[_BOUND] << _DEPTH_BITS) | box[_DEPTH])


@njit(cache=True, nogil=True, error_model="numpy")
def _make_room(tables):
    """Room for all lines of one box and its halves, of which there are fewer than 64."""
    if len(tables.lines) - tables.used[0] < 64:
        forget_lines(tables)


@njit(cache=True, nogil=True, error_model="numpy")
def _corner_rows(tables, box, label, inner, rows):
    """Rows, for a label, of the lines of the outer piece (inner = 0) or of the inner one (1)."""
    for e in range(3):
        sheet = (box[_SHEETS] >> (3 * e)) & 7
        rows[e] = NO_LINE
        if sheet != _NO_SHEET:
            # an upper sheet (0, 2) keeps most at its low corner
            at = 4 * e + ((sheet & 1) ^ inner)
            rows[e] = line_row(tables, sheet, box[at], box[at + 2], label)


@njit(cache=True, nogil=True, error_model="numpy")
def _count(tables, label, rows):
    return count_piece(tables.lines, tables.below, tables.totals[label], rows[0], rows[1], rows[2])


@njit(cache=True, nogil=True, error_model="numpy")
def _count_with(tables, label, rows, e, row):
    """The count with edge e's line replaced."""
    whole = rows[e]
    rows[e] = row
    count = _count(tables, label, rows)
    rows[e] = whole
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def _add_box(objective, tables, search, box):
    """Append a starting box if it can beat the best piece."""
    _make_room(tables)
    rows = np.zeros(3, dtype=np.int64)
    _corner_rows(tables, box, 1, 0, rows)
    positives = _count(tables, 1, rows)
    _corner_rows(tables, box, 0, 1, rows)
    box[_BOUND] = _value(objective, positives, _count(tables, 0, rows))
    if box[_BOUND] > search.best[0]:
        _keep(search, search.tally[_KEPT], box)
        search.tally[_KEPT] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _add_all(objective, tables, search, boxes):
    """Append starting boxes, each if it can beat the best piece."""
    for i in range(len(boxes)):
        _add_box(objective, tables, search, boxes[i])


@njit(cache=True, nogil=True, error_model="numpy")
def _try_inner(objective, tables, search, box, negatives, rows):
    """Make the inner piece the best one if it is, and if it belongs to the lattice."""
    theta = np.zeros(6, dtype=np.int64)
    for e in range(3):
        sheet = (box[_SHEETS] >> (3 * e)) & 7
        if sheet != _NO_SHEET:
            at = 4 * e + 1 - (sheet & 1)
            u, v = box[at], box[at + 2]
            if not _admits(search.side[0], u, v):
                return
            theta[2 * e], theta[2 * e + 1] = u, v
    search.tally[_TRIED] += 1
    _corner_rows(tables, box, 1, 1, rows)
    value = _value(objective, _count(tables, 1, rows), negatives)
    if value > search.best[0]:
        search.best[0], search.best[1] = value, box[_SHEETS]
        search.best[2:] = theta


@njit(cache=True, nogil=True, error_model="numpy")
def _cut(box, axis):
    """Inner end of the half that keeps the axis's outer end, and outer end of the other half.

    Both are the middle, so that halves share lines; the halves of a short side share no point,
    for on a coarse lattice most pieces would be met many times.
    """
    low, high = box[2 * axis], box[2 * axis + 1]
    middle = (low + high) >> 1
    beyond = middle if high - low > _SHORT else middle + 1
    odd = (box[_SHEETS] >> (3 * (axis >> 1))) & 1
    return (middle, beyond) if odd == 0 else (beyond, middle)


@njit(cache=True, nogil=True, error_model="numpy")
def _line_at(tables, box, axis, inner, at, label):
    """Row of the outer (inner = 0) or inner (1) line of an edge, moved to `at` along the axis."""
    e = axis >> 1
    sheet = (box[_SHEETS] >> (3 * e)) & 7
    corner = 4 * e + ((sheet & 1) ^ inner)
    if axis & 1:
        return line_row(tables, sheet, box[corner], at, label)
    return line_row(tables, sheet, at, box[corner + 2], label)


@njit(cache=True, nogil=True, error_model="numpy")
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
        row = _line_at(tables, box, axis, 1, inner_end, 0)
        first = _value(objective, positives, _count_with(tables, 0, inner, e, row))
        row = _line_at(tables, box, axis, 0, outer_end, 1)
        second = _value(objective, _count_with(tables, 1, outer, e, row), negatives)
        weight = max(first, floor) + max(second, floor)
        if weight < least:
            chosen, least = axis, weight
            bound_outer, bound_inner = first, second
    return chosen, bound_outer, bound_inner


@njit(cache=True, nogil=True, error_model="numpy")
def _take(objective, tables, search, index):
    """Try the box's inner piece, and put its halves in its place."""
    box = search.boxes[index].copy()
    outer = np.zeros(3, dtype=np.int64)
    inner = np.zeros(3, dtype=np.int64)
    rows = np.zeros(3, dtype=np.int64)
    _corner_rows(tables, box, 1, 0, outer)
    _corner_rows(tables, box, 0, 1, inner)
    positives = _count(tables, 1, outer)
    negatives = _count(tables, 0, inner)
    _try_inner(objective, tables, search, box, negatives, rows)
    _put_key(search, index, -1)
    axis, bound_outer, bound_inner = _choose_axis(
        objective, tables, search, box, outer, inner, positives, negatives
    )
    if axis < 0:
        return
    inner_end, outer_end = _cut(box, axis)
    odd = (box[_SHEETS] >> (3 * (axis >> 1))) & 1
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
def _run(objective, tables, search, work):
    """Take up to `work` boxes, the greatest bound first, while one may beat the best piece."""
    for _ in range(work):
        if search.tree[1] >> _DEPTH_BITS <= search.best[0]:
            return
        _make_room(tables)
        search.tally[_TAKEN] += 1
        _take(objective, tables, search, _greatest(search))
