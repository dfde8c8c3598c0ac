"""Edits in the real window: the same points are labelled anew, and a run that was there follows."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot
from step_figures import visible_curves
from window_driver import (
    LEFT,
    NONE,
    Lasting,
    action,
    at,
    drag,
    finish_run,
    key,
    layer,
    log_of,
    painted,
)

from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.runs.protocol import Job
from geodp_app.runs.run_log import RunLog
from geodp_app.views.run.live_run import MOST_KEPT
from geodp_app.views.window.main_window import MainWindow

TARGET = Drawing(256, (Shape(((40, 40), (200, 40), (200, 150), (40, 150))),))
MOVED = Drawing(256, (Shape(((40, 40), (200, 40), (235, 235), (40, 150))),))
DRAWING_CHANGED = "Out of date: the drawing changed"
SETTINGS_CHANGED = "Out of date: the settings changed"


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    return lasting.drawn(TARGET, 3_000)


def run(qtbot: QtBot, window: MainWindow, **settings: object) -> RunLog:
    """Run to the end, by its key."""
    window.document.set_run(
        **{"learner": "tiles", "tiles": 4, "epsilon": 4.0, "seed": 5, **settings}
    )
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    qtbot.waitUntil(lambda: shown(window))
    return log_of(window)


def shown(window: MainWindow) -> bool:
    """Whether every step is drawn; how many pieces would be as good may still be counted."""
    return not (window.display.soon.isActive() or window.dual.pictures.background.busy)


def cover(qtbot: QtBot, window: MainWindow, **settings: object) -> RunLog:
    """A run in a few steps, which waits for an edit to rest; fewer examples make it quick."""
    if window.document.work.examples is None:
        window.document.set_sampling(n=400)
    return run(qtbot, window, learner="cover", k=2, n_steps=3, finish="none", **settings)


def followed(qtbot: QtBot, window: MainWindow, before: RunLog) -> RunLog:
    """The log of the run that follows by itself, at its end."""
    qtbot.waitUntil(lambda: window.runs.current not in (None, before))
    finish_run(qtbot, window)
    qtbot.waitUntil(lambda: shown(window))
    return log_of(window)


def rest(qtbot: QtBot) -> None:
    """Longer than an edit rests before a run follows."""
    qtbot.wait(400)


def is_grey(window: MainWindow) -> bool:
    """Whether all views show something, and all of them in grey."""
    grey = window.palette_now.soft_ink
    assert not painted(window, "region").isEmpty()
    assert visible_curves(window.chart)
    looks = {
        layer(window, "region").pen().color().name().lower() == grey.lower(),
        window.chart.empirical.opts["symbolPen"].color().name().lower() == grey.lower(),
        window.figures.errors.property("past"),
        window.figures.budget.property("past"),
        window.why.what.palette().windowText().color().name().lower() == grey.lower(),
        *(sheet.chosen.past for sheet in window.dual.sheets.values()),
    }
    assert len(looks) == 1
    return looks.pop()


def words(window: MainWindow) -> str:
    return window.plane_pane.note.words


def drag_slowly(
    qtbot: QtBot, window: MainWindow, stops: list[tuple[float, float]], *, drop: bool = True
) -> None:
    """Real mouse events, with time for the learner between them."""
    viewport = window.plane.viewport()
    spots = [at(window, x, y) for x, y in stops]
    QTest.mouseMove(viewport, spots[0])
    QTest.mousePress(viewport, LEFT, NONE, spots[0])
    for spot in spots[1:]:
        QTest.mouseMove(viewport, spot)
        qtbot.wait(30)
    if drop:
        QTest.mouseRelease(viewport, LEFT, NONE, spots[-1])


def test_dragging_a_vertex_labels_the_same_points_anew_and_the_run_follows(qtbot, window):
    first = cover(qtbot, window)
    sample = window.document.work.examples
    assert words(window) == ""
    assert not is_grey(window)
    shown = painted(window, "region")
    key(window, Qt.Key.Key_D)
    drag(window, (200, 150), (220, 200), (235, 235))
    assert window.document.drawing == MOVED
    now = window.document.work.examples
    assert now.points is sample.points
    inside = np.array([MOVED.region().covers(p) for p in points_of(now.points)])
    np.testing.assert_array_equal(now.labels != 0, inside)
    # what was learned before is still there, and grey
    assert words(window) == DRAWING_CHANGED
    assert is_grey(window)
    assert painted(window, "region") == shown
    again = followed(qtbot, window, first)
    assert again.settings == first.settings
    assert len(again.records) == 3
    assert words(window) == ""
    assert not is_grey(window)
    assert painted(window, "region") != shown
    assert again.figures(3).known.empirical_error == pytest.approx(
        np.count_nonzero(again.wrong) / len(inside)
    )


def points_of(points: np.ndarray) -> list[object]:
    import shapely

    return list(shapely.points(points.astype(float)))


def test_tiles_follow_while_the_vertex_is_still_held_and_the_end_is_that_of_the_drop(qtbot, window):
    first = run(qtbot, window)
    document = window.document
    before = document.work
    seen: list[RunLog] = []
    window.runs.changed.connect(lambda _: seen.append(window.runs.log))  # type: ignore[arg-type]
    key(window, Qt.Key.Key_D)
    held = [(200 + 3.5 * i, 150 + 8.5 * i) for i in range(11)]
    drag_slowly(qtbot, window, held, drop=False)
    qtbot.waitUntil(lambda: len({id(log) for log in seen if log.release is not None}) >= 2)
    # the document waits for the drop
    assert (document.work.drawing, document.work.examples) == (before.drawing, before.examples)
    qtbot.waitUntil(lambda: window.runs.log.release is not None)  # type: ignore[union-attr]
    QTest.mouseRelease(window.plane.viewport(), LEFT, NONE, at(window, 235, 235))
    assert document.drawing == MOVED
    last = followed(qtbot, window, first)
    np.testing.assert_array_equal(last.work.examples.labels, document.work.examples.labels)
    assert error(last, MOVED) < 0.06 < error(first, MOVED)
    # what is tried while dragging is in no note, the run that stays is
    assert len(document.work.spent) == (0 if last.settings["seed"] is not None else 1)
    action(window, "undo")
    assert window.runs.current is first
    assert window.plane_pane.note.words == ""


def error(log: RunLog, drawing: Drawing) -> float:
    """Share of the square that is labelled wrong."""
    return log.release.shape().symmetric_difference(drawing.region()).area / 256**2


def test_escape_brings_back_what_was_there_before_the_drag(qtbot, window):
    first = run(qtbot, window)
    key(window, Qt.Key.Key_D)
    drag_slowly(qtbot, window, [(200, 150), (215, 190), (235, 235)], drop=False)
    qtbot.waitUntil(lambda: window.runs.log is not first)
    key(window, Qt.Key.Key_Escape)
    assert window.runs.current is first
    assert window.document.drawing == TARGET
    rest(qtbot)
    assert window.runs.current is first
    assert not is_grey(window)


def test_what_a_run_that_followed_spends_is_noted_with_its_own_labels(qtbot, window):
    first = run(qtbot, window, seed=None)
    assert len(window.document.work.spent) == 1
    window.commands.speed.setCurrentIndex(0)
    states: list[str] = []
    window.runs.controller.state_changed.connect(states.append)
    key(window, Qt.Key.Key_D)
    drag_slowly(qtbot, window, [(200, 150), (215, 190), (235, 235), (235, 235), (235, 235)])
    followed(qtbot, window, first)
    (charge,) = window.document.work.spent
    assert charge.finished
    assert charge.privacy.epsilon == 4.0
    assert "selecting" in states
    assert "waiting" not in states  # tiles follow at full speed, whatever the pace
    action(window, "undo")
    assert len(window.document.work.spent) == 1
    assert window.runs.current is first  # and no run was needed to see it


def test_settings_of_a_run_are_followed(qtbot: QtBot, window: MainWindow) -> None:
    log = cover(qtbot, window)
    for field, value in ((window.settings.epsilon, 2.0), (window.settings.k, 1)):
        field.setValue(value)  # type: ignore[attr-defined]
        assert words(window) == SETTINGS_CHANGED
        assert is_grey(window)
        log = followed(qtbot, window, log)
        assert words(window) == ""
    assert (log.settings["k"], log.settings["epsilon"]) == (1, 2.0)
    # a setting that this learner does not have changes nothing
    window.document.set_run(tiles=7)
    assert words(window) == ""
    rest(qtbot)
    assert window.runs.current is log


def test_the_slider_of_epsilon_is_live_and_one_step_to_undo(qtbot, window):
    log = run(qtbot, window)
    slider = window.settings.epsilon_slider
    assert slider.value() == round(50 * np.log10(4))
    slider.setSliderDown(True)
    for place in range(25, -31, -11):
        slider.setSliderPosition(place)
        qtbot.wait(20)
    slider.setSliderDown(False)
    assert window.document.work.run["epsilon"] == 0.25
    assert window.settings.epsilon.value() == 0.25
    last = followed(qtbot, window, log)
    qtbot.waitUntil(lambda: log_of(window).settings["epsilon"] == 0.25)
    finish_run(qtbot, window)
    assert last is not log
    action(window, "undo")
    assert window.document.work.run["epsilon"] == 4.0
    assert slider.value() == round(50 * np.log10(4))
    assert window.runs.current is log
    slider.setFocus()
    QTest.keyClick(slider, Qt.Key.Key_Right)
    assert window.document.work.run["epsilon"] == 4.2
    window.document.set_run(epsilon=1000.0)
    assert slider.value() == slider.maximum()
    assert window.document.work.run["epsilon"] == 1000.0


def test_the_oldest_of_the_runs_that_are_kept_comes_back(qtbot, window):
    log = first = run(qtbot, window)
    for more in range(MOST_KEPT):
        window.document.set_run(epsilon=5.0 + more)
        log = followed(qtbot, window, log)
    window.document.set_run(epsilon=first.settings["epsilon"])
    assert window.runs.current is first


def test_without_live_the_past_stays_in_grey_until_a_run_is_asked_for(qtbot, window):
    log = cover(qtbot, window)
    live = window.commands.by_id["live"]
    assert live.isChecked()
    action(window, "live")
    assert not live.isChecked()
    window.document.edit("move", MOVED)
    rest(qtbot)
    assert window.runs.current is None  # nothing to export
    assert words(window) == DRAWING_CHANGED
    assert is_grey(window)
    # one can still look back
    made = len(log.records)
    assert window.runs.place == made + 1  # its end
    for step in (made, made - 1):
        action(window, "back")
        assert window.runs.place == step
        assert window.timeline.track.value() == window.runs.course.position(step)
    assert words(window) == DRAWING_CHANGED
    key(window, Qt.Key.Key_F5)
    assert is_grey(window)
    followed(qtbot, window, log)
    assert words(window) == ""
    # and what follows from now on
    window.document.set_run(epsilon=1.0)
    assert is_grey(window)
    last = log_of(window)
    action(window, "live")
    followed(qtbot, window, last)
    assert not is_grey(window)


def test_imported_examples_are_never_run_on_unasked(qtbot: QtBot, window: MainWindow) -> None:
    window.document.set_sampling(n=400)
    window.sample()
    window.document.change("import", examples=window.document.work.examples, simulated=False)
    log = cover(qtbot, window)
    spent = window.document.work.spent
    window.document.edit("move", MOVED)
    assert words(window) == ""  # the drawing does not label them
    window.settings.epsilon.setValue(2.0)
    rest(qtbot)
    assert window.runs.current is log
    assert window.document.work.spent == spent
    assert words(window) == SETTINGS_CHANGED
    assert is_grey(window)
    action(window, "undo")
    assert not is_grey(window)


@pytest.mark.parametrize("end", ["stop", "pause", "never begun"])
def test_a_run_that_nobody_waits_for_does_not_follow(qtbot, window, end):
    window.sample()
    window.document.set_run(learner="cover", k=2, n_steps=3, seed=5)
    if end != "never begun":
        window.commands.speed.setCurrentIndex(0)
        key(window, Qt.Key.Key_F5)
        qtbot.waitUntil(lambda: window.runs.current is not None and log_of(window).cursor == 1)
        window.runs.cancel() if end == "stop" else window.runs.run_or_pause()
        qtbot.waitUntil(lambda: not window.runs.busy)
    log = window.runs.log
    window.document.edit("move", MOVED)
    rest(qtbot)
    assert window.runs.log is log
    assert not window.runs.busy


def test_the_release_view_shows_nothing_of_the_past(qtbot: QtBot, window: MainWindow) -> None:
    cover(qtbot, window)
    action(window, "live")
    action(window, "release_view")
    assert not painted(window, "region").isEmpty()
    window.document.edit("move", MOVED)
    assert words(window) == ""
    assert painted(window, "region").isEmpty()
    assert visible_curves(window.chart) == 0
    assert window.timeline.text() == window.why.heading.text() == "No steps yet"
    action(window, "release_view")
    assert window.timeline.text() == "The end"
    action(window, "reset")
    assert window.timeline.text() == "No steps yet"
    assert words(window) == ""


def test_run_pressed_after_a_setting_changed_begins_no_second_run_and_pauses_none(qtbot, window):
    for learner in ("tiles", "cover"):
        if learner == "cover":
            window.document.set_sampling(n=400)  # its runs take longer
        before = run(qtbot, window, learner=learner, k=2, n_steps=3, seed=None)
        spent = len(window.document.work.spent)
        window.document.set_run(epsilon=7.0)
        qtbot.waitUntil(lambda: window.runs.log is not before)  # noqa: B023
        key(window, Qt.Key.Key_F5)
        finish_run(qtbot, window)
        assert log_of(window).settings["epsilon"] == 7.0
        assert len(window.document.work.spent) == spent + 1


def test_the_next_run_of_a_drag_is_on_its_way_before_the_result_of_the_last_is_shown(qtbot, window):
    run(qtbot, window)
    runs = window.runs
    runs.until_overdue.setInterval(60_000)  # a run that takes long would be shown as it goes
    shown: list[tuple[bool, bool]] = []

    def look(_: bool) -> None:
        if runs.shown.log is first:  # the next one may be over in a moment
            shown.append((first.release is not None, runs.going))

    key(window, Qt.Key.Key_D)
    drag_slowly(qtbot, window, [(200, 150), (215, 190)], drop=False)
    qtbot.waitUntil(lambda: runs.going)
    first, runs.dragged = runs.log, MOVED  # where the hand is when that run ends
    runs.changed.connect(look)
    qtbot.waitUntil(lambda: runs.log is not first)
    # all that the views were told of the first is its result, and the learner was at work by then
    assert shown
    assert set(shown) == {(True, True)}
    key(window, Qt.Key.Key_Escape)


def test_a_cover_is_prepared_for_while_nothing_changes_and_no_run_is_there(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[Job] = []
    controller, document = window.runs.controller, window.document
    plain = controller.expect
    monkeypatch.setattr(controller, "expect", lambda job: (prepared.append(job), plain(job)))
    document.set_run(learner="tiles", tiles=4)
    document.sample()
    rest(qtbot)
    document.set_run(learner="cover", k=2, finish="none")
    qtbot.waitUntil(lambda: len(prepared) == 1)
    # whatever it is prepared for, the run is about what is there
    document.set_run(epsilon=2.0)
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    assert prepared[0].settings["epsilon"] == 1.0
    assert log_of(window).settings["epsilon"] == 2.0
    window.runs.reset()
    qtbot.waitUntil(lambda: len(prepared) >= 2)
    assert prepared[-1].same(Job.of(document.work))
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    assert log_of(window).release is not None
