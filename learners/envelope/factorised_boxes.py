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
from learners.envelope.uncertain import AMOUNT, CHARGED, LABEL, X, Y, has_pairs

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


class Workspace(NamedTuple):
    """What is known of one box at a time; made anew from the box whenever it is needed.

    Attributes
    ----------
    held : int64 array, shape (2,)
        Negatives and positives in all inner halfplanes.
    doubtful, halved : int64 arrays, shape (MOST, 5)
        Uncertain examples of the box, and of one half of it (:mod:`learners.envelope.uncertain`).
    ends : int64 array, shape (3, 2, SIDE + 1)
        Cell i holds ends[i] .. ends[i + 1] - 1 of u, or of v; for a lower sheet of -u and -v, so
        that the outer corner is always the low one.  Where a side is short, some cells are empty.
    counts : int64 array, shape (3, 2, SIDE, SIDE)
        counts[e, 1, i, j]: positives charged to e in o_e of cell (i, j); counts[e, 0, i, j]:
        negatives in its n_e.
    order : int64 array, shape (MOST,)
        Places in `doubtful`, by what they are charged to and by label.
    weights : float64 array, shape (3, 2 * CELLS)
        Sum trees of the cells' weights.  Where pairs count, weights[0] has what all pairs with a
        first cell weigh, and weights[1] what the pairs of one first cell do
        (:func:`learners.envelope.factorised_boxes.weigh_beside`).
    paired : int64 array, shape (1,)
        How many of the uncertain examples count for pairs of cells.
    together : int64 array, shape (2, CELLS, CELLS)
        together[1, i, j]: positives uncertain for both edges that lie in o_0 of cell i and in o_1
        of cell j; together[0, i, j]: negatives in both n.  Not cleared where none are paired.
    terms : int64 array, shape (2, CELLS)
        Where pairs count, terms of the cells of both edges.
    areas : float64 array, shape (2, CELLS)
        Their dual points.
    below : int64 array, shape (CELLS,)
        How far the bounds of one first cell's pairs are below the best.
    folded : float64 array, shape (CELLS // 2,)
        Sums of parts of their weights.
    decay : float64 array
        exp(-rate * x) for the first multiples x of what two bounds of a pair can differ by; zeros
        until it is needed.
    """

    held: NDArray[np.int64]
    doubtful: NDArray[np.int64]
    halved: NDArray[np.int64]
    ends: NDArray[np.int64]
    counts: NDArray[np.int64]
    order: NDArray[np.int64]
    weights: NDArray[np.float64]
    paired: NDArray[np.int64]
    together: NDArray[np.int64]
    terms: NDArray[np.int64]
    areas: NDArray[np.float64]
    below: NDArray[np.int64]
    folded: NDArray[np.float64]
    decay: NDArray[np.float64]


