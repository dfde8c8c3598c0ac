"""Steers the window's run: passes on what the buttons ask, and logs what the controller answers.

A log belongs to one sample and one set of settings.  Pressing Run after a finished run, or after
the settings changed, begins another run, which spends its epsilon again.  What every run spends is
noted with the sample when its first step begins: one that is cancelled counts in full, as a new
run in its place is chosen by what was seen of it.

While it is live, a run on simulated examples follows their edits and its settings
(:mod:`geodp_app.views.run.live_run`).  What is shown stays until the run that follows has something
to show.  A quick run follows at full speed, shows its end alone, and comes to it though it is
overtaken.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from geodp_app.document.document import Document, same_sample
from geodp_app.document.work import Work, spent_words
from geodp_app.drawing.shapes import Drawing
from geodp_app.files.ledger import NewRun
from geodp_app.files.ledger_recording import LedgerWords, enter, tell_end
from geodp_app.files.ledger_state import End
from geodp_app.files.run_record import RunRecord
from geodp_app.runs.protocol import Job, Progressed, Stepped
from geodp_app.views.run.live_run import MOST_KEPT, OVERDUE, REST, LiveRun, Shown, is_quick
from geodp_app.views.run.run_controller import RunController
from geodp_app.views.run.timeline import Course
from geodp_app.views.widgets.tasks import timer
from geometry.errors import InputError
from learners.core.releases import Release
from learners.privacy.accounting import PrivacySpent

#: Pauses between steps, in seconds, from slow to fast.
SPEEDS = (4.0, 2.0, 1.0, 0.3, 0.0)
#: Milliseconds without a change before the next run is prepared for.
IDLE = 150
#: So many edges that are drawn again are shown in the time of a piece.
_EDGES_A_PIECE = 5

#: Where a window begins, by place among them: what is said of a piece can be read.
FIRST_SPEED = 1

_CANCELLED = (
    "Cancelled: nothing is released, and the run counts in full. "
    "A new run is not covered by its own statement alone."
)
_STOPPED = "Stopped: nothing is released."
_PREPARING = "Preparing the learner: its loops are compiled once, some 15 seconds."


class WindowRuns(QObject):
    """Run, step, pause, back, reset, cancel; one log at a time."""

    #: The log, its cursor or the controller's state changed; True when a step has just arrived.
    changed = Signal(bool)
    #: From inside a selection.
    progressed = Signal(object)
    #: One line for the person.
    announced = Signal(str)

    def __init__(self, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.document = document
        self.controller = RunController(self)
        #: Whether runs follow what changes, and whether only what may be published is shown.
        self.live, self.release_view = True, False
        #: Whether every edge that is drawn again is a stop of its own.
        self.opened = False
        #: The newest run.
        self.log: LiveRun | None = None
        #: The run to show until the one that has begun has something to show.
        self._before: LiveRun | None = None
        #: Runs of before, finished ones and newer ones first: an undo brings them back.
        self._kept: list[LiveRun] = []
        #: Whether the end of the run is wanted: it was neither paused nor cancelled; and whether it
        #: was paused, and no step of it asked for since.
        self._wanted = self._paused = False
        #: The drawing as a drag would leave it.
        self.dragged: Drawing | None = None
        self._pace = SPEEDS[FIRST_SPEED]
        self._ledger_words = LedgerWords()
        self._rest = timer(self, REST, self._start_anew)
        self._idle = timer(self, IDLE, self._expect)
        #: Active while a quick run follows an edit but now, of which only the end is shown.
        self.until_overdue = timer(self, OVERDUE, lambda: self.changed.emit(False))
        c = self.controller
        c.state_changed.connect(self._state_changed)
        c.preparing.connect(lambda: self.announced.emit(_PREPARING))
        c.progressed.connect(self._progressed)
        c.started.connect(self._started)
        c.stepped.connect(self._stepped)
        c.finished.connect(self._finished)
        c.stopped.connect(self._stopped)
        c.failed.connect(self._failed)
        c.set_delay(self._pace)

    @property
    def busy(self) -> bool:
        """Whether a run goes on by itself, and that is shown."""
        return self.going and not self.until_overdue.isActive()

    @property
    def going(self) -> bool:
        """Whether the learner is at work or about to be, shown or not."""
        return self.controller.state in ("selecting", "waiting") or self.controller.pending

    @property
    def goes_on(self) -> bool:
        """Whether a run is paused that Run would go on with: else it begins another one."""
        log = self.current
        if log is None or log.release is not None or self.controller.state != "paused":
            return False
        return log.settings == self.document.work.run

    @property
    def current(self) -> LiveRun | None:
        """The log, if it belongs to the examples that are there now."""
        run = self.log
        fits = run is not None and same_sample(run.work.examples, self.document.work.examples)
        return run if fits else None

    def stored(self) -> RunRecord | None:
        """The run to keep with the session; one without a step may be of settings that nobody
        takes."""
        return self.current.run if self.current is not None and self.current.records else None

    @property
    def shown(self) -> Shown:
        """What the views show: the newest results, or those of the past as long as none are new."""
        run, work = self._before or self.log, self.document.work
        if run is None or not run.related(work):
            return Shown(work, None)
        if self.until_overdue.isActive() or (self._dragging and self.log is run):
            return Shown(run.work, run)
        if self.log is not None and self._dragging:
            work = self.log.work
        return Shown(work, run, run.out_of_date(work))

    @property
    def stepped_through(self) -> LiveRun | None:
        """The log whose steps the timeline counts; in the release view nothing is of the past."""
        past = self.current is None and not self.release_view
        return self.shown.log if past or self.until_overdue.isActive() else self.current

    @property
    def spent_words(self) -> str:
        """What the runs on the examples cost together, or what their ledger says; empty if that is
        one run's own statement."""
        work = self.document.work
        if work.ledger is not None and (ledger := self._ledger_words(work)):
            return ledger
        run = self.current
        under_way = run is not None and run.charge is not None and not run.over
        return spent_words(work.spent, under_way=under_way)

    def run_or_pause(self) -> None:
        """Run to the end, or pause after the step under way."""
        run = self.log
        if self.going and run is not None and run.automatic and run.just_begun:
            run.automatic = False
            self._wanted = True
            self.controller.run()
        elif self.busy:
            self._wanted, self._paused = False, True
            self.controller.pause()
        elif self._ready():
            self._wanted = True
            self.controller.run()
        self.changed.emit(False)  # it may have to wait for the learner, and is asked for by now

    def step(self) -> None:
        """Make one step of the run."""
        if not self.busy and self._ready():
            self._wanted = self._paused = False
            self.controller.step()
            self.changed.emit(False)

    def cancel(self) -> None:
        """Stop now; what the selection under way would have chosen is never known."""
        self._stop_following()
        self.controller.cancel()

    def reset(self) -> None:
        """Forget the run and all that is shown of it."""
        self.adopt(None)

    @property
    def course(self) -> Course:
        """Where the run that is stepped through can be looked at."""
        log = self.stepped_through
        public = self.release_view
        return Course() if log is None else Course.of(log, opened=self.opened, public=public)

    @property
    def place(self) -> int:
        """The step that is shown of it; of its end, the one after its last."""
        log = self.stepped_through
        return 0 if log is None else log.cursor + log.at_end

    def move_cursor(self, step: int) -> None:
        """Show the run as it was after that many steps; after one more than all, its end."""
        log = self.stepped_through
        if log is not None and 0 <= step <= log.last and step != self.place:
            log.cursor = step
            self.changed.emit(False)

    def walk(self, by: int) -> None:
        """Go back or forward through the stops; by 0 to one, if another has been left out."""
        stops = self.course.stops
        at = self.course.position(self.place) + by
        self.move_cursor(stops[min(max(at, 0), len(stops) - 1)].step)

    def show_end(self) -> None:
        """Show the end, or the newest step as long as there is none."""
        self.move_cursor(self.course.stops[-1].step)

    def set_opened(self, opened: bool) -> None:
        """Stop at every edge that is drawn again, or at none but the last."""
        self.opened = opened
        self.walk(0)
        self.changed.emit(False)

    def set_release_view(self, release: bool) -> None:
        """In the release view a run stands at its end: which steps found nothing is private."""
        self.release_view = release
        if release:
            self.show_end()
        else:
            self.walk(0)

    def set_live(self, on: bool) -> None:
        """Let runs on simulated examples follow what changes, or not."""
        self.live = on
        if on:
            self.follow_document()
        else:
            self._rest.stop()
        self.changed.emit(False)

    def drag(self, drawing: Drawing) -> None:
        """The drawing as it would be if the drag ended here; a quick run follows at once."""
        before, self.dragged = self.dragged, drawing
        if drawing == self.document.drawing:
            self.dragged = None
            if before is not None:
                self.follow_document()
                self.changed.emit(False)
        elif drawing != before:
            self._follow()

    def follow_document(self) -> None:
        """Another drawing, other examples or settings: show or begin the run that is about them.

        A run whose examples are gone ends; an undo brings its steps back.
        """
        self._idle.start()
        dropped, self.dragged = self.dragged is not None, None
        run, work = self.log, self.document.work
        if run is None:
            return
        known = [one for one in self._kept if one.related(work)]
        kept = next((one for one in known if one.fresh(work)), None)
        if known and not run.related(work):
            self._take_back(kept or known[0])
        elif not run.related(work):
            self._before = None
            self._rest.stop()
            if self.going:
                self.controller.cancel()
            elif self.controller.state == "failed":
                self.controller.reset()  # nothing is left of what failed
        elif run.fresh(work):
            self._rest.stop()
            run.tried = False
            run.note(self.document)
        elif kept is not None:
            self._take_back(kept)
        elif self._follows:
            self._follow(at_once=dropped)
        elif self.going and not same_sample(run.work.examples, work.examples):
            self.controller.cancel()

    def set_speed(self, index: int) -> None:
        """Pause between steps by place in SPEEDS."""
        self._pace = SPEEDS[index]
        self.controller.set_delay(self._pace)

    def adopt(self, run: RunRecord | None) -> None:
        """Show a run on the document's examples that was read from a file, or none."""
        self._stop_following()
        self.controller.reset()
        self._give_up()
        self.log = log = None if run is None else LiveRun(self.document.work, run)
        self._before = None
        self._kept.clear()
        if log is not None and log.release is not None:
            self._wanted, log.cursor = True, log.last
        self.changed.emit(False)

    def close(self) -> None:
        """End the learner's process."""
        self._stop_following()
        self._give_up()
        self.controller.close()

    # following

    @property
    def _follows(self) -> bool:
        return self.live and self._wanted and self.document.work.simulated

    @property
    def _dragging(self) -> bool:
        return self.dragged is not None and self.log is not None and self.log.tried

    def _follow(self, *, at_once: bool = False) -> None:
        run, quick = self.log, is_quick(self.document.work)
        dragging = self.dragged is not None
        if run is None or not self._follows or not run.related(self.document.work):
            return
        if dragging and (not quick or run.work.drawing == self.dragged):
            return
        if run.quick and run.just_begun and self.going and not at_once:
            return  # it comes to its end first, and then this is asked again
        if quick:
            self._start_anew()
        else:
            self._rest.start()

    def _start_anew(self) -> None:
        dragged = self.dragged
        preview = None if dragged is None else self.document.preview(dragged)
        self._begin(preview or self.document.work, follows=True)

    def _stop_following(self, *, wanted: bool = False) -> None:
        self._wanted = wanted
        self._rest.stop()
        self.until_overdue.stop()

    def _take_back(self, run: LiveRun) -> None:
        self._stop_following(wanted=self._wanted)
        self._kept.remove(run)  # first: to keep one more may drop it
        self._keep(self.log)
        self.controller.reset()
        if self.log is not None and not self.log.automatic:
            self._give_up()
        self.log, self._before = run, None
        self.changed.emit(False)

    def _keep(self, run: LiveRun | None) -> None:
        # what was paid for is shown again, whole or not
        paid = run is not None and run.records and not run.work.simulated
        if run is not None and not run.tried and (paid or run.release is not None):
            self._kept = sorted([run, *self._kept], key=lambda one: one.release is None)[:MOST_KEPT]

    # the controller

    def _ready(self) -> bool:
        """Have a run that can go on, beginning one if need be; False when there can be none."""
        if self.goes_on and self.log is not None:
            self.log.cursor = self.log.newest
            return True
        try:
            if self.document.work.examples is None:
                self.document.sample()
        except InputError as error:
            self.announced.emit(str(error))
            return False
        self.document.end_merging()
        self._begin(self.document.work)
        return True

    def _begin(self, work: Work, *, follows: bool = False) -> None:
        """A run of its own, paused before its first step; one that follows goes on by itself."""
        dragging, past = follows and self.dragged is not None, self._before or self.log
        self._stop_following(wanted=self._wanted)
        quick = follows and is_quick(work)
        if quick:
            self.until_overdue.start()
        if follows and self.log is not None:
            self.log.over = True  # nobody stopped it: there is nothing to tell
        self.controller.reset()
        self._give_up()
        self._keep(self.log)
        stale = past is not None and past.cursor and past.related(work)
        self._before = past if past is not None and stale and not past.fresh(work) else None
        self.controller.set_delay(0.0 if quick else self._pace)
        self.controller.start(Job.of(work, at_once=quick))
        # while the learner's process begins, the window draws what it will be tested on
        self.log = LiveRun(work, tried=dragging, quick=quick, automatic=follows)
        if follows:
            self.controller.run()  # the learner works while the views change
        self.changed.emit(False)

    def _expect(self) -> None:
        """Nothing has changed for a while: prepare for the run that may be asked for next."""
        work = self.document.work
        if work.examples is not None and "boxes" in work.run.declared.shows:
            self.controller.expect(Job.of(work))

    def _state_changed(self, state: str) -> None:
        if state in ("ready", "finished"):
            self._idle.start()
        if state == "selecting" and self.log is not None:
            self.log.begun = True
            self.log.note(self.document)
        if not self.until_overdue.isActive():
            self.changed.emit(False)

    def _started(self, plan: PrivacySpent | None) -> None:
        run = self.log
        if run is None:
            return
        run.plan = plan
        if run.work.simulated:
            return  # its examples are nobody's
        new = NewRun("window", run.settings.learner, plan)
        try:  # the learner draws when it is told to make a step, which it has not been
            enter(run.work, [new])
            run.name = new.run
        except InputError as error:
            self._stop_following()
            self.controller.reset()
            kept = self._kept.pop(0) if self._kept and self._kept[0].related(run.work) else None
            self.log, self._before = self._before or kept, None
            self.controller.failed.emit(str(error))

    def _end(self, run: LiveRun, end: End) -> None:
        """Tell the ledger, if the run is in one, how it ended."""
        name, run.name = run.name, ""
        if name and (problem := tell_end(run.work, {name: end})):
            self.announced.emit(problem)

    def _progressed(self, reply: Progressed) -> None:
        if self._before is None:
            self.progressed.emit(reply)

    def _stepped(self, reply: Stepped) -> None:
        run = self.log
        if run is None:
            return
        run.add(reply.record, reply.views, reply.votes)
        if not run.tried:
            self.document.mark_grown()
        if run.sharpening and not run.quick:
            # there are many edges, and each changes little; the rest of one is no step to look at
            self.controller.set_delay(0.0 if run.between else self._pace / _EDGES_A_PIECE)
        if run.between and self.controller.state == "paused" and not self._paused:
            self.controller.step()
        if not self.until_overdue.isActive():
            self._before = None
            self.changed.emit(True)

    def _finished(self, release: Release) -> None:
        run = self.log
        if run is None:
            return
        watched = run.cursor == run.newest
        run.finish(release)
        if watched:
            run.cursor = run.last
        run.over, self._wanted, self._before = True, True, None
        self._end(run, "released")
        waited = self.until_overdue.isActive()
        self.until_overdue.stop()
        run.note(self.document)
        if not run.tried:
            self.document.mark_grown()  # by what a step did not have
        # another run follows what has changed meanwhile: the learner goes on while the views show
        # what it has found
        if self.dragged is not None:
            self._follow()
        elif self.log is not None and not self.log.fresh(self.document.work):
            self.follow_document()
        self.changed.emit(waited)

    def _stopped(self) -> None:
        if self.log is not None and self.log.charge is None and not self.log.over:
            self.announced.emit(_STOPPED)
        self._give_up()
        self.changed.emit(False)

    def _give_up(self) -> None:
        """The run under way, if there is one, will not come to its end: say what that means."""
        run = self.log
        if run is not None and not run.over:
            run.over = True
            self._end(run, "cancelled")
            if run.charge is not None:
                self.announced.emit(_CANCELLED)

    def _failed(self, message: str) -> None:
        going = self.controller.state in ("paused", "waiting", "selecting")
        if self.log is not None and not going:
            self.log.over = True  # it was begun, and counts
            self._end(self.log, "failed")
            self.until_overdue.stop()
        self.announced.emit(message)
        self.changed.emit(False)
