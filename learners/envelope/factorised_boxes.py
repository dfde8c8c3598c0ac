"""Tightens the envelope on small boxes: one table of cells an edge stands for all triples of cells.

Each edge's rectangle of dual points is divided into SIDE x SIDE cells.  Let O_e and I_e be an
edge's outer and inner halfplane, H_e its true one, and o_e and n_e the outer and the inner
halfplane of the cell that it lies in.  An example in all O_e but not in all I_e is *uncertain*;
it is charged to the first edge e with the example outside I_e.  Then, T being the piece,

    P(T) <= P(all I) + sum_e #{uncertain positives charged to e that lie in o_e},
    N(T) >= N(all I) + sum_e #{negatives uncertain for edge e alone that lie in n_e}:

a positive of T outside some I_e lies in H_e, so in o_e, for the edge it is charged to; a negative
in n_e and in every other I_f lies in T, and is counted once.  The score is the smaller of two
linear functions A of P and B of N, so for any m in 0..MIX it is at most (m*A + (MIX - m)*B) / MIX;
or it is their sum, and there is nothing to mix.  With the bounds put in, that is a constant plus
one term an edge: the cells of the three edges are drawn independently of each other, and the
box's mass is a product of three sums.

A box of one edge is the same with fewer terms.  In a box of two edges the examples that both leave
uncertain are charged to neither: for them the bound has a term for each *pair* of cells,

    P(T) <= ... + #{positives uncertain for both in o_0 and in o_1},
    N(T) >= ... + #{negatives uncertain for both in n_0 and in n_1},

and the box's mass is a sum over pairs: over first cells, of what their pairs weigh.  Without this
the boxes of thin pieces, whose edges cross everywhere, must be as narrow as the gaps between the
examples (docs/decisions/0026).

The examples of a grid point with one label are looked at together: they are listed in
:mod:`learners.envelope.uncertain` and counted for all cells here.  Counts and bounds are integers;
the weight of a cell or of a pair is an exp of a product times an area (five roundings at most),
summed up a binary tree.

The proof: docs/privacy.md, lemma E3.  Everything here is compiled; a *box* is a row of
:class:`learners.envelope.partition.Partition`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geometry.compiled_loops import inner
from learners.envelope.boxes import SHEETS, admits_some, edge_in
from learners.envelope.uncertain import amount_of, group_of, has_pairs, place_of

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
        _sum_up(tree)
    return count


@inner
def _sum_up(tree):
    """Every other node is the sum of its two children."""
    for node in range(CELLS - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


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
    once, with whole values: columns are narrow, so that none is above 4 d^2 2^bits <= 2^37
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
def count_cells(tables, box, doubtful, count, work, only):
    """Fill `Workspace.ends`, `.counts`, `.paired` and `.together` of a box from its uncertain
    examples; the last for one first cell only, unless that is -1."""
    ends, counts, basis = work.ends, work.counts, tables.basis
    # what is called for each block is given what it needs: the whole is hundreds of words
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


#: Less than any term; and what puts a bound of a pair, which lies within 2^29 of 0, below the least
#: that there may be.
_NO_TERM, _NO_PAIR, _LEAST_BOUND = np.int64(-(1 << 62)), np.int32(-3 << 29), -(1 << 29)


@inner
def _shares(target, mix):
    """Parts of MIX that the two linear functions have in the bound: both all, if they are added."""
    if target.total:
        return MIX, MIX
    return mix, MIX - mix


@inner
def cell_term(target, mix, counts, e, i, j):
    """A cell's share of the mixed bound, in units of 1/MIX of the score."""
    of_gained, of_lost = _shares(target, mix)
    return target.k * (of_gained * counts[e, 1, i, j] - of_lost * counts[e, 0, i, j])


@inner
def inner_term(target, mix, held):
    """The constant part of the mixed bound, in units of 1/MIX of the score."""
    of_gained, of_lost = _shares(target, mix)
    gained = target.k * held[1] + target.c_pos
    return of_gained * gained + of_lost * (target.c_neg - target.k * held[0])


@inner
def pair_term(target, mix, together, i, j):
    """What a pair of cells adds to their shares of the mixed bound, in units of 1/MIX."""
    of_gained, of_lost = _shares(target, mix)
    gained, lost = together[1, i, j], together[0, i, j]
    return target.k * (of_gained * gained - of_lost * lost)


@inner
def _area(target, box, ends, e, i, j):
    """Dual points of a cell, or 0 when none of them carries base measure."""
    u0, u1, v0, v1 = ends[e, 0, i], ends[e, 0, i + 1], ends[e, 1, j], ends[e, 1, j + 1]
    if (box[SHEETS] >> (3 * e)) & 1:
        u0, u1, v0, v1 = 1 - u1, 1 - u0, 1 - v1, 1 - v0
    return float((u1 - u0) * (v1 - v0)) if admits_some(target.side, u0, u1, v0, v1) else 0.0


@inner
def _grains(target, mix):
    """(positives, negatives) of a pair's term in grains, and a grain in units of 1/MIX.

    All terms are multiples of a grain.
    """
    if target.total:
        return 1, 1, target.k * MIX
    return mix, MIX - mix, target.k


@inner
def _pair_terms(target, box, mix, work):
    """Fill `Workspace.terms` and `.areas`."""
    of_gained, of_lost, _ = _grains(target, mix)
    for e in range(2):
        for i in range(SIDE):
            for j in range(SIDE):
                gain, loss = work.counts[e, 1, i, j], work.counts[e, 0, i, j]
                work.terms[e, SIDE * i + j] = of_gained * gain - of_lost * loss
                work.areas[e, SIDE * i + j] = _area(target, box, work.ends, e, i, j)
    for j in range(CELLS):
        work.shut[j] = 0 if work.areas[1, j] > 0.0 else _NO_PAIR


