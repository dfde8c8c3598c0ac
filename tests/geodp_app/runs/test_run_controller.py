"""The controller in a window's thread, with a real learner's process at the other end."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from jobs import GRID, job
from own_clock import heartbeat
from patience import HANGS
from pytestqt.qtbot import QtBot
from recorded_runs import Recorder, hopeless, question

from geodp_app.runs.learner_process import make_learner
from geodp_app.runs.protocol import ReportQuestion, ShadedSheet, ShareQuestion
from geodp_app.views.run.run_controller import RunController
from geometry.halfplane import Sheet


def test_a_run_by_steps_then_to_its_end(recorder: Recorder, qtbot: QtBot) -> None:
    c, work = recorder.controller, job()
    c.start(work)
    assert c.state == "paused"
    assert not c.pending
    qtbot.wait(100)
    assert recorder.all("stepped") == []
    c.step()
    qtbot.waitUntil(lambda: len(recorder.all("stepped")) == 1)
    assert c.state == "paused"
    c.run()
    qtbot.waitUntil(lambda: c.state == "finished")
    assert recorder.states == ["paused", "selecting", "paused", "selecting", "finished"]
    model = make_learner(work.settings, GRID)
    expected = list(model.steps(work.points, work.labels))
    records = [reply.record for reply in recorder.all("stepped")]  # type: ignore[attr-defined]
    assert [r.release for r in records] == [r.release for r in expected]
    assert recorder.all("finished") == [model.release_]
    c.step()
    assert c.state == "finished"
    c.reset()
    assert c.state == "ready"
    assert recorder.all("stopped") == []


def test_a_slow_run_waits_between_steps_and_pauses_there(recorder: Recorder, qtbot: QtBot) -> None:
    c = recorder.controller
    c.set_delay(30)
    c.start(job())
    c.run()
    qtbot.waitUntil(lambda: c.state == "waiting")
    assert len(recorder.all("stepped")) == 1
    c.pause()
    assert c.state == "paused"
    c.run()
    qtbot.waitUntil(lambda: c.state == "waiting")
    # a shorter delay holds at once
    c.set_delay(0.05)
    qtbot.waitUntil(lambda: c.state == "finished")


def test_a_process_that_stops_when_asked_is_kept(recorder, qtbot, monkeypatch):
    c = recorder.controller
    # however busy the machine is: that it hears soon is tests/learners/envelope/test_race.py's
    monkeypatch.setattr(c._patience, "start", lambda: None)
    c.start(hopeless())
    c.run()
    qtbot.waitUntil(lambda: len(recorder.all("progressed")) >= 2)
    pid = pid_of(c)
    c.cancel()
    qtbot.waitUntil(lambda: recorder.all("stopped") == [None])
    qtbot.waitUntil(lambda: c.state == "ready")
    assert pid_of(c) == pid
    outcome = len(recorder.said)
    qtbot.wait(150)
    assert len(recorder.said) == outcome
    c.start(job())
    c.run()
    qtbot.waitUntil(lambda: c.state == "finished")


def test_wrong_settings_fail_the_run_with_the_reason(recorder: Recorder, qtbot: QtBot) -> None:
    c = recorder.controller
    c.start(job(epsilon=-1.0))
    c.run()
    qtbot.waitUntil(lambda: c.state == "failed")
    assert recorder.all("failed") == [
        "The run failed: epsilon must be a number and be above 0, not -1.0"
    ]
    c.start(job())
    c.step()
    qtbot.waitUntil(lambda: bool(recorder.all("stepped")))


def test_only_the_newest_question_waits_and_is_answered_when_there_is_time(recorder, qtbot):
    c = recorder.controller
    c.start(hopeless())
    c.step()
    qtbot.waitUntil(lambda: bool(recorder.all("progressed")))
    tags = [c.ask(question()) for _ in range(3)]
    assert len(set(tags)) == 3
    qtbot.wait(150)
    assert recorder.all("answered") == []
    # a cancelled run takes its questions along
    c.cancel()
    qtbot.waitUntil(lambda: c.state == "ready")
    tags = [c.ask(question()) for _ in range(3)]
    # the first was sent at once, the second was replaced before it could be
    qtbot.waitUntil(lambda: len(recorder.all("answered")) == 2)
    qtbot.wait(150)
    assert [reply.tag for reply in recorder.all("answered")][-1] == tags[2]  # type: ignore
    assert tags[1] not in [reply.tag for reply in recorder.all("answered")]  # type: ignore


def test_questions_of_three_kinds_wait_beside_each_other(recorder: Recorder, qtbot: QtBot) -> None:
    c = recorder.controller
    c.start(job())
    c.step()
    shaded = question()
    chosen = shaded.lattice.halfplane(Sheet.FLAT_ABOVE, 0, 0)
    report = ReportQuestion(shaded, chosen, (3, 4), True, False, shaded.score)
    share = ShareQuestion(shaded, (chosen,))
    asked = [c.ask(report), c.ask(shaded), c.ask(report), c.ask(share)]
    qtbot.waitUntil(lambda: len(recorder.all("answered")) >= 3)
    qtbot.wait(50)
    outcome = {reply.tag: reply.answer for reply in recorder.all("answered")}  # type: ignore
    assert sorted(outcome) == asked[1:]
    assert all(isinstance(sheet, ShadedSheet) for sheet in outcome[asked[1]])
    assert abs(outcome[asked[2]].chosen) <= 0.1 * shaded.score.k
    assert [0 < found.share <= 1 for found in outcome[asked[3]]] == [True]


def test_a_question_gives_way_to_a_step_and_is_asked_again(recorder, qtbot):
    c = recorder.controller
    c.start(job())
    c.step()
    qtbot.waitUntil(lambda: len(recorder.all("stepped")) == 1)
    rng = np.random.default_rng(0)
    lines = replace(question(), points=rng.integers(0, GRID + 1, (60, 2)), labels=np.ones(60, bool))
    tag = c.ask(lines)
    c.step()
    assert c.state == "selecting"
    qtbot.waitUntil(lambda: bool(recorder.all("answered")))
    assert [reply.tag for reply in recorder.all("answered")] == [tag]  # type: ignore[attr-defined]
    qtbot.waitUntil(lambda: len(recorder.all("stepped")) == 2)


# the process at its other end: replaced when it must be, gone with its window, and never what the
# window waits for


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
    qtbot.waitUntil(lambda: bool(recorder.all("progressed")))
    old = pid_of(c)
    os.kill(old, signal.SIGSTOP)
    c.cancel()  # it waits for no answer: there will be none
    qtbot.waitUntil(lambda: recorder.all("stopped") == [None])
    assert c.state == "preparing"
    qtbot.waitUntil(lambda: c.state == "ready")
    assert pid_of(c) != old
    assert_gone(old)
    assert recorder.all("failed") == []
    assert recorder.states[-2:] == ["preparing", "ready"]


def test_a_process_that_dies_loses_its_run_and_is_replaced(recorder, qtbot):
    c = recorder.controller
    c.start(hopeless())
    c.run()
    qtbot.waitUntil(lambda: bool(recorder.all("progressed")))
    os.kill(pid_of(c), signal.SIGTERM)
    qtbot.waitUntil(lambda: bool(recorder.all("failed")))
    (message,) = recorder.all("failed")
    assert "the run is lost; nothing was released" in str(message)
    qtbot.waitUntil(lambda: c.state == "failed")
    c.start(job())
    c.run()
    qtbot.waitUntil(lambda: c.state == "finished")


def test_the_window_never_freezes_while_a_process_prepares_and_runs(qtbot, recorder):
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
            qtbot.waitUntil(lambda: len(progressed) >= 4 or bool(stepped))
        finally:
            other.close()
    assert_alive(gaps)


def test_a_million_examples_are_sent_without_a_pause(recorder: Recorder, qtbot: QtBot) -> None:
    c, work = recorder.controller, hopeless(10**6)
    with heartbeat() as gaps:
        qtbot.wait(50)
        c.start(work)
        c.run()
        qtbot.waitUntil(lambda: bool(recorder.all("progressed")))
        qtbot.wait(200)
    c.cancel()
    qtbot.waitUntil(lambda: c.state == "ready")
    assert_alive(gaps)


def test_close_leaves_no_process(qtbot: QtBot) -> None:
    at_once = RunController()
    at_once.close()
    started = RunController()
    qtbot.waitUntil(lambda: started.link is not None and started.link.pid is not None)
    pid = pid_of(started)
    started.close()
    assert_gone(pid)
    assert not [child for child in multiprocessing.active_children() if child.pid == pid]
    started.start(job())
    started.run()
    qtbot.wait(50)


def pid_of(controller: RunController) -> int:
    assert controller.link is not None
    assert controller.link.pid is not None
    return controller.link.pid


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
from geodp_app.views.run.run_controller import RunController

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
    print(controller.link.pid, len(stepped), failed, "numba" in sys.modules, flush=True)
    wait(lambda: False)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at /proc")
def test_the_process_ends_with_a_window_that_crashes_and_keeps_loops_out_of_it(tmp_path):
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
def test_the_window_never_freezes_while_the_loops_are_compiled(qtbot, tmp_path, monkeypatch):
    """From an empty cache."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with heartbeat() as gaps:
        controller = RunController()
        outcome: list[int] = []
        controller.preparing.connect(lambda: outcome.append(1))
        qtbot.waitUntil(lambda: controller.state == "ready")
        controller.close()
    assert outcome == [1]
    assert_alive(gaps)


