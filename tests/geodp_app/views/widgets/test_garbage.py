"""Circles of objects that hold on to Qt's are freed by the window's thread alone."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from geodp_app.views.widgets import background


class Circle(QObject):
    """It holds on to itself, so that only a search for garbage frees it."""

    def __init__(self) -> None:
        super().__init__()
        self.itself = self


def test_no_other_thread_frees_what_a_window_left_behind(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed_by: list[threading.Thread] = []
    weakref.finalize(Circle(), lambda: freed_by.append(threading.current_thread()))

    def work() -> None:
        kept = [[number] for number in range(200_000)]  # makes Python look for garbage by itself
        assert kept

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert freed_by == []
    monkeypatch.setattr(background, "_EVERY", 0.05)
    keeper = background.collect_between_events.__wrapped__()
    younger: list[list[int]] = []

    def freed() -> bool:
        # what earlier tests left to be deleted is taken off the count of young objects
        younger.extend([number] for number in range(2 * gc.get_threshold()[0]))
        return bool(freed_by)

    qtbot.waitUntil(freed)
    assert freed_by == [threading.current_thread()]
    keeper.timer.stop()


def test_an_application_with_windows_begins_with_it() -> None:
    begin = "from geodp_app.views.window.app import make_application as make; make(offscreen=True)"
    said = subprocess.run(
        [sys.executable, "-c", f"import gc; {begin}; print(gc.isenabled())"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout == "False\n"
