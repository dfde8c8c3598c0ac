"""Counts labelled examples in a halfplane or a triangle, exactly and in O(1).

A line's table holds, for each column of :mod:`geometry.columns`, how many examples of one label
lie in the columns before it and below the line's cut.  A triangle is the region between the lower
envelope of its b < 0 boundaries and the upper envelope of its b > 0 boundaries, over an interval
of abscissae; each envelope has at most three pieces, so its count is a sum of at most six
differences of table entries.  All ends of pieces are integer floor divisions: nothing rounds.
Where columns are wide (d > 2048), a piece may end in the midst of one: of these columns, at most
five, the entries near the boundaries are tested one by one.

A line's table takes O(columns), a count in O(1) two table entries per envelope piece.  Times do
not depend on n, but for the entries tested one by one.  Memory: 4 (columns + 1) bytes a line
and label, 8 where there are 2**31 examples and more.

Everything here is compiled; arrays are C-contiguous with the dtypes stated.
"""

from __future__ import annotations

import numpy as np

from geometry.columns import HEAD, NO_LINE, count_span, fill_line, unpack
from geometry.compiled_loops import inner, njit

#: Labels of examples.  As Python's integers numba would compile a function for each of them.
NEGATIVE, POSITIVE = np.int64(0), np.int64(1)

_FULL = -1


@inner
def coefficients(basis, sheet, u, v):
    """(a, b, c) of the closed halfplane a*x + b*y >= c at a dual point."""
    along = basis[1] * u - v
    across = basis[2]
    level = basis[0] * u
    if sheet == 1 or sheet == 3:
        along, across, level = -along, -across, -level
    if sheet < 2:
        return along, across, level
    return across, along, level


@inner
def forget_lines(tables):
    """Drop every line's table; they are made again on demand."""
    tables.used[0] = 1
    tables.rows[:] = NO_LINE


