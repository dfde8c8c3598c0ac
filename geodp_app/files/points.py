"""Reads labelled points of any file, by columns that are stated or known by name; writes CSV.

Batches of columns (:mod:`geodp_app.files.import_file`) become examples
(:mod:`geodp_app.files.import_rows`) as in the window's dialog, but nothing is asked: columns are
chosen by their names alone, labels by what their words say, and what was guessed is told.

What a row becomes depends on that row and on public choices only (docs/privacy.md, lemma T0).  Grid
and bounds are public: options say them, else the file, else a fallback.  CSV of geodp keeps them in
a first line::

    # geodp {"grid": 1024, "bounds": [13.0, 42.0, 20.0, 47.0]}
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from geodp_app.document.examples import DEFAULT_GRID, Examples, Frame
from geodp_app.files import csv_table
from geodp_app.files.csv_table import MARK, open_csv
from geodp_app.files.import_file import (
    ROLES,
    Columns,
    ImportFile,
    Kind,
    choose_columns,
    cut,
    is_plain,
    person_column,
    person_place,
    person_words,
)
from geodp_app.files.import_rows import (
    CheckedRows,
    Meaning,
    Misfit,
    OutOfBounds,
    ReadRows,
    Refusal,
    Unusable,
    as_zero_or_one,
    check_rows,
    read_rows,
)
from geometry.arrays import Floats
from geometry.crs import LONLAT, CrsError, canonical_crs
from geometry.errors import InputError, file_errors, printable, refusals
from geometry.geojson_reading import MAX_BYTES as MAX_MAP, RECORD, SEQUENCES, short
from geometry.gis_files import LAYER_ENDINGS, PARQUET
from geometry.grid import Bounds
from geometry.halfplane import MAX_D
from learners.core.examples import COMMON, LabelWords

#: Endings of files of rows as text.
TEXT_ENDINGS = frozenset({".csv", ".tsv", ".txt"})
#: Endings of files of GeoJSON, of one object or of one on each line.
MAP_ENDINGS = frozenset({".geojson", ".json", *SEQUENCES})

#: What `--out-of-bounds` may say.
OUT_OF_BOUNDS: tuple[OutOfBounds, ...] = ("refuse", "drop", "clip")
#: What `--unusable` may say.
UNUSABLE: tuple[Unusable, ...] = ("refuse", "drop")


@dataclass(frozen=True, slots=True)
class PointOptions:
    """How a file or a table of points is to be read: options, all of them public.

    Those without a word are as in :func:`geodp.read_points`.
    """

    #: By default the file's own, then the fallback's, then a grid of 1024 without bounds.
    grid: int | None = None
    bounds: Bounds | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    #: The system of the bounds, if there are any here, and of the coordinates where neither the
    #: file nor its columns' names say another, as :func:`geometry.crs.canonical_crs` names it;
    #: coordinates are then none of the grid's.
    crs: str | None = None
    layer: str | None = None
    out_of_bounds: OutOfBounds = "refuse"
    unusable: Unusable = "refuse"
    #: Which labels say inside and which outside.
    labels: LabelWords = COMMON
    #: Name of the column that tells whose a row is: of each person as many as `rows` are read.
    person: str | None = None
    #: Whether there is a column of labels; without, all labels are read as 0.
    labelled: bool = True
    #: Whether words are labels, too, and -1; else only 1 and 0 are.
    words: bool = True
    rows: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PointsRead(CheckedRows):
    """Examples of a file, and what they were read from."""

    #: What the columns were taken for, in one line; empty if nothing was guessed.
    guessed: str
    #: Shape (n, 2): where the examples were before they were rounded to the grid, in the system of
    #: the bounds or, of a file `on_grid`, in grid units.
    places: Floats
    on_grid: bool
    #: What was read: some files can be opened only once.
    file: ImportFile


def open_import(path: str | os.PathLike[str], layer: str | None = None) -> ImportFile:
    """Open a file of points; "-" is standard input.  Raises InputError if it cannot be read, or
    does not name its columns.  `layer`: of a file with several."""
    name = os.fspath(path)
    kind, data = look(name)
    if layer is not None and kind != "layer":
        raise InputError(f"{name}: has no layers: leave --layer out")
    if kind == "csv":
        rows = open_csv(name, _whole(name, csv_table.MAX_BYTES) if data is None else data)
        head, placed = rows.head, rows.geometry is not None
        comma = head.delimiter != ","
        return ImportFile(
            name, head.names, rows, head.member, placed, decimal_comma=comma, loose=placed
        )
    from geodp_app.files import import_formats as formats

    if kind == "layer":
        return formats.open_layer(name, layer, data)
    if kind == "parquet":
        return formats.open_parquet(name, data)
    return formats.open_geojson(name, _whole(name, MAX_MAP) if data is None else data)


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
    with file_errors(name), refusals(f"{name}: cannot be read"):  # a NUL in the name
        if name == "-":
            data = sys.stdin.buffer.read(most + 1)
        else:
            with open(name, "rb") as file:
                small = 0 < os.fstat(file.fileno()).st_size <= most
                # a limit sets its whole size aside: only for pipes, devices and what is too large
                data = file.read() if small else file.read(most + whole)
    if whole and len(data) > most:
        raise InputError(f"{name}: larger than {most:,} bytes")
    return data


def read_points(
    path: str | os.PathLike[str], options: PointOptions | None = None, fallback: Frame | None = None
) -> PointsRead:
    """Read labelled points.

    Raises InputError if the file cannot be read, its columns cannot be told apart, or a row is
    wrong; the message names the file, the row (from 1, and its line in the file) and the column.
    `path`: CSV, GeoJSON, Parquet, or what GDAL reads.  `fallback`: frame of a file that says
    nothing.
    """
    options = options or PointOptions()
    return read_opened(open_import(path, options.layer), options, fallback)


def read_opened(
    file: ImportFile, options: PointOptions, fallback: Frame | None = None
) -> PointsRead:
    """Read labelled points of a file that is open, by the columns that its names speak for.

    Parameters and errors as in :func:`read_points`.
    """
    name = file.name
    with refusals(name, InputError):
        columns, kind = _columns(file, options)
        person = 2 if options.person is not None and file.headless else None
        if options.person is not None and person is None:
            person = person_place(options.person, file.columns, columns, placed=file.placed)
    # a file that states its grid has places on it, also where its bounds are given again
    on_grid = kind == "grid" and (options.crs is None or "grid" in file.member)
    frame = settle_frame(name, file.member, options.grid, options.bounds, fallback, on_grid=on_grid)
    rows = read_rows(file, columns, person=person, words=options.labels)
    assert rows is not None  # nothing stops it
    if not options.labelled:  # then nothing was read for it
        codes = np.zeros(len(rows.numbers), dtype=np.int32)
        rows = replace(rows, codes=codes, labels=("0",), shown=("0",))
    elif options.words:
        rows = as_zero_or_one(rows, options.labels)
    if not on_grid:
        assert frame.bounds is not None
        # longitude and latitude are called so, and what has other names is as the bounds are
        named = kind == "degrees" and not rows.of_geometry
        unstated = LONLAT if named else options.crs or LONLAT
        rows = in_system(file, rows, frame.bounds, unstated)
    if person is not None and file.headless:
        rows = replace(rows, unit=options.person)
    units: Kind = "grid" if on_grid else "degrees"
    meaning = Meaning(units, frame, "1", "0", options.out_of_bounds, options.rows)
    checked = check_rows(rows, meaning)
    refused = checked.elsewhere if options.unusable == "drop" else next(iter(checked.misfits), None)
    if refused is not None:
        raise InputError(f"{name}: {_misfit(refused, options.labels)}")
    if checked.nobody is not None:
        raise InputError(f"{name}: {checked.nobody}")
    found = {each.name: getattr(checked, each.name) for each in fields(checked)}
    guessed, places = _guessed(file, kind, columns, options), rows.numbers
    if person is not None or len(checked.rows) < len(places):
        places = places[checked.rows]
    return PointsRead(**found, guessed=guessed, places=places, on_grid=on_grid, file=file)


def _columns(file: ImportFile, options: PointOptions) -> tuple[Columns, Kind]:
    """The columns that are read: of a file without any, which has no rows, those that it has."""
    on_grid = file.member.get("frame") == "grid"
    if file.headless:
        return Columns(0, 1, 2), "grid" if on_grid else "degrees"
    return choose_columns(
        file.columns,
        options.columns,
        placed=file.placed,
        loose=file.loose,
        on_grid=on_grid,
        metres=options.crs is not None,
        labelled=options.labelled,
    )


def in_system(file: ImportFile, rows: ReadRows, box: Bounds, unstated: str = LONLAT) -> ReadRows:
    """The rows with their coordinates in the system of a box; those that come from another one, and
    lie by the border, on it.

    Raises InputError if a system is unknown.  `unstated`: the system of a file that states none.
    """
    with refusals(file.name, CrsError):
        stated = file.crs if rows.of_geometry else None
        own = unstated if stated is None else canonical_crs(stated)
        numbers = box.reached(rows.numbers, own)
        # each is where it says that it is, whatever other rows say; what a file states holds for
        # all, as geometries that were moved may keep the number of their old system
        codes = np.unique(rows.systems[rows.systems > 0]).tolist() if stated is None else []
        for code in codes:
            some = rows.systems == code
            numbers = numbers.copy()
            numbers[some] = box.reached(rows.numbers[some], canonical_crs(f"EPSG:{code}"))
        return rows if numbers is rows.numbers else replace(rows, numbers=box.held(numbers))


def _misfit(misfit: Misfit, labels: LabelWords) -> str:
    hint = _HINTS[misfit.kind]
    if labels.inside and misfit.kind == "label":
        hint = f" (by --inside and --outside){_HINTS['unusable']}"
    return f"{misfit}{hint}"


#: What to do about a row, by what is wrong with it.
_HINTS: dict[Refusal, str] = {
    "unusable": "; --unusable drop leaves such rows out",
    "label": (
        " (labels are 1 and 0, true and false, yes and no, inside and outside, 1 and -1; name "
        "others with --inside; --unusable drop leaves such rows out)"
    ),
    "fraction": (
        ": x,y are places on the grid; degrees need --columns lon=NAME,lat=NAME and --bounds, "
        "coordinates of another system need --crs and --bounds"
    ),
    "off the grid": " (set its size with --grid)",
    "outside the bounds": "; --out-of-bounds drop leaves such rows out",
}


def _guessed(file: ImportFile, kind: Kind, columns: Columns, options: PointOptions) -> str:
    places = (columns.first, columns.second, columns.label)
    taken = [
        f"{role}={printable(cut(file.columns[place]))}"
        for role, place in zip(ROLES[kind], places, strict=True)
        if place is not None and place >= 2 * file.placed  # those before come of geometries
        if role not in options.columns and file.columns[place].lower() != role
    ]
    return f"{file.name}: read by its column names: {', '.join(taken)}" if taken else ""


#: What to say of bounds that are the extent of the points.
TIGHT = (
    "the bounds are the extent of the points, and tell where the outermost of them are: take "
    "bounds that are known without the points"
)


def settle_frame(
    name: str,
    member: dict[str, Any],
    grid: int | None,
    bounds: Bounds | None,
    fallback: Frame | None = None,
    *,
    on_grid: bool,
) -> Frame:
    """Grid and bounds from the arguments, the file's member, or the fallback; raises InputError if
    two of them are at odds, or there are no bounds and the examples are not `on_grid`."""
    own_grid, own_bounds = member_frame(name, member)
    if own_bounds and bounds and own_bounds != bounds:
        raise InputError(
            f"{name}: its first line says bounds {tuple(own_bounds.to_json())}, --bounds says "
            f"{tuple(bounds.to_json())}"
        )
    if on_grid and own_grid is not None and grid is not None and own_grid != grid:
        raise InputError(f"{name}: its first line says grid {own_grid}, --grid says {grid}")
    spare = fallback or Frame(DEFAULT_GRID)
    frame = Frame(grid or own_grid or spare.d, bounds or own_bounds or spare.bounds)
    if not on_grid and frame.bounds is None:
        raise InputError(
            f"{name}: columns lon,lat need public bounds: give --bounds W,S,E,N "
            "(they are never taken from the data)"
        )
    return frame


def member_frame(name: str, member: dict[str, Any]) -> tuple[int | None, Bounds | None]:
    """Grid size and bounds that a file's frame line states; raises InputError if they are
    unusable."""
    grid, box = member.get("grid"), member.get("bounds")
    if grid is not None and not (type(grid) is int and 1 <= grid <= MAX_D):
        raise InputError(
            f"{name}: its first line says grid {short(grid)}; it must be an integer in 1..{MAX_D}, "
            "where counting is exact"
        )
    if box is None:
        return grid, None
    with refusals(f"{name}: bounds in its first line"):
        return grid, Bounds.of_json(box)


#: Rows formatted at a time, to spare memory.
_ROWS_AT_ONCE = 100_000


def format_examples(examples: Examples, *, simulated: bool = False) -> str:
    """The CSV text of examples, with its frame in the first line, and whether they are `simulated`,
    and so nobody's."""
    member: dict[str, Any] = {"grid": examples.frame.d}
    if examples.frame.bounds is not None:
        member["bounds"] = examples.frame.bounds.to_json()
    member |= {"simulated": True} if simulated else {}
    parts = [f"{MARK}{json.dumps(member)}\n{','.join(ROLES['grid'])}\n"]
    for start in range(0, len(examples.labels), _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        (xs, ys), labels = examples.points[some].T.tolist(), examples.labels[some].tolist()
        rows = zip(xs, ys, labels, strict=True)
        parts.append("".join([f"{x},{y},{label}\n" for x, y, label in rows]))
    return "".join(parts)


def read_examples(
    path: str | os.PathLike[str], fallback: Frame | None = None, *, asks: bool = False
) -> Examples:
    """Read labelled examples of a CSV file that needs no questions: its header has x,y,label, or
    lon,lat,label in degrees, in any order, maybe among others.  One that `asks` whose the rows are
    or whether the bounds are known without them is refused, too.

    Raises InputError if the file cannot be read, has another header, or a row is wrong; the message
    names the file, the row (from 1, and its line in the file) and the column.  A header without
    rows is a sample of no examples: it is the neighbour of every sample of one.  `fallback`: frame
    of a file that says nothing.
    """
    file = open_import(path)
    if file.placed or file.decimal_comma or not is_plain(file.columns):
        raise InputError(
            f"{file.name}: missing column x, y or label: the header must name x,y,label or "
            f"lon,lat,label, not {cut(','.join(file.columns))!r}"
        )
    person = person_column(file.columns) if asks else None
    found = read_opened(file, PointOptions(words=False), fallback)
    if person is not None or (asks and found.tight):
        raise InputError(f"{file.name}: {TIGHT if person is None else person_words(person)}")
    return found.examples
