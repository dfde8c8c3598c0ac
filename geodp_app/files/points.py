"""Labelled points of any file, for commands: what a column means is told, or read off its name.

A CSV file in the form of :mod:`geodp_app.files.examples_csv` is read by that module, and quickly.
Any other goes row by row through :mod:`geodp_app.files.import_file` and
:mod:`geodp_app.files.import_rows`, as in the window's dialog, but nothing is asked: columns are
guessed from their names alone, labels by what their words say, and what was guessed is told.

What a row becomes depends on that row and on public choices only (docs/privacy.md, lemma T0).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import Examples, Frame
from geodp_app.errors import InputError, printable
from geodp_app.files.examples_csv import read_examples, settle_frame
from geodp_app.files.import_file import ImportFile, open_import
from geodp_app.files.import_rows import (
    Columns,
    Meaning,
    Misfit,
    OutOfBounds,
    ReadRows,
    as_zero_or_one,
    check_rows,
    guess_columns,
    read_rows,
    same_name,
    unlabelled,
)
from geodp_app.files.persons import one_each, persons_of
from geometry.crs import LONLAT, CrsError, reproject, settled_crs
from geometry.grid import Bounds

#: What `--out-of-bounds` may say.
OUT_OF_BOUNDS: tuple[OutOfBounds, ...] = ("refuse", "drop", "clip")


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of a file of points beside its name; all of it public.

    Attributes
    ----------
    grid : int or None
        Grid size d; by default the file's own, then the fallback's, then 1024.
    bounds : Bounds or None
        By default the file's own, then the fallback's.
    columns : mapping
        Names of columns by what they stand for: x, y, lon, lat, label.
    crs : str or None
        The system of the bounds, if there are any here, and of the coordinates where neither the
        file nor its columns' names say another, as :func:`geometry.crs.settled_crs` names it;
        coordinates are then none of the grid's.
    layer : str or None
        Of a file with several.
    out_of_bounds : {"refuse", "drop", "clip"}
    person : str or None
        Name of the column that tells whose a row is: one row of each person is read.
    labelled : bool
        Whether there is a column of labels; without, all labels are read as 0.
    """

    grid: int | None = None
    bounds: Bounds | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    crs: str | None = None
    layer: str | None = None
    out_of_bounds: OutOfBounds = "refuse"
    person: str | None = None
    labelled: bool = True

    @property
    def plain(self) -> bool:
        """Whether nothing is said that a file in the strict form knows nothing of."""
        others = (self.crs, self.layer, self.person)
        others_too = self.columns or any(others) or not self.labelled
        return not others_too and self.out_of_bounds == "refuse"


@dataclass(frozen=True, slots=True)
class PointsRead:
    """Examples of a file.

    Attributes
    ----------
    examples : Examples
    guessed : str
        What the columns were taken for, in one line; empty if nothing was guessed.
    beyond : int
        Rows outside the bounds that were dropped or moved: a private figure.
    rows : ndarray of int64, shape (n,), or None
        Which row of the file each example was, from 0; None for all in order.
    places : ndarray of float, shape (n, 2), or None
        Where the examples were before they were rounded to the grid, in the system of the bounds or
        in grid units; None if that was not kept.
    """

    examples: Examples
    guessed: str = ""
    beyond: int = 0
    rows: NDArray[np.int64] | None = None
    places: NDArray[np.float64] | None = None


def read_points(
    path: str | os.PathLike[str], told: Told | None = None, fallback: Frame | None = None
) -> PointsRead:
    """Read labelled points.

    Parameters
    ----------
    path : path-like
        CSV, GeoJSON, Parquet, or what GDAL reads.
    told : Told, optional
    fallback : Frame, optional
        Frame of a file that says nothing.

    Raises
    ------
    InputError
        If the file cannot be read, its columns cannot be told apart, or a row is wrong; the
        message names the file, the row (from 1, and its line in the file) and the column.
    """
    told = told or Told()
    file = open_import(path, told.layer)
    strict: InputError | None = None
    if told.plain and not file.placed and not file.decimal_comma:
        try:
            found = read_examples(path, grid=told.grid, bounds=told.bounds, fallback=fallback)
            return PointsRead(found)
        except InputError as fault:
            strict = fault
    try:
        return read_opened(file, told, fallback)
    except InputError as fault:
        # what its own form says of a row is more to the point
        raise (strict if strict is not None and _is_strict(file) else fault) from None


def _is_strict(file: ImportFile) -> bool:
    names = {column.lower() for column in file.columns}
    return "label" in names and ({"x", "y"} <= names or {"lon", "lat"} <= names)


