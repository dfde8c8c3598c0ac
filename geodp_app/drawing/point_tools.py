"""Three tools that act at one point of the plane: paint, ask, report.

Paint lays dabs that say where the examples of a painted sample come from.  Ask takes a point of
the grid whose label is asked for, after a run by votes.  Report takes an example on the plane, or
a place for one, whose effect on a step is asked for.
"""

from __future__ import annotations

import math
from typing import ClassVar

from geodp_app.drawing.tool import Desk, Pointer, Tool, ToolName

#: A dab's radius as a share of the grid.
_SIZE = 1 / 20


class PaintTool(Tool):
    """Dabs along the way of the pointer, half a radius apart."""

    name: ClassVar[ToolName] = "paint"
    hint = "Drag to paint where examples come from."

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._last: tuple[float, float] | None = None

    @property
    def dab_radius(self) -> int:
        """Radius of a dab in grid units."""
        return max(1, round(self.desk.grid * _SIZE))

    def press(self, pointer: Pointer) -> None:
        self._last = pointer.at
        self._dab(pointer.at)

    def move(self, pointer: Pointer) -> None:
        if self._last is None:
            return
        spacing = self.dab_radius / 2
        (x, y), far = self._last, math.dist(self._last, pointer.at)
        # a quick hand leaves no gaps
        for i in range(1, int(far / spacing) + 1):
            share = i * spacing / far
            at = (x + share * (pointer.at[0] - x), y + share * (pointer.at[1] - y))
            self._dab(at)
            self._last = at

    def release(self, pointer: Pointer) -> None:
        self.move(pointer)
        self._last = None

    def escape(self) -> bool:
        used, self._last = self._last is not None, None
        return used

    def _dab(self, at: tuple[float, float]) -> None:
        if point := self.desk.point_at(at):  # off the grid there is nothing to paint
            self.desk.host.add_dab((*point, self.dab_radius))


class AskTool(Tool):
    """A click, or Insert at the grid cursor, asks about one point; the drawing stays as it is."""

    name: ClassVar[ToolName] = "ask"
    hint = "Click a point to ask for its label. Which points you ask about is published."

    def press(self, pointer: Pointer) -> None:
        point = self.desk.point_at(pointer.at)
        if point and not pointer.double:  # a second press at once is a slip of the hand
            self.desk.ask(point)


class ReportTool(Tool):
    """A click, or Insert at the grid cursor, takes one example; the drawing stays as it is."""

    name: ClassVar[ToolName] = "report"
    hint = (
        "Click an example to see what it changes in the step; elsewhere one is put there, with "
        "Shift one labelled 0."
    )

    def press(self, pointer: Pointer) -> None:
        point = self.desk.point_at(pointer.at)
        if point and not pointer.double:
            self.desk.report(point, pointer.radius, not pointer.modifiers.shift)
