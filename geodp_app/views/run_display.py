"""Shows one moment of a run in all views at once: the step at the log's cursor.

The release view shows what a finished run publishes and nothing else.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QTimer

from geodp_app.document.work import Work
from geodp_app.dual.captions import CELLS, TileShown
from geodp_app.dual.shading import ShadeMode
from geodp_app.examples_csv import Examples
from geodp_app.figures_view import ErrorPoint, FiguresView, Selecting
from geodp_app.plane.examples_picture import ExampleKinds
from geodp_app.runs.one_report import OneReport, change_words
from geodp_app.runs.protocol import Progressed, Reported, Shaded, Shared
from geodp_app.runs.run_log import RunLog, StepFigures
from geodp_app.runs.step_questions import report_question, share_question
from geodp_app.runs.what_if import Candidate, WhatIf
from geodp_app.why import piece_name, why
from geometry.halfplane import HalfplaneLattice
from geometry.lift import Conic
from geometry.region import Region
from learners.records import Piece, halfplanes_of
from learners.releases import ConicRelease, CoverRelease, Release

if TYPE_CHECKING:
    from geodp_app.views.main_window import MainWindow

#: Said of the dual plane of a tile.
_OWN_FRAME = "Where the tile lies; its dual plane counts from its own lower left corner"

#: Pause before a question about the dual plane is asked, in milliseconds: scrubbing asks none.
_SETTLE = 120
#: Pixels along a side of all sheets' shadings, and of that of the window in sight.
_COARSE, _FINE = 48, 160

#: What pieces are called where the learner's own word says less.
_PIECE_NAMES = {"tile": "piece", None: "piece"}

#: Least time between two pictures of a run that goes on, in milliseconds; and how many times as
#: long as making and painting one it lasts at least, so that steps are not held up by pictures.
_FRAME, _REST = 33, 2


class RunDisplay(QObject):
    """What the views show of the run."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._release = self._past = False
        window.dual.controls.choose("score")
        self._boxes = False
        self._tag: int | None = None
        self._nats: float | None = None
        self._moment: tuple[object, ...] = ()
        self._kept: tuple[object, ...] = ()
        self._asked: tuple[RunLog, int, int] | None = None
        self._tile: TileShown | None = None
        self._past_words = ""
        self._report: OneReport | None = None
        self._labels: tuple[Examples, NDArray[np.bool_]] | None = None
        self._asking = QTimer(self, singleShot=True, interval=_SETTLE)
        self._asking.timeout.connect(self._ask)
        self._detail: int | None = None
        self._sharing: tuple[int, RunLog, int] | None = None
        self._detailing = QTimer(self, singleShot=True, interval=_SETTLE)
        self._detailing.timeout.connect(self._ask_detail)
        self._flash = False
        self._soon = QTimer(self, singleShot=True, interval=_FRAME)
        self._soon.timeout.connect(self.refresh)

    @property
    def settled(self) -> bool:
        """Whether every step is shown, and everything that was asked about the dual plane."""
        timers = (self._soon, self._asking, self._detailing)
        asked = any(timer.isActive() for timer in timers)
        asked = asked or any(each is not None for each in (self._tag, self._detail, self._sharing))
        computing = self._window.dual.pictures.busy or self._window.conics.busy
        return not asked and not computing

    def refresh_soon(self) -> None:
        """Show a step that has just arrived; of steps that come faster than frames, the newest."""
        self._flash = True
        if not self._soon.isActive():
            self._soon.start()

    def refresh(self, *, flash: bool = False) -> None:
        """Show the step at the cursor."""
        self._soon.stop()
        flash, self._flash = flash or self._flash, False
        w = self._window
        work, log, past = w.runs.shown
        if past and self._release:
            log, past = w.runs.current, ""
        busy = w.runs.busy
        # a change of the controller's state, of what runs spent or of a name leaves planes and
        # figures as they are
        parts = (work.drawing, work.bounds, work.examples, work.run)
        values = (*parts, log, log.release if log else None)
        counts = (log.cursor, len(log.records), len(log.questions)) if log else (0, 0, 0)
        moment = (*map(id, values), *counts, past, self._release, self._boxes)
        if moment != self._moment:
            self._moment, self._kept = moment, values  # kept, so that ids stay theirs
            began = time.monotonic()
            self._set_past(past)
            self._show_plane(work, log, flash=flash)
            self._show_dual(work, log)
            self._show_figures(log)
            # comes after the paint events that these ask for
            QTimer.singleShot(0, self, lambda: self._painted(began))
        self._shade_later(None if past else log)
        log = w.runs.stepped_through
        planned = log.planned if log else 0
        done = len(log.records) if log else 0
        w.timeline.set_run(log.cursor if log else 0, done, planned)
        w.timeline.set_gains(log.gains if log else ())
        w.timeline.set_playing(busy)
        selecting = busy and w.runs.controller.state == "selecting"
        w.timeline.set_selecting(Selecting(done + 1) if selecting else None)
        w.show_learner_state()

    def _set_past(self, past: str) -> None:
        """Grey what a change has put out of date, and say so; empty for what is up to date."""
        self._past = bool(past)
        w = self._window
        self._past_words = past
        self.note_plane()
        w.plane.learned.set_past(self._past)
        w.chart.set_past(self._past)
        w.figures.set_past(self._past)
        for sheet in w.dual.sheets.values():
            sheet.set_past(self._past)

    def note_plane(self) -> None:
        """Beside the plane's title: what is out of date, else what other runs are shown."""
        again = "" if self._release else self._window.again.words
        self._window.plane_pane.note.set_words(self._past_words or again)

    def _painted(self, began: float) -> None:
        taken = 1000 * (time.monotonic() - began)
        self._soon.setInterval(max(_FRAME, round(_REST * taken)))

    def progress(self, reply: Progressed) -> None:
        """Show a selection under way."""
        log = self._window.runs.log
        training = log is not None and "votes" in log.settings.declared.shows
        self._window.timeline.set_selecting(
            Selecting(reply.step, reply.trials, reply.boxes, reply.seconds, reply.votes, training)
        )
        if reply.votes is not None and not self._release:
            self._window.plane.show_votes(reply.votes)
        if self._boxes and not self._release:
            self._window.dual.set_boxes(reply.views)
        if reply.density and not self._window.runs.following:
            self._window.dual.set_search(reply.density)

    def set_release_view(self, release: bool) -> None:
        """Only what may be published, or everything."""
        self._release = release
        self.refresh()
        self.note_plane()

    def set_boxes(self, shown: bool = True) -> None:
        """Show or hide the sampler's boxes."""
        self._boxes = shown
        self.refresh()

    def set_shading(self, mode: ShadeMode) -> None:
        """Shade the dual plane by "score" or "probability", or not ("off")."""
        controls = self._window.dual.controls
        controls.choose(mode, controls.edge)
        self.refresh()

    def shaded(self, reply: Shaded) -> None:
        """An answer about the dual plane."""
        if reply.tag == self._tag:
            self._tag = None
            self._window.dual.set_shading(reply.sheets, nats=self._nats)
            self._detailing.start()
        elif reply.tag == self._detail:
            self._detail = None
            self._window.dual.set_detail(reply.sheets[0])
            self._ask_share()

    def forget_questions(self) -> None:
        """No answer will come."""
        self._tag = self._detail = self._sharing = None

    def shared(self, reply: Shared) -> None:
        """How much of the probability pieces as good as the chosen one had."""
        if self._sharing is not None and reply.tag == self._sharing[0]:
            _, log, step = self._sharing
            self._sharing = None
            log.as_good[step] = reply.as_good
            self._say_why(self._window.runs.shown.log)

    def show_report(self, report: OneReport | None) -> None:
        """Ask what one report changes in the step at the cursor; None for the shading again."""
        self._report = report
        w = self._window
        w.plane.report.show(report)
        w.why.show_report("" if report is None else report.words)
        self._asked = None
        if report is None:
            w.dual.set_shading(None)
        self.refresh()

    def reported(self, reply: Reported) -> None:
        """What the report changes."""
        log, report = self._window.runs.current, self._report
        if reply.tag != self._tag or log is None or report is None:
            return
        self._tag = None
        eta = self._nats or 0.0
        self._window.dual.set_change(reply.change, eta)
        words = change_words(reply.change, eta, log.privacy)
        self._window.why.show_report(f"{report.words} {words}")

    def conic_candidate(self, candidate: Candidate | None) -> None:
        """Another disc or ellipse is pointed at, or none."""
        self._window.plane.show_candidate(() if candidate is None else candidate.piece)

    def detail_later(self) -> None:
        """The sheet or the window in sight has changed: shade it finely, once it rests."""
        self._detailing.start()

    def candidate(self, candidate: Candidate | None) -> None:
        """Another piece is pointed at in the dual plane; a halfplane alone is shown without."""
        if candidate is not None:
            self._window.plane.show_candidate(candidate.piece)

    def title_dual(self) -> None:
        """The head of the dual plane's pane: which sheet it is, and how many lines it has."""
        pane, dual = self._window.dual_pane, self._window.dual
        if self._window.duals.currentWidget() is self._window.conics:
            pane.heading.setText(f"Dual plane: {self._window.conics.title}")
            pane.note.set_words("")
            return
        name = f"Dual plane of {self._tile.name}" if self._tile else "Dual plane"
        pane.heading.setText(f"{name}: {dual.title}" if dual.title else name)
        if self._tile is not None:
            pane.note.set_words(self._tile.place, _OWN_FRAME)
        else:
            pane.note.set_words(dual.note)

    # views

    def _show_plane(self, work: Work, log: RunLog | None, *, flash: bool) -> None:
        plane = self._window.plane
        if self._release:
            release = log.release if log else None
            region = release.shape() if release else None
            plane.show_learned(region, _pieces(release), flash=False)
            plane.set_release_view(True)
            plane.show_questions(log.questions if log else ())
            return
        plane.set_release_view(False)
        plane.show_votes(log.votes if log else None)
        plane.show_questions(log.questions if log else ())
        examples = work.examples
        if examples is None:
            plane.show_examples(None)
        elif log is None or self._past:
            plane.show_examples(ExampleKinds.of(examples.points, self._labels_of(examples)))
        else:
            labels = self._labels_of(examples)
            # what is not decided yet may still be gained: it is wrong only in the end
            wrong = log.wrong if log.cursor == log.planned else log.wrong & log.decided
            plane.show_examples(ExampleKinds.of(examples.points, labels, log.decided, wrong))
        region = log.region() if log is not None and log.cursor else None
        if log is not None and log.settings.by_tiles:
            newest = log.tile_steps[-1].tile if log.cursor else None
            plane.show_tiles(region, log.tiling, newest, flash=flash)
        else:
            plane.show_learned(region, log.pieces if log is not None else (), flash=flash)

    def _show_dual(self, work: Work, log: RunLog | None) -> None:
        w = self._window
        dual = w.dual
        dual.set_release_view(self._release)
        dual.set_shading(None)
        dual.set_what_if(None)
        self._tag = self._detail = self._sharing = None
        self._asked = None
        settings = work.run if log is None else log.settings
        flat = "dual plane" in settings.declared.shows
        tile = self._tile = self._tile_shown(log) if flat else None
        if tile is not None and log is not None:
            dual.set_lattice(log.tile_lattice)
            self._show_dual_of_tile(log, tile)
            return
        w.duals.setCurrentWidget(w.conics if settings.curved else dual)
        self._show_conics(log if settings.curved else None)
        if not flat:
            dual.set_tile(None)
            dual.set_examples(None, None)
            dual.set_pieces((), -1)
            dual.set_lattice(None, CELLS)
            return
        dual.set_lattice(HalfplaneLattice(work.drawing.grid, work.run.piece_measure))
        dual.set_tile(None)
        if self._release:
            pieces = _halfplanes(_pieces(log.release if log else None))
            dual.set_pieces(pieces, len(pieces) - 1)
            return
        examples = work.examples
        if examples is None:
            dual.set_examples(None, None)
        else:
            seen = None if log is None or self._past else log.seen
            dual.set_examples(examples.points, self._labels_of(examples), seen)
        dual.set_pieces(_halfplanes(log.pieces) if log else (), log.cursor - 1 if log else -1)
        dual.set_boxes(log.views if log and self._boxes else ())

    def _show_conics(self, log: RunLog | None) -> None:
        """Centres of discs and ellipses; where the newest could be is private."""
        conics = self._window.conics
        pieces = () if log is None else log.pieces
        if self._release:
            pieces = _pieces(log.release if log else None)
        chosen = tuple(one for piece in pieces for one in piece if isinstance(one, Conic))
        seen = bool(chosen) and not (self._release or self._past) and log is not None
        conics.show_run(chosen, log.conic_question(log.cursor) if seen and log else None)
        self.title_dual()

    def _show_dual_of_tile(self, log: RunLog, tile: TileShown) -> None:
        """The tile at the cursor in its own frame; its piece is published with the run."""
        dual = self._window.dual
        dual.set_tile(tile)
        if not self._release:
            dual.set_examples(*log.tile_examples(tile.number))
            dual.set_boxes(log.views if self._boxes else ())
        dual.set_pieces((tile.step.piece,) if tile.step.piece else (), 0, tile.number)

    def _tile_shown(self, log: RunLog | None) -> TileShown | None:
        """The tile at the cursor, if there is one and it may be shown."""
        if log is None or not log.tile_steps or (self._release and log.release is None):
            return None
        return TileShown(log.cursor, log.planned, log.tile_steps[-1])

    def _shade_later(self, log: RunLog | None) -> None:
        """Ask for the shading of the step at the cursor, between two steps or once it rests."""
        if log is None or not log.newest_piece or self._release or not self._pausing:
            return
        question = (log, log.cursor, self._window.dual.controls.edge)
        if question != self._asked:
            self._asked = question
            self._asking.start(0 if self._window.runs.busy else _SETTLE)

    @property
    def _pausing(self) -> bool:
        """Whether the learner's process has time for questions."""
        runs = self._window.runs
        return not runs.busy or runs.controller.state == "waiting"

    def _ask(self) -> None:
        w = self._window
        log = w.runs.current
        if log is None or not log.newest_piece or self._release or self._past or not self._pausing:
            return
        edge, mode = w.dual.controls.edge, w.dual.controls.mode
        question = log.question(log.cursor, edge, _COARSE)
        w.dual.set_what_if(WhatIf(question, log.newest_piece, edge))
        if self._report is not None:
            self._ask_report(log, self._report, edge)
        elif mode != "off":
            self._nats = question.rate * question.score.k or None
            self._tag = w.runs.controller.ask(question)

    def _ask_report(self, log: RunLog, report: OneReport, edge: int) -> None:
        try:
            question = report_question(
                log, log.cursor, edge, report.point, report.label, report.present
            )
        except ValueError:
            words = "This run draws nothing by its examples: no report changes a probability."
            self._window.why.show_report(words)
            return
        question = replace(question, step=replace(question.step, resolution=_FINE))
        self._nats = question.step.rate * question.step.score.k
        self._tag = self._window.runs.controller.ask(question)

    def _ask_share(self) -> None:
        log = self._window.runs.current
        if log is None or not log.cursor or log.cursor in log.as_good or not self._pausing:
            return
        question = share_question(log, log.cursor)
        if question is not None:
            tag = self._window.runs.controller.ask(question)
            self._sharing = tag, log, log.cursor

    def _ask_detail(self) -> None:
        w = self._window
        log, dual = w.runs.current, w.dual
        settled = self._tag is None and not self._asking.isActive() and self._pausing
        if log is None or not log.newest_piece or self._release or self._past or not settled:
            return
        if self._report is None and dual.rasters and dual.controls.mode != "off":
            sheet, seen = dual.sheet, dual.window_shown
            window = (sheet, seen.u0, seen.u1, seen.v0, seen.v1)
            question = log.question(log.cursor, dual.controls.edge, _FINE)
            question = replace(question, sheets=(sheet,), windows=(window,))
            self._detail = w.runs.controller.ask(question)
        else:
            self._ask_share()

    def _labels_of(self, examples: Examples) -> NDArray[np.bool_]:
        """Labels as truth values, made once for each sample."""
        if self._labels is None or self._labels[0] is not examples:
            self._labels = examples, examples.labels != 0
        return self._labels[1]

    def _show_figures(self, log: RunLog | None) -> None:
        w = self._window
        self._say_why(log)
        if log is None or (self._release and log.release is None):
            w.chart.set_points((), 0, 0)
            w.figures.show_figures(FiguresView())
            return
        steps = [log.figures(step) for step in range(1, len(log.records) + 1)]
        w.chart.set_points(tuple(_point(each) for each in steps), log.planned, log.cursor)
        w.figures.show_figures(_view(log))

    def _say_why(self, log: RunLog | None) -> None:
        card = self._window.why
        learner = self._window.document.work.run.declared
        if log is None or not log.cursor:
            card.show_why(f"Why this {_PIECE_NAMES.get(learner.piece, learner.piece)}", None)
            return
        record = log.records[log.cursor - 1]
        learner = log.settings.declared
        known = log.as_good.get(log.cursor)
        said = why(record, learner, log.role, log.settings.k, known)
        name = piece_name(record, learner)
        card.show_why(f"Step {log.cursor} of {log.planned}: why this {name}", said)


