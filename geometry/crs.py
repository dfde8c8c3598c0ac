"""Moves points between coordinate reference systems: degrees on WGS 84, and whatever PROJ knows.

Longitude comes before latitude and easting before northing, whatever a system's own order is.
pyproj is an extra (pip install 'geodp[geo]') and is loaded when a system is named that is not
longitude and latitude on WGS 84.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from geometry.arrays import Floats, Ints
from geometry.errors import one_line

#: The name of longitude and latitude on WGS 84, of which RFC 7946 is made.
LONLAT = "OGC:CRS84"

_PLAIN = frozenset({"OGC:CRS84", "EPSG:4326", "CRS84", "EPSG:4979"})


class CrsError(ValueError):
    """A coordinate reference system is unknown, of no use here, or pyproj is missing."""


def canonical_crs(text: str) -> str:
    """The name by which a system is kept: an authority's code where it has one, else WKT.

    The text is a code such as EPSG:32633, WKT, PROJ's own notation, or PROJJSON; CrsError if PROJ
    does not know it, or it has no two axes of the earth's surface.
    """
    if text.strip().upper() in _PLAIN:
        return LONLAT
    crs = _load(text)
    if not (crs.is_projected or crs.is_geographic):
        raise CrsError(f"{one_line(text)}: has no two axes on the earth's surface")
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


def reproject(
    xy: Floats, source: str, target: str, at: tuple[float, float] | None = None
) -> Floats:
    """Points of one system, shape (n, 2), in another, shape (n, 2).

    NaN stays, and stands for what lies beyond the other system's reach.  From one system to another
    PROJ may know several operations, each for a part of the globe, which meet with steps of up to
    hundreds of metres: `at`, a place of the source, or of the target if the source is degrees,
    chooses the one of that place for all points; between a system and degrees there and back.

    Raises CrsError as :func:`canonical_crs`.
    """
    if source == target or not len(xy):
        return xy
    if at is not None:
        back = source == LONLAT
        operation = _operation(target, source, at) if back else _operation(source, target, at)
        x, y = operation.transform(xy[:, 0], xy[:, 1], direction="INVERSE" if back else "FORWARD")
    else:
        x, y = _transformer(source, target).transform(xy[:, 0], xy[:, 1])
    moved = np.column_stack([x, y])
    return np.where(np.isfinite(moved), moved, np.nan)


@functools.cache
def turn_of(name: str) -> float:
    """By how much x grows over a turn eastwards, where the same map follows again; else 0.

    So it is of longitudes and of cylindrical projections such as Mercator's.
    """
    if name == LONLAT:
        return 360.0
    lon, turns = np.arange(-175.0, 180.0, 10.0), []
    for latitude in (0.0, 40.0):
        x, y = reproject(np.column_stack([lon, np.full(len(lon), latitude)]), LONLAT, name).T
        step = float(np.median(np.diff(x)))
        if not np.isfinite(x).all() or not step or np.ptp(y) > 1e-3 * abs(step):
            return 0.0
        odd = np.diff(x) - step
        if np.abs(odd - 36 * step * np.rint(odd / (36 * step))).max() > 1e-3 * abs(step):
            return 0.0
        turns.append(36 * step)
    if abs(turns[1] - turns[0]) > 1e-3 * abs(turns[0]):
        return 0.0
    return 360.0 if is_degrees(name) and abs(turns[0] - 360) < 0.1 else turns[0]


@dataclass(frozen=True, slots=True)
class Pole:
    """A pole that a map shows as a point (x, y) with all that is round it.

    `latitude` is 90 or -90; `turning` 1 if longitude grows counterclockwise round it, else -1;
    nearer to it than `blur` longitudes are an accident of rounding.
    """

    x: float
    y: float
    latitude: float
    turning: int
    blur: float

    def near(self, size: float) -> float:
        """What is as good as at it on a map of some size."""
        return max(4 * self.blur, 1e-9 * size)

    def within(self, box: tuple[float, float, float, float]) -> bool:
        """Whether it lies in a box (x0, y0, x1, y1) or on its edge."""
        x0, y0, x1, y1 = box
        near = self.near(max(x1 - x0, y1 - y0))
        return x0 - near <= self.x <= x1 + near and y0 - near <= self.y <= y1 + near


@functools.lru_cache(maxsize=256)
def poles_of(name: str, at: tuple[float, float] | None = None) -> tuple[Pole, ...]:
    """The poles that a system shows as points; a line, as of conic maps, is none.

    `at` as in :func:`reproject`.
    """
    found = []
    for latitude in (90.0, -90.0):
        lon = np.arange(-180.0, 180.0, 45.0)
        tips, beside = (
            reproject(np.column_stack([lon, np.full(8, each)]), LONLAT, name, at)
            for each in (latitude, latitude * (1 - 1e-4))
        )
        tip = tips.mean(axis=0)
        blur = float(np.hypot(*(tips - tip).T).max())
        radius = float(np.hypot(*(beside - tip).T).mean())
        if name == LONLAT or not blur <= 1e-3 * radius:  # NaN is not
            continue
        ways = np.radians(np.arange(0.0, 405.0, 45.0))
        ring = tip + radius * np.column_stack([np.cos(ways), np.sin(ways)])
        by = np.diff(reproject(ring, name, LONLAT, at)[:, 0])
        by -= 360 * np.rint(by / 360)
        if (by > 0).all() or (by < 0).all():
            way = 1 if by[0] > 0 else -1
            blur = max(blur, 1e-5 * radius)
            found.append(Pole(float(tip[0]), float(tip[1]), latitude, way, blur))
    return tuple(found)


@functools.cache
def _transformer(source: str, target: str) -> Any:
    from pyproj import Transformer
    from pyproj.exceptions import ProjError

    try:
        return Transformer.from_crs(_load(source), _load(target), always_xy=True)
    except ProjError:
        raise CrsError(f"{one_line(source)}: no way leads from it to {one_line(target)}") from None


@functools.lru_cache(maxsize=256)
def _operation(source: str, target: str, at: tuple[float, float]) -> Any:
    """The operation from a system to another that PROJ uses at a place of the first."""
    from pyproj import Transformer
    from pyproj.exceptions import ProjError

    way = _transformer(source, target)
    way.transform(*at)
    try:
        # by its text, as the object belongs to this thread
        return Transformer.from_pipeline(way.get_last_used_operation().definition)
    except ProjError:  # beyond the reach of all
        return way


@functools.cache
def _load(name: str) -> Any:
    try:
        from pyproj import CRS
        from pyproj.exceptions import CRSError
    except ImportError as error:
        raise CrsError(
            f"{one_line(name)}: other systems than longitude and latitude need pyproj, which is "
            f"not installed ({error.name or error}): pip install 'geodp[geo]'"
        ) from None
    try:
        return CRS.from_user_input(name)
    except (CRSError, ValueError):  # ValueError: half of a character
        raise CrsError(
            f"{one_line(name)}: no such coordinate reference system; try EPSG:32633"
        ) from None


#: Edges get no more vertices where there would be more than so many.
_MOST = 2_000_000
#: An edge is halved at most so often.
_HALVINGS = 26

#: Points (n, 2) of one system in another, NaN where it does not reach.
Move = Callable[[Floats], Floats]
#: How far edges are off, shape (n,), at a share of their length: of their ends p, p1 here and
#: q, q1 there.
Off = Callable[[Floats, Floats, Floats, Floats, float], Floats]


def bent(
    xy: Floats, ring_of: Ints, move: Move, off: Off, tolerance: float, fixed: Floats
) -> tuple[Floats, Ints, bool]:
    """Rings in another system, with vertices put in where edges would be off.

    `xy`, shape (n, 2), are vertices of closed rings, one ring after the other, `ring_of`, int of
    shape (n,), the number of each one's ring, from 0 up; `fixed`, shape (n, 2), is where vertices
    lie there, NaN of those that move; the tolerance is in the unit of `off`.  Returns the vertices
    there, shape (m, 2), their rings, and whether all edges are true.
    """
    there = np.where(np.isnan(fixed), move(xy), fixed)
    waiting = np.r_[ring_of[1:] == ring_of[:-1], False]
    true = False
    for _ in range(_HALVINGS):
        at = np.flatnonzero(waiting)
        p, p1, q, q1 = xy[at], xy[at + 1], there[at], there[at + 1]
        reached = np.isfinite(q + q1).all(axis=1)
        far = np.maximum(off(p, p1, q, q1, 0.5), off(p, p1, q, q1, 0.25))
        # NaN is not; a vertex that is there twice, at a pole, is no edge
        split = ~(far <= tolerance) & reached & (p != p1).any(axis=1)
        true = not split.any()
        at = at[split]
        if true or len(xy) + len(at) > _MOST:
            break
        middle = (xy[at] + xy[at + 1]) / 2
        waiting[:] = False
        waiting[at] = True
        xy = np.insert(xy, at + 1, middle, axis=0)
        there = np.insert(there, at + 1, move(middle), axis=0)
        waiting = np.insert(waiting, at + 1, True)
        ring_of = np.insert(ring_of, at + 1, ring_of[at])
    return there, ring_of, true
