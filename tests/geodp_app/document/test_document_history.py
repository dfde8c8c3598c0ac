"""Undo and redo: what is kept, what is merged, what is forgotten, what counts as saved."""

from dataclasses import dataclass

import numpy as np
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from numpy.typing import NDArray

from geodp_app.document import history as history_module
from geodp_app.document.history import History


@dataclass(frozen=True)
class Page:
    text: str
    array: NDArray[np.uint8] | None = None


def arrays(page: Page) -> tuple[NDArray[np.uint8], ...]:
    return () if page.array is None else (page.array,)


def test_an_equal_state_made_anew_is_not_the_saved_one():
    history = History("a")
    history.push("b", "b")
    history.push("a", "a")
    assert history.dirty


def test_what_was_saved_is_not_merged_away():
    history = History("a")
    history.push("type", "b", merge="field")
    history.mark_saved()
    history.push("type", "c", merge="field")
    assert history.dirty
    assert (history.undo(), history.state, history.dirty) == ("type", "b", False)


def test_the_oldest_steps_over_the_count_are_forgotten(monkeypatch):
    monkeypatch.setattr(history_module, "MOST_STEPS", 3)
    history = History(0)
    for n in range(1, 10):
        history.push(str(n), n)
    undone = []
    while history.undo():
        undone.append(history.state)
    assert undone == [8, 7, 6]


def sheet(size: int) -> NDArray[np.uint8]:
    return np.zeros(size, np.uint8)


def test_replaced_arrays_over_the_bytes_are_forgotten_and_shared_ones_are_free(monkeypatch):
    monkeypatch.setattr(history_module, "MOST_BYTES", 100)
    shared = sheet(80)
    history = History(Page("0", shared), arrays=arrays)
    for n in range(1, 50):
        history.push("text", Page(str(n), shared))  # the array is current: it weighs nothing
    history.push("new", Page("new", sheet(60)))
    for n in range(30):
        history.push("text", Page(str(n), history.state.array))  # 80 bytes replaced
    history.push("newer", Page("newer", sheet(60)))  # 140 replaced: those with 80 must go
    count = 0
    while history.undo():
        count += 1
        assert history.state.array is not shared
    assert count == 31


def test_the_last_step_stays_whatever_it_weighs(monkeypatch):
    monkeypatch.setattr(history_module, "MOST_BYTES", 10)
    history = History(Page("a", sheet(1000)), arrays=arrays)
    history.push("b", Page("b", sheet(1000)))
    history.push("c", Page("c", sheet(1000)))
    assert history.undo() == "c"
    assert history.state.text == "b"
    assert history.undo() is None
    assert history.redo() == "c"


class HistoryMachine(RuleBasedStateMachine):
    """Against a plain list of states."""

    def __init__(self) -> None:
        super().__init__()
        self.history = History(0)
        self.states, self.at, self.saved, self.key = [0], 0, 0, None
        self.number = 0

    @rule(key=st.sampled_from([None, "a", "b"]))
    def push(self, key):
        self.number += 1
        del self.states[self.at + 1 :]
        if key is not None and key == self.key:
            self.states[self.at] = self.number
        else:
            self.states.append(self.number)
            self.at += 1
        self.key = key
        self.history.push("edit", self.number, key)

    @rule()
    def undo(self):
        assert (self.history.undo() is not None) == (self.at > 0)
        if self.at > 0:
            self.at, self.key = self.at - 1, None

    @rule()
    def redo(self):
        possible = self.at < len(self.states) - 1
        assert (self.history.redo() is not None) == possible
        if possible:
            self.at, self.key = self.at + 1, None

    @rule()
    def save(self):
        self.saved, self.key = self.states[self.at], None
        self.history.mark_saved()

    @rule()
    def lose_the_file(self):
        self.saved = None
        self.history.mark_unsaved()

    @precondition(lambda self: self.key is not None)
    @rule()
    def end_merging(self):
        self.key = None
        self.history.end_merging()

    @invariant()
    def agrees(self):
        assert self.history.state == self.states[self.at]
        assert self.history.dirty == (self.states[self.at] != self.saved)
        assert (self.history.undo_label is not None) == (self.at > 0)
        assert (self.history.redo_label is not None) == (self.at < len(self.states) - 1)


TestHistoryMachine = HistoryMachine.TestCase
TestHistoryMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
