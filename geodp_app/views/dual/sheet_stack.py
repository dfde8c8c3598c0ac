"""Shows sheets, charts of the dual plane: one large with everything painted on it, and beside it
small pictures of all, which show where a piece's points lie and lead there; or all of them large.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QButtonGroup,
    QFrame,
    QGraphicsItem,
    QGraphicsPathItem,
    QGridLayout,
    QLabel,
    QSizePolicy,
    QWidget,
)

from geodp_app.dual.lines import LinePicture
from geodp_app.dual.scene import LEAST_STEPS, Mark, region_in
from geodp_app.dual.sheets import sheet_words
from geodp_app.palette import Palette
from geodp_app.runs.protocol import Window, extent
from geodp_app.views.dual.dual_controls import SheetThumb
from geodp_app.views.dual.dual_plot import Boxes, RimmedLine, SheetPlot
from geodp_app.views.widgets.panes import Themed, dressed, fill, show_words
from geodp_app.views.widgets.plotting import PictureItem, cosmetic, shape_path, tinted
from geodp_app.views.widgets.tasks import timer
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


class SheetView(Themed, QWidget):
    """Shows what it is given; knows no examples and computes nothing but its border."""

    #: The window onto the sheet changed and has rested.
    moved = Signal(object)

    def __init__(self, sheet: Sheet) -> None:
        super().__init__()
        self.sheet = sheet
        self.lattice: HalfplaneLattice | None = None
        self._fitted, self._dim, self._drawn = True, False, 0
        #: How many lines are drawn, in words (private).
        self.note = ""
        self.plot = SheetPlot()
        self.title = dressed(QLabel(), "note")
        self.title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        fill(self, self.title, (self.plot, 1), margins=0, spacing=2)
        self.setFocusProxy(self.plot)
        self._build_items()
        self._timer = timer(self, _PAUSE, lambda: self.moved.emit(self))
        self.plot.box.sigRangeChanged.connect(lambda *_: self._range_changed())
        self.plot.box.sigResized.connect(lambda *_: self._resized())
        self.plot.moved_by_hand.connect(lambda: setattr(self, "_fitted", False))
        self.plot.fit_wanted.connect(self.fit)

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
        #: The cell under the pointer, whose halfplanes hold the same examples, and one example.
        self.cell, self.example = RimmedLine(box, 99), RimmedLine(box, 100)
        self.cell.show_with(ink="ink", width=2.0)
        self.boxes = Boxes(box, 101)
        self.chosen, self.pointer = self.plot.chosen, self.plot.pointer

    @property
    def private_items(self) -> tuple[QGraphicsItem, ...]:
        """Everything that shows examples, scores or the sampler."""
        pictures = (self.shading, self.density, self.positive, self.negative)
        return (*pictures, self.cell, self.example, self.boxes)

    def sizeHint(self) -> QSize:
        """The same for all sheets, whatever they have shown."""
        return QSize(440, 440)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A small sheet goes without words at its axes, and without those that its title has no
        room for."""
        super().resizeEvent(event)
        self.plot.set_labelled(self.width() >= _WIDE)
        self._show_title()

    def _show_title(self) -> None:
        if self.lattice is None:
            return
        words = sheet_words(self.lattice, self.sheet)
        self.title.setText(f"<b>{words.name}</b>: {words.meaning}")
        if self.title.sizeHint().width() > self.width():
            self.title.setText(f"<b>{words.name}</b>")

    # what is shown

    def set_lattice(self, lattice: HalfplaneLattice) -> None:
        """Show the region of this class of halfplanes, all of it."""
        self.lattice = lattice
        words, whole = sheet_words(lattice, self.sheet), extent(lattice)
        self._show_title()
        self.plot.setAccessibleName(f"Dual plane, sheet {words.name}")
        self.plot.setAccessibleDescription(
            f"Points are {words.meaning}. Across: {words.across}. Up: {words.up}."
        )
        self.plot.set_labels(words.across, words.up)
        least, room = LEAST_STEPS / (1 << lattice.bits), whole.grown(4.0)
        self.plot.box.setAspectLocked(lattice.measure == "chord")
        self.plot.box.setLimits(
            xMin=room.u0, xMax=room.u1, yMin=room.v0, yMax=room.v1, minXRange=least, minYRange=least
        )
        self.fit()

    def set_palette(self, palette: Palette) -> None:
        self._palette = palette
        self.plot.set_palette(palette)
        self.outside.setBrush(tinted(palette.canvas, 1.0))
        self.outside.setPen(Qt.PenStyle.NoPen)
        self.border.setPen(cosmetic(palette.soft_ink, 1.5))
        for overlay in (self.cell, self.example, self.boxes):
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

    def _pen_lines(self) -> None:
        smooth = self._drawn <= _SMOOTH
        area = self.plot.width() * self.plot.height()
        alpha = area / (_AREA_A_LINE * max(1, self._drawn))  # crowded lines step back
        least, most = (_FAINTEST_SHADED, 0.4) if self._dim else (_FAINTEST, 0.8)
        alpha = min(max(alpha, least), most)
        self.positive.setPen(cosmetic(self._palette.positive, 1.0, alpha=alpha))
        self.negative.setPen(cosmetic(self._palette.negative, 1.0, dash=(6, 4), alpha=alpha))
        for item in (self.positive, self.negative):
            item.opts["antialias"] = smooth


