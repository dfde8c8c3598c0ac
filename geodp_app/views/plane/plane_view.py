"""The plane is one plot, which shows target, examples and learned shape, and feeds the tools.

Holds no state of its own: the editor (:mod:`geodp_app.drawing.editor`) takes the pointer and the
keys in grid units, the layers draw what it and the run say.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache

import pyqtgraph as pg
import shapely
from PySide6.QtCore import QEvent, QObject, QPointF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainterPath, QResizeEvent
from PySide6.QtWidgets import QGraphicsPathItem, QLabel

from geodp_app.actions import key
from geodp_app.drawing.editor import Draft, Editor, Modifiers
from geodp_app.drawing.faults import Fault, faults
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.palette import Palette
from geodp_app.views.plane.examples_layer import ExampleKinds, ExamplesLayer, ReportLayer
from geodp_app.views.plane.learned_layer import (
    LearnedLayer,
    MaskLayer,
    QuestionsLayer,
    SupportLayer,
    VotesLayer,
)
from geodp_app.views.widgets.plotting import (
    Dots,
    GridPlot,
    Layer,
    cosmetic,
    line_path,
    ring_path,
    tinted,
)
from geodp_app.views.widgets.tasks import timer
from geometry.polygons import orient_valid

#: Vertices are drawn as handles up to this many, and so many faults are told in words.
_MOST_HANDLES, _MOST_WORDS = 40_000, 5
#: Drawings with more vertices are looked at when the hand rests, in milliseconds.
_LARGE, _REST = 600, 150


class DrawingLayer(Layer):
    """Items of the drawing in one plot; the keyboard's cursor is no data."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        super().__init__(plot)
        self._area = self._add(z - 0.05, QGraphicsPathItem())
        self._target = self._add(z, QGraphicsPathItem())
        self._selected_area = self._add(z + 0.05, QGraphicsPathItem())
        self._selected = self._add(z + 0.1, QGraphicsPathItem())
        self._draft = self._add(z + 0.2, QGraphicsPathItem())
        self._preview = self._add(z + 0.15, QGraphicsPathItem())
        self._dabs = self._add(z - 0.1, QGraphicsPathItem())
        self._handles = self._add(z + 0.3, Dots(7, "s"))
        self._placed = self._add(z + 0.4, Dots(8, "o"))
        self._hovered = self._add(z + 0.5, Dots(12, "o"))
        self._faults = self._add(z + 0.6, Dots(15, "x"))
        self._cursor = self._add(z + 0.7, Dots(19, "+"), stays=True)
        self._words = [self._add(90, pg.TextItem(anchor=(0.5, 1.4))) for _ in range(_MOST_WORDS)]
        self._drawn: tuple[Drawing | None, str] = (None, "")

    def set_palette(self, palette: Palette) -> None:
        for word in self._words:
            word.setColor(palette.danger)
        self._target.setPen(cosmetic(palette.target, 1.8, dash=(5, 3)))
        self._area.setPen(pg.mkPen(None))
        self._area.setBrush(tinted(palette.target, 0.05))
        self._selected.setPen(cosmetic(palette.selection, 2.4))
        self._selected_area.setPen(pg.mkPen(None))
        self._selected_area.setBrush(tinted(palette.selection, 0.12))
        self._draft.setPen(cosmetic(palette.accent, 2.0))
        self._preview.setPen(cosmetic(palette.accent, 1.2, dash=(3, 3)))
        self._preview.setBrush(tinted(palette.accent, 0.10))
        self._dabs.setPen(cosmetic(palette.soft_ink, 0.6, alpha=0.5))
        self._dabs.setBrush(tinted(palette.soft_ink, 0.12))
        for item, edge, fill in (
            (self._handles, palette.target, palette.canvas),
            (self._placed, palette.accent, palette.canvas),
            (self._hovered, palette.selection, None),
            (self._faults, palette.danger, None),
            (self._cursor, palette.focus, None),
        ):
            item.setPen(cosmetic(edge, 2.2 if fill is None else 1.4))
            item.setBrush(pg.mkBrush(fill))

    def show(self, editor: Editor, shapes_faults: Sequence[Fault]) -> None:
        """Show the drawing and the tool's state."""
        tool, cursor = editor.current, editor.desk.cursor
        drawing, hover = tool.shown, tool.hover
        if self._drawn[0] is not drawing or self._drawn[1] != tool.name:  # few moves change either
            self._drawn = drawing, tool.name
            rings = [ring for shape in drawing.shapes for ring in shape.rings]
            self._target.setPath(ring_path(rings))
            self._area.setPath(union_path(drawing.shapes))
            handles = [p for ring in rings for p in ring] if tool.name == "vertices" else []
            self._handles.show_at(handles[:_MOST_HANDLES])
        self._selected.setPath(ring_path(editor.selected_rings()))
        self._selected_area.setPath(union_path(editor.selected_parts()))
        draft = tool.draft or Draft((), ())
        self._draft.setPath(line_path(draft.vertices))
        self._preview.setPath(ring_path([draft.preview] if draft.preview else []))
        self._placed.show_at(draft.vertices)
        self._hovered.show_at([hover.position] if hover and hover.position else [])
        self._cursor.show_at([cursor] if cursor else [])
        faults = [*shapes_faults, *([draft.fault] if draft.fault else [])]
        self._faults.show_at([fault.at for fault in faults])
        for word, fault in itertools.zip_longest(self._words, faults[:_MOST_WORDS]):
            word.setText("" if fault is None else fault.text)
            word.setPos(*((0, 0) if fault is None else fault.at))

    def show_dabs(self, dabs: Sequence[tuple[int, int, int]]) -> None:
        """Show where a painted sample comes from."""
        path = QPainterPath()
        for x, y, r in dabs:
            path.addEllipse(x - r, y - r, 2 * r, 2 * r)
        self._dabs.setPath(path.simplified() if len(dabs) < 200 else path)


