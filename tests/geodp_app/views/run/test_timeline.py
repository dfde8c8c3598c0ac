"""The timeline, driven by a real mouse and keys."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from geodp_app.palette import load_palette
from geodp_app.runs.figures import Selecting
from geodp_app.views.run.timeline import Course, Stop, Timeline
from learners.core.selection import SelectionProgress

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def timeline(qtbot) -> Timeline:
    made = Timeline()
    qtbot.addWidget(made)
    made.resize(900, 40)
    made.show()
    qtbot.waitExposed(made)
    return made


def course(made: int, whole: int, *, over: bool = False) -> Course:
    """Of a run with so many steps made, of how many; its end is one stop more."""
    stops = [Stop(0, f"Before step 1 of {whole}")]
    stops += [Stop(step, f"Step {step} of {whole}") for step in range(1, made + 1)]
    if over:
        stops.append(Stop(made + 1, "The end"))
    return Course(tuple(stops), whole, whole + 1 if whole else 0)


def moves(timeline: Timeline) -> list[int]:
    steps: list[int] = []
    timeline.cursor_moved.connect(steps.append)
    return steps


def click(widget: QWidget, at: QPoint | None = None) -> None:
    QTest.mouseClick(widget, LEFT, pos=at or widget.rect().center())


def on_track(timeline: Timeline, step: float) -> QPoint:
    return QPoint(round(timeline.track.x_of(step)), timeline.track.height() // 2)


def test_without_a_run_nothing_can_be_pressed(timeline: Timeline) -> None:
    assert timeline.text() == "No steps yet"
    for button in (timeline.back, timeline.forward, timeline.play):
        assert not button.isEnabled()
    steps = moves(timeline)
    click(timeline.track, QPoint(200, 15))
    assert steps == []


def test_back_and_forward_go_by_one_and_stop_at_the_ends(timeline: Timeline) -> None:
    timeline.set_run(course(2, 12), 1)
    steps = moves(timeline)
    click(timeline.forward)
    assert not timeline.forward.isEnabled()
    click(timeline.forward)
    for _ in range(3):
        click(timeline.back)
    assert steps == [2, 1, 0]
    assert timeline.text() == "Before step 1 of 12. Made so far: Step 2 of 12"


def test_a_click_on_the_track_goes_straight_to_a_step_that_was_made(timeline: Timeline) -> None:
    timeline.set_run(course(8, 12), 8)
    steps = moves(timeline)
    click(timeline.track, on_track(timeline, 3.2))
    assert timeline.text() == "Step 3 of 12. Made so far: Step 8 of 12"
    click(timeline.track, on_track(timeline, 11))
    assert steps == [3, 8]


def test_dragging_scrubs(timeline: Timeline) -> None:
    timeline.set_run(course(8, 12), 8)
    steps = moves(timeline)
    track = timeline.track
    QTest.mousePress(track, LEFT, pos=on_track(timeline, 2))
    for step in (2.2, 3, 4):
        QTest.mouseMove(track, on_track(timeline, step))
    QTest.mouseRelease(track, LEFT, pos=on_track(timeline, 4))
    assert steps == [2, 3, 4]


def test_keys_move_the_track(timeline: Timeline) -> None:
    timeline.set_run(course(8, 12), 4)
    steps = moves(timeline)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Home, Qt.Key.Key_End):
        QTest.keyClick(timeline.track, key)
    assert steps == [5, 4, 0, 8]


def test_showing_a_run_emits_nothing(timeline: Timeline) -> None:
    steps = moves(timeline)
    timeline.set_run(course(8, 12), 3)
    timeline.set_run(course(2, 12), 1)
    assert timeline.track.value() == 1
    timeline.set_run(Course(), 0)
    assert timeline.track.value() == 0
    assert steps == []


def test_play_shows_the_steps_again_up_to_the_last(timeline: Timeline, qtbot) -> None:
    timeline.set_run(course(8, 8, over=True), 6)
    timeline.player.setInterval(5)
    steps, asked = moves(timeline), []
    timeline.play_asked.connect(lambda: asked.append(True))
    click(timeline.play)
    assert timeline.player.isActive()
    qtbot.waitUntil(lambda: not timeline.player.isActive())
    assert steps == [7, 8, 9]
    assert timeline.text() == "The end"
    assert asked == []
    # a finished run at its end: play must not begin another run, which would spend epsilon
    assert not timeline.play.isEnabled()


def test_play_can_be_paused(timeline: Timeline) -> None:
    timeline.set_run(course(8, 8, over=True), 0)
    click(timeline.play)
    assert timeline.play.accessibleName() == "Pause"
    click(timeline.play)
    assert not timeline.player.isActive()
    assert timeline.play.accessibleName() == "Play from here"


def test_at_the_last_step_made_play_asks_for_the_next_one(timeline: Timeline) -> None:
    timeline.set_run(course(3, 12), 3)
    asked: list[bool] = []
    timeline.play_asked.connect(lambda: asked.append(True))
    assert timeline.play.accessibleName() == "Run on"
    click(timeline.play)
    assert asked == [True]
    timeline.set_run(course(3, 12), 3, playing=True)
    assert timeline.play.accessibleName() == "Pause"
    click(timeline.play)
    assert asked == [True, True]
    assert not timeline.player.isActive()


def test_play_asks_for_nothing_of_a_run_that_cannot_go_on(timeline: Timeline) -> None:
    timeline.set_run(course(3, 12), 3, goes_on=False)
    assert not timeline.play.isEnabled()
    timeline.set_run(course(3, 12), 2, goes_on=False)
    assert timeline.play.isEnabled()
    assert timeline.play.accessibleName() == "Play from here"


def test_a_selection_under_way_moves_and_tells_how_far_it_is(timeline: Timeline, qtbot) -> None:
    timeline.set_run(course(3, 12), 3)
    timeline.set_selecting(Selecting(4, SelectionProgress(12430, 8112, 0.0), 1.2))
    assert "12,430 trials, 8,112 boxes" in timeline.text()
    assert timeline.note.text() == timeline.note.toolTip()
    assert timeline.track.clock.isActive()
    phase = timeline.track.phase
    qtbot.waitUntil(lambda: timeline.track.phase > phase)
    timeline.set_selecting(None)
    assert not timeline.track.clock.isActive()
    assert timeline.text() == "Step 3 of 12"


def test_the_track_stays_put_while_words_come_and_go(timeline: Timeline, qtbot) -> None:
    timeline.set_run(course(3, 12), 3)
    qtbot.wait(10)
    before = timeline.track.geometry()
    timeline.set_selecting(Selecting(4, SelectionProgress(1_234_567, 81_120, 0.0), 12.0))
    qtbot.wait(10)
    assert timeline.track.geometry() == before
    for step in range(3):
        timeline.set_run(course(3, 12), step)
        qtbot.wait(10)
        assert timeline.track.geometry() == before


@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize(
    "run",
    [
        (Course(), 0), (course(0, 5), 0), (course(5, 5, over=True), 6), (course(130, 1000), 77),
        (replace(course(130, 200), first=8, sharpens=True), 9),
    ],
)  # fmt: skip
def test_every_run_can_be_drawn_at_every_width(timeline: Timeline, name, run) -> None:
    timeline.set_palette(load_palette(name))
    timeline.set_run(*run)
    for width in (260, 900):
        timeline.resize(width, 40)
        assert not timeline.grab().isNull()
    assert timeline.track.width() > 100
