"""Reads columns of examples in other formats than text: GeoJSON, layers by GDAL, through pyogrio,
Parquet by pyarrow, and data frames, of which nothing is imported.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp_app.files.csv_table import BATCH, GEOMETRY, Batch, Column, geometry_column
from geodp_app.files.import_file import AXES, ImportFile
from geometry.coordinates import has_geometry, points_of_wkb
from geometry.crs import LONLAT
from geometry.errors import InputError, refusals
from geometry.geojson_reading import GeoJSONError, read_points, short
from geometry.gis_files import (
    DAMAGED,
    SeveralLayersError,
    geo_member,
    library,
    parquet_file,
    plain_path,
    reading,
    refuse_reference,
)


def open_geojson(name: str, data: bytes) -> ImportFile:
    """The points of GeoJSON, with the properties of each; raises InputError if it is none."""
    with refusals(kind=GeoJSONError):  # which names the file already
        points = read_points(name, data)
    on_grid = points.member.get("frame") == "grid"
    empty = not points.rows
    names = ("label",) if empty else points.properties
    axes, crs = (("x", "y"), None) if on_grid else (AXES, points.crs or LONLAT)
    values = [[row.get(name) for row in points.rows] for name in names]
    rows, member = ArrayRows(values, len(points.rows), points.geometries), dict(points.member)
    return ImportFile(name, names, rows, member, placed=True, crs=crs, headless=empty, axes=axes)


#: What messages call a data frame.
_NAME = "the data frame"


def is_data_frame(value: object) -> bool:
    """Whether something is a data frame, by its attributes."""
    return hasattr(value, "columns") and hasattr(value, "iloc")


def open_frame(frame: Any) -> ImportFile:
    """A data frame as a file of points; of geopandas with its places and their system.  Raises
    InputError if it has no columns."""
    names = [str(name) for name in frame.columns]
    if not names:
        raise InputError(f"{_NAME} has no columns")
    columns, places, crs = list(range(len(names))), None, None
    if has_geometry(frame):
        places = np.asarray(frame.geometry.array, dtype=object)
        crs = None if frame.crs is None else frame.crs.to_wkt()
        columns = [i for i in columns if names[i] != str(frame.geometry.name)]
    values = [_series_values(frame.iloc[:, i]) for i in columns]
    names = [names[i] for i in columns]
    if places is None and (found := geometry_column(names)) is not None:
        places = values[found]
    rows = ArrayRows(values, len(frame), places)
    placed, loose = places is not None, not has_geometry(frame)
    return ImportFile(_NAME, names, rows, placed=placed, crs=crs, loose=loose)


def _series_values(column: Any) -> NDArray[Any]:
    """A column's values, None where there is none; numbers in their width."""
    missing = np.asarray(column.isna(), dtype=bool)
    kind = getattr(column.dtype, "numpy_dtype", column.dtype)  # of pandas' own numbers
    if isinstance(kind, np.dtype) and kind.kind == "f":
        return np.asarray(column.to_numpy(dtype=kind, na_value=np.nan))
    values = np.asarray(column)
    if not missing.any():
        return values
    values = values.astype(object)
    values[missing] = None
    return values


@dataclass(frozen=True, slots=True)
class ArrayRows:
    """Rows of columns in memory."""

    #: Shape (n,) each.
    columns: Sequence[Column]
    n: int
    #: Shape (n,): the column of geometries, if there is one.
    geometries: Column | None = None

    def batches(self, places: Sequence[int], numbers: Collection[int] = ()) -> Iterator[Batch]:
        """The columns at these places, of all rows in order."""
        found = [self.geometries if place == GEOMETRY else self.columns[place] for place in places]
        for start in range(0, self.n, BATCH):
            stop = min(start + BATCH, self.n)
            some = [column[start:stop] for column in found if column is not None]
            yield Batch(some, stop - start, stop / self.n)


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """Rows of a Parquet file."""

    name: str
    #: What is in it, where it can be read only once.
    data: bytes | None
    #: Of the columns beside the places.
    names: tuple[str, ...]
    #: Name of the column that holds the places, if one does.
    geometry: str | None

    def batches(self, places: Sequence[int], numbers: Collection[int] = ()) -> Iterator[Batch]:
        """The columns at these places, of all rows in order."""
        named = [str(self.geometry) if at == GEOMETRY else self.names[at] for at in places]
        with reading(self.name, DAMAGED), parquet_file(self.name, self.data) as file:
            n, done = file.metadata.num_rows, 0
            for batch in file.iter_batches(BATCH, columns=named):
                done += batch.num_rows
                columns = [
                    _places(batch.column(name)) if at == GEOMETRY else _values(batch.column(name))
                    for at, name in zip(places, named, strict=True)
                ]
                yield Batch(columns, batch.num_rows, min(1.0, done / max(1, n)))


