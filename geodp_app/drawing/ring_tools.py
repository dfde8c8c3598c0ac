"""Tools that draw an outline or a hole.  Polygon and hole take one vertex a click; rectangle and
freehand are dragged from press to release, or begun and ended by a click each.

The second way is also the keyboard's: Insert, arrows, Insert.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
import shapely
from shapely.geometry import LineString, Polygon

from geodp_app.drawing.faults import draft_faults, faults
from geodp_app.drawing.shapes import Drawing, Point, Ring, Shape, added
from geodp_app.drawing.tool import Desk, Draft, Pointer, Tool, ToolName
from geometry.polygons import orient_valid


class _RingTool(Tool):
    """Draws a ring, which Enter closes and Escape gives up."""

    noun: ClassVar[str]

    def enter(self) -> bool:
        begun = self.draft is not None
        if begun:
            self._close()
        return begun

    def escape(self) -> bool:
        begun = self.draft is not None
        if begun:
            self._start_over()
            self.desk.say(f"{self.noun.capitalize()} cancelled.")
        return begun

    undo_vertex = escape

    def _close(self) -> object:
        """Finish the ring, or say why not."""
        raise NotImplementedError

    def _start_over(self) -> None:
        """Forget the ring."""
        raise NotImplementedError


class PolygonTool(_RingTool):
    """Draws the outline of a shape."""

    name: ClassVar[ToolName] = "polygon"
    noun: ClassVar[str] = "polygon"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._vertices: tuple[Point, ...] = ()
        self._dropped: tuple[Point, ...] = ()
        self._next: Point | None = None
        self._closing = False

    # what to show

    @property
    def draft(self) -> Draft | None:
        if not self._vertices:
            return None
        preview = self._vertices
        if self._next is not None and not self._closing and self._next != preview[-1]:
            preview = (*preview, self._next)
        # of the edges so far and the next one; when closing, of the ring
        found = draft_faults(preview, closed=self._closing)
        return Draft(self._vertices, preview, found[0] if found else None)

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

    def undo_vertex(self) -> bool:
        if not self._vertices:
            return False
        self._vertices = self._vertices[:-1]
        self._closing = False
        return True

    def leave(self) -> bool:
        vertices, self.hover = self._vertices, None
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
        self.hover = self._next = None
        self._closing = False
        grid = self.desk.grid
        if any(max(point) > grid for point in (*self._vertices, *self._dropped)):
            self._dropped = ()
            self.escape()

    # the ring

    def _aim(self, pointer: Pointer) -> Point:
        """Where the next click goes; whether it closes."""
        self.hover = self.desk.snap_target(pointer)
        point = self.desk.snapped(pointer)
        self._closing = False
        if len(self._vertices) >= 3 and point != self._vertices[-1]:
            first = self._vertices[0]
            reach = 0.0 if pointer.modifiers.alt else pointer.radius
            nearer = pointer.near(first, math.dist(pointer.at, self._vertices[-1]))
            self._closing = point == first or (pointer.near(first, reach) and nearer)
        self._next = point
        return point

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
        elif found := draft_faults(self._vertices, closed=True):
            self.desk.say(f"Not closed. {found[0].text}. Backspace takes back the last vertex.")
        else:
            self._finish(self._vertices)

    def _finish(self, ring: Ring) -> None:
        """Make the ring part of the drawing and forget it, or say why not."""
        self._start_over()
        self.desk.edit("draw a polygon", added(self.desk.drawing, Shape(ring)))

    def _too_few(self) -> None:
        self.desk.say(f"A {self.noun} needs at least 3 vertices.")

    def _start_over(self) -> None:
        self._vertices, self._closing = (), False
        self._next = self.hover = None


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


def cut(drawing: Drawing, ring: Ring) -> Drawing:
    """The drawing less the inside of a ring.

    A shape that surrounds the ring gets it as a hole, vertex by vertex.  From other shapes that it
    overlaps it is subtracted, new corners moved to grid points.  A shape may fall into parts or
    vanish.  It is the same drawing, as an object, if the ring, which is without faults, overlaps no
    shape.
    """
    tool = Polygon(ring)
    parts: list[tuple[Shape, ...]] = [
        _cut_shape(shape, ring, tool, drawing.grid) for shape in drawing.shapes
    ]
    shapes = tuple(shape for part in parts for shape in part)
    return drawing if shapes == drawing.shapes else replace(drawing, shapes=shapes)


def _cut_shape(shape: Shape, ring: Ring, tool: Polygon, grid: int) -> tuple[Shape, ...]:
    region = orient_valid(Polygon(shape.outer, shape.holes))
    if not shapely.relate_pattern(region, tool, "T********"):  # their interiors do not meet
        return (shape,)
    pierced = Shape(shape.outer, (*shape.holes, ring))
    if not set(faults(Drawing(grid, (pierced,)))) - set(faults(Drawing(grid, (shape,)))):
        return (pierced,)
    return Drawing.of(shapely.difference(region, tool), grid).shapes


#: Share of the pick radius beyond which a press becomes a drag: about 4 pixels.
DRAG = 0.5
#: Parts of a freehand shape smaller than this share of it are slips of the hand.
_SLIP = 0.01


class RectangleTool(_RingTool):
    """From corner to corner; Shift makes a square."""

    name: ClassVar[ToolName] = "rectangle"
    noun: ClassVar[str] = "rectangle"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._anchor: Point | None = None
        self._corner: Point = (0, 0)
        self._pressed_at: tuple[float, float] | None = None
        self._first_press = False

    @property
    def draft(self) -> Draft | None:
        if self._anchor is None:
            return None
        (x1, y1), (x2, y2) = self._anchor, self._corner
        preview = ((x1, y1), (x2, y1), (x2, y2), (x1, y2)) if x1 != x2 and y1 != y2 else ()
        return Draft((self._anchor,), preview)

    @property
    def hint(self) -> str:
        if self._anchor is None:
            return "Drag from corner to corner, or click both. Shift makes a square."
        width, height = (abs(a - b) for a, b in zip(self._anchor, self._corner, strict=True))
        return f"{width} × {height}. Release or click at the opposite corner, Esc cancels."

    def press(self, pointer: Pointer) -> None:
        self._first_press = self._anchor is None
        if self._anchor is None:
            self._anchor = self._corner = self.desk.snapped(pointer)
        self._pressed_at = pointer.at
        self.move(pointer)

    def move(self, pointer: Pointer) -> None:
        self.hover = self.desk.snap_target(pointer)
        self._corner = self.desk.snapped(pointer)
        if self._anchor is not None and pointer.modifiers.shift:
            self._corner = _square_corner(self._anchor, self._corner, self.desk.grid)

    def release(self, pointer: Pointer) -> None:
        if self._pressed_at is None:
            return
        clicked = pointer.near(self._pressed_at, DRAG * pointer.radius)
        self._pressed_at = None
        if self._anchor is None or (self._first_press and clicked):
            return
        self.move(pointer)
        if not self._close() and self._first_press:
            self._anchor = None

    def forget(self, before: Drawing) -> None:
        self.hover = None
        if self._anchor is not None and max(*self._anchor, *self._corner) > self.desk.grid:
            self.escape()

    def _close(self) -> bool:
        draft = self.draft
        if draft is None or not draft.preview:
            self.desk.say("A rectangle needs a width and a height.")
            return False
        self._start_over()
        self.desk.edit("draw a rectangle", added(self.desk.drawing, Shape(draft.preview)))
        return True

    def _start_over(self) -> None:
        self._anchor = self._pressed_at = None


class FreehandTool(_RingTool):
    """Follows the hand, then simplifies the outline."""

    name: ClassVar[ToolName] = "freehand"
    noun: ClassVar[str] = "outline"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._trace: list[Point] = []
        self._pressed = False
        self._radius = 0.0

    @property
    def draft(self) -> Draft | None:
        if not self._trace:
            return None
        trace = tuple(self._trace)
        return Draft(trace, trace)

    @property
    def hint(self) -> str:
        if not self._trace:
            return "Draw the outline with the button held down."
        return "Release, click or press Enter to close the outline. Esc cancels."

    def press(self, pointer: Pointer) -> None:
        self._pressed = True
        self._follow(pointer)

    def move(self, pointer: Pointer) -> None:
        if self._trace:
            self._follow(pointer)

    def release(self, pointer: Pointer) -> None:
        if not self._pressed:
            return
        self._pressed = False
        self._follow(pointer)
        if len(self._trace) > 1:  # else a click: the outline goes on until the next one
            self._close()

    def leave(self) -> bool:
        if len(self._trace) > 2:
            self.desk.say("The outline was closed.")
            self._close()
        self.escape()
        return True

    def forget(self, before: Drawing) -> None:
        if before.grid != self.desk.grid:
            self.escape()

    def _follow(self, pointer: Pointer) -> None:
        self._radius = max(self._radius, pointer.radius)
        point = self.desk.on_grid(pointer.at)
        if point not in self._trace[-1:]:
            self._trace.append(point)

    def _close(self) -> None:
        shapes = smoothed(self._trace, DRAG * self._radius, self.desk.grid)
        self._start_over()
        if not shapes:
            self.desk.say("The outline encloses nothing: no shape was drawn.")
            return
        self.desk.edit("draw freehand", added(self.desk.drawing, *shapes))
        if len(shapes) > 1:
            self.desk.say(f"The outline crosses itself: {len(shapes)} shapes were drawn.")

    def _start_over(self) -> None:
        self._trace, self._pressed, self._radius = [], False, 0.0


def smoothed(trace: list[Point], tolerance: float, grid: int) -> tuple[Shape, ...]:
    """Shapes of a hand-drawn outline, simplified (Douglas-Peucker), on grid points, without faults.

    Several if the outline crosses itself, none if it encloses nothing.  `tolerance`: furthest that
    it may move, in grid units, before it is put on grid points.
    """
    if len(trace) < 3:
        return ()
    line = shapely.simplify(LineString(trace), tolerance, preserve_topology=False)
    corners = np.asarray(line.coords)
    if len(corners) < 3:
        return ()
    parts = shapely.get_parts(orient_valid(Polygon(corners)))
    whole = sum(part.area for part in parts)
    kept = [part for part in parts if part.area >= _SLIP * whole and not part.is_empty]
    return Drawing.of(shapely.union_all(kept), grid).shapes if kept else ()


def _square_corner(anchor: Point, corner: Point, grid: int) -> Point:
    """The corner moved so that the sides are as long as the longer one, within the grid."""
    (x1, y1), (x2, y2) = anchor, corner
    to_right, to_top = x2 >= x1, y2 >= y1
    room = min(grid - x1 if to_right else x1, grid - y1 if to_top else y1)
    side = min(max(abs(x2 - x1), abs(y2 - y1)), room)
    return x1 + (side if to_right else -side), y1 + (side if to_top else -side)
