"""Times of seeds as rows of a table: seconds, multiples of U, goals, peaks of memory.

Each time is measured in a fresh process (:func:`apart`).
"""

from __future__ import annotations

import math
import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from questions import Time

#: Most megabytes that a row with a goal may take.
MOST_MEMORY = 1500.0


@dataclass(frozen=True, slots=True)
class Goal:
    """What a row should reach, in U."""

    median: float
    worst: float | None = None

    def __str__(self) -> str:
        return f"≤ {self.median:g}" + ("" if self.worst is None else f" / {self.worst:g}")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: seconds of every seed (none when it failed), and the largest peak."""

    name: str
    seconds: tuple[float, ...]
    memory: float
    goal: Goal | None = None
    note: str = ""

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    def met(self, unit: float) -> bool | None:
        """Whether the goal is reached, None without one."""
        if self.goal is None:
            return None
        if not self.seconds:
            return False
        worst = math.inf if self.goal.worst is None else self.goal.worst
        return (
            self.median <= self.goal.median * unit
            and max(self.seconds) <= worst * unit
            and self.memory <= MOST_MEMORY
        )


def make_row(name: str, times: Sequence[Time], goal: Goal | None, note: str) -> Row:
    """A row of times."""
    seconds = tuple(one.seconds for one in times)
    return Row(name, seconds, max((one.memory for one in times), default=0.0), goal, note)


def apart(label: str, work: Callable[..., list[Time]], *arguments: Any) -> list[Time] | str:
    """Times measured in a fresh process, or what went wrong there.

    A process inherits the peak memory of its parent, so this one must do no work itself.
    """
    context = multiprocessing.get_context("spawn")
    start = time.perf_counter()
    try:
        with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
            found = pool.submit(work, *arguments).result()
    except Exception as error:
        tell(f"{label}: failed: {error!r}")
        return f"failed: {error}"
    seconds = " ".join(f"{one.seconds:.3g}" for one in found)
    tell(f"{label}: {seconds} s (of {time.perf_counter() - start:.1f} s)")
    return found


def tell(text: str) -> None:
    """Progress."""
    print(text, file=sys.stderr, flush=True)


HEADINGS = ("", "median s", "worst s", "median U", "worst U", "goal U", "met", "MB", "")


def table(rows: Sequence[Row], unit: float) -> str:
    """Rows as a Markdown table."""
    ruler = ("---", *["---:"] * (len(HEADINGS) - 2), "---")
    lines = [HEADINGS, ruler, *(cells(row, unit) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(row: Row, unit: float) -> tuple[str, ...]:
    """A row's cells, in the order of the headings."""
    met = {None: "", True: "yes", False: "no"}[row.met(unit)]
    goal = "" if row.goal is None else str(row.goal)
    if not row.seconds:
        return (row.name, "–", "–", "–", "–", goal, met, "–", row.note)
    median, worst = row.median, max(row.seconds)
    figures = (f"{median:.3f}", f"{worst:.3f}", f"{median / unit:.2f}", f"{worst / unit:.2f}")
    return (row.name, *figures, goal, met, f"{row.memory:.0f}", row.note)
