"""Controls what the dual plane shows: lines, shading, zoom, which sheet; and follows the halfplane
that is pointed at on it, or tried in place of the chosen one.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QIcon,
    QImage,
    QPainter,
    QPainterPath,
    QPen,
    QPixmap,
    QPolygonF,
)
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QCheckBox, QLabel, QToolButton, QWidget

from geodp_app.actions import key
from geodp_app.dual.scene import Mark
from geodp_app.dual.sheets import (
    ShadeMode,
    dual_position,
    nearest_halfplane,
    region,
    sheet_words,
)
from geodp_app.palette import Palette, edge_colours
from geodp_app.runs.odds import Candidate, WhatIf
from geodp_app.runs.protocol import Window, extent
from geodp_app.views.widgets.panes import FoldingRow, Painted, dressed, fill, tool_button
from geodp_app.views.widgets.plotting import line_swatch
from geodp_app.views.widgets.tasks import timer
from geodp_app.views.widgets.theme import icon
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet

_MODES: tuple[tuple[ShadeMode, str, str], ...] = (
    ("off", "Off", "Show lines only"),
    ("score", "Score", "Shade each place by the score the piece would have there"),
    ("probability", "Probability", "Shade each place by how likely it is to be chosen"),
)


class DualControls(FoldingRow):
    """Controls for which edge the sheets are shaded, and how; which lines are drawn; and the zoom.

    The row of :attr:`lines` is laid out by whoever lays out the view.
    """

    lines_changed = Signal()
    #: (edge from 0, mode)
    shade_wanted = Signal(int, str)

    def __init__(self) -> None:
        super().__init__()
        tip = "Dual lines of the {} examples: {}"
        self.positive = dressed(QCheckBox("Positive"), tip=tip.format("positive", "solid"))
        self.negative = dressed(QCheckBox("Negative"), tip=tip.format("negative", "dashed"))
        for box in (self.positive, self.negative):
            box.setChecked(True)
            box.toggled.connect(lambda _: self.lines_changed.emit())
        self.modes = [_button(text, tip) for _, text, tip in _MODES]
        tip = "Show where edge {} could be, the others fixed"
        self.edges = [_button(str(i), tip.format(i), f"Edge {i}") for i in (1, 2, 3)]
        self._groups = [_exclusive(self, group) for group in (self.modes, self.edges)]
        for group in self._groups:
            group.idClicked.connect(lambda _: self.shade_wanted.emit(self.edge, self.mode))
        self.streak, self.zoom, self.fit = (
            dressed(QToolButton(), name=name, tip=tip)
            for name, tip in (
                ("To the probable", "Zoom to where the probability lies"),
                ("To chosen", f"Zoom to the newest chosen point ({key('zoom_to_chosen')})"),
                ("Fit", f"Show all of the sheet ({key('fit')})"),
            )
        )
        self.lines = QWidget()
        fill(self.lines, self.positive, self.negative, margins=0, spacing=2)
        self.edge_row = _group(QLabel("Edge"), _group(*self.edges, spacing=0))
        self.shade_row = _group(QLabel("Shade"), _group(*self.modes, spacing=0))
        zoom = _group(self.streak, self.zoom, self.fit, spacing=2)
        self.set_groups(self.shade_row, _group(self.edge_row, zoom))

    @property
    def shown(self) -> tuple[bool, bool]:
        """Whether lines of positive and of negative examples are wanted."""
        return self.positive.isChecked(), self.negative.isChecked()

    @property
    def mode(self) -> ShadeMode:
        """What shades the sheets."""
        return _MODES[self._groups[0].checkedId()][0]

    @property
    def edge(self) -> int:
        """The edge that could be elsewhere, from 0."""
        return self._groups[1].checkedId()

    def choose(self, mode: ShadeMode, edge: int = 0) -> None:
        """Set mode and edge without a signal."""
        self.modes[[m for m, _, _ in _MODES].index(mode)].setChecked(True)
        self.edges[edge].setChecked(True)

    def set_edges(self, edges: int) -> None:
        """How many edges the newest piece has; with one there is nothing to select."""
        for i, button in enumerate(self.edges):
            button.setVisible(i < edges)
        self.edge_row.setVisible(edges > 1)
        self.fold()
        if self.edge >= edges:
            self.edges[0].setChecked(True)

    def set_release_view(self, on: bool) -> None:
        """Shading and lines are private."""
        for each in (self.shade_row, self.streak):
            each.setVisible(not on)
        self.fold()

    def set_palette(self, palette: Palette) -> None:
        size = QSize(26, 12)
        for box, colour, dashed in (
            (self.positive, palette.positive, False),
            (self.negative, palette.negative, True),
        ):
            box.setIcon(QIcon(QPixmap.fromImage(line_swatch(colour, dashed=dashed, size=size))))
            box.setIconSize(size)
        for button, name in (
            (self.streak, "zoom-streak"),
            (self.zoom, "zoom-chosen"),
            (self.fit, "fit"),
        ):
            button.setIcon(icon(name, palette))


def _button(text: str, tip: str, name: str = "") -> QToolButton:
    button = tool_button(text, name=name, tip=tip)
    button.setCheckable(True)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button


def _exclusive(parent: QWidget, buttons: Sequence[QToolButton]) -> QButtonGroup:
    group = QButtonGroup(parent)
    for i, button in enumerate(buttons):
        group.addButton(button, i)
    buttons[0].setChecked(True)
    return group


def _group(*widgets: QWidget, spacing: int = 6) -> QWidget:
    """Widgets that stay side by side."""
    group = QWidget()
    fill(group, *widgets, across=True, margins=0, spacing=spacing)
    return group


#: Side of a picture, and the room below it for the sheet's name, in device-independent pixels.
_SIDE, _NAME = 58, 15


class SheetThumb(Painted, QAbstractButton):
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

    def draw(self, painter: QPainter, palette: Palette) -> None:
        """Region, shading, points with the numbers of their edges, and the name."""
        if self._lattice is None:
            return
        p, whole = palette, extent(self._lattice)
        area = QRectF(2, 2, _SIDE, _SIDE)

        def at(u: float, v: float) -> QPointF:
            return QPointF(
                area.left() + (u - whole.u0) / whole.width * area.width(),
                area.bottom() - (v - whole.v0) / whole.height * area.height(),
            )

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


#: Milliseconds between two readouts of the pointer.
_PAUSE = 25


class DualPointer(QObject):
    """Follows the pointer; what is tried stays until another step or Escape.

    While something judges candidates, a halfplane stands for the piece that has it in place of the
    chosen one.
    """

    #: Another halfplane, or none; or what is known of it has changed.
    changed = Signal()
    #: The halfplane that is tried, or None.
    tried_changed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lattice: HalfplaneLattice | None = None
        self._sheet = Sheet.FLAT_ABOVE
        self._chosen: Halfplane | None = None
        self._what_if: WhatIf | None = None
        self._at: tuple[float, float] | None = None
        self._tried: Halfplane | None = None
        #: What is pointed at, else what is tried.
        self.halfplane: Halfplane | None = None
        #: The same, only while it is pointed at.
        self.pointed: Halfplane | None = None
        self.candidate: Candidate | None = None
        self._timer = timer(self, _PAUSE, self.look)

    def set_place(
        self, lattice: HalfplaneLattice | None, sheet: Sheet, chosen: Halfplane | None
    ) -> None:
        """The sheet that is shown, and the chosen halfplane that could be another, if on it."""
        if (lattice, sheet) != (self._lattice, self._sheet):
            self._at = None
        self._lattice, self._sheet, self._chosen = lattice, sheet, chosen

    def set_what_if(self, what_if: WhatIf | None) -> None:
        """Take what judges candidates (private); None for none."""
        self._what_if = what_if
        self.try_halfplane(None)

    def point(self, at: tuple[float, float] | None) -> None:
        """The pointer is at (u, v) of the sheet, or away."""
        self._at = at
        if not self._timer.isActive():
            self._timer.start()

    def try_at(self, at: tuple[float, float]) -> None:
        """Try the halfplane at (u, v) of the sheet in place of the chosen one."""
        if self._lattice is not None and self._what_if is not None:
            halfplane = nearest_halfplane(self._lattice, self._sheet, *at)
            if halfplane is not None:
                self._at = None  # until the pointer moves again
                self.try_halfplane(halfplane)

    def try_halfplane(self, halfplane: Halfplane | None) -> None:
        """Keep a halfplane in place of the chosen one; None for none."""
        self._tried = halfplane
        self.tried_changed.emit(halfplane)
        self.look()

    def drop(self) -> None:
        """Escape: nothing is tried or pointed at."""
        self._at = None
        self.try_halfplane(None)

    def nudge(self, du: float, dv: float) -> None:
        """Move what is tried, at first the chosen point."""
        at = self._tried or self._chosen
        if at is not None:
            u, v = dual_position(at)
            self.try_at((u + du, v + dv))

    def look(self) -> None:
        """See what is there now, and tell."""
        self.pointed = None
        if self._at is not None and self._lattice is not None:
            self.pointed = nearest_halfplane(self._lattice, self._sheet, *self._at)
        self.halfplane = halfplane = self.pointed or self._tried
        self.candidate = None
        if halfplane and self._what_if and halfplane.lattice == self._lattice:
            self.candidate = self._what_if.judge(halfplane)
        self.changed.emit()
