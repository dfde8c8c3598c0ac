"""What other threads tell, handed over in the window's thread.

A thread must not emit a signal of an object that the window's thread may be deleting: Qt would
read what is freed.  So threads tell a post office that nobody deletes before the process ends, and
it looks for whom a letter is, and whether that one is still there, where windows are deleted too.
"""

from __future__ import annotations

import atexit
import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from shiboken6 import isValid


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
