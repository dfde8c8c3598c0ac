"""Compiling the learners' loops before they are needed.

Numba compiles a loop at its first call and keeps the machine code in its cache
(``NUMBA_CACHE_DIR``, else beside the source).  From an empty cache that takes about half a
minute, with the help of a second process, and from a full one about a second.  Every learner is run
once on a tiny sample, which calls every loop with the types of a real run, so that a real run
compiles nothing.  Only the measure "paper" still compiles its loops when it is first run.

Imports numba: for the learner's process and its helper only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geodp_app.progress import hearing_of_compiling
from geodp_app.runs.score_raster import PieceCounter
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice, Sheet
from learners.baselines.greedy import GreedyConvexLearner, GreedyUnionLearner
from learners.core.selection import mistakes_score
from learners.cover.convex_polygon import ConvexPolygonLearner
from learners.cover.polygon_union import PolygonUnionLearner
from learners.curved.unions import EllipseUnionLearner
from learners.envelope.annealing import Annealing
from learners.envelope.boxes import first_boxes
from learners.envelope.compiled_beside import compile_here
from learners.envelope.factorised_boxes import make_workspace
from learners.envelope.race import weigh_all
from learners.envelope.strands import Examples, start_strand
from learners.envelope.target import make_target
from learners.privacy.randomness import SeededRandom
from learners.tiles.tile_choice import fewest_mistakes

#: Side of the tiny sample's grid.
_GRID = 8


def warm_up(compiling: Callable[[], None]) -> None:
    """Load or compile every loop.

    Parameters
    ----------
    compiling : callable
        Called once, from any thread, when the first loop turns out not to be cached.
    """
    points, labels = tiny_sample()

    def heard(begun: int, done: int) -> None:
        if (begun, done) == (1, 0):
            compiling()

    with hearing_of_compiling(heard, __name__):
        for private in (PolygonUnionLearner, ConvexPolygonLearner):
            private(k=1, n_steps=1, grid=_GRID, seed=1).fit(points, labels)
        PolygonUnionLearner(tiles=1, grid=_GRID, seed=1).fit(points, labels)
        factorise(GridCounts.of_examples(points, labels, _GRID), HalfplaneLattice(_GRID))
        _rest()


def tiny_sample() -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Some examples of both labels."""
    xy = np.arange(_GRID + 1)
    points = np.stack(np.meshgrid(xy, xy), axis=-1).reshape(-1, 2).astype(np.int64)
    return points, points.sum(axis=1) <= _GRID


def _rest() -> None:
    """Loops beside those of halfplanes and triangles."""
    points, labels = tiny_sample()
    # discs run the same loops
    EllipseUnionLearner(k=1, grid=_GRID, seed=1).fit(points, labels)
    for greedy in (GreedyUnionLearner, GreedyConvexLearner):
        greedy(k=1, n_steps=1, grid=_GRID, max_boxes=100).fit(points, labels)
    lattice = HalfplaneLattice(_GRID)
    examples = GridCounts.of_examples(points, labels, _GRID)
    counter = PieceCounter(examples, lattice, ())
    counter.count(Sheet.FLAT_ABOVE, np.arange(_GRID + 1), np.arange(_GRID + 1), lambda: None)
    Annealing(examples, lattice, mistakes_score(1), 1.0, 3).run(lambda: None, 2)
    # runs by tiles ask it of more examples
    fewest_mistakes(examples, (1,), edges=2, edge=1)


def factorise(examples: GridCounts, lattice: HalfplaneLattice) -> None:
    """Factorise a box: the tiny sample has none that is short enough."""
    target = make_target(lattice, mistakes_score(1), 1.0, examples.n)
    boxes = first_boxes(lattice, 1)
    source = SeededRandom(1)
    strand = start_strand(lattice, target, Examples.of(examples), boxes, source, len(boxes), 0, 0)
    strand.workspace = make_workspace()
    weigh_all([strand])
    strand.advance(0.0)


if __name__ == "__main__":
    compile_here()
    _rest()
