"""A mask is a public region that the learned shape is clipped to, such as land or a district.

It is a file of any format, a layer, a GeoDataFrame or a geometry, and keeps its own system.  It is
made of public data, never of the examples.  Clipping is then post-processing of a release
and costs no epsilon (docs/privacy.md, lemma 6); the release itself stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely
import shapely.geometry
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from assets import shape_path
from geometry.arrays import Ints
from geometry.coordinates import has_geometry
from geometry.crs import LONLAT, CrsError, canonical_crs
from geometry.errors import InputError, refusals
from geometry.geojson import MAX_VERTICES, NoPolygonsError, TargetFile, read_geojson, target_of
from geometry.geojson_reading import SEQUENCES, Frame as Units, GeoJSONError
from geometry.gis_files import LAYER_ENDINGS, in_range, read_polygons, valid_polygons
from geometry.grid import Bounds, Frame
from geometry.polygons import contains_points, orient_valid, polygon_parts

#: Names of files are cut to this.
_LONGEST = 200
#: Endings of files that GDAL or pyarrow read; all others are GeoJSON.
GIS_ENDINGS = frozenset({*LAYER_ENDINGS, *SEQUENCES, ".parquet"})


@dataclass(frozen=True, slots=True)
class Mask:
    """The polygons of a map, in its own coordinates, so that it follows another frame unharmed.

    Attributes
    ----------
    target : TargetFile
        Named as its file, without the folder.
    """

    target: TargetFile

    @property
    def name(self) -> str:
        """Of the file that it was read from."""
        return self.target.name

    def region(self, frame: Frame) -> BaseGeometry:
        """The part that lies on a grid: a valid Polygon or MultiPolygon in grid units, not empty.

        A map of the globe lies where the frame's bounds put it, or its own bounds if the frame has
        none; another grid is stretched to this one.

        Raises GeoJSONError if it is in degrees and no bounds are known, or nothing of it lies on
        the grid.
        """
        return clipped(self._on_grid(frame, self.target.on_grid), _square(frame))

    def _on_grid(
        self, frame: Frame, placed: Callable[[int, Bounds | None], BaseGeometry]
    ) -> BaseGeometry:
        target, theirs = self.target, self._bounds(frame)
        if target.frame == "lonlat" and (theirs or target.bounds) is None:
            raise GeoJSONError(
                f"{self.name}: is in degrees, and where the grid lies is not known: give --bounds "
                "W,S,E,N; in the window open a target or examples that have bounds"
            )
        shape, square = placed(frame.d, theirs), _square(frame)
        if all(clipped(orient_valid(part), square).is_empty for part in polygon_parts(shape)):
            where = f"on the grid 0..{frame.d}" if theirs is None else f"within {theirs.as_tuple()}"
            raise GeoJSONError(
                f"{self.name}: nothing of it lies {where}: take polygons of that place"
            )
        return shape

    def _bounds(self, frame: Frame) -> Bounds | None:
        # a file in degrees may lie nowhere: its bounds only hold the drawing
        return frame.bounds if self.target.member.get("georeferenced") is not False else None

    def clip(self, shape: BaseGeometry, frame: Frame) -> BaseGeometry:
        """The part of a shape, in grid units, that lies in it; errors as :meth:`region`."""
        return clipped(shape, self.region(frame))

    def keep(self, labels: Ints, points: Ints, frame: Frame) -> Ints:
        """Labels 0/1, shape (n,), of grid points, shape (n, 2), with 0 outside of it.

        Its edge belongs to it, exactly: its polygons decide, not the region, whose corners are
        rounded where they are cut.  Errors as :meth:`region`.
        """
        return labels * contains_points(self._on_grid(frame, self.target.figure), points)

    def near(self, frame: Frame) -> Mask:
        """Those of its polygons that reach a grid's square, the others decide no label there; all
        errors as :meth:`region`."""
        square, theirs = _square(frame), self._bounds(frame)

        def reaching(polygons: list[Polygon]) -> list[Polygon]:
            alone = replace(self.target, parts=(MultiPolygon(polygons),))
            if not shapely.intersects(alone.figure(frame.d, theirs), square):
                return []
            half = len(polygons) // 2
            return [*reaching(polygons[:half]), *reaching(polygons[half:])] if half else polygons

        parts: list[BaseGeometry] = []
        for polygons in map(polygon_parts, self.target.parts):
            # from west to east most of a map goes in few looks
            kept = set(map(id, reaching(sorted(polygons, key=lambda each: each.bounds))))
            some = [each for each in polygons if id(each) in kept]
            parts += [MultiPolygon(some) if len(some) > 1 else some[0]] if some else []
        return Mask(replace(self.target, parts=tuple(parts)))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; :meth:`from_dict` reads it back."""
        parts = self.target.parts
        shape = parts[0] if len(parts) == 1 else self.target.outlines
        map_ = {**shapely.geometry.mapping(shape), "geodp": self.target.member}
        if self.target.crs != LONLAT:
            map_["crs"] = {"type": "name", "properties": {"name": self.target.crs}}
        return {"name": self.name, "map": map_}

    @classmethod
    def from_dict(cls, data: Any) -> Mask:
        """Read what :meth:`to_dict` wrote.

        Raises ValueError if it is something else.
        """
        if not isinstance(data, dict) or set(data) != {"name", "map"}:
            raise ValueError("within: must be an object of name and map")
        name, map_ = data["name"], data["map"]
        if not isinstance(name, str) or not isinstance(map_, dict):
            raise ValueError("within: must be an object of a text and a map")
        return cls.of(target_of(map_, name, any_system=True), name)

    @classmethod
    def of(cls, target: TargetFile, name: str) -> Mask:
        """A mask of polygons that were read; nothing but these and their frame is kept."""
        member: dict[str, Any] = {"frame": target.frame}
        if target.grid is not None:
            member["grid"] = target.grid
        if target.bounds is not None:
            member["bounds"] = target.bounds.to_json()
        if target.member.get("georeferenced") is False:
            member["georeferenced"] = False
        own = target.parts, target.frame, target.grid, target.bounds
        return cls(TargetFile(*own, name[:_LONGEST], member, 0, crs=target.crs))


