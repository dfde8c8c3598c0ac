"""Images of arrays, and an item that shows one in a plot."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from geodp_app.dual.sheets import Window


def rgba_image(colours: NDArray[np.uint8]) -> QImage:
    """An image of colours [i, j, :], i across and j up, its first row at the bottom."""
    rows = np.ascontiguousarray(colours.transpose(1, 0, 2))
    height, width = rows.shape[:2]
    image = QImage(rows.data, width, height, 4 * width, QImage.Format.Format_RGBA8888)
    return image.copy()  # the array may go


class PictureItem(pg.GraphicsObject):  # type: ignore[misc]
    """An image over a window of a plot, its first row at the least v."""

    def __init__(self) -> None:
        super().__init__()
        self._image: QImage | None = None
        self._place = QRectF()

    def set_image(self, image: QImage | None, window: Window | None) -> None:
        """Show an image over a window, or nothing."""
        self.prepareGeometryChange()
        self._image = image
        if image is None or window is None:
            self._place = QRectF()
        else:
            self._place = QRectF(window.u0, window.v0, window.width, window.height)
        self.update()

    def boundingRect(self) -> QRectF:
        """The window, in coordinates of the plot."""
        return self._place

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Draw the image."""
        if self._image is not None:
            painter.drawImage(self._place, self._image)
