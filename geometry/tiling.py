"""Divides the grid into tiles: rectangles of grid points, each with a frame of its own.

A tile holds the grid points x0..x1, y0..y1, both ends included, so every grid point lies in one
tile.  As a figure it reaches half a unit beyond its points, where the next one begins, and at the
border of the square up to the border.  Its own frame has the origin at (x0, y0).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import Polygon
from shapely.geometry.base import BaseGeometry

from geometry.halfplane import Halfplane
from geometry.polygons import clip_to_box, convex_polygon, orient_valid

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Tile:
    """The grid points x0..x1, y0..y1, both ends included, of a grid of size d.

    Raises
    ------
    ValueError
        If it holds no point, or points off the grid.
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

    def holds(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which grid points (n, 2) it holds, shape (n,)."""
        low, high = (self.x0, self.y0), (self.x1, self.y1)
        return np.asarray(((points >= low) & (points <= high)).all(axis=1))

    def to_own_frame(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Grid points (n, 2) counted from its corner (x0, y0)."""
        moved: NDArray[np.int64] = points - np.array((self.x0, self.y0), dtype=np.int64)
        return moved

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

    Raises
    ------
    ValueError
        If there are not so many grid points along a side.
    """
    if not 1 <= per_side <= d + 1:
        raise ValueError(f"a grid of size {d} has no {per_side} tiles along a side")
    cuts = [i * (d + 1) // per_side for i in range(per_side + 1)]
    spans = [(a, b - 1) for a, b in itertools.pairwise(cuts)]
    return tuple(Tile(d, x0, y0, x1, y1) for y0, y1 in reversed(spans) for x0, x1 in spans)


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

    Attributes
    ----------
    columns, rows : int64 arrays
        Least abscissae, and ordinates, of the stripes that the tiles' sides cut, rising.
    numbers : int64 array, shape (len(columns), len(rows))
        The tile that holds a stripe of columns and one of rows.
    """

    columns: NDArray[np.int64]
    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, tiles: Sequence[Tile]) -> TileIndex:
        """Index tiles.

        Raises
        ------
        ValueError
            If they do not hold every grid point exactly once.
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

    def find(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of the tiles that hold grid points (n, 2), shape (n,)."""
        across = np.searchsorted(self.columns, points[:, 0], side="right") - 1
        up = np.searchsorted(self.rows, points[:, 1], side="right") - 1
        return np.asarray(self.numbers[across, up])

    def groups(self, points: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """For each tile the rows of the points that it holds, in their order."""
        return rows_by_number(self.find(points), int(self.numbers.max()) + 1)


def rows_by_number(numbers: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """For each number 0..count-1 the rows where `numbers`, shape (n,), has it, rising."""
    # small integers are sorted several times as fast
    order = np.argsort(numbers.astype(np.min_scalar_type(count)), kind="stable")
    ends = np.bincount(numbers, minlength=count).cumsum().tolist()
    return [order[begin:end] for begin, end in itertools.pairwise((0, *ends))]
