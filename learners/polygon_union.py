"""Private learner of unions of polygons: a disjunction of triangles (KMMS theorem 5.1).

Each step selects a triangle, an intersection of three halfplanes clipped to the square, by the
exponential mechanism; the hypothesis is their union.  A union of polygons with k edges is a
union of at most k triangles.  KMMS select among the n^6 triples of cells; the envelope sampler
draws from the same law without enumerating them.
"""

from __future__ import annotations

from learners.estimator import PrivateSetCover
from learners.scores import Role
from learners.selection import PieceKind


class PolygonUnionLearner(PrivateSetCover):
    """(epsilon, delta)-private learner of a union of polygons; parameters as in the base class.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 40)
    >>> y = (X[:, 0] + X[:, 1] <= 14).astype(int)
    >>> model = PolygonUnionLearner(k=1, grid=16, seed=7).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.privacy_.epsilon, model.privacy_.private
    (1.0, False)
    """

    role: Role = "disjunction"
    piece: PieceKind = "triangle"
