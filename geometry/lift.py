"""Defines regions bounded by polynomials, and bodies in space, exact in integers, as halfspaces of
lifted points.

KMMS close with linearization: a concept bounded by a polynomial of low degree is a halfspace
after a map of the points into more dimensions, one for each monomial.

    disc      a*x + b*y + x^2 + y^2 <= c                 through (x, y) -> (x, y, x^2 + y^2)
    ellipse   a*x + b*y + e*x^2 + f*x*y + g*y^2 <= c     through (x, y) -> (x, y, x^2, x*y, y^2)

*Discs and ellipses* are not enumerated by their own coefficients: members of the class are written
by what one sees, so that boxes of parameters have tight outer and inner shapes.  In lattice units
(2**-bits grid units), with side = d * 2**bits and X, Y a grid point in these units:

    disc      p, q in 0..side, r in 1..side:       (X-p)^2 + (Y-q)^2 <= r^2
    ellipse   p, q in 0..side, w, h in 1..side, t in -side..side:
              (w*(Y-q) - t*(X-p))^2 <= h^2 * (w^2 - (X-p)^2)

An ellipse spans the abscissae p-w..p+w; it touches their ends at the ordinates q-t and q+t, and h
is half its vertical chord through the centre.  Every ellipse is written so in exactly one way,
rotated ones too, so the class has all five parameters; an axis-parallel one has t = 0.  At
abscissa p + s*w it is cut at the ordinates q + s*t +- h*sqrt(1 - s^2).

Restrictions: the centre lies in the square, and r, w, h, |t| are at most its side; the grid has
d <= 2048.  Points on the boundary belong to the shape.  Shapes to draw and export have chords in
place of arcs; labels are decided by the integer tests.

*Listed classes* are public and small enough for that: a member has a *normal*, one whole number a
lifted coordinate, and a *level*, and holds the points with normal . lift(point) >= level.

halfspaces    of space, points as they are.  Normals are primitive with entries in -reach..reach;
              of each at most `levels` levels, evenly spaced over what the cube {0..d}^3 attains,
              the least one holding the whole cube.
polynomials   of degree 2 or 3 in two or three coordinates.  Of u = 2x - d, which runs over -d..d,
              the lift has all monomials u^a v^b of degree 1 to D, each times d^(D - degree): all
              reach as far.  Normals as above; levels are evenly spaced over what a normal could
              attain, the least one holding everything.
balls         in space: centres on a lattice of `centres` a side, radii in `levels` equal steps up
              to the side of the cube, and one that holds everything.  The lift is
              (x, y, z, x^2 + y^2 + z^2).

A *simplex* is the intersection of four halfspaces of space whose normals span it with positive
weights (so it is bounded by itself, and a tetrahedron unless it is empty or a point).  Among
normals with entries -1, 0, 1 there are 684 such sets of four.
"""

from __future__ import annotations

import functools
import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import shapely
from shapely.geometry import Polygon
from shapely.geometry.base import BaseGeometry

from geometry.arrays import Flags, Ints
from geometry.polygons import orient_valid

ConicKind = Literal["disc", "ellipse"]

#: Largest grid size: counts are kept for every grid point.
MAX_CONIC_D = 2048

#: Farthest that a chord in a drawn outline lies from its arc, in grid units.
CHORD_ERROR = 1 / 64

#: Names of the parameters.
PARAMETERS: dict[ConicKind, tuple[str, ...]] = {
    "disc": ("p", "q", "r"),
    "ellipse": ("p", "q", "w", "h", "t"),
}

#: side < 2**20 for discs and 2**15 for ellipses: then r^2 stays below 2^40, and
#: h^2 * (w^2 - (X-p)^2) and the square beside it at most 2^62.
_FINEST = {"disc": 20, "ellipse": 15}


