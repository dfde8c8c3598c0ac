"""A run by tiles in the real window: chosen in the panel, watched on both planes, kept; and what is
not supported by enough reports is hatched and told.
"""

import itertools

import numpy as np
import pytest
import shapely
from contrast import contrast
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot
from window_driver import (
    LEFT,
    Lasting,
    action,
    at,
    finish_run,
    key,
    layer,
    log_of,
    painted,
    run as run_to_end,
    said,
    settle,
    shape_of,
    type_into,
)

from geodp import Examples, Frame
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.palette import PALETTES, load_palette
from geodp_app.runs.run_log import RunLog
from geodp_app.runs.why import UNSEEN
from geodp_app.views.window.main_window import MainWindow
from geometry.halfplane import HalfplaneLattice, Sheet
from learners.core.releases import TilesRelease, support_shape

#: A triangle: edges through some tiles, others of one label.
TARGET = Drawing(256, (Shape(((30, 40), (220, 60), (100, 230))),))


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    return lasting.drawn(TARGET, 4_000, learner="tiles")


def run(qtbot: QtBot, window: MainWindow, **settings: object) -> RunLog:
    """Run to the end, with four tiles along a side."""
    window.document.set_run(**{"tiles": 4, "seed": 5, **settings})
    return run_to_end(qtbot, window)


@pytest.fixture
def finished(qtbot: QtBot, lasting: Lasting) -> MainWindow:
    """After a run by sixteen tiles."""
    return lasting.after_run(qtbot, TARGET, 4_000, learner="tiles", tiles=4, seed=5)


def box_of(item) -> tuple[float, float, float, float]:
    """Left, bottom, right, top of a path on the plane."""
    bounds = item.path().boundingRect()
    return bounds.left(), bounds.top(), bounds.right(), bounds.bottom()


def edges_of(log: RunLog, step: int) -> tuple[float, ...]:
    release = log.records[step - 1].release
    return tuple(float(edge) for edge in release.tile.edges)  # type: ignore[union-attr]


# -- the panel ---------------------------------------------------------------------------------


def test_a_silly_epsilon_is_warned_about_below_its_field(window: MainWindow) -> None:
    panel = window.settings
    assert not said(window, "warning")
    type_into(panel.epsilon, "50")
    assert window.document.work.run["epsilon"] == 50
    assert said(window, "warning")
    assert said(window, "warning").startswith("Warning: ε = 50 protects hardly anybody")
    assert said(window, "practice").startswith("No estimate is made: ε was measured from 0.1 to 10")
    # delta is compared with the number of examples: the curator's view alone shows that
    action(window, "release_view")
    assert not said(window, "warning")
    action(window, "release_view")
    action(window, "undo")
    assert not said(window, "warning")


# -- the plane ---------------------------------------------------------------------------------


def test_tiles_arrive_one_by_one_and_can_be_walked_through(qtbot, window):
    window.document.set_run(tiles=3, seed=5)
    assert window.dual.lattice == HalfplaneLattice(256)  # before a run, that of the whole square
    for step in (1, 2):
        key(window, Qt.Key.Key_F10)
        qtbot.waitUntil(
            lambda step=step: (
                window.runs.current is not None and len(window.runs.current.records) == step
            ),
        )
        qtbot.waitUntil(lambda: not window.runs.busy)
        log = log_of(window)
        assert box_of(layer(window, "newest")) == edges_of(log, step)
        # the grid of all nine is there from the first
        assert box_of(layer(window, "tiling")) == (0, 0, 256, 256)
        assert painted(window, "tiling").elementCount() == 9 * 5
    assert window.timeline.words.text() == "Tile 2 of 9"
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    settle(qtbot, window)
    log = log_of(window)
    assert isinstance(log.release, TilesRelease)
    assert len(log.records) == 9
    assert (log.cursor, log.at_end) == (9, True)
    # at rest all that is released is painted
    assert shapely.equals(log.region(), log.release.shape())
    whole = painted(window, "region").boundingRect()
    assert whole.isEmpty() == log.release.shape().is_empty
    for step in (9, 8, 7):
        action(window, "back")
        assert log.cursor == step
        assert box_of(layer(window, "newest")) == edges_of(log, step)
    # tiles to come are not painted: of the first three the one in the middle alone holds anything
    window.runs.move_cursor(3)
    drawn, middle = box_of(layer(window, "region")), edges_of(log, 3)
    assert middle == (84.5, 84.5, 170.5, 170.5)
    assert middle[0] <= drawn[0] < drawn[2] <= middle[2]
    assert middle[1] <= drawn[1] < drawn[3] <= middle[3]
    action(window, "forward")
    assert box_of(layer(window, "newest")) == edges_of(log, 4)
    window.runs.move_cursor(0)
    assert painted(window, "newest").isEmpty()
    assert painted(window, "region").isEmpty()
    assert not painted(window, "tiling").isEmpty()


