"""What classifiers by chunks share: a model for each chunk, and one budget for all queries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.accounting import PrivacySpent, Relation
from learners.estimator import check_count
from learners.plain_estimator import PlainEstimator
from learners.randomness import RandomSource
from learners.stability.query_settings import default_chunks
from learners.stability.sample_and_aggregate import (
    ChunkModels,
    Mapper,
    assign_chunks,
    train_chunks,
)
from learners.stability.sparse_vector import Constants, SparseVectorBudget


@dataclass(frozen=True, slots=True)
class ClassifierRelease:
    """What is public of the run whatever is asked.

    Attributes
    ----------
    learner : str
    parameters : tuple of (str, value)
    privacy : PrivacySpent
        Of all queries together.
    """

    learner: str
    parameters: tuple[tuple[str, Any], ...]
    privacy: PrivacySpent


@dataclass(frozen=True, slots=True)
class ClassifierDiagnostics:
    """What only the curator may see.

    Attributes
    ----------
    sizes : tuple of int
        Records of each chunk.
    failed : int
        Chunks whose training raised an error.
    """

    sizes: tuple[int, ...]
    failed: int


@contextmanager
def open_mapper(workers: int) -> Iterator[Mapper]:
    """`map` for one worker, else that of as many threads; results come in order."""
    if check_count("workers", workers) == 1:
        yield map
        return
    with ThreadPoolExecutor(workers) as pool:
        yield pool.map


def plan_for(
    model: Any, plan: Callable[..., SparseVectorBudget], private: bool
) -> SparseVectorBudget:
    """The budget of a model's own parameters, by a plan such as `plan_sparse_vector`."""
    names = ("queries", "halts", "constants", "neighbours")
    chosen = {name: getattr(model, name) for name in names}
    return plan(model.epsilon, model.delta, **chosen, private=private)


class ChunkClassifier(PlainEstimator):
    """A learner that trains any base on chunks, and is asked afterwards.

    Attributes
    ----------
    release_ : ClassifierRelease
    diagnostics_ : ClassifierDiagnostics
    """

    base: Any
    epsilon: float
    delta: float
    queries: int
    halts: int
    chunks: int | None
    constants: Constants
    neighbours: Relation
    seed: int | None
    workers: int

    release_: ClassifierRelease
    diagnostics_: ClassifierDiagnostics
    _models: ChunkModels

    def _train(
        self,
        sample: tuple[NDArray[Any], NDArray[Any]],
        classes: NDArray[Any],
        budget: SparseVectorBudget,
        parameters: tuple[tuple[str, Any], ...],
        source: RandomSource,
    ) -> None:
        """Train a model on each chunk of points and labels, and set what is public of the run."""
        chunks = default_chunks(budget, self.chunks)
        chunk = assign_chunks(len(sample[0]), chunks, source)
        with open_mapper(self.workers) as mapper:
            models = train_chunks(self.base, *sample, chunk, chunks, classes, mapper=mapper)
        self._models = models
        public = (*parameters, ("chunks", chunks), ("constants", self.constants))
        self.release_ = ClassifierRelease(type(self).__name__, public, budget.spent)
        self.diagnostics_ = ClassifierDiagnostics(tuple(models.sizes.tolist()), models.failed)

    @property
    @abstractmethod
    def queries_left_(self) -> int:
        """Queries that may still be asked; public."""

    def _asked(self, X: ArrayLike) -> NDArray[Any]:
        """Points to be asked about, if so many may still be."""
        points, left = np.asarray(X), self.queries_left_
        if len(points) > left:
            raise ValueError(f"{len(points)} points are too many: {left} queries are left")
        return points
