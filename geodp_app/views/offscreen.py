"""Starting Qt without a window, or saying clearly why it cannot start."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from geodp_app.errors import PictureError

_HINT = "on Debian: apt-get install libgl1 libegl1 libxkbcommon0 libfontconfig1 libdbus-1-3"
_WINDOW_HINT = (
    "on Debian: apt-get install libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 "
    "libxkbcommon-x11-0"
)


def start_qt() -> object:
    """The running Qt application, or a new one on the off-screen platform.

    Returns
    -------
    QGuiApplication
        Keep a reference for as long as anything is drawn.

    Raises
    ------
    PictureError
        If a system library that Qt needs is missing.
    """
    try:
        from PySide6.QtGui import QGuiApplication
    except ImportError as error:
        raise _not_loaded(error) from None
    running = QGuiApplication.instance()
    if running is not None:
        return running
    _check_plugin("offscreen")
    # the argument beats QT_QPA_PLATFORM: without a display any other platform aborts
    return QGuiApplication(["geodp", "-platform", "offscreen"])


def check_window(*, offscreen: bool = False) -> None:
    """See that a window can be opened, before Qt is asked and aborts.

    Raises
    ------
    PictureError
        If a system library that Qt needs is missing, or there is no display.
    """
    try:
        import PySide6.QtWidgets  # noqa: F401
    except ImportError as error:
        raise _not_loaded(error) from None
    if offscreen:
        _check_plugin("offscreen")
    elif not has_display():
        raise PictureError(
            "no display to open a window on; `geodp shot -o window.png` takes a picture without"
        )
    elif sys.platform.startswith("linux") and not os.environ.get("WAYLAND_DISPLAY"):
        _check_plugin("xcb")


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


def _check_plugin(platform: str) -> None:
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
