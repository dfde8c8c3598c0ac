"""Baselines: noisy histograms of the labels, interpolated or not.

The *interpolated* one (`smooth`), the strongest of the simple ones that we know of:

1. b = n + DiscreteLaplace(1 / epsilon_count), a noisy number of examples, chooses the number of
   cells: `cells_per_side`, a public function of b and epsilon.
2. Positive less negative examples are divided among cells by linear binning, in SHARES parts each
   (:mod:`learners.interpolated_field`), and every cell is given integer Laplace noise of scale
   SHARES / epsilon_cells.
3. The noisy cells are smoothed and interpolated; a fine cell is labelled 1 where the outcome is
   positive.  Equal neighbouring fine cells are merged into rectangles.

The *plain* one counts every example in the cell that holds it, with noise of scale
1 / epsilon_cells, and labels cells by the signs of these counts.

Privacy, for neighbours that add or remove one example (docs/privacy.md, lemma B1): the example
moves the differences of four cells at most, by SHARES together, or that of one cell by 1; so 2. is
epsilon_cells-DP whatever the number of cells.  With 1. the run is (epsilon_count +
epsilon_cells)-DP.  All of 3. is a function of the noisy cells.  The noise is exact
(:mod:`learners.noise_arrays`), so delta is 0.

How the constants were found: docs/decisions/0024-an-interpolated-histogram.md.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geometry.grid import Box
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from learners.accounting import (
    Charge,
    Neighbours,
    PrivacySpent,
    check_budget,
    inner_budget,
    noise_scale,
    pure_spent,
)
from learners.checks import check_count
from learners.estimator import Estimator, Run, Stream
from learners.interpolated_field import SHARES, bin_linearly, signs
from learners.labelled_tiles import labelled_stream
from learners.noise import discrete_laplace
from learners.noise_arrays import discrete_laplace_array
from learners.randomness import RandomSource, open_source
from learners.scores import Role
from learners.selection import SelectionProgress, Watch
from learners.sklearn_support import keyword_parameters

#: Share of epsilon that pays for the noisy number of examples.
COUNT_SHARE = 0.02

#: Most cells along a side: by default, interpolated and plain, and on request.
DEFAULT_MOST, PLAIN_MOST, MOST_PER_SIDE = 1024, 512, 2048

#: Fine cells along the side of a cell, where the grid is fine enough.
SUBDIVISION = 8


@dataclass(frozen=True, slots=True)
class HistogramBudget:
    """What one run may spend, fixed before it starts by public numbers alone.

    Attributes
    ----------
    count_scale : Fraction or None
        Scale of the integer Laplace noise of the number of examples; None when nothing is counted.
    cell_scale : Fraction
        Scale of the integer Laplace noise of every cell, in examples.
    inner : float
        Epsilon for neighbours that add or remove one example.
    spent : PrivacySpent
    """

    count_scale: Fraction | None
    cell_scale: Fraction
    inner: float
    spent: PrivacySpent


def plan_histogram(
    epsilon: float, delta: float, neighbours: Neighbours, private: bool, counted: bool
) -> HistogramBudget:
    """Divide epsilon between the number of examples, if it is counted, and the cells.

    Raises
    ------
    ValueError
        If a parameter states no guarantee.
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


def cell_cuts(d: int, per_side: int) -> NDArray[np.int64]:
    """First grid coordinate of each cell along a side, and d + 1, int64 of shape (per_side + 1,).

    Widths differ by at most one grid point.
    """
    return np.asarray(np.arange(per_side + 1, dtype=np.int64) * (d + 1) // per_side)


def cells_of(
    counts: GridCounts, per_side: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cuts of cells as :func:`cell_cuts`, and the column and row of the cell of every entry."""
    cuts = cell_cuts(counts.d, per_side)
    across, up = (np.searchsorted(cuts, at, side="right") - 1 for at in counts.points.T)
    return cuts, across, up


def noisy_field(
    counts: GridCounts, per_side: int, scale: Fraction, source: RandomSource
) -> NDArray[np.int64]:
    """Parts of examples in every cell with integer Laplace noise, shape (per_side, per_side).

    Parameters
    ----------
    counts : GridCounts
    per_side : int
        Cells along a side.
    scale : Fraction
        Of the noise, in examples; one example moves the cells by SHARES parts together.
    source : RandomSource
    """
    field = bin_linearly(counts, per_side)
    noise = discrete_laplace_array(source, SHARES * scale, field.size)
    return np.asarray(field + noise.reshape(field.shape))


def noisy_cells(
    counts: GridCounts,
    cells: NDArray[np.int64],
    count: int,
    scale: Fraction,
    source: RandomSource,
) -> NDArray[np.int64]:
    """Positive less negative examples of every cell, with integer Laplace noise, shape (count,).

    Parameters
    ----------
    counts : GridCounts
        The examples, m entries.
    cells : ndarray of int64, shape (m,)
        The cell of every entry, in 0..count-1.
    count : int
        Number of cells.
    scale : Fraction
        Of the noise; one example moves one cell by 1.
    source : RandomSource
    """
    negatives, positives = counts.by_group(cells, count)
    return np.asarray(positives - negatives + discrete_laplace_array(source, scale, count))


def merge_cells(
    inside: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Rectangles of equal cells: runs of a row, and equal runs of rows one above the other.

    Parameters
    ----------
    inside : ndarray of bool, shape (m, m)
        Labels of the cells, the lowest row first.

    Returns
    -------
    spans : ndarray of int64, shape (r, 4)
        Column and row of the first cell, column and row after the last one; from the top down,
        and from the left.
    labels : ndarray of bool, shape (r,)
    owner : ndarray of int64, shape (m, m)
        The rectangle of every cell.
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


@keyword_parameters()
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
        counted, private = self.cells is None, self.seed is None
        budget = plan_histogram(self.epsilon, self.delta, self.neighbours, private, counted)

        def begin(counts: GridCounts, watch: Watch | None) -> Stream:
            """All noise is drawn at the call: the number of rectangles is known after it."""
            started = time.perf_counter()
            # refuses a grid that cannot be used at all before anything is drawn
            HalfplaneLattice(self.grid)
            source = open_source(self.seed)
            per_side, parameters = self._cells(counts.n, budget, source)
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
            return labelled_stream(boxes, labels, owner[up, across], counts, started, parameters)

        return Run(budget.spent, begin)

    def _cells(
        self, n: int, budget: HistogramBudget, source: RandomSource
    ) -> tuple[int, tuple[tuple[str, int | bool], ...]]:
        """Cells along a side, and the public parameters of the run."""
        smooth = self.smooth
        if budget.count_scale is None:
            most = min(MOST_PER_SIDE, self.grid + 1)
            per_side = check_count("cells", self.cells or 0)
            if per_side > most:
                raise ValueError(f"cells must be at most {most} along a side, got {per_side}")
            return per_side, (("cells", per_side), ("smooth", smooth))
        count = n + discrete_laplace(source, budget.count_scale)
        per_side = cells_per_side(count, budget.inner, self.grid, smooth)
        return per_side, (("cells", per_side), ("smooth", smooth), ("noisy_count", count))
