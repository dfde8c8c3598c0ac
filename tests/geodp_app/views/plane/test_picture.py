"""The picture: right place, right proportions, right colours; private only with examples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely
from PySide6.QtGui import QColor, QImage

from geodp_app.document.examples import Examples, Frame
from geodp_app.errors import PictureError
from geodp_app.runs.figures import Picture
from geodp_app.views import offscreen
from geodp_app.views.offscreen import start_qt
from geodp_app.views.plane.picture import HEIGHT, WIDTH, _plane_rectangle, _ticks, render_png
from geometry.grid import Bounds

HOLED = shapely.box(200, 200, 800, 800).difference(shapely.box(400, 400, 600, 600))
PLAIN = Picture(Frame(1000), "A title", (("epsilon", "1"),), HOLED)
FILL = QColor("#C3E8DC")  # the learned colour at 22 % on the plane's paper


@pytest.fixture(scope="module", autouse=True)
def application():
    return start_qt()


def render(picture: Picture) -> QImage:
    image = QImage.fromData(render_png(picture), "PNG")
    assert (image.width(), image.height()) == (WIDTH, HEIGHT)
    return image


def at(image: QImage, picture: Picture, x: float, y: float) -> QColor:
    """Colour of the pixel at a grid point."""
    plane, d = _plane_rectangle(picture.frame), picture.frame.d
    return image.pixelColor(
        round(plane.left() + x / d * plane.width()), round(plane.bottom() - y / d * plane.height())
    )


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
    plane = _plane_rectangle(said.frame)
    below = [
        (image.pixel(x, y), plain.pixel(x, y))
        for x in range(int(plane.left()), int(plane.right()))
        for y in range(int(plane.bottom()) + 40, HEIGHT)
    ]
    assert sum(a != b for a, b in below) > 100


def test_y_points_up():
    low = replace(PLAIN, learned=shapely.box(0, 0, 1000, 300))
    image = render(low)
    assert near(at(image, low, 510, 110), FILL)
    assert not near(at(image, low, 510, 910), FILL)


def test_examples_and_target_are_drawn_in_their_colours():
    points = np.array([[110, 110], [310, 310]])
    examples = Examples(points, np.array([0, 1]), Frame(1000))
    picture = replace(PLAIN, examples=examples, target=shapely.box(50, 50, 950, 950))
    image = render(picture)
    assert near(at(image, picture, 310, 310), QColor("#0072B2"), 60)
    plane = _plane_rectangle(picture.frame)
    left, bottom = plane.left() + 0.05 * plane.width(), plane.bottom() - 0.11 * plane.height()
    column = [image.pixelColor(round(left), round(bottom) - i).lightness() for i in range(40)]
    assert min(column) < 80  # dashes of ink
    assert max(column) > 200
    x = round(plane.left() + 0.11 * plane.width())
    ring = [image.pixelColor(x + i, round(bottom)) for i in range(-4, 5)]
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
    plane = _plane_rectangle(Frame(100, bounds))
    assert plane.width() / plane.height() == pytest.approx(ratio, rel=1e-3)
    assert plane.left() >= 90
    assert plane.right() <= 1180
    assert plane.top() >= 120
    assert plane.bottom() <= 940


def test_ticks_are_round_and_inside():
    assert [text for _, text in _ticks(13.2, 19.8, degrees="EW")] == ["14° E", "16° E", "18° E"]
    assert [text for _, text in _ticks(-1, 1, degrees="NS")] == [
        "1° S", "0.5° S", "0°", "0.5° N", "1° N",
    ]  # fmt: skip
    for span in (1, 7, 1024, 4096, 0.003):
        ticks = _ticks(0.0, span, degrees="")
        assert 3 <= len(ticks) <= 7
        assert all(0 <= value <= span * (1 + 1e-9) for value, _ in ticks)


def test_empty_and_odd_shapes_are_drawn():
    for learned in (shapely.Polygon(), shapely.MultiPolygon([shapely.box(0, 0, 9, 9)])):
        render(replace(PLAIN, learned=learned, title="x" * 500, figures=(("n", "y" * 99),)))


def test_a_missing_library_is_a_clear_message():
    with pytest.raises(PictureError, match=r"Qt cannot start: .*libqnone\.so"):
        offscreen._check_plugin(Path("libqnone.so"))
