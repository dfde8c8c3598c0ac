"""What is left out on the plane, both public: by the mask, and where there were too few reports."""

from __future__ import annotations

import pyqtgraph as pg
import shapely
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QPainter
from PySide6.QtWidgets import QGraphicsPathItem, QStyleOptionGraphicsItem, QWidget
from shapely.geometry.base import BaseGeometry

from geodp_app.palette import Palette
from geodp_app.views.widgets.plotting import added, cosmetic, shape_path, tinted


class MaskLayer:
    """The mask in one plot: its outline, and a veil over what it leaves out."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self.veil = added(plot, z, QGraphicsPathItem())

    def show(self, region: BaseGeometry | None, d: int) -> None:
        """Cover what lies on the grid 0..d and not in a region, in grid units; None covers none."""
        rest = shapely.Polygon() if region is None else shapely.box(0, 0, d, d) - region
        self.veil.setPath(shape_path(rest))

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self.veil.setPen(cosmetic(palette.soft_ink, 1.0, alpha=0.7))
        self.veil.setBrush(tinted(palette.soft_ink, 0.13))


class SupportLayer(MaskLayer):
    """Support in one plot, which is released: hatching where there were too few reports."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self.veil = self.hatching = added(plot, z, _Hatching())

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self.hatching.setPen(Qt.PenStyle.NoPen)
        self.hatching.setBrush(QBrush(tinted(palette.soft_ink, 0.5), Qt.BrushStyle.BDiagPattern))


class _Hatching(QGraphicsPathItem):
    """Hatching whose lines have their width in pixels at any zoom."""

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Fill the path; a pattern would grow with the plane."""
        brush = self.brush()
        brush.setTransform(painter.worldTransform().inverted()[0])
        painter.fillPath(self.path(), brush)
