"""Private learner of unions of polygons, by tiles or by the greedy cover of KMMS theorem 5.1.

Without `k` the square is divided into tiles, and each learns a labelled piece of at most two
edges with the whole epsilon (:mod:`learners.tiles`): what to use when nothing is known of the
shape.

With `k` the hypothesis is a union of triangles, selected one after the other (KMMS; a union of
polygons with k edges is a union of at most k triangles).  KMMS select among the n^6 triples of
cells; the envelope sampler draws from a lattice of halfplanes without enumerating it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from learners.accounting import PrivacySpent
from learners.cover_estimator import CoverRun
from learners.records import StepRecord
from learners.scores import Role
from learners.selection import PieceKind
from learners.set_cover import Budget, Finish, Pieces, default_steps, noise_share
from learners.sharpening import SharpenedBudget, plan_sharpened, sharpened_steps
from learners.sklearn_support import keyword_parameters
from learners.tile_estimator import TileEstimator, TileRun


@keyword_parameters(after={"beta": ["finish"]})
class PolygonUnionLearner(TileEstimator):
    """(epsilon, delta)-private learner of a union of polygons.

    With `k` that many triangles are taken to cover the region; with k = "auto" nobody needs to know
    how many (docs/decisions/0016-k-not-told.md).

    Parameters
    ----------
    finish : {"sharpen", "none"}
        With `k`: what follows the triangles.  By "sharpen" they have three tenths of epsilon, and
        their edges are drawn again with the rest, each among the examples nearest to it
        (:mod:`learners.sharpening`); a single triangle has all of epsilon, and is drawn by its
        number of mistakes.  By "none" the run ends with them, as KMMS's does, and all are drawn by
        KMMS's score.
    n_steps : int, optional
        Triangles of a run with `k`.  By default 1 for k = 1, else 2k when they are sharpened and
        3k when not, or with `alpha` the source's ceil(2k ln(2/alpha)).  With k = "auto" the most
        of them, by default 8.

    The others are those of :class:`learners.tile_estimator.TileEstimator`.

    Attributes
    ----------
    release_ : MosaicRelease or, with `k`, SharpenedRelease or CoverRelease
        What may be published.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 40)
    >>> y = (X[:, 0] + X[:, 1] <= 14).astype(int)
    >>> model = PolygonUnionLearner(grid=16, seed=7).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    >>> model.privacy_.epsilon, model.privacy_.private
    (1.0, False)
    >>> PolygonUnionLearner(k=1, grid=16, seed=7).fit(X, y).score(X, y) > 0.95
    True
    """

    role: ClassVar[Role] = "disjunction"
    piece: ClassVar[PieceKind] = "triangle"
    finds_k: ClassVar[bool] = True

    finish: Finish = "sharpen"

    @property
    def _sharpened(self) -> bool:
        if self.finish not in ("sharpen", "none"):
            raise ValueError(f"unknown finish {self.finish!r}: use 'sharpen' or 'none'")
        # the edges of one triangle divide the square without any need
        if self.k == "auto" and self.finish == "none":
            raise ValueError(
                "k = 'auto' is for covers that are sharpened: give the number of pieces"
            )
        several = self.k == "auto" or (self.k is not None and self.k > 1)
        return self.finish == "sharpen" and several

    def _alone(self, steps: int) -> bool:
        return self.finish == "sharpen" and self.k == steps == 1

    def _by_tiles(self, run: TileRun) -> Iterator[StepRecord]:
        return self._publish(run.steps(), run.lattice, run.parameters, run.budget.spent)

    def _step_count(self, k: Pieces) -> int:
        if self._sharpened and self.n_steps is None and self.alpha is None:
            return default_steps(k, sharpened=True)
        return super()._step_count(k)

    def plan(self) -> PrivacySpent | None:
        """What a run with these parameters will spend, by public numbers alone."""
        if not self._sharpened:
            return super().plan()
        return self._plan_sharpened(self._plan_cover()[1].steps).spent

    def _plan_steps(self, steps: int) -> Budget:
        return self._plan_sharpened(steps).cover if self._sharpened else super()._plan_steps(steps)

    def _plan_sharpened(self, steps: int) -> SharpenedBudget:
        private = self.seed is None
        share = noise_share(self._check_k())
        return plan_sharpened(
            self.epsilon, self.delta, steps, self.beta, self.neighbours, private, share
        )

    def _finished(self, run: CoverRun) -> tuple[Iterator[StepRecord], PrivacySpent]:
        if not self._sharpened:
            return super()._finished(run)
        budget = self._plan_sharpened(run.budget.steps)
        steps = sharpened_steps(
            run.counts,
            run.steps,
            eta=budget.eta,
            source=run.source,
            watch=run.watch,
        )
        return steps, budget.spent
