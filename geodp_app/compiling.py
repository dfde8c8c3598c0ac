"""Telling the person that loops are being compiled: about half a minute, once on a machine.

Numba compiles a loop at its first call and keeps it; a loop that is in its cache is no news.  What
is said depends on the machine alone, not on the examples, so it may go into a pipe.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from geodp_app.progress import ProgressBar

COMPILING = "geodp: compiling the learner's loops, once on this machine: about half a minute"


@contextmanager
def telling_of_compiling(bar: ProgressBar) -> Iterator[None]:
    """Say so when the first loop turns out not to be cached, and on a terminal how many are done.

    Parameters
    ----------
    bar : ProgressBar
        Where it is said; a quiet one says nothing.
    """
    # it brings the compiler along, which every verb that comes here needs
    from numba.core import event

    class Teller(event.Listener):
        """Hears of every compilation, from any thread, also of one amid another."""

        def __init__(self) -> None:
            self._lock = threading.Lock()
            self._begun = self._done = 0

        def on_start(self, event: Any) -> None:
            """A loop is not in the cache."""
            with self._lock:
                self._begun += 1
                if self._begun == 1:
                    bar.line(COMPILING)
                self._show()

        def on_end(self, event: Any) -> None:
            """It has been compiled."""
            with self._lock:
                self._done += 1
                self._show()

        def _show(self) -> None:
            bar.update(0.0, f"compiling, {self._done} loops done")

    with event.install_listener("numba:compile", Teller()):
        yield
