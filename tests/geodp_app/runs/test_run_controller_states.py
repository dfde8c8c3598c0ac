"""Whatever is pressed and whenever the process answers or dies, the controller keeps its word.

The process is played by the test, so that every order of events can be tried.
"""

from collections import deque
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from PySide6.QtCore import QCoreApplication

from geodp_app.document.work import RunSettings
from geodp_app.runs.protocol import (
    Answered,
    Ask,
    Cancel,
    Failed,
    Finished,
    Job,
    Next,
    Prepare,
    Prepared,
    Preparing,
    Progressed,
    Refine,
    Start,
    Started,
    Stepped,
    Stopped,
)
from geodp_app.views.run.run_controller import RunController, State
from geodp_app.views.widgets import tasks

STEPS = 3


class PlayedProcess:
    """Takes the place of a ProcessLink; answers when it is told to."""

    def __init__(self, receive: Callable[..., None], _: object) -> None:
        self.reply = lambda reply: receive(self, reply)
        self.requests: deque[Any] = deque()
        self.killed = False
        self.pid, self.exit_code = 1, -9
        self.run, self.made = 0, 0
        self.at_once = False
        self.expected: Job | None = None
        self.job: Job | None = None
        self.faults: list[str] = []

    def send(self, request: Any) -> None:
        busy = [r for r in self.requests if isinstance(r, Next | Prepare)]
        if isinstance(request, Ask) and (busy or any(isinstance(r, Ask) for r in self.requests)):
            self.faults.append("a question was sent to a process at work")
        if isinstance(request, Next) and busy:
            self.faults.append("a step was asked for before the last one was done")
        self.requests.append(request)

    def kill(self) -> None:
        self.killed = True

    def join(self, seconds: float) -> bool:
        return True

    def answer(self, quick: bool, good: bool) -> None:
        """Answer one request; `quick`: a step is done before a cancel is seen."""
        request = self.requests.popleft()
        match request:
            case Prepare():
                self.reply(Preparing())
                self.reply(Prepared() if good else Failed(0, "no loops"))
            case Refine():
                self.expected = request.job
            case Start():
                self.job, self.expected = request.job or self.expected, None
                if self.job is None:
                    self.faults.append("a run was started that is not known")
                self.run, self.made = (request.run if good else 0), 0
                self.reply(Started(request.run, None) if good else Failed(request.run, "refused"))
                if good and self.job is not None and self.job.at_once:
                    # as if a step had been asked for, and the next after each
                    self.at_once = True
                    self.requests.appendleft(Next(request.run))
            case Next():
                self._step(request, quick, good)
                if self.at_once and self.run:
                    self.requests.appendleft(request)
                self.at_once = self.at_once and self.run > 0
            case Ask():
                answer = None if self.requests else ()
                self.reply(Answered(request.run, request.tag, answer))
            case Cancel():
                self.run = 0
                self.reply(Stopped(request.run))

    def _step(self, request: Next, quick: bool, good: bool) -> None:
        if request.run != self.run or self.made == STEPS:
            self.faults.append("a step was asked of a run that is over")
        self.reply(Progressed(self.made + 1, run=self.run))
        cancels = [r for r in self.requests if isinstance(r, Cancel)]
        if cancels and not quick:
            self.requests.remove(cancels[0])
            self.reply(Stopped(self.run))
            self.run = 0
        elif not good:
            self.reply(Failed(self.run, "broken"))
            self.run = 0
        else:
            self.made += 1
            record = SimpleNamespace(step=self.made, steps=STEPS)
            self.reply(Stepped(self.run, record))  # type: ignore[arg-type]
            if self.made == STEPS:
                self.reply(Finished(self.run, "release"))  # type: ignore[arg-type]
                self.run = 0


def job_on(grid: int, at_once: bool = False) -> Job:
    none = np.empty((0, 2), dtype=np.int64)
    return Job(none, none[:, 0] > 0, grid, RunSettings(), at_once=at_once)


