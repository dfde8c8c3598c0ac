"""Two small private tables of an import: a file's first rows, and the rows that do not fit."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from geodp_app.files.import_rows import CheckedRows
from geodp_app.formatting import MISSING, count

#: Longest cell, in characters.
_LONGEST = 60
#: Rows that do not fit and are in sight at once.
_SHOWN = 6
#: Height of a row, in device-independent pixels.
_ROW = 23


_WARNED = " Bounds that are moved until all rows fit would publish where these are."


class SmallTable(QTableWidget):
    """Rows of text that can be looked at and read out, not changed."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(0, 0, parent)
        self.setAccessibleName(name)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        # in line with the words of the header; the whole row shows where the keyboard is
        self.setStyleSheet("QTableWidget { outline: none; } QTableWidget::item { padding: 0 7px; }")
        self.verticalHeader().setMinimumSectionSize(_ROW)
        self.verticalHeader().setDefaultSectionSize(_ROW)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setStretchLastSection(True)

    def show_rows(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Other rows."""
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
    """How many rows do not fit, and the first of them.

    Attributes
    ----------
    leave_out : QCheckBox
        The decision to leave them out; whoever makes this places it where it is always seen.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = QLabel(wordWrap=True)
        self.table = SmallTable("Rows that do not fit")
        resize = QHeaderView.ResizeMode.ResizeToContents
        self.table.horizontalHeader().setSectionResizeMode(resize)
        self.leave_out = QCheckBox()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.words)
        column.addWidget(self.table, 1)
        self.hide()
        self.leave_out.hide()

    def show_rows(self, checked: CheckedRows, *, bounded: bool) -> None:
        """Other rows, within public bounds or not; a decision about others does not hold."""
        left_out = checked.left_out
        n = left_out + len(checked.examples.labels)
        told = len(checked.misfits)
        first = "" if told == left_out else f" The first {told} are below."
        do = "does" if left_out == 1 else "do"
        self.words.setText(
            f"{count(left_out)} of {count(n)} rows {do} not fit.{first} Correct the file or a "
            "wrong choice above, or leave them out." + (_WARNED if bounded else "")
        )
        self.table.show_rows(
            ("Row", "Line", "Column", "Why"),
            [
                (
                    count(each.row),
                    MISSING if each.line is None else count(each.line),
                    each.column or MISSING,
                    each.reason,
                )
                for each in checked.misfits
            ],
        )
        self.table.fit_height(_SHOWN)
        row = "this row" if left_out == 1 else f"these {count(left_out)} rows"
        self.leave_out.blockSignals(True)
        self.leave_out.setText(f"Leave {row} out")
        self.leave_out.setAccessibleName(self.leave_out.text())
        self.leave_out.setChecked(False)
        self.leave_out.blockSignals(False)
        self.setVisible(left_out > 0)
        self.leave_out.setVisible(left_out > 0)


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
