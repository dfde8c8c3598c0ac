"""Decides exactly which points polygons hold.

A polygon is an outline and holes, rings of any kind: they may cross or touch themselves and each
other.  A point belongs to the polygon's *open* region if the outline goes around it an odd number
of times and each hole an even number (even-odd rule); the polygon holds the closure of that region,
so its boundary, and no line that has the same on both sides.  Several polygons hold what one of
them holds: no union is made.

Signs of determinants of doubles decide, by Shewchuk's bound on their rounding error ("Adaptive
precision floating-point arithmetic and fast robust geometric predicates", 1997), and where that
leaves them open, integers.

Complexity: points are halved again and again; an edge that does not meet the box of a half is
settled for all points of it, by order of their ordinates.  For m edges that are short, or all
steep, or all flat, and n points that is about (m + n) log n; for m lines in all directions
m sqrt(n).

Frame: any; coordinates are doubles, taken as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geometry.bulk_labels import bulk_labels

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]

#: Relative error of a sign's determinant, above (3 + 16 * 2^-53) * 2^-53.
_ERROR = 3.34e-16

#: Points and edges are paired one by one where there are this few pairs, or rows of either.
_PAIRS, _FEW = 1 << 14, 8
#: Pairs at a time: bounds memory.
_BLOCK = 1 << 17


def held_points(polygons: Sequence[Sequence[Floats]], points: NDArray[Any]) -> Flags:
    """Which points one of some polygons holds.

    Parameters
    ----------
    polygons : sequence of sequence of ndarray of float, shape (m, 2)
        Of each the outline, then its holes; the first vertex of a ring is not repeated, or it is.
    points : ndarray of int or float, shape (n, 2)

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    # rows side by side in memory are much faster to look through
    if points.dtype.kind not in "iu" or not len(points):
        return _held(polygons, *np.ascontiguousarray(points.T, dtype=np.float64))
    points = np.asarray(points, dtype=np.int64, order="F")
    low = points.min(axis=0)

    def borders() -> Floats:
        rings = [ring - low for polygon in polygons for ring in polygon]
        edges = (np.hstack([ring, np.roll(ring, -1, axis=0)]) for ring in rings)
        return np.concatenate([np.empty((0, 4)), *edges])

    def label(some: Rows) -> Flags:
        return _held(polygons, *(some + low).T.astype(np.float64, order="C"))

    width, height = (points.max(axis=0) - low + 1).tolist()
    return bulk_labels(label, points - low, (width, height), borders)


def _held(polygons: Sequence[Sequence[Floats]], x: Floats, y: Floats) -> Flags:
    held = np.zeros(len(x), dtype=np.bool_)
    order = np.argsort(y) if len(polygons) > 1 else np.arange(len(y))
    x, y = x[order], y[order]
    for rings in polygons:
        (left, bottom), (right, top) = rings[0].min(axis=0), rings[0].max(axis=0)
        part = slice(None)
        if len(polygons) > 1:
            part = slice(np.searchsorted(y, bottom), np.searchsorted(y, top, side="right"))
        near = (x[part] >= left) & (x[part] <= right) & ~held[part]
        if len(polygons) == 1:
            near &= (y >= bottom) & (y <= top)
        rows = np.flatnonzero(near)
        if len(rows):
            rows += part.start or 0
            held[rows] = _polygon_holds(rings, x[rows], y[rows])
    found = np.empty_like(held)
    found[order] = held
    return found


def _polygon_holds(rings: Sequence[Floats], x: Floats, y: Floats) -> Flags:
    """Which points, within the outline's box, a polygon holds."""
    held = np.ones(len(x), dtype=np.bool_)
    rows, edges, facts = [], [], []
    for number, ring in enumerate(rings):
        near = np.arange(len(x))
        if number:
            (left, bottom), (right, top) = ring.min(axis=0), ring.max(axis=0)
            near = np.flatnonzero(held & (x >= left) & (x <= right) & (y >= bottom) & (y <= top))
        odd, at, met = _sides(ring, x[near], y[near])
        wrong = odd ^ (number == 0)
        wrong[at] = False
        held[near[wrong]] = False
        rows.append(near[at])
        edges.append(met)
        facts.append(np.stack([np.full(len(at), number), odd[at]], axis=1))
    row, edge, fact = (np.concatenate(parts) for parts in (rows, edges, facts))
    # a point on one edge has the region on one side of it; so has one where two edges of a ring
    # meet or cross, if these are not parallel
    order = np.argsort(row, kind="stable")
    row, edge, fact = row[order], edge[order], fact[order]
    first = np.flatnonzero(np.diff(row, prepend=-1))
    count = np.diff(first, append=len(row))
    pair = first[count == 2]
    apart = np.zeros(len(row), dtype=np.bool_)
    apart[pair] = (fact[pair, 0] == fact[pair + 1, 0]) & _not_parallel(edge[pair], edge[pair + 1])
    for start, several in zip(first.tolist(), count.tolist(), strict=True):
        if several > 1 and not apart[start] and held[row[start]]:
            part = slice(start, start + several)
            spot = x[row[start]], y[row[start]]
            held[row[start]] = _touches(spot, edge[part], fact[part], len(rings))
    return held


