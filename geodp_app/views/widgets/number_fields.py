"""Makes number fields that refuse in words: sizes by decades, very small ones, a slider of decades.

What is typed is taken when it is complete, at Enter or when the field is left.  A number out of
range is never turned into another one: the field goes back to the number it had and says why.
"""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import QEvent, QObject, QPoint, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QValidator
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QDoubleSpinBox,
    QLineEdit,
    QSizePolicy,
    QSlider,
    QSpinBox,
    QToolTip,
    QWidget,
)

State = QValidator.State

#: Room for eight digits or so, in pixels.
_LEAST_WIDTH = 92
#: Places of a slider in each decade.
_PLACES = 50


def show_value(field: Any, value: Any) -> None:
    """Show a number, a choice by its data, or whether a box is checked; emits nothing."""
    with QSignalBlocker(field):
        if isinstance(field, QComboBox):
            field.setCurrentIndex(field.findData(value))
        elif isinstance(field, QAbstractButton):
            field.setChecked(value)
        elif field.value() != value:  # else what is being typed there would be lost
            field.setValue(value)


def set_auto(field: QSpinBox, on: bool) -> None:
    """Let the lowest value of a number of pieces, 0, stand for one that a run finds by itself."""
    field.setMinimum(0 if on else 1)
    field.setSpecialValueText("by itself" if on else "")


