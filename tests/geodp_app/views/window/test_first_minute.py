"""The first minute: the window opens, F5 is pressed, and what is seen can be asked why."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QRect, QStandardPaths, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QScrollArea
from pytestqt.qtbot import QtBot
from window_driver import (
    LEFT,
    NONE,
    PATIENCE,
    action,
    dual_lattice,
    finish_run,
    hover as move_to,
    key,
    log_of,
    open_window,
    painted,
    pixel,
    wait,
)

from geodp_app.document.work import SampleSettings, Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.dual.sheets import dual_position, nearest_halfplane
from geodp_app.palette import load_palette
from geodp_app.runs.course import Course
from geodp_app.runs.questions import Candidate, WhatIf, shade_question
from geodp_app.runs.run_log import RunLog
from geodp_app.views.dual.dual_sheet import SheetView
from geodp_app.views.panels.settings_panel import Switch
from geodp_app.views.run.live import LiveRun
from geodp_app.views.widgets.theme import apply_theme
from geodp_app.views.window.main_window import MainWindow
from geometry.halfplane import Halfplane
from learners.core.records import TileStep, halfplanes_of, piece_shape, predict_pieces
from learners.core.releases import SharpenedRelease

#: Triangles that the opening drawing's run makes.
TRIANGLES = 4


@pytest.fixture(scope="module")
def first(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainWindow]:
    """A window as a stranger opens it, after F5 at full speed."""
    yield from opened(qapp, tmp_path_factory, "none")


@pytest.fixture(scope="module")
def sharp(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainWindow]:
    """The same with "Triangles, then sharpen" clicked before F5."""
    yield from opened(qapp, tmp_path_factory, "sharpen")


def opened(
    qapp: QApplication, tmp_path_factory: pytest.TempPathFactory, finish: str
) -> Iterator[MainWindow]:
    QStandardPaths.setTestModeEnabled(True)
    palette = load_palette("light")
    apply_theme(qapp, palette)
    window = MainWindow(palette, recovery=tmp_path_factory.mktemp("recovery"))
    window.begin()
    window.resize(1280, 800)
    window.show()
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window, PATIENCE)
    QTest.mouseClick(switch(window)[finish], LEFT)
    assert window.document.work.run["finish"] == finish
    speed = window.commands.speed
    speed.setFocus()
    QTest.keyClick(speed, Qt.Key.Key_End)
    assert speed.currentText() == "Full speed"
    QTest.keyClick(window, Qt.Key.Key_F5)
    for _ in range(PATIENCE // 50):
        if released(window) and window.display.at_rest:
            break
        QTest.qWait(50)
    assert released(window)
    yield window
    window.abandon()
    window.hide()
    window.deleteLater()
    QTest.qWait(1)


@pytest.fixture
def window(first: MainWindow, qtbot: QtBot) -> MainWindow:
    """The same window with nothing pointed at, tried or hidden, at the end where it rested."""
    return stand(qtbot, first, len(log_of(first).records) + 1)


@pytest.fixture(params=["triangle", "zone"])
def asked(qtbot: QtBot, request: pytest.FixtureRequest) -> MainWindow:
    """The one or the other at a step that can be asked about: the last triangle that gained, or the
    zone that gained and is divided most evenly, since next to a sliver all other pieces may be
    empty.
    """
    window = request.getfixturevalue("first" if request.param == "triangle" else "sharp")
    log = log_of(window)
    gained = [n for n, gain in enumerate(log.gains, start=1) if gain]
    if request.param == "triangle":
        return stand(qtbot, window, max(gained))
    zones = [n for n in gained if n > TRIANGLES]
    return stand(qtbot, window, max(zones, key=lambda n: smaller(log, n)))


def switch(window: MainWindow) -> dict[str, QAbstractButton]:
    """Which acts are run: the buttons in the settings."""
    field = window.settings.fields["finish"]
    assert isinstance(field, Switch)
    return field.buttons


def smaller(log: RunLog, step: int) -> float:
    """The smaller area of a zone's two parts, by shapely; 0 if all of it has one label."""
    release = log.records[step - 1].release
    assert isinstance(release, TileStep)
    if not release.piece:
        return 0.0
    inside = release.tile.piece_polygon(halfplanes_of(release.piece)).area
    return min(inside, release.tile.piece_polygon(()).area - inside)


