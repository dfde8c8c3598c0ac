"""The plot of one sheet: axes with as many digits as the zoom needs, mouse and keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

from geodp_app.dual.sheets import Window, digits_for, number
from geodp_app.palette import Palette

#: Factor of one key press.
_ZOOM = 1.5
#: Share of the window moved by one key press.
_STEP = 0.1

_MOVES = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Down: (0, -1),
    Qt.Key.Key_Up: (0, 1),
}
_OWN = (Qt.Key.Key_F, Qt.Key.Key_Escape)
_ZOOMS = {
    Qt.Key.Key_Plus: 1 / _ZOOM,
    Qt.Key.Key_Equal: 1 / _ZOOM,
    Qt.Key.Key_Minus: _ZOOM,
    Qt.Key.Key_Underscore: _ZOOM,
}


class DualAxis(pg.AxisItem):  # type: ignore[misc]
    """Values that stay apart however deep the zoom."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)
        self.enableAutoSIPrefix(False)

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Texts of the ticks."""
        digits = 0 if spacing >= 1 else digits_for(spacing)
        return [number(value, digits) for value in values]


class SheetPlot(pg.PlotWidget):  # type: ignore[misc]
    """A plot that pans by drag and arrows, zooms by wheel, + and −, and fits by F."""

    #: (u, v) under the pointer, or None.
    pointed = Signal(object)
    #: (x, y) of a click, in pixels of the view box.
    clicked = Signal(object)
    #: F was pressed.
    fit_wanted = Signal()
    #: The person moved the window by mouse or keys.
    moved_by_hand = Signal()
    #: (u, v) to which what was taken is dragged.
    dragged = Signal(object)
    #: Shift and an arrow key: two pixels across or up, in units of the sheet.
    nudged = Signal(float, float)
    #: Escape was pressed.
    dropped = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        axes = {name: DualAxis(name) for name in ("bottom", "left")}
        super().__init__(parent, axisItems=axes, enableMenu=False)
        self.axes = axes
        self._labelled, self._line = True, 16
        #: Whether something at a place, in pixels of the view box, can be dragged.
        self.grabs: Callable[[QPointF], bool] = lambda at: False
        self._dragging = False
        self.box: pg.ViewBox = self.getViewBox()
        self.box.disableAutoRange()
        self.plotItem.hideButtons()
        self.plotItem.layout.setContentsMargins(2, 4, 8, 7)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setMinimumSize(120, 84)
        self.box.sigRangeChangedManually.connect(lambda *_: self.moved_by_hand.emit())
        self.scene().sigMouseClicked.connect(self._click)

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self.setBackground(palette.canvas)
        font = QFont(self.font())
        font.setPointSizeF(max(7.5, font.pointSizeF() * 0.85))
        for axis in self.axes.values():
            axis.setPen(palette.border)
            axis.setTextPen(palette.ink)
            axis.setTickFont(font)
            axis.label.setFont(font)
            axis.setStyle(tickLength=-4)
        self._line = round(QFontMetricsF(font).height())
        self._show_labels()

    def set_labels(self, across: str, up: str) -> None:
        """What the axes are."""
        for name, text in (("bottom", across), ("left", up)):
            self.axes[name].setLabel(text)
        self._show_labels()

    def set_labelled(self, labelled: bool) -> None:
        """Whether there is room to say what the axes are."""
        self._labelled = labelled
        self._show_labels()

    def _show_labels(self) -> None:
        for axis in self.axes.values():
            axis.showLabel(self._labelled)
        self.axes["bottom"].setHeight((1 + self._labelled) * self._line + 10)

    def window(self) -> Window:
        """The dual points in sight."""
        (u0, u1), (v0, v1) = self.box.viewRange()
        return Window(u0, u1, v0, v1)

    def set_window(self, window: Window) -> None:
        """Show at least these dual points."""
        self.box.setRange(
            xRange=(window.u0, window.u1),
            yRange=(window.v0, window.v1),
            padding=0,
            disableAutoRange=True,
        )

    def zoom(self, factor: float) -> None:
        """Scale the window about its middle; above 1 it shows more."""
        self.box.scaleBy((factor, factor))
        self.moved_by_hand.emit()

    # events

    def event(self, event: QEvent) -> bool:
        """Keep the plot's own keys from shortcuts of the window."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and _plain(event)
            and (event.key() in _MOVES or event.key() in _ZOOMS or event.key() in _OWN)
        ):
            event.accept()
            return True
        return bool(super().event(event))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows pan, with Shift they move the point; + and − zoom, F fits, Escape drops."""
        key = Qt.Key(event.key())
        if not _plain(event):
            event.ignore()
        elif key in _MOVES:
            window = self.window()
            across, up = _MOVES[key][0] * window.width, _MOVES[key][1] * window.height
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self.nudged.emit(2 * across / max(1, self.width()), 2 * up / max(1, self.height()))
            else:
                self.box.translateBy(x=_STEP * across, y=_STEP * up)
                self.moved_by_hand.emit()
        elif key in _ZOOMS:
            self.zoom(_ZOOMS[key])
        elif key == Qt.Key.Key_F:
            self.fit_wanted.emit()
        elif key == Qt.Key.Key_Escape:
            self.dropped.emit()
        else:
            event.ignore()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take what can be dragged, or begin to pan."""
        scene = self.mapToScene(event.position().toPoint())
        left = event.button() == Qt.MouseButton.LeftButton
        self._dragging = left and self.grabs(self.box.mapFromScene(scene))
        if self._dragging:
            self.setFocus(Qt.FocusReason.MouseFocusReason)
            event.accept()
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell what is under the pointer."""
        at = self.dual_at(self.mapToScene(event.position().toPoint()))
        if self._dragging:
            if at is not None:
                self.dragged.emit(at)
            return
        super().mouseMoveEvent(event)
        self.pointed.emit(at)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Leave what was dragged where it is."""
        if self._dragging:
            self._dragging = False
            event.accept()
        else:
            super().mouseReleaseEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is under the pointer."""
        super().leaveEvent(event)
        self.pointed.emit(None)

    def dual_at(self, at: QPointF) -> tuple[float, float] | None:
        """The dual coordinates of a place of the scene; None where no plane is."""
        area = self.box.sceneBoundingRect()
        if not area.contains(at) or area.width() <= 0 or area.height() <= 0:
            return None
        window = self.window()
        u = window.u0 + (at.x() - area.left()) / area.width() * window.width
        v = window.v1 - (at.y() - area.top()) / area.height() * window.height
        return u, v

    def _click(self, event: Any) -> None:
        at = event.scenePos()
        if event.button() == Qt.MouseButton.LeftButton and self.box.sceneBoundingRect().contains(
            at
        ):
            self.clicked.emit(self.box.mapFromScene(at))


def _plain(event: QKeyEvent) -> bool:
    """No Ctrl, Alt or Meta; Shift may be needed for +."""
    shift, keypad = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.KeypadModifier
    return not (event.modifiers() & ~(shift | keypad))
