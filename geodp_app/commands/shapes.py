"""`geodp evaluate`, `predict`, `render` and `areas`: what is done with a learned shape.

It is compared with labelled examples, labels points, is drawn, and is measured by district.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp_app.commands import Parser, arguments, points
from geodp_app.document.examples import DEFAULT_GRID, Frame, count_mistakes
from geodp_app.files.import_file import ImportFile, place_of
from geodp_app.files.points import PointsRead, read_points
from geodp_app.files.points_out import Added, points_files
from geodp_app.files.writing import STDOUT, NewFile, write_files
from geodp_app.formatting import MISSING, aligned, counted, decimal, percentage
from geodp_app.progress import tell
from geometry.arrays import Ints
from geometry.errors import InputError, printable, refusals
from geometry.polygons import contains_points

if TYPE_CHECKING:
    from learners.core.releases import Release

EVALUATE = f"""Compare a learned shape with labelled examples.

A file written by `geodp learn` holds the shape's exact form, and by that points are labelled,
without rounding, within the map that it was clipped to. Any other GeoJSON polygons are compared as
they are; points on their edge count as inside.

{points.FORMS}

The figures come straight from the examples: they are not differentially private."""


def evaluate_options(parser: Parser) -> None:
    parser.add_argument("learned", type=Path, metavar="LEARNED", help="GeoJSON")
    parser.add_argument("points", type=Path, metavar="POINTS", help="labelled points")
    points.add_points_options(parser, "grid size of the examples (default: what the files say)")
    arguments.add_within(parser, "label 0 whatever lies outside of")
    arguments.add_flags(parser, "json")


def evaluate(options: argparse.Namespace) -> None:
    """Read both files, compare, print."""
    from geodp_app.files.learned_file import read_learned

    mask = arguments.read_within(options)
    learned = read_learned(options.learned)
    examples = points.read(options.points, options, fallback=learned.frame, quiet=options.json)
    if not len(examples.labels):
        raise InputError(f"{options.points}: has no examples to compare with")
    predicted = learned.predict(examples, mask)
    figures = mistakes(predicted, examples.labels)
    if options.json:
        print(json.dumps({**figures, "decided_by": _decided_by(learned.release)}))
        return
    n = figures["examples"]
    for name, key in (
        ("error", "errors"),
        ("false positives", "false_positives"),
        ("false negatives", "false_negatives"),
    ):
        print(f"{name:16}{figures[key] / n:10.4%}{figures[key]:12,} of {n:,}")
    print("These figures describe the examples: they are private.")


def _decided_by(release: Release | None) -> str:
    """What decides the labels: halfplanes, discs, ellipses, polynomials or, without a release,
    polygons."""
    from learners.core.releases import ConicRelease, LiftedRelease

    if release is None:
        return "polygons"
    if isinstance(release, LiftedRelease):
        return "polynomials"
    return f"{release.lattice.kind}s" if isinstance(release, ConicRelease) else "halfplanes"


def mistakes(predicted: Ints, labels: Ints) -> dict[str, Any]:
    """Counts of examples, at least one, and of errors, and the error as a fraction."""
    false_positives, false_negatives = count_mistakes(predicted, labels)
    errors = false_positives + false_negatives
    return {
        "examples": len(labels),
        "positives": int((labels == 1).sum()),
        "errors": errors,
        "false_positives": false_positives,
        "false_negatives": false_negatives,
        "error": errors / len(labels),
    }


PREDICT = f"""Label points by a learned shape: inside 1, outside 0.

LEARNED is a file of `geodp learn`, or any polygons in GeoJSON or a GIS format.

{points.FORMS}
These points need no labels.

