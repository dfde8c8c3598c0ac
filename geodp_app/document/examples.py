"""Holds labelled examples with their public frame: the size of the grid and its bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodp_app.formatting import counted
from geometry.arrays import Ints
from geometry.errors import InputError
from geometry.grid import Frame as Frame
from geometry.halfplane import FINE_D
from learners.privacy.randomness import SeededRandom, SystemRandom, words

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

    points: Ints
    labels: Ints
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


def hold_out(
    examples: Examples, share: float, seed: int | None = None
) -> tuple[Examples, Examples]:
    """Examples to learn from, and examples to test on.

    Each example is held out with probability `share`, independently of the others: then one
    example more or less changes one of the two parts by that example, and the learners' epsilon
    holds for all examples together.  Cutting off a fixed share would change both parts.  Raises
    InputError if either part is empty.
    """
    # a stream of its own: the learners draw from the seed's, samples from numpy's
    source = SystemRandom() if seed is None else SeededRandom(seed, "/holdout")
    held = (words(source, len(examples.labels)) >> np.uint64(11)) < share * 2.0**53
    if held.all() or not held.any():
        number = counted(len(held), "example")
        raise InputError(f"{number}: too few to hold some out to test on")
    points, labels = examples.points, examples.labels
    kept, tested = (
        replace(examples, points=points[part], labels=labels[part]) for part in (~held, held)
    )
    return kept, tested
