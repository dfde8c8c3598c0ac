"""Steers runs for the window: step, run, pause, cancel, and questions about the dual plane.

The learner lives in a process of its own (:mod:`geodp_app.runs.learner_process` says why); what
it replies arrives here as Qt signals in the window's thread.  No method waits for anything.

A run has a number; replies of an older run are dropped.  A process that dies is replaced, and so
is one that does not stop within :data:`PATIENCE` of being asked: what it was doing is lost, which
is what a cancelled selection must be.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from geodp_app.runs import protocol
from geodp_app.runs.learner_process import main
from geodp_app.runs.process_link import ProcessLink
from geodp_app.runs.protocol import Job, Question, Reply, Request
from geodp_app.views.widgets.tasks import ProcessOwner, timer

State = Literal["preparing", "ready", "selecting", "waiting", "paused", "finished", "failed"]

#: Milliseconds that a selection may take to stop before its process is ended.
PATIENCE = 150

_NOT_ANSWERED: dict[type[Question], str] = {
    protocol.ShadeQuestion: "The dual plane cannot be shaded",
    protocol.ReportQuestion: "What one report changes cannot be told",
    protocol.ShareQuestion: "How likely edges as good were cannot be told",
}

#: Seconds to wait for the process's end when the window closes.
_CLOSING = 2.0


class RunController(ProcessOwner):
    """Owner of the learner's process, which is started at once, and of the run in it.  States:

    preparing: it starts, or compiles its loops; a run may be started and waits.
    ready: no run.
    selecting: a step is being made.
    waiting: between two steps of a run that goes on by itself.
    paused: before a step that nobody has asked for yet.
    finished, failed: the last run came to its end, or an error ended it, or no process can be
    started; another run may be started.
    """

    state_changed = Signal(str)
    #: Loops are being compiled: some 15 seconds, once.
    preparing = Signal()
    #: PrivacySpent of the run to come, or None, once it is accepted.
    started = Signal(object)
    #: Progressed, from inside a selection.
    progressed = Signal(object)
    #: Stepped, when a step is done.
    stepped = Signal(object)
    #: Release, after the last step.
    finished = Signal(object)
    #: The run was cancelled; nothing of it may be released.
    stopped = Signal()
    #: One line for the person.
    failed = Signal(str)
    #: Answered: what was asked about the dual plane.
    answered = Signal(object)
    #: Queried: what a run by votes that has ended was asked.
    queried = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._between = timer(self, 0, self._next)
        self._patience = timer(self, PATIENCE, self._lose_patience)
        #: Whether the process has compiled its loops, or loaded them.
        self.prepared = False
        self._closed = False
        self._phase: State = "ready"
        self._announced: State | None = None
        # the current run, its job until the process has it, and what is wanted of it
        self._run = 0
        self._job: Job | None = None
        #: What the process prepares for, as long as no run is started.
        self._expected: Job | None = None
        self._at_once = False
        self._goal: Literal["stay", "step", "run"] = "stay"
        #: Between two steps of a run that goes on by itself, in milliseconds.
        self.delay = 0
        # the run whose selection is to stop, and whether somebody waits to hear of it
        self._awaited: int | None = None
        self._stopping = False
        # questions: numbered; one of each kind waiting, one asked
        self._tag = 0
        self._questions: dict[type[Question], tuple[int, Question]] = {}
        self._asked: protocol.Ask | None = None
        self.prepare()

    # what the window asks

    @property
    def state(self) -> State:
        """The state of the learner's process, one of those that the class lists."""
        if self.link is None:
            return "failed"
        return self._phase if self.prepared else "preparing"

    @property
    def pending(self) -> bool:
        """Whether a step has been asked for that the process is not ready to make yet."""
        return self._phase == "paused" and self._goal != "stay"

    def prepare(self) -> None:
        """Start the process if there is none, and make it ready for a run."""
        if self.link is not None or self._closed:
            return
        self.prepared = False
        self._expected = None
        self._begin(main, protocol.Prepare())
        if self._job is not None:
            self._send(protocol.Start(self._run, self._job))
        self._tell_state()

    def expect(self, job: Job) -> None:
        """Prepare for a run that may be started, while none is under way: its first step is sooner.

        Nothing is drawn for it (:meth:`learners.core.estimator.Steps.refine`).
        """
        known = self._expected is not None and self._expected.same(job)
        if self.state in ("ready", "finished") and not known:
            self._expected = job
            self._send(protocol.Refine(job))

    def start(self, job: Job) -> None:
        """Begin a run, paused before its first step, or one at once; a run under way is cancelled.

        A run at once begins to select by itself: the process waits for no window that paints.
        """
        self._abandon()
        self._job, self._at_once = job, job.at_once
        self._phase = "paused"
        expected, self._expected = self._expected, None
        if self.link is None:
            self.prepare()
        else:
            known = expected is not None and expected.same(job)
            self._send(protocol.Start(self._run, None if known else job))
        self._tell_state()

    def step(self) -> None:
        """Make one step of a run that is paused or waiting."""
        self._want("step")

    def run(self) -> None:
        """Make steps until the last, or until :meth:`pause`."""
        self._want("run")

    def pause(self) -> None:
        """Make no step after the one under way."""
        self._goal = "stay"
        self._between.stop()
        if self._phase == "waiting":
            self._phase = "paused"
        self._tell_state()
        self._go_on()

    def set_delay(self, seconds: float) -> None:
        """Time between two steps of a run that goes on by itself."""
        self.delay = max(0, round(1000 * seconds))
        if self._between.isActive():
            self._between.start(self.delay)

    def cancel(self) -> None:
        """End the run, within 0.2 s even from inside a selection; `stopped` tells when."""
        if self._phase == "selecting":
            if not self._stopping:
                self._stopping, self._goal = True, "stay"
                self._ask_to_stop()
        elif self._phase in ("paused", "waiting"):
            self.reset()
            self.stopped.emit()

    def reset(self) -> None:
        """Forget the run and questions about it; a selection under way is cancelled."""
        self._abandon()
        self._tell_state()

    def ask(self, question: Question) -> int:
        """Ask about the dual plane; `answered` tells when the process has had time, by the tag
        returned.  A question that has not been sent yet is forgotten when another one of its
        kind comes."""
        self._tag += 1
        self._questions.pop(type(question), None)
        self._questions[type(question)] = self._tag, question
        self._go_on()
        return self._tag

    def query(self, points: NDArray[np.int64]) -> None:
        """Have public points labelled by a run by votes that has ended; `queried` tells how."""
        if self._phase == "finished":
            self._send(protocol.Query(self._run, points))

    def close(self) -> None:
        """End the process; to be called before the application ends."""
        self._closed = True
        self._between.stop()
        self._patience.stop()
        link = self.link
        self.drop()
        if link is not None:
            link.join(_CLOSING)

    # going on

    def _want(self, goal: Literal["step", "run"]) -> None:
        if self._phase not in ("paused", "waiting", "selecting") or self._stopping:
            return
        if self._phase == "selecting":
            # a step under way is the step
            self._goal = "run" if goal == "run" else self._goal
            return
        self._goal = goal
        if self._phase == "waiting":
            self._phase = "paused"
        self._between.stop()
        self._go_on()

    def _go_on(self) -> None:
        """Send what is wanted, if the process can take it."""
        if not self.prepared or self._job is not None or self._phase == "selecting":
            return
        if self._phase == "paused" and self._goal != "stay":
            self._next()
        elif self._questions and self._asked is None and self._awaited is None:
            # the one that has waited longest
            tag, question = self._questions.pop(next(iter(self._questions)))
            self._asked = protocol.Ask(self._run, question, tag)
            self._send(self._asked)

    def _next(self) -> None:
        if self._goal == "step":
            self._goal = "stay"
        self._phase = "selecting"
        self._send(protocol.Next(self._run))
        self._tell_state()

    def _end_run(self, phase: State) -> None:
        self._phase, self._goal = phase, "stay"
        self._job = None
        self._stopping = False
        self._between.stop()
        self._tell_state()

    def _abandon(self) -> None:
        """Leave the run behind, whatever it is doing; replies to come belong to an older one."""
        selecting = self._phase == "selecting"
        if selecting and not self._stopping:
            self._ask_to_stop()
        elif self._phase in ("paused", "waiting"):
            self._send(protocol.Cancel(self._run))
            if self._at_once and self.link is not None:
                # it may select by now, though nothing of it was heard: questions wait
                self._awaited = self._run
        self._questions.clear()
        self._run += 1
        self._phase, self._goal, self._job, self._stopping = "ready", "stay", None, False
        self._between.stop()
        if selecting:
            self.stopped.emit()

    def _ask_to_stop(self) -> None:
        self._awaited = self._run
        self._send(protocol.Cancel(self._run))
        self._patience.start()

    def _tell_state(self) -> None:
        if self.state != self._announced and not self._closed:
            self._announced = self.state
            self.state_changed.emit(self.state)

    # the process

    def _send(self, request: Request) -> None:
        if self.link is not None:
            self.link.send(request)

    def _lose_patience(self) -> None:
        """The process does not stop: end it, and start another."""
        self.drop()
        self._asked = None
        self.prepare()
        self._cancelled()

    def _cancelled(self) -> None:
        self._awaited = None
        self._patience.stop()
        if self._stopping:
            self._end_run("ready")
            self.stopped.emit()

    def _handle(self, link: ProcessLink, reply: Reply | None) -> None:
        if link is not self.link:
            return
        match reply:
            case None:
                self._lost(link)
            case protocol.Preparing():
                self.preparing.emit()
            case protocol.Prepared():
                self.prepared = True
            case protocol.Stopped():
                if reply.run == self._awaited:
                    self._cancelled()
            case protocol.Answered():
                self._answered(reply)
            case protocol.Queried():
                if reply.run == self._run:
                    self.queried.emit(reply)
            case protocol.Failed():
                self._refused(reply)
            case _:
                if reply.run == self._run and not self._stopping:
                    self._follow(reply)
        self._tell_state()
        self._go_on()

    def _follow(self, reply: Reply) -> None:
        match reply:
            case protocol.Started():
                self._job = None
                self.started.emit(reply.plan)
                if self._at_once:
                    self._phase = "selecting"
            case protocol.Progressed():
                self.progressed.emit(reply)
            case protocol.Stepped():
                if reply.record.step < reply.record.steps and not self._at_once:
                    self._phase = "waiting" if self._goal == "run" else "paused"
                    if self._phase == "waiting" and not self.delay:
                        # the process makes the next step while this one is looked at
                        self._next()
                self.stepped.emit(reply)
                if self._phase == "waiting" and reply.run == self._run:
                    self._between.start(self.delay)
            case protocol.Finished():
                self._end_run("finished")
                self.finished.emit(reply.release)

    def _answered(self, reply: protocol.Answered) -> None:
        asked, self._asked = self._asked, None
        if reply.run != self._run or asked is None:
            return
        if reply.answer is not None:
            self.answered.emit(reply)
        else:
            # to a step, or to a newer question: ask again later, if it is still wanted
            self._questions.setdefault(type(asked.question), (asked.tag, asked.question))

    def _refused(self, reply: protocol.Failed) -> None:
        if not self.prepared:
            # nothing can be run: let go of the process, so that prepare() tries again
            self.drop()
            self._awaited = None
            self._end_run("ready")
            self.failed.emit(f"The learner cannot be prepared: {reply.message}")
        elif self._asked is not None and self._asked.run == reply.run:
            # replies come in order, and a question is only asked when the run waits
            what, self._asked = _NOT_ANSWERED[type(self._asked.question)], None
            if reply.run == self._run:
                self.failed.emit(f"{what}: {reply.message}")
        elif reply.run == self._run and not self._stopping:
            self._end_run("failed")
            self.failed.emit(f"The run failed: {reply.message}")

    def _lost(self, link: ProcessLink) -> None:
        """The process ended and nobody here ended it."""
        self.link = None
        how = f"(exit code {link.exit_code})"
        under_way = self._phase in ("selecting", "paused", "waiting") and not self._stopping
        # what ended it is not tried again
        self._job = self._asked = self._awaited = None
        if self.prepared:
            self.prepare()
        else:
            self._end_run("ready")
            self.failed.emit(
                f"The learner's process could not start {how}: see the terminal, then try again."
            )
            return
        self._cancelled()
        if under_way:
            self._end_run("failed")
            self.failed.emit(
                f"The learner's process ended {how} and the run is lost; nothing was released. "
                "If memory is short, use a coarser grid or fewer examples."
            )
