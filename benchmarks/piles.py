"""Reports that lie in piles: few places, or places within few steps of each other, many times."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from common import DELTA, EPSILON, GRID
from numpy.typing import NDArray
from questions import Time, peak_memory

from geodp_app.runs.warm_up import warm_up
from learners import ConvexPolygonLearner, PolygonUnionLearner
from learners.core.estimator import Estimator
from learners.core.selection import SelectionProgress

#: All at the place; within `steps` of it; or positives at it and negatives `steps` beside it.
Kind = Literal["at", "near", "opposite"]

#: What learns from piles of reports, and after how many seconds a step of it is given up.
PILED: dict[str, Callable[..., Estimator]] = {
    "tiles": PolygonUnionLearner,
    **{f"k = {k}": partial(PolygonUnionLearner, k=k) for k in (1, 2, 4, "auto")},
    "k = 2, not sharpened": partial(PolygonUnionLearner, k=2, finish="none"),
    "convex": ConvexPolygonLearner,
    "convex, k = 2": partial(ConvexPolygonLearner, k=2),
}
PILE_PATIENCE = 30.0

#: What is measured: kinds, and steps of them.
PILES: tuple[tuple[Kind, int], ...] = (("at", 0), ("near", 1), ("near", 3), ("opposite", 1))

_BESIDE = np.array([[1, 0], [0, 1], [1, 1], [-1, 1]])


def piles(
    places: int, kind: Kind, steps: int, n: int, d: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Points, shape (n, 2), and labels, as many of either label at each place."""
    rng = np.random.default_rng(seed)
    at = rng.integers(steps, d + 1 - steps, (places, 2))
    which = np.arange(n) % places
    labels = np.arange(n) // places % 2 == 1
    points = at[which]
    if kind == "near":
        points += rng.integers(-steps, steps + 1, (n, 2))
    if kind == "opposite":
        beside = steps * _BESIDE[rng.integers(0, 4, places)]
        points += np.where(labels, 0, beside[which].T).T
    return points, labels


@dataclass(frozen=True, slots=True)
class Pile:
    """As :func:`piles` takes them."""

    places: int
    kind: Kind
    steps: int
    n: int


def time_piles(pile: Pile, learner_name: str, seed: int) -> list[Time]:
    """Every step of a whole run of :data:`PILED` on piles of reports, if none takes too long."""
    warm_up(lambda: None)
    learner = PILED[learner_name](epsilon=EPSILON, delta=DELTA, grid=GRID, seed=seed)
    learner.fit(*piles(3, pile.kind, pile.steps, 30, GRID, seed))
    last = time.perf_counter()

    def watch(progress: SelectionProgress) -> None:
        if time.perf_counter() - last > PILE_PATIENCE:
            raise TimeoutError(f"no end in {PILE_PATIENCE:g} s")

    sample = piles(pile.places, pile.kind, pile.steps, pile.n, GRID, seed)
    times = []
    for record in learner.steps(*sample, watch=watch):
        times.append(Time(record.diagnostics.seconds, peak_memory()))
        last = time.perf_counter()
    return times
