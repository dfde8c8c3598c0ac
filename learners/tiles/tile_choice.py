"""Chooses how many tiles a side: from the examples, privately, where that pays.

The right number differs by a factor of six between shapes at the same number of examples: a
triangle wants few tiles, a ragged coast many.  So of a short public list of numbers m
(:func:`candidates`) one is drawn by the exponential mechanism with the score

    -S(m) - `tile` m * m,
    S(m) = the sum over the m * m tiles of the least of mistakes plus `edge` for each edge,

the least over a finite public class of labelled pieces (:mod:`learners.tiles.fewest_mistakes`),
exactly. One example lies in one tile of every m, and changes S(m) by 0 or by 1, upwards if it is
added: so the draw at a rate of rho nats is rho-DP (docs/privacy.md, lemmas X1 and 7).

Where labels are wrong, small tiles and sharp draws follow the wrong ones.  So S of the usual number
of tiles is released first, with noise (:func:`noisy_mistakes`).  It tells about how many labels are
wrong (:func:`wrong_share`), and that decides what a tile costs, and how sharply pieces are drawn at
most (:func:`piece_rate`).

Of more than :data:`MOST_EXAMPLES` examples, by the noisy count, the scores count those on some of
the grid points only, which a public rule picks.

Below :data:`LEAST_PAYS` examples times eta the noise of a choice that can be paid for is as large
as what it decides, and the usual number is taken.  Figures, and what else was tried:
docs/decisions/0025-how-many-tiles.md and 0034-how-many-labels-are-wrong.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from geometry.arrays import Flags, Ints
from geometry.grid_counts import GridCounts
from geometry.tiling import rows_by_number, tile_square
from learners.core.selection import SelectionProgress, Watch, thread_map
from learners.privacy.exponential_mechanism import exponential_index
from learners.privacy.noise import discrete_laplace
from learners.privacy.randomness import RandomSource
from learners.registry import MOST_TILES
from learners.tiles.fewest_mistakes import APEXES, MOST_WIDE, SIDE, fewest_in_tile

#: Most tiles along a side.
MOST_PER_SIDE = MOST_TILES

#: Tiles a side for 1000 examples at eta = 1.
_TILES = 2.6

#: So many times the usual number where there is no choice: a count that is too small by its noise
#: must not leave two tiles a side where three are wanted.
_UNCHOSEN = 1.06

#: Share of eta that a choice costs.
CHOICE_SHARE = 0.05

#: Examples times eta from which on there is a choice.
LEAST_PAYS = 5_000

#: Half octaves below and above the usual number that the list reaches.
_BELOW, _ABOVE = 2, 4

#: Nats that an edge must save, and a tile: about what drawing them costs.
_EDGE, _TILE = 4.0, 0.1

#: So many nats more a tile must save, times the share of wrong labels: by chance it fits some.
_TILE_WRONG = 5.0

#: What bends cost is so large a share of the examples, where all labels are right, or less.
_BENDS = 0.03

#: Pieces of two edges miss at most so large a share of examples that are labelled right, where
#: tiles are few, and else this number over the root of examples times rate; pieces of one edge miss
#: twice as many (figures: docs/decisions/0034-how-many-labels-are-wrong.md).
_MOST_MISSED, _MISSED = 0.11, 8.0

#: How rarely the noise alone makes right labels look wrong.
_BY_NOISE = 0.05

#: No larger share of labels is taken to be wrong: more than that may be a shape of many parts.
_MOST_WRONG = 1 / 3

#: The scores count about so many examples at most.
MOST_EXAMPLES = 200_000


def usual_per_side(count: int, eta: float, d: int) -> int:
    """Tiles along a side for about `count` examples: 2.6 (eta * count / 1000)^(1/4), rounded.

    A tile that the boundary crosses costs some nats over eta mistakes, however small it is; what
    its piece cannot express, a share of its examples (docs/decisions/0007-tiles.md).  At least 1,
    at most MOST_PER_SIDE and one for every two grid points.
    """
    return _rounded(_usual(count, eta), d)


def wrong_share(mistakes: int, count: int, d: int) -> float:
    """About how large a share of the labels is wrong, in 0..1/3, by two noisy numbers.

    Parameters
    ----------
    mistakes : int
        Of :func:`noisy_mistakes`.
    count : int
        A noisy number of examples, above 0.
    d : int
        Side of the grid.
    """
    found = mistakes / (_share_scored(count, d) * count) - _BENDS
    return min(max(0.0, found), _MOST_WRONG)


def looks_wrong(mistakes: int, count: int, d: int, *, eta: float, edges: int, scale: float) -> bool:
    """Whether more mistakes are left than rightly labelled outlines leave, by released numbers.

    Of labels that are all right it is said with probability 0.05 at most, that of the noise, as far
    as the outlines go that were tried.

    Parameters
    ----------
    mistakes, scale : int, float
        Of :func:`noisy_mistakes`, with noise of that scale.
    count : int
        A noisy number of examples, above 0.
    d : int
        Side of the grid.
    eta : float
        Nats per mistake of the choice and the pieces' draws together.
    edges : int
        Most edges of a piece.
    """
    missed = min(_MOST_MISSED, _MISSED / math.sqrt(count * min(eta, 1.0))) * (3 - edges)
    noise = scale * math.log(1 / (2 * _BY_NOISE))
    return mistakes - noise > missed * _share_scored(count, d) * count


def label_rate(wrong: float) -> float:
    """Nats per mistake that labels are worth if so large a share of them is wrong: ln((1 - w)/w).

    Pieces that are drawn at this rate are drawn from their posterior; at a larger one they follow
    wrong labels.
    """
    return math.log((1 - wrong) / wrong) if wrong > 0 else math.inf


def candidates(count: int, eta: float, d: int, wrong: float = 0.0) -> dict[int, int]:
    """The list to choose from: a public function of noisy numbers, eta and the grid.

    Numbers of tiles a side, rising, and how much each weighs before an example is seen.

    The usual number, for :func:`label_rate` if that is less than eta, times powers of the square
    root of 2, from a half of it to four times, each weighing half as much as the one before on the
    way from the usual one; or, where examples are few, one alone that is hardly larger.
    """
    if eta * count < LEAST_PAYS:
        return {_rounded(_UNCHOSEN * _usual(count, eta), d): 1}
    weights: dict[int, int] = {}
    usual = _usual(count, min(eta, label_rate(wrong)))
    for half_octaves in range(-_BELOW, _ABOVE + 1):
        per_side = _rounded(usual * math.sqrt(2) ** half_octaves, d)
        weight = 1 << max(_BELOW, _ABOVE) - abs(half_octaves)
        weights[per_side] = weights.get(per_side, 0) + weight
    return weights


def choice_rate(count: int, eta: float, d: int) -> float:
    """Nats per mistake that the choice has of eta; 0 where there is none."""
    return CHOICE_SHARE * eta if len(candidates(count, eta, d)) > 1 else 0.0


def piece_rate(count: int, eta: float, d: int, wrong: float = 0.0) -> float:
    """Nats per mistake that are left of eta for the pieces, rounded down.

    No more than :func:`label_rate` of the share of wrong labels.
    """
    rate = choice_rate(count, eta, d)
    return min(math.nextafter(eta - rate, 0.0) if rate else eta, label_rate(wrong))


def usual_count(per_side: int, eta: float) -> int:
    """The number of examples for which so many tiles a side are usual."""
    return round(1000 * (per_side / _TILES) ** 4 / eta)


def _usual(count: int, eta: float) -> float:
    return _TILES * math.sqrt(math.sqrt(max(0.0, eta * count) / 1000))


def _rounded(wanted: float, d: int) -> int:
    return max(1, min(round(wanted), MOST_PER_SIDE, (d + 1) // 2))


def noisy_mistakes(
    counts: GridCounts,
    count: int,
    eta: float,
    edges: int,
    scale: Fraction,
    source: RandomSource,
    watch: Watch | None = None,
) -> int:
    """S of the usual number of tiles with integer Laplace noise of that scale.

    The number of tiles and the price of an edge are those of eta, or of 1 if that is less: at a
    large rate edges are cheap, and follow wrong labels until few are left.

    Parameters
    ----------
    counts : GridCounts
    count : int
        A noisy number of examples, above 0.
    eta : float
        Nats per mistake of the choice and the pieces' draws together.
    edges : int
        Most edges of a piece, 1 or 2.
    scale : Fraction
        One example changes S by 0 or 1, upwards if it is added.
    source : RandomSource
    watch : callable, optional
        As in :func:`choose_per_side`.
    """
    rate = min(eta, 1.0)
    scored, share = _scored(counts, count)
    numbers = (usual_per_side(count, rate, counts.d),)
    least = int(fewest_mistakes(scored, numbers, edges, math.ceil(_EDGE * share / rate), watch)[0])
    return least + discrete_laplace(source, scale)


def choose_per_side(
    counts: GridCounts,
    count: int,
    eta: float,
    edges: int,
    source: RandomSource,
    watch: Watch | None = None,
    *,
    wrong: float = 0.0,
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
    wrong : float
        About how large a share of the labels is wrong: a released number.
    """
    weights, rate = candidates(count, eta, counts.d, wrong), choice_rate(count, eta, counts.d)
    listed = tuple(weights)
    if not rate:
        return listed[0]
    scored, share = _scored(counts, count)
    # mistakes that a nat is worth, of those that are counted
    nat = share / piece_rate(count, eta, counts.d, wrong)
    scores = fewest_mistakes(scored, listed, edges, math.ceil(_EDGE * nat), watch)
    tile = (_TILE + _TILE_WRONG * wrong) * nat
    scores += np.array([math.ceil(tile * m * m) for m in listed])
    drawn = exponential_index(source, -scores, rate, list(weights.values()))
    return listed[drawn]


