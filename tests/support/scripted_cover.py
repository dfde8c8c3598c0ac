"""A selection that takes the pieces it is given, in place of one that draws."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from counted import counted
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice, Sheet
from learners.core.records import Piece, StepRecord
from learners.core.selection import PieceKind, Role, Score, Selected, SelectionProgress, Watch
from learners.cover.set_cover import Budget, Pieces, private_steps
from learners.privacy.randomness import RandomSource

LATTICE = HalfplaneLattice(8, bits=2)


@dataclass
class Script:
    """A selection that takes the given pieces in turn and notes what it was asked."""

    pieces: Sequence[Piece]
    lattice: HalfplaneLattice = LATTICE
    piece: PieceKind = "triangle"
    asked: list[tuple[GridCounts, Score, float]] = field(default_factory=list)

    def select(
        self,
        counts: GridCounts,
        score: Score,
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
    ) -> Selected:
        piece = self.pieces[len(self.asked)]
        self.asked.append((counts, score, rate))
        return Selected(piece, SelectionProgress(5, 7, -1.5))


def covered(
    sample: tuple[Any, Any],
    selection: Script,
    plan: Budget,
    source: RandomSource,
    role: Role = "disjunction",
    k: Pieces = 2,
    **more: Any,
) -> Iterator[StepRecord]:
    """The engine's run on a sample."""
    counts = counted(*sample, LATTICE.d)
    return private_steps(
        counts, role=role, k=k, budget=plan, selection=selection, source=source, **more
    )


def sample(seed: int, n: int = 60) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, LATTICE.d + 1, (n, 2)), rng.random(n) < 0.6


def random_pieces(seed: int, number: int, size: int) -> list[Piece]:
    rng = np.random.default_rng(seed)
    pieces = []
    while len(pieces) < number:
        found: list[tuple[Sheet, int, int]] = []
        while len(found) < size:
            u, v = (int(c) for c in rng.integers(LATTICE.low, LATTICE.high + 1, 2))
            if LATTICE.admits(u, v):
                found.append((Sheet(int(rng.integers(0, 4))), u, v))
        pieces.append(tuple(LATTICE.halfplane(*one) for one in found))
    return pieces
