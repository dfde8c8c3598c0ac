"""Triangles by votes of chunks in the real window: margins, answers, budget; and at the prompt."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from terminal import geodp
from window_driver import Lasting, finish_run, key, log_of, wait

from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files.run_record import RunRecord
from geodp_app.palette import load_palette
from geodp_app.runs.figures import Selecting
from geodp_app.runs.protocol import Progressed
from geodp_app.views.plane.learned_layer import margin_image
from geodp_app.views.window.main_window import MainWindow
from learners.core.releases import CoverRelease
from learners.stability.sample_and_aggregate import PLACES, VoteProgress, VoteView

TARGET = Drawing(64, (Shape(((8, 8), (60, 10), (20, 60))),))


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    made = lasting.as_new()
    made.document.edit("draw", TARGET)
    made.document.set_sampling(n=3_000)
    made.document.set_run(learner="stability", k=1, epsilon=8.0, seed=4)
    return made


def test_margins_and_answers_are_shown_and_hidden_in_the_release_view(
    qtbot: QtBot, window: MainWindow
) -> None:
    panel = window.settings
    assert panel.learner.currentText() == "Triangles by votes"
    assert not any(
        f.isVisible()
        for f in (panel.fields["n_steps"], panel.fields["tiles"], panel.fields["measure"])
    )
    assert panel.k.value() == 1
    outcome: list[Progressed] = []
    window.runs.progressed.connect(outcome.append)
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    wait(qtbot, lambda: window.display.at_rest)
    log = log_of(window)
    votes = log.votes
    assert len(votes.asked) == len(votes.answers) > 10
    assert votes.margins.shape == (PLACES, PLACES)
    assert np.abs(votes.margins).max() <= 1
    # deep inside the chunks say 1, in a corner of the square 0
    assert votes.margins[PLACES // 2, PLACES // 3] > 0.5 > -0.5 > votes.margins[-1, -1]
    layer = window.plane.votes
    shown = {answer: len(s.data) for answer, s in layer.scatters.items()}
    assert shown == {a: int((votes.answers == a).sum()) for a in (1, 0, -1)}
    assert not layer.image.boundingRect().isEmpty()
    assert isinstance(log.release, CoverRelease)
    assert log.privacy == log.release.privacy
    # all is spent before the first step
    assert log.figures(1).epsilon_so_far == 8.0
    lines = log.run.to_lines()
    assert RunRecord.from_lines(lines).to_lines() == lines
    assert all("margins" not in line and "asked" not in line for line in lines)
    window.display.set_release_view(True)
    assert not any(item.isVisible() for item in (layer.image, *layer.scatters.values()))
    window.document.set_run(learner="tiles")
    window.display.set_release_view(False)
    window.runs.reset()
    wait(qtbot, lambda: window.display.at_rest)
    assert layer.image.boundingRect().isEmpty()


def test_the_progress_says_what_is_done() -> None:
    assert Selecting(1, VoteProgress(12, 40, math.nan), 3.0).text() == "Training… 12 of 40 chunks"
    votes = VoteView(
        40, np.zeros((PLACES, PLACES)), np.zeros((7, 2), np.int64), np.zeros(7, np.int8), 1, 93
    )
    asking = Selecting(1, VoteProgress(40, 40, math.nan, votes=votes), 3.0)
    assert asking.text() == "Asking… 7 points answered, 93 queries left"


def test_a_margin_is_tinted_by_its_sign_and_strength() -> None:
    palette = load_palette("light")
    margins = np.zeros((PLACES, PLACES))
    margins[0, 0], margins[1, 0], margins[0, 1] = 1.0, -0.5, 0.5
    image = margin_image(margins, palette)
    assert image.pixelColor(0, 0).name() == palette.positive.lower()
    assert image.pixelColor(1, 0).name() == palette.negative.lower()
    assert image.pixelColor(5, 5).alpha() == 0
    assert image.pixelColor(0, 0).alpha() > image.pixelColor(0, 1).alpha() > 0


def run_geodp(*words: object) -> int:
    return geodp(*words)


@pytest.fixture
def points(tmp_path: Path) -> Path:
    rows = [f"{x},{y},{int(x + y <= 30)}" for x in range(33) for y in range(33)] * 3
    path = tmp_path / "points.csv"
    path.write_text("x,y,label\n" + "\n".join(rows) + "\n")
    return path


def test_the_command_protects_labels_alone_if_asked(
    points: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learned = tmp_path / "learned.geojson"
    ask = ["learn", points, "--grid", 32, "--epsilon", 8, "-o", learned]
    ask += ["--neighbours", "replace-label"]
    assert run_geodp(*ask, "--learner", "stability", "--k", 1) == 0
    said = capsys.readouterr().err
    assert "replacing the label of one example (the points are not protected)" in said
    assert run_geodp(*ask) == 2
    assert (
        "--neighbours replace-label means nothing to tiles: it is for --learner stability"
        in capsys.readouterr().err
    )
