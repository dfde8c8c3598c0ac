"""The tile learner: the square is divided, and each tile learns a piece with the whole epsilon.

1. b = n + DiscreteLaplace(1 / epsilon_noise), a noisy number of examples, chooses the number of
   tiles: `tiles_per_side`, a public function of b and epsilon.
2. In every tile a labelled piece of at most two edges is drawn by its number of mistakes on the
   tile's own examples (:mod:`learners.envelope.concept_selection`), with rate eta.

Privacy (docs/privacy.md, lemma 7), for neighbours that add or remove one example: the tiles
depend on b alone, so the example lies in one tile, and the draws of all others have the same law
with and without it.  The run is (epsilon_noise + eta)-DP by basic composition, whatever the number
of tiles (parallel composition: McSherry 2009); delta only pays for events that the samplers'
arithmetic neglects.

Departs from the source: KMMS cover the region by k triangles one after the other, each selected
from all examples with a share of epsilon.  Here the pieces need no k and no share, for the price
of seams: a tile sees its own part of the shape only.  Whichever does better on what shape:
docs/accuracy.md.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geometry.edge_zones import EdgeZone
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice, Measure
from geometry.tiling import Tile
from learners.accounting import (
    LEAST_DELTA,
    MOST_RATE,
    Charge,
    Neighbours,
    PrivacySpent,
    after_arithmetic,
    check_budget,
    inner_budget,
    noise_scale,
)
from learners.envelope.concept_selection import ConceptDraw, ConceptSelection
from learners.noise import discrete_laplace
from learners.randomness import RandomSource
from learners.records import StepDiagnostics, StepRecord, TileStep, halfplanes_of
from learners.selection import Selected, Watch

#: Share of epsilon that pays for the noisy number of examples.
COUNT_SHARE = 0.02

#: Most tiles along a side.
MOST_PER_SIDE = 128

#: Tiles of a run that nobody watches are drawn in so many threads: more would hold more tables.
_AT_ONCE = 2

#: Seconds between two moments at which Ctrl+C is heard.
_LISTEN = 0.2


@dataclass(frozen=True, slots=True)
class TileBudget:
    """What one run may spend, fixed before it starts by public numbers alone.

    Attributes
    ----------
    scale : Fraction or None
        Scale of the integer Laplace noise of the count; None when nothing is counted.
    eta : float
        Nats per mistake in every tile.
    spent : PrivacySpent
        However many tiles there are.
    """

    scale: Fraction | None
    eta: float
    spent: PrivacySpent


def plan_tiles(
    epsilon: float, delta: float, neighbours: Neighbours, private: bool, counted: bool
) -> TileBudget:
    """Divide epsilon between the count, if there is one, and the selections.

    Raises
    ------
    ValueError
        If a parameter states no guarantee.
    """
    check_budget(epsilon, delta)
    inner, inner_delta = inner_budget(epsilon, delta, neighbours)
    epsilon_noise = COUNT_SHARE * inner if counted else 0.0
    # an example lies in one tile: one draw is off
    eta, _ = after_arithmetic(inner - epsilon_noise, inner_delta, 1)
    eta = min(eta, MOST_RATE)
    scale = noise_scale(epsilon_noise, 1) if counted else None
    count = (Charge("noisy number of examples", epsilon_noise),) if counted else ()
    charges = (*count, Charge("selections", eta))
    spent = PrivacySpent(epsilon, LEAST_DELTA, neighbours, "basic", charges, private)
    return TileBudget(scale, eta, spent)


def tiles_per_side(count: int, eta: float, d: int) -> int:
    """Tiles along a side for about `count` examples: 2.6 (eta * count / 1000)^(1/4), rounded.

    A tile that the boundary crosses costs some nats over eta mistakes, however small it is; what
    its piece cannot express, a share of its examples (docs/decisions/0007-tiles.md).  At least 1,
    at most MOST_PER_SIDE and one for every two grid points.
    """
    wanted = round(2.6 * math.sqrt(math.sqrt(max(0.0, eta * count) / 1000)))
    return max(1, min(wanted, MOST_PER_SIDE, (d + 1) // 2))


def tile_lattice(tiles: tuple[Tile, ...], measure: Measure) -> HalfplaneLattice:
    """The lattice of every tile's own frame, large enough for the largest."""
    widest = max(max(tile.x1 - tile.x0, tile.y1 - tile.y0) for tile in tiles)
    return HalfplaneLattice(max(1, widest), measure)


def noisy_count(n: int, scale: Fraction, source: RandomSource) -> int:
    """The number of examples with integer Laplace noise of that scale."""
    return n + discrete_laplace(source, scale)


