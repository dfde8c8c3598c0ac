"""Compiles loops in a second process, beside the first one's.

Numba compiles one loop at a time in a process, and half of what it does is Python.  From an empty
cache a draw's loops take some 20 s.  Two in five of them are those of factorised boxes, which are
needed last (:mod:`learners.envelope.core`).  A second process compiles them into the cache, with
some that stand alone, while the first one compiles the rest and then waits for them; after that it
goes on with the loops of other learners.  No draw depends on it.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numba
import numpy as np
from numba.core import event

from geometry import compiled_loops
from geometry.arrays import Flags, Ints
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice

_config: Any = numba.config

#: Side of the tiny sample's grid; the types are those of any grid.
GRID = 8

#: Seconds for which a loop is waited for: the second process may have been stopped.
_PATIENCE = 60.0

#: What tiles need first, before the loops of a draw.
FEWEST = "learners.tiles.fewest_mistakes.fewest_in_tile"

#: Loops that the second process compiles at once, in this order: they are waited for.
_BESIDE = (
    "learners.envelope.partition.best_bound",
    "learners.envelope.partition.weigh",
    "learners.envelope.factorised_boxes.factor_trial",
    "learners.envelope.factorised_boxes.factorise",
    "learners.envelope.factorised_boxes.split_factors",
    FEWEST,
)

#: All loops of the first run by tiles; a set cover needs all but one.
LOOPS = frozenset(
    {
        *_BESIDE,
        "geometry.columns._fill",
        "learners.envelope.partition.add_boxes",
        "learners.envelope.core.run_plain",
        "learners.envelope.core.run",
    }
)


class _Beside(event.Listener):
    """Starts the second process at the first loop that is not cached, and hears of every other."""

    def __init__(self, module: str, told: Callable[[int, int], None]) -> None:
        self._module, self._told = module, told
        self._process: subprocess.Popen[str] | None = None
        self._done: set[str] = set()
        self._changed = threading.Condition()
        self._first = ""
        self._level, self._collects = _config.OPT, False
        self.ended = True

    def asked(self, loop: str) -> bool:
        """Whether the second process has compiled a loop, which is waited for."""
        # numba's lock lets one thread in here
        if not self._first:
            self._first = loop
            self._told(0, self._of())
            self._collects = gc.isenabled()
            hurry()
            self._begin()
        if loop not in _BESIDE or self._process is None:
            return False
        if loop == FEWEST:
            draw_once()  # what is needed next, meanwhile
        with self._changed:
            self._changed.wait_for(lambda: loop in self._done or self.ended, _PATIENCE)
            return loop in self._done

    def on_start(self, event: Any) -> None:
        """A loop is compiled here."""

    def on_end(self, event: Any) -> None:
        """It has been compiled."""
        function = event.data["dispatcher"].py_func
        self._add(f"{function.__module__}.{function.__qualname__}")

    def _of(self) -> int:
        return len(LOOPS) if self._first in LOOPS else 0

    def _add(self, loop: str) -> None:
        if loop in LOOPS or not self._of():
            with self._changed:
                self._done.add(loop)
                self._changed.notify_all()
                self._told(len(self._done), self._of())
            if self._done >= LOOPS:
                self.rest()  # the run itself may be long

    def rest(self) -> None:
        """Compile, and collect garbage, as before."""
        _config.OPT = self._level
        if self._collects and not gc.isenabled():
            gc.freeze()  # to look through all that has been made takes .3 s, once on a machine
            gc.enable()

    def _begin(self) -> None:
        self._process = _start(self._module)
        if self._process is not None:
            self.ended = False
            threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):
            for line in self._process.stdout:
                self._add(line.strip())
        with self._changed:
            self.ended = True
            self._changed.notify_all()


def hurry() -> None:
    """Have this process compile in four fifths of the time, and collect no garbage."""
    # a compiler keeps nearly all that it makes: looking for garbage takes a seventh
    gc.disable()
    # loops are no slower for it
    _config.OPT = min(_config.OPT, _config._OptLevel(2))


@contextmanager
def compiling_beside(module: str, told: Callable[[int, int], None]) -> Iterator[Callable[[], bool]]:
    """Within it the first loop that is not cached starts the second process.

    Parameters
    ----------
    module : str
        What that process runs: it calls :func:`compile_here` first, and then more.
    told : callable
        Called from any thread, one at a time, when the first loop turns out not to be cached, and
        when one has been compiled: how many, and of how many, or 0 if that is not known.

    Yields
    ------
    callable
        Whether the second process is still at work.
    """
    beside = _Beside(module, told)
    compiled_loops.asked.append(beside.asked)
    try:
        with event.install_listener("numba:compile", beside):
            yield lambda: not beside.ended
    finally:
        compiled_loops.asked.remove(beside.asked)
        beside.rest()


def _start(module: str) -> subprocess.Popen[str] | None:
    """The second process, which ends by itself; None where there is no interpreter to start."""
    if getattr(sys, "frozen", False) or not sys.executable:
        return None
    null = subprocess.DEVNULL
    # -P: what lies in the current folder may be anybody's
    command = [sys.executable, "-P", "-m", module]
    try:
        return subprocess.Popen(
            command, stdin=null, stdout=subprocess.PIPE, stderr=null, encoding="utf-8"
        )
    except OSError:
        return None


def signatures() -> Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """The functions, and the numba types of their arguments in a run."""
    from numba import typeof

    from geometry.columns import HEAD, make_tables
    from learners.core.selection import mistakes_score
    from learners.envelope.factorised_boxes import factor_trial, factorise, split_factors
    from learners.envelope.partition import best_bound, box_type, make_partition, weigh
    from learners.envelope.target import make_target
    from learners.envelope.workspace import make_workspace

    lattice = HalfplaneLattice(GRID)
    # no examples: to count some takes a loop that the first process is compiling
    along = GRID + 1
    packed = np.zeros(HEAD + along + 1 + along * (along + 1), dtype=np.int32)
    packed[0] = GRID
    totals = packed, packed
    ordinates = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
    target = make_target(lattice, mistakes_score(1), 1.0, 1)
    tables = make_tables(totals, lattice.basis, 0)
    partition = make_partition(1, 1, box_type(lattice, totals[0]))
    work, number = make_workspace(), np.int64(0)
    chunks = np.frombuffer(bytes(2), dtype="<u2")
    theta = np.zeros(12, dtype=np.int64)
    for function, arguments in (
        (best_bound, (target, partition)),
        (weigh, (target, partition)),
        (
            factor_trial,
            (
                target, tables, ordinates, partition, number, work, chunks, number, theta,
            ),
        ),
        (factorise, (target, tables, ordinates, partition, number, work)),
        (split_factors, (target, tables, partition, number, number, number, work)),
    ):  # fmt: skip
        yield function, tuple(map(typeof, arguments))


def compile_here() -> None:
    """Compile what is waited for, and say so: what the second process does first."""
    for function, types in signatures():
        vars(function).get("loop", function).compile(types)
        tell_compiled(f"{function.__module__}.{function.__qualname__}")


def tell_compiled(loop: str) -> None:
    """Say in the second process that a loop is in the cache."""
    # whoever has started this process may be gone
    with suppress(OSError):
        print(loop, flush=True)


def tiny_sample() -> tuple[Ints, Flags]:
    """Some examples of both labels."""
    xy = np.arange(GRID + 1)
    points = np.stack(np.meshgrid(xy, xy), axis=-1).reshape(-1, 2).astype(np.int64)
    return points, points.sum(axis=1) <= GRID


def draw_once() -> None:
    """Run the loops of a draw: the tiny sample would have none short enough to be factorised."""
    from learners.core.selection import mistakes_score
    from learners.envelope.boxes import first_boxes
    from learners.envelope.race import weigh_all
    from learners.envelope.strands import Examples, start_strand
    from learners.envelope.target import make_target
    from learners.envelope.workspace import make_workspace
    from learners.privacy.randomness import SeededRandom

    examples, lattice = GridCounts.of_examples(*tiny_sample(), GRID), HalfplaneLattice(GRID)
    target = make_target(lattice, mistakes_score(1), 1.0, examples.n)
    boxes = first_boxes(lattice, 1)
    source = SeededRandom(1)
    strand = start_strand(lattice, target, Examples.of(examples), boxes, source, len(boxes), 0, 0)
    weigh_all([strand])
    strand.advance(0.0)
    strand.workspace = make_workspace()
    strand.advance(0.0)
