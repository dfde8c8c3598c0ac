"""Coordinate reference systems: longitude and latitude on WGS 84, and whatever else PROJ knows.

Longitude comes before latitude and easting before northing, whatever a system's own order is.
pyproj is an extra (pip install 'geodp[geo]') and is loaded when a system is named that is not
longitude and latitude on WGS 84.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The name of longitude and latitude on WGS 84, of which RFC 7946 is made.
LONLAT = "OGC:CRS84"

_PLAIN = frozenset({"OGC:CRS84", "EPSG:4326", "CRS84", "EPSG:4979"})


class CrsError(ValueError):
    """A coordinate reference system is unknown, of no use here, or pyproj is missing."""


def settled_crs(text: str) -> str:
    """The name by which a system is kept: an authority's code where it has one, else WKT.

    Parameters
    ----------
    text : str
        A code such as EPSG:32633, WKT, PROJ's own notation, or PROJJSON.

    Raises
    ------
    CrsError
        If PROJ does not know it, or it has no two axes of the earth's surface.
    """
    if text.strip().upper() in _PLAIN:
        return LONLAT
    crs = _load(text)
    if not (crs.is_projected or crs.is_geographic):
        raise CrsError(f"{_short(text)}: has no two axes on the earth's surface")
    authority = crs.to_authority(min_confidence=100)
    name = ":".join(authority) if authority else crs.to_wkt()
    return LONLAT if name in _PLAIN else name


def written_crs(name: str) -> str:
    """The name that files and data frames have for a system: that of most other data.

    Longitude and latitude are EPSG:4326 there, as people and programs say it, also where a format
    has them in this order; a map whose system is called OGC:CRS84 does not go with theirs.
    """
    return "EPSG:4326" if name == LONLAT else name


def is_degrees(name: str) -> bool:
    """Whether a system's axes are longitude and latitude, in degrees."""
    return name == LONLAT or bool(_load(name).is_geographic)


def reproject(xy: NDArray[np.float64], source: str, target: str) -> NDArray[np.float64]:
    """Points of one system, shape (n, 2), in another, shape (n, 2).

    NaN stays, and stands for what lies beyond the other system's reach.

    Raises
    ------
    CrsError
        As :func:`settled_crs`.
    """
    if source == target or not len(xy):
        return xy
    x, y = _transformer(source, target).transform(xy[:, 0], xy[:, 1])
    moved = np.column_stack([x, y])
    return np.where(np.isfinite(moved), moved, np.nan)


@functools.cache
def _transformer(source: str, target: str) -> Any:
    from pyproj import Transformer
    from pyproj.exceptions import ProjError

    try:
        return Transformer.from_crs(_load(source), _load(target), always_xy=True)
    except ProjError:
        raise CrsError(f"{_short(source)}: no way leads from it to {_short(target)}") from None


@functools.cache
def _load(name: str) -> Any:
    try:
        from pyproj import CRS
        from pyproj.exceptions import CRSError
    except ImportError as error:
        raise CrsError(
            f"{_short(name)}: other systems than longitude and latitude need pyproj, which is not "
            f"installed ({error.name or error}): pip install 'geodp[geo]'"
        ) from None
    try:
        return CRS.from_user_input(name)
    except (CRSError, ValueError):  # ValueError: half of a character
        raise CrsError(
            f"{_short(name)}: no such coordinate reference system; try EPSG:32633"
        ) from None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:37] + "..."
