"""The plane is one plot, which shows target, examples and learned shape, and feeds the tools.

Holds no state of its own: the editor (:mod:`geodp_app.drawing.editor`) takes the pointer and the
keys in grid units, the layers draw what it and the run say.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QLabel

from geodp_app.actions import key
from geodp_app.drawing.editor import Editor, Modifiers
from geodp_app.drawing.faults import Fault
from geodp_app.palette import Palette
from geodp_app.views.plane.drawing_layer import DrawingLayer
from geodp_app.views.plane.examples_layer import ExampleKinds, ExamplesLayer, ReportLayer
from geodp_app.views.plane.learned_layer import (
    LearnedLayer,
    MaskLayer,
    QuestionsLayer,
    SupportLayer,
    VotesLayer,
)
from geodp_app.views.widgets.plotting import GridPlot

#: Pixels within which something is hit.
_PICK = 9

_EMPTY = (
    "Draw a target: click to place vertices, Enter closes.\n"
    f"Or drag a rectangle ({key('rectangle')}), draw freehand ({key('freehand')}), open an "
    "example, or drop a GeoJSON or CSV file here."
)

_NAMES = ("Enter", "Escape", "Backspace", "Delete", "Insert", "Left", "Right", "Up", "Down")
_KEYS = {Qt.Key.Key_Return: "Enter", **{Qt.Key[f"Key_{name}"]: name for name in _NAMES}}


class PlaneView(GridPlot):
    """The plot of the plane, in grid units, y up."""

    #: The pointer's position in grid units, or None when it left.
    pointed = Signal(object)
    #: The editor took an event: repaint what depends on it.
    edited = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Plane")
        self.setAccessibleDescription("Target drawing, examples and learned shape on the grid")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        plot = self.getPlotItem()
        self.mask = MaskLayer(plot, 7)
        self.support = SupportLayer(plot, 24)
        self.examples = ExamplesLayer(plot, 10)
        self.drawing = DrawingLayer(plot, 30)
        self.learned = LearnedLayer(plot, 20)
        self.votes = VotesLayer(plot, 22)
        self.report = ReportLayer(plot, 26)
        self.questions = QuestionsLayer(plot, 40)
        self.empty = QLabel(_EMPTY, self, wordWrap=True, alignment=Qt.AlignmentFlag.AlignCenter)
        self.empty.setObjectName("emptyState")
        self.empty.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.empty.hide()
        #: Whose tools this plane feeds.
        self.editor: Editor | None = None
        self._held = False  # Space: the hand takes over
        self._has_examples = self._release = False
        #: The grid point that the hand has taken.
        self._grabbed: tuple[float, float] | None = None

    # what to show

    @property
    def grid(self) -> int:
        """Grid size of what is shown; 1 before anything is."""
        return 1 if self._frame is None else self._frame.d

    def set_palette(self, palette: Palette) -> None:
        super().set_palette(palette)
        self.border.setBrush(pg.mkBrush(palette.canvas))
        layers = (self.mask, self.support, self.examples, self.drawing, self.learned, self.votes)
        for layer in (*layers, self.questions, self.report):
            layer.set_palette(palette)

    def show_examples(self, examples: ExampleKinds | None) -> None:
        """Examples and what each is at the step shown."""
        self.examples.show(examples, self.grid)
        self._has_examples = examples is not None
        self._show_empty()

    def edge_at(self, at: tuple[float, float]) -> int:
        """The newest piece's edge at a place, from 0; -1 for none."""
        return self.learned.edge_at(*at, self._radius())

    def show_drawing(self, faults: Sequence[Fault]) -> None:
        """The drawing, the draft and what is wrong with them."""
        if self.editor is not None:
            self.drawing.show(self.editor, faults)
            self._set_cursor()
            self._show_empty()

    def set_release_view(self, release: bool) -> None:
        """Only the learned region may stay."""
        self._release = release
        self._show_empty()
        for layer in (self.examples, self.drawing, self.learned, self.votes, self.report):
            layer.set_visible(not release)

    def _show_empty(self) -> None:
        """Say how to begin while there is nothing."""
        tool = None if self.editor is None else self.editor.current
        drawn = tool is not None and (tool.shown.shapes or tool.draft is not None)
        self.empty.setVisible(not (drawn or self._has_examples or self._release))
        self._place_empty()

    def _place_empty(self) -> None:
        self.empty.setFixedWidth(min(360, max(120, self.width() - 120)))
        self.empty.adjustSize()
        self.empty.move(self.rect().center() - self.empty.rect().center())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if hasattr(self, "empty"):  # the base class resizes while it is made
            self._place_empty()

    # where things are

    def to_grid(self, position: QPointF) -> tuple[float, float]:
        """Grid units of a position in the widget."""
        at = self.getViewBox().mapSceneToView(self.mapToScene(position.toPoint()))
        return at.x(), at.y()

    def to_widget(self, x: float, y: float) -> QPointF:
        """Position in the widget of a grid point."""
        return QPointF(self.mapFromScene(self.getViewBox().mapViewToScene(QPointF(x, y))))

    def _radius(self) -> float:
        return _PICK * float(self.getViewBox().viewPixelSize()[0])

    # events

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A press belongs to the tool, or to panning."""
        self._press(event, double=False)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._press(event, double=True)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Follow the pointer: hover, or drag what is held."""
        at = self.to_grid(event.position())
        if self._grabbed is not None:
            # the grid point that was taken stays under the pointer
            self.getViewBox().translateBy(x=self._grabbed[0] - at[0], y=self._grabbed[1] - at[1])
            return
        self.pointed.emit(at)
        if self.editor is not None and not self._panning():
            self.editor.move(at, self._radius(), _modifiers(event))
            self.edited.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._grabbed is not None:
            self._grabbed = None
            self._set_cursor()
        elif self.editor is not None and event.button() == Qt.MouseButton.LeftButton:
            at = self.to_grid(event.position())
            self.editor.release(at, self._radius(), _modifiers(event))
            self.edited.emit()

    def leaveEvent(self, event: QEvent) -> None:
        self.pointed.emit(None)
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys of the tools; Space lends the hand."""
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self._held = True
            self._set_cursor()
            return
        name = _KEYS.get(Qt.Key(event.key()))
        if name and self.editor is not None and self.editor.key(name, _modifiers(event)):
            self.edited.emit()
            return
        event.ignore()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """The hand goes back."""
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self._held = False
            self._set_cursor()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """A held key is not heard of again."""
        self._held = False
        super().focusOutEvent(event)

    def _press(self, event: QMouseEvent, *, double: bool) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        at = self.to_grid(event.position())
        left = event.button() == Qt.MouseButton.LeftButton
        if event.button() == Qt.MouseButton.MiddleButton or (left and self._panning()):
            self._grabbed = at
            self._set_cursor()
        elif left and self.editor is not None:
            self.editor.press(at, self._radius(), _modifiers(event), double=double)
            self.edited.emit()
            event.accept()

    def _panning(self) -> bool:
        return self._held or self.editor is None or self.editor.tool == "pan"

    def _set_cursor(self) -> None:
        tool = self.editor.tool if self.editor is not None else "pan"
        if self._grabbed is not None:
            shape = Qt.CursorShape.ClosedHandCursor
        elif self._held or tool == "pan":
            shape = Qt.CursorShape.OpenHandCursor
        elif tool in ("select", "vertices"):
            hovering = self.editor is not None and self.editor.current.hover is not None
            shape = Qt.CursorShape.PointingHandCursor if hovering else Qt.CursorShape.ArrowCursor
        else:
            shape = Qt.CursorShape.CrossCursor
        self.viewport().setCursor(shape)


def _modifiers(event: QMouseEvent | QKeyEvent) -> Modifiers:
    held = event.modifiers()
    return Modifiers(
        shift=bool(held & Qt.KeyboardModifier.ShiftModifier),
        alt=bool(held & Qt.KeyboardModifier.AltModifier),
    )
