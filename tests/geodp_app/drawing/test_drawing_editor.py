"""The editor, tool by tool: what a person does with pointer and keys, and what comes of it."""

import math
from collections.abc import Callable
from itertools import pairwise

import pytest

from geodp_app.document.history import History
from geodp_app.drawing.editor import TOOLS, Editor, Modifiers, ToolName
from geodp_app.drawing.faults import faults
from geodp_app.drawing.hits import Handle
from geodp_app.drawing.shapes import Drawing, Point, Ring, Shape
from geodp_app.drawing.tool import Draft

SQUARE: Ring = ((20, 20), (60, 20), (60, 60), (20, 60))
HOLE: Ring = ((30, 30), (40, 30), (40, 40), (30, 40))
TRIANGLE: Ring = ((70, 70), (90, 70), (90, 90))
ALT, SHIFT = Modifiers(alt=True), Modifiers(shift=True)


class Keeper:
    """A host with a history."""

    def __init__(self, *shapes: Shape, grid: int = 100) -> None:
        self.history = History(Drawing(grid, shapes))
        self.dabs: list[tuple[int, int, int]] = []

    @property
    def drawing(self) -> Drawing:
        return self.history.state

    def edit(self, label: str, drawing: Drawing, *, merge: object = None) -> None:
        self.history.push(label, drawing)

    def add_dab(self, dab: tuple[int, int, int]) -> None:
        self.dabs.append(dab)


class Hand:
    """Pointer and keys on an editor, with a pick radius of 2."""

    def __init__(self, tool: ToolName, *shapes: Shape, grid: int = 100) -> None:
        self.host = Keeper(*shapes, grid=grid)
        self.editor = Editor(self.host)
        self.editor.set_tool(tool)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return self.host.drawing.shapes

    @property
    def draft(self) -> Draft:
        """What is being drawn."""
        found = self.editor.current.draft
        assert found is not None
        return found

    def click(self, x: float, y: float, keys: Modifiers = Modifiers(), radius: float = 2) -> None:  # noqa: B008
        self.editor.move((x, y), radius, keys)
        self.editor.press((x, y), radius, keys)
        self.editor.release((x, y), radius, keys)

    def double_click(self, x: float, y: float) -> None:
        self.click(x, y)
        self.editor.press((x, y), 2, double=True)
        self.editor.release((x, y), 2)

    def clicks(self, *points: Point) -> None:
        for point in points:
            self.click(*point)

    def drag(self, *way: tuple[float, float], keys: Modifiers = Modifiers()) -> None:  # noqa: B008
        self.editor.press(way[0], 2, keys)
        for at in way[1:]:
            self.editor.move(at, 2, keys)
        self.editor.release(way[-1], 2, keys)

    def keys(self, *names: str, keys: Modifiers = Modifiers()) -> None:  # noqa: B008
        for name in names:
            self.editor.key(name, keys)

    def cursor_to(self, x: int, y: int) -> None:
        """Walk the keyboard's cursor."""
        self.editor.key("Right")
        self.editor.key("Left")
        at = self.editor.desk.cursor
        for name, steps in (("Right", x - at[0]), ("Up", y - at[1])):
            back = {"Right": "Left", "Up": "Down"}[name]
            for _ in range(abs(steps)):
                self.editor.key(name if steps > 0 else back)
        assert self.editor.desk.cursor == (x, y)


# one thing that a hand does, what is drawn then, what is said of it and what undo would take back

CORNERS: Ring = ((10, 10), (30, 10), (30, 30))
NARROW: Ring = ((20, 20), (21, 20), (21, 60))
WIDE: Ring = ((10, 10), (30, 10), (30, 25), (10, 25))


def by_keys(*points: Point) -> Callable[[Hand], object]:
    """The cursor goes to places, and what is there is taken."""

    def do(hand: Hand) -> None:
        for point in points:
            hand.cursor_to(*point)
            hand.keys("Insert")

    return do


