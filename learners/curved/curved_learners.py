"""Learns unions of discs, ellipses, regions bounded by polynomials, and bodies, privately.

KMMS remark that their constructions carry over to concepts bounded by low-degree polynomials,
which are halfspaces of a lifted space (:mod:`geometry.lift`), and to higher dimension.  Here the
pieces of the greedy cover (:mod:`learners.cover.set_cover`) are drawn, in place of triangles, from
the exponential mechanism over a public class: discs or ellipses from a lattice of them
(:mod:`learners.curved.selection`); regions of degree 2 (ellipses, parabolas, hyperbolas,
strips) or 3, and in three dimensions halfspaces, simplices or balls, from coarser classes that are
listed (:mod:`geometry.lift`), exactly (:mod:`learners.curved.selection`).  A convex
polytope is an intersection of halfspaces.
Departs from the source: it would enumerate the cells of an arrangement in the lifted space, n^m of
them in m dimensions, one for each monomial.

Privacy is that of the cover: its proof asks only that a piece be drawn from the stated law over a
class that looks at no data (docs/privacy.md, lemmas 1 to 5, L1 and L2).  Draws from a list are
exact, so there nothing of the charge for arithmetic is used.

How well a class can fit at all in space, d = 16, random tetrahedra of at least a twenty-fifth of
the cube (benchmarks/sources.py, system 10): of simplices with 8 levels the best errs on 2.8 to
5.0 % where "all 0" errs on 3.3 to 8.5 %, for their faces have 26 directions; of polytopes of four
halfspaces one errs on 1.2 % on average at reach 4 and on 0.3 % at reach 12, at most 2.8 and 1.4 %.
So one simplex is learned as a polytope with k = 4; unions of simplices are for bodies with such
faces.  With 20,000 examples at epsilon = 1 all reaches err on about 3 %, with 200,000 reach 4 on
1 %.
"""

from __future__ import annotations

from typing import ClassVar

from geometry.grid import Box
from geometry.lift import BallLattice, ConicKind, ConicLattice, HalfspaceLattice3, PolynomialLattice
from learners.core.estimator import Estimator, Run
from learners.core.selection import Role
from learners.cover.cover_run import cover_run
from learners.curved.selection import (
    ConicSelection,
    HalfspaceSelection3,
    LiftedSelection,
    SimplexSelection3,
)
from learners.privacy.accounting import Neighbours


class DiscUnionLearner(Estimator):
    """(epsilon, delta)-private learner of a union of discs.

    Discs have their centre in the square and a radius of at most its side.

    Parameters
    ----------
    epsilon, delta : float
        Privacy of the whole run.
    k : int
        Pieces of a good hypothesis: discs that cover the region.
    grid : int
        d: examples have integer coordinates in 0..d; at most 2048.
    bounds : Bounds or (west, south, east, north), optional
        Public: where the grid lies; never take it from the examples.  With it, examples are
        longitudes and latitudes, or what the system of the bounds has.
    n_steps : int, optional
        Steps m of the run, one piece each; by default 1 for k = 1, else 3k.
    beta : float
        Probability, in (0, 1), with which some noisy count may exceed the true one.
    neighbours : {"add-remove", "replace-one"}
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.

    Attributes
    ----------
    release_ : ConicRelease
        What may be published.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(33) for y in range(33)] * 10)
    >>> y = ((X - [14, 18]) ** 2).sum(axis=1) <= 81
    >>> model = DiscUnionLearner(k=1, grid=32, seed=7).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    >>> model.privacy_.epsilon, model.privacy_.private
    (1.0, False)
    """

    role: ClassVar[Role] = "disjunction"
    kind: ClassVar[ConicKind] = "disc"

    epsilon: float = 1.0
    delta: float = 1e-6
    k: int = 1
    grid: int = 1024
    bounds: Box | None = None
    n_steps: int | None = None
    beta: float = 0.1
    neighbours: Neighbours = "add-remove"
    seed: int | None = None

    def _planned(self) -> Run:
        lattice = ConicLattice(self.grid, self.kind)
        return cover_run(self, self.k, lattice, ConicSelection(lattice))


