"""The look of every widget: Qt's Fusion style, a palette and one style sheet.

Colours come from :class:`geodp_app.palette.Palette` alone.  Widgets opt into a look by their object
name: ``pane``, ``card``, ``paneTitle``, ``privateMark``, ``note``, ``banner``,
``keycap``; a button by its property ``kind``: ``primary``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import pyqtgraph as pg
from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication

from assets import style_image_path
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
    colours = (
        (role.Window, p.window),
        (role.WindowText, p.ink),
        (role.Base, p.canvas),
        (role.AlternateBase, p.panel),
        (role.Text, p.ink),
        (role.PlaceholderText, p.soft_ink),
        (role.Button, p.panel),
        (role.ButtonText, p.ink),
        (role.BrightText, p.danger),
        (role.ToolTipBase, p.panel),
        (role.ToolTipText, p.ink),
        (role.Highlight, p.accent),
        (role.HighlightedText, p.on_accent),
        (role.Link, p.accent),
        (role.LinkVisited, p.accent),
        (role.Accent, p.accent),
        (role.Light, p.panel),
        (role.Midlight, p.rule),
        (role.Mid, p.border),
        (role.Dark, p.border),
        (role.Shadow, mix(p.window, "#000000", 0.4)),
    )
    for each, colour in colours:
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
        names[image] = style_image_path(image).as_posix()
    names["check"] = style_image_path(f"check-{p.name}").as_posix()
    names["lock"] = style_image_path(f"lock-{p.name}").as_posix()
    text = _SHEET
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(f"@{name}", names[name])
    return text


_SHEET = """
QMainWindow, QDialog { background: @window; }
QWidget { color: @ink; }
QWidget:disabled { color: @faint; }
QToolTip {
    background: @panel; color: @ink; border: 1px solid @border; padding: 5px 7px;
}

/* panes, cards, words */
#pane, #card, #settings, #below { background: @panel; }
#pane { border: 1px solid @rule; border-radius: 6px; }
#paneTitle { font-weight: 600; }
#legend { background: @panel; border: 1px solid @rule; border-radius: 4px; }
#fold { border: none; background: transparent; color: @soft_ink; text-align: left; padding: 2px; }
#note { color: @soft_ink; }
#formula { color: @soft_ink; font-size: 8.5pt; }
#warning { color: @warning; }
#privateMark {
    color: @warning; background: @private_tint; border: 1px solid @private_edge;
    border-radius: 8px; padding: 1px 8px 1px 7px; font-size: 8.5pt;
    image: url("@lock"); image-position: left center; qproperty-indent: 15;
    max-height: 0.95em;
}
#card { border: 1px solid @rule; border-radius: 6px; }
#card[private="true"] { border-color: @private_edge; }
#card[past="true"] #figure, #card[past="true"] #cardTitle { color: @soft_ink; }
#pane[past="true"] #why, #pane[past="true"] #paneTitle { color: @soft_ink; }
#cardTitle { font-weight: 600; }
#figureLabel { color: @soft_ink; }
#banner {
    color: @danger; background: @danger_tint; border: 1px solid @danger; border-radius: 5px;
    padding: 5px 8px;
}
#tourCard { background: @panel; border: 1px solid @accent; border-radius: 8px; }
#tourOffer { background: transparent; border: none; color: @accent; padding: 1px 8px; }
#tourOffer:hover { text-decoration: underline; }
#tourOffer:focus { border: 2px solid @focus; padding: 0 6px; }
#keycap {
    background: @canvas; border: 1px solid @hairline; border-bottom: 2px solid @hairline;
    border-radius: 4px; padding: 1px 6px; color: @ink; font-size: 9pt;
}

/* canvases: room for the ring, so that nothing moves when they get the keyboard */
QGraphicsView { border: 2px solid transparent; border-radius: 4px; }
QGraphicsView:focus { border-color: @focus; }

QLabel#emptyState {
    color: @ink; background: @panel; border: 1px solid @border; border-radius: 6px;
    padding: 12px 18px;
}

