"""A file of examples whose columns have any names: opened, looked at, and given row by row.

CSV, with commas, semicolons, tabs or bars, points as text (WKT) in one of its columns or not;
GeoJSON points with their properties; what GDAL reads, and Parquet (:mod:`geodp_app.files.layers`).
What the columns mean is another matter (:mod:`geodp_app.files.import_rows`).
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from geodp_app.errors import InputError
from geodp_app.files.csv_table import load_text, read_head
from geodp_app.files.layers import (
    AXES,
    LAYER_ENDINGS,
    PARQUET,
    LayerRows,
    ParquetRows,
    Row,
    open_layer,
    open_parquet,
)
from geometry.geojson import GeoJSONError
from geometry.geojson_points import PointsFile, read_points

#: Endings of files of rows as text.
TEXT_ENDINGS = frozenset({".csv", ".tsv", ".txt"})
#: Rows that are shown before anything is chosen.
PREVIEW = 3
#: Rows given at a time: some milliseconds' work.
_ROWS_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Block:
    """Some columns of some rows.

    Attributes
    ----------
    cells : tuple of list of str
        For each column one cell a row; empty for a row of wrong length.
    wrong : dict of int to int
        Number of cells of rows that have too few or too many.
    lines : list of int
        The line of the file on which each row ends; empty if the file has no such lines.
    share : float
        How much of the file has been read with it, 0..1.
    """

    cells: tuple[list[str], ...]
    wrong: dict[int, int]
    lines: list[int]
    share: float


class Rows(Protocol):
    """Rows of a file in order, each as often as it is asked for."""

    def __iter__(self) -> Iterator[Row]:
        """Each row's cells as text, its line in the file, if the file has lines, and how much of
        the file has been read with it, 0..1."""
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
    member : mapping
        What the file states of its frame; empty if nothing.
    preview : tuple of tuple of str
        Cells of the first rows.
    rows : Rows
    placed : bool
        Whether the first two columns are the places of features or of points as text, longitude
        and latitude unless `crs` says otherwise.
    crs : str or None
        Coordinate reference system that the file states.
    decimal_comma : bool
        Whether numbers may have a comma for a point.
    """

    name: str
    columns: tuple[str, ...]
    member: dict[str, Any]
    preview: tuple[tuple[str, ...], ...]
    rows: Rows
    placed: bool = False
    crs: str | None = None
    decimal_comma: bool = False

    def blocks(self, places: Sequence[int]) -> Iterator[Block]:
        """The columns at these places, of all rows in order.

        Raises
        ------
        InputError
            If a line cannot be taken apart; it is named.
        """
        rows = iter(self.rows)
        # a row is let go at once: to hold thousands makes the collector of garbage stop the window
        while True:
            block = Block(tuple([] for _ in places), {}, [], 0.0)
            share = 1.0
            for i, (row, line, share) in enumerate(islice(rows, _ROWS_AT_ONCE)):  # noqa: B007
                right = len(row) == len(self.columns)
                if not right:
                    block.wrong[i] = len(row)
                for cells, place in zip(block.cells, places, strict=True):
                    cells.append(row[place] if right else "")
                if line is not None:
                    block.lines.append(line)
            if not block.cells[0]:
                return
            yield replace(block, share=share)


@dataclass(frozen=True, slots=True)
class _CsvRows:
    """Where the rows are in a CSV text, which is never copied, and the lines before them.

    `wkt` is the place of a column of points as text, if there is one.
    """

    name: str
    text: str
    start: int
    end: int
    delimiter: str
    lines: int
    wkt: int | None

    def __iter__(self) -> Iterator[Row]:
        given = self.start

        def lines() -> Iterator[str]:  # one by one: to split a large text takes long
            nonlocal given
            while given < self.end:
                start, given = given, self.text.find("\n", given, self.end) + 1 or self.end
                yield self.text[start:given]

        reader = csv.reader(lines(), delimiter=self.delimiter)
        try:
            for row in reader:
                if row:
                    share = (given - self.start) / (self.end - self.start)
                    yield self._placed(row), self.lines + reader.line_num, share
        except csv.Error as error:
            line = self.lines + reader.line_num
            raise InputError(f"{self.name}: line {line}: {error}") from None

    def _placed(self, row: list[str]) -> list[str]:
        if self.wkt is None or len(row) <= self.wkt:
            return row
        return [*_of_wkt(row[self.wkt]), *row]


