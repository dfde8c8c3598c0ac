"""What a selection is: one draw from the exponential mechanism over pieces.

A selection draws a piece theta (one halfplane, or three whose intersection is a
triangle) with probability proportional to mu(theta) * exp(rate * value(theta)),
mu uniform over the lattice of :mod:`geometry.halfplane` (a product of three for a
triangle), value the integer of :class:`learners.core.scores.Score`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from geometry.region import Region
from learners.core.scores import Score
from learners.privacy.randomness import RandomSource

#: Number of halfplanes whose intersection is one piece.
PIECE_SIZE = {"halfplane": 1, "triangle": 3}
PieceKind = Literal["halfplane", "triangle"]

#: Called now and then from inside a selection with what it has done so far; it may raise
#: Cancelled, and then nothing is released.
Watch = Callable[["SelectionProgress"], None]


#: A picture of each sheet, values of geometry.halfplane.Sheet: [i, j] in column i of u, row j of v.
SheetDensities = tuple[tuple[int, NDArray[np.float32]], ...]


class Cancelled(Exception):
    """The person asked to stop; nothing has been released."""


@dataclass(frozen=True, slots=True)
class HeavyBox:
    """A box of the envelope's partition that holds much of its mass (private).

    Attributes
    ----------
    sheets : tuple of int
        Values of geometry.halfplane.Sheet, one a halfplane of the piece.
    rectangles : tuple of (u0, u1, v0, v1)
        Dual points of each halfplane, half-open, in lattice units.
    share : float
        Of the envelope's mass, 0..1.
    """

    sheets: tuple[int, ...]
    rectangles: tuple[tuple[int, int, int, int], ...]
    share: float


@dataclass(frozen=True, slots=True)
class SelectionProgress:
    """How far a selection is (private: for the curator's eyes only).

    Attributes
    ----------
    trials, boxes : int
        Trials made and boxes of the partition so far (cells, for the arrangement).
    log_mass : float
        Natural log of the envelope's mass relative to the base measure.
    heaviest : callable or None
        heaviest(count) looks up that many of the heaviest boxes, heaviest first.  It reads the
        sampler's own tables and keeps them in memory: call it from inside the watch, or drop it
        before the next selection.  None when there is no partition.
    density : callable or None
        density(resolution) tells where the piece's halfplanes may still lie
        (:func:`learners.envelope.views.edge_density`); it reads the same tables.
    amid : bool
        Told while threads are at work, so that a cancel is heard soon: the numbers are those that
        were told before, and there is nothing to look at.
    """

    trials: int
    boxes: int
    log_mass: float
    heaviest: Callable[[int], tuple[HeavyBox, ...]] | None = field(
        default=None, compare=False, repr=False
    )
    density: Callable[[int], SheetDensities] | None = field(default=None, compare=False, repr=False)
    amid: bool = False

    def work(self) -> dict[str, float]:
        """Its numbers by name, as a step's diagnostics keep them."""
        return {"trials": self.trials, "boxes": self.boxes, "log_mass": self.log_mass}


@dataclass(frozen=True, slots=True)
class Selected:
    """A drawn piece and what the curator may know about the draw.

    `progress.heaviest` holds a few final boxes of a selection that was watched, and no tables;
    `inside` is the label that the piece gives its inside.
    """

    piece: tuple[Region, ...]
    progress: SelectionProgress
    details: dict[str, Any] = field(default_factory=dict)
    inside: bool = True


class Sampler(Protocol):
    """A sampler of the exponential mechanism over a finite class of pieces.

    Its law may be off by what :mod:`learners.privacy.accounting` charges for arithmetic, and no
    more.
    """

    def select(
        self,
        counts: GridCounts,
        score: Score,
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
    ) -> Selected:
        """Draw one piece.

        Parameters
        ----------
        counts : GridCounts
            Alive examples, on the grid of the class.
        score : Score
        rate : float
            Nats per unit of the integer score (eta / k for eta per example).
        source : RandomSource
        watch : callable, optional
            Progress and cancel.
        """


class Selection(Sampler, Protocol):
    """A sampler of pieces made of halfplanes."""

    @property
    def lattice(self) -> HalfplaneLattice:
        """The class of halfplanes and its base measure."""

    @property
    def piece(self) -> PieceKind:
        """What kind of piece is drawn: a halfplane or a triangle."""


def check_max_boxes(max_boxes: int) -> None:
    """Refuse more boxes than the proof of the samplers' arithmetic assumes.

    Raises
    ------
    ValueError
        If it does not lie in 1..2**22.
    """
    if not 1 <= max_boxes <= 1 << 22:
        raise ValueError(f"max_boxes must lie in 1..{1 << 22}, got {max_boxes}")
