"""Formats numbers as people read them, the same everywhere: '0.54 %', '12,430', '1.2 s', '5.7 min'.

Spaces before units do not break.  A missing value is an en dash.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeGuard

#: Stands for a value that is not there.
MISSING = "–"

#: Between a number and its unit: U+00A0.
SPACE = "\u00a0"

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def percentage(share: float | None) -> str:
    """A share, 0..1, as a percentage: two decimals below 10 %, one above; '< 0.01 %' if tiny."""
    if not _known(share):
        return MISSING
    percent = 100 * share
    if percent == 0:
        return f"0{SPACE}%"
    if 0 < percent < 0.005:
        return f"<{SPACE}0.01{SPACE}%"
    digits = 2 if percent < 9.995 else 1
    return f"{percent:.{digits}f}{SPACE}%"


def count(value: int | None) -> str:
    """A whole number with a comma between thousands; a true minus sign."""
    if value is None:
        return MISSING
    return f"{value:,}".replace("-", "−")


def counted(number: int, noun: str) -> str:
    """So many of something: 'no polygons', '1 polygon', '12,430 polygons'."""
    return f"{count(number) if number else 'no'} {noun}{'' if number == 1 else 's'}"


def amount(value: float | None, digits: int = 3) -> str:
    """A number of `digits` significant digits, without trailing zeros; thousands with commas."""
    if not _known(value):
        return MISSING
    if value == 0:
        return "0"
    if abs(value) >= 10**digits - 0.5:
        return count(round(value))
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        power = power_of_ten(int(exponent))
        text = power if mantissa == "1" else f"{mantissa}·{power}"
    return text.replace("-", "−")


def power_of_ten(exponent: int) -> str:
    """'10⁻⁶'."""
    return "10" + str(exponent).translate(_RAISED)


def decimal(value: float, digits: int = 2) -> str:
    """A number with at most so many decimals, none that are zeros at the end; commas, minus."""
    text = f"{value:,.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def duration(seconds: float | None) -> str:
    """A time span: milliseconds, seconds, minutes or hours, two or three digits."""
    if not _known(seconds):
        return MISSING
    for limit, divisor, unit, digits in (
        (0.9995, 1e-3, "ms", 0),
        (9.95, 1, "s", 1),
        (99.5, 1, "s", 0),
        (5970, 60, "min", 1),
    ):
        if seconds < limit:
            return f"{seconds / divisor:.{digits}f}{SPACE}{unit}"
    return f"{seconds / 3600:.1f}{SPACE}h"


def aligned(lines: Sequence[Sequence[str]], texts: Collection[int] = (0,)) -> list[str]:
    """Lines of cells in columns; those of these numbers are texts, the others numbers."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = []
    for line in lines:
        cells = [
            cell.ljust(width) if i in texts else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        shown.append("  ".join(cells).rstrip())
    return shown


def _known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def csv_text(records: Iterable[dict[str, Any]]) -> str:
    """Figures by the names of columns as CSV; there are some."""
    text, (first, *others) = io.StringIO(), records
    writer = csv.DictWriter(text, list(first), lineterminator="\n")
    writer.writeheader()
    writer.writerows([first, *others])
    return text.getvalue()


def runs_words(runs: int, given_up: int) -> str:
    """How many runs there were, and how many of them did not come to their end."""
    many = f"{given_up} " if runs > 1 else ""
    ended = f", {many}not finished" if given_up else ""
    return f"{counted(runs, 'run') if runs else 'no run yet'}{ended}"


def amounts(epsilon: float, delta: float) -> str:
    """Epsilon and delta as they are written."""
    equals = f"{SPACE}={SPACE}"
    return f"ε{equals}{amount(epsilon, 4)}, δ{equals}{amount(delta)}"
