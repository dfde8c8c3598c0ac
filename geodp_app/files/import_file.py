"""Opens a file of examples whose columns have any names, and gives batches of its columns.

A reader for each format knows nothing but columns: text (:mod:`geodp_app.files.csv_table`),
GeoJSON, what GDAL reads, Parquet (:mod:`geodp_app.files.layers`), data frames
(:mod:`geodp_app.files.data_frames`).  What they mean, and which rows are examples, is told in one
place for all of them (:mod:`geodp_app.files.import_rows`).
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

from geodp_app.errors import InputError, refusals
from geodp_app.files import csv_table
from geodp_app.files.csv_table import GEOMETRY, Batch, Column, as_cells, open_csv
from geodp_app.files.layers import AXES, ArrayRows, open_layer, open_parquet
from geometry.coordinates import read_places
from geometry.crs import LONLAT
from geometry.geojson_reading import (
    MAX_BYTES as MAX_MAP,
    RECORD,
    SEQUENCES,
    GeoJSONError,
    read_points,
)
from geometry.gis_files import LAYER_ENDINGS, PARQUET

#: Endings of files of rows as text.
TEXT_ENDINGS = frozenset({".csv", ".tsv", ".txt"})
#: Endings of files of GeoJSON, of one object or of one on each line.
MAP_ENDINGS = frozenset({".geojson", ".json", *SEQUENCES})
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
    """A file of examples.

    Attributes
    ----------
    name : str
        Path, for messages.
    columns : tuple of str
        Names of the columns as they stand; one without a name is called by its number.
    reader : Reader
    member : mapping
        What the file states of its frame; empty if nothing.
    placed : bool
        Whether the first two columns are the places of a column of geometries.
    crs : str or None
        Coordinate reference system that the file states.
    decimal_comma : bool
        Whether numbers may have a comma for a point.
    headless : bool
        Whether the file is empty and of a format that names its columns in its rows.
    loose : bool
        Whether geometries are one column among others, beside which there may be coordinates.
    preview : tuple of tuple of str
        Cells of the first rows.
    """

    name: str
    columns: Sequence[str]
    reader: Reader
    member: dict[str, Any] = field(default_factory=dict)
    placed: bool = False
    crs: str | None = None
    decimal_comma: bool = False
    headless: bool = False
    loose: bool = False
    preview: tuple[tuple[str, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        named = tuple(column or f"column {i}" for i, column in enumerate(self.columns, 1))
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
        """The columns at these places, of all rows in order.

        Raises
        ------
        InputError
            If a line cannot be taken apart; it is named.
        """
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
    """Open a file of points; "-" is standard input.

    Parameters
    ----------
    path : path-like
    layer : str, optional
        Of a file with several.

    Raises
    ------
    InputError
        If it cannot be read, or does not name its columns.
    """
    name = os.fspath(path)
    kind, data = look(name)
    if layer is not None and kind != "layer":
        raise InputError(f"{name}: has no layers: leave --layer out")
    if kind == "layer":
        names, features, crs = open_layer(name, layer, data)
        placed = features.geometries is not None
        columns = (*AXES, *names) if placed else names
        return ImportFile(name, columns, features, placed=placed, crs=crs)
    if kind == "parquet":
        table = open_parquet(name, data)
        placed, loose = table.geometry is not None, table.geometry in table.names
        columns = (*AXES, *table.names) if placed else table.names
        return ImportFile(name, columns, table, placed=placed, crs=table.crs, loose=loose)
    most = MAX_MAP if kind == "map" else csv_table.MAX_BYTES
    whole = _whole(name, most) if data is None else data
    if kind == "map":
        return _open_points(name, whole)
    rows = open_csv(name, whole)
    head, placed = rows.head, rows.geometry is not None
    columns = (*AXES, *head.names) if placed else head.names
    comma = head.delimiter != ","
    return ImportFile(name, columns, rows, head.member, placed, decimal_comma=comma, loose=placed)


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
    return ("map" if _is_map(name, start) else "csv"), data


def _is_pipe(name: str) -> bool:
    try:
        kind = os.stat(name).st_mode
    except (OSError, ValueError):  # told when it is opened
        return False
    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or stat.S_ISCHR(kind)


def _is_map(name: str, start: bytes) -> bool:
    plain = start.removeprefix(b"\xef\xbb\xbf").lstrip(RECORD.encode() + b" \t\r\n")
    return plain.startswith(b"{") or Path(name).suffix.lower() in MAP_ENDINGS


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
    columns = (*(("x", "y") if on_grid else AXES), *names)
    member, crs = dict(points.member), None if on_grid else points.crs or LONLAT
    values = [[row.get(name) for row in points.rows] for name in names]
    rows = ArrayRows(values, len(points.rows), points.geometries)
    return ImportFile(name, columns, rows, member, placed=True, crs=crs, headless=empty)
