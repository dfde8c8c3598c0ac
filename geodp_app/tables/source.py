"""Reads where a table of examples lies, from `--table` and `--columns`, before an engine starts;
finds its columns, as those of files are, and says what is wrong with a row.

``parquet:GLOB`` and ``csv:GLOB`` are files, ``duckdb:FILE::TABLE`` is a table of a DuckDB file, and
``URL::TABLE`` is a table of any engine that Ibis connects to.  A CSV file may begin with comment
lines, one of which may state its frame (:mod:`geodp_app.files.points`).
"""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import IO, Any, Literal, cast

from geodp_app.document.examples import Frame
from geodp_app.files.csv_table import Head, not_utf8, read_head
from geodp_app.files.import_file import choose_columns, person_place, place_of
from geodp_app.files.points import PointOptions
from geometry.arrays import Ints
from geometry.errors import InputError, file_errors, refusals

_FORMS = "parquet:FILES, csv:FILES, duckdb:FILE::TABLE or URL::TABLE"

Kind = Literal["parquet", "csv", "duckdb", "sqlite", "url"]

#: Engines whose tables lie in one file, and the endings by which a ``file:`` URL names them.
_IN_ONE_FILE = {"duckdb": "DuckDB", "sqlite": "SQLite"}
_ENDINGS = {".duckdb": "duckdb", ".sqlite": "sqlite", ".db": "sqlite"}
#: Another engine, by its name or by a URL; what is neither Ibis may take for a path.
_ENGINE = re.compile(r"[a-z][a-z0-9+.-]+(://.*)?", re.IGNORECASE)

#: What a column may stand for.
ROLES = ("x", "y", "lon", "lat", "label")

