"""Examples on the plane: symbols while there are few, one pixel a grid point when there are many.

Positives are discs, negatives rings, wrong ones crosses, those already decided small grey dots:
colour is never the only sign.
"""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QImage

from geodp_app.dual.sheets import Window
from geodp_app.palette import Palette
from geodp_app.views.plane.examples_picture import (
    ExampleKinds,
    Kind,
    grid_places,
    picture,
    picture_scale,
)
from geodp_app.views.widgets.paths import cosmetic, tinted
from geodp_app.views.widgets.picture_item import PictureItem

#: Up to here symbols are drawn; more of them hide one another, and each frame takes longer.
MOST_SYMBOLS = 6_000

#: Sizes in pixels while there are few; with more of them they shrink to half.
_SIZES = {Kind.DECIDED: 3.0, Kind.NEGATIVE: 5.0, Kind.POSITIVE: 5.0, Kind.WRONG: 7.0}
_FEW = 1_500
_SYMBOLS = {Kind.DECIDED: "o", Kind.NEGATIVE: "o", Kind.POSITIVE: "o", Kind.WRONG: "x"}


class ExamplesLayer:
    """The examples' items in one plot."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self._image = PictureItem()
        self._image.setZValue(z)
        self._scatters = {}
        plot.addItem(self._image, ignoreBounds=True)
        for kind in Kind:
            scatter = pg.ScatterPlotItem(pxMode=True, symbol=_SYMBOLS[kind], size=_SIZES[kind])
            scatter.setZValue(z + kind / 10)
            self._scatters[kind] = scatter
            plot.addItem(scatter)
        self._examples: ExampleKinds | None = None
        #: Points and the pixels they are on.
        self._places: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        self._grid = 1

    def set_palette(self, palette: Palette) -> None:
        """Colours of the symbols."""
        clear = pg.mkBrush(None)
        pens = {
            Kind.DECIDED: pg.mkPen(None),
            Kind.NEGATIVE: cosmetic(palette.negative, 1.0),
            Kind.POSITIVE: pg.mkPen(None),
            Kind.WRONG: cosmetic(palette.danger, 1.1, alpha=0.85),
        }
        brushes = {
            Kind.DECIDED: pg.mkBrush(tinted(palette.soft_ink, 0.45)),
            Kind.NEGATIVE: clear,
            Kind.POSITIVE: pg.mkBrush(tinted(palette.positive, 0.85)),
            Kind.WRONG: clear,
        }
        for kind, scatter in self._scatters.items():
            scatter.setPen(pens[kind])
            scatter.setBrush(brushes[kind])
        self._colours = {
            Kind.DECIDED: _rgba(palette.soft_ink, 0.35),
            Kind.NEGATIVE: _rgba(palette.negative, 0.75),
            Kind.POSITIVE: _rgba(palette.positive, 0.9),
            Kind.WRONG: _rgba(palette.danger, 0.9),
        }
        if self._examples is not None:
            self.show(self._examples, self._grid)

    def show(self, examples: ExampleKinds | None, grid: int) -> None:
        """Show these examples of a grid 0..grid; None clears."""
        self._examples, self._grid = examples, grid
        few = examples is not None and len(examples.points) <= MOST_SYMBOLS
        shrink = 1.0
        if examples is not None and len(examples.points) > _FEW:
            shrink = max(0.5, (_FEW / len(examples.points)) ** 0.35)
        for kind, scatter in self._scatters.items():
            points = examples.chosen(kind) if examples is not None and few else _NONE
            scatter.setData(pos=points.astype(np.float64), size=_SIZES[kind] * shrink)
        if examples is None or few:
            self._image.set_image(None, None)
            return
        if self._places is None or self._places[0] is not examples.points:
            self._places = examples.points, grid_places(examples.points, grid)
        codes = picture(examples, grid, self._places[1])
        share, side = picture_scale(grid)
        indexed = QImage(codes.data, side, side, side, QImage.Format.Format_Indexed8)
        indexed.setColorTable([0, *(self._colours[kind] for kind in Kind)])
        image = indexed.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)
        reach = side * share - 0.5
        self._image.set_image(image, Window(-0.5, reach, -0.5, reach))

    def set_visible(self, visible: bool) -> None:
        """Show or hide everything."""
        self._image.setVisible(visible)
        for scatter in self._scatters.values():
            scatter.setVisible(visible)


_NONE: NDArray[np.int64] = np.zeros((0, 2), dtype=np.int64)


def _rgba(colour: str, alpha: float) -> int:
    return tinted(colour, alpha).rgba()
