"""Which columns of a table hold examples, and the query that counts its rows by grid point and
label, as an expression of Ibis.

Columns are chosen as those of files are (:mod:`geodp_app.files.import_rows`).

Every row gets one integer in the engine: 2 (x (d + 1) + y) + label, or a negative number that tells
what is wrong with the row.  Degrees are rounded as :meth:`geometry.grid.GridMap.to_grid` rounds
them, bit by bit: the same products of doubles, halves to the even side.

Where one person may have several rows, one of them is counted, or as many as are asked for: of a
person's rows, those whose hashes are least, ties by the least grid point and label.  The choice is
a function of the person's own rows alone, hence privacy is per person: docs/privacy.md, lemmas T1
and T2.

This is the only module that imports Ibis (extra ``tables``), and it does so when a table is read.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import Frame
from geodp_app.errors import InputError
from geodp_app.files.csv_table import number_fault
from geodp_app.files.import_columns import choose_columns, place_of
from geodp_app.files.persons import BLANKS, FLOATING, NIL_UUID, NOBODY, WHOLE, told_apart
from geodp_app.tables.source import TableSource
from learners.core.examples import COMMON, OPPOSITES, LabelWords


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
    try:
        found, kind = choose_columns(names, wanted)
        own = None if person is None else place_of(person, names)
        for place in (found.first, found.second, found.label, own):
            for each in files:  # what a file has twice is once what it is called, to an engine
                if place is not None and names[place] in each:
                    place_of(names[place], [name.lower() for name in each])
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from None
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
        if kinds[name].is_numeric() or kinds[name].is_string():  # the query looks into text
            continue
        if name == examples[2] and kinds[name].is_boolean():
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


def load_ibis() -> Any:
    """Ibis, loaded when it is needed.

    Raises
    ------
    InputError
        If it is not installed.
    """
    try:
        import ibis
    except ImportError as error:
        raise InputError(
            f"--table needs Ibis, which is not installed ({error.name or error}): "
            "pip install 'geodp[tables]'"
        ) from None
    return ibis


def abilities(connection: Any) -> dict[str, bool]:
    """What of the expression depends on the engine: one without NaN has no test for it."""
    return {"knows_nan": connection.has_operation(load_ibis().expr.operations.IsNan)}


def count_expression(
    table: Any,
    columns: TableColumns,
    frame: Frame,
    *,
    knows_nan: bool = True,
    bits: int = 64,
    comma: bool = False,
    words: LabelWords = COMMON,
    drop: bool = False,
    rows: int = 1,
) -> Any:
    """What the engine computes: columns key and amount.

    Parameters
    ----------
    table : ibis Table
    columns : TableColumns
    frame : Frame
    knows_nan : bool
        Whether the engine has NaN and a test for it.
    bits : int
        Of the narrowest floating-point numbers that files have for persons.
    comma : bool
        Whether numbers may have a comma for a point.
    words : LabelWords
        Which labels say inside and which outside.
    drop : bool
        Whether rows without a usable label or place stand beside the others, of no person.
    rows : int
        Of each person, if the columns name persons; whoever has fewer has these in turn.

    Returns
    -------
    ibis Table
        One row for each key, 2 (x (d + 1) + y) + label, or minus the number of a fault.
    """
    ibis = load_ibis()
    first, second, label = (table[name] for name in columns.examples)
    values = [_number(first, comma), _number(second, comma), _label(label, comma, words)]
    nans = [knows_nan and value.type().is_floating() for value in values]
    key = _row_key(values, nans, columns, frame, drop=drop)
    if columns.person is None:
        keys = table.select(key=key)
    else:
        person = table[columns.person]
        key = ibis.cases(*_person_faults(person, bits, knows_nan=knows_nan), else_=key)
        bits = (2 * (frame.d + 1) ** 2).bit_length()
        # the low bits are the key, those above a hash of the row: least hash, then least key
        lot = _row_hash([person, *values]) % 2 ** min(31, 62 - bits) * 2**bits + key
        lot = ibis.cases((key < 0, key), else_=lot)
        own = {"person": _person(person)}
        if drop:  # apart from the others, which are chosen from
            own["left"] = key.isin([-fault for fault in DROPPED])
        lots = table.select(**own, lot=lot)
        if rows == 1:
            chosen = lots.group_by(list(own)).agg(lot=lots.lot.min())
        else:
            chosen = _several(lots, rows, list(own))
        # a faulty row has a negative lot, the least, and is never passed over
        keys = chosen.mutate(
            key=ibis.cases((chosen.lot < 0, chosen.lot), else_=chosen.lot % 2**bits)
        )
    several = columns.person is not None and rows > 1
    amount = keys.times.sum().cast("int64") if several else keys.count()
    return keys.group_by("key").agg(amount=amount)


def _several(lots: Any, rows: int, by: list[str]) -> Any:
    """The least lots of each person, and how often each counts: so many times together."""
    ibis = load_ibis()
    lots = lots.distinct()
    own = ibis.window(group_by=by)
    numbered = lots.mutate(
        place=ibis.row_number().over(ibis.window(group_by=by, order_by="lot")),
        many=ibis.least(lots.count().over(own), rows),
    )
    chosen = numbered.filter(numbered.place < rows)
    more = (chosen.place < rows % chosen.many).ifelse(1, 0)
    return chosen.select(lot=chosen.lot, times=rows // chosen.many + more)


def edge_expression(table: Any, columns: TableColumns, frame: Frame, *, comma: bool) -> Any:
    """Columns key and amount: on which edges of the bounds rows lie, a bit each, as
    :meth:`geometry.grid.Bounds.spanned_by` has it."""
    assert frame.bounds is not None
    box, key = frame.bounds, 0
    edges = zip(
        (columns.first, columns.second) * 2, (*box.low, *box.high), box.size * 2, strict=True
    )
    for i, (name, edge, size) in enumerate(edges):
        value, near = _number(table[name], comma), 1e-9 * size
        met = (value >= _exact(edge - near)) & (value <= _exact(edge + near))
        key += met.fill_null(False).ifelse(2**i, 0)
    keys = table.select(key=key)
    return keys.group_by("key").agg(amount=keys.count())


def _person(person: Any) -> Any:
    """The name by which rows are one person's: text that is a whole number is that number."""
    if not person.type().is_string():
        return person
    whole = person.re_search(WHOLE).ifelse(person.substr(0, person.find(".")), person)
    return (whole == "-0").ifelse("0", whole)


