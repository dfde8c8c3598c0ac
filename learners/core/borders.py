"""Finds segments along which a release's labels change: edges of its pieces, in boxes of tiles.

They are doubles (:mod:`geometry.bulk_labels`).  Within grids of fewer than 2**13 places a side an
end of one is off its line by less than 2**-34, as a line is cut along the axis to which it is
closer, and so nothing that is divided exceeds 4 (d + 1) times its divisor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.core.records import Piece, TileStep

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


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
