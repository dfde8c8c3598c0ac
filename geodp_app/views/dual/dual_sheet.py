"""Shows one sheet, a chart of the dual plane: its plot and everything painted on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QResizeEvent
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsPathItem,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from geodp_app.dual.line_picture import LinePicture
from geodp_app.dual.scene import LEAST_STEPS, Mark, region_in
from geodp_app.dual.sheets import Window, extent, sheet_words
from geodp_app.palette import Palette
from geodp_app.views.dual.dual_plot import (
    PICK,
    Boxes,
    CellOutline,
    Chosen,
    ExampleLine,
    Pointer,
    SheetPlot,
)
from geodp_app.views.widgets.panes import dressed, fill
from geodp_app.views.widgets.plotting import PictureItem, cosmetic, shape_path, tinted
from geometry.halfplane import HalfplaneLattice, Sheet

#: Lines are smoothed up to so many.
_SMOOTH = 400
#: Square pixels a line needs to be drawn at full strength; no line is fainter than this, and
#: over a shading than that.
_AREA_A_LINE, _FAINTEST, _FAINTEST_SHADED = 1_000.0, 0.16, 0.08
#: Milliseconds from a change of the window to new lines.
_PAUSE = 30
#: Narrower sheets do without words around them.
_WIDE = 420


class SheetView(QWidget):
    """Shows what it is given; knows no examples and computes nothing but its border."""

    #: The window onto the sheet changed and has rested.
    moved = Signal(object)
    #: (u, v) under the pointer, or None.
    pointed = Signal(object)
    #: The Mark under the pointer, or None.
    mark_pointed = Signal(object)
    #: A Mark was clicked.
    picked = Signal(object)
    #: (u, v) to which the newest chosen point, or the one tried in its place, is dragged.
    dragged = Signal(object)

    def __init__(self, sheet: Sheet) -> None:
        super().__init__()
        self.sheet = sheet
        self.lattice: HalfplaneLattice | None = None
        self._palette: Palette | None = None
        self._fitted, self._dim, self._drawn = True, False, 0
        #: How many lines are drawn, in words (private).
        self.note = ""
        self.plot = SheetPlot()
        self.plot.grabs = self._grabs
        self.title = dressed(QLabel(), "note")
        self.title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        fill(QVBoxLayout(self), self.title, (self.plot, 1), margins=(0, 0, 0, 0), spacing=2)
        self.setFocusProxy(self.plot)
        self._build_items()
        self._timer = QTimer(self, singleShot=True, interval=_PAUSE)
        self._timer.timeout.connect(lambda: self.moved.emit(self))
        self.plot.box.sigRangeChanged.connect(lambda *_: self._range_changed())
        self.plot.box.sigResized.connect(lambda *_: self._resized())
        self.plot.moved_by_hand.connect(lambda: setattr(self, "_fitted", False))
        self.plot.fit_wanted.connect(self.fit)
        self.plot.pointed.connect(self._point)
        self.plot.clicked.connect(self._click)
        self.plot.dragged.connect(self.dragged)

    def _build_items(self) -> None:
        box = self.plot.box
        self.shading, self.density = PictureItem(), PictureItem()
        self.outside, self.border = QGraphicsPathItem(), QGraphicsPathItem()
        self.negative = pg.PlotCurveItem(connect="pairs", skipFiniteCheck=True)
        self.positive = pg.PlotCurveItem(connect="pairs", skipFiniteCheck=True)
        pictures = (self.density, self.shading, self.outside, self.negative, self.positive)
        for height, item in enumerate((*pictures, self.border)):
            item.setZValue(height)
            box.addItem(item, ignoreBounds=True)
        self.cell = CellOutline(box, 99)
        self.example = ExampleLine(box, 100)
        self.boxes = Boxes(box, 101)
        self.chosen = Chosen(box, 102)
        self.pointer = Pointer(box, 103)

    @property
    def private_items(self) -> tuple[QGraphicsItem, ...]:
        """Everything that shows examples, scores or the sampler."""
        pictures = (self.shading, self.density, self.positive, self.negative)
        return (*pictures, self.cell, self.example, self.boxes)

    def sizeHint(self) -> QSize:
        """The same for all sheets, whatever they have shown."""
        return QSize(440, 440)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A small sheet goes without words at its axes."""
        super().resizeEvent(event)
        self.plot.set_labelled(self.width() >= _WIDE)

    # what is shown

    def set_lattice(self, lattice: HalfplaneLattice) -> None:
        """Show the region of this class of halfplanes, all of it."""
        self.lattice = lattice
        words, whole = sheet_words(lattice, self.sheet), extent(lattice)
        self.title.setText(f"<b>{words.name}</b>: {words.meaning}")
        self.plot.setAccessibleName(f"Dual plane, sheet {words.name}")
        self.plot.setAccessibleDescription(
            f"Points are {words.meaning}. Across: {words.across}. Up: {words.up}."
        )
        self.plot.set_labels(words.across, words.up)
        least, room = LEAST_STEPS / (1 << lattice.bits), whole.grown(4.0)
        self.plot.box.setAspectLocked(lattice.measure == "chord")
        self.plot.box.setLimits(
            xMin=room.u0,
            xMax=room.u1,
            yMin=room.v0,
            yMax=room.v1,
            minXRange=least,
            minYRange=least,
        )
        self.fit()

    def set_palette(self, palette: Palette) -> None:
        self._palette = palette
        self.plot.set_palette(palette)
        self.outside.setBrush(tinted(palette.canvas, 1.0))
        self.outside.setPen(Qt.PenStyle.NoPen)
        self.border.setPen(cosmetic(palette.soft_ink, 1.5))
        for overlay in (self.cell, self.example, self.boxes, self.chosen, self.pointer):
            overlay.set_palette(palette)
        self._pen_lines()

    def set_lines(self, picture: LinePicture | None) -> None:
        """Draw these lines; the density comes as an image (:meth:`set_density`)."""
        none = np.empty((0, 2))
        ends = (none, none) if picture is None else (picture.positive, picture.negative)
        self._drawn = sum(map(len, ends)) // 2
        self._pen_lines()
        for item, each in zip((self.positive, self.negative), ends, strict=True):
            item.setData(each[:, 0], each[:, 1])
        self.note = "" if picture is None else picture.note

    def set_shading(self, image: QImage | None, window: Window | None) -> None:
        """Show how good each place is; lines step back."""
        self.shading.set_image(image, window)
        self._dim = image is not None
        self._pen_lines()

    def set_marks(self, marks: Sequence[Mark], asked: int | None = None) -> None:
        """Chosen dual points, of all sheets, and the edge that the shading is about."""
        here = [mark for mark in marks if mark.sheet == self.sheet]
        self.chosen.show_with(marks=here, asked=asked)

    # the window onto the sheet

    def fit(self) -> None:
        """Show the whole region."""
        self._fitted = True
        if self.lattice is not None:
            self.plot.set_window(extent(self.lattice).grown(0.03))

    def zoom_to(self, window: Window) -> None:
        """Zoom to a window of the dual plane."""
        self._fitted = False
        self.plot.set_window(window)

    def _resized(self) -> None:
        if self._fitted:
            self.fit()
        self._range_changed()

    def _range_changed(self) -> None:
        if self.lattice is None:
            return
        inside, outside = region_in(self.lattice, self.plot.window().grown(0.5))
        self.border.setPath(shape_path(inside))
        self.outside.setPath(shape_path(outside))
        self._timer.start()

    # the pointer

    def _point(self, at: tuple[float, float] | None) -> None:
        self.pointer.show_with(at=at)
        place = None if at is None else QPointF(*self.chosen.to_pixels(np.array([at]))[0])
        hit = None if place is None else self.chosen.mark_at(place)
        shape = Qt.CursorShape.CrossCursor if hit is None else Qt.CursorShape.PointingHandCursor
        self.plot.viewport().setCursor(shape)
        self.mark_pointed.emit(hit)
        self.pointed.emit(at)

    def _click(self, at: QPointF) -> None:
        if mark := self.chosen.mark_at(at):
            self.picked.emit(mark)

    def _grabs(self, at: QPointF) -> bool:
        tried = self.pointer.halfplane
        if tried is not None:
            x, y = self.pointer.to_pixels(np.array([tried]))[0].tolist()
            if np.hypot(x - at.x(), y - at.y()) <= PICK:
                return True
        mark = self.chosen.mark_at(at)
        return mark is not None and mark.age == 0 and not self.chosen.fixed(mark)

    def _pen_lines(self) -> None:
        if self._palette is None:
            return
        smooth = self._drawn <= _SMOOTH
        area = self.plot.width() * self.plot.height()
        alpha = area / (_AREA_A_LINE * max(1, self._drawn))  # crowded lines step back
        least, most = (_FAINTEST_SHADED, 0.4) if self._dim else (_FAINTEST, 0.8)
        alpha = min(max(alpha, least), most)
        self.positive.setPen(cosmetic(self._palette.positive, 1.0, alpha=alpha))
        self.negative.setPen(cosmetic(self._palette.negative, 1.0, dash=(6, 4), alpha=alpha))
        for item in (self.positive, self.negative):
            item.opts["antialias"] = smooth
