"""Keeps boxes that cover the class of pieces, with their masses in a sum tree.  Compiled."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import contextlib
import math
import mmap
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geometry.arrays import Floats, Ints
from geometry.columns import Counts
from geometry.compiled_loops import borrowed, inner, njit
from geometry.counting import count_piece, forget_lines
from geometry.halfplane import HalfplaneLattice
from learners.envelope.boxes import (
    NEGATIVES,
    POSITIVES,
    admitted_box,
    copy_box,
    corner_rows,
    edge_count,
    edge_in,
    grown,
    orders_of,
    pairs_across,
    recount,
    set_pairs_across,
)
from learners.envelope.chunks import less
from learners.envelope.close_pairs import crossed_by
from learners.envelope.target import bound_value, examples_of, greatest_score, score_value
from learners.envelope.workspace import MIX

#: Entries of `Partition.tally`.  TRIAL_WORK and SPLIT_WORK decide when a box is refined, SPENT
#: when a slice of work ends: microseconds, counted and not measured.
BOXES, TRIALS, EXACT, SPLITS, TRIAL_WORK, SPLIT_WORK = range(6)
FORGOTTEN, OUTSIDE, FACTORISED, COMPACTIONS, SPENT = range(6, 11)

#: Columns of `Partition.factors`.
MIX_USED, PEAK, VOLUME = range(3)
#: In place of a mix, which is one more in `Partition.factors`.  Zeros: as long as no box is
#: factorised, the system need not find memory for the columns.
PLAIN = 0.0

#: In place of the row of a coarse lattice line.
NO_ROW = -1

#: Arrays of so many bytes have memory of their own.
_OWN_BYTES = 1 << 20

#: Lines that one split may make.
SPLIT_LINES = 48


#: Rows of boxes.
Boxes = NDArray[np.signedinteger[Any]]


class Partition(NamedTuple):
    """Boxes of dual points that cover the class, with their masses in a sum tree.

    Attributes
    ----------
    boxes : int32 or int64 array, shape (capacity, 16)
        Corners of three edges (12), negatives in the inner piece, positives in the outer
        piece, sheets (3 bits an edge, 7 = no such edge), and the number of ordered triples
        that the unordered one stands for (1, 3 or 6), with the pairs that it may part
        (:func:`learners.envelope.boxes.pairs_across`).
    tree : float64 array, shape (2 * capacity,)
        Masses at capacity + box; every other node is the sum of its two children.
    coarse : int32 array, shape (4, 4, cells, cells)
        Row of each coarse lattice line for a label and a sheet; -1 when not made.  First those
        of all examples, then those of what close pairs leave.
    tally : int64 array, shape (11,)
        Counters, see the constants above.
    clock : float64 array, shape (2,)
        Time of the last trial, when trials come as a Poisson process of rate tree[1]; and what
        the compensated sum still owes.
    factors : float64 array, shape (capacity, 3)
        Of a factorised box (:mod:`learners.envelope.factorised_boxes`): one more than its mix, and
        the peak and volume that give its mass.  Zeros of a plain box.
    """

    boxes: Boxes
    tree: Floats
    coarse: NDArray[np.int32]
    tally: Ints
    clock: Floats
    factors: Floats


def box_type(lattice: HalfplaneLattice, counts: Counts) -> type[np.signedinteger[Any]]:
    """What boxes are made of: 32 bits when these hold every side of a box and all examples.

    They do so on every grid in the measure "chord", and in "paper" where grid or bits are small.
    """
    widest = lattice.high + 1 - lattice.low
    narrow = counts.dtype == np.int32 and widest <= np.iinfo(np.int32).max
    return np.int32 if narrow else np.int64


def _zeros(size: int, kind: type[np.number[Any]]) -> NDArray[Any]:
    """Zeros; many of them in memory of their own.

    The system finds it page by page as it is first written to, and has it back when it is no longer
    needed; the allocator would keep tens of megabytes.
    """
    count = size * np.dtype(kind).itemsize
    if count < _OWN_BYTES:
        return np.zeros(size, dtype=kind)
    private = (
        {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    )
    try:
        memory = mmap.mmap(-1, count, **private)
    except OSError as error:
        raise MemoryError(f"there is no room for {count} bytes of boxes") from error
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # as numpy does for its arrays
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, dtype=kind)


def make_partition(
    capacity: int, cells: int, kind: type[np.signedinteger[Any]] = np.int64
) -> Partition:
    """An empty partition for up to `capacity` boxes (a power of two) of this type of integers."""
    return Partition(
        boxes=_zeros(16 * capacity, kind).reshape(capacity, 16),
        tree=_zeros(2 * capacity, np.float64),
        coarse=np.full((4, 4, cells, cells), NO_ROW, dtype=np.int32),
        tally=np.zeros(11, dtype=np.int64),
        clock=np.zeros(2, dtype=np.float64),
        factors=_zeros(3 * capacity, np.float64).reshape(capacity, 3),
    )


def grow(partition: Partition) -> Iterator[Partition]:
    """The same boxes and masses with twice the room, array after array: the last one is whole.

    Whoever keeps no partition but the newest has one array at a time in memory twice.
    """
    capacity = len(partition.boxes)
    wide = _zeros(32 * capacity, partition.boxes.dtype.type).reshape(2 * capacity, 16)
    wide[:capacity] = partition.boxes
    partition = partition._replace(boxes=wide)
    del wide
    yield partition
    factors = _zeros(6 * capacity, np.float64).reshape(2 * capacity, 3)
    known = partition.factors[:, MIX_USED] != PLAIN
    factors[:capacity][known] = partition.factors[known]
    partition = partition._replace(factors=factors)
    del factors
    yield partition
    tree = _zeros(4 * capacity, np.float64)
    level = tree[2 * capacity :]
    level[:capacity] = partition.tree[capacity:]
    while len(level) > 1:
        above = tree[len(level) // 2 : len(level)]
        np.add(level[0::2], level[1::2], out=above)
        level = above
    yield partition._replace(tree=tree)


def halve(partition: Partition) -> tuple[Partition, Partition]:
    """Two partitions of half the room, each with every other box, not yet weighed.

    The first keeps the coarse lattice's rows and the counters, the second has the same clock.
    """
    capacity, used = len(partition.boxes), int(partition.tally[BOXES])
    halves = []
    for first in range(2):
        boxes, factors = partition.boxes[first:used:2], partition.factors[first:used:2]
        half = make_partition(
            max(capacity // 2, 1), partition.coarse.shape[-1], partition.boxes.dtype.type
        )
        half.boxes[: len(boxes)] = boxes
        known = factors[:, MIX_USED] != PLAIN
        half.factors[: len(boxes)][known] = factors[known]
        half.tally[BOXES] = len(boxes)
        half.clock[:] = partition.clock
        halves.append(half)
    one, other = halves
    partition.tally[BOXES] = one.tally[BOXES]
    return one._replace(coarse=partition.coarse, tally=partition.tally), other


@inner
def bound_of(target, box):
    """What no piece of the box scores above, by its counts."""
    across = pairs_across(box)
    bound = bound_value(target, np.int64(box[POSITIVES]), np.int64(box[NEGATIVES]), across)
    return bound + min(across + 1, 0)


@inner
def open_points(tables, marked, rows):
    """The word of the shared points that a box's outer piece holds and its inner one does not."""
    lines, word = tables.lines, np.int64(0)
    for i in range(len(marked)):
        x, y = marked[i, 0], marked[i, 1]
        some, held = True, True
        for e in range(3):
            outer, inner = rows[e], rows[3 + e]
            some &= lines[outer, 0] * x + lines[outer, 1] * y >= lines[outer, 2]
            held &= lines[inner, 0] * x + lines[inner, 1] * y >= lines[inner, 2]
        word |= np.int64(some and not held) << i
    return word


