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
from typing import Any

import geometry  # noqa: F401  finds a place for compiled loops before any is defined
from learners.registry import HOMES

#: Released shapes say it.
__version__ = "0.2.0.dev0"

__all__ = sorted(HOMES)


def __getattr__(name: str) -> Any:
    """Load a learner's module when its name is first asked for."""
    if name not in HOMES:
        raise AttributeError(f"module 'learners' has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)
