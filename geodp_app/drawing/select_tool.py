"""Select: whole shapes and holes; moved, nudged, deleted."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import ClassVar

from geodp_app.drawing.draft import Handle, ToolName
from geodp_app.drawing.drag_tools import DRAG
from geodp_app.drawing.edits import translated, without
from geodp_app.drawing.faults import faults
from geodp_app.drawing.hits import nearest_edge, shape_at
from geodp_app.drawing.shapes import Drawing
from geodp_app.drawing.tool import Desk, Pointer, Tool


@dataclass(frozen=True, slots=True)
class _Drag:
    """The button is down on a part.

    Attributes
    ----------
    hit : Handle
        The part.
    start : (float, float)
    reach : float
        How far the pointer must go before anything moves.
    preview : Drawing or None
        None until something moves.
    """

    hit: Handle
    start: tuple[float, float]
    reach: float
    preview: Drawing | None = None


class SelectTool(Tool):
    """A click selects, Shift adds to the selection, a drag moves."""

    name: ClassVar[ToolName] = "select"
    picks: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._selected: tuple[Handle, ...] = ()
        self._hover: Handle | None = None
        self._drag: _Drag | None = None

    @property
    def hover(self) -> Handle | None:
        return self._hover

    @property
    def selected(self) -> tuple[Handle, ...]:
        return self._selected

    @property
    def shown(self) -> Drawing:
        moved = self._drag.preview if self._drag else None
        return self.desk.drawing if moved is None else moved

    @property
    def hint(self) -> str:
        if self._selected:
            return "Drag or press the arrows to move, Delete to delete, Esc to let go."
        return "Click a shape or a hole to select it."

    def press(self, pointer: Pointer) -> None:
        self._drag = None
        hit = self._hit(pointer)
        if hit is None:
            if not pointer.modifiers.shift:
                self._selected = ()
            return
        if pointer.modifiers.shift:
            among = hit in self._selected
            rest = tuple(each for each in self._selected if each != hit)
            self._selected = rest if among else (*rest, hit)
            return
        # what was not selected resists longer, so that nothing moves by accident
        reach = (DRAG if hit in self._selected else 2 * DRAG) * pointer.radius
        if hit not in self._selected:
            self._selected = (hit,)
        self._drag = _Drag(hit, pointer.at, reach)

    def move(self, pointer: Pointer) -> None:
        drag = self._drag
        if drag is None:
            self._hover = self._hit(pointer)
        elif drag.preview is not None or not pointer.near(drag.start, drag.reach):
            step = (round(pointer.at[0] - drag.start[0]), round(pointer.at[1] - drag.start[1]))
            preview, _ = translated(self.desk.drawing, self._parts(), step)
            self._drag = replace(drag, preview=preview)

    def release(self, pointer: Pointer) -> None:
        if self._drag is None:
            return
        self.move(pointer)
        drag, self._drag = self._drag, None
        if drag.preview is not None:
            self._move_to(drag.preview)
        else:  # a click on one of several selects it alone
            self._selected = (drag.hit,)

    def escape(self) -> bool:
        if self._drag is not None and self._drag.preview is not None:
            self.desk.say("Move cancelled.")
            self._drag = None
            return True
        used, self._selected, self._drag = bool(self._selected), (), None
        return used

    def backspace(self) -> bool:
        return self.delete()

    def delete(self) -> bool:
        if not self._selected:
            return False
        gone, self._selected, self._drag, self._hover = self._selected, (), None, None
        name = _name(gone)
        self.desk.edit(f"delete {name}", without(self.desk.drawing, _parts(gone)))
        self.desk.say(f"Deleted {name}. Undo brings it back.")
        return True

    def nudge(self, step: tuple[int, int]) -> bool:
        if not self._selected:
            return False
        if self._drag is None:
            moved, by = translated(self.desk.drawing, self._parts(), step)
            self._move_to(moved, merge=("nudge", *self._parts()))
            if self.desk.cursor is not None:
                x, y = self.desk.cursor
                self.desk.cursor = self.desk.on_grid((x + by[0], y + by[1]))
        return True

    def undo_vertex(self) -> bool:
        return self._drag is not None and self._drag.preview is not None and self.escape()

    def leave(self) -> bool:
        self.undo_vertex()
        self._selected, self._hover, self._drag = (), None, None
        return True

    def forget(self, before: Drawing) -> None:
        self._selected, self._hover, self._drag = (), None, None

    def _hit(self, pointer: Pointer) -> Handle | None:
        hit = shape_at(self.desk.outlines, pointer.at)
        if hit is not None:
            return hit
        # just beside a shape its outline counts too: thin shapes can be taken hold of
        edge = nearest_edge(self.desk.outlines, pointer.at, DRAG * pointer.radius)
        return None if edge is None else Handle("shape", edge.shape)

    def _parts(self) -> list[tuple[int, int]]:
        return _parts(self._selected)

    def _move_to(self, moved: Drawing, *, merge: Hashable = None) -> None:
        if moved == self.desk.drawing:
            return
        known = set(faults(self.desk.drawing))
        self.desk.edit(f"move {_name(self._selected)}", moved, merge=merge)
        for fault in faults(moved):
            if fault.kind.startswith("hole") and fault not in known:
                self.desk.say(f"{fault.text}.")
                return


def _parts(handles: tuple[Handle, ...]) -> list[tuple[int, int]]:
    return [(handle.shape, handle.ring) for handle in handles]


def _name(handles: tuple[Handle, ...]) -> str:
    """What is selected, in words."""
    if len(handles) == 1:
        return f"a {handles[0].kind}"
    kinds = {handle.kind for handle in handles}
    return f"{len(handles)} {kinds.pop() + 's' if len(kinds) == 1 else 'parts'}"