/* groups */
QGroupBox {
    background: transparent; border: none; border-top: 1px solid @rule;
    margin-top: 10px; padding-top: 20px; font-weight: 600;
}
QGroupBox * { font-weight: 400; }
QGroupBox::title {
    subcontrol-origin: padding; subcontrol-position: top left; left: 9px; top: 0; padding: 2px 0;
}

/* buttons */
QPushButton {
    background: @panel; border: 1px solid @border; border-radius: 5px; padding: 4px 12px;
    min-height: 1.35em;
}
QPushButton:hover { background: @hover; }
QPushButton:pressed { background: @pressed; }
QPushButton:checked { background: @checked; border-color: @accent; }
QPushButton:disabled { border-color: @rule; }
QPushButton[kind="primary"], QPushButton:default {
    background: @accent; border-color: @accent; color: @on_accent; font-weight: 600;
}
QToolButton[kind="primary"] {
    background: @accent; border-color: @accent; color: @on_accent; font-weight: 600;
    padding: 3px 10px;
}
QToolButton[kind="primary"]:hover { background: @accent_hover; }
QPushButton[kind="primary"]:hover, QPushButton:default:hover { background: @accent_hover; }
QPushButton[kind="primary"]:disabled, QPushButton:default:disabled {
    background: @pressed; border-color: @rule; color: @faint;
}
QPushButton:focus { border: 2px solid @focus; padding: 3px 11px; }
QPushButton[kind="primary"]:focus, QPushButton:default:focus { border-color: @ink; }
QToolButton {
    background: transparent; border: 1px solid transparent; border-radius: 5px; padding: 3px;
}
#endButton { border: 1px solid @border; padding: 2px 5px; }
QToolButton:hover { background: @hover; }
QToolButton:pressed { background: @pressed; }
QToolButton:checked { background: @checked; border-color: @accent; }
QToolButton:focus { border: 2px solid @focus; padding: 2px; }
QToolButton[popupMode="1"] { padding-right: 16px; }
QToolButton::menu-button { border: none; width: 14px; }
QToolButton::menu-arrow { image: url("@down"); width: 9px; height: 9px; }
QToolButton::menu-indicator { image: none; }

