"""Labelled examples by columns of abscissae and cells of ordinates, for exact counts.

Up to d = 2048 column i holds abscissa i and its cell j ordinate j, so whole cells are all that
is ever counted.  On larger grids a column is *wide*: it holds 2**shift abscissae, a cell
2**shift ordinates.  Cells that a line does not cross are still counted whole; the examples of the
others, kept in order of their cells, are tested one by one.  A line is monotone, so it crosses
fewer cells than there are rows and columns together.

There are 513 to 1024 wide columns, so that tables stay in the processor's caches: selections with
twice as many were slower at 1e5 and at 1e6 examples, and so were narrow columns at d = 4096.

*cut(x)* of a halfplane a*x + b*y >= c, b != 0, is the number of grid ordinates strictly below
its closed part (b > 0), or on and below its boundary (b < 0), at abscissa x.

Complexity: O(n + cells) to build; O(columns) for a line or a piece, and a test for each example
in the cells it crosses.  For n examples spread over the square these are about 2 n / columns;
examples crowded into few cells cost more, up to n.  Memory: 8 (d+1)(d+2) bytes up to d = 2048,
beyond 2 to 8 MB and 8 bytes an example.

Integers: for the lines at all corners of boxes |a|*x + |b|*y + |c| stays below 2**62, one column
beyond d included (:meth:`geometry.halfplane.HalfplaneLattice.finest_bits`).

Everything here is compiled; arrays are C-contiguous with the dtypes stated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: Largest d whose columns hold a single abscissa.
_MOST_NARROW = 2048

#: Numbers before `Columns.before` in a packed array: d and the shift.
HEAD = 2


class Columns(NamedTuple):
    """The examples of one label, counted by columns and cells.

    Attributes
    ----------
    d : int64
        Grid size.
    shift : int64
        A column has 2**shift abscissae, a cell 2**shift ordinates.
    before : int32 array, shape (columns + 1,)
        before[i]: examples in columns before i.
    cells : int32 array, shape (columns, columns + 1)
        cells[i, j]: examples in column i and a cell below j.
    examples : int32 array, shape (n, 2)
        Their (x, y), by column and then by cell; none when the shift is 0.
    """

    d: np.int64
    shift: np.int64
    before: NDArray[np.int32]
    cells: NDArray[np.int32]
    examples: NDArray[np.int32]


def column_shift(d: int) -> int:
    """The shift for grid size d: 0 up to 2048, else one that leaves 513 to 1024 columns."""
    return 0 if d <= _MOST_NARROW else d.bit_length() - 10


def count_columns(
    points: NDArray[np.int64], labels: NDArray[np.bool_], d: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Columns of the examples by label, packed: grid points (n, 2) in 0..d and labels (n,).

    A packed array holds d, the shift, and then the arrays of :class:`Columns` end to end: a
    compiled call counts references to every array it is passed, which costs as much as a count.
    """
    shift = column_shift(d)
    along = (d >> shift) + 1
    positives = np.count_nonzero(labels)
    packed = []
    for total in (len(labels) - positives, positives):
        size = HEAD + along + 1 + along * (along + 1) + (2 * total if shift else 0)
        packed.append(np.zeros(size, dtype=np.int32))
        packed[-1][:HEAD] = d, shift
    _fill(points, labels, packed[0], packed[1])
    return packed[0], packed[1]