#: Bytes of a CSV file in which its header ends; as many are looked at at a time.
LONGEST_HEAD = 1 << 20


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table of examples, not opened yet."""

    kind: Kind
    #: Path or pattern of files, or the URL.
    place: str
    #: Name of the table, with its schema before a dot; empty for files.
    table: str = ""

    @property
    def name(self) -> str:
        """For messages: no password, no query of the URL."""
        if self.kind == "url":
            place = hide_password(self.place).partition("?")[0]
            return f"{place.removesuffix('://')}::{self.table}"
        if self.kind == "sqlite":
            return f"sqlite://{self.place}::{self.table}"
        return f"{self.place}::{self.table}" if self.table else self.place

    @property
    def remote(self) -> bool:
        """Whether its files lie elsewhere: on a web server, in an object store."""
        return "://" in self.place and not os.path.exists(self.place)

    def files(self) -> list[Path]:
        """The local files that it names, in order; raises InputError if there is none, or a
        database is not of the engine that it is said to be."""
        if self.kind == "url" or self.remote:
            return []
        if os.path.isdir(self.place):
            raise InputError(f"{self.name}: is a folder: name its files, such as {self.place}/*")
        literal = os.path.exists(self.place) or self.kind in _IN_ONE_FILE
        names = [self.place] if literal else sorted(glob.glob(self.place, recursive=True))
        if not (names and os.path.exists(names[0])):  # to open it would make one
            relative = self.kind in _IN_ONE_FILE and os.path.exists(self.place.lstrip("/"))
            hint = f"; for the one in this folder: {self.kind}://{self.place.lstrip('/')}"
            raise InputError(f"{self.place}: there is no such file{hint if relative else ''}")
        for name in names:
            if not os.path.isfile(name):
                raise InputError(
                    f"{name}: is no file, such as a pipe, which can be read only once: give it as "
                    "POINTS instead of --table, or write it to a file"
                )
        if self.kind == "duckdb":
            self._check_duckdb()
        return [Path(name) for name in names]

    def _check_duckdb(self) -> None:
        """Refuse a file of another engine: DuckDB would fetch an extension from the network."""
        with file_errors(self.place), open(self.place, "rb") as file:
            start = file.read(16)
        if start[8:12] != b"DUCK":
            path = os.path.abspath(self.place)
            hint = f": give --table sqlite://{path}::{self.table}"
            sqlite = start.startswith(b"SQLite format 3")
            raise InputError(f"{self.name}: is not a DuckDB file{hint if sqlite else ''}")


def local_path(place: str) -> str:
    """A path that may be written as a URL."""
    return re.sub("^file:(//(localhost(?=/))?|(?=/))", "", place, flags=re.IGNORECASE)


def hide_password(text: str) -> str:
    """A text without the passwords of URLs in it."""
    return re.sub(r"(://[^/@\s]*?:)[^/\s]*@", r"\1***@", text)


def table_source(text: str) -> TableSource:
    """Read what follows `--table`.

    Raises InputError if it has none of the forms.

    Examples
    --------
    >>> table_source("parquet:reports/*.parquet").place
    'reports/*.parquet'
    >>> table_source("pyspark::geo.reports")
    TableSource(kind='url', place='pyspark://', table='geo.reports')
    """
    kind, _, path = text.partition(":")
    kind = kind.lower()
    if kind in ("parquet", "csv"):
        place = os.path.expanduser(local_path(path))
        if not place:
            raise InputError(f"--table {text}: name the files after the colon")
        return TableSource(cast(Kind, kind), place)
    place, two_colons, table = text.rpartition("::")
    if not (two_colons and place and table):
        raise InputError(f"--table {text!r}: must be {_FORMS}")
    # as Ibis has it: two slashes and a relative path, or three and an absolute one
    path = place.partition(":")[2].removeprefix("//")
    if kind == "file":
        path = re.sub("^file:", "", local_path(place), flags=re.IGNORECASE)
        kind = _ENDINGS.get(Path(path.partition("?")[0]).suffix.lower(), kind)
    if kind in ("duckdb", "sqlite"):
        path = path if kind == "duckdb" else path.partition("?")[0]
        if not path:
            name = _IN_ONE_FILE[kind]
            raise InputError(f"--table {text!r}: name the {name} file before ::{table}")
        return TableSource(cast(Kind, kind), os.path.expanduser(path), table)
    if kind == "file" or not _ENGINE.fullmatch(place):
        raise InputError(f"--table {text!r}: must be {_FORMS}")
    return TableSource("url", place if "://" in place else f"{place}://", table)


def columns_of(text: str) -> dict[str, str]:
    """Read what follows `--columns`: ``role=name`` separated by commas, quoted as in CSV.

    Raises InputError if it has another form.  Returns names of columns by role.

    Examples
    --------
    >>> columns_of('lon=longitude,lat=latitude,"label=wet, or not"')
    {'lon': 'longitude', 'lat': 'latitude', 'label': 'wet, or not'}
    """
    named: dict[str, str] = {}
    for part in next(csv.reader([text], skipinitialspace=True), []):
        role, _, name = part.partition("=")
        role = role.strip()
        if role not in ROLES or not name:
            raise InputError(
                f"--columns: {part!r} must be ROLE=NAME, with a role of {', '.join(ROLES)}"
            )
        if role in named:
            raise InputError(f"--columns names {role} twice")
        named[role] = name
    if {"x", "y"} & set(named) and {"lon", "lat"} & set(named):
        raise InputError("--columns names x,y on the grid and lon,lat in degrees: choose")
    return named


def csv_heads(source: TableSource) -> list[Head]:
    """The heads of all CSV files of a source, alike but for the order and number of columns; one of
    nothing where there are none.  Raises InputError if a file cannot be read, or two files have
    different heads."""
    files = source.files() if source.kind == "csv" else []
    heads = [_head_of(path) for path in files]
    for path, head in zip(files, heads, strict=True):
        if replace(head, names=(), start=0) != replace(heads[0], names=(), start=0):
            raise InputError(f"{path}: the lines before its header are not those of {files[0]}")
    return heads or [Head({}, (), ",", 0, 1)]


def other_encoding(source: TableSource) -> str:
    """What is wrong with the first of its files that is not UTF-8 text; empty if all are."""
    for path in source.files():
        text, line = codecs.getincrementaldecoder("utf-8")(), 1
        try:
            with opened_text(path) as file:
                while piece := file.read(LONGEST_HEAD):
                    text.decode(piece)
                    line += piece.count(b"\n")
                text.decode(b"", final=True)
        except UnicodeDecodeError as error:
            return not_utf8(str(path), line + error.object.count(b"\n", 0, error.start))
        except (OSError, EOFError):
            continue
    return ""


def opened_text(path: Path) -> gzip.GzipFile | IO[bytes]:
    """The bytes of a CSV file, unpacked."""
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def _head_of(path: Path) -> Head:
    with file_errors(path), opened_text(path) as file:
        start = file.read(LONGEST_HEAD)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path}: is UTF-16 text: save it as UTF-8")
    text = start.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return read_head(str(path), text)


class Fault(IntEnum):
    """What is wrong with a value; three more for each column before it."""

    EMPTY = 1
    OFF = 2
    BROKEN = 3
    NOBODY = 10
    SEVERAL = 11


#: Faults of a row without a usable label or place: all but lying elsewhere.
DROPPED = (1, 3, 4, 6, 7, 8, 9)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Names of the columns that are read."""

    #: x and y, or longitude and latitude, and the label.
    examples: tuple[str, str, str]
    #: Whose a row is.
    person: str | None
    #: Whether coordinates are whole numbers on the grid, not degrees.
    on_grid: bool