class EllipseUnionLearner(DiscUnionLearner):
    """(epsilon, delta)-private learner of a union of ellipses; parameters as of discs.

    Ellipses of any axes and rotation with the centre in the square; half width, shear and half of
    the vertical chord through the centre are at most its side (:mod:`geometry.lift`).  A draw takes
    a tenth of a second where one ellipse fits, some 2 to 10 seconds where it fits badly or one
    label in ten is wrong, whatever n is; late steps of a cover, and labels by chance at epsilon =
    1,000, take up to a minute.  It need not end where all examples are crowded in a tenth of the
    square's side, with labels that no ellipse fits (docs/trust.md): take bounds that fit them.

    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 40)
    >>> y = (((X - [8, 8]) / [6, 4]) ** 2).sum(axis=1) <= 1
    >>> EllipseUnionLearner(k=1, grid=16, seed=1).fit(X, y).score(X, y) > 0.95
    True
    """

    kind: ClassVar[ConicKind] = "ellipse"


class PolynomialUnionLearner(Estimator):
    """(epsilon, delta)-private learner of a union of regions bounded by a polynomial.

    Parameters
    ----------
    epsilon, delta : float
        Privacy of the whole run.
    k : int
        Regions of a good hypothesis.
    grid : int
        d: examples have integer coordinates in 0..d; at most 2048.
    bounds : Bounds or (west, south, east, north), optional
        Public: where the grid lies; never take it from the examples.  With it, examples are
        longitudes and latitudes, or what the system of the bounds has.
    degree : {2, 3}
    reach : int
        Largest coefficient of a polynomial, in size.
    levels : int
        Levels of each polynomial (:class:`geometry.lift.PolynomialLattice`).
    n_steps, beta, neighbours, seed :
        As in :class:`DiscUnionLearner`.

    Attributes
    ----------
    release_ : LiftedRelease
        What may be published.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 100)
    >>> y = X[:, 1] >= (X[:, 0] - 8) ** 2 // 4
    >>> model = PolynomialUnionLearner(k=1, grid=16, seed=1).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    role: ClassVar[Role] = "disjunction"

    epsilon: float = 1.0
    delta: float = 1e-6
    k: int = 1
    grid: int = 64
    bounds: Box | None = None
    degree: int = 2
    reach: int = 2
    levels: int = 64
    n_steps: int | None = None
    beta: float = 0.1
    neighbours: Neighbours = "add-remove"
    seed: int | None = None

    def _planned(self) -> Run:
        lattice = PolynomialLattice(self.grid, 2, self.degree, self.reach, self.levels)
        return cover_run(self, self.k, lattice, LiftedSelection(lattice))


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
        Levels of each normal of a halfspace (:class:`geometry.lift.HalfspaceLattice3`).
    n_steps, beta, neighbours, seed :
        As in :class:`learners.curved.curved_learners.DiscUnionLearner`.

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
        lattice = HalfspaceLattice3(self.grid, self.reach, self.levels)
        return cover_run(self, self.k, lattice, HalfspaceSelection3(lattice))


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
        lattice = HalfspaceLattice3(self.grid, 1, self.levels)
        return cover_run(self, self.k, lattice, SimplexSelection3(lattice))


class BallUnionLearner(Estimator):
    """(epsilon, delta)-private learner of a union of balls; parameters as of polytopes.

    `k` is a number of balls.  Every ball of the class is scored in every step:
    :class:`geometry.lift.BallLattice`, with `centres` along a side and `levels` radii.

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
        lattice = BallLattice(self.grid, self.centres, self.levels)
        return cover_run(self, self.k, lattice, LiftedSelection(lattice))
