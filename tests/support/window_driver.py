"""Driving the real window: clicks and keys at grid coordinates.  Shared by the window's tests."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from patience import HANGS
from PySide6.QtCore import QMimeData, QPoint, QPointF, QStandardPaths, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QPainterPath
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QFileDialog,
    QGraphicsPathItem,
)
from pytestqt.qtbot import QtBot

from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing
from geodp_app.files.run_record import RunRecord
from geodp_app.palette import load_palette
from geodp_app.runs.learner_process import main
from geodp_app.runs.process_link import ProcessLink
from geodp_app.runs.protocol import Cancel, Prepared
from geodp_app.runs.run_log import RunLog
from geodp_app.views.dual.sheet_stack import SheetView
from geodp_app.views.run.window_runs import SPEEDS
from geodp_app.views.widgets import tasks
from geodp_app.views.widgets.theme import apply_theme, style_sheet
from geodp_app.views.window.main_window import MainWindow

#: Grid of the drawings: a pixel is less than a grid step, so a click hits its point.
GRID = 256

PATIENCE = round(1000 * HANGS)  # milliseconds

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier


class Process:
    """A learner's process that one window has after the other: to start one takes longer than
    most tests.  A window hears of nothing that was asked for by another."""

    def __init__(self) -> None:
        self.holder: Lent | None = None
        self.alive = self.first = True
        self._due, self._lock = 0, threading.Lock()
        self.link = ProcessLink(self._replied, main)

    def lend(self, holder: "Lent") -> None:
        """A window is going to ask for the process to be prepared; that answer is its first."""
        with self._lock:
            self.holder, self._due = holder, self._due + 1

    def take_back(self) -> None:
        """Its window is done: whatever goes on is cancelled, and what comes is for nobody."""
        with self._lock:
            self.holder, self.first = None, False
        self.link.send(Cancel(0))

    def _replied(self, _: ProcessLink, reply: Any) -> None:
        with self._lock:
            self.alive &= reply is not None
            self._due -= isinstance(reply, Prepared)
            if self.holder is not None and (self.first or not (self.alive and self._due)):
                # under the lock: this thread must not be the last to know of a window
                self.holder.receive(self.holder, reply)


class Lent:
    """What a window takes for the link to a process of its own; one that it kills is dead."""

    spare: Process | None = None

    def __init__(self, receive: Callable[[Any, Any], None], _: object) -> None:
        kept, Lent.spare = Lent.spare, None
        self._process = kept if kept is not None and kept.alive else Process()
        self._back = False
        self.receive = receive
        self._process.lend(self)

    def send(self, request: object) -> None:
        self._process.link.send(request)

    def kill(self) -> None:
        if not self._back:
            self._process.alive = False
            self._process.link.kill()

    def join(self, seconds: float) -> bool:
        return self._back or self._process.link.join(seconds)

    @property
    def pid(self) -> int | None:
        return self._process.link.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.link.exit_code

    def give_back(self) -> None:
        """For the next window, unless one is kept already."""
        if self._process.alive and Lent.spare is None:
            self._back = True
            self._process.take_back()
            Lent.spare = self._process


class Kept(Lent):
    """A learner's process that outlives the window."""

    def kill(self) -> None:
        self.give_back()
        super().kill()


@contextmanager
def open_window(folder: Path) -> Iterator[MainWindow]:
    """A window of its own, with settings and recovery files in a folder of its own."""
    QStandardPaths.setTestModeEnabled(True)
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    palette = load_palette("light")
    if application.styleSheet() != style_sheet(palette):  # dressing anew takes a while
        apply_theme(application, palette)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "ProcessLink", Lent)
        window = MainWindow(palette, recovery=folder / "recovery")
    window.resize(1400, 900)
    window.document.new(Work(drawing=Drawing(GRID)))
    window.commands.speed.setCurrentIndex(len(SPEEDS) - 1)  # nobody's eye follows
    window.show()
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window, PATIENCE)
    QTest.qWait(20)  # axes find their width
    try:
        yield window
    finally:
        link = window.runs.controller.link
        if isinstance(link, Lent):
            link.give_back()
        window.abandon()
        window.hide()
        window.deleteLater()
        QTest.qWait(1)


