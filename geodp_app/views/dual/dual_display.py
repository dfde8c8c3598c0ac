"""Shows the step at the cursor in the pane of the dual plane, whatever its pieces are.

Halfplanes have the sheets of the dual plane, those of a tile in its own frame; discs and ellipses
have the plane of their centres; cells have none, and that is said.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QStackedWidget

from geodp_app.document.work import Work
from geodp_app.dual.captions import CELLS, TileShown
from geodp_app.runs.run_log import RunLog
from geodp_app.views.dual.conic_view import ConicView
from geodp_app.views.dual.dual_view import DualView
from geodp_app.views.widgets.panes import Pane
from geometry.halfplane import HalfplaneLattice
from geometry.lift import Conic
from geometry.region import Region
from learners.records import Piece, halfplanes_of
from learners.releases import ConicRelease, CoverRelease, Release, SharpenedRelease

#: Said of the dual plane of a tile or a zone.
_OWN_FRAME = "Where it lies; its dual plane counts from its own lower left corner"


class DualDisplay(QObject):
    """The pane's two views and its head.

    Parameters
    ----------
    dual : DualView
    conics : ConicView
    stack : QStackedWidget
        That holds the two.
    pane : Pane
    parent : QObject, optional
    """

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
        """Show a step.

        Parameters
        ----------
        work : Work
        log : RunLog or None
            The step at its cursor.
        labels : ndarray of bool, shape (n,), or None
            Of the work's examples.
        release : bool
            Only what may be published.
        past : bool
            What is shown is out of date.
        boxes : bool
            Whether the sampler's boxes are wanted.
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
            dual.set_examples(*log.tile_examples(tile.number))
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
        question = log.conic_question(log.cursor) if seen and log is not None else None
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
