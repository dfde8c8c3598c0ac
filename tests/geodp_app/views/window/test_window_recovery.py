"""After a crash the work is offered again; after a proper end nothing is."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QStandardPaths
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot
from window_driver import action, choose_file, open_window

from geodp_app.document.document import Document
from geodp_app.files import autosave
from geodp_app.files.session import load_session
from geodp_app.palette import load_palette
from geodp_app.views.window import window_files
from geodp_app.views.window.main_window import MainWindow

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
    subprocess.run(argv, timeout=120, check=False)
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


def test_sessions_and_recovery_files_are_their_owners_alone(qtbot, tmp_path, monkeypatch):
    session = tmp_path / "mine.geodp"
    choose_file(monkeypatch, session)
    before = os.umask(0o022)
    try:
        with open_window(tmp_path) as window:
            window.document.open_example("tri")
            window.document.sample()
            window.recovery.save()
            (kept,) = (tmp_path / "recovery").rglob("*.geodp")
            assert stat.S_IMODE(kept.stat().st_mode) == 0o600
            assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
            action(window, "save")
            assert stat.S_IMODE(session.stat().st_mode) == 0o600
            session.chmod(0o644)  # as an older geodp left it
            window.document.change("rename", name="again")
            action(window, "save")
            assert stat.S_IMODE(session.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_work_that_is_declined_is_gone(qtbot, crashed, monkeypatch):
    monkeypatch.setattr(QMessageBox, "exec", lambda _: QMessageBox.StandardButton.No)
    monkeypatch.setattr(MainWindow, "closeEvent", lambda _, event: event.accept())
    window = reopened(qtbot, crashed)
    assert not window.recovery.offer()
    assert not window.recovery.offer()
    assert not list(crashed.rglob("*.geodp"))


def test_a_window_that_closes_leaves_nothing_to_recover(qtbot: QtBot, tmp_path: Path) -> None:
    with open_window(tmp_path) as window:
        window.document.open_example("tri")
        window.recovery.save()
        assert list((tmp_path / "recovery").rglob("*.geodp"))
    assert not list((tmp_path / "recovery").rglob("*.geodp"))


class SlowDisk:
    """Sessions are written when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.ready = threading.Event(), threading.Event()
        self.threads: list[threading.Thread] = []
        plain = autosave.save_session

        def write(*arguments: Any) -> None:
            self.threads.append(threading.current_thread())
            self.begun.set()
            assert self.ready.wait(60)
            plain(*arguments)

        monkeypatch.setattr(autosave, "save_session", write)


@contextmanager
def being_kept(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[MainWindow, SlowDisk]]:
    """A window with unsaved work, whose recovery file is being written."""
    disk = SlowDisk(monkeypatch)
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


def test_what_is_saved_elsewhere_while_it_is_kept_is_not_kept_any_more(
    qtbot, tmp_path, monkeypatch
):
    with being_kept(qtbot, tmp_path, monkeypatch) as (window, disk):
        threading.Timer(0.1, disk.ready.set).start()
        window.recovery.forget()
        assert disk.ready.is_set()  # it has waited for the disk
        assert not list((tmp_path / "recovery").rglob("*.geodp"))
        qtbot.wait(50)
        assert not list((tmp_path / "recovery").rglob("*.geodp"))


def test_a_request_that_was_called_off_writes_nothing(tmp_path: Path) -> None:
    kept = autosave.Autosave(tmp_path)
    assert kept.save(Document().work, None, called_off=lambda: True) is None
    assert not list(tmp_path.rglob("*"))