def escaped(hand: Hand) -> None:
    hand.editor.press((10, 10), 2)
    hand.editor.move((30, 30), 2)
    hand.keys("Escape")
    hand.editor.release((30, 30), 2)


def alt_double(hand: Hand) -> None:
    hand.click(20, 20.4, ALT)
    hand.editor.press((20, 20.4), 2, ALT, double=True)


CLOSED, MOVED = "The polygon was closed.", "Hole 1 crosses the outline at (60, 30)."
GONE = "The hole removed a shape whole. Undo brings it back."
BARE = "The shape had only 3 vertices and was removed. Undo brings it back."
DONE: dict[str, tuple[ToolName, list[Shape], Callable[[Hand], object], list[Shape], str | None]] = {
    "another tool closes a polygon that can be closed": (
        "polygon", [], lambda h: (h.clicks(*CORNERS), h.editor.set_tool("select")),
        [Shape(CORNERS)], CLOSED,
    ),
    "a polygon is closed by keys on its first vertex": (
        "polygon", [], by_keys((50, 50), (53, 50), (53, 53), (50, 50)),
        [Shape(((50, 50), (53, 50), (53, 53)))], None,
    ),
    "a hole is cut where a shape surrounds it": (
        "hole", [Shape(SQUARE)], lambda h: (h.clicks(*HOLE), h.keys("Enter")),
        [Shape(SQUARE, (HOLE,))], None,
    ),
    "a hole over a whole shape removes it": (
        "hole", [Shape(TRIANGLE)],
        lambda h: (h.clicks((65, 65), (95, 65), (95, 95), (65, 95)), h.keys("Enter")), [], GONE,
    ),
    "a hole moved out is allowed": (
        "select", [Shape(SQUARE, (HOLE,))], lambda h: h.drag((35, 35), (60, 35)),
        [Shape(SQUARE, (tuple((x + 25, y) for x, y in HOLE),))], MOVED,
    ),
    "a rectangle is dragged": (
        "rectangle", [], lambda h: h.drag((10, 10), (20, 15), (30.4, 25)), [Shape(WIDE)], None,
    ),
    "a rectangle without width": (
        "rectangle", [], lambda h: h.drag((10, 10), (10, 40)), [],
        "A rectangle needs a width and a height.",
    ),
    "a rectangle by keys": (
        "rectangle", [],
        lambda h: (h.keys("Insert"), h.keys("Right", "Up", keys=SHIFT), h.keys("Up", "Insert")),
        [Shape(((50, 50), (60, 50), (60, 61), (50, 61)))], None,
    ),
    "a release after Escape": ("rectangle", [], escaped, [], "Rectangle cancelled."),
    "a freehand line encloses nothing": (
        "freehand", [], lambda h: h.drag((10, 10), (20, 10), (40, 10)), [],
        "The outline encloses nothing: no shape was drawn.",
    ),
    "a double click on an edge inserts one vertex": (
        "vertices", [Shape(SQUARE)], lambda h: h.double_click(40, 20),
        [Shape((SQUARE[0], (40, 20), *SQUARE[1:]))], None,
    ),
    "a double Alt click removes one vertex": (
        "vertices", [Shape((*SQUARE, (20, 21)))], alt_double, [Shape((*SQUARE[1:], (20, 21)))],
        None,
    ),
    "no grid point lies between neighbours": (
        "vertices", [Shape(NARROW)], lambda h: h.click(20.5, 20, radius=0.4), [Shape(NARROW)],
        "There is no grid point between the ends of this edge.",
    ),
    "a triangle goes with its vertex": (
        "vertices", [Shape(SQUARE), Shape(TRIANGLE)], lambda h: h.click(70, 70, ALT),
        [Shape(SQUARE)], BARE,
    ),
    "a dragged vertex is caught by no edge of its own ring": (
        "vertices", [Shape(SQUARE), Shape(TRIANGLE)],
        lambda h: h.drag((60, 20), (60, 40), (61, 59)),
        [Shape((SQUARE[0], (61, 59), *SQUARE[2:])), Shape(TRIANGLE)], None,
    ),
    "a dragged vertex is caught by other rings": (
        "vertices", [Shape(SQUARE), Shape(TRIANGLE)],
        lambda h: h.drag((70, 70), (65, 65), (59, 61)),
        [Shape(SQUARE), Shape(((60, 60), *TRIANGLE[1:]))], None,
    ),
    "a vertex dropped across an edge is allowed": (
        "vertices", [Shape(SQUARE)], lambda h: h.drag((20, 20), (80, 40)),
        [Shape(((80, 40), *SQUARE[1:]))], "Edges 2 and 4 cross at (60, 46.67).",
    ),
    "a shaky click on a vertex moves nothing": (
        "vertices", [Shape(SQUARE)], lambda h: h.drag((21, 21), (21.6, 21.6)), [Shape(SQUARE)],
        None,
    ),
    "shaky clicks on a shape move nothing": (
        "select", [Shape(SQUARE)],
        lambda h: (h.drag((25, 25), (26.5, 25)), h.drag((25, 25), (25.7, 25.6))), [Shape(SQUARE)],
        None,
    ),
    "a hole is deleted": (
        "select", [Shape(SQUARE, (HOLE,)), Shape(TRIANGLE)],
        lambda h: (h.click(35, 35), h.keys("Delete")), [Shape(SQUARE), Shape(TRIANGLE)],
        "Deleted a hole. Undo brings it back.",
    ),
    "two shapes are deleted": (
        "select", [Shape(SQUARE, (HOLE,)), Shape(TRIANGLE)],
        lambda h: (h.click(25, 25), h.click(85, 75, SHIFT), h.keys("Delete")), [],
        "Deleted 2 shapes. Undo brings it back.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", DONE)
def test_what_a_hand_does_is_drawn_and_told(what: str) -> None:
    tool, shapes, do, left, said = DONE[what]
    hand = Hand(tool, *shapes)
    do(hand)
    assert hand.shapes == tuple(left)
    assert said is None or hand.editor.desk.message == said
    assert hand.editor.current.draft is None
    assert (hand.host.history.undo_label is None) == (left == shapes)


# polygon


@pytest.mark.parametrize("how", ["Enter", "double click", "shaky double click", "first vertex"])
def test_a_polygon_is_closed_in_one_undoable_step(how: str) -> None:
    hand = Hand("polygon")
    hand.clicks((10, 10), (30, 10))
    if how == "double click":
        hand.double_click(30, 30)  # and adds no stray vertex
    else:
        hand.click(30, 30)
        assert hand.shapes == ()
    if how == "Enter":
        hand.keys("Enter")
    elif how == "shaky double click":
        hand.editor.press((31.4, 29), 2, double=True)
    elif how == "first vertex":
        hand.editor.move((11, 10), 2)
        assert hand.editor.current.hint == "Click to close the polygon."
        hand.double_click(11, 10)  # the second press must not begin another polygon
    assert hand.shapes == (Shape(((10, 10), (30, 10), (30, 30))),)
    assert hand.editor.current.draft is None
    hand.host.history.undo()
    assert hand.shapes == ()


def test_with_alt_only_the_first_grid_point_itself_closes() -> None:
    hand = Hand("polygon")
    hand.clicks((10, 10), (30, 10), (30, 30))
    hand.click(11, 10, ALT)
    assert hand.draft.vertices[-1] == (11, 10)
    hand.keys("Backspace")
    hand.click(10, 10, ALT)
    assert len(hand.shapes) == 1


def test_repeated_clicks_add_nothing() -> None:
    hand = Hand("polygon")
    hand.clicks((10, 10), (10, 10), (30, 10), (30, 10))
    assert hand.draft.vertices == ((10, 10), (30, 10))


def test_two_vertices_are_no_polygon() -> None:
    hand = Hand("polygon")
    hand.clicks((10, 10), (30, 10))
    hand.keys("Enter")
    assert hand.editor.desk.message == "A polygon needs at least 3 vertices."
    hand.click(10, 10)
    assert hand.editor.desk.message == "A polygon needs at least 3 vertices."
    assert len(hand.draft.vertices) == 2


def test_backspace_and_undo_take_back_the_last_vertex() -> None:
    hand = Hand("polygon")
    hand.clicks((10, 10), (30, 10), (30, 30))
    hand.keys("Backspace")
    assert hand.editor.undo_vertex()
    assert hand.draft.vertices == ((10, 10),)
    assert hand.editor.undo_vertex()
    assert hand.editor.current.draft is None
    assert not hand.editor.undo_vertex()
    assert not hand.editor.key("Backspace")


@pytest.mark.parametrize("tool", ["polygon", "hole", "rectangle", "freehand"])
def test_escape_cancels_every_draft(tool: ToolName) -> None:
    hand = Hand(tool)
    hand.click(10, 10)
    assert hand.editor.current.draft is not None
    assert hand.editor.key("Escape")
    assert hand.editor.current.draft is None
    assert hand.editor.desk.message
    assert not hand.editor.key("Escape")
    assert hand.shapes == ()


def test_vertices_are_grid_points_within_the_grid() -> None:
    hand = Hand("polygon")
    hand.clicks((-7, 3.4), (130, 2.6), (50.2, 1e9))  # type: ignore[arg-type]
    assert hand.draft.vertices == ((0, 3), (100, 3), (50, 100))


def test_vertices_and_edges_catch_the_pointer_unless_alt_or_snapping_off() -> None:
    hand = Hand("polygon", Shape(SQUARE))
    hand.click(21, 19)
    hand.click(50, 21.4)
    hand.click(21, 59, ALT)
    hand.editor.desk.snapping = False
    hand.click(61, 61)
    assert hand.draft.vertices == ((20, 20), (50, 20), (21, 59), (61, 61))


def test_what_catches_the_pointer_is_shown() -> None:
    hand = Hand("polygon", Shape(SQUARE))
    hand.editor.move((21, 19), 2)
    assert hand.editor.current.hover == Handle("vertex", 0, 0, 0, (20, 20))
    hand.editor.move((80, 80), 2)
    assert hand.editor.current.hover is None


def test_the_next_edge_tells_of_the_crossing_it_would_make() -> None:
    hand = Hand("polygon")
    hand.clicks((10, 10), (30, 10), (30, 30))
    hand.editor.move((20, 20), 2)
    assert hand.draft.fault is None
    assert hand.draft.preview == ((10, 10), (30, 10), (30, 30), (20, 20))
    hand.editor.move((20, 0), 2)
    assert hand.draft.fault.kind == "crossing"
    assert hand.draft.fault.at == pytest.approx((23.333, 10), abs=1e-3)
    assert hand.draft.fault.text == "Edges 1 and 3 cross at (23.33, 10)"


def test_an_edge_back_along_the_last_one_is_a_spike() -> None:
    hand = Hand("polygon")
    hand.clicks((10, 10), (30, 10))
    hand.editor.move((25, 10), 2)
    assert hand.draft.fault.kind == "spike"


def test_a_crossing_polygon_is_not_closed_and_not_lost() -> None:
    hand = Hand("polygon")
    hand.clicks((10, 10), (30, 30), (30, 10), (10, 30))
    hand.keys("Enter")
    assert "Edges 1 and 3 cross at (20, 20)" in hand.editor.desk.message
    assert hand.shapes == ()
    assert len(hand.draft.vertices) == 4


def test_where_the_closing_edge_would_cross_is_told_on_the_first_vertex() -> None:
    hand = Hand("polygon")
    hand.clicks((10, 10), (50, 10), (50, 50), (30, -0), (20, 40))
    hand.editor.move((10, 10), 2)
    assert hand.editor.current.hint == "Click to close the polygon."
    assert hand.draft.fault is not None


@pytest.mark.parametrize("points", [((10, 10), (30, 10)), ((10, 10), (30, 30), (30, 10), (10, 30))])
def test_another_tool_drops_other_drafts_aloud_and_undo_takes_them_up(points):
    hand = Hand("polygon")
    hand.clicks(*points)
    hand.editor.set_tool("select")
    assert hand.editor.current.draft is None
    assert f"{len(points)} vertices dropped" in hand.editor.desk.message
    assert hand.editor.undo_vertex()
    assert hand.editor.tool == "polygon"
    assert hand.draft.vertices == points


def test_a_dropped_draft_is_forgotten_with_the_next_press() -> None:
    hand = Hand("polygon")
    hand.click(10, 10)
    hand.editor.set_tool("select")
    hand.click(50, 50)
    assert not hand.editor.undo_vertex()
    assert hand.editor.tool == "select"


def test_the_same_tool_again_keeps_the_draft() -> None:
    hand = Hand("polygon")
    hand.clicks((10, 10), (30, 10), (30, 30))
    hand.editor.set_tool("polygon")
    assert hand.editor.current.draft is not None
    assert hand.shapes == ()


def test_a_coarser_grid_drops_a_draft_that_lies_off_it() -> None:
    hand = Hand("polygon")
    hand.clicks((10, 10), (90, 10))
    hand.host.edit("change the grid", Drawing(200))
    assert hand.editor.current.draft is not None
    hand.host.edit("change the grid", Drawing(50))
    assert hand.editor.current.draft is None
    assert hand.editor.desk.message == "Polygon cancelled."


# hole


def test_a_hole_outside_every_shape_is_kept_and_told() -> None:
    hand = Hand("hole", Shape(TRIANGLE))
    hand.clicks(*HOLE)
    hand.keys("Enter")
    assert hand.editor.desk.message == "The hole lies outside every shape: nothing was cut."
    assert hand.editor.current.draft is not None
    assert hand.shapes == (Shape(TRIANGLE),)
    hand.editor.set_tool("select")
    assert "dropped" in hand.editor.desk.message
    assert hand.editor.undo_vertex()
    assert hand.editor.tool == "hole"


# rectangle


def test_a_rectangle_takes_two_clicks() -> None:
    hand = Hand("rectangle")
    hand.click(10, 10)
    hand.editor.move((25, 20), 2)
    assert hand.draft.preview == ((10, 10), (25, 10), (25, 20), (10, 20))
    assert hand.editor.current.hint.startswith("15 × 10.")
    hand.click(30, 25)
    assert hand.shapes == (Shape(((10, 10), (30, 10), (30, 25), (10, 25))),)


@pytest.mark.parametrize(
    ("to", "corner"), [((30, 25), (30, 30)), ((-50, 12), (0, 20)), ((12, 0), (20, 0))]
)
def test_shift_makes_a_square_within_the_grid(to: Point, corner: Point) -> None:
    hand = Hand("rectangle")
    hand.drag((10, 10), to, keys=SHIFT)
    (shape,) = hand.shapes
    assert shape.outer[2] == corner


# freehand


def circle(radius: float, turns: float = 1.0, steps: int = 200) -> list[tuple[float, float]]:
    angles = [2 * math.pi * turns * i / steps for i in range(steps + 1)]
    return [(50 + radius * math.cos(a), 50 + radius * math.sin(a)) for a in angles]


def test_a_freehand_circle_becomes_few_grid_points() -> None:
    hand = Hand("freehand")
    hand.drag(*circle(40))
    (shape,) = hand.shapes
    assert 6 <= len(shape.outer) <= 40
    assert faults(hand.host.drawing) == ()
    assert hand.host.drawing.region().area == pytest.approx(math.pi * 1600, rel=0.05)


def test_a_freehand_outline_that_overshoots_is_one_shape_without_holes() -> None:
    hand = Hand("freehand")
    hand.drag(*[(x, y + 0.04 * i) for i, (x, y) in enumerate(circle(30, turns=1.1))])
    (shape,) = hand.shapes
    assert shape.holes == ()
    assert faults(hand.host.drawing) == ()


def test_a_freehand_eight_is_two_shapes() -> None:
    hand = Hand("freehand")
    eight = [
        (50 + 40 * math.sin(t), 50 + 30 * math.sin(2 * t))
        for t in (2 * math.pi * i / 200 for i in range(200))
    ]
    hand.drag(*eight)
    assert len(hand.shapes) == 2
    assert hand.editor.desk.message == "The outline crosses itself: 2 shapes were drawn."
    hand.host.history.undo()
    assert hand.shapes == ()


# select


def test_a_click_selects_and_empty_ground_lets_go() -> None:
    hand = Hand("select", Shape(SQUARE, (HOLE,)), Shape(TRIANGLE))
    hand.click(25, 25)
    assert hand.editor.current.selected == (Handle("shape", 0),)
    assert hand.editor.selected_rings() == (SQUARE, HOLE)
    hand.click(35, 35)
    assert hand.editor.current.selected == (Handle("hole", 0, 1),)
    assert hand.editor.selected_rings() == (HOLE,)
    hand.click(5, 5)
    assert hand.editor.current.selected == ()


def test_shift_adds_to_the_selection_and_takes_from_it() -> None:
    hand = Hand("select", Shape(SQUARE), Shape(TRIANGLE))
    hand.click(25, 25)
    hand.click(85, 75, SHIFT)
    assert len(hand.editor.current.selected) == 2
    hand.click(25, 25, SHIFT)
    assert hand.editor.current.selected == (Handle("shape", 1),)
    hand.click(25, 25, SHIFT)
    hand.click(25, 25)
    assert hand.editor.current.selected == (Handle("shape", 0),)


def test_a_thin_shape_can_be_taken_at_its_outline() -> None:
    hand = Hand("select", Shape(SQUARE))
    hand.click(60.8, 40)
    assert hand.editor.current.selected == (Handle("shape", 0),)


def test_a_drag_moves_what_is_selected_in_one_step() -> None:
    hand = Hand("select", Shape(SQUARE, (HOLE,)), Shape(TRIANGLE))
    hand.click(25, 25)
    hand.editor.press((25, 25), 2)
    hand.editor.move((28, 25), 2)
    hand.editor.move((30, 26), 2)
    assert hand.shapes[0].outer == SQUARE
    assert hand.editor.current.shown.shapes[0].outer[0] == (25, 21)
    assert hand.editor.selected_rings()[0][0] == (25, 21)
    hand.editor.release((30, 26), 2)
    assert hand.shapes[0].outer[0] == (25, 21)
    assert hand.shapes[0].holes[0][0] == (35, 31)
    assert hand.shapes[1] == Shape(TRIANGLE)
    assert hand.host.history.undo() == "move a shape"
    assert hand.host.history.undo_label is None


@pytest.mark.parametrize("how", ["Escape", "undo"])
@pytest.mark.parametrize(
    ("tool", "at"), [("select", (25, 25)), ("vertices", (20, 20)), ("vertices", (40, 20))]
)
def test_a_drag_can_be_called_off(tool: ToolName, at: Point, how: str) -> None:
    hand = Hand(tool, Shape(SQUARE))
    hand.editor.press(at, 2)
    hand.editor.move((5, 5), 2)
    assert hand.editor.key("Escape") if how == "Escape" else hand.editor.undo_vertex()
    assert hand.editor.current.shown.shapes == (Shape(SQUARE),)
    hand.editor.release((5, 5), 2)
    assert hand.shapes == (Shape(SQUARE),)
    assert hand.host.history.undo_label is None


def test_arrows_nudge_the_selection_or_move_the_cursor() -> None:
    hand = Hand("select", Shape(SQUARE))
    hand.click(25, 25)
    hand.keys("Right", "Up")
    hand.keys("Left", keys=SHIFT)
    assert hand.shapes[0].outer[0] == (11, 21)
    assert hand.editor.current.selected == (Handle("shape", 0),)
    hand.keys("Escape", "Down")
    assert hand.editor.desk.cursor == (25, 24)
    assert hand.shapes[0].outer[0] == (11, 21)


def test_undo_elsewhere_lets_go_of_the_selection() -> None:
    hand = Hand("select", Shape(SQUARE))
    hand.drag((25, 25), (35, 25))
    assert hand.editor.current.selected
    hand.host.history.undo()
    assert hand.editor.current.selected == ()
    assert hand.editor.selected_rings() == ()


# vertices


def test_the_pointer_finds_vertices_and_edges() -> None:
    hand = Hand("vertices", Shape(SQUARE))
    hand.editor.move((21, 21), 2)
    assert hand.editor.current.hover == Handle("vertex", 0, 0, 0, (20, 20))
    hand.editor.move((40, 19), 2)
    assert hand.editor.current.hover == Handle("edge", 0, 0, 0, (40, 20))
    hand.editor.move((40, 40), 2)
    assert hand.editor.current.hover is None


def test_the_first_vertex_moves_as_one_with_the_closing_edge() -> None:
    hand = Hand("vertices", Shape(SQUARE))
    hand.editor.press((20.5, 20), 2)
    hand.editor.move((15, 12), 2)
    assert hand.shapes[0].outer == SQUARE
    assert hand.editor.current.shown.shapes[0].outer == ((15, 12), *SQUARE[1:])
    hand.editor.release((15, 12), 2)
    assert hand.shapes[0].outer == ((15, 12), *SQUARE[1:])
    assert hand.host.history.undo() == "move a vertex"


def test_a_click_on_an_edge_inserts_and_a_drag_pulls_out_a_vertex_in_one_step() -> None:
    hand = Hand("vertices", Shape(SQUARE))
    hand.click(40, 20.6)
    assert hand.shapes[0].outer == (SQUARE[0], (40, 20), *SQUARE[1:])
    hand.drag((20, 45), (15, 45), (10, 45))
    assert hand.shapes[0].outer[-1] == (10, 45)
    assert hand.host.history.undo() == "insert a vertex"
    assert len(hand.shapes[0].outer) == 5


@pytest.mark.parametrize("how", ["Delete", "Backspace", "Alt"])
def test_a_vertex_is_removed(how: str) -> None:
    hand = Hand("vertices", Shape(SQUARE))
    if how == "Alt":
        hand.click(20, 20, ALT)
    else:
        hand.click(20, 20)
        assert hand.editor.key(how)
    assert hand.shapes == (Shape(SQUARE[1:]),)
    assert hand.host.history.undo() == "remove a vertex"


def test_the_vertex_under_the_pointer_is_removed_when_none_is_selected() -> None:
    hand = Hand("vertices", Shape(SQUARE))
    hand.editor.move((60, 60), 2)
    hand.keys("Delete")
    assert hand.shapes == (Shape((*SQUARE[:2], SQUARE[3])),)
    hand.editor.move((40, 40), 2)
    assert not hand.editor.key("Delete")


# paint, pan


def test_a_stroke_is_dabs_half_a_radius_apart() -> None:
    hand = Hand("paint")
    hand.drag((10, 10), (10.5, 10), (11, 10), (30, 10))
    assert {dab[2] for dab in hand.host.dabs} == {5}
    xs = [dab[0] for dab in hand.host.dabs]
    assert xs[0] == 10
    assert xs[-1] in (29, 30)
    assert all(2 <= b - a <= 3 for a, b in pairwise(xs))
    hand.editor.move((60, 60), 2)
    assert len(hand.host.dabs) == len(xs)


def test_nothing_is_painted_off_the_grid() -> None:
    hand = Hand("paint")
    hand.drag((-20, 50), (-5, 50))
    assert hand.host.dabs == []


def test_pan_ignores_everything() -> None:
    hand = Hand("pan", Shape(SQUARE))
    hand.drag((25, 25), (50, 50))
    names = ("Enter", "Escape", "Backspace", "Delete", "Insert", "Left", "Tab")
    assert not any(hand.editor.key(name) for name in names)
    assert hand.shapes == (Shape(SQUARE),)
    assert hand.editor.desk.cursor is None


# without a mouse


def test_the_cursor_starts_in_the_middle_and_shift_makes_long_steps() -> None:
    hand = Hand("polygon")
    hand.keys("Right")
    assert hand.editor.desk.cursor == (51, 50)
    hand.keys("Up", "Up", keys=SHIFT)
    assert hand.editor.desk.cursor == (51, 70)
    hand.keys(*["Up"] * 9, keys=SHIFT)
    assert hand.editor.desk.cursor == (51, 100)
    hand.editor.move((3, 4), 2)
    assert hand.editor.desk.cursor is None
    hand.keys("Down")
    assert hand.editor.desk.cursor == (3, 3)


@pytest.mark.parametrize("tool", ["polygon", "hole"])
def test_rings_are_drawn_by_keys(tool: ToolName) -> None:
    hand = Hand(tool, Shape(SQUARE))
    # next to a vertex of the square: the cursor is exact
    for point in ((21, 21), (40, 21), (40, 40)):
        hand.cursor_to(*point)
        hand.keys("Insert")
    hand.keys("Enter")
    ring = ((21, 21), (40, 21), (40, 40))
    done, expected = {
        "polygon": ("draw a polygon", (Shape(SQUARE), Shape(ring))),
        "hole": ("cut a hole", (Shape(SQUARE, (ring,)),)),
    }[tool]
    assert (hand.host.history.undo_label, hand.shapes) == (done, expected)


def test_freehand_is_drawn_by_keys() -> None:
    hand = Hand("freehand")
    hand.keys("Insert", *["Right"] * 5, *["Up"] * 5, *["Left"] * 5)
    assert hand.editor.current.draft is not None
    hand.keys("Enter")
    (shape,) = hand.shapes
    assert set(shape.outer) == {(50, 50), (55, 50), (55, 55), (50, 55)}


def test_a_shape_is_selected_moved_and_deleted_by_keys() -> None:
    hand = Hand("select", Shape(SQUARE))
    hand.keys("Insert", "Right", "Right")
    assert hand.shapes[0].outer[0] == (22, 20)
    assert hand.editor.desk.cursor == (52, 50)
    hand.keys("Delete")
    assert hand.shapes == ()


def test_a_vertex_is_moved_inserted_and_removed_by_keys() -> None:
    hand = Hand("vertices", Shape(SQUARE))
    hand.cursor_to(60, 59)
    hand.keys("Insert")
    assert hand.editor.current.selected == (Handle("vertex", 0, 0, 2, (60, 60)),)
    hand.keys("Up", "Right", "Enter")
    assert hand.shapes[0].outer[2] == (61, 61)
    hand.cursor_to(40, 20)
    hand.keys("Insert", "Down")
    assert hand.shapes[0].outer[1] == (40, 19)
    hand.keys("Delete")
    assert hand.shapes[0].outer[1] == (60, 20)


def test_dabs_are_set_by_keys() -> None:
    hand = Hand("paint")
    hand.keys("Insert", "Right", "Insert")
    assert hand.host.dabs == [(50, 50, 5), (51, 50, 5)]


# robustness


@pytest.mark.parametrize("tool", TOOLS)
def test_places_that_are_no_numbers_are_ignored(tool: ToolName) -> None:
    hand = Hand(tool, Shape(SQUARE))
    for at in ((math.nan, 3.0), (math.inf, 0.0)):
        hand.drag(at, at)
        hand.editor.press((3, 3), math.nan)
    assert hand.editor.current.draft is None
    assert hand.host.dabs == []


def test_a_message_lasts_until_the_next_press_or_key() -> None:
    hand = Hand("polygon")
    hand.click(10, 10)
    hand.keys("Enter")
    hand.editor.move((20, 20), 2)
    assert hand.editor.desk.message
    hand.click(20, 20)
    assert hand.editor.desk.message is None
