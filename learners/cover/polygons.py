"""Learns unions of polygons and convex polygons privately, by tiles or by the cover of KMMS.

Without `k` the square is divided into tiles, and each learns a labelled piece of at most two
edges with the whole epsilon (:mod:`learners.tiles.tiles`): what to use when nothing is known of the
shape.  The convex polygon that agrees best with the tiles' public labels is fitted, at no cost in
privacy (docs/privacy.md, lemma 6).  These are read off at up to 129 x 129 places; halfplanes are
taken greedily while they gain (:mod:`learners.cover.best_piece`, a lost point weighing more than a
gained one); then each in turn is replaced by the best one given the others, by the number of points
it gets wrong, or dropped when that costs next to nothing, until nothing changes.  Then the same
again, from there, at up to 513 x 513 places.

With `k` the hypothesis is a union of triangles, selected one after the other (KMMS theorem 5.1; a
union of polygons with k edges is a union of at most k triangles), or an intersection of halfplanes
(SelectHalfplane, lemma 4.6 and theorem 4.7).  KMMS select among the n^6 triples of cells; the
envelope sampler draws from a lattice of halfplanes without enumerating it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np

from geometry.arrays import Flags, Ints
from geometry.grid import Box
from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, HalfplaneLattice, Measure
from learners.core.estimator import Estimator, Run, SelectionName, Stream
from learners.core.records import StepRecord, StepRelease, TileStep
from learners.core.releases import TilesRelease
from learners.core.selection import (
    PieceKind,
    Role,
    Selected,
    SelectionProgress,
    Watch,
    mistakes_score,
)
from learners.cover.best_piece import best_piece, gain_less_loss
from learners.cover.cover_run import plane_cover
from learners.cover.set_cover import Cover, Finish, Pieces
from learners.privacy.accounting import Neighbours
from learners.tiles.tiles import tile_run


class PolygonUnionLearner(Estimator):
    """(epsilon, delta)-private learner of a union of polygons.

    With `k` that many triangles are taken to cover the region; with k = "auto" nobody needs to know
    how many (docs/decisions/0016-k-not-told.md).

    Parameters
    ----------
    epsilon, delta : float
        Privacy of the whole run.  A run by tiles needs no delta: it states 1e-40.
    k : int or "auto", optional
        Pieces of a good hypothesis: select them one after the other.  By "auto" the run finds by
        its noisy counts how many.  By default none are assumed, and the run goes by tiles.
    grid : int
        d: examples have integer coordinates in 0..d.
    bounds : Bounds or (west, south, east, north), optional
        Public: where the grid lies; never take it from the examples.  With it, examples are
        longitudes and latitudes, or what the system of the bounds has.
    tiles : int, optional
        Tiles along a side of the square.  By default a small part of epsilon is spent on a noisy
        number of examples, which chooses them.
    edges : int
        Most edges of a tile's piece, 1 or 2.  One is faster where many labels are wrong: a draw
        of two takes seconds where one label in ten is wrong, and minutes where three are.
    support : float, optional
        Without `k`: share of epsilon, strictly between 0 and 1, that releases where there were
        enough examples to say anything (:mod:`learners.core.support`), beside the shape.  By
        default nothing is spent on it, and nothing of it released.
    n_steps : int, optional
        Triangles of a run with `k`.  By default 1 for k = 1, else 2k, or with `alpha` the source's
        ceil(2k ln(2/alpha)).  With k = "auto" the most of them, by default 8.
    alpha : float, optional
        Error aimed at, in (0, 1): only chooses the number of steps.
    beta : float
        With `k`: probability, in (0, 1), with which some noisy count may exceed the true one.
    finish : {"sharpen", "none"}
        With `k`: what follows the triangles.  By "sharpen" they have three tenths of epsilon, and
        their edges are drawn again with the rest, each among the examples nearest to it
        (:mod:`learners.cover.sharpening`); a single triangle has all of epsilon, and is drawn by
        its number of mistakes.  By "none" the run ends with them, as KMMS's does, and all are
        drawn by KMMS's score.
    neighbours : {"add-remove", "replace-one"}
    measure : {"chord", "paper"}
        Base measure of the dual plane, see :class:`geometry.halfplane.HalfplaneLattice`.
    selection : {"envelope", "arrangement"}
        With `k`: the sampler.  Both draw from the same law up to their rounding, which is charged;
        the second only for tiny samples.
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.

    Attributes
    ----------
    release_ : TilesRelease or, with `k`, SharpenedRelease or CoverRelease
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

    epsilon: float = 1.0
    delta: float = 1e-6
    k: Pieces | None = None
    grid: int = 1024
    bounds: Box | None = None
    tiles: int | None = None
    edges: int = 2
    support: float | None = None
    n_steps: int | None = None
    alpha: float | None = None
    beta: float = 0.1
    finish: Finish = "sharpen"
    neighbours: Neighbours = "add-remove"
    measure: Measure = "chord"
    selection: SelectionName = "envelope"
    seed: int | None = None

    def _planned(self) -> Run:
        if self.k is None:
            return tile_run(self, self.support, tidy=True)
        if self.support is not None:
            raise ValueError("support is released by runs by tiles: give k or support, not both")
        return plane_cover(self, self.k, self.finish)


