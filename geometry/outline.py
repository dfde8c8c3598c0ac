"""Polygons with corners on a fine grid, and exactly which grid points they hold.

Corners are whole numbers of 1/:func:`units` grid unit, at most 2^30.  Whether a point is inside is
decided exactly (:mod:`geometry.ring_sides`); points on the boundary are inside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from geometry.polygons import orient_valid
from geometry.ring_sides import held_points

#: The side of the square in what corners are multiples of, at most.
_SIDE_BITS = 30

#: Corners (x, y) of a ring, in 1/units(d) grid unit, the first not repeated.
Ring = tuple[tuple[int, int], ...]


def units(d: int) -> int:
    """Into how many parts a unit of a grid of size d is divided for corners, a power of two: 2^20
    at d = 1024."""
    return 1 << (_SIDE_BITS - max(d - 1, 1).bit_length())


def cornered(shape: BaseGeometry, d: int) -> BaseGeometry:
    """A shape in grid units, each corner moved to the nearest that there is; nothing else."""
    moved: BaseGeometry = shapely.transform(shape, lambda xy: np.rint(xy * units(d)) / units(d))
    return moved


@dataclass(frozen=True, slots=True)
class Outline:
    """Polygons in the square of a grid of size d; none at all hold no point.

    Attributes
    ----------
    d : int
    polygons : tuple of tuple of Ring
        Of each polygon the outer ring, then its holes.

    Raises
    ------
    ValueError
        If a polygon has no ring, a ring fewer than three corners, or a corner lies off the square.
    """

    d: int
    polygons: tuple[tuple[Ring, ...], ...]

    def __post_init__(self) -> None:
        if not all(self.polygons):
            raise ValueError("a polygon needs a ring")
        most = self.d * units(self.d)
        for ring in self._rings():
            if len(ring) < 3:
                raise ValueError(f"a ring of {len(ring)} corners is no polygon")
            if not all(0 <= x <= most and 0 <= y <= most for x, y in ring):
                raise ValueError(f"a corner lies off the square of side {self.d}")

    @classmethod
    def of(cls, shape: BaseGeometry, d: int) -> Outline:
        """A shape in grid units, its corners moved to the nearest that there are."""
        snapped = orient_valid(shapely.set_precision(orient_valid(shape), 1 / units(d)))
        parts = [part for part in shapely.get_parts(snapped) if not part.is_empty]
        rings = ((p.exterior, *p.interiors) for p in parts)
        return cls(d, tuple(tuple(_ring(ring, d) for ring in one) for one in rings))

    def polygon(self) -> BaseGeometry:
        """The same as a shapely geometry in grid units, as it is: valid, if it was made of one."""
        parts = [
            Polygon(rings[0], rings[1:])
            for rings in (
                [np.array(ring, dtype=np.float64) / units(self.d) for ring in polygon]
                for polygon in self.polygons
            )
        ]
        return parts[0] if len(parts) == 1 else MultiPolygon(parts) if parts else Polygon()

    def holds(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which grid points (n, 2) lie inside or on the boundary, shape (n,)."""
        polygons = [[np.array(ring, dtype=float) for ring in rings] for rings in self.polygons]
        return held_points(polygons, points * units(self.d))

    def _rings(self) -> list[Ring]:
        return [ring for polygon in self.polygons for ring in polygon]


def _ring(ring: BaseGeometry, d: int) -> Ring:
    corners = np.rint(shapely.get_coordinates(ring)[:-1] * units(d)).astype(np.int64)
    return tuple((x, y) for x, y in corners.tolist())
