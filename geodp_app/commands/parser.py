"""The command line's verbs and their parser, which loads the module of the typed verb alone; and
what is typed, made ready for it.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from geodp_app.errors import InputError, printable
from learners.version import __version__

#: What each verb does, in the order in which help lists them; each is a module of this package.
VERBS = {
    "open": "open the window",
    "sample": "simulate examples of a target",
    "learn": "learn a shape from examples",
    "evaluate": "error on labelled examples",
    "predict": "label points by a learned shape",
    "render": "draw a learned shape",
    "areas": "measure a learned shape by district",
    "compare": "learners side by side",
    "rehearse": "learners side by side on simulated examples",
    "plan": "how many examples suffice",
    "learners": "list learners and tools",
    "ledger": "what was spent on a data set",
    "audit": "measure what privacy a learner loses",
    "shot": "save a picture of the window",
    "plugin": "write the plugin for QGIS",
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
    for verb, summary in VERBS.items():
        if arguments is None or verb in arguments[:1]:
            import_module(f"geodp_app.commands.{verb}").add_parser(verbs)
        else:
            verbs.add_parser(verb, help=summary)
    return parser


def add_verb(verbs: argparse._SubParsersAction[Parser], name: str, description: str) -> Parser:
    """A parser for one of the :data:`VERBS`."""
    return verbs.add_parser(
        name,
        help=VERBS[name],
        description=description,
        formatter_class=RawHelp,
        allow_abbrev=False,
    )


def join_negative_values(argv: Sequence[str]) -> list[str]:
    """Let `--bounds -10,40,5,50` be typed: argparse takes -10,... for an option."""
    joined: list[str] = []
    for argument in argv:
        if joined and joined[-1] == "--bounds" and argument.startswith("-"):
            joined[-1] = f"--bounds={argument}"
        else:
            joined.append(argument)
    return joined


#: How rows become examples.
HOW_READ = (
    "columns", "layer", "out_of_bounds", "unusable", "outside", "inside", "id", "rows",
)  # fmt: skip
#: What a report says of its run besides the learner's parameters, and of a map beside the run.
_OF_RUN, _OF_MAP = ("learner", "grid", "bounds", "crs", *HOW_READ), ("within", "within_layer")


def as_reported(options: argparse.Namespace, given: Sequence[str]) -> list[str]:
    """The given arguments, first the verb, with those of the report before them that `learn --as`
    names: the last ones hold.  Tells that another version has written it.

    Raises
    ------
    InputError
        If it is no report, or says nothing of its run.
    """
    # help needs none of this
    from geodp_app.files.strict import read_json
    from learners.registry import BY_ID

    try:
        report = read_json(options.like.read_bytes())
        run, version = report["run"], report["geodp"]
        learner = BY_ID[run.get("learner")]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{options.like}: is no report of a run; --report writes one") from None
    if version != __version__ and not options.quiet:
        said = f"written by geodp {version!s:.20}, and this is {__version__}"
        print(f"geodp: {options.like}: {printable(said)}: it may learn otherwise", file=sys.stderr)
    if any(each.split("=")[0] == "--learner" for each in given):
        learner = BY_ID[options.learner]
        known = [each.name for each in BY_ID[run["learner"]].parameters]
        run = {n: v for n, v in run.items() if n not in known or learner.parameter(n) is not None}
    names = {each.name: each.typed for each in learner.parameters if not each.of_python}
    names |= {name: name.replace("_", "-") for name in (*_OF_RUN, *_OF_MAP)}
    said = run | {name: report[name] for name in _OF_MAP if name in report}
    if odd := [name for name in said if name not in names]:
        raise InputError(f"{options.like}: says {printable(odd[0]):.40}, which no run is told")
    return [given[0], *(f"--{names[n]}={_typed(v)}" for n, v in said.items()), *given[1:]]


def _typed(value: Any) -> str:
    """A value as it is typed."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, dict):
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow(f"{n}={name}" for n, name in value.items())
        return text.getvalue()
    return str(value)
