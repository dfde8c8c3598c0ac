"""What classifiers by chunks share: a model for each chunk, and one budget for all queries.

They are asked after `fit`, in view of earlier answers, and so keep the chunks' models meanwhile,
which may hold examples as they are: in `private_models_`, which cannot be written to a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.accounting import PrivacySpent, Relation
from learners.estimator import check_count
from learners.plain_estimator import PlainEstimator
from learners.randomness import RandomSource
from learners.sklearn_support import keyword_parameters
from learners.stability.query_settings import default_chunks
from learners.stability.sample_and_aggregate import (
    ChunkModels,
    Mapper,
    assign_chunks,
    train_chunks,
)
from learners.stability.soft_labels import SoftQueries
from learners.stability.sparse_vector import Constants, SparseVectorBudget
from learners.stability.stable_queries import StableQueries

#: The tests that decide which queries are answered.
Queries = TypeVar("Queries", StableQueries, SoftQueries)


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


@dataclass(frozen=True, slots=True, repr=False)
class PrivateModels(Generic[Queries]):
    """What answers the queries to come.  Private: for the curator alone, while there are any.

    Models may hold examples, and the queries hold noise that is still in use.  Neither can be
    written to a file; and a copy would answer anew what has been paid for once.

    Attributes
    ----------
    models : ChunkModels
    queries : StableQueries or SoftQueries
    """

    models: ChunkModels
    queries: Queries

    def __repr__(self) -> str:
        return f"<PRIVATE: models of {len(self.models.models)} chunks, not to be published>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "PRIVATE: a classifier that can still be asked holds its chunks' models, and they hold "
            "examples; it cannot be pickled or copied.  Keep its release_ and the answers instead"
        )


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


@keyword_parameters()
class ChunkClassifier(PlainEstimator, Generic[Queries]):
    """A learner that trains any base on chunks, and is asked afterwards.

    Attributes
    ----------
    release_ : ClassifierRelease
    diagnostics_ : ClassifierDiagnostics
        For the curator.
    private_models_ : PrivateModels
        For the curator; refuses to be pickled or copied, and with it the fitted classifier.
    """

    base: Any
    epsilon: float = 1.0
    delta: float = 1e-6
    queries: int = 1000
    halts: int = 1
    chunks: int | None = None
    constants: Constants = "tight"
    neighbours: Relation = "add-remove"
    seed: int | None = None
    workers: int = 1

    def _begin(self) -> None:
        super()._begin()
        self.__dict__.pop("private_models_", None)

    def _train(
        self,
        sample: tuple[NDArray[Any], NDArray[Any]],
        classes: NDArray[Any],
        queries: Callable[[SparseVectorBudget, RandomSource], Queries],
        budget: SparseVectorBudget,
        parameters: tuple[tuple[str, Any], ...],
        source: RandomSource,
    ) -> None:
        """Train a model on each chunk of points and labels, and set what is public of the run."""
        chunks = default_chunks(budget, self.chunks)
        chunk = assign_chunks(len(sample[0]), chunks, source)
        with open_mapper(self.workers) as mapper:
            models = train_chunks(self.base, *sample, chunk, chunks, classes, mapper=mapper)
        private = PrivateModels(models, queries(budget, source))
        self.private_models_: PrivateModels[Queries] = private
        public = (*parameters, ("chunks", chunks), ("constants", self.constants))
        name = type(self).__name__
        self.release_: ClassifierRelease = ClassifierRelease(name, public, budget.spent)
        self.diagnostics_ = ClassifierDiagnostics(tuple(models.sizes.tolist()), models.failed)

    @property
    def queries_left_(self) -> int:
        """Queries that may still be asked; public."""
        self._require_fitted()
        return self.private_models_.queries.queries_left

    def _asked(self, X: ArrayLike) -> NDArray[Any]:
        """Points to be asked about, if so many may still be."""
        points, left = np.asarray(X), self.queries_left_
        if len(points) > left:
            raise ValueError(f"{len(points)} points are too many: {left} queries are left")
        return points
