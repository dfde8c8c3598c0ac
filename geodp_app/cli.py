"""The command `geodp`: reads the arguments, runs one verb, turns errors into one line.

Exit codes: 0 done, 2 wrong input (one line on standard error, nothing written), 3 an audit refutes
what a learner claims, 130 cancelled.  A command writes all of its files or none, so what was
cancelled has written nothing, or says what.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Sequence

from assets import UnknownExampleError
from geodp_app.commands import (
    audit,
    compare,
    evaluate,
    learn,
    learners,
    ledger,
    open,
    plan,
    plugin,
    predict,
    render,
    sample,
    shot,
)
from geodp_app.commands.arguments import Parser, RawHelp, join_negative_values
from geodp_app.errors import InputError, PictureError, printable
from geodp_app.files.layers import data_alone
from geodp_app.files.writing import advice, cancelled_text, forget_written
from geodp_app.formatting import for_any_terminal
from geodp_app.version import __version__
from geodp_app.views.offscreen import has_display
from geometry.geojson import GeoJSONError
from geometry.grid import BoundsError

_VERBS = (
    open,
    sample,
    learn,
    evaluate,
    predict,
    render,
    compare,
    plan,
    learners,
    ledger,
    audit,
    shot,
    plugin,
)
_EPILOG = """examples:
  geodp sample --target country.geojson --n 100000 --grid 1024 -o points.csv
  geodp learn points.csv --epsilon 1 -o learned.geojson
  geodp evaluate learned.geojson points.csv

Without arguments geodp opens its window; without a display it learns an example and leaves
learned.geojson and window.png.
Exit codes: 0 done, 2 wrong input, 3 an audit refutes a claim, 130 cancelled."""


def build_parser() -> Parser:
    """The parser of all verbs."""
    parser = Parser(
        prog="geodp",
        description="Learn unions of polygons from labelled points, differentially privately.",
        epilog=_EPILOG,
        formatter_class=RawHelp,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"geodp {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True, parser_class=Parser)
    for verb in _VERBS:
        verb.add_parser(verbs)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code.  Arguments are without the program's name."""
    for_any_terminal(sys.stdout, sys.stderr)
    arguments = join_negative_values(sys.argv[1:] if argv is None else argv)
    forget_written()
    try:
        options = build_parser().parse_args(arguments or _default())
        with data_alone():
            code = options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _say(cancelled_text(), 130)
    except BrokenPipeError:
        _give_up_output()  # the reader went away (`geodp plan | head`)
        return 1
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        if not named and error.errno == errno.EBADF:
            named = "standard output: cannot be written: "
        text = f"{named}{error.strerror or error}"
        if not error.filename:
            _give_up_output()
        if what_to_do := advice(error):
            named = named or "standard output or the cache of compiled loops: "
            text = f"{named}cannot be written: {error.strerror}{what_to_do}"
        return _say(text, 2)
    except (InputError, PictureError, GeoJSONError, BoundsError, UnknownExampleError) as error:
        return _say(str(error), 2)
    except SystemExit as stop:  # --help and --version
        try:
            sys.stdout.flush()
        except OSError as error:
            _give_up_output()
            return _say(f"standard output: cannot be written: {error.strerror}", 2)
        return int(stop.code or 0)
    return int(code or 0)


def _give_up_output() -> None:
    """Keep Python from complaining at exit of what cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _default() -> list[str]:
    """The window, or where there is no display a picture of it and the learned shape."""
    if has_display():
        return ["open"]
    return ["shot", "-o", "window.png", "--learned", "learned.geojson"]


def _say(message: str, code: int) -> int:
    """One line on standard error, whatever the message holds."""
    sys.stderr.write(f"geodp: {printable(' '.join(message.split()))}\n")
    return code
