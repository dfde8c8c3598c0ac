"""Fields of numbers: what they take, what they refuse, and what the wheel and Enter do."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from geodp_app.views.widgets.number_fields import (
    DecimalField,
    FieldGuard,
    SizeField,
    SmallNumberField,
    WholeField,
)


@pytest.fixture
def page(qapp: QApplication) -> QScrollArea:
    """A page longer than its view, with a field of each kind and one that cannot be turned."""
    body = QWidget()
    column = QVBoxLayout(body)
    fields = (
        WholeField(1, 200),
        DecimalField(0.001, 1000, decimals=3, step=0.1, suffix=" %"),
        SizeField(1, 10_000_000),
        SmallNumberField(1e-30, 0.5),
        QLineEdit(),
        QComboBox(),
    )
    for field, value in zip(fields, (5, 1.0, 30_000, 1e-6, None, None), strict=True):
        column.addWidget(field)
        field.setObjectName("words" if type(field) is QLineEdit else "")
        if value is not None:
            field.setValue(value)  # type: ignore[attr-defined]
    fields[-1].addItems(["a", "b"])  # type: ignore[attr-defined]
    column.addStretch(1)
    body.setMinimumHeight(2000)
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setWidget(body)
    area.resize(300, 300)
    area.show()
    area.activateWindow()
    QApplication.processEvents()  # it is laid out
    return area


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (WholeField, "12", 12),
        (WholeField, "-5", None),
        (WholeField, "99999999", None),
        (WholeField, "", None),
        (WholeField, "seven", None),
        (DecimalField, "2.5", 2.5),
        (DecimalField, "0,25", 0.25),
        (DecimalField, "1e-2", 0.01),
        (DecimalField, "1,000", None),  # one, or a thousand
        (DecimalField, "0", None),
        (DecimalField, "0.0015", None),  # more decimals than are kept
        (DecimalField, "nan", None),
        (SizeField, "1e5", 100_000),
        (SizeField, "20 000", 20_000),
        (SizeField, "-5", None),
        (SizeField, "1.5", None),
        (SizeField, "99999999999", None),
        (SmallNumberField, "1e-9", 1e-9),
        (SmallNumberField, "0.7", None),
        (SmallNumberField, "nan", None),
    ],
)
def test_a_number_is_taken_as_typed_or_refused_in_words(page, kind, text, value):
    field = page.findChildren(kind)[0]
    before, taken, refused = field.value(), [], []
    field.valueChanged.connect(taken.append)
    field.refused.connect(refused.append)
    field.setFocus()
    field.selectAll()
    QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClicks(field, text)
    assert taken == []  # nothing runs by half a number
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert field.value() == (before if value is None else value)
    assert taken == ([] if value is None else [value])
    assert len(refused) == (value is None)
    if refused:
        assert (text or "Nothing") in refused[0]
        assert refused[0].endswith(" stays.")
        assert field.accessibleDescription() == refused[0]


def turn(field: QWidget) -> None:
    """The wheel, one notch down over a field, as the window system tells of it."""
    window = field.window()
    at = field.mapTo(window, field.rect().center())
    QTest.wheelEvent(window.windowHandle(), QPointF(at), QPoint(0, -120))


def test_the_wheel_changes_what_has_the_focus_and_nothing_else(page: QScrollArea) -> None:
    guard = FieldGuard(page)
    guard.guard(page)
    words = page.findChildren(QLineEdit, "words")[0]
    for kind in (WholeField, DecimalField, SizeField, QComboBox):
        field = page.findChildren(kind)[0]

        def shown(field: QWidget = field) -> object:
            return field.value() if isinstance(field, QAbstractSpinBox) else field.currentIndex()

        words.setFocus()
        page.verticalScrollBar().setValue(0)
        before = shown()
        turn(field)
        assert (shown(), words.hasFocus()) == (before, True)
        assert page.verticalScrollBar().value() > 0  # the page has moved
        page.verticalScrollBar().setValue(0)
        field.setFocus()
        turn(field)
        assert shown() != before


def test_enter_ends_the_typing_after_the_number_is_taken(page: QScrollArea) -> None:
    guard, heard = FieldGuard(page), []
    guard.guard(page)
    field = page.findChildren(WholeField)[0]
    guard.entered.connect(lambda: heard.append(field.value()))
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "42")
    QTest.keyClick(field, Qt.Key.Key_Return)
    QApplication.processEvents()
    assert heard == [42]