/* fields */
QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox, QComboBox {
    background: @canvas; border: 1px solid @border; border-radius: 5px; padding: 3px 6px;
    min-height: 1.35em; selection-background-color: @accent; selection-color: @on_accent;
}
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QAbstractSpinBox:focus, QComboBox:focus {
    border: 2px solid @focus; padding: 2px 5px;
}
QLineEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled {
    background: @panel; border-color: @rule;
}
QAbstractSpinBox {
    padding: 3px 20px 3px 2px; qproperty-alignment: "AlignRight | AlignVCenter";
}
QAbstractSpinBox:focus { padding: 2px 19px 2px 1px; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {
    subcontrol-origin: border; width: 18px; border: none; border-radius: 4px; margin: 2px 2px 0 0;
}
QAbstractSpinBox::up-button { subcontrol-position: top right; }
QAbstractSpinBox::down-button { subcontrol-position: bottom right; margin: 0 2px 2px 0; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: @hover; }
QAbstractSpinBox::up-arrow { image: url("@up"); width: 9px; height: 9px; }
QAbstractSpinBox::down-arrow { image: url("@down"); width: 9px; height: 9px; }
QComboBox::drop-down { border: none; width: 20px; }
QComboBox::down-arrow { image: url("@down"); width: 10px; height: 10px; }
QComboBox QAbstractItemView {
    background: @panel; border: 1px solid @border; selection-background-color: @accent;
    selection-color: @on_accent; outline: none; padding: 3px;
}
QCheckBox, QRadioButton { spacing: 7px; padding: 2px; border: 1px solid transparent; }
QCheckBox:focus, QRadioButton:focus { border: 1px solid @focus; border-radius: 4px; }
QCheckBox::indicator, QAbstractItemView::indicator {
    width: 14px; height: 14px; border: 1px solid @border; border-radius: 3px; background: @canvas;
}
QCheckBox::indicator:checked, QAbstractItemView::indicator:checked {
    background: @accent; border-color: @accent; image: url("@check");
}
QCheckBox::indicator:disabled { border-color: @hairline; background: @panel; }
QCheckBox::indicator:checked:disabled { background: @hairline; }
QRadioButton::indicator {
    width: 14px; height: 14px; border: 1px solid @border; border-radius: 8px; background: @canvas;
}
QRadioButton::indicator:checked { width: 8px; height: 8px; border: 4px solid @accent; }

/* sliders, progress */
QSlider:horizontal { min-height: 20px; }
QSlider#track { min-height: 44px; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: @hairline; }
QSlider::sub-page:horizontal { border-radius: 2px; background: @accent; }
QSlider::handle:horizontal {
    width: 14px; height: 14px; margin: -6px 0; border-radius: 8px; background: @canvas;
    border: 1px solid @accent;
}
QSlider::handle:horizontal:hover { background: @checked; }
QSlider::handle:horizontal:focus { border: 3px solid @focus; width: 10px; height: 10px; }
QProgressBar {
    background: @hairline; border: none; border-radius: 3px; max-height: 6px; text-align: center;
}
QProgressBar::chunk { background: @accent; border-radius: 3px; }

/* tabs */
QTabWidget::pane { border: none; border-top: 1px solid @rule; }
QTabBar { background: transparent; }
QTabBar::tab {
    padding: 5px 12px; border: none; border-bottom: 2px solid transparent; color: @soft_ink;
}
QTabBar::tab:hover { color: @ink; background: @hover; }
QTabBar::tab:selected { color: @ink; border-bottom-color: @accent; }
QTabBar:focus { outline: none; }
QTabBar::tab:focus { border: 1px solid @focus; border-bottom: 2px solid @accent; }

/* menus, bars */
QMenuBar { background: @window; border-bottom: 1px solid @rule; }
QMenuBar::item { padding: 4px 9px; background: transparent; border-radius: 4px; }
QMenuBar::item:selected, QMenuBar::item:pressed { background: @pressed; }
QMenu { background: @panel; border: 1px solid @border; padding: 4px; }
QMenu::item { padding: 5px 26px 5px 10px; border-radius: 4px; }
QMenu::item:selected { background: @accent; color: @on_accent; }
QMenu::item:disabled { color: @faint; }
QMenu::icon { padding-left: 8px; }
QMenu::separator { height: 1px; background: @rule; margin: 4px 8px; }
QMenu::right-arrow { image: url("@right"); width: 10px; height: 10px; margin-right: 6px; }
QToolBar { background: @window; border: none; spacing: 2px; padding: 3px 6px; }
QToolBar::separator { background: @rule; width: 1px; height: 1px; margin: 4px 5px; }
QStatusBar { background: @window; border-top: 1px solid @rule; color: @soft_ink; }
QStatusBar::item { border: none; }
QStatusBar QLabel { color: @soft_ink; padding: 1px 6px; }

/* scrolling, splitting */
QScrollArea { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: 11px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 11px; margin: 0; }
QScrollBar::handle { background: @hairline; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: @border; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QSplitter::handle { background: @window; }
QSplitter::handle:horizontal { width: 6px; }
QSplitter::handle:vertical { height: 6px; }
QSplitter::handle:hover { background: @checked; }
QSplitter::handle:pressed { background: @accent; }

/* tables, lists */
QTableCornerButton::section { background: @panel; border: none; }
QAbstractItemView {
    background: @canvas; alternate-background-color: @panel; border: 1px solid @rule;
    selection-background-color: @accent; selection-color: @on_accent; gridline-color: @rule;
}
QAbstractItemView:focus { border: 2px solid @focus; }
QHeaderView::section {
    background: @panel; color: @soft_ink; border: none; border-bottom: 1px solid @rule;
    border-right: 1px solid @rule; padding: 4px 8px;
}
"""
