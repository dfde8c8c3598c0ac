"""Plots one sheet, a chart of the dual plane: axes with as many digits as the zoom needs, mouse and
keys, and what is painted over the lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
)

from geodp_app.dual.scene import Mark, nearest_mark
from geodp_app.dual.sheets import digits_for, number
from geodp_app.palette import Palette, edge_colours, greyed
from geodp_app.runs.protocol import Window
from geodp_app.views.widgets.plotting import Overlay
from geometry.arrays import Floats

#: Factor of one key press.
_ZOOM = 1.5
#: Share of the window moved by one key press.
_STEP = 0.1

_MOVES = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Down: (0, -1),
    Qt.Key.Key_Up: (0, 1),
}
_OWN = (Qt.Key.Key_F, Qt.Key.Key_Escape)
_ZOOMS = {
    Qt.Key.Key_Plus: 1 / _ZOOM,
    Qt.Key.Key_Equal: 1 / _ZOOM,
    Qt.Key.Key_Minus: _ZOOM,
    Qt.Key.Key_Underscore: _ZOOM,
}


class DualAxis(pg.AxisItem):  # type: ignore[misc]
    """Values that stay apart however deep the zoom."""

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        digits = 0 if spacing >= 1 else digits_for(spacing)
        return [number(value, digits) for value in values]


class SheetPlot(pg.PlotWidget):  # type: ignore[misc]
    """A plot that pans by drag and arrows, zooms by wheel, + and −, and fits by F; and on it the
    chosen points and what is pointed at.
    """

    #: (u, v) under the pointer, or None.
    pointed = Signal(object)
    #: The Mark under the pointer, or None.
    mark_pointed = Signal(object)
    #: A Mark was clicked.
    picked = Signal(object)
    #: F was pressed.
    fit_wanted = Signal()
    #: The person moved the window by mouse or keys.
    moved_by_hand = Signal()
    #: (u, v) to which the newest chosen point, or the one tried in its place, is dragged.
    dragged = Signal(object)
    #: Shift and an arrow key: two pixels across or up, in units of the sheet.
    nudged = Signal(float, float)
    #: Escape was pressed.
    dropped = Signal()

    def __init__(self) -> None:
        axes = {name: DualAxis(name) for name in ("bottom", "left")}
        super().__init__(axisItems=axes, enableMenu=False)
        self.axes = axes
        for axis in axes.values():
            axis.enableAutoSIPrefix(False)
        self._labelled, self._line = True, 16
        self._dragging = False
        self.box: pg.ViewBox = self.getViewBox()
        self.chosen, self.pointer = Chosen(self.box, 102), Pointer(self.box, 103)
        self.box.disableAutoRange()
        self.plotItem.hideButtons()
        self.plotItem.layout.setContentsMargins(2, 4, 8, 7)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setMinimumSize(120, 84)
        self.box.sigRangeChangedManually.connect(lambda *_: self.moved_by_hand.emit())
        self.scene().sigMouseClicked.connect(self._click)

    def set_palette(self, palette: Palette) -> None:
        self.setBackground(palette.canvas)
        self.chosen.set_palette(palette)
        self.pointer.set_palette(palette)
        font = QFont(self.font())
        font.setPointSizeF(max(7.5, font.pointSizeF() * 0.85))
        for axis in self.axes.values():
            axis.setPen(palette.border)
            axis.setTextPen(palette.ink)
            axis.setTickFont(font)
            axis.label.setFont(font)
            axis.setStyle(tickLength=-4)
        self._line = round(QFontMetricsF(font).height())
        self._show_labels()

    def set_labels(self, across: str, up: str) -> None:
        """What the axes are."""
        for name, text in (("bottom", across), ("left", up)):
            self.axes[name].setLabel(text)
        self._show_labels()

    def set_labelled(self, labelled: bool) -> None:
        """Whether there is room to say what the axes are."""
        self._labelled = labelled
        self._show_labels()

    def _show_labels(self) -> None:
        for axis in self.axes.values():
            axis.showLabel(self._labelled)
        self.axes["bottom"].setHeight((1 + self._labelled) * self._line + 10)

    def window(self) -> Window:
        """The dual points in sight."""
        (u0, u1), (v0, v1) = self.box.viewRange()
        return Window(u0, u1, v0, v1)

    def set_window(self, window: Window) -> None:
        """Show at least these dual points."""
        self.box.setRange(
            xRange=(window.u0, window.u1),
            yRange=(window.v0, window.v1),
            padding=0,
            disableAutoRange=True,
        )

    def zoom(self, factor: float) -> None:
        """Scale the window about its middle; above 1 it shows more."""
        self.box.scaleBy((factor, factor))
        self.moved_by_hand.emit()

    # events

    def event(self, event: QEvent) -> bool:
        """Keep the plot's own keys from shortcuts of the window."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and _plain(event)
            and (event.key() in _MOVES or event.key() in _ZOOMS or _own(event))
        ):
            event.accept()
            return True
        return bool(super().event(event))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows pan, with Shift they move the point; + and − zoom, F fits, Escape drops."""
        key = Qt.Key(event.key())
        if not _plain(event):
            event.ignore()
        elif key in _MOVES:
            window = self.window()
            across, up = _MOVES[key][0] * window.width, _MOVES[key][1] * window.height
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self.nudged.emit(2 * across / max(1, self.width()), 2 * up / max(1, self.height()))
            else:
                self.box.translateBy(x=_STEP * across, y=_STEP * up)
                self.moved_by_hand.emit()
        elif key in _ZOOMS:
            self.zoom(_ZOOMS[key])
        elif not _own(event):
            event.ignore()
        elif key == Qt.Key.Key_F:
            self.fit_wanted.emit()
        else:
            self.dropped.emit()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take what can be dragged, or begin to pan."""
        scene = self.mapToScene(event.position().toPoint())
        left = event.button() == Qt.MouseButton.LeftButton
        self._dragging = left and self._grabs(self.box.mapFromScene(scene))
        if self._dragging:
            self.setFocus(Qt.FocusReason.MouseFocusReason)
            event.accept()
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = self.dual_at(self.mapToScene(event.position().toPoint()))
        if self._dragging:
            if at is not None:
                self.dragged.emit(at)
            return
        super().mouseMoveEvent(event)
        self._point(at)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Leave what was dragged where it is."""
        if self._dragging:
            self._dragging = False
            event.accept()
        else:
            super().mouseReleaseEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point(None)

    def dual_at(self, at: QPointF) -> tuple[float, float] | None:
        """The dual coordinates of a place of the scene; None where no plane is."""
        area = self.box.sceneBoundingRect()
        if not area.contains(at) or area.width() <= 0 or area.height() <= 0:
            return None
        window = self.window()
        u = window.u0 + (at.x() - area.left()) / area.width() * window.width
        v = window.v1 - (at.y() - area.top()) / area.height() * window.height
        return u, v

    def _point(self, at: tuple[float, float] | None) -> None:
        self.pointer.show_with(at=at)
        place = None if at is None else QPointF(*self.chosen.to_pixels(np.array([at]))[0])
        hit = None if place is None else self.chosen.mark_at(place)
        shape = Qt.CursorShape.CrossCursor if hit is None else Qt.CursorShape.PointingHandCursor
        self.viewport().setCursor(shape)
        self.mark_pointed.emit(hit)
        self.pointed.emit(at)

    def _click(self, event: Any) -> None:
        at, left = event.scenePos(), event.button() == Qt.MouseButton.LeftButton
        if left and self.box.sceneBoundingRect().contains(at):
            mark = self.chosen.mark_at(self.box.mapFromScene(at))
            if mark is not None:
                self.picked.emit(mark)

    def _grabs(self, at: QPointF) -> bool:
        """Whether what is there, in pixels of the view box, can be dragged."""
        tried = self.pointer.halfplane
        if tried is not None:
            x, y = self.pointer.to_pixels(np.array([tried]))[0].tolist()
            if np.hypot(x - at.x(), y - at.y()) <= PICK:
                return True
        mark = self.chosen.mark_at(at)
        return mark is not None and mark.age == 0 and not self.chosen.fixed(mark)


def _plain(event: QKeyEvent) -> bool:
    """No Ctrl, Alt or Meta; Shift may be needed for +."""
    shift, keypad = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.KeypadModifier
    return not (event.modifiers() & ~(shift | keypad))


def _own(event: QKeyEvent) -> bool:
    """F or Escape alone: with Shift F is an action's, which zooms to the chosen cell."""
    return event.key() in _OWN and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier


