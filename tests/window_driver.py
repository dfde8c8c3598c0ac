"""Driving the real window: clicks and keys at grid coordinates.  Shared by the window's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QPoint, QStandardPaths, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing
from geodp_app.palette import load_palette
from geodp_app.views.main_window import MainWindow
from geodp_app.views.theme import apply_theme
from geodp_app.views.window_runs import SPEEDS

#: Grid of the drawings: a pixel is less than a grid step, so a click hits its point.
GRID = 256

#: Milliseconds to wait for a learner that shares a busy machine.
PATIENCE = 120_000

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier


@contextmanager
def open_window(qtbot: QtBot, folder: Path, *, theme: str = "light") -> Iterator[MainWindow]:
    """A window of its own, with settings and recovery files in a folder of its own."""
    QStandardPaths.setTestModeEnabled(True)
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    palette = load_palette("dark" if theme == "dark" else "light")
    apply_theme(application, palette)
    window = MainWindow(palette, recovery=folder / "recovery")
    window.resize(1400, 900)
    window.document.new(Work(drawing=Drawing(GRID)))
    window.commands.speed.setCurrentIndex(len(SPEEDS) - 1)  # nobody's eye follows
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.wait(20)  # axes find their width
    try:
        yield window
    finally:
        window.abandon()
        window.hide()
        window.deleteLater()
        qtbot.wait(1)


def at(window: MainWindow, x: float, y: float) -> QPoint:
    """Where a grid point is on the plane's viewport."""
    return window.plane.to_widget(x, y).toPoint()


def click(window: MainWindow, x: float, y: float, modifiers: Qt.KeyboardModifier = NONE) -> None:
    """Move there and click."""
    spot, viewport = at(window, x, y), window.plane.viewport()
    QTest.mouseMove(viewport, spot)
    QTest.mouseClick(viewport, LEFT, modifiers, spot)


def double_click(window: MainWindow, x: float, y: float) -> None:
    """What a hand does: press, release, press again quickly, release."""
    spot, viewport = at(window, x, y), window.plane.viewport()
    QTest.mouseClick(viewport, LEFT, NONE, spot)
    QTest.mouseDClick(viewport, LEFT, NONE, spot)


def drag(window: MainWindow, *stops: tuple[float, float]) -> None:
    """Press at the first stop, move through the others, release at the last."""
    viewport = window.plane.viewport()
    spots = [at(window, x, y) for x, y in stops]
    QTest.mouseMove(viewport, spots[0])
    QTest.mousePress(viewport, LEFT, NONE, spots[0])
    for spot in spots[1:]:
        QTest.mouseMove(viewport, spot, 20)  # a hand takes its time, and the plot counts on it
    QTest.mouseRelease(viewport, LEFT, NONE, spots[-1], 20)


def key(window: MainWindow, name: Qt.Key, modifiers: Qt.KeyboardModifier = NONE) -> None:
    """A key on the plane."""
    window.plane.setFocus()
    QTest.keyClick(window.plane, name, modifiers)


def action(window: MainWindow, name: str) -> None:
    """Trigger an action, as its menu entry would."""
    made = window.commands.by_id[name]
    assert made.isEnabled(), f"{name} is disabled"
    made.trigger()


def wait(qtbot: QtBot, done: Callable[[], bool]) -> None:
    """Until something is true."""
    qtbot.waitUntil(done, timeout=PATIENCE)


def finish_run(qtbot: QtBot, window: MainWindow) -> None:
    """Wait for the release."""
    wait(qtbot, lambda: window.runs.current is not None and window.runs.current.release is not None)
