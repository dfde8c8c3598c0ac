"""Types of command-line arguments, and checks that must come before long work."""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from geodp_app.errors import InputError
from geodp_app.files.writing import Holds, check_ending
from geometry.grid import Bounds, BoundsError
from geometry.halfplane import MAX_D

DEFAULT_BETA = 0.1

#: Help text that keeps its line breaks.
RawHelp = argparse.RawDescriptionHelpFormatter


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and exiting."""
        raise InputError(f"{message} (see {self.prog} --help)")


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


def positive(text: str) -> float:
    """A number above 0."""
    value = number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"must be above 0, not {text}")
    return value


def open_unit(text: str) -> float:
    """A number strictly between 0 and 1."""
    value = number(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must lie strictly between 0 and 1, not {text}")
    return value


def closed_unit(text: str) -> float:
    """A number from 0 to 1."""
    value = number(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, not {text}")
    return value


def integer(text: str) -> int:
    """An integer."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None


def count(text: str) -> int:
    """An integer from 1 up."""
    value = integer(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return value


def sample_size(text: str) -> int:
    """A number of examples that fits in memory."""
    value = count(text)
    if value > 10**7:
        raise argparse.ArgumentTypeError(f"must be at most 10000000, not {text}")
    return value


def seed(text: str) -> int:
    """An integer from 0 up."""
    value = integer(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"must not be negative, not {text}")
    return value


def grid_size(text: str) -> int:
    """A grid size d for which the arithmetic is exact."""
    value = integer(text)
    if not 1 <= value <= MAX_D:
        raise argparse.ArgumentTypeError(
            f"grid size {text} is outside 1..{MAX_D}, where counting is exact"
        )
    return value


def bounds(text: str) -> Bounds:
    """W,S,E,N in degrees."""
    parts = text.split(",")
    if len(parts) != 4:
        raise argparse.ArgumentTypeError(f"needs four numbers W,S,E,N in degrees, not {text!r}")
    try:
        return Bounds(*(number(part) for part in parts))
    except BoundsError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_verb(
    verbs: argparse._SubParsersAction[Parser], name: str, summary: str, description: str
) -> Parser:
    """A parser for one verb."""
    return verbs.add_parser(
        name, help=summary, description=description, formatter_class=RawHelp, allow_abbrev=False
    )


def add_bounds(parser: Parser) -> None:
    """Where the grid lies on the globe."""
    parser.add_argument(
        "--bounds",
        type=bounds,
        metavar="W,S,E,N",
        help="public bounds in degrees (never taken from the data)",
    )


def add_output(parser: Parser, text: str) -> None:
    """The main output file."""
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help=text)


def add_quiet(parser: Parser) -> None:
    """Silence."""
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")


def add_privacy(parser: Parser) -> None:
    """The privacy budget and what it means."""
    parser.add_argument("--epsilon", type=positive, default=1.0, help="default %(default)s")
    parser.add_argument("--delta", type=open_unit, default=1e-6, help="default %(default)s")
    parser.add_argument(
        "--neighbours",
        choices=("add-remove", "replace-one"),
        default="add-remove",
        help="data sets that must look alike (default %(default)s)",
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


def check_outputs(outputs: Sequence[tuple[Path | None, Holds]], inputs: Sequence[Path]) -> None:
    """Find out before long work whether every output can be written, and is what its name says.

    Parameters
    ----------
    outputs : sequence of (path or None, str)
        Files to write, and what they will hold; None for one that is not wanted.
    inputs : sequence of path

    Raises
    ------
    InputError
        If an output is a folder, its name has the ending of another format, its folder is missing
        or cannot be written to, or it is the same file as an input or another output.
    """
    taken = {os.path.realpath(path): "an input" for path in inputs}
    for output, holds in outputs:
        if output is None:
            continue
        _check_output(output)
        if output.exists() and not output.is_file():
            continue  # /dev/stdout and its like may be named twice, and have any name
        real = os.path.realpath(output)
        if real in taken:
            raise InputError(f"{output}: is {taken[real]} too; choose another name")
        taken[real] = "another output"
        check_ending(output, holds)


def _check_output(output: Path) -> None:
    if output.is_dir():
        raise InputError(f"{output}: is a folder; name a file in it")
    if output.exists() and not output.is_file():
        return
    folder = Path(os.path.realpath(output)).parent
    if not folder.is_dir():
        raise InputError(f"{output}: there is no folder {folder}")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{output}: cannot write to {folder}: {error.strerror}") from None
