"""Straight sides: what several tiles have drawn of one side, each for itself, as one line.

Every tile draws its edges among its own examples, so along a straight side of the shape they differ
a little from tile to tile, most of all at their ends: they meet the tiles' borders at different
heights, and the outline has jogs there.  Here the outline of what all tiles label 1 is seen as a
sequence of drawn edges, joined at corners or by stretches along borders.  It is divided into
*sides*, runs of consecutive edges, and every side is drawn as one line, the one nearest to its
edges (least squares, all along them).  Of all divisions the one is taken with the least of

    (area between the edges and the lines) / u^2 + (nats of a side) * (number of sides),

u^2 the area in which one nat is expected where the edge lies: what noise alone makes of a straight
side costs some 2 nats an edge.  A side costs as much as it takes to say where it is, by d^2 / u^2,
the number of places that can be told apart, and that there is one, by the odds that an edge of this
outline begins a side: few do where sides are long, most on a coast.  So a shorter description is
preferred to a closer one (minimum description length: Rissanen 1978).  Dynamic programming finds
the least, twice: the first time at even odds, for the odds.

Two sides meet where their lines cross, where that is not farther from their ends than half of
either.  Else what leads from one to the other along borders is drawn anew (:mod:`learners.joints`).

Privacy: a function of what is released and of public numbers (docs/privacy.md, lemmas 7 and 8).
What was measured: docs/decisions/0033-straight-sides.md and 0035-joints.md.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import Polygon
from shapely.geometry.base import BaseGeometry

from geometry.polygons import orient_valid
from learners.joints import MOST_SHARE, joint

#: Where half of the edges begin a side, one costs so many times the logarithm of d^2 / u^2.
_PLACES = 0.7

#: And less by so many times the logarithm of the odds that an edge does, at most by so many nats;
#: or more.
_ODDS, _MOST_ODDS = 2.0, 3.0

#: An edge shorter than so many u, and no farther from a border, does not say which way a side goes:
#: it is a part of what leads from one to the next.
_SHORTEST = 2.0

#: Most edges of a side: bounds the work.
_MOST_EDGES = 40

#: An edge of a side goes at least so far ahead along its line, in parts of its length: edges of a
#: right angle are never of one side.
_LEAST_AHEAD = 0.75

#: Corners so near to a line, in parts of d, lie on it but for rounding.
_ROUNDING = 2.0**-40

#: A line is drawn out beyond the rim by so many times what it is off where the edges ended.
_FARTHER = 20.0

#: Areas u^2, in square grid units, at points, an array (n,) of shapely's.
Squares = Callable[[NDArray[Any]], NDArray[np.float64]]


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
    along = shapely.buffer(borders, near)
    box = shapely.box(0, 0, d, d)
    rim = shapely.buffer(box.exterior, near)
    shapely.prepare(along)
    shapely.prepare(rim)
    old, parts = _rings(shape), []
    for corners in old:
        ahead = np.roll(corners, -1, axis=0)
        stretches = shapely.linestrings(np.stack([corners, ahead], axis=1))
        around = squares(shapely.points((corners + ahead) / 2))
        little = _SHORTEST * np.sqrt(around)
        short = np.hypot(*(ahead - corners).T) < little
        drawn = ~shapely.contains(along, stretches)
        drawn &= ~(short & shapely.dwithin(stretches, borders, little))
        parts.append(_parts(corners, drawn, shapely.contains(rim, stretches), around))
    chains = [part for ring in parts for part in ring if isinstance(part, _Chain)]
    price = _price(chains, d, unit)
    rings, unchanged = [], True
    for corners, ring in zip(old, parts, strict=True):
        found = _redrawn(ring, price, MOST_SHARE * d * d)
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


def _rings(shape: BaseGeometry) -> list[NDArray[np.float64]]:
    """Corners of the rings, the inside to their left.  Two that meet at a corner are one: where
    borders cross, two tiles that touch there are a strip more often than not."""
    found: list[NDArray[np.float64]] = []
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


def _price(chains: Sequence[_Chain], d: int, unit: float) -> float:
    """What a side costs, in nats: by how many of the edges begin one, at the price that holds where
    half of them do."""
    even = _PLACES * math.log(max(1.0, d * d / unit**2))
    divided = [chain.divided(even) for chain in chains]
    sides = sum(len(found) for _, found in divided)
    edges = sum(len(chain.starts) for chain, found in divided if found)
    odds = _ODDS * math.log((edges - sides + 1) / (sides + 1))
    return max(0.0, even + min(max(-_MOST_ODDS, odds), _MOST_ODDS))


def _parts(
    corners: NDArray[np.float64],
    drawn: NDArray[np.bool_],
    fixed: NDArray[np.bool_],
    squares: NDArray[np.float64],
) -> list[_Chain | NDArray[np.float64]]:
    """A ring as chains between stretches along the rim of the square, which stay; a ring that
    nowhere lies along it is one closed chain."""
    first = int(np.flatnonzero(fixed)[0]) if fixed.any() else 0
    closed = np.vstack([np.roll(corners, -first, axis=0), corners[first]])
    drawn, fixed = np.roll(drawn, -first), np.roll(fixed, -first)
    squares = np.roll(squares, -first)
    if not fixed.any():
        return [_Chain(closed, squares, np.flatnonzero(drawn), closed=True)]
    found: list[_Chain | NDArray[np.float64]] = []
    begin = 0
    for end in (*np.flatnonzero(fixed).tolist(), len(corners)):
        if end > begin:
            starts = np.flatnonzero(drawn[begin:end])
            found.append(_Chain(closed[begin : end + 1], squares[begin:end], starts))
        if end < len(corners):
            found.append(closed[end : end + 2])
        begin = end + 1
    return found


def _redrawn(
    parts: Sequence[_Chain | NDArray[np.float64]], price: float, most: float
) -> NDArray[np.float64]:
    """A ring's corners, made straight."""
    together = np.vstack(
        [part.straight(price, most) if isinstance(part, _Chain) else part for part in parts]
    )
    # where two parts meet a corner is in both
    differs: NDArray[np.bool_] = (together != np.roll(together, 1, axis=0)).any(axis=1)
    return together[differs]


