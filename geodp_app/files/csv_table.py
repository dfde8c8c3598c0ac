"""A CSV text taken apart: its frame line, its header, and batches of its columns."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp_app.errors import InputError
from geometry.geojson_rings import short

MARK = "# geodp "
_NUMBER = re.compile(
    # one way to match a run of digits: two would take quadratic time to fail
    r"\s*[+-]?((\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)\s*",
    re.ASCII | re.IGNORECASE,
)

#: Largest file that is read, in bytes: ten million rows with room to spare.
MAX_BYTES = 512 * 2**20

#: The place of a column of geometries, among a reader's columns.
GEOMETRY = -1

#: Names of columns that hold points as text, without capitals.
GEOMETRIES = ("wkt", "geom", "geometry", "the_geom", "wkt_geom", "wkb", "wkb_geometry")

#: Rows that are taken apart at a time: so few that the collector of garbage has nothing to do.
_ROWS_AT_ONCE = 500
#: Rows in a batch: some milliseconds' work.
BATCH = 5_000

#: Characters of a text that are taken apart at a time.
_CHUNK = 1 << 18

#: Characters of a text from which it is worth loading Arrow.
LARGE = 1 << 21

#: A column of some rows: texts, or values with their type.
Column = Sequence[Any] | NDArray[Any]


@dataclass(slots=True)
class Batch:
    """Some columns of some rows.

    Attributes
    ----------
    columns : list of sequence, shape (n,) each
    n : int
    share : float
        How much of the file has been read with it, 0..1.
    wrong : dict of int to int
        Number of cells of rows that have too few or too many.
    lines : sequence of int, shape (n,) or (0,)
        The line of the file on which each row ends, if it has lines.
    faults : dict of int to str
        Why the geometry of a row is no point.
    systems : ndarray of int, shape (n,), or None
        What a geometry states of its own system: a code of EPSG, or 0.
    """

    columns: list[Column]
    n: int
    share: float
    wrong: dict[int, int] = field(default_factory=dict)
    lines: Sequence[int] = ()
    faults: dict[int, str] = field(default_factory=dict)
    systems: NDArray[np.int64] | None = None


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
class CsvRows:
    """The rows of a CSV text.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    text : str
    head : Head
    geometry : int or None
        The column of points as text, if there is one.
    """

    name: str
    text: str
    head: Head
    geometry: int | None

    def batches(self, places: Sequence[int], *, numbers: bool = False) -> Iterator[Batch]:
        """The columns at these places, of all rows in order.

        Parameters
        ----------
        places : sequence of int
        numbers : bool
            Whether numbers may come as such, and not as they are written.

        Raises
        ------
        InputError
            If a line cannot be taken apart; it is named.
        """
        wanted = [self.geometry if place == GEOMETRY else place for place in places]
        start, before, end = self.head.start, self.head.lines, len(self.text)
        while end > start and self.text[end - 1].isspace():
            end -= 1
        quoted, done = self.text.find('"', start) >= 0, start
        while done < end:
            # without quotes each line is a row
            stop = end if quoted else self.text.find("\n", done + _CHUNK, end) + 1 or end
            fast = None
            if numbers and not quoted:
                fast = self._numbers(self.text[done:stop], [place or 0 for place in wanted], before)
            if fast is not None:
                fast.share = (stop - start) / (end - start)
                yield fast
            else:
                for batch in self._slowly(done, stop, wanted, before):
                    batch.share = (done - start + batch.share * (stop - done)) / (end - start)
                    yield batch
            before += 0 if quoted else self.text.count("\n", done, stop)
            done = stop

    def _numbers(self, piece: str, wanted: list[int], before: int) -> Batch | None:
        """The columns of whole lines, if all of it are plainly numbers, a row on each line."""
        between, width = self.head.delimiter, len(self.head.names)
        n = piece.count("\n") + (not piece.endswith("\n"))
        # loadtxt does not notice another length of rows that are cut down to some columns
        # to loadtxt spaces of other alphabets are none
        if (
            not piece.isascii()
            or piece.count(between) != n * (width - 1)
            or any(row.count(between) != width - 1 for row in io.StringIO(piece))
        ):
            return None
        read = _arrow_numbers if len(self.text) >= LARGE else _numpy_numbers
        try:
            found = read(piece, width, wanted, between)
        except ValueError:
            return None
        if len(found) != n or not (abs(found) < 2**53).all():
            return None
        whole = (found == np.rint(found)).all(axis=0)
        columns: list[Column] = [
            found[:, i].astype(np.int64) if whole[i] else found[:, i] for i in range(len(wanted))
        ]
        return Batch(columns, n, 1.0, lines=range(before + 1, before + n + 1))

    def _slowly(
        self, start: int, stop: int, wanted: Sequence[int | None], before: int
    ) -> Iterator[Batch]:
        """The columns of a part of the text, row by row."""

        def chunks() -> Iterator[str]:  # a large text is never copied whole
            done = start
            while done < stop:
                some = self.text.find("\n", done + _CHUNK, stop) + 1 or stop
                yield self.text[done:some]
                done = some

        width, size = len(self.head.names), self.text.count("\n", start, stop) + 1
        given = chain.from_iterable(map(io.StringIO, chunks()))
        reader = csv.reader(given, delimiter=self.head.delimiter)
        lines: list[int] = []
        most = _ROWS_AT_ONCE  # at first: somebody may want to see no more than that
        batch = Batch([[] for _ in wanted], 0, 0.0)
        try:
            ended = False
            while not ended:
                rows, ended = [], True
                for i, row in enumerate(islice(reader, _ROWS_AT_ONCE), 1):
                    ended = i < _ROWS_AT_ONCE
                    if row:
                        rows.append(row)
                        lines.append(before + reader.line_num)
                self._add(batch, rows, wanted, width)
                if batch.n >= most or (ended and batch.n):
                    batch.lines, batch.share = lines, reader.line_num / size
                    yield batch
                    lines, batch, most = [], Batch([[] for _ in wanted], 0, 0.0), BATCH
        except csv.Error as error:
            line = before + reader.line_num
            raise InputError(f"{self.name}: line {line}: {error}") from None

    def _add(
        self, batch: Batch, rows: list[list[str]], wanted: Sequence[int | None], width: int
    ) -> None:
        """Put rows at the end of a batch's columns."""
        if any(len(row) != width for row in rows):
            for i, row in enumerate(rows):
                if len(row) != width:
                    rows[i] = self._again(row, width)
                    if len(rows[i]) != width:
                        batch.wrong[batch.n + i] = len(row)
                        rows[i] = [""] * width
        if rows:
            columns = list(zip(*rows, strict=True))
            for column, place in zip(batch.columns, wanted, strict=True):
                cells = columns[place or 0]
                quoted = '"' in "".join(cells)
                column += map(_unquoted, cells) if quoted else cells  # type: ignore[operator]
        batch.n += len(rows)

    def _again(self, row: list[str], width: int) -> list[str]:
        """A row in which spaces stand before a quote: 1, 2, "yes, or no"."""
        if not any(cell.lstrip(" ").startswith('"') for cell in row):
            return row
        joined = [self.head.delimiter.join(row)]
        reader = csv.reader(joined, delimiter=self.head.delimiter, skipinitialspace=True)
        return next(reader, row)


