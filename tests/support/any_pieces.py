"""Pieces of a lattice drawn at random."""

from __future__ import annotations

import numpy as np

from geometry.halfplane import Halfplane, HalfplaneLattice

Piece = tuple[Halfplane, ...]


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