def _sides(ring: Floats, x: Floats, y: Floats) -> tuple[Flags, Rows, Floats]:
    """Whether a ring goes around points an odd number of times, shape (n,), and which lie on it.

    Of a point on an edge it is told just beside it: to the right, and up by far less.  The second
    are the rows of points that lie on edges, once for each, shape (t,); the third these edges, x1,
    y1, x2, y2, the lower end first, shape (t, 4).
    """
    ends = np.hstack([ring, np.roll(ring, -1, axis=0)])
    ends = ends[(ends[:, :2] != ends[:, 2:]).any(axis=1)]
    down = ends[:, 1] > ends[:, 3]
    ends[down] = ends[down][:, [2, 3, 0, 1]]
    odd = np.zeros(len(x), dtype=np.bool_)
    found: list[tuple[Rows, Rows]] = []
    waiting = [(np.arange(len(x)), np.arange(len(ends)))] if len(x) else []
    while waiting:
        rows, numbers = waiting.pop()
        u, v = x[rows], y[rows]
        box = u.min(), v.min(), u.max(), v.max()
        beyond, across = _by_box(ends[numbers], *box)
        if beyond.any():
            odd[rows] ^= _odd_by_height(ends[numbers[beyond]], v)
        numbers = numbers[across]
        if not len(numbers):
            continue
        few = min(len(rows), len(numbers)) <= _FEW or len(rows) * len(numbers) <= _PAIRS
        if few or box[:2] == box[2:]:
            turned, pairs = _pair_up(ends[numbers], u, v)
            odd[rows] ^= turned
            found += [(rows[spot], numbers[edge]) for spot, edge in pairs]
            continue
        half = _lower_half(ends[numbers], u, v, np.array(box[:2]), np.array(box[2:]))
        waiting += [(rows[half], numbers), (rows[~half], numbers)]
    at = np.concatenate([np.zeros(0, dtype=np.int64), *(rows for rows, _ in found)])
    met = np.concatenate([np.zeros(0, dtype=np.int64), *(numbers for _, numbers in found)])
    return odd, at, ends[met]


def _by_box(
    edges: Floats, left: float, bottom: float, right: float, top: float
) -> tuple[Flags, Flags]:
    """Which edges lie to the right of a box, at the height of a part of it, and which may meet it.

    Others matter to no point of the box.
    """
    x1, y1, x2, y2 = edges.T
    at_height = (y2 >= bottom) & (y1 <= top) & (np.maximum(x1, x2) >= left)
    beyond = at_height & (np.minimum(x1, x2) > right)
    across = at_height & ~beyond
    wide, tall = x2 - x1, y2 - y1
    rising = wide > 0
    # the least and the greatest turn are at opposite corners
    near, far = np.where(rising, bottom, top), np.where(rising, top, bottom)
    for corner, height, sign in ((right, near, 1), (left, far, -1)):
        one, other = wide * (height - y1), tall * (corner - x1)
        sure = sign * (one - other) > _ERROR * (np.abs(one) + np.abs(other))
        apart = across & sure & (tall > 0)
        across &= ~apart
        if sign > 0:
            beyond |= apart
    return beyond, across


def _odd_by_height(edges: Floats, y: Floats) -> Flags:
    """Whether at heights y an odd number of edges begins at or below and ends above."""
    begun = np.searchsorted(np.sort(edges[:, 1]), y, side="right")
    ended = np.searchsorted(np.sort(edges[:, 3]), y, side="right")
    odd: Flags = (begun - ended) % 2 == 1
    return odd