def find_columns(
    source: TableSource,
    kinds: Mapping[str, Any],
    options: PointOptions,
    files: Sequence[Sequence[str]] = (),
) -> TableColumns:
    """The columns that are meant, if they are of the right kinds.

    Raises InputError if one is missing or could be several, does not hold numbers, or holds nothing
    that can name a person.  `kinds`: the engine's data type (of Ibis) of each column.  `files`:
    names of columns as they stand in each file.
    """
    names = list(kinds)
    with refusals(source.name, InputError):
        found, kind = choose_columns(names, options.columns)
        own = None if options.person is None else person_place(options.person, names, found)
        for place in (found.first, found.second, found.label, own):
            for each in files:  # what a file has twice is once what it is called, to an engine
                if place is not None and names[place] in each:
                    place_of(names[place], [name.lower() for name in each])
    first, second, label = (
        names[at] for at in (found.first, found.second, found.label) if at is not None
    )
    for name in (first, second, label):
        holds = kinds[name]
        said = name == label and holds.is_boolean()
        if not (said or holds.is_numeric() or holds.is_string()):  # the query looks into text
            raise InputError(f"{source.name}: column {name}: holds {holds}, not numbers")
    person = None if own is None else names[own]
    if person is not None:
        holds = kinds[person]
        plain = holds.is_numeric() or holds.is_boolean() or holds.is_string() or holds.is_binary()
        # what else there is may be empty in more ways than are looked for: lists, records, JSON
        if not (plain or holds.is_uuid() or holds.is_temporal()):
            raise InputError(
                f"{source.name}: column {person}: holds {holds}, which does not name a person: it "
                "must hold numbers, text, bytes, UUIDs or times"
            )
    return TableColumns((first, second, label), person, kind == "grid")


#: What is wrong with a value that is to name a person.
_OF_PERSONS: dict[int, str] = {
    Fault.NOBODY: "is empty, blank, NaN or infinite in some row; every row must say whose it is",
    Fault.SEVERAL: "is a floating-point number too large to tell whole numbers apart in some row; "
    "persons must be named by integers or text",
}


def refuse_faults(source: TableSource, columns: TableColumns, frame: Frame, keys: Ints) -> None:
    """Say what is wrong with a row, without its values: the first fault by column.

    Raises InputError if there is one.  `keys`: shape (m,): negative ones are faults.
    """
    faulty = keys[keys < 0]
    if not len(faulty):
        return
    number = -int(faulty.max())
    if number in _OF_PERSONS:
        column, reason = columns.person, _OF_PERSONS[number]
    else:
        place, fault = divmod(number - 1, 3)
        column, reason = columns.examples[place], _reason(place, Fault(fault + 1), columns, frame)
    raise InputError(
        f"{source.name}: column {column}: {reason}; correct such rows, or read a view without them"
    )


def _reason(place: int, fault: Fault, columns: TableColumns, frame: Frame) -> str:
    if place == 2:
        return (
            "is empty, or no label, in some row (labels are 1 and 0, true and false, yes and no, "
            "1 and -1, or what --inside names; --unusable drop leaves others out)"
        )
    if fault == Fault.EMPTY:
        return "is empty, or no finite number, in some row"
    if fault == Fault.BROKEN:
        return "is not an integer in some row (degrees need --columns lon=NAME,lat=NAME, --bounds)"
    if columns.on_grid or frame.bounds is None:
        return f"is off the grid 0..{frame.d} in some row (set its size with --grid)"
    box = frame.bounds.as_tuple()
    return f"is outside the bounds {box[place]:.10g}..{box[place + 2]:.10g} in some row"
