"""Reads and writes examples as CSV: ``x,y,label`` on the grid, or ``lon,lat,label`` in degrees.

An optional first line keeps the public frame with the file::

    # geodp {"grid": 1024, "bounds": [13.0, 42.0, 20.0, 47.0]}

Columns may come in any order; other columns are ignored.
"""

from __future__ import annotations

import json
import os
from typing import Any

from geodp_app.document.examples import Examples, Frame
from geodp_app.errors import InputError
from geodp_app.files.csv_table import MARK
from geodp_app.files.import_columns import ROLES, cut, is_plain
from geodp_app.files.import_file import open_import
from geodp_app.files.points import PointOptions, read_opened
from geometry.grid import Bounds

#: Rows formatted at a time, to spare memory.
_ROWS_AT_ONCE = 100_000


def format_examples(examples: Examples) -> str:
    """The CSV text of examples, with its frame in the first line."""
    member: dict[str, Any] = {"grid": examples.frame.d}
    if examples.frame.bounds is not None:
        member["bounds"] = examples.frame.bounds.to_json()
    parts = [f"{MARK}{json.dumps(member)}\n{','.join(ROLES['grid'])}\n"]
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
    """Read labelled examples of a CSV file that needs no questions: of the form above.

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
        If the file cannot be read, has another header, or a row is wrong; the message names the
        file, the row (from 1, and its line in the file) and the column.  A header without rows is
        a sample of no examples: it is the neighbour of every sample of one.
    """
    file = open_import(path)
    if file.placed or file.decimal_comma or not is_plain(file.columns):
        raise InputError(
            f"{file.name}: missing column x, y or label: the header must name x,y,label or "
            f"lon,lat,label, not {cut(','.join(file.columns))!r}"
        )
    return read_opened(file, PointOptions(grid, bounds, words=False), fallback).examples
