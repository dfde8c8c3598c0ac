"""The plane and its picture: right place, right colours; private only with examples."""

import itertools
import math
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
import shapely
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from shapely.geometry.base import BaseGeometry

from geodp import Bounds, Examples, Frame
from geodp_app.document.document import Document
from geodp_app.drawing.editor import Editor
from geodp_app.drawing.faults import Fault, faults
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.drawing.tool import Modifiers
from geodp_app.files.svg_picture import HEIGHT, WIDTH, picture_svg, plane_box, round_ticks
from geodp_app.palette import load_palette
from geodp_app.views.pictures import PictureError, check_plugin, drawn_png, start_qt
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
    made.editor = Editor(Document())
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


def test_faults_of_the_private_drawing_never_come_up_in_the_release_view(view: PlaneView) -> None:
    document = Document()
    crossing = Drawing(100, (Shape(((20, 20), (80, 80), (80, 20), (20, 80))),))
    document.edit("draw", crossing)
    view.set_frame(Frame(100))
    editor = Editor(document)

    def told(found: tuple[Fault, ...]) -> QImage:
        view.show_drawing(found)
        QApplication.processEvents()
        return view.viewport().grab().toImage()

    pictured(view, editor)
    assert told(()) != told(faults(crossing))
    view.set_release_view(True)
    assert told(()) == told(faults(crossing))


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


def pixels_of(image: QImage) -> np.ndarray:
    """Colours as QColor.rgb() has them, row by row."""
    return np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.width())


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
    assert ((pixels_of(plain) != pixels_of(drawn)) == (expected > 0)).all()
    wrong = QColor(load_palette("light").danger).rgb()
    assert set(pixels_of(drawn)[expected == Kind.WRONG].tolist()) == {wrong}


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


# -- the picture -----------------------------------------------------------------------------------


HOLED = shapely.box(200, 200, 800, 800).difference(shapely.box(400, 400, 600, 600))


@dataclass(frozen=True)
class Picture:
    """What :func:`picture_svg` is told."""

    learned: BaseGeometry = HOLED
    supported: BaseGeometry | None = None
    title: str = "A title"
    figures: tuple[tuple[str, str], ...] = (("epsilon", "1"),)
    examples: Examples | None = None
    caption: str = ""
    frame: Frame = Frame(1000)  # noqa: RUF009


PLAIN = Picture()
FILL = QColor("#C3E8DC")  # the learned colour at 22 % on the plane's paper


@pytest.fixture(scope="module", autouse=True)
def application():
    return start_qt()


def render(picture: Picture) -> QImage:
    layers = {"learned": picture.learned}
    if picture.supported is not None:
        layers["support"] = picture.supported
    shown = picture.frame, layers, picture.title, picture.figures
    svg = picture_svg(*shown, examples=picture.examples, caption=picture.caption)
    image = QImage.fromData(drawn_png(svg), "PNG")
    assert (image.width(), image.height()) == (WIDTH, HEIGHT)
    return image


def at(image: QImage, picture: Picture, x: float, y: float) -> QColor:
    """Colour of the pixel at a grid point."""
    (left, top, width, height), d = plane_box(picture.frame), picture.frame.d
    return image.pixelColor(round(left + x / d * width), round(top + height - y / d * height))


def near(a: QColor, b: QColor, tolerance: int = 4) -> bool:
    return all(
        abs(p - q) <= tolerance
        for p, q in zip(a.getRgb()[:3], b.getRgb()[:3], strict=True)
    )  # fmt: skip


def test_the_learned_shape_is_filled_and_its_hole_is_not():
    image = render(PLAIN)
    assert near(at(image, PLAIN, 310, 310), FILL)
    assert near(at(image, PLAIN, 510, 510), QColor("#FBFBF9"))
    assert near(at(image, PLAIN, 110, 110), QColor("#FBFBF9"))
    assert near(at(image, PLAIN, 200, 310), QColor("#009E73"))


def test_what_is_not_supported_is_hatched_and_said():
    left = replace(PLAIN, learned=shapely.Polygon(), supported=shapely.box(0, 0, 500, 1000))
    said = replace(left, caption="Hatched: too few reports to say anything")
    paper = QColor("#FBFBF9")

    def hatched(picture: Picture, image: QImage, x: float) -> int:
        places = [at(image, picture, x + i, 455) for i in range(60)]
        return sum(not near(each, paper) for each in places)

    image = render(said)
    assert hatched(said, image, 110) == 0
    assert 3 < hatched(said, image, 610) < 57
    # on the whole plane, where no cell is supported; nowhere, where nothing is told
    nowhere = replace(said, supported=shapely.Polygon())
    assert hatched(nowhere, render(nowhere), 110) > 3
    plain = render(replace(left, supported=None))
    assert hatched(left, plain, 610) == 0
    left, top, width, height = map(int, plane_box(said.frame))
    below = [
        (image.pixel(x, y), plain.pixel(x, y))
        for x in range(left, left + width)
        for y in range(top + height + 40, HEIGHT)
    ]
    assert sum(a != b for a, b in below) > 100


