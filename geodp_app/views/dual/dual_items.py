"""What is painted over the lines on a sheet of the dual plane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPainterPath, QPen, QPolygonF

from geodp_app.dual.scene import Mark
from geodp_app.palette import Palette, edge_colours, greyed
from geodp_app.views.widgets.plotting import Overlay

Floats = NDArray[np.float64]
_NO_POINTS: Floats = np.empty((0, 2))

#: Radius in pixels of the newest dual points and of earlier ones.
_NEWEST, _EARLIER = 6.5, 4.0
#: A box smaller than this on the screen is drawn this large.
_LEAST_BOX = 5.0


class ExampleLine(Overlay):
    """One example's dual line, over all others."""

    ends: Floats = _NO_POINTS

    def draw(self, painter: QPainter, palette: Palette) -> None:
        """The line with a rim, so that it is seen on any ground."""
        if len(self.ends) < 2:
            return
        first, last = (QPointF(x, y) for x, y in self.to_pixels(self.ends).tolist())
        for colour, width in ((palette.canvas, 6.0), (palette.selection, 3.0)):
            painter.setPen(QPen(QColor(colour), width))
            painter.drawLine(first, last)


class CellOutline(Overlay):
    """The cell under the pointer: its halfplanes hold the same examples."""

    corners: Floats = _NO_POINTS

    def draw(self, painter: QPainter, palette: Palette) -> None:
        """The outline with a rim, so that it is seen on any ground."""
        if len(self.corners) < 3:
            return
        outline = QPolygonF([QPointF(x, y) for x, y in self.to_pixels(self.corners).tolist()])
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for colour, width in ((palette.canvas, 4.0), (palette.ink, 2.0)):
            painter.setPen(QPen(QColor(colour), width))
            painter.drawPolygon(outline)


class Boxes(Overlay):
    """Outlines of the sampler's boxes, the heavier the stronger."""

    boxes: Sequence[tuple[tuple[float, float, float, float], float]] = ()

    def draw(self, painter: QPainter, palette: Palette) -> None:
        """Outlines, the heaviest last."""
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

    def draw(self, painter: QPainter, palette: Palette) -> None:
        """Points, oldest first, then the numbers that find room, newest first."""
        palette = greyed(palette) if self.past else palette
        places = [QPointF(x, y) for x, y in self.pixels().tolist()]
        marks = list(zip(self.marks, places, strict=True))
        self._link(painter, palette, [place for mark, place in marks if mark.age == 0])
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
    def _link(painter: QPainter, palette: Palette, places: list[QPointF]) -> None:
        """A thin triangle between the newest points, when all three are on this sheet."""
        if len(places) == 3:
            painter.setPen(QPen(QColor(palette.chosen), 1.0, Qt.PenStyle.DotLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPolygon(places)

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
        """Draw the crosshair and the ring around the chosen point."""
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
