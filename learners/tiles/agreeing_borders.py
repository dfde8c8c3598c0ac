"""Makes tiles agree with what their neighbours have released, where that costs little.

Half of the tiles of a square, as on a chessboard, are learned first; the others then weigh every
piece by how far it agrees with the labels beyond their sides,

    w(c) = exp(-kappa(c)),
    kappa(c) = min(MOST_NATS, strength * the sides' shares where c differs from its neighbours).

A neighbour's piece is public by then, so w is a public factor of the base measure, and the draw
stays the exponential mechanism's; the example lies in one tile still (docs/privacy.md, lemma 7).

How it is drawn: the sampler keeps what it would accept without w with probability w(c), and goes on
otherwise.  Whatever the examples are, w(c) is at least exp(-MOST_NATS), one in 55.

Shares are counted at up to :data:`MOST_PLACES` grid points a side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geometry.tiling import Tile, TileIndex
from learners.core.records import TileStep
from learners.envelope.target import NOTHING, Expected

#: Most that disagreement costs a piece.
MOST_NATS = 4.0

#: Grid points of a side at which labels are compared.
MOST_PLACES = 64

#: What a side of the whole square that disagrees costs, over the root of the number of examples.
_STRENGTH = 0.5

#: Strengths are multiples of one over this.
_UNIT = 1 << 10


def border_strength(count: float, per_side: int) -> Fraction:
    """Nats that a side costs on which all labels differ, for about `count` examples.

    Proportional to the side's length over the mean distance between examples.
    """
    return Fraction(round(_UNIT * _STRENGTH * math.sqrt(max(0.0, count)) / per_side), _UNIT)


def labels_beside(
    tile: Tile, index: TileIndex, released: Mapping[int, TileStep], strength: Fraction
) -> Expected:
    """What the tiles beside one expect of it, in its own frame.

    Parameters
    ----------
    tile : Tile
    index : TileIndex
        Numbers of the tiles of its square.
    released : mapping of int to TileStep
        By number; sides of the square, and those next to other tiles, expect nothing.
    strength : Fraction
        Nats of a side on which all labels differ.
    """
    points, labels = [], []
    for own, beyond in _sides(tile) if released else ():
        number = int(index.find(beyond[:1])[0])
        if number in released:
            points.append(tile.to_own_frame(own))
            labels.append(released[number].predict(beyond))
    if not points:
        return NOTHING
    lengths = [len(side) for side in points]
    whole = math.lcm(*lengths)
    return Expected(
        np.concatenate(points),
        np.concatenate(labels),
        np.repeat([whole // length for length in lengths], lengths),
        float(strength / whole),
        MOST_NATS,
    )


def _sides(tile: Tile) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Grid points of each side that is not the square's, and those next to them outside."""
    across, up = _places(tile.x0, tile.x1), _places(tile.y0, tile.y1)
    if tile.x0 > 0:
        yield _points(tile.x0, up), _points(tile.x0 - 1, up)
    if tile.x1 < tile.d:
        yield _points(tile.x1, up), _points(tile.x1 + 1, up)
    if tile.y0 > 0:
        yield _points(across, tile.y0), _points(across, tile.y0 - 1)
    if tile.y1 < tile.d:
        yield _points(across, tile.y1), _points(across, tile.y1 + 1)


def _points(x: int | NDArray[np.int64], y: int | NDArray[np.int64]) -> NDArray[np.int64]:
    points = np.empty((max(np.size(x), np.size(y)), 2), dtype=np.int64)
    points[:, 0], points[:, 1] = x, y
    return points


def _places(first: int, last: int) -> NDArray[np.int64]:
    """Up to MOST_PLACES of the numbers first..last, evenly."""
    length = last - first + 1
    count = min(length, MOST_PLACES)
    return first + (2 * np.arange(count, dtype=np.int64) + 1) * length // (2 * count)
