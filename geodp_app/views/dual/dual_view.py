"""Shows the dual plane (every halfplane a point, every example a line) and why a piece was chosen.

One sheet is large, and follows the newest edge; the others are small beside it.  In curator view
they carry the examples' lines, the shading and the sampler's boxes, all private; in release view
only the chosen points, and nothing private is taken.  Another halfplane can be pointed at, or
dragged to, in place of the chosen one: its piece is judged by the same score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QWidget

from geodp_app.dual.lines import cell_around, example_segment, held
from geodp_app.dual.scene import (
    EMPTY,
    Mark,
    TileShown,
    boxes_on,
    chosen_marks,
    curator_words,
    hover_words,
    neighbourhood,
    newest_mark,
    released_words,
    whole_words,
)
from geodp_app.dual.sheets import digits_for, dual_position, sheet_words
from geodp_app.palette import Palette, load_palette
from geodp_app.runs.odds import Candidate, WhatIf
from geodp_app.runs.protocol import Change, ShadedSheet, Window, extent
from geodp_app.views.dual.dual_controls import DualControls, DualPointer
from geodp_app.views.dual.dual_pictures import DualPictures
from geodp_app.views.dual.sheet_stack import SheetStack, SheetView
from geodp_app.views.widgets.panes import dressed, fill
from geodp_app.views.widgets.plotting import ColourBar
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.core.records import Piece
from learners.core.selection import HeavyBox, SheetDensities

_P = ParamSpec("_P")


def _private(
    take: Callable[Concatenate[DualView, _P], None],
) -> Callable[Concatenate[DualView, _P], None]:
    """What takes private things takes none in the release view, however late they come."""

    @wraps(take)
    def taken(view: DualView, /, *args: _P.args, **kwargs: _P.kwargs) -> None:
        if not view._release:
            with view.one_pass():
                take(view, *args, **kwargs)

    return taken


class DualView(QWidget):
    """The dual plane: one sheet large, all of them small, controls and a readout."""

    #: The Halfplane under the pointer (the nearest of the lattice), or None.
    dual_hovered = Signal(object)
    #: The Candidate that is pointed at or tried in place of the chosen one, or None.
    candidate_shown = Signal(object)
    #: The newest piece's edge, from 0, whose chosen point is pointed at; -1 for none.
    edge_pointed = Signal(int)
    #: The step, from 1, whose chosen point was clicked.
    step_picked = Signal(int)
    #: The person wants another shading: the edge that could be elsewhere, from 0, and the mode,
    #: "off", "score" or "probability".
    shade_wanted = Signal(int, str)
    #: The sheet that is shown and the window onto it have changed and rested.
    detail_wanted = Signal()
    #: The heading or the note of the pane may have to change.
    titled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.lattice: HalfplaneLattice | None = None
        self._why, self._words = EMPTY, ""
        self._tile: TileShown | None = None
        self.marks: tuple[Mark, ...] = ()
        #: The newest piece; empty of a whole run.
        self._chosen: Piece = ()
        self._whole = self._release = False
        self._passes = 0
        self.pointer = DualPointer(self)
        self._emitted: tuple[Halfplane | None, Candidate | None] = (None, None)
        self.controls, self.bar = DualControls(), ColourBar()
        self.stack = SheetStack(self.controls.lines, self.bar)
        self.sheets, self.thumbs = self.stack.sheets, self.stack.thumbs
        self.pictures = DualPictures(self.sheets, self)
        self.setAccessibleName("Dual plane")
        self.readout = dressed(QLabel(wordWrap=True), name="What the dual plane shows")
        # room for the longest, so that no sheet moves under the pointer
        self.readout.setFixedHeight(2 * self.readout.fontMetrics().height() + 2)
        self.readout.setAlignment(Qt.AlignmentFlag.AlignTop)
        parts = (self.controls, (self.stack, 1), self.readout)
        fill(self, *parts, margins=(6, 2, 6, 4), spacing=4)
        self._connect()
        self.set_palette(load_palette("light"))
        self.set_lattice(None)

    def _connect(self) -> None:
        self.pointer.changed.connect(self._pointed)
        self.pointer.tried_changed.connect(self.show_halfplane)
        self.stack.picked.connect(self._pick_sheet)
        self.controls.streak.clicked.connect(self.zoom_to_streak)
        self.controls.zoom.clicked.connect(self.zoom_to_chosen)
        self.controls.fit.clicked.connect(self.fit)
        self.controls.lines_changed.connect(lambda: self.pictures.set_shown(self.controls.shown))
        self.controls.shade_wanted.connect(self._shade_wanted)
        self.pictures.changed.connect(self._explain)
        for view in self.sheets.values():
            view.plot.picked.connect(lambda mark: self.step_picked.emit(mark.step))
            view.plot.pointed.connect(lambda at, view=view: self._point(view, at))
            view.plot.mark_pointed.connect(
                lambda mark: self.edge_pointed.emit(mark.edge if mark and not mark.age else -1)
            )
            view.plot.dragged.connect(self.pointer.try_at)
            view.moved.connect(
                lambda at: self.detail_wanted.emit() if at is self.stack.view else None
            )
            view.plot.nudged.connect(self.pointer.nudge)
            view.plot.dropped.connect(self.pointer.drop)

    # what is shown

    @contextmanager
    def one_pass(self) -> Iterator[None]:
        """What changes meanwhile is drawn and explained once, at the end."""
        self._passes += 1
        self.pictures.held = True
        try:
            yield
        finally:
            if self._passes == 1:
                self.pictures.held = False
                self.pictures.draw()
            self._passes -= 1
            self._explain()

    def set_lattice(self, lattice: HalfplaneLattice | None, why: str = EMPTY) -> None:
        """Take the class of halfplanes; without one there is nothing to show, and `why` is said."""
        self._why = why
        if lattice is not None and lattice == self.lattice:
            return
        self.pointer.drop()  # it points into the frame that goes, whose lines are still there
        self.lattice = lattice
        self.pictures.set_lattice(lattice)
        self.set_what_if(None)
        self.stack.set_lattice(lattice)
        self.controls.setVisible(lattice is not None)
        self.show_example(None)
        self.show_halfplane(None)
        self.set_pieces(())
        self._show_sheet()
        self.pointer.look()

    @_private
    def set_examples(
        self,
        points: NDArray[np.int64] | None,
        labels: NDArray[np.generic] | None,
        alive: NDArray[np.bool_] | None = None,
    ) -> None:
        """Take the examples (private), on the lattice's grid, and which have lines (default: all).

        The arrays must not change afterwards.
        """
        self.pictures.set_examples(points, labels, alive)

    def set_tile(self, tile: TileShown | None) -> None:
        """Say that the sheets are those of a tile, in its own frame; None for the whole square."""
        if tile != self._tile:
            self._tile = tile
            self.show_example(None)
            self._explain()

    def set_pieces(self, pieces: Sequence[Piece], first: int = 1, *, whole: bool = False) -> None:
        """Take the pieces of the steps from `first`; the last is the newest.

        Of a `whole` run all are shown alike, on all sheets.  None are shown that are not of this
        class of halfplanes.
        """
        self._whole = whole
        if whole:
            self.stack.fit()
            self.pointer.drop()
        self.stack.set_whole(whole)
        fits = all(self._fits(halfplane) for piece in pieces for halfplane in piece)
        self.marks = chosen_marks(pieces, first, whole=whole) if fits else ()
        self._chosen = pieces[-1] if self.marks and not whole else ()
        self.controls.set_edges(len(self._chosen))
        self.controls.zoom.setEnabled(bool(self._chosen))
        for thumb in self.thumbs.values():
            thumb.set_marks(self.marks)
        self._follow_edge()
        self._mark()
        self._sight()
        self._explain()

    @_private
    def set_shading(
        self, sheets: Sequence[ShadedSheet] | None, *, nats: float | None = None
    ) -> None:
        """Take the answer to the question asked by `shade_wanted` (private), or none.

        `nats` per example of score (k times `ShadeQuestion.rate`) turn a raster of scores into
        likelihoods.  Cells bring their probabilities with them.
        """
        self.pictures.set_shading(tuple(sheets or ()), self.controls.mode, nats)
        self._shaded()

    @_private
    def set_detail(self, sheet: ShadedSheet) -> None:
        """Take a finer shading of the window in sight (private)."""
        if sheet.sheet == self.stack.current and self.pictures.shading:
            self.pictures.set_detail(sheet)

    @_private
    def set_change(self, change: Change, eta: float) -> None:
        """Take what one report changes (private): it takes the place of the shading."""
        self.pictures.set_change(change, eta)
        self._shaded()

    @_private
    def set_search(self, densities: SheetDensities) -> None:
        """Take where the selection under way still looks (private)."""
        if self.lattice is not None:
            self.pictures.set_search(densities)
            self._shaded()

    @_private
    def set_what_if(self, what_if: WhatIf | None) -> None:
        """Take what judges halfplanes in place of the chosen one (private); None for none."""
        self.controls.streak.setEnabled(what_if is not None)
        self.pointer.set_what_if(what_if)

    @_private
    def set_boxes(self, views: Sequence[HeavyBox]) -> None:
        """Take the sampler's heaviest boxes (private)."""
        for sheet, view in self.sheets.items():
            unit = 1 if self.lattice is None else 1 << self.lattice.bits
            view.boxes.show_with(boxes=boxes_on(tuple(views), sheet, unit))

    @_private
    def show_example(self, x: int | None, y: int | None = None) -> None:
        """Highlight the dual line of an example at a grid point, or none.

        Of a tile, only points that it holds have a line.
        """
        lattice = self.lattice
        if self._tile is not None and x is not None and y is not None:
            tile = self._tile.step.tile
            held = tile.holds(np.array([[x, y]]))[0]
            x, y = (x - tile.x0, y - tile.y0) if held else (None, None)
        for sheet, view in self.sheets.items():
            ends = np.empty((0, 2))
            if lattice is not None and x is not None and y is not None:
                ends = example_segment(lattice, sheet, x, y, extent(lattice))
            view.example.show_with(ends=ends)

    def light_edge(self, edge: int) -> None:
        """Ring the chosen point of an edge of the newest piece, from 0; -1 for none."""
        self.show_halfplane(self._chosen[edge] if 0 <= edge < len(self._chosen) else None)

    def show_halfplane(self, halfplane: Halfplane | None) -> None:
        """Mark the dual point of a halfplane of the same grid and measure, or none."""
        for sheet, view in self.sheets.items():
            place = None
            if halfplane is not None and halfplane.sheet == sheet and self._fits(halfplane):
                place = dual_position(halfplane)
            view.pointer.show_with(halfplane=place)

    def set_release_view(self, on: bool) -> None:
        """Show only what may be published: the region and the chosen points.  What is private goes,
        and is to be given again back in the curator view."""
        if on == self._release:
            return
        with self.one_pass():
            if on:
                self.set_what_if(None)
                self.set_shading(None)
                self.set_examples(None, None)
                self.set_boxes(())
                self.show_example(None)
                self.stack.fit()  # windows may have been chosen by private data
                self.pointer.drop()  # what is said of it was counted
            self._release = on
            for view in self.sheets.values():
                for item in view.private_items:
                    item.setVisible(not on)
            self.controls.set_release_view(on)
            self._mark()

    def set_palette(self, palette: Palette) -> None:
        for part in (self.bar, self.controls, self.stack, self.pictures):
            part.set_palette(palette)
        self._shaded()
        self.readout.setStyleSheet(f"color: {palette.ink}")

    # the windows onto the sheets

    @property
    def sheet(self) -> Sheet:
        """The sheet that is shown."""
        return self.stack.current

    @property
    def window_shown(self) -> Window:
        """The dual points in sight."""
        return self.stack.view.plot.window()

    @property
    def title(self) -> str:
        """Which sheet it is, and of which edge of the newest piece."""
        if self.lattice is None or self._whole:
            return ""
        name = sheet_words(self.lattice, self.sheet).name
        edges = len(self._chosen)
        if edges > 1 and self._asked_here is not None:
            return f"{name}, edge {self.controls.edge + 1} of {edges}"
        return name

    @property
    def note(self) -> str:
        """How many lines are drawn; empty where that is not to be seen."""
        return "" if self.lattice is None else self.stack.view.note

    def show_sheet(self, sheet: Sheet) -> None:
        """Show another sheet large."""
        if self.lattice is not None and sheet in self.lattice.sheets:
            self.thumbs[sheet].setChecked(True)
            self._show_sheet()

    def fit(self) -> None:
        """Show all of every sheet that is in sight."""
        for sheet in self.stack.shown:
            self.sheets[sheet].fit()

    def start_over(self) -> None:
        """Show the first sheet, and all sheets whole, as at first."""
        self.show_sheet(Sheet.FLAT_ABOVE)
        self.stack.fit()

    def zoom_to_chosen(self) -> None:
        """Show the neighbourhood of the newest chosen point on the sheet."""
        if self.lattice is None:
            return
        mark = newest_mark(self.marks, self.sheet, self.controls.edge)
        if mark is None:
            self.readout.setText("No chosen point on this sheet yet")
        else:
            self.stack.view.zoom_to(neighbourhood(self.lattice, mark, self.pictures.lines))

    def zoom_to_streak(self) -> None:
        """Show where the probability of the edge lies on the sheet."""
        if (window := self.pictures.streak(self.sheet)) is not None:
            self.stack.view.zoom_to(window)
        elif self.pictures.shading:
            self.readout.setText("No probability to speak of lies on this sheet")
        else:
            self.readout.setText("Nothing is shaded that would tell where the probability lies")

    # events and answers

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._sight()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._sight()

    def _pick_sheet(self, sheet: Sheet) -> None:
        """A sheet was asked for: if an edge of the newest piece lies on it, it is about that."""
        edges = [edge for edge, chosen in enumerate(self._chosen) if chosen.sheet == sheet]
        self._show_sheet()
        if edges and self.controls.edge not in edges:
            self.controls.choose(self.controls.mode, edges[0])
            self.shade_wanted.emit(edges[0], self.controls.mode)

    def _follow_edge(self) -> None:
        """Show the sheet that holds the edge that is asked about, of the newest piece."""
        if self._asked is not None:
            self.show_sheet(self._asked.sheet)
        self._place_pointer()

    @property
    def _asked(self) -> Halfplane | None:
        """The edge of the newest piece that is asked about."""
        return self._chosen[self.controls.edge] if self._chosen else None

    @property
    def _asked_here(self) -> Halfplane | None:
        """The same, if it lies on the sheet that is shown."""
        asked = self._asked
        return asked if asked is not None and asked.sheet == self.sheet else None

    def _show_sheet(self) -> None:
        self.stack.show_current()
        self._place_pointer()
        self._sight()
        self._explain()
        self.detail_wanted.emit()

    def _place_pointer(self) -> None:
        self.pointer.set_place(self.lattice, self.sheet, self._asked_here)

    def _sight(self) -> None:
        seen = self.isVisible() and self.lattice is not None
        self.pictures.set_sight(self.stack.shown if seen else frozenset())

    def _fits(self, halfplane: Halfplane) -> bool:
        own, other = self.lattice, halfplane.lattice
        return own is not None and (own.d, own.measure) == (other.d, other.measure)

    def _shade_wanted(self, edge: int, mode: str) -> None:
        with self.one_pass():
            self._follow_edge()
            self.pictures.set_mode(self.controls.mode)
            self._shaded()
            self.shade_wanted.emit(edge, mode)

    def _shaded(self) -> None:
        """Small pictures follow the large ones, and marks lie on top of these."""
        self._mark()
        for sheet, thumb in self.thumbs.items():
            thumb.set_shading(*(self.pictures.small(sheet) or (None, None)))

    def _mark(self) -> None:
        asked = self.controls.edge if len(self._chosen) > 1 and not self._release else None
        for view in self.sheets.values():
            view.set_marks(self.marks, asked)

    def _explain(self) -> None:
        """Colour bar, readout and the sentence of the empty state."""
        if self._passes:
            return
        self.titled.emit()
        lattice, release, controls = self.lattice, self._release, self.controls
        shade, density = self.pictures.shade_scale, self.pictures.density_scale
        scale = None if lattice is None else shade or density
        self.stack.scale.setVisible(scale is not None and not self._whole)
        self.stack.legend.setVisible(lattice is not None and not release)
        self.bar.set_scale(scale)
        if lattice is None:
            words, empty = "", self._why
        elif self._whole:
            words, empty = whole_words(self.marks, release=release), ""
        elif release:
            words, empty = released_words(self._tile)
        else:
            mode = controls.mode if self.pictures.shading else "off"
            edges = len(self._chosen)
            words, empty = curator_words(lattice, self._tile, mode, shade, controls.edge, edges)
        self._words = words
        if self.pointer.halfplane is None:  # what is pointed at takes their place
            self.readout.setText(words)
        self.stack.say_empty("" if lattice and (self.marks or self.pictures.size) else empty)

    # the pointer

    def _point(self, view: SheetView, at: tuple[float, float] | None) -> None:
        if view.sheet == self.sheet and not self._whole:
            self.pointer.point(at)

    def _pointed(self) -> None:
        """Another halfplane is looked at, or none."""
        halfplane, candidate = self.pointer.halfplane, self.pointer.candidate
        pointed, lines, cell = self.pointer.pointed, self.pictures.lines, np.empty((0, 2))
        if pointed is not None and lines is not None and self.lattice:
            cell = cell_around(self.lattice, lines, pointed, self.window_shown)
        self.stack.view.cell.show_with(ends=cell)
        self.readout.setText(self._words if halfplane is None else self._describe(halfplane))
        if (halfplane, candidate) != self._emitted:
            self._emitted = halfplane, candidate
            self.candidate_shown.emit(candidate)
            if candidate is None:
                self.dual_hovered.emit(halfplane)

    def _describe(self, halfplane: Halfplane) -> str:
        plot = self.sheets[halfplane.sheet].plot
        digits = digits_for(plot.window().width / max(1, plot.width()))
        if self.pointer.candidate is not None:
            return f"{hover_words(halfplane, digits)}\n{self.pointer.candidate.words}"
        lines, scale = self.pictures.lines, self.pictures.shade_scale
        counts = None if lines is None else held(lines, halfplane)
        value = self.pictures.shade_at(halfplane.sheet, *dual_position(halfplane))
        shade = None if scale is None or value is None else (scale, value)
        return hover_words(halfplane, digits, counts, shade)
