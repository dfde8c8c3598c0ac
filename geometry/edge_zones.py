"""The square divided among the edges of some convex pieces: each point goes to one edge.

How far a point lies outside of a halfplane a*x + b*y >= c is its *excess* c - (a*x + b*y), an exact
integer, negative inside.  Halfplanes of one lattice have the same coefficient across their
boundary, so excesses are distances in the same unit, measured along x or along y.  How far it lies
outside of a piece is the greatest excess of its halfplanes.  A point belongs to the piece that it
lies least far outside of, or deepest inside of; of that piece, to the edge with the greatest
excess.  Of several the first one has it, so every point has one zone.

Where two pieces' boundaries cross, both excesses are 0: a corner that a union makes out of two
pieces lies on the border between their zones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import affinity
from shapely.geometry.base import BaseGeometry

from geometry.halfplane import Halfplane, HalfplaneLattice
from geometry.polygons import (
    Vertex,
    clip,
    clip_to_box,
    clip_to_square,
    convex_polygon,
    orient_valid,
)

Coefficients = tuple[int, int, int]

#: Corners of a union of zones are multiples of this, in grid units.
_GRAIN = 2.0**-20

#: Points whose zones are found at once.
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class EdgeZones:
    """The zones of all edges of some pieces.

    Attributes
    ----------
    pieces : tuple of tuple of Halfplane
        At least one; all of the same number of halfplanes, of one lattice.
    """

    pieces: tuple[tuple[Halfplane, ...], ...]

    @property
    def d(self) -> int:
        """Grid size."""
        return self.pieces[0][0].lattice.d

    @property
    def edges(self) -> int:
        """Edges of a piece."""
        return len(self.pieces[0])

    def __len__(self) -> int:
        """Number of zones: edges of all pieces."""
        return len(self.pieces) * self.edges

    def find(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of the zones that hold grid points (n, 2), shape (n,).

        Edge e of piece i, both from 0, has the zone i * edges + e.
        """
        lines = np.array([[h.coefficients for h in piece] for piece in self.pieces])
        found = np.empty(len(points), dtype=np.int64)
        for start in range(0, len(points), _CHUNK):
            xy = points[start : start + _CHUNK]
            best = np.full(len(xy), np.iinfo(np.int64).max)
            zone = np.zeros(len(xy), dtype=np.int64)
            for i, piece in enumerate(lines):
                # (edges, points)
                excess = piece[:, 2:] - piece[:, :1] * xy[:, 0] - piece[:, 1:2] * xy[:, 1]
                edge = excess.argmax(axis=0)
                far = np.take_along_axis(excess, edge[None], axis=0)[0]
                nearer = far < best
                best[nearer] = far[nearer]
                zone[nearer] = i * self.edges + edge[nearer]
            found[start : start + _CHUNK] = zone
        return found

    def all(self) -> tuple[EdgeZone, ...]:
        """Every zone, in order."""
        return tuple(
            EdgeZone(self.d, *self._box(number), self, number) for number in range(len(self))
        )

    def figure(self, number: int) -> BaseGeometry:
        """A zone as a polygonal shape in grid units; empty if it has no area."""
        return _figure(self, number)

    def _box(self, number: int) -> tuple[int, int, int, int]:
        """Grid points around a zone, by one more than its figure on all sides."""
        figure = self.figure(number)
        if figure.is_empty:
            return 0, 0, 0, 0
        x0, y0, x1, y1 = figure.bounds
        low = (max(0, int(np.floor(x0)) - 1), max(0, int(np.floor(y0)) - 1))
        high = (min(self.d, int(np.ceil(x1)) + 1), min(self.d, int(np.ceil(y1)) + 1))
        return *low, *high


