"""What the cells of a factorised box weigh, and the mix of both scores that weighs least.

The bounds: :mod:`learners.envelope.factorised_boxes` and docs/privacy.md, lemma E3; the tables of
cells are those of its :class:`~learners.envelope.factorised_boxes.Workspace`.  Counts and bounds
are integers.  A cell's or a pair's weight is an exp of a product times an area (five roundings at
most), summed up a binary tree.  Everything here is compiled.
"""

from __future__ import annotations

import math

import numpy as np

from geometry.inner_loops import inner
from learners.envelope.boxes import SHEETS, admits_some, edge_in
from learners.envelope.factorised_boxes import CELLS, MIX, SIDE

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
