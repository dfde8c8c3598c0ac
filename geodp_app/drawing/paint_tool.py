"""Paint: dabs that say where the examples of a painted sample come from."""

from __future__ import annotations

import math
from typing import ClassVar

from geodp_app.drawing.draft import ToolName
from geodp_app.drawing.shapes import Drawing
from geodp_app.drawing.tool import Desk, Pointer, Tool

#: A dab's radius as a share of the grid.
_SIZE = 1 / 20


class PaintTool(Tool):
    """Dabs along the way of the pointer, half a radius apart."""

    name: ClassVar[ToolName] = "paint"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._last: tuple[float, float] | None = None

    @property
    def hint(self) -> str:
        return "Drag to paint where examples come from."

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

    def forget(self, before: Drawing) -> None:
        self._last = None

    def _dab(self, at: tuple[float, float]) -> None:
        x, y = self.desk.on_grid(at)
        if math.dist((x, y), at) < 1:  # off the grid there is nothing to paint
            self.desk.host.add_dab((x, y, self.dab_radius))
