"""The mask on the plane: its outline, and a veil over what it leaves out.  It is public."""

from __future__ import annotations

import pyqtgraph as pg
import shapely
from PySide6.QtGui import QPainterPath
from PySide6.QtWidgets import QGraphicsPathItem
from shapely.geometry.base import BaseGeometry

from geodp_app.palette import Palette
from geodp_app.views.widgets.plotting import cosmetic, shape_path, tinted


class MaskLayer:
    """The item of the mask in one plot."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        #: What lies on the grid and not in the mask.
        self.veil = QGraphicsPathItem()
        self.veil.setZValue(z)
        plot.addItem(self.veil, ignoreBounds=True)

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self.veil.setPen(cosmetic(palette.soft_ink, 1.0, alpha=0.7))
        self.veil.setBrush(tinted(palette.soft_ink, 0.13))

    def show(self, region: BaseGeometry | None, d: int) -> None:
        """Show a mask on the grid 0..d, in grid units; None for none."""
        path = QPainterPath()
        if region is not None:
            path = shape_path(shapely.difference(shapely.box(0, 0, d, d), region))
        self.veil.setPath(path)
