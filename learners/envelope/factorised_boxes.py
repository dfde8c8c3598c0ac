"""Tightens the envelope on small boxes: one table of cells an edge stands for all triples of cells.

Each edge's rectangle of dual points is divided into SIDE x SIDE cells.  Examples that only some
pieces of the box hold are charged to an edge and counted for all its cells
(:mod:`learners.envelope.uncertain`).  So the score's bound, a mix of two linear
functions with parts m and MIX - m or their sum, is a constant plus one term an edge: the cells of
the three edges are drawn independently of each other, and the box's mass is a product of three
sums.  In a box of two edges examples that both leave uncertain make a term for each *pair* of
cells, and the mass is a sum over first cells, of what their pairs weigh; without this the boxes of
thin pieces, whose edges cross everywhere, must be as narrow as the gaps between the examples
(docs/decisions/0026).

Counts and bounds are integers; the weight of a cell or of a pair is an exp of a product times an
area (five roundings at most), summed up a binary tree.  The bounds and their proof:
docs/privacy.md, lemma E3.  Everything here is compiled; a *box* is a row of
:class:`learners.envelope.partition.Partition`.
"""

from __future__ import annotations

import math

import numpy as np

from geometry.compiled_loops import inner
from learners.envelope.boxes import SHEETS, admits_some, edge_in
from learners.envelope.workspace import CELLS, MIX, SIDE, sum_up

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
    sum_up(work.weights[0])
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
    sum_up(work.weights[1])


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
        sum_up(tree)
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
