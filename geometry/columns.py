"""Sorts labelled examples by columns of abscissae and cells of ordinates, for exact counts.

Up to d = 2048 column i holds abscissa i and its cell j ordinate j, so whole cells are all that
is ever counted.  On larger grids a column is *wide*: it holds 2**shift abscissae, a cell
2**shift ordinates.  Cells that a line does not cross are still counted whole; the entries of the
others (grid points with their number of examples, :mod:`geometry.grid_counts`), kept in order of
their cells, are tested one by one.  A line is monotone, so it crosses fewer cells than there are
rows and columns together.

There are 513 to 1024 wide columns, so that tables stay in the processor's caches: selections with
twice as many were slower at 1e5 and at 1e6 examples, and so were narrow columns at d = 4096.

A line has a table of how many examples lie below it, column by column (:class:`LineTables`).

*cut(x)* of a halfplane a*x + b*y >= c, b != 0, is the number of grid ordinates strictly below
its closed part (b > 0), or on and below its boundary (b < 0), at abscissa x.

Complexity: O(m + cells) to build from m entries; O(columns) for a line or a piece, and a test for
each entry in the cells it crosses.  For m entries spread over the square these are about
2 m / columns; entries crowded into few cells cost more, up to m.  Memory: 8 (d+1)(d+2) bytes up to
d = 2048, beyond 2 to 8 MB and 12 bytes an entry; twice as much for 2**31 examples and more.

Integers: for the lines at all corners of boxes |a|*x + |b|*y + |c| stays below 2**62, one column
beyond d included (:meth:`geometry.halfplane.HalfplaneLattice.finest_bits`).

Everything here is compiled; arrays are C-contiguous with the dtypes stated.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geometry.arrays import Ints
from geometry.compiled_loops import inner, njit
from geometry.grid_counts import GridCounts

#: Largest d whose columns hold a single abscissa.
_MOST_NARROW = 2048

#: Numbers before `Columns.before` in a packed array: d and the shift.
HEAD = 2


#: Row of `LineTables.lines` for "no constraint": a = b = c = 0.
NO_LINE = np.int64(0)

# On small grids a budget in bytes would allow millions of lines, whose hash costs more to clear
# than the tables save.
_MOST_LINES = 1 << 16

#: An array of counts, see :attr:`geometry.grid_counts.GridCounts.count_type`.
Counts = NDArray[np.signedinteger[Any]]


class Columns(NamedTuple):
    """The examples of one label, counted by columns and cells.

    Attributes
    ----------
    d : int64
        Grid size.
    shift : int64
        A column has 2**shift abscissae, a cell 2**shift ordinates.
    before : int32 or int64 array, shape (columns + 1,)
        before[i]: examples in columns before i.
    cells : int32 or int64 array, shape (columns, columns + 1)
        cells[i, j]: examples in column i and a cell below j.  Where columns are wide, entries in
        columns before i, and in column i in a cell below j.
    entries : int32 or int64 array, shape (m + 1, 3)
        Where columns are wide, (x, y) of each entry and the examples of all before it, by column
        and then by cell; and the number of all examples in an entry that is none.
    """

    d: np.int64
    shift: np.int64
    before: Counts
    cells: Counts
    entries: Counts


def column_shift(d: int) -> int:
    """The shift for grid size d: 0 up to 2048, else one that leaves 513 to 1024 columns."""
    return 0 if d <= _MOST_NARROW else d.bit_length() - 10


def count_columns(counts: GridCounts) -> tuple[Counts, Counts]:
    """Columns of the examples by label, packed.

    A packed array holds d, the shift, and then the arrays of :class:`Columns` end to end: a
    compiled call counts references to every array it is passed, which costs as much as a count.
    """
    d, shift = counts.d, column_shift(counts.d)
    along = (d >> shift) + 1
    positives = int(np.count_nonzero(counts.labels))
    packed: list[Counts] = []
    for entries in (len(counts) - positives, positives):
        size = HEAD + along + 1 + along * (along + 1) + (3 * (entries + 1) if shift else 0)
        packed.append(np.zeros(size, dtype=counts.count_type))
        packed[-1][:HEAD] = d, shift
    # compiled loops know one kind of array
    points = np.ascontiguousarray(counts.points)
    _fill(points, counts.labels, counts.amounts, packed[0], packed[1])
    return packed[0], packed[1]


@inner
def unpack(packed):
    """The :class:`Columns` of a packed array, as views."""
    d, shift = np.int64(packed[0]), np.int64(packed[1])
    along = (d >> shift) + 1
    cells = HEAD + along + 1
    entries = cells + along * (along + 1)
    return Columns(
        d,
        shift,
        packed[HEAD:cells],
        packed[cells:entries].reshape(along, along + 1),
        packed[entries:].reshape(-1, 3),
    )


@inner
def unpack_cells(packed):
    """`Columns.cells` of a packed array."""
    along = (np.int64(packed[0]) >> packed[1]) + 1
    cells = HEAD + along + 1
    return packed[cells : cells + along * (along + 1)].reshape(along, along + 1)


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(points, labels, amounts, negatives, positives):
    one, two = unpack(negatives), unpack(positives)
    if one.shift != 0:
        _fill_entries(points, labels, amounts, one, np.int64(0))
        _fill_entries(points, labels, amounts, two, np.int64(1))
        return
    cells_0, cells_1 = one.cells, two.cells
    for i in range(len(points)):
        x, y = points[i, 0], points[i, 1] + 1
        if labels[i]:
            cells_1[x, y] += amounts[i]
        else:
            cells_0[x, y] += amounts[i]
    for columns in (one, two):
        before, cells = columns.before, columns.cells
        for x in range(len(cells)):
            for j in range(1, cells.shape[1]):
                cells[x, j] += cells[x, j - 1]
            before[x + 1] = before[x] + cells[x, -1]


@inner
def _fill_entries(points, labels, amounts, columns, label):
    """Put every entry of a label in its place, by wide columns and their cells."""
    shift, before = columns.shift, columns.before
    cells, entries = columns.cells, columns.entries
    for i in range(len(points)):
        if labels[i] == label:
            x, y = points[i, 0] >> shift, points[i, 1] >> shift
            cells[x, y + 1] += 1
            before[x + 1] += amounts[i]
    total = 0
    for x in range(len(cells)):
        before[x + 1] += before[x]
        for j in range(cells.shape[1]):
            total += cells[x, j]
            cells[x, j] = total
    free = cells.copy()
    for i in range(len(points)):
        if labels[i] == label:
            x, y = points[i, 0], points[i, 1]
            place = free[x >> shift, y >> shift]
            free[x >> shift, y >> shift] += 1
            entries[place, 0], entries[place, 1] = x, y
            entries[place + 1, 2] = amounts[i]
    for place in range(1, len(entries)):
        entries[place, 2] += entries[place - 1, 2]


@inner
def cut_terms(a, b, c):
    """(p, q, m) with cut(x) = floor((p + q*x) / m), for b != 0."""
    if b > 0:
        return c + b - 1, -a, b
    return -c - b, a, -b


@inner
def fill_line(packed, a, b, c, row):
    """row[i] = examples in columns before i and below the line's cut, for b != 0."""
    if packed[1] == 0:
        _fill_narrow(unpack_cells(packed), a, b, c, row)
    else:
        _fill_wide(unpack(packed), a, b, c, row)


