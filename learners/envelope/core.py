"""Tries pieces and splits boxes of the envelope until a piece is accepted.  Compiled.

See :mod:`learners.envelope.envelope_selection` for the algorithm; why boxes may change after each
rejected trial: docs/privacy.md, lemma E2.  All randomness arrives as a buffer of uniform 16-bit
chunks (:mod:`learners.envelope.chunks`).  Room for more boxes is made between two calls
(:mod:`learners.envelope.compaction`).
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import numpy as np

from geometry.compiled_loops import borrowed, inner, njit
from learners.envelope.boxes import NO_SHEET, SHEETS
from learners.envelope.chunks import RESERVE, exponential
from learners.envelope.factorised_boxes import (
    FACTOR_SPLIT_TIME,
    FACTORISE_COST,
    FACTORISE_TIME,
    factor_trial,
    factorise,
    split_factors,
)
from learners.envelope.partition import (
    BOXES,
    MIX_USED,
    OUTSIDE,
    PLAIN,
    SPENT,
    SPLIT_WORK,
    SPLITS,
    TRIAL_WORK,
    draw_box,
    forget,
    leaves_open,
    no_room,
)
from learners.envelope.trials import OUTCOME_ACCEPTED, OUTCOME_REJECTED, agrees, split, trial
from learners.envelope.workspace import SIDE

#: Why a call of :func:`run` came back.
ACCEPTED, NEEDS_RANDOM, PAUSED, STARVED, FULL, NEEDS_WORKSPACE = range(6)

# Of so many trials outside the class one leads to a split: such boxes must shrink, but they
# tell little about where the score is low.
_OUTSIDE_TRIALS = 16

# Work in units of one trial that the coarse lattice rejects.  A split really costs about eight;
# counting it as three, so that splits get most of the time, was fastest on all hard targets
# (docs/decisions/0003-envelope-refinement.md).
_SPLIT_COST = 3

# Microseconds of a split.
_SPLIT_TIME = 6

#: In place of the number of a box.
NO_BOX = np.int64(-1)

#: A strand lighter than this does not run until masses are weighed anew.
TINY = 1e-150


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _refine(
    target, tables, pairs, ordinates, partition, workspace, index, count, outcome, theta, rows
):  # fmt: skip
    """Factorise or halve a box after a rejected trial."""
    tally = partition.tally
    if workspace is not None:
        if partition.factors[index, MIX_USED] != PLAIN:
            tally[SPLIT_WORK] += 2 * FACTORISE_COST
            tally[SPENT] += FACTOR_SPLIT_TIME
            split_factors(target, tables, partition, index, count, outcome, workspace)
            return
        if outcome == OUTCOME_REJECTED and may_factorise(target, partition.boxes[index]):
            tally[SPLIT_WORK] += FACTORISE_COST
            tally[SPENT] += FACTORISE_TIME
            apart = True
            if pairs is not None:
                # what cells mix of both scores hardly bounds an open point of both labels
                apart = not leaves_open(target, tables, pairs.marked, partition.boxes[index], rows)
            if apart and factorise(target, tables, ordinates, partition, index, workspace):
                return
    if no_room(tables, pairs):
        forget(partition, tables, pairs)
    tally[SPLIT_WORK] += _SPLIT_COST
    tally[SPENT] += _SPLIT_TIME
    split(target, tables, pairs, partition, index, outcome, theta, rows)


@njit(cache=True, nogil=True, error_model="numpy")
def run_plain(
    target, tables, pairs, ordinates, partition, chunks, work, horizon, full, theta, at,
    expected,
):  # fmt: skip
    """:func:`run` while no box has been factorised: the first that may be ends the call.

    A function of its own, without half of the loops: most runs of few examples never need those,
    and one function for both takes a third longer to compile than the two.
    (Two processes that compile one function for two types at once may mix them up in numba's
    cache, which numbers them.)
    """
    return _run(
        target, tables, pairs, ordinates, partition, None, chunks, work, horizon, full, theta,
        at, NO_BOX, expected,
    )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy")
def run(
    target, tables, pairs, ordinates, partition, workspace, chunks, work, horizon, full, theta,
    at, pending, expected,
):  # fmt: skip
    """Trials and splits until one is accepted, the clock passes the horizon, the bits run out,
    `work` is done, the boxes are used up, or hardly any mass is left.

    Boxes that are used up and `full` do not end the call: trials go on without splits.

    `pending` is the box that ended :func:`run_plain`, or NO_BOX: the call goes on with that step.

    Returns (why, box, position in chunks).  On acceptance the dual points are in theta, int64 of
    shape (12,) (:func:`learners.envelope.strands.piece_at`), and their sheets are the box's.
    """
    return _run(
        target, tables, pairs, ordinates, partition, workspace, chunks, work, horizon,
        full, theta, at, pending, expected,
    )  # fmt: skip


# with a body of its own the greatest of the loops would be compiled once more for nothing
@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _run(
    target, tables, pairs, ordinates, partition, workspace, chunks, work, horizon, full, theta,
    at, pending, expected,
):  # fmt: skip
    """Without a workspace, or pairs (None), the compiler leaves out all that needs them."""
    target, tables, ordinates, partition = borrowed((target, tables, ordinates, partition))
    chunks, theta, expected = borrowed((chunks, theta, expected))
    boxes, tree, tally, clock = partition.boxes, partition.tree, partition.tally, partition.clock
    factors = partition.factors
    capacity = len(boxes)
    rows = np.zeros(6, dtype=np.int64)
    limit = tally[SPENT] + work
    while True:
        index, count, outcome = pending, np.int64(0), np.int64(OUTCOME_REJECTED)
        pending = NO_BOX
        if index < 0:
            if at + RESERVE > len(chunks):
                return NEEDS_RANDOM, 0, at
            if tree[1] < TINY:
                return STARVED, 0, at
            if clock[0] > horizon or tally[SPENT] > limit:
                return PAUSED, 0, at
            if not full and tally[BOXES] == capacity:
                return FULL, 0, at
            wait, at = exponential(chunks, at)
            # a compensated sum: the error does not grow with the number of trials
            term = wait / tree[1] - clock[1]
            total = clock[0] + term
            clock[1] = (total - clock[0]) - term
            clock[0] = total
            index, at = draw_box(tree, capacity, chunks, at)
            if workspace is None or factors[index, MIX_USED] == PLAIN:
                outcome, at = trial(
                    target, tables, pairs, partition, boxes[index], chunks, at, theta
                )
            else:
                outcome, at, count = factor_trial(
                    target, tables, ordinates, partition, index, workspace, chunks, at, theta
                )
            if outcome == OUTCOME_ACCEPTED:
                sheets = np.int64(boxes[index, SHEETS])
                kept, at = agrees(target.paper, expected, tables, sheets, theta, chunks, at)
                if kept:
                    return ACCEPTED, index, at
                # no bound is to blame: the box stays as it is
                continue
            if outcome == OUTCOME_REJECTED:
                refine = tally[SPLIT_WORK] <= tally[TRIAL_WORK]
            else:
                refine = tally[OUTSIDE] % _OUTSIDE_TRIALS == 0
            if not refine or tally[BOXES] == capacity:
                continue
            tally[SPLITS] += 1
            rejected = outcome == OUTCOME_REJECTED
            if workspace is None and rejected and may_factorise(target, boxes[index]):
                return NEEDS_WORKSPACE, index, at
        _refine(
            target, tables, pairs, ordinates, partition, workspace, index, count, outcome, theta,
            rows,
        )  # fmt: skip


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
