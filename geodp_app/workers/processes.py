"""Hands what processes tell over to the window's thread; and runs those for one task, runs made
again and comparisons.

A thread must not emit a signal of an object that the window's thread may be deleting: Qt would read
what is freed.  So threads tell a post office that nobody deletes before the process ends, and it
looks for whom a letter is, and whether that one is still there, where windows are deleted too.

To cancel a task its process is ended: at once, whatever it is doing.  No method waits for anything.
"""

from __future__ import annotations

import atexit
import functools
import threading
import weakref
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal
from shiboken6 import isValid

from geodp_app.runs.process_link import ProcessLink
from geodp_app.runs.task_process import TaskDone, TaskFailed


class _Post(QObject):
    """One for all, made in the window's thread."""

    _sent = Signal(object, object)

    def __init__(self) -> None:
        super().__init__()
        self._sent.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self._lock, self._open = threading.Lock(), True
        atexit.register(self._close)  # before Qt deletes what is left

    def send(self, to: weakref.WeakMethod[Any], letter: tuple[object, ...]) -> None:
        """Called by any thread."""
        with self._lock:
            if self._open:
                self._sent.emit(to, letter)

    def _close(self) -> None:
        with self._lock:
            self._open = False

    def _deliver(self, to: weakref.WeakMethod[Any], letter: tuple[object, ...]) -> None:
        take = to()
        if take is not None and isValid(take.__self__):
            take(*letter)


_post = functools.cache(_Post)


def handed_over(take: Callable[..., None]) -> Callable[..., None]:
    """What any thread may call, so that a method of an object of Qt is called in the window's
    thread, as long as there is the object; it is not kept.
    """
    send, to = _post().send, weakref.WeakMethod(take)
    return lambda *letter: send(to, letter)


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
        #: The process that it has now, if any.
        self.link: ProcessLink | None = None
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(self.drop)

    @property
    def busy(self) -> bool:
        """Whether the task is under way."""
        return self.link is not None

    def start(self, job: object) -> None:
        """Begin; a task under way is dropped."""
        self.drop()
        self.link = ProcessLink(handed_over(self._handle), self._entry)
        self.destroyed.connect(self.link.kill)
        self.link.send(job)

    def cancel(self) -> None:
        """End the task now, if there is one, and tell."""
        if self.busy:
            self.drop()
            self.cancelled.emit()

    def drop(self) -> None:
        """End the task now, if there is one."""
        link, self.link = self.link, None
        if link is not None:
            link.kill()

    def _handle(self, link: ProcessLink, reply: object) -> None:
        if link is not self.link:
            return  # of a task that was dropped
        match reply:
            case TaskDone():
                self.drop()
                self.finished.emit()
            case TaskFailed():
                self.drop()
                self.failed.emit(reply.message)
            case None:
                self.link = None
                self.failed.emit(
                    f"The learners' process ended (exit code {link.exit_code}). If memory is "
                    "short, use a coarser grid, fewer examples or fewer learners."
                )
            case _:
                self.replied.emit(reply)
