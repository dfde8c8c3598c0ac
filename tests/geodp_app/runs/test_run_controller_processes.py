"""The process at a run controller's other end: replaced when it must be, gone with its window, and
never what the window waits for."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs import job
from own_clock import unhindered
from PySide6.QtCore import Qt, QTimer
from pytestqt.qtbot import QtBot
from recorded_runs import HANGS, Recorder, hopeless, until

from geodp_app.workers.run_controller import RunController


@contextlib.contextmanager
def heartbeat() -> Iterator[list[float]]:
    """Seconds between the beats of a 5 ms timer in this thread, which may wait for a processor."""
    gaps: list[float] = []
    last = [unhindered()]

    def beat() -> None:
        now = unhindered()
        gaps.append(now - last[0])
        last[0] = now

    timer = QTimer(timerType=Qt.TimerType.PreciseTimer, interval=5)
    timer.timeout.connect(beat)
    timer.start()
    yield gaps
    beat()
    timer.stop()


def assert_alive(gaps: list[float]) -> None:
    """The thread that beats is hardly ever held up: of all beats, one in twenty at most comes a
    tenth of a second late, and all that come late together are a small part of the time."""
    late = [gap for gap in gaps if gap > 0.1]
    print(f"{len(gaps)} beats, {len(late)} of them late, longest {max(gaps):.4f} s")
    assert len(late) <= len(gaps) / 20
    assert sum(late) <= sum(gaps) / 4


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="POSIX signals")
def test_a_process_that_does_not_stop_is_replaced(recorder: Recorder, qtbot: QtBot) -> None:
    c = recorder.controller
    c.start(hopeless())
    c.run()
    until(qtbot, lambda: bool(recorder.all("progressed")))
    old = c.pid
    assert old is not None
    os.kill(old, signal.SIGSTOP)
    c.cancel()  # it waits for no answer: there will be none
    until(qtbot, lambda: recorder.all("stopped") == [None])
    assert c.state == "preparing"
    until(qtbot, lambda: c.state == "ready")
    assert c.pid != old
    assert_gone(old)
    assert recorder.all("failed") == []
    assert recorder.states[-2:] == ["preparing", "ready"]


def test_a_process_that_dies_loses_its_run_and_is_replaced(
    recorder: Recorder, qtbot: QtBot
) -> None:
    c = recorder.controller
    c.start(hopeless())
    c.run()
    until(qtbot, lambda: bool(recorder.all("progressed")))
    assert c.pid is not None
    os.kill(c.pid, signal.SIGTERM)
    until(qtbot, lambda: bool(recorder.all("failed")))
    (message,) = recorder.all("failed")
    assert "the run is lost; nothing was released" in str(message)
    until(qtbot, lambda: c.state == "failed")
    c.start(job())
    c.run()
    until(qtbot, lambda: c.state == "finished")


def test_the_window_never_freezes_while_a_process_prepares_and_runs(
    qtbot: QtBot, recorder: Recorder
) -> None:
    """A second process is prepared from the cache and selects among 100,000 examples."""
    with heartbeat() as gaps:
        other = RunController()
        try:
            stepped: list[object] = []
            other.stepped.connect(stepped.append)
            progressed: list[object] = []
            other.progressed.connect(progressed.append)
            other.start(hopeless(100_000))
            other.run()
            assert other.state == "preparing"
            until(qtbot, lambda: len(progressed) >= 10 or bool(stepped))
        finally:
            other.close()
    assert_alive(gaps)


def test_a_million_examples_are_sent_without_a_pause(recorder: Recorder, qtbot: QtBot) -> None:
    c, work = recorder.controller, hopeless(10**6)
    with heartbeat() as gaps:
        qtbot.wait(50)
        c.start(work)
        c.run()
        until(qtbot, lambda: bool(recorder.all("progressed")))
        qtbot.wait(200)
    c.cancel()
    until(qtbot, lambda: c.state == "ready")
    assert_alive(gaps)


def test_close_leaves_no_process(qtbot: QtBot) -> None:
    at_once = RunController()
    at_once.close()
    started = RunController()
    until(qtbot, lambda: started.pid is not None)
    pid = started.pid
    assert pid is not None
    started.close()
    assert_gone(pid)
    assert not [child for child in multiprocessing.active_children() if child.pid == pid]
    started.start(job())
    started.run()
    qtbot.wait(50)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def assert_gone(pid: int) -> None:
    end = time.monotonic() + HANGS
    while alive(pid):
        assert time.monotonic() < end, "the process lives on"
        time.sleep(0.01)


_WINDOW = """
import sys, time
import numpy as np
from PySide6.QtCore import QCoreApplication
from geodp_app.document.work import RunSettings
from geodp_app.runs.protocol import Job
from geodp_app.workers.run_controller import RunController

def wait(condition):
    end = time.monotonic() + 240
    while not condition():
        application.processEvents()
        time.sleep(0.01)
        assert time.monotonic() < end

if __name__ == "__main__":
    application = QCoreApplication([])
    controller = RunController()
    failed, stepped, progressed = [], [], []
    controller.failed.connect(failed.append)
    controller.stepped.connect(stepped.append)
    controller.progressed.connect(progressed.append)
    rng = np.random.default_rng(0)
    points = rng.integers(0, 65, (30, 2))
    labels = points.sum(axis=1) < 60
    controller.start(Job(points, labels, 64, RunSettings("greedy-convex", k=1, n_steps=1)))
    controller.run()
    wait(lambda: controller.state == "finished" or failed)
    points = rng.integers(0, 1025, (20_000, 2))
    settings = RunSettings("cover", k=1, n_steps=1, epsilon=40.0)
    controller.start(Job(points, rng.random(20_000) < 0.5, 1024, settings))
    controller.run()
    wait(lambda: progressed or failed)
    print(controller.pid, len(stepped), failed, "numba" in sys.modules, flush=True)
    wait(lambda: False)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at /proc")
def test_the_process_ends_with_a_window_that_crashes_and_keeps_loops_out_of_it(
    tmp_path: Path,
) -> None:
    script = tmp_path / "window.py"
    script.write_text(_WINDOW)
    window = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    pid, *rest = window.stdout.readline().split(maxsplit=1)
    assert rest == ["1 [] False\n"]
    assert alive(int(pid))
    window.kill()
    window.wait(HANGS)
    assert_gone(int(pid))
    window.stdout.close()


@pytest.mark.slow
def test_the_window_never_freezes_while_the_loops_are_compiled(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From an empty cache."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with heartbeat() as gaps:
        controller = RunController()
        outcome: list[int] = []
        controller.preparing.connect(lambda: outcome.append(1))
        until(qtbot, lambda: controller.state == "ready", 300)
        controller.close()
    assert outcome == [1]
    assert_alive(gaps)