def _halfplanes(pieces: tuple[tuple[Region, ...], ...]) -> tuple[Piece, ...]:
    return tuple(halfplanes_of(piece) for piece in pieces)


def _pieces(release: Release | None) -> tuple[tuple[Region, ...], ...]:
    """Pieces of a cover, all in the frame of the grid."""
    if isinstance(release, ConicRelease):
        return tuple((conic,) for conic in release.conics)
    return release.pieces if isinstance(release, CoverRelease) else ()


def _point(figures: StepFigures) -> ErrorPoint:
    return ErrorPoint(
        step=figures.step,
        empirical=figures.empirical_error,
        false_positives=figures.false_positive_rate,
        false_negatives=figures.false_negative_rate,
        test=figures.test_error,
    )


def _view(log: RunLog) -> FiguresView:
    settings = log.settings
    greedy = not settings.declared.private
    view = FiguresView(
        step=log.cursor,
        steps=log.planned,
        guarantee="greedy" if greedy else "private" if settings.private else "seeded",
        epsilon=None if greedy else settings.epsilon,
        delta=None if log.privacy is None else log.privacy.delta,
        neighbours=None if greedy else settings.neighbours,
    )
    if not log.cursor:
        return view
    f = log.figures(log.cursor)
    return replace(
        view,
        test_error=f.test_error,
        empirical_error=f.empirical_error,
        false_positive_rate=f.false_positive_rate,
        false_negative_rate=f.false_negative_rate,
        positives_taken=f.positives_taken,
        negatives_taken=f.negatives_taken,
        score=f.score,
        seconds=f.seconds,
        trials=f.trials,
        boxes=f.boxes,
        positives_covered=None if log.role == "conjunction" else f.positives_decided,
        positives=log.positives,
        threshold=f.threshold,
        epsilon_so_far=f.epsilon_so_far,
        eta=f.eta,
        account=f.account,
    )