def _share_scored(count: int, d: int) -> float:
    """The share of the grid's points whose examples are counted."""
    return min(1.0, MOST_EXAMPLES / min(max(1, count), (d + 1) ** 2))


def _scored(counts: GridCounts, count: int) -> tuple[GridCounts, float]:
    """The examples that are counted, and on how large a share of the grid's points they lie."""
    share = _share_scored(count, counts.d)
    return (counts if share == 1 else counts.where(kept_of(counts.points, share))), share


def kept_of(points: Ints, share: float) -> Flags:
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
) -> Ints:
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

    def fewest(task: _Task, stopped: Callable[[], bool]) -> tuple[int, int]:
        number, width, own = task
        if stopped():
            return number, 0
        points, w = scaled(own.points, width)
        return number, int(fewest_in_tile(points, own.labels, own.amounts, w, edges, edge))

    done = 0

    def tell() -> None:
        if watch is not None:
            watch(SelectionProgress(0, done, 0.0))

    for number, least in thread_map(fewest, _tasks(counts, numbers, edge, scores), tell):
        scores[number] += least
        done += 1
        tell()
    return scores


#: Which candidate; then a tile's width in grid points, and its entries counted from its corner.
_Task = tuple[int, int, GridCounts]


def _tasks(
    counts: GridCounts, numbers: tuple[int, ...], edge: int, scores: Ints
) -> Iterator[_Task]:
    """The tiles in which an edge may save mistakes; those of the others are added to the scores."""
    for number, per_side in enumerate(numbers):
        tiles = tile_square(counts.d, per_side)
        # wider tiles are seen through a coarser grid
        width = -(-(counts.d + 1) // per_side)
        grain = -(-width // MOST_WIDE)
        # column i begins at i (d + 1) / per_side, rounded down; and so do rows, from below
        column, row = ((counts.points + 1) * per_side - 1).T // (counts.d + 1)
        owner = (per_side - 1 - row) * per_side + column
        fewer = counts.by_group(owner, len(tiles)).min(axis=0)
        scores[number] += int(fewer[fewer <= edge].sum())
        mixed = np.flatnonzero(fewer > edge)
        places = np.full(len(tiles), len(mixed))
        places[mixed] = np.arange(len(mixed))
        held = rows_by_number(places[owner], len(mixed) + 1)
        for i, rows in zip(mixed.tolist(), held, strict=False):
            own = counts.where(rows)
            points = tiles[i].to_own_frame(own.points) // grain
            yield number, -(-width // grain), replace(own, points=points)


def scaled(points: Ints, width: int) -> tuple[Ints, int]:
    """Grid points of a tile, counted from its corner, in the frame of its square; and its side.

    Parameters
    ----------
    points : ndarray of int64, shape (m, 2)
        In 0..width-1.
    width : int
        Grid points along the tile's longer side, 1..MOST_WIDE.

    Returns
    -------
    points : ndarray of int64, shape (m, 2)
        The middles of their grid cells: odd multiples of max(SIDE, APEXES).
    w : int
        2 * width * max(SIDE, APEXES): at most 2**21, so that products stay within 2**51.
    """
    unit = max(SIDE, APEXES)
    return (2 * points + 1) * unit, 2 * width * unit
