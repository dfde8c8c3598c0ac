"""The drawing in the plane: what is inside is filled, and every vertex has its handle."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from geodp import Frame
from geodp_app.document.document import Document
from geodp_app.drawing.editor import Editor
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.drawing.tool import Modifiers
from geodp_app.palette import load_palette
from geodp_app.views.plane.drawing_layer import union_path
from geodp_app.views.plane.plane_view import PlaneView


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
    view.set_editor(editor)
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
