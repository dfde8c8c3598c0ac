"""Private learner of unions of polygons, by tiles or by the greedy cover of KMMS theorem 5.1.

Without `k` the square is divided into tiles, and each learns a labelled piece of at most two
edges with the whole epsilon (:mod:`learners.tiles`): what to use when nothing is known of the
shape.

With `k` the hypothesis is a union of triangles, selected one after the other (KMMS; a union of
polygons with k edges is a union of at most k triangles).  KMMS select among the n^6 triples of
cells; the envelope sampler draws from the same law without enumerating them.
"""

from __future__ import annotations

from collections.abc import Iterator

from numpy.typing import ArrayLike

from geometry.halfplane import HalfplaneLattice, Measure
from geometry.tiling import Tile, tile_square
from learners.accounting import Neighbours
from learners.concept_selection import ConceptSelection
from learners.estimator import PrivateSetCover, SelectionName, check_count, check_examples
from learners.randomness import RandomSource, open_source
from learners.records import StepRecord
from learners.scores import Role
from learners.selection import PieceKind, Watch
from learners.tiles import (
    TileBudget,
    noisy_count,
    plan_tiles,
    tile_lattice,
    tile_steps,
    tiles_per_side,
)


class PolygonUnionLearner(PrivateSetCover):
    """(epsilon, delta)-private learner of a union of polygons.

    Parameters
    ----------
    epsilon, delta : float
        Privacy of the whole run.  A run by tiles needs no delta: it states 1e-40 at most.
    k : int, optional
        Triangles that cover the region: learn them one after the other.  By default none are
        assumed, and the run goes by tiles.
    grid : int
        d: examples have integer coordinates in 0..d.
    tiles : int, optional
        Tiles along a side of the square.  By default a small part of epsilon is spent on a noisy
        number of examples, which chooses them.
    n_steps, alpha, beta :
        Of a run with `k`, see :class:`learners.estimator.PrivateSetCover`.
    neighbours : {"add-remove", "replace-one"}
    measure : {"chord", "paper"}
        Base measure of the dual plane, see :class:`geometry.halfplane.HalfplaneLattice`.
    selection : {"envelope", "arrangement"}
        The sampler of a run with `k`.
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.

    Attributes
    ----------
    release_ : MosaicRelease or, with `k`, CoverRelease
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

    role: Role = "disjunction"
    piece: PieceKind = "triangle"

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        k: int | None = None,
        grid: int = 1024,
        tiles: int | None = None,
        n_steps: int | None = None,
        alpha: float | None = None,
        beta: float = 0.1,
        neighbours: Neighbours = "add-remove",
        measure: Measure = "chord",
        selection: SelectionName = "envelope",
        seed: int | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            k=k,
            grid=grid,
            n_steps=n_steps,
            alpha=alpha,
            beta=beta,
            neighbours=neighbours,
            measure=measure,
            selection=selection,
            seed=seed,
        )
        self.tiles = tiles

    def steps(
        self, X: ArrayLike, y: ArrayLike, *, watch: Watch | None = None
    ) -> Iterator[StepRecord]:
        """Run the learner, one record a step; `release_` is set when the last one is taken.

        Parameters and errors as in :meth:`fit`.  Checks happen at the call, before the first
        record is asked for.
        """
        if self.k is not None:
            if self.tiles is not None:
                raise ValueError("a run with k triangles has no tiles: give k or tiles, not both")
            return super().steps(X, y, watch=watch)
        # a run that is cancelled leaves nothing behind, nor the last run's release
        self.__dict__.pop("release_", None)
        points, labels = check_examples(X, y, self.grid)
        self._refuse_what_needs_k()
        source = open_source(self.seed)
        budget = plan_tiles(
            self.epsilon, self.delta, self.neighbours, source.private, counted=self.tiles is None
        )
        tiles, parameters = self._divide(len(points), budget, source)
        lattice = tile_lattice(tiles, self.measure)
        stream = tile_steps(
            points,
            labels,
            tiles=tiles,
            selection=ConceptSelection(lattice),
            eta=budget.eta,
            source=source,
            watch=watch,
        )
        return self._publish(stream, lattice, parameters, budget.spent(len(tiles)))

    def _divide(
        self, n: int, budget: TileBudget, source: RandomSource
    ) -> tuple[tuple[Tile, ...], tuple[tuple[str, int], ...]]:
        """The tiles, and the public parameters of the run."""
        # refuses a grid that cannot be used at all before anything is drawn
        HalfplaneLattice(self.grid, self.measure)
        if self.tiles is not None:
            per_side = check_count("tiles", self.tiles)
            return tile_square(self.grid, per_side), (("tiles", per_side),)
        assert budget.scale is not None  # the budget pays for a count
        count = noisy_count(n, budget.scale, source)
        per_side = tiles_per_side(count, budget.eta, self.grid)
        return tile_square(self.grid, per_side), (("tiles", per_side), ("noisy_count", count))

    def _refuse_what_needs_k(self) -> None:
        for name, default in (("n_steps", None), ("alpha", None), ("selection", "envelope")):
            value = getattr(self, name)
            if value != default:
                raise ValueError(f"{name} = {value!r} belongs to a run with k triangles: give k")
