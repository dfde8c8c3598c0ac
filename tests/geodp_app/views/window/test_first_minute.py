"""The first minute: the window opens and runs, and whatever is seen can be asked why."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QRect, Qt
from PySide6.QtGui import QFont, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QScrollArea, QToolBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot
from window_driver import (
    LEFT,
    NONE,
    Lasting,
    action,
    at,
    finish_run,
    front,
    hover as move_to,
    key,
    log_of,
    open_window,
    painted,
    pixel,
    point_at,
)

from assets import Example
from geodp_app.document import targets
from geodp_app.dual.sheets import dual_position, nearest_halfplane
from geodp_app.formatting import count, percentage
from geodp_app.palette import edge_colours, load_palette
from geodp_app.runs.odds import Candidate, WhatIf
from geodp_app.runs.protocol import Progressed
from geodp_app.runs.questions import shade_question
from geodp_app.runs.run_log import RunLog
from geodp_app.runs.why import published_words
from geodp_app.views.dual.sheet_stack import SheetView
from geodp_app.views.run.live_run import LiveRun
from geodp_app.views.run.timeline import Course
from geodp_app.views.window.main_window import MainWindow
from geometry.halfplane import Halfplane
from geometry.polygons import piece_sides
from learners.core.records import TileStep, halfplanes_of, piece_shape, predict_pieces
from learners.core.releases import SharpenedRelease
from learners.core.selection import HeavyBox, SelectionProgress

#: Examples, fewer than it opens with, and the triangles that its drawing's run makes.
FEW, TRIANGLES = 8_000, 4
COLOURS = edge_colours(load_palette("light"))
#: Words that no release has.
PRIVATE = ("positive", "negative", "wrong", "score", "likely", "example")


def begin(window: MainWindow, finish: str) -> MainWindow:
    """As it opens, but for the number of examples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targets, "example", lambda name: Example(FEW, finish=finish))  # type: ignore[arg-type]
        window.files.begin_with_example(None)
    return window


@pytest.fixture
def fresh(lasting: Lasting) -> MainWindow:
    front(lasting.window)
    return begin(lasting.as_new(), "none")


def after_run(
    request: pytest.FixtureRequest, factory: pytest.TempPathFactory, finish: str
) -> Iterator[MainWindow]:
    """A window of its own after Run was pressed."""
    with open_window(factory.mktemp("window")) as made:
        press_run(begin(made, finish))
        finish_run(QtBot(request), made)
        settle(QtBot(request), made)
        yield made


@pytest.fixture(scope="module")
def first(
    qapp: QApplication, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MainWindow]:
    """After a run of triangles alone."""
    yield from after_run(request, tmp_path_factory, "none")


@pytest.fixture(scope="module")
def sharp(
    qapp: QApplication, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MainWindow]:
    """After one whose edges were drawn again."""
    yield from after_run(request, tmp_path_factory, "sharpen")


@pytest.fixture
def window(first: MainWindow, qtbot: QtBot) -> MainWindow:
    """The same window with nothing pointed at, tried or hidden, at the end where it rested."""
    return stand(qtbot, first, len(log_of(first).records) + 1)


def gained(window: MainWindow) -> list[int]:
    """Steps that can be asked about."""
    return [n for n, gain in enumerate(log_of(window).gains, start=1) if gain]


@pytest.fixture
def triangle(first: MainWindow, qtbot: QtBot) -> MainWindow:
    """At the last triangle that gained."""
    return stand(qtbot, first, max(gained(first)))


@pytest.fixture
def zone(sharp: MainWindow, qtbot: QtBot) -> MainWindow:
    """At the zone that gained and is divided most evenly, since next to a sliver all other pieces
    may be empty.
    """
    zones = [n for n in gained(sharp) if n > TRIANGLES]
    return stand(qtbot, sharp, max(zones, key=lambda n: smaller(log_of(sharp), n)))


@pytest.fixture(params=["triangle", "zone"])
def asked(request: pytest.FixtureRequest) -> MainWindow:
    window: MainWindow = request.getfixturevalue(request.param)
    return window


def smaller(log: RunLog, step: int) -> float:
    """The smaller area of a zone's two parts, by shapely; 0 if all of it has one label."""
    release = log.records[step - 1].release
    assert isinstance(release, TileStep)
    if not release.piece:
        return 0.0
    inside = release.tile.piece_polygon(halfplanes_of(release.piece)).area
    return min(inside, release.tile.piece_polygon(()).area - inside)


