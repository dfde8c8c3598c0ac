"""Circles of objects are freed by the thread of the windows, between two events, and by no other.

Wherever else Python happened to free them, in another thread or inside a call of Qt, objects of
windows that are gone would be deleted there, under Qt's locks: the process may wait for ever, or
crash.
"""

from __future__ import annotations

import functools

from pyqtgraph.util.garbage_collector import GarbageCollector

#: Seconds between two looks for garbage.
_EVERY = 1.0


@functools.cache
def collect_between_events() -> GarbageCollector:
    """From now on Python looks for garbage when this thread's event loop says so, never by itself.

    There must be an application.  What is returned has `check()`, for where no events are handled.
    """
    return GarbageCollector(interval=_EVERY)
