"""What the comparison's window shows: the target and each learner's shape in its own stroke, a
table of figures, and the fields of a rehearsal on simulated samples.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from PySide6.QtCore import QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QIcon, QPainter, QPen, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QGraphicsPathItem,
    QHeaderView,
    QLabel,
    QLineEdit,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)
from shapely.geometry.base import BaseGeometry

from geodp_app.document.checks import check_sampling
from geodp_app.document.examples import Frame
from geodp_app.document.work import RunSettings, Work
from geodp_app.palette import Palette
from geodp_app.runs.comparison import KINDS, Contender, Row, row_cells
from geodp_app.runs.rehearsal import RUNS, Rehearsed, best_of, rehearsal_cells, told_apart
from geodp_app.runs.task_process import RehearsalJob
from geodp_app.views.widgets.number_fields import WholeField
from geodp_app.views.widgets.panes import dress_table, dressed, fill
from geodp_app.views.widgets.plotting import GridPlot, added, cosmetic, shape_path, tinted
from geometry.errors import InputError

#: Four colours stay apart for everybody; dashes multiply them.
_COLOURS = ("positive", "learned", "chosen", "negative")
_DASHES: tuple[tuple[float, ...], ...] = ((), (1, 2), (4, 2), (2, 4))

#: A learner keeps its stroke.
_STROKES: dict[str, tuple[str, tuple[float, ...]]] = {
    name: (_COLOURS[number % 4], _DASHES[number // 4]) for number, name in enumerate(KINDS)
}
_SWATCH_WIDTH, _SWATCH_HEIGHT = 30, 14


class ComparePlane(GridPlot):
    """The plot, in grid units, y up; shapes by the names of their learners."""

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._palette = palette
        self.setAccessibleName("Plane with all learned shapes")
        self.target = added(self.getPlotItem(), 10, QGraphicsPathItem())
        #: What is drawn, by learner.
        self.items: dict[str, QGraphicsPathItem] = {}
        #: The learner whose shape is brought forward.
        self.highlighted: str | None = None
        self.set_palette(palette)

    def set_palette(self, palette: Palette) -> None:
        self._palette = palette
        super().set_palette(palette)
        self.target.setPen(cosmetic(palette.target, 1.0))
        self.target.setBrush(tinted(palette.target, 0.05))
        self._restyle()

    def show_target(self, region: BaseGeometry, frame: Frame) -> None:
        """The drawing; a new frame is shown whole."""
        self.target.setPath(shape_path(region))
        self.set_frame(frame)

    def clear_shapes(self) -> None:
        """Back to the target alone."""
        for item in self.items.values():
            self.getPlotItem().removeItem(item)
        self.items.clear()
        self.highlighted = None

    def add_shape(self, name: str, shape: BaseGeometry) -> None:
        """Draw what a learner has learned."""
        item = QGraphicsPathItem(shape_path(shape))
        self.items[name] = added(self.getPlotItem(), 20 + len(self.items), item)
        self._restyle()

    def set_shown(self, name: str, shown: bool) -> None:
        """Show or hide a shape."""
        self.items[name].setVisible(shown)

    def highlight(self, name: str | None) -> None:
        """Bring one shape forward; None treats all alike."""
        self.highlighted = name
        self._restyle()

    def _restyle(self) -> None:
        for place, (name, item) in enumerate(self.items.items()):
            chosen = name == self.highlighted
            alpha = 1.0 if chosen or self.highlighted is None else 0.35
            colour, _ = _stroke(name, self._palette)
            item.setPen(stroke_pen(name, self._palette, 2.8 if chosen else 1.8, alpha))
            item.setBrush(tinted(colour, 0.18 if chosen else 0.0))
            item.setZValue(40 if chosen else 20 + place)


def stroke_pen(name: str, palette: Palette, width: float, alpha: float = 1.0) -> QPen:
    """The stroke of a learner."""
    colour, dash = _stroke(name, palette)
    return cosmetic(colour, width, dash=dash, alpha=alpha)


def swatch(name: str, palette: Palette, ratio: float) -> QPixmap:
    """A piece of a learner's stroke on the canvas's colour; `ratio`: device pixels per unit."""
    picture = QPixmap(round(_SWATCH_WIDTH * ratio), round(_SWATCH_HEIGHT * ratio))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    with QPainter(picture) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tinted(palette.canvas, 1.0))
        painter.drawRoundedRect(QRectF(0, 0, _SWATCH_WIDTH, _SWATCH_HEIGHT), 3, 3)
        pen = stroke_pen(name, palette, 2.6 * ratio)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        painter.setPen(pen)
        middle = _SWATCH_HEIGHT / 2
        painter.drawLine(3, round(middle), _SWATCH_WIDTH - 3, round(middle))
    return picture


def _stroke(name: str, palette: Palette) -> tuple[str, tuple[float, ...]]:
    # of a rehearsal's row the learner's name is the beginning
    field, dash = _STROKES.get(name.partition(",")[0], ("target", (1, 2)))
    return getattr(palette, field), dash


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
        self.setMinimumHeight(80)
        self.setIconSize(QSize(30, 14))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.clear_rows(rehearsed=False)
        self.itemSelectionChanged.connect(self._tell_picked)
        self.itemChanged.connect(self._tell_shown)

    def set_palette(self, palette: Palette) -> None:
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
        line, k = self.rowCount(), dict(row.contender.parameters).get("k")
        title = short_title(row.contender.kind.id) + ("" if k is None else f", k = {k}")
        with QSignalBlocker(self):
            self.insertRow(line)
            for column, text in enumerate((title, *cells)):
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
            shown = cell.checkState() == Qt.CheckState.Checked
            self.shown_changed.emit(self.name(cell.row()), shown)


def short_title(name: str) -> str:
    """A learner's name, as its file has it, for people."""
    return name[0].upper() + name[1:].replace("-", " ")


