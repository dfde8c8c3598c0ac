"""Finds what is wrong with a drawing, and says where and in words.

A drawing without faults is made of valid polygons (OGC: simple rings that meet in points at most,
holes inside, connected interior), and repeats no vertex.  Which edges meet is asked of GEOS, whose
signs are exact for grid points; of what kind a meeting is, a proper crossing, an overlap of
positive length or a touch, is decided in integers.  An outline of n edges costs about n log n: one
of 3,000 vertices takes some milliseconds.  The interior of rings that neither cross nor overlap is
connected exactly if the graph of rings and the points at which they touch has no cycle.

Vertices, edges, holes and shapes are counted from 1 in the words, from 0 in the fields; edge i
begins at vertex i.  Frame: grid units 0..2**20.  A turn is at most 2**40 in size and a difference
of two 2**41, so every product stays below 2**62.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geodp_app.drawing.shapes import Drawing, Point, Ring, Shape
from geometry.arrays import Floats, Ints

#: Kinds of meeting.
CROSS, OVERLAP, TOUCH = 1, 2, 3

#: Edges asked for those that they meet at a time: bounds the memory that a scribble takes.
_BLOCK = 256

FaultKind = Literal[
    "crossing",  # edges of a ring cross or overlap
    "touching",  # a ring meets itself in a point
    "repeated",  # a vertex follows itself
    "spike",  # a ring turns back on itself
    "flat",  # no area
    "hole-outside",
    "hole-crossing",  # a hole crosses or runs along the outline or another hole
    "hole-nested",  # a hole lies in another one
    "apart",  # holes cut the shape apart
]

#: Faults told of one shape: more would help nobody.
MOST_FAULTS = 100


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a drawing."""

    #: Index of the shape, -1 for a draft.
    shape: int
    #: 0 for the outline, i for hole i.
    ring: int
    #: What is wrong.
    kind: FaultKind
    #: Where, in grid units.
    at: tuple[float, float]
    #: A plain sentence without full stop.
    text: str


@dataclass(frozen=True, slots=True)
class _Finding:
    """A fault before it is known which shape of how many it belongs to."""

    ring: int
    #: What is wrong.
    kind: FaultKind
    at: tuple[float, float]
    words: str
    of_ring: bool = True  # the words leave open of which ring they speak

    def fault(self, shape: int, several: bool) -> Fault:
        places = [f"shape {shape + 1}"] if several else []
        if self.of_ring and self.ring > 0:
            places.append(f"hole {self.ring}")
        text = ", ".join(places) + ": " + self.words if places else self.words
        return Fault(shape, self.ring, self.kind, self.at, text[0].upper() + text[1:])


def faults(drawing: Drawing) -> tuple[Fault, ...]:
    """All faults of a drawing, at most :data:`MOST_FAULTS` a shape."""
    several = len(drawing.shapes) > 1
    return tuple(
        finding.fault(number, several)
        for number, shape in enumerate(drawing.shapes)
        for finding in _of_shape(shape)
    )


def draft_faults(vertices: Sequence[Point], *, closed: bool) -> tuple[Fault, ...]:
    """Faults of a ring that is being drawn.

    `closed`: whether the last vertex is joined to the first; an open chain may be flat.
    """
    edges, found = _edges_of([tuple(vertices)], closed=closed)
    met, _ = _meetings_of(edges)
    found += [*_spikes(edges), *_own_meetings(edges, met)]
    return tuple(finding.fault(-1, several=False) for finding in found[:MOST_FAULTS])


@dataclass(frozen=True, slots=True, eq=False)
class _Edges:
    """Edges of rings, repeated vertices left out."""

    #: Shape (n, 4).
    ends: Ints
    #: Shape (n,).
    ring: Ints
    #: Index in the ring of the vertices it joins; shape (n,).
    start: Ints
    end: Ints
    #: Row of the next edge of the ring, or -1; shape (n,).
    following: Ints


# one entry a shape: an edit of one shape, or a hover, does not look at the others again
@lru_cache(maxsize=4096)
def _of_shape(shape: Shape) -> tuple[_Finding, ...]:
    edges, found = _edges_of(shape.rings)
    met, complete = _meetings_of(edges)
    found += [*_spikes(edges), *_own_meetings(edges, met)]
    if complete:  # else it is not known where the rings part
        found += _between_rings(shape, edges, met)
    found.sort(key=lambda finding: finding.ring)
    return tuple(found[:MOST_FAULTS])


