"""Icons of the assets, drawn in any colour and sharp at any pixel ratio."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from assets import icon_path
from geodp_app.palette import Palette, mix

#: Sides, in device-independent pixels, and pixel ratios that icons are kept ready for.
_SIZES = ((16, 1.0), (20, 1.0), (20, 2.0), (20, 3.0))
_APPLICATION_SIDES = (16, 24, 32, 48, 64, 128, 256)


def icon_pixmap(name: str, colour: str, side: int = 20, ratio: float = 1.0) -> QPixmap:
    """An icon in one colour.

    Parameters
    ----------
    name : str
        Name among the assets.
    colour : str
        ``#RRGGBB``; takes the place of currentColor.
    side : int
        In device-independent pixels.
    ratio : float
        Device pixels per device-independent pixel.

    Raises
    ------
    assets.UnknownIconError
        If there is no such icon.
    """
    return _draw(_drawing(name, colour), side, ratio)


def icon(name: str, palette: Palette) -> QIcon:
    """An icon for buttons and menus: ink, accent when checked, faint when disabled."""
    normal, disabled = QIcon.Mode.Normal, QIcon.Mode.Disabled
    off, on = QIcon.State.Off, QIcon.State.On
    faint = mix(palette.soft_ink, palette.panel, 0.5)
    looks = (
        (palette.ink, ((normal, off),)),
        (palette.accent, ((normal, on),)),
        (faint, ((disabled, off), (disabled, on))),
    )
    made = QIcon()
    for colour, states in looks:
        drawing = _drawing(name, colour)
        for side, ratio in _SIZES:
            pixmap = _draw(drawing, side, ratio)
            for mode, state in states:
                made.addPixmap(pixmap, mode, state)
    return made


def application_icon() -> QIcon:
    """The icon of the window."""
    drawing = _drawing("geodp", "")
    made = QIcon()
    for side in _APPLICATION_SIDES:
        made.addPixmap(_draw(drawing, side, 1.0))
    return made


def _drawing(name: str, colour: str) -> QSvgRenderer:
    svg = icon_path(name).read_text(encoding="utf-8").replace("currentColor", colour)
    return QSvgRenderer(QByteArray(svg.encode()))


def _draw(drawing: QSvgRenderer, side: int, ratio: float) -> QPixmap:
    pixels = round(side * ratio)
    pixmap = QPixmap(pixels, pixels)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    drawing.render(painter, QRectF(0, 0, pixels, pixels))
    painter.end()
    pixmap.setDevicePixelRatio(ratio)
    return pixmap
