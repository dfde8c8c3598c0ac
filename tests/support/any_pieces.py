"""Halfplanes of a lattice: what they hold by definition, all of them, or some drawn at random."""

from fractions import Fraction
from functools import cache

import numpy as np

from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet

Piece = tuple[Halfplane, ...]


def boundary(lattice: HalfplaneLattice, u: int, v: int, t: int) -> Fraction:
    """Height of the boundary at abscissa t, grid units, straight from the definition."""
    start, end = Fraction(u, 2**lattice.bits), Fraction(v, 2**lattice.bits)
    if lattice.measure == "paper":
        return start + end * t
    return start + (end - start) * Fraction(t, lattice.d)


def holds(halfplane: Halfplane, x: int, y: int) -> bool:
    """Membership from the definition: a closed side of the boundary."""
    t, s = (x, y) if halfplane.sheet.flat else (y, x)
    height = boundary(halfplane.lattice, halfplane.u, halfplane.v, t)
    above = halfplane.sheet in (Sheet.FLAT_ABOVE, Sheet.STEEP_RIGHT)
    return s >= height if above else s <= height


@cache
def all_halfplanes(lattice: HalfplaneLattice) -> list[Halfplane]:
    """The whole class, sheet by sheet, by trying every pair of coordinates."""
    span = range(lattice.low, lattice.high + 1)
    admitted = [(u, v) for u in span for v in span if lattice.admits(u, v)]
    return [lattice.halfplane(sheet, u, v) for sheet in lattice.sheets for u, v in admitted]


def any_halfplane(lattice: HalfplaneLattice, rng: np.random.Generator) -> Halfplane:
    while True:
        u, v = rng.integers(lattice.low, lattice.high + 1, 2).tolist()
        if lattice.admits(u, v):
            return lattice.halfplane(rng.choice(lattice.sheets), u, v)


def any_pieces(
    lattice: HalfplaneLattice, count: int, seed: int, edges: int = 3
) -> tuple[Piece, ...]:
    rng = np.random.default_rng(seed)
    return tuple(tuple(any_halfplane(lattice, rng) for _ in range(edges)) for _ in range(count))