def stand(qtbot: QtBot, first: MainWindow, step: int) -> MainWindow:
    front(first).resize(1280, 800)
    qtbot.wait(100)
    first.set_release_view(False)
    log = log_of(first)
    first.runs.move_cursor(step)
    first.dual.controls.choose("score", 0)
    settle(qtbot, first)
    leave(large(first))
    first.dual.pointer.try_halfplane(None)
    first.dual.fit()
    if log.newest_piece:
        first.dual.show_sheet(log.newest_piece[0].sheet)
    settle(qtbot, first)
    return first


def settle(qtbot: QtBot, window: MainWindow) -> None:
    """Until all is drawn that was asked for, and no piece flashes."""
    qtbot.wait(60)
    qtbot.waitUntil(lambda: window.display.at_rest and not window.plane.learned.flash.isActive())


def large(window: MainWindow) -> SheetView:
    return window.dual.sheets[window.dual.sheet]


def hover(qtbot: QtBot, sheet: SheetView, spot: QPoint) -> None:
    """Move the pointer there, and have it told what is there."""
    move_to(qtbot, sheet, spot)
    sheet.plot.viewport().window().dual.pointer.look()  # a busy machine would do so later
    qtbot.wait(60)


def leave(sheet: SheetView) -> None:
    """The pointer leaves the plot."""
    QApplication.sendEvent(sheet.plot, QEvent(QEvent.Type.Leave))
    sheet.plot.viewport().window().dual.pointer.look()
    QTest.qWait(60)


def chosen(window: MainWindow) -> Halfplane:
    """The newest piece's halfplane that is asked about."""
    return log_of(window).newest_piece[window.dual.controls.edge]


def judged(window: MainWindow, halfplane: Halfplane) -> Candidate:
    """What a judge of our own says of it."""
    log, edge = log_of(window), window.dual.controls.edge
    return WhatIf(shade_question(log, log.cursor, edge), log.newest_piece, edge).judge(halfplane)


def ghost(window: MainWindow) -> tuple[float, ...]:
    """West, south, east, north of the ghost on the plane; nothing if there is none."""
    path = painted(window, "pointed")
    box = path.boundingRect()
    return () if path.isEmpty() else (box.left(), box.top(), box.right(), box.bottom())


def bounds(window: MainWindow, candidate: Candidate) -> tuple[float, ...]:
    """The same of a candidate's piece, in the zone of its edge if it has one, by shapely."""
    release = log_of(window).records[log_of(window).cursor - 1].release
    if isinstance(release, TileStep):
        shape = release.tile.piece_polygon(halfplanes_of(candidate.piece))
    else:
        shape = piece_shape(candidate.piece, window.document.drawing.grid)
    return () if shape.is_empty else shape.bounds


def seen(window: MainWindow) -> np.ndarray:
    """All that is under the tool bars, with the focus on the plane: shape (h, w, 4)."""
    window.plane.setFocus()
    image = window.centralWidget().grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    flat = np.frombuffer(image.constBits(), dtype=np.uint8)
    return flat.reshape(image.height(), image.width(), 4).astype(np.int16)


def still(qtbot: QtBot, window: MainWindow) -> np.ndarray:
    """What is seen once it stays so for a while: a busy machine draws late."""
    settle(qtbot, window)
    shown = [seen(window)]

    def stays() -> bool:
        shown.append(seen(window))
        return differs(shown[-2], shown[-1]) == ""

    qtbot.wait(300)
    while not stays():
        qtbot.wait(300)
    return shown[-1]


def differs(one: np.ndarray, other: np.ndarray) -> str:
    """Where pixels differ by more than rounding where edges are smoothed; nothing if none does."""
    if one.shape != other.shape:
        return f"{one.shape} and {other.shape} pixels"
    rows, columns = np.nonzero(np.abs(one - other).max(axis=2) > 8)
    if not len(rows):
        return ""
    left, top, right, bottom = columns.min(), rows.min(), columns.max(), rows.max()
    return f"{len(rows)} pixels within {left}..{right}, {top}..{bottom}"


