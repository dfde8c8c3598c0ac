"""The learned pieces on the plane: the newest flashes in, earlier ones fade."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QTimer
from PySide6.QtGui import QPainterPath
from PySide6.QtWidgets import QGraphicsPathItem
from shapely.geometry.base import BaseGeometry

from geodp_app.palette import Palette
from geodp_app.views.paths import cosmetic, shape_path, tinted
from geometry.halfplane import Halfplane
from geometry.polygons import piece_polygon
from learners.records import Piece

#: The flash: opacity from strong to resting, in frames of 33 ms.
_FLASH = 0.6
_REST = 0.16
_FRAMES = 18


class LearnedLayer:
    """Items of the hypothesis in one plot."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self._region = _item(plot, z)
        self._earlier = _item(plot, z + 0.1)
        self._newest = _item(plot, z + 0.2)
        self._pointed = _item(plot, z + 0.3)
        self._frame = _FRAMES
        self._timer = QTimer(plot, interval=33)
        self._timer.timeout.connect(self._fade)
        self._palette: Palette | None = None

    def set_palette(self, palette: Palette) -> None:
        """Colours."""
        self._palette = palette
        self._region.setPen(cosmetic(palette.learned, 2.4))
        self._region.setBrush(tinted(palette.learned, 0.14))
        self._earlier.setPen(cosmetic(palette.learned, 1.0, alpha=0.45))
        self._newest.setPen(cosmetic(palette.chosen, 2.0))
        self._pointed.setPen(cosmetic(palette.accent, 1.6, dash=(6, 4)))
        self._pointed.setBrush(tinted(palette.accent, 0.10))
        self._fade()

    def show(
        self, region: BaseGeometry | None, pieces: Sequence[Piece], d: int, *, flash: bool
    ) -> None:
        """Show the hypothesis so far; the last piece is the newest."""
        self._region.setPath(QPainterPath() if region is None else shape_path(region))
        self._earlier.setPath(_pieces_path(pieces[:-1], d))
        self._newest.setPath(_pieces_path(pieces[-1:], d))
        self._frame = 0 if flash and pieces else _FRAMES
        self._fade()
        if self._frame < _FRAMES:
            self._timer.start()

    def point_at(self, halfplane: Halfplane | None, d: int) -> None:
        """Show the halfplane that is pointed at in the dual plane."""
        path = QPainterPath() if halfplane is None else _pieces_path([(halfplane,)], d)
        self._pointed.setPath(path)

    def set_steps_visible(self, visible: bool) -> None:
        """Show or hide the single steps; the region stays."""
        for item in (self._earlier, self._newest, self._pointed):
            item.setVisible(visible)

    def _fade(self) -> None:
        if self._palette is None:
            return
        self._frame = min(self._frame + 1, _FRAMES)
        if self._frame >= _FRAMES:
            self._timer.stop()
        share = 1 - self._frame / _FRAMES
        alpha = _REST + (_FLASH - _REST) * share * share
        self._newest.setBrush(tinted(self._palette.chosen, alpha))


def _item(plot: pg.PlotItem, z: float) -> QGraphicsPathItem:
    item = QGraphicsPathItem()
    item.setZValue(z)
    plot.addItem(item, ignoreBounds=True)
    return item


def _pieces_path(pieces: Sequence[Piece], d: int) -> QPainterPath:
    path = QPainterPath()
    for piece in pieces:
        path.addPath(shape_path(piece_polygon(piece, d)))
    return path
