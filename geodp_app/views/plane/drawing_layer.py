"""Draws the target on the plane: its shapes, what is being drawn, handles and faults.

Faults are looked for without slowing the hand that draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import pyqtgraph as pg
import shapely
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QPainterPath
from PySide6.QtWidgets import QGraphicsPathItem

from geodp_app.drawing.editor import Draft, Editor
from geodp_app.drawing.faults import Fault, faults
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.palette import Palette
from geodp_app.views.widgets.plotting import Dots, added, cosmetic, line_path, ring_path, tinted
from geometry.polygons import orient_valid

#: Vertices are drawn as handles up to this many.
_MOST_HANDLES = 40_000
#: Drawings with more vertices are looked at when the hand rests, in milliseconds.
_LARGE, _REST = 600, 150


class DrawingLayer:
    """Items of the drawing in one plot."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self._plot = plot
        self._area = added(plot, z - 0.05, QGraphicsPathItem())
        self._target = added(plot, z, QGraphicsPathItem())
        self._selected_area = added(plot, z + 0.05, QGraphicsPathItem())
        self._selected = added(plot, z + 0.1, QGraphicsPathItem())
        self._draft = added(plot, z + 0.2, QGraphicsPathItem())
        self._preview = added(plot, z + 0.15, QGraphicsPathItem())
        self._dabs = added(plot, z - 0.1, QGraphicsPathItem())
        self._handles = added(plot, z + 0.3, Dots(7, "s"))
        self._placed = added(plot, z + 0.4, Dots(8, "o"))
        self._hovered = added(plot, z + 0.5, Dots(12, "o"))
        self._faults = added(plot, z + 0.6, Dots(15, "x"))
        self._cursor = added(plot, z + 0.7, Dots(19, "+"))
        self._words: list[pg.TextItem] = []
        self._palette: Palette | None = None
        self._drawn: tuple[Drawing | None, str] = (None, "")

    def set_palette(self, palette: Palette) -> None:
        self._palette = palette
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
        self._show_draft(tool.draft or Draft((), ()))
        self._hovered.show_at([hover.position] if hover and hover.position else [])
        self._cursor.show_at([cursor] if cursor else [])
        own = None if tool.draft is None else tool.draft.fault
        self._show_faults([*shapes_faults, *([own] if own else [])])

    def show_dabs(self, dabs: Sequence[tuple[int, int, int]]) -> None:
        """Show where a painted sample comes from."""
        path = QPainterPath()
        for x, y, r in dabs:
            path.addEllipse(x - r, y - r, 2 * r, 2 * r)
        self._dabs.setPath(path.simplified() if len(dabs) < 200 else path)

    def set_visible(self, visible: bool) -> None:
        """Show or hide everything but the keyboard's cursor, which is no data."""
        items = (
            self._area, self._target, self._selected_area, self._selected, self._draft,
            self._preview, self._dabs, self._handles, self._placed, self._hovered, self._faults,
        )  # fmt: skip
        for item in (*items, *self._words):
            item.setVisible(visible)

    def _show_draft(self, draft: Draft) -> None:
        self._draft.setPath(line_path(draft.vertices))
        self._preview.setPath(ring_path([draft.preview] if draft.preview else []))
        self._placed.show_at(draft.vertices)

    def _show_faults(self, faults: Sequence[Fault]) -> None:
        self._faults.show_at([fault.at for fault in faults])
        for word in self._words:
            self._plot.removeItem(word)
        self._words = []
        assert self._palette is not None
        for fault in faults[:5]:
            word = pg.TextItem(fault.text, color=self._palette.danger, anchor=(0.5, 1.4))
            word.setPos(*fault.at)
            word.setZValue(90)
            self._plot.addItem(word, ignoreBounds=True)
            self._words.append(word)


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
        self._timer = QTimer(parent, singleShot=True, interval=_REST)
        self._timer.timeout.connect(self._look)

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
