"""Plots the errors over the steps of a run: what was wrong after each, and of which kind.

On the plain scale the two kinds of error are stacked up to the empirical error; on the
logarithmic one, where heights do not add, they are lines of their own.  All words but those of the
axes and the acts stand beside the plot: its height is for the errors.  There the errors of one step
are one below the other, with the marks the chart draws them with: its legend.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QStackedWidget, QWidget

from geodp_app.actions import key
from geodp_app.formatting import percentage
from geodp_app.palette import Palette, greyed, load_palette, mix
from geodp_app.runs.figures import ErrorScale, FiguresView, step_ticks
from geodp_app.views.widgets.panes import Painted, PrivateMark, dressed, fill, tool_button
from geodp_app.views.widgets.theme import icon

_EMPTY = f"No steps yet: run the learner ({key('run')}) or make one step ({key('step')})."

#: Above so many points markers would hide the line.
_MOST_MARKERS = 24

#: Least height of what is plotted, and height of the axis below it, in pixels.
_LEAST_HEIGHT, _AXIS = 132, 22
#: Height for each tick at the side, and of the line of words above the curves.
_TICK, _WORDS = 26, 17
#: Width of the axis at the side.
_SIDE = 52
#: What the parts of a run are called that are not of one kind.
_ACTS = "Triangles", "Sharpening"


class ErrorChart(QFrame):
    """Empirical and test error, false positives and negatives; a click goes to a step."""

    #: The step that was clicked, dragged or moved to by key.
    step_picked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("pane")
        self.points: tuple[FiguresView, ...] = ()
        #: The step that is marked.
        self.step = 0
        self._steps = self._first = 0
        self._hovered: int | None = None
        self._past = self._clipped = False
        self._palette = load_palette("light")
        self._title, self.mark = dressed(QLabel("Error", wordWrap=True), "paneTitle"), PrivateMark()
        #: What is written instead of curves; empty if there are curves.
        self.message = dressed(QLabel(wordWrap=True), "note")
        tip = "Logarithmic scale: tells small errors apart"
        self.log_button = tool_button("Log scale", name="Logarithmic scale", tip=tip)
        self.log_button.setCheckable(True)
        self.log_button.toggled.connect(lambda _: self._refresh())
        head = fill(None, (self._title, 1), self.mark, across=True, spacing=10)
        self._make_plot()
        self._make_items()
        # one place for both: nothing moves when the first step arrives
        self._words = QStackedWidget()
        self._words.addWidget(self.message)
        self._words.addWidget(self.readout)
        self._words.setFixedWidth(self.readout.sizeHint().width())
        beside = fill(None, head, self._words, None, self.log_button, spacing=4)
        fill(self, beside, (self.plot, 1), across=True, margins=(10, 6, 8, 2), spacing=6)
        self.set_palette(self._palette)

    def set_points(
        self, points: Sequence[FiguresView], steps: int, cursor: int, first: int = 0
    ) -> None:
        """Another run, one more step of it, or another step of it; emits nothing.

        The points are of steps that were made, in order; `steps` is how many the run will have,
        `cursor` the one to mark.  The `first` ones are triangles, and those after them sharpen:
        nothing is marked unless there are some of both.
        """
        changed = (tuple(points), steps, first) != (self.points, self._steps, self._first)
        self.points, self._steps, self._first, self.step = tuple(points), steps, first, cursor
        if changed:
            self._refresh()
        else:
            self._show_step()

    def set_past(self, past: bool) -> None:
        """Grey: the errors are out of date; or not."""
        if past != self._past:
            self._past = past
            self._show_title()
            self._dress()

    def set_clipped(self, clipped: bool) -> None:
        """Say that the shape is clipped and these are not its errors; or not."""
        self._clipped = clipped
        self._show_title()

    def _show_title(self) -> None:
        more = ", out of date" if self._past else ", unclipped" if self._clipped else ""
        self._title.setText(f"Error{more}")

    def set_palette(self, palette: Palette) -> None:
        self._palette = palette
        self.log_button.setIcon(icon("log", palette))
        self.plot.setBackground(palette.panel)
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            axis.setPen(pg.mkPen(palette.border))
            axis.setTextPen(pg.mkPen(palette.soft_ink))
        self._dress()
        self._refresh()

    def _make_plot(self) -> None:
        self.readout = ErrorReadout()
        self.plot = pg.PlotWidget(enableMenu=False)
        self.plot.setMinimumSize(160, _LEAST_HEIGHT + _AXIS)
        self.plot.setAccessibleName("Error over steps")
        self.plot.setMouseEnabled(False, False)
        self.plot.hideButtons()
        self.plot.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.plot.installEventFilter(self)
        self.plot.viewport().installEventFilter(self)
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            axis.setStyle(tickLength=-4, autoExpandTextSpace=False, maxTickLevel=0)
        self.plot.getAxis("left").setWidth(_SIDE)
        self.plot.getAxis("bottom").setHeight(_AXIS)
        self.plot.getViewBox().setDefaultPadding(0)

    def _make_items(self) -> None:
        self._floor, self._wrong_in = pg.PlotCurveItem(), pg.PlotCurveItem()
        self._wrong_out, self.held_out = pg.PlotCurveItem(), pg.PlotDataItem()
        self.empirical = pg.PlotDataItem()
        self.in_band = pg.FillBetweenItem(self._floor, self._wrong_in)
        self.out_band = pg.FillBetweenItem(self._wrong_in, self.empirical)
        self.curves = (self._wrong_in, self._wrong_out, self.empirical, self.held_out)
        lines = tuple(pg.InfiniteLine(angle=90) for _ in range(3))
        self._act_line, self._hover_line, self._cursor_line = lines
        self.acts = tuple(pg.TextItem(word, anchor=(0, 0)) for word in _ACTS)
        self._floor.setVisible(False)
        items = (self.in_band, self.out_band, self._floor)
        for item in (*items, *lines, *self.curves, *self.acts):
            self.plot.addItem(item, ignoreBounds=True)

    def _dress(self) -> None:
        p, ratio = self._palette, self.devicePixelRatioF()
        p = greyed(p) if self._past else p
        self.readout.set_palette(p)
        self.in_band.setBrush(part_brush(p, 2))
        self.out_band.setBrush(part_brush(p, 3))
        self._act_line.setPen(pg.mkPen(p.soft_ink, width=ratio))
        for word in self.acts:
            word.setColor(p.soft_ink)
            word.fill = pg.mkBrush(p.panel)
        lines = (self.held_out, self.empirical, self._wrong_in, self._wrong_out)
        for kind, line in enumerate(lines):
            line.setPen(error_pen(p, kind, ratio))
        self.empirical.setSymbolBrush(pg.mkBrush(p.ink))
        self.empirical.setSymbolPen(pg.mkPen(p.ink))
        self.held_out.setSymbolBrush(pg.mkBrush(p.panel))
        self.held_out.setSymbolPen(pg.mkPen(p.accent, width=1.4))
        self._cursor_line.setPen(pg.mkPen(p.accent, width=1.6 * ratio))
        self._hover_line.setPen(pg.mkPen(p.soft_ink, width=ratio, style=Qt.PenStyle.DotLine))

    # showing

    def _refresh(self) -> None:
        """Draw everything anew: runs have tens of steps, so this is cheap."""
        curves = bool(self.points)
        self.message.setText("" if curves else _EMPTY)
        self._words.setCurrentWidget(self.readout if curves else self.message)
        self._show_curves(curves)
        self._show_axes(curves)
        self._show_step()

    def _show_curves(self, curves: bool) -> None:
        log = self.log_button.isChecked()
        for item in self.curves:
            item.setVisible(curves and (log or item is not self._wrong_out))
        for band in (self.in_band, self.out_band):
            band.setVisible(curves and not log)
        if not curves:
            return
        points, scale = self.points, self._scale()
        x = np.array([p.step for p in points], np.float64)
        test, *shares = zip(*(p.errors for p in points), strict=True)
        empirical, wrong_in, wrong_out = (scale.heights(each) for each in shares)
        self._floor.setData(x, np.full(len(x), scale.ends()[0]))
        self._wrong_in.setData(x, wrong_in)
        self._wrong_out.setData(x, wrong_out)
        size = 7 if len(points) <= _MOST_MARKERS else 0
        self.empirical.setData(x, empirical, symbol="o" if size else None, symbolSize=size - 1)
        tested = [i for i, share in enumerate(test) if share is not None]
        heights = scale.heights([test[i] for i in tested])
        self.held_out.setData(x[tested], heights, symbol="d" if size else None, symbolSize=size + 3)

    def _show_axes(self, curves: bool) -> None:
        last = max(self._steps, 1)
        margin = max(0.4, 0.015 * last)
        ends = (1 - margin, last + margin)
        self.plot.setXRange(*ends, padding=0)
        steps = [s for s in step_ticks(last, self.plot.width() // 46) if s and self._steps]
        self.plot.getAxis("bottom").setTicks([[(s, str(s)) for s in steps]])
        scale = self._scale()
        bottom, top = scale.ends()
        room = max(self.plot.height() - _AXIS, 2 * _WORDS)
        acts = 0 < self._first < self._steps
        # what is above the highest error is for the names of the acts, or half a tick's number
        above = _WORDS if acts else _WORDS // 2
        over = (top - bottom) * above / (room - above)
        self.plot.setYRange(bottom, top + over, padding=0)
        ticks = scale.ticks(max(2, room // _TICK)) if curves else []
        self.plot.getAxis("left").setTicks([ticks])
        self._show_acts(acts, ends, top + over)

    def _show_acts(self, acts: bool, ends: tuple[float, float], top: float) -> None:
        for item in (self._act_line, *self.acts):
            item.setVisible(acts)
        if not acts:
            return
        between = self._first + 0.5
        self._act_line.setPos(between)
        unit = (ends[1] - ends[0]) / max(self.plot.width() - _SIDE, 1)
        begins = ends[0]
        metrics = QFontMetricsF(self.font())
        for word, name in zip(self.acts, _ACTS, strict=True):
            word.setPos(begins, top)
            # a part that is too narrow for its name moves the other name aside, or away
            full = begins + unit * (metrics.horizontalAdvance(name) + 10)
            word.setVisible(full <= ends[1])
            begins = max(between, full)

    def _show_step(self) -> None:
        shown = self.step if self._hovered is None else self._hovered
        known = {p.step: p for p in self.points}
        self.readout.show_point(known.get(shown))
        self._cursor_line.setPos(self.step)
        self._cursor_line.setVisible(bool(self._steps))
        self._hover_line.setVisible(self._hovered is not None)
        if self._hovered is not None:
            self._hover_line.setPos(self._hovered)

    def _scale(self) -> ErrorScale:
        return ErrorScale.of(self.points, log=self.log_button.isChecked())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_axes(bool(self.points))

    def event(self, event: QEvent) -> bool:
        """Lines of the same width on another screen."""
        if event.type() in (QEvent.Type.Show, QEvent.Type.DevicePixelRatioChange):
            self._dress()
        return super().event(event)

    def sizeHint(self) -> QSize:
        return QSize(480, 180)

    # mouse and keys

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The plot's mouse and keys belong to the chart: there is nothing to pan or zoom."""
        kind = event.type()
        if isinstance(event, QKeyEvent) and kind == QEvent.Type.KeyPress:
            return self._key(Qt.Key(event.key()))
        if watched is not self.plot.viewport():
            return False
        if kind == QEvent.Type.Leave:
            self._hover(None)
        elif isinstance(event, QMouseEvent):
            self._mouse(event)
            return True
        return kind == QEvent.Type.Wheel

    def _mouse(self, event: QMouseEvent) -> None:
        step = self._step_at(event.position())
        self._hover(step)
        pressed = event.type() == QEvent.Type.MouseButtonPress
        if pressed:
            self.plot.setFocus(Qt.FocusReason.MouseFocusReason)
        if step is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self._pick(step, again=pressed)

    def _hover(self, step: int | None) -> None:
        self._hovered = step
        self._show_step()

    def _key(self, key: Qt.Key) -> bool:
        steps = [p.step for p in self.points]
        if not steps:
            return False
        targets = {
            Qt.Key.Key_Left: self.step - 1, Qt.Key.Key_Right: self.step + 1,
            Qt.Key.Key_Home: steps[0], Qt.Key.Key_End: steps[-1],
        }  # fmt: skip
        if key in targets:
            self._pick(min(max(targets[key], steps[0]), steps[-1]), again=False)
        return key in targets

    def _pick(self, step: int, *, again: bool) -> None:
        if step != self.step or again:
            self.step = step
            self._show_step()
            self.step_picked.emit(step)

    def _step_at(self, position: QPointF) -> int | None:
        if not self.points:
            return None
        scene = self.plot.mapToScene(position.toPoint())
        x = self.plot.getViewBox().mapSceneToView(scene).x()
        return min((p.step for p in self.points), key=lambda step: abs(step - x))


