"""Lists everything that the window can do, once, for menus, keys, tool tips and docs/keys.md.

Nothing else writes a shortcut down.  Gestures are what keys and the mouse do on the canvas and in
charts; they belong to no menu.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

Menu = Literal["File", "Edit", "Draw", "Sample", "Run", "View", "Help"]
MENUS: tuple[Menu, ...] = get_args(Menu)

#: Groups of which exactly one action is checked.
EXCLUSIVE = ("tool", "shading")


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person can ask for."""

    id: str
    #: Of the menu; ends in an ellipsis if a dialog follows.
    text: str
    #: Shortcuts in Qt's portable form, the first shown in the menu.
    keys: tuple[str, ...]
    menu: Menu
    #: One sentence for the tool tip and the status line.
    tip: str
    #: Name among the assets.
    icon: str | None = None
    checkable: bool = False
    #: Block of its menu; a separator stands between blocks.
    group: str = ""
    #: The key works on the canvas while it is held down; it must not become a shortcut, which would
    #: take it away from buttons and text.
    held: bool = False


class Gesture(NamedTuple):
    """What keys or the mouse do on the canvas; each of the alternatives is a key in portable form
    or words such as "Double-click"."""

    keys: tuple[str, ...]
    text: str


# One action is two lines: a table to read, not to unfold.
# fmt: off
_FILE = (
    Action("new", "New", ("Ctrl+N",), "File",
           "Start with an empty drawing.", "new", group="open"),
    Action("open", "Open…", ("Ctrl+O",), "File",
           "Open a session, a target or examples.", "open", group="open"),
    Action("open_recent", "Open recent", (), "File",
           "Open a file used before.", group="open"),
    Action("open_example", "Open example", (), "File",
           "Draw one of the example targets.", group="open"),
    Action("import_target", "Import target…", ("Ctrl+I",), "File",
           "Replace the drawing by the polygons of a GeoJSON file.", "import", group="import"),
    Action("import_examples", "Import examples…", ("Ctrl+Shift+I",), "File",
           "Read labelled points from a file.", "import", group="import"),
    Action("clip", "Clip the result to an outline…", (), "File",
           "Keep what lies on a public map, never one made from the examples.", group="clip"),
    Action("clip_no_more", "Remove the clipping outline", (), "File",
           "Show and export the whole learned shape again.", group="clip"),
    Action("save", "Save", ("Ctrl+S",), "File",
           "Save the session. It contains private data.", "save", group="save"),
    Action("save_as", "Save as…", ("Ctrl+Shift+S",), "File",
           "Save the session under another name.", group="save"),
    Action("export_learned", "Export learned polygons…", ("Ctrl+E",), "File",
           "Write the released shape as GeoJSON or a GIS layer.", "export", group="export"),
    Action("export_picture", "Export picture…", ("Ctrl+Shift+E",), "File",
           "Write what the view shows as PNG or SVG.", "picture", group="export"),
    Action("export_drawing", "Export drawing…", (), "File",
           "Write the target as GeoJSON. The target is private.", group="private"),
    Action("export_examples", "Export examples…", (), "File",
           "Write the labelled points as CSV. They are private.", group="private"),
    Action("export_steps", "Export steps…", (), "File",
           "Write all steps as JSON lines. Their errors are private.", group="private"),
    Action("quit", "Quit", ("Ctrl+Q",), "File",
           "Close the window.", group="quit"),
)

_EDIT = (
    Action("undo", "Undo", ("Ctrl+Z",), "Edit",
           "Take back the last change.", "undo", group="history"),
    Action("redo", "Redo", ("Ctrl+Shift+Z", "Ctrl+Y"), "Edit",
           "Make the change again.", "redo", group="history"),
    Action("delete", "Delete", ("Delete",), "Edit",
           "Delete what is selected. Undo brings it back.", "delete", group="change"),
    Action("vertex_table", "Vertex table", ("Ctrl+T",), "Edit",
           "Show the vertices as numbers to edit.", "table", checkable=True, group="table"),
)

_DRAW = (
    Action("polygon", "Polygon", ("P",), "Draw",
           "Draw a polygon, one click a vertex.", "polygon", checkable=True, group="tool"),
    Action("hole", "Hole", ("H",), "Draw",
           "Cut a hole into a shape.", "hole", checkable=True, group="tool"),
    Action("rectangle", "Rectangle", ("R",), "Draw",
           "Drag a rectangle from corner to corner.", "rectangle", checkable=True, group="tool"),
    Action("freehand", "Freehand", ("Shift+P",), "Draw",
           "Draw an outline with the button held down.", "freehand", checkable=True, group="tool"),
    Action("select", "Select", ("V",), "Draw",
           "Select and move whole shapes.", "select", checkable=True, group="tool"),
    Action("vertices", "Vertices", ("D",), "Draw",
           "Move, insert and delete vertices.", "vertices", checkable=True, group="tool"),
    Action("paint", "Paint sample", ("B",), "Draw",
           "Paint where examples come from.", "paint", checkable=True, group="tool"),
    Action("ask", "Ask about a point", ("Q",), "Draw",
           "After a run by votes, ask for a point's label.", "ask", checkable=True, group="tool"),
    Action("report", "One report", ("W",), "Draw",
           "See what one example changes in the probabilities of a step.",
           "report", checkable=True, group="tool"),
    Action("pan", "Pan", ("Space",), "Draw",
           "Move the view. Hold Space to pan from any tool.",
           "pan", checkable=True, group="tool", held=True),
    Action("snapping", "Snap", ("S",), "Draw",
           "Snap to vertices and edges. Hold Alt to place points freely.",
           "snap", checkable=True, group="snap"),
)