@dataclass(frozen=True, slots=True)
class ConicLattice:
    """The finite class of discs or of ellipses on the grid {0..d}^2; its base measure is uniform.

    Raises ValueError if d is not in 1..2048, the kind is unknown, or bits is too fine.

    Parameters
    ----------
    d : int
        Grid size; examples have integer coordinates in 0..d.
    kind : {"disc", "ellipse"}
    bits : int, optional
        Parameters are multiples of 2**-bits grid units.  By default the finest for which 64-bit
        tests are exact, at most 10.
    """

    d: int
    kind: ConicKind
    bits: int = -1

    def __post_init__(self) -> None:
        if self.kind not in PARAMETERS:
            raise ValueError(f"unknown kind {self.kind!r}: use 'disc' or 'ellipse'")
        if not 1 <= self.d <= MAX_CONIC_D:
            raise ValueError(
                f"grid size d = {self.d} is outside 1..{MAX_CONIC_D}, what discs and ellipses "
                "take; use a coarser grid"
            )
        finest = min(10, _FINEST[self.kind] - (self.d - 1).bit_length())
        if self.bits == -1:
            object.__setattr__(self, "bits", finest)
        elif not 0 <= self.bits <= finest:
            raise ValueError(
                f"bits = {self.bits} is outside 0..{finest}, where 64-bit tests are exact"
            )

    @property
    def side(self) -> int:
        """Side of the square in lattice units."""
        return self.d << self.bits

    @property
    def low(self) -> tuple[int, ...]:
        """Least value of each parameter (inclusive)."""
        return (0, 0, 1) if self.kind == "disc" else (0, 0, 1, 1, -self.side)

    @property
    def high(self) -> tuple[int, ...]:
        """Greatest value of each parameter (inclusive)."""
        return (self.side,) * len(self.low)

    @property
    def members(self) -> int:
        """Number of discs or ellipses: the base measure's denominator."""
        return math.prod(h - b + 1 for b, h in zip(self.low, self.high, strict=True))

    def conic(self, *parameters: int) -> Conic:
        """The member with these parameters, in lattice units.

        Raises ValueError if there is none.
        """
        names = PARAMETERS[self.kind]
        if len(parameters) != len(names):
            raise ValueError(f"a {self.kind} has the parameters {', '.join(names)}")
        values = tuple(int(value) for value in parameters)
        for name, low, value, high in zip(names, self.low, values, self.high, strict=True):
            if not low <= value <= high:
                raise ValueError(f"{name} = {value} is outside {low}..{high}")
        return Conic(self, values)


@dataclass(frozen=True, slots=True)
class Conic:
    """A closed disc or ellipse of a lattice.

    Parameters
    ----------
    parameters : tuple of int
        (p, q, r) or (p, q, w, h, t), in lattice units (see the module).
    """

    lattice: ConicLattice
    parameters: tuple[int, ...]

    def contains(self, points: Ints) -> Flags:
        """Exact membership, bool of shape (n,), of grid points (x, y) in 0..d, shape (n, 2)."""
        xy = np.asarray(points, dtype=np.int64) << self.lattice.bits
        inside: Flags
        if self.lattice.kind == "disc":
            p, q, r = self.parameters
            inside = (xy[:, 0] - p) ** 2 + (xy[:, 1] - q) ** 2 <= r * r
            return inside
        p, q, w, h, t = self.parameters
        off = xy[:, 0] - p
        inside = (w * (xy[:, 1] - q) - t * off) ** 2 <= h * h * (w * w - off * off)
        return inside

    @property
    def centre(self) -> tuple[float, float]:
        """The centre, in grid units."""
        unit = 1 << self.lattice.bits
        return self.parameters[0] / unit, self.parameters[1] / unit

    def outline(self) -> Polygon:
        """The whole shape with chords in place of arcs, also outside the square.

        Its corners lie on the boundary, and no chord is farther than 1/64 of a grid unit from its
        arc.
        """
        unit = 1 << self.lattice.bits
        if self.lattice.kind == "disc":
            r = self.parameters[2]
            w, h, t = r / unit, r / unit, 0.0
        else:
            w, h, t = (value / unit for value in self.parameters[2:])
        # the image of the unit circle under a map whose norm is at most the root below; a chord
        # of the circle over the angle 2a is 1 - cos a <= a^2 / 2 from its arc
        norm = math.hypot(w, h, t)
        corners = max(16, math.ceil(math.pi * math.sqrt(norm / (2 * CHORD_ERROR))))
        angle = np.linspace(0.0, 2 * math.pi, corners, endpoint=False)
        x, y = self.centre
        right, up = np.cos(angle), np.sin(angle)
        return Polygon(np.column_stack([x + w * right, y + t * right + h * up]))

    def polygon(self) -> BaseGeometry:
        """The part in the square [0, d]^2, valid and counter-clockwise, in grid units."""
        square = shapely.box(0.0, 0.0, float(self.lattice.d), float(self.lattice.d))
        return orient_valid(shapely.intersection(self.outline(), square))


