"""A cover that is sharpened, in the real window: chosen in the panel, watched on both planes."""

from collections import Counter

import numpy as np
import pytest
import shapely
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot
from window_driver import (
    LEFT,
    Lasting,
    action,
    key,
    layer,
    log_of,
    painted,
    point_at,
    run,
    settle,
)

from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.runs.run_log import RunLog
from geodp_app.views.panels.settings_panel import Switch
from geodp_app.views.run.timeline import Course
from geodp_app.views.run.window_runs import SPEEDS
from geodp_app.views.widgets.plotting import shape_path
from geodp_app.views.window.main_window import MainWindow
from geometry.halfplane import HalfplaneLattice
from geometry.tiling import EdgeZone
from learners.core.records import TileStep, predict_pieces
from learners.core.releases import SharpenedRelease

TARGET = Drawing(256, (Shape(((30, 40), (220, 60), (220, 150), (100, 230))),))
STEPS = 3


N, RUN = 3_000, {"k": 2, "n_steps": STEPS, "epsilon": 2.0, "seed": 5, "finish": "sharpen"}


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    return lasting.drawn(TARGET, N, learner="cover", **RUN)


@pytest.fixture
def finished(qtbot: QtBot, lasting: Lasting) -> MainWindow:
    """After a run."""
    return lasting.after_run(qtbot, TARGET, N, learner="cover", **RUN)


def zone_of(log: RunLog, step: int) -> EdgeZone:
    release = log.records[step - 1].release
    assert isinstance(release, TileStep)
    assert isinstance(release.tile, EdgeZone)
    return release.tile


def drawn(log: RunLog) -> int:
    """The step whose zone has a piece, and the most examples."""
    steps = [step for step in range(STEPS + 1, len(log.records) + 1)
             if log.records[step - 1].release.piece]  # fmt: skip
    return max(steps, key=lambda step: len(log.seen_by(step)[0]))


def boundary(path) -> list[tuple[float, float]]:
    """Corners of a path on the plane."""
    return [
        (path.elementAt(i).x, path.elementAt(i).y)  # type: ignore[attr-defined]
        for i in range(path.elementCount())
    ]


def test_what_comes_at_the_end_is_chosen_in_the_panel_and_made_by_the_run(qtbot, window):
    field = window.settings.fields["finish"]
    assert isinstance(field, Switch)
    assert field.isVisible()  # in no fold
    assert field.accessibleName() == "Acts"
    triangles, both = field.buttons["none"], field.buttons["sharpen"]
    assert (triangles.text(), both.text()) == ("Triangles", "Triangles, then sharpen")
    assert both.isChecked()
    for learner, k, there in (
        ("cover", 1, False), ("cover", 2, True), ("convex-cover", 2, False), ("tiles", 2, False),
        ("discs", 2, False), ("greedy-cover", 2, False), ("cover", 3, True), ("cover", 2, True),
    ):  # fmt: skip
        window.document.set_run(learner=learner, k=k)
        assert field.isVisible() == there, (learner, k)
    log = run(qtbot, window)
    assert isinstance(log.release, SharpenedRelease)
    assert len(log.records) == STEPS + len(log.release.zones)
    assert len(log.release.zones) >= 3 * STEPS
    assert not window.why.sharpen.isVisible()  # it was
    QTest.mouseClick(triangles, LEFT)
    assert window.document.work.run["finish"] == "none"
    log = run(qtbot, window)
    assert len(log.records) == STEPS
    assert not isinstance(log.release, SharpenedRelease)
    assert window.commands.by_id["undo"].text() == "Undo change “Acts”"
    action(window, "undo")
    assert window.document.work.run["finish"] == "sharpen"
    assert both.isChecked()
    assert not triangles.isChecked()


def test_the_plane_shows_zones_more_faintly_than_tiles(qtbot: QtBot, finished: MainWindow) -> None:
    window, log = finished, log_of(finished)
    window.runs.move_cursor(STEPS)
    assert painted(window, "tiling").isEmpty()
    assert not painted(window, "earlier").isEmpty()
    step = drawn(log)
    window.runs.move_cursor(step)
    zone = zone_of(log, step)
    assert boundary(painted(window, "newest")) == boundary(shape_path(zone.polygon()))
    assert painted(window, "earlier").isEmpty()
    assert not painted(window, "tiling").isEmpty()
    faint = layer(window, "tiling").pen()
    window.document.set_run(learner="tiles", tiles=2)
    run(qtbot, window)
    assert painted(window, "tiling").isEmpty()  # the end shows what is learned alone
    window.runs.move_cursor(4)
    plain = layer(window, "tiling").pen()
    assert faint.color().alphaF() < 0.6 * plain.color().alphaF()
    assert faint.widthF() < plain.widthF()


