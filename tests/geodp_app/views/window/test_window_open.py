"""Opening something else never touches the session's file; a crash loses no work."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import HANGS
from PySide6.QtCore import QStandardPaths, Qt
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot
from window_driver import (
    action,
    choose_file,
    click,
    drag,
    drop,
    finish_run,
    first_step,
    key,
    log_of,
    open_window,
)

from assets import example_path
from geodp_app.document.document import Document
from geodp_app.files import autosave, document_files
from geodp_app.files.session import Session, load_session, save_session
from geodp_app.palette import load_palette
from geodp_app.views.window import window_files
from geodp_app.views.window.main_window import MainWindow
from geometry.halfplane import Sheet

CSV = "x,y,label\n3,4,1\n50,60,0\n"
ANSWER = QMessageBox.StandardButton


def draw(window: MainWindow) -> None:
    key(window, Qt.Key.Key_R)
    drag(window, (50, 50), (120, 120), (200, 200))


@pytest.fixture
def session(window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session that was drawn and saved, and is open."""
    path = tmp_path / "mine.geodp"
    draw(window)
    choose_file(monkeypatch, path)
    action(window, "save")
    assert window.windowTitle().startswith("mine.geodp")
    return path


def by_open(window: MainWindow, path: Path) -> None:
    action(window, "open")


def by_recent(window: MainWindow, path: Path) -> None:
    window.files.recent.add(path)
    menu = window.commands.by_id["open_recent"].menu()
    menu.aboutToShow.emit()
    menu.actions()[0].trigger()


def by_example(window: MainWindow, path: Path) -> None:
    menu = window.commands.by_id["open_example"].menu()
    next(entry for entry in menu.actions() if entry.text() == "Croatia").trigger()


WAYS = (by_open, drop, by_recent, by_example)


@pytest.mark.parametrize(
    ("kind", "way"), [*(("target", way) for way in WAYS), ("examples", by_open)]
)
def test_opening_something_else_leaves_the_session_and_its_file_alone(
    window, session, tmp_path, monkeypatch, way, kind
):
    before = session.read_bytes()
    other = example_path("croatia") if kind == "target" else tmp_path / "p.csv"
    if kind == "examples":
        other.write_text(CSV)
    choose_file(monkeypatch, other)
    way(window, other)
    assert window.document.path is None
    assert not window.windowTitle().startswith("mine.geodp")
    assert not window.document.history.dirty  # what is there is in a file of its own
    # Save asks for a name
    choose_file(monkeypatch, tmp_path / "other.geodp")
    action(window, "save")
    assert session.read_bytes() == before
    assert window.document.path == tmp_path / "other.geodp"


@pytest.mark.parametrize(
    ("grid", "run"), [(4096, {"learner": "discs"}), (64, {"learner": "tiles", "epsilon": 1e-15})]
)
def test_after_a_run_that_could_not_begin_the_session_is_saved_and_opened(
    qtbot, window, tmp_path, grid, run
):
    draw(window)
    window.document.set_grid(grid)
    window.document.set_sampling(n=50)
    window.document.set_run(**run)
    key(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: window.runs.controller.state == "failed")
    path = tmp_path / "s.geodp"
    refused = window.runs.log.run  # a file made by hand may have it
    assert window.files.save_to(path)
    window.files.start_anew()
    assert window.files.open(path)
    assert len(window.document.work.examples.labels) == 50
    window.runs.adopt(refused)
    assert window.runs.current.run == refused


def test_a_step_made_after_saving_is_not_in_the_file(qtbot, window, session):
    window.document.set_sampling(n=500)
    window.document.set_run(learner="cover", k=2, n_steps=2, finish="none")
    first_step(qtbot, window)
    assert window.files.save_to(session)
    assert not window.document.history.dirty
    key(window, Qt.Key.Key_F10)
    qtbot.waitUntil(lambda: len(log_of(window).records) == 2)
    assert window.document.history.dirty
    assert window.isWindowModified()


