"""A picture of the two planes as PNG or SVG, written whole or not at all."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QBuffer, QPoint, QRect, QSize
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from geodp_app.errors import PictureError
from geodp_app.files.pictures import readable_xml
from geodp_app.views.offscreen import png_of
from geometry.files import atomic_write

#: Pixels of a PNG for each one on the screen.
_SCALE = 2


def write_widget(path: Path, widget: QWidget, title: str, *, private: bool) -> None:
    """Draw a widget into a file; its suffix says how.  A private one is its owner's alone.

    Raises
    ------
    PictureError
        If the suffix is neither .png nor .svg, or Qt cannot encode the picture.
    OSError
        If the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix == ".png":
        atomic_write(path, png_bytes(widget, _SCALE), private=private)
    elif suffix == ".svg":
        atomic_write(path, _svg_bytes(widget, title), private=private)
    else:
        raise PictureError(f"{path.name}: a picture ends in .png or .svg")


def png_bytes(widget: QWidget, scale: int) -> bytes:
    """A widget as PNG, with so many pixels for each one on the screen."""
    image = QImage(widget.size() * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    painter = QPainter(image)
    widget.render(painter, QPoint())
    painter.end()
    return png_of(image)


def _svg_bytes(widget: QWidget, title: str) -> bytes:
    buffer = QBuffer()
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setTitle(title)
    generator.setDescription("The plane and the dual plane of geodp")
    size: QSize = widget.size()
    generator.setSize(size)
    generator.setViewBox(QRect(QPoint(), size))
    painter = QPainter(generator)
    widget.render(painter, QPoint())
    painter.end()
    return readable_xml(bytes(buffer.data().data()).decode(errors="replace")).encode()
