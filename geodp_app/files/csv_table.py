"""Takes a CSV text apart: the line with its public frame, its header, batches of columns.

Rows are read many at a time where quotes and delimiters leave no doubt: a quote stands at an end of
a cell, or as one of two within it.  Then each newline and each delimiter is known for what it is,
and numpy reads the columns.  Whatever is doubtful is read row by row, which decides what a file
holds; what is read at once is what would be read so.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geometry.arrays import Ints
from geometry.errors import InputError, refusals
from geometry.geojson_reading import short

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

#: Rows that are taken apart one by one at a time: so few that the collector of garbage is idle.
_ROWS_AT_ONCE = 1_000
#: Rows in a batch: some milliseconds' work.
BATCH = 5_000

#: Characters of a text that are taken apart at a time, and most of them.
PART, LONGEST_PART = 1 << 18, 1 << 20

#: White space that numpy passes over beside a number, and a number of a file does not have.
_SPACES = (
    "\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


#: A column of some rows: texts, or values with their type.
Column = Sequence[Any] | NDArray[Any]


@dataclass(slots=True)
class Batch:
    """Some columns of some rows."""

    #: Shape (n,) each.
    columns: list[Column]
    n: int
    #: How much of the file has been read with it, 0..1.
    share: float
    #: Number of cells of rows that have too few or too many.
    wrong: dict[int, int] = field(default_factory=dict)
    #: Shape (n,) or (0,): the line of the file on which each row ends, if it has lines.
    lines: Sequence[int] | Ints = ()
    #: Why the geometry of a row is no point.
    faults: dict[int, str] = field(default_factory=dict)
    #: Shape (n,): what a geometry states of its own system: a code of EPSG, or 0.
    systems: Ints | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the rows of a CSV text."""

    #: Of the frame line; empty if there is none.
    member: dict[str, Any]
    #: The columns' names as they stand, without outer spaces.
    names: tuple[str, ...]
    #: What stands between columns.
    delimiter: str
    #: Where the rows begin in the text.
    start: int
    #: Lines before the rows.
    lines: int


@dataclass(frozen=True, slots=True)
class CsvRows:
    """The rows of a CSV text."""

    #: Of the file, for messages.
    name: str
    text: str
    head: Head
    #: The column of points as text, if there is one.
    geometry: int | None

    def batches(self, places: Sequence[int], numbers: Collection[int] = ()) -> Iterator[Batch]:
        """The columns at these places, of all rows in order.

        Raises InputError if a line cannot be taken apart; it is named.  `numbers`: those of them
        whose cells may come as numbers, and not as they are written.
        """
        wanted = [(self.geometry or 0) if place == GEOMETRY else place for place in places]
        kinds = [float if place in numbers else object for place in places]
        start, before, end = self.head.start, self.head.lines, len(self.text)
        while end > start and self.text[end - 1].isspace():
            end -= 1
        if end > start:  # the last row is as it stands, as one before others is
            newline = self.text.find("\n", end)
            end = len(self.text) if newline < 0 else newline
        for done, stop, rows in plain_parts(self.text, start, end, self.head.delimiter):
            whole = None
            if rows is not None:
                whole = self._at_once(self.text[done:stop], rows, wanted, kinds, before)
            for batch in self._slowly(done, stop, wanted, before) if whole is None else [whole]:
                batch.share = (done - start + batch.share * (stop - done)) / (end - start)
                yield batch
            before += self.text.count("\n", done, stop)

    def _at_once(
        self, piece: str, rows: PlainRows, wanted: list[int], kinds: Sequence[type], before: int
    ) -> Batch | None:
        """The columns of a part of the text, if each row has as many cells as the header; numbers
        only if all are."""
        if not rows.are_table(len(self.head.names)):
            return None
        between, texts = self.head.delimiter, [object] * len(wanted)
        found = plain_columns(piece, between, wanted, kinds)
        found = found or plain_columns(piece, between, wanted, texts)
        if found is None or len(found[0]) != len(rows.ends):
            return None
        columns = [each if each.dtype == float else _unquoted(each.tolist()) for each in found]
        return Batch(columns, len(rows.ends), 1.0, lines=before + rows.lines)

    def _slowly(self, start: int, stop: int, wanted: Sequence[int], before: int) -> Iterator[Batch]:
        """The columns of a part of the text, row by row."""

        def chunks() -> Iterator[str]:  # a large text is never copied whole
            done = start
            while done < stop:
                some = self.text.find("\n", done + PART, stop) + 1 or stop
                yield self.text[done:some]
                done = some

        width, size = len(self.head.names), self.text.count("\n", start, stop) + 1
        given = chain.from_iterable(map(io.StringIO, chunks()))
        # strict: a quote that nothing closes would take all rows after it for one cell
        reader, last = csv.reader(given, delimiter=self.head.delimiter, strict=True), 0

        def numbered() -> Iterator[tuple[list[str], int]]:
            nonlocal last
            for row in reader:
                last = reader.line_num
                yield row, last

        rows_read = numbered()
        try:
            while read := list(islice(rows_read, _ROWS_AT_ONCE)):
                rows, wrong = [row for row, _ in read if row], {}
                for i, row in enumerate(rows):
                    if len(row) != width:
                        rows[i] = self._again(row, width)
                        if len(rows[i]) != width:
                            wrong[i], rows[i] = len(row), [""] * width
                if rows:
                    cells = list(zip(*rows, strict=True))
                    columns: list[Column] = [_unquoted(cells[at]) for at in wanted]
                    lines = [before + line for row, line in read if row]
                    yield Batch(columns, len(rows), reader.line_num / size, wrong, lines)
        except csv.Error as error:
            why = str(error)
            if "end of data" in why or "expected after" in why:
                why = "a quote begins a cell and none ends it; a quote in a cell is written twice"
            raise InputError(f"{self.name}: line {before + last + 1}: {why}") from None

    def _again(self, row: list[str], width: int) -> list[str]:
        """A row in which spaces stand before a quote: 1, 2, "yes, or no"."""
        if not any(cell.lstrip(" ").startswith('"') for cell in row):
            return row
        joined = [self.head.delimiter.join(row)]
        reader = csv.reader(joined, delimiter=self.head.delimiter, skipinitialspace=True)
        return next(reader, row)