def test_an_end_that_comes_after_saving_is_not_in_the_file(qtbot, window, session):
    window.document.set_sampling(n=500)
    window.document.set_run(learner="cover", k=2, n_steps=1, finish="none", seed=1)
    assert window.files.save_to(session)
    save = lambda _: window.files.save_to(session)  # noqa: E731 - it is taken away again
    window.runs.controller.stepped.connect(save)
    key(window, Qt.Key.Key_F5)
    finish_run(qtbot, window)
    window.runs.controller.stepped.disconnect(save)
    assert load_session(session).run.release is None
    assert window.document.history.dirty


def test_a_name_that_gets_its_ending_replaces_nothing_unasked(window, session, monkeypatch):
    before, asked = session.read_bytes(), list[str]()
    window.document.change("rename", name="other")
    choose_file(monkeypatch, session.with_suffix(""))
    answers = iter([ANSWER.No, ANSWER.Yes])
    monkeypatch.setattr(QMessageBox, "exec", lambda box: asked.append(box.text()) or next(answers))
    action(window, "save_as")
    assert (asked, session.read_bytes()) == (["Replace mine.geodp?"], before)
    action(window, "save_as")
    assert load_session(session).work.name == "other"


@contextmanager
def answering(
    monkeypatch: pytest.MonkeyPatch, *answers: QMessageBox.StandardButton
) -> Iterator[list[tuple[str, ...]]]:
    """Questions are answered so, one after the other: what was asked, with the words of the button
    that Return would press."""
    asked, left = list[tuple[str, ...]](), list(answers)

    def answer(box: QMessageBox) -> QMessageBox.StandardButton:
        default = box.defaultButton()
        asked.append((box.text(), "" if default is None else default.text()))
        return left.pop(0)

    with monkeypatch.context() as patch:
        patch.setattr(QMessageBox, "exec", answer)
        yield asked
    assert not left


def saved_by_another(path: Path, name: str) -> None:
    """The session, changed and saved in another window."""
    with open_window(path.parent / "another") as other:
        assert other.files.open(path)
        other.document.change("rename", name=name)
        action(other, "save")
        assert not other.document.history.dirty


def test_what_another_window_saved_meanwhile_is_not_replaced_unasked(
    window, session, tmp_path, monkeypatch
):
    assert window.files.open(session)
    saved_by_another(session, "theirs")
    window.document.change("rename", name="ours")
    question = ("Replace mine.geodp, which was saved by something else since you opened it?",
                "Save as…")  # fmt: skip
    with answering(monkeypatch, ANSWER.Cancel) as asked:
        action(window, "save")
    assert asked == [question]
    assert load_session(session).work.name == "theirs"
    assert window.document.history.dirty
    choose_file(monkeypatch, None)
    with answering(monkeypatch, ANSWER.Save, ANSWER.No) as asked:
        assert not window.files.may_discard()
    assert asked[1] == question
    choose_file(monkeypatch, tmp_path / "other.geodp")
    with answering(monkeypatch, ANSWER.No):
        action(window, "save")
    assert [load_session(each).work.name for each in (session, window.document.path)] == [
        "theirs",
        "ours",
    ]
    assert window.files.open(session)
    saved_by_another(session, "theirs again")
    window.document.change("rename", name="ours")
    with answering(monkeypatch, ANSWER.Yes):
        action(window, "save")
    assert load_session(session).work.name == "ours"
    # what it has saved itself it replaces, and what is gone is saved again
    for gone in (False, True):
        window.document.change("rename", name=f"ours {gone}")
        session.unlink() if gone else None
        with answering(monkeypatch):
            action(window, "save")
        assert load_session(session).work.name == f"ours {gone}"


def test_a_session_replaced_while_it_was_read_is_not_replaced_unasked(window, session, monkeypatch):
    plain = document_files.load_session

    def slow(path: Path) -> Session:
        read = plain(path)
        save_session(path, replace(read.work, name="theirs"))
        return read

    monkeypatch.setattr(document_files, "load_session", slow)
    assert window.files.open(session)
    window.document.change("rename", name="ours")
    with answering(monkeypatch, ANSWER.Cancel):
        action(window, "save")
    assert load_session(session).work.name == "theirs"