def _edges_of(rings: Sequence[Ring], *, closed: bool = True) -> tuple[_Edges, list[_Finding]]:
    """Edges of the rings that have an area, and what is wrong with single vertices."""
    found: list[_Finding] = []
    parts: list[tuple[Ints, ...]] = []
    total = 0
    for number, ring in enumerate(rings):
        points = np.array(ring, dtype=np.int64).reshape(-1, 2)
        same = (points == np.roll(points, -1, axis=0)).all(axis=1)
        if not closed:
            same[-1:] = False
        for i in np.flatnonzero(same)[:MOST_FAULTS]:
            words = f"vertices {i + 1} and {(i + 1) % len(ring) + 1} are both at {_at(points[i])}"
            found.append(_Finding(number, "repeated", _pair(points[i]), words))
        kept = np.flatnonzero(~same)
        if closed and _flat(points[kept]):
            middle = (points.min(axis=0) + points.max(axis=0)) / 2 if len(points) else np.zeros(2)
            words = f"all vertices lie on one line near {_at(middle)}: there is no area"
            found.append(_Finding(number, "flat", _pair(middle), words))
            continue
        start, end = (kept, np.roll(kept, -1)) if closed else (kept[:-1], kept[1:])
        following = np.arange(1, len(start) + 1) + total
        following[-1:] = total if closed else -1
        total += len(start)
        ends = np.concatenate([points[start], points[end]], axis=1)
        parts.append((ends, np.full(len(start), number), start, end, following))
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return _Edges(none.reshape(0, 4), none, none, none, none), found
    return _Edges(*(np.concatenate(part) for part in zip(*parts, strict=True))), found


def _flat(points: Ints) -> bool:
    """Whether points without repetitions in a row lie on one line."""
    if len(points) < 3:
        return True
    along, off = points[1] - points[0], points - points[0]
    return bool((along[0] * off[:, 1] == along[1] * off[:, 0]).all())


def _spikes(edges: _Edges) -> list[_Finding]:
    """Vertices at which a ring goes back the way it came."""
    into = edges.ends[:, 2:] - edges.ends[:, :2]
    out = into[edges.following]
    back = (into[:, 0] * out[:, 1] == into[:, 1] * out[:, 0]) & ((into * out).sum(axis=1) < 0)
    return [
        _Finding(
            int(edges.ring[row]),
            "spike",
            _pair(edges.ends[row, 2:]),
            f"the edge turns back on itself at vertex {edges.end[row] + 1}, "
            f"{_at(edges.ends[row, 2:])}",
        )
        for row in np.flatnonzero(back & (edges.following >= 0))[:MOST_FAULTS]
    ]


class Meetings(NamedTuple):
    """Pairs of edges that meet."""

    #: Rows of the edges, ascending; shape (m,).
    first: Ints
    second: Ints
    #: CROSS, OVERLAP or TOUCH; shape (m,).
    kind: Ints
    #: Where: the crossing rounded once, the middle of the overlap, or the touching end (exact);
    #: shape (m, 2).
    at: Floats


def _meetings_of(edges: _Edges) -> tuple[Meetings, bool]:
    """Meetings of the edges, and whether these are all: a scribble has more than anybody reads."""
    parts: list[Meetings] = []
    bad = 0
    lines = shapely.linestrings(edges.ends.reshape(-1, 2, 2))
    tree = shapely.STRtree(lines)
    for start in range(0, max(1, len(lines)), _BLOCK):
        found: NDArray[Any] = tree.query(lines[start : start + _BLOCK], predicate="intersects")
        first, second = found[0] + start, found[1]
        next_to = (edges.following[first] == second) | (edges.following[second] == first)
        keep = np.flatnonzero((first < second) & ~next_to)
        keep = keep[np.lexsort((second[keep], first[keep]))]
        part = meetings(edges.ends, first[keep], second[keep])
        parts.append(part)
        # rings may touch each other in good order: such meetings do not count
        fine = (part.kind == TOUCH) & (edges.ring[part.first] != edges.ring[part.second])
        bad += int((~fine).sum())
        if bad > 4 * MOST_FAULTS:
            break
    return Meetings(*map(np.concatenate, zip(*parts, strict=True))), bad <= 4 * MOST_FAULTS


