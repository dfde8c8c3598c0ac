"""Runs the command `geodp`: reads the arguments, runs one verb, turns errors into one line.

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
from importlib import import_module

from geodp_app.commands.parser import VERBS, build_parser, join_negative_values, verb_module
from geodp_app.errors import InputError, PictureError, printable
from geodp_app.formatting import for_any_terminal
from geodp_app.views.pictures import has_display


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code.  Arguments are without the program's name."""
    for_any_terminal(sys.stdout, sys.stderr)
    arguments = join_negative_values(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(arguments or _default())
        sys.stdout.flush()
    except KeyboardInterrupt:
        from geodp_app.files.writing import cancelled_text

        return _say(cancelled_text(), 130)
    except BrokenPipeError:
        _give_up_output()  # the reader went away (`geodp plan | head`)
        return 1
    except OSError as error:
        from geodp_app.files.writing import advice

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
    except (InputError, PictureError) as error:
        return _say(str(error), 2)
    except SystemExit as stop:  # --help and --version
        try:
            sys.stdout.flush()
        except OSError as error:
            _give_up_output()
            return _say(f"standard output: cannot be written: {error.strerror}", 2)
        return int(stop.code or 0)
    return int(code or 0)


def load(arguments: Sequence[str]) -> None:
    """Import what the verb that is typed needs to be read and begun."""
    verb = next(iter(arguments), _default()[0])
    if verb in VERBS:
        verb_module(verb)
        import_module("geodp_app.files.import_file")


def _run(arguments: list[str]) -> int | None:
    """Run a verb; what its libraries say of wrong input becomes the app's own exception."""
    options = build_parser(arguments).parse_args(arguments)
    if getattr(options, "like", None) is not None:
        from geodp_app.commands.learn import as_reported

        arguments = as_reported(options, arguments)
        options = build_parser(arguments).parse_args(arguments)
    # not before: help and a verb that is none need nothing of these
    from assets import UnknownExampleError
    from geodp_app.files.writing import forget_written
    from geometry.geojson import GeoJSONError
    from geometry.gis_files import data_alone
    from geometry.grid import BoundsError

    forget_written()
    try:
        with data_alone():
            code: int | None = options.run(options)
    except (GeoJSONError, BoundsError, UnknownExampleError) as error:
        raise InputError(str(error)) from error
    return code


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