@pytest.mark.parametrize("changed", [False, True])
def test_recovered_work_replaces_nothing_that_was_saved_after_it_was_opened(
    qtbot, tmp_path, monkeypatch, changed
):
    path = tmp_path / "mine.geodp"
    with open_window(tmp_path) as window:
        assert window.files.save_to(path)
        window.document.change("rename", name="ours")
        window.recovery.save()
        left = shutil.copytree(tmp_path / "recovery", tmp_path / "crashed" / "recovery")
    if changed:
        saved_by_another(path, "theirs")
    with open_window(left.parent) as window:
        with answering(monkeypatch, ANSWER.Yes):
            assert window.recovery.offer()
        assert window.document.path == path
        with answering(monkeypatch, *[ANSWER.Cancel] * changed):
            action(window, "save")
    assert load_session(path).work.name == ("theirs" if changed else "ours")


@pytest.mark.parametrize("way", WAYS)
def test_unsaved_work_is_asked_about_before_something_else_opens(window, session, monkeypatch, way):
    draw_more = window.document.drawing
    key(window, Qt.Key.Key_R)
    drag(window, (210, 210), (220, 220), (240, 240))
    changed = window.document.drawing
    assert changed != draw_more
    asked: list[str] = []
    answers = iter([ANSWER.Cancel, ANSWER.Discard])

    def answer(box: QMessageBox) -> QMessageBox.StandardButton:
        asked.append(box.text())
        return next(answers)

    monkeypatch.setattr(QMessageBox, "exec", answer)
    other = example_path("croatia")
    choose_file(monkeypatch, other)
    way(window, other)
    assert asked == ["Save the changes to mine.geodp?"]
    assert (window.document.drawing, window.document.path) == (changed, session)
    way(window, other)
    assert window.document.work.name == "Croatia"
    assert window.document.path is None
    action(window, "undo")  # even what was given up can be had again
    assert window.document.drawing == changed


def test_examples_open_without_a_drawing_that_is_not_theirs(window, session, tmp_path, monkeypatch):
    (tmp_path / "reports.csv").write_text(CSV)
    choose_file(monkeypatch, tmp_path / "reports.csv")
    action(window, "open")
    work = window.document.work
    assert (work.name, work.drawing.shapes, work.bounds) == ("reports", (), None)
    assert (work.drawing.grid, work.simulated) == (256, False)  # the grid is a setting


def test_new_and_something_else_begin_with_nothing_zoomed_or_begun(qtbot, window, tmp_path):
    whole = window.plane.getViewBox().viewRange()
    (tmp_path / "p.csv").write_text(CSV)
    for begin in (window.files.start_anew, lambda: window.files.open(tmp_path / "p.csv")):
        window.document.new(window.document.work)
        sheet = window.dual.sheets[Sheet.STEEP_LEFT]
        window.dual.show_sheet(sheet.sheet)
        sheet.plot.zoom(0.1)
        window.plane.getViewBox().scaleBy((0.2, 0.2))
        key(window, Qt.Key.Key_P)
        click(window, *window.plane.getViewBox().viewRect().center().toTuple())
        assert window.editor.current.draft is not None
        key(window, Qt.Key.Key_V)
        begin()
        assert window.editor.tool == "polygon"
        assert window.commands.by_id["polygon"].isChecked()
        assert window.editor.current.draft is None
        assert not window.editor.undo_vertex()
        assert window.dual.sheet == Sheet.FLAT_ABOVE
        qtbot.wait(50)
        ranges = []
        for number in Sheet:
            window.dual.show_sheet(number)
            qtbot.wait(50)
            ranges.append(np.ptp(window.dual.sheets[number].plot.box.viewRange(), axis=1))
        assert np.ptp(ranges, axis=0).max() < 0.05 * np.max(ranges)  # all are as whole
        if begin == window.files.start_anew:
            window.set_tool("select")
            assert window.document.drawing.grid == 1024
        else:
            assert window.plane.getViewBox().viewRange() != whole  # another grid, shown whole
        d = window.document.drawing.grid
        (left, right), (low, high) = window.plane.getViewBox().viewRange()
        assert left <= 0 <= d <= right
        assert low <= 0 <= d <= high


