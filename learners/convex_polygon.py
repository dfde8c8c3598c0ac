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

from geometry.grid import Box
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice, Measure
from learners.accounting import Neighbours
from learners.convex_fit import fit_convex
from learners.cover_run import SelectionName, plane_cover
from learners.estimator import Estimator, Run, Stream
from learners.records import StepRecord, StepRelease, TileStep
from learners.releases import TilesRelease
from learners.scores import Role, mistakes_score
from learners.selection import PieceKind, Selected, SelectionProgress, Watch
from learners.set_cover import Cover, Pieces
from learners.sklearn_support import keyword_parameters
from learners.tile_run import tile_run


@keyword_parameters()
class ConvexPolygonLearner(Estimator):
    """(epsilon, delta)-private learner of a convex polygon.

    Parameters that are not listed are those of
    :class:`learners.polygon_union.PolygonUnionLearner`.

    Parameters
    ----------
    k : int, optional
        Edges of a good polygon.  By default none are assumed, and the run goes by tiles.
    n_steps : int, optional
        Halfplanes of a run with `k`.  By default 1 for k = 1, else 3k, or with `alpha` the source's
        ceil(2k ln(2/alpha)).

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

    epsilon: float = 1.0
    delta: float = 1e-6
    k: Pieces | None = None
    grid: int = 1024
    bounds: Box | None = None
    tiles: int | None = None
    edges: int = 2
    n_steps: int | None = None
    alpha: float | None = None
    beta: float = 0.1
    neighbours: Neighbours = "add-remove"
    measure: Measure = "chord"
    selection: SelectionName = "envelope"
    seed: int | None = None

    def _planned(self) -> Run:
        if self.k is not None:
            return plane_cover(self, self.k)
        by_tiles = tile_run(self)

        def begin(counts: GridCounts, watch: Watch | None) -> Stream:
            tiles = by_tiles.begin(counts, watch)
            lattice = HalfplaneLattice(self.grid, self.measure)
            return Stream(fitted_edges(tiles, counts, lattice), lattice, tiles.parameters)

        return Run(by_tiles.spent, begin)


def fitted_edges(
    by_tiles: Stream, counts: GridCounts, lattice: HalfplaneLattice
) -> Iterator[StepRecord]:
    """Learn all tiles, then one record for each edge of the polygon fitted to them."""
    started = time.perf_counter()
    trials, boxes, tiles = 0, 0, []
    for record in by_tiles.records:
        assert isinstance(record.release, TileStep)
        tiles.append(record.release)
        trials += record.diagnostics.trials
        boxes += record.diagnostics.boxes
    assert isinstance(by_tiles.lattice, HalfplaneLattice)
    tiled = TilesRelease("", by_tiles.lattice, (), None, tuple(tiles))
    edges = fit_convex(lattice, tiled.predict)
    cover = Cover(counts, "conjunction")
    for number, edge in enumerate(edges, start=1):
        # the tiles' work is the first edge's; each edge has the score of what is left
        progress = SelectionProgress(trials, boxes, float("nan"))
        score = mistakes_score(counts.where(cover.alive).positives)
        diagnostics = cover.take(Selected((edge,), progress), score, started)
        yield StepRecord(number, len(edges), StepRelease((edge,), None), diagnostics)
        started, trials, boxes = time.perf_counter(), 0, 0
