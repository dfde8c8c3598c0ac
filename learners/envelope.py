"""The compiled core of the envelope sampler: partition, trials, splits.

See :mod:`learners.envelope_selection` for the algorithm, its law and the proof that the
arithmetic stays within the charge.  All randomness arrives as a buffer of uniform 16-bit
chunks (:mod:`learners.chunks`); nothing here draws by itself.

A *row* is a row of :class:`geometry.counting.LineTables`.  A box's outer piece is the largest
it contains: it bounds the positives from above; its inner piece lies in all of them and bounds
the negatives from below.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from geometry.columns import count_span, cut_terms, unpack, unpack_cells
from geometry.counting import NO_LINE, coefficients, count_piece, forget_lines, line_row
from learners.chunks import exponential, less, uniform_below
from learners.factorised_boxes import (
    MIX,
    SIDE,
    best_mix,
    cell_term,
    charge,
    count_cells,
    gather,
    inner_term,
    weigh_cells,
    widest_axis,
)

#: Why a call of :func:`run` came back.
ACCEPTED, NEEDS_RANDOM, PAUSED, STARVED, FULL = range(5)

# Outcomes of a trial; OUTCOME_OUTSIDE + e when edge e lies outside the class.
OUTCOME_REJECTED, OUTCOME_ACCEPTED, OUTCOME_OUTSIDE = range(3)

# Of so many trials outside the class one leads to a split: such boxes must shrink, but they
# tell little about where the score is low.
_OUTSIDE_TRIALS = 16

#: Columns of a box: u0, u1, v0, v1 of each of three edges (half-open), then
NEGATIVES, POSITIVES, SHEETS, ORDERS = 12, 13, 14, 15

#: Entries of `Partition.tally`.
BOXES, TRIALS, EXACT, SPLITS, TRIAL_WORK, SPLIT_WORK, FORGOTTEN, OUTSIDE, FACTORISED = range(9)

#: Columns of `Partition.factors`.
MIX_USED, PEAK, VOLUME = range(3)
_PLAIN = -1.0

#: Chunks kept for one trial, which reads about 40.  A trial that would outrun them counts as
#: rejected; lazy comparison and masked rejection make that less likely than 2**-1000.
RESERVE = 4096

# Work in units of one trial that the coarse lattice rejects.  A split really costs about eight;
# counting it as three, so that splits get most of the time, was fastest on all hard targets
# (docs/decisions/0003-envelope-refinement.md).
_EXACT_COST, _SPLIT_COST = 8, 3

# The same for factorised boxes, whose trials and splits take some 300 microseconds: again splits
# get most of the time (docs/decisions/0005-factorised-boxes.md).
_FACTOR_TRIAL_COST, _FACTORISE_COST = 50, 10

# Two halves that weigh more than this, the whole being 1, gain nothing worth a choice.
_USELESS = 1.98

# Lines that one split may make.
_SPLIT_LINES = 48

#: A strand lighter than this does not run until masses are weighed anew.
TINY = 1e-150
#: In place of the sheet of an edge that a box does not have.
NO_SHEET = 7


class Partition(NamedTuple):
    """Boxes of dual points that cover the class, with their masses in a sum tree.

    Attributes
    ----------
    boxes : int64 array, shape (capacity, 16)
        Corners of three edges (12), negatives in the inner piece, positives in the outer
        piece, sheets (3 bits an edge, 7 = no such edge), and the number of ordered triples
        that the unordered one stands for (1, 3 or 6).
    tree : float64 array, shape (2 * capacity,)
        Masses at capacity + box; every other node is the sum of its two children.
    coarse : int32 array, shape (2, 4, cells, cells)
        Row of each coarse lattice line for a label and a sheet; -1 when not made.
    tally : int64 array, shape (9,)
        Counters, see the constants above.
    clock : float64 array, shape (2,)
        Time of the last trial, when trials come as a Poisson process of rate tree[1]; and what
        the compensated sum still owes.
    factors : float64 array, shape (capacity, 3)
        Of a factorised box (:mod:`learners.factorised_boxes`): its mix, and the peak and volume
        that give its mass.  The mix of a plain box is -1.
    """

    boxes: NDArray[np.int64]
    tree: NDArray[np.float64]
    coarse: NDArray[np.int32]
    tally: NDArray[np.int64]
    clock: NDArray[np.float64]
    factors: NDArray[np.float64]


class Target(NamedTuple):
    """What is drawn from.

    k, c_pos, c_neg, total : the integer score, total for the sum of its two parts and not the
    smaller; prior : weight of a lattice piece of no edge, one, two and three; rate : nats per unit
    of the score; reference : the score that weighs 1, the same for all strands of one draw; side :
    d * 2**bits, or 0 when the whole rectangle is admitted (measure "paper"); low, step : origin and
    step of the coarse lattice; narrow : longest side of a box that may be factorised, 0 for none.
    """

    k: int
    c_pos: int
    c_neg: int
    total: bool
    prior: tuple[float, float, float, float]
    rate: float
    reference: int
    side: int
    low: int
    step: int
    narrow: int


def make_partition(capacity: int, cells: int) -> Partition:
    """An empty partition for up to `capacity` boxes (a power of two)."""
    return Partition(
        boxes=np.empty((capacity, 16), dtype=np.int64),
        tree=np.zeros(2 * capacity, dtype=np.float64),
        coarse=np.full((2, 4, cells, cells), -1, dtype=np.int32),
        tally=np.zeros(9, dtype=np.int64),
        clock=np.zeros(2, dtype=np.float64),
        factors=np.full((capacity, 3), _PLAIN, dtype=np.float64),
    )


def grow(partition: Partition) -> Partition:
    """The same boxes and masses with twice the room."""
    capacity = len(partition.boxes)
    wider = make_partition(2 * capacity, partition.coarse.shape[2])
    wider.boxes[:capacity] = partition.boxes
    wider.coarse[:] = partition.coarse
    wider.tally[:] = partition.tally
    wider.clock[:] = partition.clock
    wider.factors[:capacity] = partition.factors
    level = wider.tree[2 * capacity :]
    level[:capacity] = partition.tree[capacity:]
    while len(level) > 1:
        above = wider.tree[len(level) // 2 : len(level)]
        above[:] = level[0::2] + level[1::2]
        level = above
    return wider


def pack_sheets(sheets: tuple[int, ...]) -> int:
    """Three bits an edge; missing edges are 7."""
    padded = (*sheets, NO_SHEET, NO_SHEET)[:3]
    return sum(sheet << (3 * e) for e, sheet in enumerate(padded))


@njit(cache=True, nogil=True, error_model="numpy")
def _value(target, positives, negatives):
    gained = target.k * positives + target.c_pos
    lost = -target.k * negatives + target.c_neg
    return gained + lost if target.total else min(gained, lost)


@njit(cache=True, nogil=True, error_model="numpy")
def _most_negatives(target, positives, least):
    """The most negatives with which a piece of at most so many positives scores `least`."""
    room = target.c_neg - least
    if target.total:
        room += target.k * positives + target.c_pos
    return room // target.k


@njit(cache=True, nogil=True, error_model="numpy")
def _weight(target, positives, negatives, reference):
    value = _value(target, positives, negatives)
    return math.exp(target.rate * (value - reference))


@njit(cache=True, nogil=True, error_model="numpy")
def _admits_some(side, u0, u1, v0, v1):
    """False only when no lattice point of the rectangle carries base measure."""
    if u0 >= u1 or v0 >= v1:
        return False
    if side == 0:
        return True
    if u0 - v1 >= side or v0 - u1 >= side:
        return False
    return max(u1, v1) > 0 and min(u0, v0) <= side


@njit(cache=True, nogil=True, error_model="numpy")
def trim(side, box, e):
    """Cut what carries no base measure off the rectangle of edge e; True if that was anything.

    What is left is the bounding box of the admitted points; empty when there are none.
    """
    if side == 0:
        return False
    u0, u1, v0, v1 = box[4 * e], box[4 * e + 1], box[4 * e + 2], box[4 * e + 3]
    if u0 >= u1 or v0 >= v1:
        return False
    if v1 <= 0:
        u0 = max(u0, 0)
    if u1 <= 0:
        v0 = max(v0, 0)
    if v0 > side:
        u1 = min(u1, side + 1)
    if u0 > side:
        v1 = min(v1, side + 1)
    # |u - v| <= side
    u0, u1 = max(u0, v0 - side), min(u1, v1 + side)
    v0, v1 = max(v0, u0 - side), min(v1, u1 + side)
    # never less than nothing
    u1, v1 = max(u0, u1), max(v0, v1)
    changed = u0 != box[4 * e] or u1 != box[4 * e + 1]
    changed = changed or v0 != box[4 * e + 2] or v1 != box[4 * e + 3]
    box[4 * e], box[4 * e + 1], box[4 * e + 2], box[4 * e + 3] = u0, u1, v0, v1
    return changed


@njit(cache=True, nogil=True, error_model="numpy")
def _admitted_box(side, box):
    for e in range(3):
        if (box[SHEETS] >> (3 * e)) & 7 == NO_SHEET:
            continue
        if not _admits_some(side, box[4 * e], box[4 * e + 1], box[4 * e + 2], box[4 * e + 3]):
            return False
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _edge_count(box):
    edges = 0
    for e in range(3):
        edges += (box[SHEETS] >> (3 * e)) & 7 != NO_SHEET
    return edges


@njit(cache=True, nogil=True, error_model="numpy")
def _mass(target, box, factor):
    """Prior of the box's lattice points and orders, times exp(rate * (bound - reference))."""
    volume = float(box[ORDERS]) * target.prior[_edge_count(box)]
    if factor[MIX_USED] >= 0.0:
        above = factor[PEAK] / MIX - target.reference
        return volume * factor[VOLUME] * math.exp(target.rate * above)
    for e in range(3):
        if (box[SHEETS] >> (3 * e)) & 7 == NO_SHEET:
            continue
        u0, u1, v0, v1 = box[4 * e], box[4 * e + 1], box[4 * e + 2], box[4 * e + 3]
        if not _admits_some(target.side, u0, u1, v0, v1):
            return 0.0
        volume *= float(u1 - u0)
        volume *= float(v1 - v0)
    return volume * _weight(target, box[POSITIVES], box[NEGATIVES], target.reference)


