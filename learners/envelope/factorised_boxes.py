"""Tighter envelopes for small boxes: one table of cells an edge stands for all triples of cells.

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

The examples of a grid point with one label are looked at together.  Counts and bounds are integers.
A cell's or a pair's weight is an exp of a product times an area (five roundings at most), summed up
a binary tree.

The proof: docs/privacy.md, lemma E3.  Everything here is compiled; a *box* is a row of
:class:`learners.envelope.partition.Partition`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geometry.columns import abscissae, cut_after, first_cut, unpack, within_cut
from geometry.counting import coefficients
from geometry.grid_counts import GridCounts
from geometry.inner_loops import inner
from learners.envelope.boxes import SHEETS, admits_some, edge_in

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

# Columns of a row of `Workspace.doubtful`.
_X, _Y, _LABEL, _CHARGED, _AMOUNT = range(5)

#: Less than any term.
_NO_TERM = np.int64(-(1 << 62))

#: In place of the edge that an example is charged to: negatives that several edges leave uncertain,
#: which count for nothing, and in a box of two edges whatever both do, which counts for pairs.
SEVERAL = -1


class Workspace(NamedTuple):
    """What is known of one box at a time; made anew from the box whenever it is needed.

    Attributes
    ----------
    held : int64 array, shape (2,)
        Negatives and positives in all inner halfplanes.
    doubtful, halved : int64 arrays, shape (MOST, 5)
        Uncertain examples of the box, and of one half of it: abscissa, ordinate, label, the
        edge they are charged to, or :data:`SEVERAL`, and how many they are.
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
        first cell weigh, and weights[1] what the pairs of one first cell do (:func:`weigh_beside`).
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


