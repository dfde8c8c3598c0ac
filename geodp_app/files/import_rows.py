"""Rows of a file as examples: guessing what its columns mean, reading the chosen ones, then telling
the rows that do not fit.

A guess from the columns' names is a first offer: the person sees it and may choose otherwise.
Reading takes a pass over the text; what the numbers and labels mean can then be changed at will,
without another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import Examples, Frame
from geodp_app.files.csv_table import number_fault
from geodp_app.files.import_file import Block, ImportFile
from geometry.grid import GridMap
from learners.labels import OPPOSITES, meant, normal

Kind = Literal["grid", "degrees"]

#: What becomes of a row whose place lies outside the public bounds.
OutOfBounds = Literal["refuse", "drop", "clip"]

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
#: Names of what is no label, beside coordinates: numbers and times of reports, places as text.
_OTHERS = frozenset({"id", "fid", "objectid", "ogcfid", "gmlid", "person", "user", "time",
                     "timestamp", "date", "wkt", "geom", "geometry", "thegeom"})  # fmt: skip


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
    def placed(self) -> bool:
        """Whether two different columns of coordinates are chosen."""
        return None not in (self.first, self.second) and self.first != self.second

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
    places = {name for first, second, _ in _AXES for name in (first, second)} - set(_LABELS)
    out = places | _OTHERS
    left = [i for i in range(len(plain)) if i not in taken and plain[i] not in out]
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
    return any(found <= set(pair) for pair in OPPOSITES) and bool(found)


def guess_labels(found: Sequence[str]) -> tuple[str | None, str | None]:
    """Which label says inside and which outside; None where the words do not tell.

    Parameters
    ----------
    found : sequence of str
        The different labels of a file, in the form of :func:`learners.labels.normal`.
    """
    if not found:
        return OPPOSITES[0]
    for pair in OPPOSITES:
        if set(found) <= set(pair):
            return pair
    whole = [pair for pair in OPPOSITES if set(pair) <= set(found)]
    return whole[0] if len(whole) == 1 else (None, None)


def same_name(name: str, names: Sequence[str]) -> str | None:
    """A column by its name as it stands, or the only one that differs in letters' case and outer
    spaces."""
    if name in names:
        return name
    alike = [other for other in names if other.strip().lower() == name.strip().lower()]
    return alike[0] if len(alike) == 1 else None


def unlabelled(rows: ReadRows) -> ReadRows:
    """The same rows with label "0", whatever was read for it."""
    codes = np.zeros(len(rows.numbers), dtype=np.int32)
    return replace(rows, codes=codes, labels=("0",), shown=("0",))


def as_zero_or_one(rows: ReadRows) -> ReadRows:
    """The same rows with each label by what its word says: "1" for inside, "0" for outside.

    A word means the same in every file, whatever other words are there: yes and true and 1 may
    stand side by side.  Words that say neither stay as they are.
    """
    said = {word: meant(word) for word in rows.labels}
    labels = ("1", "0", *(word for word in rows.labels if said[word] is None))
    place = {label: i for i, label in enumerate(labels)}
    codes = np.array(
        [place[word] if said[word] is None else int(not said[word]) for word in rows.labels],
        dtype=np.int32,
    )
    known = rows.codes >= 0
    found = rows.codes.copy()
    found[known] = codes[rows.codes[known]]
    spoken = dict(zip(rows.labels, rows.shown, strict=True))
    shown = tuple(spoken.get(label, label) for label in labels)
    return replace(rows, codes=found, labels=labels, shown=shown)


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())


#: Rows that do not fit and are told one by one.
MOST_TOLD = 100
#: Different labels that are told apart; a column of more is no column of labels.
MOST_LABELS = 1_000
#: Codes of labels that are not among them.
_EMPTY, _FURTHER = -1, -2


@dataclass(frozen=True, slots=True)
class ReadRows:
    """What stands in three columns: private data.

    Attributes
    ----------
    names : (str, str, str)
        Of the columns: both coordinates and the label.
    numbers : ndarray of float, shape (n, 2)
        Coordinates, on the grid or in the system of the bounds; NaN where there is none.
    codes : ndarray of int32, shape (n,)
        Which of `labels`; negative for an empty or a further one.
    labels : tuple of str
        Different labels in the form of :func:`learners.labels.normal`, in the
        order of the file.
    shown : tuple of str
        The same as they stand at first.
    lines : ndarray of int64, shape (n,) or (0,)
        Where rows end in the file.
    faults : dict of int to (str, str)
        Column and reason of the first rows that cannot be read.
    """

    names: tuple[str, str, str]
    numbers: NDArray[np.float64]
    codes: NDArray[np.int32]
    labels: tuple[str, ...]
    shown: tuple[str, ...]
    lines: NDArray[np.int64]
    faults: dict[int, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What numbers and labels stand for: all of it public, and chosen.

    Attributes
    ----------
    kind : {"grid", "degrees"}
        Grid units, or the units of the frame's bounds, which are degrees in most files.
    frame : Frame
    inside, outside : str or None
        Labels that mean 1 and 0; None if there is no such label.
    out_of_bounds : {"refuse", "drop", "clip"}
        A row outside the bounds is a misfit, is left out, or is moved to the nearest place inside.
    """

    kind: Kind
    frame: Frame
    inside: str | None
    outside: str | None
    out_of_bounds: OutOfBounds = "refuse"


