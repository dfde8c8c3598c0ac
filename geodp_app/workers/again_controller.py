"""The same run again and again, as the window steers it: in a process of its own."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from geodp_app.runs.again_process import AgainBegun, AgainShape, main
from geodp_app.workers.one_task import OneTask


class AgainController(OneTask):
    """Owner of at most one series of runs (:class:`geodp_app.runs.again_process.AgainJob`)."""

    #: AgainBegun: another run, and what it will spend.
    begun = Signal(object)
    #: The shape that a run has learned.
    arrived = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(main, parent)

    def replied(self, reply: object) -> None:
        """Tell who listens."""
        if isinstance(reply, AgainBegun):
            self.begun.emit(reply)
        elif isinstance(reply, AgainShape):
            self.arrived.emit(reply.shape)
