"""How fast the window draws: frames a second, and the longest pause while pictures are computed;
how many releases a second follow a drag, and how long the first triangle takes.

    QT_QPA_PLATFORM=offscreen python benchmarks/drawing.py [--seconds 3] [--json]

Each part is a function that yields measurements; `PARTS` names them.  A frame is one complete
repaint of a widget of 900 x 900 pixels by Qt's software raster engine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from geodp_app.document.document import Document
from geodp_app.document.examples import Frame
from geodp_app.document.work import Work
from geodp_app.drawing.editor import Editor
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.palette import load_palette
from geodp_app.views.dual.dual_view import DualView
from geodp_app.views.plane.examples_layer import ExampleKinds
from geodp_app.views.plane.plane_view import PlaneView
from geodp_app.views.window.main_window import MainWindow
from geometry.halfplane import HalfplaneLattice

SIZE, GRID = 900, 1024


@dataclass(frozen=True, slots=True)
class Measurement:
    """One figure: what was measured, the value, its unit."""

    name: str
    value: float
    unit: str


def frames_per_second(widget: QWidget, change: Callable[[int], None], seconds: float) -> float:
    """Repaints a second when every frame shows something new."""
    frames, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        change(frames)
        widget.grab()
        frames += 1
    return frames / (time.perf_counter() - start)


def longest_pause(busy: Callable[[], bool], limit: float = 30.0) -> float:
    """Longest time, in milliseconds, between two turns of the event loop while busy."""
    turns: list[float] = [time.perf_counter()]
    start, loop, timer = turns[0], QEventLoop(), QTimer()

    def turn() -> None:
        turns.append(time.perf_counter())
        spent = turns[-1] - start
        if spent > limit or (spent > 0.2 and not busy()):
            loop.quit()

    timer.timeout.connect(turn)
    timer.start(2)
    loop.exec()
    timer.stop()
    return 1000 * float(np.diff(turns).max())


def simulated(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform examples, positive in a disc."""
    points = np.random.default_rng(1).integers(0, GRID + 1, size=(n, 2))
    return points, np.hypot(*(points - GRID / 2).T) < GRID / 3


def dual_part(seconds: float) -> Iterator[Measurement]:
    """The dual plane: panning over 2,000 lines of the sheet shown; densities beside the window."""
    view = DualView()
    view.resize(SIZE, SIZE)
    view.show()
    view.set_lattice(HalfplaneLattice(GRID))
    view.set_examples(*simulated(2_000))

    def pan(frame: int) -> None:
        view.sheets[view.sheet].plot.box.translateBy(x=8 if frame % 20 < 10 else -8)

    longest_pause(lambda: view.pictures.background.busy)
    yield Measurement("dual, 2,000 lines", frames_per_second(view, pan, seconds), "frames/s")
    for n in (100_000, 1_000_000):
        points, labels = simulated(n)
        start = time.perf_counter()
        view.set_examples(points, labels)
        pause = longest_pause(lambda: view.pictures.background.busy)
        whole = 1000 * (time.perf_counter() - start)
        yield Measurement(f"dual, density of {n:,} lines, ready after", whole, "ms")
        yield Measurement(f"dual, density of {n:,} lines, longest pause", pause, "ms")
    view.close()


def plane_part(seconds: float) -> Iterator[Measurement]:
    """The plane: panning over examples with a target, a learned region and a new triangle."""
    palette = load_palette("light")
    square = Drawing(GRID, (Shape(((200, 200), (800, 200), (800, 800), (200, 800))),))
    for n in (10_000, 100_000, 1_000_000):
        view = PlaneView()
        view.resize(SIZE, SIZE)
        document = Document(Work(drawing=square))
        view.editor = Editor(document)
        view.set_palette(palette)
        view.set_frame(Frame(GRID))
        view.show()
        points, labels = simulated(n)
        start = time.perf_counter()
        decided = points[:, 0] < GRID / 3
        view.show_examples(ExampleKinds.of(points, labels, decided, decided & ~labels))
        shown = 1000 * (time.perf_counter() - start)
        view.learned.show(square.region().buffer(-30), (), view.grid, flash=False)
        view.show_drawing(())

        def pan(frame: int, view: PlaneView = view) -> None:
            view.getViewBox().translateBy(x=8 if frame % 20 < 10 else -8)

        rate = frames_per_second(view, pan, seconds)
        yield Measurement(f"plane, {n:,} examples", rate, "frames/s")
        yield Measurement(f"plane, {n:,} examples, shown anew in", shown, "ms")
        view.close()