_WINDOWS = """
import threading
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMainWindow, QWidget
from geodp_app.runs.task_process import again
from geodp_app.views.window.app import make_application
from geodp_app.views.run import run_controller
from geodp_app.views.widgets import tasks

class Talker:
    # a link whose process says a lot, and still does so for a while when it is ended
    pid = exit_code = None

    def __init__(self, receive, entry=None):
        self.receive, self.over = receive, False
        threading.Thread(target=self.talk, daemon=True).start()

    def talk(self):
        while not self.over:
            self.receive(self, None)
        for _ in range(200):
            self.receive(self, None)

    def send(self, request):
        pass

    def kill(self):
        self.over = True

    def join(self, seconds):
        return True

class Window(QMainWindow):
    def __init__(self):
        super().__init__()
        run_controller.RunController(self)
        self.again = tasks.OneTask(again, self)
        for _ in range(50):
            QWidget(self)

    def event(self, event):
        return super().event(event)

tasks.ProcessLink = Talker
application = make_application(offscreen=True)
for _ in range(20):
    window = Window()
    window.show()
    window.again.start(None)
    QTest.qWait(1)
    window.again.drop()
    window.deleteLater()
    del window
    QTest.qWait(1)
print("closed")
"""


def test_windows_close_while_links_tell() -> None:
    said = subprocess.run([sys.executable, "-c", _WINDOWS], capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (0, "closed\n"), said.stderr[:2000]
