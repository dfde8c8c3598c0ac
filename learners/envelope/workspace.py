"""The workspace of factorised boxes: what is known of the box at hand, and of some boxes before it.

What its tables mean: :mod:`learners.envelope.factorised_boxes`.  A box's uncertain examples are
remembered until others need the room, so its next trial does not look for them again: without that
three labels in ten wrong take a seventh longer (docs/decisions/0026).  What is remembered is a
function of the box, so it changes no draw.  All but :func:`make_workspace` is compiled.
"""

from __future__ import annotations

import numpy as np

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

#: So many boxes are remembered at most, and so many entries of them all.
_BOXES, _ENTRIES = 1 << 12, 1 << 20

#: Columns of `Workspace.heads` before a box's own: where its entries begin, one more than how many
#: they are, negatives and positives in all inner halfplanes, and how many count for pairs.
_AT, _COUNT, _HELD, _PAIRED, _BOX = 0, 1, 2, 4, 5


#: What is known of one box at a time, made anew from the box whenever it is needed.  One record,
#: whose address is all that a function is given: to hand over as many arrays one by one took a
#: sixth of the time (docs/decisions/0026-pairs-of-cells.md).
#:
#: held : negatives and positives in all inner halfplanes
#: most, most_kept, most_boxes : most entries of a box, most of all boxes that are remembered, and
#:     most such boxes: what there is room for, or less
#: doubtful, halved : uncertain examples of the box, and of one half of it
#:     (:mod:`learners.envelope.uncertain`)
#: sorted : the same as one of these, by what they are charged to and by label
#: begins : where in `sorted` what is charged to the same begins
#: ends : cell i holds ends[i] .. ends[i + 1] - 1 of u, or of v; for a lower sheet of -u and -v, so
#:     that the outer corner is always the low one; where a side is short, some cells are empty
#: counts : counts[e, 1, i, j], positives charged to e in o_e of cell (i, j); counts[e, 0, i, j],
#:     negatives in its n_e
#: across, up, reach : how far the cells reach that hold the entries of a block
#:     (:mod:`learners.envelope.uncertain`)
#: last : examples, or entries as bits, by the last cell of each row that holds them, after what
#:     none does
#: words : entries of a block that the cells of both edges hold
#: weights : sum trees of the cells' weights; where pairs count, weights[0] has what all pairs with
#:     a first cell weigh, and weights[1] what the pairs of one first cell do
#:     (:func:`learners.envelope.factorised_boxes.weigh_beside`)
#: paired : how many of the uncertain examples count for pairs of cells
#: together : together[1, i, j], positives uncertain for both edges that lie in o_0 of cell i and in
#:     o_1 of cell j; together[0, i, j], negatives in both n; not cleared where none are paired
#: terms, areas : where pairs count, terms of the cells of both edges, and their dual points
#: shut : 0, or far less than any bound for a second cell without area
#: bounds : what pairs add to the bound, by first and second cell; not of first cells without area
#: below : how far the bounds of one first cell's pairs are below the best
#: folded : sums of parts of their weights
#: decay : exp(-rate * x) for the first multiples x of what two bounds of a pair can differ by;
#:     zeros until it is needed
#: kept : uncertain examples of boxes met before, the oldest overwritten (:func:`remember`)
#: written : how many have been written
#: heads : what is known of these boxes, each in the row of its number, beside the box's own columns
#: leaves : where pairs count, what all pairs with a first cell weigh
_LAYOUT = np.dtype(
    [
        ("held", np.int64, (2,)),
        ("most", np.int64),
        ("most_kept", np.int64),
        ("most_boxes", np.int64),
        ("begins", np.int64, (9,)),
        ("ends", np.int64, (3, 2, SIDE + 1)),
        ("counts", np.int64, (3, 2, SIDE, SIDE)),
        ("across", np.float64, (SIDE, BLOCK)),
        ("up", np.float64, (SIDE, BLOCK)),
        ("reach", np.int64, (SIDE, BLOCK)),
        ("last", np.int64, (SIDE, SIDE + 1)),
        ("words", np.uint64, (2, CELLS)),
        ("weights", np.float64, (3, 2 * CELLS)),
        ("paired", np.int64, (1,)),
        ("together", np.int32, (2, CELLS, CELLS)),
        ("terms", np.int32, (2, CELLS)),
        ("areas", np.float64, (2, CELLS)),
        ("shut", np.int32, (CELLS,)),
        ("bounds", np.int32, (CELLS, CELLS)),
        ("below", np.int32, (CELLS,)),
        ("folded", np.float64, (CELLS // 2,)),
        ("decay", np.float64, (1024,)),
        ("written", np.int64, (1,)),
        ("doubtful", np.int64, (MOST,)),
        ("halved", np.int64, (MOST,)),
        ("sorted", np.int64, (MOST,)),
        ("kept", np.int64, (_ENTRIES,)),
        ("heads", np.int64, (_BOXES, _BOX + SHEETS + 1)),
        ("leaves", np.float64, (_BOXES, CELLS)),
    ],
    align=True,
)

Workspace = np.record


def make_workspace() -> Workspace:
    """Room for one box and one half, and nothing remembered."""
    memory, fields = np.empty(_LAYOUT.itemsize, dtype=np.uint8), _LAYOUT.fields
    assert fields is not None
    # the tables alone, as all takes a quarter of a millisecond: lists are written before they are
    # read
    memory[: fields["doubtful"][1]] = 0
    work: Workspace = memory.view(_LAYOUT).view(np.recarray)[0]
    work.heads[:, _COUNT] = 0
    work.most, work.most_kept, work.most_boxes = MOST, _ENTRIES, _BOXES
    return work


@inner
def remember(box, index, entries, count, work):
    """Keep what has just been found of a box: its next trial need not look at all examples again.

    What is kept is a function of the box, and of a target that is the same for all.
    """
    at, size = work.written[0], work.most_kept
    if at % size + count > size:
        at += size - at % size
    begin, head = at % size, work.heads[index % work.most_boxes]
    for k in range(count):
        work.kept[begin + k] = entries[k]
    work.written[0] = at + count
    head[_AT], head[_COUNT], head[_PAIRED] = at, count + 1, work.paired[0]
    head[_HELD], head[_HELD + 1] = work.held[0], work.held[1]
    for column in range(SHEETS + 1):
        head[_BOX + column] = box[column]
    if work.paired[0]:
        leaves = work.leaves[index % work.most_boxes]
        for i in range(CELLS):
            leaves[i] = work.weights[0, CELLS + i]


@inner
def recall(box, index, work):
    """List the uncertain examples of a box again, if it has been remembered; -1 if it has not.

    Where pairs count, `Workspace.weights[0]` is what it was.
    """
    head = work.heads[index % work.most_boxes]
    count, at = head[_COUNT] - 1, head[_AT]
    if count < 0 or work.written[0] > at + work.most_kept:
        return np.int64(-1)
    # its counts are not of the factorised box
    for column in range(12):
        if head[_BOX + column] != box[column]:
            return np.int64(-1)
    if head[_BOX + SHEETS] != box[SHEETS]:
        return np.int64(-1)
    begin = at % work.most_kept
    for k in range(count):
        work.doubtful[k] = work.kept[begin + k]
    work.held[0], work.held[1] = head[_HELD], head[_HELD + 1]
    work.paired[0] = head[_PAIRED]
    if work.paired[0]:
        leaves, tree = work.leaves[index % work.most_boxes], work.weights[0]
        for i in range(CELLS):
            tree[CELLS + i] = leaves[i]
        sum_up(tree)
    return count


@inner
def sum_up(tree):
    """Every other node is the sum of its two children."""
    for node in range(CELLS - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]
