"""Makes the parts of plots: painter paths of grid coordinates, axes of the plane, dots, images; and
bars: a share in its groove, the colours of a ramp with the values they stand for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyqtgraph as pg
import shapely
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QGraphicsItem, QGraphicsRectItem, QSizePolicy, QWidget
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Frame
from geodp_app.dual.sheets import Scale
from geodp_app.palette import Palette, diverging_ramp, load_palette, mix, ramp
from geodp_app.runs.protocol import Window
from geodp_app.views.widgets.panes import Painted, Themed
from geometry.grid import Bounds


def ring_path(rings: Iterable[Sequence[tuple[float, float]]]) -> QPainterPath:
    """Closed rings, grid units, filled by the even-odd rule."""
    path = QPainterPath()
    path.setFillRule(Qt.FillRule.OddEvenFill)
    for ring in rings:
        path.addPolygon(QPolygonF([QPointF(x, y) for x, y in ring]))
        path.closeSubpath()
    return path


def shape_path(shape: BaseGeometry) -> QPainterPath:
    """A polygonal shapely geometry, grid units."""
    rings = []
    for part in shapely.get_parts(shape):
        if part.geom_type == "Polygon" and not part.is_empty:
            rings += [part.exterior, *part.interiors]
    return ring_path([np.asarray(ring.coords)[:-1, :2].tolist() for ring in rings])


def line_path(vertices: Sequence[tuple[float, float]]) -> QPainterPath:
    """An open line through vertices, grid units."""
    path = QPainterPath()
    path.addPolygon(QPolygonF([QPointF(x, y) for x, y in vertices]))
    return path


def cosmetic(
    colour: str, width: float = 1.5, *, dash: Sequence[float] = (), alpha: float = 1.0
) -> QPen:
    """A pen whose width is in pixels at any zoom."""
    pen = QPen(tinted(colour, alpha), width)
    pen.setCosmetic(True)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    if dash:
        pen.setDashPattern(list(dash))
    return pen


def tinted(colour: str, alpha: float) -> QColor:
    """A colour with an opacity in 0..1."""
    tint = QColor(colour)
    tint.setAlphaF(alpha)
    return tint


Item = TypeVar("Item", bound=QGraphicsItem)


def added(plot: pg.PlotItem, height: float, item: Item) -> Item:
    """An item that lies in a plot now, above lower ones; the plot's window does not follow it."""
    item.setZValue(height)
    plot.addItem(item, ignoreBounds=True)
    return item


class Layer:
    """Items in one plot, some of which the release view hides."""

    _palette = load_palette("light")

    def __init__(self, plot: pg.PlotItem) -> None:
        self._plot = plot
        self._hidden: list[QGraphicsItem] = []

    def _add(self, height: float, item: Item, *, stays: bool = False) -> Item:
        if not stays:
            self._hidden.append(item)
        return added(self._plot, height, item)

    def set_visible(self, visible: bool) -> None:
        """Show or hide what the release view hides."""
        for item in self._hidden:
            item.setVisible(visible)


