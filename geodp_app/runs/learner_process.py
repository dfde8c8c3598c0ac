"""The learner's process is the only place where the window's learners run.

Why a process and not a thread: compiling the loops takes half a minute, much of it pure Python,
and the learners' own bookkeeping holds the interpreter's lock as well; neither may ever delay a
frame of the window.  And what runs away can be ended at once, with nothing released.

It answers the requests of :mod:`geodp_app.runs.protocol` that come over a pipe, one at a time, and
ends with the process that started it.  Inside a selection or an answer it looks at the pipe now and
then.
Importing this module is cheap; the learners are loaded when they are first needed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import connection, parent_process
from typing import TYPE_CHECKING, Any

from geodp_app.document.work import RunSettings
from geodp_app.files.run_record import zone_follows
from geodp_app.runs import protocol
from geodp_app.runs.process_link import receive, send
from learners.core.records import StepRecord
from learners.core.selection import Cancelled, HeavyBox, SelectionProgress
from learners.stability.sample_and_aggregate import VoteProgress, VoteView

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from learners.core.estimator import Estimator

#: Boxes of the sampler shown at most.
MOST_BOXES = 60

#: Pixels along a side of the pictures of where boxes lie.
DENSITY_SIZE = 64

#: Seconds between two reports from inside a selection, and how many times as long as it takes to
#: make one: the sampler waits for that.
REPORT_EVERY, _RARE = 0.1, 20

#: The window goes first when processors are short (POSIX niceness).
_NICENESS = 5


class PeerGone(Exception):
    """The other end of the pipe is closed: nobody is left to answer to."""


def main(pipe: Connection[Any, Any]) -> None:
    """Serve until the pipe is closed: the process's entry."""
    prepare_process()
    LearnerServer(pipe).serve()


def prepare_process() -> None:
    """What every process that computes for the window does first."""
    # Ctrl+C is for the window, which then closes the pipe
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Leave at once when the parent is gone, even from inside a compiled loop."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


class LearnerServer:
    """Answers requests; holds at most one run, and the last learner that can still be asked."""

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        self._pipe = pipe
        self._sending = threading.Lock()
        self._waiting: deque[protocol.Request] = deque()
        self._run: _Run | None = None
        self._expected: tuple[protocol.Job, _Run | None] | None = None
        self._ended: tuple[int, Any] | None = None

    def serve(self) -> None:
        """Answer requests until the other end is gone."""
        answers: dict[type, Callable[[Any], None]] = {
            protocol.Prepare: self._prepare,
            protocol.Refine: self._refine,
            protocol.Start: self._start,
            protocol.Next: self._next,
            protocol.Ask: self._ask,
            protocol.Query: self._query,
            protocol.Cancel: self._cancel,
        }
        with contextlib.suppress(PeerGone):
            while True:
                self._use_time()
                request = self._waiting.popleft() if self._waiting else self._receive()
                try:
                    answers[type(request)](request)
                except PeerGone:
                    raise
                except Exception as error:
                    self._fail(request, error)

    # requests

    def _prepare(self, request: protocol.Prepare) -> None:
        from geodp_app.runs.warm_up import warm_up

        warm_up(lambda: self._send(protocol.Preparing()), of_all=False)
        self._send(protocol.Prepared())

    def _refine(self, request: protocol.Refine) -> None:
        self._expected = request.job, None
        # what is wrong with a run is told when it is started
        with contextlib.suppress(Exception):
            self._expected = request.job, _Run(request.job, self._look)

    def _start(self, request: protocol.Start) -> None:
        self._drop()
        self._ended = None
        job, run, (expected, self._expected) = request.job, None, (self._expected, None)
        if job is None:
            assert expected is not None  # requests come in order
            job, run = expected
        self._run = run or _Run(job, self._look)
        self._run.number = request.run
        self._send(protocol.Started(request.run, self._run.plan))
        if job.at_once:
            self._go_on(self._run)

    def _next(self, request: protocol.Next) -> None:
        run = self._run
        if run is None or run.number != request.run:
            raise ValueError("this run is over: start a new one")
        self._go_on(run)

    def _go_on(self, run: _Run) -> None:
        """One step, or all of a run at once."""
        # a run that fails or is cancelled is over
        self._run = None
        try:
            stepped = run.advance()
            while run.at_once and stepped.record.step < stepped.record.steps:
                self._send(stepped)
                self._look(None)
                stepped = run.advance()
        except Cancelled:
            self._send(protocol.Stopped(run.number))
            return
        self._send(stepped)
        if stepped.record.step == stepped.record.steps:
            self._send(protocol.Finished(run.number, run.learner.release_))
            if hasattr(run.learner, "ask"):
                self._ended = run.number, run.learner
        else:
            self._run = run

    def _ask(self, request: protocol.Ask) -> None:
        from geodp_app.runs.edge_law import as_good, change, shade

        question = request.question
        answer: protocol.Answer | None = None
        with contextlib.suppress(Cancelled):
            self._give_way()
            if isinstance(question, protocol.ShadeQuestion):
                answer = shade(question, self._give_way)
            elif isinstance(question, protocol.ReportQuestion):
                answer = change(question, self._give_way)
            else:
                answer = as_good(question, self._give_way)
        self._send(protocol.Answered(request.run, request.tag, answer))

    def _query(self, request: protocol.Query) -> None:
        ended = self._ended
        try:
            if ended is None or ended[0] != request.run:
                raise ValueError("the chunks of this run are gone: a new run trains others")
            reply = protocol.Queried(request.run, request.points, ended[1].ask(request.points))
        except ValueError as error:
            reply = protocol.Queried(request.run, request.points, refused=str(error))
        self._send(reply)

    def _cancel(self, request: protocol.Cancel) -> None:
        if self._run is not None and self._run.number == request.run:
            self._drop()
        self._send(protocol.Stopped(request.run))

    def _drop(self) -> None:
        """No more steps of the run that there is."""
        if self._run is not None:
            self._run.stream.close()
        self._run = None

    def _fail(self, request: protocol.Request, error: Exception) -> None:
        """Tell it in one line; the process lives on."""
        text = " ".join(str(error).split())
        if isinstance(error, MemoryError):
            text = "out of memory: use a coarser grid or fewer examples"
        elif not isinstance(error, ValueError):
            text = f"internal error, nothing was released: {type(error).__name__}: {text}"
        self._send(protocol.Failed(getattr(request, "run", 0), text))

    # inside a selection

    def _look(self, progress: protocol.Progressed | None) -> None:
        """Report, and stop if that is asked; other requests wait."""
        if progress is not None:
            self._send(progress)
        while self._pipe.poll():
            request = self._receive()
            # requests come in order: it can only be meant for the run in progress
            if isinstance(request, protocol.Cancel):
                raise Cancelled
            self._waiting.append(request)

    def _give_way(self) -> None:
        if self._asked():
            raise Cancelled

    # between requests

    def _asked(self) -> bool:
        return bool(self._waiting) or self._pipe.poll()

    def _use_time(self) -> None:
        """As long as nothing is asked, prepare for the next step of the run that there is, or of
        the one that may be started."""
        run = self._run or (self._expected and self._expected[1])
        with contextlib.suppress(Exception):  # what is wrong is told when the step is asked for
            if run and not self._asked():
                run.stream.refine(self._asked)

    # the pipe

    def _receive(self) -> protocol.Request:
        try:
            request: protocol.Request = receive(self._pipe)
        except (EOFError, OSError) as error:
            raise PeerGone from error
        return request

    def _send(self, reply: protocol.Reply) -> None:
        try:
            with self._sending:
                send(self._pipe, reply)
        except OSError as error:
            raise PeerGone from error