class SheetStack(QWidget):
    """One sheet large and a column of small ones beside it, or all of them large; frames over the
    corners of the first, and words where it is empty.

    `lines` and `colours`: in the two corners that the region leaves empty: upper left and lower
    right.  Below all sheets, which are too small to leave room, are the lines.
    """

    #: A Sheet was asked for.
    picked = Signal(object)

    def __init__(self, lines: QWidget, colours: QWidget) -> None:
        super().__init__()
        self.sheets = {sheet: SheetView(sheet) for sheet in Sheet}
        self.thumbs = {sheet: SheetThumb(sheet) for sheet in Sheet}
        self.strip = dressed(QWidget(), name="Sheets of the dual plane")
        fill(self.strip, *self.thumbs.values(), None, margins=0, spacing=4)
        self._group = QButtonGroup(self)
        for sheet, thumb in self.thumbs.items():
            self._group.addButton(thumb, int(sheet))
        self.thumbs[Sheet.FLAT_ABOVE].setChecked(True)
        self._group.idClicked.connect(lambda number: self.picked.emit(Sheet(number)))
        self._stack, self._lines = QWidget(), lines
        self._whole = False
        self.empty = QLabel(self._stack, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        self.empty.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._places = QGridLayout(self._stack)
        self._places.setContentsMargins(0, 0, 0, 0)
        self._places.setSpacing(4)
        for i, view in enumerate(self.sheets.values()):
            self._places.addWidget(view, *divmod(i, 2))
            view.plot.box.sigResized.connect(lambda *_: self.place())
        self.legend, self.scale = (dressed(QFrame(self._stack), "legend") for _ in range(2))
        for frame, part in ((self.legend, lines), (self.scale, colours)):
            fill(frame, part, margins=(6, 4, 6, 4))
        fill(self, (self._stack, 1), self.strip, across=True, margins=0, spacing=4)
        self._plotted = False

    @property
    def current(self) -> Sheet:
        """The sheet that the column says is shown large."""
        return Sheet(self._group.checkedId())

    @property
    def view(self) -> SheetView:
        """The same."""
        return self.sheets[self.current]

    @property
    def _framed(self) -> SheetView:
        """The one that frames lie over."""
        return self.sheets[min(self.shown)]

    def set_lattice(self, lattice: HalfplaneLattice | None) -> None:
        """The sheets of this class of halfplanes; without one there is nothing to show."""
        self._plotted = lattice is not None
        if lattice is not None:
            for sheet, thumb in self.thumbs.items():
                thumb.setVisible(sheet in lattice.sheets)
                if sheet in lattice.sheets:
                    thumb.set_lattice(lattice)
                    self.sheets[sheet].set_lattice(lattice)
            if self.current not in lattice.sheets:
                self.thumbs[lattice.sheets[0]].setChecked(True)
        self.show_current()

    def set_whole(self, whole: bool) -> None:
        """Show all sheets, or the current one; emits nothing."""
        if whole == self._whole:
            return
        self._whole = whole
        ways, lines = QBoxLayout.Direction, self._lines.layout()
        assert isinstance(lines, QBoxLayout)
        lines.setDirection(ways.LeftToRight if whole else ways.TopToBottom)
        if whole:
            self._places.addWidget(self.legend, 2, 0, 1, 2, Qt.AlignmentFlag.AlignLeft)
        else:
            self._places.removeWidget(self.legend)
        self.show_current()

    @property
    def shown(self) -> frozenset[Sheet]:
        """The sheets in sight."""
        lattice = self.view.lattice
        return frozenset(lattice.sheets if self._whole and lattice else {self.current})

    def fit(self) -> None:
        """Show all of every sheet."""
        for view in self.sheets.values():
            view.fit()

    def show_current(self) -> None:
        """Show the current sheet large, or all of them; none where there is nothing to show."""
        self.strip.setVisible(self._plotted and not self._whole)
        for sheet, view in self.sheets.items():
            view.setVisible(self._plotted and sheet in self.shown)
        self.place()

    def set_palette(self, palette: Palette) -> None:
        parts: tuple[Themed, ...] = (*self.thumbs.values(), *self.sheets.values())
        for part in parts:
            part.set_palette(palette)
        self.empty.setStyleSheet(
            f"color: {palette.ink}; background: {palette.panel}; padding: 10px 18px;"
            f"border: 1px solid {palette.border}; border-radius: 6px"
        )

    def place(self) -> None:
        """Let what lies over a plot follow it, also where its axes find room late: lines in the
        upper left corner of a large one, colours in the lower right one, words in the middle.
        """
        plot, inside = self._framed.plot, self._inside()
        for frame in (self.legend, self.scale):
            frame.adjustSize()
            frame.raise_()
        if not self._whole:
            self.legend.move(inside.left() + 6, inside.top() + 4)
        self.scale.move(
            inside.right() - self.scale.width() - 6, inside.bottom() - self.scale.height() - 6
        )
        frames = [frame for frame in (self.legend, self.scale) if not frame.isHidden()]
        corner = plot.mapTo(self._stack, QPoint())
        places = [plot.mapToScene(frame.geometry().translated(-corner)) for frame in frames]
        covered = [plot.box.mapFromScene(place).boundingRect() for place in places]
        self._framed.chosen.show_with(covered=covered)
        self.empty.setFixedWidth(min(340, max(120, inside.width() - 40)))
        self.empty.adjustSize()
        self.empty.move(inside.center() - self.empty.rect().center())
        self.empty.raise_()

    def say_empty(self, words: str) -> None:
        """Words in the middle; empty for none."""
        show_words(self.empty, words)
        self.place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        QTimer.singleShot(0, self, self.place)

    def _inside(self) -> QRect:
        """Where the plot is between its axes, in pixels of the stack; all of it without a plot."""
        if not self._plotted:
            return self._stack.rect()
        plot = self._framed.plot
        inside: QRect = plot.mapFromScene(plot.box.sceneBoundingRect()).boundingRect()
        return inside.translated(plot.mapTo(self._stack, QPoint()))
