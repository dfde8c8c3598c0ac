"""Makes the step records of runs that label all tiles at once."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from geometry.tiling import Tile
from learners.core.estimator import Stream
from learners.core.records import Mistakes, StepRecord, TileStep
from learners.core.selection import SelectionProgress


def labelled_stream(
    boxes: NDArray[np.int64],
    inside: NDArray[np.bool_],
    owner: NDArray[np.int64],
    counts: GridCounts,
    started: float,
    parameters: tuple[tuple[str, int | bool], ...] = (),
) -> Stream:
    """One record a tile, as the tile learner's; tiles to come count as labelled 0.

    `boxes`, int64 of shape (t, 4), are x0, y0, x1, y1 of each tile, both ends included: they hold
    every grid point once.  `inside`, bool of shape (t,), are their labels; `owner`, int64 of shape
    (m,), is the tile that holds each of the m entries.  The run began at `started`, by
    `time.perf_counter`: each record is given an equal part of its time.  `parameters` are the run's
    public ones.
    """
    tiles = [Tile(counts.d, *box) for box in boxes.tolist()]
    count, seconds = len(tiles), time.perf_counter() - started

    def records() -> Iterator[StepRecord]:
        held, mistakes = counts.by_group(owner, count).T.tolist(), Mistakes(counts, False)
        order = np.argsort(owner, kind="stable")
        rows = np.split(order, np.searchsorted(owner[order], np.arange(1, count)))
        for i, tile in enumerate(tiles):
            negatives, positives = held[i]
            wrong, taken = (negatives, positives) if inside[i] else (0, 0)
            mistakes.relabel(rows[i], bool(inside[i]))
            diagnostics = mistakes.diagnostics(
                (negatives, positives),
                (wrong, taken),
                score=float(taken - positives - wrong),
                seconds=seconds / count,
                **SelectionProgress(0, 0, 0.0).work(),
            )
            yield StepRecord(i + 1, count, TileStep(tile, (), bool(inside[i])), diagnostics)

    widest = max(1, int((boxes[:, 2:] - boxes[:, :2]).max()))
    return Stream(records(), HalfplaneLattice(widest), parameters)