@dataclass(frozen=True, slots=True)
class Misfit:
    """A row that is no example.

    Attributes
    ----------
    row : int
        From 1.
    line : int or None
        In the file.
    column, reason : str
    """

    row: int
    line: int | None
    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """The examples among the rows, and the others.

    Attributes
    ----------
    examples : Examples
        Rows that fit, in order.
    left_out : int
        How many do not.
    misfits : tuple of Misfit
        The first of these.
    fits : ndarray of bool, shape (n,)
        Which rows the examples are.
    beyond : int
        How many lay outside the bounds and were dropped or moved, as was asked for.
    """

    examples: Examples
    left_out: int
    misfits: tuple[Misfit, ...]
    fits: NDArray[np.bool_]
    beyond: int = 0


def read_rows(
    file: ImportFile,
    columns: Columns,
    stop: Callable[[], bool] = lambda: False,
    tell: Callable[[float], None] = lambda share: None,
) -> ReadRows | None:
    """Read the chosen columns of all rows.

    Parameters
    ----------
    file : ImportFile
    columns : Columns
        Complete, or without a label: then nothing is read for it.
    stop : callable
        Whether to give up, asked every few milliseconds; the result is then None.
    tell : callable
        Takes the share that has been read, 0..1.

    Raises
    ------
    InputError
        If a line cannot be taken apart.
    """
    assert columns.first is not None
    assert columns.second is not None
    # without a label the first column is read twice, and never looked at
    label = columns.first if columns.label is None else columns.label
    places = (columns.first, columns.second, label)
    reader = _Reader(file, places)
    for block in file.blocks(places):
        if stop():
            return None
        reader.add(block)
        tell(block.share)
    return reader.result()


