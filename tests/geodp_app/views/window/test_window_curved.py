"""Discs and ellipses in the real window: chosen in the panel, run, stepped, kept, exported."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QFileDialog
from pytestqt.qtbot import QtBot
from window_driver import Lasting, action, finish_run, key, wait

from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.dual.captions import CELLS
from geodp_app.files.learned_file import read_learned
from geodp_app.files.stored_run import StoredRun
from geodp_app.formatting import amount
from geodp_app.runs.questions import conic_question
from geodp_app.runs.run_log import RunLog
from geodp_app.views.window.main_window import MainWindow
from geometry.halfplane import HalfplaneLattice
from geometry.lift import Conic
from learners.releases import ConicRelease


def round_shape(x: int, y: int, w: int, h: int) -> Shape:
    """An ellipse drawn with 48 corners."""
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    return Shape(
        tuple((round(x + w * np.cos(a)), round(y + h * np.sin(a))) for a in angle)  # type: ignore[arg-type]
    )


TARGET = Drawing(256, (round_shape(90, 100, 55, 55), round_shape(180, 180, 50, 50)))


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    made = lasting.as_new()
    made.document.edit("draw", TARGET)
    made.document.set_sampling(n=6_000)
    return made


def choose(box: QComboBox, text: str) -> None:
    """Choose an entry with the arrow keys."""
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Home)
    for _ in range(box.count()):
        if box.currentText() == text:
            return
        QTest.keyClick(box, Qt.Key.Key_Down)
    raise AssertionError(f"no entry {text!r}")


def run(qtbot: QtBot, window: MainWindow, **settings: object) -> RunLog:
    """Run to the end, by its key."""
    window.document.set_run(**{"learner": "discs", "k": 2, "seed": 5, **settings})
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    log = window.runs.current
    assert log is not None
    wait(qtbot, lambda: window.display.settled)
    return log


def test_the_panel_offers_both_and_asks_only_for_what_is_used(window: MainWindow) -> None:
    panel = window.settings
    for fold in (panel.learner_fold, panel.privacy_fold):
        fold.button.click()
    for text, name, label in (
        ("Discs", "discs", "Discs k"),
        ("Ellipses", "ellipses", "Ellipses k"),
    ):
        choose(panel.learner, text)
        assert window.document.work.run.learner == name
        assert panel._k_label.text() == label
        rows = (
            panel.k,
            panel.fields["n_steps"],
            panel.delta,
            panel.fields["measure"],
            panel.fields["tiles"],
        )
        assert [row.isVisible() for row in rows] == [True, True, True, False, False]
        assert "No estimate" in panel._practice.text()
        assert "privacy holds in any case" in panel._promise.text()
    window.document.set_grid(4096)
    assert "at most 2048" in panel._practice.text()
    choose(panel.learner, "Convex polygon of k edges (the paper's)")
    assert panel.fields["measure"].isVisible()


def test_discs_arrive_one_by_one_and_can_be_walked_through(
    qtbot: QtBot, window: MainWindow
) -> None:
    choose(window.settings.learner, "Discs")
    window.document.set_run(k=2, seed=5)
    learned = window.plane.learned
    key(window, Qt.Key.Key_F10)
    wait(qtbot, lambda: window.runs.current is not None and len(window.runs.current.records) == 1)
    wait(qtbot, lambda: not window.runs.busy)
    assert window.timeline.words.text() == "Step 1 of 6"
    assert not learned._newest.path().isEmpty()
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    wait(qtbot, lambda: window.display.settled)
    log = window.runs.current
    assert log is not None
    assert isinstance(log.release, ConicRelease)
    assert len(log.records) == 6
    # it rests at the last step that gained
    for _ in range(6 - log.cursor):
        action(window, "forward")
    for step in (6, 5, 4):
        shape = log.release.conics[step - 1].polygon()
        bounds = learned._newest.path().boundingRect()
        found = (bounds.left(), bounds.top(), bounds.right(), bounds.bottom())
        assert found == pytest.approx(shape.bounds, abs=1e-6)
        action(window, "back")
    assert log.figures(6).known.empirical_error < 0.05
    assert len(window.chart._points) == 6
    assert window.chart._points[-1].test_error == log.figures(6).test_error
    assert log.region().area < log.release.shape().area + 1e-9


def test_the_dual_plane_of_discs_is_that_of_their_centres(qtbot: QtBot, window: MainWindow) -> None:
    log = run(qtbot, window)
    conics = window.conics
    assert window.duals.currentWidget() is conics
    newest = log.pieces[-1][0]
    assert isinstance(newest, Conic)
    radius = newest.parameters[2] / (1 << newest.lattice.bits)
    assert window.dual_pane.heading.text() == (
        f"Dual plane: centres of discs of radius {amount(radius)}"
    )
    marks = conics.centres.marks
    assert [mark.step for mark in marks] == list(range(1, log.cursor + 1))
    assert (marks[-1].u, marks[-1].v) == newest.centre
    assert conics._shaded is not None
    # a ghost on the plane, with its own exact counts
    x, y = newest.centre
    conics.try_at(x + 20, y - 10)
    question = conic_question(log, log.cursor)
    other = question.at(x + 20, y - 10)
    assert other is not None
    assert conics.candidate == question.judge(other)
    assert question.judge(other).words in conics.readout.text()
    ghost = window.plane.learned._pointed.path().boundingRect()
    left, bottom, right, top = other.polygon().bounds
    assert (ghost.left(), ghost.top()) == pytest.approx((left, bottom), abs=1e-6)
    assert (ghost.right(), ghost.bottom()) == pytest.approx((right, top), abs=1e-6)
    QTest.keyClick(conics.plot, Qt.Key.Key_Escape)
    assert conics.candidate is None
    assert window.plane.learned._pointed.path().isEmpty()
    # what is published is the centres alone
    action(window, "release_view")
    assert conics.candidate is None
    assert conics.positive.path().isEmpty()
    assert conics.negative.path().isEmpty()
    assert conics._shaded is None
    assert len(conics.centres.marks) == 6
    action(window, "release_view")


def test_cells_have_no_dual_plane_and_halfplanes_bring_it_back(
    qtbot: QtBot, window: MainWindow
) -> None:
    run(qtbot, window, learner="quadtree")
    dual = window.dual
    assert window.duals.currentWidget() is dual
    assert dual.stack.empty.text() == CELLS
    assert dual._lattice is None
    window.runs.move_cursor(1)
    assert dual.stack.empty.text() == CELLS
    run(qtbot, window, learner="convex-cover", k=1)
    assert dual._lattice == HalfplaneLattice(256)
    assert not dual.stack.empty.isVisible()


def test_what_is_published_is_shown_and_exported(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.document.edit("draw", Drawing(256, (round_shape(120, 140, 90, 50),)))
    log = run(qtbot, window, learner="ellipses", k=1)
    assert isinstance(log.release, ConicRelease)
    action(window, "release_view")
    assert not window.plane.learned._region.path().isEmpty()
    path = tmp_path / "learned.geojson"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(path), ""))
    action(window, "export_learned")
    wait(qtbot, path.exists)
    assert read_learned(path).release == log.release


def test_a_run_is_kept_and_comes_back(qtbot: QtBot, window: MainWindow) -> None:
    log = run(qtbot, window)
    lines = log.stored().to_lines()
    again = StoredRun.from_lines(lines)
    assert again.release == log.release
    assert [r.release for r in again.records] == [r.release for r in log.records]
    assert all(isinstance(r.release.piece[0], Conic) for r in again.records)
    restored = RunLog.restored(window.document.work, again)
    log.cursor = restored.cursor
    assert restored.region().equals(log.region())
    damaged = json.loads(lines[1])
    damaged["conics"] = [[0, 0, 0]]
    with pytest.raises(ValueError, match="line 2"):
        StoredRun.from_lines([lines[0], json.dumps(damaged), *lines[2:]])
