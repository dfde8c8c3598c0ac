"""Shows the step that is looked at in the pane of the dual plane, whatever its pieces are.

Halfplanes have the sheets of the dual plane, those of a tile in its own frame; discs and ellipses
have the plane of their centres; cells have none, and that is said.

What is not known yet is asked of the learner's process, in this order, each when the one before is
answered: the shading of all sheets, coarse; that of the window in sight, fine; how likely edges as
good were.  Or, in their place, what one report changes.  Nothing is asked while a
selection is under way; every answer is private, and one that comes when another moment is shown
than it was asked about is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QStackedWidget

from geodp_app.document.work import RunSettings, Work
from geodp_app.dual.scene import CELLS, TileShown
from geodp_app.runs.odds import WhatIf
from geodp_app.runs.protocol import Answered, AsGood, Change, Question, ShadedSheet
from geodp_app.runs.questions import (
    OneReport,
    change_words,
    conic_question,
    report_question,
    shade_question,
    share_question,
)
from geodp_app.runs.run_log import RunLog
from geodp_app.views.dual.conic_view import ConicView
from geodp_app.views.dual.dual_view import DualView
from geodp_app.views.run.window_runs import WindowRuns
from geodp_app.views.widgets.panes import Pane
from geodp_app.views.widgets.tasks import timer
from geometry.halfplane import HalfplaneLattice, Region
from geometry.lift import Conic
from learners.core.records import halfplanes_of
from learners.core.releases import Release

#: Pause before a question is asked, in milliseconds: scrubbing asks none.
_SETTLE = 120
#: Pixels along a side of all sheets' shadings, and of that of the window in sight.
_COARSE, _FINE = 48, 160

_UNCHANGED = (
    "How a report changes probabilities is not known of this step: it is not drawn at random, or "
    "not by these examples alone."
)

_Kind = Literal["all sheets", "in sight", "share"]


class Moment(NamedTuple):
    """A moment to ask about: the step at a log's cursor, and the edge that could be elsewhere.

    There is none in the release view.
    """

    log: RunLog
    step: int
    edge: int


class DualQuestions(QObject):
    """Asks about the moment shown, and hands the answers to the dual plane."""

    #: How likely edges as good as those of a step were is known: it is in the log.
    share_known = Signal()
    #: What is said of the one report that is looked at; empty for none.
    report_said = Signal(str)

    def __init__(self, runs: WindowRuns, dual: DualView, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs, self._dual = runs, dual
        self._log: RunLog | None = None
        self._moment: Moment | None = None
        self._report: OneReport | None = None
        # what was asked about the moment and is not answered yet: the newest tag of each kind
        self._asked: dict[_Kind, tuple[int, Callable[[Any], None]]] = {}
        self._later = timer(self, _SETTLE, self._ask)
        self._detail_later = timer(self, _SETTLE, self._ask_detail)
        dual.detail_wanted.connect(self._detail_later.start)
        runs.controller.answered.connect(self._answered)
        runs.controller.failed.connect(lambda _: self._asked.clear())

    @property
    def pending(self) -> bool:
        """Whether an answer is still to come."""
        timers = (self._later, self._detail_later)
        return bool(self._asked) or any(timer.isActive() for timer in timers)

    def forget(self) -> None:
        """Something else is shown: what was asked is of no use, and nothing is to be tried."""
        self._drop()
        self._moment = None
        self._dual.set_shading(None)
        self._dual.set_what_if(None)
        if self._report is not None:  # what it changed in another step
            self.report_said.emit(self._report.words)

    def follow(self, log: RunLog | None) -> None:
        """Ask about the step at the log's cursor, between two steps or once it rests.

        None where nothing may be asked: without a run, out of date, or in the release view.
        """
        self._log = log
        if log is None or not log.newest_piece or not self._resting:
            return
        moment = Moment(log, log.cursor, self._dual.controls.edge)
        if moment != self._moment:
            self._drop()
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
        """Nothing that was asked so far will be shown."""
        self._asked.clear()
        self._later.stop()
        self._detail_later.stop()

    # asking

    def _question(self, kind: _Kind, question: Question, show: Callable[[Any], None]) -> None:
        """Ask about the moment; `show` is given the answer, if it comes while the moment lasts."""
        self._asked[kind] = self._runs.controller.ask(question), show

    def _answered(self, reply: Answered) -> None:
        for kind, (tag, show) in self._asked.items():
            if tag == reply.tag:
                del self._asked[kind]
                show(reply.answer)
                break

    def _ask(self) -> None:
        moment = self._moment
        if moment is None or not self._resting:
            return
        log, edge, mode = moment.log, moment.edge, self._dual.controls.mode
        question = shade_question(log, moment.step, edge, _COARSE)
        piece = halfplanes_of(log.record(moment.step).release.piece)
        self._dual.set_what_if(WhatIf(question, piece, edge))
        if self._report is not None:
            self._ask_report(moment, self._report)
        elif mode != "off":
            nats = question.rate * question.score.k or None
            self._question("all sheets", question, lambda sheets: self._shade(sheets, nats))

    def _shade(self, sheets: tuple[ShadedSheet, ...], nats: float | None) -> None:
        self._dual.set_shading(sheets, nats=nats)
        self._detail_later.start()

    def _ask_report(self, moment: Moment, report: OneReport) -> None:
        asked = report.point, report.label, report.present
        try:
            question = report_question(moment.log, moment.step, moment.edge, *asked)
        except ValueError:
            self.report_said.emit(_UNCHANGED)
            return
        question = replace(question, step=replace(question.step, resolution=_FINE))
        eta = question.step.rate * question.step.score.k

        def show(change: Change) -> None:
            self._dual.set_change(change, eta)
            words = change_words(change, eta, moment.log.privacy)
            self.report_said.emit(f"{report.words} {words}")

        self._question("all sheets", question, show)

    def _ask_detail(self) -> None:
        moment, dual = self._moment, self._dual
        waits = "all sheets" in self._asked or self._later.isActive() or not self._resting
        if moment is None or waits or self._report is not None:
            return
        if dual.pictures.rasters and dual.controls.mode != "off":
            question = shade_question(moment.log, moment.step, moment.edge, _FINE)
            question = replace(question, windows={dual.sheet: dual.window_shown})

            def show(sheets: tuple[ShadedSheet, ...]) -> None:
                dual.set_detail(sheets[0])
                self._ask_share(moment)

            self._question("in sight", question, show)
        else:
            self._ask_share(moment)

    def _ask_share(self, moment: Moment) -> None:
        log, step = moment.log, moment.step
        question = None if step in log.as_good or not self._resting else share_question(log, step)

        def show(shares: tuple[AsGood, ...]) -> None:
            log.as_good[step] = shares
            self.share_known.emit()

        if question is not None:
            self._question("share", question, show)


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
        dual.titled.connect(self._title)

    def show(
        self,
        work: Work,
        log: RunLog | None,
        labels: NDArray[np.bool_] | None,
        *,
        past: bool,
        boxes: bool,
    ) -> None:
        """Show the step at the log's cursor; `labels` are of the work's examples, shape (n,).

        `past`: it is out of date; `boxes`: the sampler's are wanted.
        """
        dual = self._dual
        dual.set_release_view(False)
        settings = work.run if log is None else log.settings
        whole = log is not None and log.at_end
        tile = None
        made = log.shown[-1] if log is not None and log.cursor and not whole else None
        if log is not None and made is not None and made.tile is not None:
            tile = TileShown(log.cursor, log.planned, made), log.tile_lattice(log.cursor)
        flat = self._set_frame(work, settings, tile)
        chosen = log.pieces if log is not None else ()
        self._show_conics(chosen, None if past or whole else log)
        examples = work.examples
        if not flat or (examples is None and tile is None):
            dual.set_examples(None, None)
        elif log is not None and tile is not None:
            dual.set_examples(*log.seen_by(log.cursor))
        elif examples is not None:
            seen = None if log is None or past or whole else log.seen
            dual.set_examples(examples.points, labels, seen)
        dual.set_boxes(log.views if log and boxes and flat else ())
        self._set_pieces(chosen, whole=whole)

    def show_release(
        self, work: Work, settings: RunSettings, release: Release | None, step: int
    ) -> None:
        """Show what a run has published, None before its end; a tile, that of the step."""
        self._dual.set_release_view(True)
        made = None if release is None or not step else release.steps[step - 1]
        tile = None
        if release is not None and made is not None and made.tile is not None:
            lattice = made.zone.lattice if made.zone else release.lattice
            assert isinstance(lattice, HalfplaneLattice)  # of tiles
            tile = TileShown(step, len(release.steps), made), lattice
        self._set_frame(work, settings, tile)
        pieces = published_pieces(release)
        self._show_conics(pieces, None)
        self._set_pieces(pieces, whole=release is not None and not step)

    def _set_frame(
        self, work: Work, settings: RunSettings, tile: tuple[TileShown, HalfplaneLattice] | None
    ) -> bool:
        """Take the view and the lattice, in a tile its own one; whether there are sheets."""
        dual = self._dual
        flat = "dual plane" in settings.declared.shows
        self._stack.setCurrentWidget(self._conics if settings.curved else dual)
        self._tile = tile[0] if tile and flat else None
        if not flat:
            dual.set_lattice(None, CELLS)
        elif tile:
            dual.set_lattice(tile[1])
        else:
            dual.set_lattice(HalfplaneLattice(work.drawing.grid, work.run.piece_measure))
        dual.set_tile(self._tile)
        return flat

    def _set_pieces(self, pieces: tuple[tuple[Region, ...], ...], *, whole: bool) -> None:
        """The pieces of the grid, or that of the tile: it is published with the run."""
        dual, tile = self._dual, self._tile
        if tile is not None:
            dual.set_pieces((tile.step.piece,) if tile.step.piece else (), tile.number)
        else:
            dual.set_pieces(tuple(map(halfplanes_of, pieces)), whole=whole)
        self._title()

    def _show_conics(self, pieces: tuple[tuple[Region, ...], ...], log: RunLog | None) -> None:
        """Centres of discs and ellipses; where the newest could be is private, and in the log."""
        chosen = tuple(one for piece in pieces for one in piece if isinstance(one, Conic))
        asked = conic_question(log, log.cursor) if log is not None and chosen else None
        if chosen or self._conics.centres.marks:
            self._conics.show_run(chosen, asked)

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


def published_pieces(release: Release | None) -> tuple[tuple[Region, ...], ...]:
    """Pieces of a cover, all in the frame of the grid."""
    steps = () if release is None else release.steps
    return tuple(step.piece for step in steps if step.tile is None)
