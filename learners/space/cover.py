"""Private learners in three dimensions: convex polytopes and unions of simplices.

The set cover of :mod:`learners.set_cover` with the pieces of :mod:`learners.space.selection`:
KMMS's remark on higher dimension, at sizes that can be enumerated.  A polytope is an intersection
of halfspaces, a union is one of tetrahedra.  Privacy is that of the cover (docs/privacy.md, lemmas
1 to 4 and L2); selections are exact, so nothing of the charge for arithmetic is used.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from geometry.grid_counts import GridCounts
from geometry.halfspace3 import Halfspace3, HalfspaceLattice3
from learners.accounting import PrivacySpent
from learners.cover_estimator import CoverEstimator
from learners.estimator import check_count
from learners.records import StepRecord
from learners.releases import SpaceRelease
from learners.scores import Role
from learners.selection import Sampler, Watch
from learners.sklearn_support import keyword_parameters
from learners.space.selection import HalfspaceSelection3, SimplexSelection3

Piece3 = tuple[Halfspace3, ...]


@keyword_parameters(after={"grid": ["levels"]})
class SpaceCover(CoverEstimator):
    """The private set cover in three dimensions; its two named forms fix role and piece.

    X has shape (n, 3).

    Parameters
    ----------
    epsilon, delta : float
        Privacy of the whole run.
    k : int
        Pieces of a good hypothesis: faces of the polytope, or simplices of the union.
    grid : int
        d: examples have integer coordinates in 0..d; at most 64.
    levels : int
        Levels of each normal of a halfspace (:class:`geometry.halfspace3.HalfspaceLattice3`).
    n_steps, beta, neighbours, seed :
        As in :class:`learners.conic.union.ConicSetCover`.

    Attributes
    ----------
    release_ : SpaceRelease
        What may be published.
    """

    dimensions: ClassVar[int] = 3

    k: int = 1
    grid: int = 16
    levels: int = 8

    @abstractmethod
    def _sampler(self) -> tuple[HalfspaceLattice3, Sampler]:
        """The class and its sampler."""

    def _run(self, counts: GridCounts, watch: Watch | None) -> Iterator[StepRecord]:
        lattice, sampler = self._sampler()
        stream, spent, parameters = self._cover(counts, lambda: sampler, watch)

        def release(
            name: str,
            privacy: PrivacySpent | None,
            pieces: list[Piece3],
            thresholds: tuple[int, ...],
        ) -> SpaceRelease:
            common = (name, lattice, parameters, privacy)
            return SpaceRelease(*common, self.role, tuple(pieces), thresholds)

        return self._keep_pieces(stream, spent, release)


@keyword_parameters(after={"grid": ["reach"]})
class ConvexPolytopeLearner(SpaceCover):
    """(epsilon, delta)-private learner of a convex polytope; parameters as in the base class.

    Parameters
    ----------
    reach : int
        Largest entry of a normal.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.indices((9, 9, 9)).reshape(3, -1).T.repeat(40, axis=0)
    >>> y = (X.sum(axis=1) <= 14) & (X[:, 2] >= 2)
    >>> model = ConvexPolytopeLearner(k=2, grid=8, reach=1, seed=1).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    """

    role: ClassVar[Role] = "conjunction"

    k: int = 4
    reach: int = 2
    levels: int = 64

    def _sampler(self) -> tuple[HalfspaceLattice3, Sampler]:
        reach, levels = check_count("reach", self.reach), check_count("levels", self.levels)
        lattice = HalfspaceLattice3(self.grid, reach, levels)
        return lattice, HalfspaceSelection3(lattice)


@keyword_parameters()
class SimplexUnionLearner(SpaceCover):
    """(epsilon, delta)-private learner of a union of simplices; parameters as in the base class.

    Every simplex of the class is scored in every step, 684 * levels^4 of them.
    """

    role: ClassVar[Role] = "disjunction"

    def _sampler(self) -> tuple[HalfspaceLattice3, Sampler]:
        lattice = HalfspaceLattice3(self.grid, 1, check_count("levels", self.levels))
        return lattice, SimplexSelection3(lattice)