class Lasting:
    """A window that one test has after the other: to make one takes longer than most tests."""

    def __init__(self, window: MainWindow) -> None:
        self.window = window
        window.commands.by_id["shade_score"].trigger()  # as it is, but for its mark in the menu
        self._checked = self._switches()
        self._runs: dict[object, tuple[Work, RunRecord]] = {}

    def as_new(self) -> MainWindow:
        """The window with nothing left of what a test did in it: an empty document, no run."""
        window = self.window
        window.document.new(Work(drawing=Drawing(GRID)))
        window.runs.adopt(None)
        for name, on in self._checked.items():
            made = window.commands.by_id[name]
            # of several that exclude each other the one that is to be on turns the others off
            if made.isChecked() != on and (on or made.actionGroup() is None):
                made.trigger()
        assert self._switches() == self._checked
        window.files.opened.emit()
        window.commands.speed.setCurrentIndex(len(SPEEDS) - 1)
        window.pages.setCurrentIndex(0)
        window.resize(1400, 900)
        window.status_line.tell("")
        window.activateWindow()
        assert QTest.qWaitForWindowActive(window, PATIENCE)
        QTest.qWait(1)
        return window

    def drawn(self, drawing: Drawing, n: int, **run: object) -> MainWindow:
        """The window as new, with a drawing, a number of examples and settings of a run."""
        window = self.as_new()
        window.document.edit("draw", drawing)
        window.document.set_sampling(n=n)
        window.document.set_run(**run)
        return window

    def after_run(self, qtbot: QtBot, drawing: Drawing, n: int, **settings: object) -> MainWindow:
        """The window as new after a run to its end, which is made once; undo takes its sample."""
        key = (drawing, n, *settings.items())
        if key not in self._runs:
            log = run(qtbot, self.drawn(drawing, n, **settings))
            self._runs[key] = self.window.document.work, log.run
        work, made = self._runs[key]
        window = self.as_new()
        window.document.new(replace(work, examples=None))
        window.document.change("sample", examples=work.examples)
        window.runs.adopt(made)
        settle(qtbot, window)
        return window

    def _switches(self) -> dict[str, bool]:
        actions = self.window.commands.by_id.items()
        return {name: made.isChecked() for name, made in actions if made.isCheckable()}


def front(window: MainWindow) -> MainWindow:
    """Show it, with no other window in sight: the pointer would find that."""
    for other in QApplication.topLevelWidgets():
        if isinstance(other, MainWindow) and other is not window:
            other.hide()
    window.show()
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window, PATIENCE)
    return window


def at(window: MainWindow, x: float, y: float) -> QPoint:
    """Where a grid point is on the plane's viewport, once what is on its way is laid out."""
    before: QPoint = window.plane.to_widget(x, y).toPoint()
    while True:
        QApplication.processEvents()  # a card that has just appeared moves the plane
        spot: QPoint = window.plane.to_widget(x, y).toPoint()
        if spot == before:
            return spot
        before = spot


def click(window: MainWindow, x: float, y: float, modifiers: Qt.KeyboardModifier = NONE) -> None:
    """Move there and click."""
    viewport = window.plane.viewport()
    QTest.mouseMove(viewport, at(window, x, y))
    QTest.mouseClick(viewport, LEFT, modifiers, at(window, x, y))


def double_click(window: MainWindow, x: float, y: float) -> None:
    """What a hand does: press, release, press again quickly, release."""
    spot, viewport = at(window, x, y), window.plane.viewport()
    QTest.mouseClick(viewport, LEFT, NONE, spot)
    QTest.mouseDClick(viewport, LEFT, NONE, spot)


def drag(window: MainWindow, *stops: tuple[float, float]) -> None:
    """Press at the first stop, move through the others, release at the last."""
    viewport = window.plane.viewport()
    QTest.mouseMove(viewport, at(window, *stops[0]))
    spots = [at(window, x, y) for x, y in stops]
    QTest.mousePress(viewport, LEFT, NONE, spots[0])
    for spot in spots[1:]:
        QTest.mouseMove(viewport, spot, 20)  # a hand takes its time, and the plot counts on it
    QTest.mouseRelease(viewport, LEFT, NONE, spots[-1], 20)


#: Six corners on the grid.
L_SHAPE = ((50, 50), (200, 50), (200, 100), (100, 100), (100, 200), (50, 200))


def draw_l(window: MainWindow) -> None:
    """Draw it, by clicks."""
    key(window, Qt.Key.Key_P)
    for x, y in L_SHAPE:
        click(window, x, y)
    key(window, Qt.Key.Key_Return)


def key(window: MainWindow, name: Qt.Key, modifiers: Qt.KeyboardModifier = NONE) -> None:
    """A key on the plane."""
    window.plane.setFocus()
    QTest.keyClick(window.plane, name, modifiers)