def meetings(edges: Ints, first: Ints, second: Ints) -> Meetings:
    """How, and where, pairs of segments meet that do.

    `edges`: shape (n, 4): x1, y1, x2, y2; none of length zero.  `first` and `second`: shape (m,):
    rows of the pairs.
    """
    a, b, c, d = np.hstack([edges[first], edges[second]]).reshape(-1, 4, 2).swapaxes(0, 1)
    sides = np.array([_turn(c, d, a), _turn(c, d, b), _turn(a, b, c), _turn(a, b, d)])
    kind = np.where((sides == 0).any(axis=0), TOUCH, CROSS)
    at = np.empty((len(first), 2))
    along = (sides[:2] == 0).all(axis=0)
    # a + t (b - a) with t = a_side / (a_side - b_side): integers up to the one division, which
    # rounds once for Python's integers however large they are
    off = ~along
    share, whole = sides[0, off, None], (sides[0] - sides[1])[off, None]
    scaled = a[off] * whole + share * (b - a)[off]
    at[off] = scaled.astype(object) / whole.astype(object) + 0.0  # no minus nought
    # of four ends on one line, by x and then y, two segments that meet share what lies between
    # the second and the third
    ends = np.array([a[along], b[along], c[along], d[along]])
    _, low, high, _ = np.sort((ends[..., 0] << 32) + ends[..., 1], axis=0)
    kind[along] = np.where(low == high, TOUCH, OVERLAP)
    x, y = (low >> 32) + (high >> 32), (low & 0xFFFFFFFF) + (high & 0xFFFFFFFF)
    at[along] = np.column_stack([x, y]) / 2
    return Meetings(first, second, kind, at)


def _turn(a: Ints, b: Ints, c: Ints) -> Ints:
    """Twice the signed area of each triangle a, b, c; points of shape (m, 2)."""
    (x1, y1), (x2, y2) = (b - a).T, (c - a).T
    turn: Ints = x1 * y2 - y1 * x2
    return turn


def _own_meetings(edges: _Edges, met: Meetings) -> Iterator[_Finding]:
    """Where a ring crosses, overlaps or touches itself, each place once."""
    own = np.flatnonzero(edges.ring[met.first] == edges.ring[met.second])
    seen: set[tuple[int, float, float]] = set()
    for row in own:
        i, j = int(met.first[row]), int(met.second[row])
        ring, at = int(edges.ring[i]), _pair(met.at[row])
        if (ring, *at) in seen:
            continue
        seen.add((ring, *at))
        if met.kind[row] == TOUCH:
            yield _Finding(ring, "touching", at, _touch_words(edges, i, j, at))
        else:
            verb = "cross" if met.kind[row] == CROSS else "overlap"
            words = f"edges {edges.start[i] + 1} and {edges.start[j] + 1} {verb} at {_at(at)}"
            yield _Finding(ring, "crossing", at, words)
        if len(seen) >= MOST_FAULTS:
            return


def _touch_words(edges: _Edges, i: int, j: int, at: tuple[float, float]) -> str:
    here = [_vertex_at(edges, row, at) for row in (i, j)]
    if here[0] is not None and here[1] is not None:
        low, high = sorted((here[0], here[1]))
        return f"vertices {low + 1} and {high + 1} are both at {_at(at)}"
    vertex, edge = (here[0], j) if here[0] is not None else (here[1], i)
    assert vertex is not None  # segments that touch do so at an end
    return f"vertex {vertex + 1} lies on edge {edges.start[edge] + 1} at {_at(at)}"


def _vertex_at(edges: _Edges, row: int, at: tuple[float, float]) -> int | None:
    if _pair(edges.ends[row, :2]) == at:
        return int(edges.start[row])
    return int(edges.end[row]) if _pair(edges.ends[row, 2:]) == at else None


#: What a ring does to another one that it may not do.
_How = Literal["crosses", "along", "outside", "inside", "parts"]
_Pair = tuple[float, float]


