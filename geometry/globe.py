"""Moves shapes from one system of the globe to another, whole across the antimeridian and poles.

Edges are straight where they were drawn: in degrees for GeoJSON (RFC 7946, 3.1.1), in the system
of the bounds for what was learned there.  Moved, they bend, and get vertices until they are true
to a tolerance.  What degrees cannot show in one piece is cut there: at longitude 180, and along
the parallels of 90 degrees (RFC 7946, 3.1.9).
A :class:`Window` is where on the globe a box of another system than degrees lies, and what of a map
lies there.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
import shapely
from shapely.geometry import MultiPolygon, Point, Polygon
from shapely.geometry.base import BaseGeometry

from geometry.arrays import Floats, Ints
from geometry.crs import LONLAT, CrsError, Move, Pole, bent, poles_of, reproject, turn_of
from geometry.grid import Bounds, GridMap
from geometry.polygons import orient_valid, polygon_parts, polygons_of_rings

#: Points a side by which it is found where a box lies.
_SAMPLES = 129
#: Largest side of a part of the globe that is moved at once, and how often it is quartered.
_TILE, _QUARTERINGS = 60.0, 6

_Rectangle = tuple[float, float, float, float]


def around(shape: BaseGeometry, low: float, high: float, turn: float) -> BaseGeometry:
    """What lies within low..high of a shape, where each turn leads to the same place."""
    left, _, right, _ = shape.bounds
    turn = abs(turn)
    if shape.is_empty or not turn or (left >= low and right <= high):
        return shape
    turns = range(int(np.floor((low - right) / turn)) + 1, int(np.ceil((high - left) / turn)))
    if list(turns) == [0]:
        return shape
    met = []
    for each in turns:
        parts = np.array(polygon_parts(shifted(shape, each * turn)))
        reaches = shapely.bounds(parts)
        met.extend(parts[(reaches[:, 2] > low) & (reaches[:, 0] < high)])
    # what was cut at the antimeridian is one again
    return orient_valid(shapely.union_all(met))


def shifted(shape: BaseGeometry, by: float) -> BaseGeometry:
    """The same farther east; where rounding lets rings cross themselves, made valid."""
    if not by:
        return shape
    moved = shapely.transform(shape, lambda xy: xy + (by, 0.0))
    return moved if shapely.is_valid(moved) else orient_valid(moved)


class Window:
    """Where on the globe a box of another system lies, and what leads there."""

    def __init__(self, box: Bounds, tolerance: float) -> None:
        self._box, self._tolerance, self._turn = box, tolerance, turn_of(box.crs)
        sides = [np.linspace(a, b, _SAMPLES) for a, b in zip(box.low, box.high, strict=True)]
        own = np.stack(np.meshgrid(*sides), axis=-1)
        lonlat = reproject(own.reshape(-1, 2), box.crs, LONLAT, box.middle).reshape(own.shape)
        # a pair of them, which is not at a pole of a box round it
        self._here = own[_SAMPLES // 3, _SAMPLES // 4], lonlat[_SAMPLES // 3, _SAMPLES // 4]
        self._samples = lonlat.reshape(-1, 2)
        self._poles = poles_of(box.crs, box.middle)
        reach = (*box.low, *box.high)
        self._held = [pole.latitude for pole in self._poles if pole.within(reach)]
        self._find_window(lonlat)

    def _find_window(self, lonlat: Floats) -> None:
        """The box's reach in degrees, with what may lie between two samples."""
        margins = []
        for axis in (0, 1):
            steps = [np.diff(lonlat[..., axis], axis=way) for way in (0, 1)]
            if axis == 0:
                steps = [each - 360 * np.rint(each / 360) for each in steps]
            margins.append(max(float(np.abs(each).max()) for each in steps))
        lons = np.sort(self._samples[:, 0] % 360)
        gaps = np.diff(lons, append=lons[0] + 360)
        widest = int(np.argmax(gaps))
        west = lons[(widest + 1) % len(lons)] - margins[0]
        width = 360 - gaps[widest] + 2 * margins[0]
        if self._turn:  # as straight as longitude itself
            (x, _), (lon, _) = self._here
            ends = [
                lon + (end - x) * 360 / self._turn for end in (self._box.west, self._box.high[0])
            ]
            west, width = min(ends) - margins[0], abs(ends[1] - ends[0]) + 2 * margins[0]
        self._whole = not self._turn and (bool(self._held) or width >= 360)
        south, north = self._samples[:, 1].min(), self._samples[:, 1].max()
        self._reach = (
            float(west),
            -90.0 if -90.0 in self._held else max(-90.0, float(south) - margins[1]),
            float(west + (360 if self._whole else width)),
            90.0 if 90.0 in self._held else min(90.0, float(north) + margins[1]),
        )
        self._margins = min(margins[0], 30.0), margins[1]

    def moved(self, shape: BaseGeometry) -> BaseGeometry:
        """The part of a shape in degrees that lies in the box, in the system of the box."""
        clip, parts = shapely.box(*self._box.low, *self._box.high), []
        for tile in self._tiles:
            west, _, east, _ = tile
            part = shapely.intersection(around(shape, west, east, 360.0), shapely.box(*tile))
            moved, _ = self._moved(orient_valid(part), self._tolerance)
            if moved is None:
                raise CrsError(f"{self._box.crs[:40]}: a map reaches over its edge")
            parts.append(orient_valid(shapely.intersection(orient_valid(moved), clip)))
        return orient_valid(shapely.union_all(parts))

    @functools.cached_property
    def _tiles(self) -> list[_Rectangle]:
        """Parts of the globe that cover the box, a little over each other, and can be moved."""
        west, south, east, north = self._reach
        columns = np.linspace(west, east, int(np.ceil((east - west) / _TILE)) + 1)
        rows = np.linspace(south, north, int(np.ceil((north - south) / _TILE)) + 1)
        waiting = [
            ((x0, y0, x1, y1), 0)
            for x0, x1 in itertools.pairwise(columns.tolist())
            for y0, y1 in itertools.pairwise(rows.tolist())
        ]
        found = []
        while waiting:
            core, quartered = waiting.pop()
            tile = self._grown(core)
            if not self._meets(tile):
                continue
            if self._follows(tile):
                found.append(tile)
                continue
            if quartered == _QUARTERINGS:
                raise CrsError(
                    f"{self._box.crs[:40]}: does not follow the globe within the bounds "
                    f"{self._box.as_tuple()}"
                )
            x0, y0, x1, y1 = core
            x, y = (x0 + x1) / 2, (y0 + y1) / 2
            waiting += [
                (each, quartered + 1)
                for each in ((x0, y0, x, y), (x, y0, x1, y), (x0, y, x, y1), (x, y, x1, y1))
            ]
        return found

    def _grown(self, core: _Rectangle) -> _Rectangle:
        x0, y0, x1, y1 = core
        west, south, east, north = self._reach
        dx = max((x1 - x0) / 12, min(self._margins[0], x1 - x0))
        dy = max((y1 - y0) / 12, self._margins[1])
        if not self._whole:
            west, east = max(west, x0 - dx), min(east, x1 + dx)
        else:
            west, east = x0 - dx, x1 + dx
        return west, max(south, y0 - dy), east, min(north, y1 + dy)

    def _meets(self, tile: _Rectangle) -> bool:
        west, south, east, north = tile
        if any(south <= pole <= north for pole in self._held):
            return True
        lon, lat = self._samples.T
        return bool((((lon - west) % 360 <= east - west) & (lat >= south) & (lat <= north)).any())

    def _follows(self, tile: _Rectangle) -> bool:
        """Whether the system shows a part of the globe in one piece, the right way round."""
        outline = shapely.segmentize(shapely.box(*tile), max(tile[2] - tile[0], 1.0) / 16)
        moved, true = self._moved(outline, max(self._box.size) / 256)
        if moved is None or not true:
            return False
        ways = shapely.is_ccw(shapely.get_exterior_ring(np.array([outline, moved.geoms[0]])))
        return bool((ways[0] == ways[1]) == self._upright)

    @functools.cached_property
    def _upright(self) -> bool:
        """Whether north is to the left of east, and not to its right."""
        step = 1e-6 * max(self._reach[3] - self._reach[1], 0.1)
        _, lonlat = self._here
        at = lonlat + step * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        tip, east, north = self._there(at)
        (ex, ey), (nx, ny) = east - tip, north - tip
        return bool(ex * ny - ey * nx > 0)

    def _there(self, lonlat: Floats) -> Floats:
        """Degrees within any turn in the system, which is torn nowhere if it can help it."""
        turns = np.floor((lonlat[:, 0] + 180) / 360)
        wrapped = lonlat - np.column_stack([360 * turns, 0 * turns])
        own = reproject(wrapped, LONLAT, self._box.crs, self._box.middle)
        for pole in self._poles:
            own[lonlat[:, 1] == pole.latitude] = pole.x, pole.y
        if self._turn:
            here, there = self._here
            straight = here[0] + self._turn / 360 * (lonlat[:, 0] - there[0])
            own[:, 0] += self._turn * np.rint((straight - own[:, 0]) / self._turn)
        return own

    def _moved(self, shape: BaseGeometry, tolerance: float) -> tuple[MultiPolygon | None, bool]:
        """A shape in degrees in the system, None beyond its reach; and whether edges are true."""

        def off(p: Floats, p1: Floats, q: Floats, q1: Floats, at: float) -> Floats:
            gone = self._there(p + at * (p1 - p)) - (q + at * (q1 - q))
            return np.asarray(np.hypot(gone[:, 0], gone[:, 1]))

        parts = polygon_parts(shape)
        if not parts:
            return MultiPolygon(), True
        rings, owners = shapely.get_rings(parts, return_index=True)
        xy, ring_of = shapely.get_coordinates(rings, return_index=True)
        there, ring_of, true = bent(xy, ring_of, self._there, off, tolerance, xy * np.nan)
        if np.isnan(there).any():
            return None, False
        moved = shapely.linearrings(there, indices=ring_of)
        return MultiPolygon(polygons_of_rings(moved, owners)), true


