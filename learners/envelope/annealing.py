"""How the scores of a law's pieces are distributed, where draws from it are too rare to count.

For the curator alone: nothing here is released, and the bits are seeded and of no other use.

A population of pieces is drawn from the base measure and follows the laws of rates between 0 and
the step's, each only a little sharper than the last (sequential Monte Carlo: Del Moral, Doucet,
Jasra 2006): pieces are drawn again in proportion to how much likelier the next law makes them, and
moved by Metropolis steps that leave that law as it is.  How much the descendants of different
first pieces differ says how far off the result may be (Lee, Whiteley 2018).

Complexity: POPULATION * SWEEPS exact counts at each rate, of which there are ten or twenty.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geometry.columns import count_columns
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from geometry.inner_loops import njit
from learners.core.selection import Score
from learners.envelope.boxes import NO_SHEET
from learners.envelope.target import make_target
from learners.envelope.trials import exact_value
from learners.privacy.randomness import SeededRandom, words

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Pieces at once, and Metropolis moves of each at every rate.  At the same cost, many moves were
#: two to three times as accurate as many pieces: they must find their way between peaks.
POPULATION, SWEEPS = 500, 100

#: A rate is so much above the last one that this share of the population stays effective.
_LEFT = 0.5

#: Of the moves, this share puts an edge anywhere.  The others move it by at most a length between
#: the square's side and 2**-_FINEST grid units, all orders of magnitude alike.
_ANYWHERE, _FINEST = 0.1, 4

_SEED = 2


@dataclass(frozen=True, slots=True)
class Population:
    """Pieces by about the law.

    Attributes
    ----------
    values : ndarray of int64, shape (SWEEPS, m)
        Their scores after each of the last moves.
    origins : ndarray of int64, shape (m,)
        Number of the first piece that each descends from.
    """

    values: Ints
    origins: Ints

    def share(self, least: int) -> tuple[float, float]:
        """The law's share of pieces that score at least that much, and its standard error.

        The error is at least what it may be for m independent draws, so never 0.
        """
        held = (self.values >= least).mean(axis=0)
        share, m = float(held.mean()), len(held)
        families = np.bincount(self.origins, held - share, m)
        return share, max(math.sqrt(float((families**2).sum())) / m, 0.5 / math.sqrt(m))


@dataclass(slots=True)
class _Pieces:
    """Sheets, shape (m, 3), dual points, shape (m, 6), and scores, shape (m,), of pieces."""

    sheets: Ints
    theta: Ints
    values: Ints

    def take(self, rows: NDArray[np.intp]) -> _Pieces:
        return _Pieces(self.sheets[rows], self.theta[rows], self.values[rows])


class Annealing:
    """Follows a law from rate 0 on.

    Parameters
    ----------
    examples : GridCounts
    lattice : HalfplaneLattice
    score : Score
    rate : float
        Nats per unit of the integer score, above 0.
    edges : int
        Halfplanes of a piece, 1 to 3.
    """

    def __init__(
        self, examples: GridCounts, lattice: HalfplaneLattice, score: Score, rate: float, edges: int
    ) -> None:
        self._lattice, self._rate, self._edges = lattice, rate, edges
        self._target = make_target(lattice, score, rate, examples.n)
        self._totals = count_columns(examples)
        self._basis = np.array(lattice.basis, dtype=np.int64)
        self._positives = examples.positives
        self._source = SeededRandom(_SEED)

    def run(self, watch: Callable[[], None], population: int = POPULATION) -> Population:
        """The population at the whole rate; `watch` is called now and then and may raise."""
        pieces, origins = self._first(population), np.arange(population)
        share = 0.0
        while share < 1:
            gains = self._rate * (pieces.values - pieces.values.max())
            onward = _next_share(gains, share)
            kept = self._drawn_again(np.exp((onward - share) * gains))
            pieces, origins, share = pieces.take(kept), origins[kept], onward
            last = []
            for _ in range(SWEEPS):
                watch()
                self._move(self._rate * share, pieces)
                last.append(pieces.values.copy())
        return Population(np.array(last), origins)

    def _first(self, m: int) -> _Pieces:
        """Pieces from the base measure."""
        sheets = np.full((m, 3), NO_SHEET, dtype=np.int64)
        theta = np.zeros((m, 6), dtype=np.int64)
        for e in range(self._edges):
            missing = np.arange(m)
            while len(missing):
                sheet, places = self._anywhere(len(missing))
                sheets[missing, e], theta[missing, 2 * e : 2 * e + 2] = sheet, places
                missing = missing[~self._admitted(places)]
        values = self._values(sheets, theta, np.full(m, -(1 << 60)))
        return _Pieces(sheets, theta, values)

    def _move(self, rate: float, pieces: _Pieces) -> None:
        """One Metropolis move of each piece, by proposals as likely forth as back."""
        rows = np.arange(len(pieces.values))
        e = self._below(len(rows), self._edges)
        sheet, places = self._anywhere(len(rows))
        stays = self._uniforms(len(rows)) >= _ANYWHERE
        here = np.stack([pieces.theta[rows, 2 * e], pieces.theta[rows, 2 * e + 1]], axis=1)
        places[stays] = (here + self._steps(len(rows)))[stays]
        sheet[stays] = pieces.sheets[rows, e][stays]
        sheets, theta = pieces.sheets.copy(), pieces.theta.copy()
        sheets[rows, e], theta[rows, 2 * e], theta[rows, 2 * e + 1] = sheet, *places.T
        # how far the score may fall is drawn first, so that counting may end early
        falls = np.minimum(-np.log1p(-self._uniforms(len(rows))) / rate, 1e15)
        least = pieces.values - falls.astype(np.int64)
        tried = np.flatnonzero(self._admitted(places))
        values = self._values(sheets[tried], theta[tried], least[tried])
        took = values >= least[tried]
        moved = tried[took]
        pieces.sheets[moved], pieces.theta[moved] = sheets[moved], theta[moved]
        pieces.values[moved] = values[took]

    def _steps(self, m: int) -> Ints:
        """Moves of a dual point, shape (m, 2): along u, along v, both alike, or both freely."""
        span = self._lattice.high - self._lattice.low
        octaves = math.log2(span) - self._lattice.bits + _FINEST
        size = span * 2.0 ** (-octaves * self._uniforms(m))
        steps = 2 * self._uniforms(m, 2) - 1
        kind = self._below(m, 4)
        steps[kind == 0, 0] = 0
        steps[kind == 1, 1] = 0
        steps[kind == 2, 1] = steps[kind == 2, 0]
        return np.rint(steps * size[:, None]).astype(np.int64)

    def _anywhere(self, m: int) -> tuple[Ints, Ints]:
        """Sheets, shape (m,), and dual points, shape (m, 2), uniform in a sheet's square."""
        low, high = self._lattice.low, self._lattice.high
        sheets = np.array(self._lattice.sheets, dtype=np.int64)
        places = low + np.floor(self._uniforms(m, 2) * (high + 1 - low)).astype(np.int64)
        return sheets[self._below(m, len(sheets))], places

    def _admitted(self, places: Ints) -> NDArray[np.bool_]:
        """:meth:`HalfplaneLattice.admits` of each dual point."""
        low, high = self._lattice.low, self._lattice.high
        inside = np.asarray(((low <= places) & (places <= high)).all(axis=1))
        if self._lattice.measure == "chord":
            side = self._lattice.d << self._lattice.bits
            gap = np.abs(places[:, 0] - places[:, 1])
            inside &= (gap <= side) & (places.max(axis=1) >= 0) & (places.min(axis=1) <= side)
        return inside

    def _values(self, sheets: Ints, theta: Ints, least: Ints) -> Ints:
        """Scores; of a piece that scores below `least`, any number below that."""
        packed = sheets[:, 0] | sheets[:, 1] << 3 | sheets[:, 2] << 6
        values = np.empty(len(packed), dtype=np.int64)
        most = self._positives
        _fill(self._target, self._totals, self._basis, packed, theta, least, most, values)
        return values

    def _drawn_again(self, weights: Floats) -> NDArray[np.intp]:
        """Rows in proportion to their weights, at even distances along their sum."""
        sums = np.cumsum(weights)
        places = (np.arange(len(weights)) + self._uniforms(1)) / len(weights) * sums[-1]
        rows: NDArray[np.intp] = np.searchsorted(sums, places, side="right")
        return np.minimum(rows, len(weights) - 1)

    def _below(self, m: int, bound: int) -> Ints:
        return (self._uniforms(m) * bound).astype(np.int64)

    def _uniforms(self, *shape: int) -> Floats:
        """Uniform in 0..1, 1 excluded."""
        bits = words(self._source, math.prod(shape)) >> np.uint64(11)
        return (bits.astype(np.float64) * 2.0**-53).reshape(shape)


def _next_share(gains: Floats, share: float) -> float:
    """The next share of the rate, as far on as leaves enough of the population effective."""

    def left(step: float) -> float:
        weights = np.exp(step * gains)
        return float(weights.sum() ** 2 / (weights**2).sum()) / len(weights)

    if left(1 - share) >= _LEFT:
        return 1.0
    low, high = 0.0, 1 - share
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if left(middle) >= _LEFT else (low, middle)
    return share + high


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(target, totals, basis, sheets, theta, least, most, values):
    for i in range(len(values)):
        values[i] = exact_value(target, totals, basis, sheets[i], theta[i], least[i], most)
