"""Learns polygons greedily and without privacy: what the two private learners are measured against.

KMMS section 3 starts from the classical consistent learner: while examples are left to gain,
take the piece that gains most of them and loses none, and remove what it decides.  If k pieces
suffice, each takes at least a k-th of what is left, so k ln n pieces are consistent (greedy set
cover).  With noisy labels no consistent piece is worth much; then a lost example may be
weighed against gained ones.

The pieces are searched in the same finite lattice as the private learners', by
:mod:`learners.cover.best_piece`: exactly for halfplanes, and for triangles up to a gap that every
record states.  Departs from the source: KMMS go through the n^2 cells of an arrangement.

Nothing here is differentially private: the thresholds are missing, the release says
``privacy = None``, and the run ends early when nothing is gained any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import ClassVar

from geometry.grid import Box
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice, Measure
from learners.core.estimator import Estimator, Run, Stream
from learners.core.records import GreedyDiagnostics, StepDiagnostics, StepRecord, StepRelease
from learners.core.selection import PieceKind, Role, Selected, Watch, set_cover_score
from learners.cover.best_piece import BestPiece, best_piece, gain_less_loss
from learners.cover.set_cover import Cover, step_count
from learners.declaration import check_count


class GreedyUnionLearner(Estimator):
    """Greedy union of triangles; not private.

    A search for a triangle may end before it is proved the best: see `gap` in the records.

    Parameters
    ----------
    k : int
        Pieces of a good hypothesis, as in the private learners; only chooses the number of
        steps.
    grid : int
        d: examples have integer coordinates in 0..d.
    bounds : Bounds or (west, south, east, north), optional
        Public: where the grid lies; never take it from the examples.  With it, examples are
        longitudes and latitudes, or what the system of the bounds has.
    n_steps : int, optional
        Most steps, one piece each; by default 1 for k = 1, else 3k.  The run ends before when
        nothing is gained any more.
    loss_weight : int, optional
        Gained examples that outweigh a lost one.  None: no piece may lose an example, which
        suits labels without noise.  With noise a few do well; with weight 1, halfplanes
        exclude everything as soon as the negatives outnumber the positives.
    measure : {"chord", "paper"}
        Lattice of the dual plane, see :class:`geometry.halfplane.HalfplaneLattice`.
    max_boxes : int
        Work allowed for one piece, see :func:`learners.cover.best_piece.best_piece`; 100,000 boxes
        take about half a second.

    Attributes
    ----------
    release_ : Release
        The hypothesis; its `privacy` is None.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)])
    >>> y = (X[:, 0] + X[:, 1] <= 14).astype(int)
    >>> model = GreedyUnionLearner(k=1, grid=16).fit(X, y)
    >>> model.score(X, y), model.privacy_
    (1.0, None)
    """

    role: ClassVar[Role] = "disjunction"
    piece: ClassVar[PieceKind] = "triangle"

    k: int = 4
    grid: int = 1024
    bounds: Box | None = None
    n_steps: int | None = None
    loss_weight: int | None = None
    measure: Measure = "chord"
    max_boxes: int = 1 << 18

    def _planned(self) -> Run:
        def begin(counts: GridCounts, watch: Watch | None) -> Stream:
            limit = step_count(self.n_steps, self.k)
            if self.loss_weight is not None:
                check_count("the weight of a loss", self.loss_weight)
            check_count("the number of boxes", self.max_boxes)
            lattice = HalfplaneLattice(self.grid, self.measure)

            def search(alive: GridCounts) -> BestPiece:
                objective = gain_less_loss(
                    self.role, self.loss_weight, alive.positives, alive.negatives
                )
                return best_piece(
                    alive, lattice, self.piece, objective, max_boxes=self.max_boxes, watch=watch
                )

            parameters = (("k", self.k), ("steps", limit), ("loss_weight", self.loss_weight))
            return Stream(_records(counts, self.role, search, limit), lattice, parameters)

        return Run(None, begin)


class GreedyConvexLearner(GreedyUnionLearner):
    """Greedy convex polygon, an intersection of halfplanes; parameters as of the greedy union.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)])
    >>> y = ((X > 3) & (X < 13)).all(axis=1).astype(int)
    >>> model = GreedyConvexLearner(k=4, grid=16).fit(X, y)
    >>> model.score(X, y), len(model.release_.pieces)
    (1.0, 4)
    """

    role: ClassVar[Role] = "conjunction"
    piece: ClassVar[PieceKind] = "halfplane"


def _records(
    counts: GridCounts, role: Role, search: Callable[[GridCounts], BestPiece], limit: int
) -> Iterator[StepRecord]:
    """A record comes when it is known whether it is the last, so after the search for the next
    piece; the last one's `steps` is the number of steps taken."""
    cover = Cover(counts, role)
    last: tuple[StepRelease, StepDiagnostics] | None = None
    taken = 0
    while taken < limit and (last is None or _left_to_gain(role, last[1])):
        started = time.perf_counter()
        found = search(counts.where(cover.alive))
        if last is not None:
            if found.value <= 0:
                break
            yield StepRecord(taken, limit, *last)
        # a private step would have a score; it is overwritten below
        unused = set_cover_score(role, 1, 0, 0, 0)
        made = asdict(cover.take(Selected(found.piece, found.progress), unused, started))
        made |= {"score": float(found.value), "gap": found.gap}
        last = StepRelease(found.piece, None), GreedyDiagnostics(**made)
        taken += 1
    if last is not None:
        yield StepRecord(taken, taken, *last)


def _left_to_gain(role: Role, diagnostics: StepDiagnostics) -> bool:
    if role == "disjunction":
        return diagnostics.positives_alive > diagnostics.positives_taken
    return diagnostics.negatives_alive > diagnostics.negatives_taken
