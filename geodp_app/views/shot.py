"""Taking a picture of the window: open it off-screen, run, wait until nothing moves, save."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import (
    QEventLoop,
    QMessageLogContext,
    QStandardPaths,
    QTimer,
    QtMsgType,
    qInstallMessageHandler,
)

from geodp_app.compiling import COMPILING
from geodp_app.document.exporting import export_release
from geodp_app.errors import InputError
from geodp_app.learned_file import place_note
from geodp_app.palette import load_palette
from geodp_app.progress import ProgressBar
from geodp_app.views.app import make_application
from geodp_app.views.main_window import MainWindow
from geodp_app.views.theme import apply_theme
from geodp_app.views.window_pictures import png_bytes
from geometry.files import atomic_write
from learners.releases import Release


def shoot(options: argparse.Namespace) -> str:
    """Take the picture; returns what to tell.

    Raises
    ------
    InputError
        If the file or the run is refused.
    PictureError
        If the picture cannot be encoded.
    """
    QStandardPaths.setTestModeEnabled(True)  # this person's settings and recovery stay untouched
    qInstallMessageHandler(_say)
    application = make_application(offscreen=True)
    palette = load_palette(options.theme)
    apply_theme(application, palette)
    with tempfile.TemporaryDirectory() as folder:
        window = MainWindow(palette, recovery=Path(folder))
        bar = ProgressBar(quiet=options.quiet)
        window.runs.controller.preparing.connect(lambda: bar.line(COMPILING))
        try:
            window.resize(*options.size)
            window.show()
            _prepare(window, options)
            told = [f"{options.output}: {_run(window, options)}"]
            release = _release(window) if options.learned else None
            window.set_release_view(options.view == "release")
            _wait(lambda: window.display.settled, window)
            _pause(700)  # the flash of the newest piece fades
            real = options.file is not None and options.view != "release"
            atomic_write(options.output, png_bytes(window, options.scale), private=real)
            if release is not None:
                frame = window.document.work.frame
                export_release(options.learned, release, frame)
                told += place_note(options.learned, frame, hint=False)
        finally:
            window.abandon()
    return "\n".join(told)


def _say(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
    """What Qt has to say, but for what every off-screen window makes it say."""
    if "propagateSizeHints" not in text:
        sys.stderr.write(f"Qt: {text}\n")


def _prepare(window: MainWindow, options: argparse.Namespace) -> None:
    problems: list[str] = []
    window.complain = lambda what, why: problems.append(f"{what}: {why}")  # type: ignore[method-assign]
    if options.file is not None:
        window.files.open(options.file)
    else:
        window.begin_with_example(options.example)
    if options.n is not None:
        window.document.set_sampling(n=options.n)
    if options.seed is not None:
        window.document.set_run(seed=options.seed)
    if window.document.work.simulated and options.n is not None:
        window.sample()
    if problems:
        raise InputError(problems[0])


def _run(window: MainWindow, options: argparse.Namespace) -> str:
    runs = window.runs
    failures: list[str] = []
    runs.controller.failed.connect(failures.append)

    def finished() -> bool:
        if failures:
            raise InputError(failures[0])
        log = runs.current
        return log is not None and log.release is not None

    if options.steps is None:
        runs.run_or_pause()
        _wait(finished, window)
    for _ in range(options.steps or 0):
        if not finished():
            runs.step()
            _wait(lambda: finished() or not runs.busy, window)
    log = runs.current
    if log is None:
        return "nothing was run"
    ended = "finished" if log.release is not None else "unfinished"
    return f"{log.cursor} of {log.planned} steps, {ended}"


def _release(window: MainWindow) -> Release:
    """What --learned writes."""
    log = window.runs.current
    if log is None or log.release is None:
        raise InputError("--learned needs a finished run: leave out --steps")
    return log.release


def _wait(done: Callable[[], bool], window: MainWindow) -> None:
    """Let the window live until something is true."""
    while not done():
        _pause(20)


def _pause(milliseconds: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()
