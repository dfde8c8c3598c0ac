"""A CSV text taken apart: its frame line, its header, its rows, and the first fault in them."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from dataclasses import dataclass
from typing import Any

from geodp_app.errors import InputError

MARK = "# geodp "
GRID_COLUMNS = ("x", "y", "label")
DEGREE_COLUMNS = ("lon", "lat", "label")
_NUMBER = re.compile(
    # one way to match a run of digits: two would take quadratic time to fail
    r"\s*[+-]?((\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)\s*",
    re.ASCII | re.IGNORECASE,
)

#: Largest file that is read, in bytes: ten million rows with room to spare.
MAX_BYTES = 512 * 2**20

#: Least and largest value of each of the two coordinates.
Limits = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the rows of a CSV text.

    Attributes
    ----------
    member : mapping
        Of the frame line; empty if there is none.
    names : tuple of str
        The columns' names as they stand, without outer spaces.
    delimiter : str
        What stands between columns.
    start : int
        Where the rows begin in the text.
    lines : int
        Lines before the rows.
    """

    member: dict[str, Any]
    names: tuple[str, ...]
    delimiter: str
    start: int
    lines: int


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV text taken apart: its frame line, its header, and the rows as one string."""

    member: dict[str, Any]
    header: tuple[str, ...]
    columns: tuple[str, ...]
    body: str
    lines_before: int

    @property
    def places(self) -> tuple[int, ...]:
        """Where the wanted columns stand in a row."""
        return tuple(self.header.index(column) for column in self.columns)


def load_text(name: str) -> str:
    """A file's text with line ends as newlines.

    Raises
    ------
    InputError
        If it cannot be opened, is too large, holds a NUL byte, or is not UTF-8.
    """
    try:
        with open(name, "rb") as file:
            small = 0 < os.fstat(file.fileno()).st_size <= MAX_BYTES
            # a limit sets its whole size aside: only for pipes, devices and what is too large
            data = file.read() if small else file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{name}: cannot be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{name}: larger than {MAX_BYTES:,} bytes")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise InputError(f"{name}: line {line} holds a NUL byte; this is not a text file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}: line {line} is not UTF-8 text") from None
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def split_text(name: str, text: str) -> Table:
    """Take comment lines, header line and rows apart.

    Raises
    ------
    InputError
        If there is no usable header.
    """
    head = read_head(name, text)
    header = tuple(column.lower() for column in head.names)
    columns = _choose_columns(name, header)
    return Table(head.member, header, columns, text[head.start :].rstrip(), head.lines)


def read_head(name: str, text: str, delimiters: str = ",") -> Head:
    """Read the comment lines and the header line.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    text : str
    delimiters : str
        What may stand between columns: the one that the header has most of is taken.

    Raises
    ------
    InputError
        If there is no header.
    """
    if not text or text.isspace():
        raise InputError(f"{name}: the file is empty; it needs a header x,y,label")
    member: dict[str, Any] = {}
    line, start = 0, 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        content = text[start:end]
        line, start = line + 1, end + 1
        if content.startswith(MARK):
            member = read_mark(name, line, content)
        elif content.strip() and not content.startswith("#"):
            delimiter = max(delimiters, key=content.count)
            names = _read_names(name, line, content, delimiter)
            return Head(member, names, delimiter, start, line)
    raise InputError(f"{name}: has no header; the first line must name x,y,label")


def _read_names(name: str, line: int, content: str, delimiter: str) -> tuple[str, ...]:
    try:
        names = next(csv.reader([content], skipinitialspace=True, delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f"{name}: line {line}: {error}") from None
    return tuple(column.strip() for column in names)


def read_mark(name: str, line: int, content: str) -> dict[str, Any]:
    """The object of a frame line.

    Raises
    ------
    InputError
        If there is none.
    """
    try:
        member = json.loads(content[len(MARK) :])
    except (ValueError, RecursionError):
        member = None
    if not isinstance(member, dict):
        raise InputError(f"{name}: line {line}: '# geodp' must be followed by a JSON object")
    return member


def _choose_columns(name: str, header: tuple[str, ...]) -> tuple[str, ...]:
    for columns in (GRID_COLUMNS, DEGREE_COLUMNS):
        if set(columns) <= set(header):
            twice = [column for column in columns if header.count(column) > 1]
            if twice:
                raise InputError(f"{name}: the header names column {twice[0]} twice")
            return columns
    wanted = DEGREE_COLUMNS if {"lon", "lat"} & set(header) else GRID_COLUMNS
    missing = ", ".join(column for column in wanted if column not in header)
    found = ",".join(header)
    found = found if len(found) <= 60 else found[:57] + "..."
    raise InputError(
        f"{name}: missing column {missing}: the header must name x,y,label or lon,lat,label, "
        f"not {found!r}"
    )


def first_fault(table: Table, limits: Limits) -> str:
    """Row, line, column and reason of the first fault: the slow second pass."""
    reader = csv.reader(io.StringIO(table.body))
    row_number = 0
    try:
        for row in reader:
            if not row:  # a blank line
                continue
            row_number += 1
            fault = _row_fault(row, table, limits)
            if fault:
                line = table.lines_before + reader.line_num
                return f"row {row_number} (line {line}){fault}"
    except csv.Error as error:
        return f"line {table.lines_before + reader.line_num}: {error}"
    return "the rows cannot be read as numbers"


def _row_fault(row: list[str], table: Table, limits: Limits) -> str:
    if len(row) != len(table.header):
        return f": has {len(row)} fields, the header has {len(table.header)}"
    ranges = (*limits, (0.0, 1.0))
    for column, place, (low, high) in zip(table.columns, table.places, ranges, strict=True):
        fault = _field_fault(row[place], column, low, high)
        if fault:
            return f", column {column}: {fault}"
    return ""


def number_fault(text: str) -> str:
    """Why a field is no finite number; empty if it is one."""
    shown = _shown(text)
    if not shown:
        return "is empty"
    if not _NUMBER.fullmatch(text):
        return f"{shown!r} is not a number"
    return "" if math.isfinite(float(text)) else f"{shown} is not finite"


def _shown(text: str) -> str:
    return text.strip() if len(text) <= 40 else text[:37] + "..."


def _field_fault(text: str, column: str, low: float, high: float) -> str:
    fault = number_fault(text)
    if fault:
        return fault
    shown, value = _shown(text), float(text)
    if column == "label" and value not in (0, 1):
        return f"{shown} is not 0 or 1"
    if column in ("x", "y"):
        if value != round(value):
            return f"{shown} is not an integer"
        if not low <= value <= high:
            return f"{shown} is off the grid 0..{high} (set its size with --grid)"
    if not low <= value <= high:
        return f"{shown} is outside the bounds {low:.10g}..{high:.10g}"
    return ""
