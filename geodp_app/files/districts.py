"""Measures what of each district a shape covers, by its release, public bounds and maps alone.

On the globe all is brought to degrees, whole across the antimeridian and poles
(:mod:`geometry.globe`), and measured on the ellipsoid (:mod:`geometry.polygons`); edges are
straight where they were drawn.  No interval is stated: how far the truth lies from what was learned
no release tells.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import shapely
from shapely.geometry import Polygon
from shapely.geometry.base import BaseGeometry

from assets import shape_path
from geodp_app.files.import_file import ImportFile
from geodp_app.files.points import look, open_import
from geodp_app.files.points_out import rows_of
from geometry.arrays import Floats
from geometry.coordinates import has_geometry
from geometry.crs import LONLAT, CrsError, canonical_crs
from geometry.errors import InputError, refusals
from geometry.geojson import TargetFile, read_geojson
from geometry.geojson_reading import SEQUENCES
from geometry.geojson_write import placed_shape
from geometry.gis_files import library, polygon_layer, read_polygons, valid_polygons
from geometry.globe import degrees_of
from geometry.grid import Frame, GridMap
from geometry.mask import clipped
from geometry.polygons import ground_area, orient_valid, united
from learners.core.learned_shape import LearnedShape
from learners.core.releases import TilesRelease

#: Bounds are divided so finely, at least, where edges bend.
_FINE = 1 << 16


def open_districts(path: Path, layer: str | None = None) -> tuple[ImportFile, TargetFile]:
    """The rows of a file of districts, and their polygons; raises InputError or GeoJSONError if it
    cannot be read, or holds no polygons."""
    name = os.fspath(path)
    kind, data = look(name)
    if data is not None or kind == "csv":
        raise InputError(f"{name}: districts are a file of polygons: GeoJSON or a GIS format")
    if kind == "layer":
        layer = str(polygon_layer(name, layer)["layer_name"])
    file = open_import(path, layer)
    if kind == "map" and not name.lower().endswith(SEQUENCES):
        return file, read_geojson(path, every=True)
    target = read_polygons(path, layer, every=True)
    if not target.parts:
        raise InputError(f"{name}: no polygons in it")
    return file, target


def framed(districts: Any, layer: str | None = None) -> tuple[Any, TargetFile]:
    """Districts of a path or a GeoDataFrame as a GeoDataFrame, and their polygons.

    Without a system they lie as the shape does.  Errors as :func:`open_districts`; if geopandas is
    missing, or they are something else.
    """
    if not isinstance(districts, str | os.PathLike):
        return districts, _polygons_of(districts)
    path = shape_path(os.fspath(districts))
    _, target = open_districts(path, layer)
    geopandas = library("geopandas", path.name)
    table, geometry, _, crs, fid = rows_of(path, layer)
    shapes = shapely.from_wkb(np.array(table[geometry].to_pylist(), dtype=object))
    fields = table.drop_columns([geometry, *([fid] if fid else [])]).to_pandas()
    crs = None if target.frame == "grid" else crs
    return geopandas.GeoDataFrame(fields, geometry=shapes, crs=crs), target


def _polygons_of(frame: Any) -> TargetFile:
    name = "districts"
    if not has_geometry(frame) or not hasattr(frame, "columns"):
        raise InputError(f"{name} are a path or a GeoDataFrame, not {type(frame).__name__}")
    shapes = np.asarray(frame.geometry.array, dtype=object)
    found = [
        (part, i)
        for i, each in enumerate(shapes)
        for part in valid_polygons(each, f"{name}: feature {i + 1}")
    ]
    if not found:
        raise InputError(f"{name}: no polygons in it")
    parts, rows = zip(*found, strict=True)
    crs = LONLAT if frame.crs is None else canonical_crs(frame.crs.to_wkt())
    kind: Literal["grid", "lonlat"] = "grid" if frame.crs is None else "lonlat"
    return TargetFile(parts, kind, None, None, name, {}, 0, crs, rows, len(shapes))


def measured(shape: LearnedShape, districts: TargetFile) -> dict[str, Floats]:
    """What of each of n districts lies in a shape.

    Raises InputError if no district lies where the shape does.

    Returns
    -------
    dict of str to ndarray of float, shape (n,)
        "in_bounds": the part of the district that lies within the bounds; all else is of that part.
        "area_km2": its area; "shape_km2": that of the shape in it; both only on the globe.
        "share": the part of the area that the shape has.  "unreported": the part of the area that
        had hardly any reports; "in_doubt": the part of the shape in it that had hardly any.
        NaN where something is part of nothing, or not released.
    """
    frame, layers, place = shape.frame, shape.layers(), shape.frame.place
    fine = None if place is None else GridMap(max(frame.d, _FINE), place.bounds)
    square, release = shapely.box(0, 0, frame.d, frame.d), shape.release
    reported = layers.get("support")
    if reported is None and isinstance(release, TilesRelease) and release.blocks() is not None:
        reported = square  # no part had hardly any

    def there(drawn: BaseGeometry) -> BaseGeometry:
        own = placed_shape(drawn, frame.d, place, degrees=False)
        return own if fine is None else degrees_of(own, fine.bounds.crs, fine)

    def sizes(shapes: list[BaseGeometry]) -> Floats:
        return np.array([each.area if fine is None else ground_area(each) / 1e6 for each in shapes])

    def without_reports(shapes: list[BaseGeometry]) -> Floats:
        if reported is None:
            return np.full(len(shapes), np.nan)
        region = there(reported)
        return sizes([orient_valid(shapely.difference(each, region)) for each in shapes])

    whole, region = _placed(districts, frame, fine), there(square)
    here = [clipped(each, region) for each in whole]
    learned = there(layers["learned"])
    covered = [clipped(each, learned) for each in here]
    area, of_shape = sizes(here), sizes(covered)
    if not area.any():
        raise InputError("no district lies where the shape was learned")
    found = {
        "in_bounds": _part(area, sizes(whole)),
        "area_km2": area.round(6),
        "shape_km2": of_shape.round(6),
        "share": _part(of_shape, area),
        "unreported": _part(without_reports(here), area),
        "in_doubt": _part(without_reports(covered), of_shape),
    }
    return {k: v for k, v in found.items() if fine is not None or not k.endswith("km2")}


def _part(some: Floats, of: Floats) -> Floats:
    parts = np.full(len(of), np.nan)
    np.divide(some, of, out=parts, where=of > 0)
    return np.asarray(np.minimum(parts, 1.0).round(6))


def _placed(districts: TargetFile, frame: Frame, fine: GridMap | None) -> list[BaseGeometry]:
    """The districts in degrees, or of a shape that lies nowhere in grid units; some are empty."""
    on_grid = districts.frame == "grid"
    if fine is None and not on_grid and districts.bounds is None:
        raise InputError(
            f"{districts.name}: lies on the globe, and the shape was learned without bounds: take "
            f"districts in grid units 0..{frame.d}"
        )
    if fine is not None and on_grid and districts.grid is not None:
        raise InputError(f"{districts.name}: is in grid units, and the shape lies on the globe")

    def moved(part: BaseGeometry) -> BaseGeometry:
        if fine is None:
            return replace(districts, parts=(part,)).on_grid(frame.d)
        return degrees_of(part, fine.bounds.crs if on_grid else districts.crs, fine)

    several: list[list[BaseGeometry]] = [[] for _ in range(districts.n)]
    with refusals(districts.name, CrsError):
        for part, row in zip(districts.parts, districts.rows, strict=True):
            several[row].append(moved(part))
    return [orient_valid(united(parts)) if parts else Polygon() for parts in several]
