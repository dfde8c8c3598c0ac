"""The errors of one step, one below the other, with the marks the chart draws them with: its
legend.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from geodp_app.formatting import percentage
from geodp_app.palette import Palette, load_palette, mix
from geodp_app.runs.figures import FiguresView

_SWATCH, _GAP = 24.0, 8.0
_NAMES = ("Test", "Empirical", "False positives", "False negatives")
#: The widest value: each keeps its place whatever it is.
_WIDEST = percentage(0.888)


class ErrorReadout(QWidget):
    """Legend and values of the test error, the empirical error and its two parts."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = load_palette("light")
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

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        """Room for each name and value."""
        metrics = QFontMetricsF(self.font())
        names = max(metrics.horizontalAdvance(name) for name in _NAMES)
        width = _SWATCH + names + _GAP + metrics.horizontalAdvance(_WIDEST)
        return QSize(round(width) + 1, len(_NAMES) * self._line())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Mark, name and value, four times."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        middle = Qt.AlignmentFlag.AlignVCenter
        for i, (name, value) in enumerate(zip(_NAMES, self._values(), strict=True)):
            row = QRectF(0, i * self._line(), self.width(), self._line())
            self._swatch(painter, i, QRectF(0, row.center().y() - 6, _SWATCH - 6, 12))
            row.setLeft(_SWATCH)
            painter.setPen(QColor(self._palette.soft_ink))
            painter.drawText(row, middle, name)
            painter.setPen(QColor(self._palette.ink))
            painter.drawText(
                row, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, value
            )
        painter.end()

    def _line(self) -> int:
        return self.fontMetrics().height() + 2

    def _values(self) -> list[str]:
        return [percentage(share) for share in (self._point or FiguresView()).errors]

    def _swatch(self, painter: QPainter, kind: int, box: QRectF) -> None:
        p = self._palette
        middle = box.center().y()
        if kind >= 2:
            painter.fillRect(box.adjusted(0, 1, 0, -1), QColor(p.panel))
            painter.fillRect(box.adjusted(0, 1, 0, -1), part_brush(p, kind))
            painter.setPen(part_pen(p, kind, self.devicePixelRatioF()))
            top = box.top() + 1
            painter.drawLine(QPointF(box.left(), top), QPointF(box.right(), top))
            return
        painter.setPen((held_out_pen, empirical_pen)[kind](p, self.devicePixelRatioF()))
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


def held_out_pen(p: Palette, ratio: float = 1.0) -> QPen:
    """Of the test error: dashed.  `ratio`: device pixels per unit, for cosmetic pens."""
    return _pen(p.accent, 1.8 * ratio, (3.0, 2.0))


def empirical_pen(p: Palette, ratio: float = 1.0) -> QPen:
    """Of the empirical error: solid."""
    return _pen(p.ink, 1.8 * ratio)


def part_pen(p: Palette, kind: int, ratio: float = 1.0) -> QPen:
    """Of false positives (kind 2, dotted) and false negatives (kind 3, solid)."""
    if kind == 2:
        return _pen(p.negative, 1.2 * ratio, (1.5, 2.0))
    return _pen(p.positive, 1.2 * ratio)


def part_brush(p: Palette, kind: int) -> QBrush:
    """Of the band of false positives (kind 2, hatched) and of false negatives (kind 3, plain)."""
    if kind == 2:
        return QBrush(QColor(p.negative), Qt.BrushStyle.BDiagPattern)
    return QBrush(QColor(mix(p.panel, p.positive, 0.3)))


def _pen(colour: str, width: float, dashes: tuple[float, ...] = ()) -> QPen:
    pen = QPen(QColor(colour), width)
    if dashes:
        pen.setDashPattern(list(dashes))
    pen.setCosmetic(True)
    return pen
