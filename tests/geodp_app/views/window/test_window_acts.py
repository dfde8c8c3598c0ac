"""A run as a stranger sees it: triangles, their edges drawn again, and an end that tells all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QToolBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot
from window_driver import (
    LEFT,
    action,
    at,
    badges,
    finish_run,
    key,
    lit_edge,
    log_of,
    open_window,
    painted,
    point_at,
    said,
    settle,
    wait,
)

from assets import Example
from geodp_app.document import targets
from geodp_app.dual.sheets import dual_position
from geodp_app.formatting import count, percentage
from geodp_app.palette import edge_colours, load_palette
from geodp_app.runs.course import Course
from geodp_app.runs.protocol import Progressed
from geodp_app.runs.run_log import RunLog
from geodp_app.runs.why import published_words
from geodp_app.views.window.main_window import MainWindow
from geometry.polygons import piece_sides
from learners.core.records import halfplanes_of
from learners.core.releases import SharpenedRelease
from learners.core.selection import HeavyBox, SelectionProgress

#: Examples, fewer than it opens with, and the triangles that its drawing's run makes.
FEW, TRIANGLES = 8_000, 4
COLOURS = edge_colours(load_palette("light"))
#: Words that no release has.
PRIVATE = ("positive", "negative", "wrong", "score", "likely", "example")


def start(folder: Path, finish: str) -> Iterator[MainWindow]:
    """A window as it opens, but for the number of examples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targets, "example", lambda name: Example(FEW, finish=finish))  # type: ignore[arg-type]
        with open_window(folder) as made:
            made.files.begin_with_example(None)
            yield made


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[MainWindow]:
    yield from start(tmp_path, "none")


@pytest.fixture(scope="module")
def first(
    qapp: QApplication, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MainWindow]:
    """After Run was pressed."""
    for window in start(tmp_path_factory.mktemp("window"), "none"):
        press_run(window)
        finish_run(QtBot(request), window)
        settle(QtBot(request), window)
        yield window


@pytest.fixture
def ran(qtbot: QtBot, first: MainWindow) -> MainWindow:
    """That window in the curator's view at the end of its run."""
    first.show()
    first.activateWindow()
    first.set_release_view(False)
    first.runs.show_end()
    settle(qtbot, first)
    return first


def press_run(window: MainWindow) -> None:
    made = window.commands.by_id["run"]
    bars = window.findChildren(QToolBar)
    (button,) = (button for bar in bars if (button := bar.widgetForAction(made)) is not None)
    QTest.mouseClick(button, LEFT)


def shown_numbers(window: MainWindow) -> list[str]:
    """Of pieces, on the plane."""
    return [badge.text for badge in badges(window) if badge.main]


def numbers(steps: int) -> list[str]:
    """Numbers of the first triangles, also of those that hold nothing."""
    return [str(step) for step in range(1, steps + 1)]


def check_step(window: MainWindow, step: int) -> None:
    """What there is to see of a triangle: lines, shading, numbers and a sentence."""
    log = log_of(window)
    assert (log.cursor, log.at_end) == (step, False)
    assert window.timeline.words.text() == f"Triangle {step} of {TRIANGLES}"
    assert window.dual.pictures.lines is not None
    assert window.dual.note
    assert window.dual.pictures.shade_scale is not None
    assert shown_numbers(window) == numbers(step)
    piece = halfplanes_of(log.record(step).release.piece)
    sides = piece_sides(piece, log.grid)
    numbered = [(str(i + 1), COLOURS[i]) for i, side in enumerate(sides) if side]
    assert [(b.text, b.colour) for b in badges(window) if not b.main] == numbered
    card = window.why
    assert card.heading.text() == f"Triangle {step} of {TRIANGLES}, and why"
    assert card.what.isVisible()
    assert card.what.text().startswith(("Covers ", "Found nothing: "))


def test_every_step_of_the_first_act_shows_lines_shading_numbers_and_why(
    qtbot: QtBot, fresh: MainWindow
) -> None:
    window = fresh
    for step in range(1, TRIANGLES + 1):
        key(window, Qt.Key.Key_F10)
        wait(qtbot, lambda step=step: window.runs.place >= step and not window.runs.busy)  # type: ignore[misc]
        settle(qtbot, window)
        if step == TRIANGLES:  # it is over
            assert log_of(window).at_end
            action(window, "back")
            settle(qtbot, window)
        check_step(window, step)
        card, log = window.why, log_of(window)
        known = log.records[-1].diagnostics
        left = known.positives_alive - known.positives_taken
        assert card.aim.isVisible() == (step < TRIANGLES)
        if step < TRIANGLES:
            assert card.aim.text().startswith(
                f"Next: a triangle with as many of the {count(left)} uncovered positives and "
                "as few negatives as possible."
            )
            # while the next one is drawn nothing of it goes: the sampler's search was not asked for
            before = (window.dual.pictures.rasters, window.dual.pictures.shade_scale)
            boxes = (HeavyBox((0,), ((0, 9, 0, 9),), 1.0),)
            density = ((0, np.ones((4, 4), dtype=np.float32)),)
            news = Progressed(
                step + 1, SelectionProgress(7, 8, 0.0), 9.0, views=boxes, density=density
            )
            window.runs.progressed.emit(news)
            assert "7 trials" in window.timeline.text()
            assert (window.dual.pictures.rasters, window.dual.pictures.shade_scale) == before
            check_step_pictures(window)
    # back to the first, and forth
    for step in range(TRIANGLES, 0, -1):
        settle(qtbot, window)
        check_step(window, step)
        action(window, "back")
    assert window.timeline.words.text() == f"Before triangle 1 of {TRIANGLES}"
    assert badges(window) == ()