#: The window of a box; that of a few last ones is kept.
window_of = functools.lru_cache(maxsize=8)(Window)

#: An edge that is moved is off by no more than this share of a grid step.
_SHARE = 1 / 256
#: Nor by less than this share of its coordinates: PROJ leads there and back again so exactly.
_EXACT = 1e-10
#: Two datums are no more than so many degrees apart.
_DATUMS = 0.02
#: In degrees; an edge of half the globe would read as one across the antimeridian.
LONGEST_EDGE = 170.0


def tolerance_of(place: GridMap) -> float:
    """How far an edge that is moved may be off, in the units of the bounds."""
    return min(place.bounds.size) / place.d * _SHARE


def in_bounds(shape: BaseGeometry, crs: str, place: GridMap) -> BaseGeometry:
    """A shape of a system, polygonal and valid, in that of the bounds of a grid, where it lies
    within these.

    The system is named as by :func:`geometry.crs.canonical_crs`.  What comes is polygonal and
    valid, in the units of the bounds, with longitudes that go on after 180 as those of the bounds
    do.  In its own system a shape may still reach over the bounds.  Raises CrsError if one system
    cannot follow the other there.
    """
    bounds = place.bounds
    if crs == bounds.crs:
        return around(shape, bounds.west, bounds.high[0], turn_of(crs))
    if crs != LONLAT:
        shape = degrees_of(shape, crs, place)
    if bounds.crs == LONLAT:
        return around(shape, bounds.west, bounds.high[0], 360.0)
    return window_of(bounds, tolerance_of(place)).moved(shape)