@dataclass(frozen=True, slots=True)
class _Side:
    """Edges `first` to `last` of a chain, and the two ends of their line."""

    first: int
    last: int
    begin: NDArray[np.float64]
    end: NDArray[np.float64]

    @property
    def one(self) -> bool:
        """Whether it is an edge as it was drawn."""
        return self.first == self.last

    @property
    def length(self) -> float:
        """From end to end, in grid units."""
        return float(np.hypot(*(self.end - self.begin)))


@dataclass(frozen=True, slots=True)
class _Chain:
    """A part of an outline.

    Attributes
    ----------
    points : ndarray of float64, shape (m + 1, 2)
    squares : ndarray of float64, shape (m,)
        u^2 of each stretch from point to point.
    starts : ndarray of int64, shape (e,)
        Stretches that are drawn edges; the others lie along borders, or are too short.
    closed : bool
        Whether the last point is the first.
    """

    points: NDArray[np.float64]
    squares: NDArray[np.float64]
    starts: NDArray[np.int64]
    closed: bool = False

    def divided(self, price: float) -> tuple[_Chain, list[_Side]]:
        """The division into sides that costs least, none if it cannot be divided; and the chain,
        if it is closed as it is cut open."""
        if len(self.starts) < 2:
            return self, []
        if not self.closed:
            return self, self.sides(price)
        # edges on both sides of the cut are never of one side: so it is cut again, at a corner
        chain = self._from(0)
        sides = chain.sides(price)
        if len(sides) > 1:
            chain = chain._from(sides[len(sides) // 2].first)
            sides = chain.sides(price)
        return chain, sides if len(sides) > 1 else []

    def _from(self, edge: int) -> _Chain:
        """The same closed chain, beginning with that edge."""
        first = int(self.starts[edge])
        points = np.roll(self.points[:-1], -first, axis=0)
        starts = np.sort((self.starts - first) % len(points))
        squares = np.roll(self.squares, -first)
        return _Chain(np.vstack([points, points[:1]]), squares, starts, closed=True)

    def straight(self, price: float, most: float) -> NDArray[np.float64]:
        """Its points with straight sides; if it is not closed, the first and the last stay."""
        chain, sides = self.divided(price)
        if not sides:
            return self.points
        return chain._around(sides, most) if self.closed else chain._from_rim_to_rim(sides, most)

    def _from_rim_to_rim(self, sides: list[_Side], most: float) -> NDArray[np.float64]:
        begin, end = sides[0], sides[-1]
        first, last = int(self.starts[0]), int(self.starts[-1]) + 1
        found = []
        if first:
            found += self._joint(None, begin, slice(0, first), most)
        else:
            found.append(self.points[0])
            if not begin.one:
                found.append(_beyond(begin.begin, begin.end, self.points[0]))
        for one, other in itertools.pairwise(sides):
            found += self._joint(one, other, self._between(one, other), most)
        if last < len(self.squares):
            found += self._joint(end, None, slice(last, len(self.squares)), most)
        else:
            if not end.one:
                found.append(_beyond(end.end, end.begin, self.points[last]))
            found.append(self.points[last])
        return np.array(found)

    def _around(self, sides: list[_Side], most: float) -> NDArray[np.float64]:
        found: list[NDArray[np.float64]] = []
        for one, other in itertools.pairwise(sides):
            found += self._joint(one, other, self._between(one, other), most)
        # its last point is its first
        rest = slice(int(self.starts[-1]) + 1, len(self.squares))
        return np.array(found + self._joint(sides[-1], sides[0], rest, most))

    def sides(self, price: float) -> list[_Side]:
        """The division into sides that costs least."""
        edges = len(self.starts)
        least = np.full(edges + 1, np.inf)
        least[0] = 0.0
        found: list[_Side | None] = [None] * (edges + 1)
        for first in range(edges):
            begins, ends, costs = self._lines(first)
            # one edge is drawn as it is
            costs[0] = 0.0
            for i in np.flatnonzero(
                least[first] + costs + price < least[first + 1 :][: len(costs)]
            ):
                last = first + int(i)
                least[last + 1] = least[first] + costs[i] + price
                found[last + 1] = _Side(first, last, begins[i], ends[i])
        sides, after = [], edges
        while after:
            side = found[after]
            assert side is not None
            if side.one:
                at = self.starts[side.first]
                side = _Side(side.first, side.last, self.points[at], self.points[at + 1])
            sides.append(side)
            after = side.first
        return sides[::-1]

    def _lines(
        self, first: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The lines of edges first to first, first + 1, ...: both ends (r, 2) and the nats (r,)."""
        starts = self.starts[first : first + _MOST_EDGES]
        low, high = starts[0], starts[-1] + 1
        # small numbers: moments are differences
        points = self.points[low : high + 1] - self.points[low]
        begins, ends = points[starts - low], points[starts - low + 1]
        lengths = np.hypot(*(ends - begins).T)
        middles, aheads = _nearest_lines(begins, ends, lengths / self.squares[starts])
        lefts = np.stack([-aheads[:, 1], aheads[:, 0]], axis=1)
        # shape (points, lines)
        places = points @ aheads.T - (middles * aheads).sum(axis=1)
        heights = points @ lefts.T - (middles * lefts).sum(axis=1)
        areas = _area(heights[:-1], heights[1:], np.diff(places, axis=0))
        # a line is about all up to the end of its last edge
        about = np.arange(low, high)[:, None] <= starts
        costs = (np.where(about, areas, 0.0) / self.squares[low:high, None]).sum(axis=0)
        back = (ends - begins) @ aheads.T < _LEAST_AHEAD * lengths[:, None]
        runs = np.arange(len(starts))
        costs[(back & (runs[:, None] <= runs)).any(axis=0)] = np.inf
        origins = self.points[low] + middles
        return (
            origins + aheads * places[0][:, None],
            origins + aheads * places[starts - low + 1, runs][:, None],
            costs,
        )

    def _between(self, one: _Side, other: _Side) -> slice:
        """The stretches from a side's last edge to the other's first."""
        return slice(int(self.starts[one.last]) + 1, int(self.starts[other.first]))

    def _joint(
        self, one: _Side | None, other: _Side | None, between: slice, most: float
    ) -> list[NDArray[np.float64]]:
        """The points from side to side where these stretches were; no side is the end of the
        chain."""
        old = self.points[between.start : between.stop + 1]
        squares = self.squares[between]
        corner = len(old) == 1
        ends = [self.squares[self.starts[one.last]]] if one else []
        begins = [self.squares[self.starts[other.first]]] if other else []
        if one and other:
            if corner and one.one and other.one:
                return [old[0]]
            meet = _crossing(one, other)
            if meet is not None:
                return [meet]
            if corner:
                squares = np.minimum(ends, begins)
        path = [*(_second_half(one) if one else old[:1]), *old[1:-1]]
        path += _first_half(other) if other else [old[-1]]
        sides = one is not None, other is not None
        return [*joint(np.array(path), np.array([*ends, *squares, *begins]), sides, most)]


def _second_half(side: _Side) -> list[NDArray[np.float64]]:
    return [(side.begin + side.end) / 2, side.end]


def _first_half(side: _Side) -> list[NDArray[np.float64]]:
    return [side.begin, (side.begin + side.end) / 2]


def _nearest_lines(
    begins: NDArray[np.float64], ends: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For every number of edges the line nearest to the first of them: a point of it, and a unit
    vector the way that they go, both (r, 2).

    Distances are squared and meant along all of an edge, which has its weight (r,).
    """

    def outer(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        return vectors[:, :, None] * vectors[:, None, :]

    totals = np.cumsum(weights)[:, None]
    middles = np.cumsum(weights[:, None] * (begins + ends) / 2, axis=0) / totals
    # the mean of xx from a to b is (aa + bb + (a + b)(a + b)) / 6
    squares = (outer(begins) + outer(ends) + outer(begins + ends)) / 6
    moments = np.cumsum(weights[:, None, None] * squares, axis=0) / totals[:, :, None]
    spread = moments - outer(middles)
    angles = np.arctan2(2 * spread[:, 0, 1], spread[:, 0, 0] - spread[:, 1, 1]) / 2
    aheads = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    aheads[(np.cumsum(ends - begins, axis=0) * aheads).sum(axis=1) < 0] *= -1
    return middles, aheads


def _area(
    left: NDArray[np.float64], right: NDArray[np.float64], width: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Between a line and stretches with ends at these heights over it, so far apart along it."""
    high = np.abs(left) + np.abs(right)
    safe = np.where(high > 0, high, 1.0)
    crossing = (left**2 + right**2) / (2 * safe)
    return np.abs(width) * np.where(left * right >= 0, high / 2, crossing)


def _crossing(one: _Side, other: _Side) -> NDArray[np.float64] | None:
    """Where the lines of two sides cross, if no farther from their ends than half of either."""
    first, second = one.end - one.begin, other.end - other.begin
    turn = float(first[0] * second[1] - first[1] * second[0])
    if turn == 0:
        return None
    gap = other.begin - one.end
    along = (gap[0] * second[1] - gap[1] * second[0]) / turn
    meet: NDArray[np.float64] = one.end + along * first
    if abs(along) * one.length >= one.length / 2:
        return None
    return meet if np.hypot(*(meet - other.begin)) < other.length / 2 else None


def _beyond(end: NDArray[np.float64], other: NDArray[np.float64], old: NDArray[np.float64]) -> Any:
    """The end of a line whose other end is `other`, drawn out: it may end before the rim of the
    square, on which the drawn edges end at `old`, and what is beyond the rim is cut off."""
    length = float(np.hypot(*(end - other)))
    farther = min(_FARTHER * float(np.hypot(*(end - old))), length / 2)
    return end + (end - other) * (farther / length)
