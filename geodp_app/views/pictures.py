"""Makes pictures as PNG and SVG, by Qt: of what is written as SVG, and of widgets; starts Qt
without a window for them, or says clearly why it cannot start.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from geodp_app.files.writing import atomic_write

_HINT = "on Debian: apt-get install libgl1 libegl1 libxkbcommon0 libfontconfig1 libdbus-1-3"
_WINDOW_HINT = (
    "on Debian: apt-get install libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 "
    "libxkbcommon-x11-0"
)


class PictureError(Exception):
    """A picture could not be drawn; everything else still works."""


def start_qt() -> object:
    """The running Qt application, or a new one on the off-screen platform.

    Keep a reference for as long as anything is drawn.  Raises PictureError if a system library that
    Qt needs is missing.
    """
    try:
        from PySide6.QtGui import QGuiApplication
    except ImportError as error:
        raise _not_loaded(error) from None
    running = QGuiApplication.instance()
    if running is not None:
        return running
    check_plugin("offscreen")
    # the argument beats QT_QPA_PLATFORM: without a display any other platform aborts
    return QGuiApplication(["geodp", "-platform", "offscreen"])


def check_window(*, offscreen: bool = False) -> None:
    """See that a window can be opened, before Qt is asked and aborts.

    Raises PictureError if a system library that Qt needs is missing, or there is no display.
    """
    try:
        import PySide6.QtWidgets  # noqa: F401
    except ImportError as error:
        raise _not_loaded(error) from None
    if offscreen:
        check_plugin("offscreen")
    elif not has_display():
        raise PictureError(
            "no display to open a window on; `geodp shot -o window.png` takes a picture without"
        )
    elif sys.platform.startswith("linux") and not os.environ.get("WAYLAND_DISPLAY"):
        check_plugin("xcb")


def has_display() -> bool:
    """Whether a window could be seen."""
    if os.environ.get("QT_QPA_PLATFORM") == "offscreen":
        return False
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _not_loaded(error: ImportError) -> PictureError:
    if isinstance(error, ModuleNotFoundError):
        hint = "geodp was installed without its window: pip install PySide6-Essentials pyqtgraph"
    else:
        hint = _HINT
    return PictureError(f"Qt cannot be loaded: {error} ({hint})")


def check_plugin(platform: str) -> None:
    """Load a plugin by hand: Qt aborts the whole process if one of its libraries is missing."""
    if not sys.platform.startswith("linux"):
        return
    from PySide6.QtCore import QLibraryInfo

    plugins = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath))
    try:
        ctypes.CDLL(str(plugins / "platforms" / f"libq{platform}.so"))
    except OSError as error:
        hint = _HINT if platform == "offscreen" else _WINDOW_HINT
        raise PictureError(f"Qt cannot start: {error} ({hint})") from None


if TYPE_CHECKING:  # of widgets nothing is loaded where there is no window
    from PySide6.QtGui import QImage
    from PySide6.QtWidgets import QWidget

#: Pixels of a PNG for each one on the screen.
_SCALE = 2


def drawn_png(svg: str) -> bytes:
    """A picture as PNG, with a pixel for each of its units.

    Raises PictureError if Qt cannot start, or cannot encode it; the message says what to install.
    """
    application = start_qt()
    from PySide6.QtCore import QByteArray
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    drawing = QSvgRenderer(QByteArray(svg.encode()))
    image = QImage(drawing.defaultSize(), QImage.Format.Format_RGB32)
    with QPainter(image) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        drawing.render(painter)
    encoded = _png_of(image)
    del application  # it had to live until here
    return encoded


def _png_of(image: QImage) -> bytes:
    """An image as PNG.

    Raises PictureError if Qt cannot encode it.
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
    with QPainter(image) as painter:
        widget.render(painter, QPoint())
    return _png_of(image)


def _widget_svg(widget: QWidget, title: str) -> str:
    from PySide6.QtCore import QBuffer, QPoint, QRect
    from PySide6.QtGui import QPainter
    from PySide6.QtSvg import QSvgGenerator

    from geodp_app.files.svg_picture import readable_xml

    buffer, size = QBuffer(), widget.size()
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setTitle(title)
    generator.setDescription("The plane and the dual plane of geodp")
    generator.setSize(size)
    generator.setViewBox(QRect(QPoint(), size))
    with QPainter(generator) as painter:
        widget.render(painter, QPoint())
    return readable_xml(bytes(buffer.data().data()).decode(errors="replace"))