# -- no examples --------------------------------------------------------------------------------


#: Of each kind of what the views show; of every learner: test_cli_learn.py.
@pytest.mark.parametrize("learner", ["cover", "tiles", "discs", "stability", "histogram"])
def test_no_examples_and_one_are_neighbours_that_both_run_and_release(
    qtbot, window, tmp_path, monkeypatch, learner
):
    monkeypatch.setattr(window.files, "may_discard", lambda: True)
    for rows in ("", "3,4,1\n"):
        path = tmp_path / f"p{len(rows)}.csv"
        path.write_text("x,y,label\n" + rows)
        assert window.files.open(path)
        assert window.document.work.examples is not None
        window.document.set_run(learner=learner, k=1, n_steps=1)
        key(window, Qt.Key.Key_F5)
        finish_run(qtbot, window)
        log = log_of(window)
        assert log.release is not None
        qtbot.waitUntil(lambda: window.display.at_rest)
        window.runs.move_cursor(0)
        window.runs.move_cursor(len(log.records))
        target = tmp_path / f"learned{len(rows)}.geojson"
        choose_file(monkeypatch, target)
        action(window, "export_learned")
        assert target.exists()


# -- after a crash ---------------------------------------------------------------------------------


# a window that draws, samples, saves for recovery, and is killed
_CRASH = """
import os, signal, sys
from pathlib import Path
from PySide6.QtCore import QStandardPaths
sys.path.append(sys.argv[2])
from run_charges import run_charge
from geodp_app.palette import load_palette
from geodp_app.views.window.app import make_application
from geodp_app.views.window.main_window import MainWindow

QStandardPaths.setTestModeEnabled(True)
application = make_application(offscreen=True)
window = MainWindow(load_palette("light"), recovery=Path(sys.argv[1]))
window.document.open_example("L")
window.document.set_sampling(n=500)
window.document.sample()
for finished in (True, False):
    charge = run_charge(1.0, 1e-6, "add-remove", finished=finished)
    window.document.charge(window.document.work.examples, charge)
window.recovery.save()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crashed") / "recovery"
    support = Path(__file__).parents[3] / "support"
    argv = [sys.executable, "-c", _CRASH, str(folder), str(support)]
    subprocess.run(argv, check=False)
    return folder


@pytest.fixture
def crashed(left: Path, tmp_path: Path) -> Path:
    """What a window has left that was killed."""
    return shutil.copytree(left, tmp_path / "recovery")


def reopened(qtbot: QtBot, folder: Path) -> MainWindow:
    QStandardPaths.setTestModeEnabled(True)
    window = MainWindow(load_palette("light"), recovery=folder)
    qtbot.addWidget(window, before_close_func=lambda w: w.abandon())
    return window


def test_the_work_of_a_killed_window_is_offered_and_recovered(qtbot, crashed, monkeypatch):
    asked: list[str] = []

    def yes(box: QMessageBox) -> QMessageBox.StandardButton:
        asked.append(box.text())
        return QMessageBox.StandardButton.Yes

    monkeypatch.setattr(QMessageBox, "exec", yes)
    monkeypatch.setattr(MainWindow, "closeEvent", lambda _, event: event.accept())
    window = reopened(qtbot, crashed)
    window.begin()
    assert "did not close properly" in asked[0]
    work = window.document.work
    assert work.name == "L"
    assert len(work.examples.points) == 500
    assert window.document.history.dirty  # it is in no file yet
    # what runs on the sample spent came back with it
    assert [charge.finished for charge in work.spent] == [True, False]
    assert window.spent.words.text().startswith("2 runs, 1 not finished")


def test_work_that_is_declined_is_gone(qtbot, crashed, monkeypatch):
    monkeypatch.setattr(QMessageBox, "exec", lambda _: QMessageBox.StandardButton.No)
    monkeypatch.setattr(MainWindow, "closeEvent", lambda _, event: event.accept())
    window = reopened(qtbot, crashed)
    assert not window.recovery.offer()
    assert not window.recovery.offer()
    assert not list(crashed.rglob("*.geodp"))


# of a window to which Ctrl+C is said in its terminal
_INTERRUPTED = """
import os, signal, sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QMessageBox
from geodp_app.views.window import app

