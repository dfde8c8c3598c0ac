"""Draws bars: a share in its groove, and the colours of a ramp with the values they stand for."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from geodp_app.dual.shade_colours import Scale
from geodp_app.palette import diverging_ramp, mix, ramp
from geodp_app.views.widgets.panes import Themed


class ShareBar(Themed, QWidget):
    """A share, 0..1, as a bar.

    Parameters
    ----------
    name : str
        What the share is of, for those who do not see it.
    colour : str
        The palette's name of its colour.
    """

    def __init__(self, name: str, colour: str = "accent") -> None:
        super().__init__()
        self.share, self.colour = 0.0, colour
        self.setFixedHeight(8)
        self.setAccessibleName(name)

    def set_share(self, share: float, colour: str | None = None) -> None:
        """Another length, and another colour if one is given."""
        self.share, self.colour = share, colour or self.colour
        self.setAccessibleDescription(f"{100 * share:.0f} %")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        p = self._palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        groove = QRectF(self.rect()).adjusted(0, 1, 0, -1)
        painter.setBrush(QColor(mix(p.panel, p.border, 0.35)))
        painter.drawRoundedRect(groove, 3, 3)
        groove.setWidth(groove.width() * self.share)
        painter.setBrush(QColor(getattr(p, self.colour)))
        if groove.width() > 0:
            painter.drawRoundedRect(groove, 3, 3)
        painter.end()


_BAR, _TICK = 12, 4

#: Least width.
_WIDTH = 132


class ColourBar(Themed, QWidget):
    """A horizontal bar with its label above it and values under it."""

    def __init__(self) -> None:
        super().__init__()
        #: The range of values that the bar shows; None while it shows nothing.
        self.scale: Scale | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Colour bar")

    def set_scale(self, scale: Scale | None) -> None:
        """Show a range, or nothing."""
        self.scale = scale
        self.updateGeometry()
        if scale is not None:
            low, high = scale.text(scale.low), scale.text(scale.high)
            self.setAccessibleDescription(f"{scale.label}: {low} to {high}")
        self.update()

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        label = "" if self.scale is None else self.scale.label
        width = self._margin() + metrics.horizontalAdvance(label) + 2
        return QSize(max(_WIDTH, math.ceil(width)), _BAR + _TICK + 2 * metrics.height() + 4)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def _margin(self) -> float:
        """Left and right of the bar: half a value's width."""
        return self.fontMetrics().horizontalAdvance("0,000") / 2

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.scale is None:
            return
        painter, table = QPainter(self), diverging_ramp if self.scale.signed else ramp
        colours = table(self._palette).tobytes()
        metrics, ink = painter.fontMetrics(), QColor(self._palette.ink)
        margin = self._margin()
        bar = QRectF(margin, metrics.height() + 1, self.width() - 2 * margin, _BAR)
        painter.setPen(ink)
        painter.drawText(QPointF(margin, metrics.ascent()), self.scale.label)
        painter.drawImage(bar, QImage(colours, 256, 1, 768, QImage.Format.Format_RGB888))
        painter.setPen(QPen(QColor(self._palette.border), 1))
        painter.drawRect(bar)
        end = -1e9
        for place, text in self.scale.ticks():
            x, width = bar.left() + place * bar.width(), metrics.horizontalAdvance(text)
            left = min(max(x - width / 2, 1.0), self.width() - width - 1.0)
            if left < end + 6:
                continue
            end = left + width
            painter.setPen(QPen(ink, 1))
            painter.drawLine(QPointF(x, bar.bottom()), QPointF(x, bar.bottom() + _TICK))
            painter.drawText(QPointF(left, bar.bottom() + _TICK + metrics.ascent()), text)
        painter.end()


def line_swatch(colour: str, *, dashed: bool, size: QSize) -> QImage:
    """A short line as the sheets draw it, for a legend."""
    image = QImage(size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    pen = QPen(QColor(colour), 2)
    if dashed:
        pen.setDashPattern([2.5, 1.5])
    painter.setPen(pen)
    middle = size.height() / 2
    painter.drawLine(QPointF(0, middle), QPointF(size.width(), middle))
    painter.end()
    return image