def test_examples_are_grey_once_their_tile_is_learned(finished: MainWindow) -> None:
    window, log = finished, log_of(finished)
    for step in (0, 5, 16):
        window.runs.move_cursor(step)
        shown = window.plane.examples.shown
        learned = np.zeros(len(shown.points), dtype=bool)
        for record in log.records[:step]:
            learned |= record.release.tile.holds(shown.points)  # type: ignore[union-attr]
        grey_or_wrong = np.isin(shown.kinds, (1, 4))
        assert (grey_or_wrong == learned).all()


def test_with_a_check_the_numbers_of_a_tile_are_of_what_the_learner_saw(qtbot, lasting):
    square = Shape(((40, 40), (200, 40), (200, 200), (40, 200)))
    window = lasting.drawn(Drawing(256, (square,)), 500, learner="tiles", tiles=2, check=0.3)
    log = run(qtbot, window)
    window.runs.move_cursor(1)
    tile, known = log.records[0].release.tile, log.records[0].diagnostics
    held = int(tile.holds(window.document.work.examples.points).sum())
    assert known.positives_alive + known.negatives_alive < held
    assert window.why.what.text().endswith(UNSEEN)


# -- the dual plane ----------------------------------------------------------------------------


def test_the_dual_plane_is_that_of_the_tile_shown(qtbot: QtBot, finished: MainWindow) -> None:
    window, log = finished, log_of(finished)
    for step in (16, 7, 3):
        window.runs.move_cursor(step)
        settle(qtbot, window)
        heading = window.dual_pane.heading.text()
        assert heading.startswith(f"Dual plane of tile {step} of 16: ")
        tile = log.shown[-1].tile
        place = f"x {tile.x0}–{tile.x1}, y {tile.y0}–{tile.y1}"
        assert window.dual_pane.note.words == place
        assert window.dual.lattice == log.tile_lattice(step) == HalfplaneLattice(64)
        points, labels = log.seen_by(step)
        assert points.min() >= 0
        assert points.max() <= 64
        kinds = {(x, y, label) for (x, y), label in zip(points.tolist(), labels, strict=True)}
        for number, sheet in window.dual.sheets.items():
            window.dual.show_sheet(number)
            settle(qtbot, window)
            lines = [len(item.getData()[0]) // 2 for item in (sheet.positive, sheet.negative)]
            assert sum(lines) == len(kinds)
        piece = log.records[step - 1].release.piece
        marks = window.dual.marks
        assert [(mark.step, mark.edge) for mark in marks] == [(step, e) for e in range(len(piece))]
        assert [mark.sheet for mark in marks] == [halfplane.sheet for halfplane in piece]


def test_pointing_at_the_plane_marks_the_line_in_the_tiles_own_frame(finished):
    window, log = finished, log_of(finished)
    window.runs.move_cursor(6)
    tile = log.shown[-1].tile
    middle = ((tile.x0 + tile.x1) // 2, (tile.y0 + tile.y1) // 2)
    example = window.dual.sheets[Sheet.FLAT_ABOVE].example
    QTest.mouseMove(window.plane.viewport(), at(window, *middle))
    assert window.where.text() == f"x {middle[0]}  y {middle[1]}"
    x, y = middle[0] - tile.x0, middle[1] - tile.y0
    d = log.tile_lattice(log.cursor).d
    # on the line of (x, y): a boundary from (0, u) to (d, v) passes through the point
    assert len(example.ends) == 2
    for u, v in example.ends.tolist():
        assert u + (v - u) * x / d == pytest.approx(y)
    QTest.mouseMove(window.plane.viewport(), at(window, 5, 250))
    assert len(example.ends) == 0


def test_an_edge_of_a_tile_can_be_asked_about(qtbot: QtBot, finished: MainWindow) -> None:
    window, log = finished, log_of(finished)
    most = max(log.records, key=lambda record: len(record.release.piece))
    edges = len(most.release.piece)
    assert edges > 1
    window.runs.move_cursor(most.step)
    settle(qtbot, window)
    controls = window.dual.controls
    assert [button.isVisible() for button in controls.edges] == [i < edges for i in range(3)]
    QTest.mouseClick(controls.edges[1], LEFT)
    settle(qtbot, window)
    assert "edge 2" in window.dual.readout.text()
    chosen = most.release.piece[1]
    unit = 1 << chosen.lattice.bits
    u, v = chosen.u / unit, chosen.v / unit
    # the shading's best is no worse than what was chosen, and the chosen has the record's score
    value = window.dual.pictures.shade_at(chosen.sheet, u, v)
    scale = window.dual.pictures.shade_scale
    assert value is not None
    assert scale.high >= most.diagnostics.score
    assert value == pytest.approx(most.diagnostics.score, abs=0.2 * (scale.high - scale.low))


def test_a_tile_without_examples_or_halfplanes_is_calm(qtbot: QtBot, window: MainWindow) -> None:
    outcome: list[str] = []
    window.document.set_sampling(n=300)
    window.document.add_dab((128, 128, 50))
    log = run(qtbot, window)
    window.runs.announced.connect(outcome.append)
    empty = next(
        record
        for record in log.records
        if not record.release.piece
        and record.diagnostics.positives_alive + record.diagnostics.negatives_alive == 0
    )
    window.runs.move_cursor(empty.step)
    settle(qtbot, window)
    assert window.dual.stack.empty.isVisible()
    assert window.dual.stack.empty.text().startswith(f"No examples in tile {empty.step}")
    assert "No halfplane was chosen" in window.dual.readout.text()
    assert not window.dual.controls.edge_row.isVisible()
    assert window.dual.pictures.shade_scale is None
    action(window, "zoom_to_chosen")
    assert "No chosen point" in window.dual.readout.text()
    assert outcome == []
    full = next(record for record in log.records if record.release.piece)
    window.runs.move_cursor(full.step)
    assert not window.dual.stack.empty.isVisible()


# -- release, files ----------------------------------------------------------------------------


def test_the_release_view_of_a_run_by_tiles_shows_its_region_and_chosen_points(finished):
    window, log = finished, log_of(finished)
    step = next(record.step for record in log.records if record.release.piece)
    action(window, "release_view")
    assert log.cursor == 16  # where it rested depends on the examples
    window.runs.move_cursor(step)
    shown = [
        item
        for item in window.plane.getPlotItem().items
        if item.isVisible() and item.boundingRect().width() > 0
    ]
    assert {id(item) for item in shown} <= {id(layer(window, "region")), id(window.plane.border)}
    # all of it, wherever the cursor is
    bounds = painted(window, "region").boundingRect()
    assert (bounds.left(), bounds.top()) == pytest.approx(log.release.shape().bounds[:2])
    assert {mark.step for mark in window.dual.marks} == {step}
    for sheet in window.dual.sheets.values():
        assert not sheet.positive.isVisible()
        assert not sheet.boxes.isVisible()
    window.runs.move_cursor(0)
    assert window.dual.marks == ()


WESTERN = Drawing(256, (Shape(((20, 60), (100, 60), (100, 190), (20, 190))),))
SQUARE = shapely.box(0, 0, 256, 256)
HATCHED = "Hatched: too few reports (ε\xa0=\xa00.2)"


def reported(window: MainWindow) -> None:
    """Nobody reports from the eastern half."""
    points = np.random.default_rng(1).integers(0, (120, 257), (6_000, 2))
    labels = ((points > (20, 60)) & (points < (100, 190))).all(axis=1).astype(np.int64)
    examples = Examples(points, labels, Frame(256))
    window.document.change("import", examples=examples, simulated=False)


@pytest.fixture
def halved(lasting: Lasting) -> MainWindow:
    made = lasting.as_new()
    made.document.edit("draw", WESTERN)
    reported(made)
    made.document.set_run(learner="tiles", seed=5, support=0.2)
    return made


def hatched(window: MainWindow) -> shapely.Geometry:
    return shape_of(window.plane.support.hatching.path())


def supported(log: RunLog) -> shapely.Geometry:
    assert log.release is not None
    shape = support_shape(log.release)
    assert shape is not None
    return shape


def test_what_is_not_supported_is_hatched_and_told(qtbot: QtBot, halved: MainWindow) -> None:
    window = halved
    assert window.plane.support.hatching.path().isEmpty()
    assert window.plane_pane.note.words == ""
    log = run_to_end(qtbot, window)
    expected = SQUARE.difference(supported(log))
    assert 0.2 < expected.area / SQUARE.area < 0.7
    for step in (1, len(log.records)):
        window.runs.move_cursor(step)
        settle(qtbot, window)
        assert hatched(window).symmetric_difference(expected).area < 1e-6
        assert window.plane_pane.note.words == HATCHED
    assert "cells (" in window.plane_pane.note.toolTip()
    action(window, "release_view")
    assert hatched(window).symmetric_difference(expected).area < 1e-6
    assert window.plane_pane.note.words == HATCHED
    # a run without it hatches what its counts of tiles tell
    window.document.set_run(support=None)
    action(window, "release_view")
    log = run_to_end(qtbot, window)
    assert hatched(window).symmetric_difference(SQUARE.difference(supported(log))).area < 1e-6
    assert window.plane_pane.note.words == "Hatched: hardly any reports"
    window.document.set_run(learner="threshold")
    run_to_end(qtbot, window)
    assert window.plane.support.hatching.path().isEmpty()
    assert window.plane_pane.note.words == ""


def test_the_field_of_support_stands_beside_that_of_tiles(halved: MainWindow) -> None:
    window = halved
    field = window.settings.fields["support"]
    assert field.value() == 20
    assert not field.isHidden()
    field.setValue(0)
    assert window.document.work.run["support"] is None
    assert field.text() == "not released"
    field.setValue(12.5)
    assert window.document.work.run["support"] == 0.125
    window.document.undo()  # both changes are one: they were spun
    assert field.value() == 20
    for learner in ("cover", "convex", "histogram"):
        window.document.set_run(learner=learner)
        assert field.isHidden()
        assert "support" not in window.document.work.run.parameters()


def runs_of(marks: list[bool]) -> list[int]:
    """Lengths of the runs of marks."""
    return [len(list(run)) for marked, run in itertools.groupby(marks) if marked]


@pytest.mark.parametrize("theme", PALETTES)
def test_the_hatching_is_quiet_and_as_fine_at_any_zoom(qtbot, lasting, theme):
    window, canvas = lasting.as_new(), load_palette(theme).canvas.lower()
    window.set_dark(theme == "dark")
    window.plane.support.show(shapely.box(0, 0, 120, 256), 256)
    window.plane.empty.hide()
    for zoom in (1, 6):
        window.plane.getViewBox().scaleBy((1 / zoom, 1 / zoom), center=(120, 128))
        qtbot.wait(50)
        image: QImage = window.plane.grab().toImage()
        to_global = window.plane.viewport().mapToGlobal
        spot = window.plane.mapFromGlobal(to_global(at(window, 120, 130)))
        row = [image.pixelColor(spot.x() + i, spot.y()).name() for i in range(-60, 61)]
        assert set(row[:58]) == {canvas}
        marks = [colour != canvas for colour in row[62:]]
        assert len(runs_of(marks)) > 3
        assert max(runs_of(marks)) <= 4
        assert max(runs_of([not mark for mark in marks])) <= 12
        assert max(contrast(colour, canvas) for colour in row) < 4  # quiet