@dataclass(frozen=True, slots=True)
class _FeatureRows:
    """Features of a GeoJSON file."""

    points: PointsFile

    def __iter__(self) -> Iterator[Row]:
        n = len(self.points.rows)
        for i in range(n):
            yield self.points.cells(i), None, (i + 1) / n


#: Names of columns that hold points as text, without capitals.
_WKT = ("wkt", "geom", "geometry", "the_geom", "wkt_geom")
_POINT = re.compile(
    r"\s*(?:SRID=\d+;)?\s*POINT\s*(?:Z|M|ZM)?\s*\(\s*(\S+)\s+([^\s)]+)[^)]*\)\s*", re.IGNORECASE
)


def _of_wkt(text: str) -> tuple[str, str]:
    """Both coordinates of a point as text; of what is none, the text itself."""
    found = _POINT.fullmatch(text)
    return (found[1], found[2]) if found else (text, "")


def open_import(path: str | os.PathLike[str], layer: str | None = None) -> ImportFile:
    """Open a file of points.

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
    kind = _kind(name)
    if layer is not None and kind != "layer":
        raise InputError(f"{name}: has no layers: leave --layer out")
    if kind == "map":
        return _open_points(name)
    if kind == "layer":
        return _opened(name, open_layer(name, layer), placed=True)
    if kind == "parquet":
        found = open_parquet(name)
        return _opened(name, found, placed=found.geometry is not None)
    return _open_csv(name)


def _opened(name: str, rows: LayerRows | ParquetRows, *, placed: bool) -> ImportFile:
    return _make(name, rows.columns, {}, rows, placed=placed, crs=rows.crs)


def _open_csv(name: str) -> ImportFile:
    text = load_text(name)
    head = read_head(name, text, ",;\t|")
    if all(_is_number(cell) for cell in head.names):
        raise InputError(
            f"{name}: line {head.lines} holds numbers; put a line above it that names the columns, "
            "such as x,y,label"
        )
    end = len(text)
    while end > head.start and text[end - 1].isspace():
        end -= 1
    plain = [column.lower() for column in head.names]
    wkt = next((plain.index(column) for column in _WKT if column in plain), None)
    rows = _CsvRows(name, text, head.start, end, head.delimiter, head.lines, wkt)
    columns = head.names if wkt is None else (*AXES, *head.names)
    comma = head.delimiter != ","
    return _make(name, columns, head.member, rows, placed=wkt is not None, comma=comma)


def _kind(name: str) -> str:
    """ "map" for GeoJSON, "layer" for what GDAL reads, "parquet" or "csv"."""
    ending = Path(name).suffix.lower()
    if os.path.isdir(name) and ending in LAYER_ENDINGS:
        return "layer"
    start = _first_bytes(name)
    if start.startswith(PARQUET):
        return "parquet"
    if ending in LAYER_ENDINGS or start.startswith((b"SQLite format 3", b"fgb")):
        return "layer"
    return "map" if _is_map(name, start) else "csv"


def is_map_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is JSON by its first bytes, else by its suffix.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    return _is_map(os.fspath(path), _first_bytes(os.fspath(path)))


def _is_map(name: str, start: bytes) -> bool:
    if start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return True
    return Path(name).suffix.lower() in (".geojson", ".json")


def _first_bytes(name: str) -> bytes:
    try:
        with open(name, "rb") as file:
            return file.read(4096)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{name}: cannot be read: {reason}") from None


def _open_points(name: str) -> ImportFile:
    try:
        points = read_points(name)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
    except GeoJSONError as error:  # names the file already
        raise InputError(str(error)) from None
    if not points.rows:
        raise InputError(f"{name}: has no features")
    axes = ("x", "y") if points.member.get("frame") == "grid" else AXES
    columns = (*axes, *points.properties)
    return _make(name, columns, dict(points.member), _FeatureRows(points), placed=True)


def _make(
    name: str,
    columns: tuple[str, ...],
    member: dict[str, Any],
    rows: Rows,
    *,
    placed: bool,
    crs: str | None = None,
    comma: bool = False,
) -> ImportFile:
    named = tuple(column or f"column {i}" for i, column in enumerate(columns, 1))
    preview = tuple(tuple(row) for row, _, _ in islice(rows, PREVIEW))
    return ImportFile(name, named, member, preview, rows, placed, crs, comma)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
