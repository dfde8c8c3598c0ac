"""Halfspaces in three dimensions over a small public lattice, and the simplices they bound.

A halfspace is a*x + b*y + c*z >= level with a primitive integer normal (a, b, c), entries in
-reach..reach, and an integer level.  Of each normal the lattice keeps at most `levels` levels,
evenly spaced over what the cube {0..d}^3 attains, the least one holding the whole cube.  Tests are
exact in integers.

A *simplex* is the intersection of four halfspaces whose normals span the space with positive
weights (so it is bounded by itself, and a tetrahedron unless it is empty or a point).  Among
normals with entries -1, 0, 1 there are 684 such sets of four.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Whole numbers: three, or of lifted points (:mod:`geometry.polynomials`) one a coordinate.
Normal = tuple[int, ...]

#: Largest grid size: samples are counted by grid points, (d + 1)^3 of them.
MAX_D3 = 64

#: Largest entry of a normal: faces of random tetrahedra are then met within .5 % of a grid of 16.
MAX_REACH = 12


@dataclass(frozen=True, slots=True)
class Halfspace3:
    """The closed halfspace of points with normal . point >= level.

    Parameters
    ----------
    normal : tuple of int
    level : int
        In grid units times the normal's.
    """

    normal: Normal
    level: int

    def contains(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Exact membership, bool of shape (n,), of points, shape (n, 3)."""
        inside: NDArray[np.bool_] = np.asarray(points, dtype=np.int64) @ self.normal >= self.level
        return inside


@dataclass(frozen=True, slots=True)
class HalfspaceLattice3:
    """The finite class of halfspaces on the grid {0..d}^3; its base measure is uniform.

    Parameters
    ----------
    d : int
        Grid size; points have integer coordinates in 0..d.
    reach : int
        Largest entry of a normal, in size; 1, 2, 3 give 26, 98, 290 normals.
    levels : int
        Most levels of a normal.

    Raises
    ------
    ValueError
        If d is not in 1..64, reach not in 1..12, or levels below 2.
    """

    d: int
    reach: int = 2
    levels: int = 64

    def __post_init__(self) -> None:
        if not 1 <= self.d <= MAX_D3:
            raise ValueError(
                f"grid size d = {self.d} is outside 1..{MAX_D3}, what three dimensions take; "
                "use a coarser grid"
            )
        if not 1 <= self.reach <= MAX_REACH:
            raise ValueError(f"reach = {self.reach} is outside 1..{MAX_REACH}")
        if self.levels < 2:
            raise ValueError(f"levels = {self.levels}: at least 2 are needed")

    @property
    def normals(self) -> tuple[Normal, ...]:
        """Primitive normals, in lexicographic order."""
        entries = range(-self.reach, self.reach + 1)
        triples = itertools.product(entries, entries, entries)
        return tuple((a, b, c) for a, b, c in triples if math.gcd(a, b, c) == 1)

    def levels_of(self, normal: Normal) -> NDArray[np.int64]:
        """Levels of a normal, rising; the first holds the whole cube."""
        low = self.d * sum(min(0, entry) for entry in normal)
        values = self.d * sum(abs(entry) for entry in normal) + 1
        count = min(self.levels, values)
        return low + np.arange(count, dtype=np.int64) * values // count

    def lift(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """The points themselves, int64 of shape (n, 3): what normals are multiplied with."""
        return np.asarray(points, dtype=np.int64)

    def member(self, normal: Normal, level: int) -> Halfspace3:
        """The halfspace with this normal and level, not checked."""
        return Halfspace3(normal, level)

    @property
    def members(self) -> int:
        """The number of halfspaces in the class."""
        return sum(len(self.levels_of(normal)) for normal in self.normals)

    def holds(self, halfspace: Halfspace3) -> bool:
        """Whether it is one of the class."""
        normal = halfspace.normal
        known = max(map(abs, normal)) <= self.reach and math.gcd(*normal) == 1
        return known and halfspace.level in self.levels_of(normal)


def spanning_fours(normals: tuple[Normal, ...]) -> tuple[tuple[Normal, ...], ...]:
    """Sets of four normals of which 0 is a combination with positive weights only.

    The weights of the one linear relation between four vectors that span the space are the
    determinants of the other three, with alternating signs.  O(n^4): for a few dozen normals.
    """
    fours = np.array(list(itertools.combinations(range(len(normals)), 4)), dtype=np.int64)
    vectors = np.array(normals, dtype=np.int64)[fours.reshape(-1, 4)]
    weights = np.stack(
        [(-1) ** i * _determinants(np.delete(vectors, i, axis=1)) for i in range(4)], axis=1
    )
    spanning = (weights > 0).all(axis=1) | (weights < 0).all(axis=1)
    return tuple(tuple(normals[i] for i in four) for four in fours[spanning].tolist())


def _determinants(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of matrices of shape (m, 3, 3), exact."""
    determinants: NDArray[np.int64] = np.sum(
        rows[:, 0] * np.cross(rows[:, 1], rows[:, 2]), axis=1, dtype=np.int64
    )
    return determinants
