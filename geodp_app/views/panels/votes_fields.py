"""Settings of learners by votes: chunks, and points that may go without an answer."""

from __future__ import annotations

from PySide6.QtCore import QObject, QSignalBlocker, Signal
from PySide6.QtWidgets import QFormLayout, QLabel, QSpinBox

from geodp_app.document.checks import MOST_CHUNKS, MOST_HALTS
from geodp_app.document.work import RunSettings
from learners.declaration import Parameter
from learners.registry import CHUNKS, HALTS, KEPT


class VotesFields(QObject):
    """Rows of a form; shown for learners that have these parameters.

    Parameters
    ----------
    form : QFormLayout
    """

    #: Names and values of changed settings.
    changed = Signal(dict)

    def __init__(self, form: QFormLayout) -> None:
        super().__init__(form)
        self._form = form
        self.chunks = self._row(CHUNKS, 0, MOST_CHUNKS)
        self.chunks.setSpecialValueText("automatic")
        self.halts = self._row(HALTS, 1, MOST_HALTS)
        self.kept = self._row(KEPT, 0, MOST_HALTS - 1)
        self.chunks.valueChanged.connect(lambda n: self.changed.emit({"chunks": n or None}))
        self.halts.valueChanged.connect(self._halts_changed)
        self.kept.valueChanged.connect(lambda n: self.changed.emit({"kept": n}))

    def show_settings(self, run: RunSettings) -> None:
        """Follow the settings of a run."""
        shown = (
            ("chunks", self.chunks, run.chunks or 0),
            ("halts", self.halts, run.halts),
            ("kept", self.kept, run.kept),
        )
        for name, field, value in shown:
            with QSignalBlocker(field):
                if field is self.kept:
                    field.setMaximum(run.halts - 1)  # the run itself needs one
                if field.value() != value:
                    field.setValue(value)
            self._form.setRowVisible(field, run.has(name))

    def _halts_changed(self, halts: int) -> None:
        kept = self.kept.value()
        fewer = {"kept": halts - 1} if kept >= halts else {}
        self.changed.emit({"halts": halts, **fewer})

    def _row(self, parameter: Parameter, low: int, high: int) -> QSpinBox:
        field, label = QSpinBox(minimum=low, maximum=high), QLabel(parameter.label)
        field.setKeyboardTracking(False)
        field.setAccessibleName(parameter.label)
        label.setBuddy(field)
        unset = f" Automatic: {parameter.unset}." if parameter.unset else ""
        for widget in (label, field):
            widget.setToolTip(parameter.help + unset)
        self._form.addRow(label, field)
        return field