# -- convex polygons ---------------------------------------------------------------------------

#: Most places along a side at which labels are read, first and in the end.
_PLACES = (129, 513)

#: Gained points that outweigh a lost one while the first halfplanes are taken, besides the odds of
#: a negative point: so a halfplane that excludes everything gains nothing.
_LOSS_WEIGHT = 3

#: Most edges, and rounds of improvement.
_MOST_EDGES, _ROUNDS = 32, 4

#: An edge must be worth this share of the places, and at least one.
_LEAST_SHARE = 1 / 20_000


def fit_convex(
    lattice: HalfplaneLattice, predict: Callable[[Ints], Ints], most_edges: int = _MOST_EDGES
) -> tuple[Halfplane, ...]:
    """Halfplanes whose intersection gets few labels wrong; at least one.

    Parameters
    ----------
    lattice : HalfplaneLattice
        On the grid 0..d of the points.
    predict : callable
        Labels 0/1, shape (n,), of grid points, int64 of shape (n, 2).
    most_edges : int
    """
    edges: list[Halfplane] = []
    for places in _PLACES:
        axis = np.unique(np.linspace(0, lattice.d, min(lattice.d + 1, places)).round().astype(int))
        points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
        fit = _Fit(lattice, points, predict(points).astype(bool), edges)
        if not edges:
            fit.start(most_edges)
        for _ in range(_ROUNDS):
            before = list(fit.edges)
            fit.improve()
            if fit.edges == before:
                break
        edges = fit.edges
    return tuple(edges)


class _Fit:
    """Edges so far, and the places that each keeps."""

    def __init__(
        self, lattice: HalfplaneLattice, points: Ints, labels: Flags, edges: list[Halfplane]
    ) -> None:
        self._lattice = lattice
        self._places = GridCounts.of_examples(points, labels, lattice.d)
        self._least = max(1, round(len(points) * _LEAST_SHARE))
        self.edges = list(edges)
        self._kept = [edge.contains(self._places.points) for edge in edges]

    def start(self, most_edges: int) -> None:
        """Take edges while they gain."""
        weight = _LOSS_WEIGHT + self._places.n // max(1, self._places.positives)
        while len(self.edges) < most_edges:
            edge, value = self._best(None, weight)
            if self.edges and value < self._least:
                break
            self._put(len(self.edges), edge)

    def improve(self) -> None:
        """Replace every edge by the best given the others; drop those that are worth little."""
        for i in reversed(range(len(self.edges))):
            edge, value = self._best(i, 1)
            if value < self._least and len(self.edges) > 1:
                del self.edges[i], self._kept[i]
            elif value > self._value(i):
                self._put(i, edge)

    def _put(self, i: int, edge: Halfplane) -> None:
        kept = edge.contains(self._places.points)
        self.edges[i : i + 1] = [edge]
        self._kept[i : i + 1] = [kept]

    def _alive(self, without: int | None) -> Flags:
        alive = np.ones(len(self._places), dtype=np.bool_)
        for i, kept in enumerate(self._kept):
            if i != without:
                alive &= kept
        return alive

    def _value(self, i: int) -> int:
        """Negatives that only edge i excludes, less positives."""
        cut = self._places.where(self._alive(i) & ~self._kept[i])
        return cut.negatives - cut.positives

    def _best(self, without: int | None, weight: int) -> tuple[Halfplane, int]:
        alive = self._places.where(self._alive(without))
        objective = gain_less_loss("conjunction", weight, alive.positives, alive.negatives)
        found = best_piece(alive, self._lattice, "halfplane", objective)
        return found.piece[0], found.value