def degrees_of(shape: BaseGeometry, crs: str, place: GridMap) -> BaseGeometry:
    """A shape of a system in degrees within -180..180, by the way that leads to a grid's bounds;
    errors as :func:`in_bounds`."""
    if crs == LONLAT:
        return within_180(shape)
    box = place.bounds
    return in_degrees(shape, crs, _tolerance_in(crs, place), box.middle_in(crs), box)


def on_grid(shape: BaseGeometry, crs: str, place: GridMap) -> BaseGeometry:
    """As :func:`in_bounds`, in grid units."""

    def to_grid(own: Floats) -> Floats:
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

    def there(xy: Floats) -> Floats:
        degrees = reproject(xy, crs, LONLAT, place)
        if box is None or poles or box.crs == LONLAT:
            return degrees
        # two ways lead by two datums, some metres apart: far from the box, where its system may
        # not reach, that is all one
        straight = reproject(xy, crs, box.crs, place)
        by = reproject(straight, box.crs, LONLAT, box.middle) - degrees
        by[:, 0] -= 360 * np.rint(by[:, 0] / 360)
        near = (np.abs(by) <= _DATUMS).all(axis=1, keepdims=True)
        return np.where(near, degrees + by, degrees)

    def off(p: Floats, p1: Floats, q: Floats, q1: Floats, at: float) -> Floats:
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
    # a way there and back is no more exact
    tolerance = max(tolerance, _EXACT * float(np.abs(xy).max()))
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
    xy: Floats, fixed: Floats, ring_of: Ints, pole: Pole, move: Move
) -> tuple[Floats, Floats, Ints]:
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

    def longitude(neighbours: Ints) -> Floats:
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


def _continuous(lonlat: Floats, ring_of: Ints, poles: list[Pole]) -> Floats:
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
