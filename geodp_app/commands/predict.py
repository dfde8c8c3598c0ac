"""`geodp predict` labels points by a learned shape."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from geodp_app.commands import arguments, points
from geodp_app.commands.parser import Parser
from geodp_app.errors import InputError
from geodp_app.files.points import read_points
from geodp_app.files.points_out import points_files
from geodp_app.files.writing import write_files
from geodp_app.formatting import counted
from geodp_app.progress import tell
from geometry.polygons import contains_points

DESCRIPTION = f"""Label points by a learned shape: inside 1, outside 0.

LEARNED is a file of `geodp learn`, or any polygons in GeoJSON or a GIS format.

{points.FORMS}
These points need no labels.

The output has the columns of POINTS and a column `predicted`; if the shape was learned with
--support, also `supported`: whether there were enough reports there to say anything. It is CSV,
GeoJSON or a GIS format, by its ending; in the format of POINTS all else stays as it was. A
released shape may be used in any way, so its predictions cost no epsilon; the points themselves are
as private as they were."""


def add_options(parser: Parser) -> None:
    """Add what the verb takes."""
    parser.add_argument("learned", type=Path, metavar="LEARNED", help="learned shape")
    parser.add_argument("points", type=Path, metavar="POINTS", help="points to label")
    grid = "grid size of the points (default: the learned shape's)"
    points.add_points_options(parser, grid, labelled=False)
    arguments.add_within(parser, "label 0 whatever lies outside of")
    arguments.add_output(
        parser, "points to write: .csv, .geojson, .geojsonl, .gpkg, .fgb, .shp or .parquet"
    )
    arguments.add_quiet(parser)


def run(options: argparse.Namespace) -> None:
    """Read both, label, write."""
    from geodp_app.files.learned_file import read_learned
    from learners.core.releases import support_shape

    streamed = options.points == Path("-") and not options.points.exists()
    if streamed or options.points.is_fifo() or options.points.is_char_device():
        with tempfile.TemporaryDirectory(prefix="geodp-") as folder:  # it is read twice
            held = Path(folder) / "standard-input"
            with open(0 if streamed else options.points, "rb", closefd=not streamed) as stream:
                held.write_bytes(stream.read())
            options.points = held
            run(options)
        return
    inputs = [options.learned, options.points, options.within]
    arguments.check_outputs(options, inputs, output="points")
    mask = arguments.read_within(options)
    learned = read_learned(options.learned)
    reading = points.point_options(options, learned.frame, labelled=False)
    read = read_points(options.points, reading, learned.frame)
    examples = read.examples
    if not len(examples.labels):
        raise InputError(f"{options.points}: has no points to label")
    predicted = learned.predict(examples, mask)
    added = {"predicted": predicted}
    supported = None if learned.release is None else support_shape(learned.release)
    if supported is not None:
        there = contains_points(supported, learned.in_own_frame(examples))
        added["supported"] = there.astype(np.int64)
    files = points_files(
        options.output,
        options.points,
        read,
        added,
        layer=options.layer,
        overwrite=options.overwrite,
    )
    write_files(files)
    points.tell_of(options.points, read, options, quiet=options.quiet)
    said = f"{counted(len(predicted), 'point')}, {int(predicted.sum()):,} of them inside"
    tell(f"{options.output}: {said}", quiet=options.quiet)
