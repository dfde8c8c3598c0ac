"""Asks for public bounds: four numbers, a box on a map, or a map file.  Never the points.

The map has never seen a point either.
"""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
    QTransform,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QFileDialog,
    QGridLayout,
    QGroupBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from assets import land_path
from geodp_app.files.document_files import SIDES, bounds_of_map, typed_bounds
from geodp_app.files.import_file import cut
from geodp_app.palette import Palette, mix
from geodp_app.views.widgets.panes import Painted, dressed, fill
from geodp_app.views.widgets.plotting import shape_path, tinted
from geometry.crs import LONLAT
from geometry.errors import InputError
from geometry.geojson import read_geojson
from geometry.grid import Bounds, BoundsError

#: Degrees of longitude across the map, at most and at least.
_WIDEST, _NARROWEST = 360.0, 0.02
#: By a step of the wheel or a key, and by an arrow: a share of the map's width.
_ZOOM, _MOVE = 1.5, 0.1
#: Points of a side of a box that is drawn.
_PARTS = 17


class BoundsMap(Painted, QWidget):
    """Longitude and latitude as a plain grid; drag a box, turn the wheel to zoom.

    The arrow keys move the map, + and − zoom, Home shows all of it.
    """

    #: A box was dragged.
    dragged = Signal(object)

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._palette = palette
        self._land: QPainterPath = shape_path(read_geojson(land_path()).geometry)
        self._centre, self._across = QPointF(0.0, 0.0), _WIDEST
        self._box = QPolygonF()  # in degrees; longitudes may go on after 180
        #: Of a box that is dragged, the corner that stays, in degrees; and the bounds before.
        self._start: QPointF | None = None
        self._before: Bounds | None = None
        self.setAccessibleDescription("Arrows move it, plus and minus zoom, Home shows all of it")
        tip = (
            "Drag a box with the mouse; the wheel zooms. With keys: arrows, +, − and Home; "
            "the fields below take numbers"
        )
        dressed(self, name="Map to drag bounds on", tip=tip)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(400, 180)

    def minimumSizeHint(self) -> QSize:
        return QSize(300, 150)

    def show_box(self, box: Bounds | None) -> None:
        """The bounds that are chosen, brought into sight if they are not."""
        self._box = QPolygonF() if box is None else _outline(box)
        if self._start is None:
            self._before = box
        around = self._box.boundingRect()
        if box is not None and self._start is None and not self._in_sight(around):
            self._centre = around.center()
            wanted = max(around.width(), 2 * around.height())
            across = around.left() < -180 or around.right() > 180
            self._zoom_to(_WIDEST if across else 2.0 * wanted)
        self.update()

    def to_widget(self, lon: float, lat: float) -> QPointF:
        """Where a place is, in device-independent pixels."""
        return self._transform().map(QPointF(lon, lat))

    # pointer and keys

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._start = self._place(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """The box follows; corners are at round degrees."""
        at = self._place(event.position())
        if self._start is not None and (box := self._between(self._start, at)):
            self.dragged.emit(box)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._start = None

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom; what is under the pointer stays there."""
        event.accept()
        under = self._place(event.position())
        self._zoom_to(self._across * _ZOOM ** (-event.angleDelta().y() / 120))
        self._centre += under - self._place(event.position())
        self._keep_on_earth()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, step = event.key(), _MOVE * self._across
        moves = {
            Qt.Key.Key_Left: (-step, 0.0), Qt.Key.Key_Right: (step, 0.0),
            Qt.Key.Key_Up: (0.0, step), Qt.Key.Key_Down: (0.0, -step),
        }  # fmt: skip
        zooms = dict.fromkeys((Qt.Key.Key_Plus, Qt.Key.Key_Equal), self._across / _ZOOM)
        zooms |= {Qt.Key.Key_Minus: self._across * _ZOOM, Qt.Key.Key_Home: _WIDEST}
        if key in moves:
            self._centre += QPointF(*moves[Qt.Key(key)])
            self._keep_on_earth()
        elif key in zooms:
            self._zoom_to(zooms[Qt.Key(key)])
        elif key == Qt.Key.Key_Escape and self._start is not None:
            self._start = None
            if self._before is not None:
                self.dragged.emit(self._before)
        else:
            super().keyPressEvent(event)

    # what is where

    def _transform(self) -> QTransform:
        scale = self._scale()
        made = QTransform.fromTranslate(self.width() / 2, self.height() / 2)
        made.scale(scale, -scale)
        made.translate(-self._centre.x(), -self._centre.y())
        return made

    def _scale(self) -> float:
        """Pixels a degree."""
        return min(self.width() / self._across, 2 * self.height() / self._across)

    def _place(self, at: QPointF) -> QPointF:
        inverse, _ = self._transform().inverted()
        return inverse.map(at)

    def _zoom_to(self, across: float) -> None:
        self._across = min(max(across, _NARROWEST), _WIDEST)
        self._keep_on_earth()

    def _keep_on_earth(self) -> None:
        x, y = max(180 - self._across / 2, 0.0), max(90 - self._across / 4, 0.0)
        centre = self._centre
        self._centre = QPointF(min(max(centre.x(), -x), x), min(max(centre.y(), -y), y))
        self.update()

    def _in_sight(self, around: QRectF) -> bool:
        shown = QRectF(0, 0, self._across, self._across / 2)
        shown.moveCenter(self._centre)
        return shown.contains(around) and around.width() > 0.02 * self._across

    def _between(self, a: QPointF, b: QPointF) -> Bounds | None:
        """The box with two corners, at round degrees of about two pixels; None if it is empty."""
        step = _round_step(2 / self._scale())
        xs = sorted(min(max(_rounded(p.x(), step), -180.0), 180.0) for p in (a, b))
        ys = sorted(min(max(_rounded(p.y(), step), -90.0), 90.0) for p in (a, b))
        try:
            return Bounds(xs[0], ys[0], xs[1], ys[1])
        except BoundsError:
            return None

    def draw(self, painter: QPainter, palette: Palette) -> None:
        p = palette
        painter.fillRect(self.rect(), QColor(p.canvas))
        to_widget = self._transform()
        earth = to_widget.mapRect(QRectF(-180, -90, 360, 180))
        painter.setClipRect(earth)
        painter.setPen(QPen(QColor(p.border), 1))
        painter.setBrush(QColor(mix(p.canvas, p.border, 0.35)))
        painter.drawPath(to_widget.map(self._land))
        self._draw_degrees(painter)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(p.border), 1))
        painter.drawRect(earth.adjusted(0.5, 0.5, -0.5, -0.5))
        painter.setBrush(tinted(p.accent, 0.2))
        painter.setPen(QPen(QColor(p.accent), 2))
        for turn in (-360.0, 0.0, 360.0):  # a box across the antimeridian is at both ends
            painter.drawPolygon(to_widget.map(self._box.translated(turn, 0.0)))
        painter.setClipping(False)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(p.focus), 2))
            painter.drawRect(QRectF(self.rect()).adjusted(1, 1, -1, -1))

    def _draw_degrees(self, painter: QPainter) -> None:
        p = self._palette
        step = _round_step(self._across / 6, (1, 2, 3, 6))
        low = self._place(QPointF(0, self.height()))
        high = self._place(QPointF(self.width(), 0))
        font = painter.font()
        font.setPointSizeF(7.5)
        painter.setFont(font)
        wide, high_ = self.width(), self.height()
        left = max(self.to_widget(-180, 0).x(), 0.0) + 4
        lines = []
        for k in range(math.ceil(low.x() / step), math.floor(high.x() / step) + 1):
            x = self.to_widget(k * step, 0).x()
            lines.append((QLineF(x, 0, x, high_), QPointF(x + 3, high_ - 5), k))
        for k in range(math.ceil(low.y() / step), math.floor(high.y() / step) + 1):
            y = self.to_widget(0, k * step).y()
            lines.append((QLineF(0, y, wide, y), QPointF(left, y - 3), k))
        for line, at, k in lines:
            painter.setPen(QPen(QColor(p.rule), 1))
            painter.drawLine(line)
            painter.setPen(QColor(p.ink))
            painter.drawText(at, f"{f'{k * step:.6g}'.replace('-', '−')}°")


def _outline(box: Bounds) -> QPolygonF:
    """A box's sides in degrees, straight in its own system."""
    along = np.linspace(0.0, 1.0, _PARTS)
    back, low, high = along[::-1], np.zeros(_PARTS), np.ones(_PARTS)
    parts = np.column_stack([[*along, *high, *back, *low], [*low, *along, *high, *back]])
    own = np.array(box.low) + parts * np.array(box.size)
    return QPolygonF([QPointF(x, y) for x, y in box.to_lonlat(own).tolist()])


def _round_step(least: float, digits: tuple[int, ...] = (1, 2, 5)) -> float:
    """The least round number that is not below another."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((d * power for d in digits if d * power >= least), 10 * power)


def _rounded(value: float, step: float) -> float:
    """The multiple of a round step next to a value, without binary dust."""
    return round(round(value / step) * step, 9)


_TITLE = "Public bounds"
_WHY = (
    "Bounds are published with the shape. They are never taken from the points, because a box "
    "that fits the points tells where the outermost of them are."
)
_TIPS = (
    "Smallest longitude, −180 to 180",
    "Smallest latitude, −90 to 90",
    "Largest longitude, −180 to 180",
    "Largest latitude, −90 to 90",
)


class BoundsFields(QGroupBox):
    """West, south, east and north, in step with a box on a map; `first` to begin with.

    They are degrees, or in the system of the box that was last set.
    """

    #: Other numbers; they may be no box.
    changed = Signal()
    #: A sentence about a map file that is of no use.
    refused = Signal(str)

    def __init__(self, first: Bounds | None, palette: Palette) -> None:
        super().__init__(_TITLE)
        self._crs = LONLAT
        self.map = BoundsMap(palette)
        self.map.dragged.connect(self.set_bounds)
        self.fields = {side: QLineEdit() for side in SIDES}
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        for place, (side, tip) in enumerate(zip(SIDES, _TIPS, strict=True)):
            field = dressed(self.fields[side], name=side, tip=f"{tip}, in degrees")
            field.setPlaceholderText(tip.partition(", ")[2])
            field.textChanged.connect(self._typed)
            label = QLabel(side)
            label.setBuddy(field)
            row, pair = divmod(place, 2)
            grid.addWidget(label, row, 2 * pair)
            grid.addWidget(field, row, 2 * pair + 1)
        tip = "The bounds that a GeoJSON file states, or the box of its shapes"
        self.from_map = dressed(QPushButton("Take from a map file…"), tip=tip)
        self.from_map.setAutoDefault(False)
        self.from_map.clicked.connect(self._ask_map)
        grid.addWidget(self.from_map, 0, 4, 2, 1)
        why = dressed(QLabel(_WHY, wordWrap=True), "note")
        fill(self, self.map, grid, why, spacing=8)
        if first is not None:
            self.set_bounds(first)

    def bounds(self) -> Bounds:
        """What is chosen; InputError if it is no box, empty as long as something is missing."""
        return typed_bounds({side: f.text() for side, f in self.fields.items()}, self._crs)

    def set_bounds(self, bounds: Bounds) -> None:
        """Other numbers, told once."""
        self._crs = bounds.crs
        own = bounds.crs == LONLAT
        self.setTitle(_TITLE if own else f"{_TITLE}, in {cut(bounds.crs)}")
        sides = zip(SIDES, self.fields.values(), _TIPS, bounds.as_tuple(), strict=True)
        for side, field, tip, value in sides:
            field.setToolTip(f"{tip}, in degrees" if own else f"{side}, in {cut(bounds.crs)}")
            with QSignalBlocker(field):
                field.setText(str(value).removesuffix(".0"))
        self._typed()

    def _typed(self) -> None:
        box = None
        with contextlib.suppress(InputError):
            box = self.bounds()
        self.map.show_box(box)
        self.changed.emit()

    def _ask_map(self) -> None:
        asked = ("Take bounds from a map file", "", "Maps (*.geojson *.json)")
        name, _ = QFileDialog.getOpenFileName(self, *asked)
        try:
            if name:
                self.set_bounds(bounds_of_map(Path(name)))
        except InputError as error:
            self.refused.emit(str(error))
