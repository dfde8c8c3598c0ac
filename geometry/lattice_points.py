"""Lattice points of a convex polygon: exact count, and the r-th of them.

The polygon is a bounded system of integer inequalities a*u + b*v >= c.  An open
boundary a*u + b*v > c is written a*u + b*v >= c + 1, so every edge may be open or
closed.  Columns u are counted by

    floor(min of the upper sides) + floor(min of the negated lower sides) + 1,

which is never negative where the real polygon meets the column.  The minima are
split into runs of columns with one side each, and a run is summed by the
Euclid-like *floor sum* (Graham, Knuth, Patashnik, Concrete Mathematics, section
3.5; as in the AtCoder Library's ``floor_sum``).

Complexity: O(m^2 + m log C) integer operations for m inequalities with
coefficients below C; a draw adds a factor log(columns).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from geometry.halfplane import Inequality

#: floor((slope*u + offset) / modulus), modulus > 0: how far a side lets a column reach.
Reach = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LatticePolygon:
    """The integer points of a bounded convex polygon, column by column.

    Attributes
    ----------
    first, last : int
        Columns u that the real polygon meets; first > last when there is none.
    runs : tuple of (start, stop, reach)
        Consecutive columns start..stop (inclusive) with one side in force, for the
        upper sides and for the negated lower sides together.
    uppers, lowers : tuple of reach
        Sides that bound v from above, and -v from above.
    count : int
        Number of integer points.
    """

    first: int
    last: int
    runs: tuple[tuple[int, int, Reach], ...]
    uppers: tuple[Reach, ...]
    lowers: tuple[Reach, ...]
    count: int

    @classmethod
    def of(cls, constraints: Sequence[Inequality]) -> LatticePolygon:
        """Prepare a system a*u + b*v >= c; an unbounded one raises ValueError."""
        uppers = tuple((a, -c, -b) for a, b, c in constraints if b < 0)
        lowers = tuple((a, -c, b) for a, b, c in constraints if b > 0)
        columns = _columns(uppers, lowers, [(a, c) for a, b, c in constraints if b == 0])
        if columns is None:
            return cls(0, -1, (), (), (), 0)
        first, last = columns
        runs = (*_lower_envelope(uppers, first, last), *_lower_envelope(lowers, first, last))
        return cls(first, last, runs, uppers, lowers, _points(runs, first, last))

    def point(self, rank: int) -> tuple[int, int]:
        """The integer point (u, v) of that rank, ordered by u and then by v.

        Raises
        ------
        IndexError
            Unless 0 <= rank < count.
        """
        if not 0 <= rank < self.count:
            raise IndexError(f"rank {rank} is outside 0..{self.count - 1}")
        low, high = self.first, self.last
        while low < high:
            middle = (low + high) // 2
            if _points(self.runs, self.first, middle) > rank:
                high = middle
            else:
                low = middle + 1
        before = _points(self.runs, self.first, low - 1)
        bottom = -min((a * low + c) // m for a, c, m in self.lowers)
        return low, bottom + rank - before


def floor_sum(count: int, slope: int, offset: int, modulus: int) -> int:
    """Sum of floor((slope*i + offset) / modulus) over i = 0..count-1, modulus > 0.

    O(log modulus) divisions.
    """
    total = 0
    while count > 0:
        whole, slope = divmod(slope, modulus)
        total += whole * (count * (count - 1) // 2)
        whole, offset = divmod(offset, modulus)
        total += whole * count
        # what is left counts points under a line of slope < 1: exchange the axes
        count, offset = divmod(slope * count + offset, modulus)
        slope, modulus = modulus, slope
    return total


def _columns(
    uppers: Sequence[Reach], lowers: Sequence[Reach], vertical: list[tuple[int, int]]
) -> tuple[int, int] | None:
    """First and last integer column of the real polygon; None when there is none."""
    bounds = list(vertical)
    # upper side >= lower side, for each pair (Fourier and Motzkin)
    bounds += [(a * n + b * m, -(p * n + q * m)) for a, p, m in uppers for b, q, n in lowers]
    if any(a == 0 and c > 0 for a, c in bounds):
        return None
    firsts = [-(-c // a) for a, c in bounds if a > 0]
    lasts = [-c // -a for a, c in bounds if a < 0]
    if not (firsts and lasts and uppers and lowers):
        raise ValueError("the inequalities do not bound a polygon")
    first, last = max(firsts), min(lasts)
    return (first, last) if first <= last else None


def _lower_envelope(sides: Sequence[Reach], first: int, last: int) -> list[tuple[int, int, Reach]]:
    """Runs of integer columns with the least side (a*u + c)/m, from first to last."""
    runs = []
    start = first
    while start <= last:
        a, c, m = reduce(lambda one, two: _lower(one, two, start), sides)
        stop = last
        for b, e, n in sides:
            turn = b * m - a * n
            if turn < 0:
                # the other side is lower where turn * u < c*n - e*m: after this column, or next
                stop = min(stop, (c * n - e * m) // turn)
        runs.append((start, stop, (a, c, m)))
        start = stop + 1
    return runs


def _lower(one: Reach, two: Reach, column: int) -> Reach:
    """The side that is lower at the column; either when they are equal."""
    (a, c, m), (b, e, n) = one, two
    return one if (a * column + c) * n <= (b * column + e) * m else two


def _points(runs: Sequence[tuple[int, int, Reach]], first: int, last: int) -> int:
    """Integer points in the columns first..last."""
    total = last - first + 1
    for start, stop, (a, c, m) in runs:
        if start <= last:
            total += floor_sum(min(stop, last) - start + 1, a, a * start + c, m)
    return total