class _Reader:
    """Blocks of rows become arrays."""

    def __init__(self, file: ImportFile, places: tuple[int, int, int]) -> None:
        self._width = len(file.columns)
        self._decimal_comma = file.decimal_comma
        first, second, label = (file.columns[place] for place in places)
        self._names = (first, second, label)
        self._numbers: list[NDArray[np.float64]] = []
        self._codes: list[NDArray[np.int32]] = []
        self._lines: list[NDArray[np.int64]] = []
        self._known: dict[str, int] = {}  # by text as it stands
        self._labels: dict[str, int] = {}
        self._shown: list[str] = []
        self._faults: dict[int, tuple[str, str]] = {}
        self._told = Counter[int]()
        self._before = 0

    def add(self, block: Block) -> None:
        """Add the next rows of the file."""
        *axes, labels = block.cells
        for i, length in block.wrong.items():
            self._tell(i, -1, f"has {length} fields, the header has {self._width}")
        numbers = np.empty((len(labels), 2))
        for axis, texts in enumerate(axes):
            if self._decimal_comma:
                texts = [text.replace(",", ".", 1) for text in texts]
            numbers[:, axis] = self._column(texts, axis)
        codes = [self._code(text) for text in labels]
        for i, code in enumerate(codes):
            if code == _EMPTY:
                self._tell(i, 2, "is empty")
        self._numbers.append(numbers)
        self._codes.append(np.array(codes, dtype=np.int32))
        self._lines.append(np.array(block.lines, dtype=np.int64))
        self._before += len(labels)

    def result(self) -> ReadRows:
        """What was made of all rows that were added."""
        return ReadRows(
            self._names,
            np.concatenate([np.empty((0, 2)), *self._numbers]),
            np.concatenate([np.empty(0, dtype=np.int32), *self._codes]),
            tuple(self._labels),
            tuple(self._shown),
            np.concatenate([np.empty(0, dtype=np.int64), *self._lines]),
            self._faults,
        )

    def _column(self, texts: list[str], axis: int) -> NDArray[np.float64]:
        """Numbers, the quick way if all are plainly numbers."""
        whole = "".join(texts)
        if whole.isascii() and "_" not in whole:  # float() takes more than numbers of a file
            try:
                values = np.array(texts, dtype=np.float64)
            except ValueError:
                pass
            else:
                if np.isfinite(values).all():
                    return values
        return np.array([self._number(i, text, axis) for i, text in enumerate(texts)])

    def _number(self, i: int, text: str, axis: int) -> float:
        fault = number_fault(text)
        if not fault:
            return float(text)
        self._tell(i, axis, fault)
        return float("nan")

    def _code(self, text: str) -> int:
        known = self._known.get(text)
        if known is not None:
            return known
        label = normal(text)
        if not label:
            return _EMPTY
        if label not in self._labels:
            if len(self._labels) >= MOST_LABELS:
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
        not fit, although a block is read column by column.
        """
        if self._told[place] < MOST_TOLD:
            self._told[place] += 1
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
    readable = np.isfinite(numbers).all(axis=1) & (rows.codes != _EMPTY)
    whole = np.ones(len(numbers), dtype=bool)
    low, high = np.zeros(2), np.full(2, float(frame.d))
    if meaning.kind == "grid":
        whole = (numbers == np.rint(numbers)).all(axis=1)
    else:
        assert frame.bounds is not None
        low, high = np.array(frame.bounds.low), np.array(frame.bounds.high)
        numbers = frame.bounds.unrolled(numbers)
    within = ((numbers >= low) & (numbers <= high)).all(axis=1)  # NaN is not
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
    kept = numbers[fits]
    if meaning.kind == "grid":
        points = kept.astype(np.int64)
    else:
        assert frame.bounds is not None
        points = GridMap(frame.d, frame.bounds).own_to_grid(kept)
    misfits = np.flatnonzero(wrong & ~beyond)
    told = tuple(_misfit(rows, int(i), meaning, low, high) for i in misfits[:MOST_TOLD])
    examples = Examples(points, one[fits].astype(np.int64), frame)
    return CheckedRows(examples, len(misfits), told, fits, int(np.count_nonzero(beyond)))


def _misfit(
    rows: ReadRows, i: int, meaning: Meaning, low: NDArray[np.float64], high: NDArray[np.float64]
) -> Misfit:
    """Column and reason, the first from the left."""
    line = int(rows.lines[i]) if len(rows.lines) else None
    if i in rows.faults:
        return Misfit(i + 1, line, *rows.faults[i])
    for axis in (0, 1):
        value, name = float(rows.numbers[i, axis]), rows.names[axis]
        if meaning.kind == "grid" and value != round(value):
            return Misfit(i + 1, line, name, f"{value:.10g} is not a whole number")
        if np.isnan(value):
            return Misfit(i + 1, line, name, "lies beyond the reach of the bounds' system")
        if not low[axis] <= value <= high[axis]:
            where = "off the grid" if meaning.kind == "grid" else "outside the bounds"
            reason = f"{value:.10g} is {where} {low[axis]:.10g}..{high[axis]:.10g}"
            return Misfit(i + 1, line, name, reason)
    code = rows.codes[i]
    what = repr(rows.shown[code][:40]) if code >= 0 else "this label"
    return Misfit(i + 1, line, rows.names[2], f"{what} means neither inside nor outside")
