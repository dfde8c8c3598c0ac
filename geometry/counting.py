"""Counting labelled examples in a halfplane or a triangle, exactly and in O(1).

For one halfplane a*x + b*y >= c not bounded by a vertical line, *cut(x)* is the
number of grid ordinates strictly below its closed part (b > 0), or on and below
its boundary (b < 0), in column x.  Its table holds, for each abscissa x, how many
examples of one label lie in columns before x and below the cut.  A triangle is
the region between the lower envelope of its b < 0 boundaries and the upper
envelope of its b > 0 boundaries, over an interval of columns; each envelope has at
most three pieces, so its count is a sum of at most six differences of table
entries.  All ends of pieces are integer floor divisions: nothing rounds.

Building the column tables takes O(n + d^2), a line's table O(d), a count in O(1)
two table entries per envelope piece, and a count without tables O(d).  Times do
not depend on n.  Memory: 8 (d+1)(d+2) bytes for the columns, 4 (d+2) a line and label.

Everything here is compiled; arrays are C-contiguous with the dtypes stated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: Row of `LineTables.lines` for "no constraint": a = b = c = 0.
NO_LINE = 0

_FULL = -1

# On small grids a budget in bytes would allow millions of lines, whose hash costs more to clear
# than the tables save.
_MOST_LINES = 1 << 16


class LineTables(NamedTuple):
    """Tables of the lines met so far, found by their dual point.

    Attributes
    ----------
    columns : int32 array, shape (2, d+1, d+2)
        columns[s, x, j]: examples of label s with abscissa x and ordinate below j.
    totals : int32 array, shape (2, d+2)
        Examples with abscissa below x, by label.
    lines : int64 array, shape (capacity, 3)
        (a, b, c) of each line; row 0 constrains nothing.
    below : int32 array, shape (capacity, d+2)
        The table of each line for its label (not filled in when b = 0).
    slots : int64 array, shape (2**m, 3)
        Open-addressing hash: 8*u + 2*sheet + label, v, row (row < 0: free).
    used : int64 array, shape (1,)
        Rows taken.
    basis : int64 array, shape (3,)
        (c0, c1, D) of the halfplane lattice.
    """

    columns: NDArray[np.int32]
    totals: NDArray[np.int32]
    lines: NDArray[np.int64]
    below: NDArray[np.int32]
    slots: NDArray[np.int64]
    used: NDArray[np.int64]
    basis: NDArray[np.int64]


def count_columns(
    points: NDArray[np.int64], labels: NDArray[np.bool_], d: int
) -> NDArray[np.int32]:
    """`LineTables.columns` of the examples: grid points (n, 2) in 0..d and labels (n,)."""
    columns = np.zeros((2, d + 1, d + 2), dtype=np.int32)
    _fill_columns(points, labels, columns)
    return columns


def make_tables(
    columns: NDArray[np.int32], basis: tuple[int, int, int], table_bytes: int
) -> LineTables:
    """Room for as many line tables over the columns as fit table_bytes.

    Parameters
    ----------
    columns : int32 array, shape (2, d+1, d+2)
        From :func:`count_columns`; not copied.
    basis : tuple of int
        :attr:`geometry.halfplane.HalfplaneLattice.basis`.
    table_bytes : int
        Budget; pages are taken from the system only as tables fill up.
    """
    d = columns.shape[1] - 1
    totals = np.zeros((2, d + 2), dtype=np.int32)
    np.cumsum(columns[:, :, d + 1], axis=1, out=totals[:, 1:])
    capacity = min(max(256, table_bytes // (4 * (d + 2))), _MOST_LINES)
    slots = np.full((1 << (2 * capacity - 1).bit_length(), 3), -1, dtype=np.int64)
    lines = np.empty((capacity, 3), dtype=np.int64)
    lines[NO_LINE] = 0
    return LineTables(
        columns=columns,
        totals=totals,
        lines=lines,
        below=np.empty((capacity, d + 2), dtype=np.int32),
        slots=slots,
        used=np.ones(1, dtype=np.int64),
        basis=np.array(basis, dtype=np.int64),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_columns(points, labels, columns):
    for i in range(len(points)):
        columns[1 if labels[i] else 0, points[i, 0], points[i, 1] + 1] += 1
    for s in range(2):
        for x in range(columns.shape[1]):
            for j in range(1, columns.shape[2]):
                columns[s, x, j] += columns[s, x, j - 1]


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def cut_terms(a, b, c):
    """(p, q, m) with cut(x) = floor((p + q*x) / m), for b != 0."""
    if b > 0:
        return c + b - 1, -a, b
    return -c - b, a, -b


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_line(column, a, b, c, row):
    """row[x] = examples in columns before x and below the line's cut."""
    width, height = column.shape
    p, q, m = cut_terms(a, b, c)
    cut = p // m
    rest = p - cut * m
    step = q // m
    more = q - step * m
    count = 0
    row[0] = 0
    for x in range(width):
        count += column[x, min(max(cut, 0), height - 1)]
        row[x + 1] = count
        cut += step
        rest += more
        if rest >= m:
            rest -= m
            cut += 1


