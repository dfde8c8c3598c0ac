"""Computes areas on the ground: of shapes in degrees, on the ellipsoid of WGS 84.

Edges are straight in degrees, as RFC 7946 has them, however long they are: the area between an edge
and the equator is an integral of the area of a strip along a meridian, which has a closed form
(Snyder, *Map Projections: A Working Manual*, 1987, equation 3-12).  An edge takes eight values of
it (Gauss and Legendre); those of a quarter of the globe are off by less than 10^-10 of it.  pyproj
takes what a ring encloses for the smaller part of the globe: of a belt between 60 degrees south and
north it finds .16 (the tests compare it where it can be asked).
"""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geometry.polygons import polygon_parts

#: Half the equator's diameter in metres, and the square of the eccentricity, of WGS 84.
_RADIUS, _E2 = 6_378_137.0, (2 - 1 / 298.257223563) / 298.257223563
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def ground_area(shape: BaseGeometry) -> float:
    """The area in square metres, on the ellipsoid of WGS 84, of a valid shape in degrees within
    -180..180; lines have none.

    Edges are straight in degrees, as RFC 7946 has them, however long they are: the area between an
    edge and the equator is an integral of the area of a strip along a meridian, which has a closed
    form (Snyder, *Map Projections: A Working Manual*, 1987, equation 3-12).  An edge takes eight
    values of it (Gauss and Legendre); those of a quarter of the globe are off by less than 10^-10
    of it.  pyproj takes what a ring encloses for the smaller part of the globe: of a belt between
    60 degrees south and north it finds .16 (the tests compare it where it can be asked).
    """
    parts = polygon_parts(shape)
    if not parts:
        return 0.0
    rings, owners = shapely.get_rings(parts, return_index=True)
    lonlat, ring_of = shapely.get_coordinates(rings, return_index=True)
    lon, lat = np.radians(lonlat).T
    along = np.r_[ring_of[1:] == ring_of[:-1], False]
    start = np.flatnonzero(along)
    middle, half = (lat[start] + lat[start + 1]) / 2, (lat[start + 1] - lat[start]) / 2
    heights = sum(
        weight / 2 * _strip(middle + node * half)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True)
    )
    swept = (lon[start + 1] - lon[start]) * heights
    areas = np.abs(np.bincount(ring_of[start], weights=swept, minlength=len(rings)))
    shells = np.r_[True, owners[1:] != owners[:-1]]
    return float(np.where(shells, areas, -areas).sum())


def _strip(latitude: NDArray[np.float64]) -> NDArray[np.float64]:
    """Square metres between the equator and a latitude, along a radian of longitude."""
    e, sine = np.sqrt(_E2), np.sin(latitude)
    found: NDArray[np.float64] = (
        _RADIUS**2 * (1 - _E2) / 2 * (sine / (1 - _E2 * sine**2) + np.arctanh(e * sine) / e)
    )
    return found