@njit(cache=True, nogil=True, error_model="numpy")
def unpack(packed):
    """The :class:`Columns` of a packed array, as views."""
    d, shift = np.int64(packed[0]), np.int64(packed[1])
    along = (d >> shift) + 1
    cells = HEAD + along + 1
    examples = cells + along * (along + 1)
    return Columns(
        d,
        shift,
        packed[HEAD:cells],
        packed[cells:examples].reshape(along, along + 1),
        packed[examples:].reshape(-1, 2),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def unpack_cells(packed):
    """`Columns.cells` of a packed array."""
    along = (np.int64(packed[0]) >> packed[1]) + 1
    cells = HEAD + along + 1
    return packed[cells : cells + along * (along + 1)].reshape(along, along + 1)


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(points, labels, negatives, positives):
    one, two = unpack(negatives), unpack(positives)
    shift, cells_0, cells_1 = one.shift, one.cells, two.cells
    for i in range(len(points)):
        x, y = points[i, 0] >> shift, (points[i, 1] >> shift) + 1
        if labels[i]:
            cells_1[x, y] += 1
        else:
            cells_0[x, y] += 1
    for columns in (one, two):
        before, cells = columns.before, columns.cells
        for x in range(len(cells)):
            for j in range(1, cells.shape[1]):
                cells[x, j] += cells[x, j - 1]
            before[x + 1] = before[x] + cells[x, -1]
    if shift != 0:
        _sort(points, labels, one, False)
        _sort(points, labels, two, True)


@njit(cache=True, nogil=True, error_model="numpy")
def _sort(points, labels, columns, label):
    """Put every example of a label in its place, from the last of its cell to the first."""
    shift, before, examples = columns.shift, columns.before, columns.examples
    left = columns.cells.copy()
    for i in range(len(points)):
        if labels[i] == label:
            x, y = points[i, 0], points[i, 1]
            column, above = x >> shift, (y >> shift) + 1
            left[column, above] -= 1
            place = before[column] + left[column, above]
            examples[place, 0], examples[place, 1] = x, y


@njit(cache=True, nogil=True, error_model="numpy")
def cut_terms(a, b, c):
    """(p, q, m) with cut(x) = floor((p + q*x) / m), for b != 0."""
    if b > 0:
        return c + b - 1, -a, b
    return -c - b, a, -b


@njit(cache=True, nogil=True, error_model="numpy")
def fill_line(packed, a, b, c, row):
    """row[i] = examples in columns before i and below the line's cut, for b != 0."""
    if packed[1] == 0:
        _fill_narrow(unpack_cells(packed), a, b, c, row)
    else:
        _fill_wide(unpack(packed), a, b, c, row)


@njit(cache=True, nogil=True, error_model="numpy")
def _first_cut(line, x, shift):
    """A line's cut at abscissa x: whole part and rest, their steps to the next column, divisor."""
    a, b, c = line
    if b == 0:
        return 0, 0, 0, 0, 1
    p, q, m = cut_terms(a, b, c)
    cut = (p + q * x) // m
    step = (q << shift) // m
    return cut, p + q * x - cut * m, step, (q << shift) - step * m, m


@njit(cache=True, nogil=True, error_model="numpy")
def _onward(cut, rest, step, more, size):
    """The cut (whole part, rest) a step further, without division."""
    cut += step
    rest += more
    if rest >= size:
        return cut + 1, rest - size
    return cut, rest


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_narrow(cells, a, b, c, row):
    width, height = cells.shape
    cut, rest, step, more, m = _first_cut((a, b, c), 0, 0)
    count = 0
    row[0] = 0
    for x in range(width):
        count += cells[x, min(max(cut, 0), height - 1)]
        row[x + 1] = count
        cut, rest = _onward(cut, rest, step, more, m)


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_wide(columns, a, b, c, row):
    shift, before = columns.shift, columns.before
    cells, examples = columns.cells, columns.examples
    width, height = cells.shape
    top = (height - 1) << shift
    p, q, m = cut_terms(a, b, c)
    cut, rest, step, more, _ = _first_cut((a, b, c), 0, shift)
    count = 0
    row[0] = 0
    for i in range(width):
        onward, rest = _onward(cut, rest, step, more, m)
        # throughout the column, cut(x) lies between its values at both ends
        whole = min(max(min(cut, onward), 0), top) >> shift
        crossed = (min(max(max(cut, onward), 0), top) + (1 << shift) - 1) >> shift
        count += cells[i, whole]
        for e in range(before[i] + cells[i, whole], before[i] + cells[i, crossed]):
            count += m * (examples[e, 1] + 1) <= p + q * examples[e, 0]
        row[i + 1] = count
        cut = onward


@njit(cache=True, nogil=True, error_model="numpy")
def _band(b, here, there, low, high, surely_low, surely_high):
    """Ordinates that may be inside, and that surely are, given a cut between here and there."""
    if b == 0:
        return low, high, surely_low, surely_high
    least, most = min(here, there), max(here, there)
    if b > 0:
        return max(low, least), high, max(surely_low, most), surely_high
    return low, min(high, most), surely_low, min(surely_high, least)


@njit(cache=True, nogil=True, error_model="numpy")
def _inside(x, y, first, last, one, two, three):
    a1, b1, c1 = one
    a2, b2, c2 = two
    a3, b3, c3 = three
    inside = (a1 * x + b1 * y >= c1) & (a2 * x + b2 * y >= c2) & (a3 * x + b3 * y >= c3)
    return inside & (first <= x) & (x <= last)


@njit(cache=True, nogil=True, error_model="numpy")
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
    shift, before = columns.shift, columns.before
    cells, examples = columns.cells, columns.examples
    d, more = columns.d, (1 << shift) - 1
    top = np.int64((cells.shape[1] - 1) << shift)
    cut_1, rest_1, step_1, more_1, size_1 = _first_cut(one, start << shift, shift)
    cut_2, rest_2, step_2, more_2, size_2 = _first_cut(two, start << shift, shift)
    cut_3, rest_3, step_3, more_3, size_3 = _first_cut(three, start << shift, shift)
    count = 0
    for i in range(start, stop):
        here_1, here_2, here_3 = cut_1, cut_2, cut_3
        cut_1, rest_1 = _onward(cut_1, rest_1, step_1, more_1, size_1)
        cut_2, rest_2 = _onward(cut_2, rest_2, step_2, more_2, size_2)
        cut_3, rest_3 = _onward(cut_3, rest_3, step_3, more_3, size_3)
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
            count += cells[i, surely_high] - cells[i, surely_low]
        else:
            surely_low = surely_high = high
        for e in range(before[i] + cells[i, low], before[i] + cells[i, surely_low]):
            count += _inside(examples[e, 0], examples[e, 1], first, last, one, two, three)
        for e in range(before[i] + cells[i, surely_high], before[i] + cells[i, high]):
            count += _inside(examples[e, 0], examples[e, 1], first, last, one, two, three)
        if count > most:
            break
    return count
