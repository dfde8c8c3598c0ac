"""Private learners of unions of discs, of ellipses, and of regions bounded by polynomials.

KMMS remark that their constructions carry over to concepts bounded by low-degree polynomials,
which are halfspaces of a lifted space (:mod:`geometry.lift`).  Here the pieces of the greedy
cover (:mod:`learners.cover.set_cover`) are drawn, in place of triangles, from the exponential
mechanism over a public class: discs or ellipses from a lattice of them
(:mod:`learners.curved.conic_selection`), regions of degree 2 (ellipses, parabolas, hyperbolas,
strips) or 3 from a coarser class that is listed (:mod:`geometry.polynomials`), exactly
(:mod:`learners.curved.listed_selection`).
Departs from the source: it would enumerate the cells of an arrangement in the lifted space, n^m of
them in m dimensions, one for each monomial.

Privacy is that of the cover: its proof asks only that a piece be drawn from the stated law over a
class that looks at no data (docs/privacy.md, lemmas 1 to 5, L1 and L2).
"""

from __future__ import annotations

from typing import ClassVar

from geometry.grid import Box
from geometry.lift import ConicKind, ConicLattice
from geometry.polynomials import PolynomialLattice
from learners.core.estimator import Estimator, Run
from learners.core.selection import Role, Sampler
from learners.core.sklearn_support import keyword_parameters
from learners.cover.cover_run import cover_run
from learners.curved.conic_selection import ConicSelection
from learners.curved.listed_selection import LiftedSelection
from learners.privacy.accounting import Neighbours


@keyword_parameters()
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
        def pieces() -> tuple[ConicLattice, ConicSelection]:
            lattice = ConicLattice(self.grid, self.kind)
            return lattice, ConicSelection(lattice)

        return cover_run(self, self.k, pieces)


@keyword_parameters()
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


@keyword_parameters()
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
        Levels of each polynomial (:class:`geometry.polynomials.PolynomialLattice`).
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
        def pieces() -> tuple[PolynomialLattice, Sampler]:
            lattice = PolynomialLattice(self.grid, 2, self.degree, self.reach, self.levels)
            return lattice, LiftedSelection(lattice)

        return cover_run(self, self.k, pieces)
