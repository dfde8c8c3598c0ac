"""Writes shapes as GeoJSON (RFC 7946): closed oriented rings, valid, with ``bbox``, no ``crs``.

Grid coordinates are mapped affinely into a box of degrees, because readers that follow the
RFC clamp larger numbers to +-180/90 and destroy the shape; the map is kept in the foreign
member ``geodp`` (see :mod:`geometry.geojson`).  The writer adds nothing but this frame to
what its caller hands it, so it cannot publish anything private.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

import numpy as np
import shapely
from shapely.geometry import GeometryCollection, MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from geometry.arrays import Floats
from geometry.crs import LONLAT, CrsError
from geometry.errors import refusals
from geometry.geojson_reading import GeoJSONError, check_lonlat
from geometry.globe import LONGEST_EDGE, in_degrees, lonlat_box, tolerance_of
from geometry.grid import Bounds, Frame, GridMap
from geometry.polygons import orient_valid, polygon_parts, ring_corners


def unit_box_map(d: int) -> GridMap:
    """The map of the grid onto 0..1 degrees: where shapes without bounds are put."""
    return GridMap(d, Bounds(0.0, 0.0, 1.0, 1.0))


#: Properties of the shape alone, which other layers do not have.
OF_SHAPE = frozenset({"label", "clipped_to"})


def each_layer(name: str, value: Any, layers: Iterable[str]) -> list[Any]:
    """A property of the shape "learned" in each of these layers; None where it is not of it."""
    return [None if name in OF_SHAPE and layer != "learned" else value for layer in layers]


def feature_collection(
    shape: BaseGeometry,
    frame: Frame,
    *,
    member: Mapping[str, Any],
    raw_grid: bool = False,
    properties: Mapping[str, Any] | None = None,
    layers: Mapping[str, BaseGeometry] | None = None,
) -> dict[str, Any]:
    """A shape in grid units as a FeatureCollection of at most one feature, and layers beside it.

    Raises GeoJSONError if the shape leaves the square.

    Returns dict: with ``bbox``, closed rings, outer counter-clockwise, holes clockwise, valid in
    its own coordinates; an empty shape is no feature, and without features there is no ``bbox``.
    Slivers thinner than doubles resolve in degrees are left out.  ``geodp`` holds ``frame``,
    ``grid``, ``bounds`` and ``georeferenced`` (whether the bounds are the user's), then ``member``.

    Parameters
    ----------
    shape : shapely geometry
        Polygonal, in grid units, within the square [0, d]^2.
    frame : Frame
        The grid, and the user's public bounds; without them the grid goes to 0..1 degrees.
    member : mapping
        What the caller publishes in the foreign member ``geodp`` (version, learner, privacy,
        ...), JSON values only.
    raw_grid : bool
        Keep grid units.  Readers that follow RFC 7946 to the letter take them for degrees.
    properties : mapping, optional
        Properties of the feature.
    layers : mapping, optional
        Other shapes by name, each a feature after the first with the same properties but those
        of the shape alone, and its name as ``name`` and ``layer``: readers leave them out.
    """
    place = None if raw_grid else frame.place or unit_box_map(frame.d)
    said = frame_member(frame, raw_grid=raw_grid)
    collection: dict[str, Any] = {"type": "FeatureCollection", "geodp": {**said, **member}}
    named = [(shape, dict(properties or {}))]
    also = {name: value for name, value in named[0][1].items() if name not in OF_SHAPE}
    for name, layer in (layers or {}).items():
        named.append((layer, {**also, "name": name, "layer": name}))
    placed = [(placed_shape(orient_valid(each), frame.d, place), own) for each, own in named]
    placed = [(each, own) for each, own in placed if not each.is_empty]
    if placed:
        collection["bbox"] = _bbox(GeometryCollection([each for each, _ in placed]), place)
    collection["features"] = [
        {
            "type": "Feature",
            "bbox": _bbox(each, place),
            "properties": own,
            "geometry": _geometry(each),
        }
        for each, own in placed
    ]
    return collection


def _bbox(shape: BaseGeometry, place: GridMap | None) -> list[float]:
    box = lonlat_box(shape) if _may_wrap(place) else shape.bounds
    return [float(v) + 0.0 for v in box]  # -0.0 becomes 0.0


def frame_member(frame: Frame, *, raw_grid: bool = False) -> dict[str, Any]:
    """The part of ``geodp`` that says how grid and degrees belong together."""
    said: dict[str, Any] = {
        "frame": "grid" if raw_grid else "lonlat",
        "grid": frame.d,
        "georeferenced": frame.bounds is not None,
    }
    if frame.bounds is not None or not raw_grid:
        said["bounds"] = (frame.place or unit_box_map(frame.d)).bounds.to_json()
    return said


def placed_shape(
    shape: BaseGeometry, d: int, grid_map: GridMap | None, *, degrees: bool = True
) -> BaseGeometry:
    """A shape in the coordinates of a file, still valid after rounding.

    It is polygonal and valid, in grid units, within the square [0, d]^2; GeoJSONError if it leaves
    that.  Without a `grid_map` it keeps grid units.  `degrees`: longitude and latitude, cut at the
    antimeridian; else the system of the bounds.
    """
    degrees = degrees or grid_map is None or grid_map.bounds.crs == LONLAT
    xy = shapely.get_coordinates(shape)
    if len(xy) and not (xy.min() >= -1e-6 and xy.max() <= d + 1e-6):
        raise GeoJSONError(f"the shape {shape.bounds} leaves the grid 0..{d}")

    def place(points: Floats) -> Floats:
        points = np.clip(points, 0.0, float(d))
        return points if grid_map is None else grid_map.to_own(points)

    placed = shapely.transform(shape, place)
    if not shapely.is_valid(placed):
        # rounding has crossed lines that all but touch: snap them first
        placed = shapely.transform(shapely.set_precision(shape, _step(d, grid_map)), place)
    shape = orient_valid(placed)
    if degrees and _may_wrap(grid_map):
        with refusals(kind=CrsError, told=GeoJSONError):
            shape = in_degrees(
                shape, grid_map.bounds.crs, tolerance_of(grid_map), grid_map.bounds.middle
            )
        # an edge over more than half the globe reads as a crossing of the antimeridian; segmentize
        # would drop parts of what rounding has made invalid
        shape = shapely.segmentize(orient_valid(shape), LONGEST_EDGE)
    shape = orient_valid(MultiPolygon(_resolved(orient_valid(shape))))
    if degrees and _may_wrap(grid_map):
        for ring in ring_corners(shape):
            check_lonlat(ring)
    return shape


def _may_wrap(grid_map: GridMap | None) -> TypeGuard[GridMap]:
    """Whether a shape in the box may cross the antimeridian, or lie in another system than degrees:
    in a small box of degrees they are plain numbers."""
    if grid_map is None:
        return False
    box = grid_map.bounds
    return box.crs != LONLAT or box.crosses or math.hypot(*box.size) > LONGEST_EDGE


def _step(d: int, grid_map: GridMap | None) -> float:
    """A distance, in grid units, that is many roundings of the file's coordinates long."""
    if grid_map is None:
        return d * 2.0**-44
    box = grid_map.bounds
    rounding = float(np.spacing(np.abs([box.low, box.high]).max()))
    return d * max(2.0**-44, 64 * rounding / min(box.size))


def _resolved(shape: BaseGeometry) -> list[Polygon]:
    """Parts and holes that the rounded coordinates still tell from a line.

    Moving every vertex by a few units in the last place changes a ring's area by about that
    much times its length; below it, which side is inside is an accident.
    """
    unit = 8 * float(np.spacing(np.abs(shapely.get_coordinates(shape)).max(initial=0.0)))

    def wide(ring: BaseGeometry) -> bool:
        return bool(Polygon(ring).area > unit * ring.length)

    return [
        Polygon(part.exterior, [hole for hole in part.interiors if wide(hole)])
        for part in polygon_parts(shape)
        if wide(part.exterior)
    ]


def _geometry(shape: BaseGeometry) -> dict[str, Any]:
    """Geometry object of an oriented shape, in full double precision."""
    # + 0.0: no -0.0 in the file
    coordinates = [[(r + 0.0).tolist() for r in ring_corners(p)] for p in polygon_parts(shape)]
    if len(coordinates) == 1:
        return {"type": "Polygon", "coordinates": coordinates[0]}
    return {"type": "MultiPolygon", "coordinates": coordinates}


def geojson_text(collection: Mapping[str, Any]) -> str:
    """What a file with this GeoJSON object holds.

    Numbers keep full double precision; those of NumPy are written as plain ones.  Raises ValueError
    if one is not finite, TypeError if a value has no JSON form.
    """
    return json.dumps(collection, allow_nan=False, default=_plain) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")