def press_run(window: MainWindow) -> None:
    made = window.commands.by_id["run"]
    bars = window.findChildren(QToolBar)
    (button,) = (button for bar in bars if (button := bar.widgetForAction(made)) is not None)
    QTest.mouseClick(button, LEFT)


def shown_numbers(window: MainWindow) -> list[str]:
    """Of pieces, on the plane."""
    return [badge.text for badge in window.plane.learned.numbers.badges if badge.main]


def numbers(steps: int) -> list[str]:
    """Numbers of the first triangles, also of those that hold nothing."""
    return [str(step) for step in range(1, steps + 1)]


def written(window: MainWindow) -> list[str]:
    """Numbers beside the points of all sheets in sight."""
    sheets = [sheet for sheet in window.dual.sheets.values() if sheet.isVisible()]
    return [words for sheet in sheets for words, _ in sheet.chosen.written(QFont())]


def buttons(window: MainWindow) -> dict[str, QWidget]:
    row = window.why.buttons
    found = [*row.findChildren(QPushButton), *row.findChildren(QToolButton)]
    return {button.text(): button for button in found if button.isVisible()}


# -- what is there after a minute ------------------------------------------------------------------


def test_a_run_rests_at_its_end_and_its_second_act_is_one_block(qtbot, window, sharp):
    work = window.document.work
    assert (work.run.learner, work.run["k"], work.k_drawn) == ("cover", 2, True)
    for shown in (window, stand(qtbot, sharp, len(log_of(sharp).records) + 1)):
        log, track = log_of(shown), shown.timeline.track
        zones = len(log.release.zones) if isinstance(log.release, SharpenedRelease) else 0
        # one or several for each of the triangles' edges
        assert zones == 0 if shown is window else 3 * TRIANGLES <= zones <= 15 * TRIANGLES
        kinds = [isinstance(r.release, TileStep) for r in log.records]
        assert kinds == [False] * TRIANGLES + [True] * zones  # two triangles for each of k
        assert len(log.records) == log.planned
        gains, again = log.gains[:TRIANGLES], log.gains[TRIANGLES:]
        assert sum(gains) > FEW / 20
        assert log.at_end
        assert track.gains == (*gains, *([sum(again)] if zones else []), 0)
        assert track.value() == track.maximum() == TRIANGLES + 1 + (zones > 0)
        assert shown.timeline.text() == "The end"


def test_the_large_sheet_is_large_in_a_small_window(qtbot, window):
    window.runs.move_cursor(1)
    settle(qtbot, window)
    assert (window.width(), window.height()) == (1280, 800)
    room = large(window).size()
    assert room.width() >= 420
    assert room.height() >= 420
    assert window.why.what.isVisible()
    assert window.chart.isVisible()


def test_why_is_read_without_scrolling_in_every_step(qtbot, window, sharp):
    for shown, from_step in ((window, 0), (sharp, TRIANGLES + 1)):
        log, room = log_of(front(shown)), shown.why.findChild(QScrollArea)
        assert room is not None
        for step in range(from_step, log.planned + 1):
            shown.runs.move_cursor(step)
            if step <= TRIANGLES or step == log.planned:
                settle(qtbot, shown)
            else:
                QApplication.processEvents()  # nothing is said later of a zone: see the last one
            # of a zone's law no share is known
            assert shown.why.odds.isVisible() == (0 < step <= TRIANGLES)
            assert room.verticalScrollBar().maximum() == 0, shown.why.what.text()


# -- step by step ----------------------------------------------------------------------------------


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
    assert [
        (b.text, b.colour) for b in window.plane.learned.numbers.badges if not b.main
    ] == numbered
    card = window.why
    assert card.heading.text() == f"Triangle {step} of {TRIANGLES}, and why"
    assert card.what.isVisible()
    assert card.what.text().startswith(("Covers ", "Found nothing: "))


def test_every_step_of_the_first_act_shows_lines_shading_numbers_and_why(qtbot, fresh):
    window = fresh
    for step in range(1, TRIANGLES + 1):
        key(window, Qt.Key.Key_F10)
        qtbot.waitUntil(lambda step=step: window.runs.place >= step and not window.runs.busy)  # type: ignore[misc]
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
            assert window.dual.pictures.lines is not None
    # back to the first, and forth
    for step in range(TRIANGLES, 0, -1):
        settle(qtbot, window)
        check_step(window, step)
        action(window, "back")
    assert window.timeline.words.text() == f"Before triangle 1 of {TRIANGLES}"
    assert not window.plane.learned.numbers.badges


