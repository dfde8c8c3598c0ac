"""Shows the step at the cursor in the pane of the dual plane, whatever its pieces are.

Halfplanes have the sheets of the dual plane, those of a tile in its own frame; discs and ellipses
have the plane of their centres; cells have none, and that is said.

What is not known yet is asked of the learner's process, in this order, each when the one before is
answered: the shading of all sheets, coarse; that of the window in sight, fine; the share of the law
that pieces as good hold.  Or, in their place, what one report changes.  Nothing is asked while a
selection is under way; every answer is private.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QStackedWidget

from geodp_app.document.work import Work
from geodp_app.dual.captions import CELLS, TileShown
from geodp_app.runs.one_report import OneReport, change_words
from geodp_app.runs.protocol import Answered, AsGood, Change
from geodp_app.runs.questions import conic_question, report_question, shade_question, share_question
from geodp_app.runs.run_log import RunLog
from geodp_app.runs.what_if import WhatIf
from geodp_app.views.dual.conic_view import ConicView
from geodp_app.views.dual.dual_view import DualView
from geodp_app.views.run.window_runs import WindowRuns
from geodp_app.views.widgets.panes import Pane
from geometry.halfplane import HalfplaneLattice
from geometry.lift import Conic
from geometry.region import Region
from learners.records import Piece, halfplanes_of
from learners.releases import ConicRelease, CoverRelease, Release, SharpenedRelease

#: Pause before a question is asked, in milliseconds: scrubbing asks none.
_SETTLE = 120
#: Pixels along a side of all sheets' shadings, and of that of the window in sight.
_COARSE, _FINE = 48, 160

_UNCHANGED = "No step of this run is drawn with probabilities that a report changes."


class DualQuestions(QObject):
    """Asks, and hands the answers to the dual plane."""

    #: How much of a step's law pieces as good hold is known: it is in the log.
    share_known = Signal()
    #: What is said of the one report that is looked at; empty for none.
    report_said = Signal(str)

    def __init__(self, runs: WindowRuns, dual: DualView, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs, self._dual = runs, dual
        self._log: RunLog | None = None
        self._moment: tuple[RunLog, int, int] | None = None
        self._report: OneReport | None = None
        # tags of what was asked and is not answered yet
        self._shading: int | None = None
        self._detail: int | None = None
        self._sharing: tuple[int, RunLog, int] | None = None
        self._nats: float | None = None
        self._later = QTimer(self, singleShot=True, interval=_SETTLE)
        self._later.timeout.connect(self._ask)
        self._detail_later = QTimer(self, singleShot=True, interval=_SETTLE)
        self._detail_later.timeout.connect(self._ask_detail)
        dual.detail_wanted.connect(self._detail_later.start)
        runs.controller.answered.connect(self._answered)
        runs.controller.failed.connect(lambda _: self._drop())

    @property
    def pending(self) -> bool:
        """Whether an answer is still to come."""
        tags = (self._shading, self._detail, self._sharing)
        timers = (self._later, self._detail_later)
        return any(tag is not None for tag in tags) or any(timer.isActive() for timer in timers)

    def forget(self) -> None:
        """Something else is shown: what was asked is of no use, and nothing is to be tried."""
        self._drop()
        self._moment = None
        self._dual.set_shading(None)
        self._dual.set_what_if(None)

    def follow(self, log: RunLog | None) -> None:
        """Ask about the step at the log's cursor, between two steps or once it rests.

        None where nothing may be asked: without a run, out of date, or in the release view.
        """
        self._log = log
        if log is None or not log.newest_piece or not self._resting:
            return
        moment = (log, log.cursor, self._dual.controls.edge)
        if moment != self._moment:
            self._moment = moment
            self._later.start(0 if self._runs.busy else _SETTLE)

    def look_at(self, report: OneReport | None) -> None:
        """Ask what one report changes; None for the shading again."""
        self._report = report
        self.report_said.emit("" if report is None else report.words)
        self.forget()
        self.follow(self._log)

    @property
    def _resting(self) -> bool:
        """Whether the learner's process has time for questions."""
        return not self._runs.busy or self._runs.controller.state == "waiting"

    def _drop(self) -> None:
        self._shading = self._detail = self._sharing = None

    # asking

    def _ask(self) -> None:
        log = self._log
        if log is None or not log.newest_piece or not self._resting:
            return
        edge, mode = self._dual.controls.edge, self._dual.controls.mode
        question = shade_question(log, log.cursor, edge, _COARSE)
        self._dual.set_what_if(WhatIf(question, log.newest_piece, edge))
        if self._report is not None:
            self._ask_report(log, self._report, edge)
        elif mode != "off":
            self._nats = question.rate * question.score.k or None
            self._shading = self._runs.controller.ask(question)

    def _ask_report(self, log: RunLog, report: OneReport, edge: int) -> None:
        try:
            question = report_question(
                log, log.cursor, edge, report.point, report.label, report.present
            )
        except ValueError:
            self.report_said.emit(_UNCHANGED)
            return
        question = replace(question, step=replace(question.step, resolution=_FINE))
        self._nats = question.step.rate * question.step.score.k
        self._shading = self._runs.controller.ask(question)

    def _ask_detail(self) -> None:
        log, dual = self._log, self._dual
        waits = self._shading is not None or self._later.isActive() or not self._resting
        if log is None or not log.newest_piece or waits or self._report is not None:
            return
        if dual.rasters and dual.controls.mode != "off":
            sheet, seen = dual.sheet, dual.window_shown
            window = (sheet, seen.u0, seen.u1, seen.v0, seen.v1)
            question = shade_question(log, log.cursor, dual.controls.edge, _FINE)
            question = replace(question, sheets=(sheet,), windows=(window,))
            self._detail = self._runs.controller.ask(question)
        else:
            self._ask_share(log)

    def _ask_share(self, log: RunLog | None) -> None:
        if log is None or not log.cursor or log.cursor in log.as_good or not self._resting:
            return
        question = share_question(log, log.cursor)
        if question is not None:
            self._sharing = self._runs.controller.ask(question), log, log.cursor

    def _answered(self, reply: Answered) -> None:
        answer = reply.answer
        if isinstance(answer, AsGood):
            if self._sharing is not None and reply.tag == self._sharing[0]:
                _, log, step = self._sharing
                self._sharing = None
                log.as_good[step] = answer
                self.share_known.emit()
        elif isinstance(answer, Change):
            if reply.tag == self._shading and self._log is not None and self._report is not None:
                self._shading = None
                eta = self._nats or 0.0
                self._dual.set_change(answer, eta)
                words = change_words(answer, eta, self._log.privacy)
                self.report_said.emit(f"{self._report.words} {words}")
        elif answer is not None and reply.tag == self._shading:
            self._shading = None
            self._dual.set_shading(answer, nats=self._nats)
            self._detail_later.start()
        elif answer is not None and reply.tag == self._detail:
            self._detail = None
            self._dual.set_detail(answer[0])
            self._ask_share(self._log)


