"""Soft labels: predictions in [0, 1] by stability, to a precision (algorithms 6 to 8).

A query asks for a number in [0, 1] to within a width nu.  The chunks' predictions fall into bins of
width nu, and the fullest bin's middle is the answer if it is stable (algorithm 6).  Where the
predictions gather around a border between two bins, neither is: so after a failed test the bins
are shifted by nu/2 and tested again (algorithm 7).  Any interval of length nu/2 lies in one bin of
the one or of the other.  Each failed test counts, so T halts pay for 2T failed tests of 2m.

Every query may have a width of its own, chosen in view of earlier answers (algorithm 8): bins are a
function of one model's prediction, and one record still changes one vote.  (epsilon, delta)-DP:
docs/privacy.md, lemma S7.

A query is answered within nu if all but few predictions lie within nu/4 of one number; when they
do: :mod:`learners.stability.on_average_stability`.

Prediction: the model's `predict_proba(X)[:, 1]` where it has one, else `predict(X)`; clipped to
[0, 1], 0 where it is no number or training failed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.accounting import Neighbours
from learners.estimator import check_count
from learners.plain_estimator import PlainEstimator
from learners.randomness import RandomSource, open_source
from learners.selection import Cancelled
from learners.stability.query_classifier import (
    DEFAULT_AGREEMENT,
    DEFAULT_BETA,
    ClassifierDiagnostics,
    ClassifierRelease,
    open_mapper,
)
from learners.stability.query_settings import chunks_needed
from learners.stability.sample_and_aggregate import (
    ConstantModel,
    Mapper,
    assign_chunks,
    check_base,
    train_chunks,
    warn_failure,
)
from learners.stability.sparse_vector import (
    Constants,
    SparseVector,
    SparseVectorBudget,
    plan_sparse_vector,
)
from learners.stability.votes import distances, winners

Bins = Literal["plain", "shifted"]

_BINS: tuple[Bins, Bins] = ("plain", "shifted")


@dataclass(frozen=True, slots=True)
class SoftRelease:
    """What one query publishes.

    Attributes
    ----------
    query : int
        Its number, from 1.
    value : float or None
        Middle of a bin, clipped to [0, 1]; None for ⊥.
    width : float
        nu of this query.
    bins : {"plain", "shifted"} or None
        Which bins gave the answer.
    failed : int
        Tests that failed, 0 to 2; 0 and no value when the run was halted before.
    failures_left : int
        Of the 2T.
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

    Attributes
    ----------
    distance_plain, distance_shifted : int
        To instability, in votes.
    mean, deviation : float
        Of the chunks' predictions.
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


