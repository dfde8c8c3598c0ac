"""Defines the base class of drawing tools, the pointer events that they take, and the interface
(:class:`Desk`) by which they edit the drawing; and the three tools that act at one point.

Paint lays dabs that say where the examples of a painted sample come from.  Ask takes a point of
the grid whose label is asked for, after a run by votes.  Report takes an example on the plane, or
a place for one, whose effect on a step is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from geodp_app.drawing.faults import Fault, faults
from geodp_app.drawing.hits import Handle, Outlines, nearest_edge, nearest_vertex
from geodp_app.drawing.shapes import Drawing, Point

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
    """A ring that is being drawn."""

    #: Placed so far.
    vertices: tuple[Point, ...]
    #: The ring as it would be with the pointer's point; fewer than three points at first.
    preview: tuple[Point, ...] = ()
    #: What keeps the draft from being closed, or what the next edge would do.
    fault: Fault | None = None


class Host(Protocol):
    """What keeps the drawing that the tools edit: the document."""

    @property
    def drawing(self) -> Drawing:
        """The drawing as it is now."""

    def edit(self, label: str, drawing: Drawing, *, merge: Hashable = None) -> None:
        """Take over a drawing as one undoable step, joined to the last one if `merge` is equal."""

    def add_dab(self, dab: tuple[int, int, int]) -> None:
        """Add a disc (x, y, r) to where a painted sample comes from."""


@dataclass(frozen=True, slots=True)
class Modifiers:
    """Which of the keys that change a gesture are held down."""

    shift: bool = False
    alt: bool = False


NO_KEYS = Modifiers()


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where the pointer is, in grid units, and how it is held."""

    #: Perhaps off the grid.
    at: tuple[float, float]
    #: Within which something is hit; 0 for the keyboard's exact cursor.
    radius: float
    modifiers: Modifiers = NO_KEYS
    #: The second press of a double click.
    double: bool = False

    def near(self, point: tuple[float, float], radius: float) -> bool:
        """Whether a place is within a radius."""
        return math.dist(self.at, point) <= radius


class Desk:
    """Holds the drawing and what all tools need around it."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.snapping = True
        #: The keyboard's cursor; None while the pointer is in use.
        self.cursor: Point | None = None
        #: Last thing worth telling, until the next press, key or change of tool.
        self.message: str | None = None
        #: Who is told of a point that is asked about.
        self.ask: Callable[[Point], None] = lambda point: None
        #: Who is told of one report: where, how near an example has to be, and its label else.
        self.report: Callable[[Point, float, bool], None] = lambda point, radius, label: None
        self._known = host.drawing
        self._outlined: tuple[Drawing, Outlines] | None = None

    @property
    def drawing(self) -> Drawing:
        """The host's drawing as it is now."""
        return self.host.drawing

    @property
    def grid(self) -> int:
        """The largest coordinate of the grid, d."""
        return self.host.drawing.grid

    @property
    def outlines(self) -> Outlines:
        """The drawing as arrays, made once a drawing."""
        drawing = self.drawing
        if self._outlined is None or self._outlined[0] is not drawing:
            self._outlined = (drawing, Outlines.of(drawing))
        return self._outlined[1]

    def say(self, message: str) -> None:
        """Leave word for the person; what was said before stays in front."""
        self.message = f"{self.message} {message}" if self.message else message

    def edit(self, label: str, drawing: Drawing, *, merge: Hashable = None) -> None:
        """Hand a drawing to the host, as an edit of the tool's own."""
        self._known = drawing  # the host tells observers, who ask the editor, before it returns
        self.host.edit(label, drawing, merge=merge)
        self._known = self.host.drawing

    def change(
        self, label: str, drawing: Drawing, *, merge: Hashable = None, told: str = ""
    ) -> None:
        """Make an edit, if it is one, and tell of the first fault it brings of such a kind."""
        before = self.drawing
        if drawing == before:
            return
        known = {(fault.shape, fault.ring, fault.kind) for fault in faults(before)}
        self.edit(label, drawing, merge=merge)
        for fault in faults(drawing):
            new = (fault.shape, fault.ring, fault.kind) not in known
            if new and fault.kind.startswith(told):
                self.say(f"{fault.text}.")
                return

    def changed_elsewhere(self) -> Drawing | None:
        """The drawing known so far, if it is another by now through no tool; known from here on."""
        known, now = self._known, self.host.drawing
        if known is now:
            return None
        self._known = now
        return known if known != now else None

    def snap_target(
        self, pointer: Pointer, *, beside: tuple[int, int] | None = None
    ) -> Handle | None:
        """The vertex, else the edge, that catches the pointer: none while snapping is off.

        `beside`: a ring that catches nothing, as (shape, ring).
        """
        if not self.snapping or pointer.modifiers.alt or pointer.radius <= 0:
            return None
        at, radius = pointer.at, pointer.radius
        return nearest_vertex(self.outlines, at, radius, beside=beside) or nearest_edge(
            self.outlines, at, radius, beside=beside
        )

    def snapped(self, pointer: Pointer, *, beside: tuple[int, int] | None = None) -> Point:
        """The grid point that the pointer means."""
        target = self.snap_target(pointer, beside=beside)
        if target is not None and target.position is not None:
            return target.position
        return self.on_grid(pointer.at)

    def on_grid(self, at: tuple[float, float]) -> Point:
        """The grid point nearest to a place."""
        x, y = (min(max(round(value), 0), self.grid) for value in at)
        return x, y

    def point_at(self, at: tuple[float, float]) -> Point | None:
        """The same, unless the place is off the grid."""
        point = self.on_grid(at)
        return point if math.dist(point, at) < 1 else None


