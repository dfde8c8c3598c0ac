"""Labelled examples as CSV: ``x,y,label`` on the grid, or ``lon,lat,label`` in degrees.

An optional first line keeps the public frame with the file::

    # geodp {"grid": 1024, "bounds": [13.0, 42.0, 20.0, 47.0]}

The fast path parses all numbers in compiled code (about 1 s for a million rows); only when it
finds a fault does a second, slow pass look for the row and the column to name.  Columns
may come in any order; other columns are ignored.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import DEFAULT_GRID, Examples, Frame
from geodp_app.errors import InputError
from geodp_app.files.csv_table import (
    GRID_COLUMNS,
    MARK,
    Limits,
    Table,
    first_fault,
    load_text,
    split_text,
)
from geometry.crs import LONLAT
from geometry.geojson_rings import short
from geometry.grid import Bounds, BoundsError, GridMap
from geometry.halfplane import MAX_D

#: Rows formatted at a time, to spare memory.
_ROWS_AT_ONCE = 100_000


def format_examples(examples: Examples) -> str:
    """The CSV text of examples, with its frame in the first line."""
    member: dict[str, Any] = {"grid": examples.frame.d}
    if examples.frame.bounds is not None:
        member["bounds"] = examples.frame.bounds.to_json()
    parts = [f"{MARK}{json.dumps(member)}\n{','.join(GRID_COLUMNS)}\n"]
    for start in range(0, len(examples.labels), _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        (xs, ys), labels = examples.points[some].T.tolist(), examples.labels[some].tolist()
        rows = zip(xs, ys, labels, strict=True)
        parts.append("".join([f"{x},{y},{label}\n" for x, y, label in rows]))
    return "".join(parts)


def read_examples(
    path: str | os.PathLike[str],
    *,
    grid: int | None = None,
    bounds: Bounds | None = None,
    fallback: Frame | None = None,
) -> Examples:
    """Read labelled examples.

    Parameters
    ----------
    path : path-like
    grid : int, optional
        Grid size d; by default the file's own, then the fallback's, then 1024.
    bounds : Bounds, optional
        Public bounds in degrees; by default the file's own, then the fallback's.  They are
        never taken from the rows.
    fallback : Frame, optional
        Frame of a file that says nothing.

    Raises
    ------
    InputError
        If the file cannot be read, has no header, or a row is wrong; the message names the file,
        the row (from 1, and its line in the file) and the column.  A header without rows is a
        sample of no examples: it is the neighbour of every sample of one.
    """
    name = os.fspath(path)
    table = split_text(name, load_text(name))
    on_grid = table.columns == GRID_COLUMNS
    frame = settle_frame(name, table.member, grid, bounds, fallback, on_grid=on_grid)
    limits = _limits(table, frame)
    numbers = _parse(table)
    if numbers is None or not _valid(numbers, limits, whole=on_grid):
        raise InputError(f"{name}: {first_fault(table, limits)}")
    labels = numbers[:, 2].astype(np.int64)
    if on_grid or frame.bounds is None:
        return Examples(numbers[:, :2].astype(np.int64), labels, frame)
    try:
        points = GridMap(frame.d, frame.bounds).to_grid(numbers[:, :2])
    except BoundsError as error:  # of another system, or across the antimeridian
        raise InputError(f"{name}: {error}") from None
    return Examples(points, labels, frame)


def settle_frame(
    name: str,
    member: dict[str, Any],
    grid: int | None,
    bounds: Bounds | None,
    fallback: Frame | None = None,
    *,
    on_grid: bool,
) -> Frame:
    """Grid and bounds from the arguments, the file's member, or the fallback.

    Raises
    ------
    InputError
        If two of them are at odds, or there are no bounds and the examples are not `on_grid`.
    """
    own_grid, own_bounds = member_frame(name, member)
    if own_bounds and bounds and own_bounds != bounds:
        raise InputError(
            f"{name}: its first line says bounds {own_bounds.as_tuple()}, --bounds says "
            f"{bounds.as_tuple()}"
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
    """Grid size and bounds that a file's frame line states.

    Raises
    ------
    InputError
        If they are unusable.
    """
    grid, box = member.get("grid"), member.get("bounds")
    if grid is not None and not (type(grid) is int and 1 <= grid <= MAX_D):
        raise InputError(
            f"{name}: its first line says grid {short(grid)}; it must be an integer in 1..{MAX_D}, "
            "where counting is exact"
        )
    if box is None:
        return grid, None
    try:
        return grid, Bounds.of_json(box)
    except BoundsError as error:
        raise InputError(f"{name}: bounds in its first line: {error}") from None


def _parse(table: Table) -> NDArray[np.float64] | None:
    """The wanted columns, shape (n, 3), or None if some row cannot be read."""
    if not table.body:  # loadtxt warns of it
        return np.empty((0, 3))
    lines: Iterator[str] = io.StringIO(table.body)
    places = list(table.places)
    try:
        if len(table.header) > len(places):  # usecols would not notice a row of wrong length
            lines, places = _pick(table), [0, 1, 2]
        numbers = np.loadtxt(
            lines, dtype=np.float64, delimiter=",", comments=None, quotechar='"', ndmin=2
        )
    except (ValueError, csv.Error):
        return None
    if numbers.shape[1] != len(places):
        return None
    return np.asarray(numbers[:, places], dtype=np.float64)


def _pick(table: Table) -> Iterator[str]:
    """Rows cut down to the wanted columns."""
    pick = itemgetter(*table.places)
    for row in csv.reader(io.StringIO(table.body)):
        if row and len(row) != len(table.header):
            raise ValueError("a row of another length")
        if row:
            yield ",".join(pick(row))


def _valid(numbers: NDArray[np.float64], limits: Limits, *, whole: bool) -> bool:
    """Whether all rows are right, decided column by column to spare memory."""
    if not len(numbers):
        return True
    for column, (low, high) in zip(numbers.T[:2], limits, strict=True):
        if not (column.min() >= low and column.max() <= high):  # also False for NaN
            return False
        if whole and (column != np.rint(column)).any():
            return False
    labels = numbers[:, 2]
    return bool(((labels == 0) | (labels == 1)).all())


def _limits(table: Table, frame: Frame) -> Limits:
    """Range of each coordinate."""
    if table.columns == GRID_COLUMNS or frame.bounds is None:
        return ((0, frame.d), (0, frame.d))
    b = frame.bounds
    if b.crosses or b.crs != LONLAT:
        return ((-180, 180), (-90, 90))
    return ((b.west, b.east), (b.south, b.north))
