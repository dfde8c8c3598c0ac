"""Defines discs and ellipses on the grid, exact in integers, as halfspaces of a lifted space.

KMMS close with linearization: a concept bounded by a polynomial of low degree is a halfspace
after a map of the points into more dimensions.

    disc      a*x + b*y + x^2 + y^2 <= c                 through (x, y) -> (x, y, x^2 + y^2)
    ellipse   a*x + b*y + e*x^2 + f*x*y + g*y^2 <= c     through (x, y) -> (x, y, x^2, x*y, y^2)

The halfspaces are not enumerated by their own coefficients here: members of the class are written
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
d <= 2048.  Points on the boundary belong to the shape.

Shapes for drawing and export have chords in place of arcs (:meth:`Conic.polygon`).  Labels are
decided by the integer tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import Polygon
from shapely.geometry.base import BaseGeometry

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

    def contains(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Exact membership.

        Returns ndarray of bool, shape (n,).

        Parameters
        ----------
        points : ndarray of int, shape (n, 2)
            Grid coordinates (x, y), each in 0..d.
        """
        xy = np.asarray(points, dtype=np.int64) << self.lattice.bits
        inside: NDArray[np.bool_]
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

        Its corners lie on the boundary, and no chord is farther than 1/64 of a grid unit from
        its arc.
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
