"""Small pictures of all sheets of the dual plane: where a piece's points lie, and the way there."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QImage,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QVBoxLayout, QWidget

from geodp_app.dual.scene import Mark
from geodp_app.dual.sheets import Window, extent, region, sheet_words
from geodp_app.palette import Palette, load_palette
from geodp_app.views.widgets.panes import dressed, fill
from geometry.halfplane import HalfplaneLattice, Sheet

#: Side of a picture, and the room below it for the sheet's name, in device-independent pixels.
_SIDE, _NAME = 58, 15


class SheetThumb(QAbstractButton):
    """One sheet, small: its region, its shading, the newest piece's points by their edges."""

    def __init__(self, sheet: Sheet) -> None:
        super().__init__()
        self.sheet = sheet
        self.marks: tuple[Mark, ...] = ()
        self._lattice: HalfplaneLattice | None = None
        self._image: QImage | None = None
        self._place: Window | None = None
        self._palette = load_palette("light")
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

    def set_palette(self, palette: Palette) -> None:
        """Take the colours."""
        self._palette = palette
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
            painter.setBrush(QColor(p.chosen))
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

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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

    def set_marks(self, marks: Sequence[Mark]) -> None:
        """The newest piece's points."""
        for thumb in self.thumbs.values():
            thumb.set_marks(marks)

    def set_palette(self, palette: Palette) -> None:
        """Take the colours."""
        for thumb in self.thumbs.values():
            thumb.set_palette(palette)
