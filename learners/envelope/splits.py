"""Splits: a plain box is halved where a rejected point suggests.  Compiled.

Why that changes no law: docs/privacy.md, lemma E2.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import math

import numpy as np

from geometry.counting import NEGATIVE, POSITIVE, count_piece, line_row
from geometry.inner_loops import inner
from learners.envelope.boxes import (
    NEGATIVES,
    NO_SHEET,
    POSITIVES,
    SHEETS,
    copy_box,
    corner_rows,
    far_corner,
    pairs_across,
    recount,
    set_pairs_across,
    trim,
)
from learners.envelope.close_pairs import crossed_by
from learners.envelope.partition import (
    BOXES,
    bound_of,
    box_mass,
    corner_bound,
    count_all,
    count_left,
    lower,
    put_mass,
)
from learners.envelope.target import bound_value, score_value
from learners.envelope.trials import OUTCOME_OUTSIDE

# Two halves that weigh more than this, the whole being 1, gain nothing worth a choice.
_USELESS = 1.98


@inner
def _counts_with(tables, rows, e, outer, inner):
    """(positives, negatives) of the box's outer and inner piece with edge e's lines replaced."""
    lines, below, totals = tables.lines, tables.below, tables.totals
    o1, o2, o3, i1, i2, i3 = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
    if e == 0:
        o1, i1 = outer, inner
    elif e == 1:
        o2, i2 = outer, inner
    else:
        o3, i3 = outer, inner
    return (
        count_piece(lines, below, totals[1], o1, o2, o3),
        count_piece(lines, below, totals[0], i1, i2, i3),
    )


@inner
def _bound_with(target, tables, pairs, rows, across, e, outer, inner, positives, negatives, most):
    """The bound by these counts, with edge e's lines replaced; `most` bounds the box."""
    if pairs is None:
        return score_value(target, positives, negatives)
    if len(pairs.marked) == 0:
        return bound_value(target, positives, negatives, across)
    old_outer, old_inner = rows[e], rows[3 + e]
    rows[e], rows[3 + e] = outer, inner
    bound = corner_bound(target, tables, pairs.marked, rows, across, positives, negatives)
    rows[e], rows[3 + e] = old_outer, old_inner
    return min(bound, most)


@inner
def _blame(target, tables, pairs, box, across, theta, rows):
    """The edge whose coarse cell at the rejected theta, alone, lowers the bound most.

    It sees further than one halving: a side may have to be halved several times before the
    bound falls.  -1 when the box is as fine as the coarse lattice, or no edge alone does it.
    """
    low, step = target.low, target.step
    lowest = bound_of(target, box)
    blamed = -1
    for e in range(3):
        sheet = (box[SHEETS] >> (3 * e)) & 7
        u0, u1, v0, v1 = box[4 * e], box[4 * e + 1], box[4 * e + 2], box[4 * e + 3]
        if sheet == NO_SHEET or max(u1 - u0, v1 - v0) <= max(step, target.narrow):
            continue
        u = low + (theta[2 * e] - low) // step * step
        v = low + (theta[2 * e + 1] - low) // step * step
        u0, u1, v0, v1 = max(u, u0), min(u + step, u1), max(v, v0), min(v + step, v1)
        odd = sheet & 1
        outer = line_row(tables, sheet, u1 if odd else u0, v1 if odd else v0, POSITIVE)
        inner = line_row(tables, sheet, u0 if odd else u1, v0 if odd else v1, NEGATIVE)
        if outer < 0 or inner < 0:
            continue
        positives, negatives = _counts_with(tables, rows, e, outer, inner)
        bound = _bound_with(
            target, tables, pairs, rows, across, e, outer, inner, positives, negatives, lowest
        )
        if bound < lowest:
            lowest = bound
            blamed = e
    return blamed


