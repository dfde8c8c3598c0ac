"""Adds the options of commands that read labelled points, and reads the points by them."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from geodp_app.commands import Parser, arguments
from geodp_app.document.examples import LARGE_GRIDS, Examples, Frame
from geodp_app.files.import_file import person_column, person_words
from geodp_app.files.points import (
    OUT_OF_BOUNDS,
    TIGHT,
    UNUSABLE,
    PointOptions,
    PointsRead,
    read_points,
)
from geodp_app.progress import tell, tell_curator
from geodp_app.tables.source import columns_of
from geometry.crs import canonical_crs
from geometry.errors import refusals
from learners.core.examples import COMMON, LabelWords

if TYPE_CHECKING:
    from geodp_app.tables.counts import TableCounts

#: What POINTS may be, for descriptions.
FORMS = """POINTS is a CSV with a header: x,y,label in grid units 0..d, or lon,lat,label in degrees
with --bounds. Other names, separators (; tab |), decimal commas, points as text (WKT), and labels
such as true and false or yes and no are understood. GeoJSON is read as well, also a feature on
each line, and, after pip install 'geodp[geo]', GeoPackage, shapefiles, FlatGeobuf, GeoParquet and
whatever else GDAL reads. Columns are recognised by their names; say others with --columns, and
other labels with --inside. A - is standard input."""


def add_points_options(parser: Parser, grid: str, *, labelled: bool = True) -> None:
    """Grid, bounds, system, columns, layer, labels, rows; `grid` says what the grid's size is by
    default, `labelled` whether there are labels."""
    parser.add_argument(
        "--grid", type=arguments.grid_size, metavar="D", help=f"{grid}; {LARGE_GRIDS}"
    )
    arguments.add_bounds(parser)
    parser.add_argument(
        "--columns",
        type=columns_of,
        metavar="ROLE=NAME,...",
        help="columns of other names, such as lon=longitude,lat=latitude,label=wet",
    )
    parser.add_argument("--layer", metavar="NAME", help="layer of a file with several")
    parser.add_argument(
        "--out-of-bounds",
        choices=OUT_OF_BOUNDS,
        default="refuse",
        help="rows outside the bounds: refuse the file, drop them, or clip them to the nearest "
        "place inside; what a row becomes depends on that row alone, so the guarantee is the "
        "same (default: %(default)s)",
    )
    what = "a usable label or place" if labelled else "a usable place"
    parser.add_argument(
        "--unusable",
        choices=UNUSABLE,
        default="refuse",
        help=f"rows without {what}: refuse the file, or drop them, each by itself; how many is "
        "told at a terminal alone (default: %(default)s)",
    )
    if not labelled:
        return
    inside = "labels that say inside, such as flooded; all others then say outside (default: "
    for option, words in (
        ("--inside", f"{inside}1, true, yes, inside)"),
        ("--outside", "with --inside: labels that say outside; any other is then none"),
    ):
        parser.add_argument(option, type=labels_of, metavar="LABEL,...", help=words)


def labels_of(text: str) -> tuple[str, ...]:
    """Labels, separated by commas and quoted as in CSV."""
    return tuple(next(csv.reader([text], skipinitialspace=True), [])) or ("",)  # refused there


def point_options(
    options: argparse.Namespace, fallback: Frame | None = None, *, labelled: bool = True
) -> PointOptions:
    """What the options say of POINTS; they may need no labels, nor bounds beside a fallback's.
    Raises InputError if the bounds are none."""
    bounds, crs = None, None
    if options.bounds is None and options.crs and fallback is not None and fallback.bounds:
        with refusals("argument --crs"):
            crs = canonical_crs(options.crs)
    else:
        bounds = arguments.stated_bounds(options)
        if options.crs is not None and bounds is not None:
            crs = bounds.crs
    words = COMMON
    if labelled:
        words = LabelWords.named(options.inside or (), options.outside or ())
    return PointOptions(
        options.grid,
        bounds,
        options.columns or {},
        crs,
        options.layer,
        options.out_of_bounds,
        options.unusable,
        words,
        getattr(options, "id", None),
        labelled,
        rows=getattr(options, "rows", 1),
    )


def read(
    path: Path, options: argparse.Namespace, *, fallback: Frame | None = None, quiet: bool
) -> Examples:
    """Read POINTS; tells what was guessed, and to the curator what lay outside the bounds.  Raises
    InputError as :func:`geodp_app.files.points.read_points`."""
    found = read_points(path, point_options(options, fallback), fallback)
    tell_of(path, found, options, quiet=quiet)
    return found.examples


def tell_of(path: Path, found: PointsRead, options: argparse.Namespace, *, quiet: bool) -> None:
    """Say what was guessed and what is said of all rows, and to the curator which lay outside."""
    if found.guessed:
        tell(f"geodp: {found.guessed}", quiet=quiet)
    if found.beyond:
        done = "dropped" if options.out_of_bounds == "drop" else "moved to its edge"
        tell_curator(
            f"geodp: {path}: rows outside the bounds: {found.beyond:,}, {done}", quiet=quiet
        )
    tell_rows(path, found.file.columns, found, options, quiet=quiet)


def tell_rows(
    name: object,
    columns: Sequence[str],
    found: PointsRead | TableCounts,
    options: argparse.Namespace,
    *,
    quiet: bool,
) -> None:
    """Say which column may tell whose a row is, by its name alone, and to the curator that bounds
    are the points' extent and how many rows were dropped."""
    person = person_column(columns, (options.columns or {}).values())
    if person is not None and getattr(options, "id", "") is None:
        tell(f"geodp: {name}: {person_words(person)}: then give --id {person}", quiet=quiet)
    if found.tight:
        tell_curator(f"geodp: warning: {name}: {TIGHT}", quiet=quiet)
    if found.dropped:
        # of a table that names persons these were counted
        rows = "rows" if getattr(found, "unit", None) is None else "persons with rows"
        words = f"{rows} without a usable label or place: {found.dropped:,}, dropped"
        tell_curator(f"geodp: {name}: {words}", quiet=quiet)
