"""Undoes and redoes edits, by going back and forth among frozen states.

A state is kept whole: frozen values share what did not change, so an edit of one vertex costs
one shape.  Only large arrays that were replaced are worth counting; when they weigh too much,
the oldest steps are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

State = TypeVar("State")

#: Steps kept, the oldest forgotten first.
MOST_STEPS = 500
#: Bytes of replaced arrays kept; the last step stays whatever it weighs.
MOST_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class _Step(Generic[State]):
    """A state that can be gone back (or forward) to, and the edit in between."""

    label: str
    state: State
    serial: int


class History(Generic[State]):
    """A state with its past and its undone future.

    `state`: where it begins; taken to be saved.  `arrays`: the large arrays that a state holds.
    Those that the current state does not share count towards :data:`MOST_BYTES`, each once.
    """

    def __init__(
        self, state: State, *, arrays: Callable[[State], Iterable[NDArray[Any]]] = lambda _: ()
    ) -> None:
        self._arrays = arrays
        self._serials = count()
        self._state, self._serial = state, next(self._serials)
        self._saved: int | None = self._serial
        self._undo: list[_Step[State]] = []
        self._redo: list[_Step[State]] = []
        self._merge: Hashable = None

    @property
    def state(self) -> State:
        """The state that undo and redo start from."""
        return self._state

    @property
    def undo_label(self) -> str | None:
        """What would be undone; None if there is nothing."""
        return self._undo[-1].label if self._undo else None

    @property
    def redo_label(self) -> str | None:
        """What would be done again; None if there is nothing."""
        return self._redo[-1].label if self._redo else None

    @property
    def dirty(self) -> bool:
        """Whether the current state is another than the saved one."""
        return self._serial != self._saved

    def push(self, label: str, state: State, merge: Hashable = None) -> None:
        """Make an edit.

        `label`: what it does, as in "undo: draw a polygon".  `state`: the state after it.  `merge`:
        an edit with the same key as the one just before it becomes one step with it.
        """
        if merge is None or merge != self._merge:
            self._undo.append(_Step(label, self._state, self._serial))
        self._redo.clear()
        self._state, self._serial, self._merge = state, next(self._serials), merge
        self._trim()

    def undo(self) -> str | None:
        """Go back one step; its label, or None if there is none."""
        return self._go(self._undo, self._redo)

    def redo(self) -> str | None:
        """Go forward one step; its label, or None if there is none."""
        return self._go(self._redo, self._undo)

    def end_merging(self) -> None:
        """Let the next edit begin a step of its own, whatever its key."""
        self._merge = None

    def amend(self, change: Callable[[State], State]) -> None:
        """Change every state, those to go back or forward to as well: no step undoes this."""
        self._state = change(self._state)
        for steps in (self._undo, self._redo):
            steps[:] = [replace(step, state=change(step.state)) for step in steps]

    def mark_saved(self) -> None:
        """The current state is what the file holds."""
        self._saved = self._serial
        self.end_merging()  # or the saved state could be merged away

    def mark_unsaved(self) -> None:
        """No state is what the file holds."""
        self._saved = None

    def _go(self, source: list[_Step[State]], other: list[_Step[State]]) -> str | None:
        if not source:
            return None
        step = source.pop()
        other.append(_Step(step.label, self._state, self._serial))
        self._state, self._serial = step.state, step.serial
        self.end_merging()
        self._trim()
        return step.label

    def _trim(self) -> None:
        """Forget the oldest steps over the limits."""
        del self._undo[:-MOST_STEPS]
        while len(self._undo) + len(self._redo) > 1 and self._bytes() > MOST_BYTES:
            (self._undo or self._redo).pop(0)

    def _bytes(self) -> int:
        """Size of the arrays that only undo and redo still hold."""
        current = {id(array) for array in self._arrays(self._state)}
        kept = {
            id(array): array.nbytes
            for step in (*self._undo, *self._redo)
            for array in self._arrays(step.state)
            if id(array) not in current
        }
        return sum(kept.values())
