"""Tries and splits boxes with a factorised envelope, which is tighter than a plain one.  Compiled.

The envelope and why it bounds the score: :mod:`learners.envelope.factorised_boxes`; why a trial
accepts a piece in proportion to its weight: docs/privacy.md, lemma E1.  From an empty
cache a second process compiles them (:mod:`learners.envelope.compiled_beside`).
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import numpy as np

from geometry.compiled_loops import cached_inner, inner
from learners.envelope.boxes import NO_SHEET, SHEETS, admitted_box, copy_box
from learners.envelope.chunks import exponential, uniform_below
from learners.envelope.factorised_boxes import (
    best_mix,
    cell_term,
    inner_term,
    pair_term,
    weigh_beside,
    weigh_cells,
)
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
from learners.envelope.workspace import CELLS, MIX, SIDE, recall, remember

# The same for factorised boxes, whose trials and splits take some 300 microseconds: again splits
# get most of the time (docs/decisions/0005-factorised-boxes.md).
_FACTOR_TRIAL_COST, FACTORISE_COST = 50, 10

# Microseconds: a trial, to factorise a box, and to split one, which has been examined then.
_FACTOR_TRIAL_TIME, FACTORISE_TIME, FACTOR_SPLIT_TIME = 70, 90, 35


@inner
def may_factorise(target, box):
    """Whether all sides are short enough, and long enough for cells."""
    for e in range(3):
        if (box[SHEETS] >> (3 * e)) & 7 == NO_SHEET:
            continue
        for axis in range(2 * e, 2 * e + 2):
            side = box[2 * axis + 1] - box[2 * axis]
            if side > target.narrow or side < 4 * SIDE:
                return False
    return True


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
