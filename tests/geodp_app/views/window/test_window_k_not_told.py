"""A cover that finds k by itself, in the real window: imported examples, the k field, a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot
from window_driver import LEFT, NONE, action, run, said

from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files.session import load_session
from geodp_app.views.window.main_window import MainWindow
from geometry.edge_zones import EdgeZone
from learners.core.records import TileStep
from learners.core.releases import SharpenedRelease

SQUARE = Shape(((10, 10), (50, 10), (50, 50), (10, 50)))


@pytest.fixture
def imported(window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MainWindow:
    """That window with imported examples of its grid, and nothing drawn."""
    rng = np.random.default_rng(1)
    d = window.document.drawing.grid
    points = rng.integers(0, d + 1, (3_000, 2))
    labels = np.abs(points - d // 2).sum(axis=1) < d // 3
    rows = [f"{x},{y},{int(label)}" for (x, y), label in zip(points, labels, strict=True)]
    path = tmp_path / "p.csv"
    path.write_text("\n".join([f'# geodp {{"grid": {d}}}', "x,y,label", *rows]) + "\n")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
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


def test_a_drawing_gives_its_k_to_samples_of_it(imported: MainWindow) -> None:
    document = imported.document
    document.edit("draw", Drawing(document.drawing.grid, (SQUARE,)))
    assert document.work.run["k"] == "auto"  # the drawing does not label imported examples
    document.sample()
    assert document.work.run["k"] == 2


def test_a_run_ends_where_it_finds_nothing_more_and_is_kept(
    qtbot: QtBot, imported: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported.document.set_run(seed=3)
    log = run(qtbot, imported)
    assert isinstance(log.release, SharpenedRelease)
    assert 1 <= log.triangles <= 8
    zones = [record.release for record in log.records[log.triangles :]]
    assert all(isinstance(z, TileStep) and isinstance(z.tile, EdgeZone) for z in zones)
    assert log.planned == len(log.records)
    path = tmp_path / "a.geodp"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
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
