"""A threshold in the real window: chosen in the panel, one step, shown, kept; and at the prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot
from window_driver import Lasting, finish_run, key, wait

from geodp_app.cli import main
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.errors import InputError
from geodp_app.files.stored_run import StoredRun
from geodp_app.runs.questions import shade_question
from geodp_app.views.window.main_window import MainWindow
from geometry.halfplane import Sheet
from learners.registry import DIRECTION
from learners.releases import CoverRelease

#: The right part of the square.
TARGET = Drawing(256, (Shape(((100, 0), (256, 0), (256, 256), (100, 256))),))


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    made = lasting.as_new()
    made.document.edit("draw", TARGET)
    made.document.set_sampling(n=4_000)
    return made


def test_a_threshold_is_chosen_run_and_kept(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    panel = window.settings
    box = panel.learner
    box.setFocus()
    box.showPopup()
    view = box.view()
    view.setCurrentIndex(box.model().index(box.findText("Threshold along an axis"), 0))
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert window.document.work.run.learner == "threshold"
    hidden = (
        panel.k,
        panel.fields["n_steps"],
        panel.fields["tiles"],
        panel.fields["measure"],
        panel.delta,
    )
    assert not any(field.isVisible() for field in hidden)
    assert "halfplane along an axis fits" in panel._practice.text()
    assert panel._promise.text().startswith("Proved: error at most")
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    wait(qtbot, lambda: window.display.settled)
    log = window.runs.current
    assert log is not None
    (record,) = log.records
    (halfplane,) = record.release.piece
    assert halfplane.sheet is Sheet.STEEP_RIGHT
    assert isinstance(log.release, CoverRelease)
    assert log.privacy == log.release.privacy
    assert log.privacy is not None
    assert (log.privacy.epsilon, log.privacy.delta) == (1.0, 0.0)
    assert abs(log.region().bounds[0] - 99.5) < 5
    figures = log.figures(1)
    assert figures.epsilon_so_far == 1.0
    assert figures.known.empirical_error < 0.02
    lines = StoredRun(log.settings, log.grid, log.records, log.release).to_lines()
    assert StoredRun.from_lines(lines).to_lines() == lines
    # shaded as it is scored: its law is not that of all halfplanes
    assert shade_question(log, 1).rate == 0.0


def test_a_direction_is_chosen_in_the_panel(window: MainWindow) -> None:
    panel = window.settings
    assert not panel.fields["direction"].isVisible()
    window.document.set_run(learner="threshold")
    assert panel.fields["direction"].isVisible()
    assert panel.fields["direction"].currentText() == DIRECTION.unset
    promise = panel._promise.text()
    panel.fields["direction"].setCurrentIndex(panel.fields["direction"].findData("left"))
    assert window.document.work.run.parameters()["direction"] == "left"
    narrower = panel._promise.text()
    assert narrower.startswith("Proved: error at most")
    assert narrower != promise  # a quarter of the class
    window.document.undo()
    assert panel.fields["direction"].currentData() == ""
    assert window.document.work.run["direction"] is None
    with pytest.raises(InputError, match="direction must be one of right, left, above"):
        window.document.set_run(direction="up")


def test_a_shape_of_nothing_is_learned_shown_and_kept(qtbot: QtBot, lasting: Lasting) -> None:
    window = lasting.as_new()
    window.document.edit("clear", Drawing(256, ()))
    window.document.set_sampling(n=4_000)
    window.document.set_run(learner="threshold", direction="left", epsilon=20.0, seed=1)
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    wait(qtbot, lambda: window.display.settled)
    log = window.runs.current
    assert log is not None
    assert log.region().is_empty
    lines = StoredRun(log.settings, log.grid, log.records, log.release).to_lines()
    assert StoredRun.from_lines(lines).to_lines() == lines


def run_geodp(*words: object) -> int:
    return main([str(word) for word in words])


def test_the_command_learns_a_threshold_and_evaluates_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points, learned = tmp_path / "points.csv", tmp_path / "learned.geojson"
    rows = [f"{x},{y},{int(y <= 20)}" for x in range(33) for y in range(33)]
    points.write_text("x,y,label\n" + "\n".join(rows) + "\n")
    ask = ["learn", points, "--learner", "threshold", "--grid", 32, "--seed", 3, "-o", learned]
    assert run_geodp(*ask, "--quiet", "--report", tmp_path / "report.json") == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["release"]["privacy"]["delta"] == 0.0
    assert report["account"] == "selections: epsilon 1"
    assert run_geodp("evaluate", learned, points, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["decided_by"] == "halfplanes"
    assert told["errors"] <= 33
    assert run_geodp(*ask, "--quiet", "--direction", "above") == 0
    assert run_geodp("evaluate", learned, points, "--json") == 0
    assert json.loads(capsys.readouterr().out)["error"] > 0.3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--k", "3"], "--k means nothing to threshold"),
        (["--tiles", "3"], "--tiles means nothing to threshold"),
        (["--beta", ".1"], "--beta means nothing to threshold"),
        (["--steps", "3"], "--steps means nothing to threshold"),
    ],
)
def test_options_of_other_learners_are_refused(
    options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = tmp_path / "points.csv"
    points.write_text("x,y,label\n1,1,1\n")
    ask = ["learn", points, "--learner", "threshold", "--grid", 8, "-o", tmp_path / "out.geojson"]
    assert run_geodp(*ask, *options) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out.geojson").exists()


def test_a_direction_is_for_thresholds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points = tmp_path / "points.csv"
    points.write_text("x,y,label\n1,1,1\n")
    ask = ["learn", points, "--grid", 8, "-o", tmp_path / "out.geojson", "--direction", "left"]
    assert run_geodp(*ask) == 2
    assert (
        "--direction means nothing to tiles: leave it out, or take --learner threshold"
        in capsys.readouterr().err
    )


def test_plan_counts_the_halfplanes_of_a_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_geodp("plan", "--learner", "threshold", "--grid", 1024, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["size"] == 4 * 1026
    assert 100 < told["n"] < 1000
    ask = ["plan", "--learner", "threshold", "--grid", 1024, "--direction", "left", "--json"]
    assert run_geodp(*ask) == 0
    known = json.loads(capsys.readouterr().out)
    assert known["size"] == 1026
    assert known["n"] < told["n"]