@njit(cache=True, nogil=True, error_model="numpy")
def _put_mass(tree, capacity, box, mass):
    node = capacity + box
    tree[node] = mass
    node >>= 1
    while node >= 1:
        tree[node] = tree[2 * node] + tree[2 * node + 1]
        node >>= 1


@njit(cache=True, nogil=True, error_model="numpy")
def best_bound(target, partition):
    """The greatest bound of a box that holds an admitted piece; very low when there is none."""
    boxes = partition.boxes
    best = np.int64(-(1 << 62))
    for i in range(partition.tally[BOXES]):
        bound = _value(target, boxes[i, POSITIVES], boxes[i, NEGATIVES])
        if partition.factors[i, MIX_USED] >= 0.0:
            bound = min(bound, np.int64(math.ceil(partition.factors[i, PEAK] / MIX)))
        if bound > best and _admitted_box(target.side, boxes[i]):
            best = bound
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def weigh(target, partition):
    """Compute every mass anew."""
    boxes, tree = partition.boxes, partition.tree
    capacity = len(boxes)
    used = partition.tally[BOXES]
    for i in range(capacity):
        tree[capacity + i] = _mass(target, boxes[i], partition.factors[i]) if i < used else 0.0
    for node in range(capacity - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@njit(cache=True, nogil=True, error_model="numpy")
def _far(low, high):
    """The high corner of [low, high): `high`, which boxes share, or the only point there is.

    Where a line passes through grid points, neighbouring lattice points may differ by many
    examples; with the only point as its corner, a box of one piece has that piece's own score.
    """
    return low if high - low == 1 else high


@njit(cache=True, nogil=True, error_model="numpy")
def _corner_rows(tables, box, rows):
    """Rows of the outer lines, for positives (0..2), and of the inner ones, for negatives (3..5).

    False when the tables are full.
    """
    for e in range(3):
        sheet = (box[SHEETS] >> (3 * e)) & 7
        if sheet == NO_SHEET:
            rows[e] = rows[3 + e] = NO_LINE
            continue
        u0, v0 = box[4 * e], box[4 * e + 2]
        u1, v1 = _far(u0, box[4 * e + 1]), _far(v0, box[4 * e + 3])
        # an upper (even) sheet keeps most at its low corner
        if sheet & 1:
            u0, u1, v0, v1 = u1, u0, v1, v0
        rows[e] = line_row(tables, sheet, u0, v0, 1)
        rows[3 + e] = line_row(tables, sheet, u1, v1, 0)
        if rows[e] < 0 or rows[3 + e] < 0:
            return False
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _recount(tables, box, rows):
    """Count in the box's outer and inner piece; it keeps its counts when the tables are full."""
    if _corner_rows(tables, box, rows):
        lines, below, totals = tables.lines, tables.below, tables.totals
        box[POSITIVES] = count_piece(lines, below, totals[1], rows[0], rows[1], rows[2])
        box[NEGATIVES] = count_piece(lines, below, totals[0], rows[3], rows[4], rows[5])


@njit(cache=True, nogil=True, error_model="numpy")
def add_boxes(partition, tables, boxes):
    """Append starting boxes and count in them; :func:`weigh` gives them their masses."""
    rows = np.zeros(6, dtype=np.int64)
    for i in range(len(boxes)):
        if len(tables.lines) - tables.used[0] < _SPLIT_LINES:
            forget_lines(tables)
        box = partition.boxes[partition.tally[BOXES]]
        partition.tally[BOXES] += 1
        box[:] = boxes[i]
        _recount(tables, box, rows)


@njit(cache=True, nogil=True, error_model="numpy")
def _draw_box(tree, capacity, chunks, at):
    """(box drawn in proportion to its mass, next position)."""
    node = 1
    while node < capacity:
        left = tree[2 * node]
        right = tree[2 * node + 1]
        # compare with the lighter side, whose share a double holds to full relative precision
        lighter = 0 if left <= right else 1
        took, at = less((left if lighter == 0 else right) / (left + right), chunks, at)
        node = 2 * node + (lighter if took else 1 - lighter)
    return node - capacity, at


# -- trials --------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def _exact_value(target, totals, basis, sheets, theta, least, most):
    """The score of theta, which holds at most `most` positives; once it is known to be below
    `least`, any value below that."""
    d = np.int64(totals[0][0])
    first, last = np.int64(0), np.int64(d)
    a = np.zeros(3, dtype=np.int64)
    b = np.zeros(3, dtype=np.int64)
    c = np.zeros(3, dtype=np.int64)
    used = 0
    for e in range(3):
        sheet = (sheets >> (3 * e)) & 7
        if sheet == NO_SHEET:
            continue
        a[used], b[used], c[used] = coefficients(basis, sheet, theta[2 * e], theta[2 * e + 1])
        if b[used] == 0:
            if a[used] > 0:
                first = max(first, -((-c[used]) // a[used]))
            elif a[used] < 0:
                last = min(last, (-c[used]) // (-a[used]))
            elif c[used] > 0:
                last = np.int64(-1)
            continue
        used += 1
    for f in range(used):
        for g in range(f):
            if (b[f] < 0) == (b[g] < 0):
                continue
            hi, lo = (f, g) if b[f] < 0 else (g, f)
            # columns where the upper boundary is not below the lower one: det * x <= rhs
            det = a[lo] * b[hi] - a[hi] * b[lo]
            rhs = c[lo] * b[hi] - c[hi] * b[lo]
            if det > 0:
                last = min(last, rhs // det)
            elif det < 0:
                first = max(first, -(rhs // -det))
            elif rhs < 0:
                last = np.int64(-1)
    most_negatives = _most_negatives(target, most, least)
    if totals[0][1] != 0:
        one, two, three = (a[0], b[0], c[0]), (a[1], b[1], c[1]), (a[2], b[2], c[2])
        neg, pos = unpack(totals[0]), unpack(totals[1])
        start, stop = first >> neg.shift, (last >> neg.shift) + 1
        negatives = count_span(neg, start, stop, first, last, one, two, three, most_negatives)
        if negatives > most_negatives:
            return _value(target, most, negatives)
        positives = count_span(pos, start, stop, first, last, one, two, three, len(totals[1]))
        return _value(target, positives, negatives)
    # cut(x) of each boundary, stepped without division
    cut = np.empty(3, dtype=np.int64)
    rest = np.empty(3, dtype=np.int64)
    step = np.empty(3, dtype=np.int64)
    more = np.empty(3, dtype=np.int64)
    size = np.empty(3, dtype=np.int64)
    for f in range(used):
        p, q, m = cut_terms(a[f], b[f], c[f])
        start = p + q * first
        cut[f] = start // m
        rest[f] = start - cut[f] * m
        step[f] = q // m
        more[f] = q - step[f] * m
        size[f] = m
    cells_0, cells_1 = unpack_cells(totals[0]), unpack_cells(totals[1])
    positives = np.int64(0)
    negatives = np.int64(0)
    for x in range(first, last + 1):
        high = np.int64(d + 1)
        low = np.int64(0)
        for f in range(used):
            if b[f] < 0:
                high = min(high, cut[f])
            else:
                low = max(low, cut[f])
            cut[f] += step[f]
            rest[f] += more[f]
            if rest[f] >= size[f]:
                rest[f] -= size[f]
                cut[f] += 1
        if high > low:
            negatives += cells_0[x, high] - cells_0[x, low]
            if negatives > most_negatives:
                return _value(target, most, negatives)
            positives += cells_1[x, high] - cells_1[x, low]
    return _value(target, positives, negatives)


@njit(cache=True, nogil=True, error_model="numpy")
def _coarse_row(tables, coarse, target, label, sheet, i, j):
    """Row of a coarse lattice line, made if it is new; -1 when the tables are full."""
    u = target.low + i * target.step
    v = target.low + j * target.step
    row = line_row(tables, sheet, u, v, label)
    coarse[label, sheet, i, j] = row
    return row


@njit(cache=True, nogil=True, error_model="numpy")
def _forget(partition, tables):
    forget_lines(tables)
    partition.coarse[:] = -1
    partition.tally[FORGOTTEN] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _trial(target, tables, partition, box, chunks, at, theta):
    """(outcome, next position): theta uniform in the box, kept with exp(rate*(value - bound)).

    A theta that carries no base measure lies outside the class and is rejected as well.

    The exponential variate comes first, so a bound from the coarse lattice's cells around
    theta can reject without the exact value.
    """
    tally, coarse = partition.tally, partition.coarse
    tally[TRIALS] += 1
    tally[TRIAL_WORK] += 1
    side, low, step = target.side, target.low, target.step
    sheets = box[SHEETS]
    outer_1 = outer_2 = outer_3 = NO_LINE
    inner_1 = inner_2 = inner_3 = NO_LINE
    for e in range(3):
        sheet = (sheets >> (3 * e)) & 7
        if sheet == NO_SHEET:
            continue
        u0, v0 = box[4 * e], box[4 * e + 2]
        u, at = uniform_below(box[4 * e + 1] - u0, chunks, at)
        v, at = uniform_below(box[4 * e + 3] - v0, chunks, at)
        if u < 0 or v < 0:
            return OUTCOME_REJECTED, at
        u += u0
        v += v0
        if side != 0 and (abs(u - v) > side or max(u, v) < 0 or min(u, v) > side):
            tally[OUTSIDE] += 1
            return OUTCOME_OUTSIDE + e, at
        theta[2 * e] = u
        theta[2 * e + 1] = v
        i = (u - low) // step
        j = (v - low) // step
        odd = sheet & 1
        outer = coarse[1, sheet, i + odd, j + odd]
        inner = coarse[0, sheet, i + 1 - odd, j + 1 - odd]
        if outer < 0:
            outer = _coarse_row(tables, coarse, target, 1, sheet, i + odd, j + odd)
        if inner < 0:
            inner = _coarse_row(tables, coarse, target, 0, sheet, i + 1 - odd, j + 1 - odd)
        if outer < 0 or inner < 0:
            # no room: start the tables anew; without a bound here the rest still holds
            _forget(partition, tables)
            outer_1 = outer_2 = outer_3 = inner_1 = inner_2 = inner_3 = NO_LINE
            continue
        if e == 0:
            outer_1, inner_1 = outer, inner
        elif e == 1:
            outer_2, inner_2 = outer, inner
        else:
            outer_3, inner_3 = outer, inner
    spread, at = exponential(chunks, at)
    bound = _value(target, box[POSITIVES], box[NEGATIVES])
    least = bound - np.int64(min(spread / target.rate, 4e18))
    lines, below, totals = tables.lines, tables.below, tables.totals
    positives = min(box[POSITIVES], count_piece(lines, below, totals[1], outer_1, outer_2, outer_3))
    if _value(target, positives, box[NEGATIVES]) < least:
        return OUTCOME_REJECTED, at
    if inner_1 != NO_LINE:
        negatives = count_piece(lines, below, totals[0], inner_1, inner_2, inner_3)
        if _value(target, positives, negatives) < least:
            return OUTCOME_REJECTED, at
    tally[EXACT] += 1
    tally[TRIAL_WORK] += _EXACT_COST
    value = _exact_value(target, tables.totals, tables.basis, sheets, theta, least, positives)
    return OUTCOME_ACCEPTED if value >= least else OUTCOME_REJECTED, at


# -- splits --------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def _blame(target, tables, box, theta, rows):
    """The edge whose coarse cell at the rejected theta, alone, lowers the bound most.

    It sees further than one halving: a side may have to be halved several times before the
    bound falls.  -1 when the box is as fine as the coarse lattice, or no edge alone does it.
    """
    low, step = target.low, target.step
    lowest = _value(target, box[POSITIVES], box[NEGATIVES])
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
        outer = line_row(tables, sheet, u1 if odd else u0, v1 if odd else v0, 1)
        inner = line_row(tables, sheet, u0 if odd else u1, v0 if odd else v1, 0)
        if outer < 0 or inner < 0:
            continue
        positives, negatives = _counts_with(tables, rows, e, outer, inner)
        bound = _value(target, positives, negatives)
        if bound < lowest:
            lowest = bound
            blamed = e
    return blamed


@njit(cache=True, nogil=True, error_model="numpy")
def _choose_axis(target, tables, box, rows, only):
    """(axis 0..5, positives, negatives): the halving whose two halves weigh least together.

    `only` restricts it to one edge, unless it is -1.  While a side is too long for the box to be
    factorised, sides that are short enough wait for it.  The positives are those of the half that
    lost the outer corner, the negatives those of the half that lost the inner one.  Where no
    halving lowers the envelope, the longest side is halved.  Axis -1 when the tables are full
    or nothing can be halved.
    """
    reference = _value(target, box[POSITIVES], box[NEGATIVES])
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
        near, far = box[other], _far(box[other], box[other + 1])
        odd = sheet & 1
        at_outer, at_inner = (far, near) if odd else (near, far)
        if axis & 1:
            outer = line_row(tables, sheet, at_outer, middle, 1)
            inner = line_row(tables, sheet, at_inner, middle, 0)
        else:
            outer = line_row(tables, sheet, middle, at_outer, 1)
            inner = line_row(tables, sheet, middle, at_inner, 0)
        if outer < 0 or inner < 0:
            return (-1, np.int64(0), np.int64(0))
        positives, negatives = _counts_with(tables, rows, e, outer, inner)
        weight = _weight(target, box[POSITIVES], negatives, reference)
        weight += _weight(target, positives, box[NEGATIVES], reference)
        if weight > _USELESS:
            # a plateau tells nothing yet: prefer the longest side
            weight = 2.0 + 1.0 / side
        if weight < best:
            best = weight
            chosen = (axis, positives, negatives)
    return chosen


@njit(cache=True, nogil=True, error_model="numpy")
def _split(target, tables, partition, index, outcome, theta, rows):
    """Halve a box where the rejected theta suggests; nothing when the tables are full."""
    boxes, tree = partition.boxes, partition.tree
    capacity = len(boxes)
    box = boxes[index]
    if not _corner_rows(tables, box, rows):
        return
    if outcome >= OUTCOME_OUTSIDE:
        only = outcome - OUTCOME_OUTSIDE
    else:
        only = _blame(target, tables, box, theta, rows)
    axis, positives, negatives = _choose_axis(target, tables, box, rows, only)
    if axis < 0:
        return
    middle = (box[2 * axis] + box[2 * axis + 1]) >> 1
    twin_index = partition.tally[BOXES]
    partition.tally[BOXES] += 1
    twin = boxes[twin_index]
    twin[:] = box
    # box keeps the outer corner, the low one on an upper (even) sheet; twin the inner one
    odd = (box[SHEETS] >> (3 * (axis >> 1))) & 1
    box[2 * axis + 1 - odd] = middle
    twin[2 * axis + odd] = middle
    box[NEGATIVES] = negatives
    twin[POSITIVES] = positives
    for half in (box, twin):
        # new corners, and those of a single point, have not been counted yet
        if trim(target.side, half, axis >> 1) or half[2 * axis + 1] - half[2 * axis] == 1:
            _recount(tables, half, rows)
    factors = partition.factors
    _put_mass(tree, capacity, index, _mass(target, box, factors[index]))
    _put_mass(tree, capacity, twin_index, _mass(target, twin, factors[twin_index]))


# -- factorised boxes ----------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def _may_factorise(target, box):
    """Whether all sides are short enough, and long enough for cells."""
    for e in range(3):
        if (box[SHEETS] >> (3 * e)) & 7 == NO_SHEET:
            continue
        for axis in range(2 * e, 2 * e + 2):
            side = box[2 * axis + 1] - box[2 * axis]
            if side > target.narrow or side < 4 * SIDE:
                return False
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _examine(tables, ordinates, box, work):
    """Make a box's tables of cells; the number of its uncertain examples, or -1: too many."""
    found = gather(tables, ordinates, box, work.held, work.doubtful)
    if found < 0:
        return -1
    kept = charge(tables, box, work.doubtful, found, work.held, work.doubtful)
    count_cells(tables, box, work.doubtful, kept, work.ends, work.counts)
    return kept


@njit(cache=True, nogil=True, error_model="numpy")
def _factorise(target, tables, ordinates, partition, index, work):
    """Give a plain box a factorised envelope; False, and nothing changed, unless it is lighter."""
    box, factor = partition.boxes[index], partition.factors[index]
    if _examine(tables, ordinates, box, work) < 0:
        return False
    factor[MIX_USED], factor[PEAK], factor[VOLUME] = best_mix(target, box, work, MIX // 2)
    capacity = len(partition.boxes)
    mass = _mass(target, box, factor)
    if mass >= partition.tree[capacity + index]:
        factor[MIX_USED] = _PLAIN
        return False
    _put_mass(partition.tree, capacity, index, mass)
    partition.tally[FACTORISED] += 1
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _factor_trial(target, tables, ordinates, partition, index, work, chunks, at, theta):
    """As :func:`_trial`, in a factorised box; also the number of its uncertain examples.

    Cells are drawn by their weights, theta uniform in them, and kept with exp(rate * (value -
    their bound)).
    """
    box, tally = partition.boxes[index], partition.tally
    tally[TRIALS] += 1
    tally[TRIAL_WORK] += _FACTOR_TRIAL_COST
    count = _examine(tables, ordinates, box, work)
    mix = np.int64(partition.factors[index, MIX_USED])
    weigh_cells(target, box, mix, work)
    bound = inner_term(target, mix, work.held)
    positives, negatives = work.held[1], work.held[0]
    for e in range(3):
        sheet = (box[SHEETS] >> (3 * e)) & 7
        if sheet == NO_SHEET:
            continue
        cell, at = _draw_box(work.weights[e], SIDE * SIDE, chunks, at)
        i, j = cell // SIDE, cell % SIDE
        ends = work.ends[e]
        u, at = uniform_below(ends[0, i + 1] - ends[0, i], chunks, at)
        v, at = uniform_below(ends[1, j + 1] - ends[1, j], chunks, at)
        if u < 0 or v < 0:
            return OUTCOME_REJECTED, at, count
        # the ends of a lower sheet are those of -u and -v
        u += -ends[0, i + 1] if sheet & 1 else ends[0, i]
        v += -ends[1, j + 1] if sheet & 1 else ends[1, j]
        if target.side != 0 and (
            abs(u - v) > target.side or max(u, v) < 0 or min(u, v) > target.side
        ):
            tally[OUTSIDE] += 1
            return OUTCOME_OUTSIDE + e, at, count
        theta[2 * e] = u
        theta[2 * e + 1] = v
        bound += cell_term(target, mix, work.counts, e, i, j)
        positives += work.counts[e, 1, i, j]
        negatives += work.counts[e, 0, i, j]
    spread, at = exponential(chunks, at)
    least = bound - np.int64(min(MIX * spread / target.rate, 4e18))
    if MIX * _value(target, positives, negatives) < least:
        return OUTCOME_REJECTED, at, count
    tally[EXACT] += 1
    tally[TRIAL_WORK] += _EXACT_COST
    value = _exact_value(
        target, tables.totals, tables.basis, box[SHEETS], theta, -(-least // MIX), positives
    )
    return OUTCOME_ACCEPTED if MIX * value >= least else OUTCOME_REJECTED, at, count


@njit(cache=True, nogil=True, error_model="numpy")
def _split_factors(target, tables, partition, index, count, outcome, work):
    """Halve a factorised box that has just been examined; each half is factorised, too."""
    boxes, factors, tree = partition.boxes, partition.factors, partition.tree
    capacity = len(boxes)
    box = boxes[index]
    only = outcome - OUTCOME_OUTSIDE if outcome >= OUTCOME_OUTSIDE else -1
    axis = widest_axis(tables, box, work.doubtful, count, only)
    if axis < 0:
        return
    middle = (box[2 * axis] + box[2 * axis + 1]) >> 1
    twin_index = partition.tally[BOXES]
    partition.tally[BOXES] += 1
    boxes[twin_index] = box
    box[2 * axis + 1] = middle
    boxes[twin_index, 2 * axis] = middle
    negatives, positives = work.held[0], work.held[1]
    mix = np.int64(factors[index, MIX_USED])
    for half_index in (index, twin_index):
        half, factor = boxes[half_index], factors[half_index]
        if _admitted_box(target.side, half):
            work.held[0], work.held[1] = negatives, positives
            kept = charge(tables, half, work.doubtful, count, work.held, work.halved)
            count_cells(tables, half, work.halved, kept, work.ends, work.counts)
            factor[MIX_USED], factor[PEAK], factor[VOLUME] = best_mix(target, half, work, mix)
        else:
            factor[MIX_USED], factor[PEAK], factor[VOLUME] = float(mix), 0.0, 0.0
        _put_mass(tree, capacity, half_index, _mass(target, half, factor))


@njit(cache=True, nogil=True, error_model="numpy")
def run(
    target, tables, ordinates, partition, workspace, chunks, work, horizon, may_grow, theta, at
):  # fmt: skip
    """Trials and splits until one is accepted, the clock passes the horizon, the bits run out,
    `work` is done, the boxes are used up (only if they may grow), or hardly any mass is left.

    Returns (why, box, position in chunks).  On acceptance the dual points are in theta,
    int64 of shape (6,), and their sheets are the box's.
    """
    boxes, tree, tally, clock = partition.boxes, partition.tree, partition.tally, partition.clock
    factors = partition.factors
    capacity = len(boxes)
    rows = np.zeros(6, dtype=np.int64)
    limit = tally[TRIAL_WORK] + tally[SPLIT_WORK] + work
    while True:
        if at + RESERVE > len(chunks):
            return NEEDS_RANDOM, 0, at
        if tree[1] < TINY:
            return STARVED, 0, at
        if clock[0] > horizon or tally[TRIAL_WORK] + tally[SPLIT_WORK] > limit:
            return PAUSED, 0, at
        if may_grow and tally[BOXES] == capacity:
            return FULL, 0, at
        wait, at = exponential(chunks, at)
        # a compensated sum: the error does not grow with the number of trials
        term = wait / tree[1] - clock[1]
        total = clock[0] + term
        clock[1] = (total - clock[0]) - term
        clock[0] = total
        index, at = _draw_box(tree, capacity, chunks, at)
        factorised = factors[index, MIX_USED] >= 0.0
        count = np.int64(0)
        if factorised:
            outcome, at, count = _factor_trial(
                target, tables, ordinates, partition, index, workspace, chunks, at, theta
            )
        else:
            outcome, at = _trial(target, tables, partition, boxes[index], chunks, at, theta)
        if outcome == OUTCOME_ACCEPTED:
            return ACCEPTED, index, at
        if outcome == OUTCOME_REJECTED:
            refine = tally[SPLIT_WORK] <= tally[TRIAL_WORK]
        else:
            refine = tally[OUTSIDE] % _OUTSIDE_TRIALS == 0
        if not refine or tally[BOXES] == capacity:
            continue
        tally[SPLITS] += 1
        if factorised:
            tally[SPLIT_WORK] += 2 * _FACTORISE_COST
            _split_factors(target, tables, partition, index, count, outcome, workspace)
            continue
        if outcome == OUTCOME_REJECTED and _may_factorise(target, boxes[index]):
            tally[SPLIT_WORK] += _FACTORISE_COST
            if _factorise(target, tables, ordinates, partition, index, workspace):
                continue
        if len(tables.lines) - tables.used[0] < _SPLIT_LINES:
            _forget(partition, tables)
        tally[SPLIT_WORK] += _SPLIT_COST
        _split(target, tables, partition, index, outcome, theta, rows)
