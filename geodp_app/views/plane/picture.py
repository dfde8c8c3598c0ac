"""Drawing a picture of the plane with Qt: target, examples and learned shape, as PNG."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QBuffer, QIODevice, QLineF, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
)
from PySide6.QtSvg import QSvgGenerator
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Frame
from geodp_app.errors import PictureError
from geodp_app.runs.figures import Picture

# Okabe and Ito's palette, on paper
_POSITIVE = QColor("#0072B2")
_NEGATIVE = QColor("#E69F00")
_LEARNED = QColor("#009E73")
_INK = QColor("#222222")
_SOFT_INK = QColor("#666666")
_RULE = QColor("#D8D8D4")
_PAPER = QColor("#FFFFFF")
_PLANE = QColor("#FBFBF9")

WIDTH, HEIGHT = 1600, 1000
_PLANE_AREA = QRectF(96, 132, 1060, 796)
_SIDE_LEFT, _SIDE_WIDTH = 1210.0, 340.0
_MOST_DOTS = 4000


def render_png(picture: Picture) -> bytes:
    """Draw a picture of 1600 x 1000 pixels as PNG.

    A Qt application must be running (:func:`geodp_app.views.offscreen.start_qt`).

    Raises
    ------
    PictureError
        If Qt cannot encode the picture.
    """
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    image.fill(_PAPER)
    image.setText("Software", "geodp")  # by which it is known for ours
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    try:
        _Drawing(painter, picture).draw()
    finally:
        painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, "PNG"):  # type: ignore[call-overload]
        raise PictureError("Qt could not encode the picture as PNG")
    return bytes(buffer.data().data())


def render_svg(picture: Picture) -> bytes:
    """Draw the same picture as SVG; as :func:`render_png`."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(QSize(WIDTH, HEIGHT))
    generator.setViewBox(QRect(0, 0, WIDTH, HEIGHT))
    generator.setTitle(picture.title)
    generator.setDescription("Drawn by geodp")
    painter = QPainter(generator)
    try:
        painter.fillRect(QRect(0, 0, WIDTH, HEIGHT), _PAPER)
        _Drawing(painter, picture).draw()
    finally:
        painter.end()
    return readable_xml(bytes(buffer.data().data()))


#: UTF-8 of characters that no XML may hold: control characters, U+FFFE and U+FFFF.
_NO_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")


def readable_xml(text: bytes) -> bytes:
    """A document with a mark for each character that would make it none, as titles may hold."""
    return _NO_XML.sub("\ufffd".encode(), text)


