"""A clock for what a thread does itself."""

from __future__ import annotations

import sys
import time
from pathlib import Path


def unhindered() -> float:
    """Seconds, without those in which this thread was ready to run and had no processor."""
    if not sys.platform.startswith("linux"):
        return time.thread_time()
    waited = Path("/proc/thread-self/schedstat").read_text().split()[1]
    return time.perf_counter() - int(waited) / 1e9
