"""Icons of the assets, drawn in any colour and sharp at any pixel ratio."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QImage, QPainter, QPixmap
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
    return QPixmap.fromImage(_draw(_drawing(name, colour), side, ratio))


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
        for image in _images(name, colour):
            pixmap = QPixmap.fromImage(image)
            for mode, state in states:
                made.addPixmap(pixmap, mode, state)
    return made


@lru_cache(maxsize=1024)
def _images(name: str, colour: str) -> tuple[QImage, ...]:
    """An icon in every size that is kept ready: images, which outlive any application."""
    drawing = _drawing(name, colour)
    return tuple(_draw(drawing, side, ratio) for side, ratio in _SIZES)


def application_icon() -> QIcon:
    """The icon of the window."""
    drawing = _drawing("geodp", "")
    made = QIcon()
    for side in _APPLICATION_SIDES:
        made.addPixmap(QPixmap.fromImage(_draw(drawing, side, 1.0)))
    return made


def _drawing(name: str, colour: str) -> QSvgRenderer:
    svg = icon_path(name).read_text(encoding="utf-8").replace("currentColor", colour)
    return QSvgRenderer(QByteArray(svg.encode()))


def _draw(drawing: QSvgRenderer, side: int, ratio: float) -> QImage:
    pixels = round(side * ratio)
    image = QImage(pixels, pixels, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    drawing.render(painter, QRectF(0, 0, pixels, pixels))
    painter.end()
    image.setDevicePixelRatio(ratio)
    return image
