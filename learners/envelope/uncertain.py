"""Lists the examples that only some pieces of a box may hold, charges each to one of its edges, and
counts them for all of the box's cells, and pairs of cells, at once.

What that is for, and what a cell is: :mod:`learners.envelope.factorised_boxes`; why a charge bounds
the score: docs/privacy.md, lemma E3.  All counts are integers.  Everything here is compiled; a
*box* is a row of :class:`learners.envelope.partition.Partition`.
"""

from __future__ import annotations

import numpy as np

from geometry.columns import abscissae, cut_after, first_cut, unpack, within_cut
from geometry.compiled_loops import inner
from geometry.counting import coefficients
from learners.envelope.boxes import SHEETS, edge_count, edge_in
from learners.envelope.workspace import BLOCK, CELLS, SIDE

#: In place of the edge that an example is charged to: negatives that several edges leave uncertain,
#: which count for nothing, and in a box of two edges whatever both do, which counts for pairs.
SEVERAL = -1

#: Bits of an entry from which on it has its ordinate, its abscissa, and its number of examples.
#: Before them are the label and the edge that it is charged to, or SEVERAL, less SEVERAL.
_Y, _X, _AMOUNT = 3, 15, 27

#: Most uncertain examples of a box: an entry has no more.  Of two edges MIX times as many are 2^29,
#: and what two bounds of a pair of cells differ by fits 32 bits.
_MOST, _MOST_PAIRED = 1 << 36, 1 << 25


@inner
def entry_of(x, y, label, amount):
    """One number for the examples of a label on a grid point, not yet charged to an edge."""
    return np.int64(amount) << _AMOUNT | x << _X | y << _Y | label


@inner
def group_of(entry):
    """2 * (edge - SEVERAL) + label, 0..7: what it is charged to."""
    return entry & 7


@inner
def place_of(entry):
    """Abscissa and ordinate."""
    return (entry >> _X) & 0xFFF, (entry >> _Y) & 0xFFF


@inner
def amount_of(entry):
    """How many examples it is."""
    return entry >> _AMOUNT


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
    do not fit, or are too many examples.  O(d) and O(1) an entry, O(log d) where a grid point holds
    several examples.
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
    count, room = 0, np.int64(_MOST_PAIRED if has_pairs(box) else _MOST)
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
                room -= left
                if room < 0:
                    return -1
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
                    found[count] = entry_of(x, y, label, amount)
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
def charge(basis, box, found, count, held, doubtful):
    """Keep the entries that are uncertain in a box, with the edge each is charged to.

    `found` holds all that are uncertain in a box around it, and may be `doubtful` itself;
    `held` counts the examples in all inner halfplanes of that box and goes on counting; `basis` is
    that of :class:`geometry.counting.LineTables`.
    """
    a, b, c = _corner_lines(basis, box)
    pairs = has_pairs(box)
    edges = edge_count(box)
    kept = 0
    for i in range(count):
        entry = found[i]
        (x, y), label = place_of(entry), entry & 1
        outside = False
        misses = 0
        charged = -1
        for e in range(edges):
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
            held[label] += amount_of(entry)
            continue
        to = SEVERAL if misses > 1 and (pairs or label == 0) else charged
        doubtful[kept] = entry & -7 | (to - SEVERAL) << 1
        kept += 1
    return kept


@inner
def widest_axis(basis, box, doubtful, count, only):
    """The axis 0..5 that leaves most examples uncertain; -1 when the box is a single piece.

    `only` restricts it to one edge, unless it is -1.
    """
    c0, c1 = basis[0], basis[1]
    # by what the examples are charged to, SEVERAL first
    number = np.zeros(4, dtype=np.int64)
    sum_x = np.zeros(4, dtype=np.int64)
    sum_y = np.zeros(4, dtype=np.int64)
    for i in range(count):
        (x, y), amount = place_of(doubtful[i]), amount_of(doubtful[i])
        charged = group_of(doubtful[i]) >> 1
        number[charged] += amount
        sum_x[charged] += amount * x
        sum_y[charged] += amount * y
    pairs = has_pairs(box)
    chosen, most = -1, -1.0
    for e in range(3):
        if not edge_in(box, e) or (only >= 0 and e != only):
            continue
        along = sum_x if (box[SHEETS] >> (3 * e)) & 7 < 2 else sum_y
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


# -- counted for all of a box's cells, and pairs of cells, at once -------------------------------


@inner
def _group(entries, count, to, begins):
    """Sort entries by what they are charged to, and by label.

    Those of group g (:func:`group_of`) become to[begins[g]] to
    to[begins[g + 1] - 1].
    """
    begins[:] = 0
    for i in range(count):
        begins[group_of(entries[i]) + 1] += 1
    for group in range(8):
        begins[group + 1] += begins[group]
    # each begin goes on to the next one's, which is where it was
    for i in range(count):
        group = group_of(entries[i])
        to[begins[group]] = entries[i]
        begins[group] += 1
    for group in range(8, 0, -1):
        begins[group] = begins[group - 1]
    begins[0] = 0


