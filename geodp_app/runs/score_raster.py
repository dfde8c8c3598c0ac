# compiled loops: numba infers the types of what it compiles
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""Exact counts at a raster of dual points: what a piece holds when one edge moves.

For every pixel of a window onto a sheet the lattice point nearest to the pixel's centre is taken as
the moving halfplane, the other halfplanes of the piece stay, and the examples inside are counted
by the tables of :mod:`geometry.counting`: O(columns) a pixel and label.  Tables are dropped
whenever a few hundred lines have been met, so memory is that of the columns
(:mod:`geometry.columns`) and a few megabytes.

Imports numba: for the learner's process only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numba import njit
from numpy.typing import NDArray

from geometry.columns import count_columns
from geometry.counting import (
    NO_LINE,
    count_piece,
    forget_lines,
    line_row,
    make_tables,
)
from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet

#: Lines that one pixel may need: the moving one and two others, for each label.
_LINES_PER_PIXEL = 6

#: Columns of pixels between two looks at the watch.
_SLICE = 16


def count_raster(
    points: NDArray[np.int64],
    labels: NDArray[np.bool_],
    lattice: HalfplaneLattice,
    others: tuple[Halfplane, ...],
    centres: Mapping[Sheet, tuple[NDArray[np.int64], NDArray[np.int64]]],
    watch: Callable[[], None],
) -> dict[Sheet, tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Examples inside the piece, by sheet of the moving halfplane.

    Parameters
    ----------
    points : ndarray of int64, shape (n, 2)
        Grid points in 0..d.
    labels : ndarray of bool, shape (n,)
    lattice : HalfplaneLattice
    others : tuple of Halfplane
        At most two that do not move.
    centres : mapping of Sheet to (u, v)
        Lattice coordinates of the columns and of the rows of each raster wanted, int64.
    watch : callable
        Called now and then; it may raise.

    Returns
    -------
    counts : ndarray of int64, shape (2, columns, rows)
        counts[label, i, j] in column i of u and row j of v.
    admitted : ndarray of bool, shape (columns, rows)
        Whether the lattice point carries base measure; counts are 0 where it does not.
    """
    examples = GridCounts.of_examples(
        np.asarray(points, dtype=np.int64), np.asarray(labels, dtype=np.bool_), lattice.d
    )
    tables = make_tables(count_columns(examples), lattice.basis, 0)
    fixed = np.full((2, 3), -1, dtype=np.int64)
    for row, other in zip(fixed, others, strict=False):
        row[:] = other.sheet, other.u, other.v
    found = {}
    for sheet, (us, vs) in centres.items():
        counts = np.zeros((2, len(us), len(vs)), dtype=np.int64)
        admitted = _admitted(lattice, us, vs)
        for start in range(0, len(us), _SLICE):
            watch()
            stop = min(start + _SLICE, len(us))
            _fill(tables, int(sheet), fixed, us, vs, start, stop, counts, admitted)
        found[sheet] = counts, admitted
    return found


def pixel_centres(
    lattice: HalfplaneLattice, low: float, high: float, resolution: int
) -> NDArray[np.int64]:
    """Lattice coordinates nearest to the centres of pixels along low..high, shape (resolution,).

    low and high are in grid units.  Lattice coordinates stay below 2**42, so doubles hold a
    fraction of a step.
    """
    unit = float(1 << lattice.bits)
    places = (np.arange(resolution) + 0.5) / resolution
    return np.rint(unit * low + unit * (high - low) * places).astype(np.int64)


def _admitted(
    lattice: HalfplaneLattice, us: NDArray[np.int64], vs: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """:meth:`HalfplaneLattice.admits` of every column and row."""
    u, v = us[:, None], vs[None, :]
    low, high = lattice.low, lattice.high
    inside: NDArray[np.bool_] = (low <= u) & (u <= high) & (low <= v) & (v <= high)
    if lattice.measure == "chord":
        side = lattice.d << lattice.bits
        inside &= (abs(u - v) <= side) & (np.maximum(u, v) >= 0) & (np.minimum(u, v) <= side)
    return inside


@njit(cache=True, nogil=True, error_model="numpy")
def _row(tables, fixed, which, label):
    if fixed[which, 0] < 0:
        return NO_LINE
    return line_row(tables, fixed[which, 0], fixed[which, 1], fixed[which, 2], label)


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(tables, sheet, fixed, us, vs, start, stop, counts, admitted):
    lines, below, totals = tables.lines, tables.below, tables.totals
    for i in range(start, stop):
        for j in range(len(vs)):
            if not admitted[i, j]:
                continue
            if len(lines) - tables.used[0] < _LINES_PER_PIXEL:
                forget_lines(tables)
            for label in range(2):
                moving = line_row(tables, sheet, us[i], vs[j], label)
                one = _row(tables, fixed, 0, label)
                two = _row(tables, fixed, 1, label)
                counts[label, i, j] = count_piece(lines, below, totals[label], moving, one, two)
