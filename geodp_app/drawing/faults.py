"""Finds what is wrong with a drawing, and says where and in words.

A drawing without faults is made of valid polygons (OGC: simple rings that meet in points at most,
holes inside, connected interior), and repeats no vertex.  Integers decide
(:mod:`geodp_app.drawing.crossings`); an outline of 3,000 vertices takes some milliseconds.

Vertices, edges, holes and shapes are counted from 1 in the words, from 0 in the fields; edge i
begins at vertex i.  Frame: grid units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geodp_app.drawing.crossings import (
    CROSS,
    TOUCH,
    Between,
    How,
    Ints,
    Meetings,
    all_meetings,
    between_rings,
)
from geodp_app.drawing.shapes import Drawing, Point, Ring, Shape

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
    """Something wrong with a drawing.

    Attributes
    ----------
    shape : int
        Index of the shape, -1 for a draft.
    ring : int
        0 for the outline, i for hole i.
    kind : str
    at : (float, float)
        Where, in grid units.
    text : str
        A plain sentence without full stop.
    """

    shape: int
    ring: int
    kind: FaultKind
    at: tuple[float, float]
    text: str


@dataclass(frozen=True, slots=True)
class _Finding:
    """A fault before it is known which shape of how many it belongs to."""

    ring: int
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

    Parameters
    ----------
    vertices : sequence of Point
    closed : bool
        Whether the last vertex is joined to the first; an open chain may be flat.
    """
    edges, found = _edges_of([tuple(vertices)], closed=closed)
    met, _ = _meetings_of(edges)
    found += [*_spikes(edges), *_own_meetings(edges, met)]
    return tuple(finding.fault(-1, several=False) for finding in found[:MOST_FAULTS])


@dataclass(frozen=True, slots=True, eq=False)
class _Edges:
    """Edges of rings, repeated vertices left out.

    Attributes
    ----------
    ends : ndarray of int, shape (n, 4)
    ring : ndarray of int, shape (n,)
    start, end : ndarray of int, shape (n,)
        Index in the ring of the vertices it joins.
    following : ndarray of int, shape (n,)
        Row of the next edge of the ring, or -1.
    """

    ends: Ints
    ring: Ints
    start: Ints
    end: Ints
    following: Ints


# one entry a shape: an edit of one shape, or a hover, does not look at the others again
@lru_cache(maxsize=4096)
def _of_shape(shape: Shape) -> tuple[_Finding, ...]:
    edges, found = _edges_of(shape.rings)
    met, complete = _meetings_of(edges)
    found += [*_spikes(edges), *_own_meetings(edges, met)]
    if complete:  # else it is not known where the rings part
        relations = between_rings(edges.ends, edges.ring, met, len(shape.rings))
        found += [_between(relation) for relation in relations]
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
            found.append(_no_area(number, points))
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


def _no_area(ring: int, points: Ints) -> _Finding:
    middle = (points.min(axis=0) + points.max(axis=0)) / 2 if len(points) else np.zeros(2)
    words = f"all vertices lie on one line near {_at(middle)}: there is no area"
    return _Finding(ring, "flat", _pair(middle), words)


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


def _meetings_of(edges: _Edges) -> tuple[Meetings, bool]:
    """Meetings of the edges, and whether these are all: a scribble has more than anybody reads."""
    parts: list[Meetings] = []
    bad = 0
    for part in all_meetings(edges.ends, edges.following):
        parts.append(part)
        # rings may touch each other in good order: such meetings do not count
        fine = (part.kind == TOUCH) & (edges.ring[part.first] != edges.ring[part.second])
        bad += int((~fine).sum())
        if bad > 4 * MOST_FAULTS:
            break
    return Meetings.joined(parts), bad <= 4 * MOST_FAULTS


def _own_meetings(edges: _Edges, met: Meetings) -> Iterator[_Finding]:
    """Where a ring crosses, overlaps or touches itself, each place once."""
    own = np.flatnonzero(edges.ring[met.first] == edges.ring[met.second])
    seen: set[tuple[int, float, float]] = set()
    for row in own[np.lexsort((met.second[own], met.first[own]))]:
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


def _between(relation: Between) -> _Finding:
    """Words for what is wrong between two rings."""
    inner, at = f"hole {relation.ring}", _at(relation.at)
    outer = "the outline" if relation.other == 0 else f"hole {relation.other}"
    words: dict[How, tuple[FaultKind, str]] = {
        "crosses": ("hole-crossing", f"{inner} crosses {outer} at {at}"),
        "along": ("hole-crossing", f"{inner} runs along {outer} at {at}"),
        "outside": ("hole-outside", f"{inner} lies outside the outline"),
        "inside": ("hole-nested", f"{inner} lies inside {outer}"),
        "parts": ("apart", f"{inner} cuts the shape apart at {at}"),
    }
    kind, text = words[relation.how]
    return _Finding(relation.ring, kind, relation.at, text, of_ring=False)


def _at(point: Sequence[float] | NDArray[np.int64] | NDArray[np.float64]) -> str:
    x, y = (f"{float(value):.2f}".rstrip("0").rstrip(".") for value in point)
    return f"({x}, {y})"


def _pair(point: Sequence[float] | NDArray[np.int64] | NDArray[np.float64]) -> tuple[float, float]:
    return float(point[0]), float(point[1])
