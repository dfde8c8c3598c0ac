"""Holds labelled examples with their public frame: the size of the grid and its bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geometry.grid import Frame as Frame
from geometry.halfplane import FINE_D

DEFAULT_GRID = 1024

#: What to know where d is chosen (docs: geometry/halfplane.py).
LARGE_GRIDS = f"above {FINE_D:,} edges fit less exactly than the grid could tell"


@dataclass(frozen=True, slots=True)
class Examples:
    """Labelled grid points: private data.

    Attributes
    ----------
    points : ndarray of int64, shape (n, 2)
        Grid coordinates (x, y) in 0..d.
    labels : ndarray of int64, shape (n,)
        0 or 1.
    frame : Frame
    unit : str or None
        Whose these are, where a person has so many as `rows`: the name of the column that said so.
    source : str or None
        Path of the file that they were read from in Python: runs on them join a ledger beside it.
    rows : int
        Of each person.
    """

    points: NDArray[np.int64]
    labels: NDArray[np.int64]
    frame: Frame
    unit: str | None = None
    source: str | None = None
    rows: int = 1

    def __repr__(self) -> str:  # points, labels and their number are private
        where = "" if self.frame.bounds is None else f", {self.frame.bounds}"
        return f"<Examples on the grid 0..{self.frame.d}{where}: private data>"


def count_mistakes(predicted: NDArray[np.generic], labels: NDArray[np.generic]) -> tuple[int, int]:
    """How many are predicted 1 though 0, and how many 0 though 1."""
    return (
        int(np.count_nonzero((predicted == 1) & (labels == 0))),
        int(np.count_nonzero((predicted == 0) & (labels == 1))),
    )
