"""Painting the shaded cells of a sheet into an image; works in any thread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import shapely
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPolygonF

from geodp_app.dual.sheets import Window
from geodp_app.runs.protocol import ShadedSheet


def cells_image(
    sheet: ShadedSheet,
    colours: NDArray[np.uint8],
    window: Window,
    size: tuple[int, int],
    stop: Callable[[], bool],
) -> QImage | None:
    """An image of the cells in a window, its first row at the least v.

    Parameters
    ----------
    sheet : ShadedSheet
    colours : ndarray of uint8, shape (m, 4)
        One for each cell.
    window : Window
    size : (int, int)
        Width and height in pixels.
    stop : callable
        Asked now and then; when true the result is None.
    """
    image = QImage(*size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setPen(Qt.PenStyle.NoPen)
    scale = np.array([size[0] / window.width, size[1] / window.height])
    origin = np.array([window.u0, window.v0])
    try:
        for count, (cell, colour) in enumerate(zip(sheet.cells, colours.tolist(), strict=True)):
            if count % 256 == 0 and stop():
                return None
            corners = _seen(cell.outline, window)
            if len(corners) >= 3:
                painter.setBrush(QColor(*colour))
                pixels = ((corners - origin) * scale).tolist()
                painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in pixels]))
    finally:
        painter.end()
    return image


def _seen(corners: NDArray[np.float64], window: Window) -> NDArray[np.float64]:
    """A convex cell, cut to the window where it is larger; empty when it is out of sight."""
    if len(corners) < 3:
        return corners[:0]
    (u0, v0), (u1, v1) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    if u1 < window.u0 or u0 > window.u1 or v1 < window.v0 or v0 > window.v1:
        return corners[:0]
    if window.holds(u0, v0) and window.holds(u1, v1):
        return corners
    part = shapely.clip_by_rect(
        shapely.Polygon(corners), window.u0, window.v0, window.u1, window.v1
    )
    if part.geom_type != "Polygon" or part.is_empty:
        return corners[:0]
    return np.asarray(part.exterior.coords)[:-1]