@inner
def _choose_axis(target, tables, pairs, box, across, rows, only):
    """(axis 0..5, positives, negatives): the halving whose two halves weigh least together.

    `only` restricts it to one edge, unless it is -1.  While a side is too long for the box to be
    factorised, sides that are short enough wait for it.  The positives are those of the half that
    lost the outer corner, the negatives those of the half that lost the inner one.  Where no
    halving lowers the envelope, the longest side is halved.  Axis -1 when the tables are full
    or nothing can be halved.
    """
    most, fewest = np.int64(box[POSITIVES]), np.int64(box[NEGATIVES])
    reference = bound_of(target, box)
    best = np.inf
    chosen = (-1, np.int64(0), np.int64(0))
    shortest = np.int64(2)
    for axis in range(6):
        e = axis >> 1
        if (box[SHEETS] >> (3 * e)) & 7 == NO_SHEET or (only >= 0 and e != only):
            continue
        if box[2 * axis + 1] - box[2 * axis] > target.narrow > 0:
            shortest = max(shortest, target.narrow)
    for axis in range(6):
        e = axis >> 1
        sheet = (box[SHEETS] >> (3 * e)) & 7
        if sheet == NO_SHEET or (only >= 0 and e != only):
            continue
        side = box[2 * axis + 1] - box[2 * axis]
        if side < shortest:
            continue
        middle = (box[2 * axis] + box[2 * axis + 1]) >> 1
        # the other coordinate of the same edge, at its outer and at its inner corner
        other = 2 * (axis ^ 1)
        near = np.int64(box[other])
        far = far_corner(target.paper, near, np.int64(box[other + 1]))
        odd = sheet & 1
        at_outer, at_inner = (far, near) if odd else (near, far)
        if axis & 1:
            outer = line_row(tables, sheet, at_outer, middle, POSITIVE)
            inner = line_row(tables, sheet, at_inner, middle, NEGATIVE)
        else:
            outer = line_row(tables, sheet, middle, at_outer, POSITIVE)
            inner = line_row(tables, sheet, middle, at_inner, NEGATIVE)
        if outer < 0 or inner < 0:
            return (-1, np.int64(0), np.int64(0))
        positives, negatives = _counts_with(tables, rows, e, outer, inner)
        bound = _bound_with(
            target, tables, pairs, rows, across, e, rows[e], inner, most, negatives, reference
        )
        weight = math.exp(target.rate * (bound - reference))
        bound = _bound_with(
            target, tables, pairs, rows, across, e, outer, rows[3 + e], positives, fewest, reference
        )
        weight += math.exp(target.rate * (bound - reference))
        if weight > _USELESS:
            # a plateau tells nothing yet: prefer the longest side
            weight = 2.0 + 1.0 / side
        if weight < best:
            best = weight
            chosen = (axis, positives, negatives)
    return chosen


@inner
def split(target, every, pairs, partition, index, outcome, theta, rows):
    """Halve a box where the rejected theta suggests; nothing when the tables are full.

    `every` are the tables of all examples.
    """
    boxes, tree = partition.boxes, partition.tree
    capacity = len(boxes)
    box = boxes[index]
    across, tables = np.int64(-1), every
    if pairs is not None:
        across, most = pairs_across(box), bound_of(target, box)
        if across >= 0:
            tables = pairs.tables
    if not corner_rows(target.paper, tables, box, rows):
        return
    if outcome >= OUTCOME_OUTSIDE:
        only = outcome - OUTCOME_OUTSIDE
    else:
        only = _blame(target, tables, pairs, box, across, theta, rows)
    axis, positives, negatives = _choose_axis(target, tables, pairs, box, across, rows, only)
    if axis < 0:
        return
    middle = (box[2 * axis] + box[2 * axis + 1]) >> 1
    twin_index = partition.tally[BOXES]
    partition.tally[BOXES] += 1
    twin = boxes[twin_index]
    copy_box(box, twin)
    # box keeps the outer corner, the low one on an upper (even) sheet; twin the inner one
    odd = (box[SHEETS] >> (3 * (axis >> 1))) & 1
    box[2 * axis + 1 - odd] = middle
    twin[2 * axis + odd] = middle
    # a merged box may know more than its corners
    box[NEGATIVES] = max(box[NEGATIVES], negatives)
    twin[POSITIVES] = min(twin[POSITIVES], positives)
    for half in (box, twin):
        # new corners, and those of a single point, have not been counted yet
        if trim(target.side, half, axis >> 1) or half[2 * axis + 1] - half[2 * axis] == 1:
            recount(target.paper, tables, half, rows)
        if pairs is not None:
            if across >= 0:
                set_pairs_across(half, min(across, crossed_by(pairs, half)))
                count_all(target, every, pairs.marked, half, rows)
            else:
                lower(target, every, pairs.marked, half, rows, most)
                if not target.total:
                    count_left(target, pairs, half, rows)
    factors = partition.factors
    put_mass(tree, capacity, index, box_mass(target, box, factors[index]))
    put_mass(tree, capacity, twin_index, box_mass(target, twin, factors[twin_index]))