def check_step_pictures(window: MainWindow) -> None:
    assert window.dual.pictures.lines is not None
    assert window.dual.pictures.shade_scale is not None


def written(window: MainWindow) -> list[str]:
    """Numbers beside the points of all sheets in sight."""
    sheets = [sheet for sheet in window.dual.sheets.values() if sheet.isVisible()]
    return [words for sheet in sheets for words, _ in sheet.chosen.written(QFont())]


def test_the_end_has_every_triangles_number_in_both_planes_and_tells_the_story(
    ran: MainWindow,
) -> None:
    window, log = ran, log_of(ran)
    assert log.at_end
    assert window.timeline.text() == "The end"
    assert shown_numbers(window) == numbers(TRIANGLES)
    assert [badge for badge in badges(window) if not badge.main] == []
    assert not painted(window, "earlier").isEmpty()
    assert painted(window, "newest").isEmpty()
    assert not painted(window, "region").isEmpty()
    assert window.dual.stack.shown == frozenset(window.dual.sheets)
    points = [f"{step}.{edge}" for step in range(1, TRIANGLES + 1) for edge in (1, 2, 3)]
    assert sorted(written(window)) == points
    assert window.dual.pictures.lines is not None
    outcome = window.why.what.text()
    assert window.why.heading.text() == "The end"
    assert outcome.startswith(f"{TRIANGLES} triangles cover the shape")
    for gain in log.gains:
        assert (count(gain) if gain else "none") in outcome
    end = log.figures(TRIANGLES)
    assert f"Wrong at the end: {percentage(end.errors[1])} of the examples" in outcome
    assert f"{percentage(end.test_error)} of others" in outcome
    assert f"May be published: {TRIANGLES} triangles and noisy counts." in outcome
    assert outcome.endswith("ε = 1 is spent.")
    assert "paper" not in outcome


def buttons(window: MainWindow) -> dict[str, QWidget]:
    row = window.why.buttons
    found = [*row.findChildren(QPushButton), *row.findChildren(QToolButton)]
    return {button.text(): button for button in found if button.isVisible()}


def test_what_to_do_next_is_there_as_buttons_at_the_end_alone(ran: MainWindow) -> None:
    names = [ran.commands.by_id[name].iconText() for name in ("export_learned", "release_view")]
    assert set(buttons(ran)) == {*names, "Run again", "Sharpen"}
    size = ran.size()
    ran.resize(1360, 860)
    QApplication.processEvents()
    for name, button in buttons(ran).items():
        assert button.width() >= button.sizeHint().width(), name
    ran.resize(size)
    action(ran, "back")
    assert buttons(ran) == {}


def test_the_release_view_of_the_end_has_no_private_words(qtbot: QtBot, ran: MainWindow) -> None:
    window, log = ran, log_of(ran)
    assert log.release is not None
    before = sorted(written(window))
    QTest.mouseClick(buttons(window)[window.commands.by_id["release_view"].iconText()], LEFT)
    settle(qtbot, window)
    outcome = window.why.what.text()
    assert outcome == published_words(log.release)
    assert window.why.what.isVisible()
    for text in (outcome, window.timeline.text(), window.dual.readout.text()):
        assert not [word for word in PRIVATE if word in text.lower()], text
    assert not window.why.mark.isVisible()
    assert shown_numbers(window) == numbers(TRIANGLES)
    assert sorted(written(window)) == before
    assert window.dual.pictures.lines is None
    assert window.timeline.track.gains == ()
    for step in range(TRIANGLES, -1, -1):
        action(window, "back")
        assert window.runs.place == step
        assert not window.why.aim.isVisible()
        assert "private" in window.why.what.text()
    action(window, "release_view")


def test_an_edge_and_its_point_are_lit_together(qtbot: QtBot, ran: MainWindow) -> None:
    window, log = ran, log_of(ran)
    window.runs.move_cursor(1)
    settle(qtbot, window)
    piece = halfplanes_of(log.record(1).release.piece)
    sides = piece_sides(piece, log.grid)
    lit = 0
    for edge, (halfplane, side) in enumerate(zip(piece, sides, strict=True)):
        window.dual.show_sheet(halfplane.sheet)
        settle(qtbot, window)
        sheet = window.dual.sheets[halfplane.sheet]
        if side is not None:
            (x0, y0), (x1, y1) = side
            spot = at(window, (x0 + x1) / 2, (y0 + y1) / 2)
            QTest.mouseMove(window.plane.viewport(), spot)
            assert lit_edge(window) == edge
            assert sheet.pointer.halfplane == dual_position(halfplane)
            corner = at(window, 1, log.grid - 1)
            QTest.mouseMove(window.plane.viewport(), corner)
            assert lit_edge(window) == -1
            assert sheet.pointer.halfplane is None
            lit += 1
        point_at(qtbot, sheet, *dual_position(halfplane))
        assert lit_edge(window) == edge
        point_at(qtbot, sheet, log.grid / 2, log.grid / 2)
        assert lit_edge(window) in {-1, *range(3)}
    assert lit


