"""A comparison as a folder: a GeoJSON file for each shape and, if wanted, the table."""

from __future__ import annotations

import csv
import io
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from geodp_app.errors import InputError
from geodp_app.files.writing import check_folder_ending
from geodp_app.runs.comparison import Row
from geometry.files import atomic_write

#: The table's file; its test errors are private, unlike the shapes of private learners.
TABLE = "private-table.csv"


def check_folder(folder: Path) -> None:
    """Find out before long work whether the folder can be made.

    Raises
    ------
    InputError
        If it is a file or is named like one, is not empty, or its own folder is missing or cannot
        be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a new folder")
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: is not empty; name a new folder")
    check_folder_ending(folder)
    home = Path(os.path.realpath(folder)).parent
    if not home.is_dir():
        raise InputError(f"{folder}: there is no folder {home}")
    try:
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        raise InputError(f"{folder}: cannot write to {home}: {error.strerror}") from None


def write_shapes(folder: Path, rows: Sequence[Row], *, table: bool = False) -> None:
    """Write every shape as GeoJSON: the folder appears with all of them, or not at all.

    The table, and shapes of learners that are not private, are the owner's alone (mode 0600).

    Parameters
    ----------
    folder : path
        New, or empty.
    rows : sequence of Row
    table : bool
        Also the rows' figures, as :data:`TABLE`; private.

    Raises
    ------
    OSError
        As the system reports it.
    """
    target = Path(os.path.realpath(folder))
    temporary = target.parent / f".geodp-{os.getpid()}-{target.name}.tmp"
    temporary.mkdir()
    try:
        for row in rows:
            atomic_write(temporary / file_name(row), row.geojson, private=not row.private)
        if table:
            atomic_write(temporary / TABLE, table_text(rows), private=True)
        if target.is_dir():
            target.rmdir()  # it is empty; not all systems replace an empty folder
        os.replace(temporary, target)
    except BaseException:  # KeyboardInterrupt too: nothing half-written may stay
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def file_name(row: Row) -> str:
    """The name of a row's file in the folder."""
    return f"{row.name}.geojson"


def table_text(rows: Sequence[Row]) -> str:
    """The rows' figures as CSV; private."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ("learner", "k", "private", "epsilon", "delta", "test_error", "false_positives",
         "false_negatives", "tested", "seconds", "bytes", "vertices", "file")
    )  # fmt: skip
    for row in rows:
        spent = row.privacy
        writer.writerow(
            (row.name, dict(row.contender.parameters).get("k"), "yes" if row.private else "no",
             spent and spent.epsilon, spent and spent.delta, row.error, row.false_positives,
             row.false_negatives, row.tested, f"{row.seconds:.3f}", row.bytes, row.vertices,
             file_name(row))
        )  # fmt: skip
    return text.getvalue()
