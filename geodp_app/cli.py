"""Runs the command `geodp`: reads the arguments, runs one verb, turns errors into one line.

The module of the typed verb alone is loaded.  Importing that takes half a second, in which Ctrl+C
must end as it does later: so nothing but Python's own modules is imported with this one.

Exit codes: 0 done, 2 wrong input (one line on standard error, nothing written), 3 an audit refutes
what a learner claims, 130 cancelled.  A command writes all of its files or none, so what was
cancelled has written nothing, or says what.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from geodp_app.commands import Parser

#: The verbs in the order in which help lists them: their module of :mod:`geodp_app.commands`, and
#: what they do.
VERBS = {
    "open": ("window", "open the window"),
    "sample": ("sample", "simulate examples of a target"),
    "learn": ("learn", "learn a shape from examples"),
    "evaluate": ("shapes", "error on labelled examples"),
    "predict": ("shapes", "label points by a learned shape"),
    "render": ("shapes", "draw a learned shape"),
    "areas": ("shapes", "measure a learned shape by district"),
    "compare": ("compare", "learners side by side"),
    "rehearse": ("compare", "learners side by side on simulated examples"),
    "plan": ("plan", "how many examples suffice"),
    "learners": ("learners", "list learners and tools"),
    "ledger": ("ledger", "what was spent on a data set"),
    "audit": ("learners", "measure what privacy a learner loses"),
    "shot": ("window", "save a picture of the window"),
    "plugin": ("plugin", "write the plugin for QGIS"),
}

_EPILOG = """examples:
  geodp sample --target country.geojson --n 100000 --grid 1024 -o points.csv
  geodp learn points.csv --epsilon 1 -o learned.geojson
  geodp evaluate learned.geojson points.csv

