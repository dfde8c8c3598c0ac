"""Finds the piece of greatest gain less weighted loss, by branch and bound in the dual plane.

A box of dual points has an outer piece that contains all its pieces and an inner piece that
lies in all of them (two corners of each dual rectangle), so bound = value(P(outer), N(inner)) is at
least every value in it, P and N being the positives and negatives that a piece holds.  The box of
the greatest bound is taken first (branch and bound: Land, Doig 1960); its inner piece is tried, the
box is halved, and halves that cannot beat the best piece so far are dropped.  Boxes are closed, so
that a single dual point is bounded by its own value: when no box is left, the best piece is a
maximiser over the whole lattice.  Where a grid point holds both labels the examples that outweigh
each other are dropped first.

A halfplane has two coordinates, and mostly some hundreds of boxes settle it.  A triangle has
six, and the search may end before that, after `max_boxes` boxes: it then says by how much a
better piece could be better.  To know good triangles early, some that hold a single point, and
later the best so far, are improved edge by edge, by the same search with the other edges fixed.

Deterministic: work is counted in boxes, never by a clock.  Not private.

Complexity: tables O(m + c^2) for m entries and c columns (:mod:`geometry.columns`); then O(1)
counts a box, and O(c) for each line not met before.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from geometry.arrays import Ints
from geometry.columns import LineTables, count_columns, make_tables
from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.core.selection import PIECE_SIZE, PieceKind, Role, SelectionProgress, Watch
from learners.cover.branch_and_bound import (
    DEPTH_BITS,
    NO_SHEET,
    SHEETS,
    TAKEN,
    TRIED,
    Objective,
    Search,
    add_boxes,
    run,
    value_of,
)
from learners.envelope.boxes import pack_sheets

#: An edge: its sheet, and a rectangle u0, u1, v0, v1 of dual points, both ends included.
Edge = tuple[int, tuple[int, int, int, int]]

#: Boxes between two looks at the watch: doubled from the first to the last.
_FIRST_SLICE, _LAST_SLICE = 1000, 1 << 15

#: Boxes for the improvement of one edge.
_EDGE_BOXES = 1 << 13

#: Triangles of a single point that are improved first.
_SEEDS = 8


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
    counts, objective = settle_shared(counts, objective)
    tables = make_tables(count_columns(counts), lattice.basis, table_bytes)
    size = PIECE_SIZE[kind]
    edges = _all_edges(lattice)
    starts = list(itertools.combinations_with_replacement(edges, size))
    search = _make_search(lattice, max_boxes + len(starts), _trivial_piece(lattice, size))
    _begin_with(objective, tables, search, starts)
    if size > 1:
        for seed in _point_pieces(counts, lattice, objective):
            if search.tally[TAKEN] < max_boxes // 2:
                _improve_edges(objective, tables, search, lattice, edges, seed)
    work, improved = _FIRST_SLICE, int(search.best[0])
    while not _finished(search) and search.tally[TAKEN] < max_boxes:
        run(objective, tables, search, min(work, max_boxes - search.tally[TAKEN]))
        work = min(2 * work, _LAST_SLICE)
        if size > 1 and search.best[0] > improved:
            _improve_edges(objective, tables, search, lattice, edges, search.best)
            improved = int(search.best[0])
        if watch is not None:
            watch(_progress(search))
    value = int(search.best[0])
    gap = max(0, _greatest_bound(search) - value)
    return BestPiece(_piece(lattice, search.best), value, gap, _progress(search))


def settle_shared(counts: GridCounts, objective: Objective) -> tuple[GridCounts, Objective]:
    """Fewer examples on grid points of both labels, such that every piece keeps its value.

    A piece decides all examples of a point or none.  Boxes that leave one open would be bounded as
    if they gained there and lost nothing, and hardly any box is narrow enough to rule that out.
    A point where a loss of some weight outdoes the gain is left as it is: what it is worth is no
    whole number of losses.
    """
    # a point's negatives stand before its positives
    second = np.flatnonzero(~counts.begins)
    if not len(second):
        return counts, objective
    lost, gained = (second, second - 1) if objective.outside else (second - 1, second)
    amounts = counts.amounts.copy()
    weight = objective.weight
    traded = np.minimum(amounts[lost], amounts[gained] // weight)
    if weight > 1:
        traded[traded < amounts[lost]] = 0
    amounts[lost] -= traded
    amounts[gained] -= weight * traded
    if weight > (objective.negatives if objective.outside else objective.positives):
        # no loss is worth any gain
        amounts[gained[amounts[lost] > 0]] = 0
    kept = np.flatnonzero(amounts)
    left = GridCounts(counts.d, counts.points[kept], counts.labels[kept], amounts[kept])
    return left, objective._replace(positives=left.positives, negatives=left.negatives)


def _improve_edges(
    objective: Objective,
    tables: LineTables,
    search: Search,
    lattice: HalfplaneLattice,
    edges: Sequence[Edge],
    start: Ints,
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
        _begin_with(objective, tables, one_edge, itertools.product(*chosen))
        run(objective, tables, one_edge, _EDGE_BOXES)
        stale = 0 if one_edge.best[0] > best[0] else stale + 1
        best = one_edge.best
        search.tally[TAKEN] += one_edge.tally[TAKEN]
        search.tally[TRIED] += one_edge.tally[TRIED]
        e = (e + 1) % 3
    if best[0] > search.best[0]:
        search.best[:] = best


def _point_pieces(
    counts: GridCounts, lattice: HalfplaneLattice, objective: Objective
) -> Iterator[Ints]:
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
        value = int(value_of(objective, held.positives, held.negatives))
        x, y = point.tolist()
        if value <= 0:
            continue
        best = [value, pack_sheets((Sheet.FLAT_ABOVE, Sheet.FLAT_BELOW, Sheet.FLAT_BELOW))]
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


def _trivial_piece(lattice: HalfplaneLattice, size: int) -> Ints:
    """`Search.best` of a piece that decides nothing: y >= 0; or y >= d and y <= 0, no points."""
    best = np.zeros(8, dtype=np.int64)
    if size == 1:
        best[1] = pack_sheets((Sheet.FLAT_ABOVE,))
        return best
    top = lattice.d << lattice.bits
    best[1] = pack_sheets((Sheet.FLAT_ABOVE, Sheet.FLAT_BELOW, Sheet.FLAT_BELOW))
    best[2:4] = (top, top if lattice.measure == "chord" else 0)
    return best


def _piece(lattice: HalfplaneLattice, best: Ints) -> tuple[Halfplane, ...]:
    sheets, *theta = best[1:].tolist()
    return tuple(
        lattice.halfplane(Sheet(sheets >> (3 * e) & 7), theta[2 * e], theta[2 * e + 1])
        for e in range(3)
        if sheets >> (3 * e) & 7 != NO_SHEET
    )


def _make_search(lattice: HalfplaneLattice, room: int, best: Ints) -> Search:
    capacity = 1 << room.bit_length()
    chord = lattice.measure == "chord"
    return Search(
        boxes=np.empty((capacity, 15), dtype=np.int64),
        tree=np.full(2 * capacity, -1, dtype=np.int64),
        tally=np.zeros(3, dtype=np.int64),
        best=best.copy(),
        side=np.array([lattice.d << lattice.bits if chord else 0], dtype=np.int64),
    )


def _begin_with(
    objective: Objective, tables: LineTables, search: Search, starts: Iterable[tuple[Edge, ...]]
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
    boxes[:, SHEETS] = pack_sheets((0,) * edges) + sheets @ (1 << 3 * np.arange(edges))
    add_boxes(objective, tables, search, boxes)


def _greatest_bound(search: Search) -> int:
    return int(search.tree[1]) >> DEPTH_BITS


def _finished(search: Search) -> bool:
    return _greatest_bound(search) <= int(search.best[0])


def _progress(search: Search) -> SelectionProgress:
    return SelectionProgress(int(search.tally[TRIED]), int(search.tally[TAKEN]), math.nan)
