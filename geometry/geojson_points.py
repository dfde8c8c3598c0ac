"""Points of a GeoJSON file and their properties, as rows of text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from geometry.geojson import MAX_BYTES, features, load_object
from geometry.geojson_rings import GeoJSONError, short

#: Most properties that are told apart: a file may give each feature others.
MAX_PROPERTIES = 100


@dataclass(frozen=True, slots=True)
class PointsFile:
    """Features as rows of text; nothing is checked but that they are features.

    Attributes
    ----------
    properties : tuple of str
        Names of the first properties, in the order in which they appear.
    rows : list of (str, str, mapping)
        Both coordinates of a point and the feature's properties.  Of what is no point, the first
        coordinate says what it is.
    member : mapping
        The foreign member ``geodp``; empty if there is none.
    """

    properties: tuple[str, ...]
    rows: list[tuple[str, str, Mapping[str, Any]]]
    member: Mapping[str, Any]

    def cells(self, row: int) -> list[str]:
        """The coordinates and the properties of a row, as text; empty where there is none."""
        first, second, properties = self.rows[row]
        return [first, second, *(as_text(properties.get(name)) for name in self.properties)]


def read_points(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> PointsFile:
    """Read the features of a file as points.

    Parameters
    ----------
    path : path-like
    max_bytes : int
        Limit on the file's size.

    Raises
    ------
    GeoJSONError
        If the file is too large, not JSON, or not GeoJSON.
    OSError
        If the file cannot be opened.
    """
    name = os.fspath(path)
    try:
        document, _ = load_object(path, max_bytes)
        member = document.get("geodp", {})
        if not isinstance(member, dict):
            raise GeoJSONError(f"member geodp must be an object, not {short(member)}")
        rows: list[tuple[str, str, Mapping[str, Any]]] = []
        properties: dict[str, None] = {}
        for _, geometry, own in features(document):
            rows.append((*_coordinates(geometry), own))
            if len(properties) < MAX_PROPERTIES:
                properties |= dict.fromkeys(own)
    except RecursionError:
        raise GeoJSONError(f"{name}: nested too deeply") from None
    except GeoJSONError as error:
        raise GeoJSONError(f"{name}: {error}") from None
    return PointsFile(tuple(properties)[:MAX_PROPERTIES], rows, member)


def as_text(value: Any) -> str:
    """A JSON value as a cell of a table: empty for null, true and false as JSON has them."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return short(value)


def _coordinates(geometry: Any) -> tuple[str, str]:
    if geometry is None:
        return "", ""
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if kind != "Point":
        return f"a {kind}" if isinstance(kind, str) else short(geometry), ""
    position = geometry.get("coordinates")
    if not isinstance(position, list) or len(position) < 2:
        return "", ""
    return as_text(position[0]), as_text(position[1])
