"""Takes pictures of the window: opens it off-screen, runs, waits until nothing moves, saves."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from PySide6.QtCore import (
    QEventLoop,
    QMessageLogContext,
    QStandardPaths,
    QTimer,
    QtMsgType,
    qInstallMessageHandler,
)

from geodp_app.errors import InputError
from geodp_app.files.learned_file import place_note, rescued, shape_files
from geodp_app.files.writing import write_files
from geodp_app.palette import load_palette
from geodp_app.progress import COMPILING, ProgressBar
from geodp_app.views.pictures import widget_png
from geodp_app.views.run.window_runs import SPEEDS
from geodp_app.views.widgets.theme import apply_theme
from geodp_app.views.window.app import make_application
from geodp_app.views.window.main_window import MainWindow
from geometry.files import NewFile
from learners.core.learned_shape import LearnedShape

#: Parameters given for a learner, by its id; refuses those that it does not take.
Given = Callable[[str], dict[str, Any]]


def shoot(options: argparse.Namespace, given: Given) -> str:
    """Take the picture; returns what to tell.

    Raises
    ------
    InputError
        If the file or the run is refused.
    PictureError
        If the picture cannot be encoded.
    """
    with opened(options, given) as shooting:
        window = shooting.window
        shooting.run()
        lines = [f"{options.output}: {shooting.outcome}"]
        log, release = window.runs.current, None
        if options.learned:
            if log is None or log.release is None:
                raise InputError("--learned needs a finished run: leave out --steps")
            release = log.release
        window.set_release_view(options.view == "release")
        shooting.wait_until_at_rest()
        real = options.file is not None and options.view != "release"
        files = [NewFile(options.output, shooting.picture(), private=real)]
        shape = None
        if release is not None:
            work = window.document.work
            masks = () if work.within is None else (work.within,)
            shape = LearnedShape(release, work.frame, masks)
            files += shape_files(options.learned, shape, overwrite=options.overwrite)
            lines += place_note(options.learned, work.frame, hint=False)
        with contextlib.nullcontext() if shape is None else rescued(shape, lambda: None):
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
    """Open what was asked for, with the settings asked for."""

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
        self._failures: list[str] = []
        self._announced: list[str] = []
        self._runs.controller.failed.connect(self._failures.append)
        self._runs.announced.connect(self._announced.append)

    @property
    def outcome(self) -> str:
        """How far the run got: public, whatever the examples."""
        log = self._runs.current
        if log is None:
            return "nothing was run"
        ended = "finished" if log.release is not None else "unfinished"
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
