"""Learns a threshold on the grid privately: a halfplane with one free coordinate.

Nissim's private thresholds on the drawing.  The class has four directions, right (label 1 where
x >= t), left (x <= t), above (y >= t) and below (y <= t); left is the source's (x < j is
x <= j - 1).  In each, one member labels everything 0 and one everything 1: d + 2 members of a
public direction, 4 (d + 2) if the direction is learned too (then these two are there four times).
One is drawn with probability proportional to exp(-epsilon * its mistakes), exactly
(:mod:`learners.privacy.exponential_mechanism`): epsilon-DP, delta = 0 (docs/privacy.md, lemma F1).
O(m + d) for m entries.

If some member errs nowhere, n >= ln(|C|/beta) / -ln(1 - alpha (1 - exp(-epsilon)))
examples give error at most alpha with probability 1 - beta (:mod:`learners.finite.sample_sizes`).

The border is drawn half a step from t, away from all grid points (on it where the lattice is as
coarse as the grid).  No halfplane of the lattice is empty, so the member that labels everything 0
is a piece of three: the two opposite sides of the square, one of them twice.  Departs from the
source in that its direction may be learned.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np

from geometry.arrays import Ints
from geometry.grid import Box
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice, Sheet
from learners.core.estimator import Estimator, Run, Stream
from learners.core.records import Piece, StepRecord, StepRelease
from learners.core.selection import Role, Selected, SelectionProgress, Watch, mistakes_score
from learners.cover.set_cover import Cover
from learners.finite.finite_class import ThresholdClass
from learners.privacy.accounting import Charge, Neighbours, check_budget, pure_budget, pure_spent
from learners.privacy.exponential_mechanism import exponential_index, private_rate
from learners.privacy.randomness import open_source

Direction = Literal["right", "left", "above", "below"]

#: Sheet and axis of each direction.
_SHEETS: dict[Direction, tuple[Sheet, int]] = {
    "right": (Sheet.STEEP_RIGHT, 0),
    "left": (Sheet.STEEP_LEFT, 0),
    "above": (Sheet.FLAT_ABOVE, 1),
    "below": (Sheet.FLAT_BELOW, 1),
}

#: Sheets of each axis: the side that shrinks as its border moves on, and the other.
_OPPOSITE = ((Sheet.STEEP_RIGHT, Sheet.STEEP_LEFT), (Sheet.FLAT_ABOVE, Sheet.FLAT_BELOW))


def threshold_piece(lattice: HalfplaneLattice, direction: Direction, t: int) -> Piece:
    """The piece that holds the grid points with coordinate >= t (right, above) or <= t.

    Parameters
    ----------
    lattice : HalfplaneLattice
        Of measure "chord".
    direction : {"right", "left", "above", "below"}
    t : int
        In 0..d + 1 (right, above) or -1..d.

    Returns
    -------
    tuple of Halfplane
        One; three, which have no point in common, for the t that labels everything 0.

    Raises
    ------
    ValueError
        If t or the direction is out of range, or the lattice has no steep halfplanes.
    """
    if direction not in _SHEETS:
        raise ValueError(f"unknown direction {direction!r}: use {', '.join(_SHEETS)} or None")
    sheet, axis = _SHEETS[direction]
    first = 0 if sheet.upper else -1
    if not first <= t <= lattice.d + 1 + first:
        raise ValueError(f"t must lie in {first}..{lattice.d + 1 + first}, got {t}")
    side = lattice.d << lattice.bits
    if t in (-1, lattice.d + 1):
        upper, lower = _OPPOSITE[axis]
        far, near = lattice.halfplane(upper, side, side), lattice.halfplane(lower, 0, 0)
        return far, near, near
    half = (1 << lattice.bits) // 2
    # a line with u = v runs along its axis; it must meet the square
    border = (t << lattice.bits) + (-half if sheet.upper else half)
    border = min(max(border, 0), side)
    return (lattice.halfplane(sheet, border, border),)


def threshold_mistakes(counts: GridCounts, direction: Direction) -> Ints:
    """Mistakes on the sample for t = 0..d + 1 (right, above) or -1..d, int64 of shape (d + 2,).

    Parameters
    ----------
    counts : GridCounts
    direction : {"right", "left", "above", "below"}
    """
    sheet, axis = _SHEETS[direction]
    negatives, positives = counts.by_group(counts.points[:, axis], counts.d + 1)
    # <= t is < t + 1
    line = ThresholdClass(counts.d, "x >= t" if sheet.upper else "x < t")
    return line.mistakes(positives, negatives)


def threshold_class_size(d: int, direction: str | None = None) -> int:
    """Number of members of the class; of a direction that is learned, all four's."""
    return ThresholdClass(d).size * (len(_SHEETS) if direction is None else 1)


class ThresholdLearner(Estimator):
    """epsilon-private learner of a halfplane along an axis.

    Parameters
    ----------
    epsilon, delta, grid, bounds, neighbours, seed :
        As in :class:`learners.baselines.noisy_histogram.NoisyHistogramLearner`.
    direction : {"right", "left", "above", "below"}, optional
        The side that is labelled 1, a public choice; by default it is learned, privately, with
        the threshold.

    Attributes
    ----------
    release_ : CoverRelease
        What may be published: one halfplane, or a piece that holds nothing.

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
    bounds: Box | None = None
    direction: Direction | None = None
    neighbours: Neighbours = "add-remove"
    seed: int | None = None

    def _planned(self) -> Run:
        check_budget(self.epsilon, self.delta)
        lattice = HalfplaneLattice(self.grid)
        rate = private_rate(pure_budget(self.epsilon, self.neighbours), one_way=True)
        selection = Charge("selections", float(rate))
        spent = pure_spent(self.epsilon, self.neighbours, self.seed is None, selection)

        def begin(counts: GridCounts, watch: Watch | None) -> Stream:
            source = open_source(self.seed)
            directions = tuple(_SHEETS) if self.direction is None else (self.direction,)
            members = threshold_class_size(lattice.d, self.direction)

            def record() -> Iterator[StepRecord]:
                started = time.perf_counter()
                if watch is not None:
                    watch(SelectionProgress(0, members, 0.0))
                mistakes = [threshold_mistakes(counts, one) for one in directions]
                index = exponential_index(source, -np.concatenate(mistakes), rate)
                which, place = divmod(index, lattice.d + 2)
                direction = directions[which]
                t = place if _SHEETS[direction][0].upper else place - 1
                piece = threshold_piece(lattice, direction, t)
                drawn = Selected(piece, SelectionProgress(1, members, float("nan")))
                score = mistakes_score(counts.positives)
                diagnostics = Cover(counts, self.role).take(drawn, score, started, float(rate))
                yield StepRecord(1, 1, StepRelease(piece, None), diagnostics)

            return Stream(record(), lattice, (("direction", self.direction),))

        return Run(spent, begin)
