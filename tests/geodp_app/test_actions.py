"""The table of actions: complete, without clashes, drawn, written down, in the sheet of keys."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from assets import icons
from geodp_app.actions import (
    ACTIONS,
    EXCLUSIVE,
    GESTURES,
    MENUS,
    action,
    tool_tip,
)
from geodp_app.views.panels.dialogs import ShortcutSheet


def test_no_two_actions_share_an_id_or_a_key() -> None:
    for names in ([each.id for each in ACTIONS],
                  [key.lower() for each in ACTIONS for key in each.keys]):  # fmt: skip
        assert len(set(names)) == len(names)


def test_every_key_is_one_that_qt_knows_and_writes_the_same_way() -> None:
    portable = QKeySequence.SequenceFormat.PortableText
    for each in ACTIONS:
        for key in each.keys:
            written = QKeySequence.fromString(key, portable).toString(portable)
            assert written.replace("Del", "Delete") == key


def test_nothing_is_deleted_by_a_digit_or_a_letter() -> None:
    assert action("delete").keys == ("Delete",)
    assert not any(re.fullmatch(r"\d", key) for each in ACTIONS for key in each.keys)


def test_every_menu_has_actions_in_unbroken_blocks() -> None:
    for menu in MENUS:
        groups = [each.group for each in ACTIONS if each.menu == menu]
        assert groups
        assert all(groups)
        changes = sum(a != b for a, b in pairwise(groups))
        assert changes == len(set(groups)) - 1


def test_in_an_exclusive_group_everything_can_be_checked() -> None:
    for group in EXCLUSIVE:
        members = [each for each in ACTIONS if each.group == group]
        assert len(members) >= 3
        assert all(each.checkable for each in members)


def test_every_icon_is_drawn() -> None:
    assert {each.icon for each in ACTIONS} - {None} <= set(icons())


def test_the_tool_tip_names_the_key() -> None:
    assert tool_tip(action("polygon")).startswith("Polygon (P)\n")
    assert tool_tip(action("pan")).startswith("Pan (hold Space)\n")
    assert tool_tip(action("save_as")).startswith("Save as (Ctrl+Shift+S)\n")
    assert tool_tip(action("open_recent")).startswith("Open recent\n")


def markdown() -> str:
    """docs/keys.md: every action with its keys, one table a menu."""
    parts = ["# Keys\n\nWhat the window can do, and the keys for it; there `?` shows this list.\n"]
    for menu in MENUS:
        rows = [
            f"| {each.text} | {_keys_cell(each.keys, held=each.held)} | {each.tip} |\n"
            for each in ACTIONS
            if each.menu == menu
        ]
        parts.append(f"\n## {menu}\n\n| action | keys | |\n|---|---|---|\n{''.join(rows)}")
    rows = [f"| {_keys_cell(each.keys)} | {each.text} |\n" for each in GESTURES]
    parts.append(f"\n## On the canvas\n\n| keys, mouse | |\n|---|---|\n{''.join(rows)}")
    return "".join(parts)


def _keys_cell(keys: tuple[str, ...], *, held: bool = False) -> str:
    return ("hold " if held else "") + ", ".join(f"`{key}`" for key in keys)


def test_the_documentation_is_the_table() -> None:
    written = Path(__file__).parents[2] / "docs" / "keys.md"
    # if not: write what markdown() gives into the file
    assert written.read_text(encoding="utf-8") == markdown()


# -- the sheet of keys -----------------------------------------------------------------------------


@pytest.fixture
def sheet(qtbot) -> ShortcutSheet:
    made = ShortcutSheet()
    qtbot.addWidget(made)
    made.show()
    return made


def labels(sheet: ShortcutSheet) -> list[str]:
    return [each.text() for each in sheet.body.findChildren(QLabel)]


def test_every_key_is_listed(sheet: ShortcutSheet) -> None:
    keys = {key for each in (*ACTIONS, *GESTURES) for key in each.keys}
    as_written = QKeySequence.SequenceFormat
    native = {
        QKeySequence(k, as_written.PortableText).toString(as_written.NativeText) for k in keys
    }
    assert native - {""} <= set(labels(sheet))  # words such as "Double-click" are no sequences
    assert {"F10", "Double-click"} <= set(labels(sheet))


def test_typing_narrows_it_down_by_name_key_or_menu(sheet: ShortcutSheet) -> None:
    QTest.keyClicks(sheet.search, "f10")
    assert labels(sheet) == ["Run", "Step", "F10"]
    sheet.search.clear()
    QTest.keyClicks(sheet.search, "draw free")
    assert labels(sheet) == ["Draw", "Freehand", "Shift+P"]


def test_a_search_without_result_says_so(sheet: ShortcutSheet) -> None:
    QTest.keyClicks(sheet.search, "xyzzy")
    assert labels(sheet) == ["No action or key matches “xyzzy”."]


def test_escape_closes_it(sheet: ShortcutSheet) -> None:
    QTest.keyClick(sheet, Qt.Key.Key_Escape)
    assert not sheet.isVisible()
