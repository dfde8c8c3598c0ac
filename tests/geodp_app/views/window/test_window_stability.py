"""Triangles by votes of chunks in the real window: margins, answers, budget, and points asked about
after the run until the halts are used up; and at the prompt.
"""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import shapely
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot
from terminal import geodp
from window_driver import Lasting, action, click, finish_run, key, log_of

from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files.run_record import RunRecord
from geodp_app.files.session import load_session, save_session
from geodp_app.palette import load_palette
from geodp_app.runs.figures import Selecting
from geodp_app.runs.protocol import Progressed
from geodp_app.views.plane.learned_layer import margin_image
from geodp_app.views.window.main_window import MainWindow
from geometry.mask import mask_of
from learners.core.releases import CoverRelease
from learners.stability.sample_and_aggregate import PLACES, VoteProgress, VoteView

TARGET = Drawing(64, (Shape(((8, 8), (60, 10), (20, 60))),))


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    return lasting.drawn(
        TARGET, 3_000, learner="stability", k=1, epsilon=8.0, seed=4, halts=3, kept=2
    )


def run(qtbot: QtBot, window: MainWindow) -> None:
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    qtbot.waitUntil(lambda: window.runs.controller.state == "finished")


def asked(window: MainWindow) -> int:
    return len(log_of(window).questions)


def ask(qtbot: QtBot, window: MainWindow, x: int, y: int) -> None:
    """Click a point, and wait for the answer."""
    before = asked(window)
    click(window, x, y)
    qtbot.waitUntil(lambda: asked(window) == before + 1)


def test_points_are_clicked_until_the_halts_are_used_up(qtbot, window, tmp_path):
    card, layer = window.query_card, window.plane.questions
    key(window, Qt.Key.Key_Q)
    assert window.editor.tool == "ask"
    click(window, 30, 20)
    assert "after a run of the learner Triangles by votes" in window.status_line.text()
    assert not card.isVisible()
    run(qtbot, window)
    log = log_of(window)
    assert card.isVisible()
    assert card.left.text().startswith("Halts left: ")
    row = [card.x_field.geometry(), card.y_field.geometry(), card.button.geometry()]
    assert all(left.right() < right.left() for left, right in itertools.pairwise(row))
    spent = window.document.work.spent

    # outside of what the shape is clipped to, all is 0 without a question
    window.document.set_within(mask_of(shapely.box(0, 0, 30, 64), window.document.work.frame))
    click(window, 50, 14)
    assert "(50, 14): outside of" in window.status_line.text()
    assert "nobody was asked" in window.status_line.text()
    window.document.set_within(None)
    assert asked(window) == 0
    # deep inside and far outside the chunks agree
    ask(qtbot, window, 26, 22)
    ask(qtbot, window, 61, 61)
    first, second = log.questions
    assert [q.point for q in log.questions] == [(26, 22), (61, 61)]
    assert (first.release.value, second.release.value) == (1, 0)
    assert first.diagnostics is not None
    chunks = dict(log.release.parameters)["chunks"]  # type: ignore[union-attr]
    assert sum(first.diagnostics.votes) == chunks
    assert card.answer.text() == "(61, 61): answered 0"
    zeros, ones = second.diagnostics.votes  # type: ignore[union-attr]
    assert card.votes.isVisible()
    assert card.votes.text().startswith(f"Votes: {ones} for 1, {zeros} for 0; distance to inst")
    assert f"{ones} for 1, {zeros} for 0" in layer.words.toPlainText()
    assert [len(layer.symbols[a].data) for a in (1, 0, None)] == [1, 1, 0]
    assert window.document.drawing == TARGET

    # on the border they do not
    left = first.release.halts_left
    for x, y in itertools.product(range(30, 56, 5), (9, 10)):
        if window.query_card.refusal:
            break
        ask(qtbot, window, x, y)
    assert window.query_card.refusal == "The halts are used up: no more points are answered."
    assert card.left.text() == window.query_card.refusal
    assert not card.button.isEnabled()
    unanswered = [q for q in log.questions if q.release.value is None]
    assert len(unanswered) == left >= 2
    assert log.questions[-1] is unanswered[-1]
    assert card.answer.text().endswith(": not answered")
    many = asked(window)
    click(window, 26, 22)
    qtbot.wait(100)
    assert asked(window) == many
    assert window.status_line.text() == window.query_card.refusal
    # what was on its way meanwhile comes back without an answer, and is none
    with qtbot.waitSignal(window.runs.controller.queried):
        window.runs.controller.query(np.array([[26, 22]]))
    assert asked(window) == many
    # all of it was paid for with the run
    assert window.document.work.spent == spent

    # what is released is kept with the session; how the chunks voted is not
    lines = log.run.to_lines()
    assert not any("votes" in line.split('"settings"')[0] for line in lines)
    assert [(q.point, q.release) for q in RunRecord.from_lines(lines).questions] == [
        (q.point, q.release) for q in log.questions
    ]
    path = tmp_path / "kept.geodp"
    save_session(path, window.document.work, log.run)
    window.files.show_session(*load_session(path), path)
    assert asked(window) == many
    assert card.answer.text().endswith(": not answered")
    assert not card.votes.isVisible()
    assert not card.button.isEnabled()


def test_an_answer_that_is_in_no_file_is_asked_about(qtbot, window, tmp_path) -> None:
    key(window, Qt.Key.Key_Q)
    run(qtbot, window)
    assert window.files.save_to(tmp_path / "s.geodp")
    ask(qtbot, window, 26, 22)
    assert window.document.history.dirty
    assert window.files.save()
    assert not window.document.history.dirty
    kept = load_session(tmp_path / "s.geodp").run
    assert kept is not None
    assert [one.point for one in kept.questions] == [(26, 22)]