def conic_union(conics: tuple[Conic, ...]) -> BaseGeometry:
    """Union of the polygons of discs or ellipses: valid, oriented; empty if there is none."""
    polygons = [conic.polygon() for conic in conics]
    return orient_valid(shapely.union_all([p for p in polygons if not p.is_empty]))


#: Whole numbers, one a lifted coordinate.
Normal = tuple[int, ...]

#: Largest grid size in space: samples are counted by grid points, (d + 1)^3 of them.
MAX_D3 = 64

#: Largest entry of a normal: faces of random tetrahedra are then met within .5 % of a grid of 16.
MAX_REACH = 12


class ListedLattice(ABC):
    """A finite class of halfspaces of lifted points of the grid 0..d; its base measure is uniform.

    But for balls normals are all primitive vectors with entries in -reach..reach.

    Raises ValueError if a parameter is out of range.
    """

    __slots__ = ()

    d: int
    reach: int
    levels: int

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """Of points: 2 or 3."""

    @property
    @abstractmethod
    def coordinates(self) -> int:
        """Of lifted points."""

    @abstractmethod
    def lift(self, points: Ints) -> Ints:
        """Lifted coordinates, int64 of shape (n, coordinates), of grid points (n, dimensions)."""

    @abstractmethod
    def levels_of(self, normal: Normal) -> Ints:
        """Levels of a normal, rising; the first holds everything."""

    @property
    def directions(self) -> int:
        """How many tuples are looked through for normals; :attr:`members` may take long."""
        return int((2 * self.reach + 1) ** self.coordinates)

    @property
    def normals(self) -> tuple[Normal, ...]:
        """Primitive normals, in lexicographic order."""
        every = itertools.product(range(-self.reach, self.reach + 1), repeat=self.coordinates)
        return tuple(one for one in every if math.gcd(*one) == 1)

    @property
    def members(self) -> int:
        """The number of regions in the class."""
        return sum(len(self.levels_of(normal)) for normal in self.normals)

    def member(self, normal: Normal, level: int) -> LiftedRegion:
        """The region with this normal and level, not checked."""
        return LiftedRegion(self, normal, level)

    def holds(self, normal: Normal, level: int) -> bool:
        """Whether a region is one of the class."""
        known = len(normal) == self.coordinates and self._has(normal)
        return known and level in self.levels_of(normal)

    def _has(self, normal: Normal) -> bool:
        return max(map(abs, normal)) <= self.reach and math.gcd(*normal) == 1

    def _spaced(self, low: int, values: int) -> Ints:
        """At most `levels` of so many whole numbers from the least one on."""
        count = min(self.levels, values)
        steps = [i * values // count for i in range(count)]
        return low + np.array(steps, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class LiftedRegion:
    """A closed region of a lattice: the points with normal . lift(point) >= level."""

    lattice: ListedLattice
    normal: Normal
    level: int

    def contains(self, points: Ints) -> Flags:
        """Exact membership, bool of shape (n,), of grid points, shape (n, dimensions)."""
        heights = self.lattice.lift(points) @ np.array(self.normal)
        return np.asarray(heights >= self.level)


@dataclass(frozen=True, slots=True)
class HalfspaceLattice3(ListedLattice):
    """Halfspaces of space, for points with integer coordinates in 0..d, d at most 64.

    `reach` is the largest entry of a normal, in size, at most 12: 1, 2, 3 give 26, 98, 290 normals;
    `levels`, at least 2, the most levels of one.
    """

    dimensions: ClassVar[int] = 3
    coordinates: ClassVar[int] = 3

    d: int
    reach: int = 2
    levels: int = 64

    def __post_init__(self) -> None:
        _check(self.d, MAX_D3, reach=(self.reach, 1, MAX_REACH), levels=(self.levels, 2, math.inf))

    def lift(self, points: Ints) -> Ints:
        return np.asarray(points, dtype=np.int64)

    def levels_of(self, normal: Normal) -> Ints:
        low = self.d * sum(min(0, entry) for entry in normal)
        return self._spaced(low, self.d * sum(map(abs, normal)) + 1)


@functools.lru_cache(maxsize=4)
def spanning_fours(normals: tuple[Normal, ...]) -> tuple[tuple[Normal, ...], ...]:
    """Sets of four normals of which 0 is a combination with positive weights only.

    The weights of the one linear relation between four vectors that span the space are the
    determinants of the other three, with alternating signs.  O(n^4): for a few dozen normals.
    """
    fours = np.array(list(itertools.combinations(range(len(normals)), 4)), dtype=np.int64)
    vectors = np.array(normals, dtype=np.int64)[fours.reshape(-1, 4)]
    others = [np.delete(vectors, i, axis=1) for i in range(4)]
    determinants = [(a[:, 0] * np.cross(a[:, 1], a[:, 2])).sum(axis=1) for a in others]
    weights = np.stack(determinants, axis=1) * [1, -1, 1, -1]
    spanning = (weights > 0).all(axis=1) | (weights < 0).all(axis=1)
    return tuple(tuple(normals[i] for i in four) for four in fours[spanning].tolist())


@dataclass(frozen=True, slots=True)
class PolynomialLattice(ListedLattice):
    """Regions bounded by a polynomial, for points with integer coordinates in 0..d: d at most 2048,
    or 64 in space.

    `dimensions` and `degree` are 2 or 3; `reach` is the largest coefficient, in size, and `levels`
    those of a normal.
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

    def lift(self, points: Ints) -> Ints:
        u = 2 * np.asarray(points, dtype=np.int64) - self.d
        columns = [
            np.prod(u ** np.array(one), axis=1) * self.d ** (self.degree - sum(one))
            for one in self.exponents
        ]
        return np.asarray(np.stack(columns, axis=1))

    @property
    def coordinates(self) -> int:
        """The number of monomials."""
        return len(self.exponents)

    def levels_of(self, normal: Normal) -> Ints:
        most = self.d**self.degree * sum(map(abs, normal))
        return self._spaced(-most, 2 * most + 1)


@dataclass(frozen=True, slots=True)
class BallLattice(ListedLattice):
    """Balls in space, on a grid of size d, at most 64: `centres`, at least 2, along a side of the
    cube, and `levels` radii of each, besides the one that holds everything."""

    dimensions: ClassVar[int] = 3
    coordinates: ClassVar[int] = 4

    d: int
    centres: int = 17
    levels: int = 32

    def __post_init__(self) -> None:
        _check(self.d, MAX_D3, centres=(self.centres, 2, 129), levels=(self.levels, 1, 1 << 12))

    def lift(self, points: Ints) -> Ints:
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

    def levels_of(self, normal: Normal) -> Ints:
        q = self.centres - 1
        away = sum((entry // (2 * q)) ** 2 for entry in normal[:3])
        radii = [(self.d * q * i) ** 2 // self.levels**2 for i in range(self.levels, 0, -1)]
        return away - np.array([3 * (self.d * q) ** 2, *radii], dtype=np.int64)

    def _has(self, normal: Normal) -> bool:
        q = self.centres - 1
        places = (divmod(entry, 2 * self.d * q) for entry in normal[:3])
        return normal[3] == -q * q and all(0 <= at <= q and not off for at, off in places)


def cells_shape(inside: Flags) -> BaseGeometry:
    """The points of the square that are nearest to grid points that are marked, bool of shape (d +
    1, d + 1) by x and y: valid polygons."""
    d = len(inside) - 1
    edges = np.diff(np.pad(inside, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    columns, begins = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    low = np.maximum(np.stack([columns, begins]) - 0.5, 0.0)
    high = np.minimum(np.stack([columns + 0.5, ends - 0.5]), d)
    return orient_valid(shapely.union_all(shapely.box(*low, *high)))


def _check(d: int, most: int, **ranges: tuple[int, int, float]) -> None:
    if not 1 <= d <= most:
        raise ValueError(
            f"grid size d = {d} is outside 1..{most}, what these take; use a coarser grid"
        )
    for name, (value, low, high) in ranges.items():
        if not low <= value <= high:
            raise ValueError(f"{name} = {value} is outside {low}..{high}")