@inner
def _bound_rows(target, mix, start, stop, work):
    """Fill `Workspace.bounds` beside these first cells; the greatest of a pair with area."""
    of_gained, of_lost, _ = _grains(target, mix)
    second, shut, highest = work.terms[1], work.shut, _NO_PAIR
    for i in range(start, stop):
        if work.areas[0, i] > 0.0:
            gained, lost, bounds = work.together[1, i], work.together[0, i], work.bounds[i]
            first = work.terms[0, i]
            if target.total:
                for j in range(CELLS):
                    bounds[j] = first + second[j] + gained[j] - lost[j]
            else:
                for j in range(CELLS):
                    bounds[j] = first + second[j] + of_gained * gained[j] - of_lost * lost[j]
            for j in range(CELLS):
                highest = max(highest, np.int32(bounds[j] + shut[j]))
    return highest


@inner
def _weigh_rows(target, mix, best, start, stop, work):
    """Fill the leaves of `Workspace.weights[0]` with what all pairs with these first cells weigh,
    if the best of all pairs weighs 1 a point; those of `.weights[1]` with what the second cells do
    beside the last one."""
    _, _, grain = _grains(target, mix)
    rate = target.rate * grain / MIX
    areas, below, decay, folded = work.areas[1], work.below, work.decay, work.folded
    leaves = work.weights[1, CELLS:]
    if decay[0] == 0.0:
        for k in range(len(decay)):
            decay[k] = math.exp(-rate * k)
    for i in range(start, stop):
        area = work.areas[0, i]
        if area == 0.0:
            work.weights[0, CELLS + i] = 0.0
            continue
        bounds = work.bounds[i]
        deepest = np.int32(0)
        for j in range(CELLS):
            # the bound of a pair without area may be above the best
            below[j] = max(np.int32(best - bounds[j]), np.int32(0))
            deepest = max(deepest, below[j])
        if deepest < len(decay):
            for j in range(CELLS):
                leaves[j] = areas[j] * decay[np.uint32(below[j])]
        else:
            for j in range(CELLS):
                known = below[j] < len(decay)
                weight = decay[below[j]] if known else math.exp(-rate * below[j])
                leaves[j] = areas[j] * weight
        # halves upon halves: as few roundings as in a tree
        half = CELLS // 2
        for j in range(CELLS // 2):
            folded[j] = leaves[j] + leaves[CELLS // 2 + j]
        while half > 1:
            half //= 2
            for j in range(half):
                folded[j] += folded[half + j]
        work.weights[0, CELLS + i] = area * folded[0]


@inner
def _weigh_pairs(target, box, mix, work):
    """Fill the tree of what the pairs of each first cell weigh; see :func:`weigh_cells`."""
    _pair_terms(target, box, mix, work)
    best = _bound_rows(target, mix, 0, CELLS, work)
    if best < _LEAST_BOUND:
        return np.int64(0), 0.0
    _weigh_rows(target, mix, best, 0, CELLS, work)
    _sum_up(work.weights[0])
    _, _, grain = _grains(target, mix)
    return inner_term(target, mix, work.held) + np.int64(best) * grain, work.weights[0, 1]


@inner
def weigh_beside(target, box, mix, peak, i, work):
    """Fill the tree of what the second cells weigh beside the first cell i, if pairs count; `peak`
    is what :func:`weigh_cells` said of the box."""
    _, _, grain = _grains(target, mix)
    best = (peak - inner_term(target, mix, work.held)) // grain
    _pair_terms(target, box, mix, work)
    _bound_rows(target, mix, i, i + 1, work)
    _weigh_rows(target, mix, np.int32(best), i, i + 1, work)
    _sum_up(work.weights[1])


@inner
def weigh_cells(target, box, mix, work):
    """Fill the trees of weights for a mix: the first cells', if pairs count, or else all cells'.

    Returns (peak, volume): the box's mass is volume * exp(rate * (peak / MIX - reference)), and
    no cells of it have a bound above peak, in units of 1/MIX.
    """
    if work.paired[0]:
        return _weigh_pairs(target, box, mix, work)
    peak = inner_term(target, mix, work.held)
    volume = 1.0
    for e in range(3):
        if not edge_in(box, e):
            continue
        best, tree = _NO_TERM, work.weights[e]
        for i in range(SIDE):
            for j in range(SIDE):
                area = _area(target, box, work.ends, e, i, j)
                tree[CELLS + SIDE * i + j] = area
                if area > 0.0:
                    best = max(best, cell_term(target, mix, work.counts, e, i, j))
        if best == _NO_TERM:
            return np.int64(0), 0.0
        for i in range(SIDE):
            for j in range(SIDE):
                # the term of a cell without area may be above the best
                term = min(cell_term(target, mix, work.counts, e, i, j) - best, 0)
                tree[CELLS + SIDE * i + j] *= math.exp(target.rate * term / MIX)
        _sum_up(tree)
        peak += best
        volume *= tree[1]
    return peak, volume


@inner
def best_mix(target, box, work, start):
    """(mix, peak, volume) of the mix near `start` that weighs least."""
    mix = start
    peak, volume = weigh_cells(target, box, mix, work)
    if target.total:
        return mix, peak, volume
    lightest = math.log(volume) + target.rate * peak / MIX
    for direction in (-1, 1):
        moved = False
        while 0 <= mix + direction <= MIX:
            other_peak, other_volume = weigh_cells(target, box, mix + direction, work)
            other = math.log(other_volume) + target.rate * other_peak / MIX
            if other >= lightest:
                break
            mix += direction
            peak, volume, lightest = other_peak, other_volume, other
            moved = True
        if moved:
            break
    return mix, peak, volume
