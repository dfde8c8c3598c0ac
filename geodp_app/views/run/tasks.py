"""Runs tasks in processes of their own for the window: comparisons, and one run made twenty times.

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
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal
from shapely.geometry.base import BaseGeometry
from shiboken6 import isValid

from geodp_app.document.document import Document
from geodp_app.document.work import RunCharge, Work
from geodp_app.formatting import counted
from geodp_app.runs.process_link import ProcessLink
from geodp_app.runs.protocol import Job
from geodp_app.runs.task_process import (
    AgainBegun,
    AgainJob,
    AgainShape,
    TaskDone,
    TaskFailed,
    again,
)


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


class ProcessOwner(QObject):
    """Owner of at most one process, whose replies :meth:`_handle` takes in the window's thread."""

    def __init__(self, parent: QObject | None) -> None:
        super().__init__(parent)
        #: The process that it has now, if any.
        self.link: ProcessLink | None = None
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(self.close)

    def close(self) -> None:
        """End the process, if there is one; to be called before the application ends."""
        self.drop()

    def drop(self) -> None:
        """End the process now, if there is one."""
        link, self.link = self.link, None
        if link is not None:
            link.kill()

    def _begin(self, entry: Callable[[Connection[Any, Any]], None], request: object) -> None:
        self.link = ProcessLink(handed_over(self._handle), entry)
        self.destroyed.connect(self.link.kill)
        self.link.send(request)

    def _handle(self, link: ProcessLink, reply: Any) -> None:
        raise NotImplementedError


class OneTask(ProcessOwner):
    """Owner of a process that runs `entry` (:mod:`geodp_app.runs.task_process`)."""

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

    @property
    def busy(self) -> bool:
        """Whether the task is under way."""
        return self.link is not None

    def start(self, job: object) -> None:
        """Begin; a task under way is dropped."""
        self.drop()
        self._begin(self._entry, job)

    def cancel(self) -> None:
        """End the task now, if there is one, and tell."""
        if self.busy:
            self.drop()
            self.cancelled.emit()

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


#: How many runs are made.
TIMES = 20


class Again(QObject):
    """Twenty runs and their shapes, as long as examples and settings are the same."""

    #: Shapes or state have changed.
    changed = Signal()
    #: One line for the person.
    announced = Signal(str)

    def __init__(self, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._work: Work | None = None
        self._charge: RunCharge | None = None
        self.shapes: tuple[BaseGeometry, ...] = ()
        self.controller = OneTask(again, self)
        self.controller.replied.connect(self._replied)
        self.controller.finished.connect(self.changed)
        self.controller.failed.connect(self._failed)

    @property
    def possible(self) -> bool:
        """Whether there are simulated examples: on real ones each run would spend epsilon."""
        work = self._document.work
        return work.simulated and work.examples is not None

    @property
    def words(self) -> str:
        """How far it is, or what is shown; empty for nothing."""
        made = len(self.shapes)
        if self.controller.busy:
            return f"{made} of {TIMES} runs"
        return f"{counted(made, 'run')}, one outline each" if made else ""

    def start_or_stop(self) -> None:
        """Begin twenty runs, or end those under way."""
        if self.controller.busy:
            self.controller.cancel()
            self.changed.emit()
            return
        work = self._document.work
        if not self.possible or work.examples is None:
            self.announced.emit("Again is for simulated examples: on real ones each run spends ε.")
            return
        self._work, self.shapes = work, ()
        self.controller.start(AgainJob(Job.of(work), TIMES))
        self.changed.emit()

    def follow_document(self) -> None:
        """Forget the shapes of other examples or settings."""
        was, now = self._work, self._document.work
        if was is not None and (was.examples is not now.examples or was.run != now.run):
            self.clear()

    def clear(self) -> None:
        """End the runs and forget their shapes."""
        self.controller.drop()
        self._work, self.shapes = None, ()
        self.changed.emit()

    def _replied(self, reply: AgainBegun | AgainShape) -> None:
        assert self._work is not None
        assert self._work.examples is not None
        work, examples, charge = self._work, self._work.examples, self._charge
        if isinstance(reply, AgainBegun):
            self._charge = None
            if reply.plan is not None and work.run.private:
                self._charge = RunCharge(reply.plan, finished=False)
                self._document.charge(examples, self._charge)
        else:
            if charge is not None:
                self._document.charge(examples, replace(charge, finished=True), charge)
            self.shapes = (*self.shapes, reply.shape)
            self.changed.emit()

    def _failed(self, message: str) -> None:
        self.announced.emit(message)
        self.changed.emit()
