"""Merges boxes that meet in a face again, so that others can be split.  Compiled.

When the boxes are used up, most of them are light: they were halved while the envelope was much
higher, and hardly a trial goes there any more.  Two boxes of the same sheets and orders that agree
in all sides but one, on which one begins where the other ends, are together a box of the more
positives and the fewer negatives of the two.  The law stays what it was: docs/privacy.md, lemma E2.

Nothing is counted here; a compaction takes O(boxes), 6 sides each, and a sort.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import numpy as np

from geometry.compiled_loops import inner, njit
from learners.envelope.boxes import (
    NEGATIVES,
    POSITIVES,
    SHEETS,
    admitted_box,
    edge_in,
    orders_of,
    pairs_across,
    set_pairs_across,
)
from learners.envelope.partition import (
    BOXES,
    COMPACTIONS,
    MIX_USED,
    PLAIN,
    Partition,
    bound_of,
    box_mass,
    weigh,
)
from learners.envelope.target import Target

_NONE = -1


def compact(target: Target, partition: Partition, rise: float) -> bool:
    """Merge boxes, those first that cost least, while the mass rises by at most `rise` in all.

    Whether there are fewer boxes now.
    """
    used = int(partition.tally[BOXES])
    partners = np.empty(used, dtype=np.int32)
    rises = np.empty(used, dtype=np.float64)
    slots = np.empty(1 << (2 * used - 1).bit_length(), dtype=np.int32)
    _find_partners(target, partition, partners, rises, slots)
    del slots
    cheap = np.flatnonzero(rises <= rise)
    order = cheap[np.argsort(rises[cheap], kind="stable")]
    _merge(target, partition, partners, rises, order, rise)
    weigh(target, partition)
    partition.tally[COMPACTIONS] += 1
    return bool(partition.tally[BOXES] < used)


@njit(cache=True, nogil=True, error_model="numpy")
def _find_partners(target, partition, partners, rises, slots):
    """For each box the one that begins where it ends, and by how much the mass would rise.

    Of the up to six the one that costs least; -1 and infinity when there is none.  `slots` is room
    for a hash table: indices of boxes by :func:`_face` of where they begin.
    """
    boxes, used = partition.boxes, partition.tally[BOXES]
    masses = partition.tree[len(boxes) :]
    plain = np.zeros(3)
    both = np.empty(16, dtype=boxes.dtype)
    mask = len(slots) - 1
    partners[:] = _NONE
    rises[:] = np.inf
    for axis in range(6):
        slots[:] = _NONE
        for i in range(used):
            if edge_in(boxes[i], axis >> 1) and admitted_box(target, boxes[i]):
                at = _face(boxes[i], axis, boxes[i, 2 * axis]) & mask
                while slots[at] != _NONE:
                    at = (at + 1) & mask
                slots[at] = i
        for i in range(used):
            if not (edge_in(boxes[i], axis >> 1) and admitted_box(target, boxes[i])):
                continue
            at = _face(boxes[i], axis, boxes[i, 2 * axis + 1]) & mask
            while slots[at] != _NONE:
                j = slots[at]
                if _meet(boxes[i], boxes[j], axis):
                    _join(target, boxes[i], boxes[j], both)
                    rise = box_mass(target, both, plain) - masses[i] - masses[j]
                    if rise < rises[i]:
                        partners[i], rises[i] = j, rise
                    break
                at = (at + 1) & mask


@inner
def _face(box, axis, end):
    """A hash of all that two boxes have in common which meet on an axis at `end`."""
    key = np.int64(end)
    for column in range(12):
        if column >> 1 != axis:
            key = (key ^ box[column]) * -7046029254386353131
            key ^= key >> 29
    return key ^ box[SHEETS]


@inner
def _meet(one, two, axis):
    """Whether one ends where two begins on an axis, and they agree in all else."""
    for column in range(12):
        if column >> 1 != axis and one[column] != two[column]:
            return False
    same = one[SHEETS] == two[SHEETS] and orders_of(one) == orders_of(two)
    # counts of all examples and of those that close pairs leave are not of one kind
    same = same and (pairs_across(one) < 0) == (pairs_across(two) < 0)
    return same and one[2 * axis + 1] == two[2 * axis]


@inner
def _join(target, one, two, both):
    """Make `both` the box that two boxes are together."""
    both[:] = one
    for axis in range(6):
        both[2 * axis] = min(one[2 * axis], two[2 * axis])
        both[2 * axis + 1] = max(one[2 * axis + 1], two[2 * axis + 1])
    both[POSITIVES] = max(one[POSITIVES], two[POSITIVES])
    both[NEGATIVES] = min(one[NEGATIVES], two[NEGATIVES])
    across = max(pairs_across(one), pairs_across(two))
    if min(pairs_across(one), pairs_across(two)) < -1:
        # the greater of both bounds
        set_pairs_across(both, -1)
        across = max(bound_of(target, one), bound_of(target, two)) - bound_of(target, both) - 1
    set_pairs_across(both, across)


@inner
def _make_plain(factors, i):
    """What is plain is not written to: memory that was never written to need not be there."""
    if factors[i, MIX_USED] != PLAIN:
        factors[i] = PLAIN


@njit(cache=True, nogil=True, error_model="numpy")
def _merge(target, partition, partners, rises, order, left):
    """Merge boxes with their partners, in this order, while the rises do not exceed `left`.

    No box is merged twice.  Then the gaps are closed.
    """
    boxes, factors, used = partition.boxes, partition.factors, partition.tally[BOXES]
    both = np.empty(16, dtype=boxes.dtype)
    merged = np.zeros(used, dtype=np.bool_)
    gone = np.zeros(used, dtype=np.bool_)
    for i in order:
        j = partners[i]
        if j == _NONE or rises[i] > left:
            break
        if merged[i] or merged[j]:
            continue
        left -= rises[i]
        _join(target, boxes[i], boxes[j], both)
        boxes[i] = both
        _make_plain(factors, i)
        merged[i] = merged[j] = gone[j] = True
    kept = 0
    for i in range(used):
        if not gone[i] and admitted_box(target, boxes[i]):
            boxes[kept] = boxes[i]
            if factors[kept, MIX_USED] != PLAIN or factors[i, MIX_USED] != PLAIN:
                factors[kept] = factors[i]
            kept += 1
    # boxes to come start plain
    for i in range(kept, used):
        _make_plain(factors, i)
    partition.tally[BOXES] = kept
