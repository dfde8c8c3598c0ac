"""Starting Qt without a window, or saying clearly why it cannot start."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

from geodp_app.errors import PictureError

_HINT = "on Debian: apt-get install libgl1 libegl1 libxkbcommon0 libfontconfig1 libdbus-1-3"


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
        from PySide6.QtCore import QLibraryInfo
        from PySide6.QtGui import QGuiApplication
    except ImportError as error:
        raise PictureError(f"Qt cannot be loaded: {error} ({_HINT})") from None
    running = QGuiApplication.instance()
    if running is not None:
        return running
    if sys.platform.startswith("linux"):
        plugins = QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)
        _check_plugin(Path(plugins) / "platforms" / "libqoffscreen.so")
    # the argument beats QT_QPA_PLATFORM: without a display any other platform aborts
    return QGuiApplication(["geodp", "-platform", "offscreen"])


def _check_plugin(plugin: Path) -> None:
    """Load a plugin by hand: Qt aborts the whole process if one of its libraries is missing."""
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        raise PictureError(f"Qt cannot start: {error} ({_HINT})") from None