class FieldGuard(QObject):
    """The wheel turns only the field that has the focus, and Enter is the end of typing."""

    #: Enter was pressed in a field, and what it holds was taken or refused.
    entered = Signal()
    #: Why what was typed in one of them is not taken.
    refused = Signal(str)

    def guard(self, root: QWidget) -> None:
        """All fields of numbers and choices that a widget holds now."""
        for kind in (QAbstractSpinBox, QComboBox, QSlider):
            for field in root.findChildren(kind):
                field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
                field.installEventFilter(self)
                if isinstance(field, WholeField | DecimalField):
                    field.refused.connect(self.refused)

    def eventFilter(self, field: QObject, event: QEvent) -> bool:
        """Pass a turn of the wheel on to what lies behind, where the field has no focus."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                QTimer.singleShot(0, self.entered.emit)  # after the field has seen it
            return False
        if event.type() != QEvent.Type.Wheel or not isinstance(field, QWidget):
            return False
        turns = field.hasFocus()
        event.setAccepted(turns)
        return not turns


def _refuse(field: WholeField | DecimalField | SmallNumberField, text: str, kept: str) -> None:
    """Say, below the field, why what was typed is not taken."""
    low, high = (f"{number:,}" for number in (field.minimum(), field.maximum()))
    words = f"{text.strip()[:20] or 'Nothing'} is not a number from {low} to {high}: {kept} stays."
    field.setAccessibleDescription(words)
    QToolTip.showText(field.mapToGlobal(QPoint(0, field.height())), words, field)
    field.refused.emit(words)


def _gives_way(field: QAbstractSpinBox) -> None:
    """Take what is typed when it is complete, and no more width than there is: left to itself a
    field is as wide as its greatest number, which nobody types.
    """
    field.setKeyboardTracking(False)
    field.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
    field.setMinimumWidth(_LEAST_WIDTH)


class WholeField(QSpinBox):
    """A whole number in a range."""

    #: Why what was typed is not taken.
    refused = Signal(str)

    def __init__(self, low: int, high: int) -> None:
        super().__init__()
        self.setRange(low, high)
        _gives_way(self)

    def validate(self, text: str, pos: int) -> tuple[State, str, int]:
        """Anything may be typed: what is no number of the range may still become one."""
        fits = super().validate(text, pos)[0] == State.Acceptable
        return (State.Acceptable if fits else State.Intermediate), text, pos

    def fixup(self, text: str) -> str:
        """Called with what is not taken: the number that was there stays."""
        _refuse(self, text, self.textFromValue(self.value()))
        return text


class DecimalField(QDoubleSpinBox):
    """A decimal number in a range."""

    #: Why what was typed is not taken.
    refused = Signal(str)

    def __init__(
        self, low: float, high: float, *, decimals: int, step: float, suffix: str = ""
    ) -> None:
        super().__init__()
        self.setDecimals(decimals)
        self.setRange(low, high)
        self.setSingleStep(step)
        self.setSuffix(suffix)
        _gives_way(self)

    def validate(self, text: str, pos: int) -> tuple[State, str, int]:
        """Anything may be typed."""
        value = self._read(text)
        fits = value is not None and self.minimum() <= value <= self.maximum()
        return (State.Acceptable if fits else State.Intermediate), text, pos

    def valueFromText(self, text: str) -> float:
        """Also understands a decimal comma and 1e-2."""
        value = self._read(text)
        return self.value() if value is None else value

    def fixup(self, text: str) -> str:
        """Called with what is not taken: the number that was there stays."""
        _refuse(self, text.removesuffix(self.suffix()), self.textFromValue(self.value()))
        return text

    def _read(self, text: str) -> float | None:
        """The number that a text says; None for none, for 1,000, which may be either, and for more
        decimals than are kept."""
        plain = text.removesuffix(self.suffix()).strip()
        if plain and plain == self.specialValueText():
            return self.minimum()
        whole, comma, decimals = plain.partition(",")
        if comma and len(decimals) == 3:
            return None
        try:
            value = float(f"{whole}.{decimals}" if comma else whole)
        except ValueError:
            return None
        return value if round(value, self.decimals()) == value else None


class SizeField(WholeField):
    """A whole number shown with thousands separators; the arrows go 1, 2, 5, 10, 20, ..."""

    def __init__(self, low: int, high: int) -> None:
        super().__init__(low, high)
        self.setGroupSeparatorShown(True)

    def stepBy(self, steps: int) -> None:
        """To the next round number."""
        ladder = [m * 10**e for e in range(9) for m in (1, 2, 5)]
        value = self.value()
        for _ in range(abs(steps)):
            if steps > 0:
                value = next((x for x in ladder if x > value), value)
            else:
                value = next((x for x in reversed(ladder) if x < value), value)
        self.setValue(value)

    def valueFromText(self, text: str) -> int:
        """Also understands 1e5 and 100 000."""
        try:
            return round(float(_plain(text)))
        except (ValueError, OverflowError):
            return self.value()

    def validate(self, text: str, pos: int) -> tuple[State, str, int]:
        """Digits, separators, and an exponent."""
        try:
            value = float(_plain(text))
        except ValueError:
            return State.Intermediate, text, pos
        fits = self.minimum() <= value <= self.maximum() and value == round(value)
        return (State.Acceptable if fits else State.Intermediate), text, pos


class SmallNumberField(QLineEdit):
    """A number such as 1e-6, between two bounds."""

    valueChanged = Signal(float)  # noqa: N815 - as the toolkit's own fields call it
    #: Why what was typed is not taken.
    refused = Signal(str)

    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self._low, self._high, self._value = low, high, low
        self.editingFinished.connect(self._read)

    def minimum(self) -> float:
        """The least number that is taken."""
        return self._low

    def maximum(self) -> float:
        """The greatest number that is taken."""
        return self._high

    def value(self) -> float:
        """The last valid number."""
        return self._value

    def setValue(self, value: float) -> None:
        """Show a number, in at most six digits."""
        self._value = value
        self.setText(f"{value:g}")

    def _read(self) -> None:
        text, kept = self.text(), self._value
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not self._low <= value <= self._high:
            self.setValue(kept)
            _refuse(self, text, self.text())
        elif value != kept:
            self.setValue(value)
            self.valueChanged.emit(value)


class DecadeSlider(QSlider):
    """A slider from 10**low to 10**high, its numbers of two digits; what is beyond is at its end.

    A place is 1/50 of a decade: an arrow key moves by 5 %.
    """

    #: Moved by hand or key, to this number.
    moved = Signal(float)

    def __init__(self, low: int, high: int) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setRange(low * _PLACES, high * _PLACES)
        self.setPageStep(_PLACES // 5)
        self.valueChanged.connect(lambda place: self.moved.emit(_number(place)))

    def show_number(self, number: float) -> None:
        """Go to a number; emits nothing."""
        if _number(self.value()) != number:  # else what is being dragged would jump
            with QSignalBlocker(self):
                self.setValue(round(_PLACES * math.log10(number)))


def _number(place: int) -> float:
    return float(f"{10 ** (place / _PLACES):.2g}")


def _plain(text: str) -> str:
    return "".join(c for c in text if c not in ", \u00a0\u202f\u2009'")
