"""Bringing files into a document: target shapes, examples, sessions.

To *import* a target or examples is an edit of the session that is there.  To *open* them begins
something else: what was there goes (undo brings it back), and the session's file is let go of, so
that it is never overwritten by other content.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from geodp_app.document.document import Document
from geodp_app.document.session import load_session
from geodp_app.document.targets import GridChange, place_drawing
from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing
from geodp_app.errors import InputError
from geodp_app.examples_csv import read_examples
from geodp_app.runs.stored_run import StoredRun
from geometry.geojson import GeoJSONError, read_geojson
from geometry.grid import Bounds

Kind = Literal["session", "target", "examples"]

_SUFFIXES: dict[str, Kind] = {
    ".geodp": "session", ".geojson": "target", ".json": "target", ".csv": "examples"
}  # fmt: skip
#: Names of drawings are cut to this.
_NAME = 100


@dataclass(frozen=True, slots=True)
class Opened:
    """What came of opening a file.

    Attributes
    ----------
    kind : {"session", "target", "examples"}
    note : str
        One line for the person.
    run : StoredRun or None
        The run of a session.
    """

    kind: Kind
    note: str
    run: StoredRun | None = None


def open_any(
    path: str | os.PathLike[str], document: Document, bounds: Bounds | None = None
) -> Opened:
    """Open a session, a target or examples: what the file is, else what it is called.

    A target or examples begin an untitled session with the settings and the grid that are there.

    Parameters
    ----------
    path : path-like
    document : Document
    bounds : Bounds, optional
        Public bounds of examples in degrees that state none.

    Raises
    ------
    BoundsNeededError
        If there are none; the document is then as it was.
    InputError
        If it is none of the three, or cannot be used; the document is then as it was.
    """
    kind = file_kind(path)
    if kind == "session":
        work, run = load_session(path)
        document.new(work, Path(path))
        return Opened("session", f"{Path(path).name}: opened. It holds private data.", run)
    blank = replace(
        document.work, drawing=Drawing(document.drawing.grid), bounds=None, examples=None
    )
    if kind == "target":
        fields, note = _read_target(path, blank)
        fields |= {"examples": None, "simulated": True}
    else:
        fields, note = _read_examples(path, blank, bounds)
        fields |= {"name": Path(path).stem[:_NAME]}
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


def import_examples(
    path: str | os.PathLike[str], document: Document, bounds: Bounds | None = None
) -> Opened:
    """Take the examples of a CSV file, in one undoable step; drawing does not change them.

    The frame of the file, if it states one, becomes the document's; the drawing follows it.

    Parameters
    ----------
    path : path-like
    document : Document
    bounds : Bounds, optional
        Public bounds of examples in degrees; by default the file's own, else the document's.

    Raises
    ------
    BoundsNeededError
        If there are none; the document is then as it was.
    InputError
        If the file cannot be read or a row is wrong.
    """
    fields, note = _read_examples(path, document.work, bounds)
    document.change(f"import {Path(path).name}", **fields)
    return Opened("examples", note)


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


def _read_examples(
    path: str | os.PathLike[str], work: Work, bounds: Bounds | None
) -> tuple[dict[str, Any], str]:
    """What examples change in the work, and a line about them."""
    examples = read_examples(path, bounds=bounds, fallback=work.frame)
    drawing = GridChange.between(work.frame, examples.frame).drawing(work.drawing)
    inside = int(examples.labels.sum())
    note = f"{Path(path).name}: {len(examples.labels):,} examples, {inside:,} with label 1"
    fields = {
        "drawing": drawing,
        "bounds": examples.frame.bounds,
        "examples": examples,
        "simulated": False,
    }
    return fields, note


def file_kind(path: str | os.PathLike[str]) -> Kind:
    """What a file is, by its first bytes, else by its suffix.

    Raises
    ------
    InputError
        If it cannot be read, or is nothing known.
    """
    name = os.fspath(path)
    if os.path.exists(name) and not os.path.isfile(name):
        raise InputError(f"{name}: is not a file")
    try:
        with open(name, "rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
    if start.startswith(b"PK"):
        return "session"
    if start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return "target"
    kind = _SUFFIXES.get(Path(name).suffix.lower())
    if kind is None:
        raise InputError(
            f"{name}: is not a session (.geodp), a target (.geojson) or examples (.csv)"
        )
    return kind


@contextlib.contextmanager
def _refusals(path: str | os.PathLike[str]) -> Iterator[None]:
    """One clear :class:`InputError` for what a target file may suffer from."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from None
    except GeoJSONError as error:  # names the file already
        raise InputError(str(error)) from None
    except InputError as error:
        raise InputError(f"{os.fspath(path)}: {error}") from None
