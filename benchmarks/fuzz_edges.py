"""A kind of input for the fuzzer: drawings of which every grid point is judged.

Two bytes for the grid and how many rings a shape has, then three bytes a vertex.  The judge knows
no algorithm: on so small a grid any edge through a grid point has one of some dozen directions, and
a shape holds the point if a hair between two of these, in any direction, ends inside of it.
Integers throughout.
"""

from __future__ import annotations

import json
from functools import cache
from math import gcd

import numpy as np
import shapely
from fuzz_kinds import Kind, must
from fuzz_mutations import Random, mutate_bytes
from numpy.typing import NDArray

from geodp_app.document.examples import Frame
from geodp_app.drawing.shapes import Drawing, Ring, Shape
from geometry.geojson import target_of
from geometry.mask import Mask
from geometry.polygons import Outline, contains_points, cornered

#: A hair is a sum of two directions over this: shorter than any way to an edge elsewhere.
_SPLIT = 1000
MOST_GRID = 5


@cache
def _hairs(d: int) -> NDArray[np.int64]:
    """Every grid point, as (x, y) in parts of a unit, with a hair in each gap between directions:
    shape (points, hairs, 2)."""
    reach = range(-d, d + 1)
    ways = [(u, v) for u in reach for v in reach if gcd(u, v) == 1]
    ways.sort(key=lambda way: np.arctan2(way[1], way[0]))
    around = np.array(ways)
    points = np.indices((d + 1, d + 1)).reshape(2, -1).T
    return np.asarray(points[:, None] * _SPLIT + (around + np.roll(around, -1, axis=0))[None])


def _goes_around(ring: Ring, hairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    x, y = hairs[..., 0], hairs[..., 1]
    odd = np.zeros(x.shape, dtype=np.bool_)
    for (a, b), (c, d) in zip(ring, ring[1:] + ring[:1], strict=True):
        low, high = ((a, b), (c, d)) if b < d else ((c, d), (a, b))
        (a, b), (c, d) = ((v[0] * _SPLIT, v[1] * _SPLIT) for v in (low, high))
        odd ^= (b <= y) & (y < d) & ((c - a) * (y - b) > (d - b) * (x - a))
    return odd


def judged(shapes: tuple[Shape, ...], d: int) -> NDArray[np.bool_]:
    """Which points of the grid one of the shapes holds, its boundary included."""
    hairs = _hairs(d)
    held = np.zeros(len(hairs), dtype=np.bool_)
    for shape in shapes:
        inside = _goes_around(shape.outer, hairs)
        for hole in shape.holes:
            inside &= ~_goes_around(hole, hairs)
        held |= inside.any(axis=1)
    return held


def edge_seeds() -> list[bytes]:
    """Triangles, a bow-tie, a hole that touches, a ring that goes back."""
    return [
        bytes([3, 0]) + bytes([0, 0, 9, 4, 1, 9, 1, 4, 200, 3, 0, 9, 2, 2, 9, 0, 3, 200]),
        bytes([3, 0]) + bytes([0, 0, 9, 4, 4, 9, 4, 0, 9, 0, 4, 200]),
        bytes([3, 1]) + bytes([0, 0, 9, 4, 0, 9, 4, 4, 9, 0, 4, 200, 0, 0, 9, 2, 1, 9, 1, 2, 200]),
        bytes([2, 2]) + bytes([0, 0, 9, 3, 0, 9, 3, 3, 9, 3, 0, 9, 1, 2, 200]) * 3,
    ]


def mutate_edges(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """Vertices changed, repeated or taken from another seed; half of the time plain noise."""
    if rng.randrange(2):
        return rng.randbytes(2 + 3 * rng.randrange(3, 24))
    return mutate_bytes(data, rng, seeds)[: 2 + 3 * 40]


def _decoded(data: bytes) -> tuple[int, tuple[Shape, ...]]:
    d = 2 + (data[0] if data else 0) % (MOST_GRID - 1)
    per_shape = 1 + (data[1] if len(data) > 1 else 0) % 3
    rings: list[Ring] = []
    ring: Ring = ()
    for start in range(2, len(data) - 2, 3):
        x, y, ends = data[start : start + 3]
        ring = (*ring, (x % (d + 1), y % (d + 1)))
        if ends > 170 and len(ring) >= 3:
            rings.append(ring)
            ring = ()
    if len(ring) >= 3:
        rings.append(ring)
    parts = [rings[i : i + per_shape] for i in range(0, len(rings), per_shape)]
    return d, tuple(Shape(part[0], tuple(part[1:])) for part in parts)


def run_edges(data: bytes) -> str:
    """Every grid point has the judge's label, of the drawing and of files that hold its shapes."""
    d, shapes = _decoded(data)
    grid = np.indices((d + 1, d + 1)).reshape(2, -1).T.astype(np.int64)
    right = judged(shapes, d)
    figure = Drawing(d, shapes).figure()
    points = grid + 0.0 if data[-1:] < b"\x80" else grid
    must((contains_points(figure, points) == right).all(), "a wrong label")
    if not shapes:
        return "refused"
    whole = tuple(
        tuple(tuple((x << 20, y << 20) for x, y in ring) for ring in shape.rings)
        for shape in shapes
    )
    # one road to the labels an input
    road = sum(data) % 4
    if road == 0:
        must((Outline(1024, whole).holds(grid) == right).all(), "a wrong label of an outline")
    elif road == 1:
        must((contains_points(cornered(figure, 1024), grid) == right).all(), "corners move")
    if road < 2:
        return "read"
    valid = [shape.figure() for shape in shapes if shapely.is_valid(shape.figure())]
    if len(valid) < len(shapes):
        return "read"
    features = [
        {"type": "Feature", "properties": {}, "geometry": shapely.geometry.mapping(each)}
        for each in valid
    ]
    member = {"frame": "grid", "grid": d}
    document = {"type": "FeatureCollection", "features": features, "geodp": member}
    target = target_of(json.loads(json.dumps(document)), "a")
    if road == 2:
        must((contains_points(target.figure(d), grid) == right).all(), "a wrong label of a target")
    elif target.outlines.area > 0:
        mask = Mask.from_dict(json.loads(json.dumps(Mask.of(target, "a").to_dict())))
        kept = mask.keep(np.ones(len(grid), dtype=np.int64), grid, Frame(d))
        must((kept == right).all(), "a wrong label of a mask")
    return "read"


KINDS = {"edges": Kind("edges", edge_seeds, mutate_edges, run_edges)}