class RehearsalFields(QWidget):
    """Learners are rehearsed if any ε or number of reports is typed."""

    #: Something else is typed.
    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.epsilons, self.sizes, self.samples = QLineEdit(), QLineEdit(), WholeField(1, 50)
        self.samples.setValue(RUNS)
        self.samples.setFixedWidth(74)
        row = fill(self, across=True, margins=0, spacing=6)
        for name, field, tip in (
            ("Rehearse: ε", self.epsilons, "One ε or several, such as 0.5 1 2"),
            ("reports", self.sizes, "How many are simulated, one number or several: 1000 10000"),
            ("samples", self.samples, "How many runs of each: their errors have a range"),
        ):
            label = QLabel(name)
            label.setBuddy(dressed(field, name=name.capitalize(), tip=f"{tip}. Nothing is spent"))
            fill(row, label, (field, 1))
        for field in (self.epsilons, self.sizes):
            field.textChanged.connect(self.changed)

    @property
    def asked(self) -> bool:
        """Whether something is typed that can be done."""
        return self.isEnabled() and bool((self.epsilons.text() + self.sizes.text()).strip())

    def job(
        self, work: Work, contenders: Callable[[RunSettings], Iterable[Contender]]
    ) -> RehearsalJob:
        """What is asked for, of contenders for settings of a run; the rest is as the work has it.
        InputError if nothing is drawn, something is no number, or no sample has as many."""
        s = work.sampling
        if not work.drawing.shapes:
            raise InputError("there is nothing to simulate reports of: draw a target")
        epsilons = _typed(self.epsilons) or [work.run["epsilon"]]
        sizes = _typed(self.sizes) or [s.n]
        for n in sizes:  # one that is not whole is refused by its name
            check_sampling(replace(s, n=int(n) if n % 1 == 0 else n), work.drawing.grid)  # type: ignore[arg-type]
        runs = [work.run.with_(epsilon=epsilon) for epsilon in epsilons]
        found = told_apart(each for run in runs for each in contenders(run))
        how = {"distribution": s.distribution, "noise": s.noise, "dabs": s.dabs, "seed": s.seed}
        how["runs"] = self.samples.value()
        return RehearsalJob(work.drawing.figure(), work.frame, found, tuple(map(int, sizes)), how)


def _typed(field: QLineEdit) -> list[float]:
    found = []
    for text in re.split(r"[;,]?\s+|;", field.text().strip()):
        try:
            found += [float(text)] if text else []
        except ValueError:
            raise InputError(
                f"{field.accessibleName()}: {text[:20]!r} is not a number: type numbers with "
                "spaces between, such as 0.5 1 2"
            ) from None
    return list(dict.fromkeys(found))
