"""The plane: a drawing is filled inside, every vertex has its handle and every example its mark."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from geodp import Frame
from geodp_app.document.document import Document
from geodp_app.drawing.editor import Editor
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.drawing.tool import Modifiers
from geodp_app.palette import load_palette
from geodp_app.views.plane.examples_layer import (
    MAX_SIDE,
    MOST_MARKS,
    MOST_SYMBOLS,
    ExampleKinds,
    Kind,
    grid_places,
    mark,
    picture,
)
from geodp_app.views.plane.plane_view import PlaneView, union_path


def square(x: int, y: int, side: int, *holes: Shape) -> Shape:
    ring = ((x, y), (x + side, y), (x + side, y + side), (x, y + side))
    return Shape(ring, tuple(hole.outer for hole in holes))


def reversed_(shape: Shape) -> Shape:
    return Shape(shape.outer[::-1], tuple(hole[::-1] for hole in shape.holes))


STAR = Shape(tuple((round(9 + 9 * math.sin(2.4 * i * 0.5236)), i % 3 * 7 + i) for i in range(7)))
DRAWINGS = {
    "two overlap": (square(0, 0, 12), square(8, 8, 12)),
    "one against the clock": (square(0, 0, 12), reversed_(square(8, 8, 12))),
    "a hole that another covers in part": (square(0, 0, 20, square(4, 4, 12)), square(8, 8, 3)),
    "holes one above the other": (
        square(0, 0, 20, square(4, 4, 12)),
        reversed_(square(2, 2, 20, square(6, 6, 12))),
    ),
    "one crosses itself": (Shape(((0, 0), (20, 20), (20, 0), (0, 20))), square(6, 6, 8)),
    "all the same": (square(2, 2, 15), square(2, 2, 15), square(2, 2, 15)),
    "one alone crosses itself": (STAR,),
    "two cross themselves": (STAR, reversed_(STAR), square(3, 3, 9)),
    "one without area": (Shape(((3, 3), (9, 9), (6, 6))), square(0, 0, 5)),
    "none": (),
}


@pytest.mark.parametrize("shapes", DRAWINGS.values(), ids=DRAWINGS)
def test_what_is_filled_is_what_is_sampled_as_positive(shapes: tuple[Shape, ...]) -> None:
    drawing, path = Drawing(25, shapes), union_path(shapes)
    x, y = np.meshgrid(np.arange(-1, 25) + 0.3, np.arange(-1, 25) + 0.45)
    inside = shapely.contains_xy(drawing.region(), x, y)
    edges = shapely.union_all([ring for s in shapes for ring in map(shapely.linestrings, s.rings)])
    for u, v, expected in zip(x.flat, y.flat, inside.flat, strict=True):
        if shapes and shapely.distance(edges, shapely.Point(u, v)) < 0.02:
            continue
        assert path.contains(QPointF(u, v)) == expected, (u, v)


@pytest.fixture
def view(qtbot: QtBot) -> PlaneView:
    made = PlaneView()
    qtbot.addWidget(made)
    made.set_palette(load_palette("light"))
    made.resize(600, 600)
    made.show()
    return made


def pictured(view: PlaneView, editor: Editor) -> QImage:
    view.editor = editor
    view.show_drawing(())
    QApplication.processEvents()
    image: QImage = view.viewport().grab().toImage()
    return image


def colour_at(view: PlaneView, image: QImage, x: float, y: float) -> QColor:
    spot = view.to_widget(x, y).toPoint()
    return image.pixelColor(spot)


def test_where_two_polygons_overlap_the_plane_is_filled_as_in_either(view: PlaneView) -> None:
    document = Document()
    shapes = square(10, 10, 50), square(40, 40, 50, square(70, 70, 10))
    document.edit("draw", Drawing(100, shapes))
    view.set_frame(Frame(100))
    image = pictured(view, Editor(document))
    one, both, other = (colour_at(view, image, at, at) for at in (25, 50, 66))
    assert one == both == other
    outside, hole = (colour_at(view, image, at, at) for at in (96, 75))
    assert outside == hole != one
    editor = Editor(document)
    editor.set_tool("select")
    for at in ((25, 25), (85, 85)):
        editor.press(at, 2, Modifiers(shift=True))
        editor.release(at, 2)
    assert len(editor.selected_parts()) == 2
    image = pictured(view, editor)
    selected, both = (colour_at(view, image, at, at) for at in (25, 50))
    assert one != selected == both


def test_every_vertex_of_a_long_outline_has_a_handle(view: PlaneView) -> None:
    grid, n = 100_000, 10_000
    turns = 2 * math.pi * np.arange(n) / n
    ring = np.rint(grid / 2 + 0.45 * grid * np.column_stack((np.cos(turns), np.sin(turns))))
    corners = tuple((int(x), int(y)) for x, y in ring)
    assert len(set(corners)) == n
    document = Document()
    document.set_grid(grid)
    document.edit("draw", Drawing(grid, (Shape(corners),)))
    view.set_frame(Frame(grid))
    editor = Editor(document)
    editor.set_tool("select")
    plain = pictured(view, editor)
    editor.set_tool("vertices")
    image = pictured(view, editor)
    # inside of the line, where a handle reaches and the line does not
    inner = [
        ((x - grid / 2) * 0.985 + grid / 2, (y - grid / 2) * 0.985 + grid / 2) for x, y in corners
    ]
    for x, y in inner[::97]:
        assert colour_at(view, image, x, y) != colour_at(view, plain, x, y)


@pytest.mark.parametrize("taken", [True, False])
def test_keys_go_to_the_editor_by_their_names(view, qtbot, monkeypatch, taken):
    """What each of them does there: test_drawing_editor."""
    heard: list[tuple[str, bool]] = []
    editor, edited = Editor(Document()), []

    def key(name: str, keys: Modifiers) -> bool:
        heard.append((name, keys.shift))
        return taken

    monkeypatch.setattr(editor, "key", key)
    view.editor = editor
    view.edited.connect(lambda: edited.append(1))
    names = ("Return", "Escape", "Backspace", "Delete", "Insert", "Left", "Right", "Up", "Down")
    for name in names:
        qtbot.keyClick(view, getattr(Qt.Key, f"Key_{name}"), Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(view, Qt.Key.Key_Enter)
    assert heard == [("Enter", True), *((name, True) for name in names[1:]), ("Enter", False)]
    assert len(edited) == taken * len(heard)


def test_kinds_by_label_and_by_what_the_run_did() -> None:
    points = np.array([[0, 0], [1, 0], [2, 0], [3, 0]])
    labels = np.array([True, False, True, False])
    assert list(ExampleKinds.of(points, labels).kinds) == [3, 2, 3, 2]
    decided = np.array([True, True, False, False])
    wrong = np.array([False, True, False, False])
    kinds = ExampleKinds.of(points, labels, decided, wrong)
    assert list(kinds.kinds) == [Kind.DECIDED, Kind.WRONG, Kind.POSITIVE, Kind.NEGATIVE]
    assert kinds.chosen(Kind.WRONG).tolist() == [[1, 0]]


def test_every_example_has_its_pixel_and_the_weightiest_kind_wins() -> None:
    rng = np.random.default_rng(1)
    points = rng.integers(0, 8, (60, 2))
    labels = rng.random(60) < 0.5
    wrong = rng.random(60) < 0.2
    kinds = ExampleKinds.of(points, labels, wrong=wrong)
    drawn = picture(kinds, 7, grid_places(points, 7))
    for x in range(8):
        for y in range(8):
            here = (points == (x, y)).all(axis=1)
            expected = max(kinds.kinds[here], default=0)
            assert drawn[y, x] == expected


def test_a_fine_grid_shares_pixels() -> None:
    points = np.array([[0, 0], [4096, 4096]])
    kinds = ExampleKinds.of(points, np.array([True, False]))
    drawn = picture(kinds, 4096, grid_places(points, 4096))
    assert max(drawn.shape) <= MAX_SIDE
    assert drawn[0, 0] == Kind.POSITIVE
    assert drawn[-1, -1] == Kind.NEGATIVE


@pytest.mark.parametrize("ratio", [1, 2, 3])
def test_marks_are_two_to_three_pixels_of_the_screen_and_differ_in_shape(ratio: int) -> None:
    marks = {kind: mark(kind, ratio) for kind in Kind}
    for pixels in marks.values():
        assert (pixels == pixels.T).all()
        assert (pixels == pixels[::-1]).all()
        assert pixels[0].any()
    middle = 3 * ratio // 2
    assert marks[Kind.POSITIVE].shape == marks[Kind.NEGATIVE].shape == (3 * ratio, 3 * ratio)
    assert marks[Kind.POSITIVE][middle, middle]
    assert not marks[Kind.NEGATIVE][middle, middle]
    assert 2 * ratio == len(marks[Kind.DECIDED]) < len(marks[Kind.WRONG])


def shown(view: PlaneView, ratio: int) -> QImage:
    """What the plane draws on a screen of this kind."""
    QApplication.processEvents()
    image = QImage(view.viewport().size() * ratio, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    painter = QPainter(image)
    view.viewport().render(painter, QPoint())
    painter.end()
    return image


def kinds_of(n: int, grid: int) -> ExampleKinds:
    """Examples of all kinds, more than are drawn as symbols."""
    rng = np.random.default_rng(n)
    points = rng.integers(0, grid + 1, (n, 2))
    labels = points[:, 0] < points[:, 1]
    return ExampleKinds.of(points, labels, rng.random(n) < 0.3, rng.random(n) < 0.1)


@pytest.mark.parametrize("ratio", [1, 2])
def test_every_mark_is_where_its_example_is(view: PlaneView, ratio: int) -> None:
    """The picture against one made mark by mark, in colours that tell the kinds apart."""
    grid = 1024
    view.resize(500, 460)
    view.set_frame(Frame(grid))
    examples = kinds_of(MOST_SYMBOLS + 500, grid)
    view.show_examples(examples)
    shown(view, ratio)  # axes find their width
    drawn = shown(view, ratio)
    view.examples.set_visible(False)
    plain = shown(view, ratio)
    expected = np.zeros((drawn.height(), drawn.width()), dtype=np.uint8)
    for kind in Kind:
        pixels = mark(kind, ratio)
        for x, y in examples.chosen(kind).tolist():
            scene = view.getViewBox().mapViewToScene(QPointF(x, y))
            at = view.viewportTransform().map(scene)
            column = math.floor(at.x() * ratio - len(pixels) / 2 + 0.5)
            row = math.floor(at.y() * ratio - len(pixels) / 2 + 0.5)
            for down, right in np.argwhere(pixels):
                expected[row + down, column + right] = kind
    differing = 0
    for row, column in np.ndindex(expected.shape):
        changed = plain.pixel(column, row) != drawn.pixel(column, row)
        differing += changed != bool(expected[row, column])
    assert differing == 0
    wrong = QColor(load_palette("light").danger).rgb()
    of_wrong = expected == Kind.WRONG
    assert {drawn.pixel(int(c), int(r)) for r, c in np.argwhere(of_wrong)} == {wrong}


@pytest.mark.parametrize("n", [300, 20_000, MOST_MARKS + 1])
def test_however_many_there_are_they_can_be_seen_and_hidden(view: PlaneView, n: int) -> None:
    view.set_palette(load_palette("dark"))
    view.resize(400, 400)
    view.set_frame(Frame(1024))
    empty = shown(view, 1)
    examples = kinds_of(n, 1024)
    view.show_examples(examples)
    full = shown(view, 1)
    for x, y in examples.points[:: n // 300].tolist():
        at = view.to_widget(x, y).toPoint()
        around = [(at.x() + right, at.y() + down) for right in (-1, 0, 1) for down in (-1, 0, 1)]
        assert any(full.pixel(*each) != empty.pixel(*each) for each in around), (x, y)
    view.examples.set_visible(False)
    hidden = shown(view, 1)
    view.show_examples(None)
    assert shown(view, 1) == hidden
