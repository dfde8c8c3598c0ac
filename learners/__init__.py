"""Differentially private learners of geometric concepts, and what they are compared with.

Names are loaded when first used, so that a reader of releases need not compile samplers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from learners.convex_polygon import ConvexPolygonLearner as ConvexPolygonLearner
    from learners.greedy import GreedyConvexLearner as GreedyConvexLearner
    from learners.greedy import GreedyUnionLearner as GreedyUnionLearner
    from learners.noisy_histogram import NoisyHistogramLearner as NoisyHistogramLearner
    from learners.polygon_union import PolygonUnionLearner as PolygonUnionLearner
    from learners.quadtree import QuadtreeLearner as QuadtreeLearner
    from learners.threshold_learner import ThresholdLearner as ThresholdLearner

_HOMES = {
    "ConvexPolygonLearner": "learners.convex_polygon",
    "GreedyConvexLearner": "learners.greedy",
    "GreedyUnionLearner": "learners.greedy",
    "NoisyHistogramLearner": "learners.noisy_histogram",
    "PolygonUnionLearner": "learners.polygon_union",
    "QuadtreeLearner": "learners.quadtree",
    "ThresholdLearner": "learners.threshold_learner",
}

__all__ = [
    "ConvexPolygonLearner",
    "GreedyConvexLearner",
    "GreedyUnionLearner",
    "NoisyHistogramLearner",
    "PolygonUnionLearner",
    "QuadtreeLearner",
    "ThresholdLearner",
]


def __getattr__(name: str) -> Any:
    """Load a learner's module when its name is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'learners' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
