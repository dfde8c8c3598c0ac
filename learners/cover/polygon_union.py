"""Learns unions of polygons privately, by tiles or by the greedy cover of KMMS theorem 5.1.

Without `k` the square is divided into tiles, and each learns a labelled piece of at most two
edges with the whole epsilon (:mod:`learners.tiles.tiles`): what to use when nothing is known of the
shape.

With `k` the hypothesis is a union of triangles, selected one after the other (KMMS; a union of
polygons with k edges is a union of at most k triangles).  KMMS select among the n^6 triples of
cells; the envelope sampler draws from a lattice of halfplanes without enumerating it.
"""

from __future__ import annotations

from typing import ClassVar

from geometry.grid import Box
from geometry.halfplane import Measure
from learners.core.estimator import Estimator, Run, SelectionName
from learners.core.selection import PieceKind, Role
from learners.cover.cover_run import plane_cover
from learners.cover.set_cover import Finish, Pieces
from learners.privacy.accounting import Neighbours
from learners.tiles.tile_run import tile_run


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
