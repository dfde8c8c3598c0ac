"""The public frame of the examples: the integer grid and its lon/lat bounds.

Both are public inputs.  Bounds are never taken from private examples: a box that
hugs the data would reveal its extreme points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


class BoundsError(ValueError):
    """A coordinate lies outside the public bounds, or the bounds themselves are unusable."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A public box in degrees: west < east within -180..180, south < north within -90..90.

    Raises
    ------
    BoundsError
        If a value is not finite, out of range, or the box is empty.  Boxes across the
        antimeridian (west > east) are refused.
    """

    west: float
    south: float
    east: float
    north: float

    def __post_init__(self) -> None:
        values = (self.west, self.south, self.east, self.north)
        if not all(np.isfinite(v) for v in values):
            raise BoundsError(f"bounds {values} must be finite numbers")
        if not (-180 <= self.west < self.east <= 180):
            raise BoundsError(
                f"bounds need -180 <= west < east <= 180, got west = {self.west}, "
                f"east = {self.east} (boxes across the antimeridian are not supported)"
            )
        if not (-90 <= self.south < self.north <= 90):
            raise BoundsError(
                f"bounds need -90 <= south < north <= 90, got south = {self.south}, "
                f"north = {self.north}"
            )

    def as_tuple(self) -> tuple[float, float, float, float]:
        """(west, south, east, north) in degrees."""
        return self.west, self.south, self.east, self.north


@dataclass(frozen=True, slots=True)
class GridMap:
    """Affine map between the grid {0..d}^2 and public lon/lat bounds.

    x = 0 is west, x = d east, y = 0 south, y = d north.
    """

    d: int
    bounds: Bounds

    def to_lonlat(self, xy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Grid coordinates, shape (n, 2), to degrees (lon, lat), shape (n, 2)."""
        b = self.bounds
        xy = np.asarray(xy, dtype=np.float64)
        origin = np.array([b.west, b.south])
        span = np.array([b.east - b.west, b.north - b.south])
        out: NDArray[np.float64] = origin + xy * (span / self.d)
        # rounding may step over the edge, and then the point could not be read back
        return np.clip(out, [b.west, b.south], [b.east, b.north])

    def to_grid_float(self, lonlat: NDArray[np.float64]) -> NDArray[np.float64]:
        """Degrees (lon, lat), shape (n, 2), to real grid coordinates, without rounding."""
        b = self.bounds
        lonlat = np.asarray(lonlat, dtype=np.float64)
        origin = np.array([b.west, b.south])
        span = np.array([b.east - b.west, b.north - b.south])
        out: NDArray[np.float64] = (lonlat - origin) * (self.d / span)
        return out

    def to_grid(self, lonlat: NDArray[np.float64]) -> NDArray[np.int64]:
        """Degrees (lon, lat), shape (n, 2), to the nearest grid point, shape (n, 2) int64.

        Raises
        ------
        BoundsError
            If a coordinate is outside the bounds; the message names the first such row.
        """
        lonlat = np.asarray(lonlat, dtype=np.float64)
        b = self.bounds
        low, high = np.array([b.west, b.south]), np.array([b.east, b.north])
        outside = ~((lonlat >= low) & (lonlat <= high)).all(axis=1)
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            lon, lat = lonlat[row]
            raise BoundsError(f"row {row}: ({lon}, {lat}) is outside the bounds {b.as_tuple()}")
        return np.rint(self.to_grid_float(lonlat)).astype(np.int64)