def test_the_dual_plane_of_a_zone_has_the_lines_of_its_own_examples(qtbot, finished):
    window, log = finished, log_of(finished)
    window.runs.move_cursor(STEPS)
    settle(qtbot, window)
    assert window.dual_pane.heading.text().startswith("Dual plane: ")
    assert window.dual.lattice == HalfplaneLattice(256)
    examples = window.document.work.examples
    assert examples is not None
    for step in (STEPS + 1, drawn(log), len(log.records)):
        window.runs.move_cursor(step)
        settle(qtbot, window)
        zone = zone_of(log, step)
        name = f"edge {zone.edge_number % 3 + 1} of triangle {zone.edge_number // 3 + 1}"
        if zone.part[1] > 1:
            name = f"part {zone.part[0] + 1} of {name}"
        assert window.dual_pane.heading.text().startswith("Dual plane of this zone")
        place = f"x {zone.x0}–{zone.x1}, y {zone.y0}–{zone.y1}"
        assert window.dual_pane.note.words == f"{name}: {place}"
        assert window.dual.lattice == zone.lattice
        held = zone.holds(examples.points)
        labels = examples.labels[held].tolist()
        kinds = set(zip(map(tuple, examples.points[held].tolist()), labels, strict=True))
        for number, sheet in window.dual.sheets.items():
            window.dual.show_sheet(number)
            settle(qtbot, window)
            lines = [len(item.getData()[0]) // 2 for item in (sheet.positive, sheet.negative)]
            assert sum(lines) == len(kinds)


def test_edges_go_by_five_times_as_fast_as_triangles(qtbot: QtBot, window: MainWindow) -> None:
    window.document.set_run(n_steps=2)
    window.commands.speed.setCurrentIndex(SPEEDS.index(0.3))
    controller, delays = window.runs.controller, dict[int, int]()

    def note(arrived: bool) -> None:
        log = window.runs.log
        if arrived and log is not None:
            delays[len(log.records)] = controller.delay

    window.runs.changed.connect(note)
    log = run(qtbot, window)
    assert len(log.records) > 2 + 5
    # an edge is looked at once, and not at all if no example is nearest to it
    stops = {stop.step for stop in Course.of(log, opened=True).stops}
    seen, looked_at = Counter[int](), Counter[int]()
    for step, delay in delays.items():
        if step <= 2:
            assert delay == 300
            continue
        zone = log.record(step).release.zone
        assert zone is not None
        assert delay in (0, 60)
        seen[zone.edge_number] += delay > 0
        looked_at[zone.edge_number] += step in stops
    assert seen == looked_at
    assert set(seen.values()) <= {0, 1}
    assert set(range(1, len(log.records))) <= set(delays)
    # and the next run begins as slowly as this one did
    key(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: window.runs.current is not log)
    assert controller.delay == 300
    window.runs.cancel()


def test_what_is_shown_is_what_the_timeline_says_in_full_and_no_card_is_cut(qtbot, finished):
    window = finished
    window.resize(1180, 720)
    window.pages.setCurrentIndex(1)
    line, figures, edges, folded = window.timeline, window.figures, window.timeline.edges, False
    for opened in (False, True):
        edges.setChecked(opened)
        window.runs.show_end()
        while window.timeline.track.value():
            action(window, "back")
            settle(qtbot, window)
            words = line.words.text()
            assert window.why.heading.text() in (f"{words}, and why", "Why this triangle")
            assert line.words.fontMetrics().horizontalAdvance(words) <= line.words.width()
            assert figures.widget().width() <= figures.viewport().width()
            acts = [act for act in window.chart.acts if act.isVisible()]
            assert acts
            room = window.chart.plot.width()
            assert all(act.sceneBoundingRect().right() <= room for act in acts)
            if opened and words.startswith("Sharpening edge 3 "):
                edges.setChecked(False)
                assert line.words.text() == f"Triangle {STEPS} of {STEPS}"
                assert window.why.heading.text() == f"{line.words.text()}, and why"
                edges.setChecked(True)
                folded = True
    assert folded
    edges.setChecked(False)


def test_another_zone_may_come_while_the_pointer_rests_on_the_dual_plane(qtbot, finished):
    """Zones have frames of their own sizes: what is pointed at belongs to one alone."""
    window, log = finished, log_of(finished)
    sizes = set()
    for step in range(STEPS + 1, len(log.records) + 1):
        point_at(
            qtbot, window.dual.sheets[window.dual.sheet], *[zone_of(log, step).lattice.d / 2] * 2
        )
        window.dual.pointer.look()
        window.runs.move_cursor(step)
        pointed = window.dual.pointer.pointed
        assert pointed is None or pointed.lattice == zone_of(log, step).lattice
        sizes.add(zone_of(log, step).lattice.d)
    assert len(sizes) > 2


def test_the_release_view_shows_the_region_and_at_the_end_triangles_under_it(qtbot, finished):
    window, log = finished, log_of(finished)
    release = log.release
    assert isinstance(release, SharpenedRelease)
    action(window, "release_view")
    settle(qtbot, window)
    assert boundary(painted(window, "region")) == boundary(shape_path(release.shape()))
    assert shapely.area(release.shape()) > 1_000
    others = ("newest", "tiling", "pointed")
    assert not painted(window, "earlier").isEmpty()
    assert all(painted(window, name).isEmpty() for name in others)
    # the edges of a step's triangle are no longer those of the region
    for step in (STEPS, len(log.records)):
        window.runs.move_cursor(step)
        assert boundary(painted(window, "region")) == boundary(shape_path(release.shape()))
        assert all(painted(window, name).isEmpty() for name in ("earlier", *others))
    # the region is not that of the triangles
    points = np.stack(np.meshgrid(range(257), range(257)), axis=-1).reshape(-1, 2)
    cover = predict_pieces("disjunction", release.pieces, points)
    assert (cover != release.predict(points)).any()