class ConvexPolygonLearner(Estimator):
    """(epsilon, delta)-private learner of a convex polygon.

    Parameters that are not listed are those of
    :class:`PolygonUnionLearner`.

    Parameters
    ----------
    k : int, optional
        Edges of a good polygon.  By default none are assumed, and the run goes by tiles.
    n_steps : int, optional
        Halfplanes of a run with `k`.  By default 1 for k = 1, else 3k, or with `alpha` the source's
        ceil(2k ln(2/alpha)).

    Attributes
    ----------
    release_ : CoverRelease
        What may be published.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 40)
    >>> y = ((X > 3) & (X < 13)).all(axis=1).astype(int)
    >>> ConvexPolygonLearner(grid=16, seed=7).fit(X, y).score(X, y) > 0.99
    True
    >>> ConvexPolygonLearner(k=4, grid=16, seed=7).fit(X, y).score(X, y) > 0.95
    True
    """

    role: ClassVar[Role] = "conjunction"
    piece: ClassVar[PieceKind] = "halfplane"

    epsilon: float = 1.0
    delta: float = 1e-6
    k: int | None = None
    grid: int = 1024
    bounds: Box | None = None
    tiles: int | None = None
    edges: int = 2
    n_steps: int | None = None
    alpha: float | None = None
    beta: float = 0.1
    neighbours: Neighbours = "add-remove"
    measure: Measure = "chord"
    selection: SelectionName = "envelope"
    seed: int | None = None

    def _planned(self) -> Run:
        if self.k is not None:
            return plane_cover(self, self.k)
        by_tiles = tile_run(self)

        def begin(counts: GridCounts, watch: Watch | None) -> Stream:
            tiles = by_tiles.begin(counts, watch)
            lattice = HalfplaneLattice(self.grid, self.measure)
            return Stream(fitted_edges(tiles, counts, lattice), lattice, tiles.parameters)

        return Run(by_tiles.spent, begin, draws=True)


def fitted_edges(
    by_tiles: Stream, counts: GridCounts, lattice: HalfplaneLattice
) -> Iterator[StepRecord]:
    """Learn all tiles, then one record for each edge of the polygon fitted to them."""
    started = time.perf_counter()
    trials, boxes, rate, tiles = 0, 0, 0.0, []
    for record in by_tiles.records:
        assert isinstance(record.release, TileStep)
        tiles.append(record.release)
        trials += record.diagnostics.trials
        boxes += record.diagnostics.boxes
        rate = record.diagnostics.rate
    assert isinstance(by_tiles.lattice, HalfplaneLattice)
    tiled = TilesRelease("", by_tiles.lattice, (), None, tuple(tiles))
    edges = fit_convex(lattice, tiled.predict)
    cover = Cover(counts, "conjunction")
    for number, edge in enumerate(edges, start=1):
        # the tiles' work is the first edge's; each edge has the score of what is left
        progress = SelectionProgress(trials, boxes, float("nan"))
        score = mistakes_score(counts.where(cover.alive).positives)
        diagnostics = cover.take(Selected((edge,), progress), score, started, rate)
        yield StepRecord(number, len(edges), StepRelease((edge,), None), diagnostics)
        started, trials, boxes = time.perf_counter(), 0, 0
