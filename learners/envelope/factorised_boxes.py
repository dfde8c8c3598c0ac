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
docs/privacy.md, lemma E3; why a trial accepts a piece in proportion to its weight: lemma E1.
Everything here is compiled; from an empty cache a second process compiles `factorise`,
`factor_trial` and `split_factors` (:mod:`learners.envelope.compiled_beside`).  A *box* is a row of
:class:`learners.envelope.partition.Partition`.
"""

from __future__ import annotations

import math

import numpy as np

from geometry.compiled_loops import cached_inner, inner
from learners.envelope.boxes import NO_SHEET, SHEETS, admits_some, admitted_box, copy_box, edge_in
from learners.envelope.chunks import exponential, uniform_below
from learners.envelope.partition import (
    BOXES,
    EXACT,
    FACTORISED,
    MIX_USED,
    OUTSIDE,
    PEAK,
    PLAIN,
    SPENT,
    TRIAL_WORK,
    TRIALS,
    VOLUME,
    box_mass,
    draw_box,
    put_mass,
)
from learners.envelope.target import score_value
from learners.envelope.trials import (
    EXACT_COST,
    EXACT_TIME,
    OUTCOME_ACCEPTED,
    OUTCOME_OUTSIDE,
    OUTCOME_REJECTED,
    exact_value,
)
from learners.envelope.uncertain import charge, count_cells, gather, widest_axis
from learners.envelope.workspace import CELLS, MIX, SIDE, recall, remember, sum_up

#: Less than any term; and what puts a bound of a pair, which lies within 2^29 of 0, below the least
#: that there may be.
_NO_TERM, _NO_PAIR, _LEAST_BOUND = np.int64(-(1 << 62)), np.int32(-3 << 29), -(1 << 29)

# Work of a trial, and to factorise a box, in units of :mod:`learners.envelope.core`.  Trials and
# splits take some 300 microseconds: again splits get most of the time
# (docs/decisions/0005-factorised-boxes.md).
_FACTOR_TRIAL_COST, FACTORISE_COST = 50, 10

# Microseconds: a trial, to factorise a box, and to split one, which has been examined then.
_FACTOR_TRIAL_TIME, FACTORISE_TIME, FACTOR_SPLIT_TIME = 70, 90, 35


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


# -- trials and splits ---------------------------------------------------------------------------


@inner
def examine(tables, ordinates, box, work):
    """Make a box's tables of cells; the number of its uncertain examples, or -1: too many."""
    kept = uncertain(tables, ordinates, box, work)
    if kept >= 0:
        count_cells(tables.basis, box, work.doubtful, kept, work, np.int64(-1))
    return kept


@inner
def uncertain(tables, ordinates, box, work):
    """List a box's uncertain examples; their number, or -1: too many."""
    found = gather(tables, ordinates, box, work.held, work.doubtful[: work.most])
    if found < 0:
        return np.int64(-1)
    return charge(tables.basis, box, work.doubtful, found, work.held, work.doubtful)