The output has the columns of POINTS and a column `predicted`; if the shape was learned with
--support, also `supported`: whether there were enough reports there to say anything. It is CSV,
GeoJSON or a GIS format, by its ending; in the format of POINTS all else stays as it was. A
released shape may be used in any way, so its predictions cost no epsilon; the points themselves are
as private as they were."""


def predict_options(parser: Parser) -> None:
    parser.add_argument("learned", type=Path, metavar="LEARNED", help="learned shape")
    parser.add_argument("points", type=Path, metavar="POINTS", help="points to label")
    grid = "grid size of the points (default: the learned shape's)"
    points.add_points_options(parser, grid, labelled=False)
    arguments.add_within(parser, "label 0 whatever lies outside of")
    arguments.add_output(
        parser, "points to write: .csv, .geojson, .geojsonl, .gpkg, .fgb, .shp or .parquet"
    )
    arguments.add_flags(parser, "quiet")


def predict(options: argparse.Namespace) -> None:
    """Read both, label, write."""
    from geodp_app.files.learned_file import read_learned
    from learners.core.releases import support_shape

    streamed = options.points == Path("-") and not options.points.exists()
    if streamed or options.points.is_fifo() or options.points.is_char_device():
        with tempfile.TemporaryDirectory(prefix="geodp-") as folder:  # it is read twice
            held = Path(folder) / "standard-input"
            with open(0 if streamed else options.points, "rb", closefd=not streamed) as stream:
                held.write_bytes(stream.read())
            given, options.points = options.points, held
            try:
                predict(options)
            except InputError as error:  # nobody has that file
                raise InputError(str(error).replace(str(held), str(given))) from None
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
    _write(options, options.points, read, added)
    points.tell_of(options.points, read, options, quiet=options.quiet)
    said = f"{counted(len(predicted), 'point')}, {int(predicted.sum()):,} of them inside"
    tell(f"{options.output}: {said}", quiet=options.quiet)


def _write(
    options: argparse.Namespace, source: Path, read: PointsRead | ImportFile, added: Added
) -> None:
    """Write rows of a file with new columns, where and over what the options say."""
    how = {"layer": options.layer, "overwrite": options.overwrite}
    write_files(points_files(options.output, source, read, added, **how))


RENDER = """Draw a learned shape on its grid, with its privacy statement, as PNG or SVG.

LEARNED is a file of `geodp learn`, or any polygons in GeoJSON or a GIS format. Nothing of the
examples is in the picture: it may be published as the shape may."""


def render_options(parser: Parser) -> None:
    parser.add_argument("learned", type=Path, metavar="LEARNED", help="learned shape")
    arguments.add_within(parser, "clip the shape to")
    parser.add_argument("--title", metavar="TEXT", help="above the picture (default: the file)")
    arguments.add_output(parser, "PNG or SVG to write")
    arguments.add_flags(parser, "quiet")


def render(options: argparse.Namespace) -> None:
    """Read a learned shape and write its picture."""
    arguments.check_outputs(options, [options.learned, options.within], output="PNG or SVG")
    from geodp_app.files.learned_file import read_learned
    from geodp_app.files.run_report import release_figures, support_caption
    from geodp_app.files.svg_picture import picture_svg
    from geodp_app.views.pictures import drawn_png
    from geometry.crs import LONLAT
    from geometry.globe import lonlat_box
    from geometry.grid import Bounds

    mask = arguments.read_within(options)
    learned = read_learned(options.learned)
    shape, frame = learned.shape, learned.frame
    if frame is None or (shape is None and frame.bounds is None):
        # polygons alone: on the square around them
        target = learned.target
        if target.frame == "grid":
            frame = Frame(target.grid or max(1, round(max(target.outlines.bounds[2:]))))
        else:
            box = target.outlines.bounds
            box = lonlat_box(target.outlines) if target.crs == LONLAT else box
            frame = Frame(DEFAULT_GRID, Bounds(*box, crs=target.crs))
    figures: tuple[tuple[str, str], ...] = ()
    caption = ""
    if shape is None:
        layers = {"learned": learned.target.on_grid(frame.d, frame.bounds)}
    else:
        layers = shape.layers()
        figures, caption = release_figures(shape.release), support_caption(shape.release)
    if mask is not None:
        layers["learned"] = mask.clip(layers["learned"], frame)
    if shape is None and layers["learned"].is_empty:
        raise InputError(f"{options.learned}: no polygons in it")
    title = f"Learned shape: {options.learned.name}" if options.title is None else options.title
    svg = picture_svg(frame, layers, title, figures, caption=caption)
    drawn = svg if options.output.suffix.lower() == ".svg" else drawn_png(svg)
    write_files([NewFile(options.output, drawn)])
    said = "" if shape is None else f": {shape.guarantee}"
    tell(f"{options.output}{said}", quiet=options.quiet)


#: What is measured of a district, by the names of columns.
COLUMNS = {
    "in_bounds": "part of the district that lies within the bounds; all else is of that part",
    "area_km2": "its area",
    "shape_km2": "area of the shape in it",
    "share": "part of the area that the shape has",
    "unreported": "part of the area that had hardly any reports, if the release tells",
    "in_doubt": "part of the shape in it that had hardly any",
}
_COLUMN_LINES = "\n".join(f"  {name:<11} {words}" for name, words in COLUMNS.items())

AREAS = f"""Measure a learned shape in each of some districts.

