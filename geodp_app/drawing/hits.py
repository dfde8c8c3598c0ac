"""Finds the vertex, edge, shape or hole of a drawing that lies at a place.  Pure functions over
arrays.

10,000 vertices take about a millisecond.  Of parts that lie equally near, the topmost (last drawn)
is hit.  Frame: grid units.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from math import dist, gcd
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geodp_app.drawing.shapes import Drawing, Point, vertex_rows


@dataclass(frozen=True, slots=True)
class Handle:
    """A part of the drawing that can be taken hold of."""

    kind: Literal["vertex", "edge", "shape", "hole"]
    #: Index of the shape.
    shape: int
    #: 0 for the outline, i for hole i.
    ring: int = 0
    #: Of the vertex, or of the vertex at which the edge begins; 0 for whole rings.
    index: int = 0
    #: Where to mark it, in grid units; None for whole rings.
    position: Point | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Outlines:
    """All vertices of a drawing, ring by ring, with the edges that begin at them."""

    #: The vertex, and the next one of its ring; shape (n,).
    x1: NDArray[np.float64]
    y1: NDArray[np.float64]
    x2: NDArray[np.float64]
    y2: NDArray[np.float64]
    #: Which vertex it is; shape (n,).
    shape: NDArray[np.int64]
    ring: NDArray[np.int64]
    index: NDArray[np.int64]
    #: Row at which each ring begins; shape (rings,).
    first: NDArray[np.int64]

    @classmethod
    def of(cls, drawing: Drawing) -> Outlines:
        """The outlines of a drawing."""
        rows = np.fromiter(chain.from_iterable(vertex_rows(drawing)), np.int64).reshape(-1, 5)
        shape, ring, index, x, y = np.ascontiguousarray(rows.T)
        first = np.flatnonzero(index == 0)
        after = np.arange(1, len(x) + 1)
        # the last of a ring, before the next ring begins, is followed by its first
        after[np.append(first[1:], len(x))[: len(first)] - 1] = first
        across, up = x.astype(np.float64), y.astype(np.float64)
        return cls(across, up, across[after], up[after], shape, ring, index, first)

    def nearest(
        self, squared: NDArray[np.float64], radius: float, beside: tuple[int, int] | None
    ) -> int | None:
        """Row of the least squared distance within a radius, the last of equals.

        Rows of the ring `beside`, as (shape, ring), are left out.
        """
        if beside is not None:
            own = (self.shape == beside[0]) & (self.ring == beside[1])
            squared = np.where(own, np.inf, squared)
        least = squared.min(initial=np.inf)
        if least > radius * radius:
            return None
        return int(np.flatnonzero(squared == least)[-1])

    def handle(self, kind: Literal["vertex", "edge"], row: int, position: Point) -> Handle:
        """The vertex, or the edge, of a row."""
        shape, ring, index = int(self.shape[row]), int(self.ring[row]), int(self.index[row])
        return Handle(kind, shape, ring, index, position)


def nearest_vertex(
    outlines: Outlines,
    at: tuple[float, float],
    radius: float,
    *,
    beside: tuple[int, int] | None = None,
) -> Handle | None:
    """The nearest vertex within a radius, at its own position.

    `beside`: a ring to leave out, as (shape, ring).
    """
    squared = (outlines.x1 - at[0]) ** 2 + (outlines.y1 - at[1]) ** 2
    row = outlines.nearest(squared, radius, beside)
    if row is None:
        return None
    return outlines.handle("vertex", row, (int(outlines.x1[row]), int(outlines.y1[row])))


def nearest_edge(
    outlines: Outlines,
    at: tuple[float, float],
    radius: float,
    *,
    beside: tuple[int, int] | None = None,
) -> Handle | None:
    """The nearest edge within a radius.

    Its position is the grid point of the edge nearest to `at`, if there is one within the radius
    beside the ends; otherwise the grid point nearest to the foot of the perpendicular.
    """
    x1, y1 = outlines.x1, outlines.y1
    dx, dy = outlines.x2 - x1, outlines.y2 - y1
    length = np.maximum(dx * dx + dy * dy, 1.0)  # grid points: only a repeated vertex has none
    share = np.clip(((at[0] - x1) * dx + (at[1] - y1) * dy) / length, 0.0, 1.0)
    foot_x, foot_y = x1 + share * dx, y1 + share * dy
    row = outlines.nearest((foot_x - at[0]) ** 2 + (foot_y - at[1]) ** 2, radius, beside)
    if row is None:
        return None
    across, up = int(dx[row]), int(dy[row])
    steps = gcd(across, up)
    step = round(float(share[row]) * steps)
    position = round(float(foot_x[row])), round(float(foot_y[row]))
    if 0 < step < steps:
        x, y = int(x1[row]), int(y1[row])
        on_edge = (x + step * across // steps, y + step * up // steps)
        if dist(on_edge, at) <= radius:
            position = on_edge
    return outlines.handle("edge", row, position)


def shape_at(outlines: Outlines, at: tuple[float, float]) -> Handle | None:
    """The topmost shape that contains a place; else the hole that does."""
    if not len(outlines.first):
        return None
    px, py = at
    x1, y1, x2, y2 = outlines.x1, outlines.y1, outlines.x2, outlines.y2
    spans = (y1 > py) != (y2 > py)
    side = (x2 - x1) * (py - y1) - (px - x1) * (y2 - y1)
    left = spans & np.where(y2 > y1, side > 0, side < 0)
    odd = np.add.reduceat(left, outlines.first, dtype=np.int64) % 2 == 1
    around = outlines.first[odd]  # first rows of the rings around the place
    shape, ring = outlines.shape[around], outlines.ring[around]
    inside, cut = set(shape[ring == 0].tolist()), set(shape[ring > 0].tolist())
    if inside - cut:
        return Handle("shape", max(inside - cut))
    if inside & cut:
        top = max(inside & cut)
        return Handle("hole", top, int(ring[(shape == top) & (ring > 0)].max()))
    return None
