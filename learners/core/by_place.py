"""Labels millions of points fast: places are labelled once each, then looked up, where that pays.

Along a column labels change only where a border passes between two places, or through one.  Where
all borders are known segments, only the first place of each run is asked about
(:mod:`geometry.column_runs`).  Within grids of fewer than 2**13 places a side an end of a border is
off its line by less than 2**-34, as a line is cut along the axis to which it is closer, and so
nothing that is divided exceeds 4 (d + 1) times its divisor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geometry.column_runs import run_begins
from learners.core.records import Piece, TileStep

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

#: Points that are labelled at a time, and from how many on each place is asked about once.
_AT_ONCE = 1 << 19
#: Places of a grid, at most, that labels are looked up by: a byte each.
_MOST_PLACES = 1 << 25


def by_place(
    label: Callable[[Rows], Rows],
    points: Rows,
    d: int,
    borders: Callable[[], Floats | None] = lambda: None,
) -> Rows:
    """Labels of points, some of them at a time, so that memory stays bounded.

    Parameters
    ----------
    label : callable
        Labels 0/1 of grid points, of each by itself.
    points : ndarray of int64, shape (n, D)
    d : int
    borders : callable
        Segments x1, y1, x2, y2, shape (m, 4), that part labels in the plane; None: not known.
    """
    n, places = len(points), (d + 1) ** points.shape[1]
    spans = [slice(i, i + _AT_ONCE) for i in range(0, n, _AT_ONCE)]
    if len(spans) < 2:
        return label(points)
    labels = np.empty(n, dtype=np.int64)
    if places > min(_MOST_PLACES, 8 * n) or points.min() < 0 or points.max() > d:
        for span in spans:
            labels[span] = label(points[span])
        return labels
    shape = (d + 1,) * points.shape[1]
    segments = borders()
    asked = None if segments is None else run_begins(segments, d + 1, d + 1)
    if asked is None:
        asked = np.zeros(places, dtype=np.bool_)
        for span in spans:
            asked[np.ravel_multi_index(points[span].T, shape)] = True
    first = np.flatnonzero(asked)
    known = np.empty(len(first), dtype=np.int8)
    for i in range(0, len(first), _AT_ONCE):
        at = np.unravel_index(first[i : i + _AT_ONCE], shape)
        known[i : i + _AT_ONCE] = label(np.stack(at, axis=1).astype(np.int64))
    # up to the next place that was asked about; nobody looks beside those that occur
    known = np.repeat(known, np.diff(first, append=places))
    for span in spans:
        labels[span] = known[np.ravel_multi_index(points[span].T, shape) - first[0]]
    return labels


def edge_lines(pieces: Iterable[Piece]) -> Rows:
    """a, b and c of all edges a*x + b*y = c of pieces, shape (m, 3)."""
    found = [h.coefficients for piece in pieces for h in piece]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def line_borders(lines: Rows, boxes: NDArray[Any]) -> Floats:
    """What boxes, left, bottom, right, top, of shape (m, 4) or (4,), hold of lines, or more."""
    a, b, c = lines.T.astype(np.float64)
    left, bottom, right, top = np.broadcast_to(boxes, (len(lines), 4)).T
    with np.errstate(divide="ignore", invalid="ignore"):
        flat = np.stack([left, (c - a * left) / b, right, (c - a * right) / b])
        steep = np.stack([(c - b * bottom) / a, bottom, (c - b * top) / a, top])
    ends = np.where(np.abs(b) >= np.abs(a), flat, steep)
    low, high = np.minimum(ends[:2], ends[2:]), np.maximum(ends[:2], ends[2:])
    met = (high >= [left - 1, bottom - 1]) & (low <= [right + 1, top + 1])
    return ends[:, met.all(axis=0)].T


def step_borders(steps: Sequence[TileStep]) -> Floats:
    """Of tiles or zones: pieces in their boxes, the boxes, and what the last one changes."""
    tiles = [step.tile for step in steps]
    boxes = np.array([(tile.x0, tile.y0, tile.x1, tile.y1) for tile in tiles])
    number = np.repeat(np.arange(len(steps)), [len(step.piece) for step in steps])
    lines = edge_lines(step.piece for step in steps)
    lines[:, 2] += (lines[:, :2] * boxes[number, :2]).sum(axis=1)
    sides = boxes + [-0.5, -0.5, 0.5, 0.5]
    # at a vertical side no label changes along a column
    found = [line_borders(lines, sides[number]), sides[:, [0, 1, 2, 1]]]
    if steps[0].zone is not None:  # the top of a tile is others' bottom
        found.append(sides[:, [0, 3, 2, 3]])
    tidied = steps[-1].tidied
    if tidied is not None:
        found += [tidied.changed.segments(), tidied.outline.segments()]
    return np.concatenate(found)


def final_labels(steps: Sequence[TileStep], points: Rows, drawn: NDArray[np.bool_]) -> Rows:
    """Labels 0/1 of points that are drawn so, after the last of some steps."""
    tidied = steps[-1].tidied
    return (drawn if tidied is None else tidied.predict(points, drawn)).astype(np.int64)
