"""Shows one sheet, a chart of the dual plane, large, and small pictures of all of them beside it,
which show where a piece's points lie and lead there.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QImage,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from geodp_app.dual.scene import Mark
from geodp_app.dual.sheets import Window, extent, region, sheet_words
from geodp_app.palette import Palette, edge_colours
from geodp_app.views.dual.dual_sheet import SheetView
from geodp_app.views.widgets.panes import Themed, dressed, fill, show_words
from geometry.halfplane import HalfplaneLattice, Sheet

#: Side of a picture, and the room below it for the sheet's name, in device-independent pixels.
_SIDE, _NAME = 58, 15


class SheetThumb(Themed, QAbstractButton):
    """One sheet, small: its region, its shading, the newest piece's points by their edges."""

    def __init__(self, sheet: Sheet) -> None:
        super().__init__()
        self.sheet = sheet
        self.marks: tuple[Mark, ...] = ()
        self._lattice: HalfplaneLattice | None = None
        self._image: QImage | None = None
        self._place: Window | None = None
        self.setCheckable(True)
        self.setFixedSize(QSize(_SIDE + 4, _SIDE + _NAME + 4))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_lattice(self, lattice: HalfplaneLattice) -> None:
        """Its region and its name."""
        self._lattice = lattice
        words = sheet_words(lattice, self.sheet)
        self.setText(words.name)
        dressed(self, name=f"Sheet {words.name}", tip=f"{words.name}: {words.meaning}")
        self.update()

    def set_marks(self, marks: Sequence[Mark]) -> None:
        """The newest piece's points on this sheet."""
        self.marks = tuple(mark for mark in marks if mark.sheet == self.sheet and mark.age == 0)
        edges = ", ".join(str(mark.edge + 1) for mark in self.marks)
        self.setAccessibleDescription(f"Edge {edges} of the newest piece" if edges else "")
        self.update()

    def set_shading(self, image: QImage | None, place: Window | None) -> None:
        """The sheet's shading (private), or none."""
        self._image, self._place = image, place
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Region, shading, points with the numbers of their edges, and the name."""
        if self._lattice is None:
            return
        p, whole = self._palette, extent(self._lattice)
        area = QRectF(2, 2, _SIDE, _SIDE)

        def at(u: float, v: float) -> QPointF:
            return QPointF(
                area.left() + (u - whole.u0) / whole.width * area.width(),
                area.bottom() - (v - whole.v0) / whole.height * area.height(),
            )

        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(area, QColor(p.canvas))
        outline = QPolygonF([at(u, v) for u, v in region(self._lattice).exterior.coords])
        if self._image is not None and self._place is not None:
            w, inside = self._place, QPainterPath()
            inside.addPolygon(outline)
            painter.setClipPath(inside)
            painter.drawImage(QRectF(at(w.u0, w.v1), at(w.u1, w.v0)), self._image)
            painter.setClipping(False)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(p.border), 1.0))
        painter.drawPolygon(outline)
        font = QFont(self.font())
        font.setPixelSize(11)
        font.setBold(True)
        painter.setFont(font)
        for mark in self.marks:
            spot = QRectF(0, 0, 14, 14)
            spot.moveCenter(at(mark.u, mark.v))
            painter.setPen(QPen(QColor(p.canvas), 1.5))
            own = p.chosen if mark.edges < 2 else edge_colours(p)[mark.edge]
            painter.setBrush(QColor(own))
            painter.drawEllipse(spot)
            painter.setPen(QColor(p.canvas))
            painter.drawText(spot, Qt.AlignmentFlag.AlignCenter, str(mark.edge + 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self.isChecked() or self.hasFocus():
            colour, width = (p.focus, 2.5) if self.hasFocus() else (p.accent, 2.0)
            painter.setPen(QPen(QColor(colour), width))
            painter.drawRect(area)
        font.setBold(self.isChecked())
        painter.setFont(font)
        painter.setPen(QColor(p.ink if self.isChecked() else p.soft_ink))
        below = QRectF(0, area.bottom() + 1, self.width(), _NAME)
        painter.drawText(below, Qt.AlignmentFlag.AlignCenter, self.text())
        painter.end()


class SheetStrip(QWidget):
    """A column of sheets; one of them is shown large."""

    #: A Sheet was asked for.
    picked = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Sheets of the dual plane")
        self.thumbs = {sheet: SheetThumb(sheet) for sheet in Sheet}
        self._group = QButtonGroup(self)
        for sheet, thumb in self.thumbs.items():
            self._group.addButton(thumb, int(sheet))
        fill(QVBoxLayout(self), *self.thumbs.values(), None, margins=(0, 0, 0, 0), spacing=4)
        self.thumbs[Sheet.FLAT_ABOVE].setChecked(True)
        self._group.idClicked.connect(lambda number: self.picked.emit(Sheet(number)))

    @property
    def current(self) -> Sheet:
        """The sheet shown large."""
        return Sheet(self._group.checkedId())

    def show_sheet(self, sheet: Sheet) -> None:
        """Another one; emits nothing."""
        self.thumbs[sheet].setChecked(True)

    def set_lattice(self, lattice: HalfplaneLattice) -> None:
        """The sheets of this class of halfplanes."""
        for sheet, thumb in self.thumbs.items():
            thumb.setVisible(sheet in lattice.sheets)
            if sheet in lattice.sheets:
                thumb.set_lattice(lattice)
        if self.current not in lattice.sheets:
            self.show_sheet(lattice.sheets[0])


class SheetStack(QWidget):
    """One sheet large and the strip beside it, or all sheets side by side; frames over the corners
    of the first, and words where it is empty.

    Parameters
    ----------
    lines, colours : QWidget
        In the two corners that the region leaves empty: upper left and lower right.
    """

    def __init__(self, lines: QWidget, colours: QWidget) -> None:
        super().__init__()
        self.sheets = {sheet: SheetView(sheet) for sheet in Sheet}
        self.strip = SheetStrip()
        self._stack = QWidget()
        self._whole = False
        self.empty = QLabel(self._stack, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        self.empty.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        places = QGridLayout(self._stack)
        places.setContentsMargins(0, 0, 0, 0)
        places.setSpacing(4)
        for i, view in enumerate(self.sheets.values()):
            places.addWidget(view, *divmod(i, 2))
            view.plot.box.sigResized.connect(lambda *_: self._place())
        self.legend, self.scale = (dressed(QFrame(self._stack), "legend") for _ in range(2))
        for frame, part in ((self.legend, lines), (self.scale, colours)):
            fill(QVBoxLayout(frame), part, margins=(6, 4, 6, 4))
        fill(QHBoxLayout(self), (self._stack, 1), self.strip, margins=(0, 0, 0, 0), spacing=4)
        self._plotted = False

    @property
    def view(self) -> SheetView:
        """The sheet that is shown large."""
        return self.sheets[self.strip.current]

    @property
    def _framed(self) -> SheetView:
        """The one that frames lie over."""
        return self.sheets[min(self.shown)]

    def set_lattice(self, lattice: HalfplaneLattice | None) -> None:
        """The sheets of this class of halfplanes; without one there is nothing to show."""
        self._plotted = lattice is not None
        if lattice is not None:
            for sheet in lattice.sheets:
                self.sheets[sheet].set_lattice(lattice)
            self.strip.set_lattice(lattice)
        self.show_current()

    def set_whole(self, whole: bool) -> None:
        """Show all sheets, or the one of the strip; emits nothing."""
        if whole != self._whole:
            self._whole = whole
            self.show_current()

    @property
    def shown(self) -> frozenset[Sheet]:
        """The sheets in sight."""
        lattice = self.view.lattice
        return frozenset(lattice.sheets if self._whole and lattice else {self.strip.current})

    def fit(self) -> None:
        """Show all of every sheet."""
        for view in self.sheets.values():
            view.fit()

    def show_current(self) -> None:
        """Show the sheet of the strip large, or all of them."""
        self.strip.setVisible(self._plotted and not self._whole)
        for sheet, view in self.sheets.items():
            view.setVisible(sheet in self.shown)
        self._place()

    def set_palette(self, palette: Palette) -> None:
        for thumb in self.strip.thumbs.values():
            thumb.set_palette(palette)
        for view in self.sheets.values():
            view.set_palette(palette)
        self.empty.setStyleSheet(
            f"color: {palette.ink}; background: {palette.panel}; padding: 10px 18px;"
            f"border: 1px solid {palette.border}; border-radius: 6px"
        )

    def place_frames(self) -> None:
        """Lines in the upper left corner of the plot, colours in the lower right one."""
        plot, inside = self._framed.plot, self._inside()
        for frame in (self.legend, self.scale):
            frame.adjustSize()
            frame.raise_()
        self.legend.move(inside.left() + 6, inside.top() + 4)
        self.scale.move(
            inside.right() - self.scale.width() - 6, inside.bottom() - self.scale.height() - 6
        )
        frames = [frame for frame in (self.legend, self.scale) if not frame.isHidden()]
        corner = plot.mapTo(self._stack, QPoint())
        places = [plot.mapToScene(frame.geometry().translated(-corner)) for frame in frames]
        covered = [plot.box.mapFromScene(place).boundingRect() for place in places]
        self._framed.chosen.show_with(covered=covered)

    def say_empty(self, words: str) -> None:
        """Words in the middle; empty for none."""
        show_words(self.empty, words)
        self._place_words()

    def _place(self) -> None:
        """What lies over the plot follows it, however late its axes find their room."""
        self.place_frames()
        self._place_words()

    def _place_words(self) -> None:
        inside = self._inside()
        self.empty.setFixedWidth(min(340, max(120, inside.width() - 40)))
        self.empty.adjustSize()
        self.empty.move(inside.center() - self.empty.rect().center())
        self.empty.raise_()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        QTimer.singleShot(0, self, self._place_words)

    def _inside(self) -> QRect:
        """Where the plot is between its axes, in pixels of the stack; all of it without a plot."""
        if not self._plotted:
            return self._stack.rect()
        plot = self._framed.plot
        inside: QRect = plot.mapFromScene(plot.box.sceneBoundingRect()).boundingRect()
        return inside.translated(plot.mapTo(self._stack, QPoint()))
