"""Runs that label all tiles at once: their step records."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from geometry.tiling import Tile
from learners.estimator import Stream
from learners.records import StepDiagnostics, StepRecord, TileStep


def labelled_stream(
    boxes: NDArray[np.int64],
    inside: NDArray[np.bool_],
    owner: NDArray[np.int64],
    counts: GridCounts,
    started: float,
    parameters: tuple[tuple[str, int | bool], ...] = (),
) -> Stream:
    """One record a tile, as the tile learner's; tiles to come count as labelled 0.

    Parameters
    ----------
    boxes : ndarray of int64, shape (t, 4)
        x0, y0, x1, y1 of each tile, both ends included; they hold every grid point once.
    inside : ndarray of bool, shape (t,)
        The tiles' labels.
    owner : ndarray of int64, shape (m,)
        The tile that holds each entry.
    counts : GridCounts
        The examples, m entries.
    started : float
        When the run began, by `time.perf_counter`; each record is given an equal part of its time.
    parameters : tuple of (str, value)
        Public parameters of the run.
    """
    tiles = [Tile(counts.d, *box) for box in boxes.tolist()]
    widest = max(1, int((boxes[:, 2:] - boxes[:, :2]).max()))
    records = _records(tiles, inside, owner, counts, time.perf_counter() - started)
    return Stream(records, HalfplaneLattice(widest), parameters)


def _records(
    tiles: list[Tile],
    inside: NDArray[np.bool_],
    owner: NDArray[np.int64],
    counts: GridCounts,
    seconds: float,
) -> Iterator[StepRecord]:
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
