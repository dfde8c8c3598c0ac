"""A process's link: who lets go of it."""

from __future__ import annotations

import threading
import time
import weakref

from geodp_app.runs.process_link import ProcessLink


def make_link(outcome: list[str]) -> ProcessLink:
    """A link to a process that ends at once; `told`: in which thread it is let go of."""
    link = ProcessLink(lambda *_: None, id)  # `id` takes one argument, as an entry does
    weakref.finalize(link, lambda: outcome.append(threading.current_thread().name))
    return link


def wait_for(link: weakref.ref[ProcessLink]) -> None:
    """Until its threads have ended."""
    end = time.monotonic() + 240
    while not ((one := link()) is None or one.ended):
        assert time.monotonic() < end
        del one
        time.sleep(0.01)


def test_a_links_own_threads_never_let_go_of_it() -> None:
    """What its owner connected to it would be cleared there, under Qt's locks."""
    outcome: list[str] = []
    first = weakref.ref(make_link(outcome))
    wait_for(first)
    assert outcome == []
    # by who makes the next one, then
    second = make_link(outcome)
    assert first() is None
    assert outcome == [threading.current_thread().name]
    wait_for(weakref.ref(second))
    third = weakref.ref(make_link([]))
    assert len(outcome) == 1
    del second
    assert outcome == 2 * [threading.current_thread().name]
    wait_for(third)
