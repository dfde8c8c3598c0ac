"""The workspace of factorised boxes: what is known of the box at hand, and of some boxes before it.

What its tables mean: :mod:`learners.envelope.factorised_boxes`.  A box's uncertain examples are
remembered until others need the room, so its next trial does not look for them again: without that
three labels in ten wrong take a seventh longer (docs/decisions/0026).  What is remembered is a
function of the box, so it changes no draw.  All but :func:`make_workspace` is compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geometry.compiled_loops import inner
from learners.envelope.boxes import SHEETS

#: Cells along a side of an edge's rectangle; a power of two.
SIDE = 8

#: Cells of an edge's rectangle.
CELLS = SIDE * SIDE

#: Parts of a mix of the two linear scores.
MIX = 16

#: Most entries of a box whose examples are uncertain.
MOST = 1 << 14

#: Entries that are counted for all cells at once: the bits of a word.
BLOCK = 64

#: So many boxes are remembered at most, and so many entries of them all; powers of two.
_BOXES, _ENTRIES = 1 << 13, 1 << 21

#: Columns of `Workspace.heads` before a box's own: where its entries begin, one more than how many
#: they are, negatives and positives in all inner halfplanes, and how many count for pairs.
_AT, _COUNT, _HELD, _PAIRED, _BOX = 0, 1, 2, 4, 5


class Workspace(NamedTuple):
    """What is known of one box at a time; made anew from the box whenever it is needed.

    Attributes
    ----------
    held : int64 array, shape (2,)
        Negatives and positives in all inner halfplanes.
    doubtful, halved : int64 arrays, shape (MOST,)
        Uncertain examples of the box, and of one half of it (:mod:`learners.envelope.uncertain`).
    ends : int64 array, shape (3, 2, SIDE + 1)
        Cell i holds ends[i] .. ends[i + 1] - 1 of u, or of v; for a lower sheet of -u and -v, so
        that the outer corner is always the low one.  Where a side is short, some cells are empty.
    counts : int64 array, shape (3, 2, SIDE, SIDE)
        counts[e, 1, i, j]: positives charged to e in o_e of cell (i, j); counts[e, 0, i, j]:
        negatives in its n_e.
    sorted : int64 array, shape (MOST,)
        The same as `doubtful` or `halved`, by what they are charged to and by label.
    across, up : float64 arrays, shape (SIDE, BLOCK)
    reach : int64 array, shape (SIDE, BLOCK)
        How far the cells reach that hold the entries of a block (:func:`_reach`).
    last : int64 array, shape (SIDE, SIDE + 1)
        Examples, or entries as bits, by the last cell of each row that holds them, after what none
        does.
    begins : int64 array, shape (9,)
        Where in `sorted` what is charged to the same begins.
    words : uint64 array, shape (2, CELLS)
        Entries of a block that the cells of both edges hold (:func:`_mark`).
    weights : float64 array, shape (3, 2 * CELLS)
        Sum trees of the cells' weights.  Where pairs count, weights[0] has what all pairs with a
        first cell weigh, and weights[1] what the pairs of one first cell do
        (:func:`learners.envelope.factorised_boxes.weigh_beside`).
    paired : int64 array, shape (1,)
        How many of the uncertain examples count for pairs of cells.
    together : int32 array, shape (2, CELLS, CELLS)
        together[1, i, j]: positives uncertain for both edges that lie in o_0 of cell i and in o_1
        of cell j; together[0, i, j]: negatives in both n.  Not cleared where none are paired.
    terms : int32 array, shape (2, CELLS)
        Where pairs count, terms of the cells of both edges.
    areas : float64 array, shape (2, CELLS)
        Their dual points.
    shut : int32 array, shape (CELLS,)
        0, or far less than any bound for a second cell without area.
    bounds : int32 array, shape (CELLS, CELLS)
        What pairs add to the bound, by first and second cell; not of first cells without area.
    below : int32 array, shape (CELLS,)
        How far the bounds of one first cell's pairs are below the best.
    folded : float64 array, shape (CELLS // 2,)
        Sums of parts of their weights.
    decay : float64 array
        exp(-rate * x) for the first multiples x of what two bounds of a pair can differ by; zeros
        until it is needed.
    kept : int64 array
        Uncertain examples of boxes met before, the oldest overwritten (:func:`remember`).
    written : int64 array, shape (1,)
        How many have been written.
    heads : int64 array
        What is known of these boxes, each in the row of its number, beside the columns of the box.
    leaves : float64 array
        Where pairs count, what all pairs with a first cell weigh.
    """

    held: NDArray[np.int64]
    doubtful: NDArray[np.int64]
    halved: NDArray[np.int64]
    ends: NDArray[np.int64]
    counts: NDArray[np.int64]
    sorted: NDArray[np.int64]
    across: NDArray[np.float64]
    up: NDArray[np.float64]
    reach: NDArray[np.int64]
    last: NDArray[np.int64]
    begins: NDArray[np.int64]
    words: NDArray[np.uint64]
    weights: NDArray[np.float64]
    paired: NDArray[np.int64]
    together: NDArray[np.int32]
    terms: NDArray[np.int32]
    areas: NDArray[np.float64]
    shut: NDArray[np.int32]
    bounds: NDArray[np.int32]
    below: NDArray[np.int32]
    folded: NDArray[np.float64]
    decay: NDArray[np.float64]
    kept: NDArray[np.int64]
    written: NDArray[np.int64]
    heads: NDArray[np.int64]
    leaves: NDArray[np.float64]


def make_workspace() -> Workspace:
    """Room for one box and one half."""
    return Workspace(
        held=np.zeros(2, dtype=np.int64),
        # not cleared, which takes a millisecond: no row is read before it is written
        doubtful=np.empty(MOST, dtype=np.int64),
        halved=np.empty(MOST, dtype=np.int64),
        ends=np.zeros((3, 2, SIDE + 1), dtype=np.int64),
        counts=np.zeros((3, 2, SIDE, SIDE), dtype=np.int64),
        sorted=np.empty(MOST, dtype=np.int64),
        across=np.zeros((SIDE, BLOCK), dtype=np.float64),
        up=np.zeros((SIDE, BLOCK), dtype=np.float64),
        reach=np.zeros((SIDE, BLOCK), dtype=np.int64),
        last=np.empty((SIDE, SIDE + 1), dtype=np.int64),
        begins=np.empty(9, dtype=np.int64),
        words=np.empty((2, CELLS), dtype=np.uint64),
        weights=np.zeros((3, 2 * CELLS), dtype=np.float64),
        paired=np.zeros(1, dtype=np.int64),
        together=np.empty((2, CELLS, CELLS), dtype=np.int32),
        terms=np.empty((2, CELLS), dtype=np.int32),
        areas=np.empty((2, CELLS), dtype=np.float64),
        shut=np.empty(CELLS, dtype=np.int32),
        bounds=np.empty((CELLS, CELLS), dtype=np.int32),
        below=np.empty(CELLS, dtype=np.int32),
        folded=np.empty(CELLS // 2, dtype=np.float64),
        decay=np.zeros(1024, dtype=np.float64),
        # the system finds memory for what is written to
        kept=np.empty(_ENTRIES, dtype=np.int64),
        written=np.zeros(1, dtype=np.int64),
        heads=np.zeros((_BOXES, _BOX + SHEETS + 1), dtype=np.int64),
        leaves=np.empty((_BOXES, CELLS), dtype=np.float64),
    )


@inner
def remember(box, index, entries, count, work):
    """Keep what has just been found of a box: its next trial need not look at all examples again.

    What is kept is a function of the box, and of a target that is the same for all.
    """
    at, size = work.written[0], len(work.kept)
    if at % size + count > size:
        at += size - at % size
    begin, head = at % size, work.heads[index % len(work.heads)]
    for k in range(count):
        work.kept[begin + k] = entries[k]
    work.written[0] = at + count
    head[_AT], head[_COUNT], head[_PAIRED] = at, count + 1, work.paired[0]
    head[_HELD], head[_HELD + 1] = work.held[0], work.held[1]
    for column in range(SHEETS + 1):
        head[_BOX + column] = box[column]
    if work.paired[0]:
        leaves = work.leaves[index % len(work.heads)]
        for i in range(CELLS):
            leaves[i] = work.weights[0, CELLS + i]


@inner
def recall(box, index, work):
    """List the uncertain examples of a box again, if it has been remembered; -1 if it has not.

    Where pairs count, `Workspace.weights[0]` is what it was.
    """
    head = work.heads[index % len(work.heads)]
    count, at = head[_COUNT] - 1, head[_AT]
    if count < 0 or work.written[0] > at + len(work.kept):
        return np.int64(-1)
    # its counts are not of the factorised box
    for column in range(12):
        if head[_BOX + column] != box[column]:
            return np.int64(-1)
    if head[_BOX + SHEETS] != box[SHEETS]:
        return np.int64(-1)
    begin = at % len(work.kept)
    for k in range(count):
        work.doubtful[k] = work.kept[begin + k]
    work.held[0], work.held[1] = head[_HELD], head[_HELD + 1]
    work.paired[0] = head[_PAIRED]
    if work.paired[0]:
        leaves, tree = work.leaves[index % len(work.heads)], work.weights[0]
        for i in range(CELLS):
            tree[CELLS + i] = leaves[i]
        sum_up(tree)
    return count


@inner
def sum_up(tree):
    """Every other node is the sum of its two children."""
    for node in range(CELLS - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]
