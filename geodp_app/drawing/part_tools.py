"""Two drawing tools: one selects, moves and deletes shapes and holes, one edits vertices.

Vertices are moved, inserted on edges, removed.  A ring is open, so its closing vertex is one.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import ClassVar

from geodp_app.drawing.hits import Handle, nearest_edge, nearest_vertex, shape_at
from geodp_app.drawing.ring_tools import DRAG
from geodp_app.drawing.shapes import (
    Drawing,
    translated,
    with_inserted,
    with_vertex,
    without,
    without_vertex,
)
from geodp_app.drawing.tool import Desk, Pointer, Tool, ToolName


@dataclass(frozen=True, slots=True)
class _PartDrag:
    """The button is down on a part."""

    #: The part.
    hit: Handle
    #: Where the button went down, in grid units.
    start: tuple[float, float]
    #: How far the pointer must go before anything moves.
    reach: float
    #: None until something moves.
    preview: Drawing | None = None


class SelectTool(Tool):
    """A click selects, Shift adds to the selection, a drag moves."""

    name: ClassVar[ToolName] = "select"
    picks: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._drag: _PartDrag | None = None

    @property
    def shown(self) -> Drawing:
        moved = self._drag.preview if self._drag else None
        return self.desk.drawing if moved is None else moved

    @property
    def hint(self) -> str:
        if self.selected:
            return "Drag or press the arrows to move, Delete to delete, Esc to let go."
        return "Click a shape or a hole to select it."

    def press(self, pointer: Pointer) -> None:
        self._drag = None
        hit = self._hit(pointer)
        if hit is None:
            if not pointer.modifiers.shift:
                self.selected = ()
            return
        if pointer.modifiers.shift:
            rest = tuple(each for each in self.selected if each != hit)
            self.selected = rest if hit in self.selected else (*rest, hit)
            return
        # what was not selected resists longer, so that nothing moves by accident
        reach = (DRAG if hit in self.selected else 2 * DRAG) * pointer.radius
        if hit not in self.selected:
            self.selected = (hit,)
        self._drag = _PartDrag(hit, pointer.at, reach)

    def move(self, pointer: Pointer) -> None:
        drag = self._drag
        if drag is None:
            self.hover = self._hit(pointer)
        elif drag.preview is not None or not pointer.near(drag.start, drag.reach):
            step = (round(pointer.at[0] - drag.start[0]), round(pointer.at[1] - drag.start[1]))
            preview, _ = translated(self.desk.drawing, _parts(self.selected), step)
            self._drag = replace(drag, preview=preview)

    def release(self, pointer: Pointer) -> None:
        if self._drag is None:
            return
        self.move(pointer)
        drag, self._drag = self._drag, None
        if drag.preview is not None:
            self._move_to(drag.preview)
        else:  # a click on one of several selects it alone
            self.selected = (drag.hit,)

    def escape(self) -> bool:
        if self._drag is not None and self._drag.preview is not None:
            self.desk.say("Move cancelled.")
            self._drag = None
            return True
        used, self.selected, self._drag = bool(self.selected), (), None
        return used

    def delete(self) -> bool:
        if not self.selected:
            return False
        gone, self.selected, self._drag, self.hover = self.selected, (), None, None
        name = _name(gone)
        self.desk.edit(f"delete {name}", without(self.desk.drawing, _parts(gone)))
        self.desk.say(f"Deleted {name}. Undo brings it back.")
        return True

    def nudge(self, step: tuple[int, int]) -> bool:
        if not self.selected:
            return False
        if self._drag is None:
            moved, by = translated(self.desk.drawing, _parts(self.selected), step)
            self._move_to(moved, merge=("nudge", *_parts(self.selected)))
            if self.desk.cursor is not None:
                x, y = self.desk.cursor
                self.desk.cursor = self.desk.on_grid((x + by[0], y + by[1]))
        return True

    def undo_vertex(self) -> bool:
        return self._drag is not None and self._drag.preview is not None and self.escape()

    def forget(self, before: Drawing) -> None:
        self.selected, self.hover, self._drag = (), None, None

    def _hit(self, pointer: Pointer) -> Handle | None:
        hit = shape_at(self.desk.outlines, pointer.at)
        if hit is not None:
            return hit
        # just beside a shape its outline counts too: thin shapes can be taken hold of
        edge = nearest_edge(self.desk.outlines, pointer.at, DRAG * pointer.radius)
        return None if edge is None else Handle("shape", edge.shape)

    def _move_to(self, moved: Drawing, *, merge: Hashable = None) -> None:
        self.desk.change(f"move {_name(self.selected)}", moved, merge=merge, told="hole")


def _parts(handles: tuple[Handle, ...]) -> list[tuple[int, int]]:
    return [(handle.shape, handle.ring) for handle in handles]


def _name(handles: tuple[Handle, ...]) -> str:
    """What is selected, in words."""
    if len(handles) == 1:
        return f"a {handles[0].kind}"
    kinds = {handle.kind for handle in handles}
    return f"{len(handles)} {kinds.pop() + 's' if len(kinds) == 1 else 'parts'}"


@dataclass(frozen=True, slots=True)
class _VertexDrag:
    """The button is down on a vertex."""

    start: tuple[float, float]
    #: With the vertex where it was taken hold of; inserted, if it is a new one.
    base: Drawing
    #: Of the edit that results.
    label: str
    #: The drawing that results.
    preview: Drawing
    #: The pointer left the place of the press.
    moving: bool = False


class VerticesTool(Tool):
    """A drag moves a vertex, a click on an edge inserts one, Alt and a click removes one."""

    name: ClassVar[ToolName] = "vertices"
    picks: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._selected: tuple[int, int, int] | None = None  # shape, ring, index
        self._hover: Handle | None = None
        self._drag: _VertexDrag | None = None

    @property
    def hover(self) -> Handle | None:  # type: ignore[override]
        return self._hover or next(iter(self.selected), None)

    @property
    def selected(self) -> tuple[Handle, ...]:  # type: ignore[override]
        if self._selected is None:
            return ()
        shape, ring, index = self._selected
        position = self.shown.shapes[shape].rings[ring][index]
        return (Handle("vertex", shape, ring, index, position),)

    @property
    def shown(self) -> Drawing:
        return self.desk.drawing if self._drag is None else self._drag.preview

    @property
    def hint(self) -> str:
        if self._drag is not None:
            return "Release to drop the vertex, Esc puts it back."
        if self._hover is not None and self._hover.kind == "edge":
            return "Click to insert a vertex here, or drag it out."
        if self._hover is not None:
            return "Drag to move this vertex; Alt+click or Delete removes it."
        if self._selected is not None:
            return "Arrows move the vertex, Delete removes it, Esc lets go."
        return "Point at a vertex to move it, at an edge to insert one."

    # events

    def press(self, pointer: Pointer) -> None:
        self.undo_vertex()
        hit = self._hover = self._hit(pointer)
        removing = pointer.modifiers.alt and hit is not None and hit.kind == "vertex"
        if hit is None:
            self._selected = None
        elif pointer.double and (removing or hit.kind == "edge"):
            return  # the first press of the double click did what was meant
        elif hit.kind == "edge":
            self._insert(hit, pointer)
        elif removing:
            self._remove(hit)
        else:
            self._selected = (hit.shape, hit.ring, hit.index)
            drawing = self.desk.drawing
            self._drag = _VertexDrag(pointer.at, drawing, "move a vertex", drawing)

    def move(self, pointer: Pointer) -> None:
        drag = self._drag
        if drag is None or self._selected is None:
            self._hover = self._hit(pointer)
        elif drag.moving or not pointer.near(drag.start, DRAG * pointer.radius):
            shape, ring, index = self._selected
            # its own ring does not catch the vertex: that would only make faults
            point = self.desk.snapped(pointer, beside=(shape, ring))
            preview = with_vertex(drag.base, shape, ring, index, point)
            self._drag = replace(drag, preview=preview, moving=True)
            self._hover = None

    def release(self, pointer: Pointer) -> None:
        if self._drag is None:
            return
        self.move(pointer)
        drag, self._drag = self._drag, None
        self.desk.change(drag.label, drag.preview)
        self._hover = self._hit(pointer)

    def enter(self) -> bool:
        return self._drag is None and self._let_go()

    def escape(self) -> bool:
        return self.undo_vertex() or self._let_go()

    def delete(self) -> bool:
        vertex = next(iter(self.selected), self._hover)
        if self._drag is not None or vertex is None or vertex.kind != "vertex":
            return False
        self._remove(vertex)
        return True

    def nudge(self, step: tuple[int, int]) -> bool:
        if self._selected is None:
            return False
        if self._drag is None:
            shape, ring, index = self._selected
            x, y = self.desk.drawing.shapes[shape].rings[ring][index]
            point = self.desk.on_grid((x + step[0], y + step[1]))
            moved = with_vertex(self.desk.drawing, shape, ring, index, point)
            self.desk.change("move a vertex", moved)
            self._hover, self.desk.cursor = None, point
        return True

    def forget(self, before: Drawing) -> None:
        self._selected, self._hover, self._drag = None, None, None

    # changes

    def _hit(self, pointer: Pointer) -> Handle | None:
        outlines, at, radius = self.desk.outlines, pointer.at, pointer.radius
        return nearest_vertex(outlines, at, radius) or nearest_edge(outlines, at, radius)

    def _insert(self, edge: Handle, pointer: Pointer) -> None:
        """Put a vertex on an edge and take hold of it."""
        ring = self.desk.drawing.shapes[edge.shape].rings[edge.ring]
        point = edge.position
        if point is None or point in (ring[edge.index], ring[(edge.index + 1) % len(ring)]):
            self._selected = None
            self.desk.say("There is no grid point between the ends of this edge.")
            return
        index = edge.index + 1
        base = with_inserted(self.desk.drawing, edge.shape, edge.ring, index, point)
        self._selected = (edge.shape, edge.ring, index)
        self._drag = _VertexDrag(pointer.at, base, "insert a vertex", base)

    def _remove(self, vertex: Handle) -> None:
        drawing, place = self.desk.drawing, (vertex.shape, vertex.ring, vertex.index)
        last = len(drawing.shapes[vertex.shape].rings[vertex.ring]) <= 3
        self._selected = self._hover = None
        self.desk.change("remove a vertex", without_vertex(drawing, *place))
        if last:
            what = "shape" if vertex.ring == 0 else "hole"
            self.desk.say(f"The {what} had only 3 vertices and was removed. Undo brings it back.")

    def undo_vertex(self) -> bool:
        drag, self._drag = self._drag, None
        if drag is None:
            return False
        if drag.base is not self.desk.drawing:  # the vertex was only on trial
            self._selected = None
        if drag.preview is not self.desk.drawing:
            self.desk.say("Move cancelled.")
        return True

    def _let_go(self) -> bool:
        used, self._selected = self._selected is not None, None
        return used