def _wrong(hole: int, other: int, how: _How, at: _Pair) -> _Finding:
    """Something wrong between a hole, counted from 1, and another ring, 0 for the outline."""
    inner, outer = f"hole {hole}", f"hole {other}" if other else "the outline"
    words: dict[_How, tuple[FaultKind, str]] = {
        "crosses": ("hole-crossing", f"{inner} crosses {outer} at {_at(at)}"),
        "along": ("hole-crossing", f"{inner} runs along {outer} at {_at(at)}"),
        "outside": ("hole-outside", f"{inner} lies outside the outline"),
        "inside": ("hole-nested", f"{inner} lies inside {outer}"),
        "parts": ("apart", f"{inner} cuts the shape apart at {_at(at)}"),
    }
    kind, text = words[how]
    return _Finding(hole, kind, at, text, of_ring=False)


def _between_rings(shape: Shape, edges: _Edges, met: Meetings) -> list[_Finding]:
    """What is wrong between the rings of a shape: how they lie to each other.

    Rings without area have no edges, and are looked at no further.
    """
    present = np.unique(edges.ring).tolist()
    if len(shape.rings) == 1 or not present:
        return []
    touches: dict[tuple[int, int], list[_Pair]] = defaultdict(list)
    found: dict[tuple[int, int], _Finding] = {}
    one, other = edges.ring[met.first], edges.ring[met.second]
    for row in np.flatnonzero(one != other):
        pair, at = (int(one[row]), int(other[row])), _pair(met.at[row])
        if met.kind[row] == TOUCH:
            touches[pair].append(at)
        elif pair not in found:
            how: _How = "crosses" if met.kind[row] == CROSS else "along"
            found[pair] = _wrong(pair[1], pair[0], how, at)
    regions = {number: Shape(shape.rings[number]).region() for number in present}
    near: NDArray[Any] = shapely.STRtree(list(regions.values())).query(list(regions.values()))
    pairs = {(present[i], present[j]) for i, j in near.T.tolist() if i < j}
    if present[0] == 0:
        pairs |= {(0, hole) for hole in present[1:]}
    for pair in sorted(pairs - found.keys(), key=lambda pair: pair[::-1]):
        nested = _nesting(shape, regions, pair, touches[pair])
        if nested is not None:
            found[pair] = nested
    return list(found.values()) or list(_cycles(touches))


def _nesting(
    shape: Shape, regions: dict[int, BaseGeometry], pair: tuple[int, int], touches: Sequence[_Pair]
) -> _Finding | None:
    """What is wrong between two rings whose edges neither cross nor overlap."""
    other, hole = pair
    outer, inner = regions[other], regions[hole]
    begin = _pair(shape.rings[hole][0])
    crossing = touches[0] if touches else begin
    # twice the area of such rings, and of what they share, is a whole number
    shared, spare = inner.intersection(outer).area, min(0.25, inner.area / 4)
    apart, within = shared <= spare, shared >= inner.area - spare
    how: _How = "crosses"
    if other == 0:
        how = "outside" if apart else how
        return None if within else _wrong(hole, 0, how, begin if apart else crossing)
    if apart:
        return None
    if not within and shared >= outer.area - spare:
        return _wrong(other, hole, "inside", _pair(shape.rings[other][0]))
    return _wrong(hole, other, "inside" if within else how, crossing)


def _cycles(touches: dict[tuple[int, int], list[_Pair]]) -> Iterator[_Finding]:
    """Touching points that close a cycle of rings."""
    parent: dict[object, object] = {}

    def root(node: object) -> object:
        while parent.setdefault(node, node) != node:
            node = parent[node]
        return node

    met = {(ring, at) for pair, found in touches.items() for at in found for ring in pair}
    for ring, at in sorted(met):  # the outline's first: a cycle is closed by a hole
        one, other = root(ring), root(at)
        if one == other:
            yield _wrong(ring, 0, "parts", at)
        parent[one] = other


def _at(point: Sequence[float] | Ints | Floats) -> str:
    x, y = (f"{float(value):.2f}".rstrip("0").rstrip(".") for value in point)
    return f"({x}, {y})"


def _pair(point: Sequence[float] | Ints | Floats) -> tuple[float, float]:
    return float(point[0]), float(point[1])
