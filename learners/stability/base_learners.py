"""Trains models on chunks of a sample: majorities of cells, or stochastic gradient descent.

Neither is private by itself.  :class:`MajorityCells` is quick: O(n + cells^2) to train, O(1) a
prediction; cells without examples take the majority of all.

:class:`GradientDescentClassifier` minimizes the logistic loss: the worked case of stability (BTT
section 5.4).  Points (x, y) of the grid are lifted to z = (1, u, v, u^2 - 1/3, u v, v^2 - 1/3) / R,
u and v in [-1, 1], with R so large that |z| <= 1: discs, ellipses and strips are halfspaces of z.
Steps

    w <- w - eta_t * gradient of ln(1 + exp(-s w.z)) at the example i_t,   s = +-1 the label,

start at 0.  The loss is convex, L = 1-Lipschitz and 1/4-smooth, so with eta <= 8 no step takes two
runs further apart than they were, unless i_t is the example in which their samples differ: then by
at most 2 L eta (Hardt, Recht, Singer 2016, lemma 2.5).  So |w - w'| <= 2 L eta c, c the number of
times that this example is met in S steps on n examples, which is for each order of the examples

replacement    i_t independent and uniform: c is binomial, E c = S/n,
               E c^2 = S/n (1 - 1/n) + (S/n)^2.
permutation    one random order, passed through again and again: c is S/n rounded down, or up with
               the probability that makes E c = S/n.
one-pass       the order of the sample, each example at most once: no coins.  c = 1 or 0 by the
               place of the example; with its place uniform, E c = E c^2 = S/n.

Hence E |w - w'| <= 2 L eta S/n, and of losses L times that (theorem 3.8); E |w - w'|^2 <=
(2 L eta)^2 E c^2 (*derived*).  With coins this holds for every example (uniform stability).
Without, it holds on average over the examples alone, which is all that BTT ask for; that it does is
their reduction: what is uniformly stable on a sample in random order is stable on average on one in
any order (section 5, "SGD and on-average stability").

The prediction 1 / (1 + exp(-w.z)) moves by at most |w - w'| / 4: so gamma^2 <= a sixteenth of the
second moment, and lemma 5.8 applies (:mod:`learners.stability.quality`).

Whatever the coins of a permutation are, and in one pass, expected predictions are the same, for
samples are as likely in any order: consistent randomization (definition 5.9).  With replacement
they are not, since an example may be met twice.  Chunks of a run share their coins, so the means of
their predictions agree in any case.

Coins come from `coins`, a public number, and need not be secret: the guarantee of a run
holds for every value of its base's coins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from geometry.arrays import Flags, Floats, Ints
from learners.core.examples import check_examples, check_points
from learners.core.sklearn_support import WithParameters, predict_as_came, share_right
from learners.declaration import check_count
from learners.privacy.noise import below_array
from learners.privacy.randomness import SeededRandom
from learners.stability.label_private import random_rows

#: How a descent goes through its examples; see the module.
Order = Literal["replacement", "permutation", "one-pass"]


class MajorityCells:
    """Labels every cell of the square by the majority of its examples.

    Points have integer coordinates in 0..grid; `cells` is their number along a side.
    """

    def __init__(self, *, grid: int = 1024, cells: int = 8) -> None:
        self.grid = grid
        self.cells = cells

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Count labels; errors as in :func:`learners.core.examples.check_examples`."""
        points, labels = check_examples(X, y, self.grid)
        cell = self._cell(points)
        lead = np.bincount(cell, 2.0 * labels - 1.0, minlength=self.cells**2)
        whole = bool(2 * np.count_nonzero(labels) > len(labels))
        self.inside_: Flags = np.where(lead == 0, whole, lead > 0)
        return self

    def predict(self, X: ArrayLike) -> Ints:
        """Labels 0/1, int64 of shape (n,), of grid points, shape (n, 2)."""
        return self.inside_[self._cell(check_points(X, self.grid))].astype(np.int64)

    def _cell(self, points: Ints) -> Ints:
        at: Any = points * self.cells // (self.grid + 1)
        return np.asarray(at[:, 1] * self.cells + at[:, 0])


