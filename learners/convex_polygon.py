"""Private learner of convex polygons, by tiles or by the greedy cover of KMMS theorem 4.7.

Without `k` a region is learned by tiles (:mod:`learners.tiles`), and the convex polygon that
agrees with it best is fitted (:mod:`learners.convex_fit`).  The fit sees the region alone, so it
costs no privacy.

With `k`, the number of edges, each step selects a halfplane by the exponential mechanism over the
dual plane (KMMS SelectHalfplane, lemma 4.6); the hypothesis is their intersection.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import ClassVar

from geometry.halfplane import HalfplaneLattice
from learners.convex_fit import fit_convex
from learners.records import StepRecord, StepRelease, TileStep
from learners.releases import MosaicRelease
from learners.scores import Role, mistakes_score
from learners.selection import PieceKind, Selected, SelectionProgress
from learners.set_cover import Cover
from learners.tile_estimator import TileEstimator, TileRun


class ConvexPolygonLearner(TileEstimator):
    """(epsilon, delta)-private learner of a convex polygon; parameters as in the base class.

    With `k` that many edges are assumed.

    Attributes
    ----------
    release_ : CoverRelease
        What may be published.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 40)
    >>> y = ((X > 3) & (X < 13)).all(axis=1).astype(int)
    >>> ConvexPolygonLearner(grid=16, seed=7).fit(X, y).score(X, y) > 0.99
    True
    >>> ConvexPolygonLearner(k=4, grid=16, seed=7).fit(X, y).score(X, y) > 0.95
    True
    """

    role: ClassVar[Role] = "conjunction"
    piece: ClassVar[PieceKind] = "halfplane"

    def _by_tiles(self, run: TileRun) -> Iterator[StepRecord]:
        lattice = HalfplaneLattice(self.grid, self.measure)
        return self._publish(self._edges(run, lattice), lattice, run.parameters, run.budget.spent)

    def _edges(self, run: TileRun, lattice: HalfplaneLattice) -> Iterator[StepRecord]:
        """Learn all tiles, then one record for each edge of the polygon fitted to them."""
        started = time.perf_counter()
        trials, boxes, tiles = 0, 0, []
        for record in run.steps():
            assert isinstance(record.release, TileStep)
            tiles.append(record.release)
            trials += record.diagnostics.trials
            boxes += record.diagnostics.boxes
        mosaic = MosaicRelease("", run.lattice, run.parameters, None, tuple(tiles))
        edges = fit_convex(lattice, mosaic.predict)
        cover = Cover(run.counts, self.role)
        for number, edge in enumerate(edges, start=1):
            # the tiles' work is the first edge's; what is left of the score is a matter of books
            progress = SelectionProgress(trials, boxes, float("nan"))
            score = mistakes_score(run.counts.where(cover.alive).positives)
            diagnostics = cover.take(Selected((edge,), progress), score, started)
            yield StepRecord(number, len(edges), StepRelease((edge,), None), diagnostics)
            started, trials, boxes = time.perf_counter(), 0, 0
