"""`geodp areas` measures how much of each district a learned shape covers."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from geodp_app.commands import arguments
from geodp_app.commands.parser import Parser
from geodp_app.errors import printable
from geodp_app.files.import_columns import place_of
from geodp_app.files.import_file import ImportFile
from geodp_app.files.points_out import points_files
from geodp_app.files.writing import write_files
from geodp_app.formatting import MISSING, aligned, decimal, percentage
from geometry.files import STDOUT

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

DESCRIPTION = f"""Measure a learned shape in each of some districts.

LEARNED is a file of `geodp learn`: GeoJSON, GeoPackage or GeoParquet. Districts are polygons in
GeoJSON or a GIS format, in any coordinate reference system. Areas are geodesic, on the ellipsoid
of WGS 84. Of a shape without bounds, and districts in its grid units, there are shares alone.

{_COLUMN_LINES}

A clipped shape is measured as clipped. All is computed from the release, bounds and public maps:
it costs no epsilon, and may be published as the shape may. No margin of error is stated, as none
is known: where a border lies that the reports do not show, no release tells."""


def add_options(parser: Parser) -> None:
    """Add what the verb takes."""
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
    arguments.add_quiet(parser)


def run(options: argparse.Namespace) -> None:
    """Read both, measure, print and write."""
    from geodp_app.files.districts import measured, open_districts
    from geodp_app.files.learned_file import read_shape

    arguments.check_outputs(options, [options.learned, options.districts], output="districts")
    shape = read_shape(options.learned)
    file, districts = open_districts(options.districts, options.layer)
    found = measured(shape, districts)
    names = _names(file, options.name)
    if options.output is not None:
        write_files(
            points_files(
                options.output, options.districts, file, found,
                layer=options.layer, overwrite=options.overwrite,
            )
        )  # fmt: skip
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
