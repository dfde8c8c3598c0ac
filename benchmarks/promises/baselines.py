"""Rows of what people would take instead: noisy histograms and a noisy quadtree.

Nothing is stated of their error; stated are privacy, and that polygons say what the labels say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.audits.declared import SUBJECTS
from benchmarks.audits.events import audit_pairs
from geometry.grid_counts import GridCounts
from geometry.polygons import contains_points
from learners.baselines.noisy_histogram import NoisyHistogramLearner
from learners.baselines.quadtree import QuadtreeLearner
from promises.row import Row, Verdict, always

_GRID = 32


def _audited(name: str) -> Callable[[int], Verdict]:
    def check(runs: int) -> Verdict:
        subject = SUBJECTS[name]
        found = audit_pairs(
            subject.factory(1.0, 1e-6, "add-remove", 1),
            subject.pairs("add-remove"), subject.events, runs,
        )  # fmt: skip
        outcome = (
            f"epsilon is at least {found.lower:.2f} at confidence 99.9 %, by {runs:,} runs; by "
        )
        return always(not found.refuted, f"{outcome}this event it is at most {found.upper:.2f}")

    return check


def _vectorised(make: Callable[[int], Any]) -> Callable[[int], Verdict]:
    grid = np.indices((_GRID + 1, _GRID + 1)).reshape(2, -1).T.astype(np.int64)

    def check(runs: int) -> Verdict:
        wrong = 0
        for i in range(runs):
            rng = np.random.default_rng(i)
            points = rng.integers(0, _GRID + 1, (int(rng.integers(0, 3_000)), 2))
            labels = ((points - rng.integers(0, _GRID, 2)) ** 2).sum(axis=1) < 80
            model = make(i).fit_counts(GridCounts.of_examples(points, labels, _GRID))
            held = contains_points(model.polygons_, grid)
            wrong += int(np.count_nonzero(held != (model.predict(grid) == 1)))
        return always(wrong == 0, f"{wrong} of {runs * len(grid):,} grid points differ")

    return check


_CLAIM = "epsilon-DP: an audit does not refute epsilon = 1."
_SHAPES = "Its polygons hold the grid points that it labels 1, and no others."
_RANDOM = f"discs of random places, up to 3,000 examples, a grid of {_GRID}"

ROWS: tuple[Row, ...] = (
    Row(
        (32,), "geodp, interpolated noisy histogram; docs/privacy.md, lemma B1", _CLAIM,
        "a grid of 2, up to three examples", _audited("histogram"), 20_000, 160,
        "An audit cannot confirm.",
    ),
    Row(
        (32,), "geodp, plain noisy histogram; docs/privacy.md, lemma B1", _CLAIM,
        "one cell, up to three examples", _audited("plain-histogram-cell"), 30_000, 160,
        "An audit cannot confirm.",
    ),
    Row(
        (32,), "geodp, interpolated noisy histogram", _SHAPES, _RANDOM,
        _vectorised(lambda i: NoisyHistogramLearner(grid=_GRID, seed=i)), 300, 4,
    ),
    Row(
        (33,), "Zhang, Xiao, Xie 2016, PrivTree; docs/privacy.md", _CLAIM,
        "a grid of 2, up to three examples", _audited("quadtree"), 20_000, 160,
        "With labels, and a noisy count of each leaf. An audit cannot confirm.",
    ),
    Row(
        (33,), "geodp, noisy quadtree", _SHAPES, _RANDOM,
        _vectorised(lambda i: QuadtreeLearner(grid=_GRID, seed=i)), 300, 4,
    ),
)  # fmt: skip