class Tool:
    """Ignores everything, as the pan tool does; the others say what they take.

    Methods that take a key return whether it meant something to them.
    """

    name: ClassVar[ToolName] = "pan"
    #: The keyboard's cursor reaches for what is near, as the pointer does.
    picks: ClassVar[bool] = False

    #: What the pointer is on.
    hover: Handle | None = None
    #: The handles of what is selected; empty if nothing is.
    selected: tuple[Handle, ...] = ()

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    @property
    def draft(self) -> Draft | None:
        """The ring being drawn."""
        return None

    @property
    def shown(self) -> Drawing:
        """The drawing as it would be if the drag ended here."""
        return self.desk.drawing

    @property
    def hint(self) -> str:
        """What the next click does."""
        return "Drag to move the view."

    def press(self, pointer: Pointer) -> None:
        """The button goes down."""

    def move(self, pointer: Pointer) -> None:
        """The pointer moves, with the button up or down."""

    def release(self, pointer: Pointer) -> None:
        """The button goes up."""

    def enter(self) -> bool:
        """Finish the gesture under way, as the key Enter does."""
        return False

    def escape(self) -> bool:
        """Give the gesture under way up, as the key Escape does."""
        return False

    def delete(self) -> bool:
        """Delete what is selected."""
        return False

    def nudge(self, step: tuple[int, int]) -> bool:
        """Move what is selected by grid steps."""
        return False

    def undo_vertex(self) -> bool:
        """Take back the last vertex of the draft, or a drag."""
        return False

    def leave(self) -> bool:
        """Another tool is taken; False if a draft was dropped that `take_up` can bring back."""
        self.undo_vertex()
        self.forget(self.desk.drawing)
        return True

    def take_up(self) -> bool:
        """Go on with the draft that was dropped; False if it is gone."""
        return False

    def forget(self, before: Drawing) -> None:
        """The drawing changed through no tool: let go of what may not be there any more."""
        self.escape()


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
            self._take(point, pointer)

    def _take(self, point: Point, pointer: Pointer) -> None:
        self.desk.ask(point)


class ReportTool(AskTool):
    """A click, or Insert at the grid cursor, takes one example; the drawing stays as it is."""

    name: ClassVar[ToolName] = "report"
    hint = (
        "Click an example to see what it changes in the step; elsewhere one is put there, with "
        "Shift one labelled 0."
    )

    def _take(self, point: Point, pointer: Pointer) -> None:
        self.desk.report(point, pointer.radius, not pointer.modifiers.shift)
