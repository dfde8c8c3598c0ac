"""The picture: right place, right proportions, right colours; private only with examples."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
import shapely
from PySide6.QtGui import QColor, QImage
from shapely.geometry.base import BaseGeometry

from geodp import Bounds, Examples, Frame
from geodp_app.errors import PictureError
from geodp_app.files.svg_picture import HEIGHT, WIDTH, picture_svg, plane_box, round_ticks
from geodp_app.views.pictures import check_plugin, drawn_png, start_qt

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
