"""The dual plane: every halfplane a point, every example a line, and why a piece was chosen.

Sheets are shown all at once or one at a time.  In curator view they carry the examples' lines,
the shading and the sampler's boxes, all private; in release view only the chosen points.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from geodp_app.dual.captions import (
    EMPTY,
    EMPTY_RELEASE,
    NO_PROBABILITIES,
    POINT_AT,
    TileShown,
    hover_words,
    reading_words,
    shading_words,
)
from geodp_app.dual.lines import example_segment, held
from geodp_app.dual.scene import Mark, boxes_on, chosen_marks, neighbourhood, newest_mark
from geodp_app.dual.sheets import (
    digits_for,
    dual_position,
    extent,
    nearest_halfplane,
    sheet_words,
)
from geodp_app.palette import Palette, load_palette
from geodp_app.runs.protocol import BoxView, ShadedSheet
from geodp_app.views.colour_bar import ColourBar
from geodp_app.views.dual_controls import DualControls, SheetTabs
from geodp_app.views.dual_pictures import DualPictures
from geodp_app.views.dual_sheet import SheetView
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.records import Piece

#: Below this height no room is kept for what is hidden, in device-independent pixels.
_HIGH = 480

#: Milliseconds between two readouts of the pointer.
_HOVER_PAUSE = 25


class DualView(QWidget):
    """The dual plane with its sheets, controls and readout."""

    #: The Halfplane under the pointer (the nearest of the lattice), or None.
    dual_hovered = Signal(object)
    #: The step, from 1, whose chosen point was clicked.
    step_picked = Signal(int)
    #: The person wants another shading: the edge that could be elsewhere, from 0, and the mode,
    #: "off", "score" or "probability".
    shade_wanted = Signal(int, str)

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
        self._boxes: tuple[BoxView, ...] = ()
        self._hovered: Halfplane | None = None
        self._pointer: tuple[SheetView, tuple[float, float]] | None = None
        self.sheets = {sheet: SheetView(sheet) for sheet in Sheet}
        self.pictures = DualPictures(self.sheets, self)
        self.tabs, self.controls, self.bar = SheetTabs(), DualControls(), ColourBar()
        self.caption, self.readout = QLabel(wordWrap=True), QLabel(wordWrap=True)
        self._grid = QWidget()
        self.empty = QLabel(self._grid, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        self._lay_out()
        self._timer = QTimer(self, singleShot=True, interval=_HOVER_PAUSE)
        self._connect()
        self.set_palette(load_palette("light"))
        self.set_lattice(None)

    def _lay_out(self) -> None:
        self.setAccessibleName("Dual plane")
        self._keep_room(True)
        self.caption.setAccessibleName("How to read the dual plane")
        self.readout.setAccessibleName("Halfplane under the pointer")
        self.readout.setMinimumHeight(2 * self.readout.fontMetrics().height() + 2)
        self.readout.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.empty.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        grid = QGridLayout(self._grid)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(6)
        for sheet, view in self.sheets.items():
            grid.addWidget(view, sheet // 2, sheet % 2)
        grid.addWidget(self.empty, 0, 0, 2, 2, Qt.AlignmentFlag.AlignCenter)
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 6, 6, 6)
        column.setSpacing(5)
        column.addWidget(self.tabs)
        column.addWidget(self.controls)
        column.addWidget(self._grid, 1)
        explained = QHBoxLayout()
        explained.addWidget(self.controls.edge_row, 0, Qt.AlignmentFlag.AlignTop)
        explained.addWidget(self.caption, 1)
        column.addLayout(explained)
        column.addWidget(self.readout)
        column.addWidget(self.bar)

    def _connect(self) -> None:
        self._timer.timeout.connect(self._hover)
        self.tabs.changed.connect(lambda _: self._show_sheets())
        self.tabs.zoom.clicked.connect(self.zoom_to_chosen)
        self.tabs.fit.clicked.connect(self.fit)
        self.controls.lines_changed.connect(lambda: self.pictures.set_shown(self.controls.shown))
        self.controls.shade_wanted.connect(self._shade_wanted)
        self.pictures.changed.connect(self._explain)
        for view in self.sheets.values():
            view.picked.connect(lambda mark: self.step_picked.emit(mark.step))
            view.pointed.connect(lambda at, view=view: self._point(view, at))

    def _keep_room(self, keep: bool) -> None:
        """Room for the colour bar where it is hidden: else every plot would change its size."""
        policy = self.bar.sizePolicy()
        policy.setRetainSizeWhenHidden(keep)
        self.bar.setSizePolicy(policy)

    # what is shown

    def set_lattice(self, lattice: HalfplaneLattice | None, why: str = EMPTY) -> None:
        """Take the class of halfplanes; without one there is nothing to show, and `why` is said."""
        self._why = why
        if lattice is not None and lattice == self._lattice:
            return
        self._lattice = lattice
        self.pictures.set_lattice(lattice)
        names = ["All"]
        if lattice is not None:
            names += [sheet_words(lattice, sheet).name for sheet in lattice.sheets]
            for sheet in lattice.sheets:
                self.sheets[sheet].set_lattice(lattice)
        self.tabs.set_names(names)
        self.show_example(None)
        self.show_halfplane(None)
        self._set_marks()
        self._show_sheets()
        self._hover()

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
        self._mark()
        self.tabs.zoom.setEnabled(bool(self._marks))
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
        self._shading, self._nats = tuple(sheets or ()), nats
        self._shade()

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
            held = tile.x0 <= x <= tile.x1 and tile.y0 <= y <= tile.y1
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
        self._sight()
        self._mark()
        self._explain()

    def set_palette(self, palette: Palette) -> None:
        """Take the colours."""
        self.bar.set_palette(palette)
        self.controls.set_palette(palette)
        self.tabs.set_palette(palette)
        for view in self.sheets.values():
            view.set_palette(palette)
        self.caption.setStyleSheet(f"color: {palette.soft_ink}")
        self.readout.setStyleSheet(f"color: {palette.ink}")
        self.empty.setStyleSheet(
            f"color: {palette.ink}; background: {palette.panel}; padding: 10px 18px;"
            f"border: 1px solid {palette.border}; border-radius: 6px"
        )

    # the windows onto the sheets

    @property
    def shown_sheets(self) -> tuple[Sheet, ...]:
        """Sheets of the current tab."""
        if self._lattice is None:
            return ()
        sheets, tab = self._lattice.sheets, self.tabs.bar.currentIndex()
        return sheets[tab - 1 : tab] or sheets

    def show_sheet(self, sheet: Sheet | None) -> None:
        """Open the tab of a sheet, or of all."""
        if self._lattice is not None:
            self.tabs.bar.setCurrentIndex(
                0 if sheet is None else self._lattice.sheets.index(sheet) + 1
            )

    def fit(self) -> None:
        """Show all of the sheets of the current tab."""
        for sheet in self.shown_sheets:
            self.sheets[sheet].fit()

    def start_over(self) -> None:
        """Show all sheets whole, as at first."""
        self.show_sheet(None)
        for view in self.sheets.values():
            view.fit()

    def zoom_to_chosen(self) -> None:
        """Show the neighbourhood of the newest chosen point on each sheet of the current tab.

        In the overview only the sheets that hold points of the newest piece move.
        """
        if self._lattice is None:
            return
        lines = None if self._release else self.pictures.lines
        alone, moved = len(self.shown_sheets) == 1, False
        for sheet in self.shown_sheets:
            mark = newest_mark(self._marks, sheet, self.controls.edge)
            if mark is not None and (alone or mark.age == 0):
                self.sheets[sheet].zoom_to(neighbourhood(self._lattice, mark, lines))
                moved = True
        if not moved:
            self.readout.setText("No chosen point on this sheet yet")

    # events and answers

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what has waited."""
        super().showEvent(event)
        self._sight()

    def hideEvent(self, event: QHideEvent) -> None:
        """Draw nothing meanwhile."""
        super().hideEvent(event)
        self._sight()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A low view keeps no empty room."""
        super().resizeEvent(event)
        self._keep_room(self.height() >= _HIGH)

    def _show_sheets(self) -> None:
        shown = self.shown_sheets
        for sheet, view in self.sheets.items():
            view.setVisible(sheet in shown)
        self._sight()
        self._explain()

    def _sight(self) -> None:
        seen = self.isVisible() and not self._release
        self.pictures.set_sight(frozenset(self.shown_sheets if seen else ()))

    def _fits(self, halfplane: Halfplane) -> bool:
        own, other = self._lattice, halfplane.lattice
        return own is not None and (own.d, own.measure) == (other.d, other.measure)

    def _shade_wanted(self, edge: int, mode: str) -> None:
        self._shade()
        self.shade_wanted.emit(edge, mode)

    def _shade(self) -> None:
        self.pictures.set_shading(self._shading, self.controls.mode, self._nats)

        self._mark()

    def _mark(self) -> None:
        shaded = self.pictures.shade_scale is not None and self._edges > 1 and not self._release
        for view in self.sheets.values():
            view.set_marks(self._marks, self.controls.edge if shaded else None)

    def _explain(self) -> None:
        """Colour bar, caption and the sentence of the empty state."""
        if self._lattice is None:
            self.caption.setText("")
            self.bar.setVisible(False)
            self._say_empty(self._why)
            return
        shade, density = self.pictures.shade_scale, self.pictures.density_scale
        scale = None if self._release else shade or density
        self.bar.set_scale(scale)
        self.bar.setVisible(scale is not None)
        if self._release:
            self._explain_release()
            return
        if shade is None and self._shading and self.controls.mode == "probability":
            words = NO_PROBABILITIES
        elif shade is not None and self.controls.mode != "off":
            words = shading_words(self.controls.mode, self.controls.edge, self._edges)
        else:
            words = reading_words(self._lattice)
        empty = EMPTY
        if self._tile is not None:
            words = f"{self._tile.label} {words}"
            empty = self._tile.no_examples
        self.caption.setText(words)
        self._say_empty("" if self._has_examples or self._marks else empty)

    def _explain_release(self) -> None:
        """What is published."""
        words, empty = "Only the chosen points are shown: they are published.", EMPTY_RELEASE
        if self._tile is not None:
            words, empty = f"{self._tile.label} {words}", self._tile.no_piece
        self.caption.setText(words)
        self._say_empty("" if self._marks else empty)

    def _say_empty(self, words: str) -> None:
        self.empty.setText(words)
        self.empty.setVisible(bool(words))
        self.empty.raise_()

    # the pointer

    def _point(self, view: SheetView, at: tuple[float, float] | None) -> None:
        self._pointer = None if at is None else (view, at)
        if not self._timer.isActive():
            self._timer.start()

    def _hover(self) -> None:
        halfplane = None
        if self._pointer is not None and self._lattice is not None:
            view, at = self._pointer
            halfplane = nearest_halfplane(self._lattice, view.sheet, *at)
        if halfplane is None:
            self.readout.setText(POINT_AT if self._lattice is not None else "")
        else:
            self.readout.setText(self._describe(view, halfplane))
        if halfplane != self._hovered:
            self._hovered = halfplane
            self.dual_hovered.emit(halfplane)

    def _describe(self, view: SheetView, halfplane: Halfplane) -> str:
        pixel = view.plot.window().width / max(1, view.plot.width())
        digits = digits_for(pixel)
        if self._release:
            return hover_words(halfplane, digits)
        lines, scale = self.pictures.lines, self.pictures.shade_scale
        counts = None if lines is None else held(lines, halfplane)
        value = self.pictures.shade_at(halfplane.sheet, *dual_position(halfplane))
        shade = None if scale is None or value is None else (scale, value)
        return hover_words(halfplane, digits, counts, shade)
