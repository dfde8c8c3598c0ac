"""Learners of polygons, one of each kind."""

from __future__ import annotations

import learners
from learners.estimator import Estimator


def every_learner() -> list[Estimator]:
    return [
        learners.PolygonUnionLearner(grid=16, seed=1),
        # one tile: scikit-learn's blobs lie in a corner, whatever the seed is
        learners.ConvexPolygonLearner(grid=16, tiles=1, seed=1),
        learners.NoisyHistogramLearner(grid=16, seed=1),
        learners.QuadtreeLearner(grid=16, seed=1),
        learners.GreedyUnionLearner(grid=16, k=1, max_boxes=256),
        learners.GreedyConvexLearner(grid=16, k=2, loss_weight=3, max_boxes=256),
    ]
