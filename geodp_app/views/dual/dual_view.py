"""The dual plane: every halfplane a point, every example a line, and why a piece was chosen.

One sheet is large, and follows the newest edge; the others are small beside it.  In curator view
they carry the examples' lines, the shading and the sampler's boxes, all private; in release view
only the chosen points.  Another halfplane can be pointed at, or dragged to, in place of the chosen
one: its piece is judged by the same score.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRect, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QStackedWidget, QVBoxLayout, QWidget

from geodp_app.dual.captions import (
    CHANGE_WORDS,
    EMPTY,
    EMPTY_RELEASE,
    NO_PROBABILITIES,
    TileShown,
    hover_words,
    reading_words,
    shading_words,
)
from geodp_app.dual.lines import cell_around, example_segment, held
from geodp_app.dual.scene import Mark, boxes_on, chosen_marks, neighbourhood, newest_mark
from geodp_app.dual.sheets import (
    Window,
    digits_for,
    dual_position,
    extent,
    sheet_words,
)
from geodp_app.palette import Palette, load_palette
from geodp_app.runs.protocol import BoxView, Change, ShadedSheet
from geodp_app.runs.what_if import Candidate, WhatIf
from geodp_app.views.dual.dual_controls import DualControls
from geodp_app.views.dual.dual_pictures import DualPictures
from geodp_app.views.dual.dual_pointer import DualPointer
from geodp_app.views.dual.dual_sheet import SheetView
from geodp_app.views.dual.sheet_stack import SheetStrip
from geodp_app.views.widgets.bars import ColourBar
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.records import Piece
from learners.selection import SheetDensities


class DualView(QWidget):
    """The dual plane: one sheet large, all of them small, controls and a readout."""

    #: The Halfplane under the pointer (the nearest of the lattice), or None.
    dual_hovered = Signal(object)
    #: The Candidate with the halfplane that is pointed at or tried in place of the chosen one, or
    #: None.
    candidate_shown = Signal(object)
    #: The step, from 1, whose chosen point was clicked.
    step_picked = Signal(int)
    #: The person wants another shading: the edge that could be elsewhere, from 0, and the mode,
    #: "off", "score" or "probability".
    shade_wanted = Signal(int, str)
    #: The sheet that is shown and the window onto it have changed and rested.
    detail_wanted = Signal()
    #: The heading or the note of the pane may have to change.
    titled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lattice: HalfplaneLattice | None = None
        self._why = EMPTY
        self._pieces: tuple[Piece, ...] = ()
        self._newest, self._first = -1, 1
        self._tile: TileShown | None = None
        self._marks: tuple[Mark, ...] = ()
        self._edges, self._has_examples, self._release = 0, False, False
        self._shading: tuple[ShadedSheet, ...] = ()
        self._nats: float | None = None
        self._changing = False
        self._boxes: tuple[BoxView, ...] = ()
        self.pointer = DualPointer(self)
        self._told: tuple[Halfplane | None, Candidate | None] = (None, None)
        self._words = ""
        self.sheets = {sheet: SheetView(sheet) for sheet in Sheet}
        self.pictures = DualPictures(self.sheets, self)
        self.strip, self.controls, self.bar = SheetStrip(), DualControls(), ColourBar()
        self.readout = QLabel(wordWrap=True)
        self._stack = QStackedWidget()
        self.empty = QLabel(self._stack, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        self._lay_out()
        self._connect()
        self.set_palette(load_palette("light"))
        self.set_lattice(None)

    def _lay_out(self) -> None:
        self.setAccessibleName("Dual plane")
        self.readout.setAccessibleName("What the dual plane shows")
        # room for the longest, so that no sheet moves under the pointer
        self.readout.setFixedHeight(3 * self.readout.fontMetrics().height() + 2)
        self.readout.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.empty.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        for view in self.sheets.values():
            self._stack.addWidget(view)
            view.plot.box.sigResized.connect(lambda *_: self._place_legend())
        beside = QHBoxLayout()
        beside.setSpacing(4)
        beside.addWidget(self._stack, 1)
        beside.addWidget(self.strip)
        # one in each of the two corners that the region leaves empty
        self._legend, self._scale = (self._framed(part) for part in (self.controls.lines, self.bar))
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 2, 6, 4)
        column.setSpacing(4)
        column.addWidget(self.controls)
        column.addLayout(beside, 1)
        column.addWidget(self.readout)

    def _connect(self) -> None:
        self.pointer.changed.connect(self._pointed)
        self.pointer.tried_changed.connect(self.show_halfplane)
        self.strip.picked.connect(self._pick_sheet)
        self.controls.streak.clicked.connect(self.zoom_to_streak)
        self.controls.zoom.clicked.connect(self.zoom_to_chosen)
        self.controls.fit.clicked.connect(self.fit)
        self.controls.lines_changed.connect(lambda: self.pictures.set_shown(self.controls.shown))
        self.controls.shade_wanted.connect(self._shade_wanted)
        self.pictures.changed.connect(self._explain)
        for view in self.sheets.values():
            view.picked.connect(lambda mark: self.step_picked.emit(mark.step))
            view.pointed.connect(lambda at, view=view: self._point(view, at))
            view.dragged.connect(self.pointer.try_at)
            view.moved.connect(lambda view: self._moved(view))
            view.plot.nudged.connect(self._nudge)
            view.plot.dropped.connect(self.pointer.drop)

    def _framed(self, part: QWidget) -> QFrame:
        frame = QFrame(self._stack)
        frame.setObjectName("legend")
        inside = QVBoxLayout(frame)
        inside.setContentsMargins(6, 4, 6, 4)
        inside.addWidget(part)
        return frame

    def _inside(self) -> QRect:
        """Where the plot is between its axes, in pixels of the stack; all of it without a plot."""
        if self._lattice is None:
            return self._stack.rect()
        plot = self.sheets[self.sheet].plot
        inside: QRect = plot.mapFromScene(plot.box.sceneBoundingRect()).boundingRect()
        return inside

    def _place_legend(self) -> None:
        """Lines in the upper left corner of the plot, colours in the lower right one."""
        plot, inside = self.sheets[self.sheet].plot, self._inside()
        for frame in (self._legend, self._scale):
            frame.adjustSize()
            frame.raise_()
        self._legend.move(inside.left() + 6, inside.top() + 4)
        self._scale.move(
            inside.right() - self._scale.width() - 6, inside.bottom() - self._scale.height() - 6
        )
        # the frames' places are those of the plot, which fills the stack
        frames = [frame for frame in (self._legend, self._scale) if not frame.isHidden()]
        self.sheets[self.sheet].set_covered(
            [
                plot.box.mapFromScene(plot.mapToScene(frame.geometry())).boundingRect()
                for frame in frames
            ]
        )

    # what is shown

    def set_lattice(self, lattice: HalfplaneLattice | None, why: str = EMPTY) -> None:
        """Take the class of halfplanes; without one there is nothing to show, and `why` is said."""
        self._why = why
        if lattice is not None and lattice == self._lattice:
            return
        self.pointer.drop()  # it points into the frame that goes, whose lines are still there
        self._lattice = lattice
        self.pictures.set_lattice(lattice)
        self.set_what_if(None)
        if lattice is not None:
            for sheet in lattice.sheets:
                self.sheets[sheet].set_lattice(lattice)
            self.strip.set_lattice(lattice)
        self.strip.setVisible(lattice is not None)
        self.controls.setVisible(lattice is not None)
        self.show_example(None)
        self.show_halfplane(None)
        self._set_marks()
        self._show_sheet()
        self.pointer.look()

    def set_examples(
        self,
        points: NDArray[np.int64] | None,
        labels: NDArray[np.generic] | None,
        alive: NDArray[np.bool_] | None = None,
    ) -> None:
        """Take the examples (private).

        Parameters
        ----------
        points : ndarray of int, shape (n, 2), or None
            Grid coordinates of the lattice's grid.  The arrays must not change afterwards.
        labels : ndarray of bool or int, shape (n,), or None
        alive : ndarray of bool, shape (n,), optional
            Examples whose lines are drawn; by default all.
        """
        self._has_examples = points is not None and len(points) > 0
        self.pictures.set_examples(points if self._has_examples else None, labels, alive)
        self._explain()

    def set_tile(self, tile: TileShown | None) -> None:
        """Say that the sheets are those of a tile, in its own frame; None for the whole square."""
        if tile != self._tile:
            self._tile = tile
            self.show_example(None)
            self._explain()

    def set_pieces(self, pieces: Sequence[Piece], newest: int, first: int = 1) -> None:
        """Take the chosen pieces.

        Parameters
        ----------
        pieces : sequence of tuple of Halfplane
            In the order of the steps.
        newest : int
            Index of the newest piece to show; -1 for none.
        first : int
            Step of the first of them.
        """
        self._pieces, self._newest, self._first = tuple(pieces), newest, first
        self._set_marks()

    def _set_marks(self) -> None:
        """Marks of the pieces, if they are of this class of halfplanes."""
        fits = all(self._fits(halfplane) for piece in self._pieces for halfplane in piece)
        self._marks = chosen_marks(self._pieces, self._newest, self._first) if fits else ()
        self._edges = len(self._pieces[self._newest]) if self._marks else 0
        self.controls.set_edges(self._edges)
        self.controls.zoom.setEnabled(bool(self._marks))
        self.strip.set_marks(self._marks)
        self._follow_edge()
        self._mark()
        self._explain()

    def set_shading(
        self, sheets: Sequence[ShadedSheet] | None, *, nats: float | None = None
    ) -> None:
        """Take the answer to the question asked by `shade_wanted` (private).

        Parameters
        ----------
        sheets : sequence of ShadedSheet, or None
        nats : float, optional
            Of the mechanism, per example of score (k times `ShadeQuestion.rate`): turns a raster
            of scores into likelihoods.  Cells bring their probabilities with them.
        """
        self._shading, self._nats, self._changing = tuple(sheets or ()), nats, False
        self._shade()

    def set_detail(self, sheet: ShadedSheet) -> None:
        """Take a finer shading of the window in sight (private)."""
        if sheet.sheet == self.strip.current and self._shading:
            self.pictures.set_detail(sheet)

    def set_change(self, change: Change, eta: float) -> None:
        """Take what one report changes (private): it takes the place of the shading."""
        self._changing = True
        self.pictures.set_change(change, eta)
        self._small()
        self._mark()

    def set_search(self, densities: SheetDensities) -> None:
        """Take where the selection under way still looks (private)."""
        if not self._release and self._lattice is not None:
            self._shading = ()
            self.pictures.set_search(densities)
            self._small()

    def set_what_if(self, what_if: WhatIf | None) -> None:
        """Take what judges halfplanes in place of the chosen one (private); None for none."""
        self.controls.streak.setEnabled(what_if is not None)
        self.pointer.set_what_if(what_if)

    def set_boxes(self, views: Sequence[BoxView]) -> None:
        """Take the sampler's heaviest boxes (private)."""
        self._boxes = tuple(views)
        for sheet, view in self.sheets.items():
            view.set_boxes(boxes_on(self._boxes, sheet))

    def show_example(self, x: int | None, y: int | None = None) -> None:
        """Highlight the dual line of an example at a grid point, or none.

        Of a tile, only points that it holds have a line.
        """
        lattice = self._lattice
        if self._tile is not None and x is not None and y is not None:
            tile = self._tile.step.tile
            held = tile.holds(np.array([[x, y]]))[0]
            x, y = (x - tile.x0, y - tile.y0) if held else (None, None)
        for sheet, view in self.sheets.items():
            ends = np.empty((0, 2))
            if lattice is not None and x is not None and y is not None:
                ends = example_segment(lattice, sheet, x, y, extent(lattice))
            view.set_example(ends)

    def show_halfplane(self, halfplane: Halfplane | None) -> None:
        """Mark the dual point of a halfplane of the same grid and measure, or none."""
        for sheet, view in self.sheets.items():
            here = halfplane is not None and halfplane.sheet == sheet and self._fits(halfplane)
            view.set_halfplane(dual_position(halfplane) if here and halfplane else None)

    def set_release_view(self, on: bool) -> None:
        """Show only what may be published: the region and the chosen points."""
        if on == self._release:
            return
        self._release = on
        if on:
            self.fit()  # the window may have been chosen by private data
        for view in self.sheets.values():
            view.show_private(not on)
        self.controls.set_release_view(on)
        self.set_what_if(None)
        self._sight()
        self._shade()
        self._explain()

    def set_palette(self, palette: Palette) -> None:
        """Take the colours."""
        self.bar.set_palette(palette)
        self.controls.set_palette(palette)
        self.strip.set_palette(palette)
        self.pictures.set_palette(palette)
        for view in self.sheets.values():
            view.set_palette(palette)
        self.readout.setStyleSheet(f"color: {palette.ink}")
        self.empty.setStyleSheet(
            f"color: {palette.ink}; background: {palette.panel}; padding: 10px 18px;"
            f"border: 1px solid {palette.border}; border-radius: 6px"
        )

    # the windows onto the sheets

    @property
    def sheet(self) -> Sheet:
        """The sheet that is shown."""
        return self.strip.current

    @property
    def rasters(self) -> bool:
        """Whether the sheets are shaded by rasters, which can be finer, and not by exact cells."""
        return any(sheet.scores is not None for sheet in self._shading)

    @property
    def window_shown(self) -> Window:
        """The dual points in sight."""
        return self.sheets[self.sheet].plot.window()

    @property
    def title(self) -> str:
        """Which sheet it is, and of which edge of the newest piece."""
        if self._lattice is None:
            return ""
        name = sheet_words(self._lattice, self.sheet).name
        marks = [m for m in self._marks if m.age == 0 and m.sheet == self.sheet]
        if self._edges > 1 and any(mark.edge == self.controls.edge for mark in marks):
            return f"{name}, edge {self.controls.edge + 1} of {self._edges}"
        return name

    @property
    def note(self) -> str:
        """How many lines are drawn; empty where that is not to be seen."""
        return "" if self._release or self._lattice is None else self.sheets[self.sheet].note

    def show_sheet(self, sheet: Sheet) -> None:
        """Show another sheet large."""
        if self._lattice is not None and sheet in self._lattice.sheets:
            self.strip.show_sheet(sheet)
            self._show_sheet()

    def fit(self) -> None:
        """Show all of the sheet."""
        self.sheets[self.sheet].fit()

    def start_over(self) -> None:
        """Show the first sheet, and all sheets whole, as at first."""
        self.show_sheet(Sheet.FLAT_ABOVE)
        for view in self.sheets.values():
            view.fit()

    def zoom_to_chosen(self) -> None:
        """Show the neighbourhood of the newest chosen point on the sheet."""
        if self._lattice is None:
            return
        lines = None if self._release else self.pictures.lines
        mark = newest_mark(self._marks, self.sheet, self.controls.edge)
        if mark is None:
            self.readout.setText("No chosen point on this sheet yet")
        else:
            self.sheets[self.sheet].zoom_to(neighbourhood(self._lattice, mark, lines))

    def zoom_to_streak(self) -> None:
        """Show where the probability of the edge lies on the sheet."""
        window = None if self._release else self.pictures.streak(self.sheet)
        if window is None:
            self.readout.setText("No probability to speak of lies on this sheet")
        else:
            self.sheets[self.sheet].zoom_to(window)

    # events and answers

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what has waited."""
        super().showEvent(event)
        self._sight()

    def hideEvent(self, event: QHideEvent) -> None:
        """Draw nothing meanwhile."""
        super().hideEvent(event)
        self._sight()

    def _pick_sheet(self, sheet: Sheet) -> None:
        """A sheet was asked for: if an edge of the newest piece lies on it, it is about that."""
        edges = [m.edge for m in self._marks if m.age == 0 and m.sheet == sheet]
        self._show_sheet()
        if edges and self.controls.edge not in edges:
            self.controls.choose(self.controls.mode, edges[0])
            self.shade_wanted.emit(edges[0], self.controls.mode)

    def _follow_edge(self) -> None:
        """Show the sheet that holds the edge that is asked about, of the newest piece."""
        if self._marks and self._edges:
            self.show_sheet(self._pieces[self._newest][self.controls.edge].sheet)
        self._place_pointer()

    def _show_sheet(self) -> None:
        self._stack.setCurrentWidget(self.sheets[self.sheet])
        self._place_legend()
        self._place_pointer()
        self._sight()
        self._explain()
        self.detail_wanted.emit()

    def _place_pointer(self) -> None:
        chosen = None
        if self._marks and self._edges:
            halfplane = self._pieces[self._newest][self.controls.edge]
            chosen = halfplane if halfplane.sheet == self.sheet else None
        self.pointer.set_place(self._lattice, self.sheet, chosen)

    def _moved(self, view: SheetView) -> None:
        if view.sheet == self.sheet:
            self.detail_wanted.emit()

    def _sight(self) -> None:
        seen = self.isVisible() and not self._release and self._lattice is not None
        self.pictures.set_sight(frozenset({self.sheet} if seen else ()))

    def _fits(self, halfplane: Halfplane) -> bool:
        own, other = self._lattice, halfplane.lattice
        return own is not None and (own.d, own.measure) == (other.d, other.measure)

    def _shade_wanted(self, edge: int, mode: str) -> None:
        self._follow_edge()
        self._shade()
        self.shade_wanted.emit(edge, mode)

    def _shade(self) -> None:
        self.pictures.set_shading(self._shading, self.controls.mode, self._nats)
        self._small()
        self._mark()

    def _small(self) -> None:
        for sheet, thumb in self.strip.thumbs.items():
            small = None if self._release else self.pictures.small(sheet)
            thumb.set_shading(*(small or (None, None)))

    def _mark(self) -> None:
        asked = self.controls.edge if self._edges > 1 and not self._release else None
        for view in self.sheets.values():
            view.set_marks(self._marks, asked)

    def _explain(self) -> None:
        """Colour bar, readout and the sentence of the empty state."""
        self.titled.emit()
        if self._lattice is None:
            self._legend.setVisible(False)
            self._scale.setVisible(False)
            self._say("")
            self._say_empty(self._why)
            return
        shade, density = self.pictures.shade_scale, self.pictures.density_scale
        scale = None if self._release else shade or density
        self.bar.set_scale(scale)
        self._scale.setVisible(scale is not None)
        self._legend.setVisible(not self._release)
        self._place_legend()
        if self._release:
            self._explain_release()
            return
        if self._changing:
            words = CHANGE_WORDS
        elif shade is None and self._shading and self.controls.mode == "probability":
            words = NO_PROBABILITIES
        elif shade is not None and self._shading and self.controls.mode != "off":
            words = shading_words(self.controls.mode, self.controls.edge, self._edges)
        else:
            words = reading_words(self._lattice)
        empty = EMPTY
        if self._tile is not None:
            words = f"{self._tile.label} {words}"
            empty = self._tile.no_examples
        self._say(words)
        self._say_empty("" if self._has_examples or self._marks else empty)

    def _explain_release(self) -> None:
        """What is published."""
        words, empty = "Only the chosen points are shown: they are published.", EMPTY_RELEASE
        if self._tile is not None:
            words, empty = f"{self._tile.label} {words}", self._tile.no_piece
        self._say(words)
        self._say_empty("" if self._marks else empty)

    def _say(self, words: str) -> None:
        """How to read what is shown; what is pointed at takes its place."""
        self._words = words
        if self.pointer.halfplane is None:
            self.readout.setText(words)

    def _say_empty(self, words: str) -> None:
        self.empty.setText(words)
        self.empty.setVisible(bool(words))
        inside = self._inside()
        self.empty.setFixedWidth(min(340, max(120, inside.width() - 40)))
        self.empty.adjustSize()
        self.empty.move(inside.center() - self.empty.rect().center())
        self.empty.raise_()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Words in the middle stay there."""
        super().resizeEvent(event)
        QTimer.singleShot(0, self, lambda: self._say_empty(self.empty.text()))

    # the pointer

    def _point(self, view: SheetView, at: tuple[float, float] | None) -> None:
        if view.sheet == self.sheet:
            self.pointer.point(at)

    def _nudge(self, across: int, up: int) -> None:
        """By a pixel or so."""
        window, plot = self.window_shown, self.sheets[self.sheet].plot
        self.pointer.nudge(
            2 * across * window.width / max(1, plot.width()),
            2 * up * window.height / max(1, plot.height()),
        )

    def _pointed(self) -> None:
        """Another halfplane is looked at, or none."""
        halfplane, candidate = self.pointer.halfplane, self.pointer.candidate
        self._outline(self.pointer.pointed)
        self.readout.setText(self._words if halfplane is None else self._describe(halfplane))
        if (halfplane, candidate) != self._told:
            self._told = halfplane, candidate
            self.dual_hovered.emit(halfplane if candidate is None else None)
            self.candidate_shown.emit(candidate)

    def _outline(self, halfplane: Halfplane | None) -> None:
        """The cell that is pointed at."""
        corners, lines = np.empty((0, 2)), self.pictures.lines
        if halfplane is not None and lines is not None and not self._release and self._lattice:
            corners = cell_around(self._lattice, lines, halfplane, self.window_shown)
        self.sheets[self.sheet].set_cell(corners)

    def _describe(self, halfplane: Halfplane) -> str:
        plot = self.sheets[halfplane.sheet].plot
        digits = digits_for(plot.window().width / max(1, plot.width()))
        if self._release:
            return hover_words(halfplane, digits)
        if self.pointer.candidate is not None:
            return f"{hover_words(halfplane, digits)}\n{self.pointer.candidate.words}"
        lines, scale = self.pictures.lines, self.pictures.shade_scale
        counts = None if lines is None else held(lines, halfplane)
        value = self.pictures.shade_at(halfplane.sheet, *dual_position(halfplane))
        shade = None if scale is None or value is None else (scale, value)
        return hover_words(halfplane, digits, counts, shade)
