"""Private learner of unions of regions bounded by polynomials of low degree: linearization.

KMMS remark that their constructions carry over to concepts bounded by low-degree polynomials, which
are halfspaces of lifted points.  Here these have degree 2 (ellipses, parabolas, hyperbolas, strips)
or 3, from a public class that is listed (:mod:`geometry.polynomials`), and each step draws one by
the exponential mechanism, exactly (:mod:`learners.curved.listed_selection`).  Privacy is that of
the set cover (docs/privacy.md, lemmas 1 to 4 and L2).

Departs from the source: it would enumerate the n^m cells of an arrangement in m dimensions, one for
each monomial.  Discs and ellipses alone have finer classes: :mod:`learners.curved.conic_union`.
"""

from __future__ import annotations

from typing import ClassVar

from geometry.grid import Box
from geometry.polynomials import PolynomialLattice
from learners.core.estimator import Estimator, Run
from learners.core.selection import Role, Sampler
from learners.core.sklearn_support import keyword_parameters
from learners.cover.cover_run import cover_run
from learners.curved.listed_selection import LiftedSelection
from learners.privacy.accounting import Neighbours


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
        As in :class:`learners.curved.conic_union.DiscUnionLearner`.

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
