"""Draws a comparison: the target's outline and each learner's shape in its own stroke."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPixmap
from PySide6.QtWidgets import QGraphicsPathItem
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Frame
from geodp_app.palette import Palette
from geodp_app.runs.comparison import KINDS
from geodp_app.views.widgets.plotting import GridPlot, added, cosmetic, shape_path, tinted

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
        """Draw in the colours of another palette, light or dark."""
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
        item = self.items[name] = added(
            self.getPlotItem(), 20 + len(self.items), QGraphicsPathItem()
        )
        item.setPath(shape_path(shape))
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
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(tinted(palette.canvas, 1.0))
    painter.drawRoundedRect(QRectF(0, 0, _SWATCH_WIDTH, _SWATCH_HEIGHT), 3, 3)
    pen = stroke_pen(name, palette, 2.6 * ratio)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.setPen(pen)
    middle = _SWATCH_HEIGHT / 2
    painter.drawLine(3, round(middle), _SWATCH_WIDTH - 3, round(middle))
    painter.end()
    return picture


def _stroke(name: str, palette: Palette) -> tuple[str, tuple[float, ...]]:
    # of a rehearsal's row the learner's name is the beginning
    field, dash = _STROKES.get(name.partition(",")[0], ("target", (1, 2)))
    return getattr(palette, field), dash
