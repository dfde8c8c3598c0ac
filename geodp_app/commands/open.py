"""`geodp open` opens the window, with a session, a target shape or examples."""

from __future__ import annotations

import argparse
from pathlib import Path

from geodp_app.commands.parser import Parser
from geodp_app.errors import InputError

DESCRIPTION = """Open the window.

FILE is a session (.geodp), a target (.geojson) or examples (.csv). Without FILE, the window
opens with what was there last, or with an example: the first Run needs no setup."""


def add_options(parser: Parser) -> None:
    """Add what the verb takes."""
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="what to open")


def run(options: argparse.Namespace) -> int:
    """Open, and stay until the window is closed; the exit code."""
    path: Path | None = options.file
    if path is not None and not path.is_file():
        raise InputError(f"{path}: no such file")
    from geodp_app.views.pictures import check_window

    check_window()
    from geodp_app.views.window.app import run_window

    return run_window(path)
