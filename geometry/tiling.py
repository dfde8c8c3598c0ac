"""Divides the square: into tiles, rectangles of grid points, or among the edges of convex pieces.

A *tile* holds the grid points x0..x1, y0..y1, both ends included, so every grid point lies in one
tile.  As a figure it reaches half a unit beyond its points, where the next one begins, and at the
border of the square up to the border.  Its own frame has the origin at (x0, y0).

*Zones* of edges: each point goes to one edge.  How far a point lies outside of a halfplane
a*x + b*y >= c is its *excess* c - (a*x + b*y), an exact integer, negative inside.  Halfplanes of
one lattice have the same coefficient across their boundary, so excesses are distances in the same
unit, measured along x or along y.  How far it lies outside of a piece is the greatest excess of its
halfplanes.  A point belongs to the piece that it lies least far outside of, or deepest inside of;
of that piece, to the edge with the greatest excess.  Of several the first one has it, so every
point has one zone.

Where two pieces' boundaries cross, both excesses are 0: a corner that a union makes out of two
pieces lies on the border between their zones.

An edge may have several zones: the box around its points is cut into cells that are no longer than
a given side, as few as there can be, their sides as equal as can be.

No zone depends on anything but the pieces and that side, and no point has two: the proof
of sharpening rests on that (docs/privacy.md, lemma 8).
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import shapely
from shapely import affinity
from shapely.geometry import Polygon
from shapely.geometry.base import BaseGeometry

from geometry.arrays import Flags, Ints
from geometry.halfplane import MAX_D, Halfplane, HalfplaneLattice, Inequality, Vertex, clip_area
from geometry.polygons import clip_to_box, clip_to_square, convex_polygon, orient_valid

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Tile:
    """The grid points x0..x1, y0..y1, both ends included, of a grid of size d.

    Raises ValueError if it holds no point, or points off the grid.
    """

    d: int
    x0: int
    y0: int
    x1: int
    y1: int
    #: A tile has no name: it is one of many like it.
    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not (0 <= self.x0 <= self.x1 <= self.d and 0 <= self.y0 <= self.y1 <= self.d):
            raise ValueError(f"{self} does not lie on its grid")

    def holds(self, points: Ints) -> Flags:
        """Which grid points (n, 2) it holds, shape (n,)."""
        low, high = (self.x0, self.y0), (self.x1, self.y1)
        return np.asarray(((points >= low) & (points <= high)).all(axis=1))

    def to_own_frame(self, points: Ints) -> Ints:
        """Grid points (n, 2) counted from its corner (x0, y0)."""
        return np.asarray(points - np.array((self.x0, self.y0), dtype=np.int64))

    @property
    def edges(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """Left, bottom, right, top of its figure, in grid units."""
        return (
            self.x0 - _HALF if self.x0 > 0 else Fraction(0),
            self.y0 - _HALF if self.y0 > 0 else Fraction(0),
            self.x1 + _HALF if self.x1 < self.d else Fraction(self.d),
            self.y1 + _HALF if self.y1 < self.d else Fraction(self.d),
        )

    def polygon(self) -> Polygon:
        """Its figure; one without area on a border of the square is empty."""
        left, bottom, right, top = (float(edge) for edge in self.edges)
        if left == right or bottom == top:
            return Polygon()
        return shapely.box(left, bottom, right, top)

    def piece_polygon(self, piece: Iterable[Halfplane]) -> Polygon:
        """What a piece of its own frame covers of it, in the frame of the grid."""
        left, bottom, right, top = self.edges
        own = (left - self.x0, bottom - self.y0, right - self.x0, top - self.y0)
        polygon = convex_polygon(clip_to_box(tuple(piece), *own))
        corner = (self.x0, self.y0)
        return shapely.transform(polygon, lambda corners: corners + corner)


def tile_square(d: int, per_side: int) -> tuple[Tile, ...]:
    """`per_side` times `per_side` tiles, from the top row down, each row from the left.

    Their sides differ by at most one grid point.

    Raises ValueError if there are not so many grid points along a side.
    """
    if not 1 <= per_side <= d + 1:
        raise ValueError(f"a grid of size {d} has no {per_side} tiles along a side")
    cuts = [i * (d + 1) // per_side for i in range(per_side + 1)]
    spans = [(a, b - 1) for a, b in itertools.pairwise(cuts)]
    return tuple(Tile(d, x0, y0, x1, y1) for y0, y1 in reversed(spans) for x0, x1 in spans)


def chessboard(tiles: Sequence[Tile]) -> tuple[tuple[Tile, ...], tuple[Tile, ...]]:
    """Tiles of :func:`tile_square`: those of one colour, and of the other.

    No two of a colour share a side.
    """
    per_side = math.isqrt(len(tiles))
    black = [(i // per_side + i % per_side) % 2 == 0 for i in range(len(tiles))]
    first = tuple(tile for tile, one in zip(tiles, black, strict=True) if one)
    return first, tuple(tile for tile, one in zip(tiles, black, strict=True) if not one)


def tiles_shape(parts: Iterable[BaseGeometry], grain: float | None = None) -> BaseGeometry:
    """The union of figures that meet along straight lines, without vertices in their midst.

    Where corners are no doubles, hairs would be left between figures: `grain` moves corners to
    multiples of it, in grid units.
    """
    union = shapely.union_all([part for part in parts if not part.is_empty], grid_size=grain)
    return orient_valid(shapely.simplify(union, 0.0))


@dataclass(frozen=True, slots=True)
class TileIndex:
    """Which of some tiles holds a grid point.

    `columns` and `rows`, int64, are the least abscissae, and ordinates, of the stripes that the
    tiles' sides cut, rising; `numbers`, int64 of shape (columns, rows), is the tile that holds a
    stripe of columns and one of rows.
    """

    columns: Ints
    rows: Ints
    numbers: Ints

    @classmethod
    def of(cls, tiles: Sequence[Tile]) -> TileIndex:
        """Index tiles.

        Raises ValueError if they do not hold every grid point exactly once.
        """
        columns = np.unique([tile.x0 for tile in tiles])
        rows = np.unique([tile.y0 for tile in tiles])
        numbers = np.full((len(columns), len(rows)), -1, dtype=np.int64)
        held = 0
        for number, tile in enumerate(tiles):
            across = slice(*np.searchsorted(columns, (tile.x0, tile.x1 + 1)))
            up = slice(*np.searchsorted(rows, (tile.y0, tile.y1 + 1)))
            numbers[across, up] = number
            held += (tile.x1 - tile.x0 + 1) * (tile.y1 - tile.y0 + 1)
        # as many points as the grid has, and no stripe free: none is held twice
        if not tiles or held != (tiles[0].d + 1) ** 2 or (numbers < 0).any():
            raise ValueError("the tiles do not hold every grid point once")
        return cls(columns, rows, numbers)

    def find(self, points: Ints) -> Ints:
        """Numbers of the tiles that hold grid points (n, 2), shape (n,)."""
        across = np.searchsorted(self.columns, points[:, 0], side="right") - 1
        up = np.searchsorted(self.rows, points[:, 1], side="right") - 1
        return np.asarray(self.numbers[across, up])

    def groups(self, points: Ints) -> list[Ints]:
        """For each tile the rows of the points that it holds, in their order."""
        return rows_by_number(self.find(points), int(self.numbers.max()) + 1)


def rows_by_number(numbers: Ints, count: int) -> list[Ints]:
    """For each number 0..count-1 the rows where `numbers`, shape (n,), has it, rising."""
    # small integers are sorted several times as fast
    order = np.argsort(numbers.astype(np.min_scalar_type(count)), kind="stable")
    ends = np.bincount(numbers, minlength=count).cumsum().tolist()
    return [order[begin:end] for begin, end in itertools.pairwise((0, *ends))]


#: Corners of a union of zones are multiples of this, in grid units.
_GRAIN = 2.0**-20

#: From a figure to its box, in grid units, at least.  Figures are doubles: it is far above their
#: rounding, and no simple fraction, so that a corner at a whole number or a half is far from where
#: the box would grow by one.  Files hold the boxes, so one that came out otherwise is refused.
_MARGIN = 0.3137


#: Points whose zones are found at once.
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class EdgeZones:
    """The zones of all edges of some pieces, at least one, all of the same number of halfplanes, of
    one lattice.

    `side` is the most grid points along a side of a zone's box; by default an edge has one zone.
    Raises ValueError if there are no pieces, or no such side.
    """

    pieces: tuple[tuple[Halfplane, ...], ...]
    side: int = MAX_D + 1
    #: Made once: all that is known of zones is looked up by it.
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.pieces or not 1 <= self.side <= MAX_D + 1:
            raise ValueError(f"{len(self.pieces)} pieces have no zones of side {self.side}")
        object.__setattr__(self, "_hash", hash((self.pieces, self.side)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # another process hashes names in another way
        return EdgeZones, (self.pieces, self.side)

    @property
    def d(self) -> int:
        """Grid size: coordinates are 0 to d."""
        return self.pieces[0][0].lattice.d

    @property
    def edges(self) -> int:
        """Edges of a piece."""
        return len(self.pieces[0])

    def __len__(self) -> int:
        """Number of zones: cells of the edges of all pieces."""
        return _offsets(self)[-1]

    def find(self, points: Ints) -> Ints:
        """Numbers of the zones that hold grid points (n, 2), shape (n,).

        Zones are numbered from 0: first those of the first piece's first edge, its cells column by
        column from the left, each from the bottom.
        """
        edge = self._nearest(points)
        found = np.array(_offsets(self))[edge]
        for number in np.unique(edge).tolist():
            columns, rows = (_cuts(*ends, self.side) for ends in _spans(self, number))
            if len(columns) > 2 or len(rows) > 2:
                held = np.flatnonzero(edge == number)
                column = np.searchsorted(columns[1:-1], points[held, 0], side="right")
                row = np.searchsorted(rows[1:-1], points[held, 1], side="right")
                found[held] += column * (len(rows) - 1) + row
        return found

    def _nearest(self, points: Ints) -> Ints:
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
    """One zone, by its number, with a frame of its own: the origin is the corner (x0, y0) of its
    box.

    Its box holds x0..x1, y0..y1, both ends included, and with them all points of the zone but those
    on lines without area where edges tie, which no sharpening reaches.  Raises ValueError if there
    is no zone of that number.
    """

    zones: EdgeZones
    number: int
    #: Which edge it belongs to, from 0: three of the first triangle, three of the next, and so on.
    edge_number: int = field(init=False, compare=False, repr=False)
    box: Tile = field(init=False, compare=False, repr=False)
    x0: int = field(init=False, compare=False, repr=False)
    y0: int = field(init=False, compare=False, repr=False)
    x1: int = field(init=False, compare=False, repr=False)
    y1: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        offsets = _offsets(self.zones)
        if not 0 <= self.number < offsets[-1]:
            raise ValueError(f"there is no zone {self.number} among {offsets[-1]}")
        edge = bisect.bisect_right(offsets, self.number) - 1
        object.__setattr__(self, "edge_number", edge)
        across, up = (_cuts(*ends, self.zones.side).tolist() for ends in _spans(self.zones, edge))
        column, row = divmod(self.number - offsets[edge], len(up) - 1)
        box = Tile(self.d, across[column], up[row], across[column + 1] - 1, up[row + 1] - 1)
        object.__setattr__(self, "box", box)
        for name in ("x0", "y0", "x1", "y1"):
            object.__setattr__(self, name, getattr(box, name))

    @property
    def name(self) -> str:
        """Whose edge it belongs to, and which of its parts it is if there are several."""
        part, parts = self.part
        which = f"part {part + 1} of " if parts > 1 else ""
        return f"{which}edge {self.edge_number % self.zones.edges + 1} of triangle {self.piece + 1}"

    @property
    def d(self) -> int:
        """Grid size: coordinates are 0 to d."""
        return self.zones.d

    @property
    def piece(self) -> int:
        """Number of the piece whose edge it belongs to, from 0."""
        return self.edge_number // self.zones.edges

    @property
    def part(self) -> tuple[int, int]:
        """Which of its edge's zones it is, from 0, and how many these are."""
        first, end = _offsets(self.zones)[self.edge_number : self.edge_number + 2]
        return self.number - first, end - first

    @property
    def edge(self) -> Halfplane:
        """The edge it belongs to, in the frame of the grid."""
        return self.zones.pieces[self.piece][self.edge_number % self.zones.edges]

    @property
    def lattice(self) -> HalfplaneLattice:
        """The finest lattice of its own frame, with the measure of the pieces'."""
        return HalfplaneLattice(self._reach, self.edge.lattice.measure)

    @property
    def _reach(self) -> int:
        return max(1, self.x1 - self.x0, self.y1 - self.y0)

    def in_box(self, points: Ints) -> Flags:
        """Which grid points (n, 2) lie in its box, shape (n,)."""
        return self.box.holds(points)

    def holds(self, points: Ints) -> Flags:
        """Which grid points (n, 2) it holds, shape (n,)."""
        return np.asarray((self.zones.find(points) == self.number) & self.in_box(points))

    def to_own_frame(self, points: Ints) -> Ints:
        """Grid points (n, 2) counted from the corner (x0, y0) of its box."""
        return self.box.to_own_frame(points)

    def polygon(self) -> BaseGeometry:
        """Its figure in grid units, polygonal; empty if it has no area."""
        figure = _edge_figure(self.zones, self.edge_number)
        x, y = _spans(self.zones, self.edge_number)
        # cells end half a unit beyond their points; at the ends of the box nothing is cut off
        left, bottom = self.x0 - 0.5 * (self.x0 > x[0]), self.y0 - 0.5 * (self.y0 > y[0])
        right, top = self.x1 + 0.5 * (self.x1 < x[1]), self.y1 + 0.5 * (self.y1 < y[1])
        if (left, right, bottom, top) == (*x, *y):
            return figure
        cell = shapely.box(left, bottom, right, top)
        found = figure.intersection(cell)
        # a figure may end in a needle that doubles hardly tell from nothing; of a cell that one
        # reaches GEOS may find all, which is no part of the figure.  On a grid needles are gone
        if not found.is_empty and figure.distance(found.point_on_surface()) > _GRAIN:
            found = shapely.intersection(figure, cell, grid_size=_GRAIN)
        return orient_valid(found)

    def piece_polygon(self, piece: Iterable[Halfplane]) -> BaseGeometry:
        """What a piece of its own frame covers of it, in the frame of the grid."""
        # by one more than its points on all sides: cells end between points
        held = convex_polygon(clip_to_box(tuple(piece), -1, -1, self._reach + 1, self._reach + 1))
        return orient_valid(self.polygon().intersection(affinity.translate(held, self.x0, self.y0)))