def test_y_points_up():
    low = replace(PLAIN, learned=shapely.box(0, 0, 1000, 300))
    image = render(low)
    assert near(at(image, low, 510, 110), FILL)
    assert not near(at(image, low, 510, 910), FILL)


def test_examples_are_drawn_in_their_colours():
    points = np.array([[110, 110], [310, 310]])
    examples = Examples(points, np.array([0, 1]), Frame(1000))
    picture = replace(PLAIN, examples=examples)
    image = render(picture)
    assert near(at(image, picture, 310, 310), QColor("#0072B2"), 60)
    left, top, width, height = plane_box(picture.frame)
    x, y = round(left + 0.11 * width), round(top + 0.89 * height)
    ring = [image.pixelColor(x + i, y) for i in range(-4, 5)]
    assert any(30 <= c.hue() <= 46 and c.saturation() > 80 for c in ring)  # orange


def test_only_a_picture_with_examples_is_marked_private():
    examples = Examples(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), Frame(1000))
    box = (1210, 900, 340, 60)

    def ink(picture: Picture) -> int:
        corner = render(picture).copy(*box)
        return sum(corner.pixelColor(x, y).lightness() < 160 for x in range(340) for y in range(60))

    assert ink(PLAIN) == 0
    assert ink(replace(PLAIN, examples=examples)) > 300


@pytest.mark.parametrize(
    ("bounds", "ratio"),
    [
        (None, 1.0),
        (Bounds(0, -5, 10, 5), 1.0),
        (Bounds(0, 55, 10, 65), 0.5),  # cos 60 degrees
        (Bounds(-170, -1, 170, 1), 10.0),  # the most that is drawn
    ],
)
def test_the_plane_has_true_proportions_and_fits(bounds, ratio):
    left, top, width, height = plane_box(Frame(100, bounds))
    assert width / height == pytest.approx(ratio, rel=1e-3)
    assert left >= 90
    assert left + width <= 1180
    assert top >= 120
    assert top + height <= 940


def test_ticks_are_round_and_inside():
    assert [text for _, text in round_ticks(13.2, 19.8, degrees="EW")] == [
        "14° E",
        "16° E",
        "18° E",
    ]
    assert [text for _, text in round_ticks(-1, 1, degrees="NS")] == [
        "1° S", "0.5° S", "0°", "0.5° N", "1° N",
    ]  # fmt: skip
    for span in (1, 7, 1024, 4096, 0.003):
        ticks = round_ticks(0.0, span)
        assert 3 <= len(ticks) <= 7
        assert all(0 <= value <= span * (1 + 1e-9) for value, _ in ticks)


@pytest.mark.parametrize("box", [(-76, -57, -66, -17), (-76.5, -57, -74, -17), (-170, 10, 170, 14)])
def test_words_at_ticks_lie_beside_each_other(box):
    frame = Frame(100, Bounds(*box))
    left, top, _, height = plane_box(frame)
    text = picture_svg(frame, {"learned": shapely.Polygon()}, "A long and narrow place")
    words = re.findall(r'<text x="([0-9.]+)" y="([0-9.]+)"[^>]*>([^<]*°[^<]*)</text>', text)
    places = [(float(x), float(y), word) for x, y, word in words]
    below = sorted(at for at in places if at[1] > top + height + 20)
    beside = sorted(y for x, y, _ in places if x < left)
    assert below or beside
    for (x, _, one), (other, _, two) in itertools.pairwise(below):
        assert other - x > 11 * (len(one) + len(two)) / 2
    assert all(np.diff(beside) > 19)


def test_empty_and_odd_shapes_are_drawn():
    for learned in (shapely.Polygon(), shapely.MultiPolygon([shapely.box(0, 0, 9, 9)])):
        render(replace(PLAIN, learned=learned, title="x" * 500, figures=(("n", "y" * 99),)))


def test_a_missing_library_is_a_clear_message():
    with pytest.raises(PictureError, match=r"Qt cannot start: .*libqnone\.so"):
        check_plugin("none")
