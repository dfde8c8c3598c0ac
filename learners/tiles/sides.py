"""A part of an outline, divided into sides: runs of consecutive edges, each drawn as one line.

What a division costs, and why: :mod:`learners.tiles.straight_sides`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.tiles.joints import joint

#: Most edges of a side: bounds the work.
_MOST_EDGES = 40

#: An edge of a side goes at least so far ahead along its line, in parts of its length: edges of a
#: right angle are never of one side.
_LEAST_AHEAD = 0.75

#: A line is drawn out beyond the rim by so many times what it is off where the edges ended.
_FARTHER = 20.0


@dataclass(frozen=True, slots=True)
class Side:
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
class Chain:
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

    def divided(self, price: float) -> tuple[Chain, list[Side]]:
        """The division into sides that costs least, none if it cannot be divided; and the chain,
        if it is closed as it is cut open."""
        if len(self.starts) < 2:
            return self, []
        if not self.closed:
            return self, self.cheapest(price)
        # edges on both sides of the cut are never of one side: so it is cut again, at a corner
        chain = self._from(0)
        sides = chain.cheapest(price)
        if len(sides) > 1:
            chain = chain._from(sides[len(sides) // 2].first)
            sides = chain.cheapest(price)
        return chain, sides if len(sides) > 1 else []

    def _from(self, edge: int) -> Chain:
        """The same closed chain, beginning with that edge."""
        first = int(self.starts[edge])
        points = np.roll(self.points[:-1], -first, axis=0)
        starts = np.sort((self.starts - first) % len(points))
        squares = np.roll(self.squares, -first)
        return Chain(np.vstack([points, points[:1]]), squares, starts, closed=True)

    def straight(self, price: float, most: float) -> NDArray[np.float64]:
        """Its points with straight sides; if it is not closed, the first and the last stay."""
        chain, sides = self.divided(price)
        if not sides:
            return self.points
        return chain._around(sides, most) if self.closed else chain._from_rim_to_rim(sides, most)

    def _from_rim_to_rim(self, sides: list[Side], most: float) -> NDArray[np.float64]:
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

    def _around(self, sides: list[Side], most: float) -> NDArray[np.float64]:
        found: list[NDArray[np.float64]] = []
        for one, other in itertools.pairwise(sides):
            found += self._joint(one, other, self._between(one, other), most)
        # its last point is its first
        rest = slice(int(self.starts[-1]) + 1, len(self.squares))
        return np.array(found + self._joint(sides[-1], sides[0], rest, most))

    def cheapest(self, price: float) -> list[Side]:
        """The division into sides that costs least."""
        edges = len(self.starts)
        least = np.full(edges + 1, np.inf)
        least[0] = 0.0
        found: list[Side | None] = [None] * (edges + 1)
        for first in range(edges):
            begins, ends, costs = self._lines(first)
            # one edge is drawn as it is
            costs[0] = 0.0
            for i in np.flatnonzero(
                least[first] + costs + price < least[first + 1 :][: len(costs)]
            ):
                last = first + int(i)
                least[last + 1] = least[first] + costs[i] + price
                found[last + 1] = Side(first, last, begins[i], ends[i])
        sides, after = [], edges
        while after:
            side = found[after]
            assert side is not None
            if side.one:
                at = self.starts[side.first]
                side = Side(side.first, side.last, self.points[at], self.points[at + 1])
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
        middles, aheads = nearest_lines(begins, ends, lengths / self.squares[starts])
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

    def _between(self, one: Side, other: Side) -> slice:
        """The stretches from a side's last edge to the other's first."""
        return slice(int(self.starts[one.last]) + 1, int(self.starts[other.first]))

    def _joint(
        self, one: Side | None, other: Side | None, between: slice, most: float
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


def _second_half(side: Side) -> list[NDArray[np.float64]]:
    return [(side.begin + side.end) / 2, side.end]


def _first_half(side: Side) -> list[NDArray[np.float64]]:
    return [side.begin, (side.begin + side.end) / 2]


def nearest_lines(
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


def _crossing(one: Side, other: Side) -> NDArray[np.float64] | None:
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
