"""Gives all widgets one look: Qt's Fusion style, a palette, one style sheet, icons in any colour.

Colours come from :class:`geodp_app.palette.Palette` alone.  Widgets opt into a look by their object
name: ``pane``, ``card``, ``paneTitle``, ``privateMark``, ``note``, ``banner``,
``keycap``; a button by its property ``kind``: ``primary``.  Icons are those of the assets, sharp at
any pixel ratio.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache

import pyqtgraph as pg
from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QIcon, QImage, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from assets import asset_path, icon_path
from geodp_app.palette import Palette, mix

#: Points; Qt turns them into pixels by the screen's resolution.
_SIZE = 10.0
#: Where the platform names no family, or one without Greek letters.
_FALLBACKS = ("DejaVu Sans", "Noto Sans", "Liberation Sans", "Arial")


def apply_theme(application: QApplication, palette: Palette) -> None:
    """Dress the whole application; call it again to change the theme.

    Plots take their colours from widgets' own ``set_palette``, and only defaults from here.
    """
    application.setStyle("Fusion")
    application.setFont(base_font())
    application.setPalette(qt_palette(palette))
    application.setStyleSheet(style_sheet(palette))
    pg.setConfigOptions(
        background=palette.canvas, foreground=palette.soft_ink, antialias=True, useOpenGL=False
    )


@contextmanager
def dressed_at_the_end() -> Iterator[None]:
    """Put many widgets together without the style sheet, and dress them all at the end.

    Under a style sheet Qt dresses a widget and all inside it anew whenever it is put into another.
    """
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    sheet = application.styleSheet()
    application.setStyleSheet("")
    try:
        yield
    finally:
        application.setStyleSheet(sheet)


def base_font() -> QFont:
    """The platform's sans serif with figures of equal width, or one that can be had anywhere."""
    families = QFontDatabase.families()
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    if font.family() not in families:
        known = [family for family in _FALLBACKS if family in families]
        font = QFont(known[0] if known else font.family())
    font.setStyleHint(QFont.StyleHint.SansSerif)
    font.setPointSizeF(_SIZE)
    font.setFeature(QFont.Tag("tnum"), 1)  # numbers that change must not make words dance
    return font


def qt_palette(p: Palette) -> QPalette:
    """For what the style sheet leaves to Fusion."""
    made = QPalette()
    role = QPalette.ColorRole
    for colour, *roles in (
        (p.window, role.Window),
        (p.canvas, role.Base),
        (p.panel, role.AlternateBase, role.Button, role.ToolTipBase, role.Light),
        (p.ink, role.WindowText, role.Text, role.ButtonText, role.ToolTipText),
        (p.soft_ink, role.PlaceholderText),
        (p.danger, role.BrightText),
        (p.accent, role.Highlight, role.Link, role.LinkVisited, role.Accent),
        (p.on_accent, role.HighlightedText),
        (p.rule, role.Midlight),
        (p.border, role.Mid, role.Dark),
        (mix(p.window, "#000000", 0.4), role.Shadow),
    ):
        for each in roles:
            made.setColor(each, QColor(colour))
    faint = QColor(mix(p.soft_ink, p.panel, 0.4))
    for each in (role.WindowText, role.Text, role.ButtonText, role.PlaceholderText):
        made.setColor(QPalette.ColorGroup.Disabled, each, faint)
    grey = QColor(mix(p.border, p.panel, 0.5))
    made.setColor(QPalette.ColorGroup.Disabled, role.Highlight, grey)
    return made


def style_sheet(p: Palette) -> str:
    """The style sheet of a palette."""
    names: dict[str, str] = asdict(p)
    names |= {
        "hover": mix(p.panel, p.ink, 0.07),
        "pressed": mix(p.panel, p.ink, 0.14),
        "checked": mix(p.panel, p.accent, 0.16),
        "accent_hover": mix(p.accent, p.ink, 0.15),
        "faint": mix(p.soft_ink, p.panel, 0.4),
        "hairline": mix(p.border, p.panel, 0.55),
        "private_tint": mix(p.panel, p.negative, 0.14),
        "private_edge": mix(p.panel, p.negative, 0.6),
        "danger_tint": mix(p.panel, p.danger, 0.12),
    }
    for image in ("down", "up", "right"):
        names[image] = asset_path("icons", "style", f"{image}.svg").as_posix()
    names["check"] = asset_path("icons", "style", f"check-{p.name}.svg").as_posix()
    names["lock"] = asset_path("icons", "style", f"lock-{p.name}.svg").as_posix()
    text = asset_path("palettes", "window.qss").read_text(encoding="utf-8")
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(f"@{name}", names[name])
    return text


#: Sides, in device-independent pixels, and pixel ratios that icons are kept ready for.
_SIZES = ((16, 1.0), (20, 1.0), (20, 2.0), (20, 3.0))
_APPLICATION_SIDES = (16, 24, 32, 48, 64, 128, 256)


def icon_pixmap(name: str, colour: str, ratio: float) -> QPixmap:
    """An icon in one colour, of 20 device-independent pixels a side.

    Parameters
    ----------
    name : str
        Name among the assets.
    colour : str
        ``#RRGGBB``; takes the place of currentColor.
    ratio : float
        Device pixels per device-independent pixel.

    Raises
    ------
    assets.UnknownIconError
        If there is no such icon.
    """
    return QPixmap.fromImage(_draw(_drawing(name, colour), 20, ratio))


def icon(name: str, palette: Palette) -> QIcon:
    """An icon for buttons and menus: ink, accent when checked, faint when disabled."""
    normal, disabled = QIcon.Mode.Normal, QIcon.Mode.Disabled
    off, on = QIcon.State.Off, QIcon.State.On
    faint = mix(palette.soft_ink, palette.panel, 0.5)
    looks = (
        (palette.ink, ((normal, off),)),
        (palette.accent, ((normal, on),)),
        (faint, ((disabled, off), (disabled, on))),
    )
    made = QIcon()
    for colour, states in looks:
        for image in _images(name, colour):
            pixmap = QPixmap.fromImage(image)
            for mode, state in states:
                made.addPixmap(pixmap, mode, state)
    return made


@lru_cache(maxsize=1024)
def _images(name: str, colour: str) -> tuple[QImage, ...]:
    """An icon in every size that is kept ready: images, which outlive any application."""
    drawing = _drawing(name, colour)
    return tuple(_draw(drawing, side, ratio) for side, ratio in _SIZES)


def application_icon() -> QIcon:
    """The icon of the window."""
    drawing = _drawing("geodp", "")
    made = QIcon()
    for side in _APPLICATION_SIDES:
        made.addPixmap(QPixmap.fromImage(_draw(drawing, side, 1.0)))
    return made


def _drawing(name: str, colour: str) -> QSvgRenderer:
    svg = icon_path(name).read_text(encoding="utf-8").replace("currentColor", colour)
    return QSvgRenderer(QByteArray(svg.encode()))


def _draw(drawing: QSvgRenderer, side: int, ratio: float) -> QImage:
    pixels = round(side * ratio)
    image = QImage(pixels, pixels, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    with QPainter(image) as painter:
        drawing.render(painter, QRectF(0, 0, pixels, pixels))
    image.setDevicePixelRatio(ratio)
    return image
