"""Private learner of convex polygons: a conjunction of halfplanes (KMMS theorem 4.7).

Each step selects a halfplane by the exponential mechanism over the dual plane (KMMS
SelectHalfplane, lemma 4.6); the hypothesis is their intersection, k the number of edges.
"""

from __future__ import annotations

from learners.estimator import PrivateSetCover
from learners.scores import Role
from learners.selection import PieceKind


class ConvexPolygonLearner(PrivateSetCover):
    """(epsilon, delta)-private learner of a convex polygon; parameters as in the base class.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 40)
    >>> y = ((X > 3) & (X < 13)).all(axis=1).astype(int)
    >>> model = ConvexPolygonLearner(k=4, grid=16, seed=7).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    role: Role = "conjunction"
    piece: PieceKind = "halfplane"
