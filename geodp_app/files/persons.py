"""Keeps so many rows of each person, by identifier: docs/privacy.md, lemmas T0, T1 and T2.

Whoever has fewer rows counts as often as others: these rows come in turn.

The rules are stated here for all roads: what names nobody, what names several, and which values
are one name.  Files and data frames come through :func:`names_of`; an engine of tables does the
same by these constants (:mod:`geodp_app.tables.query`).

Which of a person's rows are taken is a function of that person's rows alone: those whose hashes of
identifier, grid point and label are least.  Nothing is drawn.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import Examples
from geometry.arrays import Ints

#: Unicode's white space, and characters without width: a text of these alone shows nothing.
BLANKS = (
    "\t\n\v\f\r\x1c-\x20\x85\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff"
)

#: What programs write for nobody, without capitals and outer spaces.
NOBODY = ("nan", "none", "null", "<na>", "nat")

#: The identifier of nobody.
NIL_UUID = "00000000-0000-0000-0000-000000000000"

#: Texts that are whole numbers as floating-point numbers are written, and decimals: 7.0 is 7.
WHOLE = r"^-?(0|[1-9][0-9]*)[.]0*$"

#: Texts that are floating-point numbers, which may stand for several whole ones; each in one way,
#: or a long one would take quadratic time.
FLOATING = r"^-?([0-9]+([.][0-9]*)?|[.][0-9]*)?([eE][+-]?[0-9]+)?$"

_SHOWN, _WHOLE = re.compile(f"[^{BLANKS}]"), re.compile(WHOLE)

#: Texts about which nothing is to be asked: most of them, and quickly told.
_ITSELF = re.compile(
    rf"[0-9]+|(?!(?:{'|'.join(NOBODY)}|{NIL_UUID}|{FLOATING[1:-1]})$)[\w.:@-]+(?: [\w.:@-]+)*",
    re.ASCII | re.IGNORECASE,
)


#: Times beyond all that Python has, among which engines have an infinite one.
_ODD_YEAR = re.compile(r"-|[0-9]{5}")


def told_apart(bits: int | None) -> float:
    """From here on a floating-point number of so many bits stands for several whole numbers."""
    return 2.0 ** {16: 11, 32: 24}.get(bits or 64, 53)


def names_of(values: Sequence[Any] | NDArray[Any]) -> tuple[list[str], dict[int, str]]:
    """The person that each value names: equal texts are one person.

    `values`: shape (n,): texts, numbers, or what else a column holds; floating-point numbers tell
    their width.

    Returns
    -------
    names : list of str
    faults : dict of int to str
        Why a value names no single person.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return [str(value) for value in values.tolist()], {}
    bits = None
    if isinstance(values, np.ndarray) and values.dtype.kind in "Mm":
        spans = values.dtype.kind == "m"  # refused one by one, as times of no year are
        texts = values.astype(str).tolist()  # of no time: NaT
        values = [timedelta() if spans or _ODD_YEAR.match(text) else text for text in texts]
    if isinstance(values, np.ndarray):
        bits = 8 * values.dtype.itemsize if values.dtype.kind == "f" else None
        values = values.astype(float).tolist() if bits else values.tolist()
    names, faults = [], {}
    for i, value in enumerate(values):
        plain = type(value) is str and _ITSELF.fullmatch(value)
        name, fault = (value, "") if plain else _name(value, bits)
        if fault:
            faults[i] = f"{fault}: it must name a person"
        names.append(name)
    return names, faults


def _name(value: Any, bits: int | None) -> tuple[str, str]:
    if value is None or value != value:  # NaN, and what pandas has for no time
        return "", "is empty"
    if isinstance(value, np.generic):
        bits = 8 * value.dtype.itemsize if value.dtype.kind == "f" else bits
        value = float(value) if value.dtype.kind == "f" else value.item()
    if isinstance(value, Decimal) and value.is_infinite():
        value = float(value)
    if isinstance(value, bool):
        return str(value).lower(), ""
    if isinstance(value, float):
        if abs(value) >= told_apart(bits):
            return "", f"{value!r} stands for several whole numbers"
        return (str(int(value)) if value.is_integer() else repr(value)), ""
    if isinstance(value, Decimal):
        text = f"{value or 0:f}"  # of -0 too
        return (text.rstrip("0").rstrip(".") if "." in text else text), ""
    if isinstance(value, bytes):
        return value.hex(), "" if value else "is empty"
    if isinstance(value, UUID):
        return str(value), "" if value.int else f"{value} is nobody"
    if isinstance(value, timedelta) or (isinstance(value, date) and not 0 < value.year < 10_000):
        return "", "is a span of time, or lies outside the years 1 to 9999"
    if isinstance(value, list | dict | tuple | set | np.ndarray):
        return "", f"holds {type(value).__name__}s, which do not name a person"
    return _name_of_text(str(value), bits)


def _name_of_text(text: str, bits: int | None) -> tuple[str, str]:
    if not _SHOWN.search(text):
        return "", "is empty"
    plain = text.strip()
    if plain.lower() in NOBODY or plain == NIL_UUID:
        return "", f"{plain!r} is nobody"
    if ("." in plain or "e" in plain.lower()) and re.match(FLOATING, plain):
        try:
            blurred = abs(float(plain)) >= told_apart(bits)
        except ValueError:  # a dot or an e alone
            blurred = False
        if blurred:
            return "", f"{plain[:40]} stands for several whole numbers"
    if _WHOLE.match(text):
        text = text.partition(".")[0]
    return ("0" if text == "-0" else text), ""


def some_each(examples: Examples, owners: Sequence[str], rows: Ints, each: int = 1) -> Ints:
    """Which examples stay, so many of each person, in order.

    They are different ones; of a person with fewer these come in turn until they are as many.

    Parameters
    ----------
    examples : Examples
        n of them.
    owners : sequence of str
        Whose each row of the file is.
    rows : ndarray of int64, shape (n,)
        Which row of the file each example was.
    each : int
        How many of each person.
    """
    whose = np.array([*owners, ""], dtype=object)[rows]
    number: dict[str, int] = defaultdict(itertools.count().__next__)
    # one by one, not by a map: a window that waits for a million is painted meanwhile
    person = np.fromiter((number[owner] for owner in whose.tolist()), np.int64, len(whose))
    several = np.flatnonzero(np.bincount(person)[person] > 1)  # else there is nothing to choose
    columns = (whose, *examples.points.T, examples.labels)
    digests = b"".join(
        hashlib.blake2b(
            f"{len(owner)} {owner} {x} {y} {label}".encode("utf-8", "surrogatepass"), digest_size=16
        ).digest()
        for owner, x, y, label in zip(
            *(column[several].tolist() for column in columns), strict=True
        )
    )
    lots = np.zeros((len(rows), 2), dtype=np.uint64)
    lots[several] = np.frombuffer(digests, dtype=">u8").reshape(-1, 2)
    order = np.lexsort((lots[:, 1], lots[:, 0], person))  # equal ones stay in order
    same = [column[order[1:]] == column[order[:-1]] for column in (person, *lots.T)]
    order = order[np.concatenate([[True], ~np.logical_and.reduce(same)])[: len(order)]]
    many = np.bincount(person[order])
    rank = np.arange(len(order)) - np.repeat(np.cumsum(many) - many, many)
    turns = -((rank - each) // np.minimum(many, each)[person[order]])  # of those that come in turn
    return np.sort(np.repeat(order, np.maximum(turns, 0)))