def _values(column: Any) -> Column:
    """Values of Arrow: numbers as they are, in their width; all else as Python has it."""
    import pyarrow.types as kinds

    if not column.null_count and (kinds.is_floating(column.type) or kinds.is_integer(column.type)):
        return np.from_dlpack(column)
    if kinds.is_floating(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    values: list[Any] = column.to_pylist()
    if str(column.type) == "extension<arrow.json>":
        return [None if value is None else json.loads(value) for value in values]
    return values


def _places(column: Any) -> Column:
    """Coordinates of plain points, shape (n, 2); all else as Python has it."""
    import pyarrow.types as kinds

    plain = None
    if kinds.is_binary(column.type) and len(column) and not column.null_count:
        _, offsets, data = column.buffers()
        at = np.frombuffer(offsets, dtype=np.int32)[column.offset :][: len(column) + 1]
        held = b"" if data is None else memoryview(data)[at[0] : at[-1]]
        plain = points_of_wkb(held, np.unique(np.diff(at)).tolist())
    # a record with a type is an object of GeoJSON
    elif kinds.is_struct(column.type) and column.type.get_field_index("type") < 0:
        axes = [column.type.get_field_index(axis) for axis in "xy"]
        parts = [column.field(at) for at in axes if at >= 0 and not column.null_count]
        if [kinds.is_float64(each.type) and not each.null_count for each in parts] == [True, True]:
            found = np.column_stack([np.from_dlpack(each) for each in parts])
            plain = found if np.isfinite(found).all() else None
    return _values(column) if plain is None else plain


def open_layer(name: str, layer: str | None = None, data: bytes | None = None) -> ImportFile:
    """Read a layer of points with GDAL.

    Raises InputError if pyogrio is missing, GDAL cannot read the file, or it has no such layer.
    `name`: path.  `layer`: by default as :func:`chosen_layer` has it.  `data`: what is in the file,
    where it can be read only once.
    """
    pyogrio = library("pyogrio", name)
    with reading(name), plain_path(name) as path:
        source = path if data is None else data
        if data is not None:
            refuse_reference(name, data)
        chosen = chosen_layer(name, pyogrio.list_layers(source), layer)
        meta, _, wkb, fields = pyogrio.raw.read(source, layer=chosen, force_2d=True)
    n = len(wkb) if wkb is not None else len(fields[0]) if fields else 0
    names, rows = tuple(map(str, meta["fields"])), ArrayRows(fields, n, wkb)
    return ImportFile(name, names, rows, placed=wkb is not None, crs=meta["crs"])


def chosen_layer(name: str, listed: Any, wanted: str | None) -> str:
    """The wanted layer of those that a file lists, or the only one, or the only one that may hold
    points; raises InputError if there is none, or there are several.

    What the only one holds is told by its rows: one of none may be said to hold anything.
    """
    layers = [(str(layer), kind) for layer, kind in listed]
    names = [layer for layer, _ in layers]
    if wanted is not None:
        if wanted not in names:
            raise InputError(f"{name}: has no layer {wanted!r}, but {', '.join(names) or 'none'}")
        return wanted
    of_points = [
        layer for layer, kind in layers
        if kind and any(word in kind for word in ("Point", "Unknown", "Collection"))
    ]  # fmt: skip
    for chosen in (names, of_points):
        if len(chosen) == 1:
            return chosen[0]
    if of_points:
        words = f"{name}: has several layers: name one with --layer: {', '.join(names)}"
        raise SeveralLayersError(words, of_points)
    raise InputError(f"{name}: has no layer of points")


def open_parquet(name: str, data: bytes | None = None) -> ImportFile:
    """Look at a Parquet file, with or without places in the form of GeoParquet; raises InputError
    if pyarrow is missing, or the file is damaged."""
    with reading(name, DAMAGED), parquet_file(name, data) as file:
        schema = file.schema_arrow
        columns = list(schema.names)
    primary, crs, encoding = geo_member(name, schema)
    if encoding not in (None, "WKB", "point"):
        raise InputError(
            f"{name}: its places are encoded as {short(encoding)}: they must be points"
        )
    names = tuple(each for each in columns if each != primary)
    if primary is None and (found := geometry_column(names)) is not None:
        primary = names[found]
    rows, placed = ParquetRows(name, data, names, primary), primary is not None
    return ImportFile(name, names, rows, placed=placed, crs=crs, loose=primary in names)
