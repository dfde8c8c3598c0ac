"""Every learner of the window: chosen in the panel, run, counted, shown, saved and exported."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import shapely
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot
from terminal import fails
from window_driver import (
    LEFT,
    NONE,
    Lasting,
    action,
    choose,
    choose_file,
    painted,
    run,
    said,
    settle,
    shape_of,
)

from geodp import InputError
from geodp_app.cli import main
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.dual.scene import CELLS
from geodp_app.files.learned_file import read_learned
from geodp_app.files.session import load_session
from geodp_app.formatting import amount
from geodp_app.palette import load_palette
from geodp_app.runs.questions import conic_question
from geodp_app.runs.run_log import RunLog
from geodp_app.views.compare.compare_window import CompareWindow
from geodp_app.views.window.main_window import MainWindow
from geometry.halfplane import HalfplaneLattice
from geometry.lift import Conic
from geometry.tiling import EdgeZone
from learners.catalogue import CATALOGUE, Entry, Where
from learners.core.records import TileStep
from learners.core.releases import SharpenedRelease
from learners.registry import BY_ID, DIRECTION, offered

LEARNERS = [entry for entry in CATALOGUE if entry.id]
TOOLS = [entry for entry in CATALOGUE if not entry.id]


def used_in(place: Where, entries: Iterable[Entry] = CATALOGUE) -> list[str]:
    return [entry.id or entry.name for entry in entries if place in entry.where]


@pytest.mark.parametrize("entry", LEARNERS, ids=lambda entry: entry.id)
def test_the_command_line_takes_the_learners_that_it_is_said_to_take(entry, capsys, tmp_path):
    missing, out = str(tmp_path / "no.csv"), str(tmp_path / "a.geojson")
    k = ("--k", "1") if BY_ID[entry.id].counts else ()
    unknown = "is not offered here", "now called"
    for verb, argv in (
        ("learn", ("learn", missing, "--grid", "8", "--learner", entry.id, "-o", out)),
        ("compare", ("compare", missing, "--grid", "8", *k, "--learners", entry.id)),
    ):
        outcome = fails(capsys, *argv)
        if f"geodp {verb}" in entry.where:
            assert "no.csv" in outcome, outcome
        else:
            assert any(words in outcome for words in unknown), outcome
    if "geodp plan" in entry.where:
        assert main(["plan", "--learner", entry.id, "--grid", "512", "--n", "1000"]) == 0
        assert capsys.readouterr().out
    else:
        outcome = fails(capsys, "plan", "--learner", entry.id)
        assert any(words in outcome for words in unknown), outcome


def test_audits_are_of_whom_they_are_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--learner", "list"]) == 0
    names = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    for entry in LEARNERS:
        own = [name for name in names if name == entry.id or name.startswith(f"{entry.id}-")]
        assert bool(own) == ("geodp audit" in entry.where), entry.id
    # what is no learner: a game of experts, private answers of chunks
    assert used_in("geodp audit", TOOLS) == ["Private experts", "Private classification queries"]
    assert {"private-experts", "stable-queries"} <= set(names)


def test_tools_of_planning_are_where_they_are_said_to_be(capsys):
    assert used_in("geodp plan", TOOLS) == ["Sample sizes of every theorem"]
    for theorem, more in (
        ("cover", ("--k", "2")),
        ("queries", ("--vc", "1", "--queries", "100")),
        ("occam", ("--size", "9")),
    ):
        assert main(["plan", "--theorem", theorem, *more, "--alpha", "0.3"]) == 0
        assert "suffice" in capsys.readouterr().out


def test_the_window_has_the_learners_and_pages_that_it_is_said_to_have(lasting: Lasting) -> None:
    window = lasting.as_new()
    box = window.settings.learner
    shown = [box.itemData(i) for i in range(box.count()) if box.itemData(i) is not None]
    assert shown == used_in("window")
    for name in shown:
        box.setCurrentIndex(box.findData(name))
        box.activated.emit(box.currentIndex())
        assert window.document.work.run.learner == name
    compared = CompareWindow(window.document, load_palette("light"))
    assert list(compared.boxes) == used_in("window: Compare")
    compared.close()
    pages = [window.pages.tabText(i) for i in range(window.pages.count())]
    assert used_in("window: Theorem") == ["Sample sizes of every theorem"]
    assert "Theorem" in pages
    assert used_in("window: dual plane") == ["Dual lines and points", "Arrangement of dual lines"]
    assert window.dual_pane.isVisible()
    assert window.dual.isVisible()


ANGLES = np.linspace(0, 2 * np.pi, 48, endpoint=False)
ROUND = Shape(tuple((round(120 + 80 * np.cos(a)), round(130 + 70 * np.sin(a))) for a in ANGLES))

every = pytest.mark.parametrize("learner", offered("window"), ids=lambda learner: learner.id)


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    return lasting.drawn(Drawing(256, (ROUND,)), 4_000)


@every
def test_the_panel_asks_only_for_what_the_learner_uses(window, learner):
    panel = window.settings
    for fold in (panel.learner_fold, panel.privacy_fold):
        if not fold.button.isChecked():
            fold.button.click()
    choose(panel.learner, learner.title)
    assert window.document.work.run.learner == learner.id
    assert panel.sentence.text() == learner.sentence
    declared = {parameter.name for parameter in learner.parameters}
    finish = {"finish"} if window.document.work.run["k"] in (1, "auto") else set()
    assert {name for name, field in panel.fields.items() if field.isVisible()} == (
        (declared & set(panel.fields)) - finish
    )
    assert panel.k.isVisible() == ("k" in declared)
    assert panel.delta.isVisible() == (learner.private and learner.needs_delta)
    assert said(window, "practice")
    assert said(window, "promise") or not learner.private


#: Those whose release or views are of a kind of their own.
KINDS = ("cover", "tiles", "convex-cover", "discs", "ellipses", "threshold", "stability",
         "histogram", "greedy-cover")  # fmt: skip


@pytest.mark.parametrize("learner", [BY_ID[name] for name in KINDS], ids=KINDS)
def test_a_run_is_counted_shown_exported_and_comes_back(
    qtbot, window, tmp_path, monkeypatch, learner
):
    window.document.set_sampling(n=1_000)
    window.document.set_run(learner=learner.id)
    short = {"k": 2, "n_steps": 1, "finish": "none", "tiles": 3, "chunks": 40}
    window.document.set_run(**{name: short[name] for name in short if learner.parameter(name)})
    log = run(qtbot, window)
    release = log.release
    assert release.privacy == log.privacy
    spent = window.document.work.spent
    assert [charge.privacy.epsilon for charge in spent] == ([1.0] if learner.private else [])
    last = len(log.records)
    assert log.figures(last).epsilon_so_far == (1.0 if learner.private else None)
    window.runs.move_cursor(last)
    shown = shape_of(painted(window, "region"))
    assert shown.symmetric_difference(release.shape()).area < 1e-6 * 256**2
    assert shapely.equals(log.region(), release.shape())
    session, learned = tmp_path / "w.geodp", tmp_path / "l.geojson"
    choices = iter((learned, session, session))
    for dialog in ("getSaveFileName", "getOpenFileName"):
        monkeypatch.setattr(QFileDialog, dialog, lambda *_, **__: (str(next(choices)), ""))
    action(window, "export_learned")
    assert read_learned(learned).release == release
    action(window, "save")
    window.files.start_anew()
    assert painted(window, "region").isEmpty()
    action(window, "open")
    again = window.runs.current
    assert isinstance(again, RunLog)
    assert again is not log
    assert [each.release for each in again.records] == [each.release for each in log.records]
    assert again.release == release
    log.cursor = again.cursor
    assert again.at_end
    assert shapely.equals(again.region(), log.region())


def test_a_direction_is_chosen_in_the_panel(window: MainWindow) -> None:
    field = window.settings.fields["direction"]
    window.document.set_run(learner="threshold")
    assert field.currentText() == DIRECTION.unset
    promise = said(window, "promise")
    field.setCurrentIndex(field.findData("left"))
    assert window.document.work.run.parameters()["direction"] == "left"
    narrower = said(window, "promise")
    assert narrower.startswith("Proved: error at most")
    assert narrower != promise  # a quarter of the class
    window.document.undo()
    assert field.currentData() == ""
    with pytest.raises(InputError, match="direction must be one of right, left, above"):
        window.document.set_run(direction="up")


def test_a_shape_of_nothing_is_learned_and_shown(qtbot: QtBot, window: MainWindow) -> None:
    window.document.edit("clear", Drawing(256, ()))
    window.document.set_run(learner="threshold", direction="left", epsilon=20.0, seed=1)
    assert run(qtbot, window).region().is_empty
    assert painted(window, "region").isEmpty()


SQUARE = Shape(((10, 10), (50, 10), (50, 50), (10, 50)))


@pytest.fixture
def imported(lasting: Lasting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MainWindow:
    """That window with imported examples of its grid, and nothing drawn."""
    rng, window = np.random.default_rng(1), lasting.as_new()
    d = window.document.drawing.grid
    points = rng.integers(0, d + 1, (3_000, 2))
    labels = np.abs(points - d // 2).sum(axis=1) < d // 3
    rows = [f"{x},{y},{int(label)}" for (x, y), label in zip(points, labels, strict=True)]
    path = tmp_path / "p.csv"
    path.write_text("\n".join([f'# geodp {{"grid": {d}}}', "x,y,label", *rows]) + "\n")
    choose_file(monkeypatch, path)
    assert not window.document.drawing.shapes
    action(window, "import_examples")
    assert not window.document.work.simulated
    return window


def test_imported_examples_begin_with_a_k_that_the_run_finds(imported: MainWindow) -> None:
    field = imported.settings.k
    assert (imported.document.work.run["k"], imported.document.work.k_drawn) == ("auto", True)
    assert field.text() == "by itself"
    assert "finds k by itself" in said(imported, "promise")
    assert imported.document.undo()
    assert imported.document.work.run["k"] == 4
    assert field.text() == "4"


def test_the_lowest_k_of_triangles_is_one_that_the_run_finds(imported: MainWindow) -> None:
    document, panel = imported.document, imported.settings
    panel.k.setFocus()
    QTest.keyClick(panel.k, Qt.Key.Key_Up, NONE)
    assert (document.work.run["k"], panel.k.text(), document.work.k_drawn) == (1, "1", False)
    document.set_run(k=3, finish="none")
    for _ in range(3):
        QTest.keyClick(panel.k, Qt.Key.Key_Down, NONE)
    # such a cover is always sharpened
    assert (document.work.run["k"], document.work.run["finish"]) == ("auto", "sharpen")
    assert panel.fields["finish"].isHidden()
    assert document.undo()
    assert (document.work.run["k"], document.work.run["finish"]) == (1, "none")


def test_other_learners_are_told_k(imported: MainWindow) -> None:
    document, panel = imported.document, imported.settings
    found = {}
    for learner in ("discs", "convex-cover", "tiles", "cover"):
        document.set_run(learner=learner)
        found[learner] = document.work.run["k"]
        if learner != "tiles":
            assert panel.k.minimum() == (0 if learner == "cover" else 1)
    assert (found["discs"], found["convex-cover"], found["cover"]) == (1, 4, "auto")


def test_a_k_that_is_typed_stays_and_the_box_gives_it_back(qtbot: QtBot, lasting: Lasting) -> None:
    window = lasting.as_new()
    window.document.edit("draw", Drawing(256, (SQUARE,)))
    panel = window.settings
    assert (panel.k.value(), panel.k_drawn.isChecked()) == (2, True)
    panel.k.setFocus()
    panel.k.selectAll()
    QTest.keyClicks(panel.k, "6")
    assert window.document.work.run["k"] == 2  # it is taken when it is complete
    QTest.keyClick(panel.k, Qt.Key.Key_Return)
    qtbot.waitUntil(window.plane.hasFocus)  # and the keys are the canvas's again
    assert (window.document.work.run["k"], panel.k_drawn.isChecked()) == (6, False)
    apart = Shape(((1, 1), (9, 1), (1, 9)))
    window.document.edit("draw", Drawing(256, (SQUARE, apart)))
    assert panel.k.value() == 6
    panel.k_drawn.click()
    assert (panel.k.value(), window.document.work.k_drawn) == (2, True)  # of three triangles


def test_a_run_ends_where_it_finds_nothing_more_and_is_kept(qtbot, imported, tmp_path, monkeypatch):
    imported.document.set_run(seed=3)
    log = run(qtbot, imported)
    assert isinstance(log.release, SharpenedRelease)
    assert 1 <= log.triangles <= 8
    zones = [record.release for record in log.records[log.triangles :]]
    assert all(isinstance(z, TileStep) and isinstance(z.tile, EdgeZone) for z in zones)
    assert log.planned == len(log.records)
    path = tmp_path / "a.geodp"
    choose_file(monkeypatch, path)
    action(imported, "save")
    opened = load_session(path)
    assert opened.run == log.run
    assert opened.work.run["k"] == "auto"


def test_the_comparison_begins_with_it(qtbot: QtBot, imported: MainWindow) -> None:
    action(imported, "compare")
    compare = imported.comparison
    qtbot.waitUntil(compare.isVisible)
    assert compare.counts["cover"].text() == "by itself"
    assert compare.counts["discs"].text() == "1"
    QTest.mouseClick(compare.boxes["cover"], LEFT, pos=QPoint(10, 8))
    assert compare.boxes["cover"].isChecked()
    (cover,) = (c for c in compare.contenders(imported.document.work.run) if c.name == "cover")
    assert dict(cover.parameters)["k"] == "auto"


def round_shape(x: int, y: int, w: int, h: int) -> Shape:
    """An ellipse drawn with 48 corners."""
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    return Shape(
        tuple((round(x + w * np.cos(a)), round(y + h * np.sin(a))) for a in angle)  # type: ignore[arg-type]
    )


ROUNDS = Drawing(256, (round_shape(90, 100, 55, 55), round_shape(180, 180, 50, 50)))


@pytest.fixture
def discs(lasting: Lasting) -> MainWindow:
    return lasting.drawn(ROUNDS, 6_000)


def run_with(qtbot: QtBot, window: MainWindow, **settings: object) -> RunLog:
    """Run to the end, by its key."""
    window.document.set_run(**{"learner": "discs", "k": 2, "seed": 5, **settings})
    return run(qtbot, window)


def test_the_dual_plane_of_discs_is_that_of_their_centres(qtbot: QtBot, discs: MainWindow) -> None:
    window = discs
    log = run_with(qtbot, window)
    conics = window.conics
    assert window.duals.currentWidget() is conics
    newest = log.pieces[-1][0]
    assert isinstance(newest, Conic)
    radius = newest.parameters[2] / (1 << newest.lattice.bits)
    assert window.dual_pane.heading.text() == (
        f"Dual plane: centres of discs of radius {amount(radius)}"
    )
    assert [mark.step for mark in conics.centres.marks] == list(range(1, len(log.records) + 1))
    window.runs.move_cursor(len(log.records))
    settle(qtbot, window)
    marks = conics.centres.marks
    assert [mark.step for mark in marks] == list(range(1, log.cursor + 1))
    assert (marks[-1].u, marks[-1].v) == newest.centre
    assert conics.shaded is not None
    # a ghost on the plane, with its own exact counts
    x, y = newest.centre
    conics.plot.pointed.emit((x, y))
    conics.plot.dragged.emit((x + 20, y - 10))
    question = conic_question(log, log.cursor)
    other = question.at(x + 20, y - 10)
    assert conics.candidate == question.judge(other)
    assert question.judge(other).words in conics.readout.text()
    ghost = painted(window, "pointed").boundingRect()
    left, bottom, right, top = other.polygon().bounds
    assert (ghost.left(), ghost.top()) == pytest.approx((left, bottom), abs=1e-6)
    assert (ghost.right(), ghost.bottom()) == pytest.approx((right, top), abs=1e-6)
    conics.plot.pointed.emit((x, y))
    QTest.keyClick(conics.plot, Qt.Key.Key_Escape)
    assert conics.candidate is None
    assert painted(window, "pointed").isEmpty()
    # what is published is the centres alone
    action(window, "release_view")
    assert conics.candidate is None
    assert conics.positive.path().isEmpty()
    assert conics.negative.path().isEmpty()
    assert conics.shaded is None
    assert len(conics.centres.marks) == 6
    action(window, "release_view")


def test_cells_have_no_dual_plane_and_halfplanes_bring_it_back(qtbot, discs):
    window = discs
    run_with(qtbot, window, learner="quadtree")
    dual = window.dual
    assert window.duals.currentWidget() is dual
    assert dual.stack.empty.text() == CELLS
    assert window.dual.lattice is None
    window.runs.move_cursor(1)
    assert dual.stack.empty.text() == CELLS
    run_with(qtbot, window, learner="convex-cover", k=1)
    assert window.dual.lattice == HalfplaneLattice(256)
    assert not dual.stack.empty.isVisible()
