"""Private learners in three dimensions: convex polytopes, unions of simplices and of balls.

The set cover of :mod:`learners.cover.set_cover` with the pieces of
:mod:`learners.curved.listed_selection`: KMMS's remark on higher dimension, at sizes that can be
enumerated.  A polytope is an intersection of halfspaces, a union is one of tetrahedra or of balls.
Privacy is that of the cover (docs/privacy.md, lemmas 1 to 4 and L2); selections are exact, so
nothing of the charge for arithmetic is used.

How well a class can fit at all, d = 16, random tetrahedra of at least a twenty-fifth of the cube
(benchmarks/sources.py, system 10): of simplices with 8 levels the best errs on 2.8 to 5.0 % where
"all 0" errs on 3.3 to 8.5 %, for their faces have 26 directions; of polytopes of four halfspaces
one errs on 1.2 % on average at reach 4 and on 0.3 % at reach 12, at most 2.8 and 1.4 %.  So one
simplex is learned as a polytope with k = 4; unions of simplices are for bodies with such faces.
With 20,000 examples at epsilon = 1 all reaches err on about 3 %, with 200,000 reach 4 on 1 %.
"""

from __future__ import annotations

from typing import ClassVar

from geometry.polynomials import BallLattice, HalfspaceLattice3
from learners.core.estimator import Estimator, Run
from learners.core.selection import Role, Sampler
from learners.core.sklearn_support import keyword_parameters
from learners.cover.cover_run import cover_run
from learners.curved.listed_selection import HalfspaceSelection3, LiftedSelection, SimplexSelection3
from learners.privacy.accounting import Neighbours


@keyword_parameters()
class ConvexPolytopeLearner(Estimator):
    """(epsilon, delta)-private learner of a convex polytope; X has shape (n, 3).

    Parameters
    ----------
    epsilon, delta : float
        Privacy of the whole run.
    k : int
        Pieces of a good hypothesis: faces of the polytope.
    grid : int
        d: examples have integer coordinates in 0..d; at most 64.
    reach : int
        Largest entry of a normal, at most 12.  A larger one fits more bodies, and takes longer.
    levels : int
        Levels of each normal of a halfspace (:class:`geometry.polynomials.HalfspaceLattice3`).
    n_steps, beta, neighbours, seed :
        As in :class:`learners.curved.unions.DiscUnionLearner`.

    Attributes
    ----------
    release_ : SpaceRelease
        What may be published.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.indices((9, 9, 9)).reshape(3, -1).T.repeat(40, axis=0)
    >>> y = (X.sum(axis=1) <= 14) & (X[:, 2] >= 2)
    >>> model = ConvexPolytopeLearner(k=2, grid=8, reach=1, seed=1).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    """

    dimensions: ClassVar[int] = 3
    role: ClassVar[Role] = "conjunction"

    epsilon: float = 1.0
    delta: float = 1e-6
    k: int = 4
    grid: int = 16
    reach: int = 4
    levels: int = 128
    n_steps: int | None = None
    beta: float = 0.1
    neighbours: Neighbours = "add-remove"
    seed: int | None = None

    def _planned(self) -> Run:
        def pieces() -> tuple[HalfspaceLattice3, Sampler]:
            lattice = HalfspaceLattice3(self.grid, self.reach, self.levels)
            return lattice, HalfspaceSelection3(lattice)

        return cover_run(self, self.k, pieces)


@keyword_parameters()
class SimplexUnionLearner(Estimator):
    """(epsilon, delta)-private learner of a union of simplices; parameters as of polytopes.

    `k` is a number of simplices.  Every simplex of the class is scored in every step, 684 *
    levels^4 of them.

    >>> import numpy as np
    >>> X = np.indices((5, 5, 5)).reshape(3, -1).T.repeat(40, axis=0)
    >>> y = X.sum(axis=1) <= 4
    >>> SimplexUnionLearner(k=1, grid=4, levels=3, seed=1).fit(X, y).score(X, y) > 0.9
    True
    """

    dimensions: ClassVar[int] = 3
    role: ClassVar[Role] = "disjunction"

    epsilon: float = 1.0
    delta: float = 1e-6
    k: int = 1
    grid: int = 16
    levels: int = 8
    n_steps: int | None = None
    beta: float = 0.1
    neighbours: Neighbours = "add-remove"
    seed: int | None = None

    def _planned(self) -> Run:
        def pieces() -> tuple[HalfspaceLattice3, Sampler]:
            lattice = HalfspaceLattice3(self.grid, 1, self.levels)
            return lattice, SimplexSelection3(lattice)

        return cover_run(self, self.k, pieces)


@keyword_parameters()
class BallUnionLearner(Estimator):
    """(epsilon, delta)-private learner of a union of balls; parameters as of polytopes.

    `k` is a number of balls.  Every ball of the class is scored in every step:
    :class:`geometry.polynomials.BallLattice`, with `centres` along a side and `levels` radii.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.indices((9, 9, 9)).reshape(3, -1).T.repeat(40, axis=0)
    >>> y = ((X - [3, 4, 5]) ** 2).sum(axis=1) <= 9
    >>> model = BallUnionLearner(k=1, grid=8, centres=9, seed=1).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    """

    dimensions: ClassVar[int] = 3
    role: ClassVar[Role] = "disjunction"

    epsilon: float = 1.0
    delta: float = 1e-6
    k: int = 1
    grid: int = 16
    centres: int = 17
    levels: int = 32
    n_steps: int | None = None
    beta: float = 0.1
    neighbours: Neighbours = "add-remove"
    seed: int | None = None

    def _planned(self) -> Run:
        def pieces() -> tuple[BallLattice, Sampler]:
            lattice = BallLattice(self.grid, self.centres, self.levels)
            return lattice, LiftedSelection(lattice)

        return cover_run(self, self.k, pieces)
