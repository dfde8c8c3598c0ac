"""Brings files into a document, and writes files of it: target shapes, examples, sessions, bounds.

To *import* a target or examples is an edit of the session that is there.  To *open* them begins
something else: what was there goes (undo brings it back), and the session's file is let go of, so
that it is never overwritten by other content.

Only a release may be published (:mod:`learners.core.records`): the other exports are private.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from geodp_app.document.document import Document
from geodp_app.document.examples import Examples, Frame
from geodp_app.document.targets import GridChange, place_drawing
from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing
from geodp_app.files.learned_file import SHAPE_FORMATS, shape_files
from geodp_app.files.ledger_recording import beside, ledger_of_session
from geodp_app.files.points import TEXT_ENDINGS, format_examples, read_examples
from geodp_app.files.run_record import RunRecord
from geodp_app.files.run_report import records_text
from geodp_app.files.session import load_session
from geodp_app.files.strict_reading import ZIP_FAULTS
from geodp_app.files.writing import check_ending, named_failures, write_files, write_whole
from geodp_app.formatting import counted
from geometry.crs import LONLAT
from geometry.errors import InputError, file_errors, refusals
from geometry.geojson import GeoJSONError, NoPolygonsError, read_geojson
from geometry.geojson_reading import SEQUENCES
from geometry.geojson_write import feature_collection, geojson_text
from geometry.gis_files import LAYER_ENDINGS
from geometry.globe import lonlat_box
from geometry.grid import Bounds
from geometry.mask import Mask, read_mask
from learners import __version__
from learners.core.learned_shape import LearnedShape
from learners.core.records import StepRecord
from learners.core.releases import Release

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
    """The result of opening a file."""

    kind: Kind
    #: One line for the person.
    note: str
    #: The run of a session.
    run: RunRecord | None = None


class PointsOnlyError(InputError):
    """A map file that holds no shape: its points may be examples."""


def open_any(path: str | os.PathLike[str], document: Document, *, asks: bool = False) -> Opened:
    """Open a session, a target or examples: what the file is, else what it is called.

    A target or examples begin an untitled session with the settings and the grid that are there.
    Raises PointsOnlyError if it is a map file of points; InputError if it is none of the three, or
    cannot be used as it is; the document is then as it was.  `asks`: refuse examples that ask
    something (:func:`geodp_app.files.points.read_examples`), as :func:`import_examples` does.
    """
    kind = file_kind(path)
    if kind == "session":
        work, run = load_session(path)
        document.new(replace(work, ledger=ledger_of_session(work, path)), Path(path))
        return Opened("session", f"{Path(path).name}: opened. It holds private data.", run)
    blank = _blank(document.work)
    if kind == "examples":
        examples = read_examples(path, blank.frame, asks=asks)
        return take_examples(path, examples, document, opening=True)
    fields, note = _read_target(path, blank)
    fields |= {"examples": None, "simulated": True, "within": None}
    document.change(f"open {Path(path).name}", **fields)
    document.mark_saved(None)
    return Opened(kind, note)


def import_target(path: str | os.PathLike[str], document: Document) -> Opened:
    """Replace the drawing by the polygons of a GeoJSON file, in one undoable step.

    The grid stays.  Imported examples keep their place on the globe, if they have one, and the
    shape is put there; else the bounds come from the file.  Raises InputError if the file cannot be
    read, or nothing of it is left on the grid.
    """
    fields, note = _read_target(path, document.work)
    document.change(f"import {Path(path).name}", **fields)
    return Opened("target", note)


def import_examples(
    path: str | os.PathLike[str], document: Document, *, asks: bool = False
) -> Opened:
    """Take the examples of a CSV file that needs no questions, in one undoable step.

    The frame of the file, if it states one, becomes the document's; the drawing follows it.  One
    that a simulated sample was of goes with that sample: it has nothing to do with these examples.
    Raises InputError if the file cannot be read, a row is wrong, or columns in degrees have no
    public bounds: neither the file's own nor the document's.
    """
    examples = read_examples(path, document.work.frame, asks=asks)
    return take_examples(path, examples, document, opening=False)


def import_mask(path: str | os.PathLike[str], document: Document, layer: str | None = None) -> str:
    """Clip the learned shape to the polygons of a map, in one undoable step; a line on it.  Raises
    InputError if the file cannot be read, has no polygons, or none of them lie on the grid;
    SeveralLayersError if which layer is meant is not said."""
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

    `path`: where they come from.  `opening`: begin an untitled session with them, without the
    drawing.  `left_out`: rows of the file that are not among them.
    """
    name = Path(path).name
    work = work_with(examples, document.work, path if opening else None)
    fields = ("drawing", "bounds", "examples", "simulated", "name", "within")
    label = f"{'open' if opening else 'import'} {name}"
    taken = {field: getattr(work, field) for field in fields}
    gone = not opening and document.drawing.shapes and not work.drawing.shapes
    left, ledger = document.work.ledger, beside(path)
    document.change(label, **taken, ledger=ledger)
    if opening:
        document.mark_saved(None)
    inside = int(examples.labels.sum())
    note = f"{name}: {counted(len(examples.labels), 'example')}, {inside:,} with label 1"
    note += f"; {counted(left_out, 'row')} left out" if left_out else ""
    note += "; the drawing of the simulated sample is gone: undo brings both back" if gone else ""
    if not opening and left not in (None, ledger):
        note += f"; what runs on them spend is not entered in {Path(left).name} any more"
    return Opened("examples", note)


