"""Tightens bounds where labels are wrong: positives and negatives close together count in pairs.

A box counts all positives that a piece of it may hold and no negatives that it may miss
(:mod:`learners.envelope.boxes`).  Where labels are wrong, positives lie among the negatives
wherever a boundary may run, and boxes must be small before the bound tells them apart.  So
disjoint pairs of a positive and a negative that lie close together are taken out; each edge adds
to the bound of what is left the number of pairs that lines of its cell of the dual plane may part,
which is small, as the two lie close together (docs/privacy.md, lemma E3; what it is worth:
docs/decisions/0023-close-pairs.md).  Where a positive and a negative share a grid point no piece
tells them apart, and they are dropped.

Only of scores that are a sum (`Target.total`).  Making pairs is O(m log m) for m entries, counting
them O(pairs * width), the greatest number of a rectangle O(log width).
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geometry.arrays import Flags, Ints
from geometry.columns import LineTables
from geometry.compiled_loops import inner, njit
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from learners.envelope.boxes import SHEETS, edge_in

#: Pairs are made in cells of up to so many examples, if these lay evenly; of more where more labels
#: are wrong, as fewer of them tell what a cell is.
_EXAMPLES_IN_CELL = 3

#: Wrong labels are looked for in cells with at least so many examples; how many are usual is seen
#: in cells of at least so many.
_LEAST, _KNOWN = 4, 16

#: In a cell where more than this share of the examples has the rarer label, and more than so many
#: times the share that is usual, a boundary passes: those examples are left.
_SHARE, _USUAL = 0.3, 1.7

#: Cells at most that are looked at for a bound of how many pairs there are.
_MOST_CELLS = 1 << 20

#: Fewer than one example in so many is worth no pairs.
_FEW = 32

#: Of more examples no pairs are made: three edges' x must fit a box of 32 bits, beside its orders.
_MOST_EXAMPLES = 1 << 27

#: Cells of the dual plane along a side, at least and at most, and pairs times cells at most.
_LEAST_WIDTH, _MOST_WIDTH, _MOST_WORK = 64, 512, 1 << 24

_NONE_MARKED = np.empty((0, 4), dtype=np.int64)


class ClosePairs(NamedTuple):
    """The examples left, and how many pairs the lines of each cell of the dual plane may part; and
    the points of both labels that are bounded apart.

    Either may be none.  They are together so that loops are compiled once more for them, not three
    times, and not at all where there are neither.

    Attributes
    ----------
    tables : LineTables
        Of the examples left.
    crossed : int32 array, shape (4, size)
        For each sheet x of cell (i, j) at width * i + j, then the greatest of 2 x 2 cells each,
        and so on up to one; of no size where nothing is left out.
    marked : int64 array, shape (m, 4)
        x, y, negatives and positives of at most 62 points
        (:mod:`learners.envelope.target`).
    low, step : int
        Cell i holds low + i * step and the step - 1 numbers after it.
    width : int
        Cells along a side, a power of two.
    """

    tables: LineTables
    crossed: NDArray[np.int32]
    marked: Ints
    low: int
    step: int
    width: int


def take_pairs(counts: GridCounts) -> tuple[GridCounts, Ints]:
    """The examples left, and pairs of a positive and a negative that lie close together.

    First in cells of 2 x 2 grid points, of what is left in cells of 4 x 4, and so on.

    Parameters
    ----------
    counts : GridCounts
        A grid point has examples of one label (:func:`settle_conflicts`).

    Returns
    -------
    left : GridCounts
    pairs : ndarray of int64, shape (m, 5)
        x and y of the positive, x and y of the negative, and how many such pairs; none where they
        would be few.
    """
    none = counts, np.empty((0, 5), dtype=np.int64)
    if not len(counts) or counts.n > _MOST_EXAMPLES:
        return none
    code = _interleaved(counts.points)
    order = np.argsort(code, kind="stable")
    code, labels, rest = code[order], counts.labels[order], counts.amounts[order]

    def cells(level: int) -> _Cells:
        return _Cells.of(code >> (2 * level), labels, rest)

    usual = cells(_level(counts, _KNOWN)).usual_share()
    levels = [cells(level) for level in range(1, _level(counts, _evenly(usual)) + 1)]
    noise = np.logical_or.reduce([one.noise(max(_SHARE, _USUAL * usual)) for one in levels])
    found = []
    for one in levels:
        taken = one.both(labels, np.where(noise, rest, 0))
        rest = rest - taken[0] - taken[1]
        rows = [np.flatnonzero(each) for each in taken]
        ends = [each[held].cumsum() for each, held in zip(taken, rows, strict=True)]
        end = np.union1d(*ends)
        sides = [held[np.searchsorted(e, end)] for held, e in zip(rows, ends, strict=True)]
        points = [counts.points[order[side]] for side in sides]
        found.append(np.column_stack([*points, np.diff(end, prepend=0)]))
    pairs = np.concatenate(found)
    if _FEW * int(pairs[:, 4].sum()) < counts.n:
        return none
    amounts = np.empty_like(rest)
    amounts[order] = rest
    kept = np.flatnonzero(amounts)
    left = GridCounts(counts.d, counts.points[kept], counts.labels[kept], amounts[kept])
    return left, pairs


def most_pairs(counts: GridCounts) -> int:
    """A bound of how many pairs :func:`take_pairs` takes, known sooner: both in one large cell."""
    if not len(counts):
        return 0
    cells = counts.points >> _level(counts, _evenly(1.0))
    side = int(cells.max()) + 1
    if side * side > _MOST_CELLS:
        return counts.n
    return int(counts.by_group(side * cells[:, 0] + cells[:, 1], side * side).min(axis=0).sum())


def _evenly(usual: float) -> float:
    """Examples of the largest cell in which pairs are made, if these lay evenly."""
    return _EXAMPLES_IN_CELL / max(1 - 2 * usual, 1 / 4) ** 2


def _level(counts: GridCounts, examples: float) -> int:
    """The least k >= 1 whose cells of 2^k x 2^k hold so many examples, if these lay evenly."""
    return max(1, math.ceil(math.log2((counts.d + 1) * math.sqrt(examples / counts.n))))


@dataclass(frozen=True, slots=True)
class _Cells:
    """Entries in a row, by cells.

    Attributes
    ----------
    first : int64 array, shape (cells,)
        The first entry of each.
    number : int64 array, shape (m,)
        The cell of each entry.
    by_label : tuple of two int64 arrays, shape (cells,)
        Positives and negatives of each cell.
    """

    first: Ints
    number: Ints
    by_label: tuple[Ints, Ints]

    @classmethod
    def of(cls, cell: Ints, labels: Flags, amounts: Ints) -> _Cells:
        """From the number of each entry's cell, rising."""
        first = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
        number = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(cell))))
        positives, negatives = (
            np.add.reduceat(np.where(labels == label, amounts, 0), first) for label in (True, False)
        )
        return cls(first, number, (positives, negatives))

    def usual_share(self) -> float:
        """The median share of the rarer label."""
        fewer, total = np.minimum(*self.by_label), self.by_label[0] + self.by_label[1]
        known = total >= _KNOWN
        return float(np.median(fewer[known] / total[known])) if known.any() else 0.0

    def noise(self, most: float) -> Flags:
        """Which entries lie in a cell whose rarer label has at most this share, shape (m,)."""
        fewer, total = np.minimum(*self.by_label), self.by_label[0] + self.by_label[1]
        return ((total >= _LEAST) & (fewer <= most * total))[self.number]

    def both(self, labels: Flags, amounts: Ints) -> list[Ints]:
        """How many of each entry are in pairs: positives and negatives, the first of each cell."""
        by_label = [np.where(labels == label, amounts, 0) for label in (True, False)]
        return as_many_of_both(by_label, self.first, self.number)