LEARNED is a file of `geodp learn`: GeoJSON, GeoPackage or GeoParquet. Districts are polygons in
GeoJSON or a GIS format, in any coordinate reference system. Areas are geodesic, on the ellipsoid
of WGS 84. Of a shape without bounds, and districts in its grid units, there are shares alone.

{_COLUMN_LINES}

A clipped shape is measured as clipped. All is computed from the release, bounds and public maps:
it costs no epsilon, and may be published as the shape may. No margin of error is stated, as none
is known: where a border lies that the reports do not show, no release tells."""


def areas_options(parser: Parser) -> None:
    parser.add_argument("learned", type=Path, metavar="LEARNED", help="learned shape")
    parser.add_argument(
        "--districts", type=arguments.named_shape, required=True, metavar="FILE",
        help="public polygons, or an example by its name",
    )  # fmt: skip
    parser.add_argument("--layer", metavar="NAME", help="layer of a file with several")
    parser.add_argument(
        "--name",
        metavar="COLUMN",
        help="column that names a district in the table (default: name, else the first)",
    )
    arguments.add_output(
        parser,
        "districts to write with these columns beside their own: .csv (without polygons), "
        ".geojson, .geojsonl, .gpkg, .fgb, .shp or .parquet",
        required=False,
    )
    arguments.add_flags(parser, "quiet")


def areas(options: argparse.Namespace) -> None:
    """Read both, measure, print and write."""
    from geodp_app.files.districts import measured, open_districts
    from geodp_app.files.learned_file import read_shape

    arguments.check_outputs(options, [options.learned, options.districts], output="districts")
    shape = read_shape(options.learned)
    file, districts = open_districts(options.districts, options.layer)
    with refusals(options.districts, InputError):
        found = measured(shape, districts)
    names = _names(file, options.name)
    if options.output is not None:
        _write(options, options.districts, file, found)
    if not options.quiet:
        cells = [[_cell(name, v) for v in values.tolist()] for name, values in found.items()]
        lines = aligned([["district", *found], *map(list, zip(names, *cells, strict=True))])
        # standard output may be the file
        stream = sys.stderr if os.fspath(options.output or "") == STDOUT else sys.stdout
        stream.write("\n".join([*lines, "", shape.statement, ""]))


def _names(file: ImportFile, wanted: str | None) -> Sequence[str]:
    """What the districts are called."""
    columns = [each.lower() for each in file.columns]
    at = columns.index("name") if "name" in columns else 2  # after the place
    if wanted is not None:
        at = place_of(wanted, file.columns, placed=file.placed)
    if len(columns) == 2:
        return [str(i + 1) for i, _ in enumerate(file.rows)]
    return [printable(row[at]) for row, _, _ in file.rows]


def _cell(column: str, value: float) -> str:
    if value != value:
        return MISSING
    return decimal(value, 3) if column.endswith("km2") else percentage(value)
