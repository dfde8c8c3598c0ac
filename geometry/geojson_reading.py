"""Reads what a GeoJSON file holds: objects, features, points; and checks its polygons.

Every position, ring and polygon is checked for type, size, range and validity; a fault
raises :class:`GeoJSONError` with one line that says where it is and what is wrong.
:mod:`geometry.geojson` adds the file's name.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import shapely
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from geometry.arrays import Floats
from geometry.grid import is_number
from geometry.halfplane import MAX_D

Frame = Literal["lonlat", "grid"]

#: Largest file that is read, in bytes.
MAX_BYTES = 64 * 2**20

_OTHER_KINDS = ("Point", "MultiPoint", "LineString", "MultiLineString")


class GeoJSONError(ValueError):
    """A GeoJSON file or shape is unusable; the message is one line: file, feature, reason."""


def own_member(document: dict[str, Any]) -> dict[str, Any]:
    """What geodp has written beside a map: the member ``geodp``, empty if there is none.

    Raises GeoJSONError if it is no object.
    """
    member = document.get("geodp", {})
    if isinstance(member, str) and "type" not in document:  # a version: a report begins so
        raise GeoJSONError(
            "is a report or another record of geodp, and no map: name the shape itself, the file "
            "that geodp learn -o wrote"
        )
    if not isinstance(member, dict):
        raise GeoJSONError(f"member geodp must be an object, not {short(member)}")
    return member


def decoded(data: bytes, hint: str = "") -> str:
    """The text of a file; GeoJSONError if it is in another encoding, with a hint of what is no JSON
    at all."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if not data.lstrip().startswith(b"{"):
            raise GeoJSONError(f"not UTF-8 text (byte {error.start}){hint}") from None
        line = data.count(b"\n", 0, error.start) + 1
        raise GeoJSONError(
            f"line {line} is not UTF-8 text: save it as UTF-8; if it is in Latin-1 (Windows-1252), "
            "by iconv -f WINDOWS-1252 -t UTF-8"
        ) from None


def named_system(crs: Any) -> str | None:
    """The system that the old member ``crs`` names; GeoJSONError if it names none."""
    if crs is None:
        return None
    properties = crs.get("properties") if isinstance(crs, dict) else None
    name = properties.get("name") if isinstance(properties, dict) else None
    if not isinstance(name, str):
        raise GeoJSONError(f"member crs names no coordinate reference system: {short(crs)}")
    return name


class ShapeReader:
    """Turns geometry objects into checked shapes; counts positions and what it skips.

    `frame` is what the coordinates are, None for those of another system; `limit` the largest
    coordinate of the grid frame, in grid units, the least being 0; `max_vertices` is over all
    geometries that are read.
    """

    def __init__(self, frame: Frame | None, limit: float, max_vertices: int) -> None:
        self.frame, self.limit, self.max_vertices = frame, limit, max_vertices
        self.vertices = self.skipped = 0

    def shapes(self, geometry: Any, where: str) -> Iterator[BaseGeometry]:
        """The valid non-empty polygons and multipolygons in one geometry object."""
        if geometry is None:
            self.skipped += 1
            return
        if not isinstance(geometry, dict):
            raise GeoJSONError(f"{where}: a geometry must be an object, not {short(geometry)}")
        kind = geometry.get("type")
        if kind == "GeometryCollection":
            for i, part in enumerate(_items(geometry.get("geometries"), where, "geometries")):
                yield from self.shapes(part, f"{where}, geometries[{i}]")
        elif kind in ("Polygon", "MultiPolygon"):
            shape = self._areal(kind, geometry.get("coordinates"), where)
            if shape.is_empty:
                self.skipped += 1
            else:
                yield shape
        elif kind in _OTHER_KINDS:
            self.skipped += 1
        else:
            raise GeoJSONError(f"{where}: {short(kind)} is no GeoJSON type that holds polygons")

    def _areal(self, kind: str, coordinates: Any, where: str) -> BaseGeometry:
        if kind == "Polygon":
            shape: BaseGeometry = self._polygon(coordinates, where)
        else:
            parts = enumerate(_items(coordinates, where, "coordinates"))
            polygons = [self._polygon(part, f"{where}, polygon {i}") for i, part in parts]
            shape = MultiPolygon([p for p in polygons if not p.is_empty])
        if not shapely.is_valid(shape):
            raise GeoJSONError(f"{where}: {invalidity(shape)}")
        return shape

    def _polygon(self, rings: Any, where: str) -> Polygon:
        numbered = enumerate(_items(rings, where, "coordinates"))
        shells = [self._ring(ring, f"{where}, ring {i}") for i, ring in numbered]
        return Polygon(shells[0], shells[1:]) if shells else Polygon()

    def _ring(self, positions: Any, where: str) -> Floats:
        """A closed ring, shape (n, 2), n >= 4, within the frame's range."""
        positions = _items(positions, where, "a ring")
        if len(positions) < 4:
            raise GeoJSONError(
                f"{where}: a closed ring needs at least 4 positions, this one has {len(positions)}"
            )
        self.vertices += len(positions)
        if self.vertices > self.max_vertices:
            raise GeoJSONError(f"{where}: more than {self.max_vertices:,} positions in the file")
        ring = np.array([_position(p, where, i) for i, p in enumerate(positions)])
        if (ring[0] != ring[-1]).any():
            raise GeoJSONError(
                f"{where}: is open, it starts at {point(ring[0])} and ends at {point(ring[-1])}"
            )
        fault = _grid_fault(ring, self.limit) if self.frame == "grid" else ""
        if self.frame == "lonlat":  # some count 0..360 eastwards
            fault = _lonlat_fault(ring, 360.0)
        if fault:
            raise GeoJSONError(f"{where}: {fault}")
        return ring


def _items(value: Any, where: str, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise GeoJSONError(f"{where}: {what} must be a list, not {short(value)}")
    return value


def _position(value: Any, where: str, index: int) -> tuple[float, float]:
    """(x, y) of a position of two or more finite numbers."""
    place = f"{where}, position {index}"
    if not isinstance(value, list) or len(value) < 2 or not all(map(is_number, value)):
        raise GeoJSONError(f"{place}: must be two numbers, not {short(value)}")
    try:
        finite = all(map(math.isfinite, value))
    except OverflowError:  # an integer beyond the doubles
        finite = False
    if not finite:
        raise GeoJSONError(f"{place}: {short(value)} is not finite")
    return float(value[0]), float(value[1])


def check_lonlat(coordinates: Floats) -> None:
    """Check that a ring's vertices (lon, lat), float of shape (n, 2), are degrees that one map
    sheet can hold.

    Raises GeoJSONError if a vertex is not finite or outside -180..180 / -90..90, or neighbours are
    more than 180 degrees of longitude apart (the ring crosses the antimeridian).
    """
    fault = _lonlat_fault(np.asarray(coordinates, dtype=np.float64))
    if fault:
        raise GeoJSONError(fault)


def _lonlat_fault(ring: Floats, most: float = 180.0) -> str:
    inside = (np.abs(ring) <= (most, 90.0)).all(axis=1)
    if not inside.all():
        i = int(np.argmin(inside))
        return (
            f"position {i} {point(ring[i])} is outside longitude -{most:g}..{most:g}, latitude "
            "-90..90 (grid units need geodp.frame = 'grid')"
        )
    jumps = np.abs(np.diff(ring[:, 0])) > 180
    if jumps.any():
        i = int(np.argmax(jumps))
        return (
            f"crosses the antimeridian between {point(ring[i])} and {point(ring[i + 1])}; "
            "cut it there into two polygons, or put a vertex between if it goes the long way round"
        )
    return ""


def _grid_fault(ring: Floats, limit: float) -> str:
    inside = ((ring >= 0) & (ring <= limit)).all(axis=1)
    if inside.all():
        return ""
    i = int(np.argmin(inside))
    return f"position {i} {point(ring[i])} is outside the grid 0..{limit:.10g}"


def invalidity(shape: BaseGeometry) -> str:
    """Why a shape is not valid, and where."""
    reason = str(shapely.is_valid_reason(shape))
    match = re.fullmatch(r"(.*)\[(\S+) (\S+)\]", reason)
    if match is None:
        return f"not a valid polygon: {reason}"
    what, at = match[1], f"({match[2]}, {match[3]})"
    if what in ("Self-intersection", "Ring Self-intersection"):
        return f"the outline crosses or touches itself at {at}"
    return f"not a valid polygon: {what} at {at}"


def checked_grid_size(value: Any) -> int:
    """The member ``geodp.grid``: an integer in 1..MAX_D, else GeoJSONError."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_D:
        raise GeoJSONError(f"geodp.grid must be an integer in 1..{MAX_D}, not {short(value)}")
    return value


def point(xy: Floats) -> str:
    return f"({xy[0]:.10g}, {xy[1]:.10g})"


def short(value: Any) -> str:
    """A value for a message: one short line, however large it is."""
    return reprlib.repr(value)


def features(document: dict[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """(where, geometry, properties) of each feature; a bare geometry counts as one.

    Raises GeoJSONError if one is no feature.
    """
    kind = document.get("type")
    if kind == "FeatureCollection":
        listed = document.get("features")
        if not isinstance(listed, list):
            raise GeoJSONError(f"features must be a list, not {short(listed)}")
        for i, feature in enumerate(listed):
            yield _feature(feature, f"features[{i}]")
    elif kind == "Feature":
        yield _feature(document, "the feature")
    else:
        yield "the geometry", document, {}


def _feature(feature: Any, where: str) -> tuple[str, Any, dict[str, Any]]:
    if not isinstance(feature, dict) or feature.get("type") != "Feature":
        raise GeoJSONError(f"{where}: must be a Feature, not {short(feature)}")
    properties = feature.get("properties") or {}
    if not isinstance(properties, dict):
        raise GeoJSONError(f"{where}: properties must be an object, not {short(properties)}")
    return where, feature.get("geometry"), properties


#: Endings of text sequences, which may hold no object at all.
SEQUENCES = (".geojsonl", ".geojsons", ".ndjson", ".jsonl")

#: Most properties that are told apart: a file may give each feature others.
MAX_PROPERTIES = 100

#: What stands before each object of a text sequence (RFC 8142).
RECORD = "\x1e"


@dataclass(frozen=True, slots=True)
class PointsFile:
    """Features as rows; nothing is checked but that they are features.

    `properties` are names of the first ones, in the order in which they appear; `geometries`
    objects of GeoJSON, None where there is none; `rows` the features' properties; `member` is the
    foreign member ``geodp``, empty if there is none, and `crs` the system that the file names
    (GeoJSON 2008).
    """

    properties: tuple[str, ...]
    geometries: list[Any]
    rows: list[Mapping[str, Any]]
    member: Mapping[str, Any]
    crs: str | None


def read_points(name: str, data: bytes, max_bytes: int = MAX_BYTES) -> PointsFile:
    """Read the features of a file as points.

    `name` is that of the file, for messages; `data` is one object, or one on each line (GeoJSON
    text sequences), at most `max_bytes` of it.  Raises GeoJSONError if it is too large, not JSON,
    or not GeoJSON.
    """
    try:
        if len(data) > max_bytes:
            raise GeoJSONError(f"larger than {max_bytes:,} bytes")
        documents = objects(data, sequence=name.lower().endswith(SEQUENCES))
        geometries: list[Any] = []
        rows: list[Mapping[str, Any]] = []
        properties: dict[str, None] = {}
        for document in documents:
            for where, geometry, own in features(document):
                if geometry is not None and not isinstance(geometry, dict):
                    raise GeoJSONError(
                        f"{where}: geometry must be an object, not {short(geometry)}"
                    )
                geometries.append(geometry)
                rows.append(own)
                if len(properties) < MAX_PROPERTIES:
                    properties |= dict.fromkeys(own)
        first = documents[0] if documents else {}
        member = own_member(first)
        crs = named_system(first.get("crs"))
    except RecursionError:
        raise GeoJSONError(f"{name}: nested too deeply") from None
    except GeoJSONError as error:
        raise GeoJSONError(f"{name}: {error}") from None
    return PointsFile(tuple(properties)[:MAX_PROPERTIES], geometries, rows, member, crs)


def objects(data: bytes, *, sequence: bool) -> list[dict[str, Any]]:
    """The objects of a file: one, or one on each line; a sequence may have none.

    Raises GeoJSONError if it is not JSON, or holds anything else.
    """
    text = decoded(data)
    try:
        if sequence and not text.strip():
            return []
        found = [_json(text)]
    except ValueError as whole:  # JSONDecodeError, or an integer of thousands of digits
        lines = [line.strip(f"{RECORD} \t\r") for line in text.split("\n")]
        lines = [line for line in lines if line]
        try:
            _json(lines[0] if lines else "")
        except ValueError:
            raise GeoJSONError(f"not JSON: {whole}") from None
        found = []
        for i, line in enumerate(lines, 1):
            try:
                found.append(_json(line))
            except ValueError as error:
                raise GeoJSONError(f"object {i} is not JSON: {error}") from None
    for each in found:
        if not isinstance(each, dict):
            raise GeoJSONError(f"must be a JSON object, not {short(each)}")
    return found


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_members)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, unless it names a member twice: of two the last would count."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise GeoJSONError(f"an object names its member {short(twice)} twice")
    return found
