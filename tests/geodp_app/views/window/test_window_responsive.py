"""The real window on a real screen; and alive while large runs go on and a million examples come.

How long the window's thread is held up leaves out how long it waits for a processor: on a busy
machine any thread does.  What it computes counts, and what else it waits for (a thread, a disk).
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from own_clock import heartbeat, unhindered
from pytestqt.qtbot import QtBot
from window_driver import finish_run, open_window

from geodp import Examples, Frame
from geodp_app.files.document_files import take_examples
from geodp_app.files.persons import some_each
from geodp_app.views.widgets.tasks import Background

on_a_screen = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("Xvfb") is None,
    reason="needs Xvfb (Debian: apt-get install xvfb)",
)

#: What a script does with a window of its own: `window`, in `application`.
_WINDOW = """
import sys
from pathlib import Path
from PySide6.QtCore import QStandardPaths, QTimer
from PySide6.QtGui import QGuiApplication
from geodp_app.palette import load_palette
from geodp_app.views.window.app import make_application
from geodp_app.views.window.main_window import MainWindow
from geodp_app.views.widgets.theme import apply_theme

QStandardPaths.setTestModeEnabled(True)
application = make_application()
palette = load_palette("light")
apply_theme(application, palette)
window = MainWindow(palette, recovery=Path(sys.argv[1]))
window.show()
"""

#: Runs a script that goes on from there, with more variables of the environment; its words.
OnScreen = Callable[..., list[str]]


@pytest.fixture
def display() -> Iterator[str]:
    """A virtual screen of its own."""
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
        pass_fds=(writing,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    with os.fdopen(reading) as outcome:
        number = outcome.readline().strip()
    try:
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def on_screen(display: str, tmp_path: Path) -> OnScreen:
    def run(script: str, **variables: str) -> list[str]:
        environment = {**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", **variables}
        environment.pop("WAYLAND_DISPLAY", None)
        done = subprocess.run(
            [sys.executable, "-c", _WINDOW + script, str(tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


_RUN = """
window.files.begin_with_example("tri")
window.document.set_sampling(n=2000)
window.sample()

def look():
    log = window.runs.current
    if log is not None and log.release is not None:
        picture = window.screen().grabWindow(window.winId()).toImage()
        colours = {picture.pixel(x, y) for x in range(0, picture.width(), 7)
                   for y in range(0, picture.height(), 7)}
        print(QGuiApplication.platformName(), window.isVisible(), len(log.records), len(colours))
        window.abandon()
        application.exit(0)  # quit() would close the window, which asks about unsaved work

watch = QTimer()
watch.timeout.connect(look)
watch.start(100)
QTimer.singleShot(0, window.runs.run_or_pause)
application.exec()
"""


@on_a_screen
def test_a_real_window_runs_an_example(on_screen: OnScreen) -> None:
    platform, visible, records, colours = on_screen(_RUN)
    assert (platform, visible, records) == ("xcb", "True", "1")
    assert int(colours) > 20  # something is painted


_FIRST = """
def look():
    room = window.screen().availableGeometry()
    print(room.width(), room.height(), window.width(), window.height())
    window.abandon()
    application.exit(0)

QTimer.singleShot(300, look)
application.exec()
"""


@on_a_screen
def test_the_first_window_fits_on_a_screen_of_large_pixels(on_screen: OnScreen) -> None:
    width, height, its_width, its_height = map(int, on_screen(_FIRST, QT_SCALE_FACTOR="2"))
    assert (width, height) == (640, 400)
    assert its_width <= width
    assert its_height <= height


# -- alive -----------------------------------------------------------------------------------------


#: A frame, in seconds: no longer may anything hold the window's thread.
FRAME = 0.1


def test_the_clock_counts_work_and_sleep() -> None:
    start = unhindered()
    sum(range(1_000_000))
    worked = unhindered()
    assert worked > start
    if sys.platform.startswith("linux"):
        time.sleep(0.05)
        assert unhindered() - worked >= 0.049


@pytest.mark.parametrize("learner", ["cover", "tiles"])
def test_frames_are_not_blocked_while_a_large_run_goes_on(qtbot, tmp_path, learner):
    with open_window(tmp_path) as window:
        window.document.open_example("star")
        window.document.set_sampling(n=100_000)
        window.document.set_run(learner=learner)
        window.sample()
        qtbot.waitUntil(lambda: window.runs.controller.state == "ready")
        qtbot.wait(1_000)  # the dual lines of the sample are drawn
        with heartbeat() as beats:
            window.runs.run_or_pause()
            qtbot.waitUntil(lambda: window.runs.place >= 3)
            if learner == "tiles":
                finish_run(qtbot, window)
            qtbot.waitUntil(lambda: len(beats) > 60)
        # the share, not the worst: whatever another thread holds may itself wait for a processor
        assert np.percentile(beats, 98) < FRAME
        window.runs.cancel()


def test_a_million_examples_come_and_are_kept_within_frames(qtbot: QtBot, tmp_path: Path) -> None:
    """They are shown, their dual lines drawn, and the work is kept for recovery."""
    points = np.random.default_rng(3).integers(0, 1025, size=(1_000_000, 2))
    labels = (np.hypot(*(points - 512).T) < 300).astype(np.int64)
    examples = Examples(points, labels, Frame(1024))
    with open_window(tmp_path) as window:
        window.document.open_example("star")
        qtbot.wait(500)
        with heartbeat() as beats:
            take_examples(tmp_path / "points.csv", examples, window.document, opening=False)
            kept = tmp_path / "recovery"
            qtbot.waitUntil(lambda: bool(list(kept.rglob("*.geodp"))) and window.display.at_rest)
        assert len(beats) > 100
        turns = np.array(beats)
        assert np.percentile(turns, 98) < FRAME
        assert turns.max() < turns.sum() / 10  # nothing is done in one go


def test_persons_are_told_apart_beside_the_window(qtbot: QtBot) -> None:
    """To have a thread of its own is not enough: it must let others go on, too."""
    n = 400_000
    examples = Examples(np.zeros((n, 2), np.int64), np.zeros(n, np.int64), Frame(8))
    owners, rows = tuple(map(str, range(n))), np.arange(n)
    beside, kept = Background(), []
    beside.done.connect(lambda _, result: kept.append(len(result)))
    with heartbeat() as beats:
        beside.submit("persons", lambda stop: some_each(examples, owners, rows))
        qtbot.waitUntil(lambda: kept == [n])
    assert max(beats) < sum(beats) / 4
