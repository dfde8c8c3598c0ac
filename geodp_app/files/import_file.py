"""Opens a file of examples whose columns have any names, and gives batches of its columns.

A reader for each format knows nothing but columns: text (:mod:`geodp_app.files.csv_table`),
GeoJSON, layers by GDAL, through pyogrio, Parquet by pyarrow, data frames, of which nothing is
imported.  What they mean, and which rows are examples, is told in one place for all of them
(:mod:`geodp_app.files.import_rows`).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from geodp_app.errors import InputError, refusals
from geodp_app.files import csv_table
from geodp_app.files.csv_table import (
    BATCH,
    GEOMETRY,
    Batch,
    Column,
    as_cells,
    geometry_column,
    open_csv,
)
from geometry.coordinates import has_geometry, points_of_wkb, read_places
from geometry.crs import LONLAT
from geometry.geojson_reading import (
    MAX_BYTES as MAX_MAP,
    RECORD,
    SEQUENCES,
    GeoJSONError,
    read_points,
    short,
)
from geometry.gis_files import (
    DAMAGED,
    LAYER_ENDINGS,
    PARQUET,
    SeveralLayersError,
    geo_member,
    library,
    parquet_file,
    plain_path,
    reading,
    refuse_reference,
)

#: Endings of files of rows as text.
TEXT_ENDINGS = frozenset({".csv", ".tsv", ".txt"})
#: Endings of files of GeoJSON, of one object or of one on each line.
MAP_ENDINGS = frozenset({".geojson", ".json", *SEQUENCES})
#: Names of the columns that stand for a feature's place.
AXES = ("longitude", "latitude")
#: Rows that are shown before anything is chosen.
PREVIEW = 3


class Reader(Protocol):
    """The rows of a format, in order, each as often as they are asked for."""

    def batches(self, places: Sequence[int], numbers: Collection[int] = ()) -> Iterator[Batch]:
        """The columns at these places; :data:`GEOMETRY` is the column of geometries.  At `numbers`
        texts that are numbers may come as such."""
        ...


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file of examples."""

    #: Path, for messages.
    name: str
    #: Names of the columns as they stand, given without those of the places, `axes`; one without a
    #: name is called by its number.
    columns: Sequence[str]
    reader: Reader
    #: What the file states of its frame; empty if nothing.
    member: dict[str, Any] = field(default_factory=dict)
    #: Whether the first two columns are the places of a column of geometries.
    placed: bool = False
    #: Coordinate reference system that the file states.
    crs: str | None = None
    #: Whether numbers may have a comma for a point.
    decimal_comma: bool = False
    #: Whether the file is empty and of a format that names its columns in its rows.
    headless: bool = False
    #: Whether geometries are one column among others, beside which there may be coordinates.
    loose: bool = False
    axes: tuple[str, str] = AXES
    #: Cells of the first rows.
    preview: tuple[tuple[str, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        columns = (*self.axes, *self.columns) if self.placed else self.columns
        named = tuple(column or f"column {i}" for i, column in enumerate(columns, 1))
        object.__setattr__(self, "columns", named)
        first = tuple(tuple(row) for row, _, _ in islice(self.rows, PREVIEW))
        object.__setattr__(self, "preview", first)

    @property
    def rows(self) -> Iterator[tuple[list[str], int | None, float]]:
        """All rows in order: cells as text, the line in the file if it has lines, and how much of
        the file has been read with it, 0..1."""
        for batch in self.batches(range(len(self.columns))):
            texts = [as_cells(column) for column in batch.columns]
            for i, fault in batch.faults.items():
                texts[0][i] = fault
            for i, row in enumerate(zip(*texts, strict=True)):
                yield [*row], int(batch.lines[i]) if len(batch.lines) else None, batch.share

    def batches(self, places: Sequence[int], numbers: Collection[int] = ()) -> Iterator[Batch]:
        """The columns at these places, of all rows in order; raises InputError if a line cannot be
        taken apart; it is named."""
        first = 2 * self.placed
        own = [GEOMETRY if place < first else place - first for place in places]
        asked = list(dict.fromkeys(own))
        numbers = [place - first for place in numbers if place >= first]
        for batch in self.reader.batches(asked, numbers):
            found: dict[int, Column] = dict(zip(asked, batch.columns, strict=True))
            if GEOMETRY in found:
                points = read_places(found[GEOMETRY])
                batch.faults.update(points.faults)
                batch.systems = points.systems
            batch.columns = [
                points.xy[:, place] if at == GEOMETRY else found[at]
                for place, at in zip(places, own, strict=True)
            ]
            yield batch


def open_import(path: str | os.PathLike[str], layer: str | None = None) -> ImportFile:
    """Open a file of points; "-" is standard input.  Raises InputError if it cannot be read, or
    does not name its columns.  `layer`: of a file with several."""
    name = os.fspath(path)
    kind, data = look(name)
    if layer is not None and kind != "layer":
        raise InputError(f"{name}: has no layers: leave --layer out")
    if kind == "layer":
        names, features, crs = open_layer(name, layer, data)
        return ImportFile(name, names, features, placed=features.geometries is not None, crs=crs)
    if kind == "parquet":
        table = open_parquet(name, data)
        placed, loose = table.geometry is not None, table.geometry in table.names
        return ImportFile(name, table.names, table, placed=placed, crs=table.crs, loose=loose)
    most = MAX_MAP if kind == "map" else csv_table.MAX_BYTES
    whole = _whole(name, most) if data is None else data
    if kind == "map":
        return _open_points(name, whole)
    rows = open_csv(name, whole)
    head, placed = rows.head, rows.geometry is not None
    comma = head.delimiter != ","
    return ImportFile(
        name, head.names, rows, head.member, placed, decimal_comma=comma, loose=placed
    )


def look(name: str) -> tuple[str, bytes | None]:
    """ "map" for GeoJSON, "layer" for what GDAL reads, "parquet" or "csv"; and the bytes, where the
    file can be read only once."""
    ending = Path(name).suffix.lower()
    if os.path.isdir(name) and ending in LAYER_ENDINGS:
        return "layer", None
    once = name == "-" or _is_pipe(name)
    data = _whole(name, csv_table.MAX_BYTES) if once else None
    start = _whole(name, 4096, whole=False) if data is None else data[:4096]
    if start.startswith(PARQUET):
        return "parquet", data
    if ending in LAYER_ENDINGS or start.startswith((b"SQLite format 3", b"fgb")):
        return "layer", data
    plain = start.removeprefix(b"\xef\xbb\xbf").lstrip(RECORD.encode() + b" \t\r\n")
    return ("map" if plain.startswith(b"{") or ending in MAP_ENDINGS else "csv"), data


def _is_pipe(name: str) -> bool:
    try:
        kind = os.stat(name).st_mode
    except (OSError, ValueError):  # told when it is opened
        return False
    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or stat.S_ISCHR(kind)


def _whole(name: str, most: int, *, whole: bool = True) -> bytes:
    """A file's bytes, or with `whole` off the first of them."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(most + 1)
        else:
            with open(name, "rb") as file:
                small = 0 < os.fstat(file.fileno()).st_size <= most
                # a limit sets its whole size aside: only for pipes, devices and what is too large
                data = file.read() if small else file.read(most + whole)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{name}: cannot be read: {reason}") from None
    if whole and len(data) > most:
        raise InputError(f"{name}: larger than {most:,} bytes")
    return data


def _open_points(name: str, data: bytes) -> ImportFile:
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

    Raises InputError if pyogrio is missing, GDAL cannot read the file, or it has no such layer.
    `name`: path.  `layer`: by default the only one that may hold points.  `data`: what is in the
    file, where it can be read only once.

    Returns
    -------
    names of fields, rows, and the coordinate reference system as an authority's code or WKT
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
    """The wanted layer of those that a file lists, or the only one that may hold points; raises
    InputError if there is none, or there are several."""
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
    return ParquetRows(name, data, names, primary, crs)