def action(window: MainWindow, name: str) -> None:
    """Trigger an action, as its menu entry would."""
    made = window.commands.by_id[name]
    assert made.isEnabled(), f"{name} is disabled"
    made.trigger()


def choose_file(monkeypatch: pytest.MonkeyPatch, path: Path | None) -> None:
    """What dialogs for files give; None if they are closed."""
    for dialog in ("getSaveFileName", "getOpenFileName"):
        monkeypatch.setattr(QFileDialog, dialog, lambda *_: ("" if path is None else str(path), ""))


def drop(window: MainWindow, *paths: Path) -> None:
    """Drop files on the plane."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    under, copy = window.plane.viewport(), Qt.DropAction.CopyAction
    QApplication.sendEvent(under, QDragEnterEvent(QPoint(9, 9), copy, data, LEFT, NONE))
    QApplication.sendEvent(under, QDropEvent(QPointF(9, 9), copy, data, LEFT, NONE))


def finish_run(qtbot: QtBot, window: MainWindow) -> None:
    """Wait for the release."""
    qtbot.waitUntil(lambda: (log := window.runs.current) is not None and log.release is not None)


def first_step(qtbot: QtBot, window: MainWindow) -> None:
    """Begin a run by its first step alone."""
    key(window, Qt.Key.Key_F10)
    qtbot.waitUntil(lambda: (log := window.runs.current) is not None and len(log.records) == 1)


def log_of(window: MainWindow) -> RunLog:
    """Of the run that is shown."""
    log = window.runs.current
    assert log is not None
    return log


def run_once_more(qtbot: QtBot, window: MainWindow) -> None:
    """Another run than the one that is shown, to its end."""
    before = window.runs.current
    key(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: window.runs.current is not before)
    finish_run(qtbot, window)


def settle(qtbot: QtBot, window: MainWindow) -> None:
    """Until every step is shown, and all that was asked about the dual plane."""
    qtbot.waitUntil(lambda: window.display.at_rest)


def run(qtbot: QtBot, window: MainWindow) -> RunLog:
    """Run to the end, by its key."""
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    settle(qtbot, window)
    return log_of(window)


def type_into(field: QAbstractSpinBox, text: str) -> None:
    """Type in the place of what is there, and press Enter."""
    field.setFocus()
    field.selectAll()
    QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def choose(box: QComboBox, text: str) -> None:
    """Choose an entry by its text, with keys."""
    box.setFocus()
    box.showPopup()
    view = box.view()
    view.setCurrentIndex(box.model().index(box.findText(text), 0))
    QTest.keyClick(view, Qt.Key.Key_Return)


def pixel(sheet: SheetView, u: float, v: float) -> QPoint:
    """Where a dual point is on the plot's viewport."""
    place = sheet.chosen.to_pixels(np.array([[u, v]]))[0]
    spot: QPoint = sheet.plot.mapFromScene(sheet.plot.box.mapToScene(QPointF(*place.tolist())))
    return spot


def hover(qtbot: QtBot, sheet: SheetView, spot: QPoint) -> None:
    """Move the pointer there, in two moves so that the second is one for sure."""
    qtbot.mouseMove(sheet.plot.viewport(), spot + QPoint(6, 4))
    qtbot.mouseMove(sheet.plot.viewport(), spot)


def point_at(qtbot: QtBot, sheet: SheetView, u: float, v: float) -> None:
    """Point at a place of a dual sheet."""
    hover(qtbot, sheet, pixel(sheet, u, v))


def layer(window: MainWindow, name: str) -> QGraphicsPathItem:
    """A part of the learned shape on the plane: region, earlier, newest, tiling, pointed, again."""
    item: QGraphicsPathItem = getattr(window.plane.learned, name)
    return item


def painted(window: MainWindow, name: str) -> QPainterPath:
    """The path of such a part."""
    return layer(window, name).path()


def said(window: MainWindow, name: str) -> str:
    """What the panel says below its fields: promise, practice, or warning if it is shown."""
    label = getattr(window.settings, name)
    return str(label.text()) if name != "warning" or label.isVisible() else ""


def shape_of(path: QPainterPath) -> shapely.Geometry:
    """What a path fills, by its even-odd rule."""
    shape: shapely.Geometry = shapely.Polygon()
    for ring in path.toSubpathPolygons():
        shape = shape.symmetric_difference(shapely.Polygon([(p.x(), p.y()) for p in ring]))
    return shape