def joined_shape(parts: Iterable[BaseGeometry]) -> BaseGeometry:
    """The union of what pieces cover of zones, in grid units."""
    return tiles_shape(parts, _GRAIN)


@lru_cache(maxsize=1024)
def _edge_figure(zones: EdgeZones, number: int) -> BaseGeometry:
    """The convex part of the square where the edge has its piece's greatest excess, less what lies
    less far outside of other pieces: of each, a convex part too."""
    owner, own = divmod(number, zones.edges)
    lines = [[h.coefficients for h in piece] for piece in zones.pieces]
    edge = lines[owner][own]
    corners = clip_to_square((), zones.d)
    for other, line in enumerate(lines[owner]):
        if other != own:
            corners = _no_farther(corners, line, edge, ties=own < other)
    taken = []
    for i, piece in enumerate(lines):
        if i != owner:
            nearer = corners
            for line in piece:
                nearer = _no_farther(nearer, line, edge, ties=i < owner)
                if not nearer:
                    break
            taken.append(convex_polygon(nearer))
    return orient_valid(convex_polygon(corners).difference(shapely.union_all(taken)))


@lru_cache(maxsize=1024)
def _spans(zones: EdgeZones, edge: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The box of an edge's points: least and greatest abscissa, and ordinate."""
    figure = _edge_figure(zones, edge)
    if figure.is_empty:
        return (0, 0), (0, 0)
    x0, y0, x1, y1 = figure.bounds
    return _around(x0, x1, zones.d), _around(y0, y1, zones.d)


def _around(low: float, high: float, d: int) -> tuple[int, int]:
    return max(0, math.floor(low - _MARGIN)), min(d, math.ceil(high + _MARGIN))


def _cuts(low: int, high: int, side: int) -> Ints:
    """Least coordinates of the cells between two coordinates, and one past the last."""
    points = high + 1 - low
    cells = -(-points // side)
    return np.array([low + i * points // cells for i in range(cells + 1)])


@lru_cache(maxsize=64)
def _offsets(zones: EdgeZones) -> tuple[int, ...]:
    """The number of every edge's first zone, and of all zones."""
    counts = []
    for edge in range(len(zones.pieces) * zones.edges):
        columns, rows = (len(_cuts(*ends, zones.side)) - 1 for ends in _spans(zones, edge))
        counts.append(columns * rows)
    return tuple(itertools.accumulate(counts, initial=0))


def _no_farther(
    corners: tuple[Vertex, ...], line: Inequality, than: Inequality, *, ties: bool
) -> tuple[Vertex, ...]:
    """The part where the excess of a line is at most that of another; all or none if they tie."""
    if line == than:
        return corners if ties else ()
    return clip_area(corners, (line[0] - than[0], line[1] - than[1], line[2] - than[2]))
