"""Does work on tasks in two threads, with results in the order of the tasks."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

_Task = TypeVar("_Task")
_Outcome = TypeVar("_Outcome")

#: So many threads: more would hold more tables.
_AT_ONCE = 2

#: Seconds between two moments at which Ctrl+C is heard, and between two ticks.
_LISTEN = 0.05


def thread_map(
    work: Callable[[_Task, Callable[[], bool]], _Outcome],
    tasks: Iterable[_Task],
    tick: Callable[[], None] | None = None,
    *,
    short: Callable[[_Task], bool] = lambda _: False,
) -> Iterator[_Outcome]:
    """What comes of the tasks, in their order.

    Parameters
    ----------
    work : callable
        work(task, stopped), in a thread; stopped() says that nobody waits for it any more.
    tasks : iterable
        Taken one by one in the caller's thread, a few ahead.
    tick : callable, optional
        Called in the caller's thread, many times a second while it waits; what it raises ends the
        work.
    short : callable
        Whether a task is done sooner than handed over: the caller's thread does it.
    """
    stopped = threading.Event()
    pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="tile")
    waiting: deque[Future[_Outcome]] = deque()
    patient = True
    try:
        for task in tasks:
            if short(task):
                waiting.append(Future())
                waiting[-1].set_result(work(task, stopped.is_set))
            else:
                waiting.append(pool.submit(work, task, stopped.is_set))
            while sum(not future.done() for future in waiting) > _AT_ONCE:
                _listen(waiting, tick)
            while waiting and waiting[0].done():
                yield waiting.popleft().result()
        while waiting:
            while not waiting[0].done():
                _listen(waiting, tick)
            yield waiting.popleft().result()
    except GeneratorExit:
        # whoever drops this half-way may be Python itself, which looks for garbage amid anything,
        # and may hold a lock that the threads need to end
        patient = False
        raise
    finally:
        stopped.set()
        pool.shutdown(wait=patient, cancel_futures=True)


def _listen(futures: Iterable[Future[_Outcome]], tick: Callable[[], None] | None) -> None:
    """Wait for any of them, a moment at most: not every system lets Ctrl+C end a wait for ever."""
    unfinished = [future for future in futures if not future.done()]
    wait(unfinished, _LISTEN, return_when=FIRST_COMPLETED)
    if tick is not None:
        tick()
