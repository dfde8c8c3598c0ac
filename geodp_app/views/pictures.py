"""Pictures as PNG and SVG, by Qt: of what is written as SVG, and of widgets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from geodp_app.errors import PictureError
from geodp_app.files.pictures import readable_xml
from geodp_app.views.offscreen import start_qt
from geometry.files import atomic_write

if TYPE_CHECKING:  # of widgets nothing is loaded where there is no window
    from PySide6.QtGui import QImage
    from PySide6.QtWidgets import QWidget

#: Pixels of a PNG for each one on the screen.
_SCALE = 2


def drawn_png(svg: str) -> bytes:
    """A picture as PNG, with a pixel for each of its units.

    Raises
    ------
    PictureError
        If Qt cannot start, or cannot encode it; the message says what to install.
    """
    application = start_qt()
    from PySide6.QtCore import QByteArray
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    drawing = QSvgRenderer(QByteArray(svg.encode()))
    image = QImage(drawing.defaultSize(), QImage.Format.Format_RGB32)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    drawing.render(painter)
    painter.end()
    encoded = _png_of(image)
    del application  # it had to live until here
    return encoded


def _png_of(image: QImage) -> bytes:
    """An image as PNG.

    Raises
    ------
    PictureError
        If Qt cannot encode it.
    """
    from PySide6.QtCore import QBuffer, QIODevice

    image.setText("Software", "geodp")  # by which it is known for ours
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, "PNG"):  # type: ignore[call-overload]
        raise PictureError("Qt could not encode the picture as PNG")
    return bytes(buffer.data().data())


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
    if suffix not in (".png", ".svg"):
        raise PictureError(f"{path.name}: a picture ends in .png or .svg")
    drawn = widget_png(widget, _SCALE) if suffix == ".png" else _widget_svg(widget, title)
    atomic_write(path, drawn, private=private)


def widget_png(widget: QWidget, scale: int) -> bytes:
    """A widget as PNG, with so many pixels for each one on the screen."""
    from PySide6.QtCore import QPoint
    from PySide6.QtGui import QImage, QPainter

    image = QImage(widget.size() * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    painter = QPainter(image)
    widget.render(painter, QPoint())
    painter.end()
    return _png_of(image)


def _widget_svg(widget: QWidget, title: str) -> str:
    from PySide6.QtCore import QBuffer, QPoint, QRect
    from PySide6.QtGui import QPainter
    from PySide6.QtSvg import QSvgGenerator

    buffer, size = QBuffer(), widget.size()
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setTitle(title)
    generator.setDescription("The plane and the dual plane of geodp")
    generator.setSize(size)
    generator.setViewBox(QRect(QPoint(), size))
    painter = QPainter(generator)
    widget.render(painter, QPoint())
    painter.end()
    return readable_xml(bytes(buffer.data().data()).decode(errors="replace"))