_NO_POINTS: Floats = np.empty((0, 2))

#: Pixels within which a chosen point is hit.
PICK = 10.0
#: Radius in pixels of the newest dual points and of earlier ones.
_NEWEST, _EARLIER = 6.5, 4.0
#: A box smaller than this on the screen is drawn this large.
_LEAST_BOX = 5.0


class RimmedLine(Overlay):
    """A line over all others, or an outline, with a rim, so that it is seen on any ground."""

    #: Its ends, or its corners.
    ends: Floats = _NO_POINTS
    #: The palette's name of its colour, and its width without the rim.
    ink, width = "selection", 3.0

    def draw(self, painter: QPainter, palette: Palette) -> None:
        """The rim, then the line."""
        if len(self.ends) < 2:
            return
        points = [QPointF(x, y) for x, y in self.to_pixels(self.ends).tolist()]
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for colour, width in (
            (palette.canvas, 2 * self.width),
            (getattr(palette, self.ink), self.width),
        ):
            painter.setPen(QPen(QColor(colour), width))
            if len(points) == 2:
                painter.drawLine(*points)
            else:
                painter.drawPolygon(QPolygonF(points))


class Boxes(Overlay):
    """Outlines of the sampler's boxes, the heavier the stronger."""

    boxes: Sequence[tuple[tuple[float, float, float, float], float]] = ()

    def draw(self, painter: QPainter, palette: Palette) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        area = self.boundingRect().adjusted(-9, -9, 9, 9)
        colour = QColor(palette.accent)
        corners = np.array([rectangle for rectangle, _ in self.boxes]).reshape(-1, 2, 2)
        pixels = self.to_pixels(corners.transpose(0, 2, 1).reshape(-1, 2)).reshape(-1, 4).tolist()
        for (left, bottom, right, top), (_, opacity) in zip(pixels, self.boxes, strict=True):
            spare_x = max(0.0, (_LEAST_BOX - (right - left)) / 2)
            spare_y = max(0.0, (_LEAST_BOX - (bottom - top)) / 2)
            outline = QRectF(QPointF(left - spare_x, top - spare_y), QPointF(right, bottom))
            outline.adjust(0, 0, spare_x, spare_y)
            shown = outline.intersected(area)  # a box may be millions of pixels wide
            if not shown.isEmpty():
                colour.setAlphaF(opacity)
                painter.setPen(QPen(colour, 1.0))  # one pixel: the fast path of the raster
                painter.drawRect(shown)


