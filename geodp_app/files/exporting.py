"""Writes files from a document.  Only a release may be published: :mod:`learners.core.records`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Examples, Frame
from geodp_app.document.work import Work
from geodp_app.errors import InputError
from geodp_app.files.examples_csv import format_examples
from geodp_app.files.learned_file import SHAPE_FORMATS, shape_files
from geodp_app.files.run_report import records_text
from geodp_app.files.writing import check_ending, named_failures, write_files, write_whole
from geodp_app.formatting import counted
from geometry.geojson_write import feature_collection, write_geojson
from geometry.mask import Mask
from learners import __version__
from learners.core.learned_shape import LearnedShape
from learners.core.records import StepRecord
from learners.core.releases import Release


def export_release(
    path: str | os.PathLike[str], release: Release, frame: Frame, within: Mask | None = None
) -> str:
    """The learned shape by the name's ending, GeoJSON without: what may be published.

    Parameters
    ----------
    path : path-like
    release : Release
    frame : Frame
    within : Mask, optional
        Public; the polygons are clipped to it.

    The person was asked whether a file that is there may go; other layers of a GeoPackage stay.

    Returns
    -------
    str
        What has been written, where, and what it holds.

    Raises
    ------
    InputError
        If the name has another format's ending, or the file cannot be written; so do the other
        exports.
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
    rounded, and a grid point on an edge would lie beside it.

    Raises
    ------
    InputError
        If nothing is drawn, or as :func:`export_release`.
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
    with named_failures(path):
        write_geojson(path, collection, private=True)


def export_examples(path: str | os.PathLike[str], examples: Examples) -> None:
    """The examples as CSV with their frame: private, mode 0600."""
    check_ending(path, "CSV")
    write_whole(path, format_examples(examples), private=True)


def export_steps(path: str | os.PathLike[str], records: Iterable[StepRecord]) -> None:
    """The steps of a run as JSON lines, with the curator's diagnostics: private, mode 0600."""
    check_ending(path, "JSON lines")
    write_whole(path, records_text(records), private=True)