def read_mask(
    path: str | os.PathLike[str],
    layer: str | None = None,
    *,
    option: str = "--within-layer",
    max_vertices: int = MAX_VERTICES,
) -> Mask:
    """Read the polygons of a map: GeoJSON, or what GDAL and pyarrow read; or those of a shape that
    ships with geodp, by its name, such as "land".

    `layer` is one of a file with several, and `option` what names it, for messages.  Raises
    GeoJSONError if its polygons are not usable, or there are none; InputError if it is a GIS file
    that cannot be read, or which of its layers is meant is not said, or if a name is a file's, too;
    OSError if it cannot be opened.
    """
    with refusals():
        path = shape_path(os.fspath(path))
    if path.suffix.lower() not in GIS_ENDINGS:
        if layer is not None:
            raise InputError(f"{path}: has no layers: leave {option} out")
        return Mask.of(read_geojson(path, max_vertices=max_vertices, any_system=True), path.name)
    path.stat()
    return _usable(
        read_polygons(path, layer, option=option), path.name, os.fspath(path), max_vertices
    )


def mask_of(source: Any, frame: Frame, layer: str | None = None) -> Mask:
    """The mask that a file is, as :func:`read_mask` says, or polygons in memory: a GeoDataFrame, a
    GeoSeries or a shapely geometry.

    Those of geopandas are in their own system; without one, and of shapely, in that of the bounds,
    or in grid units where there are none.  `layer` is one of a file with several.  Raises
    GeoJSONError, InputError and OSError as :func:`read_mask`; and if it is something else.
    """
    if isinstance(source, str | os.PathLike):
        return read_mask(source, layer, option="layer")
    crs = "" if frame.bounds is None else frame.bounds.crs
    if has_geometry(source):
        name, shapes = "the data frame", list(np.asarray(source.geometry.array, dtype=object))
        with refusals(name, CrsError, GeoJSONError):
            crs = crs if source.crs is None else canonical_crs(source.crs.to_wkt())
    elif isinstance(source, BaseGeometry):
        name, shapes = "the geometry", [source]
    else:
        raise InputError(
            f"a mask is a file, a GeoDataFrame or a shapely geometry, not {type(source).__name__}"
        )
    parts = [part for shape in shapes for part in valid_polygons(shape, name)]
    parts = [shapely.force_2d(part) for part in in_range(parts, crs, name)]
    units: tuple[Units, int | None] = ("lonlat", None) if crs else ("grid", frame.d)
    target = TargetFile(tuple(parts), *units, None, name, {}, 0, crs or LONLAT)
    return _usable(target, name, name, MAX_VERTICES)


def _usable(target: TargetFile, called: str, name: str, most: int) -> Mask:
    if not target.parts:
        raise NoPolygonsError(f"{name}: no polygons in it")
    if sum(map(shapely.get_num_coordinates, target.parts)) > most:
        raise GeoJSONError(f"{name}: more than {most:,} positions in it")
    return Mask.of(target, called)


def clipped(shape: BaseGeometry, region: BaseGeometry) -> BaseGeometry:
    """The area that two valid polygonal shapes share, valid; an empty Polygon if there is none."""
    return orient_valid(shapely.intersection(shape, region))


def _square(frame: Frame) -> BaseGeometry:
    return shapely.box(0, 0, frame.d, frame.d)
