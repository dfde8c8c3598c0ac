"""Builds the query that counts a table's rows by grid point and label, as an expression of Ibis.

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
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from geodp_app.document.examples import Frame
from geodp_app.files.csv_table import as_cells
from geodp_app.files.import_rows import label_of
from geodp_app.files.persons import BLANKS, FLOATING, NIL_UUID, NOBODY, WHOLE, told_apart
from geodp_app.files.points import PointOptions
from geodp_app.tables.source import DROPPED, Fault, TableColumns
from geometry.errors import InputError
from learners.core.examples import LabelWords


def load_ibis() -> Any:
    """Ibis, loaded when it is needed; raises InputError if it is not installed."""
    try:
        import ibis
    except ImportError as error:
        raise InputError(
            f"--table needs Ibis, which is not installed ({error.name or error}): "
            "pip install 'geodp[tables]'"
        ) from None
    return ibis


def count_expression(
    table: Any,
    columns: TableColumns,
    frame: Frame,
    options: PointOptions,
    read: RowValues,
    *,
    knows_nan: bool,
    bits: int,
) -> Any:
    """What the engine computes: columns key and amount.

    Rows without a usable label or place that are to be dropped stand beside the others, of no
    person.  A person who has fewer rows than are asked for has these in turn.  `read`: what
    :func:`row_values` makes of the rows.  `knows_nan`: as there.  `bits`: of the narrowest
    floating-point numbers that files have for persons.  Returns one row for each key,
    2 (x (d + 1) + y) + label, or minus the number of a fault.
    """
    ibis = load_ibis()
    drop, rows = options.unusable == "drop", options.rows
    values, nans = read
    key = _row_key(values, nans, columns, frame, drop=drop)
    if columns.person is None:
        keys = table.select(key=key)
    else:
        person = table[columns.person]
        key = ibis.cases(*_person_faults(person, bits, knows_nan=knows_nan), else_=key)
        bits = (2 * (frame.d + 1) ** 2).bit_length()
        mixed = functools.reduce(
            lambda sofar, value: (sofar ^ value.hash()).hash(), values, person.hash()
        )
        # the low bits are the key, those above a hash of the row, not negative: least hash, then
        # least key
        lot = (mixed & (2**31 - 1)) % 2 ** min(31, 62 - bits) * 2**bits + key
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


def edge_expression(table: Any, columns: TableColumns, frame: Frame, read: RowValues) -> Any:
    """Columns key and amount: on which edges of the bounds usable rows lie, a bit each, as
    :meth:`geometry.grid.Bounds.spanned_by` has it; the rest as :func:`count_expression`."""
    assert frame.bounds is not None
    values, nans = read
    usable = _row_key(values, nans, columns, frame, drop=True) >= 0
    box, key = frame.bounds, 0
    edges = zip(values[:2] * 2, (*box.low, *box.high), box.size * 2, strict=True)
    for i, (value, edge, size) in enumerate(edges):
        near = 1e-9 * size
        met = (value >= _exact(edge - near)) & (value <= _exact(edge + near))
        key += (usable & met).fill_null(False).ifelse(2**i, 0)
    keys = table.select(key=key)
    return keys.group_by("key").agg(amount=keys.count())


#: Of each row both coordinates as numbers and the label as 1 and 0, and which of them may be NaN.
RowValues = tuple[list[Any], list[bool]]


def row_values(
    table: Any, columns: TableColumns, said: LabelValues, *, knows_nan: bool, comma: bool
) -> RowValues:
    """What the columns hold of each row; `said`: what the labels say; `knows_nan`: whether the
    engine has NaN and a test for it; `comma`: whether numbers may have a comma for a point."""
    first, second, label = (table[name] for name in columns.examples)
    values = [_number(first, comma), _number(second, comma), _label(label, said)]
    return values, [knows_nan and value.type().is_floating() for value in values]


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
    elif kind.is_timestamp() or kind.is_date():  # an infinite one is nobody's, as in files
        made, last = (ibis.date, "") if kind.is_date() else (ibis.timestamp, " 23:59:59.999999")
        known = person.between(made("0001-01-01"), made(f"9999-12-31{last}"))
        faults.append((~known.fill_null(False), -Fault.NOBODY))
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


@dataclass(frozen=True, slots=True)
class LabelValues:
    """What the values of a column of labels say; private, as they are a sample's."""

    inside: tuple[Any, ...]
    outside: tuple[Any, ...]
    #: Those that are no labels.
    neither: tuple[Any, ...]
    #: What all others say: one of the three has none.
    others: int | None


def label_values(values: Iterable[Any], words: LabelWords, *, comma: bool) -> LabelValues:
    """What different values say, each by the rule for a cell of a file; memory: of the values that
    do not say what most may."""
    others = 0 if words.inside and not words.outside else None
    found: dict[int | None, list[Any]] = {1: [], 0: [], None: []}
    for value in values:
        label = label_of(as_cells([value])[0], comma=comma)
        said = words.says(label) if label else None
        meaning = None if said is None else int(said)
        if meaning != others:
            found[meaning].append(value)
    return LabelValues(tuple(found[1]), tuple(found[0]), tuple(found[None]), others)


def _label(column: Any, said: LabelValues) -> Any:
    """A column of labels as 1 and 0; NULL where a value says neither."""
    ibis, kind = load_ibis(), column.type()

    def among(values: tuple[Any, ...]) -> Any:
        if kind.is_floating():
            nan = column.isnan() if any(value != value for value in values) else ibis.literal(False)
            numbers = [_exact(float(value)) for value in values if value == value]
            return nan | column.cast("float64").isin(numbers)
        return column.isin([ibis.literal(value, type=kind) for value in values])

    null = ibis.null("int64")
    cases = [(column.isnull(), null)]
    for values, number in ((said.inside, 1), (said.outside, 0), (said.neither, null)):
        known = tuple(value for value in values if value is not None)
        if known:
            cases.append((among(known), number))
    return ibis.cases(*cases, else_=null if said.others is None else said.others)


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
        if value.type().is_floating():
            most = value.abs() > _exact(sys.float_info.max)
            odd = value.isnan() | value.isinf() if nans[place] else most
            faults.append((odd, -Fault.EMPTY - 3 * place))
        faults.append((value.isnull(), -Fault.EMPTY - 3 * place))
        (elsewhere if drop else faults).append((~held, -Fault.OFF - 3 * place))
        if box is not None:
            cells.append(_nearest((safe - _exact(low)) * _exact(frame.d / (high - low))))
        else:
            # some engines hold any number in a column of integers
            whole = value if drop and not value.type().is_integer() else safe
            faults.append((whole != whole.floor(), -Fault.BROKEN - 3 * place))
            cells.append(safe.floor().cast("int64"))
    label = values[2]
    faults.append((label.isnull(), -Fault.EMPTY - 6))
    x, y = cells
    key = (x * (frame.d + 1) + y) * 2 + label
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
