"""`geodp render` draws a picture of a learned shape."""

from __future__ import annotations

import argparse
from pathlib import Path

from geodp_app.commands import arguments
from geodp_app.commands.parser import Parser
from geodp_app.errors import InputError
from geodp_app.files.writing import write_files
from geodp_app.progress import tell
from geometry.files import NewFile

DESCRIPTION = """Draw a learned shape on its grid, with its privacy statement, as PNG or SVG.

LEARNED is a file of `geodp learn`, or any polygons in GeoJSON or a GIS format. Nothing of the
examples is in the picture: it may be published as the shape may."""


def add_options(parser: Parser) -> None:
    """Add what the verb takes."""
    parser.add_argument("learned", type=Path, metavar="LEARNED", help="learned shape")
    arguments.add_within(parser, "clip the shape to")
    parser.add_argument("--title", metavar="TEXT", help="above the picture (default: the file)")
    arguments.add_output(parser, "PNG or SVG to write")
    arguments.add_quiet(parser)


def run(options: argparse.Namespace) -> None:
    """Read a learned shape and write its picture."""
    arguments.check_outputs(options, [options.learned, options.within], output="PNG or SVG")
    from geodp_app.document.examples import DEFAULT_GRID, Frame
    from geodp_app.files.learned_file import read_learned
    from geodp_app.files.run_report import release_figures, support_caption
    from geodp_app.files.svg_picture import picture_svg
    from geodp_app.views.pictures import drawn_png
    from geometry.crs import LONLAT
    from geometry.globe import lonlat_box
    from geometry.grid import Bounds
    from learners.privacy.accounting import privacy_statement

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
    said = "" if shape is None else f": {privacy_statement(shape.privacy)}"
    tell(f"{options.output}{said}", quiet=options.quiet)