class Pressing(RuleBasedStateMachine):
    """Any order of what a person and a process can do."""

    @initialize()
    def open(self) -> None:
        self.faults: list[str] = []
        self.controller = RunController()
        self.steps: list[int] = []
        self.over, self.stopping = True, False
        self.outcomes: list[str] = []
        self.answers: list[int] = []
        self.asked: list[int] = []
        c = self.controller
        c.stepped.connect(self._stepped)
        c.progressed.connect(lambda _: self._must_be_under_way())
        c.finished.connect(lambda _: (self._must_be_under_way(), self._ended("finished")))
        c.stopped.connect(lambda: self._ended("stopped"))
        c.failed.connect(self._failed)
        c.answered.connect(lambda reply: self.answers.append(reply.tag))
        self._settle()

    def _must_be_under_way(self) -> None:
        if self.process is not None and self.process.job is not self.job:
            known = self.process.job is not None and self.process.job.same(self.job)
            self.faults += [] if known else ["another run was started than the one asked for"]
        if self.over or self.stopping:
            self.faults.append("heard of a run that is over, or was to stop")

    def _stepped(self, reply: Stepped) -> None:
        self._must_be_under_way()
        self.steps.append(reply.record.step)

    def _ended(self, how: str) -> None:
        if self.over:
            self.faults.append(f"{how}: a run that is over")
        self.over, self.stopping = True, False
        self.outcomes.append(how)

    def _failed(self, message: str) -> None:
        if "run" in message:
            self._ended("failed")
        elif "prepared" in message or "start" in message:
            self.over, self.stopping = True, False

    def _settle(self) -> None:
        QCoreApplication.processEvents()

    @property
    def process(self) -> PlayedProcess | None:
        link: Any = self.controller.link
        return link

    @rule(grid=st.integers(7, 8))
    def expect(self, grid: int) -> None:
        self.controller.expect(job_on(grid))
        self._settle()

    @rule(grid=st.integers(7, 8), at_once=st.booleans())
    def start(self, grid: int = 8, at_once: bool = False) -> None:
        self.job = job_on(grid, at_once)
        self.controller.start(self.job)
        self.steps, self.over, self.stopping = [], False, False
        assert self.controller.state in ("paused", "preparing")
        self._settle()

    @rule()
    def step(self) -> None:
        self.controller.step()
        self._settle()

    @rule()
    def run(self) -> None:
        self.controller.run()
        self._settle()

    @rule()
    def pause(self) -> None:
        self.controller.pause()
        assert self.controller.state != "waiting"
        self._settle()

    @rule()
    def cancel(self) -> None:
        self.stopping = self.controller.state == "selecting"
        self.controller.cancel()
        self._settle()

    @rule()
    def reset(self) -> None:
        self.controller.reset()
        self.over, self.stopping = True, False
        assert self.controller.state in ("ready", "preparing", "failed")
        self._settle()

    @rule(seconds=st.sampled_from([0, 1000]))
    def set_delay(self, seconds: float) -> None:
        self.controller.set_delay(seconds)

    @rule()
    def time_passes(self) -> None:
        for timer in (self.controller._between, self.controller._patience):
            if timer.isActive():
                timer.stop()
                timer.timeout.emit()
        self._settle()

    @rule()
    def ask(self) -> None:
        self.asked.append(self.controller.ask(object()))  # type: ignore[arg-type]
        self._settle()

    @rule()
    def prepare(self) -> None:
        self.controller.prepare()
        assert self.process is not None
        self._settle()

    @precondition(lambda self: self.process is not None and self.process.requests)
    @rule(quick=st.booleans(), good=st.integers(0, 5))
    def answer(self, quick: bool, good: int) -> None:
        self.process.answer(quick, good > 0)
        self._settle()

    @precondition(lambda self: self.process is not None)
    @rule(often=st.integers(0, 3))
    def die(self, often: int) -> None:
        if often == 0 and self.process is not None:
            self.process.reply(None)
            self._settle()

    @invariant()
    def the_state_is_one_of_those_promised(self) -> None:
        c = self.controller
        assert c.state in get_args(State)
        if c.state == "waiting":
            assert c._between.isActive()
        if c.state in ("paused", "waiting", "selecting"):
            assert not self.over
        if c.state in ("finished", "ready"):
            assert self.over

    @invariant()
    def nothing_was_sent_or_heard_that_should_not_be(self) -> None:
        assert self.faults == []
        assert self.process is None or self.process.faults == []

    @invariant()
    def steps_come_one_after_another(self) -> None:
        assert self.steps == list(range(1, len(self.steps) + 1))

    @invariant()
    def questions_are_answered_in_order_and_once(self) -> None:
        assert self.answers == sorted(set(self.answers))
        assert set(self.answers) <= set(self.asked)

    @invariant()
    def a_process_is_at_work_on_whatever_is_selected(self) -> None:
        c = self.controller
        if c.state == "selecting":
            assert any(isinstance(r, Next | Cancel) for r in self.process.requests)

    def teardown(self) -> None:
        """From anywhere, a new run can be made to its end, and then a question is answered."""
        c = self.controller
        c.set_delay(0)
        self.start()
        c.run()
        for _ in range(100):
            self._settle()
            if self.process is not None and self.process.requests:
                self.process.answer(False, True)
        assert c.state == "finished"
        assert self.steps == [1, 2, 3]
        assert self.outcomes[-1] == "finished"
        self.ask()
        assert self.process is not None
        while self.process.requests:
            self.process.answer(False, True)
            self._settle()
        assert self.answers[-1] == self.asked[-1]
        c.close()
        c.deleteLater()


