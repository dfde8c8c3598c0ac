"""Options of all commands that read labelled points, and reading them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from geodp_app.commands import arguments
from geodp_app.commands.parser import Parser
from geodp_app.document.examples import LARGE_GRIDS, Examples, Frame
from geodp_app.errors import InputError
from geodp_app.files.points import OUT_OF_BOUNDS, PointOptions, read_points
from geodp_app.progress import tell_curator
from geodp_app.tables.source import columns_of
from geometry.crs import CrsError, canonical_crs

#: What POINTS may be, for descriptions.
FORMS = """POINTS is a CSV with a header: x,y,label in grid units 0..d, or lon,lat,label in degrees
with --bounds.  Other names, separators (; tab |), decimal commas, points as text (WKT), and labels
such as true and false or yes and no are understood.  GeoJSON is read as well, also a feature on
each line, and, after pip install 'geodp[geo]', GeoPackage, shapefiles, FlatGeobuf, GeoParquet and
whatever else GDAL reads.  Columns are recognised by their names; say others with --columns.  A -
is standard input."""


def add_points_options(parser: Parser, grid: str) -> None:
    """Grid, bounds, system, columns, layer; `grid` says what the grid's size is by default."""
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


def point_options(
    options: argparse.Namespace, fallback: Frame | None = None, *, labelled: bool = True
) -> PointOptions:
    """What the options say of POINTS; they may need no labels, nor bounds beside a fallback's.

    Raises
    ------
    InputError
        If the bounds are none.
    """
    bounds, crs = None, None
    if options.bounds is None and options.crs and fallback is not None and fallback.bounds:
        crs = _settled(options.crs)
    else:
        bounds = arguments.stated_bounds(options)
        if options.crs is not None and bounds is not None:
            crs = bounds.crs
    return PointOptions(
        options.grid,
        bounds,
        options.columns or {},
        crs,
        options.layer,
        options.out_of_bounds,
        getattr(options, "id", None),
        labelled,
        rows=getattr(options, "rows", 1),
    )


def _settled(name: str) -> str:
    try:
        return canonical_crs(name)
    except CrsError as error:
        raise InputError(f"argument --crs: {error}") from None


def read(
    path: Path, options: argparse.Namespace, *, fallback: Frame | None = None, quiet: bool
) -> Examples:
    """Read POINTS; tells what was guessed, and to the curator what lay outside the bounds.

    Raises
    ------
    InputError
        As :func:`geodp_app.files.points.read_points`.
    """
    found = read_points(path, point_options(options, fallback), fallback)
    if found.guessed and not quiet:
        print(f"geodp: {found.guessed}", file=sys.stderr)
    if found.beyond:
        done = "dropped" if options.out_of_bounds == "drop" else "moved to its edge"
        tell_curator(
            f"geodp: {path}: rows outside the bounds: {found.beyond:,}, {done}", quiet=quiet
        )
    return found.examples