class PlaneAxis(pg.AxisItem):  # type: ignore[misc]
    """Tick texts for grid coordinates 0..d."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)
        self._across = orientation == "bottom"
        self._grid = 1
        self._bounds: Bounds | None = None
        self.enableAutoSIPrefix(False)
        # a number at the end of the axis would be cut by the plane's border of so many pixels
        self.setStyle(hideOverlappingLabels=-4)

    def set_frame(self, grid: int, bounds: Bounds | None) -> None:
        """What the coordinates mean."""
        self._grid, self._bounds = grid, bounds
        self.picture = None
        self.update()

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """Ticks at round numbers of the unit that is shown; places in grid units."""
        start, unit = self._unit()
        levels = super().tickValues(start + low * unit, start + high * unit, size)
        return [
            (spacing / unit, [(value - start) / unit for value in values])
            for spacing, values in levels
        ]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        start, unit = self._unit()
        if self._bounds is None:
            return [f"{value:.10g}" for value in values]
        if not self._bounds.in_degrees:
            return [f"{start + value * unit:,.10g}" for value in values]
        digits = max(0, -math.floor(math.log10(spacing * unit) + 1e-9))
        names = "EW" if self._across else "NS"
        return [_degrees(start + value * unit, digits, names) for value in values]

    def _unit(self) -> tuple[float, float]:
        """Value at grid coordinate 0, and of one grid step."""
        b = self._bounds
        if b is None:
            return 0.0, 1.0
        axis = 0 if self._across else 1
        return b.low[axis], b.size[axis] / self._grid


def aspect_ratio(bounds: Bounds | None) -> float:
    """Width of a grid step over its height, on the ground."""
    return 1.0 if bounds is None else bounds.aspect


def _degrees(value: float, digits: int, names: str) -> str:
    value = value - 360 if value > 180 else value
    if round(value, digits) == 0:
        return "0°"
    return f"{abs(value):.{digits}f}° {names[0] if value > 0 else names[1]}"


def rgba_image(colours: NDArray[np.uint8]) -> QImage:
    """An image of colours [i, j, :], i across and j up, its first row at the bottom."""
    rows = np.ascontiguousarray(colours.transpose(1, 0, 2))
    height, width = rows.shape[:2]
    image = QImage(rows.data, width, height, 4 * width, QImage.Format.Format_RGBA8888)
    return image.copy()  # the array may go


class PictureItem(pg.GraphicsObject):  # type: ignore[misc]
    """An image over a window of a plot, its first row at the least v."""

    def __init__(self) -> None:
        super().__init__()
        self.image: QImage | None = None
        self._place = QRectF()

    def set_image(self, image: QImage | None, window: Window | None) -> None:
        """Show an image over a window, or nothing."""
        self.prepareGeometryChange()
        self.image = image
        if image is None or window is None:
            self._place = QRectF()
        else:
            self._place = QRectF(window.u0, window.v0, window.width, window.height)
        self.update()

    def boundingRect(self) -> QRectF:
        return self._place

    def paint(self, painter: QPainter, *_: object) -> None:
        if self.image is not None:
            painter.drawImage(self._place, self.image)


class Dots(pg.ScatterPlotItem):  # type: ignore[misc]
    """Points that all look alike, in pixels: where nothing has changed nothing is made anew.

    A move of the pointer or a step of a run changes few of a plane's dots, or none.
    """

    def __init__(self, size: float, symbol: str = "o") -> None:
        super().__init__(pxMode=True, size=size, symbol=symbol)

    def show_at(self, points: ArrayLike) -> None:
        """Show them at these points, shape (n, 2), in coordinates of the plot."""
        at = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        there = np.column_stack((self.data["x"], self.data["y"]))
        if not np.array_equal(at, there):
            self.setData(pos=at, size=self.opts["size"])

    def updateSpots(self, dataSet: NDArray[np.void] | None = None) -> None:
        """One symbol is looked up for all of them."""
        every = self.data if dataSet is None else dataSet
        super().updateSpots(every[:1])
        every["sourceRect"] = every["sourceRect"][:1]

    def boundingRect(self) -> QRectF:
        """What is painted; nothing where there are none."""
        return super().boundingRect() if len(self.data) else QRectF()

    def paint(self, *arguments: object) -> None:
        """Nothing is painted where there are none."""
        if len(self.data):
            super().paint(*arguments)


class GridPlot(pg.PlotWidget):  # type: ignore[misc]
    """A plot of the grid, y up, with its border and its own axes; no menu."""

    def __init__(self) -> None:
        axes = {name: PlaneAxis(name) for name in ("bottom", "left")}
        super().__init__(axisItems=axes, enableMenu=False)
        self.sides = axes
        self._frame: Frame | None = None
        self.hideButtons()
        self.border = added(self.getPlotItem(), 5, QGraphicsRectItem())

    def set_palette(self, palette: Palette) -> None:
        self.setBackground(palette.canvas)
        for axis in self.sides.values():
            axis.setPen(cosmetic(palette.border, 1))
            axis.setTextPen(palette.soft_ink)
        self.border.setPen(cosmetic(palette.border, 1))

    def set_frame(self, frame: Frame) -> None:
        """The grid and where it lies; a new one is shown whole."""
        if frame == self._frame:
            return
        self._frame = frame
        for axis in self.sides.values():
            axis.set_frame(frame.d, frame.bounds)
        self.border.setRect(QRectF(0, 0, frame.d, frame.d))
        view = self.getViewBox()
        view.setAspectLocked(True, ratio=aspect_ratio(frame.bounds))
        reach = 3.0 * frame.d
        view.setLimits(xMin=-reach, xMax=frame.d + reach, yMin=-reach, yMax=frame.d + reach)
        self.fit()

    def fit(self) -> None:
        """Show the whole grid."""
        if self._frame is not None:
            d = self._frame.d
            self.getViewBox().setRange(QRectF(0, 0, d, d), padding=0.03)


class Overlay(Themed, QGraphicsItem):
    """Something painted over a plot in the pixels of its view box: it maps its few points itself,
    which stays exact however deep the zoom."""

    def __init__(self, box: pg.ViewBox, height: float) -> None:
        super().__init__(box)
        self._box = box
        self.setZValue(height)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        for changed in (box.sigRangeChanged, box.sigResized):
            changed.connect(lambda *_: self._moved())

    def show_with(self, **values: Any) -> None:
        """Other values of some of its attributes."""
        for name, value in values.items():
            setattr(self, name, value)
        self.update()

    def _moved(self) -> None:
        """The window onto the plot, or its size, has changed."""
        self.prepareGeometryChange()
        self.update()

    def to_pixels(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points of the plot, shape (n, 2), in pixels of the view box, y down."""
        (u0, u1), (v0, v1) = self._box.viewRange()
        area = self._box.rect()
        across = (points[:, 0] - u0) * (area.width() / (u1 - u0))
        down = (v1 - points[:, 1]) * (area.height() / (v1 - v0))
        return np.column_stack([across + area.left(), down + area.top()])

    def boundingRect(self) -> QRectF:
        area: QRectF = self._box.rect()
        return area

    def paint(self, painter: QPainter, *_: object) -> None:
        painter.setClipRect(self.boundingRect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.draw(painter, self._palette)

    def draw(self, painter: QPainter, palette: Palette) -> None:
        """Paint it in the coordinates of the screen."""
        raise NotImplementedError


class Badge(NamedTuple):
    """A number in a disc at a place of the plot, in grid units."""

    x: float
    y: float
    text: str
    colour: str
    #: Larger than others.
    main: bool = False


class Badges(Overlay):
    """Numbers in discs of the same size at any zoom."""

    badges: Sequence[Badge] = ()

    def draw(self, painter: QPainter, palette: Palette) -> None:
        """Discs with a rim, so that they are seen on any ground; the main ones last."""
        font = QFont(painter.font())
        font.setBold(True)
        places = self.to_pixels(np.array([badge[:2] for badge in self.badges]).reshape(-1, 2))
        for badge, (x, y) in zip(self.badges, places.tolist(), strict=True):
            font.setPixelSize(13 if badge.main else 11)
            painter.setFont(font)
            high = 19.0 if badge.main else 15.0
            wide = max(high, QFontMetricsF(font).horizontalAdvance(badge.text) + 8)
            spot = QRectF(x - wide / 2, y - high / 2, wide, high)
            painter.setPen(QPen(QColor(palette.canvas), 2.0))
            painter.setBrush(QColor(badge.colour))
            painter.drawRoundedRect(spot, high / 2, high / 2)
            painter.setPen(QColor(palette.canvas))
            painter.drawText(spot, Qt.AlignmentFlag.AlignCenter, badge.text)


class ShareBar(Painted, QWidget):
    """A share, 0..1, as a bar.

    `name`: what the share is of, for those who do not see it.  `colour`: the palette's name of its
    colour.
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

    def draw(self, painter: QPainter, palette: Palette) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        groove = QRectF(self.rect()).adjusted(0, 1, 0, -1)
        painter.setBrush(QColor(mix(palette.panel, palette.border, 0.35)))
        painter.drawRoundedRect(groove, 3, 3)
        groove.setWidth(groove.width() * self.share)
        painter.setBrush(QColor(getattr(palette, self.colour)))
        if groove.width() > 0:
            painter.drawRoundedRect(groove, 3, 3)


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
    with QPainter(image) as painter:
        pen = QPen(QColor(colour), 2)
        if dashed:
            pen.setDashPattern([2.5, 1.5])
        painter.setPen(pen)
        middle = size.height() / 2
        painter.drawLine(QPointF(0, middle), QPointF(size.width(), middle))
    return image