class _Run:
    """One run: a learner, its stream of records, and the watch inside its selections.

    It has its number when it is started.
    """

    def __init__(
        self, job: protocol.Job, look: Callable[[protocol.Progressed | None], None]
    ) -> None:
        self.number = 0
        self.learner = make_learner(job.settings, job.grid)
        self._settings = job.settings
        self.at_once = job.at_once
        self._boxes = "boxes" in job.settings.declared.shows and not job.at_once
        self._pictured = False  # from the first step on
        self._look = look
        self._step = 0
        self._record: StepRecord | None = None
        self._began = self._due = 0.0
        self._last: SelectionProgress | None = None
        self._votes: VoteView | None = None
        # a run at once is looked after between its steps, which take moments
        watch = None if job.at_once else self._watch
        self.plan = self.learner.plan()
        self.stream = self.learner.steps(job.points, job.labels, watch=watch)

    def advance(self) -> protocol.Stepped:
        """Make the next step."""
        # a tile takes no longer than its picture would, and has a frame of its own
        whole = not zone_follows(self._settings, self._step, self._record)
        self._pictured = self._boxes and whole and not self._settings.by_tiles
        self._step += 1
        self._began = time.monotonic()
        self._due = self._began + REPORT_EVERY
        try:
            record = self._record = next(self.stream)
            return protocol.Stepped(self.number, record, self._views(self._last), self._votes)
        finally:
            # it holds on to the sampler's tables
            self._last = None

    def _watch(self, progress: SelectionProgress) -> None:
        if progress.amid:
            self._look(None)
            return
        self._last = progress
        if isinstance(progress, VoteProgress):
            self._votes = progress.votes or self._votes
        now = time.monotonic()
        report = None
        if now >= self._due:
            pictured = self._pictured
            report = protocol.Progressed(
                self._step,
                replace(progress, heaviest=None, density=None),
                seconds=now - self._began,
                run=self.number,
                views=self._views(progress) if pictured else (),
                density=progress.density(DENSITY_SIZE) if pictured and progress.density else (),
            )
            made = time.monotonic()
            self._due = made + max(REPORT_EVERY, _RARE * (made - now))
        self._look(report)

    def _views(self, progress: SelectionProgress | None) -> tuple[HeavyBox, ...]:
        if progress is None or progress.heaviest is None or not self._boxes:
            return ()
        return progress.heaviest(MOST_BOXES)


def make_learner(settings: RunSettings, grid: int) -> Estimator:
    """The learner of a run, not yet fitted."""
    learner: Estimator = settings.declared.build(grid=grid, **settings.parameters())
    return learner