def work_with(examples: Examples, work: Work, opened: str | os.PathLike[str] | None = None) -> Work:
    """The work as it would be with these examples.

    `opened`: the file that is opened; None to keep the drawing, in the examples' frame, unless it
    is that of a simulated sample.
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
    """What a file is, by its first bytes, else by its suffix; raises InputError if it cannot be
    read, or is nothing known."""
    name = os.fspath(path)
    ending = Path(name).suffix.lower()
    kind, sequence = _SUFFIXES.get(ending), ending in SEQUENCES
    if kind == "examples" and os.path.isdir(name):  # a geodatabase of files is a folder
        return kind
    if os.path.exists(name) and not os.path.isfile(name):
        raise InputError(f"{name}: is not a file")
    with file_errors(name), open(name, "rb") as file:
        start = file.read(4096)
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
    except (OSError, *ZIP_FAULTS):
        return False


@contextlib.contextmanager
def _refusals(path: str | os.PathLike[str]) -> Iterator[None]:
    """One clear :class:`InputError` for what a target file may suffer from."""
    try:
        with file_errors(path):
            yield
    except NoPolygonsError as error:
        raise PointsOnlyError(str(error)) from None
    except GeoJSONError as error:  # names the file already
        raise InputError(str(error)) from None
    except InputError as error:
        if str(error).startswith(os.fspath(path)):
            raise
        raise InputError(f"{os.fspath(path)}: {error}") from None


def export_release(
    path: str | os.PathLike[str], release: Release, frame: Frame, within: Mask | None = None
) -> str:
    """The learned shape by the name's ending, GeoJSON without: what may be published.

    The person was asked whether a file that is there may go; other layers of a GeoPackage stay.
    Raises InputError if the name has another format's ending, or the file cannot be written; so do
    the other exports.  Returns what has been written, where, and what it holds.  `within`: public;
    the polygons are clipped to it.
    """
    check_ending(path, "a shape")
    shape = LearnedShape(release, frame, () if within is None else (within,))
    with named_failures(path):
        write_files(shape_files(path, shape, overwrite=True))
    return _written(Path(path), shape)


def _written(path: Path, shape: LearnedShape) -> str:
    layers = shape.layers()
    polygons = sum(part.geom_type == "Polygon" for part in shapely.get_parts(layers["learned"]))
    holds = [counted(polygons, "polygon")]
    if "support" in layers:
        holds.append("where there were enough reports")
    whose = "its" if polygons == 1 else "their"
    private = shape.privacy is not None and shape.privacy.private
    holds.append(
        f"{whose} privacy statement" if private else "the statement that the run is not private"
    )
    held = f"{', '.join(holds[:-1])} and {holds[-1]}"
    clipped = f", clipped to {shape.clipped_to}" if shape.masks else ""
    nowhere = "" if shape.frame.bounds is not None else "; at 0..1 degrees: no bounds are known"
    kind = SHAPE_FORMATS.get(path.suffix.lower(), "GeoJSON")
    return f"{kind} written: {path.name} in {path.parent}; {held}{clipped}{nowhere}"


def export_target(path: str | os.PathLike[str], work: Work) -> None:
    """The drawing as GeoJSON: private, mode 0600.  Reading it back gives the same region.

    Shapes whose union has corners off the grid are features by themselves: there the union is
    rounded, and a grid point on an edge would lie beside it.  Raises InputError if nothing is
    drawn, or as :func:`export_release`.
    """
    check_ending(path, "GeoJSON")
    region = work.drawing.region()
    if region.is_empty:
        raise InputError("nothing is drawn: draw a shape first")

    def written(shape: BaseGeometry) -> dict[str, Any]:
        about = {"name": work.name}
        return feature_collection(
            shape, work.frame, member={"version": __version__}, properties=about
        )

    collection = written(region)
    corners = shapely.get_coordinates(region)
    if (corners != np.rint(corners)).any():
        features = [written(shape.region())["features"] for shape in work.drawing.shapes]
        collection["features"] = list(itertools.chain.from_iterable(features))
    write_whole(path, geojson_text(collection), private=True)


def export_examples(path: str | os.PathLike[str], examples: Examples) -> None:
    """The examples as CSV with their frame: private, mode 0600."""
    check_ending(path, "CSV")
    write_whole(path, format_examples(examples), private=True)


def export_steps(path: str | os.PathLike[str], records: Iterable[StepRecord]) -> None:
    """The steps of a run as JSON lines, with the curator's diagnostics: private, mode 0600."""
    check_ending(path, "JSON lines")
    write_whole(path, records_text(records), private=True)


