"""Predicts numbers in [0, 1] by stability, to a precision: soft labels (algorithms 6 to 8).

A query asks for a number in [0, 1] to within a width nu.  The chunks' predictions fall into bins of
width nu, and the fullest bin's middle is the answer if it is stable (algorithm 6).  Where the
predictions gather around a border between two bins, neither is: so after a failed test the bins
are shifted by nu/2 and tested again (algorithm 7).  Any interval of length nu/2 lies in one bin of
the one or of the other.  Each failed test counts, so T halts pay for 2T failed tests of 2m.

Every query may have a width of its own, chosen in view of earlier answers (algorithm 8): bins are a
function of one model's prediction, and one record still changes one vote.  (epsilon, delta)-DP:
docs/privacy.md, lemma S7.

A query is answered within nu if all but few predictions lie within nu/4 of one number; when they
do: :mod:`learners.stability.quality`.

Prediction: the model's `predict_proba(X)[:, 1]` where it has one, else `predict(X)`; clipped to
[0, 1], 0 where it is no number or training failed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from geometry.arrays import Floats, Ints
from learners.declaration import check_count, real
from learners.privacy.randomness import RandomSource
from learners.stability.sample_and_aggregate import (
    ConstantModel,
    Mapper,
    by_model,
    distances,
    in_any_case,
    one_each,
    winners,
)
from learners.stability.stable_queries import (
    SparseVector,
    SparseVectorBudget,
    plan_sparse_vector,
)

Bins = Literal["plain", "shifted"]

#: In the order in which they are tested.
BINS: tuple[Bins, Bins] = ("plain", "shifted")


@dataclass(frozen=True, slots=True)
class SoftRelease:
    """What one query publishes, `query` being its number, from 1.

    `value` is the middle of a bin, clipped to [0, 1], None for ⊥, of bins `width` wide (nu of this
    query), which were the plain or the shifted ones.  `failed` tests, 0 to 2, failed; 0 and no
    value when the run was halted before.  `failures_left` are those of the 2T.
    """

    query: int
    value: float | None
    width: float
    bins: Bins | None
    failed: int
    failures_left: int


@dataclass(frozen=True, slots=True)
class SoftDiagnostics:
    """What only the curator may see of one query.

    Distances to instability in votes, by plain and by shifted bins; mean and standard deviation of
    the chunks' predictions.
    """

    distance_plain: int
    distance_shifted: int
    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class SoftRecord:
    """One query: what is published, and what is not."""

    release: SoftRelease
    diagnostics: SoftDiagnostics


def bin_counts(predictions: Floats, width: float, bins: Bins) -> tuple[Ints, Floats]:
    """Predictions in each bin, int64 (b,), and the bins' middles, float (b,).

    Plain bins begin at 0, shifted ones at -width/2; the last is as wide as the others and may reach
    beyond 1.  There are at least two.
    """
    check_width(width)
    shift = 0.5 if bins == "shifted" else 0.0
    # 1 / width may round up beyond a whole number: no bin for predictions of 1 alone
    count = max(2, math.ceil(1 / width + shift - 1e-9))
    index = np.minimum(np.floor(predictions / width + shift).astype(np.int64), count - 1)
    middles = (np.arange(count) + 0.5 - shift) * width
    return np.bincount(index, minlength=count), np.clip(middles, 0.0, 1.0)


def check_width(width: float) -> None:
    """Refuse a width out of range.

    Raises ValueError unless it lies in [1e-6, 1].
    """
    if not 1e-6 <= real("a width", width) <= 1:
        raise ValueError(f"a width must lie in [1e-6, 1], got {width}")


class SoftQueries:
    """A run of algorithm 8: 2m tests, of which 2T may fail (:func:`plan_soft_queries`)."""

    def __init__(self, budget: SparseVectorBudget, source: RandomSource) -> None:
        self._tests = SparseVector(budget, source)
        self._most = budget.queries // 2
        self._asked = 0

    @property
    def queries_left(self) -> int:
        """Queries that may still be asked; public."""
        return self._most - self._asked

    def ask(self, predictions: Floats, width: float) -> SoftRecord:
        """Answer one query, or not, by predictions of the chunks' models, float64 of shape (K,) in
        [0, 1], to the public width nu.

        Raises ValueError if all m queries have been asked, or the width is out of range.
        """
        check_width(width)
        if self.queries_left == 0:
            raise ValueError(f"the budget is used up: all {self._most} queries have been asked")
        self._asked += 1
        far, before = [], self._tests.halts_left
        value: float | None = None
        used: Bins | None = None
        for bins in BINS:
            counts, middles = bin_counts(predictions, width, bins)
            first, distance = int(winners(counts[None])[0]), int(distances(counts[None])[0])
            far.append(distance)
            if used is None and self._tests.halts_left and self._tests.test(distance):
                value, used = float(middles[first]), bins
        left = self._tests.halts_left
        release = SoftRelease(self._asked, value, width, used, before - left, left)
        spread = float(predictions.mean()), float(predictions.std())
        return SoftRecord(release, SoftDiagnostics(far[0], far[1], *spread))


def plan_soft_queries(
    epsilon: float, delta: float, *, queries: int, halts: int, **others: Any
) -> SparseVectorBudget:
    """The budget of m soft queries and T halts: 2m tests, 2T of which may fail.

    The others as in :func:`learners.stability.stable_queries.plan_sparse_vector`.  As printed:
    lambda = sqrt(64 T ln(2/delta)) / epsilon, w = 2 lambda ln(4m/delta).
    """
    tests, failures = 2 * check_count("queries", queries), 2 * check_count("halts", halts)
    return plan_sparse_vector(epsilon, delta, queries=tests, halts=failures, **others)


def soft_predictions(models: tuple[Any, ...], X: Any, mapper: Mapper = map) -> Floats:
    """Predictions in [0, 1] of every model at every point, shape (K, m)."""
    found = np.empty((len(models), len(X)))
    for i, values in enumerate(by_model(partial(_softened, X), models, len(X), mapper)):
        found[i] = values
    return found


def _softened(points: Any, model: Any) -> Floats:
    def predicted() -> NDArray[Any]:
        if isinstance(model, ConstantModel) or not hasattr(model, "predict_proba"):
            return one_each(np.asarray(model.predict(points), dtype=np.float64), points)
        return one_each(np.asarray(model.predict_proba(points), dtype=np.float64)[:, 1], points)

    values = np.asarray(in_any_case("predicting", predicted, 0.0)[0], dtype=np.float64)
    return np.clip(np.nan_to_num(np.broadcast_to(values, len(points)), nan=0.0), 0.0, 1.0)
