"""A clock for what a thread does itself, and beats by it."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def unhindered() -> float:
    """Seconds, without those in which this thread was ready to run and had no processor."""
    if not sys.platform.startswith("linux"):
        return time.thread_time()
    waited = Path("/proc/thread-self/schedstat").read_text().split()[1]
    return time.perf_counter() - int(waited) / 1e9


@contextmanager
def heartbeat() -> Iterator[list[float]]:
    """Seconds between the beats of a 5 ms timer in this thread, turns of its event loop."""
    from PySide6.QtCore import Qt, QTimer

    gaps: list[float] = []
    last = unhindered()

    def beat() -> None:
        nonlocal last
        now = unhindered()
        gaps.append(now - last)
        last = now

    timer = QTimer(timerType=Qt.TimerType.PreciseTimer, interval=5)
    timer.timeout.connect(beat)
    timer.start()
    yield gaps
    beat()
    timer.stop()