def order_by_column(counts: GridCounts) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Ordinates of the entries by label, each int32 of shape (d + 2 + entries,).

    Number x says at which place the ordinates of column x begin, rising, and number d + 1 where
    the last column ends.
    """
    width = counts.d + 1
    found = []
    for label in (False, True):
        x, y = np.compress(counts.labels == label, counts.points, axis=0).T
        places = np.empty(width + 1 + len(y), dtype=np.int32)
        places[0] = width + 1
        places[1 : width + 1] = width + 1 + np.bincount(x, minlength=width).cumsum()
        places[width + 1 :] = y
        found.append(places)
    return found[0], found[1]


@inner
def _corner_lines(basis, box):
    """(a, b, c) of O_1..O_3 and I_1..I_3; zeros, which constrain nothing, for missing edges."""
    a = np.zeros(6, dtype=np.int64)
    b = np.zeros(6, dtype=np.int64)
    c = np.zeros(6, dtype=np.int64)
    for e in range(3):
        if not edge_in(box, e):
            continue
        sheet = (box[SHEETS] >> (3 * e)) & 7
        # the points at the corners, so that a box of one piece has that piece's own score
        u0, u1 = np.int64(box[4 * e]), box[4 * e + 1] - 1
        v0, v1 = np.int64(box[4 * e + 2]), box[4 * e + 3] - 1
        if sheet & 1:
            u0, u1, v0, v1 = u1, u0, v1, v0
        a[e], b[e], c[e] = coefficients(basis, sheet, u0, v0)
        a[e + 3], b[e + 3], c[e + 3] = coefficients(basis, sheet, u1, v1)
    return a, b, c


@inner
def _narrow(a, b, c, cut, x, low, high):
    """Ordinates low..high-1 of column x narrowed to one halfplane, whose cut there is `cut`."""
    if b == 0 and a * x < c:
        return low, low
    return within_cut(b, cut, low, high)


@inner
def _first_place(places, x, y, below):
    """Where the ordinates of column x from y up begin; `below` examples lie below y."""
    begin = np.int64(places[x])
    # an entry has an example at least, and mostly no more
    end = min(np.int64(places[x + 1]), begin + below)
    if end == begin or places[end - 1] < y:
        return end
    while begin < end:
        middle = (begin + end) >> 1
        if places[middle] < y:
            begin = middle + 1
        else:
            end = middle
    return begin


@inner
def gather(tables, ordinates, box, held, found):
    """List the entries in all outer and not all inner halfplanes, and count the examples in all
    inner ones.

    Columns must be narrow (:mod:`geometry.columns`).  Returns how many were found, or -1 when they
    do not fit.  O(d) and O(1) an entry, O(log d) where a grid point holds several examples.
    """
    by_label = (unpack(tables.totals[0]), unpack(tables.totals[1]))
    width = len(by_label[0].cells)
    a, b, c = _corner_lines(tables.basis, box)
    first, last = abscissae(a, b, c, width - 1)
    a_1, a_2, a_3, a_4, a_5, a_6 = a[0], a[1], a[2], a[3], a[4], a[5]
    b_1, b_2, b_3, b_4, b_5, b_6 = b[0], b[1], b[2], b[3], b[4], b[5]
    c_1, c_2, c_3, c_4, c_5, c_6 = c[0], c[1], c[2], c[3], c[4], c[5]
    cut_1, rest_1, step_1, more_1, size_1 = first_cut((a_1, b_1, c_1), first, np.int64(0))
    cut_2, rest_2, step_2, more_2, size_2 = first_cut((a_2, b_2, c_2), first, np.int64(0))
    cut_3, rest_3, step_3, more_3, size_3 = first_cut((a_3, b_3, c_3), first, np.int64(0))
    cut_4, rest_4, step_4, more_4, size_4 = first_cut((a_4, b_4, c_4), first, np.int64(0))
    cut_5, rest_5, step_5, more_5, size_5 = first_cut((a_5, b_5, c_5), first, np.int64(0))
    cut_6, rest_6, step_6, more_6, size_6 = first_cut((a_6, b_6, c_6), first, np.int64(0))
    held[:] = 0
    count = 0
    for x in range(first, last + 1):
        low, high = within_cut(b_1, cut_1, np.int64(0), np.int64(width))
        low, high = within_cut(b_2, cut_2, low, high)
        low, high = within_cut(b_3, cut_3, low, high)
        if low < high:
            inner_low, inner_high = _narrow(a_4, b_4, c_4, cut_4, x, low, high)
            inner_low, inner_high = _narrow(a_5, b_5, c_5, cut_5, x, inner_low, inner_high)
            inner_low, inner_high = _narrow(a_6, b_6, c_6, cut_6, x, inner_low, inner_high)
            if inner_low >= inner_high:
                inner_low = inner_high = high
            for label in range(2):
                column, places = by_label[label].cells[x], ordinates[label]
                sure = np.int64(column[inner_high]) - column[inner_low]
                held[label] += sure
                left = column[high] - column[low] - sure
                if left > 0:
                    place = _first_place(places, x, low, column[low])
                while left > 0:
                    y = places[place]
                    if inner_low <= y < inner_high:
                        place = _first_place(places, x, inner_high, column[inner_high])
                        continue
                    if count == len(found):
                        return -1
                    amount = column[y + 1] - column[y]
                    found[count, _X] = x
                    found[count, _Y] = y
                    found[count, _LABEL] = label
                    found[count, _AMOUNT] = amount
                    count += 1
                    place += 1
                    left -= amount
        cut_1, rest_1 = cut_after(cut_1, rest_1, step_1, more_1, size_1)
        cut_2, rest_2 = cut_after(cut_2, rest_2, step_2, more_2, size_2)
        cut_3, rest_3 = cut_after(cut_3, rest_3, step_3, more_3, size_3)
        cut_4, rest_4 = cut_after(cut_4, rest_4, step_4, more_4, size_4)
        cut_5, rest_5 = cut_after(cut_5, rest_5, step_5, more_5, size_5)
        cut_6, rest_6 = cut_after(cut_6, rest_6, step_6, more_6, size_6)
    return count


@inner
def has_pairs(box):
    """Whether a box has two edges."""
    return edge_in(box, 0) and edge_in(box, 1) and not edge_in(box, 2)


@inner
def charge(tables, box, found, count, held, doubtful):
    """Keep the entries that are uncertain in a box, with the edge each is charged to.

    `found` holds all that are uncertain in a box around it, and may be `doubtful` itself;
    `held` counts the examples in all inner halfplanes of that box and goes on counting.
    """
    a, b, c = _corner_lines(tables.basis, box)
    pairs = has_pairs(box)
    kept = 0
    for i in range(count):
        x, y, label, amount = found[i, _X], found[i, _Y], found[i, _LABEL], found[i, _AMOUNT]
        outside = False
        misses = 0
        charged = -1
        for e in range(3):
            if a[e] * x + b[e] * y < c[e]:
                outside = True
                break
            if a[e + 3] * x + b[e + 3] * y < c[e + 3]:
                misses += 1
                if charged < 0:
                    charged = e
        if outside:
            continue
        if misses == 0:
            held[label] += amount
            continue
        doubtful[kept, _X] = x
        doubtful[kept, _Y] = y
        doubtful[kept, _LABEL] = label
        doubtful[kept, _CHARGED] = SEVERAL if misses > 1 and (pairs or label == 0) else charged
        doubtful[kept, _AMOUNT] = amount
        kept += 1
    return kept


@inner
def _group(doubtful, count, order, begins):
    """List the entries by what they are charged to, and by label.

    Those charged to edge e, or to SEVERAL = -1, of a label lie in order[begins[g]:begins[g + 1]],
    g = 2 * (e + 1) + label.
    """
    begins[:] = 0
    for i in range(count):
        begins[2 * (doubtful[i, _CHARGED] + 1) + doubtful[i, _LABEL] + 1] += 1
    for group in range(8):
        begins[group + 1] += begins[group]
    place = begins.copy()
    for i in range(count):
        group = 2 * (doubtful[i, _CHARGED] + 1) + doubtful[i, _LABEL]
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
    one, other = (_X, _Y) if sheet < 2 else (_Y, _X)
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
                    amounts[k] = doubtful[block[k], _AMOUNT] if k < many else 0
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
            amount = doubtful[block[k], _AMOUNT] >> power
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


@inner
def widest_axis(tables, box, doubtful, count, only):
    """The axis 0..5 that leaves most examples uncertain; -1 when the box is a single piece.

    `only` restricts it to one edge, unless it is -1.
    """
    c0, c1 = tables.basis[0], tables.basis[1]
    # by what the examples are charged to, SEVERAL first
    number = np.zeros(4, dtype=np.int64)
    abscissae = np.zeros(4, dtype=np.int64)
    ordinates = np.zeros(4, dtype=np.int64)
    for i in range(count):
        charged, amount = doubtful[i, _CHARGED] - SEVERAL, doubtful[i, _AMOUNT]
        number[charged] += amount
        abscissae[charged] += amount * doubtful[i, _X]
        ordinates[charged] += amount * doubtful[i, _Y]
    pairs = has_pairs(box)
    chosen, most = -1, -1.0
    for e in range(3):
        if not edge_in(box, e) or (only >= 0 and e != only):
            continue
        along = abscissae if (box[SHEETS] >> (3 * e)) & 7 < 2 else ordinates
        many, far = number[e - SEVERAL], along[e - SEVERAL]
        if pairs:
            many, far = many + number[0], far + along[0]
        # the boundary at the examples' mean place moves by so much when u or v runs its range
        t = far / max(many, 1)
        by_u = (c0 - c1 * t) * (box[4 * e + 1] - box[4 * e])
        by_v = t * (box[4 * e + 3] - box[4 * e + 2])
        for axis in range(2):
            if box[4 * e + 2 * axis + 1] - box[4 * e + 2 * axis] < 2:
                continue
            share = (by_u if axis == 0 else by_v) / (by_u + by_v)
            doubt = (many + 0.5) * share
            if doubt > most:
                most = doubt
                chosen = 2 * e + axis
    return chosen
