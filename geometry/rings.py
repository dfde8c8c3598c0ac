"""Decides exactly which points polygons hold, and counts how often their outlines cross.

A polygon is an outline and holes, rings of any kind: they may cross or touch themselves and each
other.  A point belongs to the polygon's *open* region if the outline goes around it an odd number
of times and each hole an even number (even-odd rule); the polygon holds the closure of that region,
so its boundary, and no line that has the same on both sides.  Several polygons hold what one of
them holds: no union is made.

GEOS says on which side of each ring a point lies, and which edges it lies on, by signs of
determinants.  Where doubles leave these open it takes 106 bits: exact where no difference of two
coordinates has more than 53, as of grid points and multiples of 1/:func:`geometry.polygons.units`.
Points where several edges meet are judged in integers, by the order of the edges round them.

Complexity: for m edges and n points about (m + n) log m, and as many edges as lie at its height for
a point where edges meet.

Frame: any; coordinates are doubles, taken as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from itertools import groupby
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import Polygon
from shapely.geometry.base import BaseGeometry

from geometry.arrays import Flags, Floats, Ints

#: A polygon's rings, and the figure of each, prepared for many points.
_Rings = tuple[Sequence[Floats], list[Polygon]]

#: Relative error of a sign's determinant, above (3 + 16 * 2^-53) * 2^-53 (Shewchuk 1997).
_ERROR = 3.34e-16
#: Points that are looked at at a time: bounds memory.
_AT_ONCE = 1 << 19
#: Points of which the edges at their height are looked at, at a time.
_RAYS = 64


def held_points(polygons: Sequence[Sequence[Floats]], points: NDArray[Any]) -> Flags:
    """Which points, int or float of shape (n, 2), one of some polygons holds, bool of shape (n,).

    Of each polygon the rings are given, the outline, then its holes, float of shape (m, 2); the
    first vertex of a ring is not repeated, or it is.
    """
    figures: list[_Rings] = []
    for outline, *holes in polygons:
        if (outline != outline[:1]).any():
            rings = [outline, *(hole for hole in holes if (hole != hole[:1]).any())]
            # one corner twice: of four corners GEOS takes some that go back for a rectangle
            solids = [Polygon(np.vstack([ring, ring[:1], ring[:1]])) for ring in rings]
            figures.append((rings, solids))
    for _, solids in figures:
        shapely.prepare(solids)
    parts = (points[i : i + _AT_ONCE] for i in range(0, len(points), _AT_ONCE))
    held = [_held(figures, *np.ascontiguousarray(part.T, dtype=np.float64)) for part in parts]
    return np.concatenate([np.zeros(0, dtype=np.bool_), *held])


def _held(polygons: list[_Rings], x: Floats, y: Floats) -> Flags:
    held = np.zeros(len(x), dtype=np.bool_)
    order = np.argsort(y) if len(polygons) > 1 else np.arange(len(y))
    x, y = x[order], y[order]
    for rings, solids in polygons:
        left, bottom, right, top = solids[0].bounds
        part = slice(None)
        if len(polygons) > 1:
            part = slice(np.searchsorted(y, bottom), np.searchsorted(y, top, side="right"))
        near = (x[part] >= left) & (x[part] <= right) & ~held[part]
        rows = np.flatnonzero(near) + (part.start or 0)
        if len(rows):
            held[rows] = _polygon_holds(rings, solids, x[rows], y[rows])
    found = np.empty_like(held)
    found[order] = held
    return found


def _polygon_holds(rings: Sequence[Floats], solids: list[Polygon], x: Floats, y: Floats) -> Flags:
    """Which points a polygon holds."""
    held: Flags = shapely.intersects_xy(solids[0], x, y)
    on_edge = held & ~shapely.contains_xy(solids[0], x, y)
    for hole in solids[1:]:
        left, bottom, right, top = hole.bounds
        near = held & (x >= left) & (x <= right) & (y >= bottom) & (y <= top)
        rows = np.flatnonzero(near)
        inside = shapely.contains_xy(hole, x[rows], y[rows])
        held[rows[inside]] = False
        on_edge[rows] |= ~inside & shapely.intersects_xy(hole, x[rows], y[rows])
    rows = np.flatnonzero(held & on_edge)
    if len(rows):
        held[rows] = _edge_holds(rings, x[rows], y[rows])
    return held


def _edge_holds(rings: Sequence[Floats], x: Floats, y: Floats) -> Flags:
    """Which points on edges a polygon holds, of those in no hole and not outside of the outline.

    A point on one edge has the region on one side of it; so has one where two edges of a ring meet
    or cross, if these are not parallel.
    """
    held = np.ones(len(x), dtype=np.bool_)
    ends = np.concatenate([np.hstack([ring, np.roll(ring, -1, axis=0)]) for ring in rings])
    owner = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
    real = (ends[:, :2] != ends[:, 2:]).any(axis=1)
    ends, owner = ends[real], owner[real]
    tree = shapely.STRtree(shapely.linestrings(ends.reshape(-1, 2, 2)))
    spot, edge = tree.query(shapely.points(x, y), predicate="intersects")
    order = np.argsort(spot, kind="stable")
    spot, edge = spot[order], edge[order]
    first = np.flatnonzero(np.diff(spot, prepend=-1))
    count = np.diff(first, append=len(spot))
    pair = first[count == 2]
    one, other = edge[pair], edge[pair + 1]
    clear = pair[(owner[one] == owner[other]) & _not_parallel(ends[one], ends[other])]
    asked = (count > 1) & ~np.isin(first, clear)
    waiting: list[tuple[int, list[_Ray]]] = []
    for begin, several in zip(first[asked].tolist(), count[asked].tolist(), strict=True):
        place, met = int(spot[begin]), edge[begin : begin + several]
        rays = _rays((x[place], y[place]), ends[met], owner[met].tolist())
        turns = any(len(list(same)) % 2 for _, same in groupby(rays, key=_ANGLE))
        # where one ring turns there is a place beside it in it, and one out of it
        if not turns or len(set(owner[met].tolist())) > 1:
            waiting.append((place, rays))
    for i in range(0, len(waiting), _RAYS):
        places = [place for place, _ in waiting[i : i + _RAYS]]
        around = _around(tree, ends, owner, x[places], y[places], len(rings))
        for (place, rays), odd in zip(waiting[i : i + _RAYS], around, strict=True):
            held[place] = _touches(rays, odd)
    return held


def _around(
    tree: shapely.STRtree, ends: Floats, owner: Ints, x: Floats, y: Floats, n_rings: int
) -> list[list[bool]]:
    """For each point which rings go around the place beside it, to the right and up by far less, an
    odd number of times."""
    far = np.full(len(x), 2 * np.abs(ends).max() + 1)
    rays = shapely.linestrings(np.stack([x, y, far, y], axis=1).reshape(-1, 2, 2))
    spot, edge = tree.query(rays, predicate="intersects")
    low, high = np.minimum(ends[edge, 1], ends[edge, 3]), np.maximum(ends[edge, 1], ends[edge, 3])
    spans = (low <= y[spot]) & (y[spot] < high)
    spot, edge = spot[spans], edge[spans]
    met = shapely.intersects_xy(tree.geometries[edge], x[spot], y[spot])
    key = spot[~met] * n_rings + owner[edge[~met]]
    odd = np.bincount(key, minlength=len(x) * n_rings) % 2 == 1
    found: list[list[bool]] = odd.reshape(len(x), n_rings).tolist()
    return found


def _not_parallel(one: Floats, other: Floats) -> Flags:
    """Which edges are surely not parallel."""
    (wide, tall), (across, up) = (one[:, 2:] - one[:, :2]).T, (other[:, 2:] - other[:, :2]).T
    a, b = wide * up, tall * across
    return np.asarray(np.abs(a - b) > _ERROR * (np.abs(a) + np.abs(b)))


#: Whether it goes down, or to the right; how far across and up; and the number of its ring.
_Ray = tuple[bool, int, int, int]


def _rays(point: tuple[float, float], edges: Floats, owner: list[int]) -> list[_Ray]:
    """What leaves a point of edges, shape (t, 4), and of these rings: counter-clockwise from just
    above the ray to the right, which comes last."""
    # as whole numbers, all multiplied by one power of two
    ratios = [number.as_integer_ratio() for number in (*point, *edges.ravel().tolist())]
    most = max(below for _, below in ratios)
    x, y, *ends = (above * (most // below) for above, below in ratios)
    rays = []
    for i in range(0, len(ends), 2):
        u, v = ends[i] - x, ends[i + 1] - y
        if u or v:
            rays.append((v < 0 or (v == 0 and u > 0), u, v, owner[i // 4]))
    return sorted(rays, key=_ANGLE)


def _by_angle(one: _Ray, other: _Ray) -> int:
    if one[0] != other[0]:
        return int(one[0]) - int(other[0])
    turn = one[1] * other[2] - one[2] * other[1]
    return (turn < 0) - (turn > 0)


_ANGLE = cmp_to_key(_by_angle)


def _touches(rays: list[_Ray], around: list[bool]) -> bool:
    """Whether a point with these rays has the open region beside it; `around` is of it as
    :func:`_around` has it."""
    if around[0] and not any(around[1:]):
        return True
    for _, together in groupby(rays, key=_ANGLE):
        for ray in together:
            around[ray[3]] ^= True
        if around[0] and not any(around[1:]):
            return True
    return False


def crossings_up_to(limit: int, edges: Floats) -> int:
    """Proper crossings among edges, or more than `limit` if there are more.

    Edges x1, y1, x2, y2 are float of shape (n, 4), in any frame; those that share an end do not
    cross. What a union of polygons costs grows with the points in which their outlines cross, and n
    edges can cross n^2 / 4 times: a file of 200 kB may ask for hours and gigabytes.  A line sweeps
    over the edges, along the axis on which fewer of them lie side by side, and each is tried with
    those that lie beside it; signs of determinants in doubles decide, which is exact enough to
    count.
    """
    from geometry.crossing_loop import swept  # compiled: loaded where it is needed

    sweeps = []
    for axis in (0, 1):
        ends = edges[:, [axis, 1 - axis, axis + 2, 3 - axis]]
        ends = np.where(ends[:, :1] <= ends[:, 2:3], ends, ends[:, [2, 3, 0, 1]])
        ends = ends[np.argsort(ends[:, 0])]
        beside = np.searchsorted(ends[:, 0], ends[:, 2], side="right")
        sweeps.append((int(beside.sum()), axis, ends, beside))
    _, _, ends, beside = min(sweeps)
    return int(swept(limit, np.ascontiguousarray(ends), beside))


def edges_of(shapes: Sequence[BaseGeometry]) -> Floats:
    """Edges, shape (n, 4), of all rings of polygons and multipolygons."""
    ends, ring = shapely.get_coordinates(shapely.get_rings(shapes), return_index=True)
    same = ring[1:] == ring[:-1]
    return np.asarray(np.hstack([ends[:-1], ends[1:]])[same])