@inner
def _reach(basis, sheet, label, block, ends, across, up, reach):
    """Entry k of a block lies in the halfplanes of an edge's cells (i, 0) to (i, reach[i, k] - 1).

    They are the outer halfplanes for positives, the inner ones for negatives: it lies in that of
    cell (i, j) when up[j, k] <= across[i, k].  Both are doubles, of which several are multiplied at
    once, with whole values: columns are narrow, d <= 2048, so all are below 2^38, by test
    (:meth:`geometry.halfplane.HalfplaneLattice.finest_bits`).
    """
    c0, c1, scale = float(basis[0]), float(basis[1]), float(basis[2])
    sign = -scale if sheet & 1 else scale
    # loops of sixteens are quicker; what else is in the room is not asked for
    many = (len(block) + 15) & -16
    for k in range(len(block)):
        x, y = place_of(block[k])
        along, beside = (x, y) if sheet < 2 else (y, x)
        up[0, k] = float(np.int32(along))
        across[0, k] = sign * float(np.int32(beside))
    # both corners are points of the cell
    corner = 1 - label
    # the first row, which has what the others are made from, is the last one
    for i in range(SIDE - 1, -1, -1):
        u = float(ends[0, i + corner] - corner)
        v = float(ends[1, i + corner] - corner)
        for k in range(many):
            across[i, k] = across[0, k] - (c0 - c1 * up[0, k]) * u
        for k in range(many):
            up[i, k] = up[0, k] * v
    # up rises with j
    for i in range(SIDE):
        for k in range(many):
            cells = np.int64(0)
            for j in range(SIDE):
                cells += np.int64(up[j, k] <= across[i, k])
            reach[i, k] = cells


@inner
def count_cells(basis, box, doubtful, count, work, only):
    """Fill `Workspace.ends`, `.counts`, `.paired` and `.together` of a box from its uncertain
    examples; the last for one first cell only, unless that is -1."""
    ends, counts = work.ends, work.counts
    across, up, reach = work.across, work.up, work.reach
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
    work.paired[0] = 0
    begins = work.begins
    _group(doubtful, count, work.sorted, begins)
    pairs = has_pairs(box) and begins[2] > 0
    start, stop = (np.int64(0), np.int64(CELLS)) if only < 0 else (only, only + 1)
    if pairs:
        work.together[:, start:stop] = 0
    for label in range(2):
        for e in range(3):
            if not edge_in(box, e):
                counts[e, label] = 0
                continue
            group, found, sheet = 2 * (e + 1) + label, work.last, (box[SHEETS] >> (3 * e)) & 7
            found[:] = 0
            for at in range(begins[group], begins[group + 1], BLOCK):
                block = work.sorted[at : min(at + BLOCK, begins[group + 1])]
                _reach(basis, sheet, label, block, ends[e], across, up, reach)
                for k in range(len(block)):
                    amount = amount_of(block[k])
                    for i in range(SIDE):
                        found[i, np.uintp(reach[i, k])] += amount
            for i in range(SIDE):
                total = np.int64(0)
                for j in range(SIDE - 1, -1, -1):
                    total += found[i, j + 1]
                    counts[e, label, i, j] = total
        if pairs:
            for at in range(begins[label], begins[label + 1], BLOCK):
                block = work.sorted[at : min(at + BLOCK, begins[label + 1])]
                for e in range(2):
                    sheet = (box[SHEETS] >> (3 * e)) & 7
                    _reach(basis, sheet, label, block, ends[e], across, up, reach)
                    _mark(reach, len(block), work.last, work.words[e])
                work.paired[0] += _add_pairs(block, work.words, work.together[label], start, stop)


@inner
def _mark(reach, many, last, words):
    """Bit k of a cell's word becomes whether the cell holds entry k of a block."""
    last[:] = 0
    for k in range(many):
        bit = np.int64(1) << k
        for i in range(SIDE):
            last[i, np.uintp(reach[i, k])] |= bit
    for i in range(SIDE):
        word = np.int64(0)
        for j in range(SIDE - 1, -1, -1):
            word |= last[i, j + 1]
            words[SIDE * i + j] = np.uint64(word)


@inner
def _add_pairs(block, words, together, start, stop):
    """Add the examples of a block that are held in both of two cells, for the pairs of these first
    cells.

    Returns how many examples it has.
    """
    first_words, second = words[0], words[1]
    for i in range(start, stop):
        first, to = first_words[i], together[i]
        if first != 0:
            for j in range(CELLS):
                to[j] += _ones(first & second[j])
    paired = np.int64(len(block))
    for k in range(len(block)):
        # one of them has been added
        more = np.int32(amount_of(block[k]) - 1)
        if more == 0:
            continue
        paired += more
        bit = np.uint64(1) << np.uint64(k)
        for i in range(start, stop):
            if first_words[i] & bit:
                to = together[i]
                for j in range(CELLS):
                    to[j] += more if second[j] & bit else 0
    return paired


@inner
def _ones(word):
    """How many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int32((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
