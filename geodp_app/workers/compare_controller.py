"""Comparisons as the window steers them: each has a process of its own."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from geodp_app.runs.compare_process import Told, main
from geodp_app.runs.comparison import Row
from geodp_app.workers.one_task import OneTask


class CompareController(OneTask):
    """Owner of at most one comparison (:class:`geodp_app.runs.compare_process.CompareJob`)."""

    #: Told: how far it is.
    told = Signal(object)
    #: Row: a learner is done.
    arrived = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(main, parent)

    def replied(self, reply: object) -> None:
        """Tell who listens."""
        if isinstance(reply, Told):
            self.told.emit(reply)
        elif isinstance(reply, Row):
            self.arrived.emit(reply)
