"""Regions bounded by polynomials of low degree, in the plane and in space, exact in integers.

KMMS close with linearization: a concept bounded by a polynomial is a halfspace after a map of the
points into more dimensions, one for each monomial.  Here both classes of such halfspaces are public
and small enough to be listed: a member has a *normal*, one whole number a lifted coordinate, and a
*level*, and holds the points with normal . lift(point) >= level.

polynomials   of degree 2 or 3 in two or three coordinates.  Of u = 2x - d, which runs over -d..d,
              the lift has all monomials u^a v^b of degree 1 to D, each times d^(D - degree): all
              reach as far.  Normals are primitive with entries in -reach..reach; levels are evenly
              spaced over what a normal could attain, the least one holding everything.
balls         in space: centres on a lattice of `centres` a side, radii in `levels` equal steps up
              to the side of the cube, and one that holds everything.  The lift is
              (x, y, z, x^2 + y^2 + z^2).

Discs and ellipses of the plane have a finer class, which is not listed: :mod:`geometry.lift`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geometry.halfspace3 import MAX_D3, Normal
from geometry.lift import MAX_CONIC_D
from geometry.polygons import orient_valid


@dataclass(frozen=True, slots=True)
class PolynomialLattice:
    """The finite class of regions bounded by a polynomial; its base measure is uniform.

    Parameters
    ----------
    d : int
        Grid size; points have integer coordinates in 0..d.  At most 2048, or 64 in space.
    dimensions : int
        2 or 3.
    degree : int
        2 or 3.
    reach : int
        Largest coefficient, in size.
    levels : int
        Levels of a normal.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    d: int
    dimensions: int = 2
    degree: int = 2
    reach: int = 2
    levels: int = 64

    def __post_init__(self) -> None:
        if self.dimensions not in (2, 3) or self.degree not in (2, 3):
            raise ValueError(
                f"degree {self.degree} in {self.dimensions} dimensions: polynomials have degree 2 "
                "or 3, in 2 or 3 dimensions"
            )
        most = MAX_CONIC_D if self.dimensions == 2 else MAX_D3
        _check(self.d, most, reach=(self.reach, 1, 8), levels=(self.levels, 2, 1 << 20))

    @property
    def exponents(self) -> tuple[tuple[int, ...], ...]:
        """Of the monomials, by degree and then in lexicographic order."""
        powers = itertools.product(range(self.degree + 1), repeat=self.dimensions)
        wanted = (one for one in powers if 1 <= sum(one) <= self.degree)
        return tuple(sorted(wanted, key=lambda one: (sum(one), one)))

    def lift(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lifted coordinates, int64 of shape (n, monomials), of grid points (n, dimensions)."""
        u = 2 * np.asarray(points, dtype=np.int64) - self.d
        columns = [
            np.prod(u ** np.array(one), axis=1) * self.d ** (self.degree - sum(one))
            for one in self.exponents
        ]
        return np.asarray(np.stack(columns, axis=1))

    @property
    def directions(self) -> int:
        """How many tuples are looked through for normals; :attr:`members` may take long."""
        return int((2 * self.reach + 1) ** len(self.exponents))

    @property
    def normals(self) -> tuple[Normal, ...]:
        """Primitive normals, in lexicographic order."""
        entries = range(-self.reach, self.reach + 1)
        every = itertools.product(entries, repeat=len(self.exponents))
        return tuple(one for one in every if math.gcd(*one) == 1)

    def levels_of(self, normal: Normal) -> NDArray[np.int64]:
        """Levels of a normal, rising; the first holds everything."""
        most = self.d**self.degree * sum(map(abs, normal))
        values = 2 * most + 1
        count = min(self.levels, values)
        steps = [i * values // count for i in range(count)]
        return np.asarray(np.array(steps, dtype=np.int64) - most)

    @property
    def members(self) -> int:
        """The number of regions in the class."""
        return sum(len(self.levels_of(normal)) for normal in self.normals)

    def member(self, normal: Normal, level: int) -> LiftedRegion:
        """The region with this normal and level, not checked."""
        return LiftedRegion(self, normal, level)

    def holds(self, normal: Normal, level: int) -> bool:
        """Whether a region is one of the class."""
        known = len(normal) == len(self.exponents) and max(map(abs, normal)) <= self.reach
        return known and math.gcd(*normal) == 1 and level in self.levels_of(normal)


@dataclass(frozen=True, slots=True)
class BallLattice:
    """The finite class of balls on the grid {0..d}^3; its base measure is uniform.

    Parameters
    ----------
    d : int
        Grid size, at most 64.
    centres : int
        Centres along a side of the cube, at least 2.
    levels : int
        Radii of a centre, besides the one that holds everything.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    d: int
    centres: int = 17
    levels: int = 32

    def __post_init__(self) -> None:
        _check(self.d, MAX_D3, centres=(self.centres, 2, 129), levels=(self.levels, 1, 1 << 12))

    @property
    def dimensions(self) -> int:
        """Three."""
        return 3

    def lift(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lifted coordinates, int64 of shape (n, 4), of grid points (n, 3)."""
        xyz = np.asarray(points, dtype=np.int64)
        return np.column_stack([xyz, (xyz * xyz).sum(axis=1)])

    @property
    def directions(self) -> int:
        """The number of centres."""
        return self.centres**3

    @property
    def normals(self) -> tuple[Normal, ...]:
        """One for each centre (i, j, k) d / q, q = centres - 1: |q x - (i, j, k) d|^2 is
        -normal . lift(x) and what depends on the centre alone."""
        q = self.centres - 1
        places = itertools.product(range(self.centres), repeat=3)
        return tuple((*(2 * self.d * q * i for i in place), -q * q) for place in places)

    def levels_of(self, normal: Normal) -> NDArray[np.int64]:
        """Levels of a normal, rising; the first holds everything."""
        q = self.centres - 1
        away = sum((entry // (2 * q)) ** 2 for entry in normal[:3])
        radii = [(self.d * q * i) ** 2 // self.levels**2 for i in range(self.levels, 0, -1)]
        return away - np.array([3 * (self.d * q) ** 2, *radii], dtype=np.int64)

    @property
    def members(self) -> int:
        """The number of balls in the class."""
        return self.directions * (self.levels + 1)

    def member(self, normal: Normal, level: int) -> LiftedRegion:
        """The ball with this normal and level, not checked."""
        return LiftedRegion(self, normal, level)

    def holds(self, normal: Normal, level: int) -> bool:
        """Whether a ball is one of the class."""
        q = self.centres - 1
        known = len(normal) == 4 and normal[3] == -q * q
        known = known and all(
            entry % (2 * self.d * q) == 0 and 0 <= entry // (2 * self.d * q) <= q
            for entry in normal[:3]
        )
        return known and level in self.levels_of(normal)


@dataclass(frozen=True, slots=True)
class LiftedRegion:
    """A closed region of a lattice: the points with normal . lift(point) >= level.

    Parameters
    ----------
    lattice : PolynomialLattice or BallLattice
    normal : tuple of int
    level : int
    """

    lattice: PolynomialLattice | BallLattice
    normal: Normal
    level: int

    def contains(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Exact membership, bool of shape (n,), of grid points, shape (n, dimensions)."""
        heights = self.lattice.lift(points) @ np.array(self.normal)
        return np.asarray(heights >= self.level)


def cells_shape(inside: NDArray[np.bool_]) -> BaseGeometry:
    """The points of the square that are nearest to grid points that are marked, valid polygons.

    Parameters
    ----------
    inside : ndarray of bool, shape (d + 1, d + 1)
        By x and y.
    """
    d = len(inside) - 1
    edges = np.diff(np.pad(inside, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    columns, begins = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    low = np.maximum(np.stack([columns, begins]) - 0.5, 0.0)
    high = np.minimum(np.stack([columns + 0.5, ends - 0.5]), d)
    return orient_valid(shapely.union_all(shapely.box(*low, *high)))


def _check(d: int, most: int, **ranges: tuple[int, int, int]) -> None:
    if not 1 <= d <= most:
        raise ValueError(
            f"grid size d = {d} is outside 1..{most}, what these take; use a coarser grid"
        )
    for name, (value, low, high) in ranges.items():
        if not low <= value <= high:
            raise ValueError(f"{name} = {value} is outside {low}..{high}")
