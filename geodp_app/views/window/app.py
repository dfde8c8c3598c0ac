"""Starts the window: the Qt application, its theme, and what happens when something breaks."""

from __future__ import annotations

import sys
import traceback
from functools import partial
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QSettings, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMessageBox

from geodp_app.palette import Palette, load_palette
from geodp_app.views.widgets.background import collect_between_events
from geodp_app.views.widgets.panes import ask
from geodp_app.views.widgets.theme import application_icon, apply_theme
from geodp_app.views.window.main_window import MainWindow
from learners import __version__


def make_application(*, offscreen: bool = False) -> QApplication:
    """The running application, or a new one."""
    running = QApplication.instance()
    if isinstance(running, QApplication):
        return running
    # the argument beats QT_QPA_PLATFORM: without a display any other platform aborts
    arguments = ["geodp", "-platform", "offscreen"] if offscreen else ["geodp"]
    QGuiApplication.setHighDpiScaleFactorRoundingPolicy(
        Qt.HighDpiScaleFactorRoundingPolicy.PassThrough
    )
    application = QApplication(arguments)
    application.setApplicationName("geodp")
    application.setApplicationDisplayName("geodp")
    application.setApplicationVersion(__version__)
    application.setOrganizationName("geodp")
    application.setDesktopFileName("geodp")
    application.setWindowIcon(application_icon())
    collect_between_events()
    return application


def chosen_palette(application: QApplication, settings: QSettings) -> Palette:
    """The theme chosen before, or the desktop's."""
    name = settings.value("theme")
    if name not in ("light", "dark"):
        scheme = application.styleHints().colorScheme()
        name = "dark" if scheme == Qt.ColorScheme.Dark else "light"
    return load_palette("dark" if name == "dark" else "light")


def run_window(path: Path | None = None) -> int:
    """Open the window and stay until it is closed.

    Returns
    -------
    int
        Exit code.
    """
    application = make_application()
    settings = QSettings()
    palette = chosen_palette(application, settings)
    apply_theme(application, palette)
    window = MainWindow(palette, settings)
    sys.excepthook = partial(_report, window)
    window.show()
    # first the window, then the work
    QTimer.singleShot(0, lambda: window.begin(path))
    return application.exec()


def _report(
    window: MainWindow,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    """Errors nobody foresaw: keep the work, say so, go on."""
    text = "".join(traceback.format_exception(kind, error, trace))
    sys.stderr.write(text)
    window.recovery.save()
    said = "Something went wrong in geodp; your work has been kept for recovery."
    more = "You can go on. Please report this, with the details below."
    ask(window, QMessageBox.Icon.Critical, said, more, details=text)