def nobody_there(log: RunLog, step: int) -> bool:
    """Whether a step is about an edge that no example is nearest to."""
    known = log.records[step - 1].diagnostics
    return step > log.triangles and not known.positives_alive + known.negatives_alive


def test_sharpen_runs_a_second_time_and_no_empty_zone_is_ever_shown(
    qtbot: QtBot, fresh: MainWindow
) -> None:
    window = fresh
    press_run(window)
    finish_run(qtbot, window)
    settle(qtbot, window)
    once = log_of(window)
    assert not isinstance(once.release, SharpenedRelease)
    seen: list[tuple[int, bool]] = []

    def look() -> None:
        log = window.runs.current
        if log is not None and log is not once:
            seen.append((log.cursor, log.at_end))
            assert log.at_end or not log.cursor or not nobody_there(log, log.cursor)

    window.display.shown.connect(look)
    QTest.mouseClick(window.why.sharpen, LEFT)
    wait(qtbot, lambda: window.runs.current is not once)
    finish_run(qtbot, window)
    settle(qtbot, window)
    log = log_of(window)
    assert isinstance(log.release, SharpenedRelease)
    assert window.document.work.run["finish"] == "sharpen"
    assert len(window.document.work.spent) == 2
    assert seen[-1] == (len(log.records), True)
    assert len({step for step, _ in seen}) > 1
    assert not window.why.sharpen.isVisible()
    # the end has the triangles' numbers still, and both errors
    assert shown_numbers(window) == numbers(TRIANGLES)
    assert len(written(window)) == 3 * TRIANGLES
    outcome = window.why.what.text()
    after = percentage(log.figures(TRIANGLES).errors[1])
    end = percentage(log.figures(len(log.records)).errors[1])
    assert f"Wrong after the triangles: {after}. Wrong at the end: {end} of the examples" in outcome
    assert "their edges drawn again" in outcome
    # through all stops, closed and opened
    for stops in (TRIANGLES + 3, None):
        if stops is None:
            QTest.mouseClick(window.timeline.edges, LEFT)
        course = window.runs.course
        assert stops in (None, len(course.stops))
        seen.clear()
        for stop in reversed(course.stops[:-1]):
            action(window, "back")
            assert window.runs.place == stop.step
            assert window.timeline.words.text() == stop.title
        assert [step for step, _ in seen] == [stop.step for stop in reversed(course.stops[:-1])]
        window.runs.show_end()
    window.display.shown.disconnect(look)


def test_a_single_step_in_the_second_act_is_an_edge(qtbot: QtBot, fresh: MainWindow) -> None:
    window = fresh
    window.document.set_sampling(n=3_000)
    window.document.set_run(finish="sharpen")
    rested: list[int] = []
    while not (rested and log_of(window).release is not None):
        made = 0 if not rested else len(log_of(window).records)
        key(window, Qt.Key.Key_F10)
        wait(
            qtbot,
            lambda made=made: (  # type: ignore[misc]
                window.runs.current is not None
                and len(window.runs.current.records) > made
                and not window.runs.busy
            ),
        )
        settle(qtbot, window)
        rested.append(window.runs.place)
    log = log_of(window)
    stops = [stop.step for stop in Course.of(log, opened=True).stops[1:]]
    # the last edge and the end come together
    assert rested[:-1] == stops[: len(rested) - 1]
    assert rested[-1] == stops[-1] == len(log.records) + 1
    assert len(stops) - len(rested) in (0, 1)
    edges = [log.record(step).release.zone.edge_number for step in rested[TRIANGLES:-1]]  # type: ignore[union-attr]
    assert edges == sorted(set(edges))


def ask_for(window: MainWindow, n: int) -> None:
    """Another number of examples, typed."""
    field = window.settings.count
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, str(n))
    QTest.keyClick(field, Qt.Key.Key_Return)
    examples = window.document.work.examples
    assert len(examples.points) == n


def test_before_a_run_of_too_few_examples_it_says_how_many_would_do(
    qtbot: QtBot, fresh: MainWindow
) -> None:
    window = fresh
    ask_for(window, 30_000)
    assert said(window, "warning") == ""
    ask_for(window, 1_000)
    outcome = said(window, "warning")
    assert outcome.startswith("With so few examples at this ε up to ")
    assert f"of the {TRIANGLES} triangles may find nothing" in outcome
    would_do = int(outcome.split(": ")[1].split(" would do")[0].replace(",", ""))
    ask_for(window, would_do)
    assert said(window, "warning") == ""