@inner
def leaves_open(target, tables, marked, box, rows):
    """Whether some pieces of a box hold a shared point and others do not, or it is not known."""
    if len(marked) == 0:
        return False
    return (
        not corner_rows(target.paper, tables, box, rows) or open_points(tables, marked, rows) != 0
    )


@inner
def corner_bound(target, tables, marked, rows, across, positives, negatives):
    """The bound of a box by the counts and the lines of its outer and inner piece: docs/privacy.md,
    lemma E5."""
    some = np.int64(0)
    if across < 0:
        some = open_points(tables, marked, rows)
    if some == 0:
        return bound_value(target, positives, negatives, across)
    shared = marked[:, 2:]
    return greatest_score(
        target, shared, np.int64(0), some, positives - examples_of(shared, 1, some), negatives
    )


@inner
def box_mass(target, box, factor):
    """Prior of the box's lattice points and orders, times exp(rate * (bound - reference))."""
    volume = float(orders_of(box)) * target.prior[edge_count(box)]
    if factor[MIX_USED] != PLAIN:
        # nothing in it is admitted, and its peak means nothing
        if factor[VOLUME] == 0.0:
            return 0.0
        above = factor[PEAK] / MIX - target.reference
        return volume * factor[VOLUME] * math.exp(target.rate * above)
    for e in range(3):
        if not edge_in(box, e):
            continue
        volume = grown(target.paper, target.side, box, e, volume)
        if volume == 0.0:
            return 0.0
    return volume * math.exp(target.rate * (bound_of(target, box) - target.reference))


@inner
def put_mass(tree, capacity, box, mass):
    node = capacity + box
    tree[node] = mass
    node >>= 1
    while node >= 1:
        tree[node] = tree[2 * node] + tree[2 * node + 1]
        node >>= 1