def tile_steps(
    counts: GridCounts,
    *,
    tiles: Sequence[Tile | EdgeZone],
    groups: Sequence[NDArray[np.int64]],
    selection: Callable[[Tile | EdgeZone], ConceptSelection],
    eta: float,
    source: RandomSource,
    watch: Watch | None,
    before: NDArray[np.bool_] | None = None,
    first: int = 1,
) -> Iterator[StepRecord]:
    """Learn tile after tile, one record each.

    Parameters
    ----------
    counts : GridCounts
        Examples on the grid, m entries.
    tiles : sequence of Tile or EdgeZone
        They hold every grid point once.
    groups : sequence of int64 arrays
        For each tile the entries that it holds.
    selection : callable
        The sampler of a tile, on the lattice of its own frame.
    eta : float
        Nats per mistake.
    source : RandomSource
    watch : callable, optional
        Called from inside every selection; may raise Cancelled.
    before : ndarray of bool, shape (m,), optional
        Labels of the entries in tiles to come; by default 0.
    first : int
        Number of the first record.
    """
    books = _Books(counts, before)

    def begin(tile: Tile | EdgeZone, rows: NDArray[np.int64]) -> _TileDraw:
        held, sampler = counts.where(rows), selection(tile)
        own = GridCounts(
            sampler.lattice.d, tile.to_own_frame(held.points), held.labels, held.amounts
        )
        return _TileDraw(tile, rows, held, sampler.begin(own, eta, source))

    begun = itertools.starmap(begin, zip(tiles, groups, strict=True))
    drawn = _one_by_one(begun, watch) if watch is not None else _side_by_side(begun)
    for number, (draw, selected, seconds) in enumerate(drawn, start=first):
        release = TileStep(draw.tile, halfplanes_of(selected.piece), selected.inside)
        predicted = release.predict(draw.held.points)
        diagnostics = books.enter(draw.rows, draw.held, predicted, selected, seconds)
        yield StepRecord(number, first - 1 + len(tiles), release, diagnostics)


@dataclass(frozen=True, slots=True)
class _TileDraw:
    """A tile, the entries that it holds, and the draw of its piece, which has begun."""

    tile: Tile | EdgeZone
    rows: NDArray[np.int64]
    held: GridCounts
    draw: ConceptDraw


_Drawn = tuple[_TileDraw, Selected, float]


def _one_by_one(begun: Iterable[_TileDraw], watch: Watch) -> Iterator[_Drawn]:
    """What is drawn in one tile after the other, and the seconds that it took."""
    for each in begun:
        started = time.perf_counter()
        yield each, each.draw.settle(watch), time.perf_counter() - started


def _side_by_side(begun: Iterable[_TileDraw]) -> Iterator[_Drawn]:
    """The same, several tiles at a time: which bits a draw has is settled when it begins."""
    stopped = threading.Event()

    def settle(each: _TileDraw) -> _Drawn:
        started = time.perf_counter()
        return each, each.draw.settle(stop=stopped.is_set), time.perf_counter() - started

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="tile") as pool:
        waiting: deque[Future[_Drawn]] = deque()
        try:
            for each in begun:
                waiting.append(pool.submit(settle, each))
                if len(waiting) > _AT_ONCE:
                    yield _result(waiting.popleft())
            while waiting:
                yield _result(waiting.popleft())
        finally:
            stopped.set()


def _result(future: Future[_Drawn]) -> _Drawn:
    """What it comes to; not every system lets Ctrl+C end a wait without a limit."""
    while not future.done():
        wait([future], _LISTEN)
    return future.result()


class _Books:
    """The curator's books: how wrong a run is so far; tiles to come are labelled as before."""

    def __init__(self, counts: GridCounts, before: NDArray[np.bool_] | None) -> None:
        self._n = counts.n
        self._before = np.zeros(len(counts), dtype=np.bool_) if before is None else before
        held = counts.where(self._before)
        self._false_positives = held.negatives
        self._false_negatives = counts.positives - held.positives

    def enter(
        self,
        rows: NDArray[np.int64],
        counts: GridCounts,
        predicted: NDArray[np.bool_],
        selected: Selected,
        seconds: float,
    ) -> StepDiagnostics:
        """Enter a tile's examples, entries `rows`, and what is predicted for them."""
        positives = counts.positives
        inside, was = counts.where(predicted), counts.where(self._before[rows])
        taken, wrong = inside.positives, inside.negatives
        self._false_positives += wrong - was.negatives
        self._false_negatives -= taken - was.positives
        return StepDiagnostics.booked(
            (counts.negatives, positives),
            (wrong, taken),
            (self._false_positives, self._false_negatives),
            self._n,
            score=float(taken - positives - wrong),
            seconds=seconds,
            **selected.progress.work(),
        )