def bin_counts(
    predictions: NDArray[np.float64], width: float, bins: Bins
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Predictions in each bin, int64 (b,), and the bins' middles, float (b,).

    Plain bins begin at 0, shifted ones at -width/2; the last is as wide as the others and may reach
    beyond 1.  There are at least two.
    """
    check_width(width)
    shift = 0.5 if bins == "shifted" else 0.0
    count = max(2, math.ceil(1 / width + shift))
    index = np.minimum(np.floor(predictions / width + shift).astype(np.int64), count - 1)
    middles = (np.arange(count) + 0.5 - shift) * width
    return np.bincount(index, minlength=count), np.clip(middles, 0.0, 1.0)


def check_width(width: float) -> None:
    """Refuse a width out of range.

    Raises
    ------
    ValueError
        Unless it lies in [1e-6, 1].
    """
    if not 1e-6 <= width <= 1:
        raise ValueError(f"a width must lie in [1e-6, 1], got {width}")


class SoftQueries:
    """A run of algorithm 8.

    Parameters
    ----------
    budget : SparseVectorBudget
        For 2m tests, of which 2T may fail: see :func:`plan_soft_queries`.
    source : RandomSource
    """

    def __init__(self, budget: SparseVectorBudget, source: RandomSource) -> None:
        self._tests = SparseVector(budget, source)
        self._most = budget.queries // 2
        self._asked = 0

    @property
    def queries_left(self) -> int:
        """Queries that may still be asked; public."""
        return self._most - self._asked

    @property
    def failures_left(self) -> int:
        """Tests that may still fail; public."""
        return self._tests.halts_left

    def ask(self, predictions: NDArray[np.float64], width: float) -> SoftRecord:
        """Answer one query, or not.

        Parameters
        ----------
        predictions : ndarray of float64, shape (K,)
            One of each chunk's model, in [0, 1].
        width : float
            nu, public.

        Raises
        ------
        ValueError
            If all m queries have been asked, or the width is out of range.
        """
        check_width(width)
        if self.queries_left == 0:
            raise ValueError(f"the budget is used up: all {self._most} queries have been asked")
        self._asked += 1
        far = []
        value: float | None = None
        used: Bins | None = None
        failed = 0
        for bins in _BINS:
            counts, middles = bin_counts(predictions, width, bins)
            first, distance = int(winners(counts[None])[0]), int(distances(counts[None])[0])
            far.append(distance)
            if used is None and self._tests.halts_left:
                if self._tests.test(distance):
                    value, used = float(middles[first]), bins
                else:
                    failed += 1
        release = SoftRelease(self._asked, value, width, used, failed, self._tests.halts_left)
        spread = SoftDiagnostics(
            far[0], far[1], float(predictions.mean()), float(predictions.std())
        )
        return SoftRecord(release, spread)


def plan_soft_queries(
    epsilon: float,
    delta: float,
    *,
    queries: int,
    halts: int,
    constants: Constants = "tight",
    neighbours: Neighbours = "add-remove",
    private: bool = True,
) -> SparseVectorBudget:
    """The budget of m soft queries and T halts: 2m tests, 2T of which may fail.

    As printed: lambda = sqrt(64 T ln(2/delta)) / epsilon, w = 2 lambda ln(4m/delta).
    """
    return plan_sparse_vector(
        epsilon,
        delta,
        queries=2 * check_count("queries", queries),
        halts=2 * check_count("halts", halts),
        constants=constants,
        neighbours=neighbours,
        private=private,
    )


def soft_predictions(models: tuple[Any, ...], X: Any, mapper: Mapper = map) -> NDArray[np.float64]:
    """Predictions in [0, 1] of every model at every point, shape (K, m)."""
    return np.array(list(mapper(_Soft(X), models)), dtype=np.float64).reshape(len(models), len(X))


@dataclass(frozen=True, slots=True)
class _Soft:
    points: Any

    def __call__(self, model: Any) -> NDArray[np.float64]:
        try:
            if isinstance(model, ConstantModel) or not hasattr(model, "predict_proba"):
                values = np.asarray(model.predict(self.points), dtype=np.float64)
            else:
                values = np.asarray(model.predict_proba(self.points), dtype=np.float64)[:, 1]
            if values.shape != (len(self.points),):
                raise ValueError(f"predictions have shape {values.shape}")
        except Cancelled:
            raise
        except Exception as error:
            # as for votes: an error that stopped the run would publish something
            warn_failure("predicting", error)
            return np.zeros(len(self.points))
        return np.clip(np.nan_to_num(values, nan=0.0), 0.0, 1.0)


class StableSoftClassifier(PlainEstimator):
    """(epsilon, delta)-private predictions in [0, 1], from any learner.

    Parameters
    ----------
    base, epsilon, delta, queries, halts, chunks, constants, neighbours, seed, workers :
        As in :class:`learners.stability.query_classifier.StableQueryClassifier`; 2T tests may fail,
        up to two a query.
    width : float
        nu of queries that do not give their own.

    Attributes
    ----------
    release_ : ClassifierRelease
    diagnostics_ : ClassifierDiagnostics
    """

    def __init__(
        self,
        *,
        base: Any,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        queries: int = 1000,
        halts: int = 1,
        width: float = 0.1,
        chunks: int | None = None,
        constants: Constants = "tight",
        neighbours: Neighbours = "add-remove",
        seed: int | None = None,
        workers: int = 1,
    ) -> None:
        self.base = base
        self.epsilon = epsilon
        self.delta = delta
        self.queries = queries
        self.halts = halts
        self.width = width
        self.chunks = chunks
        self.constants = constants
        self.neighbours = neighbours
        self.seed = seed
        self.workers = workers

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train a model on each chunk; nothing is published yet.

        Parameters
        ----------
        X : array, shape (n, ...)
        y : array, shape (n,)
            Labels 0/1, or numbers in [0, 1] for a base that learns such.

        Raises
        ------
        ValueError
            If X and y differ in length, a label is out of range, or a parameter is.
        """
        self._begin()
        check_base(self.base)
        check_width(self.width)
        points, labels = np.asarray(X), np.asarray(y)
        if points.ndim == 0 or labels.ndim != 1 or len(points) != len(labels):
            raise ValueError(
                f"X and y must hold the same examples, got shapes {points.shape}, {labels.shape}"
            )
        wrong = ~((labels >= 0) & (labels <= 1))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"row {row}: label {labels[row]!r} is not in [0, 1]")
        source = open_source(self.seed)
        budget = plan_soft_queries(
            self.epsilon,
            self.delta,
            queries=self.queries,
            halts=self.halts,
            constants=self.constants,
            neighbours=self.neighbours,
            private=source.private,
        )
        if self.chunks is None:
            chunks = chunks_needed(budget, DEFAULT_BETA, DEFAULT_AGREEMENT)
        else:
            chunks = check_count("chunks", self.chunks)
        chunk = assign_chunks(len(points), chunks, source)
        with open_mapper(self.workers) as mapper:
            models = train_chunks(
                self.base, points, labels, chunk, chunks, np.array([0, 1]), mapper=mapper
            )
        self._models = models.models
        self._queries = SoftQueries(budget, source)
        parameters = (
            ("queries", self._queries.queries_left),
            ("failures", budget.halts),
            ("chunks", chunks),
            ("constants", self.constants),
        )
        self.release_ = ClassifierRelease(type(self).__name__, parameters, budget.spent)
        self.diagnostics_ = ClassifierDiagnostics(tuple(models.sizes.tolist()), models.failed)
        return self

    def steps(self, X: ArrayLike, widths: ArrayLike | None = None) -> Iterator[SoftRecord]:
        """Answer queries, one record each; the budget is that of all calls together.

        Parameters
        ----------
        X : array, shape (a, ...)
            Public points.
        widths : array of float, shape (a,), optional
            nu of each query, public.

        Raises
        ------
        ValueError
            If the points are more than the queries that are left, or a width is out of range.
        NotFittedError
            Before :meth:`fit`.
        """
        self._require_fitted()
        points = np.asarray(X)
        each = np.full(len(points), self.width) if widths is None else np.asarray(widths)
        if each.shape != (len(points),):
            raise ValueError(f"widths must have shape ({len(points)},), got {each.shape}")
        for width in each.tolist():
            check_width(width)
        if len(points) > self._queries.queries_left:
            raise ValueError(
                f"{len(points)} points are too many: {self._queries.queries_left} queries are left"
            )
        with open_mapper(self.workers) as mapper:
            predictions = soft_predictions(self._models, points, mapper)
        queries = self._queries
        return (queries.ask(predictions[:, i], width) for i, width in enumerate(each.tolist()))
