"""Opens the window: on the screen, with its theme, and what happens when something breaks; or
off-screen for a picture, taken once it has run and nothing moves.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from PySide6.QtCore import (
    QEventLoop,
    QMessageLogContext,
    QSettings,
    QStandardPaths,
    Qt,
    QTimer,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMessageBox

from geodp_app.files.learned_file import place_note, rescued, shape_files
from geodp_app.files.writing import NewFile, write_files
from geodp_app.palette import load_palette
from geodp_app.progress import COMPILING, ProgressBar
from geodp_app.views.pictures import widget_png
from geodp_app.views.run.window_runs import SPEEDS
from geodp_app.views.widgets.panes import ask
from geodp_app.views.widgets.tasks import collect_between_events
from geodp_app.views.widgets.theme import application_icon, apply_theme
from geodp_app.views.window.main_window import MainWindow
from geometry.errors import InputError
from learners import __version__
from learners.core.learned_shape import LearnedShape


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


def run_window(path: Path | None = None) -> int:
    """Open the window and stay until it is closed; the exit code."""
    application, settings = make_application(), QSettings()
    name = settings.value("theme")
    if name not in ("light", "dark"):  # the desktop's, else what was chosen before
        dark = application.styleHints().colorScheme() == Qt.ColorScheme.Dark
        name = "dark" if dark else "light"
    palette = load_palette("dark" if name == "dark" else "light")
    apply_theme(application, palette)
    window = MainWindow(palette, settings)
    sys.excepthook = partial(_report, window)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else nobody means it
        # Ctrl+C in the terminal closes the window as its button does, which may ask already; it is
        # heard within the second in which garbage is looked for
        signal.signal(
            signal.SIGINT,
            lambda *_: application.activeModalWidget() or QTimer.singleShot(0, window.close),
        )
    window.show()
    # first the window, then the work
    QTimer.singleShot(0, lambda: window.begin(path))
    return application.exec()


def _report(window: MainWindow, *fault: Any) -> None:
    """Errors nobody foresaw: keep the work, say so, go on."""
    text = "".join(traceback.format_exception(*fault))
    sys.stderr.write(text)
    kept = "has been kept" if window.recovery.save() else "could not be kept"
    said = f"Something went wrong in geodp; your work {kept} for recovery."
    more = "You can go on. Please report this, with the details below."
    ask(window, QMessageBox.Icon.Critical, said, more, details=text)


#: Parameters given for a learner, by its id; refuses those that it does not take.
Given = Callable[[str], dict[str, Any]]


def shoot(options: argparse.Namespace, given: Given) -> str:
    """Take the picture; returns what to tell.

    Raises InputError if the file or the run is refused, and PictureError if the picture cannot be
    encoded.
    """
    with opened(options, given) as shooting:
        window = shooting.window
        shooting.run()
        lines = [f"{options.output}: {shooting.outcome}"]
        window.set_release_view(options.view == "release")
        shooting.wait_until_at_rest()
        real = options.file is not None and options.view != "release"
        files = [NewFile(options.output, shooting.picture(), private=real)]
        keep: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        if options.learned:
            log, work = window.runs.current, window.document.work
            if log is None or log.release is None:
                raise InputError("--learned needs a finished run: leave out --steps")
            shape = LearnedShape(log.release, work.frame, (work.within,) if work.within else ())
            files += shape_files(options.learned, shape, overwrite=options.overwrite)
            lines += place_note(options.learned, work.frame, hint=False)
            keep = rescued(shape, lambda: None)
        with keep:
            write_files(files)
    return "\n".join(lines)


@contextlib.contextmanager
def opened(options: argparse.Namespace, given: Given) -> Iterator[Shooting]:
    """A window off-screen with what was asked for, and no trace of it afterwards."""
    QStandardPaths.setTestModeEnabled(True)  # this person's settings and recovery stay untouched
    qInstallMessageHandler(_say)
    application = make_application(offscreen=True)
    palette = load_palette(options.theme)
    apply_theme(application, palette)
    with tempfile.TemporaryDirectory() as folder, ProgressBar(quiet=options.quiet) as bar:
        window = MainWindow(palette, recovery=Path(folder))
        window.runs.controller.preparing.connect(lambda: bar.line(COMPILING))
        try:
            window.resize(*options.size)
            window.show()
            _prepare(window, options, given)
            yield Shooting(window, options)
        finally:
            window.abandon()
            window.hide()  # who goes on in this process has none of it
            window.deleteLater()


def _say(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
    """What Qt has to say, but for what every off-screen window makes it say."""
    if "propagateSizeHints" not in text:
        sys.stderr.write(f"Qt: {text}\n")


def _prepare(window: MainWindow, options: argparse.Namespace, given: Given) -> None:
    def refuse(what: str, why: str) -> NoReturn:
        raise InputError(f"{what}: {why}")

    window.complain = refuse  # type: ignore[method-assign]
    window.files.asks = False
    if options.file is not None:
        window.files.open(options.file)
    else:
        window.files.begin_with_example(options.example)
    if options.within is not None:
        window.files.clip_to(options.within, options.within_layer)
    learner = options.learner or window.document.work.run.learner
    window.document.set_run(learner=learner, **given(learner))
    if options.n is not None:
        window.document.set_sampling(n=options.n)
    if options.seed is not None:
        window.document.set_run(seed=options.seed)
    if window.document.work.simulated and options.n is not None:
        window.sample()


class Shooting:
    """A window that runs, and the pictures taken of it."""

    def __init__(self, window: MainWindow, options: argparse.Namespace) -> None:
        self.window = window
        self._runs, self._options = window.runs, options
        self._failures, self._announced = list[str](), list[str]()
        self._runs.controller.failed.connect(self._failures.append)
        self._runs.announced.connect(self._announced.append)

    @property
    def outcome(self) -> str:
        """How far the run got: public, whatever the examples."""
        if (log := self._runs.current) is None:
            return "nothing was run"
        ended = "unfinished" if log.release is None else "finished"
        return f"{self.made} of {log.planned} steps, {ended}"

    def run(self) -> None:
        """Run as fast as it goes."""
        steps = self._options.steps
        self._runs.set_speed(SPEEDS.index(0.0))
        if steps is None:
            self.begin()
            wait(self.finished)
        for _ in range(steps or 0):
            if not self.finished():
                self._runs.step()
                wait(lambda: self.finished() or not self._runs.busy)

    def wait_until_at_rest(self) -> None:
        """Let the window live until it has shown everything, and begins nothing new."""
        looks = 0
        while looks < 4:
            _pause(20)
            looks = looks + 1 if self.window.display.at_rest else 0

    def picture(self, flash: float = 1.0) -> bytes:
        """The window as it is, so much of a new piece's flash over."""
        self.window.plane.learned.flash_to(flash)
        return widget_png(self.window, self._options.scale)

    def begin(self) -> None:
        """Start the run."""
        self._runs.run_or_pause()
        if self._runs.current is None:
            raise InputError(self._announced[-1])

    @property
    def made(self) -> int:
        """Steps so far."""
        log = self._runs.current
        return 0 if log is None else len(log.records)

    def finished(self) -> bool:
        """Whether the run has ended; raises what made it fail."""
        if self._failures:
            raise InputError(self._failures[0])
        log = self._runs.current
        return log is not None and log.release is not None


def wait(done: Callable[[], bool]) -> None:
    """Let the window live until something is true."""
    while not done():
        _pause(20)


def _pause(milliseconds: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()
