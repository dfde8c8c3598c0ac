# compiled loops: numba infers the types of what it compiles
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""Counts exactly how many examples a piece holds when one of its edges moves.

The other halfplanes of the piece stay; at every dual point asked for the examples inside are
counted by the tables of :mod:`geometry.counting`, O(columns) a point and label, which are dropped
whenever a few hundred lines have been met.  A raster asks for the lattice points nearest to the
centres of its pixels.

Imports numba: for the learner's process only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from geometry.arrays import Flags, Ints
from geometry.columns import NO_LINE, count_columns, make_tables
from geometry.compiled_loops import inner, njit
from geometry.counting import count_piece, forget_lines, line_row
from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet

#: Lines that one piece may need: the moving one and two others, for each label.
_LINES_PER_PIECE = 6

#: Pieces between two looks at the watch.
_SLICE = 1024


class PieceCounter:
    """Counts examples in pieces that differ in one halfplane.

    `lattice`: on the same grid.  `others`: at most two that do not move.
    """

    def __init__(
        self, examples: GridCounts, lattice: HalfplaneLattice, others: tuple[Halfplane, ...]
    ) -> None:
        self._tables = make_tables(count_columns(examples), lattice.basis, 0)
        self._fixed = np.full((2, 3), -1, dtype=np.int64)
        for row, other in zip(self._fixed, others, strict=False):
            row[:] = other.sheet, other.u, other.v

    def count(self, sheet: Sheet, us: Ints, vs: Ints, watch: Callable[[], None]) -> Ints:
        """Examples of each label in the pieces with the moving halfplane at each dual point.

        `us` and `vs`: shape (m,): lattice coordinates, all admitted.  `watch`: called now and then;
        it may raise.

        Returns
        -------
        ndarray of int64, shape (2, m)
        """
        counts = np.zeros((2, len(us)), dtype=np.int64)
        for start in range(0, len(us), _SLICE):
            watch()
            stop = min(start + _SLICE, len(us))
            _fill(self._tables, int(sheet), self._fixed, us, vs, start, stop, counts)
        return counts


def pixel_centres(lattice: HalfplaneLattice, low: float, high: float, resolution: int) -> Ints:
    """Lattice coordinates nearest to the centres of pixels along low..high, shape (resolution,).

    low and high are in grid units.  Lattice coordinates stay below 2**42, so doubles hold a
    fraction of a step.
    """
    unit = float(1 << lattice.bits)
    places = (np.arange(resolution) + 0.5) / resolution
    return np.rint(unit * low + unit * (high - low) * places).astype(np.int64)


def admitted(lattice: HalfplaneLattice, us: Ints, vs: Ints) -> Flags:
    """:meth:`HalfplaneLattice.admits` of each dual point."""
    low, high = lattice.low, lattice.high
    inside: Flags = (low <= us) & (us <= high) & (low <= vs) & (vs <= high)
    if lattice.measure == "chord":
        side = lattice.d << lattice.bits
        inside &= (abs(us - vs) <= side) & (np.maximum(us, vs) >= 0) & (np.minimum(us, vs) <= side)
    return inside


@inner
def _row(tables, fixed, which, label):
    if fixed[which, 0] < 0:
        return NO_LINE
    return line_row(tables, fixed[which, 0], fixed[which, 1], fixed[which, 2], label)


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(tables, sheet, fixed, us, vs, start, stop, counts):
    lines, below, totals = tables.lines, tables.below, tables.totals
    for i in range(start, stop):
        if len(lines) - tables.used[0] < _LINES_PER_PIECE:
            forget_lines(tables)
        for label in range(2):
            moving = line_row(tables, sheet, us[i], vs[i], label)
            one = _row(tables, fixed, 0, label)
            two = _row(tables, fixed, 1, label)
            counts[label, i] = count_piece(lines, below, totals[label], moving, one, two)
