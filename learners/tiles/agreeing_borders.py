"""Makes tiles agree with what their neighbours have released, where that costs little.

Half of the tiles of a square, as on a chessboard, are learned first; the others then weigh every
piece by how far it agrees with the labels beyond their sides,

    w(c) = exp(-kappa(c)),
    kappa(c) = min(MOST_NATS, strength * the sides' shares where c differs from its neighbours).

A neighbour's piece is public by then, so w is a public factor of the base measure, and the draw
stays the exponential mechanism's; the example lies in one tile still (docs/privacy.md, lemma 7).

How it is drawn: a piece from the law without w is kept with probability w(c), exactly; otherwise
another one is drawn.  Whatever the examples are, w(c) is at least exp(-MOST_NATS), one in 55.

Shares are counted at up to :data:`MOST_PLACES` grid points a side, so they are fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geometry.tiling import Tile, TileIndex
from learners.core.records import TileStep
from learners.privacy.noise import bernoulli_exp
from learners.privacy.randomness import RandomSource

#: Most that disagreement costs a piece.
MOST_NATS = 4

#: Grid points of a side at which labels are compared.
MOST_PLACES = 64

#: What a side of the whole square that disagrees costs, over the root of the number of examples.
_STRENGTH = 0.5

#: Strengths are multiples of one over this.
_UNIT = 1 << 10


def chessboard(tiles: Sequence[Tile]) -> tuple[tuple[Tile, ...], tuple[Tile, ...]]:
    """Tiles of :func:`geometry.tiling.tile_square`: those of one colour, and of the other.

    No two of a colour share a side.
    """
    per_side = math.isqrt(len(tiles))
    black = [(i // per_side + i % per_side) % 2 == 0 for i in range(len(tiles))]
    first = tuple(tile for tile, one in zip(tiles, black, strict=True) if one)
    return first, tuple(tile for tile, one in zip(tiles, black, strict=True) if not one)


def border_strength(count: float, per_side: int) -> Fraction:
    """Nats that a side costs on which all labels differ, for about `count` examples.

    Proportional to the side's length over the mean distance between examples.
    """
    return Fraction(round(_UNIT * _STRENGTH * math.sqrt(max(0.0, count)) / per_side), _UNIT)


@dataclass(frozen=True, slots=True)
class Borders:
    """The sides of a tile beyond which labels are released.

    Attributes
    ----------
    sides : tuple of (ndarray of int64, shape (p, 2), ndarray of bool, shape (p,))
        Of each side grid points of the tile, and labels of the grid points next to them.
    strength : Fraction
        Nats of a side on which all labels differ.
    """

    sides: tuple[tuple[NDArray[np.int64], NDArray[np.bool_]], ...]
    strength: Fraction

    @classmethod
    def of(
        cls, tile: Tile, index: TileIndex, released: Mapping[int, TileStep], strength: Fraction
    ) -> Borders:
        """Those beyond which a tile of the same square lies whose number is among the released."""
        found = []
        for points, beyond in _sides(tile) if released else ():
            number = int(index.find(beyond[:1])[0])
            if number in released:
                found.append((points, released[number].predict(beyond)))
        return cls(tuple(found), strength)

    def cost(self, step: TileStep) -> Fraction:
        """What disagreement costs a tile's piece, in nats, at most MOST_NATS."""
        if not self.sides:
            return Fraction(0)
        # all sides at once: most that is drawn is not kept
        points, beyond = zip(*self.sides, strict=True)
        differ = step.predict(np.concatenate(points)) != np.concatenate(beyond)
        lengths = [len(labels) for labels in beyond]
        whole = math.lcm(*lengths)
        share = int(np.repeat([whole // length for length in lengths], lengths)[differ].sum())
        return min(Fraction(MOST_NATS), self.strength * Fraction(share, whole))

    def keep(self, step: TileStep, source: RandomSource) -> bool:
        """True with probability exactly w(c)."""
        return bernoulli_exp(source, self.cost(step))


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
