"""How the rings of a shape lie to each other: what holes may not do.

Where two rings cross or overlap, that is known from the meetings of their edges.  Otherwise the
touching points (all grid points) divide a ring into chains, each wholly inside or wholly outside
the other ring; the middle of one piece of each chain decides, in integers of half a grid unit.
The interior is connected exactly if the graph of rings and touching points has no cycle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geodp_app.drawing.crossings import CROSS, TOUCH, Ints, Meetings

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
    px, py = doubled[:, :1], doubled[:, 1:]
    x1, y1, x2, y2 = 2 * edges.T
    spans = (y1 > py) != (y2 > py)
    side = (x2 - x1) * (py - y1) - (px - x1) * (y2 - y1)
    left = np.where(y2 > y1, side > 0, side < 0)
    odd: NDArray[np.bool_] = (spans & left).sum(axis=1) % 2 == 1
    return odd


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
