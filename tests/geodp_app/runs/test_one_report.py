"""One report in words, and in the real window: what it changes in the law of a step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from window_driver import Lasting, action, click, finish_run, key

from geodp import Examples, Frame
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.runs.one_report import OneReport, change_words, find_report
from geodp_app.runs.protocol import Change, WhyNone
from geodp_app.runs.run_log import RunLog
from geodp_app.views.window.main_window import MainWindow
from learners.core.records import inside_piece

TARGET = Drawing(256, (Shape(((40, 40), (200, 40), (200, 150), (40, 150))),))
SAMPLE = Examples(np.array([[10, 10], [50, 60], [52, 60]]), np.array([0, 1, 0]), Frame(256))


def test_the_nearest_example_is_taken_and_elsewhere_one_is_put() -> None:
    assert find_report(SAMPLE, (51, 61), 3.0, False) == OneReport((50, 60), True, True)
    assert find_report(SAMPLE, (53, 60), 3.0, True) == OneReport((52, 60), False, True)
    assert find_report(SAMPLE, (70, 60), 3.0, True) == OneReport((70, 60), True, False)
    assert find_report(SAMPLE, (70, 60), 3.0, False) == OneReport((70, 60), False, False)
    nothing = Examples(np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64), Frame(256))
    assert not find_report(nothing, (1, 2), 9.0, True).present


@pytest.mark.parametrize("chosen", [-0.02, 0.0, 0.1])
def test_the_words_say_the_factors(chosen: float) -> None:
    words = change_words(Change((), chosen, 0.12, 0.0), 0.125, None)
    way = "less" if chosen < 0 else "more"
    assert f"{math.exp(abs(chosen)):.3g}"[:4] in words
    assert f"times {way} likely" in words
    assert f"at most {math.exp(0.125):.3g} times in the whole step (η = 0.125)" in words
    assert "about" not in words
    assert "about" in change_words(Change((), chosen, 0.12, 0.01), 0.125, None)


@pytest.mark.parametrize("reason", ["decided", "outside", "elsewhere"])
def test_a_report_that_changes_nothing_says_why(reason: WhyNone) -> None:
    words = change_words(Change((), 0.0, 0.0, 0.0, reason), 0.125, None)
    assert "changes nothing" in words
    assert "Any report could change a probability at most 1.13 times" in words


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    made = lasting.as_new()
    made.document.edit("draw", TARGET)
    made.document.set_sampling(n=60)
    made.document.set_run(learner="cover", k=2, n_steps=2, epsilon=8.0, seed=4, finish="none")
    return made


def run(qtbot: QtBot, window: MainWindow) -> RunLog:
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    qtbot.waitUntil(lambda: window.display.at_rest)
    log = window.runs.current
    assert log is not None
    window.runs.move_cursor(1)
    qtbot.waitUntil(lambda: window.display.at_rest)
    return log


def ratios(window: MainWindow) -> np.ndarray:
    values = [each.ravel() for each in window.dual.pictures._values.values()]
    found = np.concatenate(values) if values else np.empty(0)
    return found[np.isfinite(found)]


def test_a_click_shows_the_log_ratio_on_a_scale_fixed_at_eta(
    qtbot: QtBot, window: MainWindow
) -> None:
    log = run(qtbot, window)
    action(window, "report")
    eta = log.figures(1).eta
    examples = window.document.work.examples
    held = inside_piece(log.records[0].release.piece[1:], examples.points)
    x, y = examples.points[int(np.flatnonzero(held)[0])].tolist()
    click(window, x, y)
    qtbot.waitUntil(lambda: "times" in window.why.report.text())
    qtbot.waitUntil(lambda: window.display.at_rest)
    assert window.why.report.text().startswith("A ")
    assert f"at ({x}, {y}), one of the sample" in window.why.report.text()
    scale = window.dual.pictures.shade_scale
    assert (scale.low, scale.high, scale.signed) == (-eta, eta, True)
    found = ratios(window)
    assert len(found) > 10
    assert np.abs(found).max() <= eta * (1 + 1e-12)
    assert np.ptp(found) > 0  # it does change something
    assert window.plane.report.ring.getData()[0].tolist() == [x]
    # one that is not there, and the other label
    click(window, 100, 90, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: "A negative report at (100, 90), put there" in window.why.report.text())
    qtbot.waitUntil(lambda: window.display.at_rest)
    assert np.abs(ratios(window)).max() <= eta * (1 + 1e-12)


def test_another_tool_brings_the_shading_and_why_back(qtbot: QtBot, window: MainWindow) -> None:
    run(qtbot, window)
    why = window.why.what.text()
    action(window, "report")
    click(window, 100, 90)
    qtbot.waitUntil(lambda: "times" in window.why.report.text())
    assert not window.why.what.isVisible()
    action(window, "polygon")
    qtbot.waitUntil(lambda: window.display.at_rest)
    assert window.why.report.text() == ""
    assert window.why.what.isVisible()
    assert window.why.what.text() == why
    scale = window.dual.pictures.shade_scale
    assert not scale.signed
    assert window.plane.report.ring.getData()[0] is None or not len(
        window.plane.report.ring.getData()[0]
    )


def test_the_release_view_shows_nothing_of_it(qtbot: QtBot, window: MainWindow) -> None:
    run(qtbot, window)
    action(window, "report")
    click(window, 100, 90)
    qtbot.waitUntil(lambda: "times" in window.why.report.text())
    action(window, "release_view")
    qtbot.waitUntil(lambda: window.display.at_rest)
    assert not window.why.report.isVisible()
    assert not window.plane.report.ring.isVisible()
    assert window.dual.sheets[window.dual.sheet].shading.isVisible() is False


def test_without_a_run_there_is_nothing_to_change(window: MainWindow) -> None:
    window.sample()
    action(window, "report")
    click(window, 100, 90)
    assert "Run the learner first" in window.status_line.text()
    assert window.why.report.text() == ""