def test_the_release_view_shows_answers_alone_and_can_ask(qtbot: QtBot, window: MainWindow) -> None:
    run(qtbot, window)
    card, layer = window.query_card, window.plane.questions
    action(window, "release_view")
    # by the keyboard alone: the fields and the button, then the grid cursor
    card.x_field.setFocus()
    card.x_field.selectAll()
    QTest.keyClicks(card.x_field, "26")
    card.y_field.setFocus()
    card.y_field.selectAll()
    QTest.keyClicks(card.y_field, "22")
    card.button.setFocus()
    QTest.keyClick(card.button, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: asked(window) == 1)
    assert card.answer.text() == "(26, 22): answered 1"
    assert layer.words.toPlainText() == "Answered 1"
    assert not card.votes.isVisible()
    assert not card.mark.isVisible()
    assert not window.plane.votes.image.isVisible()
    key(window, Qt.Key.Key_Q)
    for _ in range(3):
        key(window, Qt.Key.Key_Right)
    key(window, Qt.Key.Key_Insert)
    qtbot.waitUntil(lambda: asked(window) == 2)
    # the cursor began in the middle
    assert window.runs.current.questions[-1].point == (35, 32)
    assert "distance" not in layer.words.toPlainText()
    action(window, "release_view")
    assert "distance" in layer.words.toPlainText()
    assert card.votes.isVisible()
    assert card.mark.isVisible()


def test_a_run_that_kept_nothing_says_so(qtbot: QtBot, window: MainWindow) -> None:
    chunks, halts, kept = (window.settings.fields[name] for name in ("chunks", "halts", "kept"))
    assert (chunks.text(), halts.value(), kept.value()) == ("automatic", 3, 2)
    assert kept.maximum() == 2
    # no more can be kept than there are, but for one
    halts.setValue(1)
    assert (window.document.work.run["halts"], window.document.work.run["kept"]) == (1, 0)
    chunks.setValue(15)
    run(qtbot, window)
    release = window.runs.current.release  # type: ignore[union-attr]
    assert dict(release.parameters)["chunks"] == 15  # type: ignore[union-attr]
    refusal = window.query_card.left.text()
    assert refusal.startswith("This run kept no halt for you")
    key(window, Qt.Key.Key_Q)
    click(window, 26, 22)
    qtbot.wait(50)
    assert asked(window) == 0
    assert window.status_line.text() == refusal


def test_labels_alone_are_protected_by_a_learner_that_can(qtbot: QtBot, window: MainWindow) -> None:
    panel, document = window.settings, window.document
    box = panel.fields["neighbours"]
    row = box.findData("replace-label")
    assert row > 0
    document.set_run(seed=None)
    box.setCurrentIndex(row)
    assert document.work.run["neighbours"] == "replace-label"
    run(qtbot, window)
    log = log_of(window)
    assert log.privacy.neighbours == "replace-label"
    assert dict(log.release.parameters)["public_points"] == "sample"  # type: ignore[union-attr]
    assert window.figures.budget.values["Neighbours"].text() == "replace one label"
    assert [charge.privacy.neighbours for charge in document.work.spent] == ["replace-label"]
    # others protect whole examples, and do not offer it
    panel.learner.setCurrentIndex(panel.learner.findData("tiles"))
    assert document.work.run["neighbours"] == box.currentData() == "add-remove"
    assert box.findData("replace-label") < 0
    document.undo()
    assert document.work.run["neighbours"] == box.currentData() == "replace-label"


def test_the_chunks_are_gone_when_the_process_is(qtbot: QtBot, window: MainWindow) -> None:
    run(qtbot, window)
    link = window.runs.controller.link
    link.kill()
    qtbot.waitUntil(lambda: window.runs.controller.link not in (None, link))
    qtbot.waitUntil(lambda: window.runs.controller.state == "finished")
    window.query_card.ask((26, 22))
    qtbot.waitUntil(lambda: "are gone" in window.status_line.text())
    assert asked(window) == 0
    assert window.runs.controller.state == "finished"


def test_margins_and_answers_are_shown_and_hidden_in_the_release_view(qtbot, window):
    panel = window.settings
    assert panel.learner.currentText() == "Triangles by votes"
    assert not any(
        f.isVisible()
        for f in (panel.fields["n_steps"], panel.fields["tiles"], panel.fields["measure"])
    )
    assert panel.k.value() == 1
    outcome: list[Progressed] = []
    window.runs.progressed.connect(outcome.append)
    run(qtbot, window)
    qtbot.waitUntil(lambda: window.display.at_rest)
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
    qtbot.waitUntil(lambda: window.display.at_rest)
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


@pytest.fixture
def points(tmp_path: Path) -> Path:
    rows = [f"{x},{y},{int(x + y <= 30)}" for x in range(33) for y in range(33)] * 3
    path = tmp_path / "points.csv"
    path.write_text("x,y,label\n" + "\n".join(rows) + "\n")
    return path


def test_the_command_protects_labels_alone_if_asked(points, tmp_path, capsys):
    learned = tmp_path / "learned.geojson"
    ask = ["learn", points, "--grid", 32, "--epsilon", 8, "-o", learned]
    ask += ["--neighbours", "replace-label"]
    assert geodp(*ask, "--learner", "stability", "--k", 1) == 0
    said = capsys.readouterr().err
    assert "replacing the label of one example (the points are not protected)" in said
    assert geodp(*ask) == 2
    assert (
        "--neighbours replace-label means nothing to tiles: it is for --learner stability"
        in capsys.readouterr().err
    )
