"""Labels millions of points fast: each run of grid points is classified once, then looked up.

Along a column labels change only where a border passes between two places, or through one.  Where
all borders are known segments, only the first place of each run is asked about; else each place
that occurs.

Borders are doubles, and taken as thicker than they are rounded, as a run too many does no harm: a
column is met where it is within 1e-6, along x and along y.  For coordinates below 2**20 the place
along x is rounded by less than 2**-32, and a height, a share of a difference below 2**21 that is
off by at most four roundings, by less than 2**-29.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geometry.arrays import Flags, Floats, Ints

#: One label a point, 0 or 1, or bool.
Labels = NDArray[Any]

#: Fewer points are labelled as they are, others some at a time, so that memory stays bounded.
_MANY, _AT_ONCE = 50_000, 1 << 19
#: Places of a grid, at most, that labels are looked up by, a byte each: in all, and a point.
_MOST_PLACES, _PLACES_A_POINT = 1 << 25, 16
#: Sizes of coordinates, and sides of a grid, for which borders are looked at.
_LONGEST = 1 << 20
#: Borders that cross more columns, relative to places, are not looked at: runs would be short.
_MOST_CROSSED = 1 / 4
#: Half of a border's thickness, in grid units.
_THICK = 1e-6


def bulk_labels(
    label: Callable[[Ints], Labels],
    points: Ints,
    sides: tuple[int, ...],
    borders: Callable[[], Floats | None] = lambda: None,
) -> Labels:
    """Labels of points, many of which lie on a grid.

    Parameters
    ----------
    label : callable
        Labels of grid points, shape (m, D), of each by itself.
    points : ndarray of int64, shape (n, D)
    sides : tuple of int
        Places of the grid along each axis, from 0 on; points beside them are labelled, too.
    borders : callable
        Segments x1, y1, x2, y2, shape (m, 4), that part labels in the plane; None: not known.
    """
    n, places = len(points), math.prod(sides)
    if n < _MANY:
        return label(points)
    spans = [slice(i, i + _AT_ONCE) for i in range(0, n, _AT_ONCE)]
    most = min(_MOST_PLACES, _PLACES_A_POINT * n)
    # column by column: along the other axis it takes numpy twenty times as long
    beside = (x.min() < 0 or x.max() >= side for x, side in zip(points.T, sides, strict=True))
    if places > most or any(beside):
        return np.concatenate([label(points[span]) for span in spans])
    segments = borders()
    asked = None if segments is None else _run_begins(segments, *sides)
    if asked is None:
        asked = np.zeros(places, dtype=np.bool_)
        for span in spans:
            asked[np.ravel_multi_index(points[span].T, sides)] = True
    first = np.flatnonzero(asked)
    parts = (first[i : i + _AT_ONCE] for i in range(0, len(first), _AT_ONCE))
    spots = (np.unravel_index(part, sides) for part in parts)
    known = np.concatenate([label(np.stack(at, axis=1).astype(np.int64)) for at in spots])
    dtype = known.dtype
    # up to the next place that was asked about; nobody looks beside those that occur
    known = np.repeat(known.astype(np.int8), np.diff(first, append=places))
    labels = np.empty(n, dtype=dtype)
    for span in spans:
        labels[span] = known[np.ravel_multi_index(points[span].T, sides) - first[0]]
    return labels


def _run_begins(borders: Floats, width: int, height: int) -> Flags | None:
    """At which places x * height + y of a grid a run may begin; None if borders cross so many
    columns that runs would be short, or coordinates are large."""
    if not (np.abs(borders) < _LONGEST).all() or max(width, height) > _LONGEST:
        return None
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


def _ramps(first: Floats, lengths: Floats) -> tuple[Ints, Ints]:
    """Of ramps first, first + 1, ..., end to end: the number of each entry's, and its value."""
    many = np.maximum(lengths, 0).astype(np.int64)
    number = np.repeat(np.arange(len(many)), many)
    begin = first.astype(np.int64) + many - np.cumsum(many)
    return number, np.arange(len(number), dtype=np.int64) + begin[number]
