"""The editor takes pointer and keys in grid units and hands them to the tool in use.

Qt-free; the plane view feeds it and paints what it says.  Every change reaches the host as one
undoable edit.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import get_args

from geodp_app.drawing.hits import Handle
from geodp_app.drawing.part_tools import SelectTool, VerticesTool
from geodp_app.drawing.ring_tools import FreehandTool, HoleTool, PolygonTool, RectangleTool
from geodp_app.drawing.shapes import Ring, Shape
from geodp_app.drawing.tool import (
    NO_KEYS,
    AskTool,
    Desk,
    Draft,
    Host,
    Modifiers,
    PaintTool,
    Pointer,
    ReportTool,
    Tool,
    ToolName,
)

__all__ = ["TOOLS", "Draft", "Editor", "Handle", "Host", "Modifiers", "ToolName"]

#: Names of all tools.
TOOLS: tuple[ToolName, ...] = get_args(ToolName)

_MAKERS: tuple[type[Tool], ...] = (
    PolygonTool, HoleTool, RectangleTool, FreehandTool, SelectTool, VerticesTool, PaintTool,
    AskTool, ReportTool, Tool,
)  # fmt: skip
_ARROWS = {"Left": (-1, 0), "Right": (1, 0), "Up": (0, 1), "Down": (0, -1)}


class Editor:
    """Tools over a drawing, which the host keeps."""

    def __init__(self, host: Host) -> None:
        #: The drawing and whom to tell; whether vertices and edges catch the pointer.
        self.desk = Desk(host)
        self._take_up_tools()
        self._reach = host.drawing.grid / 100

    def _take_up_tools(self) -> None:
        self._tools: dict[ToolName, Tool] = {each.name: each(self.desk) for each in _MAKERS}
        self._tool = self._tools["polygon"]
        self._dropped: Tool | None = None  # whose draft undo takes up again
        self._pointed: tuple[float, float] | None = None

    # what to show

    @property
    def tool(self) -> ToolName:
        """Name of the tool in use."""
        return self._tool.name

    @property
    def current(self) -> Tool:
        """The tool in use, knowing the drawing as it is now."""
        before = self.desk.changed_elsewhere()
        if before is not None:
            for tool in self._tools.values():
                tool.forget(before)
            if self.desk.cursor is not None:
                self.desk.cursor = self.desk.on_grid(self.desk.cursor)
        return self._tool

    def selected_parts(self) -> tuple[Shape, ...]:
        """What is selected, as shown: whole shapes, or of a hole or a vertex its ring alone."""
        tool, parts = self.current, list[Shape]()
        for handle in tool.selected:
            shape = tool.shown.shapes[handle.shape]
            parts.append(shape if handle.kind == "shape" else Shape(shape.rings[handle.ring]))
        return tuple(parts)

    def selected_rings(self) -> tuple[Ring, ...]:
        """Its rings."""
        return tuple(ring for part in self.selected_parts() for ring in part.rings)

    # events

    def set_tool(self, name: ToolName) -> None:
        """Take another tool.

        A polygon or hole that could be closed is closed.  Otherwise the draft is dropped, with a
        message, and :meth:`undo_vertex` takes it up again.
        """
        if name == self.tool:
            return
        tool = self._begin()
        if not tool.leave():
            self._dropped = tool
        self._tool = self._tools[name]

    def start_over(self) -> None:
        """Take the polygon tool, with nothing begun or selected, as at first."""
        self._take_up_tools()
        self.desk.cursor = self.desk.message = None

    def press(
        self,
        at: tuple[float, float],
        radius: float,
        modifiers: Modifiers = NO_KEYS,
        *,
        double: bool = False,
    ) -> None:
        """The button goes down.

        Parameters
        ----------
        at : (float, float)
            In grid units.
        radius : float
            Within which something is hit, in grid units.
        modifiers : Modifiers
        double : bool
            The second press of a double click.
        """
        tool = self._begin()
        if pointer := self._pointer(at, radius, modifiers):
            self._dropped = None
            tool.press(replace(pointer, double=double))

    def move(self, at: tuple[float, float], radius: float, modifiers: Modifiers = NO_KEYS) -> None:
        """The pointer moves, with the button up or down."""
        if pointer := self._pointer(at, radius, modifiers):
            self.current.move(pointer)

    def release(
        self, at: tuple[float, float], radius: float, modifiers: Modifiers = NO_KEYS
    ) -> None:
        """The button goes up."""
        if pointer := self._pointer(at, radius, modifiers):
            self.current.release(pointer)

    def key(self, name: str, modifiers: Modifiers = NO_KEYS) -> bool:
        """A key goes down: Enter, Escape, Backspace, Delete, Insert, Left, Right, Up or Down.

        Returns whether the key meant something.
        """
        tool = self._begin()
        if name in _ARROWS:
            return self._arrow(tool, *_ARROWS[name], modifiers)
        if name == "Insert":
            return self._insert(tool, modifiers)
        keys = {
            "Enter": tool.enter,
            "Escape": tool.escape,
            "Backspace": tool.delete if tool.picks else tool.undo_vertex,
            "Delete": tool.delete,
        }
        return name in keys and keys[name]()

    def undo_vertex(self) -> bool:
        """Take back the last vertex of the draft, or a drag; or take up a draft that was dropped.

        Returns False if there was nothing of this kind: then the host's own undo is meant.
        """
        tool = self._begin()
        if tool.undo_vertex():
            return True
        dropped, self._dropped = self._dropped, None
        if dropped is None or not dropped.take_up():
            return False
        if tool is not dropped:
            tool.leave()
        self._tool = dropped
        return True

    # inside

    def _begin(self) -> Tool:
        """A new event: what was told is read."""
        self.desk.message = None
        return self.current

    def _pointer(
        self, at: tuple[float, float], radius: float, modifiers: Modifiers
    ) -> Pointer | None:
        """The pointer, unless it is nowhere; the keyboard's cursor gives way to it."""
        if not (math.isfinite(at[0]) and math.isfinite(at[1]) and math.isfinite(radius)):
            return None
        far = 4.0 * self.desk.grid  # no need to tell apart places far off the grid
        x, y = (min(max(float(value), -far), far) for value in at)
        self.desk.cursor, self._pointed = None, (x, y)
        self._reach = max(float(radius), 0.0)
        return Pointer((x, y), self._reach, modifiers)

    def _at_cursor(self, tool: Tool, modifiers: Modifiers) -> Pointer:
        """The pointer put on the keyboard's cursor, which appears if need be."""
        if self.desk.cursor is None:
            middle = self.desk.grid / 2
            self.desk.cursor = self.desk.on_grid(self._pointed or (middle, middle))
        reach = max(self._reach, 1.0) if tool.picks else 0.0
        return Pointer(self.desk.cursor, reach, modifiers)

    def _arrow(self, tool: Tool, dx: int, dy: int, modifiers: Modifiers) -> bool:
        # with Alt they go through the steps of a run, also where there is none to go to
        if tool.name == "pan" or modifiers.alt:
            return False
        far = 10 if modifiers.shift else 1
        if not tool.nudge((far * dx, far * dy)):
            x, y = self._at_cursor(tool, modifiers).at
            self.desk.cursor = self.desk.on_grid((x + far * dx, y + far * dy))
            # Shift makes the step long here; to the tool it means nothing
            tool.move(self._at_cursor(tool, replace(modifiers, shift=False)))
        return True

    def _insert(self, tool: Tool, modifiers: Modifiers) -> bool:
        if tool.name == "pan":
            return False
        self._dropped = None
        pointer = self._at_cursor(tool, modifiers)
        tool.press(pointer)
        tool.release(pointer)
        return True
