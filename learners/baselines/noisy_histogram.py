"""Learns a region by a noisy histogram of the labels, interpolated or not: two baselines.

The *interpolated* one (`smooth`), the strongest of the simple ones that we know of:

1. b = n + DiscreteLaplace(1 / epsilon_count), a noisy number of examples, chooses the number of
   cells: `cells_per_side`, a public function of b and epsilon.
2. Positive less negative examples are divided among cells by linear binning, in SHARES parts each
   (see below), and every cell is given integer Laplace noise of scale
   SHARES / epsilon_cells.
3. The noisy cells are smoothed and interpolated; a fine cell is labelled 1 where the outcome is
   positive.  Equal neighbouring fine cells are merged into rectangles.

The *plain* one counts every example in the cell that holds it, with noise of scale
1 / epsilon_cells, and labels cells by the signs of these counts.

For neighbours that add or remove one example the run is (epsilon_count + epsilon_cells)-DP,
whatever the number of cells (docs/privacy.md, lemma B1).  The noise is exact
(:mod:`learners.privacy.noise`), so delta is 0.

How the constants were found: docs/decisions/0024-an-interpolated-histogram.md.

The interpolated field, in whole numbers:

1. *Linear binning* (:func:`bin_linearly`): an example is divided into SHARES equal parts, which go
   to the four cells whose centres lie around it, to each in proportion to how near it is.  At the
   border of the square a cell takes what would fall beyond it.
2. Smoothing (:func:`smooth`): a sum over 5 by 5 cells with the weights KERNEL along either axis, a
   Gaussian of 0.6 cells; beyond the border cells come again, nearest first.
3. Bilinear interpolation between the centres of cells (:func:`signs`), at the middle of every
   *fine cell*; it has label 1 where the outcome is positive.

All of that is sums and products of whole numbers, so a tie has one answer on every machine.  2. and
3. know nothing but the field they are given; what noise 1. needs: docs/privacy.md, lemma B1.

Source of 1.: the *linear binning* of kernel estimates (Jones, Lotwick 1983, *On the errors involved
in computing the empirical characteristic function*; Wand 1994, *Fast computation of multivariate
kernel estimators*).  Where a cell's side is a few grid points, it matters most: cells that hold two
and three of them by turns would be counted as if they were equal.  Time and memory O(entries +
fine cells).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from geometry.arrays import Flags, Ints
from geometry.grid import Box
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from learners.core.estimator import Estimator, Run, Stream, labelled_stream
from learners.core.selection import Role, SelectionProgress, Watch
from learners.privacy.accounting import (
    Charge,
    Neighbours,
    PrivacySpent,
    check_budget,
    inner_budget,
    noise_scale,
    pure_spent,
)
from learners.privacy.noise import discrete_laplace, discrete_laplace_array
from learners.privacy.randomness import RandomSource, open_source

#: Parts of an example along an axis, and in all.
SHARES_PER_AXIS = 16
SHARES = SHARES_PER_AXIS**2

#: Places between the centres of neighbouring cells at which the field is interpolated.
PLACES = 256

#: Weights of the filter along an axis; their sum is 256.
KERNEL = (1, 42, 170, 42, 1)

#: Bits of the largest number that a weighted sum may reach.
_MOST_BITS = 62


def bin_linearly(counts: GridCounts, per_side: int) -> Ints:
    """Parts of positive less parts of negative examples in cells, `per_side` (1 to d + 1) along a
    side: int64 of shape (per_side, per_side), the lowest row first.

    One example moves cells, four at most, in one direction and by SHARES together.
    """
    (columns, across), (rows, up) = (_shares(at, counts.d, per_side) for at in counts.points.T)
    field = np.zeros((per_side, per_side), dtype=np.int64)
    signed = np.where(counts.labels, counts.amounts, -counts.amounts)
    for row, up_share in zip(rows, up, strict=True):
        for column, share in zip(columns, across, strict=True):
            # integers: sums of shares may be too large for doubles
            np.add.at(field, (row, column), signed * up_share * share)
    return field


def _shares(at: Ints, d: int, per_side: int) -> tuple[Ints, Ints]:
    """The cells before and after coordinates (m,), and the parts of each, both of shape (2, m)."""
    low, after = between_centres(2 * at + 1, d, per_side, SHARES_PER_AXIS)
    return _clipped(low, per_side), np.stack([SHARES_PER_AXIS - after, after])


def between_centres(doubled: Ints, d: int, per_side: int, parts: int) -> tuple[Ints, Ints]:
    """Where places lie between centres of cells, to the nearest of `parts` parts of a cell's side.

    `doubled`, int64, are twice the places, 0 to 2 (d + 1): grid point x is the interval x..x+1, its
    middle x + 1/2.  Returns, int64 too, the cell whose centre is the last one before the place or
    at it, -1 before the first; and how many parts of a cell's side beyond that centre, 0 to
    `parts`.
    """
    low, above = np.divmod(doubled * per_side - (d + 1), 2 * (d + 1))
    return low, (above * parts + d + 1) // (2 * (d + 1))


def _clipped(low: Ints, per_side: int) -> Ints:
    """Cells before and after, shape (2, m); beyond the border the outermost one."""
    return np.clip(np.stack([low, low + 1]), 0, per_side - 1)


def smooth(field: Ints) -> Ints:
    """The sum over 5 by 5 cells, weighted by KERNEL along either axis, shape (m, m).

    Its values are 2**16 times those of a mean.
    """
    return _along_rows(_along_rows(field).T).T


def _along_rows(field: Ints) -> Ints:
    m, reach = field.shape[1], len(KERNEL) // 2
    total = np.zeros_like(field)
    for shift, weight in enumerate(KERNEL, -reach):
        beside = (np.arange(m) + shift) % (2 * m)
        total += weight * field[:, np.minimum(beside, 2 * m - 1 - beside)]
    return total


def signs(field: Ints, d: int, cuts: Ints) -> Flags:
    """Where the smoothed field, interpolated at the middles of fine cells, is positive: bool (f,
    f).

    The field, int64 of shape (m, m), the lowest row first, is not yet smoothed; one whose sums
    could exceed 62 bits is first rounded down to a multiple of a power of two.  `cuts`, int64 of
    shape (f + 1,), are the first grid coordinate of each fine cell along a side, and d + 1.
    """
    weights = (sum(KERNEL) * PLACES) ** 2
    largest = int(np.abs(field).max())
    excess = max(0, largest.bit_length() + weights.bit_length() - _MOST_BITS)
    smoothed = smooth(field >> excess)
    low, above = between_centres(cuts[1:] + cuts[:-1], d, len(field), PLACES)
    before, after = _clipped(low, len(field))
    rows = smoothed[before] * (PLACES - above)[:, None] + smoothed[after] * above[:, None]
    values = rows[:, before] * (PLACES - above) + rows[:, after] * above
    return np.asarray(values > 0)


#: Share of epsilon that pays for the noisy number of examples.
COUNT_SHARE = 0.02

#: Most cells along a side: by default, interpolated and plain, and on request.
DEFAULT_MOST, PLAIN_MOST, MOST_PER_SIDE = 1024, 512, 2048

#: Fine cells along the side of a cell, where the grid is fine enough.
SUBDIVISION = 8


@dataclass(frozen=True, slots=True)
class HistogramBudget:
    """What one run may spend, fixed before it starts by public numbers alone.

    The scales are of integer Laplace noise: of the number of examples, None when nothing is
    counted; of every cell, in examples.  `inner` is epsilon for neighbours that add or remove one
    example.
    """

    count_scale: Fraction | None
    cell_scale: Fraction
    inner: float
    spent: PrivacySpent


def plan_histogram(
    epsilon: float, delta: float, neighbours: Neighbours, private: bool, counted: bool
) -> HistogramBudget:
    """Divide epsilon between the number of examples, if it is counted, and the cells.

    Raises ValueError if a parameter states no guarantee.
    """
    check_budget(epsilon, delta)
    inner, _ = inner_budget(epsilon, 0.0, neighbours)
    epsilon_count = COUNT_SHARE * inner if counted else 0.0
    count_scale = noise_scale(epsilon_count, 1) if counted else None
    # rounded down: the shares must not add up to more
    cell_scale = noise_scale(math.nextafter(inner - epsilon_count, 0.0), 1)
    charges = [Charge("noisy cells", float(1 / cell_scale))]
    if count_scale is not None:
        charges.insert(0, Charge("noisy number of examples", float(1 / count_scale)))
    spent = pure_spent(epsilon, neighbours, private, *charges)
    return HistogramBudget(count_scale, cell_scale, inner, spent)


def cells_per_side(count: int, epsilon: float, d: int, smooth: bool) -> int:
    """Cells along a side for about `count` examples, at most the grid's points.

    Interpolated 18.26 (epsilon count / 1000)^(3/8), rounded: a cell for 3 / epsilon examples where
    epsilon count = 1000, and for as many times (epsilon count / 1000)^(1/4) beyond.  Otherwise 16
    (epsilon count / 1000)^(log10 2): a cell must outweigh its own noise.  At least 1,
    at most DEFAULT_MOST or PLAIN_MOST.
    """
    base, power = (math.sqrt(1000 / 3), 3 / 8) if smooth else (16.0, math.log10(2))
    wanted = round(base * math.pow(max(0.0, epsilon * count) / 1000, power))
    return max(1, min(wanted, DEFAULT_MOST if smooth else PLAIN_MOST, d + 1))


def fine_per_side(per_side: int, d: int) -> int:
    """Fine cells along a side: SUBDIVISION for a cell, or, before they are uneven, grid points.

    Fine cells are uneven where they would be less than two grid points wide.  At most
    MOST_PER_SIDE, and not fewer than cells.
    """
    wanted = SUBDIVISION * per_side
    return max(per_side, min(d + 1 if 2 * wanted > d + 1 else wanted, MOST_PER_SIDE))


def cell_cuts(d: int, per_side: int) -> Ints:
    """First grid coordinate of each cell along a side, and d + 1, int64 of shape (per_side + 1,).

    Widths differ by at most one grid point.
    """
    return np.asarray(np.arange(per_side + 1, dtype=np.int64) * (d + 1) // per_side)


def cells_of(counts: GridCounts, per_side: int) -> tuple[Ints, Ints, Ints]:
    """Cuts of cells as :func:`cell_cuts`, and the column and row of the cell of every entry."""
    cuts = cell_cuts(counts.d, per_side)
    across, up = (np.searchsorted(cuts, at, side="right") - 1 for at in counts.points.T)
    return cuts, across, up


def noisy_field(counts: GridCounts, per_side: int, scale: Fraction, source: RandomSource) -> Ints:
    """Parts of examples in every cell with integer Laplace noise, shape (per_side, per_side); the
    scale is in examples, and one of them moves the cells by SHARES parts together."""
    field = bin_linearly(counts, per_side)
    noise = discrete_laplace_array(source, SHARES * scale, field.size)
    return np.asarray(field + noise.reshape(field.shape))


def noisy_cells(
    counts: GridCounts, cells: Ints, count: int, scale: Fraction, source: RandomSource
) -> Ints:
    """Positive less negative examples of every cell, with integer Laplace noise of that scale,
    shape (count,): one example moves one cell by 1.  `cells`, int64 of shape (m,), in 0..count-1,
    is the cell of every entry."""
    negatives, positives = counts.by_group(cells, count)
    return np.asarray(positives - negatives + discrete_laplace_array(source, scale, count))


def merge_cells(inside: Flags) -> tuple[Ints, Flags, Ints]:
    """Rectangles of equal cells: runs of a row, and equal runs of rows one above the other.

    `inside`, bool of shape (m, m), are the cells' labels, the lowest row first.  Returns the
    rectangles' spans, int64 of shape (r, 4): column and row of the first cell, column and row after
    the last one, from the top down, and from the left; their labels, bool of shape (r,); and the
    rectangle of every cell, int64 of shape (m, m).
    """
    m = len(inside)
    begins = np.ones((m, m), dtype=np.bool_)
    begins[:, 1:] = inside[:, 1:] != inside[:, :-1]
    rows, first = np.nonzero(begins)
    after = np.append(first[1:], 0)
    after[after == 0] = m
    label = inside[rows, first]
    order = np.lexsort((rows, after, first))
    rows, first, after, label = rows[order], first[order], after[order], label[order]
    joined = np.zeros(len(order), dtype=np.bool_)
    joined[1:] = (rows[1:] == rows[:-1] + 1) & (label[1:] == label[:-1])
    joined[1:] &= (first[1:] == first[:-1]) & (after[1:] == after[:-1])
    starts = np.flatnonzero(~joined)
    tops = rows[np.append(starts[1:], len(order)) - 1] + 1
    spans = np.stack([first[starts], rows[starts], after[starts], tops], axis=1)
    reading = np.lexsort((spans[:, 0], -spans[:, 3]))
    place = np.empty_like(reading)
    place[reading] = np.arange(len(reading))
    of_run = np.empty_like(order)
    of_run[order] = place[np.cumsum(~joined) - 1]
    owner = of_run[np.cumsum(begins.ravel()) - 1].reshape(m, m)
    return spans[reading], label[starts][reading], owner


class NoisyHistogramLearner(Estimator):
    """epsilon-private baseline: the signs of a noisy histogram, interpolated.

    Parameters
    ----------
    epsilon, delta : float
        Privacy of the whole run.  It needs no delta and states 0.
    grid : int
        d: examples have integer coordinates in 0..d.
    bounds : Bounds or (west, south, east, north), optional
        Public: where the grid lies; never take it from the examples.  With it, examples are
        longitudes and latitudes, or what the system of the bounds has.
    cells : int, optional
        Cells along a side of the square.  By default 2 % of epsilon is spent on a noisy number of
        examples, which chooses them.
    smooth : bool
        Whether the noisy cells are smoothed and interpolated before signs are taken.
    neighbours : {"add-remove", "replace-one"}
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.

    Attributes
    ----------
    release_ : TilesRelease
        What may be published.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 40)
    >>> y = (X[:, 0] + X[:, 1] <= 14).astype(int)
    >>> model = NoisyHistogramLearner(grid=16, seed=7).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.privacy_.epsilon, model.privacy_.delta
    (1.0, 0.0)
    """

    role: ClassVar[Role] = "disjunction"

    epsilon: float = 1.0
    delta: float = 1e-6
    grid: int = 1024
    bounds: Box | None = None
    cells: int | None = None
    smooth: bool = True
    neighbours: Neighbours = "add-remove"
    seed: int | None = None

    def _planned(self) -> Run:
        HalfplaneLattice(self.grid)  # refuses a grid that cannot be used at all
        given = self.cells or 0
        if given > (most := min(MOST_PER_SIDE, self.grid + 1)):
            raise ValueError(f"cells must be at most {most} along a side, got {given}")
        counted, private = self.cells is None, self.seed is None
        budget = plan_histogram(self.epsilon, self.delta, self.neighbours, private, counted)

        def begin(counts: GridCounts, watch: Watch | None) -> Stream:
            """All noise is drawn at the call: the number of rectangles is known after it."""
            started = time.perf_counter()
            source = open_source(self.seed)
            more: tuple[tuple[str, int], ...] = ()
            per_side = given
            if budget.count_scale is not None:
                count = counts.n + discrete_laplace(source, budget.count_scale)
                per_side = cells_per_side(count, budget.inner, self.grid, self.smooth)
                more = (("noisy_count", count),)
            if watch is not None:
                watch(SelectionProgress(0, per_side**2, 0.0))
            if self.smooth:
                cuts, across, up = cells_of(counts, fine_per_side(per_side, self.grid))
                field = noisy_field(counts, per_side, budget.cell_scale, source)
                inside = signs(field, self.grid, cuts)
            else:
                cuts, across, up = cells_of(counts, per_side)
                cells = up * per_side + across
                noisy = noisy_cells(counts, cells, per_side**2, budget.cell_scale, source)
                inside = np.asarray(noisy.reshape(per_side, per_side) > 0)
            spans, labels, owner = merge_cells(inside)
            boxes = np.concatenate([cuts[spans[:, :2]], cuts[spans[:, 2:]] - 1], axis=1)
            parameters = (("cells", per_side), ("smooth", self.smooth), *more)
            return labelled_stream(boxes, labels, owner[up, across], counts, started, parameters)

        return Run(budget.spent, begin, draws=True)
