"""What the runs on a sample spend is kept with it: counted in full, saved, undone, and readable."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot
from run_charges import run_charge
from window_driver import (
    Lasting,
    action,
    choose_file,
    drag,
    finish_run,
    first_step,
    key,
    run_once_more as run,
)

from geodp_app.views.window.main_window import MainWindow

SHIFT = Qt.KeyboardModifier.ShiftModifier
CSV = "x,y,label\n" + "".join(f"{x},{x * 7 % 256},{x % 2}\n" for x in range(0, 256, 2))


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    made = lasting.as_new()
    action(made, "live")  # runs are those that are asked for
    assert not made.runs.live
    return made


def sampled(window: MainWindow, n: int = 500) -> None:
    """A square and examples of it; a run takes moments."""
    key(window, Qt.Key.Key_R)
    drag(window, (50, 50), (120, 120), (200, 200))
    window.document.set_sampling(n=n)
    window.document.set_run(learner="cover", k=2, n_steps=1, finish="none")
    key(window, Qt.Key.Key_F6)


def cancelled(qtbot: QtBot, window: MainWindow) -> None:
    """A run that is stopped in the middle of a selection."""
    qtbot.waitUntil(lambda: window.runs.controller.state != "preparing")
    seen: list[object] = []
    window.runs.progressed.connect(seen.append)
    key(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: bool(seen))
    with qtbot.waitSignal(window.runs.controller.stopped):
        key(window, Qt.Key.Key_F5, SHIFT)


def slow(window: MainWindow) -> None:
    """A sample whose selections last."""
    window.document.open_example("three")
    window.document.set_sampling(n=100_000)
    window.document.set_run(learner="cover", k=3, n_steps=3)
    window.sample()


def note(window: MainWindow) -> str:
    """What can be read of it; empty if it is hidden."""
    words = window.spent.words.text().replace("\u00a0", " ")
    return words if window.spent.isVisible() else ""


def save(window: MainWindow, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    choose_file(monkeypatch, path)
    action(window, "save_as")
    assert not window.document.history.dirty


def test_runs_add_up_and_the_note_survives_saving_and_reopening(
    qtbot, window, tmp_path, monkeypatch
):
    sampled(window)
    run(qtbot, window)
    assert note(window) == ""  # the statement of the one run says it all
    run(qtbot, window)
    assert note(window).startswith("2 runs: together ε = 2, δ = 2·10⁻⁶")
    path = tmp_path / "two.geodp"
    save(window, monkeypatch, path)
    run(qtbot, window)
    assert window.document.history.dirty  # the file knows of two
    action(window, "save")
    window.files.start_anew()
    assert note(window) == ""
    assert window.files.open(path)
    assert note(window).startswith("3 runs: together ε = 3, δ = 3·10⁻⁶")
    run(qtbot, window)
    assert note(window).startswith("4 runs: together ε = 4")


def test_imported_examples_have_a_note_that_goes_with_them_and_comes_back(
    qtbot, window, tmp_path, monkeypatch
):
    (tmp_path / "p.csv").write_text(CSV)
    (tmp_path / "q.csv").write_text(CSV)
    assert window.files.open(tmp_path / "p.csv")
    window.document.set_run(learner="cover", k=2, n_steps=1, finish="none")
    run(qtbot, window)
    run(qtbot, window)
    two = note(window)
    assert two.startswith("2 runs: together ε = 2")
    assert window.document.history.dirty  # real examples: what they spent is to be kept
    key(window, Qt.Key.Key_R)
    drag(window, (50, 50), (120, 120), (200, 200))
    assert note(window) == two  # drawing does not change them
    action(window, "clear_examples")
    assert note(window) == ""
    action(window, "undo")
    assert note(window) == two
    choose_file(monkeypatch, tmp_path / "q.csv")
    action(window, "import_examples")
    assert window.document.work.examples is not None
    assert note(window) == ""
    action(window, "undo")
    assert note(window) == two


def test_the_note_goes_with_a_sample_and_undo_brings_both_back(qtbot, window):
    sampled(window)
    run(qtbot, window)
    run(qtbot, window)
    two = note(window)
    assert two
    key(window, Qt.Key.Key_F6)  # another sample
    assert note(window) == ""
    run(qtbot, window)
    assert note(window) == ""
    action(window, "undo")
    assert note(window) == two
    window.document.set_run(epsilon=0.5)
    assert note(window) == two
    run(qtbot, window)
    assert note(window).startswith("3 runs: together ε = 2.5")
    # an undo of the setting does not take back what was spent
    action(window, "undo")
    assert window.document.work.run["epsilon"] == 1.0
    assert note(window).startswith("3 runs: together ε = 2.5")
    key(window, Qt.Key.Key_R)
    drag(window, (210, 210), (220, 220), (240, 240))  # labels the sample anew
    assert note(window) == ""
    action(window, "undo")
    assert note(window).startswith("3 runs: together ε = 2.5")


def test_a_cancelled_run_counts_in_full_and_the_window_says_so(
    qtbot, window, tmp_path, monkeypatch
):
    slow(window)
    cancelled(qtbot, window)
    assert note(window) == "1 run, not finished: ε = 1, δ = 10⁻⁶"
    outcome = window.status_line.text()
    assert outcome.startswith("Cancelled")
    assert "not covered by its own statement" in outcome
    cancelled(qtbot, window)
    assert note(window) == "2 runs, 2 not finished: together ε = 2, δ = 2·10⁻⁶"
    save(window, monkeypatch, tmp_path / "cancelled.geodp")
    window.files.start_anew()
    assert window.files.open(tmp_path / "cancelled.geodp")
    assert note(window) == "2 runs, 2 not finished: together ε = 2, δ = 2·10⁻⁶"


def test_a_reset_and_a_new_run_in_place_of_one_cancel_it(qtbot: QtBot, window: MainWindow) -> None:
    sampled(window)
    window.document.set_run(k=2, n_steps=4)
    first_step(qtbot, window)
    assert note(window) == ""  # it can still finish
    window.document.set_run(epsilon=0.5)
    run(qtbot, window)
    assert note(window) == "2 runs, 1 not finished: together ε = 1.5, δ = 2·10⁻⁶"
    window.status_line.tell("")
    first_step(qtbot, window)
    action(window, "reset")
    assert window.status_line.text().startswith("Cancelled")
    assert note(window) == "3 runs, 2 not finished: together ε = 2, δ = 3·10⁻⁶"


def test_a_run_is_not_charged_before_its_first_step(window, monkeypatch):
    """Stopped while loops are prepared, nothing has looked at the examples."""
    sampled(window)
    monkeypatch.setattr(window.runs.controller, "prepared", False)
    key(window, Qt.Key.Key_F5)
    assert window.runs.controller.pending
    window.runs.cancel()
    assert window.document.work.spent == ()
    assert window.status_line.text() == "Stopped: nothing is released."


def test_a_number_that_is_being_typed_survives_a_run_that_begins_and_ends(qtbot, window):
    """Both are noted in the document, which the settings follow."""
    sampled(window)
    field = window.settings.epsilon
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "0.7")
    window.runs.run_or_pause()
    finish_run(qtbot, window)
    assert window.document.work.spent[0].privacy.epsilon == 1.0
    assert field.text() == "0.7"
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert window.document.work.run["epsilon"] == 0.7


def test_runs_without_privacy_are_not_charged(qtbot: QtBot, window: MainWindow) -> None:
    sampled(window)
    window.document.set_run(seed=7)
    run(qtbot, window)
    window.document.set_run(learner="greedy-cover")
    run(qtbot, window)
    assert window.document.work.spent == ()


def test_play_with_simulated_examples_in_no_file_is_nothing_to_ask_about(
    qtbot, window, monkeypatch
):
    asked: list[str] = []
    monkeypatch.setattr(QMessageBox, "exec", lambda box: asked.append(box.text()))
    window.files.begin_with_example("tri")
    window.document.set_sampling(n=500)
    window.document.new(window.document.work)
    run(qtbot, window)
    run(qtbot, window)
    assert note(window)
    assert not window.document.history.dirty
    window.files.open_example("L")
    assert asked == []


@pytest.mark.parametrize("size", [(800, 690), (1100, 760), (1366, 768), (1600, 1000)])
def test_the_note_can_be_read_to_its_end_at_every_size_and_is_private(qtbot, window, size):
    sampled(window)
    run(qtbot, window)
    run(qtbot, window)
    window.resize(*size)
    qtbot.wait(50)
    card = window.spent
    assert card.isVisible()
    for label in (card.words, card.rule):
        text, box = label.text(), label.contentsRect()
        flags = int(Qt.TextFlag.TextWordWrap)
        needed = label.fontMetrics().boundingRect(QRect(0, 0, box.width(), 10_000), flags, text)
        assert needed.height() <= box.height(), text
        assert needed.width() <= box.width(), text
        whole = QRect(label.mapTo(window, QPoint(0, 0)), label.size())
        assert window.rect().contains(whole), text
    action(window, "release_view")
    assert not card.isVisible()  # that a run was made again may depend on the examples
    action(window, "release_view")
    assert card.isVisible()


def test_to_note_what_is_spent_draws_nothing_anew(qtbot, window, monkeypatch):
    """With many examples a picture takes a tenth of a second."""
    sampled(window)
    examples = window.document.work.examples
    assert examples is not None
    drawn: list[object] = []
    monkeypatch.setattr(window.plane, "show_examples", drawn.append)
    window.document.charge(examples, run_charge(1.0, 1e-6, "add-remove", finished=False))
    assert note(window)
    assert drawn == []
    window.document.clear_examples()
    assert drawn == [None]
