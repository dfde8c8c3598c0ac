"""Computes in threads beside the window, where the newest request of a kind wins and older ones are
dropped; and frees cycles of objects, which no thread but the window's may do.

A thread and the window share two queues and no Qt object: the window polls while it waits, so
nothing that Qt has deleted is ever touched and closing the window waits for nobody.

Wherever else Python happened to free cycles of objects, in another thread or inside a call of Qt,
objects of windows that are gone would be deleted there, under Qt's locks: the process may wait for
ever, or crash.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import weakref
from collections.abc import Callable, Hashable
from queue import Empty, SimpleQueue

from pyqtgraph.util.garbage_collector import GarbageCollector
from PySide6.QtCore import QObject, QTimer, Signal

#: Work to be done; it may ask now and then whether it has been dropped.
Work = Callable[[Callable[[], bool]], object]

_Task = tuple[Hashable, threading.Event, Work]
_Result = tuple[Hashable, threading.Event, object]

#: Milliseconds between two looks at the results.
_POLL = 10


class Background(QObject):
    """One worker thread for numpy work."""

    #: The key and the result of a request, unless it was dropped or a newer one was made.
    done = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._results: SimpleQueue[_Result] = SimpleQueue()
        self._newest: dict[Hashable, threading.Event] = {}
        self._timer = QTimer(self, interval=_POLL)
        self._timer.timeout.connect(self._deliver)
        queues = (self._tasks, self._results)
        threading.Thread(target=_work_off, args=queues, name="pictures", daemon=True).start()
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
        self._timer.start()

    def drop(self, key: Hashable) -> None:
        """Forget a request; its result will not come."""
        token = self._newest.pop(key, None)
        if token is not None:
            token.set()

    def clear(self) -> None:
        """Forget all requests."""
        for key in tuple(self._newest):
            self.drop(key)

    def _deliver(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                key, token, result = self._results.get_nowait()
                if self._newest.get(key) is token:
                    del self._newest[key]
                    self.done.emit(key, result)
        if not self._newest:
            self._timer.stop()


def _work_off(tasks: SimpleQueue[_Task | None], results: SimpleQueue[_Result]) -> None:
    """Do tasks one after another, until told None."""
    while (task := tasks.get()) is not None:
        key, token, work = task
        result = None
        try:
            if not token.is_set():
                result = work(token.is_set)
        except Exception:  # told as for any thread; the next task may fare better
            fault = (*sys.exc_info(), threading.current_thread())
            threading.excepthook(threading.ExceptHookArgs(fault))
        results.put((key, token, result))
        # what was asked for is not kept until the next request
        del task, key, token, work, result


@functools.cache
def collect_between_events(seconds: float = 1.0) -> GarbageCollector:
    """From now on Python looks for garbage when this thread's event loop says so, never by itself,
    and looks so often.

    There must be an application.  What is returned has `check()`, for where no events are handled.
    """
    return GarbageCollector(interval=seconds)