def live_part(seconds: float) -> Iterator[Measurement]:
    """Live updates: a corner is dragged without rest, and runs by tiles follow."""
    for n in (10_000, 30_000):
        with TemporaryDirectory() as folder:
            between = _waits_for_releases(n, 3 * seconds, Path(folder))
        rate = 1 / float(between.mean()) if len(between) else 0.0
        longest = 1000 * float(between.max(initial=0.0))
        yield Measurement(f"live, {n:,} examples, updates", rate, "updates/s")
        yield Measurement(f"live, {n:,} examples, longest wait", longest, "ms")


def first_part(_: float) -> Iterator[Measurement]:
    """From Run to the first triangle on the screen, loops compiled, at once after a sample and
    seconds later; then to each answer about it: the map of the dual plane, the sheet in sight
    finely, and the odds."""
    names = ("first triangle", "its map", "its sheet in sight", "its odds")
    for n, seconds in itertools.product((30_000, 1_000_000), (0.0, *_LOOKED_AT)):
        with TemporaryDirectory() as folder:
            times = _times_of_first(n, seconds, Path(folder))
        for name, time_taken in zip(names, times, strict=True):
            yield Measurement(f"{name}, {n:,} examples, {seconds:g} s later", time_taken, "ms")


#: Seconds that a sample is looked at before Run is pressed.
_LOOKED_AT = (1.0, 2.0, 4.0)


def _times_of_first(n: int, seconds: float, recovery: Path) -> list[float]:
    """Milliseconds until the first triangle is drawn, and then from each answer to the next."""
    window = _open_window(n, recovery)
    runs, display = window.runs, window.display
    _turn_until(lambda: runs.controller.state == "ready" and display.at_rest)
    window.document.sample()
    sampled = time.perf_counter()
    _turn_until(lambda: display.at_rest and time.perf_counter() > sampled + seconds)
    moments = [time.perf_counter()]
    runs.run_or_pause()
    _turn_until(lambda: bool(runs.log and runs.log.records) and not display.soon.isActive())
    window.grab()
    moments.append(time.perf_counter())
    # a pause: what is asked has time before the next step
    runs.controller.answered.connect(lambda _: moments.append(time.perf_counter()))
    runs.run_or_pause()
    _turn_until(lambda: display.at_rest)
    window.abandon()
    window.hide()
    return (1000 * np.diff(moments)).tolist()


def _open_window(n: int, recovery: Path) -> MainWindow:
    """A window with the example that it begins with, and n examples to be drawn of it."""
    window = MainWindow(load_palette("light"), recovery=recovery)
    window.resize(1280, 800)
    window.document.open_example("L")
    window.document.set_sampling(n=n)
    window.show()
    return window


def _waits_for_releases(n: int, seconds: float, recovery: Path) -> NDArray[np.float64]:
    """Seconds from one release to the next while a corner moves."""
    window = _open_window(n, recovery)
    window.document.set_run(learner="tiles")
    released: list[float] = []
    window.runs.controller.finished.connect(lambda _: released.append(time.perf_counter()))
    window.runs.run_or_pause()
    _turn_until(lambda: bool(released) and window.display.at_rest)
    drawing = window.document.drawing
    (first, *others), start = drawing.shapes, time.perf_counter()
    (x, y), *ring = first.outer
    released.clear()
    for move in itertools.count(1):
        corner = (x + 2 * (move % 50), y - 2 * (move % 37))
        shape = replace(first, outer=(corner, *ring))
        window.runs.drag(replace(drawing, shapes=(shape, *others)))
        _turn(0.016)
        if time.perf_counter() - start > seconds:
            break
    window.runs.drag(drawing)
    window.abandon()
    window.hide()
    return np.diff(released)


def _turn(seconds: float) -> None:
    """Let the event loop turn for so long."""
    loop = QEventLoop()
    QTimer.singleShot(round(1000 * seconds), loop.quit)
    loop.exec()


def _turn_until(done: Callable[[], bool], limit: float = 180.0) -> None:
    """Let the event loop turn; the learner compiles its loops once."""
    start = time.perf_counter()
    while not done():
        _turn(0.01)
        if time.perf_counter() - start > limit:
            raise TimeoutError("no run has come to its end")


#: Parts by name.
PARTS: dict[str, Callable[[float], Iterator[Measurement]]] = {
    "plane": plane_part,
    "dual": dual_part,
    "live": live_part,
    "first": first_part,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each frame rate")
    parser.add_argument("--part", choices=sorted(PARTS), action="append", help="only this part")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    app = QApplication([])
    found = []
    for part in options.part or PARTS:
        for measurement in PARTS[part](options.seconds):
            found.append(asdict(measurement))
            if not options.json:
                print(f"{measurement.name:<60} {measurement.value:8.1f} {measurement.unit}")
    if options.json:
        print(json.dumps(found, indent=2))
    app.quit()


if __name__ == "__main__":
    main()