_SAMPLE = (
    Action("draw_sample", "Draw sample", ("F6",), "Sample",
           "Draw labelled examples from the drawing.", "sample", group="sample"),
    Action("clear_examples", "Remove examples", (), "Sample",
           "Remove all examples.", group="sample"),
)

_RUN = (
    Action("run", "Run or pause", ("F5",), "Run",
           "Run the learner, or pause it.", "run", group="run"),
    Action("step", "Step", ("F10",), "Run",
           "Make one step of the learner.", "step", group="run"),
    Action("stop", "Stop", ("Shift+F5",), "Run",
           "Stop at once. Nothing is released; its ε counts as spent.", "stop", group="run"),
    Action("reset", "Reset", ("Ctrl+R",), "Run",
           "Forget the run and go back to before step 1. Its ε counts as spent.",
           "reset", group="run"),
    Action("live", "Live", (), "Run",
           "Run anew after every edit, but never on imported examples.",
           checkable=True, group="live"),
    Action("back", "Back one step", ("Alt+Left",), "Run",
           "Look at the step before.", "back", group="timeline"),
    Action("forward", "Forward one step", ("Alt+Right",), "Run",
           "Look at the step after.", "forward", group="timeline"),
    Action("again", "Again × 20", ("Ctrl+Shift+G",), "Run",
           "Show the outlines of twenty runs on the same simulated examples.",
           "again", group="compare"),
    Action("compare", "Compare learners…", ("Ctrl+K",), "Run",
           "Run several learners on the same examples, side by side.", group="compare"),
    Action("ledger", "Ledger…", (), "Run",
           "Count what runs on imported examples spend, up to a budget.", group="ledger"),
)

_VIEW = (
    Action("fit", "Fit", ("F",), "View",
           "Show the whole grid.", "fit", group="zoom"),
    Action("zoom_to_chosen", "Zoom to chosen cell", ("Shift+F",), "View",
           "Zoom the dual plane to the cell of the chosen point.", "zoom-chosen", group="zoom"),
    Action("zoom_to_streak", "Zoom to the probable", ("Ctrl+Shift+F",), "View",
           "Zoom the dual plane to where the probability lies.", "zoom-streak", group="zoom"),
    Action("shade_none", "No shading", (), "View",
           "Leave the cells of the dual plane plain.", checkable=True, group="shading"),
    Action("shade_score", "Shade by score", (), "View",
           "Shade the dual plane by the score of its halfplanes.", checkable=True, group="shading"),
    Action("shade_probability", "Shade by probability", (), "View",
           "Shade the dual plane by the chance of being chosen.", checkable=True, group="shading"),
    Action("show_boxes", "Sampler's boxes", ("Ctrl+B",), "View",
           "Show the sampler's heaviest boxes as they refine.",
           "boxes", checkable=True, group="dual"),
    Action("release_view", "Release view", ("Ctrl+L",), "View",
           "Show only what may be published.", "release", checkable=True, group="release"),
    Action("dark_theme", "Dark theme", ("Ctrl+Shift+D",), "View",
           "Light on dark.", "theme", checkable=True, group="theme"),
)

_HELP = (
    Action("tour", "Tour", (), "Help",
           "See in six stops what the window shows.", group="tour"),
    Action("lesson", "Small lesson", (), "Help",
           "Forty examples with few cells, and their greedy cover beside it.", group="tour"),
    Action("shortcuts", "Keyboard shortcuts", ("?", "F1"), "Help",
           "List all keys.", "help", group="keys"),
    Action("explain_privacy", "What the privacy statement means", (), "Help",
           "What ε, δ and neighbours promise, and what they do not.", "lock", group="privacy"),
    Action("about", "About geodp", (), "Help",
           "Version and licence.", group="about"),
)
# fmt: on

#: All actions, in the order of the menus.
ACTIONS = _FILE + _EDIT + _DRAW + _SAMPLE + _RUN + _VIEW + _HELP

#: What keys and the mouse do on the canvas.
GESTURES = (
    Gesture(("Click",), "Add a vertex"),
    Gesture(("Enter", "Double-click"), "Close the polygon; so does a click on its first vertex"),
    Gesture(("Backspace", "Ctrl+Z"), "Take back the last vertex while drawing"),
    Gesture(("Esc",), "Cancel what is being drawn or dragged"),
    Gesture(("Alt",), "Hold to place points without snapping"),
    Gesture(("Space",), "Hold and drag to pan"),
    Gesture(("Wheel",), "Zoom at the pointer"),
    Gesture(("Arrows",), "Move the grid cursor by 1; with Shift by 10"),
    Gesture(("Insert",), "Add a vertex at the grid cursor, or ask about it"),
    Gesture(
        ("Arrows", "+", "-"),
        "Move and zoom the dual plane; with Shift move the halfplane "
        "that is tried there, which Esc drops",
    ),
    Gesture(("Left", "Right", "Home", "End"), "Look at another step in the error chart"),
    Gesture(("Arrows", "+", "-", "Home"), "Move and zoom the map of an import, or show all of it"),
)


def action(id: str) -> Action:
    """The action of this id."""
    return next(each for each in ACTIONS if each.id == id)


def key(id: str) -> str:
    """The key of an action, for a sentence that names it."""
    return action(id).keys[0]


def tool_tip(each: Action) -> str:
    """What to show when the pointer rests on a button: text, key, sentence."""
    title = each.text.rstrip("…")
    if each.keys:
        title += f" ({'hold ' if each.held else ''}{each.keys[0]})"
    return f"{title}\n{each.tip}"
