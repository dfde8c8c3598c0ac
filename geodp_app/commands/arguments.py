"""Defines options that several commands share, checks that must come before long work, and the
choice of a learner with its parameters.

Every option of a learner is that of a declared parameter (:mod:`learners.registry`), with one
default for each learner that has it.  An option that means nothing to the chosen learner is
refused.
"""

from __future__ import annotations

import argparse
import math
import os
import textwrap
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from assets import NAMED_SHAPES, shape_path
from geodp_app.commands import Parser, RawHelp
from geodp_app.files.writing import (
    STDOUT,
    Holds,
    NewFile,
    check_ending,
    check_home,
    check_kept,
    try_files,
)
from geometry.errors import InputError, refusals
from geometry.grid import Bounds, BoundsError, checked_bounds
from geometry.halfplane import MAX_D
from geometry.mask import Mask, read_mask
from learners.declaration import Learner, Parameter, Place
from learners.registry import (
    BY_ID,
    DELTA,
    EPSILON,
    KEPT,
    NEIGHBOURS,
    offered,
    resolved_parameters,
    unknown_learner,
)


def add_verb(
    verbs: argparse._SubParsersAction[Parser], name: str, module: ModuleType, summary: str = ""
) -> None:
    """Add a verb with its options and what runs it: of a verb `learn` its module has a description
    `LEARN`, `learn_options` and what runs it, `learn`."""
    parser = verbs.add_parser(
        name,
        help=summary,
        description=getattr(module, name.upper()),
        formatter_class=RawHelp,
        allow_abbrev=False,
    )
    getattr(module, f"{name}_options")(parser)
    parser.set_defaults(run=getattr(module, name))


def number(text: str) -> float:
    """Read a finite number from the command line, maybe in per cent; refuse any other text."""
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


Value = TypeVar("Value", int, float)


def _where(
    read: Callable[[str], Value], holds: Callable[[Value], bool], words: str
) -> Callable[[str], Value]:
    """The type of arguments of which something holds; `words` say what must, of the text {}."""

    def check(text: str) -> Value:
        value = read(text)
        if not holds(value):
            raise argparse.ArgumentTypeError(words.format(text))
        return value

    return check


def integer(text: str) -> int:
    """Read an integer from the command line; refuse any other text."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer in digits") from None


#: Numbers: above 0, strictly between 0 and 1, from 0 to 1, from 0 to below 1.
positive = _where(number, lambda value: value > 0, "must be above 0, not {}")
open_unit = _where(number, lambda value: 0 < value < 1, "must lie strictly between 0 and 1, not {}")
closed_unit = _where(number, lambda value: 0 <= value <= 1, "must lie between 0 and 1, not {}")
below_one = _where(number, lambda v: 0 <= v < 1, "must be at least 0 and below 1, not {}")
#: Integers: from 1 up, no more examples than fit in memory, no more questions than votes answer,
#: from 0 up, those that the window shows, and a grid size d for which the arithmetic is exact.
count = _where(integer, lambda value: value >= 1, "must be at least 1, not {}")
sample_size = _where(count, lambda value: value <= 10**7, "must be at most 10000000, not {}")
asked = _where(count, lambda value: value <= KEPT.high, f"must be at most {KEPT.high}, not {{}}")
natural = _where(integer, lambda value: value >= 0, "must not be negative, not {}")
shown_seed = _where(natural, lambda value: value < 2**31, f"must be at most {2**31 - 1}, not {{}}")
grid_size = _where(
    integer,
    lambda value: 1 <= value <= MAX_D,
    f"grid size {{}} is outside 1..{MAX_D}, where counting is exact",
)


def several(read: Callable[[str], Value]) -> Callable[[str], tuple[Value, ...]]:
    """The type of arguments that are several values, with commas between them."""

    def values(text: str) -> tuple[Value, ...]:
        return tuple(dict.fromkeys(read(part.strip()) for part in text.split(",")))

    return values


def four_numbers(text: str) -> tuple[float, float, float, float]:
    """Read bounds, west, south, east and north, from the command line."""
    parts = text.split(",")
    if len(parts) != 4:
        raise argparse.ArgumentTypeError(f"needs four numbers W,S,E,N, not {text!r}")
    west, south, east, north = (number(part) for part in parts)
    return west, south, east, north


def stated_bounds(options: argparse.Namespace) -> Bounds | None:
    """The bounds that `--bounds` and `--crs` say; None if there are none.  Raises InputError if
    they are unusable."""
    if options.bounds is None:
        if options.crs is not None:
            raise InputError("--crs is the system of --bounds: give --bounds W,S,E,N in its units")
        return None
    try:
        return checked_bounds(options.bounds, options.crs)
    except BoundsError as error:
        hint = "" if options.crs else "; bounds in another system need --crs, such as EPSG:32633"
        outside = "within -180..180" in str(error)
        raise InputError(f"argument --bounds: {error}{hint if outside else ''}") from None


def add_bounds(parser: Parser) -> None:
    """Where the grid lies on the globe."""
    parser.add_argument(
        "--bounds",
        type=four_numbers,
        metavar="W,S,E,N",
        help="public bounds in degrees, or in the units of --crs (never taken from the data)",
    )
    parser.add_argument(
        "--crs",
        metavar="NAME",
        help="coordinate reference system of the bounds, such as EPSG:32633, and of coordinates "
        "that neither the file nor their columns' names place (default: longitude and latitude)",
    )


def add_within(parser: Parser, what: str) -> None:
    """A public mask; `what` says what it does to what."""
    parser.add_argument(
        "--within",
        type=named_shape,
        metavar="FILE",
        help=f"{what} the polygons of a public map, of any GIS format, or of an example by its "
        f"name: {', '.join(NAMED_SHAPES)} (never made from the examples)",
    )
    parser.add_argument(
        "--within-layer", metavar="NAME", help="layer of a map with several, for --within"
    )


def read_within(options: argparse.Namespace) -> Mask | None:
    """The mask that the options say, if any; errors as :func:`geometry.mask.read_mask`, and if a
    layer is named of no map."""
    if options.within is None:
        if options.within_layer is not None:
            raise InputError("--within-layer is a layer of the map --within: give --within FILE")
        return None
    return read_mask(options.within, options.within_layer)


def named_shape(text: str) -> Path:
    """The path of a map, or of a shape that ships with geodp, by its name."""
    with refusals(told=argparse.ArgumentTypeError):
        return shape_path(text)


def day(text: str) -> str:
    """Read a day from the command line, as 2026-03-31."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day such as 2026-03-31") from None


