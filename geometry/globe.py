"""Shapes moved from one system of the globe to another, whole across the antimeridian and poles.

Edges are straight where they were drawn: in degrees for GeoJSON (RFC 7946, 3.1.1), in the system
of the bounds for what was learned there.  Moved, they bend, and get vertices until they are true
to a tolerance.  What degrees cannot show in one piece is cut there: at longitude 180, and along
the parallels of 90 degrees (RFC 7946, 3.1.9).
"""

from __future__ import annotations

import itertools

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, Point, Polygon
from shapely.geometry.base import BaseGeometry

from geometry.bent_edges import Array, Move, bent
from geometry.crs import LONLAT, CrsError, Pole, poles_of, reproject, turn_of
from geometry.globe_window import around, shifted, window_of
from geometry.grid import Bounds, GridMap
from geometry.polygons import orient_valid, polygon_parts, polygons_of_rings

#: An edge that is moved is off by no more than this share of a grid step.
_SHARE = 1 / 256
#: Two datums are no more than so many degrees apart.
_DATUMS = 0.02
_Rectangle = tuple[float, float, float, float]


def tolerance_of(place: GridMap) -> float:
    """How far an edge that is moved may be off, in the units of the bounds."""
    return min(place.bounds.size) / place.d * _SHARE


def in_bounds(shape: BaseGeometry, crs: str, place: GridMap) -> BaseGeometry:
    """A shape of a system in that of the bounds of a grid, where it lies within these.

    Parameters
    ----------
    shape : shapely geometry
        Polygonal and valid, in the units of its system.
    crs : str
        Its system, as :func:`geometry.crs.settled_crs` names it.
    place : GridMap

    Returns
    -------
    shapely geometry
        Polygonal and valid, in the units of the bounds, with longitudes that go on after 180 as
        those of the bounds do.  In its own system a shape may still reach over the bounds.

    Raises
    ------
    CrsError
        If one system cannot follow the other there.
    """
    bounds = place.bounds
    if crs == bounds.crs:
        return around(shape, bounds.west, bounds.high[0], turn_of(crs))
    if crs != LONLAT:
        shape = in_degrees(shape, crs, _tolerance_in(crs, place), bounds.middle_in(crs), bounds)
    if bounds.crs == LONLAT:
        return around(shape, bounds.west, bounds.high[0], 360.0)
    return window_of(bounds, tolerance_of(place)).moved(shape)


def on_grid(shape: BaseGeometry, crs: str, place: GridMap) -> BaseGeometry:
    """As :func:`in_bounds`, in grid units."""

    def to_grid(own: Array) -> Array:
        # what lies on the edge but for rounding holds the grid points there
        xy = place.own_to_grid_float(own)
        nearest = np.where(xy < place.d / 2, 0.0, float(place.d))
        return np.where(np.abs(xy - nearest) <= 1e-9 * place.d, nearest, xy)

    return orient_valid(shapely.transform(in_bounds(shape, crs, place), to_grid))


def in_degrees(
    shape: BaseGeometry,
    crs: str,
    tolerance: float,
    at: tuple[float, float],
    box: Bounds | None = None,
) -> BaseGeometry:
    """A shape of a system in degrees within -180..180, cut at the antimeridian and at poles.

    Parameters and errors as in :func:`in_bounds`; the tolerance is in the units of the system,
    and `at` as in :func:`geometry.crs.reproject`.  With `box`, which lies in another system,
    degrees are those of the box: from them the way to its system leads to where points come to
    that go straight there.
    """
    if crs == LONLAT or shape.is_empty:
        return within_180(shape)
    poles = [pole for pole in poles_of(crs, at) if pole.within(shape.bounds)]
    for pole in poles:
        # what all but meets a pole meets it
        size = max(np.ptp(np.reshape(shape.bounds, (2, 2)), axis=0))
        shape = orient_valid(shapely.snap(shape, Point(pole.x, pole.y), pole.near(float(size))))
    # round a pole longitudes have no beginning: two pieces, each without a wedge whose tip is the
    # pole, do not go round it, and together they are the whole
    pieces = [shape] if not poles else [shape.difference(each) for each in _wedges(shape, poles)]
    parts = [
        part
        for piece in pieces
        for part in _unrolled(orient_valid(piece), crs, poles, tolerance, at, box)
    ]
    return orient_valid(shapely.union_all(parts) if poles else MultiPolygon(parts))


