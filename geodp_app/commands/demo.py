"""`geodp demo`: a bundled example from sample to picture, without a window."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assets import example_path, examples
from geodp_app.commands import arguments
from geodp_app.document.sampling import draw_examples, open_generator, place_target
from geodp_app.document.targets import EXAMPLE_GRID
from geodp_app.errors import PictureError
from geodp_app.files.writing import Holds, write_files
from geometry.files import NewFile
from geometry.geojson import read_geojson

_DESCRIPTION = """Learn a bundled example and leave learned.geojson and learned.png.

The examples are simulated: points drawn uniformly and labelled by the target.  The picture
shows some of them, so with real data it would be private."""

_N, _EPSILON = 100_000, 1.0


def add_parser(verbs: argparse._SubParsersAction[arguments.Parser]) -> None:
    """Add the verb and its options."""
    parser = arguments.add_verb(verbs, "demo", "learn a bundled example", _DESCRIPTION)
    parser.add_argument(
        "--example",
        choices=examples(),
        default="flood",
        metavar="NAME",
        help=f"one of {', '.join(examples())} (default %(default)s)",
    )
    parser.add_argument(
        "--n",
        type=arguments.sample_size,
        default=_N,
        help="how many examples (default %(default)s)",
    )
    parser.add_argument(
        "--folder", type=Path, default=Path(), help="where to leave the files (default: here)"
    )
    arguments.add_overwrite(parser)
    arguments.add_quiet(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Sample, learn, write, draw, tell."""
    shape_file, picture_file = options.folder / "learned.geojson", options.folder / "learned.png"
    wanted: list[tuple[Path | None, Holds]] = [(shape_file, "GeoJSON"), (picture_file, "PNG")]
    arguments.check_outputs(wanted, [], overwrite=options.overwrite)

    from geodp_app.commands.evaluate import compare
    from geodp_app.commands.running import picture_bytes, run_learner
    from geodp_app.document.learned_shape import LearnedShape
    from geodp_app.files.learned_file import shape_files
    from geodp_app.files.reports import release_figures
    from geodp_app.runs.figures import Picture
    from learners.accounting import privacy_statement
    from learners.registry import BY_ID

    def tell(line: str) -> None:
        if not options.quiet:
            print(line, file=sys.stderr, flush=True)

    target = read_geojson(example_path(options.example))
    shape, frame = place_target(target, EXAMPLE_GRID)
    sample = draw_examples(shape, options.n, frame, rng=open_generator(1))
    tell(f"Learning '{target.name}' from {options.n:,} simulated examples.")
    release, _ = run_learner(BY_ID["tiles"], sample, {"epsilon": _EPSILON}, quiet=options.quiet)
    fresh = draw_examples(shape, 200_000, frame, rng=open_generator(2))
    error = f"{compare(release.predict(fresh.points), fresh.labels)['error']:.2%}"
    tell(f"{privacy_statement(release.privacy)} Error on fresh points: {error}.")
    figures = (
        *release_figures(release),
        ("examples", f"{options.n:,}"),
        ("test error", error),
    )
    title = f"{target.name}, learned with differential privacy"
    files = shape_files(shape_file, LearnedShape(release, frame), overwrite=options.overwrite)
    told = f"{picture_file}: a picture of it beside the target and some of the examples."
    try:
        picture = Picture(frame, title, figures, release.shape(), shape, sample)
        files.append(NewFile(picture_file, picture_bytes(picture_file, picture)))
    except PictureError as problem:
        told = f"No picture: {problem}"
    write_files(files)
    tell(f"{shape_file}: the learned shape, for any GIS.")
    tell(told)
