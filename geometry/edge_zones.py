"""The square divided among the edges of some convex pieces: each point goes to one edge.

How far a point lies outside of a halfplane a*x + b*y >= c is its *excess* c - (a*x + b*y), an exact
integer, negative inside.  Halfplanes of one lattice have the same coefficient across their
boundary, so excesses are distances in the same unit, measured along x or along y.  How far it lies
outside of a piece is the greatest excess of its halfplanes.  A point belongs to the piece that it
lies least far outside of, or deepest inside of; of that piece, to the edge with the greatest
excess.  Of several the first one has it, so every point has one zone.

Where two pieces' boundaries cross, both excesses are 0: a corner that a union makes out of two
pieces lies on the border between their zones.

An edge may have several zones: the box around its points is then cut into so many cells along
either side.

No zone depends on anything but the pieces and the number of cells, and no point has two: the proof
of sharpening rests on that (docs/privacy.md, lemma 8).
"""

from __future__ import annotations

import math
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

#: From a figure to its box, in grid units, at least: above all rounding; and no sum of it and a
#: coordinate is near a whole number that the coordinate is near to, nor near a half.
_MARGIN = 0.3137

_ONE = Fraction(1)

#: Points whose zones are found at once.
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class EdgeZones:
    """The zones of all edges of some pieces.

    Attributes
    ----------
    pieces : tuple of tuple of Halfplane
        At least one; all of the same number of halfplanes, of one lattice.
    cells : int
        Cells along a side of an edge's box, each a zone of its own.

    Raises
    ------
    ValueError
        If there are no pieces, or no such cells on the grid.
    """

    pieces: tuple[tuple[Halfplane, ...], ...]
    cells: int = 1

    def __post_init__(self) -> None:
        if not self.pieces or not 1 <= self.cells <= self.d + 1:
            raise ValueError(
                f"{len(self.pieces)} pieces have no zones of {self.cells} cells a side"
            )

    @property
    def d(self) -> int:
        """Grid size."""
        return self.pieces[0][0].lattice.d

    @property
    def edges(self) -> int:
        """Edges of a piece."""
        return len(self.pieces[0])

    def __len__(self) -> int:
        """Number of zones: cells of the edges of all pieces."""
        return len(self.pieces) * self.edges * self.cells**2

    def find(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of the zones that hold grid points (n, 2), shape (n,).

        Edge e of piece i, both from 0, has the zones from (i * edges + e) * cells**2 on: its
        cells, column by column from the left, each from the bottom.
        """
        edge = self._nearest(points)
        if self.cells == 1:
            return edge
        found = edge * self.cells**2
        for number in np.unique(edge).tolist():
            rows = np.flatnonzero(edge == number)
            x0, y0, x1, y1 = _box(self, number)
            column = self._cell(points[rows, 0], x0, x1)
            found[rows] += column * self.cells + self._cell(points[rows, 1], y0, y1)
        return found

    def _cell(self, at: NDArray[np.int64], low: int, high: int) -> NDArray[np.int64]:
        cuts = _cuts(low, high, self.cells)[1:-1]
        return np.asarray(np.searchsorted(cuts, at, side="right"))

    def _nearest(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Edges that grid points belong to: i * edges + e."""
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
        return tuple(EdgeZone(self, number) for number in range(len(self)))


@dataclass(frozen=True, slots=True)
class EdgeZone:
    """One zone, with a frame of its own: the origin is the corner (x0, y0) of its box.

    Its box holds x0..x1, y0..y1, both ends included, and with them all points of the zone but those
    on lines without area where edges tie, which no sharpening reaches.

    Attributes
    ----------
    zones : EdgeZones
    number : int
        Its number among them.

    Raises
    ------
    ValueError
        If there is no zone of that number.
    """

    zones: EdgeZones
    number: int

    def __post_init__(self) -> None:
        if not 0 <= self.number < len(self.zones):
            raise ValueError(f"there is no zone {self.number} among {len(self.zones)}")

    @property
    def d(self) -> int:
        """Grid size."""
        return self.zones.d

    @property
    def x0(self) -> int:
        """Least abscissa of its box."""
        return self._box[0]

    @property
    def y0(self) -> int:
        """Least ordinate of its box."""
        return self._box[1]

    @property
    def x1(self) -> int:
        """Greatest abscissa of its box."""
        return self._box[2]

    @property
    def y1(self) -> int:
        """Greatest ordinate of its box."""
        return self._box[3]

    @property
    def _box(self) -> tuple[int, int, int, int]:
        return _cell_box(self.zones, self.number)

    @property
    def edge_number(self) -> int:
        """Number of the edge that it belongs to, from 0: three of the first triangle, and so on."""
        return self.number // self.zones.cells**2

    @property
    def piece(self) -> int:
        """Number of the piece whose edge it belongs to, from 0."""
        return self.edge_number // self.zones.edges

    @property
    def edge(self) -> Halfplane:
        """The edge it belongs to, in the frame of the grid."""
        return self.zones.pieces[self.piece][self.edge_number % self.zones.edges]

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
        """Its figure in grid units, polygonal; empty if it has no area."""
        return _figure(self.zones, self.number)

    def piece_polygon(self, piece: Iterable[Halfplane]) -> BaseGeometry:
        """What a piece of its own frame covers of it, in the frame of the grid."""
        reach = Fraction(max(1, self.x1 - self.x0, self.y1 - self.y0))
        # by one more than its points on all sides: cells end between points
        held = convex_polygon(clip_to_box(tuple(piece), *(-_ONE, -_ONE), *(reach + 1, reach + 1)))
        return orient_valid(self.polygon().intersection(affinity.translate(held, self.x0, self.y0)))


def joined_shape(parts: Iterable[BaseGeometry]) -> BaseGeometry:
    """The union of what pieces cover of zones, in grid units.

    Zones meet along lines between points that are no doubles: corners move by up to _GRAIN, or
    hairs would be left between them.
    """
    union = shapely.union_all([part for part in parts if not part.is_empty], grid_size=_GRAIN)
    return orient_valid(shapely.simplify(union, 0.0))


@lru_cache(maxsize=1024)
def _edge_figure(zones: EdgeZones, number: int) -> BaseGeometry:
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


@lru_cache(maxsize=4096)
def _figure(zones: EdgeZones, number: int) -> BaseGeometry:
    figure = _edge_figure(zones, number // zones.cells**2)
    if zones.cells == 1:
        return figure
    x0, y0, x1, y1 = _cell_box(zones, number)
    whole = _box(zones, number // zones.cells**2)
    # cells end half a unit beyond their points; at the ends of the box there is nothing to cut off
    left, bottom = x0 - 0.5 * (x0 > whole[0]), y0 - 0.5 * (y0 > whole[1])
    right, top = x1 + 0.5 * (x1 < whole[2]), y1 + 0.5 * (y1 < whole[3])
    return orient_valid(figure.intersection(shapely.box(left, bottom, right, top)))


@lru_cache(maxsize=4096)
def _box(zones: EdgeZones, number: int) -> tuple[int, int, int, int]:
    """Grid points around those of an edge; at least `cells` along either side."""
    figure = _edge_figure(zones, number)
    if figure.is_empty:
        return 0, 0, zones.cells - 1, zones.cells - 1
    x0, y0, x1, y1 = figure.bounds
    (left, right), (bottom, top) = (_span(zones, *ends) for ends in ((x0, x1), (y0, y1)))
    return left, bottom, right, top


def _span(zones: EdgeZones, low: float, high: float) -> tuple[int, int]:
    """Whole numbers around two coordinates, at least `cells` of them."""
    first = max(0, math.floor(low - _MARGIN))
    last = min(zones.d, math.ceil(high + _MARGIN))
    last = max(last, min(zones.d, first + zones.cells - 1))
    return min(first, last - zones.cells + 1), last


def _cuts(low: int, high: int, cells: int) -> NDArray[np.int64]:
    """Least coordinates of the cells between two coordinates, and one past the last."""
    return np.array([low + i * (high + 1 - low) // cells for i in range(cells + 1)])


@lru_cache(maxsize=4096)
def _cell_box(zones: EdgeZones, number: int) -> tuple[int, int, int, int]:
    edge, cell = divmod(number, zones.cells**2)
    column, row = divmod(cell, zones.cells)
    x0, y0, x1, y1 = _box(zones, edge)
    across, up = (_cuts(*ends, zones.cells).tolist() for ends in ((x0, x1), (y0, y1)))
    return across[column], up[row], across[column + 1] - 1, up[row + 1] - 1


def _no_farther(
    corners: list[Vertex], line: Coefficients, than: Coefficients, *, ties: bool
) -> list[Vertex]:
    """The part where the excess of a line is at most that of another; all or none if they tie."""
    if line == than:
        return corners if ties else []
    return clip(corners, (line[0] - than[0], line[1] - than[1], line[2] - than[2]))
