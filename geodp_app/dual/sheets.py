"""Tells how one sheet, a chart of the dual plane, is drawn: its words, its region, windows onto it.

Frame: grid units, floats (lattice units / 2**bits; :mod:`geometry.halfplane`).  Floats only draw:
what is chosen or counted is decided on the lattice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import shapely
from shapely.geometry import Polygon

from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet


@dataclass(frozen=True, slots=True)
class SheetWords:
    """What a person reads on a sheet: its name, what a point is, what the axes are."""

    name: str
    meaning: str
    across: str
    up: str


_NAMES = {
    Sheet.FLAT_ABOVE: ("Above", "halfplanes above a line"),
    Sheet.FLAT_BELOW: ("Below", "halfplanes below a line"),
    Sheet.STEEP_RIGHT: ("Right", "halfplanes right of a steep line"),
    Sheet.STEEP_LEFT: ("Left", "halfplanes left of a steep line"),
}


def sheet_words(lattice: HalfplaneLattice, sheet: Sheet) -> SheetWords:
    """Words of a sheet in the lattice's measure."""
    name, meaning = _NAMES[sheet]
    if lattice.measure == "paper":
        return SheetWords(name, meaning, "height at the left edge, b", "slope of the line, a")
    if sheet.flat:
        return SheetWords(name, meaning, "height at the left edge", "height at the right edge")
    return SheetWords(name, meaning, "x at the bottom edge", "x at the top edge")


@dataclass(frozen=True, slots=True)
class Window:
    """A rectangle of dual points, u0 <= u <= u1 and v0 <= v <= v1, in grid units."""

    u0: float
    u1: float
    v0: float
    v1: float

    @property
    def width(self) -> float:
        """The window's extent in u, in dual units."""
        return self.u1 - self.u0

    @property
    def height(self) -> float:
        """The window's extent in v, in dual units."""
        return self.v1 - self.v0

    def grown(self, share: float) -> Window:
        """The window with `share` of its size added on each side."""
        du, dv = share * self.width, share * self.height
        return Window(self.u0 - du, self.u1 + du, self.v0 - dv, self.v1 + dv)

    def within(self, other: Window) -> Window:
        """The common part, or an empty window on the border of `other`."""
        u0, u1 = (min(max(u, other.u0), other.u1) for u in (self.u0, self.u1))
        v0, v1 = (min(max(v, other.v0), other.v1) for v in (self.v0, self.v1))
        return Window(u0, u1, v0, v1)

    def holds(self, u: float, v: float) -> bool:
        """Whether a dual point lies in it."""
        return self.u0 <= u <= self.u1 and self.v0 <= v <= self.v1


def extent(lattice: HalfplaneLattice) -> Window:
    """The square that holds the region of any sheet."""
    unit = 1 << lattice.bits
    low, high = lattice.low / unit, lattice.high / unit
    return Window(low, high, low, high)


def region(lattice: HalfplaneLattice) -> Polygon:
    """The admitted dual points of any sheet, closed (:meth:`HalfplaneLattice.admits`)."""
    d = lattice.d
    if lattice.measure == "paper":
        e = extent(lattice)
        return shapely.box(e.u0, e.v0, e.u1, e.v1)
    return Polygon([(-d, 0), (0, 0), (0, -d), (2 * d, d), (d, d), (d, 2 * d)])


def nearest_halfplane(
    lattice: HalfplaneLattice, sheet: Sheet, u: float, v: float
) -> Halfplane | None:
    """The halfplane at the lattice point nearest to (u, v); None outside the region.

    On the border of the region, where rounding may leave it, the nearest of the four lattice
    points around is taken that is admitted.
    """
    unit = 1 << lattice.bits
    x, y = u * unit, v * unit
    if not (math.isfinite(x) and math.isfinite(y)):
        return None
    around = [(i, j) for i in (math.floor(x), math.ceil(x)) for j in (math.floor(y), math.ceil(y))]
    admitted = [point for point in around if lattice.admits(*point)]
    if not admitted or sheet not in lattice.sheets:
        return None
    nearest = min(admitted, key=lambda p: (p[0] - x) ** 2 + (p[1] - y) ** 2)
    return lattice.halfplane(sheet, *nearest)


def dual_position(halfplane: Halfplane) -> tuple[float, float]:
    """(u, v) of a halfplane in grid units."""
    unit = 1 << halfplane.lattice.bits
    return halfplane.u / unit, halfplane.v / unit


def boundary_ends(halfplane: Halfplane) -> tuple[float, float]:
    """Heights of the boundary at the two edges of the square; for steep sheets they run along x."""
    u, v = dual_position(halfplane)
    if halfplane.lattice.measure == "chord":
        return u, v
    return u, u + v * halfplane.lattice.d


def equation_words(halfplane: Halfplane, digits: int = 1) -> str:
    """The halfplane in words, such as ``y ≥ line from (0, 312.4) to (1024, 77.0)``."""
    d, (first, last) = halfplane.lattice.d, boundary_ends(halfplane)
    one, two = number(first, digits), number(last, digits)
    sign = "≥" if halfplane.sheet.upper else "≤"
    if halfplane.sheet.flat:
        return f"y {sign} line from (0, {one}) to ({d}, {two})"
    return f"x {sign} line from ({one}, 0) to ({two}, {d})"


def number(value: float, digits: int) -> str:
    """A number with that many digits after the point, with a true minus sign and no minus zero."""
    text = f"{value:,.{digits}f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def digits_for(step: float) -> int:
    """Digits after the point that tell values `step` apart; 1 to 9."""
    if not step > 0:
        return 1
    return min(max(1, math.ceil(-math.log10(step))), 9)
