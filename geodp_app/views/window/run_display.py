"""Shows one moment of a run in all views at once: the step at the log's cursor.

The release view shows what a finished run publishes and nothing else.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QTimer, Signal
from shapely.geometry.base import BaseGeometry

from geodp_app.document.document import same_sample
from geodp_app.document.examples import Examples, Frame
from geodp_app.document.work import RunSettings, Work
from geodp_app.dual.sheets import ShadeMode
from geodp_app.files.run_report import support_caption
from geodp_app.runs.figures import FiguresView, Published, Selecting
from geodp_app.runs.protocol import Progressed
from geodp_app.runs.questions import OneReport
from geodp_app.runs.run_log import RunLog
from geodp_app.runs.why import UNSEEN, aim_words, odds_words, published_words, summary, why
from geodp_app.views.dual.dual_display import DualDisplay, DualQuestions, published_pieces
from geodp_app.views.plane.examples_layer import ExampleKinds
from geodp_app.views.run.live_run import Again, LiveRun
from geodp_app.views.run.timeline import Course
from geodp_app.views.run.window_runs import WindowRuns
from geodp_app.views.widgets.tasks import timer
from geodp_app.views.window.layout import WindowViews
from geometry.arrays import Ints
from geometry.halfplane import Region
from geometry.mask import Mask, clipped
from learners.core.releases import Release, support_shape, support_words
from learners.cover.set_cover import score_k

#: What pieces are called where the learner's own word says less.
_PIECE_NAMES = {"tile": "piece", None: "piece"}

#: Least time between two pictures of a run that goes on, in milliseconds; and how many times as
#: long as making and painting one it lasts at least, so that steps are not held up by pictures.
_FRAME, _REST = 33, 2


class RunDisplay(QObject):
    """Shows one step of the run, and the shapes of other runs, in all views."""

    #: The step at the cursor is shown.
    shown = Signal()

    def __init__(self, views: WindowViews, runs: WindowRuns, again: Again) -> None:
        super().__init__(views)
        w = self._views = views
        self._runs, self._again = runs, again
        self._dual = DualDisplay(w.dual, w.conics, w.duals, w.dual_pane, self)
        self.questions = DualQuestions(self._runs, w.dual, self)
        self.questions.share_known.connect(lambda: self._say_why(self._runs.shown.log))
        self.questions.report_said.connect(w.why.show_report)
        self._release = self._boxes = self._flash = False
        w.dual.controls.choose("score")
        self._moment, self._kept = tuple[object, ...](), tuple[object, ...]()
        self._past_words = ""
        #: Those that the one report was looked for in.
        self._looked_at: Examples | None = None
        self._mask: tuple[Mask | None, Frame] | None = None
        self._outside: tuple[Ints, Mask | None, NDArray[np.bool_]] | None = None
        self._within: BaseGeometry | None = None
        self._described: Release | None = None
        self.soon = timer(self, _FRAME, self.refresh)

    @property
    def at_rest(self) -> bool:
        """Whether every step is shown, and everything that was asked about the dual plane."""
        w = self._views
        computing = w.dual.pictures.background.busy or w.conics.background.busy
        return not (self.soon.isActive() or self.questions.pending or computing)

    def refresh_soon(self) -> None:
        """Show a step that has just arrived; of steps that come faster than frames, the newest."""
        self._flash = True
        if not self.soon.isActive():
            self.soon.start()

    def refresh(self, *, flash: bool = False) -> None:
        """Show the step at the cursor, in one pass over the views."""
        with self._views.dual.one_pass():
            self._refresh(flash=flash)

    def _refresh(self, *, flash: bool) -> None:
        self.soon.stop()
        flash, self._flash = flash or self._flash, False
        w, runs = self._views, self._runs
        work, log, past = runs.shown
        if not same_sample(work.examples, self._looked_at):
            self.show_report(None)  # these may not have it, or label it otherwise
        if past and self._release:
            log, past = runs.current, ""
        # a change of the controller's state, of what runs spent or of a name leaves planes and
        # figures as they are
        mask = runs.document.work.within
        parts = (work.drawing, work.bounds, work.examples, work.run, mask)
        values = (*parts, log, log.privacy if log else None, log.release if log else None)
        counts = (len(log.records), len(log.questions)) if log else (0, 0)
        place = (log.cursor, log.at_end, log.over) if log else (0, False, True)
        moment = (*map(id, values), *counts, *place, past, self._release, self._boxes)
        if moment != self._moment:
            self._moment, self._kept = moment, values  # kept, so that ids stay theirs
            began = time.monotonic()
            self._set_past(past)
            self._show_mask()
            self.questions.forget()
            if self._release:
                settings = work.run if log is None else log.settings
                self._show_release(work, settings, log.published if log else Published())
            else:
                self._show_private(work, log, flash=flash)
            self.note_plane()
            # comes after the paint events that these ask for
            QTimer.singleShot(0, self, lambda: self._painted(began))
        self.questions.follow(None if past or self._release else log)
        log, course = runs.stepped_through, runs.course
        selecting = runs.busy and runs.controller.state == "selecting"
        w.timeline.set_run(
            course,
            course.position(runs.place),
            course.gains(log) if log and not self._release else (),
            playing=runs.busy,
            goes_on=runs.goes_on,
            selecting=Selecting(len(log.records) + 1 if log else 1) if selecting else None,
        )
        self.shown.emit()

    def _set_past(self, past: str) -> None:
        """Grey what a change has put out of date, and say so; empty for what is up to date."""
        self._past_words, w = past, self._views
        for view in (w.plane.learned, w.chart, w.figures, w.why):
            view.set_past(bool(past))
        # the learner's own books know nothing of what its shape is clipped to
        for view in (w.chart, w.figures):
            view.set_clipped(self._runs.document.work.within is not None)
        for sheet in w.dual.sheets.values():
            sheet.chosen.show_with(past=bool(past))

    def note_plane(self) -> None:
        """Beside the plane's title: what is out of date, else what is hatched, what other runs are
        shown, and what the shapes are clipped to."""
        again, mask = "" if self._release else self._again.words, self._runs.document.work.within
        clipped_to = "" if mask is None else f"clipped to {mask.name}"
        hatched = "" if self._described is None else support_caption(self._described, short=True)
        words = self._past_words or ", ".join(filter(None, (hatched, again, clipped_to)))
        meaning = None if self._described is None else support_words(self._described)
        self._views.plane_pane.note.set_words(words, meaning or "")

    def show_again(self) -> None:
        """Show the other runs' shapes, which are not released."""
        others = () if self._release else self._again.shapes
        self._views.plane.learned.show_again([self._clipped(shape) for shape in others])
        self.note_plane()

    def _painted(self, began: float) -> None:
        taken = 1000 * (time.monotonic() - began)
        self.soon.setInterval(max(_FRAME, round(_REST * taken)))

    def progress(self, reply: Progressed) -> None:
        """Show a selection under way; where it looks, while the step before it is shown."""
        log, w = self._runs.log, self._views
        private = None if self._release else log
        w.timeline.set_selecting(Selecting(reply.step) if private is None else reply)
        newest = private is not None and private.cursor == private.newest
        if not newest or self._runs.shown.log is not private or self.soon.isActive():
            return
        if reply.votes is not None:
            w.plane.votes.show(reply.votes, w.plane.grid)
        if self._boxes:  # else what was chosen last, its lines and its score stay in sight
            w.dual.set_boxes(reply.views)
            if reply.density and not self._runs.until_overdue.isActive():
                w.dual.set_search(reply.density)

    def set_release_view(self, release: bool) -> None:
        """Only what may be published, or everything."""
        self._release = release
        self.show_report(None)
        self.refresh()
        self.show_again()

    def set_boxes(self, shown: bool) -> None:
        """Show or hide the sampler's boxes."""
        self._boxes = shown
        self.refresh()

    def set_shading(self, mode: ShadeMode) -> None:
        """Shade the dual plane by "score" or "probability", or not ("off")."""
        controls = self._views.dual.controls
        controls.choose(mode, controls.edge)
        self.refresh()

    def show_report(self, report: OneReport | None) -> None:
        """Look at what one report changes in the step at the cursor; None for the shading again, as
        in the release view."""
        report = None if self._release else report
        self._looked_at = self._runs.shown.work.examples
        self._views.plane.report.show(report)
        self.questions.look_at(report)

    def try_piece(self, piece: tuple[Region, ...]) -> None:
        """Show a piece on the plane that could be in place of the newest; none if empty."""
        self._views.plane.learned.try_piece(piece, self._views.plane.grid)

    def _show_release(self, work: Work, settings: RunSettings, published: Published) -> None:
        """What may be published, or nothing: no log comes here, and no answer about one."""
        w, figures = self._views, published.figures
        # of a shape that no noise was drawn for nothing may be published
        greedy = published.release is not None and published.release.privacy is None
        release = None if greedy else published.release
        self._show_support(release)
        w.plane.set_release_view(True)
        w.plane.show_examples(None)
        w.plane.votes.show(None, w.plane.grid)
        region = self._clipped(release.shape()) if release else None
        # the edges of sharpened triangles are no longer those of the region
        tiled = release is not None and any(step.tile for step in release.steps)
        pieces = published_pieces(release) if figures.at_end or not tiled else ()
        w.plane.learned.show(region, pieces, w.plane.grid, flash=False, whole=figures.at_end)
        w.plane.questions.show(published.questions, w.plane.grid)
        self._dual.show_release(work, settings, release, 0 if figures.at_end else figures.step)
        if published.release is not None and figures.at_end:
            w.why.sharpen.setVisible(_could_sharpen(settings))
            words = published_words(published.release, clipped=self._within is not None)
            w.why.show_why(_END, words, at_end=True)
        else:
            w.why.show_why(figures.title, None)
        w.chart.set_points((), 0, 0)
        w.figures.show_figures(figures)

    def _show_private(self, work: Work, log: LiveRun | None, *, flash: bool) -> None:
        labels = None if work.examples is None else work.examples.labels != 0
        self._show_plane(work, log, labels, flash=flash)
        self._dual.show(work, log, labels, past=bool(self._past_words), boxes=self._boxes)
        self._show_figures(log)

    def _show_plane(
        self, work: Work, log: RunLog | None, labels: NDArray[np.bool_] | None, *, flash: bool
    ) -> None:
        plane = self._views.plane
        self._show_support(None if log is None else log.release)
        plane.set_release_view(False)
        plane.votes.show(log.votes if log else None, plane.grid)
        plane.questions.show(log.questions if log else (), plane.grid)
        examples = work.examples
        if examples is None or labels is None:
            plane.show_examples(None)
        elif log is None or self._past_words:
            plane.show_examples(ExampleKinds.of(examples.points, labels))
        else:
            decided = ~log.alive
            # what the shape is clipped off is labelled 0
            wrong = np.where(self._left_out(examples), labels, log.wrong)
            if log.cursor != log.planned:  # what is not decided yet may still be gained
                wrong &= decided
            plane.show_examples(ExampleKinds.of(examples.points, labels, decided, wrong))
        region = self._clipped(log.region()) if log is not None and log.cursor else None
        newest = log.shown[-1].tile if log is not None and log.cursor else None
        if log is not None and not log.at_end and (log.settings.by_tiles or newest is not None):
            plane.learned.show_tiles(region, log.tiling, newest, flash=flash)
        else:
            pieces, whole = ((), False) if log is None else (log.pieces, log.at_end)
            plane.learned.show(region, pieces, plane.grid, flash=flash, whole=whole)

    def _show_support(self, release: Release | None) -> None:
        """Where a run that came to its end had too few reports, whichever step is shown."""
        self._described = release
        plane, shape = self._views.plane, None if release is None else support_shape(release)
        plane.support.show(shape, plane.grid)

    def _show_mask(self) -> None:
        """What all shapes are clipped to now, though those of the past are shown."""
        work = self._runs.document.work
        if (work.within, work.frame) == self._mask:
            return
        self._mask = work.within, work.frame
        self._within = None if work.within is None else work.within.region(work.frame)
        self._views.plane.mask.show(self._within, self._views.plane.grid)
        self.show_again()

    def _clipped(self, shape: BaseGeometry) -> BaseGeometry:
        return shape if self._within is None else clipped(shape, self._within)

    def _left_out(self, examples: Examples) -> NDArray[np.bool_]:
        """Which examples lie outside of the mask, found once for each sample and mask."""
        within, points = self._runs.document.work.within, examples.points
        known = self._outside
        if known is None or known[0] is not points or known[1] is not within:
            kept = np.ones(len(points), dtype=np.int64)
            kept = kept if within is None else within.keep(kept, points, examples.frame)
            known = self._outside = points, within, kept == 0
        return known[2]

    def _show_figures(self, log: LiveRun | None) -> None:
        w = self._views
        self._say_why(log)
        if log is None:
            w.chart.set_points((), 0, 0)
            w.figures.show_figures(FiguresView())
            return
        course = Course.of(log, opened=True)
        steps = [stop.step for stop in course.stops[1:] if stop.step <= len(log.records)]
        if log.release is not None and steps:
            steps[-1] = len(log.records)
        made = tuple(replace(log.figures(step), step=i) for i, step in enumerate(steps, start=1))
        first = course.first if course.sharpens else 0
        w.chart.set_points(made, max(0, course.planned - 1), course.position(log.cursor), first)
        w.figures.show_figures(log.shown_figures)

    def _say_why(self, log: LiveRun | None) -> None:
        card, work = self._views.why, self._runs.document.work
        declared = work.run.declared if log is None else log.settings.declared
        piece = _PIECE_NAMES.get(declared.piece, declared.piece)
        goes_on = log is not None and log.cursor == log.newest and not log.over
        aim = aim_words(log) if log is not None and goes_on else ""
        if log is None or not log.cursor:
            card.show_why(f"Why this {piece}", None, aim)
        elif log.at_end:
            card.sharpen.setVisible(_could_sharpen(log.settings))
            card.show_why(_END, summary(log, clipped=self._within is not None), at_end=True)
        else:
            record = log.record(log.cursor)
            odds = odds_words(log.as_good.get(log.cursor, ()))
            before = log.wrong_before(log.cursor)
            said = why(record, declared, log.role, score_k(log.settings["k"]), before)
            said += UNSEEN if log.settings.checked else ""
            card.show_why(f"{log.title(log.cursor)}, and why", said, aim, odds=odds)


#: The heading of what a run came to.
_END = "The end"


def _could_sharpen(settings: RunSettings) -> bool:
    """Whether a run of triangles could be one that draws their edges again."""
    return settings.has("finish") and settings["finish"] == "none" and settings["k"] != 1
