"""Taking pictures of the window: open it off-screen, run, wait until nothing moves, save.

An animation is made of pictures of the window as it goes through a run.  Each is taken when all of
it is there, and how long it is shown does not depend on how long that took.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import sys
import tempfile
from collections.abc import Callable
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

from geodp_app.document.learned_shape import LearnedShape
from geodp_app.errors import InputError
from geodp_app.files.animation import Frame, animation_bytes
from geodp_app.files.learned_file import place_note, rescued, shape_files
from geodp_app.files.writing import write_files
from geodp_app.palette import load_palette
from geodp_app.progress import COMPILING, ProgressBar
from geodp_app.views.run.window_runs import SPEEDS
from geodp_app.views.widgets.theme import apply_theme
from geodp_app.views.window.app import make_application
from geodp_app.views.window.main_window import MainWindow
from geodp_app.views.window.window_pictures import png_bytes
from geometry.files import NewFile
from learners.releases import Release

#: Seconds that an animation shows the window before the first step, and at rest in the end.
_BEFORE, _AT_REST = 1.0, 2.0

#: What shares of its flash a new piece is shown at, and how long each, in seconds: where a step is
#: shown at least twice as long as they take together.
_FLASHES, _FLASH = (0.0, 0.35, 0.65), 0.08

#: Pictures of the zones of a sharpened cover, at most.
_ZONES = 12

#: Seconds between two steps of a run that is told when to go on.
_HELD = 86_400.0


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
            shooting = _Shooting(window, options, bar)
            frames: list[Frame] = []
            if options.animated:
                frames = shooting.film()
            else:
                shooting.run()
            told = [f"{options.output}: {shooting.outcome}"]
            release = _release(window) if options.learned else None
            if options.animated:
                data = animation_bytes(frames, options.animated)
            else:
                window.set_release_view(options.view == "release")
                data = shooting.picture()
            real = options.file is not None and options.view != "release"
            files = [NewFile(options.output, data, private=real)]
            shape = None
            if release is not None:
                work = window.document.work
                shape = LearnedShape(release, work.frame, work.within)
                files += shape_files(options.learned, shape, overwrite=options.overwrite)
                told += place_note(options.learned, work.frame, hint=False)
            with contextlib.nullcontext() if shape is None else rescued(shape, lambda: None):
                write_files(files)
        finally:
            window.abandon()
            window.hide()  # who goes on in this process has none of it
            window.deleteLater()
    return "\n".join(told)


def _say(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
    """What Qt has to say, but for what every off-screen window makes it say."""
    if "propagateSizeHints" not in text:
        sys.stderr.write(f"Qt: {text}\n")


def _prepare(window: MainWindow, options: argparse.Namespace, given: Given) -> None:
    """Open what was asked for, with the settings asked for."""

    def refuse(what: str, why: str) -> NoReturn:
        raise InputError(f"{what}: {why}")

    window.complain = refuse  # type: ignore[method-assign]
    if options.file is not None:
        window.files.open(options.file)
    else:
        window.files.begin_with_example(options.example)
    if options.within is not None:
        window.files.clip_to(options.within)
    learner = options.learner or window.document.work.run.learner
    window.document.set_run(learner=learner, **given(learner))
    if options.n is not None:
        window.document.set_sampling(n=options.n)
    if options.seed is not None:
        window.document.set_run(seed=options.seed)
    if window.document.work.simulated and options.n is not None:
        window.sample()


class _Shooting:
    """A window that runs, and the pictures taken of it."""

    def __init__(self, window: MainWindow, options: argparse.Namespace, bar: ProgressBar) -> None:
        self._window, self._runs = window, window.runs
        self._options, self._bar = options, bar
        self._failures: list[str] = []
        self._told: list[str] = []
        self._runs.controller.failed.connect(self._failures.append)
        self._runs.told.connect(self._told.append)

    @property
    def outcome(self) -> str:
        """How far the run got: public, whatever the examples."""
        log = self._runs.current
        if log is None:
            return "nothing was run"
        ended = "finished" if log.release is not None else "unfinished"
        return f"{self._made} of {log.planned} steps, {ended}"

    def run(self) -> None:
        """Run as fast as it goes."""
        steps = self._options.steps
        self._runs.set_speed(SPEEDS.index(0.0))
        if steps is None:
            self._begin()
            _wait(self._finished)
        for _ in range(steps or 0):
            if not self._finished():
                self._runs.step()
                _wait(lambda: self._finished() or not self._runs.busy)

    def picture(self) -> bytes:
        """The window with everything that it has to show."""
        _settle(self._window)
        self._window.plane.learned.flash_to(1.0)
        return png_bytes(self._window, self._options.scale)

    def film(self) -> list[Frame]:
        """Run, and take pictures of every step."""
        runs, most, pace = self._runs, self._options.steps, self._options.pace
        nearest = min(SPEEDS, key=lambda speed: abs(speed - pace))
        self._window.commands.speed.setCurrentIndex(SPEEDS.index(nearest))
        _wait(lambda: runs.controller.state != "preparing")
        frames = [self._frame(_BEFORE)]
        for step in itertools.count(1) if most is None else range(1, most + 1):
            if step == 1:
                self._begin()
                runs.controller.set_delay(_HELD)
            else:
                runs.controller.run()
            _wait(lambda: self._finished() or runs.controller.state == "waiting")
            if self._made < step:
                break  # nothing more was found
            if self._shows(step):
                frames += self._step(step, pace)
            if self._finished():
                break
        if runs.busy:
            runs.run_or_pause()
        return [*frames, self._frame(_AT_REST)]

    def _shows(self, step: int) -> bool:
        """Whether a step has a picture of its own: of many zones some have."""
        log = self._runs.current
        assert log is not None  # the step has been made
        if not log.sharpening:
            return True
        zones = log.planned - log.triangles
        return (log.planned - step) % -(-zones // _ZONES) == 0

    def _step(self, step: int, pace: float) -> list[Frame]:
        """A step that has just been made: its piece flashes in."""
        log = self._runs.current
        assert log is not None  # it has been made
        rest = log.cursor
        self._runs.move_cursor(step)
        self._bar.update(step / log.planned, f"step {step} of {log.planned}")
        flashes = _FLASHES if pace >= 2 * _FLASH * len(_FLASHES) else ()
        _settle(self._window)  # once: a flash changes nothing else
        frames = [self._now(_FLASH, flash) for flash in flashes]
        frames.append(self._now(pace - _FLASH * len(flashes)))
        self._runs.move_cursor(rest)
        return frames

    def _frame(self, seconds: float) -> Frame:
        _settle(self._window)
        return self._now(seconds)

    def _now(self, seconds: float, flash: float = 1.0) -> Frame:
        """The window as it is, so much of a new piece's flash over."""
        self._window.plane.learned.flash_to(flash)
        png = png_bytes(self._window, self._options.scale, hurried=True)
        return Frame(png, round(1000 * seconds))

    def _begin(self) -> None:
        self._runs.run_or_pause()
        if self._runs.current is None:
            raise InputError(self._told[-1])

    @property
    def _made(self) -> int:
        log = self._runs.current
        return 0 if log is None else len(log.records)

    def _finished(self) -> bool:
        if self._failures:
            raise InputError(self._failures[0])
        log = self._runs.current
        return log is not None and log.release is not None


def _release(window: MainWindow) -> Release:
    """What --learned writes."""
    log = window.runs.current
    if log is None or log.release is None:
        raise InputError("--learned needs a finished run: leave out --steps")
    return log.release


def _settle(window: MainWindow) -> None:
    """Let the window live until it has shown everything, and begins nothing new."""
    looks = 0
    while looks < 4:
        _pause(20)
        looks = looks + 1 if window.display.settled else 0


def _wait(done: Callable[[], bool]) -> None:
    """Let the window live until something is true."""
    while not done():
        _pause(20)


def _pause(milliseconds: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()
