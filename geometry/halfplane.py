"""Defines halfplanes on a finite lattice, with exact integer side tests, and the dual plane.

A *sheet* says how a halfplane is written down: its boundary is read either as
heights over the x axis (flat) or as abscissae over the y axis (steep), and the
halfplane lies on one side of it.  Within a sheet a halfplane is a *dual point*
(u, v) with integer coordinates, so the class is finite and no decision ever
rounds.

Two base measures (Kaplan, Mansour, Matias, Stemmer 2019, section 4):

``chord`` (default)
    u and v are the heights of the boundary at x = 0 and x = d, in units of
    2**-bits.  The four sheets share the lines: |u - v| <= d, and the line must
    meet the square.  Uniform over all such lattice points of all four sheets.
``paper``
    The source's own box: y = a*x + b with a, b uniform in [-2d^2, 2d^2]; here
    u stands for b and v for a, and only the two flat sheets exist.

Both are linear in (u, v) with non-negative coefficients on the square, so
raising u or v moves the boundary one way everywhere: a box of dual points has
an extreme halfplane at each of two corners.  The envelope sampler rests on it.

Departs from the source: KMMS fold the side z into a; here it is the sheet.  The
chord box leaves out lines that miss the square and lines that the other sheet
writes better; that cut looks at no data.  So it has no empty halfplane: the
source's box has, as the line y = 2d^2 passes above the square.  Two halfplanes
without a common point make the empty shape, and a triangle can be empty.

Observation 4.1 of the source says that every halfplane has a member that labels
all grid points like it.  Of the chord lattice it is true of all labellings of
all points for d up to 4, enumerated, and of no labelling of six points was it
seen to fail up to d = 2^14.  At larger d steps of 2**-bits grid units, bits =
(60 - 3 log2 d)/2, are too coarse for some: 8 of 1,860 labellings of six points,
half of them near a line, have no member at d = 2^17, 156 at 2^20
(benchmarks/sources.py, system 6).  A member within half a step everywhere in the
square there always is.

A convex polygon with rational corners is cut by halfplanes exactly, too.  Its corners are
homogeneous integers (U, V, W): one greatest common divisor a new corner, where fractions would
take one an operation.  Frames are the callers'.

The dual map: examples are lines, halfplanes are points, both ways and exactly.

Within a sheet the boundary of the halfplane (u, v) has, at abscissa t, the height
((c0 - c1*t)*u + t*v) / D (:attr:`HalfplaneLattice.basis`).  An example at abscissa
t and height s lies on it when

    (c0 - c1*t) * u + t * v = D * s,

its *dual line*, with non-negative coefficients of u and v.  A sheet that keeps the
upper side holds the example for dual points on or below that line, the others
for dual points on or above it.

Source: KMMS 2019, section 4.1, where (a, b) stands for the line y = a*x + b and a
point for b = y - x*a.  Chord coordinates are its image under b = u, a = (v - u)/d:
an affine map, so the arrangement is the same and areas keep their ratios.

Frames: *lattice* units are the integers u, v; *grid* units divide them by 2**bits
(heights in grid steps; in the paper's measure v becomes the slope a).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np

from geometry.arrays import Flags, Ints


class Region(Protocol):
    """A closed set of points with an exact test: a halfplane, a disc, a halfspace."""

    def contains(self, points: Ints, /) -> Flags:
        """Which points, shape (n, dimensions), lie in it: bool of shape (n,)."""


Measure = Literal["chord", "paper"]

#: Largest d for which 64-bit products stay exact.
MAX_D = 1 << 20

#: Largest d at which no labelling was found that a halfplane has and no member (module docstring).
FINE_D = 1 << 14


class Sheet(IntEnum):
    """How a halfplane is written: which axis its boundary runs along, which side it keeps."""

    FLAT_ABOVE = 0  #: y >= line(x)
    FLAT_BELOW = 1  #: y <= line(x)
    STEEP_RIGHT = 2  #: x >= line(y)
    STEEP_LEFT = 3  #: x <= line(y)

    @property
    def flat(self) -> bool:
        """True when the boundary is a height over the x axis."""
        return self < Sheet.STEEP_RIGHT

    @property
    def upper(self) -> bool:
        """True for the side that shrinks when u or v grows."""
        return self in (Sheet.FLAT_ABOVE, Sheet.STEEP_RIGHT)


@dataclass(frozen=True, slots=True)
class HalfplaneLattice:
    """The finite class of halfplanes on the grid {0..d}^2, with its base measure.

    Parameters
    ----------
    d : int
        Grid size; examples have integer coordinates in 0..d.
    measure : {"chord", "paper"}
        Coordinates and box of the dual plane (module docstring).
    bits : int, optional
        Lattice resolution: dual coordinates are multiples of 2**-bits.  By default
        the finest for which every product below stays under 2**62, at most 20.

    Raises
    ------
    ValueError
        If d is not in 1..MAX_D, the measure is unknown, or bits is too fine.
    """

    d: int
    measure: Measure = "chord"
    bits: int = -1

    def __post_init__(self) -> None:
        if not 1 <= self.d <= MAX_D:
            raise ValueError(
                f"grid size d = {self.d} is outside 1..{MAX_D}, where counting is exact; "
                "use a coarser grid"
            )
        if self.measure not in ("chord", "paper"):
            raise ValueError(f"unknown measure {self.measure!r}: use 'chord' or 'paper'")
        finest = self.finest_bits(self.d, self.measure)
        if self.bits == -1:
            object.__setattr__(self, "bits", finest)
        elif not 0 <= self.bits <= finest:
            raise ValueError(
                f"bits = {self.bits} is outside 0..{finest}, where 64-bit tests are exact"
            )

    @staticmethod
    def finest_bits(d: int, measure: Measure) -> int:
        """Finest resolution at which 64-bit integers hold every product.

        Crossings multiply c of one line by b of another.  chord: |c*b| <= 2 d^3 4^bits in the
        class and 4 d^3 4^bits at a corner of a box, where |u - v| may reach 2d: at most 2^62,
        and a difference of two at most 6 d^3 4^bits < 2^63.  paper: |c*b| <= 2 d^2 4^bits
        <= 2^59, and side tests reach a*x = 2 d^3 2^bits <= 2^61, which binds above d = 2^15.
        For d <= 2^20 there is always such a resolution, down to steps of one grid unit.
        """
        size = (d - 1).bit_length()
        if measure == "chord":
            return min(20, (60 - 3 * size) // 2)
        return min(20, (59 - 2 * size) // 2, 60 - 3 * size)

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """Sheets of this measure; all hold the same number of lattice points."""
        return tuple(Sheet) if self.measure == "chord" else (Sheet.FLAT_ABOVE, Sheet.FLAT_BELOW)

    @property
    def low(self) -> int:
        """Least lattice value of u and of v (inclusive)."""
        edge = self.d if self.measure == "chord" else 2 * self.d * self.d
        return -edge << self.bits

    @property
    def high(self) -> int:
        """Largest lattice value of u and of v (inclusive)."""
        edge = 2 * self.d if self.measure == "chord" else 2 * self.d * self.d
        return edge << self.bits

    @property
    def basis(self) -> tuple[int, int, int]:
        """(c0, c1, D): the boundary at abscissa t is ((c0 - c1*t)*u + t*v) / D."""
        if self.measure == "chord":
            return self.d, 1, self.d << self.bits
        return 1, 0, 1 << self.bits

    def admits(self, u: int, v: int) -> bool:
        """Whether the dual point carries base measure (the same for every sheet)."""
        if not (self.low <= u <= self.high and self.low <= v <= self.high):
            return False
        if self.measure == "paper":
            return True
        side = self.d << self.bits
        return abs(u - v) <= side and max(u, v) >= 0 and min(u, v) <= side

    @property
    def points_per_sheet(self) -> int:
        """Number of admitted lattice points in one sheet: the base measure's denominator."""
        if self.measure == "paper":
            return (self.high - self.low + 1) ** 2
        s = self.d << self.bits
        # each difference w = v - u in -s..s leaves s + |w| + 1 values of u
        return (s + 1) * (3 * s + 1)

    def halfplane(self, sheet: Sheet, u: int, v: int) -> Halfplane:
        """The halfplane at a dual lattice point.

        Raises
        ------
        ValueError
            If the sheet or the point does not belong to this measure.
        """
        if sheet not in self.sheets or not self.admits(u, v):
            raise ValueError(f"({sheet!r}, {u}, {v}) is not in the {self.measure} lattice")
        return Halfplane(self, Sheet(sheet), int(u), int(v))