def output(text: str) -> Path:
    """The path of a file to write; `-` is standard output, and `./-` a file of this name."""
    return Path(STDOUT) if text == "-" else Path(text)


def add_output(parser: Parser, text: str, *, required: bool = True) -> None:
    """The main output file, and whether it may be written over."""
    parser.add_argument(
        "-o",
        "--output",
        type=output,
        required=required,
        metavar="FILE",
        help=f"{text}; - is standard output",
    )
    add_flags(parser, "overwrite")


#: What options do that are on or off.
_FLAGS = {
    "json": "print JSON",
    "overwrite": "write over files, and layers of that name, that geodp has not written; other "
    "layers of a GeoPackage stay (default: such files are kept, and nothing is done)",
    "progress": "say how far it is in lines such as `progress 0.250 step 3 of 12`, for programs; "
    "nothing private is in them but the time that each step takes",
    "quiet": "say nothing but errors",
}


def add_flags(parser: Parser, *names: str) -> None:
    """Options that several verbs have, which are on or off."""
    for name in names:
        parser.add_argument(f"--{name}", action="store_true", help=_FLAGS[name])


def head(text: str) -> str:
    """The beginning of a hash, long enough to be no other's."""
    if len(text) < _HEAD_DIGITS or not set(text.lower()) <= set("0123456789abcdef"):
        raise argparse.ArgumentTypeError(
            f"needs at least {_HEAD_DIGITS} hexadecimal digits, not {text!r}"
        )
    return text.lower()


def add_ledger(parser: Parser) -> None:
    """Where runs are entered before they draw."""
    parser.add_argument(
        "--ledger",
        type=Path,
        metavar="FILE",
        help="enter what is spent in this ledger, and draw nothing that its budget does not allow "
        "(default: geodp.ledger beside the data, if there is one; geodp ledger begins one)",
    )
    parser.add_argument(
        "--head",
        type=head,
        metavar="HASH",
        help="draw nothing unless the ledger had this head once: an older one that was put back "
        "had not",
    )


def add_privacy(parser: Parser, epsilon: Callable[[str], Any] = positive) -> None:
    """The privacy budget and what it means; `epsilon` is the type of the first."""
    for each, kind in ((EPSILON, epsilon), (DELTA, open_unit), (NEIGHBOURS, str)):
        parser.add_argument(
            f"--{each.name}",
            type=kind,
            choices=[value for value, _ in each.choices] or None,
            default=str(each.default),  # which is read as if it were typed
            help=f"{each.help} (default %(default)s)",
        )


def check_outputs(
    options: argparse.Namespace, inputs: Sequence[Path | None], **outputs: Holds
) -> None:
    """Find out before long work whether every output can be written, and is what its name says.

    Raises InputError if an output is a folder, its name has the ending of another format, its
    folder is missing or cannot be written to, it is the same file as an input or another output, or
    something is there that is to be kept.

    Parameters
    ----------
    options : Namespace
        Also whether files may go that geodp has not written.
    **outputs : str
        What files will hold, by the names of their options; None is one that is not wanted.
    """
    taken = {os.path.realpath(path): "an input" for path in inputs if path is not None}
    for name, holds in outputs.items():
        output: Path | None = getattr(options, name)
        if output is None:
            continue
        if os.fspath(output) == STDOUT:
            if STDOUT in taken:
                raise InputError("standard output takes one file: name another for the others")
            taken[STDOUT] = "another output"
        elif output.is_dir():
            raise InputError(f"{output}: is a folder; name a file in it")
        elif output.is_file() or not output.exists():  # a device may be named twice, by any name
            check_home(output)
            real = os.path.realpath(output)
            if real in taken:
                raise InputError(f"{output}: is {taken[real]} too; choose another name")
            taken[real] = "another output"
            check_ending(output, holds)
            check_kept(output, overwrite=options.overwrite)
        try_files([NewFile(output, b"")])


