"""What learners have in common that run by tiles, or with `k` as the greedy set cover."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice
from geometry.tiling import Tile, TileIndex, tile_square
from learners.accounting import PrivacySpent
from learners.cover_estimator import PrivateSetCover
from learners.envelope.concept_selection import ConceptSelection
from learners.estimator import check_count
from learners.randomness import RandomSource, open_source
from learners.records import StepRecord
from learners.selection import Watch
from learners.set_cover import Pieces
from learners.sklearn_support import keyword_parameters
from learners.tiles import (
    TileBudget,
    noisy_count,
    plan_tiles,
    tile_lattice,
    tile_steps,
    tiles_per_side,
)


@dataclass(frozen=True, slots=True)
class TileRun:
    """A run by tiles that has been planned.

    Attributes
    ----------
    counts : GridCounts
    tiles : tuple of Tile
    parameters : tuple of (str, int)
        Public parameters.
    lattice : HalfplaneLattice
        Of the tiles' own frames.
    edges : int
        Most edges of a piece.
    budget : TileBudget
    source : RandomSource
    watch : callable or None
    """

    counts: GridCounts
    tiles: tuple[Tile, ...]
    parameters: tuple[tuple[str, int], ...]
    lattice: HalfplaneLattice
    edges: int
    budget: TileBudget
    source: RandomSource
    watch: Watch | None

    def steps(self) -> Iterator[StepRecord]:
        """Learn tile after tile."""
        selection = ConceptSelection(self.lattice, self.edges)
        return tile_steps(
            self.counts,
            tiles=self.tiles,
            groups=TileIndex.of(self.tiles).groups(self.counts.points),
            selection=lambda tile: selection,
            eta=self.budget.eta,
            source=self.source,
            watch=self.watch,
        )


@keyword_parameters(after={"grid": ["tiles", "edges"]})
class TileEstimator(PrivateSetCover):
    """A learner by tiles; with `k` the greedy set cover.

    Parameters
    ----------
    epsilon, delta : float
        Privacy of the whole run.  A run by tiles needs no delta: it states 1e-40.
    k : int or "auto", optional
        Pieces of a good hypothesis: select them one after the other.  By "auto", for unions of
        triangles, the run finds by its noisy counts how many.  By default none are assumed, and
        the run goes by tiles.
    grid : int
        d: examples have integer coordinates in 0..d.
    tiles : int, optional
        Tiles along a side of the square.  By default a small part of epsilon is spent on a noisy
        number of examples, which chooses them.
    edges : int
        Most edges of a tile's piece, 1 or 2.  One is faster where many labels are wrong: a draw
        of two takes seconds where one label in ten is wrong, and minutes where three are.
    n_steps, alpha, beta, selection :
        Of a run with `k`, see :class:`learners.cover_estimator.PrivateSetCover`.
    neighbours : {"add-remove", "replace-one"}
    measure : {"chord", "paper"}
        Base measure of the dual plane, see :class:`geometry.halfplane.HalfplaneLattice`.
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.

    Attributes
    ----------
    release_ : Release
        What may be published.
    """

    k: Pieces | None = None
    tiles: int | None = None
    edges: int = 2

    def _run(self, counts: GridCounts, watch: Watch | None) -> Iterator[StepRecord]:
        if self.k is not None:
            if self.tiles is not None:
                raise ValueError("a run with k pieces has no tiles: give k or tiles, not both")
            return super()._run(counts, watch)
        self._refuse_what_needs_k()
        if self.edges not in (1, 2):
            raise ValueError(f"a tile's piece has at most 1 or 2 edges, not {self.edges!r}")
        source = open_source(self.seed)
        budget = self._plan_tiles()
        tiles, parameters = self._divide(counts.n, budget, source)
        lattice = tile_lattice(tiles, self.measure)
        run = TileRun(counts, tiles, parameters, lattice, self.edges, budget, source, watch)
        return self._by_tiles(run)

    def plan(self) -> PrivacySpent | None:
        """What a run with these parameters will spend, by public numbers alone."""
        return self._plan_tiles().spent if self.k is None else super().plan()

    def _plan_tiles(self) -> TileBudget:
        counted, private = self.tiles is None, self.seed is None
        return plan_tiles(self.epsilon, self.delta, self.neighbours, private, counted)

    @abstractmethod
    def _by_tiles(self, run: TileRun) -> Iterator[StepRecord]:
        """Carry out a planned run, and keep the release."""

    def _divide(
        self, n: int, budget: TileBudget, source: RandomSource
    ) -> tuple[tuple[Tile, ...], tuple[tuple[str, int], ...]]:
        """The tiles, and the public parameters of the run."""
        # refuses a grid that cannot be used at all before anything is drawn
        HalfplaneLattice(self.grid, self.measure)
        if self.tiles is not None:
            per_side = check_count("tiles", self.tiles)
            return tile_square(self.grid, per_side), (("tiles", per_side), ("edges", self.edges))
        assert budget.scale is not None  # the budget pays for a count
        count = noisy_count(n, budget.scale, source)
        per_side = tiles_per_side(count, budget.eta, self.grid)
        public = (("tiles", per_side), ("edges", self.edges), ("noisy_count", count))
        return tile_square(self.grid, per_side), public

    def _refuse_what_needs_k(self) -> None:
        for name, default in (("n_steps", None), ("alpha", None), ("selection", "envelope")):
            value = getattr(self, name)
            if value != default:
                raise ValueError(f"{name} = {value!r} belongs to a run with k pieces: give k")
