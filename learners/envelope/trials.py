"""Tries a point of a box, and splits the box where the point is rejected.  Compiled.

A point is drawn uniformly in the box and kept with the probability it deserves; where it is not,
the box is halved where the point suggests.  All randomness arrives as a buffer of uniform 16-bit
chunks (:mod:`learners.envelope.chunks`).  Why a trial accepts a piece in proportion to its weight:
docs/privacy.md, lemma E1; why a split changes no law: lemma E2.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import math

import numpy as np

from geometry.columns import (
    NO_LINE,
    abscissae,
    count_span,
    cut_after,
    first_cut,
    unpack,
    unpack_cells,
    within_cut,
)
from geometry.compiled_loops import inner
from geometry.counting import NEGATIVE, POSITIVE, coefficients, count_piece, line_row
from learners.envelope.boxes import (
    NEGATIVES,
    NO_SHEET,
    POSITIVES,
    SHEETS,
    class_sheets,
    copy_box,
    corner_rows,
    far_corner,
    line_of,
    pairs_across,
    proposals,
    recount,
    set_pairs_across,
    trim,
)
from learners.envelope.chunks import exponential, less, uniform_below
from learners.envelope.close_pairs import crossed_by, most_crossed
from learners.envelope.partition import (
    BOXES,
    EXACT,
    OUTSIDE,
    SPENT,
    TRIAL_WORK,
    TRIALS,
    bound_of,
    box_mass,
    corner_bound,
    count_all,
    count_left,
    forget,
    lower,
    put_mass,
)
from learners.envelope.target import bound_value, most_negatives, nats_of, score_value

#: Outcomes of a trial; OUTCOME_OUTSIDE + e when edge e lies outside the class.
OUTCOME_REJECTED, OUTCOME_ACCEPTED, OUTCOME_OUTSIDE = range(3)

#: Work of an exact score, in units of one trial that the coarse lattice rejects.
EXACT_COST = 8

#: Microseconds of an exact score.
EXACT_TIME = 3


@inner
def exact_value(target, totals, basis, sheets, theta, least, most):
    """The score of theta, which holds at most `most` positives; once it is known to be below
    `least`, any value below that."""
    d = np.int64(totals[0][0])
    a = np.zeros(3, dtype=np.int64)
    b = np.zeros(3, dtype=np.int64)
    c = np.zeros(3, dtype=np.int64)
    for e in range(3):
        sheet = (sheets >> (3 * e)) & 7
        if sheet != NO_SHEET:
            a[e], b[e], c[e] = coefficients(basis, sheet, theta[2 * e], theta[2 * e + 1])
    first, last = abscissae(a, b, c, d)
    enough = most_negatives(target, most, least)
    if totals[0][1] != 0:
        one, two, three = (a[0], b[0], c[0]), (a[1], b[1], c[1]), (a[2], b[2], c[2])
        neg, pos = unpack(totals[0]), unpack(totals[1])
        start, stop = first >> neg.shift, (last >> neg.shift) + 1
        negatives = count_span(neg, start, stop, first, last, one, two, three, enough)
        if negatives > enough:
            return score_value(target, most, negatives)
        positives = count_span(pos, start, stop, first, last, one, two, three, most)
        return score_value(target, positives, negatives)
    cells_0, cells_1 = unpack_cells(totals[0]), unpack_cells(totals[1])
    b_1, b_2, b_3 = b[0], b[1], b[2]
    cut_1, rest_1, step_1, more_1, size_1 = first_cut((a[0], b_1, c[0]), first, np.int64(0))
    cut_2, rest_2, step_2, more_2, size_2 = first_cut((a[1], b_2, c[1]), first, np.int64(0))
    cut_3, rest_3, step_3, more_3, size_3 = first_cut((a[2], b_3, c[2]), first, np.int64(0))
    positives = np.int64(0)
    negatives = np.int64(0)
    for x in range(first, last + 1):
        low, high = within_cut(b_1, cut_1, np.int64(0), d + 1)
        low, high = within_cut(b_2, cut_2, low, high)
        low, high = within_cut(b_3, cut_3, low, high)
        cut_1, rest_1 = cut_after(cut_1, rest_1, step_1, more_1, size_1)
        cut_2, rest_2 = cut_after(cut_2, rest_2, step_2, more_2, size_2)
        cut_3, rest_3 = cut_after(cut_3, rest_3, step_3, more_3, size_3)
        if high > low:
            # an index that is unsigned need not be looked at for its sign
            column, begin, end = np.uintp(x), np.uintp(low), np.uintp(high)
            negatives += cells_0[column, end] - cells_0[column, begin]
            if negatives > enough:
                return score_value(target, most, negatives)
            positives += cells_1[column, end] - cells_1[column, begin]
    return score_value(target, positives, negatives)


@inner
def _coarse_row(tables, coarse, target, of, label, sheet, i, j):
    """Row of a coarse lattice line, made if it is new; -1 when the tables are full.

    of : 0 where the tables are of all examples, 2 where they are of what close pairs leave.
    """
    u = target.low + i * target.step
    v = target.low + j * target.step
    row = line_row(tables, sheet, u, v, label)
    coarse[of + label, sheet, i, j] = row
    return row


@inner
def _dual_point(paper, side, sheet, box, e, chunks, at, theta):
    """(outcome, u, v, next position), uniform in the rectangle of edge e; OUTCOME_ACCEPTED when
    the point belongs to the class.

    In the measure "paper" u and v are readings, and theta gets the intercept and the slope.
    """
    u0, u1, v0, v1 = box[4 * e], box[4 * e + 1], box[4 * e + 2], box[4 * e + 3]
    if paper is None:
        u, at = uniform_below(u1 - u0, chunks, at)
        v, at = uniform_below(v1 - v0, chunks, at)
        if u < 0 or v < 0:
            return OUTCOME_REJECTED, u, v, at
        u += u0
        v += v0
        if abs(u - v) > side or max(u, v) < 0 or min(u, v) > side:
            return OUTCOME_OUTSIDE + e, u, v, at
        return OUTCOME_ACCEPTED, u, v, at
    p0, p1, q0, q1 = np.int64(u0), np.int64(u1), np.int64(v0), np.int64(v1)
    slopes, intercepts = proposals(paper, side, sheet, p0, p1, q0, q1)
    which, at = uniform_below(slopes, chunks, at)
    turn, at = uniform_below(intercepts, chunks, at)
    if which < 0 or turn < 0:
        return OUTCOME_REJECTED, which, turn, at
    inside, intercept, slope, p, q = line_of(paper, side, sheet, p0, p1, q0, q1, which, turn)
    theta[6 + 2 * e] = intercept
    theta[7 + 2 * e] = slope
    return (OUTCOME_ACCEPTED if inside else OUTCOME_OUTSIDE + e), p, q, at


@inner
def _value(paper, target, tables, sheets, theta, least, most):
    """:func:`exact_value` of a trial's piece."""
    if paper is None:
        return exact_value(target, tables.totals, tables.basis, sheets, theta, least, most)
    return exact_value(
        target, tables.totals, paper.basis, class_sheets(sheets, theta), theta[6:], least, most
    )


