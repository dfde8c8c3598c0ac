"""What a curator may watch of a run by votes: where the chunks agree, and what has been asked.

The answers are published in the end; the margins are private.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.selection import SelectionProgress

#: Places along a side of the square at which the vote is counted.
PLACES = 65


@dataclass(frozen=True, slots=True, eq=False)
class VoteView:
    """The state of a run by votes.

    Attributes
    ----------
    chunks : int
        K.
    margins : ndarray of float64, shape (PLACES, PLACES)
        (votes for 1 - votes for 0) / K, in -1..1; [i, j] at abscissa i d / (PLACES - 1) and
        ordinate j d / (PLACES - 1).
    asked : ndarray of int64, shape (m, 2)
        Public points asked so far, grid units.
    answers : ndarray of int8, shape (m,)
        1 or 0, or -1 for ⊥.
    halts_left, queries_left : int
        Of the budget.
    """

    chunks: int
    margins: NDArray[np.float64]
    asked: NDArray[np.int64]
    answers: NDArray[np.int8]
    halts_left: int
    queries_left: int


@dataclass(frozen=True, slots=True)
class VoteProgress(SelectionProgress):
    """Progress of a run by votes: `trials` of `boxes` chunks are trained, then points are asked."""

    votes: VoteView | None = None


def places(d: int) -> NDArray[np.int64]:
    """The grid points (PLACES^2, 2) at which margins are counted, nearest to a regular raster."""
    axis = np.rint(np.linspace(0, d, PLACES)).astype(np.int64)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
