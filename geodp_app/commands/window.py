"""`geodp open` opens the window; `geodp shot` takes a picture of it, without a display."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from assets import examples
from geodp_app.commands import Parser, arguments
from geodp_app.document.work import RunSettings
from geodp_app.progress import tell
from geometry.errors import InputError
from learners.registry import BY_ID

OPEN = """Open the window.

FILE is a session (.geodp), a target (.geojson) or examples (.csv). Without FILE, the window
opens with what was there last, or with an example: the first Run needs no setup."""


def open_options(parser: Parser) -> None:
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="what to open")


def open(options: argparse.Namespace) -> int:
    """Open, and stay until the window is closed; the exit code."""
    path: Path | None = options.file
    if path is not None and not path.is_file():
        raise InputError(f"{path}: no such file")
    from geodp_app.views.pictures import check_window

    check_window()
    from geodp_app.views.window.app import run_window

    return run_window(path)


SHOT = """Open the window off-screen, run, and save a picture of it.

Simulated examples may be shown to anyone; a picture of real ones is private."""

#: Parameters of the learner that can be chosen.
_PARAMETERS = ("k", "epsilon", "support", "check")


def shot_options(parser: Parser) -> None:
    arguments.add_output(parser, "PNG to write")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--example",
        choices=examples(),
        metavar="NAME",
        help=f"one of {', '.join(examples())}",
    )
    what.add_argument("--file", type=Path, metavar="FILE", help="a session, target or examples")
    arguments.add_within(parser, "clip the shape to")
    arguments.add_learner(parser, "window", _PARAMETERS, unset="the window's")
    parser.add_argument("--n", type=arguments.sample_size, help="how many examples to draw")
    parser.add_argument(
        "--steps", type=arguments.natural, metavar="M", help="steps to run (default: all; 0: none)"
    )
    parser.add_argument(
        "--seed", type=arguments.shown_seed, help="make the run repeatable, and not private"
    )
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    parser.add_argument(
        "--size", type=_size, default=(1600, 1000), metavar="WxH", help="default: 1600x1000"
    )
    parser.add_argument("--scale", type=int, choices=(1, 2, 3), default=1, help="pixel ratio")
    parser.add_argument(
        "--view", choices=("curator", "release"), default="curator", help="who looks at it"
    )
    parser.add_argument(
        "--learned",
        type=arguments.output,
        metavar="FILE",
        help="also write the learned shape as GeoJSON",
    )
    arguments.add_flags(parser, "quiet")


def shot(options: argparse.Namespace) -> None:
    """Check, open, run, save."""
    inputs = [options.file, options.within]
    arguments.check_outputs(options, inputs, output="PNG", learned="GeoJSON")

    def given(learner: str) -> dict[str, Any]:
        return arguments.given_parameters(options, BY_ID[learner], "window", _PARAMETERS)

    if options.learner or options.file is None:  # else the file says which learner it is
        given(options.learner or RunSettings().learner)
    from geodp_app.views.pictures import check_window

    check_window(offscreen=True)
    from geodp_app.views.window.app import shoot

    tell(shoot(options, given), quiet=options.quiet)


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{3,5})[xX](\d{3,5})", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 1600x1000")
    width, height = int(found[1]), int(found[2])
    if not (640 <= width <= 8000 and 480 <= height <= 8000):
        raise argparse.ArgumentTypeError(f"{text!r} is outside 640x480 to 8000x8000")
    return width, height