def _unquoted(cells: Sequence[str]) -> Sequence[str]:
    """Cells without the quotes that a space before them has kept."""
    return [_bare(cell) for cell in cells] if '"' in "".join(cells) else cells


def _bare(cell: str) -> str:
    plain = cell.strip(" ")
    if len(plain) < len(cell) and len(plain) > 1 and plain[0] == plain[-1] == '"':
        return plain[1:-1].replace('""', '"')
    return cell


@dataclass(frozen=True, slots=True)
class PlainRows:
    """Whole rows of a text."""

    #: Shape (n,): where they end: the places of these newlines.
    ends: Ints
    #: Where cells end before others of their row.
    cuts: Ints
    #: Shape (n,): the line on which each row ends, from 1.
    lines: Ints

    def are_table(self, width: int) -> bool:
        """Whether all have so many cells, none of them too long for the reader of single rows."""
        ends, cuts, sizes = self.ends, self.cuts, np.diff(self.ends, prepend=-1)
        if len(cuts) != (width - 1) * len(ends):
            return False
        within = cuts.reshape(len(ends), width - 1)
        if width > 1 and ((within[:, -1] > ends).any() or (within[1:, 0] < ends[:-1]).any()):
            return False
        return bool(sizes.max() <= csv.field_size_limit())


def plain_parts(
    text: str, start: int, end: int, delimiter: str
) -> Iterator[tuple[int, int, PlainRows | None]]:
    """The rows of a text in parts: where each begins and stops, and its rows.

    None stands for rows that have to be read one by one: one is very long, or quotes are doubtful,
    and then no end of a row is known before the rest is read.
    """
    quoted = text.find('"', start, end) >= 0
    while start < end:
        stop = text.find("\n", start + PART, end) + 1 or end
        odd = quoted and text.count('"', start, stop) % 2
        while odd and stop < end and stop - start <= LONGEST_PART:  # this newline is in quotes
            further = text.find("\n", stop, end) + 1 or end
            odd ^= text.count('"', stop, further) % 2
            stop = further
        rows = None if stop - start > LONGEST_PART else _plain_rows(text[start:stop], delimiter)
        if rows is None and quoted:
            stop = end
        yield start, stop, rows
        start = stop


