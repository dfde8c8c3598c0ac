"""How many tiles a side: chosen from the examples, privately, where that pays.

The right number differs by a factor of six between shapes at the same number of examples: a
triangle wants few tiles, a ragged coast many.  So of a short public list of numbers m
(:func:`candidates`) one is drawn by the exponential mechanism with the score

    -S(m),  S(m) = the sum over the m * m tiles of the least of mistakes plus `edge` for each edge,

the least over a finite public class of labelled pieces (:mod:`learners.fewest_mistakes`), exactly.
One example lies in one tile of every m, and changes S(m) by 0 or by 1, upwards if it is added: so
the draw at a rate of rho nats is rho-DP (docs/privacy.md, lemmas X1 and 7).

Of more than :data:`MOST_EXAMPLES` examples, by the noisy count, the scores count those on some of
the grid points only, which a public rule picks.

Below :data:`LEAST_PAYS` examples times eta the noise of a choice that can be paid for is as large
as what it decides, and the usual number is taken.  Figures, and what else was tried:
docs/decisions/0025-how-many-tiles.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts
from geometry.tiling import TileIndex, tile_square
from learners.exponential_mechanism import exponential_index
from learners.fewest_mistakes import MOST_WIDE, fewest_in_tile, scaled
from learners.randomness import RandomSource
from learners.selection import SelectionProgress, Watch
from learners.side_by_side import side_by_side

#: Most tiles along a side.
MOST_PER_SIDE = 128

#: Tiles a side for 1000 examples at eta = 1.
_TILES = 2.6

#: Share of eta that a choice costs.
CHOICE_SHARE = 0.05

#: Examples times eta from which on there is a choice.
LEAST_PAYS = 5_000

#: Half octaves below and above the usual number that the list reaches.
_BELOW, _ABOVE = 2, 4

#: Mistakes times eta that an edge must save: about what drawing it costs.
_EDGE = 6.5

#: The scores count about so many examples at most.
MOST_EXAMPLES = 200_000


@dataclass(frozen=True, slots=True)
class Candidates:
    """Numbers of tiles a side, rising, and how much each weighs before an example is seen."""

    per_side: tuple[int, ...]
    weights: tuple[int, ...]


def usual_per_side(count: int, eta: float, d: int) -> int:
    """Tiles along a side for about `count` examples: 2.6 (eta * count / 1000)^(1/4), rounded.

    A tile that the boundary crosses costs some nats over eta mistakes, however small it is; what
    its piece cannot express, a share of its examples (docs/decisions/0007-tiles.md).  At least 1,
    at most MOST_PER_SIDE and one for every two grid points.
    """
    return _rounded(_usual(count, eta), d)


def candidates(count: int, eta: float, d: int) -> Candidates:
    """The list to choose from: a public function of a noisy count, eta and the grid.

    The usual number times powers of the square root of 2, from a half of it to four times, each
    weighing half as much as the one before on the way from the usual one; or that one alone.
    """
    if eta * count < LEAST_PAYS:
        return Candidates((usual_per_side(count, eta, d),), (1,))
    weights: dict[int, int] = {}
    for half_octaves in range(-_BELOW, _ABOVE + 1):
        per_side = _rounded(_usual(count, eta) * math.sqrt(2) ** half_octaves, d)
        weight = 1 << max(_BELOW, _ABOVE) - abs(half_octaves)
        weights[per_side] = weights.get(per_side, 0) + weight
    return Candidates(tuple(weights), tuple(weights.values()))


def choice_rate(count: int, eta: float, d: int) -> float:
    """Nats per mistake that the choice has of eta; 0 where there is none."""
    return CHOICE_SHARE * eta if len(candidates(count, eta, d).per_side) > 1 else 0.0


def piece_rate(count: int, eta: float, d: int) -> float:
    """Nats per mistake that are left of eta for the pieces, rounded down."""
    rate = choice_rate(count, eta, d)
    return math.nextafter(eta - rate, 0.0) if rate else eta


def usual_count(per_side: int, eta: float) -> int:
    """The number of examples for which so many tiles a side are usual."""
    return round(1000 * (per_side / _TILES) ** 4 / eta)


def _usual(count: int, eta: float) -> float:
    return _TILES * math.sqrt(math.sqrt(max(0.0, eta * count) / 1000))


def _rounded(wanted: float, d: int) -> int:
    return max(1, min(round(wanted), MOST_PER_SIDE, (d + 1) // 2))


def choose_per_side(
    counts: GridCounts,
    count: int,
    eta: float,
    edges: int,
    source: RandomSource,
    watch: Watch | None = None,
) -> int:
    """Draw one of the list; it costs :func:`choice_rate` of eta.

    Parameters
    ----------
    counts : GridCounts
    count : int
        A noisy number of examples.
    eta : float
        Nats per mistake of this draw and the pieces' together.
    edges : int
        Most edges of a piece, 1 or 2.
    source : RandomSource
    watch : callable, optional
        Called after every tile and while one is waited for; may raise Cancelled.
    """
    listed, rate = candidates(count, eta, counts.d), choice_rate(count, eta, counts.d)
    if not rate:
        return listed.per_side[0]
    share = min(1.0, MOST_EXAMPLES / min(max(1, count), (counts.d + 1) ** 2))
    scored = counts if share == 1 else counts.where(_kept(counts.points, share))
    edge = math.ceil(_EDGE * share / (eta - rate))
    scores = fewest_mistakes(scored, listed.per_side, edges, edge, watch)
    drawn = exponential_index(source, -scores, rate, listed.weights)
    return listed.per_side[drawn]


def _kept(points: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """Which grid points (m, 2) belong to a scattered share of the grid: SplitMix64 of each."""
    mixed = points[:, 0].astype(np.uint64) << np.uint64(32) | points[:, 1].astype(np.uint64)
    mixed += np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ mixed >> np.uint64(shift)) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return np.asarray(mixed >> np.uint64(32) < np.uint64(int(share * (1 << 32))))


def fewest_mistakes(
    counts: GridCounts,
    numbers: tuple[int, ...],
    edges: int,
    edge: int,
    watch: Watch | None = None,
) -> NDArray[np.int64]:
    """S(m) for every number m of tiles a side, shape (len(numbers),).

    Parameters
    ----------
    counts : GridCounts
    numbers : tuple of int
    edges : int
        Most edges of a piece, 1 or 2.
    edge : int
        Mistakes that an edge must save.
    watch : callable, optional
        Called after every tile and while one is waited for; may raise Cancelled.
    """
    scores = np.zeros(len(numbers), dtype=np.int64)

    def fewest(task: _TileTask, stopped: Callable[[], bool]) -> tuple[int, int]:
        if stopped():
            return task.number, 0
        points, w = scaled(task.points, task.width)
        least = fewest_in_tile(points, task.labels, task.amounts, w, edges, edge)
        return task.number, int(least)

    done = 0

    def tell() -> None:
        if watch is not None:
            watch(SelectionProgress(0, done, 0.0))

    for number, least in side_by_side(fewest, _tasks(counts, numbers), tell):
        scores[number] += least
        done += 1
        tell()
    return scores


@dataclass(frozen=True, slots=True)
class _TileTask:
    """A tile's entries counted from its corner, for candidate `number`, in a square of `width`."""

    number: int
    width: int
    points: NDArray[np.int64]
    labels: NDArray[np.bool_]
    amounts: NDArray[np.int64]


def _tasks(counts: GridCounts, numbers: tuple[int, ...]) -> Iterator[_TileTask]:
    for number, per_side in enumerate(numbers):
        tiles = tile_square(counts.d, per_side)
        width = max(max(tile.x1 - tile.x0, tile.y1 - tile.y0) for tile in tiles) + 1
        # wider tiles are seen through a coarser grid
        grain = -(-width // MOST_WIDE)
        for tile, rows in zip(tiles, TileIndex.of(tiles).groups(counts.points), strict=True):
            if len(rows):
                points = tile.to_own_frame(counts.points[rows]) // grain
                labels, amounts = counts.labels[rows], counts.amounts[rows]
                yield _TileTask(number, -(-width // grain), points, labels, amounts)
