"""Does work beside the window: in threads, where the newest request of a kind wins and older ones
are dropped, in processes, and by timers; and frees cycles of objects, which no thread but the
window's may do.

A thread must not emit a signal of an object that the window's thread may be deleting: Qt would read
what is freed.  So threads tell a post office that nobody deletes before the process ends, and it
looks for whom a letter is, and whether that one is still there, where windows are deleted too.
Closing a window waits for nobody.

Wherever else Python happened to free cycles of objects, in another thread or inside a call of Qt,
objects of windows that are gone would be deleted there, under Qt's locks: the process may wait for
ever, or crash.

To cancel a task its process is ended: at once, whatever it is doing.  No method waits for anything.
"""

from __future__ import annotations

import atexit
import functools
import sys
import threading
import weakref
from collections.abc import Callable, Hashable
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from pyqtgraph.util.garbage_collector import GarbageCollector
from PySide6.QtCore import QCoreApplication, QObject, Qt, QTimer, Signal
from shiboken6 import isValid

from geodp_app.runs.process_link import ProcessLink
from geodp_app.runs.task_process import TaskDone, TaskFailed

#: Work to be done; it may ask now and then whether it has been dropped.
Work = Callable[[Callable[[], bool]], object]

_Task = tuple[Hashable, threading.Event, Work]


class Background(QObject):
    """One worker thread for numpy work; errors of the kinds that are `told` are results."""

    #: The key and the result of a request, unless it was dropped or a newer one was made.
    done = Signal(object, object)

    def __init__(
        self, parent: QObject | None = None, told: tuple[type[Exception], ...] = ()
    ) -> None:
        super().__init__(parent)
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._newest: dict[Hashable, threading.Event] = {}
        work = (self._tasks, handed_over(self._deliver), told)
        threading.Thread(target=_work_off, args=work, name="pictures", daemon=True).start()
        weakref.finalize(self, self._tasks.put, None)

    @property
    def busy(self) -> bool:
        """Whether a request is waiting or under way."""
        return bool(self._newest)

    def submit(self, key: Hashable, work: Work) -> None:
        """Ask for work in place of any earlier request with that key."""
        self.drop(key)
        self._newest[key] = token = threading.Event()
        self._tasks.put((key, token, work))

    def drop(self, key: Hashable) -> None:
        """Forget a request; its result will not come."""
        token = self._newest.pop(key, None)
        if token is not None:
            token.set()

    def clear(self) -> None:
        """Forget all requests."""
        for key in tuple(self._newest):
            self.drop(key)

    def _deliver(self, key: Hashable, token: threading.Event, result: object) -> None:
        if self._newest.get(key) is token:
            del self._newest[key]
            self.done.emit(key, result)


def _work_off(
    tasks: SimpleQueue[_Task | None],
    deliver: Callable[..., None],
    told: tuple[type[Exception], ...],
) -> None:
    """Do tasks one after another, until told None."""
    while (task := tasks.get()) is not None:
        key, token, work = task
        result: object = None
        try:
            if not token.is_set():
                result = work(token.is_set)
        except told as error:
            result = error
        except Exception:  # told as for any thread; the next task may fare better
            fault = (*sys.exc_info(), threading.current_thread())
            threading.excepthook(threading.ExceptHookArgs(fault))
        deliver(key, token, result)
        # what was asked for is not kept until the next request
        del task, key, token, work, result


def timer(
    owner: QObject, milliseconds: int, do: Callable[[], object], *, again: bool = False
) -> QTimer:
    """A timer that does something when it has run for so long: once, or again and again."""
    made = QTimer(owner, singleShot=not again, interval=milliseconds)
    made.timeout.connect(do)
    return made


@functools.cache
def collect_between_events(seconds: float = 1.0) -> GarbageCollector:
    """From now on Python looks for garbage when this thread's event loop says so, never by itself,
    and looks so often.

    There must be an application.  What is returned has `check()`, for where no events are handled.
    """
    return GarbageCollector(interval=seconds)


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