@cached_inner
def factorise(target, tables, ordinates, partition, index, work):
    """Give a plain box a factorised envelope; False, and nothing changed, unless it is lighter."""
    box, factor = partition.boxes[index], partition.factors[index]
    count = examine(tables, ordinates, box, work)
    if count < 0:
        return False
    mix, factor[PEAK], factor[VOLUME] = best_mix(target, box, work, MIX // 2)
    factor[MIX_USED] = mix + 1
    capacity = len(partition.boxes)
    mass = box_mass(target, box, factor)
    if mass >= partition.tree[capacity + index]:
        factor[:] = PLAIN
        return False
    put_mass(partition.tree, capacity, index, mass)
    remember(box, index, work.doubtful, count, work)
    partition.tally[FACTORISED] += 1
    return True


@cached_inner
def factor_trial(target, tables, ordinates, partition, index, work, chunks, at, theta):
    """A trial in a factorised box; also the number of its uncertain examples.

    Cells are drawn by their weights, theta uniform in them, and kept with exp(rate * (value -
    their bound)).
    """
    box, tally = partition.boxes[index], partition.tally
    tally[TRIALS] += 1
    tally[TRIAL_WORK] += _FACTOR_TRIAL_COST
    tally[SPENT] += _FACTOR_TRIAL_TIME
    mix, peak = np.int64(partition.factors[index, MIX_USED]) - 1, np.int64(0)
    first = np.int64(-1)
    count = recall(box, index, work)
    # what pairs weigh is kept of one mix only
    if count >= 0 and work.paired[0] and target.total:
        peak = np.int64(partition.factors[index, PEAK])
        first, at = draw_box(work.weights[0], CELLS, chunks, at)
        count_cells(tables.basis, box, work.doubtful, count, work, first)
    else:
        if count < 0:
            count = uncertain(tables, ordinates, box, work)
        count_cells(tables.basis, box, work.doubtful, count, work, first)
        peak, _ = weigh_cells(target, box, mix, work)
        remember(box, index, work.doubtful, count, work)
    bound = inner_term(target, mix, work.held)
    positives, negatives = work.held[1], work.held[0]
    for e in range(3):
        sheet = (box[SHEETS] >> (3 * e)) & 7
        if sheet == NO_SHEET:
            continue
        if first >= 0 and e == 0:
            cell = first
        else:
            cell, at = draw_box(work.weights[e], CELLS, chunks, at)
        if work.paired[0] and e == 0:
            first = cell
            weigh_beside(target, box, mix, peak, first, work)
        elif work.paired[0]:
            bound += pair_term(target, mix, work.together, first, cell)
            positives += work.together[1, first, cell]
            negatives += work.together[0, first, cell]
        i, j = cell // SIDE, cell % SIDE
        ends = work.ends[e]
        u, at = uniform_below(ends[0, i + 1] - ends[0, i], chunks, at)
        v, at = uniform_below(ends[1, j + 1] - ends[1, j], chunks, at)
        if u < 0 or v < 0:
            return OUTCOME_REJECTED, at, count
        # the ends of a lower sheet are those of -u and -v
        u += 1 - ends[0, i + 1] if sheet & 1 else ends[0, i]
        v += 1 - ends[1, j + 1] if sheet & 1 else ends[1, j]
        if abs(u - v) > target.side or max(u, v) < 0 or min(u, v) > target.side:
            tally[OUTSIDE] += 1
            return OUTCOME_OUTSIDE + e, at, count
        theta[2 * e] = u
        theta[2 * e + 1] = v
        bound += cell_term(target, mix, work.counts, e, i, j)
        positives += work.counts[e, 1, i, j]
        negatives += work.counts[e, 0, i, j]
    spread, at = exponential(chunks, at)
    least = bound - np.int64(min(MIX * spread / target.rate, 4e18))
    if MIX * score_value(target, positives, negatives) < least:
        return OUTCOME_REJECTED, at, count
    tally[EXACT] += 1
    tally[TRIAL_WORK] += EXACT_COST
    tally[SPENT] += EXACT_TIME
    sheets = np.int64(box[SHEETS])
    value = exact_value(
        target, tables.totals, tables.basis, sheets, theta, -(-least // MIX), positives
    )
    return OUTCOME_ACCEPTED if MIX * value >= least else OUTCOME_REJECTED, at, count


@cached_inner
def split_factors(target, tables, partition, index, count, outcome, work):
    """Halve a factorised box that has just been examined; each half is factorised, too."""
    boxes, factors, tree = partition.boxes, partition.factors, partition.tree
    capacity = len(boxes)
    box = boxes[index]
    only = outcome - OUTCOME_OUTSIDE if outcome >= OUTCOME_OUTSIDE else -1
    axis = widest_axis(tables.basis, box, work.doubtful, count, only)
    if axis < 0:
        return
    middle = (box[2 * axis] + box[2 * axis + 1]) >> 1
    twin_index = partition.tally[BOXES]
    partition.tally[BOXES] += 1
    copy_box(box, boxes[twin_index])
    box[2 * axis + 1] = middle
    boxes[twin_index, 2 * axis] = middle
    negatives, positives = work.held[0], work.held[1]
    mix = np.int64(factors[index, MIX_USED]) - 1
    for half_index in (index, twin_index):
        half, factor = boxes[half_index], factors[half_index]
        if admitted_box(target, half):
            work.held[0], work.held[1] = negatives, positives
            kept = charge(tables.basis, half, work.doubtful, count, work.held, work.halved)
            count_cells(tables.basis, half, work.halved, kept, work, np.int64(-1))
            chosen, factor[PEAK], factor[VOLUME] = best_mix(target, half, work, mix)
            factor[MIX_USED] = chosen + 1
            remember(half, half_index, work.halved, kept, work)
        else:
            factor[MIX_USED], factor[PEAK], factor[VOLUME] = float(mix + 1), 0.0, 0.0
        put_mass(tree, capacity, half_index, box_mass(target, half, factor))