def make_workspace() -> Workspace:
    """Room for one box and one half."""
    return Workspace(
        held=np.zeros(2, dtype=np.int64),
        # not cleared, which takes a millisecond: no row is read before it is written
        doubtful=np.empty((MOST, 5), dtype=np.int64),
        halved=np.empty((MOST, 5), dtype=np.int64),
        ends=np.zeros((3, 2, SIDE + 1), dtype=np.int64),
        counts=np.zeros((3, 2, SIDE, SIDE), dtype=np.int64),
        order=np.empty(MOST, dtype=np.int64),
        weights=np.zeros((3, 2 * CELLS), dtype=np.float64),
        paired=np.zeros(1, dtype=np.int64),
        together=np.empty((2, CELLS, CELLS), dtype=np.int64),
        terms=np.empty((2, CELLS), dtype=np.int64),
        areas=np.empty((2, CELLS), dtype=np.float64),
        below=np.empty(CELLS, dtype=np.int64),
        folded=np.empty(CELLS // 2, dtype=np.float64),
        decay=np.zeros(1024, dtype=np.float64),
    )


@inner
def _group(doubtful, count, order, begins):
    """List the entries by what they are charged to, and by label.

    Those charged to edge e, or to SEVERAL = -1, of a label lie in order[begins[g]:begins[g + 1]],
    g = 2 * (e + 1) + label.
    """
    begins[:] = 0
    for i in range(count):
        begins[2 * (doubtful[i, CHARGED] + 1) + doubtful[i, LABEL] + 1] += 1
    for group in range(8):
        begins[group + 1] += begins[group]
    place = begins.copy()
    for i in range(count):
        group = 2 * (doubtful[i, CHARGED] + 1) + doubtful[i, LABEL]
        order[place[group]] = i
        place[group] += 1


@inner
def _reach(tables, box, e, label, doubtful, block, many, ends, across, up):
    """Entry k of a block lies in the halfplane of edge e's cell (i, j) when
    up[j, k] <= across[i, k].

    It is the outer halfplane for positives, the inner one for negatives.
    """
    c0, c1, scale = tables.basis[0], tables.basis[1], tables.basis[2]
    sheet = (box[SHEETS] >> (3 * e)) & 7
    one, other = (X, Y) if sheet < 2 else (Y, X)
    sign = -scale if sheet & 1 else scale
    for k in range(many):
        up[0, k] = doubtful[block[k], one]
        across[0, k] = sign * doubtful[block[k], other]
    # both corners are points of the cell
    corner = 1 - label
    # the first row, which has what the others are made from, is the last one
    for i in range(SIDE - 1, -1, -1):
        u, v = ends[e, 0, i + corner] - corner, ends[e, 1, i + corner] - corner
        for k in range(BLOCK):
            across[i, k] = across[0, k] - (c0 - c1 * up[0, k]) * u
        for k in range(BLOCK):
            up[i, k] = up[0, k] * v


@inner
def count_cells(tables, box, doubtful, count, work):
    """Fill `Workspace.ends`, `.counts`, `.paired` and `.together` of a box from its uncertain
    examples."""
    ends, counts = work.ends, work.counts
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
    counts[:] = 0
    work.paired[0] = 0
    order, begins = work.order, np.empty(9, dtype=np.int64)
    _group(doubtful, count, order, begins)
    amounts = np.empty(BLOCK, dtype=np.int64)
    # blocks are worked on as if they were full: loops of a fixed length are quicker
    across = np.zeros((SIDE, BLOCK), dtype=np.int64)
    up = np.zeros((SIDE, BLOCK), dtype=np.int64)
    for label in range(2):
        for e in range(3):
            if not edge_in(box, e):
                continue
            group = 2 * (e + 1) + label
            for at in range(begins[group], begins[group + 1], BLOCK):
                many = min(BLOCK, begins[group + 1] - at)
                block = order[at : at + many]
                _reach(tables, box, e, label, doubtful, block, many, ends, across, up)
                for k in range(BLOCK):
                    amounts[k] = doubtful[block[k], AMOUNT] if k < many else 0
                for i in range(SIDE):
                    for j in range(SIDE):
                        total = np.int64(0)
                        for k in range(BLOCK):
                            total += amounts[k] if up[j, k] <= across[i, k] else 0
                        counts[e, label, i, j] += total
        if not has_pairs(box):
            continue
        for at in range(begins[label], begins[label + 1], BLOCK):
            many = min(BLOCK, begins[label + 1] - at)
            block = order[at : at + many]
            if work.paired[0] == 0:
                work.together[:] = 0
            held = np.zeros((2, CELLS), dtype=np.uint64)
            for e in range(2):
                _reach(tables, box, e, label, doubtful, block, many, ends, across, up)
                for i in range(SIDE):
                    for j in range(SIDE):
                        word = np.uint64(0)
                        for k in range(BLOCK):
                            word |= np.uint64(up[j, k] <= across[i, k]) << np.uint64(k)
                        held[e, SIDE * i + j] = word
            work.paired[0] += _add_pairs(doubtful, block, many, held, work.together[label])


@inner
def _add_pairs(doubtful, block, many, held, together):
    """Add the examples of a block that are held in both of two cells, for all pairs.

    The words of `held` have a bit for each entry of the block.  Returns how many examples it has.
    """
    paired, power, more = np.int64(0), 0, True
    while more:
        # an amount is a sum of powers of two: the entries that have this one
        more, chosen = False, np.uint64(0)
        for k in range(many):
            amount = doubtful[block[k], AMOUNT] >> power
            more = more or amount > 1
            chosen |= np.uint64(amount & 1) << np.uint64(k)
        paired += _ones(chosen) << power
        for i in range(CELLS):
            first = held[0, i] & chosen
            if first != 0:
                for j in range(CELLS):
                    together[i, j] += _ones(first & held[1, j]) << power
        power += 1
    return paired


@inner
def _ones(word):
    """How many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


#: Less than any term.
_NO_TERM = np.int64(-(1 << 62))


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
def _weigh_pairs(target, box, mix, work):
    """Fill the tree of what the pairs of each first cell weigh; see :func:`weigh_cells`."""
    of_gained, of_lost, grain = _grains(target, mix)
    rate = target.rate * grain / MIX
    terms, areas, decay = work.terms, work.areas, work.decay
    if decay[0] == 0.0:
        for i in range(len(decay)):
            decay[i] = math.exp(-rate * i)
    for e in range(2):
        for i in range(SIDE):
            for j in range(SIDE):
                gain, loss = work.counts[e, 1, i, j], work.counts[e, 0, i, j]
                terms[e, SIDE * i + j] = of_gained * gain - of_lost * loss
                areas[e, SIDE * i + j] = _area(target, box, work.ends, e, i, j)
    best = _NO_TERM
    for i in range(CELLS):
        if areas[0, i] > 0.0:
            gained, lost = work.together[1, i], work.together[0, i]
            highest = _NO_TERM
            for j in range(CELLS):
                term = terms[1, j] + of_gained * gained[j] - of_lost * lost[j]
                highest = max(highest, term if areas[1, j] > 0.0 else _NO_TERM)
            if highest != _NO_TERM:
                best = max(best, terms[0, i] + highest)
    if best == _NO_TERM:
        return np.int64(0), 0.0
    first = work.weights[0]
    for i in range(CELLS):
        first[CELLS + i] = 0.0
        if areas[0, i] > 0.0:
            first[CELLS + i] = areas[0, i] * _weigh_row(target, mix, best, i, work)
    for node in range(CELLS - 1, 0, -1):
        first[node] = first[2 * node] + first[2 * node + 1]
    return inner_term(target, mix, work.held) + best * grain, first[1]


@inner
def _weigh_row(target, mix, best, i, work):
    """Fill the leaves of `Workspace.weights[1]` with what the second cells weigh beside the first
    cell i, if the best of all pairs weighs 1 a point; returns their sum."""
    of_gained, of_lost, grain = _grains(target, mix)
    areas, below, decay, folded = work.areas[1], work.below, work.decay, work.folded
    gained, lost, second = work.together[1, i], work.together[0, i], work.terms[1]
    leaves = work.weights[1, CELLS:]
    above = best - work.terms[0, i]
    deepest = np.int64(0)
    for j in range(CELLS):
        # the term of a pair without area may be above the best
        below[j] = max(above - second[j] - of_gained * gained[j] + of_lost * lost[j], 0)
        deepest = max(deepest, below[j])
    if deepest < len(decay):
        for j in range(CELLS):
            leaves[j] = areas[j] * decay[below[j]]
    else:
        for j in range(CELLS):
            known = below[j] < len(decay)
            weight = decay[below[j]] if known else math.exp(-target.rate * grain / MIX * below[j])
            leaves[j] = areas[j] * weight
    # halves upon halves: as few roundings as in a tree
    half = CELLS // 2
    for j in range(CELLS // 2):
        folded[j] = leaves[j] + leaves[CELLS // 2 + j]
    while half > 1:
        half //= 2
        for j in range(half):
            folded[j] += folded[half + j]
    return folded[0]


@inner
def weigh_beside(target, mix, peak, i, work):
    """Fill the tree of what the second cells weigh beside the first cell i; `peak` is what
    :func:`weigh_cells` said, if pairs count."""
    _, _, grain = _grains(target, mix)
    best = (peak - inner_term(target, mix, work.held)) // grain
    _weigh_row(target, mix, best, i, work)
    tree = work.weights[1]
    for node in range(CELLS - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


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
        for node in range(CELLS - 1, 0, -1):
            tree[node] = tree[2 * node] + tree[2 * node + 1]
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
