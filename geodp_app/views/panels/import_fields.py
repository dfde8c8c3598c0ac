"""Makes the fields of the import dialog: what the columns mean, a file's first rows, and the rows
that do not fit.  The two tables are private.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import cast

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QGroupBox,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from geodp_app.document.examples import LARGE_GRIDS
from geodp_app.files.import_file import Columns, ImportFile, Kind, guess_columns, person_column
from geodp_app.files.import_rows import CheckedRows, ReadRows, guess_labels
from geodp_app.formatting import MISSING, count
from geodp_app.views.widgets.number_fields import FieldGuard, WholeField, show_value
from geodp_app.views.widgets.panes import add_field, dress_table, fill, form_of, narrow_box
from geometry.halfplane import MAX_D

_KINDS: tuple[tuple[Kind, str], ...] = (
    ("degrees", "Degrees of longitude and latitude"),
    ("grid", "Whole numbers on the grid"),
)
_AXES: dict[Kind, tuple[str, str]] = {"degrees": ("Longitude", "Latitude"), "grid": ("x", "y")}
_EACH = "Each row is a person of its own"
_PERSON_TIP = (
    "One row of each person is taken, by the rows of that one alone; for several, charged "
    "together: geodp learn --id COLUMN --rows 3"
)
#: Labels to choose from; where there are more, the column is hardly one of labels.
_MOST_OFFERED = 50
#: In device-independent pixels.
_WIDTH = 430


class ImportChoices(QGroupBox):
    """Combo boxes with a guess in each, as far as names tell, and a grid size to begin with."""

    #: Other columns are to be read.
    columns_changed = Signal()
    #: The same columns mean something else.
    meaning_changed = Signal()

    def __init__(self, grid: int) -> None:
        super().__init__("What is read")
        self.setFixedWidth(_WIDTH)
        self._form = form_of(self, 10, 5)
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        self.kind = self._add("Coordinates", "Degrees need public bounds; whole numbers do not")
        for value, text in _KINDS:
            self.kind.addItem(text, value)
        self.first = self._add("Longitude", "The column of the first coordinate")
        self.second = self._add("Latitude", "The column of the second coordinate")
        self.label = self._add("Label", "The column that says inside or outside")
        self._columns = self.first, self.second, self.label
        self.inside = self._add("Inside is", "The label of points inside the shape: 1")
        self.outside = self._add("Outside is", "The label of points outside the shape: 0")
        self.person = self._add("Whose a row is", _PERSON_TIP)
        self.grid = WholeField(1, MAX_D)
        self.grid.setGroupSeparatorShown(True)
        self.grid.setValue(grid)
        tip = f"Points are read on a grid 0..d; d is published, and {LARGE_GRIDS}"
        add_field(self._form, "Grid size d", self.grid, tip)
        self.kind.currentIndexChanged.connect(self._name_axes)
        self.kind.currentIndexChanged.connect(self.meaning_changed)
        for box in (*self._columns, self.person):
            box.currentIndexChanged.connect(self.columns_changed)
        self.inside.currentIndexChanged.connect(self._inside_changed)
        self.outside.currentIndexChanged.connect(self.meaning_changed)
        self.grid.valueChanged.connect(self.meaning_changed)
        FieldGuard(self).guard(self)
        self.setEnabled(False)

    def show_file(self, file: ImportFile) -> None:
        """The columns of a file, with those chosen that names speak for."""
        names = file.columns
        columns, kind = guess_columns(names, file.preview, placed=file.placed, loose=file.loose)
        if file.placed and file.member.get("frame") == "grid":
            kind = "grid"
        places = (columns.first, columns.second, columns.label)
        for box, place in zip(self._columns, places, strict=True):
            with QSignalBlocker(box):
                box.addItems(names)
                box.setCurrentIndex(-1 if place is None else place)
        told = [names[place] for place in places if place is not None]
        with QSignalBlocker(self.person):
            self.person.addItems([_EACH, *names])
            # asked about where a name says that it may be told
            self.person.setCurrentIndex(-1 if person_column(names, told) else 0)
        show_value(self.kind, kind)
        self._name_axes()
        self.setEnabled(True)

    def show_labels(self, rows: ReadRows) -> None:
        """The labels of a column, with those chosen that words speak for."""
        pairs = dict(zip(rows.labels, rows.shown, strict=True)).items()
        offered = dict(itertools.islice(pairs, _MOST_OFFERED))
        guessed = guess_labels(rows.labels)
        if len(offered) == 1 and guessed == (None, None):
            guessed = ("", "")  # which of the two it is must be said
        for box, choice in zip((self.inside, self.outside), guessed, strict=True):
            with QSignalBlocker(box):
                box.clear()
                for value, text in offered.items():
                    box.addItem(text, value)
                if choice and choice not in offered:
                    box.addItem(choice, choice)
                if len(offered) < 2:
                    box.addItem("(no such row)", "")
                box.setCurrentIndex(-1 if not choice else box.findData(choice))

    def columns(self) -> Columns:
        """Which columns are chosen."""
        places = (box.currentIndex() for box in self._columns)
        return Columns(*(place if place >= 0 else None for place in places))

    def unit(self) -> int | None:
        """Which column tells whose a row is; None if each is a person of its own."""
        return self.person.currentIndex() - 1 if self.person.currentIndex() > 0 else None

    def coordinates(self) -> Kind:
        """In which units the points are."""
        return cast("Kind", self.kind.currentData())

    def labels(self) -> tuple[str | None, str | None]:
        """Which label is inside and which outside; None for a label that no row has."""
        return self.inside.currentData() or None, self.outside.currentData() or None

    def problem(self) -> str:
        """Which columns are still to be chosen; empty if none is."""
        if missing := [box.accessibleName() for box in self._columns if box.currentIndex() < 0]:
            return f"Choose the column of: {', '.join(missing)}."
        if self.person.currentIndex() < 0:
            return "Choose the column that says whose a row is, or that each row is a person's own."
        columns = self.columns()
        if not columns.complete:
            return "One column is chosen twice: choose three different ones."
        if self.unit() in (columns.first, columns.second, columns.label):
            return "The column that says whose a row is, is chosen twice: choose another."
        return ""

    def labels_chosen(self) -> bool:
        """Whether it is said what both labels are."""
        return self.inside.currentIndex() >= 0 and self.outside.currentIndex() >= 0

    def _name_axes(self) -> None:
        for box, name in zip((self.first, self.second), _AXES[self.coordinates()], strict=True):
            label = self._form.labelForField(box)
            assert isinstance(label, QLabel)
            label.setText(name)
            box.setAccessibleName(name)

    def _inside_changed(self) -> None:
        """Of two labels the other one is outside."""
        with QSignalBlocker(self.outside):
            if self.outside.count() == 2 and self.inside.count() == 2:
                self.outside.setCurrentIndex(1 - self.inside.currentIndex())
        self.meaning_changed.emit()

    def _add(self, name: str, tip: str) -> QComboBox:
        box = narrow_box(12)
        box.setPlaceholderText("Choose…")
        add_field(self._form, name, box, tip)
        return box


#: Longest cell, in characters.
_LONGEST = 60
#: Rows that do not fit and are in sight at once.
_SHOWN = 6
#: Height of a row, in device-independent pixels.
_ROW = 23

_WARNED = " Bounds that are moved until all rows fit would publish where these are."


class SmallTable(QTableWidget):
    """Rows of text that can be looked at and read out, not changed."""

    def __init__(self, name: str) -> None:
        super().__init__()
        dress_table(self, name)
        self.setTabKeyNavigation(False)
        self.verticalHeader().setMinimumSectionSize(_ROW)
        self.verticalHeader().setDefaultSectionSize(_ROW)
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setStretchLastSection(True)

    def show_rows(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show other rows of the file."""
        self.clear()
        self.setColumnCount(len(heads))
        self.setRowCount(len(rows))
        self.setHorizontalHeaderLabels([_cut(head) for head in heads])
        for line, row in enumerate(rows):
            for column, text in enumerate(row[: len(heads)]):
                self.setItem(line, column, QTableWidgetItem(_cut(text)))
        self.resizeColumnsToContents()

    def fit_height(self, most: int) -> None:
        """As high as its rows, at most so many of them, and a bar below if they are wide."""
        rows = min(max(self.rowCount(), 1), most)
        wide = self.horizontalHeader().length() > self.width()
        bar = self.horizontalScrollBar().sizeHint().height() if wide else 0
        self.setFixedHeight(self.horizontalHeader().sizeHint().height() + rows * _ROW + bar + 4)


