"""What a rehearsal is asked for, and what it advises: the fields and the line of its command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import fmean

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from geodp_app.document.checks import check_sampling
from geodp_app.document.work import RunSettings, Work
from geodp_app.errors import InputError
from geodp_app.formatting import counted, percentage
from geodp_app.runs.comparison import Contender
from geodp_app.runs.rehearsal import (
    RUNS,
    TESTED,
    Rehearsed,
    best_of,
    rehearsal_remarks,
    told_apart,
)
from geodp_app.runs.task_process import RehearsalJob
from geodp_app.views.compare.compare_table import contender_title
from geodp_app.views.widgets.number_fields import WholeField
from geodp_app.views.widgets.panes import dressed, fill


class RehearsalFields(QWidget):
    """Several ε and numbers of reports; learners are rehearsed if any is typed."""

    #: Something else is asked for.
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.epsilons, self.sizes, self.samples = QLineEdit(), QLineEdit(), WholeField(1, 50)
        self.samples.setValue(RUNS)
        self.samples.setFixedWidth(74)
        row = fill(QHBoxLayout(self), margins=(0, 0, 0, 0), spacing=6)
        for name, field, tip in (
            ("Rehearse: ε", self.epsilons, "One ε or several, such as 0.5 1 2"),
            ("reports", self.sizes, "How many are simulated, one number or several: 1000 10000"),
            ("samples", self.samples, "How many runs of each: their errors have a range"),
        ):
            label = QLabel(name)
            label.setBuddy(dressed(field, name=name.capitalize(), tip=f"{tip}. Nothing is spent"))
            fill(row, label, (field, 1))
        for field in (self.epsilons, self.sizes):
            field.textChanged.connect(self.changed)
        self.samples.valueChanged.connect(self.changed)

    @property
    def asked(self) -> bool:
        """Whether something is typed that can be done."""
        return self.isEnabled() and bool((self.epsilons.text() + self.sizes.text()).strip())

    def job(
        self, work: Work, contenders: Callable[[RunSettings], Iterable[Contender]]
    ) -> RehearsalJob:
        """What is asked for; what is not typed is as the work has it.

        Parameters
        ----------
        work : Work
        contenders : callable
            Makes them for settings of a run.

        Raises
        ------
        InputError
            If nothing is drawn, something is no number, or no sample has as many.
        """
        if not work.drawing.shapes:
            raise InputError("there is nothing to simulate reports of: draw a target")
        epsilons = _typed(self.epsilons) or [work.run["epsilon"]]
        sizes = [int(n) if n.is_integer() else n for n in _typed(self.sizes)] or [work.sampling.n]
        for n in sizes:
            check_sampling(replace(work.sampling, n=n), work.drawing.grid)  # type: ignore[arg-type]
        runs = [work.run.with_(epsilon=epsilon) for epsilon in epsilons]
        found = told_apart(each for run in runs for each in contenders(run))
        drawn = {
            name: getattr(work.sampling, name) for name in ("distribution", "noise", "dabs", "seed")
        }
        how = {**drawn, "runs": self.samples.value()}
        return RehearsalJob(work.drawing.figure(), work.frame, found, tuple(map(int, sizes)), how)


def _typed(field: QLineEdit) -> list[float]:
    found = []
    for text in re.split(r"[;,]?\s+|;", field.text().strip()):
        try:
            found += [float(text)] if text else []
        except ValueError:
            raise InputError(
                f"{field.accessibleName()}: {text[:20]!r} is not a number: type numbers with "
                "spaces between, such as 0.5 1 2"
            ) from None
    return list(dict.fromkeys(found))


class Advice(QWidget):
    """What a rehearsed learner reached, and the command that learns so from reports."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = QLabel(wordWrap=True)
        self.command = dressed(QLineEdit(readOnly=True), name="The command to run then")
        self.copy_button = dressed(QPushButton("Copy"), tip="Copy the command")
        self.copy_button.clicked.connect(
            lambda: QApplication.clipboard().setText(self.command.text())
        )
        row = fill(QHBoxLayout(), (self.command, 1), self.copy_button, spacing=8)
        fill(QVBoxLayout(self), self.words, row, margins=(0, 0, 0, 0), spacing=6)
        self.hide()

    def show_row(self, row: Rehearsed, rows: Sequence[Rehearsed]) -> None:
        """Of one of the rows of a rehearsal."""
        private, least = row.contender.kind.private, row in best_of(rows)
        settings = dict(row.contender.parameters)
        at = f"ε = {settings['epsilon']:g} and " if private else ""
        verdict = "Advised" if least else "Not the least error" if private else "Not private"
        title = contender_title(row.contender)
        self.words.setText(
            f"{verdict} for {at}{counted(row.n, 'report')}: {title}, "
            f"{percentage(fmean(row.errors))} of labels wrong."
        )
        self.command.setText(row.command if private else "")
        self.command.setCursorPosition(0)
        self.command.setEnabled(private)
        self.copy_button.setEnabled(private)
        self.show()


def rehearsed_words(rows: Sequence[Rehearsed], name: str) -> str:
    """What must be said with the rows of a rehearsal on a drawing of that name."""
    spent, points = rehearsal_remarks(name, len(rows[0].errors))
    return (
        f"{spent} Errors are on {counted(TESTED, 'fresh point')}; how yours will do depends on how "
        f"like them the drawing is. {points}"
    )