@dataclass(frozen=True, slots=True)
class EdgeZone:
    """One zone, with a frame of its own: the origin is the corner (x0, y0) of its box.

    Attributes
    ----------
    d : int
        Grid size.
    x0, y0, x1, y1 : int
        Its box, both ends included, with all its points but those on lines without area where
        edges tie, which no sharpening reaches.
    zones : EdgeZones
    number : int
        Its number among them.

    Raises
    ------
    ValueError
        If the box does not lie on the grid, or there is no zone of that number.
    """

    d: int
    x0: int
    y0: int
    x1: int
    y1: int
    zones: EdgeZones
    number: int

    def __post_init__(self) -> None:
        if not (0 <= self.x0 <= self.x1 <= self.d and 0 <= self.y0 <= self.y1 <= self.d):
            raise ValueError(f"{self} does not lie on its grid")
        if not 0 <= self.number < len(self.zones):
            raise ValueError(f"there is no zone {self.number} among {len(self.zones)}")

    @property
    def piece(self) -> int:
        """Number of the piece whose edge it belongs to, from 0."""
        return self.number // self.zones.edges

    @property
    def edge(self) -> Halfplane:
        """The edge it belongs to, in the frame of the grid."""
        return self.zones.pieces[self.piece][self.number % self.zones.edges]

    @property
    def lattice(self) -> HalfplaneLattice:
        """The finest lattice of its own frame, with the measure of the pieces'."""
        side = max(1, self.x1 - self.x0, self.y1 - self.y0)
        return HalfplaneLattice(side, self.edge.lattice.measure)

    def in_box(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which grid points (n, 2) lie in its box, shape (n,)."""
        low, high = (self.x0, self.y0), (self.x1, self.y1)
        return np.asarray(((points >= low) & (points <= high)).all(axis=1))

    def holds(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which grid points (n, 2) it holds, shape (n,)."""
        return np.asarray((self.zones.find(points) == self.number) & self.in_box(points))

    def to_own_frame(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Grid points (n, 2) counted from the corner (x0, y0) of its box."""
        moved: NDArray[np.int64] = points - np.array((self.x0, self.y0), dtype=np.int64)
        return moved

    def polygon(self) -> BaseGeometry:
        """Its figure."""
        return self.zones.figure(self.number)

    def piece_polygon(self, piece: Iterable[Halfplane]) -> BaseGeometry:
        """What a piece of its own frame covers of it, in the frame of the grid."""
        side = Fraction(0), Fraction(0), Fraction(self.x1 - self.x0), Fraction(self.y1 - self.y0)
        held = convex_polygon(clip_to_box(tuple(piece), *side))
        return orient_valid(self.polygon().intersection(affinity.translate(held, self.x0, self.y0)))


def joined_shape(parts: Iterable[BaseGeometry]) -> BaseGeometry:
    """The union of what pieces cover of zones, in grid units.

    Zones meet along lines between points that are no doubles: corners move by up to _GRAIN, or
    hairs would be left between them.
    """
    union = shapely.union_all([part for part in parts if not part.is_empty], grid_size=_GRAIN)
    return orient_valid(shapely.simplify(union, 0.0))


@lru_cache(maxsize=1024)
def _figure(zones: EdgeZones, number: int) -> BaseGeometry:
    """The convex part of the square where the edge has its piece's greatest excess, less what lies
    less far outside of other pieces: of each, a convex part too."""
    owner, own = divmod(number, zones.edges)
    lines = [[h.coefficients for h in piece] for piece in zones.pieces]
    edge = lines[owner][own]
    corners: list[Vertex] = list(clip_to_square((), zones.d))
    for other, line in enumerate(lines[owner]):
        if other != own:
            corners = _no_farther(corners, line, edge, ties=own < other)
    taken = []
    for i, piece in enumerate(lines):
        if i != owner:
            nearer = corners
            for line in piece:
                nearer = _no_farther(nearer, line, edge, ties=i < owner)
            taken.append(convex_polygon(nearer))
    return orient_valid(convex_polygon(corners).difference(shapely.union_all(taken)))


def _no_farther(
    corners: list[Vertex], line: Coefficients, than: Coefficients, *, ties: bool
) -> list[Vertex]:
    """The part where the excess of a line is at most that of another; all or none if they tie."""
    if line == than:
        return corners if ties else []
    return clip(corners, (line[0] - than[0], line[1] - than[1], line[2] - than[2]))
