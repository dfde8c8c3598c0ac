"""Work on several tiles at a time, in threads: compiled loops leave the interpreter to others."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

_Task = TypeVar("_Task")
_Outcome = TypeVar("_Outcome")

#: So many threads: more would hold more tables.
_AT_ONCE = 2

#: Seconds between two moments at which Ctrl+C is heard.
_LISTEN = 0.2


def side_by_side(
    work: Callable[[_Task, Callable[[], bool]], _Outcome], tasks: Iterable[_Task]
) -> Iterator[_Outcome]:
    """What comes of the tasks, in their order.

    Parameters
    ----------
    work : callable
        work(task, stopped), in a thread; stopped() says that nobody waits for it any more.
    tasks : iterable
        Taken one by one in the caller's thread, a few ahead.
    """
    stopped = threading.Event()
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="tile") as pool:
        waiting: deque[Future[_Outcome]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(work, task, stopped.is_set))
                if len(waiting) > _AT_ONCE:
                    yield _outcome(waiting.popleft())
            while waiting:
                yield _outcome(waiting.popleft())
        finally:
            stopped.set()


def _outcome(future: Future[_Outcome]) -> _Outcome:
    """What it comes to; not every system lets Ctrl+C end a wait without a limit."""
    while not future.done():
        wait([future], _LISTEN)
    return future.result()