#: Said of the dual plane of a tile or a zone.
_OWN_FRAME = "Where it lies; its dual plane counts from its own lower left corner"


class DualDisplay(QObject):
    """The pane's two views, which a stack holds, and its head."""

    def __init__(
        self,
        dual: DualView,
        conics: ConicView,
        stack: QStackedWidget,
        pane: Pane,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._dual, self._conics, self._stack, self._pane = dual, conics, stack, pane
        self._tile: TileShown | None = None
        self._release = self._past = False
        dual.titled.connect(self._title)

    def show(
        self,
        work: Work,
        log: RunLog | None,
        labels: NDArray[np.bool_] | None,
        *,
        release: bool,
        past: bool,
        boxes: bool,
    ) -> None:
        """Show the step at the log's cursor; `labels` are of the work's examples, shape (n,).

        In the release view only what may be published; `past`: it is out of date; `boxes`: the
        sampler's are wanted.
        """
        self._release, self._past = release, past
        dual = self._dual
        dual.set_release_view(release)
        settings = work.run if log is None else log.settings
        flat = "dual plane" in settings.declared.shows
        tile = self._tile = self._tile_of(log) if flat else None
        self._stack.setCurrentWidget(self._conics if settings.curved else dual)
        self._show_conics(log if settings.curved else None)
        if not flat:
            dual.set_tile(None)
            dual.set_examples(None, None)
            dual.set_pieces((), -1)
            dual.set_lattice(None, CELLS)
        elif tile is not None and log is not None:
            dual.set_lattice(log.tile_lattice(tile.number))
            self._show_tile(log, tile, boxes=boxes)
        else:
            dual.set_lattice(HalfplaneLattice(work.drawing.grid, work.run.piece_measure))
            dual.set_tile(None)
            self._show_whole(work, log, labels, boxes=boxes)
        self._title()

    def _show_whole(
        self, work: Work, log: RunLog | None, labels: NDArray[np.bool_] | None, *, boxes: bool
    ) -> None:
        dual = self._dual
        if self._release:
            pieces = _halfplanes(published_pieces(log.release if log else None))
            dual.set_pieces(pieces, len(pieces) - 1)
            return
        if work.examples is None:
            dual.set_examples(None, None)
        else:
            seen = None if log is None or self._past else log.seen
            dual.set_examples(work.examples.points, labels, seen)
        dual.set_pieces(_halfplanes(log.pieces) if log else (), log.cursor - 1 if log else -1)
        dual.set_boxes(log.views if log and boxes else ())

    def _show_tile(self, log: RunLog, tile: TileShown, *, boxes: bool) -> None:
        """A tile in its own frame; its piece is published with the run."""
        dual = self._dual
        dual.set_tile(tile)
        if not self._release:
            dual.set_examples(*log.seen_by(tile.number))
            dual.set_boxes(log.views if boxes else ())
        dual.set_pieces((tile.step.piece,) if tile.step.piece else (), 0, tile.number)

    def _tile_of(self, log: RunLog | None) -> TileShown | None:
        """The tile at the cursor, if there is one and it may be shown."""
        if log is None or not log.tile_steps or (self._release and log.release is None):
            return None
        return TileShown(log.cursor, log.planned, log.tile_steps[-1])

    def _show_conics(self, log: RunLog | None) -> None:
        """Centres of discs and ellipses; where the newest could be is private."""
        pieces = () if log is None else log.pieces
        if self._release:
            pieces = published_pieces(log.release if log else None)
        chosen = tuple(one for piece in pieces for one in piece if isinstance(one, Conic))
        seen = bool(chosen) and not (self._release or self._past)
        question = conic_question(log, log.cursor) if seen and log is not None else None
        self._conics.show_run(chosen, question)

    def _title(self) -> None:
        """Which sheet it is, and how many lines it has."""
        pane, dual = self._pane, self._dual
        if self._stack.currentWidget() is self._conics:
            pane.heading.setText(f"Dual plane: {self._conics.title}")
            pane.note.set_words("")
            return
        name = f"Dual plane of {self._tile.title}" if self._tile else "Dual plane"
        pane.heading.setText(f"{name}: {dual.title}" if dual.title else name)
        if self._tile is not None:
            pane.note.set_words(self._tile.place, _OWN_FRAME)
        else:
            pane.note.set_words(dual.note)


def _halfplanes(pieces: tuple[tuple[Region, ...], ...]) -> tuple[Piece, ...]:
    return tuple(halfplanes_of(piece) for piece in pieces)


def published_pieces(release: Release | None) -> tuple[tuple[Region, ...], ...]:
    """Pieces of a cover, all in the frame of the grid."""
    if isinstance(release, ConicRelease):
        return tuple((conic,) for conic in release.conics)
    return release.pieces if isinstance(release, CoverRelease | SharpenedRelease) else ()
