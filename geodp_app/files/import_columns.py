"""What the columns of a file of examples are likely to mean, guessed from their names.

A guess is a first offer: the person sees it and may choose otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["grid", "degrees"]

#: Names of coordinates, without signs and capitals; earlier ones are preferred.
_AXES: tuple[tuple[str, str, Kind], ...] = (
    ("x", "y", "grid"),
    ("lon", "lat", "degrees"),
    ("lng", "lat", "degrees"),
    ("long", "lat", "degrees"),
    ("longitude", "latitude", "degrees"),
    ("pointx", "pointy", "degrees"),
    ("easting", "northing", "grid"),
    ("east", "north", "grid"),
    ("col", "row", "grid"),
    ("column", "row", "grid"),
)
_LABELS = ("label", "labels", "class", "inside", "target", "positive", "y")
#: What says inside, and what outside, in the form of :func:`normal`.
_OPPOSITES = (
    ("1", "0"),
    ("true", "false"),
    ("yes", "no"),
    ("t", "f"),
    ("y", "n"),
    ("inside", "outside"),
    ("in", "out"),
    ("positive", "negative"),
    ("1", "-1"),
)


@dataclass(frozen=True, slots=True)
class Columns:
    """Places of the columns that are read, from 0; None where none is chosen.

    Attributes
    ----------
    first, second : int or None
        x and y, or longitude and latitude.
    label : int or None
    """

    first: int | None = None
    second: int | None = None
    label: int | None = None

    @property
    def complete(self) -> bool:
        """Whether three different columns are chosen."""
        places = (self.first, self.second, self.label)
        return None not in places and len(set(places)) == 3


def guess_columns(names: Sequence[str], rows: Sequence[Sequence[str]] = ()) -> tuple[Columns, Kind]:
    """The columns that names speak for, and the kind of coordinates.

    Parameters
    ----------
    names : sequence of str
    rows : sequence of sequence of str
        The first rows.  Where no name says label, it is the only column that is left, or the only
        one that holds words such as yes and no.
    """
    plain = [_plain(name) for name in names]
    for first, second, kind in _AXES:
        if first in plain and second in plain:
            places = plain.index(first), plain.index(second)
            return Columns(*places, _guess_label(plain, places, rows)), kind
    return Columns(label=_guess_label(plain, (), rows)), "degrees"


def _guess_label(
    plain: Sequence[str], taken: Sequence[int], rows: Sequence[Sequence[str]]
) -> int | None:
    left = [i for i in range(len(plain)) if i not in taken]
    for name in _LABELS:
        found = [i for i in left if plain[i] == name]
        if found:
            return found[0]
    if taken and len(left) == 1:
        return left[0]
    speaking = [i for i in left if _all_labels([row[i] for row in rows if len(row) == len(plain)])]
    return speaking[0] if len(speaking) == 1 else None


def _all_labels(cells: Sequence[str]) -> bool:
    found = {normal(cell) for cell in cells}
    return any(found <= set(pair) for pair in _OPPOSITES) and bool(found)


def normal(text: str) -> str:
    """A label without what makes no difference: outer spaces, capitals, 1.0 for 1."""
    plain = text.strip().casefold()
    try:
        value = float(plain)
    except ValueError:
        return plain
    return str(int(value)) if value in (-1, 0, 1) else plain


def guess_labels(found: Sequence[str]) -> tuple[str | None, str | None]:
    """Which label says inside and which outside; None where the words do not tell.

    Parameters
    ----------
    found : sequence of str
        The different labels of a file, in the form of :func:`normal`.
    """
    if not found:
        return _OPPOSITES[0]
    for pair in _OPPOSITES:
        if set(found) <= set(pair):
            return pair
    whole = [pair for pair in _OPPOSITES if set(pair) <= set(found)]
    return whole[0] if len(whole) == 1 else (None, None)


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())