class Chosen(Overlay):
    """The chosen dual points with their numbers; earlier ones smaller and fainter."""

    marks: Sequence[Mark] = ()
    #: The edge that the shading is about; the newest piece's others are held fixed.
    asked: int | None = None
    #: Out of date: grey.
    past: bool = False
    #: Where other things lie over the sheet, in pixels of the view box: no words are put there.
    covered: Sequence[QRectF] = ()

    def fixed(self, mark: Mark) -> bool:
        """Whether the shading holds this mark fixed."""
        return self.asked is not None and mark.age == 0 and mark.edge != self.asked

    def pixels(self) -> Floats:
        """Where the marks are, one row each."""
        points = [(mark.u, mark.v) for mark in self.marks]
        return self.to_pixels(np.array(points, dtype=np.float64).reshape(-1, 2))

    def mark_at(self, at: QPointF) -> Mark | None:
        """The mark that is hit, in pixels of the view box."""
        return nearest_mark(self.marks, self.pixels(), (at.x(), at.y()), PICK)

    def draw(self, painter: QPainter, palette: Palette) -> None:
        """A thin triangle between the newest points; points, oldest first; then the numbers that
        find room, newest first."""
        palette = greyed(palette) if self.past else palette
        places = [QPointF(x, y) for x, y in self.pixels().tolist()]
        marks = list(zip(self.marks, places, strict=True))
        newest = [place for mark, place in marks if mark.age == 0]
        if len(newest) == 3:  # all of them are on this sheet
            painter.setPen(QPen(QColor(palette.chosen), 1.0, Qt.PenStyle.DotLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPolygon(newest)
        for mark, place in marks:
            self._point(painter, palette, mark, place, hollow=self.fixed(mark))
        for _, path in self.written(painter.font()):
            painter.setPen(QPen(QColor(palette.canvas), 4.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPath(path)
            painter.fillPath(path, QColor(palette.ink))

    def written(self, font: QFont) -> list[tuple[str, QPainterPath]]:
        """The words of the marks that find room, newest first, and where they are."""
        taken, found = list(self.covered), []
        for mark, (x, y) in reversed(list(zip(self.marks, self.pixels().tolist(), strict=True))):
            words = f"{mark.text} (fixed)" if self.fixed(mark) else mark.text
            path = _beside(mark, words, font, QPointF(x, y), taken, self.boundingRect())
            if path is None and mark.whole:  # no number of a whole run is left out
                path = _beside(mark, words, font, QPointF(x, y), (), self.boundingRect())
            if path is not None:
                taken.append(_with_rim(path.boundingRect()))
                found.append((words, path))
        return found

    @staticmethod
    def _point(
        painter: QPainter, palette: Palette, mark: Mark, place: QPointF, *, hollow: bool
    ) -> None:
        own = palette.chosen if mark.edges < 2 else edge_colours(palette)[mark.edge]
        fill = QColor(palette.canvas if hollow else own)
        fill.setAlphaF(strength(mark))
        radius = _NEWEST if mark.age == 0 else _EARLIER
        painter.setPen(QPen(QColor(palette.canvas), 4.0 if mark.age == 0 else 2.0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(place, radius, radius)
        rim = QPen(QColor(own if hollow else palette.ink), 2.5 if hollow else 1.5)
        painter.setPen(rim if mark.age == 0 else Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        painter.drawEllipse(place, radius, radius)


def strength(mark: Mark) -> float:
    """Opacity of a mark: 1 for the newest, less with each step, never below 0.4."""
    return 1.0 if mark.whole or mark.age == 0 else max(0.4, 0.8 - 0.1 * mark.age)


def _beside(
    mark: Mark, text: str, font: QFont, place: QPointF, taken: Sequence[QRectF], area: QRectF
) -> QPainterPath | None:
    """A mark's words on the first of its sides where nothing else is; None if there is none.

    Those of a whole run may stand further off: several of its points can be at one place.
    """
    font = QFont(font)
    font.setPixelSize(13 if mark.age == 0 else 11)
    font.setBold(mark.whole or mark.age == 0)
    words = QPainterPath()
    words.addText(QPointF(0, 0), font, text)
    size = words.boundingRect()
    near = (_NEWEST if mark.age == 0 else _EARLIER) + 4
    middle = place.x() - size.width() / 2
    for gap in (near, near + size.height(), near + 2 * size.height()) if mark.whole else (near,):
        right, left = place.x() + gap, place.x() - gap - size.width()
        above, below = place.y() - gap / 2, place.y() + gap / 2 + size.height()
        corners = [(x, y) for x in (right, left) for y in (above, below)]
        for x, y in (*corners, (middle, above - gap / 2), (middle, below + gap / 2)):
            path = words.translated(x - size.left(), y)
            box = _with_rim(path.boundingRect())
            if area.contains(box) and not any(box.intersects(other) for other in taken):
                return path
    return None


def _with_rim(words: QRectF) -> QRectF:
    """With the rim that words are drawn with."""
    return words.adjusted(-2, -2, 2, 2)


class Pointer(Overlay):
    """The crosshair under the pointer, and the mark of a halfplane shown from elsewhere."""

    at: tuple[float, float] | None = None
    halfplane: tuple[float, float] | None = None

    def draw(self, painter: QPainter, palette: Palette) -> None:
        area = self.boundingRect()
        if self.at is not None:
            x, y = self.to_pixels(np.array([self.at]))[0].tolist()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            for colour, style in (
                (palette.canvas, Qt.PenStyle.SolidLine),
                (palette.ink, Qt.PenStyle.DashLine),
            ):
                painter.setPen(QPen(QColor(colour), 1.0, style))
                painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
                painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.halfplane is not None:
            place = QPointF(*self.to_pixels(np.array([self.halfplane]))[0].tolist())
            painter.setBrush(Qt.BrushStyle.NoBrush)
            for colour, width in ((palette.canvas, 5.0), (palette.selection, 2.5)):
                painter.setPen(QPen(QColor(colour), width))
                painter.drawEllipse(place, 9.0, 9.0)
