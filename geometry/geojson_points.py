"""Reads points of a GeoJSON file: a column of geometries, and columns of their properties."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from geometry.geojson import MAX_BYTES, features
from geometry.geojson_rings import GeoJSONError, decoded, named_system, own_member, short

#: Endings of text sequences, which may hold no object at all.
SEQUENCES = (".geojsonl", ".geojsons", ".ndjson", ".jsonl")

#: Most properties that are told apart: a file may give each feature others.
MAX_PROPERTIES = 100

#: What stands before each object of a text sequence (RFC 8142).
RECORD = "\x1e"


@dataclass(frozen=True, slots=True)
class PointsFile:
    """Features as rows; nothing is checked but that they are features.

    Attributes
    ----------
    properties : tuple of str
        Names of the first properties, in the order in which they appear.
    geometries : list
        Objects of GeoJSON, None where there is none.
    rows : list of mapping
        The features' properties.
    member : mapping
        The foreign member ``geodp``; empty if there is none.
    crs : str or None
        The system that the file names (GeoJSON 2008).
    """

    properties: tuple[str, ...]
    geometries: list[Any]
    rows: list[Mapping[str, Any]]
    member: Mapping[str, Any]
    crs: str | None


def read_points(name: str, data: bytes, max_bytes: int = MAX_BYTES) -> PointsFile:
    """Read the features of a file as points.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    data : bytes
        One object, or one on each line (GeoJSON text sequences).
    max_bytes : int
        Limit on their number.

    Raises
    ------
    GeoJSONError
        If it is too large, not JSON, or not GeoJSON.
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

    Raises
    ------
    GeoJSONError
        If it is not JSON, or holds anything else.
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
