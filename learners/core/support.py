"""Tells where there were enough examples to say anything (*support*), beside a learned shape.

A learner labels every point, also where nobody reported.  So the square is divided into a coarse
public grid of cells, as many as a noisy number of examples asks for (:func:`cells_per_side`).  The
examples of every cell, of both labels together, are counted with integer Laplace noise of scale
1 / epsilon_support, and which counts reach a public threshold (:func:`least_count`) is released:
such a cell is *supported*.  The threshold is the least one at which the expected number of empty
cells that are called supported stays below 1 / 20, if all cells were empty.

For neighbours that add or remove one example that is epsilon_support-DP however many cells there
are (docs/privacy.md, lemma 10).  The noise is exact (:mod:`learners.privacy.noise`).

Chosen by figures (outlines of six countries, noise of scale 10, d = 1024; share of the examples in
supported cells on the worst outline, and share of the sea that is supported in the mean, of uniform
samples of the land alone): an average cell of three thresholds 97.7 % and 29 % at n = 10,000, four
98.4 % and 38 %, six 99.0 % and 49 %; at 100,000 99.4 % and 12 %, 99.5 % and 14 %, 99.7 % and 17 %.
Of samples of land around one place on the coast four thresholds cover 96.8 % at 10,000 and 98.9 %
at 100,000, three 95.7 % and 98.4 %.  What lies thinner than a quarter of the average is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shapely.geometry.base import BaseGeometry

from geometry.grid_counts import GridCounts
from geometry.tiling import TileIndex, tile_square, tiles_shape
from learners.privacy.noise import discrete_laplace_array, most_noise
from learners.privacy.randomness import RandomSource

#: Most cells along a side.
MOST_PER_SIDE = 64

#: Expected number of cells called supported, if all were empty, at most.
FALSE_CELLS = Fraction(1, 20)

#: Probability, at most, with which an empty block of tiles is called reported, and with which one
#: of all blocks is called unreported if examples lie evenly.
DOUBT = 0.05

#: An average cell holds so many thresholds at least: one a quarter as full is on the verge.
_THRESHOLDS = 4


@dataclass(frozen=True, slots=True)
class Support:
    """Cells of a coarse grid, and which of them had enough examples.

    Attributes
    ----------
    per_side : int
        Cells along a side of the square.
    threshold : int
        The noisy number of examples that a supported cell has reached.
    cells : tuple of bool
        Whether a cell is supported, per_side * per_side of them, from the top row down and each
        row from the left.

    Raises
    ------
    ValueError
        If a number is below 1, or there are more cells than MOST_PER_SIDE a side or another number
        of them.
    """

    per_side: int
    threshold: int
    cells: tuple[bool, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.per_side <= MOST_PER_SIDE:
            raise ValueError(f"support has 1 to {MOST_PER_SIDE} cells a side, not {self.per_side}")
        if self.threshold < 1:
            raise ValueError(f"the threshold of support is at least 1, not {self.threshold}")
        if len(self.cells) != self.per_side**2:
            raise ValueError(f"support has {self.per_side**2} cells, not {len(self.cells)}")

    def shape(self, d: int) -> BaseGeometry:
        """The supported cells as a valid polygonal shapely geometry in units of the grid 0..d."""
        tiles = zip(tile_square(d, self.per_side), self.cells, strict=True)
        return tiles_shape(tile.polygon() for tile, supported in tiles if supported)


@dataclass(frozen=True, slots=True)
class Blocks:
    """What noisy counts of tiles, released in any case, tell of where there were reports.

    A block of tiles is *reported* if its noisy count is above what noise alone would exceed with
    probability :data:`DOUBT`: so rarely is one that is empty called reported; and so rarely, of
    blocks that have as many examples as their sizes have on average, is any of them not.

    Attributes
    ----------
    tiles : int
        Tiles along a side of the square.
    per_side : int
        Blocks along it, each of about as many tiles.
    reported : tuple of bool
        per_side * per_side of them, from the top row down and each row from the left.
    """

    tiles: int
    per_side: int
    reported: tuple[bool, ...]

    def shape(self, d: int) -> BaseGeometry:
        """The reported blocks as a valid polygonal shapely geometry in units of the grid 0..d."""
        blocks = zip(tile_square(d, self.tiles), _blocks(self.tiles, self.per_side), strict=True)
        return tiles_shape(tile.polygon() for tile, block in blocks if self.reported[block])


def _blocks(tiles: int, per_side: int) -> list[int]:
    """The block of each tile."""
    along = [i * per_side // tiles for i in range(tiles)]
    return [row * per_side + column for row in along for column in along]


def reported_blocks(counts: Sequence[int], scale: Fraction, about: int) -> Blocks | None:
    """Which blocks of tiles had reports, by noisy counts; it costs nothing.

    Blocks are the smallest of which that holds, by a number whose noise is not theirs: so it does
    whichever size is chosen.

    Parameters
    ----------
    counts : sequence of int
        Of all tiles, from the top row down and each row from the left.
    scale : Fraction
        Of the noise of each.
    about : int
        A noisy number of all examples, drawn apart.

    Returns
    -------
    Blocks or None
        None if even four blocks would be too small.
    """
    tiles = math.isqrt(len(counts))
    for per_side in range(tiles, 1, -1):
        blocks = _blocks(tiles, per_side)
        sizes, sums = [0] * per_side**2, [0] * per_side**2
        for block, count in zip(blocks, counts, strict=True):
            sizes[block] += 1
            sums[block] += count
        feigned = {size: most_noise(scale, size, DOUBT) for size in set(sizes)}
        least = {size: most_noise(scale, size, DOUBT / per_side**2) for size in feigned}
        if all(about * n >= (feigned[n] + least[n] + 1) * tiles**2 for n in feigned):
            above = (sum_ > feigned[size] for sum_, size in zip(sums, sizes, strict=True))
            return Blocks(tiles, per_side, tuple(above))
    return None


def cells_per_side(count: int, scale: Fraction, d: int) -> int:
    """Cells along a side for about `count` examples on the grid 0..d.

    As many as leave an average cell :data:`_THRESHOLDS` times its threshold; at least 1, at most
    MOST_PER_SIDE and the grid's points.
    """
    per_side = 1
    while per_side < min(MOST_PER_SIDE, d + 1):
        more = (per_side + 1) ** 2
        if count < _THRESHOLDS * more * least_count(more, scale):
            break
        per_side += 1
    return per_side


def least_count(cells: int, scale: Fraction) -> int:
    """The threshold: least t >= 1 with cells * P(z >= t) <= FALSE_CELLS, z the noise of one cell.

    For P(z) proportional to exp(-|z| / scale) and p = exp(-1 / scale), P(z >= t) is p^t / (1 + p).
    """
    rate = float(1 / scale)
    bound = math.log(float(FALSE_CELLS) / cells) + math.log1p(math.exp(-rate))
    return max(1, math.ceil(-bound / rate))


def noisy_support(counts: GridCounts, count: int, scale: Fraction, source: RandomSource) -> Support:
    """Count the examples of every cell with noise, and see which counts reach the threshold.

    Parameters
    ----------
    counts : GridCounts
    count : int
        A noisy number of examples, which chooses the number of cells.
    scale : Fraction
        Of the noise; one example moves one cell by 1.
    source : RandomSource
    """
    per_side = cells_per_side(count, scale, counts.d)
    threshold = least_count(per_side**2, scale)
    cells = TileIndex.of(tile_square(counts.d, per_side)).find(counts.points)
    negatives, positives = counts.by_group(cells, per_side**2)
    noise = discrete_laplace_array(source, scale, per_side**2)
    reached = negatives + positives + noise >= threshold
    return Support(per_side, threshold, tuple(reached.tolist()))