@inner
def line_row(tables, sheet, u, v, label):
    """Row of a dual point's line for one label, made if it is new; -1 when there is no room."""
    keys, rows = tables.keys, tables.rows
    mask = len(rows) - 1
    key = 8 * u + 2 * sheet + label
    h = (key * -7046029254386353131 + v) * -4417276706812531889
    h ^= h >> 29
    at = h & mask
    while rows[at] != NO_LINE:
        if keys[at, 0] == key and keys[at, 1] == v:
            return np.int64(rows[at])
        at = (at + 1) & mask
    row = tables.used[0]
    if row >= len(tables.lines):
        return _FULL
    tables.used[0] = row + 1
    keys[at, 0] = key
    keys[at, 1] = v
    rows[at] = row
    a, b, c = coefficients(tables.basis, sheet, u, v)
    tables.lines[row, 0] = a
    tables.lines[row, 1] = b
    tables.lines[row, 2] = c
    if b != 0:
        fill_line(tables.totals[label], a, b, c, tables.below[row])
    return row


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _first_at_most(det, rhs, d):
    """Columns x with det*x <= rhs: (first, last), empty when first > last."""
    if det > 0:
        return 0, min(rhs // det, d)
    if det < 0:
        return max(-(rhs // -det), 0), d
    if rhs >= 0:
        return 0, d
    return d + 1, d


@inner
def _narrow_vertical(a, c, first, last):
    """Columns first..last narrowed to a*x >= c (b = 0)."""
    if a > 0:
        return max(first, -((-c) // a)), last
    if a < 0:
        return first, min(last, (-c) // (-a))
    if c > 0:
        return last + 1, last
    return first, last


@inner
def _pair(
    a1, b1, c1, l1, r1, a2, b2, c2, l2, r2, first, last, d
):  # fmt: skip
    """Fold one pair of boundaries into the columns where each is on its envelope.

    Opposite sides narrow the common interval first..last; same sides share the columns
    between them, ties going to the first.
    """
    if b1 == 0 or b2 == 0:
        return l1, r1, l2, r2, first, last
    det = a2 * b1 - a1 * b2
    rhs = c2 * b1 - c1 * b2
    if (b1 < 0) != (b2 < 0):
        if b1 > 0:
            # written for hi 1 and lo 2; swap roles
            det, rhs = -det, -rhs
        lo, hi = _first_at_most(det, rhs, d)
        return l1, r1, l2, r2, max(first, lo), min(last, hi)
    if b1 > 0:
        # upper envelope of lower bounds: boundary 1 rules where det*x >= rhs
        det, rhs = -det, -rhs
    lo, hi = _first_at_most(det, rhs, d)
    l1, r1 = max(l1, lo), min(r1, hi)
    if lo > hi:
        return l1, r1, l2, r2, first, last
    if lo == 0 and hi == d:
        return l1, r1, d + 1, d, first, last
    if lo == 0:
        return l1, r1, max(l2, hi + 1), r2, first, last
    return l1, r1, l2, min(r2, lo - 1), first, last


@inner
def _add(below, row, b, lo, hi):
    if lo > hi:
        return 0
    # an index that is unsigned need not be looked at for its sign
    line = np.uintp(row)
    part = below[line, np.uintp(hi + 1)] - below[line, np.uintp(lo)]
    return part if b < 0 else -part


@inner
def count_piece(lines, below, total, i, j, k):
    """Examples of one label in the intersection of three closed halfplanes.

    Parameters
    ----------
    lines, below : arrays
        Of :class:`LineTables`.
    total : array
        `totals` of the label.
    i, j, k : int
        Rows of the lines, made for that label; NO_LINE constrains nothing.
    """
    d = np.int64(total[0])
    a1, b1, c1 = lines[i, 0], lines[i, 1], lines[i, 2]
    a2, b2, c2 = lines[j, 0], lines[j, 1], lines[j, 2]
    a3, b3, c3 = lines[k, 0], lines[k, 1], lines[k, 2]
    # of one type from the first: a literal 0 would have the functions below compiled twice
    zero = np.int64(0)
    first, last = zero, d
    if b1 == 0:
        first, last = _narrow_vertical(a1, c1, first, last)
    if b2 == 0:
        first, last = _narrow_vertical(a2, c2, first, last)
    if b3 == 0:
        first, last = _narrow_vertical(a3, c3, first, last)
    l1, r1, l2, r2, l3, r3 = zero, d, zero, d, zero, d
    l1, r1, l2, r2, first, last = _pair(a1, b1, c1, l1, r1, a2, b2, c2, l2, r2, first, last, d)
    l1, r1, l3, r3, first, last = _pair(a1, b1, c1, l1, r1, a3, b3, c3, l3, r3, first, last, d)
    l2, r2, l3, r3, first, last = _pair(a2, b2, c2, l2, r2, a3, b3, c3, l3, r3, first, last, d)
    if first > last:
        return 0
    l1, r1 = max(l1, first), min(r1, last)
    l2, r2 = max(l2, first), min(r2, last)
    l3, r3 = max(l3, first), min(r3, last)
    if total[1] != 0:
        return _count_wide(
            below, total, i, a1, b1, c1, l1, r1, j, a2, b2, c2, l2, r2, k, a3, b3, c3, l3, r3,
            first, last,
        )  # fmt: skip
    count = 0
    if b1 >= 0 and b2 >= 0 and b3 >= 0:
        count = total[last + 1 + HEAD] - total[first + HEAD]
    if b1 != 0:
        count += _add(below, i, b1, l1, r1)
    if b2 != 0:
        count += _add(below, j, b2, l2, r2)
    if b3 != 0:
        count += _add(below, k, b3, l3, r3)
    return count


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _change(valid, x, shift):
    """Twice the column in which something changes at abscissa x, and 1 if in its midst."""
    if not valid:
        return 0
    return (x >> shift << 1) | (x & ((1 << shift) - 1) != 0)


@inner
def _count_wide(
    below, total, i, a1, b1, c1, l1, r1, j, a2, b2, c2, l2, r2, k, a3, b3, c3, l3, r3,
    first, last,
):  # fmt: skip
    """:func:`count_piece` where a column has several abscissae.

    At most five columns are counted by themselves: in their midst the piece begins or ends, or
    a boundary enters its envelope.  Between two changes each boundary is on its envelope
    throughout or not at all.
    """
    columns = unpack(total)
    shift, before = columns.shift, columns.before
    limit = np.int64(before[len(before) - 1])
    start, stop = first >> shift, (last >> shift) + 1
    changes = (
        _change(True, first, shift),
        _change(last < columns.d, last + 1, shift),
        _change(b1 != 0 and first < l1 <= r1, l1, shift),
        _change(b2 != 0 and first < l2 <= r2, l2, shift),
        _change(b3 != 0 and first < l3 <= r3, l3, shift),
    )
    count = 0
    while start < stop:
        nearest = 2 * stop
        for change in changes:
            if 2 * start < change < nearest:
                nearest = change
        end = nearest >> 1
        if start < end:
            x = start << shift
            if b1 >= 0 and b2 >= 0 and b3 >= 0:
                count += before[end] - before[start]
            if b1 != 0 and l1 <= x <= r1:
                count += _add(below, i, b1, start, end - 1)
            if b2 != 0 and l2 <= x <= r2:
                count += _add(below, j, b2, start, end - 1)
            if b3 != 0 and l3 <= x <= r3:
                count += _add(below, k, b3, start, end - 1)
        if nearest & 1:
            count += count_span(
                columns, end, end + 1, first, last, (a1, b1, c1), (a2, b2, c2), (a3, b3, c3), limit
            )
        start = end + (nearest & 1)
    return count
