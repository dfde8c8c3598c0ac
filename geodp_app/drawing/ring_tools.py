"""Polygon and hole: one vertex a click."""

from __future__ import annotations

from typing import ClassVar

from geodp_app.drawing.draft import Draft, Handle, ToolName
from geodp_app.drawing.edits import added, cut
from geodp_app.drawing.faults import Fault, draft_faults
from geodp_app.drawing.shapes import Drawing, Point, Ring, Shape
from geodp_app.drawing.tool import Desk, Pointer, Tool


class PolygonTool(Tool):
    """Draws the outline of a shape."""

    name: ClassVar[ToolName] = "polygon"
    noun: ClassVar[str] = "polygon"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._vertices: tuple[Point, ...] = ()
        self._dropped: tuple[Point, ...] = ()
        self._next: Point | None = None
        self._catch: Handle | None = None
        self._closing = False

    # what to show

    @property
    def draft(self) -> Draft | None:
        if not self._vertices:
            return None
        preview = self._vertices
        if self._next is not None and not self._closing and self._next != preview[-1]:
            preview = (*preview, self._next)
        return Draft(
            self.name, self._vertices, preview, self._fault(preview), self._closing, self.hint
        )

    @property
    def hover(self) -> Handle | None:
        return self._catch

    @property
    def hint(self) -> str:
        placed = len(self._vertices)
        if placed == 0:
            return f"Click to place the first vertex of the {self.noun}."
        if self._closing:
            return f"Click to close the {self.noun}."
        if placed < 3:
            return "Click to add a vertex. Backspace takes back the last one, Esc cancels."
        return "Click to add a vertex. Enter, double-click or the first vertex closes."

    # events

    def press(self, pointer: Pointer) -> None:
        if pointer.double and self._ends_double_click(pointer):
            return
        self._dropped = ()
        point = self._aim(pointer)
        if self._closing:
            self._close()
        elif self._vertices and point == self._vertices[0]:
            if len(self._vertices) > 1:
                self._too_few()
        elif point not in self._vertices[-1:]:
            self._vertices = (*self._vertices, point)

    def move(self, pointer: Pointer) -> None:
        self._aim(pointer)

    def enter(self) -> bool:
        if not self._vertices:
            return False
        self._close()
        return True

    def escape(self) -> bool:
        if not self._vertices:
            return False
        self._start_over()
        self.desk.say(f"{self.noun.capitalize()} cancelled.")
        return True

    def undo_vertex(self) -> bool:
        if not self._vertices:
            return False
        self._vertices = self._vertices[:-1]
        self._closing = False
        return True

    def leave(self) -> bool:
        vertices, self._catch = self._vertices, None
        if not vertices:
            return True
        if len(vertices) >= 3 and not draft_faults(vertices, closed=True):
            self._finish(vertices)
            if not self._vertices:
                self.desk.say(f"The {self.noun} was closed.")
                return True
        self._dropped = vertices
        self._start_over()
        count = "1 vertex" if len(vertices) == 1 else f"{len(vertices)} vertices"
        self.desk.say(f"Unfinished {self.noun} of {count} dropped. Undo takes it up again.")
        return False

    def take_up(self) -> bool:
        self._vertices, self._dropped = self._dropped, ()
        return bool(self._vertices)

    def forget(self, before: Drawing) -> None:
        self._catch = self._next = None
        self._closing = False
        grid = self.desk.grid
        if any(max(point) > grid for point in (*self._vertices, *self._dropped)):
            self._dropped = ()
            self.escape()

    # the ring

    def _aim(self, pointer: Pointer) -> Point:
        """Where the next click goes; whether it closes."""
        self._catch = self.desk.snap_target(pointer)
        point = self.desk.snapped(pointer)
        self._closing = False
        if len(self._vertices) >= 3 and point != self._vertices[-1]:
            first = self._vertices[0]
            reach = 0.0 if pointer.modifiers.alt else pointer.radius
            self._closing = point == first or (
                pointer.near(first, reach) and not self._nearer_to_last(pointer)
            )
        self._next = point
        return point

    def _nearer_to_last(self, pointer: Pointer) -> bool:
        first, last = self._vertices[0], self._vertices[-1]
        x, y = pointer.at
        return (x - last[0]) ** 2 + (y - last[1]) ** 2 < (x - first[0]) ** 2 + (y - first[1]) ** 2

    def _ends_double_click(self, pointer: Pointer) -> bool:
        """Whether the second press is to close what the first one just worked on."""
        if not self._vertices:
            return True  # the first press closed the ring; the second must not begin another
        last = self._vertices[-1]
        if pointer.near(last, 2 * pointer.radius) or self.desk.snapped(pointer) == last:
            self._close()
            return True
        return False  # two quick clicks at different places

    def _close(self) -> None:
        """Finish the ring, or say why not and keep it."""
        if len(self._vertices) < 3:
            self._too_few()
            return
        found = draft_faults(self._vertices, closed=True)
        if found:
            self.desk.say(f"Not closed. {found[0].text}. Backspace takes back the last vertex.")
            return
        self._finish(self._vertices)

    def _finish(self, ring: Ring) -> None:
        """Make the ring part of the drawing and forget it, or say why not."""
        self._start_over()
        self.desk.edit("draw a polygon", added(self.desk.drawing, Shape(ring)))

    def _too_few(self) -> None:
        self.desk.say(f"A {self.noun} needs at least 3 vertices.")

    def _start_over(self) -> None:
        self._vertices, self._closing = (), False
        self._next = self._catch = None

    def _fault(self, preview: tuple[Point, ...]) -> Fault | None:
        """What is wrong with the edges so far and the next one; when closing, with the ring."""
        found = draft_faults(preview, closed=self._closing)
        return found[0] if found else None


class HoleTool(PolygonTool):
    """Cuts a hole into the shapes under it."""

    name: ClassVar[ToolName] = "hole"
    noun: ClassVar[str] = "hole"

    def _finish(self, ring: Ring) -> None:
        before = self.desk.drawing
        after = cut(before, ring)
        if after is before:
            self.desk.say("The hole lies outside every shape: nothing was cut.")
            return
        self._start_over()
        self.desk.edit("cut a hole", after)
        gone = len(before.shapes) - len(after.shapes)
        if gone > 0:
            what = "a shape" if gone == 1 else f"{gone} shapes"
            self.desk.say(f"The hole removed {what} whole. Undo brings it back.")
