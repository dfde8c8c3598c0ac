"""The sheet of keys lists them all and finds them."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from geodp_app.actions import ACTIONS, GESTURES
from geodp_app.views.panels.dialogs import ShortcutSheet


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
    assert {key for row in sheet.rows() for key in row[0]} == keys
    assert "F10" in labels(sheet)
    assert "Double-click" in labels(sheet)


def test_typing_narrows_it_down_by_name_key_or_menu(sheet: ShortcutSheet) -> None:
    QTest.keyClicks(sheet.search, "f10")
    assert [text for _, text in sheet.rows()] == ["Step"]
    sheet.search.clear()
    QTest.keyClicks(sheet.search, "draw free")
    assert [keys for keys, _ in sheet.rows()] == [("Shift+P",)]
    assert "Freehand" in labels(sheet)
    assert "Polygon" not in labels(sheet)


def test_a_search_without_result_says_so(sheet: ShortcutSheet) -> None:
    QTest.keyClicks(sheet.search, "xyzzy")
    assert sheet.rows() == []
    assert labels(sheet) == ["No action or key matches “xyzzy”."]


def test_escape_closes_it(sheet: ShortcutSheet) -> None:
    QTest.keyClick(sheet, Qt.Key.Key_Escape)
    assert not sheet.isVisible()
