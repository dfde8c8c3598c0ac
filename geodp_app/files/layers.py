"""Reads GIS files of points by columns: layers by GDAL, through pyogrio, and Parquet by pyarrow.

How such files are opened is told in :mod:`geometry.gis_files`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodp_app.errors import InputError
from geodp_app.files.csv_table import BATCH, GEOMETRY, Batch, Column, geometry_column
from geometry.coordinates import points_of_wkb
from geometry.geojson_reading import short
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

#: Names of the columns that stand for a feature's place.
AXES = ("longitude", "latitude")


@dataclass(frozen=True, slots=True)
class ArrayRows:
    """Rows of columns in memory.

    Attributes
    ----------
    columns : sequence of ndarray or list, shape (n,) each
    n : int
    geometries : sequence, shape (n,), or None
        The column of geometries, if there is one.
    """

    columns: Sequence[Column]
    n: int
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
    """Rows of a Parquet file.

    Attributes
    ----------
    name : str
    data : bytes or None
        What is in it, where it can be read only once.
    names : tuple of str
        Of the columns beside the places.
    geometry : str or None
        Name of the column that holds the places, if one does.
    crs : str or None
    """

    name: str
    data: bytes | None
    names: tuple[str, ...]
    geometry: str | None
    crs: str | None

    def batches(self, places: Sequence[int], numbers: Collection[int] = ()) -> Iterator[Batch]:
        """The columns at these places, of all rows in order."""
        named = [str(self.geometry) if at == GEOMETRY else self.names[at] for at in places]
        with (
            reading(self.name, "cannot be read as Parquet"),
            parquet_file(self.name, self.data) as file,
        ):
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


def open_layer(
    name: str, layer: str | None = None, data: bytes | None = None
) -> tuple[tuple[str, ...], ArrayRows, str | None]:
    """Read a layer of points with GDAL.

    Parameters
    ----------
    name : str
        Path.
    layer : str, optional
        By default the only one that may hold points.
    data : bytes, optional
        What is in the file, where it can be read only once.

    Returns
    -------
    names of fields, rows, and the coordinate reference system as an authority's code or WKT

    Raises
    ------
    InputError
        If pyogrio is missing, GDAL cannot read the file, or it has no such layer.
    """
    pyogrio = library("pyogrio", name)
    with reading(name), plain_path(name) as path:
        source = path if data is None else data
        if data is not None:
            refuse_reference(name, data)
        chosen = chosen_layer(name, pyogrio.list_layers(source), layer)
        meta, _, wkb, fields = pyogrio.raw.read(source, layer=chosen, force_2d=True)
    n = len(wkb) if wkb is not None else len(fields[0]) if fields else 0
    return tuple(map(str, meta["fields"])), ArrayRows(fields, n, wkb), meta["crs"]


def chosen_layer(name: str, listed: Any, wanted: str | None) -> str:
    """The wanted layer of those that a file lists, or the only one that may hold points.

    Raises
    ------
    InputError
        If there is none, or there are several.
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
    if len(of_points) == 1:
        return of_points[0]
    if of_points:
        words = f"{name}: has several layers: name one with --layer: {', '.join(names)}"
        raise SeveralLayersError(words, of_points)
    raise InputError(f"{name}: has no layer of points")


def open_parquet(name: str, data: bytes | None = None) -> ParquetRows:
    """Look at a Parquet file, with or without places in the form of GeoParquet.

    Raises
    ------
    InputError
        If pyarrow is missing, or the file is damaged.
    """
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
    return ParquetRows(name, data, names, primary, crs)
