"""The rows of a comparison as a table: stroke, figures, and a box to hide the shape."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from geodp_app.palette import Palette
from geodp_app.runs.comparison import Contender, Row
from geodp_app.runs.comparison_table import row_cells
from geodp_app.views.compare.compare_plane import swatch

_HEADS = (
    ("Learner", "The box shows or hides the shape; a click on the row brings it forward"),
    ("Private", "Whether the shape is differentially private"),
    ("Error", "Share of wrong labels on examples that the learner did not see; private"),
    ("Time", "How long the learner took; private"),
    ("Bytes", "Size of the shape as a GeoJSON file"),
    ("Vertices", "Corners of the shape"),
)
_NAME = Qt.ItemDataRole.UserRole


class CompareTable(QTableWidget):
    """One row a learner, in the order in which they finish."""

    #: The name of the learner whose row was chosen, or None.
    picked = Signal(object)
    #: A learner's name, and whether its shape is to be shown.
    shown_changed = Signal(str, bool)

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(0, len(_HEADS), parent)
        self._palette = palette
        self.setAccessibleName("Learners compared")
        self.setHorizontalHeaderLabels([head for head, _ in _HEADS])
        for column, (_, tip) in enumerate(_HEADS):
            head = self.horizontalHeaderItem(column)
            assert head is not None  # just made
            head.setToolTip(tip)
            side = Qt.AlignmentFlag.AlignLeft if column < 2 else Qt.AlignmentFlag.AlignRight
            head.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
        self.verticalHeader().hide()
        self.setShowGrid(False)
        self.setWordWrap(False)
        # in line with the words of the header; the whole row shows where the keyboard is
        self.setStyleSheet("QTableWidget { outline: none; } QTableWidget::item { padding: 0 7px; }")
        self.setMinimumHeight(100)
        self.setIconSize(QSize(30, 14))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.itemSelectionChanged.connect(self._tell_picked)
        self.itemChanged.connect(self._tell_shown)

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self._palette = palette
        with QSignalBlocker(self):
            for line in range(self.rowCount()):
                self._first(line).setIcon(self._icon(self.name(line)))

    def clear_rows(self) -> None:
        """Empty the table: no learner is compared."""
        self.setRowCount(0)

    def add(self, row: Row) -> None:
        """A learner is done."""
        _, private, _, _, *figures = row_cells(row)
        texts = contender_title(row.contender), private, *figures
        line = self.rowCount()
        with QSignalBlocker(self):
            self.insertRow(line)
            for column, text in enumerate(texts):
                cell = QTableWidgetItem(text)
                side = Qt.AlignmentFlag.AlignLeft if column < 2 else Qt.AlignmentFlag.AlignRight
                cell.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
                self.setItem(line, column, cell)
            first = self._first(line)
            first.setData(_NAME, row.name)
            first.setToolTip(row.contender.kind.sentence)
            first.setFlags(first.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            first.setCheckState(Qt.CheckState.Checked)
            first.setIcon(self._icon(row.name))

    def name(self, line: int) -> str:
        """The learner in a row."""
        return str(self._first(line).data(_NAME))

    def _first(self, line: int) -> QTableWidgetItem:
        cell = self.item(line, 0)
        assert cell is not None  # every row has all its cells
        return cell

    def _icon(self, name: str) -> QIcon:
        picture = swatch(name, self._palette, self.devicePixelRatioF())
        made = QIcon(picture)
        made.addPixmap(picture, QIcon.Mode.Selected)  # else it is tinted
        return made

    def _tell_picked(self) -> None:
        lines = sorted({index.row() for index in self.selectedIndexes()})
        self.picked.emit(self.name(lines[0]) if lines else None)

    def _tell_shown(self, cell: QTableWidgetItem) -> None:
        if cell.column() == 0:
            self.shown_changed.emit(
                self.name(cell.row()), cell.checkState() == Qt.CheckState.Checked
            )


def short_title(name: str) -> str:
    """A learner's name, as its file has it, for people."""
    return name[0].upper() + name[1:].replace("-", " ")


def contender_title(contender: Contender) -> str:
    """A contender's name with its own k."""
    k = dict(contender.parameters).get("k")
    return short_title(contender.name) + ("" if k is None else f", k = {k}")
