"""Divides a part of an outline into sides, runs of consecutive edges, each drawn as one line; and
finds the joints where they meet.

What a division costs, and why: :mod:`learners.tiles.borders`.

From one side to the next an outline passes by a *joint*, where tiles' borders lie between them.
Two tiles' edges seldom meet at their border, so the outline has a jog there, or a tooth.  The shape
has none: borders are the learner's.  What leads along borders from the middle of one side to the
middle of the next gives way to the path, with corners on the old one, that has the least of

    (area between the paths) / u^2 + TURN_NATS * (how far it turns, in radians),

u^2 the area in which one nat is expected.  The first FREE_NATS between a straight piece and the old
path count little, an eighth: an edge is known worst at its ends, best in its middle, which is why
joints reach up to there.  A path that turns one way turns no farther than the two sides do; a jog
turns there and back.  So jogs and teeth go if they are small enough, and a corner stays.

Dynamic programming finds the least over the corners that :func:`joint` tries.  Nothing here is
exact or needs to be: a function of what is released (docs/privacy.md, lemmas 7 and 8).  What was
measured: docs/decisions/0035-joints.md.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from geometry.arrays import Floats, Ints

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
    begin: Floats
    end: Floats

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

    points: Floats
    squares: Floats
    starts: Ints
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

    def straight(self, price: float, most: float) -> Floats:
        """Its points with straight sides; if it is not closed, the first and the last stay."""
        chain, sides = self.divided(price)
        if not sides:
            return self.points
        pairs = itertools.pairwise([*sides, sides[0]] if self.closed else sides)
        found = [point for one, other in pairs for point in chain._joint(one, other, most)]
        if self.closed:
            return np.array(found)
        begin, end, last = sides[0], sides[-1], int(self.starts[-1]) + 1
        if self.starts[0]:
            found = self._joint(None, begin, most) + found
        else:
            if not begin.one:
                found.insert(0, _beyond(begin.begin, begin.end, self.points[0]))
            found.insert(0, self.points[0])
        if last < len(self.squares):
            found += self._joint(end, None, most)
        else:
            if not end.one:
                found.append(_beyond(end.end, end.begin, self.points[last]))
            found.append(self.points[last])
        return np.array(found)

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

    def _lines(self, first: int) -> tuple[Floats, Floats, Floats]:
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

    def _joint(self, one: Side | None, other: Side | None, most: float) -> list[Floats]:
        """The points from side to side where the stretches between were; no side is the end of the
        chain."""
        start = int(self.starts[one.last]) + 1 if one else 0
        # before the first edge of a closed chain, whose last point is its first, lie its last
        stop = (int(self.starts[other.first]) if other else 0) or len(self.squares)
        old, squares = self.points[start : stop + 1], self.squares[start:stop]
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
        # of a side its nearer half
        path = [*([(one.begin + one.end) / 2, one.end] if one else old[:1]), *old[1:-1]]
        path += [other.begin, (other.begin + other.end) / 2] if other else [old[-1]]
        sides = one is not None, other is not None
        return [*joint(np.array(path), np.array([*ends, *squares, *begins]), sides, most)]


def nearest_lines(begins: Floats, ends: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """For every number of edges the line nearest to the first of them: a point of it, and a unit
    vector the way that they go, both (r, 2).

    Distances are squared and meant along all of an edge, which has its weight (r,).
    """

    def outer(vectors: Floats) -> Floats:
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


def _area(left: Floats, right: Floats, width: Floats) -> Floats:
    """Between a line and stretches with ends at these heights over it, so far apart along it."""
    high = np.abs(left) + np.abs(right)
    safe = np.where(high > 0, high, 1.0)
    crossing = (left**2 + right**2) / (2 * safe)
    return np.abs(width) * np.where(left * right >= 0, high / 2, crossing)


def _crossing(one: Side, other: Side) -> Floats | None:
    """Where the lines of two sides cross, if no farther from their ends than half of either."""
    first, second = one.end - one.begin, other.end - other.begin
    turn = float(first[0] * second[1] - first[1] * second[0])
    if turn == 0:
        return None
    gap = other.begin - one.end
    along = (gap[0] * second[1] - gap[1] * second[0]) / turn
    meet: Floats = one.end + along * first
    if abs(along) * one.length >= one.length / 2:
        return None
    return meet if np.hypot(*(meet - other.begin)) < other.length / 2 else None


def _beyond(end: Floats, other: Floats, old: Floats) -> Any:
    """The end of a line whose other end is `other`, drawn out: it may end before the rim of the
    square, on which the drawn edges end at `old`, and what is beyond the rim is cut off."""
    length = float(np.hypot(*(end - other)))
    farther = min(_FARTHER * float(np.hypot(*(end - old))), length / 2)
    return end + (end - other) * (farther / length)


#: What a turn by a radian weighs, in nats.
TURN_NATS = 8.0

#: So many nats between a new straight piece and the old path are known not to be meant.
FREE_NATS = 2.0

#: What these count, until those beyond do.
FREE_WEIGHT = 1 / 8

#: A straight piece leaves at most this share of the square between it and the old path.
MOST_SHARE = 1 / 500

#: Corners are tried so far from the end of a side, in u.
_DISTANCES = 2.0 ** np.arange(-1, 6, 0.75)

#: Along borders corners are tried at most so many u apart, but for the next.
_STEP = 4.0

#: At most so many on one stretch along a border.
_MOST_STOPS = 8

#: A straight piece passes over at most so many corners: bounds the work.
_MOST_PASSED = 60


def joint(path: Floats, squares: Floats, sides: tuple[bool, bool], most: float) -> Floats:
    """The corners of the path that weighs least.

    Parameters
    ----------
    path : ndarray of float64, shape (m + 1, 2)
        From the middle of one side to the middle of the next, in grid units.
    squares : ndarray of float64, shape (m,)
        u^2 along each stretch of it, in square grid units.
    sides : tuple of bool
        Whether its first stretch, and its last, is of a side; else the outline begins, or ends,
        there.
    most : float
        A straight piece leaves at most this area between it and the old path.

    Returns
    -------
    ndarray of float64, shape (r, 2)
        With the two ends, but for one that lies on a side and is no corner.
    """
    points, stretch = stops_along(path, squares, sides)
    last = len(points) - 1
    # up to the one a piece lies on the first side alone, from the other on, on the second alone
    leaves = int(np.searchsorted(stretch, int(sides[0])))
    returns = int(np.searchsorted(stretch, len(squares) - int(sides[1])))
    before = _angle(path[1] - path[0]) if sides[0] else None
    after = _angle(path[-1] - path[-2]) if sides[1] else None

    # least[i][k]: up to point i + 1 + k, if the last piece begins at point i
    least: list[Floats] = []
    angles: list[Floats] = []
    came: list[Ints] = []
    for i in range(last):
        ahead = points[i : i + _MOST_PASSED + 2]
        costs, turned = pieces_between(ahead, squares[stretch[i : i + len(ahead) - 1]], most)
        passed = np.arange(1, len(costs))
        # along a side there is one way
        costs[1:][(i + passed < leaves) | (i >= returns)] = np.inf
        if i == 0:
            reached = np.zeros((1, len(costs)))
            if before is not None:
                reached += TURN_NATS * _turns(before, turned)
            starts = np.array([-1])
        else:
            starts = np.arange(max(0, i - _MOST_PASSED - 1), i)
            to = np.array([least[h][i - 1 - h] for h in starts])
            along = np.array([angles[h][i - 1 - h] for h in starts])
            reached = to[:, None] + TURN_NATS * _turns(along[:, None], turned[None, :])
        chosen = reached.argmin(axis=0)
        least.append(reached[chosen, np.arange(len(costs))] + costs)
        angles.append(turned)
        came.append(starts[chosen])

    ends = np.arange(max(0, last - _MOST_PASSED - 1), last)
    totals = np.array([least[h][last - 1 - h] for h in ends])
    if after is not None:
        totals += TURN_NATS * _turns(after, np.array([angles[h][last - 1 - h] for h in ends]))
    visited = [last]
    start = int(ends[totals.argmin()])
    while start >= 0:
        at = visited[-1]
        visited.append(start)
        start = int(came[start][at - 1 - start])
    return points[_corners(visited[::-1], stretch, sides)]


def stops_along(path: Floats, squares: Floats, sides: tuple[bool, bool]) -> tuple[Floats, Ints]:
    """Corners that are tried, (n + 1, 2), and on which stretch each of them but the last begins."""
    found, stretch = [], []
    for i, square in enumerate(squares):
        begin, ahead = path[i], path[i + 1] - path[i]
        length, unit = float(np.hypot(*ahead)), float(np.sqrt(square))
        if length == 0:
            continue
        near = unit * _DISTANCES / length
        near = near[near < 1]
        if i == 0 and sides[0]:
            parts = np.concatenate([[0.0], 1 - near[::-1]])
        elif i == len(squares) - 1 and sides[1]:
            parts = np.concatenate([[0.0], near])
        else:
            count = min(_MOST_STOPS, int(length / (_STEP * unit)) + 1)
            parts = np.arange(count) / count
        found.append(begin + ahead * parts[:, None])
        stretch += [i] * len(parts)
    return np.vstack([*found, path[-1:]]), np.array(stretch)


def pieces_between(ahead: Floats, squares: Floats, most: float) -> tuple[Floats, Floats]:
    """What straight pieces from the first of these points to each of the others weigh, without the
    turns, and their angles; the first of them lies on the old path."""
    vectors = ahead[1:] - ahead[0]
    lengths = np.hypot(*vectors.T)
    units = vectors / np.where(lengths > 0, lengths, 1.0)[:, None]
    lefts = np.stack([-units[:, 1], units[:, 0]], axis=1)
    # shape (points, pieces)
    places, heights = (ahead - ahead[0]) @ units.T, (ahead - ahead[0]) @ lefts.T
    widths = np.diff(places, axis=0)
    passed = np.arange(len(vectors))
    about = passed[:, None] <= passed
    total = np.zeros(len(vectors))
    for side in (heights, -heights):
        above = _area_above(side[:-1], side[1:]) * widths
        # what leads back over the same place is taken off
        total += np.abs(np.where(about, above, 0.0).sum(axis=0))
    nats = total / np.minimum.accumulate(squares)
    costs = np.maximum(FREE_WEIGHT * nats, nats - FREE_NATS)
    costs[(total > most) | (lengths == 0)] = np.inf
    costs[0] = 0.0
    return costs, np.arctan2(vectors[:, 1], vectors[:, 0])


def _area_above(left: Floats, right: Floats) -> Floats:
    """Over a line of length 1, under a stretch with ends at these heights over it."""
    high, low = np.maximum(left, right), np.minimum(left, right)
    fall = np.where(high > low, high - low, 1.0)
    crossing = np.where(high > 0, high, 0.0) ** 2 / (2 * fall)
    return np.where(low >= 0, (left + right) / 2, crossing)


def _angle(vector: Floats) -> float:
    return float(np.arctan2(vector[1], vector[0]))


def _turns(one: Floats | float, other: Floats) -> Floats:
    """How far it is from one angle to the other, in radians."""
    return np.abs((other - one + np.pi) % (2 * np.pi) - np.pi)


def _corners(visited: list[int], stretch: Ints, sides: tuple[bool, bool]) -> list[int]:
    """Those of the visited points that are no stops on a stretch of the old path."""
    last = visited[-1]

    def stop(before: int, at: int, after: int) -> bool:
        return before == at - 1 and after == at + 1 and stretch[before] == stretch[at]

    found = [] if sides[0] and visited[1] == 1 else [0]
    found += [at for i, at in enumerate(visited[1:-1]) if not stop(visited[i], at, visited[i + 2])]
    return found if sides[1] and visited[-2] == last - 1 else [*found, last]