_SWATCH, _GAP = 24.0, 8.0
_NAMES = ("Test", "Empirical", "False positives", "False negatives")
#: The widest value: each keeps its place whatever it is.
_WIDEST = percentage(1e-9)


class ErrorReadout(Painted, QWidget):
    """Legend and values of the test error, the empirical error and its two parts."""

    def __init__(self) -> None:
        super().__init__()
        self._point: FiguresView | None = None
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.show_point(None)

    def show_point(self, point: FiguresView | None) -> None:
        """Another step; None for the legend alone."""
        self._point = point
        self.setAccessibleName(self.text())
        self.update()

    def text(self) -> str:
        """What the lines say."""
        if self._point is None:
            return "No errors to show"
        pairs = zip(_NAMES, self._values(), strict=True)
        parts = ", ".join(f"{name} {value}" for name, value in pairs)
        return f"{self._point.title}: {parts}"

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(self.font())
        names = max(metrics.horizontalAdvance(name) for name in _NAMES)
        width = _SWATCH + names + _GAP + metrics.horizontalAdvance(_WIDEST)
        return QSize(round(width) + 1, len(_NAMES) * self._line())

    def draw(self, painter: QPainter, palette: Palette) -> None:
        middle = Qt.AlignmentFlag.AlignVCenter
        for i, (name, value) in enumerate(zip(_NAMES, self._values(), strict=True)):
            row = QRectF(0, i * self._line(), self.width(), self._line())
            self._swatch(painter, i, QRectF(0, row.center().y() - 6, _SWATCH - 6, 12))
            row.setLeft(_SWATCH)
            painter.setPen(QColor(palette.soft_ink))
            painter.drawText(row, middle, name)
            painter.setPen(QColor(palette.ink))
            painter.drawText(row, middle | Qt.AlignmentFlag.AlignRight, value)

    def _line(self) -> int:
        return self.fontMetrics().height() + 2

    def _values(self) -> list[str]:
        return [percentage(share) for share in (self._point or FiguresView()).errors]

    def _swatch(self, painter: QPainter, kind: int, box: QRectF) -> None:
        p = self._palette
        middle = box.center().y()
        painter.setPen(error_pen(p, kind, self.devicePixelRatioF()))
        if kind >= 2:
            painter.fillRect(box.adjusted(0, 1, 0, -1), QColor(p.panel))
            painter.fillRect(box.adjusted(0, 1, 0, -1), part_brush(p, kind))
            top = box.top() + 1
            painter.drawLine(QPointF(box.left(), top), QPointF(box.right(), top))
            return
        painter.drawLine(QPointF(box.left(), middle), QPointF(box.right(), middle))
        centre = box.center()
        if kind == 0:
            painter.setPen(QPen(QColor(p.accent), 1.4))
            painter.setBrush(QColor(p.panel))
            corners = ((0.0, -4.2), (4.2, 0.0), (0.0, 4.2), (-4.2, 0.0))
            painter.drawPolygon(QPolygonF([centre + QPointF(dx, dy) for dx, dy in corners]))
        else:
            painter.setBrush(QColor(p.ink))
            painter.drawEllipse(centre, 2.6, 2.6)


def error_pen(p: Palette, kind: int, ratio: float) -> QPen:
    """Of the errors in the order of their names.  `ratio`: device pixels per unit, as the pens are
    cosmetic."""
    colour = (p.accent, p.ink, p.negative, p.positive)[kind]
    pen = QPen(QColor(colour), (1.8 if kind < 2 else 1.2) * ratio)
    if dashes := {0: [3.0, 2.0], 2: [1.5, 2.0]}.get(kind):
        pen.setDashPattern(dashes)
    pen.setCosmetic(True)
    return pen


def part_brush(p: Palette, kind: int) -> QBrush:
    """Of the band of false positives (kind 2, hatched) and of false negatives (kind 3, plain)."""
    if kind == 2:
        return QBrush(QColor(p.negative), Qt.BrushStyle.BDiagPattern)
    return QBrush(QColor(mix(p.panel, p.positive, 0.3)))
