"""Makes examples of a file's rows: reads the chosen columns, then tells the rows that do not fit.

Reading takes a pass over the file; what the numbers and labels mean can then be changed at will,
without another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import Examples, Frame
from geodp_app.files.csv_table import Batch, Column, as_cells, number_fault
from geodp_app.files.import_file import Columns, ImportFile, Kind, cut
from geodp_app.files.persons import names_of, some_each
from geometry.arrays import Floats, Ints
from geometry.grid import GridMap
from learners.core.examples import COMMON, OPPOSITES, LabelWords, one_form

#: What becomes of a row whose place lies outside the public bounds.
OutOfBounds = Literal["refuse", "drop", "clip"]
#: What becomes of a row without a usable label or place.
Unusable = Literal["refuse", "drop"]
#: Why a row is no example, as far as advice differs: its label says neither inside nor outside, its
#: place on the grid is no whole number, or it lies elsewhere.
Refusal = Literal["unusable", "label", "fraction", "off the grid", "outside the bounds"]


def guess_labels(found: Sequence[str]) -> tuple[str | None, str | None]:
    """Which label says inside and which outside; None where the words do not tell.

    `found`: the different labels of a file, in the form of :func:`learners.core.examples.normal`.
    """
    if not found:
        return OPPOSITES[0]
    for pair in OPPOSITES:
        if set(found) <= set(pair):
            return pair
    whole = [pair for pair in OPPOSITES if set(pair) <= set(found)]
    return whole[0] if len(whole) == 1 else (None, None)


def as_zero_or_one(rows: ReadRows, words: LabelWords = COMMON) -> ReadRows:
    """The same rows with each label by what its word says: "1" for inside, "0" for outside.

    A word means the same in every file, whatever other words are there: yes and true and 1 may
    stand side by side.  Words that say neither stay as they are.  `words` are those with which the
    rows were read.
    """
    said = [words.says(word) for word in rows.labels]
    neither = [i for i, inside in enumerate(said) if inside is None]
    codes = np.array([int(not inside) for inside in said], dtype=np.int32)
    codes[neither] = np.arange(2, 2 + len(neither))
    known = rows.codes >= 0
    found = rows.codes.copy()
    found[known] = codes[rows.codes[known]]
    if words.inside and not words.outside:  # of too many to be told apart none is inside
        found[found == _FURTHER] = 1
    # a 1 or 0 that says neither, as others do, is no other label's name
    labels = ("1", "0", *(f"neither {rows.labels[i]}" for i in neither))
    shown = ("1", "0", *(rows.shown[i] for i in neither))
    return replace(rows, codes=found, labels=labels, shown=shown)


def as_spoken(rows: ReadRows) -> ReadRows:
    """The rows as :func:`as_zero_or_one` makes them, if their labels are words of several pairs
    (yes, 0, 1) and each says inside or outside; else as they are, for a person to choose which of
    the labels mean what.  So 0 beside -1 stays: -1 may stand for "unknown"."""
    found = set(rows.labels)
    one_pair = any(found <= set(pair) for pair in OPPOSITES)
    known = all(COMMON.says(word) is not None for word in found)
    return as_zero_or_one(rows) if known and not one_pair and not {"0", "-1"} <= found else rows


#: Rows that do not fit and are told one by one.
MOST_TOLD = 100
#: Different labels that are told apart; a column of more is no column of labels.
MOST_LABELS = 1_000
#: What is in no number that a file may hold, and numpy would take or pass over.
_ODD = re.compile(r"[\x00-\x08\x0e-\x1f_]")
#: Codes of labels that are not among them.
_EMPTY, _FURTHER = -1, -2


@dataclass(frozen=True, slots=True)
class ReadRows:
    """The values of three columns of a file: private data."""

    #: Of the columns: both coordinates and the label.
    names: tuple[str, str, str]
    #: Shape (n, 2): coordinates, on the grid or in the system of the bounds; NaN where there is
    #: none.
    numbers: Floats
    #: Shape (n,): which of `labels`; negative for an empty or a further one.
    codes: NDArray[np.int32]
    #: Different labels in the form of :func:`learners.core.examples.one_form`, in the order of the
    #: file.
    labels: tuple[str, ...]
    #: The same as they stand at first.
    shown: tuple[str, ...]
    #: Shape (n,) or (0,): where rows end in the file.
    lines: Ints
    #: Column and reason of the first rows that cannot be read.
    faults: dict[int, tuple[str, str]]
    #: Shape (n,) or (0,): what a geometry states of its own system: a code of EPSG, or 0.
    systems: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    #: Whether the coordinates are those of geometries, which are in the system of the file.
    of_geometry: bool = False
    #: Shape (n,) or (0,): whose each row is, if that was read.
    persons: tuple[str, ...] = ()
    #: The first row that names no single person.
    nobody: Misfit | None = None
    #: Name of the column of persons.
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """What numbers and labels stand for: all of it public, and chosen."""

    #: Grid units, or the units of the frame's bounds, which are degrees in most files.
    kind: Kind
    frame: Frame
    #: Labels that mean 1 and 0; None if there is no such label.
    inside: str | None
    outside: str | None
    #: A row outside the bounds is a misfit, is left out, or is moved to the nearest place inside.
    out_of_bounds: OutOfBounds = "refuse"
    #: Examples of each person, where persons were read.
    each: int = 1


@dataclass(frozen=True, slots=True)
class Misfit:
    """A row that is no example."""

    #: From 1.
    row: int
    #: In the file.
    line: int | None
    column: str
    reason: str
    kind: Refusal = "unusable"

    def __str__(self) -> str:
        line = "" if self.line is None else f" (line {self.line})"
        column = f", column {cut(self.column)}" if self.column else ""
        return f"row {self.row}{line}{column}: {self.reason}"


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """The examples among the rows, and the others."""

    #: Rows that fit, in order; of persons so many of each.
    examples: Examples
    #: How many do not.
    dropped: int
    #: The first of these.
    misfits: tuple[Misfit, ...]
    #: Shape (n,): which row of the file each example was, from 0.
    rows: Ints
    #: How many lay outside the bounds and were dropped or moved, as was asked for.
    beyond: int = 0
    #: The first of those with which nothing is wrong but that they lie outside the bounds.
    elsewhere: Misfit | None = None
    #: Whether the public bounds are the extent of the rows.
    tight: bool = False
    #: The first row that names no single person: then nothing is to be taken.
    nobody: Misfit | None = None


def read_rows(
    file: ImportFile,
    columns: Columns,
    stop: Callable[[], bool] = lambda: False,
    tell: Callable[[float], None] = lambda share: None,
    person: int | None = None,
    words: LabelWords = COMMON,
) -> ReadRows | None:
    """Read the chosen columns of all rows.

    Raises InputError if a line cannot be taken apart.

    Parameters
    ----------
    columns : Columns
        Complete, or without a label: then nothing is read for it.
    stop : callable
        Whether to give up, asked every few milliseconds; the result is then None.
    tell : callable
        Takes the share that has been read, 0..1.
    person : int, optional
        The column that tells whose a row is.
    words : LabelWords
        Labels that are told apart in any case, however many others there are.
    """
    assert columns.first is not None
    assert columns.second is not None
    # without a label the first column is read twice, and never looked at
    label = columns.first if columns.label is None else columns.label
    places = (columns.first, columns.second, label)
    unit = None if person is None else file.columns[person]
    reader = _Reader(file, places, words.known, unit, labelled=columns.label is not None)
    asked = places if person is None else (*places, person)
    numbers = {columns.first, columns.second} - {columns.label, person}
    for batch in file.batches(asked, numbers):
        if stop():
            return None
        reader.add(batch)
        tell(batch.share)
    return reader.result()


def label_of(text: str, *, comma: bool) -> str:
    """A cell as a label, in the form of :func:`learners.core.examples.one_form`; empty if it is
    empty.  `comma`: whether numbers may have a comma for a point."""
    point = text.replace(",", ".", 1)
    return one_form(point if comma and "," in text and not number_fault(point) else text)


class _Reader:
    def __init__(
        self,
        file: ImportFile,
        places: tuple[int, int, int],
        words: frozenset[str],
        unit: str | None,
        *,
        labelled: bool,
    ) -> None:
        self._file, self._words, self._unit, self._labelled = file, words, unit, labelled
        self._placed = [file.placed and place < 2 for place in places[:2]]
        first, second, label = (file.columns[place] for place in places)
        self._names = (first, second, label)
        self._none = none = np.empty(0, dtype=np.int64)
        #: Numbers, codes, lines and systems of each batch.
        self._read: list[tuple[NDArray[Any], ...]] = [
            (np.empty((0, 2)), none.astype(np.int32), none, none)
        ]
        self._persons: list[str] = []
        self._nobody: Misfit | None = None
        self._known: dict[str, int] = {}  # by text as it stands
        self._labels: dict[str, int] = {}
        self._shown: list[str] = []
        self._faults: dict[int, tuple[str, str]] = {}
        self._named = Counter[int]()
        self._before = 0

    def add(self, batch: Batch) -> None:
        """Add the next rows of the file."""
        first, second, labels, *persons = batch.columns
        for i, length in batch.wrong.items():
            width = len(self._file.columns) - 2 * self._file.placed
            self._tell(i, -1, f"has {length} fields, the header has {width}")
        numbers, systems = np.empty((batch.n, 2)), self._none
        for axis, column in enumerate((first, second)):
            placed = self._placed[axis]
            numbers[:, axis] = column if placed else self._column(column, axis)
        if any(self._placed):  # a geometry that is no point is told by the first coordinate's name
            for i, fault in batch.faults.items():
                self._tell(i, 0, fault)
            systems = systems if batch.systems is None else batch.systems
        codes = self._coded(labels) if self._labelled else np.zeros(batch.n, dtype=np.int32)
        for i in np.flatnonzero(codes == _EMPTY).tolist():
            self._tell(i, 2, "is empty")
        for column in persons:
            names, faults = names_of(column)
            self._persons += names
            for i, fault in faults.items():
                if self._nobody is None and i not in batch.wrong:
                    line = batch.lines[i] if len(batch.lines) else None
                    self._nobody = Misfit(self._before + i + 1, line, str(self._unit), fault)
        self._read.append((numbers, codes, np.array(batch.lines, dtype=np.int64), systems))
        self._before += batch.n

    def result(self) -> ReadRows:
        """What was made of all rows that were added."""
        arrays = (np.concatenate(each) for each in zip(*self._read, strict=True))
        numbers, codes, lines, systems = arrays
        labels, shown, persons = map(tuple, (self._labels, self._shown, self._persons))
        return ReadRows(
            self._names, numbers, codes, labels, shown, lines, self._faults, systems,
            all(self._placed), persons, self._nobody, self._unit,
        )  # fmt: skip

    def _column(self, values: Column, axis: int) -> Floats:
        """Numbers, the quick way if all are plainly numbers."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
            numbers: Floats = values.astype(np.float64)
            for i in np.flatnonzero(~np.isfinite(numbers)).tolist():
                self._tell(i, axis, number_fault(as_cells(values[i : i + 1])[0]))
            return numbers
        texts = as_cells(values)
        whole = "".join(texts)
        if self._file.decimal_comma and "," in whole:
            texts = [text.replace(",", ".", 1) for text in texts]
        if whole.isascii() and not _ODD.search(whole):  # numpy takes more than numbers of a file
            try:
                found = np.array(texts, dtype=np.float64)
            except ValueError:
                pass
            else:
                if np.isfinite(found).all():
                    return found
        return np.array([self._number(i, text, axis) for i, text in enumerate(texts)])

    def _number(self, i: int, text: str, axis: int) -> float:
        fault = number_fault(text)
        if not fault:
            return float(text)
        self._tell(i, axis, fault)
        return float("nan")

    def _coded(self, values: Column) -> NDArray[np.int32]:
        """Codes of labels; numbers are looked at once for each different one."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            if values.dtype.kind == "i" and len(values) and abs(values).max() <= 1:
                different = np.flatnonzero(np.bincount(values + 1)) - 1  # without sorting
                each = np.searchsorted(different, values)
            else:
                different, each = np.unique(values, return_inverse=True)
            codes = np.array([self._code(text) for text in as_cells(different)], dtype=np.int32)
            return codes[each]
        texts, known = as_cells(values), self._known
        found = {text: known[text] if text in known else self._code(text)
                 for text in dict.fromkeys(texts)}  # fmt: skip
        return np.fromiter(map(found.__getitem__, texts), dtype=np.int32, count=len(texts))

    def _code(self, text: str) -> int:
        label = label_of(text, comma=self._file.decimal_comma)
        if not label:
            return _EMPTY
        if label not in self._labels:
            if len(self._labels) >= MOST_LABELS and label not in self._words:
                return _FURTHER
            self._labels[label] = len(self._labels)
            self._shown.append(text.strip())
        code = self._labels[label]
        if len(self._known) < 10 * MOST_LABELS:
            self._known[text] = code
        return code

    def _tell(self, i: int, place: int, reason: str) -> None:
        """Keep a fault of a row, or with place -1 of all of it.

        As many of each place, which come row by row: so none is missing of the first rows that do
        not fit, although a batch is read column by column.
        """
        if self._named[place] < MOST_TOLD:
            self._named[place] += 1
            column = self._names[place] if place >= 0 else ""
            self._faults.setdefault(self._before + i, (column, reason))


def check_rows(rows: ReadRows, meaning: Meaning) -> CheckedRows:
    """Tell the rows that are examples from those that do not fit.

    Whether a row fits is decided by that row and by public choices alone, never by other rows: one
    row more is at most one example more.  So a guarantee for neighbouring examples is one for
    neighbouring files, for as long as the choices were not made by what the rows hold.  (A row that
    is replaced may also come to fit, or cease to: a run for neighbours that replace one example
    pays for two changes, and covers that one.)  docs/privacy.md, lemma T0.
    """
    frame, numbers = meaning.frame, rows.numbers
    readable = np.logical_and(*np.isfinite(numbers).T) & (rows.codes != _EMPTY)
    whole = np.ones(len(numbers), dtype=bool)
    low, high = np.zeros(2), np.full(2, float(frame.d))
    if meaning.kind == "grid":
        whole = np.logical_and(*(numbers == np.rint(numbers)).T)
    else:
        assert frame.bounds is not None
        low, high = np.array(frame.bounds.low), np.array(frame.bounds.high)
        numbers = frame.bounds.unrolled(numbers)
    within = np.logical_and(*((numbers >= low) & (numbers <= high)).T)  # NaN is not
    code = {label: i for i, label in enumerate(rows.labels)}
    one = rows.codes == code.get(meaning.inside or "", len(code))
    zero = rows.codes == code.get(meaning.outside or "", len(code))
    right = readable & whole & (one | zero)
    fits, wrong = right & within, ~(right & within)
    beyond = right & ~within if meaning.out_of_bounds != "refuse" else np.zeros_like(right)
    if meaning.out_of_bounds == "clip":
        place = None if meaning.kind == "grid" else frame.bounds
        inside = numbers.clip(low, high) if place is None else place.nearest(numbers)
        numbers, fits = np.where(beyond[:, None], inside, numbers), right
    every = bool(fits.all())
    kept, tight = numbers if every else numbers[fits], False
    if meaning.kind == "grid":
        points = kept.astype(np.int64)
    else:
        assert frame.bounds is not None
        points = GridMap(frame.d, frame.bounds).own_to_grid(kept)
        tight = frame.bounds.spanned_by(kept if every else numbers[right])
    misfits = np.flatnonzero(wrong & ~beyond)
    first = tuple(_misfit(rows, int(i), meaning, low, high) for i in misfits[:MOST_TOLD])
    outside = np.flatnonzero(right & ~within & ~beyond)[:1].tolist()
    elsewhere = _misfit(rows, outside[0], meaning, low, high) if outside else None
    examples, at = Examples(points, one[fits].astype(np.int64), frame), np.flatnonzero(fits)
    if rows.unit is not None and rows.nobody is None:
        each = some_each(examples, rows.persons, at, meaning.each)
        points, labels, at = points[each], examples.labels[each], at[each]
        examples = Examples(points, labels, frame, rows.unit, rows=meaning.each)
    moved = int(np.count_nonzero(beyond))
    return CheckedRows(examples, len(misfits), first, at, moved, elsewhere, tight, rows.nobody)


def _misfit(rows: ReadRows, i: int, meaning: Meaning, low: Floats, high: Floats) -> Misfit:
    """Column and reason, the first from the left."""
    line = int(rows.lines[i]) if len(rows.lines) else None
    if i in rows.faults:
        return Misfit(i + 1, line, *rows.faults[i])
    for axis in (0, 1):
        value, name = float(rows.numbers[i, axis]), rows.names[axis]
        if meaning.kind == "grid" and value != round(value):
            return Misfit(i + 1, line, name, f"{value:.10g} is not a whole number", "fraction")
        if np.isnan(value):
            return Misfit(i + 1, line, name, "lies beyond the reach of the bounds' system")
        if not low[axis] <= value <= high[axis]:
            where: Refusal = "off the grid" if meaning.kind == "grid" else "outside the bounds"
            reason = f"{value:.10g} is {where} {low[axis]:.10g}..{high[axis]:.10g}"
            return Misfit(i + 1, line, name, reason, where)
    code = rows.codes[i]
    what = repr(rows.shown[code][:40]) if code >= 0 else "this label"
    reason = f"{what} means neither inside nor outside"
    return Misfit(i + 1, line, rows.names[2], reason, "label")