def _numpy_numbers(
    piece: str, width: int, wanted: list[int], delimiter: str
) -> NDArray[np.float64]:
    """Columns of lines of numbers; ValueError if a field is none."""
    lines = io.StringIO(piece)
    return np.loadtxt(lines, delimiter=delimiter, comments=None, usecols=wanted, ndmin=2)


def _arrow_numbers(
    piece: str, width: int, wanted: list[int], delimiter: str
) -> NDArray[np.float64]:
    """The same by Arrow, several times as fast, where it is installed."""
    try:
        import pyarrow
        from pyarrow import csv as arrow
    except ImportError:
        return _numpy_numbers(piece, width, wanted, delimiter)
    names = [str(i) for i in range(width)]
    table = arrow.read_csv(
        io.BytesIO(piece.encode()),
        arrow.ReadOptions(column_names=names, use_threads=False),
        arrow.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False),
        arrow.ConvertOptions(
            column_types=dict.fromkeys(names, pyarrow.float64()),
            include_columns=[names[i] for i in wanted],
            null_values=[],
        ),
    )
    return np.column_stack([table.column(i).to_numpy() for i in range(len(wanted))])


def _unquoted(cell: str) -> str:
    """A cell whose quotes a space before them has kept."""
    plain = cell.strip(" ")
    if len(plain) < len(cell) and len(plain) > 1 and plain[0] == plain[-1] == '"':
        return plain[1:-1].replace('""', '"')
    return cell


