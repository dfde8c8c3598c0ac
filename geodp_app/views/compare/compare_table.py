"""Shows the rows of a comparison as a table: stroke, figures, and a box to hide the shape."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QIcon, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem

from geodp_app.palette import Palette
from geodp_app.runs.comparison import Contender, Row, row_cells
from geodp_app.runs.rehearsal import Rehearsed, best_of, rehearsal_cells
from geodp_app.views.compare.compare_plane import swatch
from geodp_app.views.widgets.panes import dress_table

_COMPARED = (
    ("Learner", "The box shows or hides the shape; a click on the row brings it forward"),
    ("Private", "Whether the shape is differentially private"),
    ("Error", "Share of wrong labels on examples that the learner did not see; private"),
    ("Time", "How long the learner took; private"),
    ("Bytes", "Size of the shape as a GeoJSON file"),
    ("Vertices", "Corners of the shape"),
)
_REHEARSED = (
    ("Learner", "A click on the row shows the shape of its first run, and the command"),
    ("Reports", "How many are simulated"),
    ("ε", "Privacy of the whole run"),
    ("Error", "Mean share of wrong labels on fresh points; a star: least at this ε and number"),
    ("From", "Of the run with the fewest wrong labels"),
    ("To", "Of the run with the most"),
    ("Time", "How long a run took, the median"),
)
_NAME = Qt.ItemDataRole.UserRole
#: Beside the words of a cell, in device-independent pixels.
_PADDING = 14


class CompareTable(QTableWidget):
    """One row a learner, in the order in which they finish; or the rows of a rehearsal."""

    #: The name of the learner whose row was chosen, or None.
    picked = Signal(object)
    #: A learner's name, and whether its shape is to be shown.
    shown_changed = Signal(str, bool)

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._palette = palette
        dress_table(self, "Learners compared")
        self.setMinimumHeight(100)
        self.setIconSize(QSize(30, 14))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.clear_rows(rehearsed=False)
        self.itemSelectionChanged.connect(self._tell_picked)
        self.itemChanged.connect(self._tell_shown)

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self._palette = palette
        with QSignalBlocker(self):
            for line in range(self.rowCount()):
                self._first(line).setIcon(self._icon(self.name(line)))

    def clear_rows(self, *, rehearsed: bool) -> None:
        """Empty the table, which is to have rows of a comparison or of a rehearsal."""
        heads = _REHEARSED if rehearsed else _COMPARED
        self._texts = 1 if rehearsed else 2  # so many columns, the others have numbers
        self.setRowCount(0)
        self.setColumnCount(len(heads))
        for column, (name, tip) in enumerate(heads):
            head = QTableWidgetItem(name)
            head.setToolTip(tip)
            head.setTextAlignment(self._side(column))
            self.setHorizontalHeaderItem(column, head)
        self._fit()

    def add(self, row: Row) -> None:
        """A learner is done."""
        _, private, _, _, *figures = row_cells(row)
        first = self._add(row, (private, *figures))
        with QSignalBlocker(self):
            first.setFlags(first.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            first.setCheckState(Qt.CheckState.Checked)

    def show_rehearsed(self, rows: Sequence[Rehearsed]) -> None:
        """The rows of a rehearsal so far; the last of the best is picked."""
        self.setRowCount(0)
        for row, (_, *cells) in zip(rows, rehearsal_cells(rows), strict=True):
            self._add(row, cells)
        if best := best_of(rows):
            self.selectRow(rows.index(best[-1]))

    def _add(self, row: Row | Rehearsed, cells: Sequence[str]) -> QTableWidgetItem:
        line = self.rowCount()
        with QSignalBlocker(self):
            self.insertRow(line)
            for column, text in enumerate((contender_title(row.contender), *cells)):
                cell = QTableWidgetItem(text)
                cell.setTextAlignment(self._side(column))
                self.setItem(line, column, cell)
            first = self._first(line)
            first.setData(_NAME, row.name)
            first.setToolTip(row.contender.kind.sentence)
            first.setIcon(self._icon(row.name))
        self._fit()
        return first

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay the contents out anew for another size; what is picked stays in sight."""
        super().resizeEvent(event)
        self._fit()
        self.scrollTo(self.currentIndex())

    def _fit(self) -> None:
        """Names take what room there is, and never less than they need."""
        header = self.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)
        room = self.viewport().width() - header.length() + header.sectionSize(0)
        header.resizeSection(0, max(room, self.sizeHintForColumn(0) + _PADDING))

    def _side(self, column: int) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignLeft if column < self._texts else Qt.AlignmentFlag.AlignRight
        return side | Qt.AlignmentFlag.AlignVCenter

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
    return short_title(contender.kind.id) + ("" if k is None else f", k = {k}")