Without arguments geodp opens its window; without a display it learns an example and leaves
learned.geojson and window.png.
Exit codes: 0 done, 2 wrong input, 3 an audit refutes a claim, 130 cancelled."""


class _Forgiving:
    """Standard error that a reader may leave and a disk may refuse: no run ends for a word.

    Other programs' words go where ours do: nowhere, once a write has failed.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """As much as can be said."""
        try:
            return self._stream.write(text)
        except (OSError, ValueError):
            self._give_up()
            return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """One after the other."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """What is left to be said, if it can be."""
        try:
            self._stream.flush()
        except (OSError, ValueError):
            self._give_up()

    def _give_up(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _open_streams() -> None:
    """Give closed standard streams something to be: the next file opened would be taken for them.

    What is printed to a closed output fails when it is, and what is said on a closed standard error
    goes nowhere.
    """
    for number, name, mode in (
        (0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY),
    ):  # fmt: skip
        try:
            os.fstat(number)
        except OSError:
            handle = os.open(os.devnull, mode)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    sys.stderr = cast("TextIO", _Forgiving(sys.stderr))


def start() -> int:
    """Import what is typed and run it; the exit code."""
    _open_streams()
    heard = signal.getsignal(signal.SIGINT)
    # a KeyboardInterrupt amid imports would come out as a traceback, or as another error
    if heard is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    try:
        import geodp_app.own_packages  # noqa: F401  refuses others of their names
    except ImportError as error:
        return _say(str(error), 2)
    try:
        load(sys.argv[1:])
    except ImportError as error:
        from geodp_app.own_packages import overwritten

        if words := overwritten():
            return _say(f"{error}; {words}", 2)
        raise
    signal.signal(signal.SIGINT, heard)
    return main()


def _leave(*_: object) -> None:
    """Nothing has begun, and nothing is to be put away."""
    os.write(2, b"geodp: cancelled; nothing was written\n")
    os._exit(130)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code.  Arguments are without the program's name."""
    from geometry.errors import InputError, printable

    for_any_terminal(sys.stdout, sys.stderr)
    arguments = join_negative_values(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(arguments or _default())
        sys.stdout.flush()
    except KeyboardInterrupt:
        from geodp_app.files.writing import cancelled_text

        return _say(printable(cancelled_text()), 130)
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
        return _say(printable(text), 2)
    except InputError as error:
        return _say(f"{error}{error.typed}", 2)
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
    for name in ("learners", "geodp_app.commands"):  # of any
        import_module(name)
    verb = (arguments or _default())[0]
    if verb in VERBS:
        verb_module(verb)
        import_module("geodp_app.files.points")


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
    from geodp_app.views.pictures import PictureError
    from geometry.errors import refusals
    from geometry.geojson import GeoJSONError
    from geometry.grid import BoundsError

    forget_written()
    kinds = (GeoJSONError, BoundsError, UnknownExampleError, PictureError)
    with data_alone(), refusals(kind=kinds):
        code: int | None = options.run(options)
    return code


def build_parser(arguments: Sequence[str] | None = None) -> Parser:
    """The parser of the verb that `arguments` begin with, and of others by name; else of all."""
    from geodp_app.commands import Parser, RawHelp
    from learners import __version__

    parser = Parser(
        prog="geodp",
        description="Learn unions of polygons from labelled points, differentially privately.",
        epilog=_EPILOG,
        formatter_class=RawHelp,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"geodp {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True, parser_class=Parser)
    for verb, (_, summary) in VERBS.items():
        if arguments is None or verb in arguments[:1]:
            from geodp_app.commands.arguments import add_verb  # not for a list of verbs

            add_verb(verbs, verb, verb_module(verb), summary)
            # whose help tells of the options that it has
            parser.prog = "geodp" if arguments is None else f"geodp {verb}"
        else:
            verbs.add_parser(verb, help=summary)
    return parser


def verb_module(name: str) -> ModuleType:
    """The module of one of the :data:`VERBS`, loaded."""
    return import_module(f"geodp_app.commands.{VERBS[name][0]}")


def join_negative_values(argv: Sequence[str]) -> list[str]:
    """Let `--bounds -10,40,5,50` be typed: argparse takes -10,... for an option."""
    joined: list[str] = []
    for argument in argv:
        if joined and joined[-1] == "--bounds" and argument.startswith("-"):
            joined[-1] = f"--bounds={argument}"
        else:
            joined.append(argument)
    return joined


#: What stands for a letter in a terminal that has no such letter.
_PLAIN = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "η": "eta", "ρ": "rho",
    "−": "-", "–": "-", "—": "-", "’": "'", "…": "...", "≥": ">=", "≤": "<=", "×": "x",
    "·": "*", "∧": "and", "∨": "or", "¬": "not ", "⊥": "none", "\u00a0": " ",
}  # fmt: skip


def for_any_terminal(*streams: TextIO) -> None:
    """Let streams take any text: letters that their encoding lacks are spelled out, or marked.

    A console of code page 437 or 1252 has no ε, and a file's name may be no text at all.
    """
    codecs.register_error("spelled out", _spelled_out)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="spelled out")


def _spelled_out(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, "?") for letter in lacking), error.end


@contextlib.contextmanager
def data_alone() -> Iterator[None]:
    """Let GDAL read data alone, if it is loaded meanwhile, here or in a process that is started.

    A file of any name may be a description of other files, servers or programs, and GDAL would
    follow it.  Whoever wants that sets GDAL_SKIP, which then stays as it is.
    """
    from geometry.gis_files import REFERRING

    # GDAL tells, on standard error, which of these drivers it has not got anyway
    wanted = {"GDAL_SKIP": ",".join(REFERRING), "CPL_LOG": os.devnull}
    ours = {} if "GDAL_SKIP" in os.environ else {
        name: value for name, value in wanted.items() if name not in os.environ
    }  # fmt: skip
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


def _give_up_output() -> None:
    """Keep Python from complaining at exit of what cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _default() -> list[str]:
    """The window, or where there is no display a picture of it and the learned shape."""
    from geodp_app.views.pictures import has_display

    if has_display():
        return ["open"]
    return ["shot", "-o", "window.png", "--learned", "learned.geojson"]


def _say(message: str, code: int) -> int:
    """One line on standard error."""
    sys.stderr.write(f"geodp: {' '.join(message.split())}\n")
    return code