signal.signal(signal.SIGINT, signal.default_int_handler)
application = app.make_application(offscreen=True)
QMessageBox.exec = lambda box: print(box.text(), flush=True) or os._exit(1)
QTimer.singleShot(0, lambda: os.kill(os.getpid(), signal.SIGINT))
sys.exit(app.run_window())
"""


def test_ctrl_c_in_the_terminal_closes_the_window(tmp_path: Path) -> None:
    argv, own = [sys.executable, "-c", _INTERRUPTED], {"XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(argv, env=os.environ | own, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


# of a window in which something fails that nobody foresaw, on a disk that may be full
_FAULT = """
import os, sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMessageBox
from geodp_app.files import autosave
from geodp_app.views.window import app
from geodp_app.views.window.main_window import MainWindow

def full(*_):
    raise OSError(28, "No space left on device")

def fail():
    (window,) = [w for w in QApplication.topLevelWidgets() if isinstance(w, MainWindow)]
    window.document.change("rename", name="unsaved")
    raise ValueError("nobody foresaw it")

if sys.argv[1] == "full":
    autosave.save_session = full
application = app.make_application(offscreen=True)
QMessageBox.exec = lambda box: print(box.text(), flush=True) or os._exit(0)
QTimer.singleShot(0, fail)
app.run_window()
"""


@pytest.mark.parametrize(("disk", "kept"), [("", "has been kept"), ("full", "could not be kept")])
def test_of_a_fault_it_is_said_whether_the_work_was_kept(tmp_path, disk, kept):
    argv, own = [sys.executable, "-c", _FAULT, disk], {"XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(argv, env=os.environ | own, capture_output=True, text=True, check=False)
    assert done.stdout == f"Something went wrong in geodp; your work {kept} for recovery.\n"
    assert len(list(tmp_path.rglob("recovery.geodp"))) == (not disk)


def test_recovered_work_is_never_without_a_copy(qtbot, crashed, monkeypatch):
    monkeypatch.setattr(QMessageBox, "exec", lambda _: QMessageBox.StandardButton.Yes)
    with open_window(crashed.parent) as window:
        assert window.recovery.offer()
        (kept,) = crashed.rglob("*.geodp")
        assert len(load_session(kept).work.examples.labels) == 500
        assert not window.recovery.offer()  # it is this window's now


def test_changes_that_never_rest_are_kept(qtbot, tmp_path, monkeypatch):
    monkeypatch.setattr(window_files, "PAUSE", 100)
    with open_window(tmp_path) as window:
        for name in "abcdefghij":
            window.document.change("rename", name=name)
            qtbot.wait(20)
        assert list((tmp_path / "recovery").rglob("*.geodp"))


def test_a_window_that_closes_leaves_nothing_to_recover(qtbot: QtBot, tmp_path: Path) -> None:
    with open_window(tmp_path) as window:
        window.document.open_example("tri")
        window.recovery.save()
        assert list((tmp_path / "recovery").rglob("*.geodp"))
    assert not list((tmp_path / "recovery").rglob("*.geodp"))


def test_what_was_discarded_for_something_else_is_not_offered(
    qtbot, window, session, tmp_path, monkeypatch
):
    window.document.change("rename", name="discarded")
    window.recovery.save()
    assert list(window.recovery.folder.rglob("*.geodp"))
    with answering(monkeypatch, ANSWER.Discard):
        assert window.files.open(session)
    assert not list(window.recovery.folder.rglob("*.geodp"))
    window.document.change("rename", name="kept")
    window.recovery.save()
    (kept,) = window.recovery.folder.rglob("*.geodp")
    assert load_session(kept).work.name == "kept"


def test_a_release_on_real_examples_is_kept_as_soon_as_it_is_there(qtbot, tmp_path, monkeypatch):
    monkeypatch.setattr(window_files, "PAUSE", 10**8)
    (tmp_path / "p.csv").write_text(CSV)
    with open_window(tmp_path) as window:
        assert window.files.open(tmp_path / "p.csv")
        window.document.set_run(learner="tiles", tiles=1)
        key(window, Qt.Key.Key_F5)
        finish_run(qtbot, window)
        qtbot.waitUntil(lambda: list(window.recovery.folder.rglob("*.geodp")) != [])
        (kept,) = window.recovery.folder.rglob("*.geodp")
        assert load_session(kept).run == log_of(window).run


class SlowDisk:
    """Sessions in a folder are written when the test says so."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.ready = threading.Event(), threading.Event()
        self.threads: list[threading.Thread] = []
        plain = autosave.save_session

        def write(path: Path, *what: Any) -> None:
            if folder in path.parents:  # a window that other tests share keeps its work, too
                self.threads.append(threading.current_thread())
                self.begun.set()
                assert self.ready.wait(HANGS)
            plain(path, *what)

        monkeypatch.setattr(autosave, "save_session", write)


