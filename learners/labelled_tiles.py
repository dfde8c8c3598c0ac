"""Step records of tiles that have one label each, for learners that label all of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts
from geometry.tiling import Tile
from learners.records import StepDiagnostics, StepRecord, TileStep


def labelled_steps(
    tiles: Sequence[Tile],
    inside: NDArray[np.bool_],
    owner: NDArray[np.int64],
    counts: GridCounts,
    seconds: float,
) -> Iterator[StepRecord]:
    """One record a tile, as the tile learner's; tiles to come count as labelled 0.

    Parameters
    ----------
    tiles : sequence of Tile
        They hold every grid point once.
    inside : ndarray of bool, shape (len(tiles),)
        The tiles' labels.
    owner : ndarray of int64, shape (m,)
        The tile that holds each entry.
    counts : GridCounts
        The examples, m entries.
    seconds : float
        Wall time of the whole run; each record is given an equal part.
    """
    count = len(tiles)
    negatives, positives = counts.by_group(owner, count)
    taken, wrong = positives * inside, negatives * inside
    false_positives = np.cumsum(wrong)
    false_negatives = counts.positives - np.cumsum(taken)
    n = max(1, counts.n)
    for i, tile in enumerate(tiles):
        diagnostics = StepDiagnostics(
            positives_alive=int(positives[i]),
            negatives_alive=int(negatives[i]),
            positives_taken=int(taken[i]),
            negatives_taken=int(wrong[i]),
            score=float(taken[i] - positives[i] - wrong[i]),
            empirical_error=float(false_positives[i] + false_negatives[i]) / n,
            false_positive_rate=float(false_positives[i]) / n,
            false_negative_rate=float(false_negatives[i]) / n,
            seconds=seconds / count,
            trials=0,
            boxes=0,
            log_mass=0.0,
        )
        yield StepRecord(i + 1, count, TileStep(tile, (), bool(inside[i])), diagnostics)
