"""A noisy field over the square and the sign of its interpolation, in whole numbers.

1. *Linear binning* (:func:`bin_linearly`): an example is divided into SHARES equal parts, which go
   to the four cells whose centres lie around it, to each in proportion to how near it is.  At the
   border of the square a cell takes what would fall beyond it.
2. Smoothing (:func:`smooth`): a sum over 5 by 5 cells with the weights KERNEL along either axis, a
   Gaussian of 0.6 cells; beyond the border cells come again, nearest first.
3. Bilinear interpolation between the centres of cells (:func:`signs`), at the middle of every
   *fine cell*; it has label 1 where the outcome is positive.

All of it is sums and products of whole numbers, so a tie has one answer on every machine.  2. and
3. know nothing but the field they are given; what noise 1. needs: docs/privacy.md, lemma B1.

Source of 1.: the *linear binning* of kernel estimates (Jones, Lotwick 1983, *On the errors involved
in computing the empirical characteristic function*; Wand 1994, *Fast computation of multivariate
kernel estimators*).  Where a cell's side is a few grid points, it matters most: cells that hold two
and three of them by turns would be counted as if they were equal.  Time and memory O(entries +
fine cells).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts

#: Parts of an example along an axis, and in all.
SHARES_PER_AXIS = 16
SHARES = SHARES_PER_AXIS**2

#: Places between the centres of neighbouring cells at which the field is interpolated.
PLACES = 256

#: Weights of the filter along an axis; their sum is 256.
KERNEL = (1, 42, 170, 42, 1)

#: Bits of the largest number that a weighted sum may reach.
_MOST_BITS = 62


def bin_linearly(counts: GridCounts, per_side: int) -> NDArray[np.int64]:
    """Parts of positive less parts of negative examples, int64 of shape (per_side, per_side).

    One example moves cells, four at most, in one direction and by SHARES together.

    Parameters
    ----------
    counts : GridCounts
        The examples.
    per_side : int
        Cells along a side, 1 to d + 1.

    Returns
    -------
    field : ndarray of int64, shape (per_side, per_side)
        The lowest row first.
    """
    (columns, across), (rows, up) = (_shares(at, counts.d, per_side) for at in counts.points.T)
    field = np.zeros((per_side, per_side), dtype=np.int64)
    signed = np.where(counts.labels, counts.amounts, -counts.amounts)
    for row, up_share in zip(rows, up, strict=True):
        for column, share in zip(columns, across, strict=True):
            # integers: sums of shares may be too large for doubles
            np.add.at(field, (row, column), signed * up_share * share)
    return field


def _shares(
    at: NDArray[np.int64], d: int, per_side: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cells before and after coordinates (m,), and the parts of each, both of shape (2, m)."""
    low, after = between_centres(2 * at + 1, d, per_side, SHARES_PER_AXIS)
    return _clipped(low, per_side), np.stack([SHARES_PER_AXIS - after, after])


def between_centres(
    doubled: NDArray[np.int64], d: int, per_side: int, parts: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where places lie between centres of cells, to the nearest of `parts` parts of a cell's side.

    Parameters
    ----------
    doubled : ndarray of int64
        Twice the places, 0 to 2 (d + 1); grid point x is the interval x..x+1, its middle x + 1/2.
    d, per_side, parts : int

    Returns
    -------
    low : ndarray of int64
        The cell whose centre is the last one before the place or at it; -1 before the first.
    after : ndarray of int64
        How many parts of a cell's side beyond that centre, 0 to `parts`.
    """
    low, above = np.divmod(doubled * per_side - (d + 1), 2 * (d + 1))
    return low, (above * parts + d + 1) // (2 * (d + 1))


def _clipped(low: NDArray[np.int64], per_side: int) -> NDArray[np.int64]:
    """Cells before and after, shape (2, m); beyond the border the outermost one."""
    return np.clip(np.stack([low, low + 1]), 0, per_side - 1)


def smooth(field: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum over 5 by 5 cells, weighted by KERNEL along either axis, shape (m, m).

    Its values are 2**16 times those of a mean.
    """
    return _along_rows(_along_rows(field).T).T


def _along_rows(field: NDArray[np.int64]) -> NDArray[np.int64]:
    m, reach = field.shape[1], len(KERNEL) // 2
    total = np.zeros_like(field)
    for shift, weight in enumerate(KERNEL, -reach):
        beside = (np.arange(m) + shift) % (2 * m)
        total += weight * field[:, np.minimum(beside, 2 * m - 1 - beside)]
    return total


def signs(field: NDArray[np.int64], d: int, cuts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where the smoothed field, interpolated at the middles of fine cells, is positive.

    A field whose sums could exceed 62 bits is first rounded down to a multiple of a power of two.

    Parameters
    ----------
    field : ndarray of int64, shape (m, m)
        The lowest row first; not yet smoothed.
    d : int
        Grid size.
    cuts : ndarray of int64, shape (f + 1,)
        First grid coordinate of each fine cell along a side, and d + 1.

    Returns
    -------
    inside : ndarray of bool, shape (f, f)
    """
    weights = (sum(KERNEL) * PLACES) ** 2
    largest = int(np.abs(field).max())
    excess = max(0, largest.bit_length() + weights.bit_length() - _MOST_BITS)
    smoothed = smooth(field >> excess)
    low, above = between_centres(cuts[1:] + cuts[:-1], d, len(field), PLACES)
    before, after = _clipped(low, len(field))
    rows = smoothed[before] * (PLACES - above)[:, None] + smoothed[after] * above[:, None]
    values = rows[:, before] * (PLACES - above) + rows[:, after] * above
    return np.asarray(values > 0)
