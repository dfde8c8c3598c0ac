"""Brings files into a document: target shapes, examples, sessions.

To *import* a target or examples is an edit of the session that is there.  To *open* them begins
something else: what was there goes (undo brings it back), and the session's file is let go of, so
that it is never overwritten by other content.
"""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from geodp_app.document.document import Document
from geodp_app.document.examples import Examples
from geodp_app.document.targets import GridChange, place_drawing
from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing
from geodp_app.errors import InputError
from geodp_app.files.examples_csv import read_examples
from geodp_app.files.import_file import TEXT_ENDINGS
from geodp_app.files.ledger import beside
from geodp_app.files.run_record import RunRecord
from geodp_app.files.session import load_session
from geodp_app.formatting import counted
from geometry.geojson import GeoJSONError, NoPolygonsError, read_geojson
from geometry.geojson_reading import SEQUENCES
from geometry.gis_files import LAYER_ENDINGS
from geometry.mask import read_mask

Kind = Literal["session", "target", "examples"]

_SUFFIXES: dict[str, Kind] = {
    ".geodp": "session", ".geojson": "target", ".json": "target",
    **dict.fromkeys((*LAYER_ENDINGS, *TEXT_ENDINGS, *SEQUENCES, ".parquet"), "examples"),
}  # fmt: skip
#: Most vertices of a mask, which sessions keep.
MOST_IN_MASK = 200_000
#: Names of drawings are cut to this.
_NAME = 100


@dataclass(frozen=True, slots=True)
class Opened:
    """The result of opening a file.

    Attributes
    ----------
    kind : {"session", "target", "examples"}
    note : str
        One line for the person.
    run : RunRecord or None
        The run of a session.
    """

    kind: Kind
    note: str
    run: RunRecord | None = None


class PointsOnlyError(InputError):
    """A map file that holds no shape: its points may be examples."""


def open_any(path: str | os.PathLike[str], document: Document) -> Opened:
    """Open a session, a target or examples: what the file is, else what it is called.

    A target or examples begin an untitled session with the settings and the grid that are there.

    Parameters
    ----------
    Raises
    ------
    PointsOnlyError
        If it is a map file of points.
    InputError
        If it is none of the three, or cannot be used as it is; the document is then as it was.
    """
    kind = file_kind(path)
    if kind == "session":
        work, run = load_session(path)
        if work.ledger is None and work.examples is not None and not work.simulated:
            work = replace(work, ledger=beside(path))
        document.new(work, Path(path))
        return Opened("session", f"{Path(path).name}: opened. It holds private data.", run)
    blank = _blank(document.work)
    if kind == "examples":
        examples = read_examples(path, fallback=blank.frame)
        return take_examples(path, examples, document, opening=True)
    fields, note = _read_target(path, blank)
    fields |= {"examples": None, "simulated": True, "within": None}
    document.change(f"open {Path(path).name}", **fields)
    document.mark_opened()
    return Opened(kind, note)


def import_target(path: str | os.PathLike[str], document: Document) -> Opened:
    """Replace the drawing by the polygons of a GeoJSON file, in one undoable step.

    The grid stays.  Imported examples keep their place on the globe, if they have one, and the
    shape is put there; else the bounds come from the file.

    Raises
    ------
    InputError
        If the file cannot be read, or nothing of it is left on the grid.
    """
    fields, note = _read_target(path, document.work)
    document.change(f"import {Path(path).name}", **fields)
    return Opened("target", note)


def import_examples(path: str | os.PathLike[str], document: Document) -> Opened:
    """Take the examples of a CSV file that needs no questions, in one undoable step.

    The frame of the file, if it states one, becomes the document's; the drawing follows it.  One
    that a simulated sample was of goes with that sample: it has nothing to do with these examples.

    Raises
    ------
    InputError
        If the file cannot be read, a row is wrong, or columns in degrees have no public bounds:
        neither the file's own nor the document's.
    """
    examples = read_examples(path, fallback=document.work.frame)
    return take_examples(path, examples, document, opening=False)


def import_mask(path: str | os.PathLike[str], document: Document, layer: str | None = None) -> str:
    """Clip the learned shape to the polygons of a map, in one undoable step; a line on it.

    Raises
    ------
    InputError
        If the file cannot be read, has no polygons, or none of them lie on the grid;
        SeveralLayersError if which layer is meant is not said.
    """
    with _refusals(path):
        mask = read_mask(path, layer, max_vertices=MOST_IN_MASK)
    document.set_within(mask)
    return f"{mask.name}: the learned shape is clipped to it where it is shown and exported."


