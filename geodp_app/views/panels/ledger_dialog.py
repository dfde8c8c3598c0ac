"""Asks for the ledger of imported examples: join one, begin one with a budget, or keep none."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QFormLayout,
    QGroupBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from geodp_app.errors import InputError
from geodp_app.files.ledger import BESIDE, Ledger
from geodp_app.views.widgets.number_fields import DecimalField, FieldGuard, SmallNumberField
from geodp_app.views.widgets.panes import add_field, dressed, fill, sentences, show_words
from learners.privacy.privacy_filter import Budget
from learners.registry import NEIGHBOURS

_WHAT = (
    "A ledger is a file in which every run on these people's reports is entered before it draws. "
    "What was entered counts in full, however the run ends, and nothing is run beyond the budget, "
    "as long as nobody puts an older copy of the file back."
)
_KINDS = "Ledgers (*.ledger);;All files (*)"


class LedgerDialog(QDialog):
    """Choose the ledger; each choice is told at once.

    Parameters
    ----------
    folder : Path
        Where the file dialogs begin.
    parent : QWidget, optional
    """

    #: Path of the ledger, or None for none.
    chosen = Signal(object)

    def __init__(self, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Ledger")
        self._folder = folder
        self.state = sentences("practice")
        self.problem = dressed(QLabel(wordWrap=True), "banner")
        self.join_button = dressed(QPushButton("Join a ledger…"), tip="One that is there already")
        self.none_button = dressed(QPushButton("Keep none"), tip="The file stays as it is")
        self.close_button = QPushButton("Close")
        foot = fill(QHBoxLayout(), self.join_button, self.none_button, None, self.close_button)
        parts = (sentences("note", _WHAT), self.problem, self.state, self._new_group(), foot)
        fill(QVBoxLayout(self), *parts, margins=(16, 16, 16, 16), spacing=12)
        for button in (self.join_button, self.none_button, self.begin_button, self.close_button):
            button.setAutoDefault(False)
        self.join_button.clicked.connect(self._join)
        self.begin_button.clicked.connect(self._begin)
        self.none_button.clicked.connect(lambda: self.chosen.emit(None))
        self.close_button.clicked.connect(self.accept)
        FieldGuard(self).guard(self)
        self.setMinimumWidth(440)
        show_words(self.problem, "")

    def show_state(self, words: str) -> None:
        """What the ledger says; empty for none."""
        self.state.setText(words or "No ledger is kept of these examples.")
        self.none_button.setEnabled(bool(words))

    def _new_group(self) -> QGroupBox:
        group = QGroupBox("A new one")
        form = QFormLayout(group)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self.epsilon = DecimalField(0.001, 1000, decimals=3, step=0.1)
        self.epsilon.setValue(3.0)
        add_field(form, "Budget ε", self.epsilon, "For all runs together")
        self.delta = SmallNumberField(1e-30, 0.5)
        self.delta.setValue(1e-5)
        add_field(form, "Budget δ", self.delta, "For all runs together: well below 1/n")
        self.neighbours = QComboBox()
        for relation, text in NEIGHBOURS.choices:
            self.neighbours.addItem(text, relation)
        add_field(form, NEIGHBOURS.label, self.neighbours, NEIGHBOURS.help)
        self.begin_button = QPushButton("Begin…")
        form.addRow(self.begin_button)
        return group

    def _join(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, "Join a ledger", str(self._folder), _KINDS)
        if name:
            self._take(Ledger(name))

    def _begin(self) -> None:
        start = str(self._folder / BESIDE)
        name, _ = QFileDialog.getSaveFileName(self, "Begin a ledger", start, _KINDS)
        if not name:
            return
        try:
            budget = Budget(self.epsilon.value(), self.delta.value())
            relation = self.neighbours.currentData()
            self._take(Ledger.create(name, relation=relation, budget=budget))
        except (InputError, ValueError) as error:
            show_words(self.problem, str(error))

    def _take(self, ledger: Ledger) -> None:
        try:
            ledger.state()
        except InputError as error:
            show_words(self.problem, str(error))
            return
        show_words(self.problem, "")
        self.chosen.emit(str(ledger.path.resolve()))
