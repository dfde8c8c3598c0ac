# compiled loops: numba infers the types of what it compiles
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""Exact counts at a raster of dual points: what a piece holds when one edge moves.

For every pixel of a sheet's square the lattice point nearest to the pixel's centre is taken as
the moving halfplane, the other halfplanes of the piece stay, and the examples inside are counted
by the tables of :mod:`geometry.counting`: O(columns) a pixel and label.  Tables are dropped
whenever a few hundred lines have been met, so memory is that of the columns
(:mod:`geometry.columns`) and a few megabytes.

Imports numba: for the learner's process only.
"""

from __future__ import annotations

from collections.abc import Callable

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
    resolution: int,
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
    resolution : int
        Pixels along each side of the square low..high.
    watch : callable
        Called now and then; it may raise.

    Returns
    -------
    counts : ndarray of int64, shape (2, resolution, resolution)
        counts[label, i, j] in column i of u and row j of v.
    admitted : ndarray of bool, shape (resolution, resolution)
        Whether the lattice point carries base measure; counts are 0 where it does not.
    """
    examples = GridCounts.of_examples(
        np.asarray(points, dtype=np.int64), np.asarray(labels, dtype=np.bool_), lattice.d
    )
    tables = make_tables(count_columns(examples), lattice.basis, 0)
    fixed = np.full((2, 3), -1, dtype=np.int64)
    for row, other in zip(fixed, others, strict=False):
        row[:] = other.sheet, other.u, other.v
    centres = pixel_centres(lattice, resolution)
    side = lattice.d << lattice.bits if lattice.measure == "chord" else 0
    found = {}
    for sheet in lattice.sheets:
        counts = np.zeros((2, resolution, resolution), dtype=np.int64)
        admitted = np.zeros((resolution, resolution), dtype=np.bool_)
        for start in range(0, resolution, _SLICE):
            watch()
            stop = min(start + _SLICE, resolution)
            _fill(tables, int(sheet), fixed, centres, side, start, stop, counts, admitted)
        found[sheet] = counts, admitted
    return found


def pixel_centres(lattice: HalfplaneLattice, resolution: int) -> NDArray[np.int64]:
    """Lattice coordinates nearest to the centres of pixels along u or v, shape (resolution,)."""
    width = lattice.high - lattice.low
    # (2 i + 1) / (2 resolution) of the width, rounded to the nearest integer
    return np.array(
        [
            lattice.low + ((2 * i + 1) * width + resolution) // (2 * resolution)
            for i in range(resolution)
        ],
        dtype=np.int64,
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _row(tables, fixed, which, label):
    if fixed[which, 0] < 0:
        return NO_LINE
    return line_row(tables, fixed[which, 0], fixed[which, 1], fixed[which, 2], label)


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(tables, sheet, fixed, centres, side, start, stop, counts, admitted):
    lines, below, totals = tables.lines, tables.below, tables.totals
    for i in range(start, stop):
        u = centres[i]
        for j in range(len(centres)):
            v = centres[j]
            if side != 0 and (abs(u - v) > side or max(u, v) < 0 or min(u, v) > side):
                continue
            admitted[i, j] = True
            if len(lines) - tables.used[0] < _LINES_PER_PIXEL:
                forget_lines(tables)
            for label in range(2):
                moving = line_row(tables, sheet, u, v, label)
                one = _row(tables, fixed, 0, label)
                two = _row(tables, fixed, 1, label)
                counts[label, i, j] = count_piece(lines, below, totals[label], moving, one, two)
