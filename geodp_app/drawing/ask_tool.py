"""Ask: a point of the grid whose label is asked for, after a run by votes."""

from __future__ import annotations

import math
from typing import ClassVar

from geodp_app.drawing.draft import ToolName
from geodp_app.drawing.tool import Pointer, Tool


class AskTool(Tool):
    """A click, or Insert at the grid cursor, asks about one point; the drawing stays as it is."""

    name: ClassVar[ToolName] = "ask"

    @property
    def hint(self) -> str:
        return "Click a point to ask for its label. Which points you ask about is published."

    def press(self, pointer: Pointer) -> None:
        x, y = self.desk.on_grid(pointer.at)
        # off the grid there is nothing to ask; a second press at once is a slip of the hand
        if math.dist((x, y), pointer.at) < 1 and not pointer.double:
            self.desk.ask((x, y))
