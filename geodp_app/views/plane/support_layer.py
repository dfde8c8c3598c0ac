"""Support on the plane, which is released: hatching where there were too few reports."""

from __future__ import annotations

import pyqtgraph as pg
import shapely
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QPainter, QPainterPath
from PySide6.QtWidgets import QGraphicsPathItem, QStyleOptionGraphicsItem, QWidget
from shapely.geometry.base import BaseGeometry

from geodp_app.palette import Palette
from geodp_app.views.widgets.plotting import shape_path, tinted


class SupportLayer:
    """The item of support in one plot."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        #: What is not supported.
        self.hatching = _Hatching()
        self.hatching.setZValue(z)
        plot.addItem(self.hatching, ignoreBounds=True)

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self.hatching.setBrush(QBrush(tinted(palette.soft_ink, 0.5), Qt.BrushStyle.BDiagPattern))

    def show(self, supported: BaseGeometry | None, d: int) -> None:
        """Show what is supported on the grid 0..d, in grid units; None where nothing is told."""
        path = QPainterPath()
        if supported is not None:
            path = shape_path(shapely.difference(shapely.box(0, 0, d, d), supported))
        self.hatching.setPath(path)


class _Hatching(QGraphicsPathItem):
    """A path whose hatching has its lines in pixels at any zoom."""

    def __init__(self) -> None:
        super().__init__()
        self.setPen(Qt.PenStyle.NoPen)

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Fill the path; a pattern would grow with the plane."""
        brush = self.brush()
        brush.setTransform(painter.worldTransform().inverted()[0])
        painter.fillPath(self.path(), brush)