def front(window: MainWindow) -> MainWindow:
    """No other one is in sight: the pointer would find it."""
    for other in QApplication.topLevelWidgets():
        if isinstance(other, MainWindow) and other is not window:
            other.hide()
    window.show()
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window, PATIENCE)
    return window


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


def released(window: MainWindow) -> bool:
    return window.runs.current is not None and window.runs.current.release is not None


def settle(qtbot: QtBot, window: MainWindow) -> None:
    """Until all is drawn that was asked for, and no piece flashes."""
    qtbot.wait(60)
    wait(qtbot, lambda: window.display.at_rest and not window.plane.learned.flash.isActive())


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


# -- what is there after a minute -----------------------------------------------------------------


def test_the_set_cover_ran_and_rests_at_its_end(window: MainWindow) -> None:
    log, track = log_of(window), window.timeline.track
    run = window.document.work.run
    outcome = (run.learner, run["k"], run["finish"], window.document.work.k_drawn)
    assert outcome == ("cover", 2, "none", True)
    # two triangles for each of k
    assert log.release is not None
    assert not isinstance(log.release, SharpenedRelease)
    assert len(log.records) == log.planned == TRIANGLES
    gains = [max(0, r.diagnostics.positives_taken - r.diagnostics.negatives_taken)
             for r in log.records]  # fmt: skip
    assert log.gains == tuple(gains)
    assert sum(gains) > 4_000
    assert log.at_end
    assert track.gains == (*gains, 0)
    assert track.value() == track.maximum() == TRIANGLES + 1
    assert window.timeline.text() == "The end"


def test_sharpening_is_a_second_act_and_one_block(qtbot: QtBot, sharp: MainWindow) -> None:
    log, track = log_of(sharp), sharp.timeline.track
    stand(qtbot, sharp, len(log.records) + 1)
    assert isinstance(log.release, SharpenedRelease)
    zones = len(log.release.zones)  # one or several for each of the triangles' edges
    assert 3 * TRIANGLES <= zones <= 15 * TRIANGLES
    assert len(log.records) == log.planned == TRIANGLES + zones
    kinds = [isinstance(r.release, TileStep) for r in log.records]
    assert kinds == [False] * TRIANGLES + [True] * zones
    n = len(log.alive)
    wrong = [round(n * r.diagnostics.empirical_error) for r in log.records]
    gains = [max(0, before - after) for before, after in itertools.pairwise(wrong[3:])]
    assert log.gains[TRIANGLES:] == tuple(gains)
    assert track.gains == (*log.gains[:TRIANGLES], sum(gains), 0)
    assert track.value() == track.maximum() == TRIANGLES + 2


def test_a_sentence_says_why(qtbot: QtBot, window: MainWindow, sharp: MainWindow) -> None:
    log, card = log_of(window), window.why
    assert card.isVisible()
    window.runs.move_cursor(1)
    assert card.heading.text() == f"Triangle 1 of {TRIANGLES}, and why"
    assert card.what.text().startswith(f"Covers {log.gain(1)[0]:,} of the ")
    # less the negatives, or the worse of that for k
    assert " Score" in card.what.text()
    log, card = log_of(sharp), sharp.why
    edges = 3 * TRIANGLES
    for stop in Course.of(log, opened=True).stops[TRIANGLES + 1 : -1]:
        sharp.runs.move_cursor(stop.step)
        zone = log.record(stop.step).release.zone
        number = zone.edge_number
        assert card.heading.text() == f"Sharpening edge {number + 1} of {edges}, and why"
        known = log.records[stop.step - 1].diagnostics
        said = card.what.text()
        assert said.startswith("Draws ")
        assert f"edge {number % 3 + 1} of triangle {number // 3 + 1} again" in said
        held = known.positives_alive + known.negatives_alive
        assert held
        if held > 1:
            assert f", among the {held:,} examples nearest to it. " in said
            before = log.wrong_before(stop.step)
            assert f" wrongly ({f'{before:,}' if before else 'none'} before). Score: " in said


