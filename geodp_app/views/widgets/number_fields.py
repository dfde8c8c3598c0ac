"""Number fields that the toolkit lacks: sizes by decades, very small numbers, and a slider over
decades."""

from __future__ import annotations

import math

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QLineEdit, QSlider, QSpinBox, QWidget

#: Places of a slider in each decade.
_PLACES = 50


def set_auto(field: QSpinBox, on: bool) -> None:
    """Let the lowest value of a number of pieces, 0, stand for one that a run finds by itself."""
    field.setMinimum(0 if on else 1)
    field.setSpecialValueText("by itself" if on else "")


class SizeField(QSpinBox):
    """A whole number shown with thousands separators; the arrows go 1, 2, 5, 10, 20, ..."""

    def __init__(self, low: int, high: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setRange(low, high)
        self.setGroupSeparatorShown(True)
        self.setKeyboardTracking(False)

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

    def validate(self, text: str, pos: int) -> tuple[QValidator.State, str, int]:
        """Digits, separators, and an exponent."""
        plain = _plain(text)
        if not plain:
            return QValidator.State.Intermediate, text, pos
        try:
            value = float(plain)
        except ValueError:
            typing = plain[-1] in "eE+" and plain[0].isdigit()
            state = QValidator.State.Intermediate if typing else QValidator.State.Invalid
            return state, text, pos
        fits = self.minimum() <= value <= self.maximum() and value == round(value)
        return (
            QValidator.State.Acceptable if fits else QValidator.State.Intermediate,
            text,
            pos,
        )


class SmallNumberField(QLineEdit):
    """A number such as 1e-6, strictly between two bounds; what is out of range is put back."""

    valueChanged = Signal(float)  # noqa: N815 - as the toolkit's own fields call it

    def __init__(self, low: float, high: float, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._low, self._high, self._value = low, high, low
        self.editingFinished.connect(self._read)

    def value(self) -> float:
        """The last valid number."""
        return self._value

    def setValue(self, value: float) -> None:
        """Show a number, in at most six digits."""
        self._value = value
        self.setText(f"{value:g}")

    def _read(self) -> None:
        try:
            value = float(self.text())
        except ValueError:
            value = self._value
        if not self._low <= value <= self._high:
            value = self._value
        changed = value != self._value
        self.setValue(value)
        if changed:
            self.valueChanged.emit(value)


class DecadeSlider(QSlider):
    """A slider from 10**low to 10**high, its numbers of two digits; what is beyond is at its end.

    A place is 1/50 of a decade: an arrow key moves by 5 %.
    """

    #: Moved by hand or key, to this number.
    moved = Signal(float)

    def __init__(self, low: int, high: int, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
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