def _lower_half(edges: Floats, x: Floats, y: Floats, low: Floats, high: Floats) -> Flags:
    """Half of the points: along the axis in which the edges in their box are short."""
    size = high - low
    bottom = np.maximum(np.minimum(edges[:, :2], edges[:, 2:]), low)
    reach = (np.minimum(np.maximum(edges[:, :2], edges[:, 2:]), high) - bottom).sum(axis=0)
    axis = int(reach[1] * size[0] < reach[0] * size[1]) if size.all() else int(size[0] == 0)
    along = (x, y)[axis]
    middle = np.partition(along, len(along) // 2)[len(along) // 2]
    half: Flags = along <= middle if middle < high[axis] else along < middle
    return half


def _pair_up(edges: Floats, x: Floats, y: Floats) -> tuple[Flags, list[tuple[Rows, Rows]]]:
    """Each point with each edge: whether an odd number lies to the right; which lie on which."""
    odd = np.zeros(len(x), dtype=np.bool_)
    found = []
    x1, y1, x2, y2 = edges.T[:, :, None]
    left, right = np.minimum(x1, x2), np.maximum(x1, x2)
    block = max(1, _BLOCK // len(edges))
    for start in range(0, len(x), block):
        part = slice(start, start + block)
        u, v = x[part], y[part]
        at_height = (y1 <= v) & (v <= y2)
        boxed = at_height & (left <= u) & (u <= right)
        side = _signs(x1, y1, x2, y2, u, v, boxed)
        odd[part] = np.logical_xor.reduce((side > 0) & at_height & (v < y2), axis=0)
        boxed &= side == 0
        if boxed.any():
            edge, spot = np.nonzero(boxed)
            found.append((spot + start, edge))
    return odd, found


def _signs(
    x1: Floats, y1: Floats, x2: Floats, y2: Floats, x: Floats, y: Floats, asked: Flags
) -> NDArray[Any]:
    """Signs of the turns from (x1, y1) over (x2, y2) to (x, y), exact where asked."""
    one, other = (x2 - x1) * (y - y1), (y2 - y1) * (x - x1)
    turn = one - other
    np.abs(one, out=one)
    one += np.abs(other, out=other)
    one *= _ERROR
    open_ = np.nonzero(asked & (np.abs(turn) <= one))
    signs = np.sign(turn)
    if len(open_[0]):
        shape = turn.shape
        given = [np.broadcast_to(v, shape)[open_] for v in (x1, y1, x2, y2, x, y)]
        a, b, c, d, e, f = _integers(np.stack(given))
        exact = (c - a) * (f - b) - (d - b) * (e - a)
        signs[open_] = (exact > 0).astype(float) - (exact < 0).astype(float)
    return signs


def _integers(numbers: Floats) -> NDArray[Any]:
    """Doubles as Python's integers, all multiplied by one power of two."""
    parts, powers = np.frexp(numbers)
    powers[parts == 0] = powers.max(initial=-2000)
    whole = (parts * 2.0**53).astype(np.int64).astype(object)
    return np.asarray(whole << (powers - powers.min(initial=2000)).astype(object))


def _not_parallel(one: Floats, other: Floats) -> Flags:
    """Which edges are surely not parallel."""
    (wide, tall), (across, up) = (one[:, 2:] - one[:, :2]).T, (other[:, 2:] - other[:, :2]).T
    a, b = wide * up, tall * across
    sure: Flags = np.abs(a - b) > _ERROR * (np.abs(a) + np.abs(b))
    return sure


def _touches(point: tuple[float, float], edges: Floats, facts: Rows, n_rings: int) -> bool:
    """Whether a point on several edges, shape (t, 4), has the open region beside it.

    It is not inside of a hole, and of the outline or on it.  Facts, shape (t, 2), are the ring of
    each edge, and whether that goes around a point to the right, and up by far less, an odd number
    of times.
    """
    around = [True] + [False] * (n_rings - 1)
    rays = []
    numbers = _integers(np.append(edges.ravel(), point))
    (x, y), ends = numbers[-2:], numbers[:-2].reshape(-1, 4).tolist()
    for (ring, odd), (x1, y1, x2, y2) in zip(facts.tolist(), ends, strict=True):
        around[ring] = bool(odd)
        for u, v in ((x1 - x, y1 - y), (x2 - x, y2 - y)):
            if u or v:
                rays.append((v < 0 or (v == 0 and u > 0), u, v, ring))
    # counter-clockwise from just above the ray to the right, which comes last
    rays.sort(key=cmp_to_key(_by_angle))
    if around[0] and not any(around[1:]):
        return True
    for i, ray in enumerate(rays):
        around[ray[3]] ^= True
        last = i + 1 == len(rays) or _by_angle(ray, rays[i + 1]) != 0
        if last and around[0] and not any(around[1:]):
            return True
    return False


def _by_angle(one: tuple[bool, int, int, int], other: tuple[bool, int, int, int]) -> int:
    if one[0] != other[0]:
        return int(one[0]) - int(other[0])
    turn = one[1] * other[2] - one[2] * other[1]
    return (turn < 0) - (turn > 0)
