"""Counts a box's uncertain examples for all of its cells, and pairs of cells, at once.

What a cell is, and what is charged to an edge: :mod:`learners.envelope.factorised_boxes`.  All
counts are integers.  Everything here is compiled.
"""

from __future__ import annotations

import numpy as np

from geometry.compiled_loops import inner
from learners.envelope.boxes import SHEETS, edge_in
from learners.envelope.uncertain import amount_of, group_of, has_pairs, place_of
from learners.envelope.workspace import BLOCK, CELLS, SIDE


@inner
def _group(entries, count, to, begins):
    """Sort entries by what they are charged to, and by label.

    Those of group g (:func:`learners.envelope.uncertain.group_of`) become to[begins[g]] to
    to[begins[g + 1] - 1].
    """
    begins[:] = 0
    for i in range(count):
        begins[group_of(entries[i]) + 1] += 1
    for group in range(8):
        begins[group + 1] += begins[group]
    # each begin goes on to the next one's, which is where it was
    for i in range(count):
        group = group_of(entries[i])
        to[begins[group]] = entries[i]
        begins[group] += 1
    for group in range(8, 0, -1):
        begins[group] = begins[group - 1]
    begins[0] = 0


@inner
def _reach(basis, sheet, label, block, ends, across, up, reach):
    """Entry k of a block lies in the halfplanes of an edge's cells (i, 0) to (i, reach[i, k] - 1).

    They are the outer halfplanes for positives, the inner ones for negatives: it lies in that of
    cell (i, j) when up[j, k] <= across[i, k].  Both are doubles, of which several are multiplied at
    once, with whole values: columns are narrow, d <= 2048, so all are below 2^38, by test
    (:meth:`geometry.halfplane.HalfplaneLattice.finest_bits`).
    """
    c0, c1, scale = float(basis[0]), float(basis[1]), float(basis[2])
    sign = -scale if sheet & 1 else scale
    # loops of sixteens are quicker; what else is in the room is not asked for
    many = (len(block) + 15) & -16
    for k in range(len(block)):
        x, y = place_of(block[k])
        along, beside = (x, y) if sheet < 2 else (y, x)
        up[0, k] = float(np.int32(along))
        across[0, k] = sign * float(np.int32(beside))
    # both corners are points of the cell
    corner = 1 - label
    # the first row, which has what the others are made from, is the last one
    for i in range(SIDE - 1, -1, -1):
        u = float(ends[0, i + corner] - corner)
        v = float(ends[1, i + corner] - corner)
        for k in range(many):
            across[i, k] = across[0, k] - (c0 - c1 * up[0, k]) * u
        for k in range(many):
            up[i, k] = up[0, k] * v
    # up rises with j
    for i in range(SIDE):
        for k in range(many):
            cells = np.int64(0)
            for j in range(SIDE):
                cells += np.int64(up[j, k] <= across[i, k])
            reach[i, k] = cells


@inner
def count_cells(basis, box, doubtful, count, work, only):
    """Fill `Workspace.ends`, `.counts`, `.paired` and `.together` of a box from its uncertain
    examples; the last for one first cell only, unless that is -1."""
    ends, counts = work.ends, work.counts
    across, up, reach = work.across, work.up, work.reach
    for e in range(3):
        if edge_in(box, e):
            lower = (box[SHEETS] >> (3 * e)) & 1
            for axis in range(2):
                low, high = box[4 * e + 2 * axis], box[4 * e + 2 * axis + 1]
                for i in range(SIDE + 1):
                    end = low + (high - low) * i // SIDE
                    if lower:
                        ends[e, axis, SIDE - i] = 1 - end
                    else:
                        ends[e, axis, i] = end
    work.paired[0] = 0
    begins = work.begins
    _group(doubtful, count, work.sorted, begins)
    pairs = has_pairs(box) and begins[2] > 0
    start, stop = (np.int64(0), np.int64(CELLS)) if only < 0 else (only, only + 1)
    if pairs:
        work.together[:, start:stop] = 0
    for label in range(2):
        for e in range(3):
            if not edge_in(box, e):
                counts[e, label] = 0
                continue
            group, found, sheet = 2 * (e + 1) + label, work.last, (box[SHEETS] >> (3 * e)) & 7
            found[:] = 0
            for at in range(begins[group], begins[group + 1], BLOCK):
                block = work.sorted[at : min(at + BLOCK, begins[group + 1])]
                _reach(basis, sheet, label, block, ends[e], across, up, reach)
                for k in range(len(block)):
                    amount = amount_of(block[k])
                    for i in range(SIDE):
                        found[i, np.uintp(reach[i, k])] += amount
            for i in range(SIDE):
                total = np.int64(0)
                for j in range(SIDE - 1, -1, -1):
                    total += found[i, j + 1]
                    counts[e, label, i, j] = total
        if pairs:
            for at in range(begins[label], begins[label + 1], BLOCK):
                block = work.sorted[at : min(at + BLOCK, begins[label + 1])]
                for e in range(2):
                    sheet = (box[SHEETS] >> (3 * e)) & 7
                    _reach(basis, sheet, label, block, ends[e], across, up, reach)
                    _mark(reach, len(block), work.last, work.words[e])
                work.paired[0] += _add_pairs(block, work.words, work.together[label], start, stop)


@inner
def _mark(reach, many, last, words):
    """Bit k of a cell's word becomes whether the cell holds entry k of a block."""
    last[:] = 0
    for k in range(many):
        bit = np.int64(1) << k
        for i in range(SIDE):
            last[i, np.uintp(reach[i, k])] |= bit
    for i in range(SIDE):
        word = np.int64(0)
        for j in range(SIDE - 1, -1, -1):
            word |= last[i, j + 1]
            words[SIDE * i + j] = np.uint64(word)


@inner
def _add_pairs(block, words, together, start, stop):
    """Add the examples of a block that are held in both of two cells, for the pairs of these first
    cells.

    Returns how many examples it has.
    """
    first_words, second = words[0], words[1]
    for i in range(start, stop):
        first, to = first_words[i], together[i]
        if first != 0:
            for j in range(CELLS):
                to[j] += _ones(first & second[j])
    paired = np.int64(len(block))
    for k in range(len(block)):
        # one of them has been added
        more = np.int32(amount_of(block[k]) - 1)
        if more == 0:
            continue
        paired += more
        bit = np.uint64(1) << np.uint64(k)
        for i in range(start, stop):
            if first_words[i] & bit:
                to = together[i]
                for j in range(CELLS):
                    to[j] += more if second[j] & bit else 0
    return paired


@inner
def _ones(word):
    """How many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int32((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