@dataclass(frozen=True, slots=True)
class Halfplane:
    """A closed halfplane a*x + b*y >= c with integer coefficients, x and y in grid units.

    Parameters
    ----------
    lattice : HalfplaneLattice
        The class it belongs to.
    sheet : Sheet
        How (u, v) is read.
    u, v : int
        Dual lattice coordinates (see :class:`HalfplaneLattice`).
    """

    lattice: HalfplaneLattice
    sheet: Sheet
    u: int
    v: int

    @property
    def coefficients(self) -> tuple[int, int, int]:
        """Integers (a, b, c) with the halfplane = {a*x + b*y >= c}; points on the line belong."""
        c0, c1, scale = self.lattice.basis
        along, across, level = c1 * self.u - self.v, scale, c0 * self.u
        if not self.sheet.upper:
            along, across, level = -along, -across, -level
        return (along, across, level) if self.sheet.flat else (across, along, level)

    def contains(self, points: Ints) -> Flags:
        """Exact membership.

        Parameters
        ----------
        points : ndarray of int, shape (n, 2)
            Grid coordinates (x, y), each in 0..d.

        Returns
        -------
        ndarray of bool, shape (n,)
        """
        a, b, c = self.coefficients
        xy = np.asarray(points, dtype=np.int64)
        return np.asarray(a * xy[:, 0] + b * xy[:, 1] >= c)