@njit(cache=True, nogil=True, error_model="numpy")
def forget_lines(tables):
    """Drop every line's table; they are made again on demand."""
    tables.used[0] = 1
    tables.slots[:, 2] = -1


@njit(cache=True, nogil=True, error_model="numpy")
def line_row(tables, sheet, u, v, label):
    """Row of a dual point's line for one label, made if it is new; -1 when there is no room."""
    slots = tables.slots
    mask = len(slots) - 1
    key = 8 * u + 2 * sheet + label
    h = (key * -7046029254386353131 + v) * -4417276706812531889
    h ^= h >> 29
    at = h & mask
    while slots[at, 2] >= 0:
        if slots[at, 0] == key and slots[at, 1] == v:
            return slots[at, 2]
        at = (at + 1) & mask
    row = tables.used[0]
    if row >= len(tables.lines):
        return _FULL
    tables.used[0] = row + 1
    slots[at, 0] = key
    slots[at, 1] = v
    slots[at, 2] = row
    a, b, c = coefficients(tables.basis, sheet, u, v)
    tables.lines[row, 0] = a
    tables.lines[row, 1] = b
    tables.lines[row, 2] = c
    if b != 0:
        _fill_line(tables.columns[label], a, b, c, tables.below[row])
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


@njit(cache=True, nogil=True, error_model="numpy")
def _narrow_vertical(a, c, first, last):
    """Columns first..last narrowed to a*x >= c (b = 0)."""
    if a > 0:
        return max(first, -((-c) // a)), last
    if a < 0:
        return first, min(last, (-c) // (-a))
    if c > 0:
        return last + 1, last
    return first, last


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def _add(below, row, b, lo, hi):
    if lo > hi:
        return 0
    part = below[row, hi + 1] - below[row, lo]
    return part if b < 0 else -part


@njit(cache=True, nogil=True, error_model="numpy")
def count_piece(lines, below, total, i, j, k):
    """Examples of one label in the intersection of three closed halfplanes.

    Parameters
    ----------
    lines, below : arrays
        Of :class:`LineTables`.
    total : int32 array, shape (d+2,)
        `totals` of the label.
    i, j, k : int
        Rows of the lines, made for that label; NO_LINE constrains nothing.
    """
    d = len(total) - 2
    a1, b1, c1 = lines[i, 0], lines[i, 1], lines[i, 2]
    a2, b2, c2 = lines[j, 0], lines[j, 1], lines[j, 2]
    a3, b3, c3 = lines[k, 0], lines[k, 1], lines[k, 2]
    first, last = 0, d
    if b1 == 0:
        first, last = _narrow_vertical(a1, c1, first, last)
    if b2 == 0:
        first, last = _narrow_vertical(a2, c2, first, last)
    if b3 == 0:
        first, last = _narrow_vertical(a3, c3, first, last)
    l1, r1, l2, r2, l3, r3 = 0, d, 0, d, 0, d
    l1, r1, l2, r2, first, last = _pair(a1, b1, c1, l1, r1, a2, b2, c2, l2, r2, first, last, d)
    l1, r1, l3, r3, first, last = _pair(a1, b1, c1, l1, r1, a3, b3, c3, l3, r3, first, last, d)
    l2, r2, l3, r3, first, last = _pair(a2, b2, c2, l2, r2, a3, b3, c3, l3, r3, first, last, d)
    if first > last:
        return 0
    count = 0
    if b1 >= 0 and b2 >= 0 and b3 >= 0:
        count = total[last + 1] - total[first]
    if b1 != 0:
        count += _add(below, i, b1, max(l1, first), min(r1, last))
    if b2 != 0:
        count += _add(below, j, b2, max(l2, first), min(r2, last))
    if b3 != 0:
        count += _add(below, k, b3, max(l3, first), min(r3, last))
    return count