#: In the order of :meth:`geometry.grid.Bounds.as_tuple`.
SIDES = ("West", "South", "East", "North")


def typed_bounds(texts: Mapping[str, str], crs: str = LONLAT) -> Bounds:
    """The box that is typed in a system; raises InputError if it is no box; the message is empty as
    long as something is missing. `texts`: a text for each of :data:`SIDES`."""
    values = []
    for side in SIDES:
        text = texts[side].strip()
        try:
            # a minus sign or a comma as they come from a map's page
            values.append(float(text.replace("−", "-").replace(",", ".").rstrip("° ")))
        except ValueError:
            if text and text not in "-−+.":
                raise InputError(f"{side}: {text[:40]!r} is not a number") from None
    if len(values) < len(SIDES):
        raise InputError("")
    with refusals():
        return Bounds(*values, crs=crs)


def bounds_of_map(path: str | os.PathLike[str]) -> Bounds:
    """The bounds that a map file states, else the box around its shapes.

    A file of points is refused: it may hold the examples themselves.  Raises InputError if it
    cannot be read, has no shapes, or lies nowhere on the globe.
    """
    name = os.fspath(path)
    try:
        with _refusals(path):
            target = read_geojson(path)
            if target.bounds is not None and target.member.get("georeferenced") is not False:
                return target.bounds
            if target.frame == "grid" or target.bounds is not None:
                raise InputError(f"{name}: its shape lies nowhere on the globe; choose another map")
            return Bounds(*lonlat_box(target.outlines))
    except PointsOnlyError:
        raise InputError(
            f"{name}: has no shape; bounds are taken from shapes only, as points may be private"
        ) from None