#: Least digits of a ledger's head.
_HEAD_DIGITS = 16


def add_learner(
    parser: Parser,
    place: Place,
    names: Sequence[str] | None = None,
    *,
    unset: str = "",
) -> None:
    """`--learner`, and an option for each parameter of the learners that a place offers.

    `names`: parameters to be offered; by default all that are not for Python alone.  `unset`: what
    holds where nothing is given, if that is not what is declared.
    """
    found = offered(place)
    default = None if unset else "tiles"
    parser.add_argument(
        "--learner",
        type=_name_in(place),
        default=default,
        metavar="NAME",
        help=f"{', '.join(learner.id for learner in found)} (default: {unset or default})",
    )
    for name, declared in _parameters(found, names).items():
        first = next(iter(declared.values()))
        choices = tuple(dict.fromkeys(
            value for parameter in declared.values() for value, _ in parameter.choices
        ))  # fmt: skip
        parser.add_argument(
            f"--{first.typed}",
            dest=name,
            type=str if choices else _value_of(first, auto=any(p.auto for p in declared.values())),
            choices=choices or None,
            metavar=None if choices else first.typed.upper(),
            help=_help(declared, unset),
        )


def learner_lines(place: Place) -> str:
    """What the learners of a place do, a line each, for a description."""
    lines = []
    for learner in offered(place):
        head = f"  {learner.id:16} "
        lines += textwrap.wrap(
            learner.sentence, 96, initial_indent=head, subsequent_indent=" " * len(head)
        )
    return "\n".join(lines)


def resolved_learner(
    options: argparse.Namespace, place: Place, names: Sequence[str] | None = None
) -> tuple[Learner, dict[str, Any]]:
    """The learner, and its parameters: those given, else its defaults.

    `place` and `names` are those of :func:`add_learner`.  Raises InputError if an option is given
    that means nothing to the learner, or a value that it does not take.
    """
    learner = BY_ID[options.learner]
    given = given_parameters(options, learner, place, names)
    shown = _parameters(offered(place), names)
    return learner, {
        n: v for n, v in resolved_parameters(learner, given, place).items() if n in shown
    }


def given_parameters(
    options: argparse.Namespace, learner: Learner, place: Place, names: Sequence[str] | None = None
) -> dict[str, Any]:
    """The parameters that are given, all of them the learner's.

    `place` and `names` are those of :func:`add_learner`.  Raises InputError if an option is given
    that means nothing to the learner, or a value that it does not take.
    """
    shown = _parameters(offered(place), names)
    given = {n: value for n in shown if (value := getattr(options, n, None)) is not None}
    with refusals():
        resolved_parameters(learner, given, place, typed=True)
    return given


def _parameters(
    found: tuple[Learner, ...], names: Sequence[str] | None
) -> dict[str, dict[str, Parameter]]:
    """Parameters by their name, and by the id of the learner."""
    named: dict[str, dict[str, Parameter]] = {}
    for learner in found:
        for parameter in learner.parameters:
            if not parameter.of_python and (names is None or parameter.name in names):
                named.setdefault(parameter.name, {})[learner.id] = parameter
    return named


def _help(declared: dict[str, Parameter], unset: str) -> str:
    """What an option does, for whom, and what it is if it is not given."""
    texts = list(dict.fromkeys(parameter.help for parameter in declared.values()))
    text = texts[0] if len(texts) == 1 else "How many pieces a good shape has."
    defaults = {
        name: each.unset if each.default is None else str(each.default)
        for name, each in declared.items()
    }
    only, *others = set(defaults.values())
    shown = ", ".join(f"{value} for {name}" for name, value in defaults.items()) if others else only
    who = "" if len(declared) > 8 else f" For {', '.join(declared)}."  # else of everyone
    return f"{text}{who} (default: {unset or shown})".replace("%", "%%")


def _name_in(place: Place) -> Callable[[str], str]:
    def name(text: str) -> str:
        known = [learner.id for learner in offered(place)]
        if text not in known:
            raise argparse.ArgumentTypeError(unknown_learner(text, known))
        return text

    return name


def _value_of(parameter: Parameter, *, auto: bool) -> Callable[[str], float | str]:
    """Reads a number of the parameter's range, or "auto" where some learner takes that."""

    def value(text: str) -> float | str:
        if auto and text == "auto":
            return text
        whole = parameter.kind == "whole number"
        found: float = integer(text) if whole else number(text)
        if not parameter.accepts(found):
            raise argparse.ArgumentTypeError(f"must {parameter.range(found)}, not {text}")
        return found

    return value