def union_path(shapes: Sequence[Shape]) -> QPainterPath:
    """The area that shapes cover together, each even-odd; to be filled, not outlined."""
    if len(shapes) == 1:
        return ring_path(shapes[0].rings)
    path = ring_path(ring for shape in shapes for ring in _wound(shape))
    path.setFillRule(Qt.FillRule.WindingFill)
    return path


@lru_cache(maxsize=1024)
def _wound(shape: Shape) -> tuple[tuple[tuple[float, float], ...], ...]:
    """A shape's rings, outlines one way and holes the other: where shapes overlap, turns add up.

    While one of them is dragged the others are as they were.
    """
    figure = shape.figure()
    crossed = not figure.is_valid
    if crossed and shapely.get_num_coordinates(figure) > _LARGE:
        return shape.rings  # to find its region would stop the hand
    parts = shapely.get_parts(shape.region() if crossed else orient_valid(figure))
    rings = (ring for part in parts for ring in (part.exterior, *part.interiors))
    return tuple(tuple(ring.coords[:-1]) for ring in rings)


class FaultWatch:
    """The faults of the drawing that an editor shows."""

    def __init__(self, editor: Editor, found: Callable[[], None], parent: QObject) -> None:
        self._editor, self._tell = editor, found
        self.found: tuple[Fault, ...] = ()
        self._looked_at: Drawing | None = None
        self._timer = timer(parent, _REST, self._look)

    def refresh(self) -> None:
        """Draw again what the editor shows."""
        drawing = self._editor.current.shown
        if drawing is not self._looked_at:
            if sum(len(ring) for shape in drawing.shapes for ring in shape.rings) > _LARGE:
                self._timer.start()
            else:
                self._look()
                return
        self._tell()

    def _look(self) -> None:
        self._looked_at = self._editor.current.shown
        self.found = faults(self._looked_at)
        self._tell()


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

    #: Whose tools this plane feeds; whoever makes the plane gives it.
    editor: Editor

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
        self._held = False  # Space: the hand takes over
        self._release = False
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
        had_some = self.examples.shown is not None
        self.examples.show(examples, self.grid)
        if had_some != (examples is not None):
            self._show_empty()

    def edge_at(self, at: tuple[float, float]) -> int:
        """The newest piece's edge at a place, from 0; -1 for none."""
        return self.learned.edge_at(*at, self._radius())

    def show_drawing(self, faults: Sequence[Fault]) -> None:
        """The drawing, the draft and what is wrong with them."""
        self.drawing.show(self.editor, faults)
        self._set_cursor()
        self._show_empty()

    def set_release_view(self, release: bool) -> None:
        """Only the learned region may stay."""
        if release == self._release:
            return
        self._release = release
        self._set_cursor()
        self._show_empty()
        for layer in (self.examples, self.drawing, self.learned, self.votes, self.report):
            layer.set_visible(not release)

    def _show_empty(self) -> None:
        """Say how to begin while there is nothing."""
        tool = self.editor.current
        drawn = tool.shown.shapes or tool.draft is not None
        hidden = drawn or self._release or self.examples.shown is not None
        self.empty.setVisible(not hidden)
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
        """A press, also the second of a double click, belongs to the tool, or to panning."""
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        at = self.to_grid(event.position())
        left = event.button() == Qt.MouseButton.LeftButton
        if event.button() == Qt.MouseButton.MiddleButton or (left and self._panning()):
            self._grabbed = at
            self._set_cursor()
        elif left:
            double = event.type() == QEvent.Type.MouseButtonDblClick
            self.editor.press(at, self._radius(), _modifiers(event), double=double)
            self.edited.emit()
            event.accept()

    mouseDoubleClickEvent = mousePressEvent  # noqa: N815 - the toolkit's name

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Follow the pointer: hover, or drag what is held."""
        at = self.to_grid(event.position())
        if self._grabbed is not None:
            # the grid point that was taken stays under the pointer
            self.getViewBox().translateBy(x=self._grabbed[0] - at[0], y=self._grabbed[1] - at[1])
            return
        self.pointed.emit(at)
        if not self._panning():
            self.editor.move(at, self._radius(), _modifiers(event))
            self.edited.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._grabbed is not None:
            self._grabbed = None
            self._set_cursor()
        elif event.button() == Qt.MouseButton.LeftButton:
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
        if name and not self._locked and self.editor.key(name, _modifiers(event)):
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

    @property
    def _locked(self) -> bool:
        """Whether the drawing is hidden, and so not to be changed: the view can be moved alone."""
        return self._release and self.editor.tool != "ask"

    def _panning(self) -> bool:
        return self._held or self._locked or self.editor.tool == "pan"

    def _set_cursor(self) -> None:
        if self._grabbed is not None:
            shape = Qt.CursorShape.ClosedHandCursor
        elif self._panning():
            shape = Qt.CursorShape.OpenHandCursor
        elif self.editor.tool in ("select", "vertices"):
            hovering = self.editor.current.hover is not None
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
