"""A file of examples whose columns have any names: opened, looked at, and given row by row.

CSV, with commas, semicolons or tabs, and GeoJSON points with their properties.  What the columns
mean is another matter (:mod:`geodp_app.files.import_rows`).
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from geodp_app.errors import InputError
from geodp_app.files.csv_table import load_text, read_head
from geometry.geojson import GeoJSONError
from geometry.geojson_points import PointsFile, read_points

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
    source : _CsvRows or PointsFile
    """

    name: str
    columns: tuple[str, ...]
    member: dict[str, Any]
    preview: tuple[tuple[str, ...], ...]
    source: _CsvRows | PointsFile

    @property
    def on_map(self) -> bool:
        """Whether rows are features of a map file, with coordinates by standard."""
        return isinstance(self.source, PointsFile)

    def blocks(self, places: Sequence[int]) -> Iterator[Block]:
        """The columns at these places, of all rows in order.

        Raises
        ------
        InputError
            If a line cannot be taken apart; it is named.
        """
        rows = _rows(self.name, self.source)
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
    """Where the rows are in a CSV text, which is never copied, and the lines before them."""

    text: str
    start: int
    end: int
    delimiter: str
    lines: int


def open_import(path: str | os.PathLike[str]) -> ImportFile:
    """Open a CSV file or a GeoJSON file of points.

    Raises
    ------
    InputError
        If it cannot be read, or does not name its columns.
    """
    name = os.fspath(path)
    if is_map_file(path):
        return _open_points(name)
    text = load_text(name)
    head = read_head(name, text, ",;\t")
    if all(_is_number(cell) for cell in head.names):
        raise InputError(
            f"{name}: line {head.lines} holds numbers; put a line above it that names the columns, "
            "such as x,y,label"
        )
    end = len(text)
    while end > head.start and text[end - 1].isspace():
        end -= 1
    rows = _CsvRows(text, head.start, end, head.delimiter, head.lines)
    return _make(name, head.names, head.member, rows)


def is_map_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is JSON by its first bytes, else by its suffix.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from None
    if start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return True
    return Path(path).suffix.lower() in (".geojson", ".json")


def _open_points(name: str) -> ImportFile:
    try:
        points = read_points(name)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
    except GeoJSONError as error:  # names the file already
        raise InputError(str(error)) from None
    if not points.rows:
        raise InputError(f"{name}: has no features")
    on_grid = points.member.get("frame") == "grid"
    axes = ("x", "y") if on_grid else ("longitude", "latitude")
    return _make(name, (*axes, *points.properties), dict(points.member), points)


def _make(
    name: str, columns: tuple[str, ...], member: dict[str, Any], source: _CsvRows | PointsFile
) -> ImportFile:
    named = tuple(column or f"column {i}" for i, column in enumerate(columns, 1))
    preview = tuple(tuple(row) for row, _, _ in islice(_rows(name, source), PREVIEW))
    return ImportFile(name, named, member, preview, source)


def _rows(
    name: str, source: _CsvRows | PointsFile
) -> Iterator[tuple[list[str], int | None, float]]:
    """Each row with its line, and the share of the file that has been read with it."""
    if isinstance(source, PointsFile):
        n = len(source.rows)
        for i in range(n):
            yield source.cells(i), None, (i + 1) / n
        return
    text, given, end = source.text, source.start, source.end

    def lines() -> Iterator[str]:  # one by one: to split a large text takes long
        nonlocal given
        while given < end:
            start, given = given, text.find("\n", given, end) + 1 or end
            yield text[start:given]

    reader = csv.reader(lines(), delimiter=source.delimiter)
    try:
        for row in reader:
            if row:
                share = (given - source.start) / (end - source.start)
                yield row, source.lines + reader.line_num, share
    except csv.Error as error:
        line = source.lines + reader.line_num
        raise InputError(f"{name}: line {line}: {error}") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