@inner
def first_cut(line, x, shift):
    """A line's cut at abscissa x: whole part and rest, their steps to the next column, divisor."""
    a, b, c = line
    if b == 0:
        return 0, 0, 0, 0, 1
    p, q, m = cut_terms(a, b, c)
    cut = (p + q * x) // m
    step = (q << shift) // m
    return cut, p + q * x - cut * m, step, (q << shift) - step * m, m


@inner
def cut_after(cut, rest, step, more, size):
    """The cut (whole part, rest) a step further, without division."""
    cut += step
    rest += more
    if rest >= size:
        return cut + 1, rest - size
    return cut, rest


@inner
def within_cut(b, cut, low, high):
    """Ordinates low..high - 1 of a narrow column narrowed to a halfplane with this cut there.

    A vertical boundary (b = 0) narrows nothing.
    """
    if b < 0:
        return low, min(high, cut)
    if b > 0:
        return max(low, cut), high
    return low, high


@inner
def abscissae(a, b, c, d):
    """(first, last) abscissa of a grid that the first three halfplanes may have in common; the
    first is the greater when there is none.

    Vertical ones lie here altogether; a = b = c = 0 constrains nothing.
    """
    first, last = np.int64(0), np.int64(d)
    for f in range(3):
        if b[f] == 0:
            if a[f] > 0:
                first = max(first, -((-c[f]) // a[f]))
            elif a[f] < 0:
                last = min(last, (-c[f]) // (-a[f]))
            elif c[f] > 0:
                last = np.int64(-1)
            continue
        for g in range(f):
            if b[g] == 0 or (b[f] < 0) == (b[g] < 0):
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
    return first, last


@inner
def _fill_narrow(cells, a, b, c, row):
    width, height = cells.shape
    cut, rest, step, more, m = first_cut((a, b, c), np.int64(0), np.int64(0))
    count = 0
    row[0] = 0
    for x in range(width):
        count += cells[x, min(max(cut, 0), height - 1)]
        row[x + 1] = count
        cut, rest = cut_after(cut, rest, step, more, m)


@inner
def _fill_wide(columns, a, b, c, row):
    shift, before = columns.shift, columns.before
    cells, entries = columns.cells, columns.entries
    width, height = cells.shape
    top = (height - 1) << shift
    p, q, m = cut_terms(a, b, c)
    cut, rest, step, more, _ = first_cut((a, b, c), np.int64(0), shift)
    count = 0
    row[0] = 0
    for i in range(width):
        onward, rest = cut_after(cut, rest, step, more, m)
        # throughout the column, cut(x) lies between its values at both ends
        whole = min(max(min(cut, onward), 0), top) >> shift
        crossed = (min(max(max(cut, onward), 0), top) + (1 << shift) - 1) >> shift
        start, stop = cells[i, whole], cells[i, crossed]
        count += entries[start, 2] - before[i]
        for e in range(start, stop):
            below = m * (entries[e, 1] + 1) <= p + q * entries[e, 0]
            count += below * (entries[e + 1, 2] - entries[e, 2])
        row[i + 1] = count
        cut = onward


@inner
def _band(b, here, there, low, high, surely_low, surely_high):
    """Ordinates that may be inside, and that surely are, given a cut between here and there."""
    if b == 0:
        return low, high, surely_low, surely_high
    least, most = min(here, there), max(here, there)
    if b > 0:
        return max(low, least), high, max(surely_low, most), surely_high
    return low, min(high, most), surely_low, min(surely_high, least)


@inner
def _inside(x, y, first, last, one, two, three):
    a1, b1, c1 = one
    a2, b2, c2 = two
    a3, b3, c3 = three
    inside = (a1 * x + b1 * y >= c1) & (a2 * x + b2 * y >= c2) & (a3 * x + b3 * y >= c3)
    return inside & (first <= x) & (x <= last)


@inner
def count_span(columns, start, stop, first, last, one, two, three, most):
    """Examples of the columns start..stop - 1 in a piece, column by column.

    Parameters
    ----------
    columns : Columns
    start, stop : int
        Columns that have abscissae in first..last.
    first, last : int
        Abscissae of the piece; it is up to the caller that vertical boundaries lie here.
    one, two, three : tuple of int
        Halfplanes (a, b, c); 0, 0, 0 constrains nothing.
    most : int
        Counting ends above it.
    """
    shift, cells, entries = columns.shift, columns.cells, columns.entries
    d, more = columns.d, (1 << shift) - 1
    top = np.int64((cells.shape[1] - 1) << shift)
    cut_1, rest_1, step_1, more_1, size_1 = first_cut(one, start << shift, shift)
    cut_2, rest_2, step_2, more_2, size_2 = first_cut(two, start << shift, shift)
    cut_3, rest_3, step_3, more_3, size_3 = first_cut(three, start << shift, shift)
    count = 0
    for i in range(start, stop):
        here_1, here_2, here_3 = cut_1, cut_2, cut_3
        cut_1, rest_1 = cut_after(cut_1, rest_1, step_1, more_1, size_1)
        cut_2, rest_2 = cut_after(cut_2, rest_2, step_2, more_2, size_2)
        cut_3, rest_3 = cut_after(cut_3, rest_3, step_3, more_3, size_3)
        band = (np.int64(0), top, np.int64(0), top)
        band = _band(one[1], here_1, cut_1, *band)
        band = _band(two[1], here_2, cut_2, *band)
        low, high, surely_low, surely_high = _band(three[1], here_3, cut_3, *band)
        if low >= high:
            continue
        # cells low..high - 1; those from surely_low to surely_high - 1 count whole
        low, high = low >> shift, (high + more) >> shift
        surely_low, surely_high = (surely_low + more) >> shift, surely_high >> shift
        x = i << shift
        if surely_low < surely_high and first <= x and min(x + more, d) <= last:
            count += entries[cells[i, surely_high], 2] - entries[cells[i, surely_low], 2]
        else:
            surely_low = surely_high = high
        for e in range(cells[i, low], cells[i, surely_low]):
            inside = _inside(entries[e, 0], entries[e, 1], first, last, one, two, three)
            count += inside * (entries[e + 1, 2] - entries[e, 2])
        for e in range(cells[i, surely_high], cells[i, high]):
            inside = _inside(entries[e, 0], entries[e, 1], first, last, one, two, three)
            count += inside * (entries[e + 1, 2] - entries[e, 2])
        if count > most:
            break
    return count


class LineTables(NamedTuple):
    """Tables of the lines met so far, found by their dual point.

    Attributes
    ----------
    totals : tuple of two int32 or two int64 arrays
        The examples by label, packed (:func:`count_columns`).
    lines : int64 array, shape (capacity, 3)
        (a, b, c) of each line; row 0 constrains nothing.
    below : array of the totals' type, shape (capacity, columns + 1)
        The table of each line for its label (not filled in when b = 0).
    keys : int64 array, shape (2**m, 2)
        Open-addressing hash: 8*u + 2*sheet + label and v of the line in each slot.
    rows : int32 array, shape (2**m,)
        Its row; NO_LINE where the slot is free.
    used : int64 array, shape (1,)
        Rows taken.
    basis : int64 array, shape (3,)
        (c0, c1, D) of the halfplane lattice.
    """

    totals: tuple[Counts, Counts]
    lines: Ints
    below: Counts
    keys: Ints
    rows: NDArray[np.int32]
    used: Ints
    basis: Ints


def make_tables(
    totals: tuple[Counts, Counts],
    basis: tuple[int, int, int],
    table_bytes: int,
) -> LineTables:
    """Room for as many line tables over the columns as fit table_bytes.

    Parameters
    ----------
    totals : tuple of two int32 or two int64 arrays
        From :func:`count_columns`; not copied.
    basis : tuple of int
        :attr:`geometry.halfplane.HalfplaneLattice.basis`.
    table_bytes : int
        Budget; pages are taken from the system only as tables fill up.
    """
    before = unpack(totals[0]).before
    capacity = min(max(256, table_bytes // before.nbytes), _MOST_LINES)
    slots = 1 << (2 * capacity - 1).bit_length()
    lines = np.empty((capacity, 3), dtype=np.int64)
    lines[NO_LINE] = 0
    return LineTables(
        totals=totals,
        lines=lines,
        below=np.empty((capacity, len(before)), dtype=before.dtype),
        keys=np.empty((slots, 2), dtype=np.int64),
        rows=np.zeros(slots, dtype=np.int32),
        used=np.ones(1, dtype=np.int64),
        basis=np.array(basis, dtype=np.int64),
    )


def alike(tables: LineTables) -> LineTables:
    """Tables of the same examples with the same room, and no lines yet."""
    return make_tables(tables.totals, tuple(tables.basis.tolist()), tables.below.nbytes)
