"""Processes for one task, as the window steers them: runs made again, and comparisons.

To cancel, the process is ended: at once, whatever it is doing.  No method waits for anything.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, Signal

from geodp_app.runs.process_link import ProcessLink
from geodp_app.runs.task_process import TaskDone, TaskFailed
from geodp_app.workers.post import handed_over


class OneTask(QObject):
    """Owner of at most one process, which runs `entry` (:mod:`geodp_app.runs.task_process`)."""

    #: What the task under way says, but for its end.
    replied = Signal(object)
    #: The task was cancelled; what has arrived is whole.
    cancelled = Signal()
    #: One line for the person.
    failed = Signal(str)
    #: The last reply has arrived.
    finished = Signal()

    def __init__(
        self, entry: Callable[[Connection[Any, Any]], None], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._entry = entry
        self._link: ProcessLink | None = None
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(self.drop)

    @property
    def busy(self) -> bool:
        """Whether the task is under way."""
        return self._link is not None

    @property
    def link(self) -> ProcessLink | None:
        """The process that it has now, if any."""
        return self._link

    def start(self, job: object) -> None:
        """Begin; a task under way is dropped."""
        self.drop()
        self._link = ProcessLink(handed_over(self._handle), self._entry)
        self.destroyed.connect(self._link.kill)
        self._link.send(job)

    def cancel(self) -> None:
        """End the task now, if there is one, and tell."""
        if self.busy:
            self.drop()
            self.cancelled.emit()

    def drop(self) -> None:
        """End the task now, if there is one."""
        link, self._link = self._link, None
        if link is not None:
            link.kill()

    def _handle(self, link: ProcessLink, reply: object) -> None:
        if link is not self._link:
            return  # of a task that was dropped
        match reply:
            case TaskDone():
                self.drop()
                self.finished.emit()
            case TaskFailed():
                self.drop()
                self.failed.emit(reply.message)
            case None:
                self._link = None
                self.failed.emit(
                    f"The learners' process ended (exit code {link.exit_code}). If memory is "
                    "short, use a coarser grid, fewer examples or fewer learners."
                )
            case _:
                self.replied.emit(reply)
