"""The theme dresses everything, in both palettes, and icons are sharp on every screen."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPalette, QRawFont
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QVBoxLayout, QWidget

from assets import UnknownIconError, icons
from geodp_app.palette import PALETTES, Palette, load_palette
from geodp_app.views.widgets.theme import (
    application_icon,
    apply_theme,
    base_font,
    icon,
    icon_pixmap,
    style_sheet,
)


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
