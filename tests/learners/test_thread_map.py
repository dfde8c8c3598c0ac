"""Tasks side by side: in order, two at a time, and none held up by a long one before it."""

import threading
from collections.abc import Callable, Iterator

import pytest
from patience import HANGS

from learners.core.selection import thread_map


def test_outcomes_come_in_the_order_of_the_tasks() -> None:
    assert list(thread_map(lambda task, stopped: task * task, range(100))) == [
        number * number for number in range(100)
    ]
    assert list(thread_map(lambda task, stopped: task, [])) == []


def test_tasks_after_a_long_one_are_done_meanwhile() -> None:
    last = threading.Event()

    def work(task: int, stopped: Callable[[], bool]) -> bool:
        if task == 0:
            return last.wait(HANGS)
        if task == 20:
            last.set()
        return True

    assert all(thread_map(work, range(21)))


def test_no_more_than_two_are_under_way() -> None:
    lock, under_way, most = threading.Lock(), 0, 0
    met = threading.Barrier(2)

    def work(task: int, stopped: Callable[[], bool]) -> None:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        met.wait(HANGS)  # two are
        with lock:
            under_way -= 1

    assert len(list(thread_map(work, range(40)))) == 40
    assert most == 2


def test_short_tasks_are_done_by_who_asks_and_come_in_order() -> None:
    done, here = threading.Event(), threading.current_thread()

    def work(task: int, stopped: Callable[[], bool]) -> tuple[int, bool]:
        if task == 7:
            done.set()
        if task % 4 == 0:
            assert done.wait(HANGS)  # short ones after it are done meanwhile
        return task, threading.current_thread() is here

    outcomes = list(thread_map(work, range(8), short=lambda task: task % 4 > 0))
    assert outcomes == [(task, task % 4 > 0) for task in range(8)]


def test_tasks_are_taken_as_they_are_needed() -> None:
    """What a task holds is not in memory before its turn is near."""
    taken, done = 0, 0

    def tasks() -> Iterator[int]:
        nonlocal taken
        for number in range(50):
            taken += 1
            assert taken - done <= 4
            yield number

    def work(task: int, stopped: Callable[[], bool]) -> None:
        nonlocal done
        done += 1

    assert len(list(thread_map(work, tasks()))) == 50


def test_an_error_comes_out_and_the_rest_is_told_to_stop() -> None:
    begun, text = threading.Event(), threading.Event()

    def work(task: int, stopped: Callable[[], bool]) -> None:
        if task == 0:
            assert begun.wait(HANGS)
            raise ValueError("no piece")
        begun.set()
        while not stopped():
            pass
        text.set()

    with pytest.raises(ValueError, match="no piece"):
        list(thread_map(work, range(2)))
    assert text.is_set()


def test_whoever_drops_it_half_way_waits_for_nobody() -> None:
    """It may be Python, which looks for garbage amid the start of another thread."""
    begun, held, text = threading.Event(), threading.Event(), threading.Event()

    def work(task: int, stopped: Callable[[], bool]) -> None:
        if task == 0:
            assert begun.wait(HANGS)
            return
        begun.set()
        held.wait(HANGS)
        if stopped():
            text.set()

    outcomes = thread_map(work, range(9))
    next(outcomes)
    outcomes.close()
    assert not text.is_set()
    held.set()
    assert text.wait(HANGS)
