"""The dual map: examples are lines, halfplanes are points, both ways and exactly.

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

from dataclasses import dataclass

from geometry.halfplane import HalfplaneLattice, Inequality, Sheet

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
