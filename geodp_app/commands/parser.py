"""Builds the parser of the command line, for which the module of the typed verb alone is loaded."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from geodp_app.errors import InputError
from learners import __version__

#: The verbs in the order in which help lists them: their module of this package, what they do.  Of
#: a verb `learn` the module has its description `LEARN`, `learn_options` and what runs it, `learn`.
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

#: Help text that keeps its line breaks.
RawHelp = argparse.RawDescriptionHelpFormatter


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and exiting."""
        if message.startswith("unrecognized arguments: ") and " -" not in message:
            message += "; several values of an option have commas between them, without spaces"
        raise InputError(f"{message} (see {self.prog} --help)")

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:  # as argparse does it, but for failures, of which it says nothing
            (file or sys.stderr).write(message)


def build_parser(arguments: Sequence[str] | None = None) -> Parser:
    """The parser of the verb that `arguments` begin with, and of others by name; else of all."""
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
            add_verb(verbs, verb)
        else:
            verbs.add_parser(verb, help=summary)
    return parser


def add_verb(verbs: argparse._SubParsersAction[Parser], name: str) -> None:
    """Add one of the :data:`VERBS`, with its options and what runs it."""
    module = verb_module(name)
    parser = verbs.add_parser(
        name,
        help=VERBS[name][1],
        description=getattr(module, name.upper()),
        formatter_class=RawHelp,
        allow_abbrev=False,
    )
    getattr(module, f"{name}_options")(parser)
    parser.set_defaults(run=getattr(module, name))


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