def open_csv(name: str, data: bytes) -> tuple[Head, CsvRows]:
    """Take a CSV file apart.

    Raises
    ------
    InputError
        If it is no text, or has no usable header.
    """
    text = text_of(name, data)
    head = read_head(name, text, ",;\t|")
    if all(_is_number(cell) for cell in head.names):
        raise InputError(
            f"{name}: line {head.lines} holds numbers; put a line above it that names the columns, "
            "such as x,y,label"
        )
    return head, CsvRows(name, text, head, geometry_column(head.names))


def geometry_column(names: Sequence[str]) -> int | None:
    """The place of the column that holds points as text, by its name."""
    plain = [name.strip().lower() for name in names]
    return next((plain.index(name) for name in GEOMETRIES if name in plain), None)


def _is_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text))


#: First bytes of what people take for a table of text, and what to do with it.
_PACKED = (
    (b"\x1f\x8b", "is packed (gzip): unpack it first, such as by gunzip"),
    (b"BZh", "is packed (bzip2): unpack it first, such as by bunzip2"),
    (b"\xfd7zXZ", "is packed (xz): unpack it first, such as by unxz"),
    (b"\x28\xb5\x2f\xfd", "is packed (zstd): unpack it first, such as by unzstd"),
    (b"PK\x03\x04", "is a zip archive or a spreadsheet: unpack it, or save its sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "is a spreadsheet of Excel: save its sheet as CSV (UTF-8)"),
)  # fmt: skip


def text_of(name: str, data: bytes) -> str:
    """A file's text with line ends as newlines: UTF-8, or UTF-16 that says so.

    Raises
    ------
    InputError
        If it is no text; the message says what to do.
    """
    for start, reason in _PACKED:
        if data.startswith(start):
            raise InputError(f"{name}: {reason}")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    if encoding == "utf-8-sig" and b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise InputError(f"{name}: line {line} holds a NUL byte; this is not a text file in UTF-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "utf-16":
            raise InputError(
                f"{name}: begins as UTF-16 text and is none: save it as UTF-8"
            ) from None
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(not_utf8(name, line)) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{name}: line {line} holds a NUL byte; this is not a text file")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def not_utf8(name: str, line: int) -> str:
    """What is wrong with a file that is in another encoding, and what to do."""
    return (
        f"{name}: line {line} is not UTF-8 text: save it as UTF-8; if it is in Latin-1 "
        f"(Windows-1252): iconv -f WINDOWS-1252 -t UTF-8 {Path(name).name.removesuffix('.gz')}"
    )


#: The line by which a spreadsheet states what stands between columns.
_SEPARATOR = re.compile(r'\s*"?sep=([,;\t|])"?\s*', re.IGNORECASE)


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
    line, start, stated = 0, 0, ""
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        content = text[start:end]
        line, start = line + 1, end + 1
        if content.startswith(MARK):
            member = read_mark(name, line, content)
        elif line == 1 and stated_separator(content):
            stated = stated_separator(content)
        elif content.strip() and not content.startswith("#"):
            delimiter = stated or max(delimiters, key=content.count)
            names = _read_names(name, line, content, delimiter)
            return Head(member, names, delimiter, start, line)
    raise InputError(f"{name}: has no header; the first line must name x,y,label")


def stated_separator(line: str) -> str:
    """What a spreadsheet's first line says to stand between columns; empty if it says nothing."""
    said = _SEPARATOR.fullmatch(line)
    return said[1] if said else ""


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


def as_cells(values: Column) -> list[str]:
    """Values as text; empty for none, and for a number that is none."""
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    return [value if type(value) is str else _cell(value) for value in listed]


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return short(value) if isinstance(value, list | dict) else str(value)