def test_the_large_sheet_is_that_of_the_newest_pieces_first_edge(
    qtbot: QtBot, window: MainWindow, sharp: MainWindow
) -> None:
    edges = 0
    for shown in (window, sharp):
        log = log_of(front(shown))
        for step in range(1, log.planned + 1):
            shown.runs.move_cursor(step)
            piece = halfplanes_of(log.records[step - 1].release.piece)
            edges += bool(piece)
            if not piece:  # all of a zone has one label
                assert step > TRIANGLES
                assert "edge" not in shown.dual.title
                continue
            assert shown.dual.sheet == piece[0].sheet
            assert [number for number, view in shown.dual.sheets.items() if view.isVisible()] == [
                piece[0].sheet
            ]
            assert shown.dual.title.endswith(f", edge 1 of {len(piece)}") == (len(piece) > 1)
            assert len(piece) == 3 or (step > TRIANGLES and len(piece) < 3)
        settle(qtbot, shown)
    assert edges > 12


@pytest.mark.parametrize(
    ("width", "height", "least"), [(1280, 800, 420), (1440, 900, 500), (1600, 1000, 600)]
)
def test_the_large_sheet_is_large(
    qtbot: QtBot, window: MainWindow, width: int, height: int, least: int
) -> None:
    window.runs.move_cursor(1)
    window.resize(width, height)
    qtbot.wait(100)
    assert (window.width(), window.height()) == (width, height)
    room = large(window).size()
    assert room.width() >= least
    assert room.height() >= least
    assert window.why.what.isVisible()
    assert window.chart.isVisible()


def test_why_is_read_without_scrolling_in_every_step(
    qtbot: QtBot, window: MainWindow, sharp: MainWindow
) -> None:
    for shown in (window, sharp):
        log, room = log_of(front(shown)), shown.why.findChild(QScrollArea)
        assert room is not None
        for step in range(log.planned + 1):
            shown.runs.move_cursor(step)
            if step <= TRIANGLES or step % 10 == 0:
                settle(qtbot, shown)
            else:
                QApplication.processEvents()  # nothing is said later of a zone: see the tenth ones
            # of a zone's law no share is known
            gained = 0 < step <= TRIANGLES and log.gains[step - 1] > 0
            assert shown.why.odds.isVisible() == gained
            assert room.verticalScrollBar().maximum() == 0, shown.why.what.text()


# -- asking about another piece -------------------------------------------------------------------


def test_pointing_at_the_dual_plane_shows_that_piece_with_its_own_score(
    qtbot: QtBot, asked: MainWindow
) -> None:
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
            dual_lattice(window),  # type: ignore[arg-type]
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
        assert first.startswith(f"{window.dual.strip.thumbs[sheet.sheet].text()}: u = ")
        assert second == candidate.words
        assert ghost(window) == pytest.approx(bounds(window, candidate), abs=1e-6)
        shown.add(ghost(window))
    assert len(shown) > 1
    leave(sheet)
    assert window.dual.pointer.candidate is None
    assert ghost(window) == ()
    assert "score" not in window.dual.readout.text().split(":")[0].lower()


def test_the_chosen_point_has_the_score_of_its_step(qtbot: QtBot, asked: MainWindow) -> None:
    window, log = asked, log_of(asked)
    window.dual.pointer.try_halfplane(chosen(window))
    candidate = window.dual.pointer.candidate
    assert candidate.piece == log.newest_piece
    known = log.records[log.cursor - 1].diagnostics
    assert candidate.score == pytest.approx(known.score)
    release = log.records[log.cursor - 1].release
    labelled_1 = known.positives_taken, known.negatives_taken
    if isinstance(release, TileStep) and not release.inside:
        # what is inside is labelled 0: those that are right come first all the same
        inside = known.negatives_alive - labelled_1[1], known.positives_alive - labelled_1[0]
        assert (candidate.positives, candidate.negatives) == inside
    else:
        assert (candidate.positives, candidate.negatives) == labelled_1
    assert candidate.log_odds == 0
    assert candidate.words.endswith("as likely as the chosen one")


def drag_chosen(qtbot: QtBot, window: MainWindow) -> list[Candidate]:
    """Drag the chosen point a little towards the middle, in three moves of the mouse."""
    sheet = large(window)
    viewport, place = sheet.plot.viewport(), dual_position(chosen(window))
    assert dual_lattice(window) is not None
    d = dual_lattice(window).d  # of a zone, that of its own frame
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


