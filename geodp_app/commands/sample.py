"""`geodp sample` simulates labelled examples of a known target."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from shapely.geometry.base import BaseGeometry

from assets import NAMED_SHAPES
from geodp_app.commands import Parser, arguments
from geodp_app.document.examples import DEFAULT_GRID, Frame
from geodp_app.document.sampling import draw_examples, open_generator, place_target
from geodp_app.document.work import DISTRIBUTIONS
from geodp_app.files.points import format_examples
from geodp_app.files.writing import NewFile, write_files
from geodp_app.formatting import counted
from geodp_app.progress import tell
from geometry.errors import InputError
from geometry.geojson import TargetFile, read_geojson

SAMPLE = """Draw points on the grid and label them by a target shape (its edge is inside).

The target is GeoJSON in degrees, or in grid units if its member geodp says so. A target
in degrees is placed by --bounds, by the bounds in its file, or by its own box padded by a
tenth; the CSV's first line keeps them, so that `geodp learn` needs no --bounds.
This is a simulation for demonstrations: treat its output as private data."""


def sample_options(parser: Parser) -> None:
    add_target(parser, arguments.sample_size, "how many examples")
    arguments.add_output(parser, "CSV to write")
    arguments.add_flags(parser, "quiet")


def add_target(parser: Parser, sizes: Callable[[str], Any], how_many: str) -> None:
    """What is simulated; `sizes` is the type of --n, and `how_many` its help."""
    parser.add_argument(
        "--target",
        type=arguments.named_shape,
        required=True,
        metavar="FILE",
        help=f"GeoJSON shape, or an example by its name: {', '.join(NAMED_SHAPES)}",
    )
    parser.add_argument("--n", type=sizes, required=True, help=how_many)
    parser.add_argument(
        "--grid",
        type=arguments.grid_size,
        default=DEFAULT_GRID,
        metavar="D",
        help="grid size d: coordinates are 0..d (default %(default)s)",
    )
    arguments.add_bounds(parser)
    parser.add_argument(
        "--distribution",
        choices=[name for name in DISTRIBUTIONS if name != "painted"],  # needs a window
        default="uniform",
        help="uniform; clustered: 80%% in a cloud around a point of the outline; gaussian: "
        "around the target's centroid (default %(default)s)",
    )
    parser.add_argument(
        "--noise",
        type=arguments.closed_unit,
        default=0.0,
        metavar="P",
        help="flip each label with this probability (default 0)",
    )
    parser.add_argument("--seed", type=arguments.natural, help="make the sample reproducible")


def placed(options: argparse.Namespace) -> tuple[TargetFile, BaseGeometry, Frame]:
    """The target: its file, its shape in grid units, which must not be empty, and the frame."""
    target = read_geojson(options.target)
    shape, frame = place_target(target, options.grid, arguments.stated_bounds(options))
    if shape.is_empty:
        raise InputError(f"{options.target}: the shape vanishes on a grid of size {options.grid}")
    return target, shape, frame


def sample(options: argparse.Namespace) -> None:
    """Read the target, draw, write the CSV."""
    target, shape, frame = placed(options)
    arguments.check_outputs(options, [options.target], output="CSV")
    examples = draw_examples(
        shape,
        options.n,
        frame,
        distribution=options.distribution,
        noise=options.noise,
        rng=open_generator(options.seed),
    )
    write_files([NewFile(options.output, format_examples(examples, simulated=True))])
    inside, many = int(examples.labels.sum()), counted(options.n, "example")
    said = f"{options.output}: {many} of {target.name}, {inside:,} with label 1"
    tell(said, quiet=options.quiet)
