"""One report: an example on the plane, or a place for one, whose effect on a step is asked for."""

from __future__ import annotations

import math
from typing import ClassVar

from geodp_app.drawing.draft import ToolName
from geodp_app.drawing.tool import Pointer, Tool


class ReportTool(Tool):
    """A click, or Insert at the grid cursor, takes one example; the drawing stays as it is."""

    name: ClassVar[ToolName] = "report"

    @property
    def hint(self) -> str:
        return (
            "Click an example to see what it changes in the step; elsewhere one is put there, with "
            "Shift one labelled 0."
        )

    def press(self, pointer: Pointer) -> None:
        x, y = self.desk.on_grid(pointer.at)
        if math.dist((x, y), pointer.at) < 1 and not pointer.double:
            self.desk.report((x, y), pointer.radius, not pointer.modifiers.shift)