@njit(cache=True, nogil=True, error_model="numpy")
def best_bound(target, partition):
    """The greatest bound of a box that holds an admitted piece; very low when there is none."""
    target, partition = borrowed((target, partition))
    boxes = partition.boxes
    best = np.int64(-(1 << 62))
    for i in range(partition.tally[BOXES]):
        bound = bound_of(target, boxes[i])
        if partition.factors[i, MIX_USED] != PLAIN:
            bound = min(bound, np.int64(math.ceil(partition.factors[i, PEAK] / MIX)))
        if bound > best and admitted_box(target, boxes[i]):
            best = bound
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def weigh(target, partition):
    """Compute every mass anew."""
    target, partition = borrowed((target, partition))
    boxes, tree = partition.boxes, partition.tree
    capacity = len(boxes)
    used = partition.tally[BOXES]
    for i in range(capacity):
        tree[capacity + i] = box_mass(target, boxes[i], partition.factors[i]) if i < used else 0.0
    for node in range(capacity - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@njit(cache=True, nogil=True, error_model="numpy")
def add_boxes(target, partition, tables, pairs, boxes):
    """Append starting boxes and count in them; :func:`weigh` gives them their masses."""
    target, partition, tables = borrowed((target, partition, tables))
    rows = np.zeros(6, dtype=np.int64)
    for i in range(len(boxes)):
        if no_room(tables, pairs):
            forget(partition, tables, pairs)
        box = partition.boxes[partition.tally[BOXES]]
        partition.tally[BOXES] += 1
        copy_box(boxes[i], box)
        if pairs is None:
            recount(target.paper, tables, box, rows)
        elif pairs.crossed.size == 0:
            recount(target.paper, tables, box, rows)
            lower(target, tables, pairs.marked, box, rows, bound_of(target, box))
        else:
            set_pairs_across(box, crossed_by(pairs, box))
            recount(target.paper, pairs.tables, box, rows)
            count_all(target, tables, pairs.marked, box, rows)


@inner
def count_all(target, tables, marked, box, rows):
    """Let a box count all examples, where its bound is then no higher than by close pairs."""
    if not corner_rows(target.paper, tables, box, rows):
        return
    lines, below, totals = tables.lines, tables.below, tables.totals
    positives = count_piece(lines, below, totals[1], rows[0], rows[1], rows[2])
    negatives = count_piece(lines, below, totals[0], rows[3], rows[4], rows[5])
    bound = corner_bound(target, tables, marked, rows, np.int64(-1), positives, negatives)
    if bound <= bound_of(target, box):
        box[POSITIVES], box[NEGATIVES] = positives, negatives
        set_pairs_across(box, bound - score_value(target, positives, negatives) - 1)


@inner
def count_left(target, pairs, box, rows):
    """Let a box count what close pairs leave, where its bound is then lower."""
    tables = pairs.tables
    if pairs.crossed.size == 0 or not corner_rows(target.paper, tables, box, rows):
        return
    lines, below, totals, across = tables.lines, tables.below, tables.totals, crossed_by(pairs, box)
    positives = count_piece(lines, below, totals[1], rows[0], rows[1], rows[2])
    negatives = count_piece(lines, below, totals[0], rows[3], rows[4], rows[5])
    if bound_value(target, positives, negatives, across) < bound_of(target, box):
        box[POSITIVES], box[NEGATIVES] = positives, negatives
        set_pairs_across(box, across)


@inner
def lower(target, tables, marked, box, rows, most):
    """Bound a box that counts all examples by its shared points, and by what bounds it anyway.

    A box that was merged may count fewer examples than its corners hold, and more than it may hold
    with its shared points: so the corners are counted once more.
    """
    if len(marked) == 0:
        return
    if corner_rows(target.paper, tables, box, rows):
        lines, below, totals = tables.lines, tables.below, tables.totals
        positives = count_piece(lines, below, totals[1], rows[0], rows[1], rows[2])
        negatives = count_piece(lines, below, totals[0], rows[3], rows[4], rows[5])
        bound = corner_bound(target, tables, marked, rows, np.int64(-1), positives, negatives)
        most = min(most, bound)
    score = score_value(target, np.int64(box[POSITIVES]), np.int64(box[NEGATIVES]))
    set_pairs_across(box, min(most - score, 0) - 1)


@inner
def no_room(tables, pairs):
    """Whether a split may not find room for its lines."""
    left = len(tables.lines) - tables.used[0]
    if pairs is not None:
        left = min(left, len(pairs.tables.lines) - pairs.tables.used[0])
    return left < SPLIT_LINES


@inner
def forget(partition, tables, pairs):
    """Drop the tables of all lines."""
    forget_lines(tables)
    if pairs is not None:
        forget_lines(pairs.tables)
    partition.coarse[:] = NO_ROW
    partition.tally[FORGOTTEN] += 1


@inner
def draw_box(tree, capacity, chunks, at):
    """(box drawn in proportion to its mass, next position)."""
    node = 1
    while node < capacity:
        left = tree[2 * node]
        right = tree[2 * node + 1]
        # compare with the lighter side, whose share a double holds to full relative precision
        lighter = 0 if left <= right else 1
        took, at = less((left if lighter == 0 else right) / (left + right), chunks, at)
        node = 2 * node + (lighter if took else 1 - lighter)
    return node - capacity, at
