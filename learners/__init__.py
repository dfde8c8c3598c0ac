"""Differentially private learners of geometric concepts, and what they are compared with.

Names are loaded when first used, so that a reader of releases need not compile samplers.

Here lie the declarations; the rest is in packages:

privacy     accounts, noise, the exponential mechanism
core        what all share: estimator, records, releases, codec
cover       the set cover, and the learners of polygons
envelope    the sampler of pieces of the plane
tiles       runs by tiles
baselines   histograms, quadtrees, greedy covers
curved      discs, ellipses, polynomials, and three dimensions
boolean     conjunctions, disjunctions, parities
finite      finite classes, private choice from a list, experts
stability   any learner by votes of chunks
theory      sizes of samples, bounds, dimensions, checks by simulation
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import geometry  # noqa: F401  finds a place for compiled loops before any is defined
from learners.registry import LEARNERS

if TYPE_CHECKING:
    from learners.baselines.greedy import (
        GreedyConvexLearner as GreedyConvexLearner,
        GreedyUnionLearner as GreedyUnionLearner,
    )
    from learners.baselines.noisy_histogram import NoisyHistogramLearner as NoisyHistogramLearner
    from learners.baselines.quadtree import QuadtreeLearner as QuadtreeLearner
    from learners.boolean.conjunction import (
        ConjunctionLearner as ConjunctionLearner,
        DisjunctionLearner as DisjunctionLearner,
    )
    from learners.boolean.consistent_conjunction import (
        ConsistentConjunctionLearner as ConsistentConjunctionLearner,
        ConsistentDisjunctionLearner as ConsistentDisjunctionLearner,
        GreedyConjunctionLearner as GreedyConjunctionLearner,
        GreedyDisjunctionLearner as GreedyDisjunctionLearner,
        PrivateConsistentConjunctionLearner as PrivateConsistentConjunctionLearner,
        PrivateConsistentDisjunctionLearner as PrivateConsistentDisjunctionLearner,
    )
    from learners.boolean.parity import (
        ParityLearner as ParityLearner,
        PrivateParityLearner as PrivateParityLearner,
    )
    from learners.cover.convex_polygon import ConvexPolygonLearner as ConvexPolygonLearner
    from learners.cover.polygon_union import PolygonUnionLearner as PolygonUnionLearner
    from learners.cover.threshold_learner import ThresholdLearner as ThresholdLearner
    from learners.curved.curved_learners import (
        ConvexPolytopeLearner as ConvexPolytopeLearner,
        DiscUnionLearner as DiscUnionLearner,
        EllipseUnionLearner as EllipseUnionLearner,
        SimplexUnionLearner as SimplexUnionLearner,
    )
    from learners.finite.empirical_risk import (
        EmpiricalRiskMinimizer as EmpiricalRiskMinimizer,
        PrivateERM as PrivateERM,
    )
    from learners.finite.experts import (
        MultiplicativeWeights as MultiplicativeWeights,
        PrivateExperts as PrivateExperts,
    )
    from learners.finite.finite_class import (
        FiniteClassLearner as FiniteClassLearner,
        PrivateFiniteClassLearner as PrivateFiniteClassLearner,
    )
    from learners.stability.stability_learner import StabilityLearner as StabilityLearner

_HOMES = {learner.class_name: learner.path.rpartition(".")[0] for learner in LEARNERS}
# they play a game, and learn from no examples
_HOMES |= dict.fromkeys(("MultiplicativeWeights", "PrivateExperts"), "learners.finite.experts")

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Load a learner's module when its name is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'learners' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