#: Steps up to 2 / smoothness do not expand.
LARGEST_STEP = 8.0

#: |z| before scaling: 1 + 1 + 1 + 4/9 + 1 + 4/9 at the corners, less elsewhere.
_RADIUS = np.sqrt(4 + 8 / 9)


def lift(points: Ints, d: int) -> Floats:
    """Lifted coordinates of grid points (n, 2), float of shape (n, 6), length at most 1."""
    u, v = (2.0 * points.T - d) / d
    lifted = np.stack([np.ones_like(u), u, v, u * u - 1 / 3, u * v, v * v - 1 / 3], axis=1)
    return np.asarray(lifted / _RADIUS)


@dataclass(frozen=True, slots=True)
class DescentRelease:
    """What a run learns, the weights of the lifted coordinates: not private."""

    learner: str
    parameters: tuple[tuple[str, Any], ...]
    weights: tuple[float, ...]
    privacy: None = None


class GradientDescentClassifier(WithParameters):
    """Logistic regression on lifted coordinates by SGD; not private by itself.

    Parameters
    ----------
    grid : int
        d: points have integer coordinates in 0..d.
    steps : int
        S; in one pass no more than there are examples.
    rate : float
        eta, in (0, 8].
    order : {"replacement", "permutation", "one-pass"}
        Examples drawn with replacement, in one random order again and again, or once each in the
        order of the sample.
    coins : int
        Seeds the choice of examples; none are tossed in one pass.

    Attributes
    ----------
    release_ : DescentRelease
    """

    grid: int = 1024
    steps: int = 500
    rate: float = 1.0
    order: Order = "replacement"
    coins: int = 0

    positive: Any = None
    predict, score = predict_as_came, share_right

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Take the steps of the descent.

        Raises ValueError if an example or a parameter is out of range, or there is no example.
        """
        configured = self._fresh()
        points, labels = check_examples(X, y, configured.grid, positive=configured.positive)
        self._named(y, labels)
        if not 0 < configured.rate <= LARGEST_STEP:
            raise ValueError(f"rate must lie in (0, {LARGEST_STEP:g}], got {configured.rate}")
        if len(points) == 0:
            raise ValueError("there is no example to learn from")
        lifted = lift(points, configured.grid) * np.where(labels, 1.0, -1.0)[:, None]
        count = check_count("steps", configured.steps)
        chosen = visits(configured.order, len(lifted), count, configured.coins)
        weights = np.zeros(lifted.shape[1])
        for example in lifted[chosen]:
            weights += configured.rate / (1.0 + np.exp(min(weights @ example, 700.0))) * example
        order = [("order", configured.order)] if configured.order != "replacement" else []
        self.release_: DescentRelease = DescentRelease(
            type(self).__name__,
            (("steps", count), ("rate", configured.rate), *order, ("coins", configured.coins)),
            tuple(weights.tolist()),
        )
        return self

    @property
    def weights_(self) -> Floats:
        """Weights of the lifted coordinates, float64 of shape (6,)."""
        return np.array(self._fitted().weights)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of labels 0 and 1, float of shape (n, 2)."""
        grid = self.validated().grid
        signed = lift(check_points(X, grid), grid) @ self.weights_
        positive = 1.0 / (1.0 + np.exp(-np.clip(signed, -700, 700)))
        return np.stack([1 - positive, positive], axis=1)

    def _zeros_and_ones(self, X: ArrayLike) -> Ints:
        return (self.predict_proba(X)[:, 1] > 0.5).astype(np.int64)


def visits(order: Order, n: int, steps: int, coins: int) -> Ints:
    """Which of n examples each step looks at."""
    if order == "replacement":
        return below_array(SeededRandom(coins), n, steps)
    if order == "permutation":
        return np.resize(np.array(random_rows(n, n, SeededRandom(coins)), dtype=np.int64), steps)
    if order == "one-pass":
        return np.arange(min(n, steps), dtype=np.int64)
    raise ValueError(f"order must be one of {', '.join(get_args(Order))}, got {order!r}")
