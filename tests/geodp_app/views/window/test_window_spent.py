"""What the runs on a sample spend: noted in full, and entered in the ledger of real examples."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import shapely
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
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
    log_of,
    open_window,
    run_once_more as run,
)

import geodp
from geodp_app.files.ledger import Ledger, Source, past_run
from geodp_app.files.session import load_session
from geodp_app.palette import load_palette
from geodp_app.views.compare.compare_window import CompareWindow
from geodp_app.views.panels.dialogs import LedgerDialog
from geodp_app.views.window.main_window import MainWindow
from learners.privacy.several_runs import Budget

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


def test_runs_add_up_and_the_note_survives_saving_and_opening(qtbot, window, tmp_path, monkeypatch):
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


def test_a_cancelled_run_counts_in_full_and_the_window_says_so(qtbot, window):
    slow(window)
    cancelled(qtbot, window)
    assert not window.runs.busy
    log = window.runs.current
    assert log is None or log.release is None
    assert not window.commands.by_id["export_learned"].isEnabled()
    assert note(window) == "1 run, not finished: ε = 1, δ = 10⁻⁶"
    outcome = window.status_line.text()
    assert outcome.startswith("Cancelled")
    assert "not covered by its own statement" in outcome
    cancelled(qtbot, window)
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


def test_play_goes_on_with_a_run_and_begins_none(qtbot, window, tmp_path, monkeypatch):
    """What another one spends is spent by Run or Step alone."""
    sampled(window)
    window.runs.set_live(False)
    window.document.set_run(n_steps=3)
    first_step(qtbot, window)
    assert window.timeline.play.isEnabled()
    window.document.set_run(epsilon=2.0)
    assert not window.timeline.play.isEnabled()
    window.undo()
    assert window.timeline.play.isEnabled()
    path = tmp_path / "paused.geodp"
    save(window, monkeypatch, path)
    assert window.files.open(path)
    assert window.timeline.words.text() == "Triangle 1 of 3"
    assert not window.timeline.play.isEnabled()


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


def test_the_note_can_be_read_to_its_end_at_every_size_and_is_private(qtbot, window):
    sampled(window)
    run(qtbot, window)
    run(qtbot, window)
    card = window.spent
    for size in ((800, 690), (1100, 760), (1366, 768), (1600, 1000)):
        window.resize(*size)
        qtbot.wait(50)
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


# -- a ledger --------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "geodp.ledger", budget=Budget(2.0, 1e-5))


@pytest.fixture
def entered(lasting: Lasting, ledger: Ledger, tmp_path: Path) -> MainWindow:
    """Examples that were opened from beside a ledger; a run takes moments."""
    made = lasting.as_new()
    (tmp_path / "p.csv").write_text(CSV)
    assert made.files.open(tmp_path / "p.csv")
    made.document.set_run(learner="cover", k=2, n_steps=1, finish="none")
    return made


def ledger_note(entered: MainWindow) -> str:
    return entered.spent.words.text().replace("\u00a0", " ")


def ends(ledger: Ledger) -> list[str | None]:
    return [entry.end for entry in ledger.state().entries]


def test_runs_are_entered_counted_with_those_of_others_and_refused_beyond(
    qtbot, entered, ledger, tmp_path
):
    assert entered.document.work.ledger == str(ledger.path)
    assert ledger_note(entered) == (
        "Ledger geodp.ledger: no run yet: together ε = 0, δ = 0, of a budget of ε = 2, δ = 10⁻⁵"
    )
    run(qtbot, entered)
    assert ends(ledger) == ["released"]
    (charge,) = entered.document.work.spent
    (entry,) = ledger.state().entries
    assert (entry.run, entry.verb, entry.learner) == (charge.privacy.run, "window", "cover")
    assert entered.runs.log.release.privacy.run == entry.run  # so a file of it is not counted twice
    assert "1 run: together ε = 1, δ = 10⁻⁶, of a budget of" in ledger_note(entered)
    # another process spends, and the window refuses what is then too much
    release, records = entered.runs.log.release, entered.runs.log.records
    other = past_run(run_charge(0.5, 0.0, "add-remove", finished=True))
    Ledger(ledger.path).join(([other], Source.of_files([tmp_path / "p.csv"])))
    failures: list[str] = []
    entered.runs.controller.failed.connect(failures.append)
    key(entered, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: bool(failures))
    assert "epsilon would be 2.5, and the budget allows 2" in failures[0]
    assert "nothing was drawn" in entered.status_line.text()
    assert ends(ledger) == ["released", "released"]
    assert len(entered.document.work.spent) == 1
    # what was there before is there still
    assert (entered.runs.log.release, entered.runs.log.records) == (release, records)
    assert not entered.runs.busy
    entered.document.set_run(epsilon=0.5)
    run(qtbot, entered)
    assert ends(ledger) == ["released"] * 3
    assert "3 runs: together ε = 2" in ledger_note(entered)


def test_a_cancelled_run_counts_in_the_ledger(qtbot, entered, ledger):
    entered.document.set_run(learner="cover", k=20, n_steps=400)
    qtbot.waitUntil(lambda: entered.runs.controller.state != "preparing")
    key(entered, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: bool(entered.runs.log and entered.runs.log.records))
    assert ends(ledger) == [None]  # on the disk since before the first draw
    with qtbot.waitSignal(entered.runs.controller.stopped):
        key(entered, Qt.Key.Key_F5, SHIFT)
    assert ends(ledger) == ["cancelled"]
    assert "1 run, not finished: together ε = 1" in ledger_note(entered)


def test_a_run_that_a_closing_window_ends_is_cancelled_in_the_ledger(qtbot, ledger, tmp_path):
    (tmp_path / "p.csv").write_text(CSV)
    with open_window(tmp_path / "own") as window:
        assert window.files.open(tmp_path / "p.csv")
        window.document.set_run(learner="cover", k=2, n_steps=9, finish="none")
        first_step(qtbot, window)
    assert ends(ledger) == ["cancelled"]


def test_what_a_session_spent_before_joins_with_its_next_run(qtbot, entered, ledger, tmp_path):
    entered.document.set_ledger(None)
    assert ledger_note(entered) == ""
    run(qtbot, entered)
    entered.document.set_ledger(str(ledger.path))
    assert "1 run: together ε = 1" in ledger_note(entered)  # it is counted before it has joined
    assert ends(ledger) == []
    entered.document.set_run(epsilon=0.25)
    run(qtbot, entered)
    assert ledger.state().together == (1.25, 2e-6)
    entered.files.save_to(tmp_path / "s.geodp")
    kept = load_session(tmp_path / "s.geodp").work
    assert kept.ledger == str(ledger.path)
    assert [one.privacy.run for one in kept.spent] == [one.run for one in ledger.state().entries]
    # a session that names none finds the one beside it
    entered.document.set_ledger(None)
    entered.files.save_to(tmp_path / "s.geodp")
    entered.files.start_anew()
    assert entered.files.open(tmp_path / "s.geodp")
    assert entered.document.work.ledger == str(ledger.path)
    assert "2 runs: together ε = 1.25" in ledger_note(entered)


@pytest.mark.parametrize("name", ["geodp.ledger", "water.ledger"])
def test_a_session_that_is_moved_with_its_ledger_goes_on_with_it(
    qtbot, entered, ledger, tmp_path, name
):
    kept, place = Ledger(ledger.path.rename(tmp_path / name)), tmp_path / "moved"
    entered.document.set_ledger(str(kept.path))
    run(qtbot, entered)
    place.mkdir()
    assert entered.files.save_to(tmp_path / "s.geodp")
    shutil.copy(tmp_path / "s.geodp", place)
    other = Ledger.create(place / name)  # of other people
    assert entered.files.open(place / "s.geodp")
    assert entered.document.work.ledger == str(kept.path)  # where it was, as long as it is there
    kept.path.rename(tmp_path / "away")
    assert entered.files.open(place / "s.geodp")
    assert "is not there" in ledger_note(entered)
    (tmp_path / "away").rename(other.path)
    assert entered.files.open(place / "s.geodp")
    assert "1 run: together ε = 1, δ = 10⁻⁶, of a budget of ε = 2" in ledger_note(entered)
    assert not entered.document.history.dirty
    run(qtbot, entered)
    assert ends(other) == ["released"] * 2
    assert entered.files.save()
    other.path.write_text("no ledger")
    assert entered.files.open(place / "s.geodp")
    assert f"{other.path}: is no ledger of geodp" in ledger_note(entered)


def test_a_run_on_a_bare_grid_is_still_there_when_its_examples_are_put_on_the_globe(
    qtbot, entered, ledger, tmp_path, monkeypatch
):
    run(qtbot, entered)
    log, made = entered.runs.current, entered.runs.stored()
    map_file = tmp_path / "map.geojson"
    map_file.write_text(shapely.to_geojson(shapely.box(10, 10, 12, 12)))
    choose_file(monkeypatch, map_file)
    action(entered, "import_target")
    assert entered.document.work.bounds is not None
    assert (entered.runs.current, entered.runs.shown.log) == (log, log)
    assert entered.runs.shown.out_of_date == ""
    entered.files.save_to(tmp_path / "s.geodp")  # as its epsilon is spent
    assert load_session(tmp_path / "s.geodp").run == made
    choose_file(monkeypatch, tmp_path / "h.geojson")
    action(entered, "export_learned")
    assert geodp.load(tmp_path / "h.geojson").frame == entered.document.work.frame
    assert ends(ledger) == ["released"]


def test_other_examples_beside_the_ledger_stay_in_it_and_it_is_said_of_those_from_elsewhere(
    entered, ledger, tmp_path, monkeypatch
):
    for folder, left in ((tmp_path, False), (tmp_path / "elsewhere", True)):
        folder.mkdir(exist_ok=True)
        (folder / "q.csv").write_text(CSV)
        choose_file(monkeypatch, folder / "q.csv")
        action(entered, "import_examples")
        assert (entered.document.work.ledger is None) == left
        said = "what runs on them spend is not entered in geodp.ledger any more"
        assert (said in entered.status_line.text()) == left


@pytest.mark.parametrize("whole", [False, True])
def test_runs_on_other_examples_come_back_with_them(
    qtbot, entered, ledger, tmp_path, monkeypatch, whole
):
    run(qtbot, entered)
    first = entered.runs.stored()
    entered.document.set_run(epsilon=0.5, n_steps=3)
    (tmp_path / "q.csv").write_text(CSV)
    choose_file(monkeypatch, tmp_path / "q.csv")
    action(entered, "import_examples")
    assert entered.runs.stored() is None
    first_step(qtbot, entered)
    if whole:
        key(entered, Qt.Key.Key_F5)
        finish_run(qtbot, entered)
    second = entered.runs.stored()
    action(entered, "undo")
    assert entered.runs.stored() == first  # out of date, and a save would keep it
    action(entered, "undo")
    assert entered.runs.stored() == first
    assert entered.runs.shown.out_of_date == ""
    choose_file(monkeypatch, tmp_path / "h.geojson")
    action(entered, "export_learned")
    assert geodp.load(tmp_path / "h.geojson").release == first.release
    action(entered, "redo")
    action(entered, "redo")
    assert entered.runs.stored() == second
    assert ends(ledger) == ["released", "released" if whole else "cancelled"]


def test_a_run_that_an_undo_ends_is_said_to_be_cancelled(qtbot, entered, ledger):
    run(qtbot, entered)
    entered.document.set_run(epsilon=0.5, n_steps=9)
    first = entered.runs.current
    key(entered, Qt.Key.Key_F10)
    qtbot.waitUntil(lambda: log_of(entered) is not first and len(log_of(entered).records) == 1)
    told: list[str] = []
    entered.runs.announced.connect(told.append)
    action(entered, "undo")
    assert entered.runs.current is first
    assert ends(ledger) == ["released", "cancelled"]
    assert "the run counts in full" in told[0]


def test_of_several_runs_a_finished_one_comes_back(qtbot, entered):
    entered.document.set_run(epsilon=0.5, n_steps=3)
    run(qtbot, entered)
    first = log_of(entered)
    first_step(qtbot, entered)
    entered.document.set_run(epsilon=0.25)
    run(qtbot, entered)
    action(entered, "undo")
    assert entered.runs.current is first


def test_simulated_examples_are_in_no_ledger(qtbot, entered, ledger):
    entered.document.open_example("L")
    entered.document.set_sampling(n=200)
    entered.document.set_run(learner="cover", k=2, n_steps=1, finish="none")
    entered.sample()
    assert entered.document.work.ledger is None
    assert not entered.commands.by_id["ledger"].isEnabled()
    run(qtbot, entered)
    assert ends(ledger) == []


def test_a_ledger_that_is_gone_or_changed_lets_nothing_run(qtbot, entered, ledger):
    changed = ledger.path.read_bytes().replace(b'"epsilon":2.0', b'"epsilon":9.0')
    ledger.path.write_bytes(changed)
    entered.document.set_run(epsilon=0.5)
    assert ledger_note(entered).startswith("Nothing can be run, as the ledger cannot be used: ")
    failures: list[str] = []
    entered.runs.controller.failed.connect(failures.append)
    for reason in ("line 2 does not follow", "is not there"):
        key(entered, Qt.Key.Key_F5)
        qtbot.waitUntil(lambda: bool(failures))
        assert reason in failures.pop()
        assert entered.runs.log is None
        ledger.path.unlink(missing_ok=True)


def test_a_comparison_is_entered_whole(qtbot: QtBot, entered: MainWindow, ledger: Ledger) -> None:
    compare = CompareWindow(entered.document, load_palette("light"), entered)
    qtbot.addWidget(compare)
    for name, box in compare.boxes.items():
        box.setChecked(name in ("histogram", "quadtree", "greedy-convex"))
    entered.document.set_run(epsilon=1.5)
    compare.compare()
    assert "epsilon would be 3" in compare.banner.text()
    assert ends(ledger) == []
    entered.document.set_run(epsilon=0.5)
    compare.compare()
    qtbot.waitUntil(lambda: not compare.controller.busy)
    assert ends(ledger) == ["released"] * 3
    assert ledger.state().together == (1.0, 0.0)
    names = [entry.run for entry in ledger.state().entries if entry.spends]
    assert [one.privacy.run for one in entered.document.work.spent] == names
    compare.compare()
    compare.controller.cancel()
    assert ends(ledger)[3:] == ["cancelled"] * 3  # nobody here knows which of them had begun
    assert ledger.state().together == (2.0, 0.0)


def test_a_comparison_of_too_few_examples_is_refused_and_not_entered(qtbot, entered, ledger):
    old = entered.document.work.examples
    one = replace(old, points=old.points[:1], labels=old.labels[:1])
    entered.document.change("import", examples=one, simulated=False, ledger=str(ledger.path))
    compare = CompareWindow(entered.document, load_palette("light"), entered)
    qtbot.addWidget(compare)
    compare.compare()
    assert not compare.controller.busy
    assert compare.banner.text() == "1 example: too few to hold some out to test on."
    assert ends(ledger) == []
    assert compare.compare_button.isEnabled()


def test_the_dialog_joins_begins_and_keeps_none(qtbot, entered, ledger, tmp_path, monkeypatch):
    dialog = LedgerDialog(tmp_path, None, entered)
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


def test_the_action_and_the_settings_lead_to_the_dialog(qtbot, entered, ledger, monkeypatch):
    assert entered.settings.ledger.text() == "geodp.ledger…"

    def choose_none(dialog: LedgerDialog) -> None:
        assert "of a budget of" in dialog.state.text()
        dialog.none_button.click()
        assert dialog.state.text() == "No ledger is kept of these examples."
        assert not dialog.none_button.isEnabled()

    monkeypatch.setattr(LedgerDialog, "exec", choose_none)
    entered.settings.ledger.click()
    assert entered.document.work.ledger is None
    assert entered.settings.ledger.text() == "None…"
    action(entered, "undo")
    assert entered.document.work.ledger == str(ledger.path)
    action(entered, "ledger")
    assert entered.document.work.ledger is None


def test_a_ledger_that_is_begun_for_persons_takes_their_runs(qtbot, entered, tmp_path, monkeypatch):
    examples = replace(entered.document.work.examples, unit="user_id")
    entered.document.change("import", examples=examples, simulated=False)
    choose_file(monkeypatch, tmp_path / "new.ledger")
    monkeypatch.setattr(LedgerDialog, "exec", lambda dialog: dialog.begin_button.click())
    action(entered, "ledger")
    begun = Ledger(tmp_path / "new.ledger")
    assert begun.state().unit == "user_id"
    run(qtbot, entered)
    assert ends(begun) == ["released"]
