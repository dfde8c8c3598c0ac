"""What a selection is: one draw from the exponential mechanism over pieces.

A selection draws a piece theta (one halfplane, or three whose intersection is a
triangle) with probability proportional to mu(theta) * exp(rate * value(theta)),
mu uniform over the lattice of :mod:`geometry.halfplane` (a product of three for a
triangle), value the integer of :class:`learners.scores.Score`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from geometry.halfplane import Halfplane, HalfplaneLattice
from learners.randomness import RandomSource
from learners.scores import Score

#: Number of halfplanes whose intersection is one piece.
PIECE_SIZE = {"halfplane": 1, "triangle": 3}
PieceKind = Literal["halfplane", "triangle"]

#: Called now and then from inside a selection with what it has done so far; it may raise
#: Cancelled, and then nothing is released.
Watch = Callable[["SelectionProgress"], None]


class Cancelled(Exception):
    """The person asked to stop; nothing has been released."""


@dataclass(frozen=True, slots=True)
class SelectionProgress:
    """How far a selection is (private: for the curator's eyes only).

    Attributes
    ----------
    trials, boxes : int
        Trials made and boxes of the partition so far (cells, for the arrangement).
    log_mass : float
        Natural log of the envelope's mass relative to the base measure.
    """

    trials: int
    boxes: int
    log_mass: float


@dataclass(frozen=True, slots=True)
class Selected:
    """A drawn piece and what the curator may know about the draw."""

    piece: tuple[Halfplane, ...]
    progress: SelectionProgress
    details: dict[str, Any] = field(default_factory=dict)


class Selection(Protocol):
    """An exact sampler of the exponential mechanism over one kind of piece."""

    @property
    def lattice(self) -> HalfplaneLattice:
        """The class of halfplanes and its base measure."""

    @property
    def piece(self) -> PieceKind:
        """What is drawn."""

    def select(
        self,
        points: NDArray[np.int64],
        labels: NDArray[np.bool_],
        score: Score,
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
    ) -> Selected:
        """Draw one piece.

        Parameters
        ----------
        points : ndarray of int64, shape (n, 2)
            Alive examples, grid coordinates in 0..d.
        labels : ndarray of bool, shape (n,)
        score : Score
        rate : float
            Nats per unit of the integer score (eta / k for eta per example).
        source : RandomSource
        watch : callable, optional
            Progress and cancel.
        """
