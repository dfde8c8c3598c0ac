"""Small pictures of the example targets, for their menu."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap

from assets import example_path
from geodp_app.document.sampling import place_target
from geodp_app.palette import Palette
from geodp_app.views.widgets.plotting import aspect_ratio, cosmetic, shape_path, tinted
from geometry.geojson import read_geojson

_SIDE, _RATIO, _GRID = 32, 2, 256


def example_icon(name: str, palette: Palette) -> QIcon:
    """The shape of an example target, as an icon."""
    shape, frame = place_target(read_geojson(example_path(name)), _GRID)
    path = shape_path(shape)
    pixels = QPixmap(_SIDE * _RATIO, _SIDE * _RATIO)
    pixels.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixels)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    box, ratio = path.boundingRect(), aspect_ratio(_GRID, frame.bounds)
    scale = 0.88 * pixels.width() / max(box.width() * ratio, box.height())
    painter.translate(pixels.width() / 2, pixels.height() / 2)
    painter.scale(scale * ratio, -scale)
    painter.translate(-box.center())
    painter.setPen(cosmetic(palette.target, 2.0))
    painter.setBrush(tinted(palette.accent, 0.25))
    painter.drawPath(path)
    painter.end()
    pixels.setDevicePixelRatio(_RATIO)
    return QIcon(pixels)