def within_180(shape: BaseGeometry) -> BaseGeometry:
    """A shape in degrees with all longitudes within -180..180, cut at the antimeridian."""
    west, _, east, _ = shape.bounds
    if shape.is_empty or (west >= -180 and east <= 180):
        return shape
    parts = []
    for turn in range(int((west + 180) // 360), int((east + 180) // 360) + 1):
        strip = shapely.box(-180 + 360 * turn, -90, 180 + 360 * turn, 90)
        parts.append(shifted(orient_valid(shapely.intersection(shape, strip)), -360.0 * turn))
    if east - west > 360:
        return orient_valid(shapely.union_all(parts))
    return MultiPolygon([polygon for part in parts for polygon in polygon_parts(part)])


def lonlat_box(shape: BaseGeometry) -> _Rectangle:
    """West, south, east, north of a shape in degrees within -180..180, which is not empty.

    West > east is a box across the antimeridian (RFC 7946, 5.2): where the shape fits into half
    the globe that way, and the box is narrower than the other.
    """
    west, south, east, north = map(float, shape.bounds)
    reaches = shapely.bounds(np.array(polygon_parts(shape)))[:, [0, 2]]
    reaches = reaches[np.argsort(reaches[:, 0])]
    until = np.maximum.accumulate(reaches[:, 1])
    gaps = reaches[1:, 0] - until[:-1]
    widest = int(np.argmax(gaps)) if len(gaps) else 0
    if len(gaps) and gaps[widest] >= 180 and gaps[widest] > 360 - (east - west):
        west, east = float(reaches[widest + 1, 0]), float(until[widest])
    return west, south, east, north


def _tolerance_in(crs: str, place: GridMap) -> float:
    """The tolerance of a grid in the units of another system, from the step at its middle."""
    box = place.bounds
    middle = np.mean([box.low, box.high], axis=0)
    steps = np.array([middle, *(middle + np.diag(np.array(box.size) / place.d))])
    there = reproject(box.to_lonlat(steps), LONLAT, crs, box.middle_in(crs))
    lengths = np.hypot(*(there[1:] - there[0]).T)
    if not np.isfinite(lengths).all() or lengths.min() <= 0:
        raise CrsError(f"{crs[:40]}: does not reach to where the bounds {box.as_tuple()} lie")
    return float(lengths.min()) * _SHARE


def _wedges(shape: BaseGeometry, poles: list[Pole]) -> list[BaseGeometry]:
    """Two regions with a corner at each pole, which share nothing else of the shape."""
    west, south, east, north = shape.bounds
    far = 4 * (east - west + north - south)
    way = np.array([0.0, 1.0])
    if len(poles) == 2:  # across from one to the other
        dx, dy = poles[1].x - poles[0].x, poles[1].y - poles[0].y
        way = np.array([-dy, dx]) / np.hypot(dx, dy)
    across = np.array([way[1], -way[0]])
    return [
        shapely.union_all(
            [
                Polygon([tip, tip + far * (side + across), tip + far * (side - across)])
                for tip in (np.array([pole.x, pole.y]) for pole in poles)
            ]
        )
        for side in (way, -way)
    ]


def _unrolled(
    shape: BaseGeometry,
    crs: str,
    poles: list[Pole],
    tolerance: float,
    place: tuple[float, float],
    box: Bounds | None,
) -> list[BaseGeometry]:
    """Polygons in degrees of a shape that goes round no pole."""
    turn = turn_of(crs)

    def there(xy: Array) -> Array:
        degrees = reproject(xy, crs, LONLAT, place)
        if box is None or poles or box.crs == LONLAT:
            return degrees
        # two ways lead by two datums, some metres apart: far from the box, where its system may
        # not reach, that is all one
        straight = reproject(xy, crs, box.crs, place)
        by = reproject(straight, box.crs, LONLAT, box.middle) - degrees
        by[:, 0] -= 360 * np.rint(by[:, 0] / 360)
        near = (np.abs(by) <= _DATUMS).all(axis=1)
        return np.where(near[:, None], degrees + by, degrees)

    def off(p: Array, p1: Array, q: Array, q1: Array, at: float) -> Array:
        by = q1 - q
        by[:, 0] -= 360 * np.rint(by[:, 0] / 360)
        # there and back again may be off by more than an edge
        ways = q + at * by, there(p + at * (p1 - p))
        back = [reproject(each, LONLAT, crs, place) for each in ways]
        gone = back[0] - back[1]
        if turn:
            gone[:, 0] -= turn * np.rint(gone[:, 0] / turn)
        return np.asarray(np.hypot(gone[:, 0], gone[:, 1]))

    parts = polygon_parts(shape)
    rings, owners = shapely.get_rings(parts, return_index=True)
    # counterclockwise, holes too
    rings = shapely.get_exterior_ring(shapely.orient_polygons(shapely.polygons(rings)))
    xy, ring_of = shapely.get_coordinates(rings, return_index=True)
    fixed = np.full(xy.shape, np.nan)
    for pole in poles:
        xy, fixed, ring_of = _with_pole(xy, fixed, ring_of, pole, there)
    lonlat, ring_of, _ = bent(xy, ring_of, there, off, tolerance, fixed)
    if np.isnan(lonlat).any():
        raise CrsError(f"{crs[:40]}: the shape reaches over its edge")
    lonlat = _continuous(lonlat, ring_of, poles)
    solids = shapely.polygons(shapely.linearrings(lonlat, indices=ring_of))
    first = np.r_[True, owners[1:] != owners[:-1]]
    if np.abs(lonlat[:, 0]).max() <= 180 and not poles:
        return polygons_of_rings(shapely.get_exterior_ring(solids), owners)
    # each ring is cut by itself, then holes come off: they may lie turns away from their shell
    cut = [within_180(orient_valid(solid)) for solid in solids]
    found = []
    starts = np.flatnonzero(np.r_[first, True])
    for a, b in itertools.pairwise(starts):
        found.append(orient_valid(shapely.difference(cut[a], shapely.union_all(cut[a + 1 : b]))))
    return [polygon for part in found for polygon in polygon_parts(part)]


def _with_pole(
    xy: Array, fixed: Array, ring_of: NDArray[np.int64], pole: Pole, move: Move
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Rings with two vertices where they meet a pole: as one comes to it, and as one leaves.

    `fixed` holds the degrees of vertices that are such, NaN of others.
    """
    tip = np.array([pole.x, pole.y])
    meets = np.flatnonzero((xy == tip).all(axis=1))
    if not len(meets):
        return xy, fixed, ring_of
    starts = np.flatnonzero(np.r_[True, ring_of[1:] != ring_of[:-1]])
    ends = np.r_[starts[1:], len(xy)] - 1
    first, last = starts[ring_of[meets]], ends[ring_of[meets]]
    before = np.where(meets == first, last - 1, meets - 1)
    after = np.where(meets == last, first + 1, meets + 1)

    def longitude(neighbours: NDArray[np.int64]) -> Array:
        way = xy[neighbours] - tip
        way *= 100 * pole.near(float(np.ptp(xy, axis=0).max())) / np.hypot(*way.T)[:, None]
        return move(tip + way)[:, 0]

    latitude = np.full(len(meets), pole.latitude)
    coming = np.column_stack([longitude(before), latitude])
    leaving = np.column_stack([longitude(after), latitude])
    fixed[meets] = np.where((meets == first)[:, None], leaving, coming)
    twice = meets != first  # at the end of a ring, too: it goes on to where it began
    at = meets[twice] + 1
    xy = np.insert(xy, at, tip, axis=0)
    fixed = np.insert(fixed, at, leaving[twice], axis=0)
    return xy, fixed, np.insert(ring_of, at, ring_of[meets[twice]])


def _continuous(lonlat: Array, ring_of: NDArray[np.int64], poles: list[Pole]) -> Array:
    """Rings, counterclockwise, whose longitudes go on along their edges."""
    by = np.diff(lonlat[:, 0], prepend=lonlat[0, 0])
    starts = np.r_[True, ring_of[1:] != ring_of[:-1]]
    by -= 360 * np.rint(by / 360)
    for pole in poles:
        at = lonlat[:, 1] == pole.latitude
        along = np.flatnonzero(at[1:] & at[:-1] & ~starts[1:]) + 1
        # through the inside, from where one comes to where one leaves
        way = pole.turning
        by[along] = -way * ((way * (lonlat[along - 1, 0] - lonlat[along, 0])) % 360)
    begins = np.flatnonzero(starts)
    by[begins] = 0
    gone = np.add.reduceat(by, begins)
    if (np.abs(gone) > 1).any():
        raise CrsError("a shape goes round a pole where it cannot be cut")
    run = np.cumsum(by)
    return np.column_stack([run - run[begins][ring_of] + lonlat[begins, 0][ring_of], lonlat[:, 1]])
