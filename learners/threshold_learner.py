"""Private thresholds on the grid: a halfplane with one free coordinate.

Nissim's private thresholds on the drawing.  The class has four directions, right (label 1 where
x >= t), left (x <= t), above (y >= t) and below (y <= t), with t in 0..d: d + 1 halfplanes for a
public direction, 4 (d + 1) if the direction is learned too.  One is drawn with probability
proportional to exp(-epsilon * its mistakes), exactly (:mod:`learners.exponential_mechanism`):
epsilon-DP, delta = 0 (docs/privacy.md, lemma F1).  O(m + d) for m entries.

If some halfplane of the class errs nowhere, n >= ln(|C|/beta) / -ln(1 - alpha (1 - exp(-epsilon)))
examples give error at most alpha with probability 1 - beta (:mod:`learners.finite.sample_sizes`).
No halfplane of the class labels the whole square 0.

The border is drawn half a step from t, away from all grid points (on it where the lattice is as
coarse as the grid).  Departs from the source in that its direction may be learned.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.accounting import Charge, Neighbours, check_budget, pure_budget, pure_spent
from learners.estimator import Estimator, Run, Stream
from learners.exponential_mechanism import exponential_index, private_rate
from learners.finite.finite_class import ThresholdClass
from learners.randomness import RandomSource, open_source
from learners.records import StepRecord, StepRelease
from learners.scores import Role, mistakes_score
from learners.selection import Selected, SelectionProgress, Watch
from learners.set_cover import Cover
from learners.sklearn_support import keyword_parameters

Direction = Literal["right", "left", "above", "below"]

#: Sheet and axis of each direction.
_SHEETS: dict[Direction, tuple[Sheet, int]] = {
    "right": (Sheet.STEEP_RIGHT, 0),
    "left": (Sheet.STEEP_LEFT, 0),
    "above": (Sheet.FLAT_ABOVE, 1),
    "below": (Sheet.FLAT_BELOW, 1),
}


def threshold_halfplane(lattice: HalfplaneLattice, direction: Direction, t: int) -> Halfplane:
    """The halfplane whose grid points are those with coordinate >= t (right, above) or <= t.

    Parameters
    ----------
    lattice : HalfplaneLattice
        Of measure "chord".
    direction : {"right", "left", "above", "below"}
    t : int
        In 0..d.

    Raises
    ------
    ValueError
        If t or the direction is out of range, or the lattice has no steep halfplanes.
    """
    if not 0 <= t <= lattice.d:
        raise ValueError(f"t must lie in 0..{lattice.d}, got {t}")
    if direction not in _SHEETS:
        raise ValueError(f"unknown direction {direction!r}: use {', '.join(_SHEETS)} or None")
    sheet = _SHEETS[direction][0]
    half = (1 << lattice.bits) // 2
    # a line with u = v runs along its axis; it must meet the square
    border = (t << lattice.bits) + (-half if sheet.upper else half)
    border = min(max(border, 0), lattice.d << lattice.bits)
    return lattice.halfplane(sheet, border, border)


def threshold_mistakes(counts: GridCounts, direction: Direction) -> NDArray[np.int64]:
    """Mistakes on the sample for t = 0..d, int64 of shape (d + 1,).

    Parameters
    ----------
    counts : GridCounts
    direction : {"right", "left", "above", "below"}
    """
    sheet, axis = _SHEETS[direction]
    negatives, positives = counts.by_group(counts.points[:, axis], counts.d + 1)
    if sheet.upper:
        return ThresholdClass(counts.d).mistakes(positives, negatives)[:-1]
    # <= t is the opposite of >= t + 1
    return ThresholdClass(counts.d).mistakes(negatives, positives)[1:]


def threshold_class_size(d: int, direction: Direction | None = None) -> int:
    """Number of halfplanes in the class."""
    return (d + 1) * (len(_SHEETS) if direction is None else 1)


@keyword_parameters()
class ThresholdLearner(Estimator):
    """epsilon-private learner of a halfplane along an axis.

    Parameters
    ----------
    epsilon, delta, grid, neighbours, seed :
        As in :class:`learners.noisy_histogram.NoisyHistogramLearner`.
    direction : {"right", "left", "above", "below"}, optional
        The side that is labelled 1, a public choice; by default it is learned, privately, with
        the threshold.

    Attributes
    ----------
    release_ : CoverRelease
        What may be published: one halfplane.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)])
    >>> model = ThresholdLearner(grid=16, seed=7).fit(X, X[:, 0] >= 5)
    >>> model.score(X, X[:, 0] >= 5), model.polygons_.bounds
    (1.0, (4.5, 0.0, 16.0, 16.0))
    """

    role: ClassVar[Role] = "conjunction"

    epsilon: float = 1.0
    delta: float = 1e-6
    grid: int = 1024
    direction: Direction | None = None
    neighbours: Neighbours = "add-remove"
    seed: int | None = None

    def _planned(self) -> Run:
        check_budget(self.epsilon, self.delta)
        rate = private_rate(pure_budget(self.epsilon, self.neighbours), one_way=True)
        selection = Charge("selections", float(rate))
        spent = pure_spent(self.epsilon, self.neighbours, self.seed is None, selection)

        def begin(counts: GridCounts, watch: Watch | None) -> Stream:
            lattice = HalfplaneLattice(self.grid)
            if self.direction is not None and self.direction not in _SHEETS:
                raise ValueError(
                    f"unknown direction {self.direction!r}: use {', '.join(_SHEETS)} or None"
                )
            record = self._record(counts, lattice, rate, open_source(self.seed), watch)
            return Stream(record, lattice, (("direction", self.direction),))

        return Run(spent, begin)

    def _record(
        self,
        counts: GridCounts,
        lattice: HalfplaneLattice,
        rate: Fraction,
        source: RandomSource,
        watch: Watch | None,
    ) -> Iterator[StepRecord]:
        """The only step's record."""
        started = time.perf_counter()
        directions = tuple(_SHEETS) if self.direction is None else (self.direction,)
        if watch is not None:
            watch(SelectionProgress(0, len(directions) * (lattice.d + 1), 0.0))
        mistakes = [threshold_mistakes(counts, one) for one in directions]
        index = exponential_index(source, -np.concatenate(mistakes), rate)
        which, t = divmod(index, lattice.d + 1)
        piece = (threshold_halfplane(lattice, directions[which], t),)
        progress = SelectionProgress(1, len(directions) * (lattice.d + 1), float("nan"))
        score = mistakes_score(counts.positives)
        books = Cover(counts, self.role).take(Selected(piece, progress), score, started)
        yield StepRecord(1, 1, StepRelease(piece, None), books)
