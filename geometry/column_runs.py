"""Finds where along the columns of a grid labels may change: where a border passes between two
places, or through one.

Borders are doubles, and taken as thicker than they are rounded, as a run too many does no harm: a
column is met where it is within 1e-6, along x and along y.  For coordinates below 2**20 the place
along x is rounded by less than 2**-32, and a height, a share of a difference below 2**21 that is
off by at most four roundings, by less than 2**-29.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

#: Coordinates and sides of a grid are below that.
LONGEST = 1 << 20
#: Borders of which a part at a time is looked at, and so many columns of them.
_AT_ONCE = 1 << 19
#: Borders that cross more columns, relative to places, are not looked at: runs would be short.
_MOST_CROSSED = 1 / 4
#: Half of a border's thickness, in grid units.
_THICK = 1e-6


def run_begins(borders: Floats, width: int, height: int) -> NDArray[np.bool_] | None:
    """At which places x * height + y of a grid a run of one label may begin.

    Parameters
    ----------
    borders : ndarray of float, shape (m, 4)
        Segments x1, y1, x2, y2, below 2**20 in size, in grid units.
    width, height : int
        Of the grid, whose places are at (x, y) in 0..width-1 and 0..height-1; at most 2**20.

    Returns
    -------
    ndarray of bool, shape (width * height,), or None
        None if borders cross so many columns that runs would be short.
    """
    swapped = borders[:, :1] > borders[:, 2:3]
    borders = np.where(swapped, borders[:, [2, 3, 0, 1]], borders)
    first = np.ceil(np.clip(borders[:, 0] - _THICK, 0, width))
    columns = (np.floor(np.clip(borders[:, 2] + _THICK, -1, width - 1)) - first + 1).clip(0)
    before = np.cumsum(columns)
    if before[-1:].sum() > _MOST_CROSSED * width * height:
        return None
    begins = np.zeros((width, height), dtype=np.bool_)
    begins[:, 0] = True
    # some at a time, so that memory stays bounded
    for part in np.split(np.arange(len(before)), np.flatnonzero(np.diff(before // _AT_ONCE)) + 1):
        of, x = _ramps(first[part], columns[part])
        x1, y1, x2, y2 = borders[part][of].T
        with np.errstate(all="ignore"):
            slack = 1 / (x2 - x1)
            parts = [(x + side - x1) * slack for side in (-_THICK, _THICK)]
        # of a vertical one that begins just there 0 times infinity: all of it counts
        shares = [
            np.clip(np.nan_to_num(part, nan=end), 0, 1)
            for part, end in zip(parts, (0, 1), strict=True)
        ]
        ends = np.sort([y1 + share * (y2 - y1) for share in shares], axis=0)
        low = np.floor(np.clip(ends[0] - _THICK, 0, height))
        high = np.minimum(np.floor(ends[1] + _THICK) + 1, height - 1)
        of, y = _ramps(low, high - low + 1)
        begins[x[of], y] = True
    return begins.ravel()


def _ramps(first: Floats, lengths: Floats) -> tuple[Rows, Rows]:
    """Of ramps first, first + 1, ..., end to end: the number of each entry's, and its value."""
    many = np.maximum(lengths, 0).astype(np.int64)
    number = np.repeat(np.arange(len(many)), many)
    begin = first.astype(np.int64) + many - np.cumsum(many)
    return number, np.arange(len(number), dtype=np.int64) + begin[number]
