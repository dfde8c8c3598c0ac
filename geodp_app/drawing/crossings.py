"""Finds where segments between grid points meet, decided in integers.

Candidates are pairs whose bounding boxes meet (an STR tree), so an outline of n edges costs about
n log n; signs of integer determinants decide.  A meeting is a proper crossing, an overlap of
positive length, or a touch: an end of one segment on the other.

Frame: grid units 0..2**20.  A turn is at most 2**40 in size and a difference of two 2**41, so
every product stays below 2**62.

How the rings of a shape lie to each other (what holes may not do) follows from where their edges
meet.  Where two rings neither cross nor overlap, the touching points (all grid points) divide a
ring into chains, each wholly inside or wholly outside the other ring; the middle of one piece of
each chain decides, in integers of half a grid unit.  The interior is connected exactly if the
graph of rings and touching points has no cycle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import shapely
from numpy.typing import NDArray

#: Kinds of meeting.
CROSS, OVERLAP, TOUCH = 1, 2, 3

#: Edges asked for their neighbours at a time: bounds the memory that a scribble takes.
_BLOCK = 256

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Meetings:
    """Pairs of segments that meet.

    Attributes
    ----------
    first, second : ndarray of int, shape (m,)
        Rows of the segments.
    kind : ndarray of int, shape (m,)
        CROSS, OVERLAP or TOUCH.
    at : ndarray of float, shape (m, 2)
        Where: the crossing rounded once, the middle of the overlap, or the touching end (exact).
    """

    first: Ints
    second: Ints
    kind: Ints
    at: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence[Meetings]) -> Meetings:
        """The meetings of all parts."""
        none = np.zeros(0, dtype=np.int64)
        return cls(
            np.concatenate([none, *(part.first for part in parts)]),
            np.concatenate([none, *(part.second for part in parts)]),
            np.concatenate([none, *(part.kind for part in parts)]),
            np.concatenate([np.zeros((0, 2)), *(part.at for part in parts)]),
        )


def all_meetings(edges: Ints, following: Ints) -> Iterator[Meetings]:
    """All meetings of segments that do not follow one another, block by block, each pair once.

    Parameters
    ----------
    edges : ndarray of int, shape (n, 4)
        x1, y1, x2, y2.
    following : ndarray of int, shape (n,)
        Row of the segment that begins where this one ends, or -1.
    """
    low, high = np.minimum(edges[:, :2], edges[:, 2:]), np.maximum(edges[:, :2], edges[:, 2:])
    boxes = shapely.box(low[:, 0], low[:, 1], high[:, 0], high[:, 1])
    tree = shapely.STRtree(boxes)
    for start in range(0, len(edges), _BLOCK):
        found: NDArray[Any] = tree.query(boxes[start : start + _BLOCK])
        first, second = found[0].astype(np.int64) + start, found[1].astype(np.int64)
        keep = (first < second) & (following[first] != second) & (following[second] != first)
        yield meetings(edges, first[keep], second[keep])


def meetings(edges: Ints, first: Ints, second: Ints) -> Meetings:
    """Those of the given pairs of segments that meet.

    Parameters
    ----------
    edges : ndarray of int, shape (n, 4)
        x1, y1, x2, y2; none of length zero.
    first, second : ndarray of int, shape (m,)
        Rows of the pairs to look at.
    """
    ax, ay, bx, by = edges[first].T
    cx, cy, dx, dy = edges[second].T
    c_side = _turn(ax, ay, bx, by, cx, cy)
    d_side = _turn(ax, ay, bx, by, dx, dy)
    a_side = _turn(cx, cy, dx, dy, ax, ay)
    b_side = _turn(cx, cy, dx, dy, bx, by)

    kind = np.zeros(len(first), dtype=np.int64)
    at = np.zeros((len(first), 2))
    crossing = (np.sign(c_side) * np.sign(d_side) < 0) & (np.sign(a_side) * np.sign(b_side) < 0)
    kind[crossing] = CROSS
    # a + t (b - a) with t = a_side / (a_side - b_side): integers up to the one division, which
    # rounds once for Python's integers however large they are
    share, whole = a_side[crossing], (a_side - b_side)[crossing]
    for axis, start, way in ((0, ax, bx - ax), (1, ay, by - ay)):
        scaled = start[crossing] * whole + share * way[crossing]
        at[crossing, axis] = scaled.astype(object) / whole.astype(object)

    along = (c_side == 0) & (d_side == 0)
    for side, x, y, (x1, y1, x2, y2) in (
        (c_side, cx, cy, (ax, ay, bx, by)),
        (d_side, dx, dy, (ax, ay, bx, by)),
        (a_side, ax, ay, (cx, cy, dx, dy)),
        (b_side, bx, by, (cx, cy, dx, dy)),
    ):
        touching = (side == 0) & ~along & _within(x, y, x1, y1, x2, y2)
        kind[touching] = TOUCH
        at[touching] = np.stack([x, y], axis=1)[touching]
    rows = np.flatnonzero(along)
    kind[rows], at[rows] = _on_one_line(edges[first[rows]], edges[second[rows]])

    met = kind > 0
    return Meetings(first[met], second[met], kind[met], at[met])


def _turn(ax: Ints, ay: Ints, bx: Ints, by: Ints, cx: Ints, cy: Ints) -> Ints:
    """Twice the signed area of the triangle a, b, c."""
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)


def _within(x: Ints, y: Ints, x1: Ints, y1: Ints, x2: Ints, y2: Ints) -> NDArray[np.bool_]:
    """Whether points are in the boxes of segments."""
    across = (np.minimum(x1, x2) <= x) & (x <= np.maximum(x1, x2))
    inside: NDArray[np.bool_] = across & (np.minimum(y1, y2) <= y) & (y <= np.maximum(y1, y2))
    return inside


def _on_one_line(one: Ints, other: Ints) -> tuple[Ints, NDArray[np.float64]]:
    """Kind and place of the meetings of segments on common lines; kind 0 where they are apart."""
    low1, high1 = _ordered(one)
    low2, high2 = _ordered(other)
    low = np.where((_key(low1) >= _key(low2))[:, None], low1, low2)
    high = np.where((_key(high1) <= _key(high2))[:, None], high1, high2)
    length = _key(high) - _key(low)
    kind = np.where(length > 0, OVERLAP, np.where(length == 0, TOUCH, 0))
    return kind.astype(np.int64), (low + high) / 2


def _ordered(edges: Ints) -> tuple[Ints, Ints]:
    """Ends of segments, the lexicographically smaller first."""
    start, end = edges[:, :2], edges[:, 2:]
    swap = (_key(start) > _key(end))[:, None]
    return np.where(swap, end, start), np.where(swap, start, end)


def _key(points: Ints) -> Ints:
    """A number that orders points by x, then y: along a line, one way."""
    return points[:, 0] * (1 << 32) + points[:, 1]


#: What a ring does to another one that it may not do.
How = Literal["crosses", "along", "outside", "inside", "parts"]


@dataclass(frozen=True, slots=True)
class Between:
    """Something wrong between a hole and another ring.

    Attributes
    ----------
    ring : int
        The hole, counted from 1.
    other : int
        The other ring: 0 for the outline.
    how : str
    at : (float, float)
    """

    ring: int
    other: int
    how: How
    at: tuple[float, float]


#: Places where two rings touch: row of the edge of the one, row of the edge of the other, point.
_Touches = dict[tuple[int, int], list[tuple[int, int, tuple[int, int]]]]


def between_rings(ends: Ints, ring: Ints, met: Meetings, n_rings: int) -> Iterator[Between]:
    """What is wrong between the rings of a shape.

    Parameters
    ----------
    ends : ndarray of int, shape (n, 4)
        Edges, ring by ring, each ring in order; rings without area have none.
    ring : ndarray of int, shape (n,)
        Ring of each edge, ascending; 0 is the outline.
    met : Meetings
        Of the edges.
    n_rings : int
    """
    if n_rings == 1:
        return
    touches, refused = defaultdict(list), set()
    for row in np.flatnonzero(ring[met.first] != ring[met.second]):
        low, high = sorted((int(met.first[row]), int(met.second[row])))
        pair = (int(ring[low]), int(ring[high]))
        x, y = met.at[row]
        if met.kind[row] == TOUCH:
            touches[pair].append((low, high, (int(x), int(y))))
        elif pair not in refused:
            refused.add(pair)
            how: How = "crosses" if met.kind[row] == CROSS else "along"
            yield Between(pair[1], pair[0], how, (float(x), float(y)))
    wrong = bool(refused)
    rings = [np.flatnonzero(ring == number) for number in range(n_rings)]
    for pair in _pairs(ends, rings):
        if pair not in refused:
            for relation in _nesting(ends, rings, pair, touches[pair]):
                wrong = True
                yield relation
    if not wrong:
        yield from _cycles(touches)


def _pairs(ends: Ints, rings: Sequence[Ints]) -> Iterator[tuple[int, int]]:
    """Each hole with the outline, and with each earlier hole that it may meet."""
    present = [number for number, rows in enumerate(rings) if len(rows)]
    if not present:
        return
    corners = {n: np.concatenate([ends[rings[n], :2], ends[rings[n], 2:]]) for n in present}
    low = np.array([corners[n].min(axis=0) for n in present])
    high = np.array([corners[n].max(axis=0) for n in present])
    for i, number in enumerate(present):
        meets = ((low[:i] <= high[i]) & (low[i] <= high[:i])).all(axis=1)
        for other in np.flatnonzero(meets):
            yield present[other], number
        if i and present[0] == 0 and not meets[0]:
            yield 0, number


def _nesting(
    ends: Ints,
    rings: Sequence[Ints],
    pair: tuple[int, int],
    touches: Sequence[tuple[int, int, tuple[int, int]]],
) -> Iterator[Between]:
    """What is wrong between two rings whose edges neither cross nor overlap."""
    other, hole = pair
    inside = _inside(
        _samples(ends, rings[hole], [(high, at) for _, high, at in touches]), ends[rings[other]]
    )
    somewhere = _start(ends, rings[hole])
    crossing = touches[0][2] if touches else somewhere
    if other == 0:
        if not inside.all():
            how: How = "crosses" if inside.any() else "outside"
            at = crossing if inside.any() else somewhere
            yield Between(hole, other, how, (float(at[0]), float(at[1])))
        return
    if inside.any():
        how = "inside" if inside.all() else "crosses"
        yield Between(hole, other, how, (float(crossing[0]), float(crossing[1])))
        return
    around = _inside(
        _samples(ends, rings[other], [(low, at) for low, _, at in touches]), ends[rings[hole]]
    )
    if around.all():
        at = _start(ends, rings[other])
        yield Between(other, hole, "inside", (float(at[0]), float(at[1])))
    elif around.any():
        yield Between(hole, other, "crosses", (float(crossing[0]), float(crossing[1])))


def _start(ends: Ints, rows: Ints) -> tuple[int, int]:
    x, y = ends[rows[0], :2]
    return int(x), int(y)


def _samples(ends: Ints, rows: Ints, touches: Sequence[tuple[int, tuple[int, int]]]) -> Ints:
    """A point on each chain of a ring between touching points, doubled.  Shape (m, 2)."""
    stops: dict[int, set[tuple[int, int]]] = defaultdict(set)
    after = dict(zip(rows.tolist(), np.roll(rows, -1).tolist(), strict=True))
    for row, point in touches:
        # a vertex is the beginning of the edge that leaves it
        stops[after[row] if point == tuple(ends[row, 2:]) else row].add(point)
    if not stops:
        return (ends[rows[:1], :2] + ends[rows[:1], 2:]).astype(np.int64)
    samples = []
    for row, points in stops.items():
        x, y = ends[row, :2].tolist()
        way = sorted(points, key=lambda p: (p[0] - x) ** 2 + (p[1] - y) ** 2)
        for here, there in zip(way, [*way[1:], tuple(ends[row, 2:].tolist())], strict=True):
            samples.append((here[0] + there[0], here[1] + there[1]))
    return np.array(samples, dtype=np.int64)


def _inside(doubled: Ints, edges: Ints) -> NDArray[np.bool_]:
    """Which points, given doubled and not on the ring, the ring surrounds (even-odd)."""
    inside: NDArray[np.bool_] = shapely.contains_xy(shapely.Polygon(2 * edges[:, :2]), doubled)
    return inside


def _cycles(touches: _Touches) -> Iterator[Between]:
    """Touching points that close a cycle of rings."""
    parent: dict[object, object] = {}

    def root(node: object) -> object:
        while parent.setdefault(node, node) != node:
            node = parent[node]
        return node

    met = {(ring, at) for pair, found in touches.items() for *_, at in found for ring in pair}
    for ring, at in sorted(met):  # the outline's first: a cycle is closed by a hole
        one, other = root(ring), root(at)
        if one == other:
            yield Between(ring, 0, "parts", (float(at[0]), float(at[1])))
        parent[one] = other
