"""What a tool shows while it is used: the draft under the hand, and what the pointer is on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from geodp_app.drawing.faults import Fault
from geodp_app.drawing.shapes import Point

ToolName = Literal[
    "polygon",
    "hole",
    "rectangle",
    "freehand",
    "select",
    "vertices",
    "paint",
    "ask",
    "report",
    "pan",
]


@dataclass(frozen=True, slots=True)
class Draft:
    """A ring that is being drawn.

    Attributes
    ----------
    kind : {"polygon", "hole", "rectangle", "freehand"}
    vertices : tuple of Point
        Placed so far.
    preview : tuple of Point
        The ring as it would be with the pointer's point; fewer than three points at first.
    fault : Fault or None
        What keeps the draft from being closed, or what the next edge would do.
    closing : bool
        The next click closes the ring.
    hint : str
        What the next click does.
    """

    kind: ToolName
    vertices: tuple[Point, ...]
    preview: tuple[Point, ...] = ()
    fault: Fault | None = None
    closing: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Handle:
    """A part of the drawing that can be taken hold of.

    Attributes
    ----------
    kind : {"vertex", "edge", "shape", "hole"}
    shape : int
        Index of the shape.
    ring : int
        0 for the outline, i for hole i.
    index : int
        Of the vertex, or of the vertex at which the edge begins; 0 for whole rings.
    position : (x, y) or None
        Where to mark it, in grid units; None for whole rings.
    """

    kind: Literal["vertex", "edge", "shape", "hole"]
    shape: int
    ring: int = 0
    index: int = 0
    position: Point | None = None