@inner
def agrees(paper, expected, tables, sheets, theta, chunks, at):
    """(True with probability e to minus what theta's piece costs, next position).

    It costs what it differs in from what is `expected` of some grid points.
    """
    if len(expected.points) == 0:
        return True, at
    if paper is None:
        return _agrees(expected, tables.basis, sheets, theta, chunks, at)
    return _agrees(expected, paper.basis, class_sheets(sheets, theta), theta[6:], chunks, at)


@inner
def _agrees(expected, basis, sheets, theta, chunks, at):
    points, held = expected.points, np.ones(len(expected.points), dtype=np.bool_)
    for e in range(3):
        sheet = (sheets >> (3 * e)) & 7
        if sheet != NO_SHEET:
            a, b, c = coefficients(basis, sheet, theta[2 * e], theta[2 * e + 1])
            for i in range(len(points)):
                held[i] &= a * points[i, 0] + b * points[i, 1] >= c
    share = np.int64(0)
    for i in range(len(points)):
        if held[i] != expected.held[i]:
            share += expected.shares[i]
    return less(math.exp(-nats_of(expected, share)), chunks, at)


@inner
def trial(target, every, pairs, partition, box, chunks, at, theta):
    """(outcome, next position): theta uniform in the box, kept with exp(rate*(value - bound)).

    A theta that carries no base measure lies outside the class and is rejected as well.  `every`
    are the tables of all examples.

    The exponential variate comes first, so a bound from the coarse lattice's cells around
    theta can reject without the exact value.
    """
    tally, coarse = partition.tally, partition.coarse
    tally[TRIALS] += 1
    tally[TRIAL_WORK] += 1
    tally[SPENT] += 1
    side, low, step = target.side, target.low, target.step
    sheets = np.int64(box[SHEETS])
    most, fewest = np.int64(box[POSITIVES]), np.int64(box[NEGATIVES])
    across, near = np.int64(-1), np.int64(0)
    tables, of = every, 0
    if pairs is not None:
        across = pairs_across(box)
        if across >= 0:
            tables, of = pairs.tables, 2
    outer_1 = outer_2 = outer_3 = NO_LINE
    inner_1 = inner_2 = inner_3 = NO_LINE
    for e in range(3):
        sheet = (sheets >> (3 * e)) & 7
        if sheet == NO_SHEET:
            continue
        drawn, u, v, at = _dual_point(target.paper, side, sheet, box, e, chunks, at, theta)
        if drawn != OUTCOME_ACCEPTED:
            tally[OUTSIDE] += drawn >= OUTCOME_OUTSIDE
            return drawn, at
        theta[2 * e] = u
        theta[2 * e + 1] = v
        i = (u - low) // step
        j = (v - low) // step
        odd = sheet & 1
        outer = coarse[of + 1, sheet, i + odd, j + odd]
        inner = coarse[of, sheet, i + 1 - odd, j + 1 - odd]
        if outer < 0:
            outer = _coarse_row(tables, coarse, target, of, POSITIVE, sheet, i + odd, j + odd)
        if inner < 0:
            inner = _coarse_row(
                tables, coarse, target, of, NEGATIVE, sheet, i + 1 - odd, j + 1 - odd
            )
        if pairs is not None and across > 0:
            near += most_crossed(pairs, sheet, u, u + 1, v, v + 1)
        if outer < 0 or inner < 0:
            # no room: start the tables anew; without a bound here the rest still holds
            forget(partition, every, pairs)
            outer_1 = outer_2 = outer_3 = inner_1 = inner_2 = inner_3 = NO_LINE
            continue
        if e == 0:
            outer_1, inner_1 = outer, inner
        elif e == 1:
            outer_2, inner_2 = outer, inner
        else:
            outer_3, inner_3 = outer, inner
    spread, at = exponential(chunks, at)
    least = bound_of(target, box) - np.int64(min(spread / target.rate, 4e18))
    across = min(across, near)
    lines, below, totals = tables.lines, tables.below, tables.totals
    positives = min(most, count_piece(lines, below, totals[1], outer_1, outer_2, outer_3))
    if bound_value(target, positives, fewest, across) < least:
        return OUTCOME_REJECTED, at
    if inner_1 != NO_LINE:
        negatives = count_piece(lines, below, totals[0], inner_1, inner_2, inner_3)
        if bound_value(target, positives, negatives, across) < least:
            return OUTCOME_REJECTED, at
    tally[EXACT] += 1
    tally[TRIAL_WORK] += EXACT_COST
    tally[SPENT] += EXACT_TIME
    if across >= 0:
        positives = count_piece(
            every.lines, every.below, every.totals[1], NO_LINE, NO_LINE, NO_LINE
        )
    value = _value(target.paper, target, every, sheets, theta, least, positives)
    return OUTCOME_ACCEPTED if value >= least else OUTCOME_REJECTED, at


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