def _person_faults(person: Any, bits: int, *, knows_nan: bool) -> list[tuple[Any, int]]:
    """What names nobody, or several: rows of different persons under one name.

    NULL, NaN, text of blanks alone or of a word for nothing, no bytes, the UUID of zeros; and
    floating-point numbers from where neighbouring whole numbers become one.
    """
    ibis = load_ibis()
    kind = person.type()
    faults = [(person.isnull(), -Fault.NOBODY)]
    if kind.is_floating() or kind.is_decimal():  # some engines' decimals know NaN
        number = person.cast("float64")
        if knows_nan:
            faults.append((number.isnan(), -Fault.NOBODY))
        if kind.is_floating():
            own = 16 if kind.is_float16() else 32 if kind.is_float32() else 64
            apart = told_apart(min(own, bits))
            faults.append((~(number.abs() < _exact(apart)), -Fault.SEVERAL))
    elif kind.is_string():
        plain = person.strip().lower()
        # spelled out: engines' classes of characters differ
        shown = person.re_search(f"[^{BLANKS}]")
        faults.append((~shown | plain.isin((*NOBODY, NIL_UUID)), -Fault.NOBODY))
        number = plain.re_search(FLOATING).ifelse(plain.try_cast("float64"), None)
        floating = plain.contains(".") | plain.contains("e")
        blurred = floating & (number.abs() >= _exact(told_apart(bits)))
        faults.append((blurred.fill_null(False), -Fault.SEVERAL))
    elif kind.is_binary():
        faults.append((person == ibis.literal(b"", type="binary"), -Fault.NOBODY))
    elif kind.is_uuid():
        faults.append((person == ibis.uuid(NIL_UUID), -Fault.NOBODY))
    return faults


def _number(column: Any, comma: bool) -> Any:
    """A column as numbers, NULL where a text is none; integers stay what they are."""
    kind = column.type()
    if kind.is_boolean():
        return column.cast("int64")
    if kind.is_string():
        text = column.replace(",", ".") if comma else column
        # DuckDB would take 1_000 for a number
        return text.contains("_").ifelse(load_ibis().null("float64"), text.try_cast("float64"))
    return column if kind.is_integer() else column.cast("float64")