def take_examples(
    path: str | os.PathLike[str],
    examples: Examples,
    document: Document,
    *,
    opening: bool,
    left_out: int = 0,
) -> Opened:
    """Put examples that were read into a document, in one undoable step.

    Parameters
    ----------
    path : path-like
        Where they come from.
    examples : Examples
    document : Document
    opening : bool
        Begin an untitled session with them, without the drawing.
    left_out : int
        Rows of the file that are not among them.
    """
    name = Path(path).name
    work = work_with(examples, document.work, path if opening else None)
    fields = ("drawing", "bounds", "examples", "simulated", "name", "within")
    label = f"{'open' if opening else 'import'} {name}"
    taken = {field: getattr(work, field) for field in fields}
    gone = not opening and document.drawing.shapes and not work.drawing.shapes
    document.change(label, **taken, ledger=beside(path))
    if opening:
        document.mark_opened()
    inside = int(examples.labels.sum())
    note = f"{name}: {counted(len(examples.labels), 'example')}, {inside:,} with label 1"
    note += f"; {counted(left_out, 'row')} left out" if left_out else ""
    note += "; the drawing of the simulated sample is gone: undo brings both back" if gone else ""
    return Opened("examples", note)


def work_with(examples: Examples, work: Work, opened: str | os.PathLike[str] | None = None) -> Work:
    """The work as it would be with these examples.

    Parameters
    ----------
    examples : Examples
    work : Work
    opened : path-like, optional
        The file that is opened; None to keep the drawing, in the examples' frame, unless it is
        that of a simulated sample.
    """
    if opened is not None:
        work = replace(_blank(work), name=Path(opened).stem[:_NAME])
    elif work.simulated and work.examples is not None:
        work = replace(work, drawing=Drawing(work.drawing.grid))
    drawing = GridChange(work.frame, examples.frame).drawing(work.drawing)
    bounds = examples.frame.bounds
    return replace(work, drawing=drawing, bounds=bounds, examples=examples, simulated=False)


def _blank(work: Work) -> Work:
    """The settings and the grid of a work."""
    drawing = Drawing(work.drawing.grid)
    return replace(work, drawing=drawing, bounds=None, examples=None, within=None)


def _read_target(path: str | os.PathLike[str], work: Work) -> tuple[dict[str, Any], str]:
    """What a target changes in the work, and a line about it."""
    kept = work.bounds if work.examples is not None and not work.simulated else None
    with _refusals(path):
        target = read_geojson(path)
        on_globe = target.frame == "lonlat" and target.member.get("georeferenced") is not False
        drawing, bounds = place_drawing(target, work.drawing.grid, kept if on_globe else None)
    vertices = sum(len(ring) for shape in drawing.shapes for ring in shape.rings)
    left_out = f"; {target.skipped} points or lines left out" if target.skipped else ""
    note = f"{Path(path).name}: shapes: {len(drawing.shapes)}, vertices: {vertices:,}{left_out}"
    bounds = bounds if kept is None else kept
    return {"name": target.name[:_NAME], "drawing": drawing, "bounds": bounds}, note


def file_kind(path: str | os.PathLike[str]) -> Kind:
    """What a file is, by its first bytes, else by its suffix.

    Raises
    ------
    InputError
        If it cannot be read, or is nothing known.
    """
    name = os.fspath(path)
    ending = Path(name).suffix.lower()
    kind, sequence = _SUFFIXES.get(ending), ending in SEQUENCES
    if kind == "examples" and os.path.isdir(name):  # a geodatabase of files is a folder
        return kind
    if os.path.exists(name) and not os.path.isfile(name):
        raise InputError(f"{name}: is not a file")
    try:
        with open(name, "rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
    if start.startswith(b"PK") and not _holds_shapefile(name):
        return "session"
    if start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") and not sequence:
        return "target"
    if kind is None:
        raise InputError(
            f"{name}: is not a session (.geodp), a target (.geojson) or examples (.csv, .gpkg)"
        )
    return kind


def _holds_shapefile(name: str) -> bool:
    try:
        with zipfile.ZipFile(name) as archive:
            return any(member.lower().endswith(".shp") for member in archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


@contextlib.contextmanager
def _refusals(path: str | os.PathLike[str]) -> Iterator[None]:
    """One clear :class:`InputError` for what a target file may suffer from."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from None
    except NoPolygonsError as error:
        raise PointsOnlyError(str(error)) from None
    except GeoJSONError as error:  # names the file already
        raise InputError(str(error)) from None
    except InputError as error:
        if str(error).startswith(os.fspath(path)):
            raise
        raise InputError(f"{os.fspath(path)}: {error}") from None
