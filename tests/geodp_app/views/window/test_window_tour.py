"""The tour in the real window: by keyboard to its end, and cleanly ended in the middle."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, QSettings, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from window_driver import (
    LEFT,
    Lasting,
    action,
    finish_run,
    front,
    key,
    log_of,
    open_window,
    painted,
)

from assets import Example
from geodp import Examples
from geodp_app.document import targets
from geodp_app.drawing.shapes import Drawing
from geodp_app.palette import load_palette
from geodp_app.views.window.main_window import MainWindow
from geodp_app.views.window.tour import STOPS, place_beside

#: Fewer examples than it opens with, as the tour makes all steps of a run; enough for the first
#: triangle to hold some.
FEW = 6_000


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "example", lambda name: Example(FEW, finish="sharpen"))


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    """As it opens, but for the number of examples."""
    made = front(lasting.window)
    lasting.as_new()
    made.resize(1280, 800)
    made.files.begin_with_example(None)
    return made


def begin(qtbot: QtBot, window: MainWindow) -> None:
    action(window, "tour")
    assert window.tour.active
    qtbot.waitUntil(lambda: window.tour.ready)


def press(window: MainWindow, name: Qt.Key) -> None:
    """A key wherever the keyboard is."""
    focus = window.focusWidget()
    assert focus is not None
    QTest.keyClick(focus, name)


def rect(window: MainWindow, widget: QWidget) -> QRect:
    return QRect(widget.mapTo(window, QPoint()), widget.size())


def state(window: MainWindow) -> tuple[object, ...]:
    by_id = window.commands.by_id
    return (
        window.dual.controls.mode,
        by_id["show_boxes"].isChecked(),
        by_id["release_view"].isChecked(),
        by_id["shade_probability"].isChecked(),
        window.pages.currentWidget(),
        window.plane_pane.mark.isVisible(),
    )


def is_over(window: MainWindow) -> bool:
    tour = window.tour
    shown = tour.card.isVisible() or tour.outline.isVisible()
    return not (tour.active or shown or tour.clock.isActive())


def check_scene(window: MainWindow, at: int) -> None:
    """What each stop speaks of is there to be seen."""
    log, dual = window.runs.current, window.dual
    cursor = 0 if log is None else log.cursor
    if at == 0:
        examples = window.document.work.examples
        ringed = (examples.points == window.tour.ring).all(axis=1)
        assert examples.labels[ringed].any()
        assert window.tour.outline.ring is not None
        assert cursor == 0
        return
    assert log is not None
    if at < 5:
        assert cursor == 1
        assert window.why.mark.isVisible()
    if at == 1:
        assert dual.pointer.candidate is not None
        # one of thirty private runs draws a triangle that holds nothing: there is nothing to see
        drawn = log.records[0].diagnostics
        holds = drawn.positives_taken + drawn.negatives_taken > 0
        assert not holds or not painted(window, "pointed").isEmpty()
    assert window.commands.by_id["show_boxes"].isChecked() == (at == 2)
    assert (dual.controls.mode == "probability") == (at == 3)
    assert window.commands.by_id["release_view"].isChecked() == (at == 5)
    if at == 5:
        assert log.release is not None
        assert log.at_end
        assert not window.plane_pane.mark.isVisible()


def test_by_keyboard_from_beginning_to_end(qtbot: QtBot, window: MainWindow) -> None:
    window.pages.setCurrentWidget(window.figures)
    action(window, "shade_probability")
    action(window, "show_boxes")
    window.plane.setFocus()
    before, work = state(window), window.document.work
    begin(qtbot, window)
    for at, stop in enumerate(STOPS):
        tour = window.tour
        qtbot.waitUntil(lambda: window.tour.ready)
        assert tour.card.title.text() == stop.title
        assert tour.card.place.text() == f"{at + 1} of 6"
        assert stop.title in tour.card.accessibleName()
        assert stop.words in tour.card.next.accessibleDescription()
        assert tour.card.next.hasFocus()
        qtbot.waitUntil(lambda: window.display.at_rest)
        qtbot.wait(120)  # outlines follow a moment later
        card = rect(window, tour.card)
        assert window.rect().contains(card)
        for target, outline in zip(tour.targets(), tour.outline.rects, strict=True):
            assert target.isVisible()
            assert outline == rect(window, target)
            assert not card.intersects(outline)
        check_scene(window, at)
        press(window, Qt.Key.Key_Right if at % 2 else Qt.Key.Key_Return)
    assert is_over(window)
    assert state(window) == before
    assert window.plane.hasFocus()
    assert window.document.work.examples is work.examples
    assert window.dual.pointer.candidate is None
    # once more: the run that is there is used
    log = log_of(window)
    assert log.at_end
    begin(qtbot, window)
    for _ in STOPS:
        press(window, Qt.Key.Key_Right)
    assert window.runs.current is log


def test_left_goes_back_and_the_scene_with_it(qtbot: QtBot, window: MainWindow) -> None:
    begin(qtbot, window)
    press(window, Qt.Key.Key_Left)
    assert window.tour.stop is STOPS[0]
    for _ in range(3):
        press(window, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: window.tour.ready)
    check_scene(window, 3)
    press(window, Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: window.tour.ready)
    check_scene(window, 2)
    QTest.mouseClick(window.tour.card.back, LEFT)
    qtbot.waitUntil(lambda: window.tour.ready)
    check_scene(window, 1)
    press(window, Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: window.tour.ready)
    check_scene(window, 0)
    QTest.mouseClick(window.tour.card.skip, LEFT)
    assert is_over(window)


def test_esc_ends_it_at_every_stop(qtbot: QtBot, window: MainWindow) -> None:
    before = state(window)
    for at in range(len(STOPS)):
        action(window, "tour")
        for _ in range(at):
            press(window, Qt.Key.Key_Right)
        assert window.tour.stop is STOPS[at]
        press(window, Qt.Key.Key_Escape)
        assert is_over(window)
        assert state(window) == before
        qtbot.waitUntil(lambda: not window.runs.busy)


def test_what_is_pointed_at_by_hand_takes_the_ring_away(qtbot: QtBot, window: MainWindow) -> None:
    begin(qtbot, window)
    QTest.mouseMove(window.plane.viewport(), window.plane.to_widget(700, 700).toPoint())
    qtbot.waitUntil(lambda: window.tour.outline.ring is None)


def test_without_a_positive_report_it_points_at_none(qtbot: QtBot, window: MainWindow) -> None:
    begin(qtbot, window)
    examples = window.document.work.examples
    none = Examples(examples.points, np.zeros_like(examples.labels), examples.frame)
    window.document.change("remove the positives", examples=none)
    window.tour.point_at_example()
    assert window.tour.ring is None


@pytest.mark.parametrize("at", [1, 5])
def test_the_window_can_be_closed_during_it(tmp_path: Path, at: int) -> None:
    with open_window(tmp_path) as window:
        window.files.begin_with_example(None)
        action(window, "tour")
        for _ in range(at):
            press(window, Qt.Key.Key_Right)
        window.close()
        assert not window.isVisible()
        assert is_over(window)


def test_run_ends_it_and_runs(qtbot: QtBot, window: MainWindow) -> None:
    before = state(window)
    begin(qtbot, window)
    action(window, "run")
    assert is_over(window)
    assert state(window) == before
    finish_run(qtbot, window)


def test_another_document_ends_it(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("x,y,label\n1,1,0\n5,5,1\n", encoding="utf-8")
    for change in (
        lambda: window.document.edit("clear the drawing", Drawing(window.document.drawing.grid)),
        lambda: window.settings.epsilon.setValue(3.0),
        lambda: window.document.clear_examples(),
        lambda: window.files.new(),
        lambda: window.files.open(path),
    ):
        window.files.begin_with_example(None)
        begin(qtbot, window)
        press(window, Qt.Key.Key_Right)
        change()
        assert is_over(window)
    assert not window.document.work.simulated  # the file's


def test_unsaved_work_is_asked_about(qtbot, window, monkeypatch):
    key(window, Qt.Key.Key_P)
    window.document.edit("clear the drawing", Drawing(window.document.drawing.grid))
    window.document.set_sampling(distribution="painted")  # nothing is
    window.document.set_run(learner="discs")
    mine = window.document.work
    assert window.document.history.dirty
    answers = [QMessageBox.StandardButton.Cancel, QMessageBox.StandardButton.Discard]
    monkeypatch.setattr(QMessageBox, "exec", lambda box: answers.pop(0))
    action(window, "tour")
    assert is_over(window)
    assert window.document.work is mine
    begin(qtbot, window)
    assert not answers
    assert window.files.shows_opening
    assert window.document.work.run.learner == "cover"
    press(window, Qt.Key.Key_Escape)
    assert not window.document.history.dirty


def test_it_follows_the_window_and_the_theme(qtbot: QtBot, window: MainWindow) -> None:
    begin(qtbot, window)
    window.resize(1500, 950)
    qtbot.waitUntil(
        lambda: (
            window.tour.outline.rects == tuple(rect(window, w) for w in window.tour.targets())
            and window.tour.outline.geometry() == window.rect()
        ),
    )
    light = window.grab().toImage()
    window.set_dark(True)
    spot = window.tour.outline.rects[0].topLeft() + QPoint(60, 1)
    accent = load_palette("dark").accent.lower()
    assert window.grab().toImage().pixelColor(spot).name() == accent
    assert light.pixelColor(spot).name() == load_palette("light").accent.lower()
    window.set_dark(False)


def test_it_is_offered_once_without_a_dialog(qtbot: QtBot, tmp_path: Path, qtlog: Any) -> None:
    settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    offers: list[list[QPushButton]] = []
    for number in range(2):
        made = MainWindow(load_palette("light"), settings, tmp_path / str(number))
        qtbot.addWidget(made)
        try:
            made.show()
            made.begin()
            offers.append(made.statusBar().findChildren(QPushButton))
            if not number:
                (offer,) = offers[0]
                assert offer.isVisible()
                assert offer.focusPolicy() & Qt.FocusPolicy.TabFocus
                QTest.mouseClick(offer, LEFT)
                assert made.tour.active
                assert not offer.isVisible()
        finally:
            made.abandon()
    assert offers[1] == []
    # where it does not fit into the bar, Qt says so to whoever started the program
    assert not [outcome for outcome in qtlog.records if "StatusBar" in outcome.message]


def test_the_card_covers_as_little_as_can_be() -> None:
    rng = np.random.default_rng(3)
    room, size = QRect(0, 0, 800, 600), QSize(200, 120)
    for _ in range(20):
        x, y = (int(c) for c in rng.integers(0, 300, 2))
        wide, high = (int(c) for c in rng.integers(100, 300, 2))
        target = QRect(x, y, wide, high)
        card = QRect(place_beside(size, room, [target]), size)
        assert room.contains(card)
        assert not card.intersects(target)
    half = QRect(0, 0, 800, 580)
    card = QRect(place_beside(size, room, [half]), size)
    assert room.contains(card)
    assert card.bottom() >= 580  # as far off as there is room for
