"""Private learner of unions of polygons, by tiles or by the greedy cover of KMMS theorem 5.1.

Without `k` the square is divided into tiles, and each learns a labelled piece of at most two
edges with the whole epsilon (:mod:`learners.tiles`): what to use when nothing is known of the
shape.

With `k` the hypothesis is a union of triangles, selected one after the other (KMMS; a union of
polygons with k edges is a union of at most k triangles).  KMMS select among the n^6 triples of
cells; the envelope sampler draws from a lattice of halfplanes without enumerating it.
"""

from __future__ import annotations

from collections.abc import Iterator

from learners.records import StepRecord
from learners.scores import Role
from learners.selection import PieceKind
from learners.tile_estimator import TileEstimator, TileRun


class PolygonUnionLearner(TileEstimator):
    """(epsilon, delta)-private learner of a union of polygons; parameters as in the base class.

    With `k` that many triangles are taken to cover the region.

    Attributes
    ----------
    release_ : MosaicRelease or, with `k`, CoverRelease
        What may be published.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 40)
    >>> y = (X[:, 0] + X[:, 1] <= 14).astype(int)
    >>> model = PolygonUnionLearner(grid=16, seed=7).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    >>> model.privacy_.epsilon, model.privacy_.private
    (1.0, False)
    >>> PolygonUnionLearner(k=1, grid=16, seed=7).fit(X, y).score(X, y) > 0.95
    True
    """

    role: Role = "disjunction"
    piece: PieceKind = "triangle"

    def _by_tiles(self, run: TileRun) -> Iterator[StepRecord]:
        return self._publish(run.steps(), run.lattice, run.parameters, run.budget.spent)
