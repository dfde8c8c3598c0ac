"""Compiling the loops of factorised boxes in a second process, beside the first one's.

Numba compiles one loop at a time in a process, and half of what it does is Python.  From an empty
cache a cover's loops take some 25 s; a third of them are those of factorised boxes, which are
needed last (:mod:`learners.envelope.core`).  A second process compiles them into the cache, and the
first finds them there; if it comes too soon it compiles them itself.  No draw depends on it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice

#: The lattice whose types are compiled: those of any grid.
_GRID = 8


def compile_beside(module: str = __name__) -> subprocess.Popen[bytes] | None:
    """Start the second process, which ends by itself; None where there is no interpreter to start.

    Call it when the first loop turns out not to be cached.

    Parameters
    ----------
    module : str
        What the process runs: this one, or one that calls :func:`compile_here` and compiles more.
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        return None
    null = subprocess.DEVNULL
    # -P: what lies in the current folder may be anybody's
    command = [sys.executable, "-P", "-m", module]
    try:
        return subprocess.Popen(command, stdin=null, stdout=null, stderr=null)
    except OSError:
        return None


def signatures() -> Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """The functions, and the numba types of their arguments in a run."""
    from numba import typeof

    from geometry.counting import make_tables
    from learners.core.selection import mistakes_score
    from learners.envelope.factorised_boxes import make_workspace
    from learners.envelope.factorised_moves import factor_trial, factorise, split_factors
    from learners.envelope.partition import box_type, make_partition
    from learners.envelope.strands import Examples
    from learners.envelope.target import make_target

    lattice = HalfplaneLattice(_GRID)
    points, labels = np.zeros((1, 2), dtype=np.int64), np.zeros(1, dtype=bool)
    examples = Examples.of(GridCounts.of_examples(points, labels, _GRID))
    target = make_target(lattice, mistakes_score(1), 1.0, 1)
    tables = make_tables(examples.totals, lattice.basis, 0)
    partition = make_partition(1, 1, box_type(lattice, examples.totals[0]))
    work, number = make_workspace(), np.int64(0)
    chunks = np.frombuffer(bytes(2), dtype="<u2")
    theta = np.zeros(12, dtype=np.int64)
    for function, arguments in (
        (
            factor_trial,
            (
                target, tables, examples.ordinates, partition, number, work, chunks, number, theta,
            ),
        ),
        (factorise, (target, tables, examples.ordinates, partition, number, work)),
        (split_factors, (target, tables, partition, number, number, number, work)),
    ):  # fmt: skip
        yield function, tuple(map(typeof, arguments))


def compile_here() -> None:
    """Compile them: what the second process does."""
    for function, types in signatures():
        vars(function)["loop"].compile(types)


if __name__ == "__main__":
    compile_here()