def test_an_edge_and_its_point_are_lit_together(qtbot: QtBot, window: MainWindow) -> None:
    log = log_of(window)
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
            assert window.plane.learned.lit == edge
            assert sheet.pointer.halfplane == dual_position(halfplane)
            corner = at(window, 1, log.grid - 1)
            QTest.mouseMove(window.plane.viewport(), corner)
            assert window.plane.learned.lit == -1
            assert sheet.pointer.halfplane is None
            lit += 1
        point_at(qtbot, sheet, *dual_position(halfplane))
        assert window.plane.learned.lit == edge
        point_at(qtbot, sheet, log.grid / 2, log.grid / 2)
        assert window.plane.learned.lit in {-1, *range(3)}
    assert lit


def nobody_there(log: RunLog, step: int) -> bool:
    """Whether a step is about an edge that no example is nearest to."""
    known = log.records[step - 1].diagnostics
    return step > log.triangles and not known.positives_alive + known.negatives_alive


def test_sharpen_runs_a_second_time_and_no_empty_zone_is_ever_shown(qtbot, fresh):
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
    qtbot.waitUntil(lambda: window.runs.current is not once)
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
    QTest.mouseClick(window.timeline.edges, LEFT)  # closed, for who comes next


def test_a_single_step_in_the_second_act_is_an_edge(qtbot: QtBot, fresh: MainWindow) -> None:
    window = fresh
    window.document.set_sampling(n=3_000)
    window.document.set_run(finish="sharpen")
    rested: list[int] = []
    while not (rested and log_of(window).release is not None):
        made = 0 if not rested else len(log_of(window).records)
        key(window, Qt.Key.Key_F10)
        qtbot.waitUntil(
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


# -- the end ---------------------------------------------------------------------------------------


def test_the_end_has_every_triangles_number_in_both_planes_and_tells_the_story(window):
    log = log_of(window)
    assert log.at_end
    assert window.timeline.text() == "The end"
    assert shown_numbers(window) == numbers(TRIANGLES)
    assert [badge for badge in window.plane.learned.numbers.badges if not badge.main] == []
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


def test_what_to_do_next_is_there_as_buttons_at_the_end_alone(window: MainWindow) -> None:
    names = [window.commands.by_id[name].iconText() for name in ("export_learned", "release_view")]
    assert set(buttons(window)) == {*names, "Run again", "Sharpen"}
    size = window.size()
    window.resize(1360, 860)
    QApplication.processEvents()
    for name, button in buttons(window).items():
        assert button.width() >= button.sizeHint().width(), name
    window.resize(size)
    action(window, "back")
    assert buttons(window) == {}


def test_the_release_view_of_the_end_has_no_private_words(qtbot: QtBot, window: MainWindow) -> None:
    log = log_of(window)
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


# -- asking about another piece --------------------------------------------------------------------


def test_pointing_at_the_dual_plane_shows_that_piece_with_its_own_score(qtbot, asked):
    window = asked
    sheet = large(window)
    u, v = dual_position(chosen(window))
    shown = set()
    # where the run has chosen differs each time: four places in the region, not under the legend
    legend = window.dual.stack.legend
    covered = QRect(
        sheet.plot.viewport().mapFrom(legend.parentWidget(), legend.pos()), legend.size()
    )
    spots = []
    offsets = itertools.product((0, 14, -25, 40, -60, 110, -150), repeat=2)
    near = [pixel(sheet, u, v) + QPoint(x, y) for x, y in offsets]
    size = sheet.plot.viewport().size()
    far = itertools.product(range(20, size.width(), 60), range(20, size.height(), 60))
    for spot in [*near, *itertools.starmap(QPoint, far)]:
        place = sheet.plot.dual_at(sheet.plot.mapToScene(spot))
        inside = place is not None and nearest_halfplane(
            window.dual.lattice,  # type: ignore[arg-type]
            sheet.sheet,
            *place,
        )
        if inside and not covered.contains(spot):
            spots.append(spot)
    assert len(spots) > 3
    for i, spot in enumerate(spots):
        # four at least, and on until one piece is another: some are empty
        if i >= 4 and len(shown) > 1:
            break
        hover(qtbot, sheet, spot)
        candidate = window.dual.pointer.candidate
        halfplane = candidate.piece[0]
        assert isinstance(halfplane, Halfplane)
        assert pixel(sheet, *dual_position(halfplane)) == spot
        assert candidate == judged(window, halfplane)
        first, second = window.dual.readout.text().split("\n")
        assert first.startswith(f"{window.dual.thumbs[sheet.sheet].text()}: u = ")
        assert second == candidate.words
        assert ghost(window) == pytest.approx(bounds(window, candidate), abs=1e-6)
        shown.add(ghost(window))
    assert len(shown) > 1
    leave(sheet)
    assert window.dual.pointer.candidate is None
    assert ghost(window) == ()
    assert "score" not in window.dual.readout.text().split(":")[0].lower()


def drag_chosen(qtbot: QtBot, window: MainWindow) -> list[Candidate]:
    """Drag the chosen point a little towards the middle, in three moves of the mouse."""
    sheet = large(window)
    viewport, place = sheet.plot.viewport(), dual_position(chosen(window))
    assert window.dual.lattice is not None
    d = window.dual.lattice.d  # of a zone, that of its own frame
    goal = (d / 2, d / 2)
    if np.hypot(place[0] - goal[0], place[1] - goal[1]) < d / 6:
        goal = (d / 4, d / 4)
    start, end = pixel(sheet, *place), pixel(sheet, *goal)
    end = start + (end - start) * (30 / (end - start).manhattanLength())
    hover(qtbot, sheet, start)
    QTest.mousePress(viewport, LEFT, NONE, start)
    found = []
    for share in (0.2, 0.6, 1.0):
        spot = start + (end - start) * share
        QTest.mouseMove(viewport, spot, 20)
        qtbot.wait(60)
        candidate = window.dual.pointer.candidate
        assert pixel(sheet, *dual_position(candidate.piece[0])) == spot  # type: ignore[arg-type]
        assert window.dual.readout.text().endswith(candidate.words)
        assert ghost(window) == pytest.approx(bounds(window, candidate), abs=1e-6)
        found.append(candidate)
    QTest.mouseRelease(viewport, LEFT, NONE, end)
    qtbot.wait(60)
    return found


def test_the_chosen_point_can_be_dragged_and_escape_takes_it_back(qtbot, asked):
    window, sheet = asked, large(asked)
    before = sheet.plot.window()
    found = drag_chosen(qtbot, window)
    assert len({candidate.piece for candidate in found}) == 3
    assert sheet.plot.window() == before  # it was no pan
    last = found[-1]
    assert last == judged(window, last.piece[0])  # type: ignore[arg-type]
    leave(sheet)  # it stays without the pointer
    assert window.dual.pointer.candidate == last
    assert ghost(window) == pytest.approx(bounds(window, last), abs=1e-6)
    assert sheet.pointer.halfplane == dual_position(last.piece[0])  # type: ignore[arg-type]
    QTest.keyClick(sheet.plot, Qt.Key.Key_Escape)
    assert window.dual.pointer.candidate is None
    assert ghost(window) == ()
    assert sheet.pointer.halfplane is None
    assert log_of(window).newest_piece[0] == chosen(window)  # what was chosen stays chosen


def test_what_was_dragged_can_be_taken_again_and_another_step_forgets_it(qtbot, triangle):
    window, sheet = triangle, large(triangle)
    once = drag_chosen(qtbot, window)[-1]
    spot = pixel(sheet, *dual_position(once.piece[0]))  # type: ignore[arg-type]
    hover(qtbot, sheet, spot)
    QTest.mousePress(sheet.plot.viewport(), LEFT, NONE, spot)
    QTest.mouseMove(sheet.plot.viewport(), spot + QPoint(15, 0), 20)
    QTest.mouseRelease(sheet.plot.viewport(), LEFT, NONE, spot + QPoint(15, 0), 20)
    leave(sheet)
    assert window.dual.pointer.candidate.piece != once.piece
    window.runs.move_cursor(log_of(window).cursor - 1)
    settle(qtbot, window)
    assert window.dual.pointer.candidate is None
    assert ghost(window) == ()


def test_keys_move_the_chosen_point_too(triangle: MainWindow) -> None:
    window = triangle
    sheet, shift = large(window), Qt.KeyboardModifier.ShiftModifier
    u, v = dual_position(chosen(window))
    inside = nearest_halfplane(window.dual.lattice, sheet.sheet, u + 30, v)  # type: ignore[arg-type]
    across = Qt.Key.Key_Right if inside is not None else Qt.Key.Key_Left
    sheet.plot.setFocus()
    QTest.keyClick(sheet.plot, across, shift)
    once = window.dual.pointer.candidate
    assert once is not None
    QTest.keyClick(sheet.plot, across, shift)
    twice = window.dual.pointer.candidate
    places = [dual_position(each.piece[0])[0] for each in (once, twice)]  # type: ignore[arg-type]
    steps = np.diff([u, *places])
    assert steps[0] == pytest.approx(steps[1], abs=1e-3)
    assert (steps > 0).all() == (across == Qt.Key.Key_Right)
    assert twice == judged(window, twice.piece[0])  # type: ignore[arg-type]
    QTest.keyClick(sheet.plot, Qt.Key.Key_Escape)
    assert window.dual.pointer.candidate is None


# -- the release view ------------------------------------------------------------------------------


def test_the_release_view_shows_nothing_of_what_was_asked(qtbot: QtBot, asked: MainWindow) -> None:
    """Pixel by pixel, whatever was pointed at or tried before."""
    window, step = asked, log_of(asked).cursor
    action(window, "release_view")
    plain = still(qtbot, window)
    action(window, "release_view")
    window.runs.move_cursor(step)  # it went to the end
    settle(qtbot, window)
    assert differs(seen(window), plain)
    drag_chosen(qtbot, window)
    leave(large(window))
    assert window.dual.pointer.candidate is not None
    action(window, "release_view")
    settle(qtbot, window)
    assert window.dual.pointer.candidate is None
    assert ghost(window) == ()
    assert differs(still(qtbot, window), plain) == ""
    sheet = large(window)
    hover(qtbot, sheet, sheet.plot.viewport().rect().center())
    assert window.dual.pointer.candidate is None
    for private in ("score", "positive", "likely"):
        assert private not in window.dual.readout.text()
    leave(sheet)


def test_nothing_is_said_of_where_the_pointer_rests_once_something_else_is_shown(qtbot, asked):
    window, step = asked, log_of(asked).cursor
    for leaves in (lambda: action(window, "release_view"), window.runs.show_end):
        sheet = large(window)
        hover(qtbot, sheet, sheet.plot.viewport().rect().center())
        assert "positive" in window.dual.readout.text()
        leaves()
        settle(qtbot, window)
        assert window.dual.pointer.halfplane is None
        assert "positive" not in window.dual.readout.text()
        window.set_release_view(False)
        window.runs.move_cursor(step)
        settle(qtbot, window)


def test_the_release_view_is_the_same_for_other_examples_of_the_same_release(qtbot, sharp):
    """What steps gained and why, which edges have examples: all that is of the examples alone."""
    window = sharp
    log, before = log_of(window), window.runs.log
    stand(qtbot, window, len(log.records) + 1)
    action(window, "release_view")
    settle(qtbot, window)
    plain = seen(window)
    books = {"negatives_taken": 0, "empirical_error": 0.0}
    books |= {"positives_alive": 0, "negatives_alive": 0}
    nothing = [
        replace(r, diagnostics=replace(r.diagnostics, positives_taken=taken, **books))
        for r, taken in zip(log.records, (5, 9, *[0] * (len(log.records) - 2)), strict=True)
    ]
    examples = window.document.work.examples
    # with labels that the triangles have right no zone gains anything
    triangles = tuple(r.release.piece for r in log.records[:TRIANGLES])
    labels = predict_pieces("disjunction", triangles, examples.points)
    work = replace(window.document.work, examples=replace(examples, labels=labels.astype(int)))
    other = LiveRun(work, replace(log.run, records=tuple(nothing)))
    assert other.gains[:2] == (5, 9) != log.gains[:2]
    assert not any(other.gains[2:-1])
    try:
        window.runs.adopt(other.run)
        other.cursor, other.work = other.last, window.document.work
        window.runs.log = other
        window.display.refresh()
        settle(qtbot, window)
        assert differs(seen(window), plain) == ""
        action(window, "release_view")
        action(window, "release_view")
        settle(qtbot, window)
        assert differs(seen(window), plain) == ""
    finally:
        window.runs.log = before
