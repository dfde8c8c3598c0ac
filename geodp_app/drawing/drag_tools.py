"""Rectangle and freehand: dragged from press to release, or begun and ended by a click each.

The second way is also the keyboard's: Insert, arrows, Insert.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import shapely
from shapely.geometry import LineString, Polygon

from geodp_app.drawing.draft import Draft, Handle, ToolName
from geodp_app.drawing.edits import added
from geodp_app.drawing.shapes import Drawing, Point, Shape
from geodp_app.drawing.tool import Desk, Pointer, Tool
from geometry.polygons import orient_valid

#: Share of the pick radius beyond which a press becomes a drag: about 4 pixels.
DRAG = 0.5
#: Parts of a freehand shape smaller than this share of it are slips of the hand.
_SLIP = 0.01


class RectangleTool(Tool):
    """From corner to corner; Shift makes a square."""

    name: ClassVar[ToolName] = "rectangle"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._anchor: Point | None = None
        self._corner: Point = (0, 0)
        self._catch: Handle | None = None
        self._pressed_at: tuple[float, float] | None = None
        self._first_press = False

    @property
    def draft(self) -> Draft | None:
        if self._anchor is None:
            return None
        (x1, y1), (x2, y2) = self._anchor, self._corner
        preview = ((x1, y1), (x2, y1), (x2, y2), (x1, y2)) if x1 != x2 and y1 != y2 else ()
        return Draft(self.name, (self._anchor,), preview, closing=bool(preview), hint=self.hint)

    @property
    def hover(self) -> Handle | None:
        return self._catch

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
        self._aim(pointer)

    def move(self, pointer: Pointer) -> None:
        self._aim(pointer)

    def release(self, pointer: Pointer) -> None:
        if self._pressed_at is None:
            return
        clicked = pointer.near(self._pressed_at, DRAG * pointer.radius)
        self._pressed_at = None
        if self._anchor is None or (self._first_press and clicked):
            return
        self._aim(pointer)
        if not self._finish() and self._first_press:
            self._anchor = None

    def enter(self) -> bool:
        if self._anchor is None:
            return False
        self._finish()
        return True

    def escape(self) -> bool:
        pending, self._anchor, self._pressed_at = self._anchor, None, None
        if pending is not None:
            self.desk.say("Rectangle cancelled.")
        return pending is not None

    def undo_vertex(self) -> bool:
        return self.escape()

    def leave(self) -> bool:
        self._catch = None
        return super().leave()

    def forget(self, before: Drawing) -> None:
        self._catch = None
        if self._anchor is not None and max(*self._anchor, *self._corner) > self.desk.grid:
            self.escape()

    def _aim(self, pointer: Pointer) -> None:
        self._catch = self.desk.snap_target(pointer)
        self._corner = self.desk.snapped(pointer)
        if self._anchor is not None and pointer.modifiers.shift:
            self._corner = _square_corner(self._anchor, self._corner, self.desk.grid)

    def _finish(self) -> bool:
        draft = self.draft
        if draft is None or not draft.preview:
            self.desk.say("A rectangle needs a width and a height.")
            return False
        self._anchor = self._pressed_at = None
        self.desk.edit("draw a rectangle", added(self.desk.drawing, Shape(draft.preview)))
        return True


class FreehandTool(Tool):
    """Follows the hand, then simplifies the outline."""

    name: ClassVar[ToolName] = "freehand"

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
        return Draft(self.name, trace, trace, closing=len(trace) > 2, hint=self.hint)

    @property
    def hint(self) -> str:
        if not self._trace:
            return "Draw the outline with the button held down."
        return "Release, click or press Enter to close the outline. Esc cancels."

    def press(self, pointer: Pointer) -> None:
        self._pressed = True
        self._follow(pointer, begin=True)

    def move(self, pointer: Pointer) -> None:
        self._follow(pointer)

    def release(self, pointer: Pointer) -> None:
        if not self._pressed:
            return
        self._pressed = False
        self._follow(pointer)
        if len(self._trace) > 1:  # else a click: the outline goes on until the next one
            self._finish()

    def enter(self) -> bool:
        if not self._trace:
            return False
        self._finish()
        return True

    def escape(self) -> bool:
        pending = bool(self._trace)
        self._start_over()
        if pending:
            self.desk.say("Outline cancelled.")
        return pending

    def undo_vertex(self) -> bool:
        return self.escape()

    def leave(self) -> bool:
        if len(self._trace) > 2:
            self.desk.say("The outline was closed.")
            self._finish()
        self.escape()
        return True

    def forget(self, before: Drawing) -> None:
        if before.grid != self.desk.grid:
            self.escape()

    def _follow(self, pointer: Pointer, *, begin: bool = False) -> None:
        if not (begin or self._trace):
            return
        self._radius = max(self._radius, pointer.radius)
        point = self.desk.on_grid(pointer.at)
        if point not in self._trace[-1:]:
            self._trace.append(point)

    def _finish(self) -> None:
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

    Parameters
    ----------
    trace : list of Point
    tolerance : float
        Furthest that the outline may move, in grid units, before it is put on grid points.
    grid : int

    Returns
    -------
    tuple of Shape
        Several if the outline crosses itself, none if it encloses nothing.
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
