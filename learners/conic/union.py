"""Private learners of unions of discs and of ellipses: KMMS's set cover after linearization.

KMMS remark that their constructions carry over to concepts bounded by low-degree polynomials,
which are halfspaces of a lifted space (:mod:`geometry.lift`).  Here the pieces of the greedy
cover (:mod:`learners.set_cover`) are discs or ellipses in place of triangles, drawn from the
exponential mechanism over a public lattice of them (:mod:`learners.conic.selection`).  Departs
from the source: it would enumerate the cells of an arrangement in three or five dimensions, n^3
or n^5 of them.

Privacy is that of the cover: its proof asks only that a piece be drawn from the stated law over a
class that looks at no data (docs/privacy.md, lemmas 1 to 5 and L1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from geometry.grid_counts import GridCounts
from geometry.lift import Conic, ConicKind, ConicLattice
from learners.accounting import PrivacySpent
from learners.conic.selection import ConicSelection
from learners.cover_estimator import CoverEstimator
from learners.records import StepRecord
from learners.releases import ConicRelease
from learners.scores import Role
from learners.selection import Watch
from learners.sklearn_support import keyword_parameters


@keyword_parameters()
class ConicSetCover(CoverEstimator):
    """The private set cover by discs or ellipses; its two named forms fix which.

    Parameters
    ----------
    epsilon, delta : float
        Privacy of the whole run.
    k : int
        Pieces of a good hypothesis: discs or ellipses that cover the region.
    grid : int
        d: examples have integer coordinates in 0..d; at most 2048.
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
    """

    role: ClassVar[Role] = "disjunction"
    kind: ClassVar[ConicKind]

    k: int = 1

    def _run(self, counts: GridCounts, watch: Watch | None) -> Iterator[StepRecord]:
        lattice = ConicLattice(self.grid, self.kind)
        stream, spent, parameters = self._cover(counts, lambda: ConicSelection(lattice), watch)

        def release(
            name: str,
            privacy: PrivacySpent | None,
            pieces: list[tuple[Conic, ...]],
            thresholds: tuple[int, ...],
        ) -> ConicRelease:
            conics = tuple(conic for piece in pieces for conic in piece)
            return ConicRelease(name, lattice, parameters, privacy, conics, thresholds)

        return self._keep_pieces(stream, spent, release)


class DiscUnionLearner(ConicSetCover):
    """(epsilon, delta)-private learner of a union of discs; parameters as in the base class.

    Discs have their centre in the square and a radius of at most its side.

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

    kind: ClassVar[ConicKind] = "disc"


class EllipseUnionLearner(ConicSetCover):
    """(epsilon, delta)-private learner of a union of ellipses; parameters as in the base class.

    Ellipses of any axes and rotation with the centre in the square; half width, shear and half of
    the vertical chord through the centre are at most its side (:mod:`geometry.lift`).  A draw takes
    a tenth of a second where one ellipse fits, some 2 to 10 seconds where it fits badly or one
    label in ten is wrong, whatever n is; late steps of a cover, and labels by chance at epsilon =
    1,000, take up to a minute.
    """

    kind: ClassVar[ConicKind] = "ellipse"
