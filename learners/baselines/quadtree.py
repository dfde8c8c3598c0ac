"""Learns a region by a private quadtree, split where both labels occur, in the manner of PrivTree.

1. A tile, at first the whole square, is split into four at its middle when

       max(score - depth * decay, -decay) + DiscreteLaplace(scale) > 0,

   score = min(positive examples, negative examples) of the tile, depth its number of ancestors.
   A tile of one grid point is never split.
2. Every tile that is left is labelled by the sign of its positive less its negative examples, with
   integer Laplace noise of scale 1 / epsilon_leaves.

Source: Zhang, Xiao, Xie 2016, *PrivTree: a differentially private algorithm for hierarchical
decompositions*, with their threshold 0 and fan-out F = 4.  Departs from it: the score is the
smaller of two counts (theirs is the number of points), and scores, noise and decay are whole
numbers.

Privacy (docs/privacy.md, lemmas B1 and B2), for neighbours that add or remove one example: with

    scale >= (2F - 1) / (F - 1) / epsilon_tree,   decay >= scale * ln F, a whole number,

the tree is epsilon_tree-DP; given it the tiles that are left are disjoint, so 2. is
epsilon_leaves-DP.  The noise is exact (:mod:`learners.privacy.noise`), so delta is 0.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from geometry.arrays import Flags, Ints
from geometry.grid import Box
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from learners.core.estimator import Estimator, Run, Stream, labelled_stream
from learners.core.selection import Role, SelectionProgress, Watch
from learners.privacy.accounting import (
    Charge,
    Neighbours,
    PrivacySpent,
    check_budget,
    inner_budget,
    noise_scale,
    pure_spent,
)
from learners.privacy.noise import discrete_laplace_array
from learners.privacy.randomness import RandomSource, open_source

#: Share of epsilon that pays for the tree; the rest labels its leaves.
TREE_SHARE = 0.7

#: Tiles that one is split into.
FAN_OUT = 4

#: Not below ln FAN_OUT.
_LOG_FAN_OUT = Fraction(13862944, 10**7)


@dataclass(frozen=True, slots=True)
class QuadtreeBudget:
    """What one run may spend, fixed before it starts by public numbers alone.

    The scales are of integer Laplace noise: of a tile's score, and of a leaf's majority; `decay` is
    taken off the score for every ancestor, and `epsilon_tree` is what the tree costs, for
    neighbours that add or remove one example.
    """

    tree_scale: Fraction
    decay: int
    leaf_scale: Fraction
    epsilon_tree: float
    spent: PrivacySpent


def plan_quadtree(
    epsilon: float, delta: float, neighbours: Neighbours, private: bool
) -> QuadtreeBudget:
    """Divide epsilon between the tree and its leaves.

    Raises ValueError if a parameter states no guarantee.
    """
    check_budget(epsilon, delta)
    inner, _ = inner_budget(epsilon, 0.0, neighbours)
    epsilon_tree = TREE_SHARE * inner
    # rounded down: the shares must not add up to more
    epsilon_leaves = math.nextafter(inner - epsilon_tree, 0.0)
    scale = Fraction(2 * FAN_OUT - 1, FAN_OUT - 1) * noise_scale(epsilon_tree, 1)
    decay, leaf_scale = math.ceil(scale * _LOG_FAN_OUT), noise_scale(epsilon_leaves, 1)
    charges = Charge("noisy splits", epsilon_tree), Charge("noisy cells", epsilon_leaves)
    spent = pure_spent(epsilon, neighbours, private, *charges)
    return QuadtreeBudget(scale, decay, leaf_scale, epsilon_tree, spent)


def grow(
    counts: GridCounts,
    scale: Fraction,
    decay: int,
    source: RandomSource,
    watch: Watch | None = None,
) -> tuple[Ints, Ints]:
    """Draw a tree, level by level; `scale` and `decay` are those of :class:`QuadtreeBudget`, and
    `watch`, called before every level, may raise Cancelled.

    Returns x0, y0, x1, y1 of each tile that is not split, both ends included, large ones first,
    int64 of shape (leaves, 4); and the leaf of every entry, int64 of shape (m,).
    """
    boxes: Ints = np.array([[0, 0, counts.d, counts.d]], dtype=np.int64)
    rows, node = np.arange(len(counts)), np.zeros(len(counts), dtype=np.int64)
    owner = np.zeros(len(counts), dtype=np.int64)
    left: list[Ints] = []
    depth = held = 0
    while len(boxes):
        if watch is not None:
            watch(SelectionProgress(depth, len(boxes), 0.0))
        negatives, positives = counts.where(rows).by_group(node, len(boxes))
        scores = np.maximum(np.minimum(positives, negatives) - depth * decay, -decay)
        split = np.asarray((boxes[:, :2] < boxes[:, 2:]).any(axis=1))
        split[split] = exceeds(scores[split], scale, source)
        stays = ~split[node]
        owner[rows[stays]] = held + (np.cumsum(~split) - 1)[node[stays]]
        left.append(boxes[~split])
        held += len(left[-1])
        rows, node = rows[~stays], (np.cumsum(split) - 1)[node[~stays]]
        boxes, node = _split(boxes[split], counts.points[rows], node)
        depth += 1
    return np.concatenate(left), owner


def exceeds(scores: Ints, scale: Fraction, source: RandomSource) -> Flags:
    """Which scores exceed 0 with noise, shape (m,)."""
    return np.asarray(scores + discrete_laplace_array(source, scale, len(scores)) > 0)


def _split(boxes: Ints, points: Ints, node: Ints) -> tuple[Ints, Ints]:
    """Quarter boxes (m, 4); the quarters that hold a grid point, and which one holds each point."""
    low, high = boxes[:, :2], boxes[:, 2:]
    middle = (low + high) // 2
    quarters = np.empty((len(boxes), FAN_OUT, 4), dtype=np.int64)
    for corner in range(FAN_OUT):
        beyond = np.array([corner & 1, corner >> 1], dtype=np.bool_)
        quarters[:, corner, :2] = np.where(beyond, middle + 1, low)
        quarters[:, corner, 2:] = np.where(beyond, high, middle)
    flat = quarters.reshape(-1, 4)
    exists = (flat[:, :2] <= flat[:, 2:]).all(axis=1)
    beyond_middle = points > middle[node]
    corner_of = beyond_middle[:, 0] + 2 * beyond_middle[:, 1]
    return flat[exists], (np.cumsum(exists) - 1)[FAN_OUT * node + corner_of]


class QuadtreeLearner(Estimator):
    """epsilon-private baseline: a quadtree refined where the labels are mixed.

    Parameters
    ----------
    epsilon, delta, grid, bounds, neighbours, seed :
        As in :class:`learners.baselines.noisy_histogram.NoisyHistogramLearner`.

    Attributes
    ----------
    release_ : TilesRelease
        What may be published.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 40)
    >>> y = (X[:, 0] + X[:, 1] <= 14).astype(int)
    >>> model = QuadtreeLearner(grid=16, seed=7).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.privacy_.epsilon, model.privacy_.delta
    (1.0, 0.0)
    """

    role: ClassVar[Role] = "disjunction"

    epsilon: float = 1.0
    delta: float = 1e-6
    grid: int = 1024
    bounds: Box | None = None
    neighbours: Neighbours = "add-remove"
    seed: int | None = None

    def _planned(self) -> Run:
        HalfplaneLattice(self.grid)  # refuses a grid that cannot be used at all
        budget = plan_quadtree(self.epsilon, self.delta, self.neighbours, self.seed is None)

        def begin(counts: GridCounts, watch: Watch | None) -> Stream:
            """All noise is drawn at the call: the number of leaves is known after it."""
            started = time.perf_counter()
            source = open_source(self.seed)
            boxes, owner = grow(counts, budget.tree_scale, budget.decay, source, watch)
            negatives, positives = counts.by_group(owner, len(boxes))
            noise = discrete_laplace_array(source, budget.leaf_scale, len(boxes))
            inside = np.asarray(positives - negatives + noise > 0)
            return labelled_stream(boxes, inside, owner, counts, started)

        return Run(budget.spent, begin, draws=True)
