"""Reads target shapes from GeoJSON (RFC 7946).

RFC 7946 knows only longitude and latitude.  Grid coordinates are therefore mapped into a
box of degrees on writing, and the map is kept in the foreign member ``geodp`` of the
top-level object::

    "geodp": {"frame": "lonlat" | "grid", "grid": d, "bounds": [west, south, east, north], ...}

``frame`` says what the coordinates are; without it they are degrees.  A feature whose property
``layer`` is :data:`BESIDE` lies beside the shape, and is no part of it, also where another program
has saved the file without the member.

The reader trusts nothing: sizes, types, ranges and validity are checked, and every fault
is one line that names the file, the feature and the place.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import shapely
from shapely.geometry import GeometryCollection
from shapely.geometry.base import BaseGeometry

from geometry.crs import LONLAT, CrsError, canonical_crs
from geometry.errors import one_line, refusals
from geometry.geojson_reading import (
    MAX_BYTES,
    Frame,
    GeoJSONError as GeoJSONError,
    ShapeReader,
    checked_grid_size,
    decoded,
    features,
    named_system,
    own_member,
    short,
)
from geometry.globe import on_grid, within_180
from geometry.grid import Bounds, BoundsError, GridMap
from geometry.halfplane import MAX_D
from geometry.polygons import cornered, orient_valid, polygonal, united
from geometry.rings import crossings_up_to, edges_of

#: What features beside a shape, in files of geodp, have as their property ``layer``.
BESIDE = "support"
#: Most positions that are read from one file.
MAX_VERTICES = 1_000_000
#: Most crossings between outlines of different features: some seconds' work for the union.
MAX_CROSSINGS = 100_000
#: Longest message, in characters, without the file's name.
_LONGEST = 400


class NoPolygonsError(GeoJSONError):
    """A file holds no polygons; it may hold points or lines."""


@dataclass(frozen=True)
class TargetFile:
    """A target shape as read from a file.

    Attributes
    ----------
    parts : tuple of shapely geometry
        The valid polygons and multipolygons as they were read, which may overlap, in the units of
        ``frame``; empty if there are none.
    frame : {"lonlat", "grid"}
        Degrees, or grid units.
    grid : int or None
        Grid size d that the file names.
    bounds : Bounds or None
        Public bounds in degrees that the file names: where the grid lies.
    name : str
        The first feature's ``name``, else the collection's, else the file's stem.
    member : mapping
        The whole foreign member ``geodp``; empty if there is none.
    skipped : int
        Geometries that are points, lines or null, and so were left out.
    crs : str
        The system of a shape that is not in grid units: "lonlat" stands for any on the globe.
    rows : tuple of int
        Which feature of the file each part is of, from 0.
    n : int
        Features of the file.
    """

    parts: tuple[BaseGeometry, ...]
    frame: Frame
    grid: int | None
    bounds: Bounds | None
    name: str
    member: Mapping[str, Any]
    skipped: int
    crs: str = LONLAT
    rows: tuple[int, ...] = ()
    n: int = 0

    @cached_property
    def geometry(self) -> BaseGeometry:
        """The union of all polygons, to be drawn: valid, oriented, in the units of ``frame``.

        Errors as :meth:`check_crossings`.
        """
        if len(self.parts) == 1:
            return polygonal(self.parts[0])
        self.check_crossings()
        return polygonal(united(self.parts))

    def check_crossings(self) -> None:
        """See to it that the polygons can be united.

        Raises GeoJSONError if the outlines cross so often that it would take minutes and gigabytes.
        """
        edges = edges_of(self.parts)
        if len(self.parts) > 1 and crossings_up_to(MAX_CROSSINGS, edges) > MAX_CROSSINGS:
            raise GeoJSONError(
                f"{self.name}: the features' outlines cross more than {MAX_CROSSINGS:,} times"
            )

    @property
    def outlines(self) -> BaseGeometry:
        """The polygons as they were read, in one collection: what the box of all is taken of."""
        return GeometryCollection(self.parts)

    def figure(self, d: int, bounds: Bounds | None = None) -> BaseGeometry:
        """Its polygons in units of a grid of size d as they were read, by which points are judged.

        Each corner is at the nearest multiple of 1/:func:`geometry.polygons.units` grid unit, so
        that rounding leaves no grid point beside an edge on which it lies; several polygons, which
        may overlap, are a GeometryCollection, not united, as a union rounds where edges cross.
        Parameters and errors as in :meth:`on_grid`.
        """
        placed = [self._placed(part, d, bounds) for part in self.parts]
        return cornered(placed[0] if len(placed) == 1 else GeometryCollection(placed), d)

    def on_grid(self, d: int, bounds: Bounds | None = None) -> BaseGeometry:
        """Their union in units of a grid of size d; it may reach over the square's edges.

        `bounds` say where that grid lies, for a shape on the globe; by default the file's own.
        Raises GeoJSONError if the shape is in degrees and no bounds are known, or it has no place
        in their system; as :attr:`geometry`.
        """
        return self._placed(self.geometry, d, bounds)

    def _placed(self, shape: BaseGeometry, d: int, bounds: Bounds | None) -> BaseGeometry:
        placed, box = self.member.get("georeferenced") is not False, bounds or self.bounds
        with refusals(self.name, CrsError, GeoJSONError):
            if self.frame == "grid":
                if self.grid and self.bounds and bounds and placed and bounds != self.bounds:
                    own = shapely.transform(shape, GridMap(self.grid, self.bounds).to_own)
                    return on_grid(own, self.bounds.crs, GridMap(d, bounds))
                scale = d / (self.grid or d)
                return orient_valid(shapely.transform(shape, lambda xy: xy * scale))
            if box is None:
                raise GeoJSONError(
                    f"{self.name}: the shape is in degrees; give bounds to place it on the grid"
                )
            return on_grid(shape, self.crs, GridMap(d, box))


def read_geojson(
    path: str | os.PathLike[str],
    *,
    allow_empty: bool = False,
    max_bytes: int = MAX_BYTES,
    max_vertices: int = MAX_VERTICES,
    any_system: bool = False,
    every: bool = False,
) -> TargetFile:
    """Read a target: Feature, FeatureCollection, or a bare polygonal geometry.

    A file that does not say what its coordinates are holds degrees.

    Raises GeoJSONError if the file is too large, not JSON, not GeoJSON, without polygons, or its
    polygons have short, open or crossing rings, non-finite or out-of-range coordinates, or cross
    the antimeridian; OSError if the file cannot be opened.

    Returns TargetFile: altitudes are dropped.

    Parameters
    ----------
    allow_empty : bool
        Accept a file without polygons (an empty learned shape) as an empty Polygon.
    max_bytes, max_vertices : int
        Limits on the file's size and on its number of positions.
    any_system : bool
        Take the system that an old member ``crs`` names; else it must be longitude and latitude.
    every : bool
        Whether every feature is meant; else those beside the shape are left out.
    """
    try:
        document, odd_numbers = load_object(path, max_bytes)
        target = _read_document(document, max_vertices, Path(path).stem, any_system, every=every)
        if odd_numbers:
            raise GeoJSONError(f"{odd_numbers[0]} is not a finite number")
        if not allow_empty:
            _refuse_empty(target)
    except RecursionError:
        raise GeoJSONError(f"{one_line(os.fspath(path), _LONGEST)}: nested too deeply") from None
    except GeoJSONError as error:
        words = (one_line(text, _LONGEST) for text in (os.fspath(path), str(error)))
        raise type(error)(": ".join(words)) from None
    return target


def target_of(document: dict[str, Any], name: str, *, any_system: bool = False) -> TargetFile:
    """A target from the object of a GeoJSON file, of finite numbers; read like the file.

    `name` stands for the file's stem, `any_system` is that of :func:`read_geojson`.  Raises
    GeoJSONError as there; the message names no file.
    """
    target = _read_document(document, MAX_VERTICES, name, any_system)
    _refuse_empty(target)
    return target


def _refuse_empty(target: TargetFile) -> None:
    if not target.parts:
        raise NoPolygonsError("no polygons in it")


def load_object(
    path: str | os.PathLike[str], max_bytes: int = MAX_BYTES
) -> tuple[dict[str, Any], list[str]]:
    """The top-level object, and the numbers in the file that are not finite.

    Raises GeoJSONError if it is too large, or no JSON object; RecursionError if it is nested too
    deeply; OSError if it cannot be opened.
    """
    with open(path, "rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise GeoJSONError(f"larger than {max_bytes:,} bytes")
    text = decoded(
        data,
        ": targets and masks are GeoJSON in longitude and latitude; make one of a layer by "
        "ogr2ogr -t_srs EPSG:4326 new.geojson FILE",
    )
    odd: list[str] = []

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            odd.append(text)
        return value

    try:
        document = json.loads(text, parse_float=number, parse_constant=number)
    except ValueError as error:  # JSONDecodeError, or an integer of thousands of digits
        if data.startswith(b'{"kind":"ledger"'):  # objects on lines
            own_member({"geodp": ""})
        raise GeoJSONError(f"not JSON, as GeoJSON is: {error}") from None
    if not isinstance(document, dict):
        raise GeoJSONError(f"must be a JSON object, not {short(document)}")
    return document, odd


def _read_document(
    document: dict[str, Any],
    max_vertices: int,
    stem: str,
    any_system: bool,
    *,
    every: bool = False,
) -> TargetFile:
    """Check the top level, collect the polygons of all features."""
    member = own_member(document)
    frame: Frame = "lonlat" if member.get("frame") is None else member["frame"]
    if frame not in ("lonlat", "grid"):
        raise GeoJSONError(f"geodp.frame must be 'lonlat' or 'grid', not {short(frame)}")
    grid, bounds = stated_place(member)
    crs = _system(document.get("crs"), any_system) if frame == "lonlat" else LONLAT
    # a map may go over the grid: what is clipped to it does not
    own_range = frame if crs == LONLAT and not (any_system and frame == "grid") else None
    reader = ShapeReader(own_range, float(grid or MAX_D), max_vertices)
    shapes: list[BaseGeometry] = []
    rows: list[int] = []
    first: dict[str, Any] | None = None
    row = -1
    for row, (where, geometry, own) in enumerate(features(document)):
        if own.get("layer") == BESIDE and not every:
            continue
        found = list(reader.shapes(geometry, where))
        if found and first is None:
            first = own
        shapes.extend(found)
        rows.extend([row] * len(found))
    if own_range == "lonlat":
        shapes = [within_180(shape) for shape in shapes]
    names = ((first or {}).get("name"), document.get("name"), stem)
    return TargetFile(
        parts=tuple(shapes),
        frame=frame,
        grid=grid,
        bounds=bounds,
        name=next(n for n in names if isinstance(n, str)),
        member=member,
        skipped=reader.skipped,
        rows=tuple(rows),
        n=row + 1,
        crs=crs,
    )


def stated_place(member: Mapping[str, Any]) -> tuple[int | None, Bounds | None]:
    """The grid size and the bounds that a member ``geodp`` states.

    Raises GeoJSONError if they are none, or coordinates are in grid units of no stated size.
    """
    grid, box = member.get("grid"), member.get("bounds")
    if grid is not None or member.get("frame") == "grid":
        grid = checked_grid_size(grid)
    with refusals("geodp.bounds", BoundsError, GeoJSONError):
        return grid, None if box is None else Bounds.of_json(box)


def _system(crs: Any, any_system: bool) -> str:
    """The system that the old ``crs`` member names; refused if it is not longitude/latitude on
    WGS 84 and not any may be."""
    if crs is None:
        return LONLAT
    if any_system:
        with refusals("crs", CrsError, GeoJSONError):
            return canonical_crs(named_system(crs) or "")
    properties = crs.get("properties") if isinstance(crs, dict) else None
    name = properties.get("name") if isinstance(properties, dict) else None
    if not isinstance(name, str) or not re.search(r"(CRS84|EPSG:+(\d[\d.]*)?:?4326)$", name):
        raise GeoJSONError(
            f"crs {short(name or crs)} is not longitude/latitude (RFC 7946); reproject to WGS 84"
        )
    return LONLAT
