"""The columns of a table that hold examples, and what can be wrong with a row.

Columns are x, y, label on the grid or lon, lat, label in degrees, as in a CSV file of examples
(:mod:`geodp_app.files.csv_table`), under these names or others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import Frame
from geodp_app.errors import InputError
from geodp_app.files.csv_table import DEGREE_COLUMNS, GRID_COLUMNS
from geodp_app.files.import_rows import same_name
from geodp_app.tables.source import TableSource


class Fault(IntEnum):
    """What is wrong with a value; three more for each column before it."""

    EMPTY = 1
    OFF = 2
    BROKEN = 3
    NOBODY = 10
    SEVERAL = 11


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
    source: TableSource, kinds: Mapping[str, Any], wanted: Mapping[str, str], person: str | None
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

    Raises
    ------
    InputError
        If one is missing, does not hold numbers, or holds nothing that can name a person.
    """
    names = list(kinds)
    choices = [roles for roles in (GRID_COLUMNS, DEGREE_COLUMNS) if set(wanted) <= set(roles)]
    for roles in choices:
        found = [same_name(wanted.get(role, role), names) for role in roles]
        if None in found:
            continue
        own = None if person is None else same_name(person, names)
        if person is not None and own is None:
            raise InputError(f"{source.name}: {_missing(person, names)}")
        first, second, label = map(str, found)
        _check_kinds(source, kinds, (first, second, label))
        if own is not None:
            _check_person_kind(source, own, kinds[own])
        return TableColumns(first, second, label, own, roles == GRID_COLUMNS)
    lowered = {name.strip().lower() for name in names}
    roles = choices[-1] if {"lon", "lat"} & (set(wanted) or lowered) else choices[0]
    asked = [wanted.get(role, role) for role in roles]
    lacking = ", ".join(name for name in asked if same_name(name, names) is None)
    renamed = ",".join(f"{role}=NAME" for role in roles)
    raise InputError(f"{source.name}: {_missing(lacking, names)}; name yours: --columns {renamed}")


def _missing(column: str, names: Sequence[str]) -> str:
    shown = ",".join(names)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return f"missing column {column}: the table has {shown!r}"


def _check_kinds(
    source: TableSource, kinds: Mapping[str, Any], examples: tuple[str, str, str]
) -> None:
    if source.kind == "csv":  # all text: the query looks into it
        return
    for name in examples:
        if kinds[name].is_numeric() or (name == examples[2] and kinds[name].is_boolean()):
            continue
        raise InputError(f"{source.name}: column {name}: holds {kinds[name]}, not numbers")


def _check_person_kind(source: TableSource, name: str, kind: Any) -> None:
    """Refuse what may be empty in more ways than are looked for: lists, records, JSON, maps."""
    plain = kind.is_numeric() or kind.is_boolean() or kind.is_string() or kind.is_binary()
    if not (plain or kind.is_uuid() or kind.is_temporal()):
        raise InputError(
            f"{source.name}: column {name}: holds {kind}, which does not name a person: it must "
            "hold numbers, text, bytes, UUIDs or times"
        )


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
    if number == Fault.NOBODY:
        column, reason = (
            columns.person,
            ("is empty, blank or NaN in some row; every row must say whose it is"),
        )
    elif number == Fault.SEVERAL:
        column, reason = (
            columns.person,
            (
                "is a floating-point number too large to tell whole numbers apart in some row; "
                "persons must be named by integers or text"
            ),
        )
    else:
        place, fault = divmod(number - 1, 3)
        column, reason = columns.examples[place], _reason(place, Fault(fault + 1), columns, frame)
    raise InputError(
        f"{source.name}: column {column}: {reason}; correct such rows, or read a view without them"
    )


def _reason(place: int, fault: Fault, columns: TableColumns, frame: Frame) -> str:
    if fault == Fault.EMPTY:
        return "is empty or not a number in some row"
    if fault == Fault.BROKEN:
        return "is not an integer in some row"
    if place == 2:
        return "is not 0 or 1 in some row"
    if columns.on_grid or frame.bounds is None:
        return f"is off the grid 0..{frame.d} in some row (set its size with --grid)"
    box = frame.bounds.as_tuple()
    return f"is outside the bounds {box[place]:.10g}..{box[place + 2]:.10g} in some row"
