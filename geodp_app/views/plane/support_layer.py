"""What is left out on the plane, both public: by the mask, and where there were too few reports."""

from __future__ import annotations

import pyqtgraph as pg
import shapely
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QPainter
from PySide6.QtWidgets import QGraphicsPathItem, QStyleOptionGraphicsItem, QWidget
from shapely.geometry.base import BaseGeometry

from geodp_app.palette import Palette
from geodp_app.views.widgets.plotting import cosmetic, shape_path, tinted


class _Outside(QGraphicsPathItem):
    """What lies on the grid and not in a region."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        super().__init__()
        self.setZValue(z)
        plot.addItem(self, ignoreBounds=True)

    def show_beyond(self, region: BaseGeometry | None, d: int) -> None:
        """Of a region on the grid 0..d, in grid units; nothing without one."""
        rest = shapely.Polygon() if region is None else shapely.box(0, 0, d, d) - region
        self.setPath(shape_path(rest))


class MaskLayer:
    """The mask in one plot: its outline, and a veil over what it leaves out."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self.veil = _Outside(plot, z)
        self.show = self.veil.show_beyond

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self.veil.setPen(cosmetic(palette.soft_ink, 1.0, alpha=0.7))
        self.veil.setBrush(tinted(palette.soft_ink, 0.13))


class SupportLayer:
    """Support in one plot, which is released: hatching where there were too few reports."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self.hatching = _Hatching(plot, z)
        self.hatching.setPen(Qt.PenStyle.NoPen)
        self.show = self.hatching.show_beyond

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self.hatching.setBrush(QBrush(tinted(palette.soft_ink, 0.5), Qt.BrushStyle.BDiagPattern))


class _Hatching(_Outside):
    """Hatching whose lines have their width in pixels at any zoom."""

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Fill the path; a pattern would grow with the plane."""
        brush = self.brush()
        brush.setTransform(painter.worldTransform().inverted()[0])
        painter.fillPath(self.path(), brush)
