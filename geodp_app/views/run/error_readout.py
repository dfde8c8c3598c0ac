"""The errors of one step in a line or two, with the marks the chart draws them with: its legend."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from geodp_app.formatting import percentage
from geodp_app.palette import Palette, load_palette, mix
from geodp_app.runs.figures import FiguresView

_SWATCH, _GAP = 22.0, 8.0
#: Names from long to short, and the widest value: each keeps its place whatever the value.
_NAMES = (
    ("Test", "Test", "Test"),
    ("Empirical", "Empirical", "Emp."),
    ("False positives", "False pos.", "FP"),
    ("False negatives", "False neg.", "FN"),
)
_WIDEST = percentage(0.888)


class ErrorReadout(QWidget):
    """Legend and values of the test error, the empirical error and its two parts."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = load_palette("light")
        self._point: FiguresView | None = None
        #: Values a line: all of them, or half where there is little room.
        self.columns = len(_NAMES)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.show_point(None)

    def show_point(self, point: FiguresView | None) -> None:
        """Another step; None for the legend alone."""
        self._point = point
        self.setAccessibleName(self.text())
        self.update()

    def text(self) -> str:
        """What the line says."""
        if self._point is None:
            return "No errors to show"
        pairs = zip(_NAMES, self._values(), strict=True)
        parts = ", ".join(f"{name} {value}" for (name, *_), value in pairs)
        return f"{self._point.title}: {parts}"

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        """One line, or two."""
        return QSize(300, len(_NAMES) // self.columns * self._line())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Two lines where the short names do not fit in one."""
        super().resizeEvent(event)
        columns = len(_NAMES) if self._names_that_fit(len(_NAMES)) is not None else 2
        if columns != self.columns:
            self.columns = columns
            self.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Mark, name and value, four times; short names where there is little room."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = QFontMetricsF(self.font())
        short = self._names_that_fit(self.columns)
        names = [each[2 if short is None else short] for each in _NAMES]
        widths = [metrics.horizontalAdvance(name) for name in names]
        for i, (name, value) in enumerate(zip(names, self._values(), strict=True)):
            row, column = divmod(i, self.columns)
            # marks stand one below the other
            left = range(column)
            x = sum(max(widths[j :: self.columns]) + self._beside() for j in left)
            middle = (row + 0.5) * self._line()
            baseline = middle + (metrics.ascent() - metrics.descent()) / 2
            self._swatch(painter, i, QRectF(x, middle - 6, _SWATCH - 4, 12))
            painter.setPen(QColor(self._palette.soft_ink))
            painter.drawText(QPointF(x + _SWATCH, baseline), name)
            painter.setPen(QColor(self._palette.ink))
            x += _SWATCH + max(widths[column :: self.columns]) + 6
            painter.drawText(QPointF(x, baseline), value)
        painter.end()

    def _line(self) -> int:
        return self.fontMetrics().height() + 2

    def _beside(self) -> float:
        """Room for a mark, a value and the gaps."""
        return _SWATCH + 6 + QFontMetricsF(self.font()).horizontalAdvance(_WIDEST) + _GAP

    def _names_that_fit(self, columns: int) -> int | None:
        """The longest names, 0 to 2, with which so many columns fit; None if none do."""
        metrics = QFontMetricsF(self.font())
        room = self.width() + _GAP - columns * self._beside()
        for short in range(3):
            widths = [metrics.horizontalAdvance(each[short]) for each in _NAMES]
            if sum(max(widths[j::columns]) for j in range(columns)) <= room:
                return short
        return None

    def _values(self) -> list[str]:
        return [percentage(share) for share in (self._point or FiguresView()).errors]

    def _swatch(self, painter: QPainter, kind: int, box: QRectF) -> None:
        p = self._palette
        middle = box.center().y()
        if kind >= 2:
            colour = p.negative if kind == 2 else p.positive
            painter.fillRect(box.adjusted(0, 1, 0, -1), QColor(mix(p.panel, colour, 0.35)))
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


def _pen(colour: str, width: float, dashes: tuple[float, ...] = ()) -> QPen:
    pen = QPen(QColor(colour), width)
    if dashes:
        pen.setDashPattern(list(dashes))
    pen.setCosmetic(True)
    return pen
