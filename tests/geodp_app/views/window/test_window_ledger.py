"""Runs of the window on imported examples: entered in their ledger first, and refused beyond it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from run_charges import run_charge
from window_driver import Lasting, action, choose_file, key, run_once_more as run

from geodp_app.files.ledger import Ledger, Source, past_run
from geodp_app.files.session import load_session
from geodp_app.palette import load_palette
from geodp_app.views.panels.compare_window import CompareWindow
from geodp_app.views.panels.dialogs import LedgerDialog
from geodp_app.views.window.main_window import MainWindow
from learners.privacy.privacy_filter import Budget

SHIFT = Qt.KeyboardModifier.ShiftModifier
CSV = "x,y,label\n" + "".join(f"{x},{x * 7 % 256},{x % 2}\n" for x in range(0, 256, 2))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "geodp.ledger", budget=Budget(2.0, 1e-5))


@pytest.fixture
def window(lasting: Lasting, ledger: Ledger, tmp_path: Path) -> MainWindow:
    """Examples that were opened from beside a ledger; a run takes moments."""
    made = lasting.as_new()
    (tmp_path / "p.csv").write_text(CSV)
    assert made.files.open(tmp_path / "p.csv")
    made.document.set_run(learner="cover", k=2, n_steps=1, finish="none")
    return made


def note(window: MainWindow) -> str:
    return window.spent.words.text().replace("\u00a0", " ")


def ends(ledger: Ledger) -> list[str | None]:
    return [entry.end for entry in ledger.state().entries]


def test_runs_are_entered_counted_with_those_of_others_and_refused_beyond(
    qtbot, window, ledger, tmp_path
):
    assert window.document.work.ledger == str(ledger.path)
    assert note(window) == (
        "Ledger geodp.ledger: no run yet: together ε = 0, δ = 0, of a budget of ε = 2, δ = 10⁻⁵"
    )
    run(qtbot, window)
    assert ends(ledger) == ["released"]
    (charge,) = window.document.work.spent
    (entry,) = ledger.state().entries
    assert (entry.run, entry.verb, entry.learner) == (charge.privacy.run, "window", "cover")
    assert window.runs.log.release.privacy.run == entry.run  # so a file of it is not counted twice
    assert "1 run: together ε = 1, δ = 10⁻⁶, of a budget of" in note(window)
    # another process spends, and the window refuses what is then too much
    release, records = window.runs.log.release, window.runs.log.records
    other = past_run(run_charge(0.5, 0.0, "add-remove", finished=True))
    Ledger(ledger.path).join([other], Source.of_files([tmp_path / "p.csv"]))
    failures: list[str] = []
    window.runs.controller.failed.connect(failures.append)
    key(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: bool(failures))
    assert "epsilon would be 2.5, and the budget allows 2" in failures[0]
    assert "nothing was drawn" in window.status_line.text()
    assert ends(ledger) == ["released", "released"]
    assert len(window.document.work.spent) == 1
    # what was there before is there still
    assert (window.runs.log.release, window.runs.log.records) == (release, records)
    assert not window.runs.busy
    window.document.set_run(epsilon=0.5)
    run(qtbot, window)
    assert ends(ledger) == ["released"] * 3
    assert "3 runs: together ε = 2" in note(window)


def test_a_cancelled_run_counts_in_the_ledger(qtbot, window, ledger):
    window.document.set_run(learner="cover", k=20, n_steps=400)
    qtbot.waitUntil(lambda: window.runs.controller.state != "preparing")
    key(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: bool(window.runs.log and window.runs.log.records))
    assert ends(ledger) == [None]  # on the disk since before the first draw
    with qtbot.waitSignal(window.runs.controller.stopped):
        key(window, Qt.Key.Key_F5, SHIFT)
    assert ends(ledger) == ["cancelled"]
    assert "1 run, not finished: together ε = 1" in note(window)


def test_what_a_session_spent_before_joins_with_its_next_run(qtbot, window, ledger, tmp_path):
    window.document.set_ledger(None)
    assert note(window) == ""
    run(qtbot, window)
    window.document.set_ledger(str(ledger.path))
    assert "1 run: together ε = 1" in note(window)  # it is counted before it has joined
    assert ends(ledger) == []
    window.document.set_run(epsilon=0.25)
    run(qtbot, window)
    assert ledger.state().together == (1.25, 2e-6)
    window.files.save_to(tmp_path / "s.geodp")
    kept = load_session(tmp_path / "s.geodp").work
    assert kept.ledger == str(ledger.path)
    assert [one.privacy.run for one in kept.spent] == [one.run for one in ledger.state().entries]
    # a session that names none finds the one beside it
    window.document.set_ledger(None)
    window.files.save_to(tmp_path / "s.geodp")
    window.files.start_anew()
    assert window.files.open(tmp_path / "s.geodp")
    assert window.document.work.ledger == str(ledger.path)
    assert "2 runs: together ε = 1.25" in note(window)


def test_simulated_examples_are_in_no_ledger(qtbot, window, ledger):
    window.document.open_example("L")
    window.document.set_sampling(n=200)
    window.document.set_run(learner="cover", k=2, n_steps=1, finish="none")
    window.sample()
    assert window.document.work.ledger is None
    assert not window.commands.by_id["ledger"].isEnabled()
    run(qtbot, window)
    assert ends(ledger) == []


def test_a_ledger_that_is_gone_or_changed_lets_nothing_run(qtbot, window, ledger):
    changed = ledger.path.read_bytes().replace(b'"epsilon":2.0', b'"epsilon":9.0')
    ledger.path.write_bytes(changed)
    window.document.set_run(epsilon=0.5)
    assert note(window).startswith("Nothing can be run, as the ledger cannot be used: ")
    failures: list[str] = []
    window.runs.controller.failed.connect(failures.append)
    for reason in ("line 2 does not follow", "is not there"):
        key(window, Qt.Key.Key_F5)
        qtbot.waitUntil(lambda: bool(failures))
        assert reason in failures.pop()
        assert window.runs.log is None
        ledger.path.unlink(missing_ok=True)


def test_a_comparison_is_entered_whole(qtbot: QtBot, window: MainWindow, ledger: Ledger) -> None:
    compare = CompareWindow(window.document, load_palette("light"), window)
    qtbot.addWidget(compare)
    for name, box in compare.boxes.items():
        box.setChecked(name in ("histogram", "quadtree", "greedy-convex"))
    window.document.set_run(epsilon=1.5)
    compare.compare()
    assert "epsilon would be 3" in compare.banner.text()
    assert ends(ledger) == []
    window.document.set_run(epsilon=0.5)
    compare.compare()
    qtbot.waitUntil(lambda: not compare.controller.busy)
    assert ends(ledger) == ["released"] * 3
    assert ledger.state().together == (1.0, 0.0)
    names = [entry.run for entry in ledger.state().entries if entry.spends]
    assert [one.privacy.run for one in window.document.work.spent] == names
    compare.compare()
    compare.controller.cancel()
    assert ends(ledger)[3:] == ["cancelled"] * 3  # nobody here knows which of them had begun
    assert ledger.state().together == (2.0, 0.0)


def test_the_dialog_joins_begins_and_keeps_none(qtbot, window, ledger, tmp_path, monkeypatch):
    dialog = LedgerDialog(tmp_path, window)
    qtbot.addWidget(dialog)
    chosen: list[str | None] = []
    dialog.chosen.connect(chosen.append)
    choose_file(monkeypatch, ledger.path)
    dialog.join_button.click()
    dialog.none_button.click()
    new = tmp_path / "new.ledger"
    choose_file(monkeypatch, new)
    dialog.epsilon.setValue(4.0)
    dialog.begin_button.click()
    assert chosen == [str(ledger.path), None, str(new)]
    state = Ledger(new).state()
    assert state.budget == Budget(4.0, 1e-5)
    assert state.rule.relation == "add-remove"
    dialog.begin_button.click()
    assert "is there already" in dialog.problem.text()
    choose_file(monkeypatch, tmp_path / "p.csv")
    dialog.join_button.click()
    assert "is no ledger of geodp" in dialog.problem.text()
    assert len(chosen) == 3


def test_the_action_and_the_settings_lead_to_the_dialog(qtbot, window, ledger, monkeypatch):
    assert window.settings.ledger.text() == "geodp.ledger…"

    def choose_none(dialog: LedgerDialog) -> None:
        assert "of a budget of" in dialog.state.text()
        dialog.none_button.click()
        assert dialog.state.text() == "No ledger is kept of these examples."
        assert not dialog.none_button.isEnabled()

    monkeypatch.setattr(LedgerDialog, "exec", choose_none)
    window.settings.ledger.click()
    assert window.document.work.ledger is None
    assert window.settings.ledger.text() == "None…"
    action(window, "undo")
    assert window.document.work.ledger == str(ledger.path)
    action(window, "ledger")
    assert window.document.work.ledger is None