def as_many_of_both(parts: Sequence[Ints], first: Ints, group: Ints) -> list[Ints]:
    """Of each of two amounts, neither negative, as much as there is of both in a group, taken from
    the group's first entries: int64 of shape (m,) each, in the order of `parts`.

    The entries of a group follow one another: `first`, shape (g,), is where each begins, `group`,
    shape (m,), the number of each entry's.
    """
    both = np.minimum(*(np.add.reduceat(part, first) for part in parts))
    before = [part.cumsum() - part for part in parts]
    return [
        np.clip((sums[first] + both)[group] - sums, 0, part)
        for part, sums in zip(parts, before, strict=True)
    ]


def _interleaved(points: Ints) -> Ints:
    """The bits of x and y in turns, shape (m,): points of a square of 2^k x 2^k are in a row."""
    code = np.zeros(len(points), dtype=np.int64)
    for bit in range(int(points.max(initial=0)).bit_length()):
        for axis in range(2):
            code |= ((points[:, axis] >> bit) & 1) << (2 * bit + axis)
    return code


def make_pairs(
    lattice: HalfplaneLattice, pairs: Ints, tables: LineTables, marked: Ints = _NONE_MARKED
) -> ClosePairs:
    """Count pairs in the cells of the dual plane; `tables` are of the examples left."""
    width = _LEAST_WIDTH
    while width < _MOST_WIDTH and 2 * width * len(pairs) <= _MOST_WORK:
        width *= 2
    span = lattice.high + 1 - lattice.low
    step = -(-span // width)
    crossed = np.zeros((4, width, width + 1), dtype=np.int32)
    _count_crossed(tables.basis, lattice.low, step, np.ascontiguousarray(pairs), crossed)
    level = np.cumsum(crossed, axis=2, dtype=np.int32)[:, :, :width]
    levels = []
    while True:
        levels.append(level.reshape(4, -1))
        if level.shape[1] == 1:
            break
        level = level.reshape(4, level.shape[1] // 2, 2, -1, 2).max(axis=(2, 4))
    crossed = np.concatenate(levels, axis=1)
    return ClosePairs(tables, crossed, marked, lattice.low, step, width)


def only_marked(tables: LineTables, marked: Ints) -> ClosePairs:
    """Points of both labels where nothing is left out; `tables` are never looked at."""
    return ClosePairs(tables, np.zeros((4, 0), dtype=np.int32), marked, 0, 1, 1)


@njit(cache=True, nogil=True, error_model="numpy")
def _count_crossed(basis, low, step, pairs, crossed):
    """Add each pair where its row of cells begins, and take it away after the row's end.

    An upper sheet's halfplane (u, v) holds a point where of_u * u + of_v * v <= level, a lower
    one's where it is at least that (:func:`geometry.counting.coefficients`); of_u, of_v >= 0.
    """
    c0, c1, scale = basis[0], basis[1], basis[2]
    width = crossed.shape[1]
    for k in range(len(pairs)):
        amount = pairs[k, 4]
        for sheet in range(4):
            # what must be small somewhere in the cell, and what must be great
            small, great = (2, 0) if sheet & 1 else (0, 2)
            turned = 1 if sheet >= 2 else 0
            along_0, across_0 = pairs[k, small + turned], pairs[k, small + 1 - turned]
            along_1, across_1 = pairs[k, great + turned], pairs[k, great + 1 - turned]
            # p is held where it is at most its level, or at least; n must be beyond its own
            most = across_0 * scale - (1 if sheet & 1 else 0)
            least = across_1 * scale + (0 if sheet & 1 else 1)
            for i in range(width):
                u = low + i * step
                first, last = np.int64(0), np.int64(width - 1)
                room = most - (c0 - c1 * along_0) * u
                if along_0 > 0:
                    last = min(last, (room // along_0 - low) // step)
                elif room < 0:
                    continue
                need = least - (c0 - c1 * along_1) * (u + step - 1)
                if along_1 > 0:
                    first = max(first, -((low + step - 1 + -need // along_1) // step))
                elif need > 0:
                    continue
                if first <= last:
                    crossed[sheet, i, first] += amount
                    crossed[sheet, i, last + 1] -= amount


@inner
def most_crossed(pairs, sheet, u0, u1, v0, v1):
    """The greatest x of the cells that meet a rectangle of dual points."""
    if u0 >= u1 or v0 >= v1:
        return np.int64(0)
    low, step, width = pairs.low, pairs.step, pairs.width
    i0, i1 = (u0 - low) // step, (u1 - 1 - low) // step
    j0, j1 = (v0 - low) // step, (v1 - 1 - low) // step
    begin = np.int64(0)
    while i1 - i0 > 1 or j1 - j0 > 1:
        begin += width * width
        width >>= 1
        i0, i1, j0, j1 = i0 >> 1, i1 >> 1, j0 >> 1, j1 >> 1
    found = np.int64(0)
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            found = max(found, np.int64(pairs.crossed[sheet, begin + width * i + j]))
    return found


@inner
def crossed_by(pairs, box):
    """The sum of the greatest x of a box's edges."""
    total = np.int64(0)
    for e in range(3):
        if edge_in(box, e):
            total += most_crossed(
                pairs, (box[SHEETS] >> (3 * e)) & 7,
                np.int64(box[4 * e]), np.int64(box[4 * e + 1]),
                np.int64(box[4 * e + 2]), np.int64(box[4 * e + 3]),
            )  # fmt: skip
    return total
