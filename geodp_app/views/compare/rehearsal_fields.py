"""Asks for several ε and numbers of reports, at which learners are tried on simulated samples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QWidget

from geodp_app.document.checks import check_sampling
from geodp_app.document.work import RunSettings, Work
from geodp_app.errors import InputError
from geodp_app.runs.comparison import Contender
from geodp_app.runs.rehearsal import RUNS, told_apart
from geodp_app.runs.task_process import RehearsalJob
from geodp_app.views.widgets.number_fields import WholeField
from geodp_app.views.widgets.panes import dressed, fill


class RehearsalFields(QWidget):
    """Learners are rehearsed if any ε or number of reports is typed."""

    #: Something else is typed.
    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
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

    @property
    def asked(self) -> bool:
        """Whether something is typed that can be done."""
        return self.isEnabled() and bool((self.epsilons.text() + self.sizes.text()).strip())

    def job(
        self, work: Work, contenders: Callable[[RunSettings], Iterable[Contender]]
    ) -> RehearsalJob:
        """What is asked for, of contenders for settings of a run; the rest is as the work has it.

        Raises
        ------
        InputError
            If nothing is drawn, something is no number, or no sample has as many.
        """
        s = work.sampling
        if not work.drawing.shapes:
            raise InputError("there is nothing to simulate reports of: draw a target")
        epsilons = _typed(self.epsilons) or [work.run["epsilon"]]
        sizes = _typed(self.sizes) or [s.n]
        for n in sizes:  # one that is not whole is refused by its name
            check_sampling(replace(s, n=int(n) if n % 1 == 0 else n), work.drawing.grid)  # type: ignore[arg-type]
        runs = [work.run.with_(epsilon=epsilon) for epsilon in epsilons]
        found = told_apart(each for run in runs for each in contenders(run))
        how = {"distribution": s.distribution, "noise": s.noise, "dabs": s.dabs, "seed": s.seed}
        how["runs"] = self.samples.value()
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
