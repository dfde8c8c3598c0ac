"""Where on the globe a box of another system than degrees lies, and what of a map lies there."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import shapely
from shapely.geometry import MultiPolygon
from shapely.geometry.base import BaseGeometry

from geometry.bent_edges import Array, bent
from geometry.crs import LONLAT, CrsError, poles_of, reproject, turn_of
from geometry.grid import Bounds
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
    """The same farther east."""
    return shapely.transform(shape, lambda xy: xy + (by, 0.0)) if by else shape


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

    def _find_window(self, lonlat: Array) -> None:
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

    def _there(self, lonlat: Array) -> Array:
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

        def off(p: Array, p1: Array, q: Array, q1: Array, at: float) -> Array:
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


@functools.lru_cache(maxsize=8)
def window_of(box: Bounds, tolerance: float) -> Window:
    """The window of a box; that of a few last ones is kept."""
    return Window(box, tolerance)
