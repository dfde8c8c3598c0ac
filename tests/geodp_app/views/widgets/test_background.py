"""Work beside the window: newest wins, dropped work is silent, errors do not stop the thread."""

import gc
import threading
import time

import pytest
from pytestqt.qtbot import QtBot

from geodp_app.views.widgets.background import Background


def test_the_result_comes_with_its_key(qtbot: QtBot) -> None:
    background = Background()
    with qtbot.waitSignal(background.done) as outcome:
        background.submit("sum", lambda stop: 1 + 1)
        assert background.busy
    assert outcome.args == ["sum", 2]
    assert not background.busy


def test_a_newer_request_replaces_an_older_one_and_tells_it_to_stop(qtbot: QtBot) -> None:
    background, started, stopped = Background(), threading.Event(), threading.Event()
    outcome: list[tuple[object, object]] = []
    background.done.connect(lambda key, result: outcome.append((key, result)))

    def endless(stop: object) -> str:
        started.set()
        while not stop():  # type: ignore[operator]
            time.sleep(0.001)
        stopped.set()
        return "old"

    background.submit("a", endless)
    assert started.wait(60)
    background.submit("a", lambda stop: "new")
    background.submit("b", lambda stop: "other")
    qtbot.waitUntil(lambda: not background.busy)
    assert stopped.is_set()
    assert outcome == [("a", "new"), ("b", "other")]


def test_dropped_work_tells_nothing(qtbot: QtBot) -> None:
    background = Background()
    background.submit("a", lambda stop: 1)
    background.drop("a")
    assert not background.busy
    with qtbot.assertNotEmitted(background.done, wait=50):
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_ends_one_request_only(qtbot: QtBot) -> None:
    background = Background()
    outcome: list[object] = []
    background.done.connect(lambda key, result: outcome.append(result))
    background.submit("bad", lambda stop: 1 // 0)
    background.submit("good", lambda stop: 1)
    qtbot.waitUntil(lambda: not background.busy)
    assert outcome == [None, 1]


def test_the_thread_ends_with_its_owner(qtbot: QtBot) -> None:
    before = set(threading.enumerate())
    background = Background()
    (thread,) = set(threading.enumerate()) - before
    del background
    gc.collect()
    qtbot.waitUntil(lambda: not thread.is_alive())
