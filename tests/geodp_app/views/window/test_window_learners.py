"""Every learner of the window: chosen in the panel, run, counted, shown, saved and exported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import shapely
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot
from window_driver import Lasting, action, choose, painted, run, said, shape_of

from geodp import InputError
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files.learned_file import read_learned
from geodp_app.runs.run_log import RunLog
from geodp_app.views.window.main_window import MainWindow
from learners.declaration import Learner
from learners.registry import DIRECTION, offered

ANGLES = np.linspace(0, 2 * np.pi, 48, endpoint=False)
ROUND = Shape(tuple((round(120 + 80 * np.cos(a)), round(130 + 70 * np.sin(a))) for a in ANGLES))

every = pytest.mark.parametrize("learner", offered("window"), ids=lambda learner: learner.id)


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    made = lasting.as_new()
    made.document.edit("draw", Drawing(256, (ROUND,)))
    made.document.set_sampling(n=4_000)
    return made


@every
def test_the_panel_asks_only_for_what_the_learner_uses(
    window: MainWindow, learner: Learner
) -> None:
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


@every
def test_a_run_is_counted_shown_exported_and_comes_back(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    learner: Learner,
) -> None:  # fmt: skip
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
