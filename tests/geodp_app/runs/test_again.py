"""Twenty runs on the same simulated examples: their process, their charges, their outlines."""

import numpy as np
import pytest
from pytestqt.qtbot import QtBot
from shapely.geometry.base import BaseGeometry
from window_driver import Lasting, action, layer

from geodp import Examples, Frame
from geodp_app.document.work import RunSettings
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.runs import task_process
from geodp_app.runs.protocol import Job
from geodp_app.runs.task_process import AgainBegun, AgainJob, TaskDone, make_again, run_again
from geodp_app.views.run import live_run
from geodp_app.views.window.main_window import MainWindow

TARGET = Drawing(256, (Shape(((40, 40), (200, 40), (200, 150), (40, 150))),))


def job(**settings: object) -> Job:
    rng = np.random.default_rng(1)
    points = rng.integers(0, 65, size=(500, 2))
    return Job(points, points.sum(axis=1) < 60, 64, RunSettings(**settings))


class Pipe:
    """Takes what is sent; gives the job, then ends."""

    def __init__(self, asked: AgainJob) -> None:
        self.replies: list[object] = []
        self._asked: list[object] = [asked]


@pytest.fixture
def replies(monkeypatch: pytest.MonkeyPatch) -> type[Pipe]:
    def receive(pipe: Pipe) -> object:
        if not pipe._asked:
            raise EOFError
        return pipe._asked.pop()

    monkeypatch.setattr(task_process, "receive", receive)
    monkeypatch.setattr(task_process, "prepare_process", lambda: None)
    monkeypatch.setattr(task_process, "send", lambda pipe, it: pipe.replies.append(it))
    return Pipe


def serve(pipe: Pipe) -> list[object]:
    task_process.run_task(pipe, run_again, "The runs have stopped")  # type: ignore[arg-type]
    return pipe.replies


def test_each_run_says_what_it_will_spend_before_its_shape(replies: type[Pipe]) -> None:
    asked = job(learner="tiles", tiles=2, epsilon=3.0)
    outcome = serve(replies(AgainJob(asked, 3)))
    assert [isinstance(each, AgainBegun) for each in outcome] == [True, False] * 3 + [False]
    assert all(isinstance(each, BaseGeometry) for each in outcome[1:-1:2])
    assert isinstance(outcome[-1], TaskDone)
    assert all(each.plan.epsilon == 3.0 for each in outcome[:-1:2])


def test_seeded_runs_differ_and_are_those_of_the_next_seeds(replies: type[Pipe]) -> None:
    asked = job(learner="tiles", tiles=2, epsilon=0.5, seed=7)
    shapes = serve(replies(AgainJob(asked, 3)))[1:-1:2]
    assert len({shape.wkt for shape in shapes}) > 1
    alone = make_again(asked, 2)
    alone.fit(asked.points, asked.labels)
    assert shapes[1].equals(alone.release_.shape())


def test_what_cannot_run_is_told_in_a_line(replies: type[Pipe]) -> None:
    outcome = serve(replies(AgainJob(job(learner="cover", k=2, delta=0.5, epsilon=1e-9), 2)))
    assert type(outcome[-1]).__name__ == "TaskFailed"
    assert outcome[-1].message.startswith("The runs have stopped: ")


@pytest.fixture
def window(lasting: Lasting, monkeypatch: pytest.MonkeyPatch) -> MainWindow:
    monkeypatch.setattr(live_run, "TIMES", 3)
    return lasting.drawn(TARGET, 1_000, learner="tiles", tiles=2, epsilon=2.0)


def test_outlines_arrive_each_run_counts_and_an_edit_takes_them_away(qtbot, window):
    assert not window.commands.by_id["again"].isEnabled()  # nothing is sampled
    window.sample()
    action(window, "again")
    assert window.commands.by_id["again"].text() == "Stop the runs"
    qtbot.waitUntil(lambda: not window.again.controller.busy)
    assert len(window.again.shapes) == 3
    assert window.plane_pane.note.words == "3 runs, one outline each"
    spent = window.document.work.spent
    assert [charge.privacy.epsilon for charge in spent] == [2.0] * 3
    assert all(charge.finished for charge in spent)
    assert "3 runs: together ε\u00a0=\u00a06" in window.spent.words.text()
    outline = layer(window, "again")
    assert outline.path().elementCount() > 3
    assert outline.isVisible()
    action(window, "release_view")
    assert not outline.isVisible()
    assert window.plane_pane.note.words == ""
    action(window, "release_view")
    window.document.set_run(epsilon=1.0)
    assert window.again.shapes == ()
    assert outline.path().isEmpty()


def test_runs_can_be_stopped_and_the_one_under_way_counts(qtbot: QtBot, window: MainWindow) -> None:
    window.document.set_run(learner="cover", k=3)
    window.sample()
    action(window, "again")
    qtbot.waitUntil(lambda: len(window.document.work.spent) >= 1)
    action(window, "again")
    assert not window.again.controller.busy
    made, spent = len(window.again.shapes), window.document.work.spent
    assert len(spent) >= max(1, made)
    assert sum(charge.finished for charge in spent) == made


def test_real_examples_are_not_run_again(window: MainWindow) -> None:
    points = np.array([[3, 4], [9, 2]])
    real = Examples(points, np.array([1, 0]), Frame(256))
    window.document.change("import", examples=real, simulated=False)
    assert not window.commands.by_id["again"].isEnabled()
    window.again.start_or_stop()
    assert not window.again.controller.busy
    assert "each run spends ε" in window.status_line.text()
