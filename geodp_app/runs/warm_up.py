"""Compiles the learners' loops before they are needed.

Numba compiles a loop at its first call and keeps the machine code in its cache
(``NUMBA_CACHE_DIR``, else beside the source).  From an empty cache that takes about half a
minute, with the help of a second process, and from a full one about a second.  Every learner is run
once on a tiny sample, which calls every loop with the types of a real run; only the measure "paper"
still compiles its loops when it is first run.

Imports numba: for the learner's process and its helper only.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np

from geodp_app.runs.score_raster import PieceCounter
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice, Sheet
from learners.baselines.greedy import GreedyConvexLearner, GreedyUnionLearner
from learners.cover.polygons import ConvexPolygonLearner, PolygonUnionLearner
from learners.curved.curved_learners import EllipseUnionLearner
from learners.envelope.compiled_beside import (
    FEWEST,
    GRID,
    compile_here,
    compiling_beside,
    draw_once,
    hurry,
    tell_compiled,
    tiny_sample,
)
from learners.tiles.tile_choice import fewest_mistakes


def warm_up(compiling: Callable[[], None], *, of_all: bool = True) -> None:
    """Load or compile every loop.

    `compiling`: called once, from any thread, when the first loop turns out not to be cached.
    `of_all`: false: while the second process compiles the others, those that most runs need are
    enough.
    """

    def told(done: int, of: int) -> None:
        if done == 0:
            compiling()

    with compiling_beside(__name__, told) as goes_on:
        draw_once()
        _of_pictures()
        if of_all or not goes_on():
            _fewest()
            _of_others()


def _of_others() -> None:
    """Loops beside those of most runs."""
    # labels that no shape has give a draw's loops other types
    for private in (PolygonUnionLearner, ConvexPolygonLearner):
        private(k=1, n_steps=1, grid=GRID, seed=1).fit(*tiny_sample())
    # so many tiles as by default, and tidied, for which parts of scipy are loaded
    PolygonUnionLearner(grid=GRID, seed=1).fit(*tiny_sample())
    # discs run the same loops
    EllipseUnionLearner(k=1, grid=GRID, seed=1).fit(*tiny_sample())
    for greedy in (GreedyUnionLearner, GreedyConvexLearner):
        greedy(k=1, n_steps=1, grid=GRID, max_boxes=100).fit(*tiny_sample())


def _of_pictures() -> None:
    examples = GridCounts.of_examples(*tiny_sample(), GRID)
    counter = PieceCounter(examples, HalfplaneLattice(GRID), ())
    counter.count(Sheet.FLAT_ABOVE, np.arange(GRID + 1), np.arange(GRID + 1), lambda: None)


def _fewest() -> None:
    # runs by tiles ask it of more examples
    examples = GridCounts.of_examples(*tiny_sample(), GRID)
    fewest_mistakes(examples, (1,), edges=2, edge=1)


if __name__ == "__main__":
    hurry()
    compile_here()
    _fewest()
    tell_compiled(FEWEST)
    gc.enable()  # nobody waits for the rest
    _of_others()