class _Drawing:
    """One picture on one painter."""

    def __init__(self, painter: QPainter, picture: Picture) -> None:
        self.painter, self.picture = painter, picture
        self.plane = _plane_rectangle(picture.frame)

    def draw(self) -> None:
        """Paper, plane, examples, shapes, words."""
        self._axes()
        self.painter.save()
        self.painter.setClipRect(self.plane)
        self._fill(self.picture.learned)
        self._hatch()
        self._dots()
        self._outlines()
        self.painter.restore()
        self._frame()
        self._words()

    def _to_pixels(self, xy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Grid units, shape (n, 2), to pixels; y points up on the grid and down here."""
        d, plane = self.picture.frame.d, self.plane
        x = plane.left() + xy[:, 0] * (plane.width() / d)
        y = plane.bottom() - xy[:, 1] * (plane.height() / d)
        return np.column_stack([x, y])

    def _path(self, shape: BaseGeometry) -> QPainterPath:
        path = QPainterPath()
        path.setFillRule(Qt.FillRule.OddEvenFill)
        for polygon in getattr(shape, "geoms", [shape]):
            if polygon.is_empty:
                continue
            for ring in (polygon.exterior, *polygon.interiors):
                pixels = self._to_pixels(np.asarray(ring.coords)[:, :2])
                path.addPolygon(QPolygonF([QPointF(x, y) for x, y in pixels.tolist()]))
                path.closeSubpath()
        return path

    def _fill(self, shape: BaseGeometry) -> None:
        colour = QColor(_LEARNED)
        colour.setAlphaF(0.22)
        self.painter.fillPath(self._path(shape), QBrush(colour))

    def _hatch(self) -> None:
        """Where there were too few examples."""
        if self.picture.supported is not None:
            whole = QPainterPath()
            whole.addRect(self.plane)
            hatched = whole.subtracted(self._path(self.picture.supported))
            colour = QColor(_SOFT_INK)
            colour.setAlphaF(0.5)
            self.painter.fillPath(hatched, QBrush(colour, Qt.BrushStyle.BDiagPattern))

    def _outlines(self) -> None:
        if self.picture.target is not None:
            pen = QPen(_INK, 2.0, Qt.PenStyle.CustomDashLine)
            pen.setDashPattern([4.0, 3.0])
            self.painter.strokePath(self._path(self.picture.target), pen)
        pen = QPen(_LEARNED, 3.0)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        self.painter.strokePath(self._path(self.picture.learned), pen)

    def _dots(self) -> None:
        """Positive examples as discs, negative ones as rings: colour is not the only sign."""
        examples = self.picture.examples
        if examples is None or not len(examples.points):
            return
        step = math.ceil(len(examples.points) / _MOST_DOTS)
        pixels = self._to_pixels(examples.points[::step].astype(np.float64))
        labels = examples.labels[::step].astype(np.bool_)
        for chosen, draw in ((~labels, self._ring), (labels, self._disc)):
            for x, y in pixels[chosen].tolist():
                draw(QPointF(x, y))

    def _disc(self, at: QPointF) -> None:
        self.painter.setPen(Qt.PenStyle.NoPen)
        colour = QColor(_POSITIVE)
        colour.setAlphaF(0.75)
        self.painter.setBrush(colour)
        self.painter.drawEllipse(at, 2.1, 2.1)

    def _ring(self, at: QPointF) -> None:
        self.painter.setPen(QPen(_NEGATIVE, 1.0))
        self.painter.setBrush(Qt.BrushStyle.NoBrush)
        self.painter.drawEllipse(at, 1.8, 1.8)

    def _axes(self) -> None:
        self.painter.fillRect(self.plane, _PLANE)
        self.painter.setFont(_font(19))
        b = self.picture.frame.bounds
        d = float(self.picture.frame.d)
        east_west = (b.low[0], b.high[0]) if b else (0.0, d)
        south_north = (b.low[1], b.high[1]) if b else (0.0, d)
        degrees = b is not None and b.in_degrees
        plane = self.plane
        for value, text in _ticks(*east_west, degrees="EW" if degrees else ""):
            share = (value - east_west[0]) / (east_west[1] - east_west[0])
            x = plane.left() + share * plane.width()
            self._rule(QLineF(x, plane.top(), x, plane.bottom()))
            box = QRectF(x - 80, plane.bottom() + 8, 160, 28)
            self.painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, text)
        for value, text in _ticks(*south_north, degrees="NS" if degrees else ""):
            share = (value - south_north[0]) / (south_north[1] - south_north[0])
            y = plane.bottom() - share * plane.height()
            self._rule(QLineF(plane.left(), y, plane.right(), y))
            box = QRectF(plane.left() - 110, y - 14, 100, 28)
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            self.painter.drawText(box, right, text)

    def _rule(self, line: QLineF) -> None:
        self.painter.setPen(QPen(_RULE, 1.0))
        self.painter.drawLine(line)
        self.painter.setPen(_SOFT_INK)

    def _frame(self) -> None:
        self.painter.setPen(QPen(_SOFT_INK, 1.2))
        self.painter.setBrush(Qt.BrushStyle.NoBrush)
        self.painter.drawRect(self.plane)

    def _words(self) -> None:
        self.painter.setPen(_INK)
        self.painter.setFont(_font(34, bold=True))
        left = self.plane.left()
        title = _elided(self.picture.title, self.painter.font(), WIDTH - left - 60)
        self.painter.drawText(QPointF(left, 84), title)
        self._caption()
        y = self._legend(_PLANE_AREA.top() + 12)
        self._figures(y + 34)
        if self.picture.examples is not None:
            self.painter.setPen(_SOFT_INK)
            self.painter.setFont(_font(19))
            bottom = QPointF(_SIDE_LEFT, _PLANE_AREA.bottom() - 6)
            self.painter.drawText(bottom, "Contains private examples:")
            bottom.setY(bottom.y() + 26)
            self.painter.drawText(bottom, "not part of the release.")

    def _caption(self) -> None:
        """Below the plane's axis."""
        self.painter.setPen(_SOFT_INK)
        self.painter.setFont(_font(19))
        at = QPointF(self.plane.left(), self.plane.bottom() + 60)
        text = _elided(self.picture.caption, self.painter.font(), WIDTH - at.x() - 60)
        self.painter.drawText(at, text)

    def _legend(self, y: float) -> float:
        entries: list[tuple[str, Callable[[QPointF], None]]] = [("learned", self._learned_key)]
        if self.picture.target is not None:
            entries.append(("target", self._target_key))
        if self.picture.examples is not None:
            entries.append(("example inside", self._big(self._disc)))
            entries.append(("example outside", self._big(self._ring)))
        for text, key in entries:
            key(QPointF(_SIDE_LEFT + 26, y))
            self.painter.setPen(_INK)
            self.painter.setFont(_font(22))
            self.painter.drawText(QPointF(_SIDE_LEFT + 68, y + 8), text)
            y += 40
        return y

    def _big(self, draw: Callable[[QPointF], None]) -> Callable[[QPointF], None]:
        """A dot of the legend: three times the size."""

        def key(at: QPointF) -> None:
            self.painter.save()
            self.painter.translate(at)
            self.painter.scale(3.0, 3.0)
            draw(QPointF(0, 0))
            self.painter.restore()

        return key

    def _learned_key(self, at: QPointF) -> None:
        box = QRectF(at.x() - 22, at.y() - 11, 44, 22)
        colour = QColor(_LEARNED)
        colour.setAlphaF(0.22)
        self.painter.fillRect(box, colour)
        self.painter.setPen(QPen(_LEARNED, 3.0))
        self.painter.setBrush(Qt.BrushStyle.NoBrush)
        self.painter.drawRect(box)

    def _target_key(self, at: QPointF) -> None:
        pen = QPen(_INK, 2.0, Qt.PenStyle.CustomDashLine)
        pen.setDashPattern([4.0, 3.0])
        self.painter.setPen(pen)
        self.painter.drawLine(QLineF(at.x() - 22, at.y(), at.x() + 22, at.y()))

    def _figures(self, y: float) -> None:
        self.painter.setPen(QPen(_RULE, 1.0))
        self.painter.drawLine(QLineF(_SIDE_LEFT, y - 30, _SIDE_LEFT + _SIDE_WIDTH, y - 30))
        for name, value in self.picture.figures:
            self.painter.setFont(_font(19))
            self.painter.setPen(_SOFT_INK)
            self.painter.drawText(QPointF(_SIDE_LEFT, y + 8), name)
            self.painter.setPen(_INK)
            self.painter.setFont(_font(22))
            box = QRectF(_SIDE_LEFT + 120, y - 18, _SIDE_WIDTH - 120, 34)
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            self.painter.drawText(box, right, _elided(value, self.painter.font(), box.width()))
            y += 38


def _plane_rectangle(frame: Frame) -> QRectF:
    """Where the grid goes: as large as fits, with true proportions at its middle latitude."""
    ratio = 1.0 if frame.bounds is None else frame.bounds.aspect
    width = min(_PLANE_AREA.width(), _PLANE_AREA.height() * ratio)
    height = width / ratio
    left = _PLANE_AREA.left() + (_PLANE_AREA.width() - width) / 2
    return QRectF(left, _PLANE_AREA.top() + (_PLANE_AREA.height() - height) / 2, width, height)


def _ticks(low: float, high: float, *, degrees: str) -> list[tuple[float, str]]:
    """About five round values in low..high with their texts; `degrees` is "EW", "NS" or ""."""
    rough = (high - low) / 5
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * f for f in (1, 2, 2.5, 5, 10) if size * f >= rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = []
    for i in range(first, last + 1):
        value = i * step
        text = f"{value:.10g}"
        if degrees:
            value_there = value - 360 if value > 180 else value
            side = degrees[0] if value_there > 0 else degrees[1]
            text = f"{abs(value_there):.10g}°" + (f" {side}" if i else "")
        ticks.append((value, text))
    return ticks


def _font(pixels: int, *, bold: bool = False) -> QFont:
    font = QFont("DejaVu Sans")
    font.setStyleHint(QFont.StyleHint.SansSerif)
    font.setPixelSize(pixels)
    font.setBold(bold)
    return font


def _elided(text: str, font: QFont, width: float) -> str:
    return QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, width)