def test_the_chosen_point_can_be_dragged_and_escape_takes_it_back(
    qtbot: QtBot, asked: MainWindow
) -> None:
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


def test_what_was_dragged_can_be_taken_again_and_another_step_forgets_it(
    qtbot: QtBot, asked: MainWindow
) -> None:
    window, sheet = asked, large(asked)
    once = drag_chosen(qtbot, window)[-1]
    spot = pixel(sheet, *dual_position(once.piece[0]))  # type: ignore[arg-type]
    hover(qtbot, sheet, spot)
    QTest.mousePress(sheet.plot.viewport(), LEFT, NONE, spot)
    QTest.mouseMove(sheet.plot.viewport(), spot + QPoint(15, 0), 20)
    QTest.mouseRelease(sheet.plot.viewport(), LEFT, NONE, spot + QPoint(15, 0), 20)
    leave(sheet)
    again = window.dual.pointer.candidate
    assert again.piece != once.piece
    window.runs.move_cursor(log_of(window).cursor - 1)
    settle(qtbot, window)
    assert window.dual.pointer.candidate is None
    assert ghost(window) == ()


def test_keys_move_the_chosen_point_too(qtbot: QtBot, asked: MainWindow) -> None:
    window = asked
    sheet, shift = large(window), Qt.KeyboardModifier.ShiftModifier
    u, v = dual_position(chosen(window))
    inside = nearest_halfplane(dual_lattice(window), sheet.sheet, u + 30, v)  # type: ignore[arg-type]
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


# -- the release view -----------------------------------------------------------------------------


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


def test_the_release_view_is_the_same_for_other_examples_of_the_same_release(
    qtbot: QtBot, sharp: MainWindow
) -> None:
    """What steps gained and why, which edges have examples: all that is of the examples alone."""
    window = sharp
    log, before = log_of(window), window.runs._run
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
        window.runs._run = other
        window.display.refresh()
        settle(qtbot, window)
        assert differs(seen(window), plain) == ""
        action(window, "release_view")
        action(window, "release_view")
        settle(qtbot, window)
        assert differs(seen(window), plain) == ""
    finally:
        window.runs._run = before


# -- steps that gain nothing ----------------------------------------------------------------------


def test_a_step_that_found_nothing_says_so_and_the_run_rests_at_its_end(
    qtbot: QtBot, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A triangle is covered long before five steps are over."""
    with open_window(tmp_path_factory.mktemp("window")) as window:
        drawing = Drawing(256, (Shape(((40, 40), (220, 60), (60, 220))),))
        window.document.new(Work(drawing=drawing, sampling=SampleSettings(n=4_000)))
        window.document.set_run(k=1, n_steps=5, epsilon=8.0, seed=3)
        key(window, Qt.Key.Key_F5)
        finish_run(qtbot, window)
        settle(qtbot, window)
        log = log_of(window)
        assert log.gains[-1] == 0
        assert log.at_end
        assert window.timeline.text() == "The end"
        window.timeline.track.setValue(5)
        taken = log.records[4].diagnostics.positives_taken
        assert window.why.what.text().startswith("Found nothing: ") == (taken == 0)


def test_a_k_that_is_typed_stays_and_the_box_gives_it_back(
    qtbot: QtBot, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with open_window(tmp_path_factory.mktemp("window")) as window:
        square = Shape(((40, 40), (220, 40), (220, 220), (40, 220)))
        window.document.edit("draw", Drawing(256, (square,)))
        panel = window.settings
        assert (panel.k.value(), panel.k_drawn.isChecked()) == (2, True)
        panel.k.setFocus()
        panel.k.selectAll()
        QTest.keyClicks(panel.k, "6")
        assert window.document.work.run["k"] == 2  # it is taken when it is complete
        QTest.keyClick(panel.k, Qt.Key.Key_Return)
        qtbot.waitUntil(window.plane.hasFocus)  # and the keys are the canvas's again
        assert (window.document.work.run["k"], panel.k_drawn.isChecked()) == (6, False)
        apart = Shape(((1, 1), (30, 1), (1, 30)))
        window.document.edit("draw", Drawing(256, (square, apart)))
        assert panel.k.value() == 6
        panel.k_drawn.click()
        assert (panel.k.value(), window.document.work.k_drawn) == (2, True)  # of three triangles
