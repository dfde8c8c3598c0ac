"""Comparisons as the window steers them: start and cancel.

Each comparison has a process of its own (:mod:`geodp_app.runs.compare_process`), which is ended
to cancel it: at once, whatever it is doing.  No method waits for anything.
"""

from __future__ import annotations

import contextlib

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal

from geodp_app.comparison import Row
from geodp_app.runs.compare_process import Compared, CompareFailed, CompareJob, Told, main
from geodp_app.runs.process_link import ProcessLink


class CompareController(QObject):
    """Owner of at most one comparison."""

    #: Told: how far it is.
    told = Signal(object)
    #: Row: a learner is done.
    arrived = Signal(object)
    #: The last row has arrived.
    finished = Signal()
    #: The comparison was cancelled; rows that have arrived are whole.
    cancelled = Signal()
    #: One line for the person.
    failed = Signal(str)

    _received = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._link: ProcessLink | None = None
        self._received.connect(self._handle, Qt.ConnectionType.QueuedConnection)
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(self._drop)

    @property
    def busy(self) -> bool:
        """Whether a comparison is under way."""
        return self._link is not None

    @property
    def pid(self) -> int | None:
        """The number of the process, while there is one."""
        return None if self._link is None else self._link.pid

    def start(self, job: CompareJob) -> None:
        """Begin; a comparison under way is dropped."""
        self._drop()
        self._link = ProcessLink(self._from_link, main)
        self.destroyed.connect(self._link.kill)
        self._link.send(job)

    def cancel(self) -> None:
        """End the comparison now, if there is one."""
        if self.busy:
            self._drop()
            self.cancelled.emit()

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.kill()

    def _from_link(self, link: ProcessLink, reply: object) -> None:
        """Called by a thread of the link."""
        with contextlib.suppress(RuntimeError):  # the window is gone already
            self._received.emit(link, reply)

    def _handle(self, link: ProcessLink, reply: object) -> None:
        if link is not self._link:
            return  # of a comparison that was dropped
        if isinstance(reply, Told):
            self.told.emit(reply)
        elif isinstance(reply, Row):
            self.arrived.emit(reply)
        elif isinstance(reply, Compared):
            self._drop()
            self.finished.emit()
        elif isinstance(reply, CompareFailed):
            self._drop()
            self.failed.emit(reply.message)
        elif reply is None:
            self._link = None
            how = f"(exit code {link.exit_code})"
            self.failed.emit(
                f"The learners' process ended {how}. If memory is short, use a coarser grid, "
                "fewer examples or fewer learners."
            )
