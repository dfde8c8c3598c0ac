"""Finds the columns of a table that hold examples, and says what is wrong with a row.

Columns are chosen as those of files are (:mod:`geodp_app.files.import_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import Frame
from geodp_app.errors import InputError, refusals
from geodp_app.files.import_columns import choose_columns, place_of
from geodp_app.tables.source import TableSource


class Fault(IntEnum):
    """What is wrong with a value; three more for each column before it."""

    EMPTY = 1
    OFF = 2
    BROKEN = 3
    NOBODY = 10
    SEVERAL = 11


#: Faults of a row without a usable label or place: all but lying elsewhere.
DROPPED = (1, 3, 4, 6, 7, 8, 9)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Names of the columns that are read.

    Attributes
    ----------
    first, second : str
        x and y, or longitude and latitude.
    label : str
    person : str or None
        Whose a row is.
    on_grid : bool
        Whether coordinates are whole numbers on the grid, not degrees.
    """

    first: str
    second: str
    label: str
    person: str | None
    on_grid: bool

    @property
    def examples(self) -> tuple[str, str, str]:
        """All but whose a row is."""
        return self.first, self.second, self.label


def find_columns(
    source: TableSource,
    kinds: Mapping[str, Any],
    wanted: Mapping[str, str],
    person: str | None,
    files: Sequence[Sequence[str]] = (),
) -> TableColumns:
    """The columns that are meant, if they are of the right kinds.

    Parameters
    ----------
    source : TableSource
    kinds : mapping
        The engine's data type (of Ibis) of each column.
    wanted : mapping
        Name by what a column stands for (x, y, lon, lat, label), where it is another.
    person : str or None
        Column that tells whose a row is.
    files : sequence of sequence of str
        Names of columns as they stand in each file.

    Raises
    ------
    InputError
        If one is missing or could be several, does not hold numbers, or holds nothing that can
        name a person.
    """
    names = list(kinds)
    with refusals(source.name, InputError):
        found, kind = choose_columns(names, wanted)
        own = None if person is None else place_of(person, names)
        for place in (found.first, found.second, found.label, own):
            for each in files:  # what a file has twice is once what it is called, to an engine
                if place is not None and names[place] in each:
                    place_of(names[place], [name.lower() for name in each])
    places = (found.first, found.second, found.label)
    first, second, label = (names[place] for place in places if place is not None)
    _check_kinds(source, kinds, (first, second, label))
    if own is not None:
        _check_person_kind(source, names[own], kinds[names[own]])
    own_name = None if own is None else names[own]
    return TableColumns(first, second, label, own_name, kind == "grid")


def _check_kinds(
    source: TableSource, kinds: Mapping[str, Any], examples: tuple[str, str, str]
) -> None:
    for name in examples:
        kind = kinds[name]
        said = name == examples[2] and kind.is_boolean()
        if not (said or kind.is_numeric() or kind.is_string()):  # the query looks into text
            raise InputError(f"{source.name}: column {name}: holds {kind}, not numbers")


def _check_person_kind(source: TableSource, name: str, kind: Any) -> None:
    """Refuse what may be empty in more ways than are looked for: lists, records, JSON, maps."""
    plain = kind.is_numeric() or kind.is_boolean() or kind.is_string() or kind.is_binary()
    if not (plain or kind.is_uuid() or kind.is_temporal()):
        raise InputError(
            f"{source.name}: column {name}: holds {kind}, which does not name a person: it must "
            "hold numbers, text, bytes, UUIDs or times"
        )


#: What is wrong with a value that is to name a person.
_OF_PERSONS: dict[int, str] = {
    Fault.NOBODY: "is empty, blank or NaN in some row; every row must say whose it is",
    Fault.SEVERAL: "is a floating-point number too large to tell whole numbers apart in some row; "
    "persons must be named by integers or text",
}


def refuse_faults(
    source: TableSource, columns: TableColumns, frame: Frame, keys: NDArray[np.int64]
) -> None:
    """Say what is wrong with a row, without its values: the first fault by column.

    Parameters
    ----------
    source : TableSource
    columns : TableColumns
    frame : Frame
    keys : ndarray of int64, shape (m,)
        Negative ones are faults.

    Raises
    ------
    InputError
        If there is one.
    """
    faulty = keys[keys < 0]
    if not len(faulty):
        return
    number = -int(faulty.max())
    if number in _OF_PERSONS:
        column, reason = columns.person, _OF_PERSONS[number]
    else:
        place, fault = divmod(number - 1, 3)
        column, reason = columns.examples[place], _reason(place, Fault(fault + 1), columns, frame)
    raise InputError(
        f"{source.name}: column {column}: {reason}; correct such rows, or read a view without them"
    )


def _reason(place: int, fault: Fault, columns: TableColumns, frame: Frame) -> str:
    if place == 2:
        none = "empty, or no label" if fault == Fault.EMPTY else "not 0 or 1"
        return (
            f"is {none} in some row (labels are 1 and 0, true and false, yes and no, 1 and -1, or "
            "what --inside names; --unusable drop leaves others out)"
        )
    if fault == Fault.EMPTY:
        return "is empty or not a number in some row"
    if fault == Fault.BROKEN:
        return "is not an integer in some row (degrees need --columns lon=NAME,lat=NAME, --bounds)"
    if columns.on_grid or frame.bounds is None:
        return f"is off the grid 0..{frame.d} in some row (set its size with --grid)"
    box = frame.bounds.as_tuple()
    return f"is outside the bounds {box[place]:.10g}..{box[place + 2]:.10g} in some row"