@contextmanager
def being_kept(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[MainWindow, SlowDisk]]:
    """A window with unsaved work, whose recovery file is being written."""
    disk = SlowDisk(tmp_path, monkeypatch)
    monkeypatch.setattr(window_files, "PAUSE", 1)
    with open_window(tmp_path) as window:
        window.document.open_example("tri")
        window.document.change("rename", name="first")
        qtbot.waitUntil(disk.begun.is_set)
        yield window, disk


def test_the_window_goes_on_while_its_work_is_kept(qtbot, tmp_path, monkeypatch):
    with being_kept(qtbot, tmp_path, monkeypatch) as (window, disk):
        # the event loop turns, and nothing is written yet
        assert not list((tmp_path / "recovery").rglob("*.geodp"))
        window.document.change("rename", name="second")
        disk.ready.set()
        qtbot.waitUntil(lambda: len(disk.threads) == 2 and not window.recovery.beside.busy)
        assert threading.main_thread() not in disk.threads
        (kept,) = (tmp_path / "recovery").rglob("*.geodp")
        assert load_session(kept).work == window.document.work
        assert window.document.work.name == "second"


def test_what_is_saved_elsewhere_while_it_is_kept_is_kept_no_more(qtbot, tmp_path, monkeypatch):
    with being_kept(qtbot, tmp_path, monkeypatch) as (window, disk):
        threading.Timer(0.1, disk.ready.set).start()
        window.document.mark_saved(tmp_path / "first.geodp")
        window.recovery.forget()
        assert disk.ready.is_set()  # it has waited for the disk
        assert not list((tmp_path / "recovery").rglob("*.geodp"))
        qtbot.wait(50)
        assert not list((tmp_path / "recovery").rglob("*.geodp"))


def test_work_that_is_undone_to_what_was_saved_is_kept_no_more(qtbot, tmp_path, monkeypatch):
    def kept() -> list[Path]:
        return list((tmp_path / "recovery").rglob("*.geodp"))

    monkeypatch.setattr(window_files, "PAUSE", 1)
    with open_window(tmp_path) as window:
        window.document.open_example("tri")
        assert window.files.save_to(tmp_path / "tri.geodp")
        window.document.change("rename", name="other")
        qtbot.waitUntil(lambda: kept() != [])
        action(window, "undo")
        assert not window.isWindowModified()
        qtbot.waitUntil(lambda: kept() == [])
        window.document.change("rename", name="other")
        qtbot.waitUntil(lambda: kept() != [])


def test_a_request_that_was_called_off_writes_nothing(tmp_path: Path) -> None:
    kept = autosave.Autosave(tmp_path)
    assert kept.save(Document().work, None, called_off=lambda: True) is None
    assert not list(tmp_path.rglob("*"))
