"""Audits by canaries (:mod:`benchmarks.audits.one_run`): learners that speak of every place.

A canary is a positive example at the middle of a cell or tile of its own; nothing else is in the
sample.  It is guessed to be in where the release says 1, and out where it says 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.audits.events import Auditable
from benchmarks.audits.one_run import CanaryAudit, audit_canaries
from benchmarks.audits.subjects import DELTA, EPSILON, numbered
from geometry.tiling import tile_square
from learners import NoisyHistogramLearner, PolygonUnionLearner, QuadtreeLearner
from learners.privacy.randomness import open_source

#: Grid, and cells or tiles along a side, a canary in each.
_GRID, _CELLS = 255, 32
_TILES = 20


def _cells(smooth: bool) -> Callable[[int | None], Auditable]:
    return lambda seed: NoisyHistogramLearner(
        grid=_GRID, cells=_CELLS, smooth=smooth, epsilon=EPSILON, seed=seed
    )


def _tiles(seed: int | None) -> Auditable:
    return PolygonUnionLearner(grid=_GRID, tiles=_TILES, epsilon=EPSILON, delta=DELTA, seed=seed)


def _tree(seed: int | None) -> Auditable:
    return QuadtreeLearner(grid=_GRID, epsilon=EPSILON, seed=seed)


#: Learner and places along a side, by name.
LEARNERS: dict[str, tuple[Callable[[int | None], Auditable], int]] = {
    "plain histogram": (_cells(False), _CELLS),
    "interpolated histogram": (_cells(True), _CELLS),
    "tiles": (_tiles, _TILES),
    "quadtree": (_tree, _TILES),
}


def audit(name: str, seed: int | None, runs: int = 1) -> CanaryAudit:
    """Audit one of :data:`LEARNERS`."""
    make, per_side = LEARNERS[name]
    tiles = tile_square(_GRID, per_side)
    places = np.array([[(t.x0 + t.x1) // 2, (t.y0 + t.y1) // 2] for t in tiles], dtype=np.int64)

    def guess(release: Any) -> Any:
        outcome = release.predict(places).astype(np.int64)
        # an empty tile is 1 as often as 0, so 1 tells little
        return outcome - 1 if name == "tiles" else 2 * outcome - 1

    canaries = places, np.ones(len(places), dtype=np.int64)
    return audit_canaries(numbered(seed, make), canaries, guess, open_source(seed), runs=runs)