def _plain_rows(piece: str, delimiter: str) -> PlainRows | None:
    """The rows of a text; None if a quote is doubtful."""
    ended = piece if piece.endswith("\n") else f"{piece}\n"
    held = np.frombuffer(ended.encode("latin-1", "replace"), dtype=np.uint8)
    ends, cuts = np.flatnonzero(held == ord("\n")), np.flatnonzero(held == ord(delimiter))
    lines = np.arange(1, len(ends) + 1)
    if '"' in piece:
        quotes = np.flatnonzero(held == ord('"'))
        beside = np.zeros(256, dtype=bool)
        # \r and \0 stand before a newline alone (of the writer's texts)
        beside[[ord(each) for each in f'\n\r\0"{delimiter}']] = True
        # the first may have none before it: then it is the last character, a newline
        plain = beside[held[quotes[::2] - 1]].all() and beside[held[quotes[1::2] + 1]].all()
        if len(quotes) % 2 or not plain:
            return None
        outside = np.searchsorted(quotes, ends) % 2 == 0
        ends, lines = ends[outside], lines[outside]
        cuts = cuts[np.searchsorted(quotes, cuts) % 2 == 0]
    return PlainRows(ends, cuts, lines)


def plain_columns(
    piece: str, delimiter: str, wanted: list[int], kinds: Sequence[type]
) -> list[NDArray[Any]] | None:
    """Columns of a text of plain rows, as float or, with object, as texts.

    None if a cell is no finite number, or may be none, though its column should be of numbers.
    """
    if float in kinds and any(space in piece for space in _SPACES):
        return None
    try:
        found = np.loadtxt(
            io.StringIO(piece),
            dtype=np.dtype([(str(i), kind) for i, kind in enumerate(kinds)]),
            comments=None,
            delimiter=delimiter,
            usecols=wanted,
            ndmin=1,
            quotechar='"' if '"' in piece else None,
        )
    except ValueError:
        return None
    columns = [found[str(i)] for i in range(len(kinds))]
    finite = all(np.isfinite(each).all() for each in columns if each.dtype == float)
    return columns if finite else None


def open_csv(name: str, data: bytes) -> CsvRows:
    """Take a CSV file apart; raises InputError if it is no text, or has no usable header."""
    text = text_of(name, data)
    head = read_head(name, text)
    if all(map(_NUMBER.fullmatch, head.names)):
        raise InputError(
            f"{name}: line {head.lines} holds numbers; put a line above it that names the columns, "
            "such as x,y,label"
        )
    return CsvRows(name, text, head, geometry_column(head.names))


def geometry_column(names: Sequence[str]) -> int | None:
    """The place of the column that holds points as text, by its name."""
    plain = [name.strip().lower() for name in names]
    return next((plain.index(name) for name in GEOMETRIES if name in plain), None)


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
    """A file's text with line ends as newlines: UTF-8, or UTF-16 that says so; raises InputError if
    it is no text; the message says what to do."""
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


def read_head(name: str, text: str) -> Head:
    """Read the comment lines and the header line; what it has most of stands between columns.
    Raises InputError if there is no header."""
    if not text or text.isspace():
        raise InputError(f"{name}: the file is empty; it needs a header x,y,label")
    member: Any = {}
    line, start, stated = 0, 0, ""
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        content = text[start:end]
        line, start = line + 1, end + 1
        if content.startswith(MARK):
            try:
                member = json.loads(content[len(MARK) :])
            except (ValueError, RecursionError):
                member = None
            if not isinstance(member, dict):
                raise InputError(
                    f"{name}: line {line}: '# geodp' must be followed by a JSON object"
                )
        elif line == 1 and stated_separator(content):
            stated = stated_separator(content)
        elif content.strip() and not content.startswith("#"):
            delimiter = stated or max(",;\t|", key=content.count)
            with refusals(f"{name}: line {line}", csv.Error):
                names = next(csv.reader([content], skipinitialspace=True, delimiter=delimiter))
            return Head(member, tuple(map(str.strip, names)), delimiter, start, line)
    raise InputError(f"{name}: has no header; the first line must name x,y,label")


def stated_separator(line: str) -> str:
    """What a spreadsheet's first line says to stand between columns; empty if it says nothing."""
    said = _SEPARATOR.fullmatch(line)
    return said[1] if said else ""


def number_fault(text: str) -> str:
    """Why a field is no finite number; empty if it is one."""
    shown = text.strip() if len(text) <= 40 else text[:37] + "..."
    if not shown:
        return "is empty"
    if not _NUMBER.fullmatch(text):
        return f"{shown!r} is not a number"
    return "" if math.isfinite(float(text)) else f"{shown} is not finite"


def as_cells(values: Column) -> list[str]:
    """Values as text; empty for none, and for a number that is none."""
    listed: Any = values.tolist() if isinstance(values, np.ndarray) else values
    if set(map(type, listed)) == {str}:
        return list(listed)
    return [value if type(value) is str else _cell(value) for value in listed]


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return short(value) if isinstance(value, list | dict) else str(value)