def _label(column: Any, comma: bool, words: LabelWords) -> Any:
    """A column of labels as numbers, by what its words say; NULL where a text says neither."""
    number = _number(column, comma)
    if words.inside:
        return _named_label(column, number, words)
    if not column.type().is_string():
        return number
    plain = column.replace("\u00a0", " ").strip().lower()
    inside, outside = (tuple(dict.fromkeys(pair[i] for pair in OPPOSITES)) for i in (0, 1))
    return load_ibis().cases(
        (plain.isin(inside), _exact(1.0)), (plain.isin(outside), _exact(0.0)), else_=number
    )


def _named_label(column: Any, number: Any, words: LabelWords) -> Any:
    """As :func:`_label`, where options name the labels."""
    ibis, kind = load_ibis(), column.type()
    text = column.cast("string") if kind.is_boolean() else column if kind.is_string() else None
    plain = None if text is None else text.replace("\u00a0", " ").strip().lower()
    number = None if kind.is_boolean() else number

    def among(labels: frozenset[str]) -> Any:
        numbers = [_exact(float(label)) for label in labels if not number_fault(label)]
        found = ibis.literal(False)
        if plain is not None:
            found |= plain.isin(sorted(labels))
        if number is not None and numbers:
            found |= number.cast("float64").isin(numbers).fill_null(False)
        return found

    none = column.isnull() if plain is None else column.isnull() | (plain == "")
    outside = among(words.outside) if words.outside else ~none
    one, zero = _exact(1.0), _exact(0.0)
    return ibis.cases(
        (none, ibis.null("float64")), (among(words.inside), one), (outside, zero),
        else_=ibis.null("float64"),
    )  # fmt: skip


def _row_key(
    values: list[Any], nans: list[bool], columns: TableColumns, frame: Frame, *, drop: bool
) -> Any:
    """Grid point and label in one integer, or the fault of a row; with `drop` one beside that of
    lying elsewhere, if it has both."""
    ibis = load_ibis()
    faults, cells = [], []
    elsewhere: list[Any] = []
    box = None if columns.on_grid else frame.bounds
    ranges = [(0, frame.d)] * 2 if box is None else [*zip(box.low, box.high, strict=True)]
    for place, (value, (low, high)) in enumerate(zip(values[:2], ranges, strict=True)):
        held = (value >= _exact(low)) & (value <= _exact(high))
        if nans[place]:  # above all numbers to some engines
            held = ~value.isnan() & held
        # rows off the range are counted as faults; no product of theirs may overflow
        safe = held.ifelse(value, _exact(low))
        if nans[place] and drop:
            faults.append((value.isnan() | value.isinf(), -Fault.EMPTY - 3 * place))
        faults.append((value.isnull(), -Fault.EMPTY - 3 * place))
        (elsewhere if drop else faults).append((~held, -Fault.OFF - 3 * place))
        if box is not None:
            cells.append(_nearest((safe - _exact(low)) * _exact(frame.d / (high - low))))
        elif value.type().is_integer():
            cells.append(safe.cast("int64"))
        else:
            broken = value != value.floor() if drop else safe != safe.floor()
            faults.append((broken, -Fault.BROKEN - 3 * place))
            cells.append(safe.floor().cast("int64"))
    label = values[2]
    faults.append((label.isnull(), -Fault.EMPTY - 6))
    if nans[2]:
        faults.append((label.isnan(), -Fault.OFF - 6))
    faults.append((~label.isin((0, 1, -1)), -Fault.OFF - 6))
    x, y = cells
    key = (x * (frame.d + 1) + y) * 2 + (label == 1).ifelse(1, 0)
    return ibis.cases(*faults, *elsewhere, else_=key)


def _nearest(value: Any) -> Any:
    """The nearest integer of a double of at least 0, halves to the even one."""
    down = value.floor().cast("int64")
    rest = value - down.cast("float64")  # without rounding
    up = (rest > 0.5) | ((rest == 0.5) & (down % 2 == 1))
    return down + up.ifelse(1, 0)


def _exact(number: float) -> Any:
    """A number as the engine must take it: a bare 0.1 would be a decimal to some."""
    ibis = load_ibis()
    return number if isinstance(number, int) else ibis.literal(repr(number)).cast("float64")


def _row_hash(values: list[Any]) -> Any:
    """A hash of values, not negative, below 2^31."""
    mixed = functools.reduce(
        lambda sofar, value: (sofar ^ value.hash()).hash(), values[1:], values[0].hash()
    )
    return mixed & (2**31 - 1)
