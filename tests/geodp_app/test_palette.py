"""Colours that can be read and told apart, and the theme that dresses everything in them."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from contrast import contrast, luminance
from numpy.typing import NDArray
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPalette, QRawFont
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QVBoxLayout, QWidget

from assets import UnknownIconError, asset_path, icons
from geodp_app.palette import (
    PALETTES,
    Palette,
    diverging_ramp,
    edge_colours,
    greyed,
    load_palette,
    mix,
    parse_colour,
    ramp,
)
from geodp_app.views.widgets.theme import (
    application_icon,
    apply_theme,
    base_font,
    icon,
    icon_pixmap,
    style_sheet,
)

WORDS = ("ink", "soft_ink", "accent", "danger", "warning")
BACKGROUNDS = ("window", "panel", "canvas")
MARKS = ("positive", "negative", "learned", "target", "chosen", "selection", "focus", "border")
DATA = ("positive", "negative", "learned", "chosen")

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB
SEEN = {
    "all": np.eye(3),
    "protan": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deutan": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def lab(colour: str, seen: str) -> np.ndarray:
    """CIE L*a*b* (D65) of a colour as seen."""
    srgb = np.array(parse_colour(colour)) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(SEEN[seen] @ linear, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#FFFFFF", "#000000") == pytest.approx(21)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.005)
    assert contrast("#123456", "#123456") == 1
    assert luminance("#FF0000") == pytest.approx(0.2126)


@pytest.mark.parametrize("name", PALETTES)
def test_words_can_be_read_on_every_background(name: str) -> None:
    p = load_palette(name)
    for words, background in itertools.product(WORDS, BACKGROUNDS):
        ratio = contrast(getattr(p, words), getattr(p, background))
        assert ratio >= 4.5, (words, background)
    assert contrast(p.on_accent, p.accent) >= 4.5
    assert contrast(greyed(p).ink, p.panel) >= 4.5  # of the past
    assert contrast(p.ink, mix(p.canvas, p.border, 0.35)) >= 4.5  # land on the map of the world


@pytest.mark.parametrize("name", PALETTES)
def test_marks_stand_out_from_every_background(name: str) -> None:
    p = load_palette(name)
    for mark, background in itertools.product(MARKS, BACKGROUNDS):
        ratio = contrast(getattr(p, mark), getattr(p, background))
        assert ratio >= 3, (mark, background)


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("name", PALETTES)
def test_data_colours_stay_apart_for_everybody(name: str, seen: str) -> None:
    p = load_palette(name)
    for a, b in itertools.combinations(DATA, 2):
        distance = np.linalg.norm(lab(getattr(p, a), seen) - lab(getattr(p, b), seen))
        assert distance >= (55 if seen == "all" else 20), (a, b)


def test_the_simulation_does_confuse_red_and_green() -> None:
    plain = np.linalg.norm(lab("#B03030", "all") - lab("#4F6A1A", "all"))
    for seen in ("protan", "deutan"):
        assert np.linalg.norm(lab("#B03030", seen) - lab("#4F6A1A", seen)) < plain / 2


def test_mixing_moves_from_one_colour_to_the_other() -> None:
    assert mix("#000000", "#FFFFFF", 0.0) == "#000000"
    assert mix("#000000", "#FFFFFF", 1.0) == "#FFFFFF"
    assert mix("#102030", "#304050", 0.5) == "#203040"


@pytest.mark.parametrize("name", PALETTES)
def test_the_ramp_runs_one_way_in_lightness_from_the_canvas_to_what_is_chosen(name: str) -> None:
    palette = load_palette(name)
    table = ramp(palette)
    assert table.shape == (256, 3)
    assert table.dtype == np.uint8
    assert tuple(table[0].tolist()) == parse_colour(palette.canvas)
    assert tuple(table[-1].tolist()) == parse_colour(palette.chosen)
    hexes = ["#" + "".join(f"{c:02X}" for c in row) for row in table.tolist()]
    lightness = np.array([lab(each, "all")[0] for each in hexes])
    way = 1 if name == "dark" else -1
    assert (way * np.diff(lightness) > -0.35).all()  # eight bits a channel
    assert way * (lightness[-1] - lightness[0]) > 50


@pytest.mark.parametrize("seen", ["all", "protan", "deutan"])
@pytest.mark.parametrize("name", PALETTES)
def test_more_and_less_are_told_apart_on_both_sides_of_nought(name: str, seen: str) -> None:
    palette = load_palette(name)
    table = diverging_ramp(palette)
    assert tuple(table[0].tolist()) == parse_colour(palette.learned)
    assert tuple(table[-1].tolist()) == parse_colour(palette.chosen)
    hexes = ["#" + "".join(f"{c:02X}" for c in row) for row in table.tolist()]
    less, none, more = (lab(hexes[i], seen) for i in (0, 128, 255))
    for one, other in ((less, none), (none, more), (less, more)):
        assert np.linalg.norm(one - other) > 20
    # away from nought the lightness goes one way, on either side
    lightness = np.array([lab(each, "all")[0] for each in hexes])
    way = 1 if name == "dark" else -1
    assert (way * np.diff(lightness[128:]) > -0.35).all()
    assert (way * np.diff(lightness[127::-1]) > -0.35).all()


@pytest.mark.parametrize("name", PALETTES)
def test_the_style_sheets_pictures_have_the_palettes_colours(name: str) -> None:
    p = load_palette(name)
    drawn = {
        picture: re.search(
            r'stroke="(#\w+)"', asset_path("icons", "style", f"{picture}.svg").read_text()
        )
        for picture in (f"check-{name}", f"lock-{name}", "down", "up", "right")
    }
    colours = {picture: found.group(1) for picture, found in drawn.items() if found}
    assert colours[f"check-{name}"] == p.on_accent
    assert colours[f"lock-{name}"] == p.warning
    for arrow in ("down", "up", "right"):  # one grey for both themes
        for background in (p.panel, p.canvas):
            assert contrast(colours[arrow], background) >= 3


@pytest.mark.parametrize("name", PALETTES)
def test_an_edges_colour_is_seen_on_the_canvas_and_told_from_the_others(name: str) -> None:
    palette = load_palette(name)
    colours = edge_colours(palette)
    assert len(set(colours)) == 3
    for colour in colours:
        assert contrast(colour, palette.canvas) >= 3
    lightness = [lab(colour, "all")[0] for colour in colours]
    gaps = np.diff(lightness)
    assert (gaps > 4).all() or (gaps < -4).all()


# -- the theme -------------------------------------------------------------------------------------


@pytest.fixture(params=PALETTES)
def palette(request: pytest.FixtureRequest, qapp: QApplication):
    dressed = load_palette(request.param)
    apply_theme(qapp, dressed)
    yield dressed
    qapp.setStyleSheet("")


def pixels(image: QImage) -> NDArray[np.uint8]:
    """Red, green, blue and how opaque, shape (height, width, 4)."""
    made = image.convertToFormat(QImage.Format.Format_RGBA8888)
    rows = np.frombuffer(made.constBits(), np.uint8).reshape(made.height(), -1)
    return rows[:, : 4 * made.width()].reshape(made.height(), made.width(), 4).copy()


def colours(image: QImage) -> set[str]:
    seen = np.unique(pixels(image)[..., :3].reshape(-1, 3), axis=0)
    return {"#" + bytes(each).hex().upper() for each in seen}


@pytest.mark.parametrize("name", PALETTES)
def test_the_sheet_has_no_gaps_and_its_pictures_exist(name: str) -> None:
    sheet = style_sheet(load_palette(name))
    assert "@" not in sheet
    pictures = re.findall(r'url\("([^"]+)"\)', sheet)
    assert len(pictures) >= 6
    assert all(Path(picture).is_file() for picture in pictures)


def test_the_application_takes_the_palettes_colours(palette: Palette, qapp: QApplication) -> None:
    role = QPalette.ColorRole
    made = qapp.palette()
    assert made.color(role.Window) == QColor(palette.window)
    assert made.color(role.Highlight) == QColor(palette.accent)
    assert made.color(QPalette.ColorGroup.Disabled, role.Text) != made.color(role.Text)


def test_the_focus_can_be_seen(palette: Palette, qtbot) -> None:
    window = QWidget()
    layout = QVBoxLayout(window)
    field, button = QLineEdit(), QPushButton("Go")
    layout.addWidget(field)
    layout.addWidget(button)
    qtbot.addWidget(window)
    window.show()
    window.activateWindow()
    ring = palette.focus.upper()
    for focused, other in ((field, button), (button, field)):
        focused.setFocus(Qt.FocusReason.TabFocusReason)
        qtbot.waitUntil(focused.hasFocus)
        assert ring in colours(focused.grab().toImage())
        assert ring not in colours(other.grab().toImage())


def test_the_chief_button_stands_out(palette: Palette, qtbot) -> None:
    plain, chief = QPushButton("Go"), QPushButton("Go")
    chief.setProperty("kind", "primary")
    for button in (plain, chief):
        qtbot.addWidget(button)
        button.show()
        button.clearFocus()
    assert palette.accent.upper() in colours(chief.grab().toImage())
    assert palette.accent.upper() not in colours(plain.grab().toImage())


def test_figures_have_equal_widths(qapp: QApplication) -> None:
    metrics = QFontMetricsF(base_font())
    assert len({round(metrics.horizontalAdvance(digit), 3) for digit in "0123456789"}) == 1
    raw = QRawFont.fromFont(base_font())
    assert all(raw.supportsCharacter(ord(letter)) for letter in "εδη−⁻⁶")


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0, 3.0])
def test_every_icon_draws_at_every_pixel_ratio(ratio: float, qapp) -> None:
    for name in icons():
        drawn = icon_pixmap(name, "#FF0000", ratio)
        assert drawn.width() == round(20 * ratio), name
        assert drawn.devicePixelRatio() == ratio, name
        shown = pixels(drawn.toImage())
        red, green = shown[shown[..., 3] > 200][:, :2].T
        assert len(red) > 10 * ratio**2, name
        assert name == "geodp" or ((red > 200) & (green < 40)).all(), name


def test_an_icon_is_sharp_on_a_fine_screen_and_shows_its_state(palette: Palette) -> None:
    made = icon("run", palette)
    assert made.pixmap(QSize(20, 20), 2.0).width() == 40
    off = made.pixmap(QSize(20, 20), 1.0).toImage()
    on = made.pixmap(QSize(20, 20), 1.0, made.Mode.Normal, made.State.On).toImage()
    assert palette.ink.upper() in colours(off)
    assert palette.accent.upper() in colours(on)


def test_the_application_icon_comes_in_sizes(qapp: QApplication) -> None:
    sides = {size.width() for size in application_icon().availableSizes()}
    assert {16, 32, 48, 256} <= sides


def test_an_icon_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownIconError, match="no icon 'teapot'"):
        icon_pixmap("teapot", "#000000", 1.0)