@pytest.fixture
def _played(monkeypatch: pytest.MonkeyPatch, qapp: object) -> Iterator[None]:
    monkeypatch.setattr(tasks, "ProcessLink", PlayedProcess)
    return


@pytest.mark.usefixtures("_played")
def test_any_order_of_presses_and_replies_is_handled() -> None:
    run_state_machine_as_test(
        Pressing, settings=settings(max_examples=60, stateful_step_count=40, deadline=None)
    )


@pytest.mark.usefixtures("_played")
def test_a_process_that_cannot_start_is_told_and_can_be_tried_again(qapp: object) -> None:
    controller = RunController()
    outcome: list[str] = []
    states: list[str] = []
    controller.failed.connect(outcome.append)
    controller.state_changed.connect(states.append)
    link: Any = controller.link
    link.reply(None)
    QCoreApplication.processEvents()
    assert controller.state == "failed"
    assert "could not start (exit code -9)" in outcome[0]
    controller.prepare()
    assert controller.state == "preparing"
    link = controller.link
    link.answer(True, True)
    QCoreApplication.processEvents()
    assert states == ["failed", "preparing", "ready"]
    controller.close()


@pytest.mark.usefixtures("_played")
def test_loops_that_cannot_be_compiled_are_told(qapp: object) -> None:
    controller = RunController()
    outcome: list[str] = []
    controller.failed.connect(outcome.append)
    link: Any = controller.link
    link.answer(True, False)
    QCoreApplication.processEvents()
    assert outcome == ["The learner cannot be prepared: no loops"]
    assert link.killed
    assert controller.state == "failed"
    controller.close()


@pytest.mark.usefixtures("_played")
def test_a_question_waits_for_a_run_that_began_by_itself_and_is_given_up() -> None:
    pressing = Pressing()
    pressing.open()
    pressing.start(at_once=True)
    pressing.answer(False, 1)
    pressing.start(at_once=False)
    pressing.answer(False, 1)  # the first run selects, and nobody follows it any more
    pressing.cancel()
    pressing.ask()
    pressing.nothing_was_sent_or_heard_that_should_not_be()
    pressing.teardown()


@pytest.mark.usefixtures("_played")
def test_a_step_that_is_done_as_its_run_is_cancelled_is_not_told() -> None:
    pressing = Pressing()
    pressing.open()
    pressing.answer(False, 1)
    pressing.start(at_once=False)
    pressing.answer(False, 1)
    pressing.run()
    pressing.cancel()
    pressing.answer(True, 1)  # before it saw that it was to stop
    assert pressing.steps == []
    pressing.nothing_was_sent_or_heard_that_should_not_be()
    pressing.teardown()
