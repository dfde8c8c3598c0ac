"""Lets tiles agree along their borders, and draws straight what several have drawn of one side.

Labels beside a border.  Half of the tiles of a square, as on a chessboard, are learned first; the
others then weigh every piece by how far it agrees with the labels beyond their sides,

    w(c) = exp(-kappa(c)),
    kappa(c) = min(MOST_NATS, strength * the sides' shares where c differs from its neighbours).

A neighbour's piece is public by then, so w is a public factor of the base measure, and the draw
stays the exponential mechanism's; the example lies in one tile still (docs/privacy.md, lemma 7).

How it is drawn: the sampler keeps what it would accept without w with probability w(c), and goes on
otherwise.  Whatever the examples are, w(c) is at least exp(-MOST_NATS), one in 55.

Shares are counted at up to :data:`MOST_PLACES` grid points a side.

Straight sides.  Every tile draws its edges among its own examples, so along a straight side of the
shape they differ a little from tile to tile, most of all at their ends: they meet the tiles'
borders at different heights, and the outline has jogs there.  Here the outline of what all tiles
label 1 is seen as a sequence of drawn edges, joined at corners or by stretches along borders.  It
is divided into *sides*, runs of consecutive edges, and every side is drawn as one line, the one
nearest to its edges (least squares, all along them).  Of all divisions the one is taken with the
least of

    (area between the edges and the lines) / u^2 + (nats of a side) * (number of sides),

u^2 the area in which one nat is expected where the edge lies: what noise alone makes of a straight
side costs some 2 nats an edge.  A side costs as much as it takes to say where it is, by d^2 / u^2,
the number of places that can be told apart, and that there is one, by the odds that an edge of this
outline begins a side: few do where sides are long, most on a coast.  So a shorter description is
preferred to a closer one (minimum description length: Rissanen 1978).  Dynamic programming finds
the least, twice: the first time at even odds, for the odds.

Two sides meet where their lines cross, where that is not farther from their ends than half of
either.  Else what leads from one to the other along borders is drawn anew
(:mod:`learners.tiles.outline_sides`).

Privacy: a function of what is released and of public numbers (docs/privacy.md, lemmas 7 and 8).
What was measured: docs/decisions/0033-straight-sides.md and 0035-joints.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import Polygon
from shapely.geometry.base import BaseGeometry

from geometry.arrays import Flags, Floats, Ints
from geometry.polygons import orient_valid
from geometry.tiling import Tile, TileIndex
from learners.core.records import TileStep
from learners.envelope.target import NOTHING, Expected
from learners.tiles.outline_sides import MOST_SHARE, Chain

#: Most that disagreement costs a piece.
MOST_NATS = 4.0

#: Grid points of a side at which labels are compared.
MOST_PLACES = 64

#: What a side of the whole square that disagrees costs, over the root of the number of examples.
_STRENGTH = 0.5

#: Strengths are multiples of one over this.
_UNIT = 1 << 10


@dataclass(frozen=True, slots=True)
class Agreeing:
    """How tiles agree with their neighbours.

    Attributes
    ----------
    alone : int
        So many of the tiles, the first ones, know nothing of each other; the others know these.
    index : TileIndex
        Numbers of the tiles in the order in which they are learned.
    strength : Fraction
        Nats that a side costs on which all labels differ.
    """

    alone: int
    index: TileIndex
    strength: Fraction


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


def _sides(tile: Tile) -> Iterator[tuple[Ints, Ints]]:
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


def _points(x: int | Ints, y: int | Ints) -> Ints:
    points = np.empty((max(np.size(x), np.size(y)), 2), dtype=np.int64)
    points[:, 0], points[:, 1] = x, y
    return points


def _places(first: int, last: int) -> Ints:
    """Up to MOST_PLACES of the numbers first..last, evenly."""
    length = last - first + 1
    count = min(length, MOST_PLACES)
    return first + (2 * np.arange(count, dtype=np.int64) + 1) * length // (2 * count)


#: Where half of the edges begin a side, one costs so many times the logarithm of d^2 / u^2.
_PLACES = 0.7

#: And less by so many times the logarithm of the odds that an edge does, so more where few do; by
#: this many nats at most, either way.
_ODDS, _MOST_ODDS = 2.0, 3.0

#: An edge shorter than so many u, and no farther from a border, does not say which way a side goes:
#: it is a part of what leads from one to the next.
_SHORTEST = 2.0

#: Corners so near to a line, in parts of d, lie on it but for rounding.
_ROUNDING = 2.0**-40

#: Areas u^2, in square grid units, at points, an array (n,) of shapely's.
Squares = Callable[[NDArray[Any]], Floats]


def straightened(
    shape: BaseGeometry,
    borders: BaseGeometry,
    d: int,
    unit: float,
    squares: Squares,
    near: float,
    most: float,
) -> BaseGeometry | None:
    """The shape with straight sides; None if that is the shape.

    Parameters
    ----------
    shape : shapely geometry
        Polygons in the square 0..d, in grid units, that the tiles label 1.
    borders : shapely geometry
        All borders of tiles.
    d : int
        Grid size.
    unit : float
        Side of the square in which one nat is expected, on the average, in grid units.
    squares : callable
        The area of that square where an edge has its middle.
    near : float
        What lies at most so near a border lies along it, in grid units.
    most : float
        A connected change is no larger, in square grid units.
    """
    old = rings_of(shape)
    if not old:
        return None
    ahead = [np.roll(corners, -1, axis=0) for corners in old]
    edges = [shapely.linestrings(np.stack(ends, axis=1)) for ends in zip(old, ahead, strict=True)]
    # of the borders those that an edge comes near
    lines = shapely.get_parts(borders)
    met = shapely.STRtree(lines).query(np.concatenate(edges), predicate="dwithin", distance=near)
    beside = shapely.multilinestrings(lines[np.unique(met[1])])
    # ends and corners need not be round: what lies along a border is much nearer
    along = shapely.buffer(beside, near, quad_segs=1, join_style="bevel")
    box = shapely.box(0, 0, d, d)
    rim = shapely.buffer(box.exterior, near)
    shapely.prepare(along)
    shapely.prepare(rim)
    parts = []
    for corners, others, stretches in zip(old, ahead, edges, strict=True):
        around = squares(shapely.points((corners + others) / 2))
        little = _SHORTEST * np.sqrt(around)
        short = np.hypot(*(others - corners).T) < little
        drawn = ~shapely.contains(along, stretches)
        drawn &= ~(short & shapely.dwithin(stretches, borders, little))
        parts.append(_parts(corners, drawn, shapely.contains(rim, stretches), around))
    chains = [part for ring in parts for part in ring if isinstance(part, Chain)]
    price = price_of_a_side(chains, d, unit)
    rings, unchanged = [], True
    for corners, ring in zip(old, parts, strict=True):
        found = np.vstack(
            [
                part.straight(price, MOST_SHARE * d * d) if isinstance(part, Chain) else part
                for part in ring
            ]
        )
        # where two parts meet a corner is in both
        found = found[(found != np.roll(found, 1, axis=0)).any(axis=1)]
        if len(found) > 2 and set(map(tuple, found.tolist())) != set(map(tuple, corners.tolist())):
            corners, unchanged = found, False
        rings.append(shapely.make_valid(Polygon(corners)))
    if unchanged:
        return None
    # a point is inside where it is inside of an odd number of rings, whether or not they cross now
    found = shapely.intersection(functools.reduce(shapely.symmetric_difference, rings), box)
    changes = shapely.get_parts(shapely.symmetric_difference(shape, found))
    large = changes[shapely.area(changes) > most]
    if len(large):
        found = shapely.symmetric_difference(found, shapely.union_all(large))
    return orient_valid(shapely.simplify(orient_valid(found), _ROUNDING * d))


def rings_of(shape: BaseGeometry) -> list[Floats]:
    """Corners of the rings, the inside to their left.  Two that meet at a corner are one: where
    borders cross, two tiles that touch there are a strip more often than not."""
    found: list[Floats] = []
    for ring in shapely.get_rings(shapely.get_parts(orient_valid(shape))):
        corners, apart = shapely.get_coordinates(ring)[:-1], []
        for other in found:
            both = np.argwhere((corners[:, None] == other).all(axis=2))
            if len(both):
                here, there = both[0]
                joined = [np.roll(corners, -here, axis=0), np.roll(other, -there, axis=0)]
                corners = np.vstack(joined)
            else:
                apart.append(other)
        found = [*apart, corners]
    return found


def price_of_a_side(chains: Sequence[Chain], d: int, unit: float) -> float:
    """What a side costs, in nats: by how many of the edges begin one, at the price that holds where
    half of them do."""
    even = _PLACES * math.log(max(1.0, d * d / unit**2))
    divided = [chain.divided(even) for chain in chains]
    sides = sum(len(found) for _, found in divided)
    edges = sum(len(chain.starts) for chain, found in divided if found)
    odds = _ODDS * math.log((edges - sides + 1) / (sides + 1))
    return max(0.0, even + min(max(-_MOST_ODDS, odds), _MOST_ODDS))


def _parts(corners: Floats, drawn: Flags, fixed: Flags, squares: Floats) -> list[Chain | Floats]:
    """A ring as chains between stretches along the rim of the square, which stay; a ring that
    nowhere lies along it is one closed chain."""
    first = int(np.flatnonzero(fixed)[0]) if fixed.any() else 0
    closed = np.vstack([np.roll(corners, -first, axis=0), corners[first]])
    drawn, fixed = np.roll(drawn, -first), np.roll(fixed, -first)
    squares = np.roll(squares, -first)
    if not fixed.any():
        return [Chain(closed, squares, np.flatnonzero(drawn), closed=True)]
    found: list[Chain | Floats] = []
    begin = 0
    for end in (*np.flatnonzero(fixed).tolist(), len(corners)):
        if end > begin:
            starts = np.flatnonzero(drawn[begin:end])
            found.append(Chain(closed[begin : end + 1], squares[begin:end], starts))
        if end < len(corners):
            found.append(closed[end : end + 2])
        begin = end + 1
    return found