class Misfits(QWidget):
    """How many rows do not fit, and the first of them."""

    def __init__(self) -> None:
        super().__init__()
        #: The decision to leave them out; whoever makes this places it where it is always seen.
        self.leave_out = QCheckBox()
        self.words = QLabel(wordWrap=True)
        self.table = SmallTable("Rows that do not fit")
        resize = QHeaderView.ResizeMode.ResizeToContents
        self.table.horizontalHeader().setSectionResizeMode(resize)
        fill(self, self.words, (self.table, 1), margins=0, spacing=6)
        self.hide()
        self.leave_out.hide()

    def show_rows(self, checked: CheckedRows, n: int, *, bounded: bool) -> None:
        """Others of n rows, within public bounds or not; a decision about others does not hold."""
        left_out = checked.dropped
        shown = len(checked.misfits)
        first = "" if shown == left_out else f" The first {shown} are below."
        do = "does" if left_out == 1 else "do"
        self.words.setText(
            f"{count(left_out)} of {count(n)} rows {do} not fit.{first} Correct the file or a "
            "wrong choice above, or leave them out." + (_WARNED if bounded else "")
        )
        self.table.show_rows(
            ("Row", "Line", "Column", "Why"),
            [
                (count(m.row), count(m.line) if m.line else MISSING, m.column or MISSING, m.reason)
                for m in checked.misfits
            ],
        )
        self.table.fit_height(_SHOWN)
        row = "this row" if left_out == 1 else f"these {count(left_out)} rows"
        self.leave_out.setText(f"Leave {row} out")
        self.leave_out.setAccessibleName(self.leave_out.text())
        show_value(self.leave_out, False)
        self.setVisible(left_out > 0)
        self.leave_out.setVisible(left_out > 0)


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
