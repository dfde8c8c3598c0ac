"""Whatever a hand does: nothing raises, the drawing stays a drawing, undo goes back."""

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from geodp_app.document.history import History
from geodp_app.drawing.editor import TOOLS, Editor, Modifiers, ToolName
from geodp_app.drawing.faults import draft_faults, faults
from geodp_app.drawing.shapes import Drawing, Shape, vertex_rows

GRID = 12
START = (Shape(((1, 1), (9, 1), (9, 9), (1, 9)), (((3, 3), (5, 3), (5, 5)),)),)

# mostly on grid points, sometimes between them or off the grid
coordinates = st.one_of(st.integers(0, GRID).map(float), st.floats(-3, GRID + 3))
places = st.tuples(coordinates, coordinates)
radii = st.sampled_from([0.0, 0.3, 1.0, 2.5])
modifiers = st.builds(Modifiers, st.booleans(), st.just(False))
calm = st.just(Modifiers())
KEYS = ("Enter", "Escape", "Backspace", "Delete", "Insert", "Left", "Right", "Up", "Down", "Tab")


class Drawers(RuleBasedStateMachine):
    """A host with a history, and an editor in the hands of chance."""

    @initialize(shapes=st.sampled_from([(), START]))
    def begin(self, shapes: tuple[Shape, ...]) -> None:
        self.history = History(Drawing(GRID, shapes))
        self.states = [self.history.state]
        self.dabs: list[tuple[int, int, int]] = []
        self.editor = Editor(self)

    # the host

    @property
    def drawing(self) -> Drawing:
        return self.history.state

    def edit(self, label: str, drawing: Drawing, *, merge: object = None) -> None:
        assert label
        assert label[0].islower()
        assert drawing != self.history.state, "an edit that changes nothing"
        self.history.push(label, drawing)
        self.states.append(drawing)

    def add_dab(self, dab: tuple[int, int, int]) -> None:
        self.dabs.append(dab)

    # the hand

    @rule(at=places, radius=radii, keys=st.one_of(calm, modifiers), double=st.booleans())
    def press(self, at: tuple[float, float], radius: float, keys: Modifiers, double: bool) -> None:
        self.editor.press(at, radius, keys, double=double)

    @rule(at=places, radius=radii, keys=st.one_of(calm, modifiers))
    def move(self, at: tuple[float, float], radius: float, keys: Modifiers) -> None:
        self.editor.move(at, radius, keys)

    @rule(at=places, radius=radii, keys=calm)
    def release(self, at: tuple[float, float], radius: float, keys: Modifiers) -> None:
        self.editor.release(at, radius, keys)

    @rule(at=places, to=places, radius=radii, keys=st.one_of(calm, modifiers))
    def drag(
        self, at: tuple[float, float], to: tuple[float, float], radius: float, keys: Modifiers
    ) -> None:
        self.editor.press(at, radius, keys)
        self.editor.move(to, radius, keys)
        self.editor.release(to, radius, keys)

    @rule(points=st.lists(places, min_size=3, max_size=6), radius=radii)
    def clicks(self, points: list[tuple[float, float]], radius: float) -> None:
        for at in points:
            self.editor.press(at, radius)
            self.editor.release(at, radius)
        self.editor.key("Enter")

    @rule(name=st.sampled_from(KEYS), keys=st.one_of(calm, modifiers))
    def key(self, name: str, keys: Modifiers) -> None:
        self.editor.key(name, keys)

    @rule(on=st.booleans())
    def snap(self, on: bool) -> None:
        self.editor.desk.snapping = on

    @rule(tool=st.sampled_from(TOOLS))
    def set_tool(self, tool: ToolName) -> None:
        kind = self.editor.tool
        other = tool != kind
        draft, shapes = self.editor.current.draft, len(self.drawing.shapes)
        ring = draft.vertices if draft is not None and kind in ("polygon", "hole") else ()
        before = self.drawing
        self.editor.set_tool(tool)
        assert self.editor.tool == tool
        if draft is not None and other:
            assert self.editor.desk.message, "a draft was put away without a word"
        if other and len(ring) >= 3 and not draft_faults(ring, closed=True):
            # a valid draft became part of the drawing, or can be taken up again
            if self.drawing == before:
                assert self.editor.undo_vertex()
                assert self.editor.current.draft.vertices == ring
            elif draft is not None and kind == "polygon":
                assert len(self.drawing.shapes) == shapes + 1

    @rule()
    def undo_vertex(self) -> None:
        had, tool = self.editor.current.draft, self.editor.tool
        used = self.editor.undo_vertex()
        assert used or had is None
        assert used or self.editor.tool == tool

    @rule()
    @precondition(lambda self: len(self.states) > 1)
    def undo(self) -> None:
        assert self.history.undo()
        self.states.pop()
        assert self.drawing == self.states[-1]

    @rule(grid=st.sampled_from([GRID, 6, 20]))
    def other_drawing(self, grid: int) -> None:
        """Another one edits the drawing, as an import or a change of the grid does."""
        drawing = Drawing(grid, (Shape(((0, 0), (5, 1), (4, 5))),))
        if drawing != self.drawing:
            self.history.push("import", drawing)
            self.states.append(drawing)

    # the facts

    @invariant()
    def every_drawing_is_one(self) -> None:
        for drawing in (self.drawing, self.editor.current.shown):
            assert all(len(ring) >= 3 for shape in drawing.shapes for ring in shape.rings)
            for *_, x, y in vertex_rows(drawing):
                assert type(x) is type(y) is int
                assert 0 <= x <= drawing.grid
                assert 0 <= y <= drawing.grid

    @invariant()
    def what_is_shown_can_be_painted(self) -> None:
        editor = self.editor
        faults(editor.current.shown)
        assert editor.current.hint
        rings = [ring for shape in editor.current.shown.shapes for ring in shape.rings]
        assert all(ring in rings for ring in editor.selected_rings())
        for handle in (
            *editor.current.selected,
            *([editor.current.hover] if editor.current.hover else []),
        ):
            assert handle.index < len(editor.current.shown.shapes[handle.shape].rings[handle.ring])
        grid = editor.current.shown.grid
        cursor = [editor.desk.cursor] if editor.desk.cursor else []
        draft = editor.current.draft
        points = [*cursor, *(draft.vertices + draft.preview if draft else ())]
        assert all(0 <= x <= grid and 0 <= y <= grid for x, y in points)

    @invariant()
    def the_history_has_every_edit(self) -> None:
        assert self.drawing is self.states[-1]
        assert all(0 <= x <= 20 and 0 <= y <= 20 and r == 1 for x, y, r in self.dabs)


TestDrawers = Drawers.TestCase
TestDrawers.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