#: Integers (a, b, c) of a closed side a*u + b*v >= c.
Inequality = tuple[int, int, int]
#: A rational point (U/W, V/W) as integers (U, V, W) without common factor, W > 0.
Vertex = tuple[int, int, int]


def reduced(u: int, v: int, w: int) -> Vertex:
    """Homogeneous coordinates without their common factor; w > 0."""
    common = math.gcd(u, v, w)
    return u // common, v // common, w // common


def side(inequality: Inequality, vertex: Vertex) -> int:
    """Positive, zero or negative as a*u + b*v - c is at the vertex."""
    a, b, c = inequality
    return a * vertex[0] + b * vertex[1] - c * vertex[2]


def clip(vertices: Sequence[Vertex], inequality: Inequality) -> tuple[Vertex, ...]:
    """The part of a convex polygon in a closed halfplane (Sutherland and Hodgman 1974).

    Parameters
    ----------
    vertices : sequence of (U, V, W)
        Counterclockwise, each once.
    inequality : (a, b, c)

    Returns
    -------
    tuple of (U, V, W)
        Counterclockwise, each once, without common factors where they are new.  A polygon that
        only touches the line leaves the corner or the edge on it, one beyond it nothing.

    Notes
    -----
    The figure is convex and signs are exact: one pass is complete, and a corner on the line is
    met once and never twice.
    """
    sides = [side(inequality, vertex) for vertex in vertices]
    if min(sides, default=0) >= 0:
        return tuple(vertices)
    kept: list[Vertex] = []
    for i, (here, at) in enumerate(zip(vertices, sides, strict=True)):
        before, was = vertices[i - 1], sides[i - 1]
        if at * was < 0:
            # the combination on which the inequality is an equality
            high, low = (abs(was), abs(at))
            kept.append(reduced(*(high * p + low * q for p, q in zip(here, before, strict=True))))
        if at >= 0:
            kept.append(here)
    return tuple(kept)


def clip_area(vertices: Sequence[Vertex], inequality: Inequality) -> tuple[Vertex, ...]:
    """As :func:`clip`, but nothing where no area is left, of a polygon that has some."""
    # its corners span it, so some area is left if and only if a corner is strictly inside
    if any(side(inequality, vertex) > 0 for vertex in vertices):
        return clip(vertices, inequality)
    return ()


def area(vertices: Sequence[Vertex]) -> Fraction:
    """Exact area of a polygon given counterclockwise (shoelace formula)."""
    twice = Fraction(0)
    for (u, v, w), (p, q, r) in zip(vertices, (*vertices[1:], *vertices[:1]), strict=True):
        twice += Fraction(u * q - p * v, w * r)
    return twice / 2


#: Integers (a, b, c) of a line a*u + b*v = c.
Line = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ConvexPart:
    """A convex part of the admitted dual points, in lattice units.

    Attributes
    ----------
    closed : tuple of (a, b, c)
        The part as a closed region of the plane, a*u + b*v >= c.  Parts overlap in
        edges only.
    lattice : tuple of (a, b, c)
        The lattice points that are counted to this part: each admitted lattice point
        belongs to exactly one part.  Same order and normals as `closed`.
    """

    closed: tuple[Inequality, ...]
    lattice: tuple[Inequality, ...]


def admitted_parts(lattice: HalfplaneLattice) -> tuple[ConvexPart, ...]:
    """The admitted region of any sheet, as convex parts.

    The paper's box is convex.  The chord region {|u - v| <= s, max(u, v) >= 0,
    min(u, v) <= s} is not: it is cut along u = v into two parallelograms.
    """
    if lattice.measure == "paper":
        low, high = lattice.low, lattice.high
        box = ((1, 0, low), (-1, 0, -high), (0, 1, low), (0, -1, -high))
        return (ConvexPart(box, box),)
    s = lattice.d << lattice.bits
    rising = ((0, 1, 0), (-1, 0, -s), (1, -1, -s))
    falling = ((1, 0, 0), (0, -1, -s), (-1, 1, -s))
    return (
        ConvexPart((*rising, (-1, 1, 0)), (*rising, (-1, 1, 0))),
        ConvexPart((*falling, (1, -1, 0)), (*falling, (1, -1, 1))),
    )


def dual_line(lattice: HalfplaneLattice, sheet: Sheet, point: tuple[int, int]) -> Line:
    """The dual line of a grid point.

    Parameters
    ----------
    lattice : HalfplaneLattice
    sheet : Sheet
    point : (x, y)
        Integers in 0..d.

    Returns
    -------
    (a, b, c) : tuple of int
        Lattice units; a, b >= 0, not both 0.

    Raises
    ------
    ValueError
        If the point is off the grid.
    """
    x, y = (int(coordinate) for coordinate in point)
    if not (0 <= x <= lattice.d and 0 <= y <= lattice.d):
        raise ValueError(f"point ({x}, {y}) is outside the grid 0..{lattice.d}")
    t, s = (x, y) if sheet.flat else (y, x)
    c0, c1, scale = lattice.basis
    return c0 - c1 * t, t, scale * s