def read_opened(file: ImportFile, told: Told, fallback: Frame | None = None) -> PointsRead:
    """Read labelled points of a file that is open, by the columns that its names speak for.

    Parameters and errors as in :func:`read_points`.
    """
    name = file.name
    roles, columns = _columns(file, told)
    on_grid = roles[0] == "x" and told.crs is None
    frame = settle_frame(name, file.member, told.grid, told.bounds, fallback, on_grid=on_grid)
    rows = read_rows(file, columns)
    assert rows is not None  # nothing stops it
    rows = as_zero_or_one(rows) if told.labelled else unlabelled(rows)
    if not on_grid:
        assert frame.bounds is not None
        # longitude and latitude are called so, and what has other names is as the bounds are
        wanted = frame.bounds.crs
        stated = LONLAT if roles[0] == "lon" else told.crs or wanted
        moved = in_system(file, rows, wanted, stated)
        if moved.numbers is not rows.numbers:
            rows = replace(moved, numbers=frame.bounds.held(moved.numbers))
    meaning = Meaning("grid" if on_grid else "degrees", frame, "1", "0", told.out_of_bounds)
    checked = check_rows(rows, meaning)
    if checked.left_out:
        raise InputError(f"{name}: {_misfit(checked.misfits[0])}")
    examples, fitting = checked.examples, np.flatnonzero(checked.fits)
    if told.person is not None:
        place = _place(file, told.person)
        kept = one_each(examples, persons_of(file, place), fitting)
        points, labels = examples.points[kept], examples.labels[kept]
        examples = Examples(points, labels, examples.frame, file.columns[place])
        fitting = fitting[kept]
    guessed = _guessed(file, roles, columns, told)
    return PointsRead(examples, guessed, checked.beyond, fitting, rows.numbers[fitting])


def _columns(file: ImportFile, told: Told) -> tuple[tuple[str, str, str], Columns]:
    """What the three columns stand for, and which they are."""
    # the names alone are looked at: rows are private
    guess, kind = guess_columns(file.columns)
    if file.placed:
        guess = _beside_places(file)
        kind = "grid" if file.member.get("frame") == "grid" else "degrees"
    elif told.crs is not None and guess.first is not None and kind == "degrees":
        # point_x is an easting as well as a longitude
        named = file.columns[guess.first].strip().lower()
        kind = "degrees" if named.startswith(("lon", "lng")) else "grid"
    on_grid = bool({"x", "y"} & set(told.columns)) or (
        kind == "grid" and not {"lon", "lat"} & set(told.columns)
    )
    roles = ("x", "y", "label") if on_grid else ("lon", "lat", "label")
    found = [guess.first, guess.second, guess.label]
    for i, role in enumerate(roles):
        if role in told.columns:
            found[i] = _place(file, told.columns[role])
    columns = Columns(*found) if told.labelled else Columns(*found[:2])
    if not (columns.complete if told.labelled else columns.placed):
        lacking = [
            role
            for role, place in zip(roles, found, strict=True)
            if (place is None or found.count(place) > 1) and (told.labelled or role != "label")
        ]
        names = ",".join(f"{role}=NAME" for role in lacking)
        raise InputError(
            f"{file.name}: missing column {', '.join(lacking)}: the file has {_shown(file)}; name "
            f"yours: --columns {names}"
        )
    return roles, columns


def _beside_places(file: ImportFile) -> Columns:
    """The first two columns, and the label: by its name, else the only other one."""
    beside, _ = guess_columns(("x", "y", *file.columns[2:]))
    return Columns(0, 1, beside.label)


def _place(file: ImportFile, wanted: str) -> int:
    found = same_name(wanted, file.columns)
    if found is None:
        raise InputError(f"{file.name}: missing column {_cut(wanted)}: the file has {_shown(file)}")
    return file.columns.index(found)


def _shown(file: ImportFile) -> str:
    return repr(_cut(",".join(file.columns)))


def _cut(name: str) -> str:
    """A name of whatever length, for a message."""
    return name if len(name) <= 60 else name[:57] + "..."


def in_system(file: ImportFile, rows: ReadRows, wanted: str, unstated: str = LONLAT) -> ReadRows:
    """The rows with their coordinates in a wanted system.

    Parameters
    ----------
    file : ImportFile
    rows : ReadRows
    wanted : str
        As :func:`geometry.crs.settled_crs` names it.
    unstated : str
        The system of a file that states none.

    Raises
    ------
    InputError
        If a system is unknown.
    """
    try:
        own = unstated if file.crs is None else settled_crs(file.crs)
        return replace(rows, numbers=reproject(rows.numbers, own, wanted))
    except CrsError as error:
        raise InputError(f"{file.name}: {error}") from None


def _misfit(misfit: Misfit) -> str:
    line = "" if misfit.line is None else f" (line {misfit.line})"
    column = f", column {_cut(misfit.column)}" if misfit.column else ""
    hint = ""
    if "neither inside nor outside" in misfit.reason:
        hint = " (labels are 1 and 0, true and false, yes and no, inside and outside, 1 and -1)"
    elif "not a whole number" in misfit.reason:
        hint = "; coordinates of another system need --crs and --bounds"
    elif "outside the bounds" in misfit.reason:
        hint = "; --out-of-bounds drop leaves such rows out"
    return f"row {misfit.row}{line}{column}: {misfit.reason}{hint}"


def _guessed(file: ImportFile, roles: tuple[str, str, str], columns: Columns, told: Told) -> str:
    places = (columns.first, columns.second, columns.label)
    taken = [
        f"{role}={printable(_cut(file.columns[place]))}"
        for role, place in zip(roles, places, strict=True)
        if place is not None and role not in told.columns
    ]
    return f"{file.name}: read by its column names: {', '.join(taken)}" if taken else ""
