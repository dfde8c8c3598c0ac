"""Answers queries at public points privately, by votes of models on chunks (algorithm 4).

`fit` trains a model on every chunk of the private sample, and `steps(points)` answers queries at
public points one after the other.  Points may be chosen in view of earlier answers, by several
calls; one budget pays for all of them.

* :class:`StableQueryClassifier`: the majority's class where its distance to instability passes the
  noisy test, ⊥ where it does not, halted after T of these (docs/privacy.md, lemma S5).
* :class:`StableSoftClassifier`: predictions in [0, 1] in the place of classes (algorithm 8), by the
  tests of :mod:`learners.stability.soft_labels` (lemma S7).

The number m of queries and T are public and fixed before the sample is seen.  The noise does
not depend on m, and grows with the root of T.  Settings with a promise:
:mod:`learners.stability.stable_queries`.

Until the last query is asked the chunks' models are kept, which may hold examples as they are: in
`private_models_`, which cannot be written to a file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.arrays import Flags, Ints
from geometry.coordinates import unmasked
from learners.core.sklearn_support import WithParameters
from learners.declaration import check_count
from learners.privacy.accounting import PrivacySpent, Relation
from learners.privacy.randomness import open_source
from learners.stability.sample_and_aggregate import (
    ChunkModels,
    Mapper,
    assign_chunks,
    check_base,
    check_classes,
    distances,
    same_examples,
    train_chunks,
    winners,
)
from learners.stability.soft_labels import (
    SoftQueries,
    SoftRecord,
    check_width,
    plan_soft_queries,
    soft_predictions,
)
from learners.stability.stable_queries import (
    Constants,
    QueryRelease,
    SparseVectorBudget,
    StableQueries,
    default_chunks,
    plan_sparse_vector,
)

#: The tests that decide which queries are answered.
Queries = TypeVar("Queries", StableQueries, SoftQueries)


@dataclass(frozen=True, slots=True)
class ClassifierRelease:
    """What is public of the run whatever is asked; `privacy` is that of all queries together."""

    learner: str
    parameters: tuple[tuple[str, Any], ...]
    privacy: PrivacySpent


@dataclass(frozen=True, slots=True)
class ClassifierDiagnostics:
    """What only the curator may see: sizes of the chunks, and how many trainings failed."""

    sizes: tuple[int, ...]
    failed: int


@dataclass(frozen=True, slots=True, repr=False)
class PrivateModels(Generic[Queries]):
    """What answers the queries to come.  Private: for the curator alone, while there are any.

    Models may hold examples, and the queries hold noise that is still in use.  Neither can be
    written to a file; and a copy would answer anew what has been paid for once.
    """

    models: ChunkModels
    queries: Queries

    def __repr__(self) -> str:
        return f"<PRIVATE: models of {len(self.models.models)} chunks, not to be published>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "PRIVATE: a classifier that can still be asked holds its chunks' models, and they hold "
            "examples; it cannot be pickled or copied. Keep its release_ and the answers instead"
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


#: Labels and classes to train on; the tests of queries, their budget, and what a failed one is
#: called and how many queries there are of it.
_Asked = tuple[NDArray[Any], NDArray[Any], type[Queries], SparseVectorBudget, tuple[str, int]]


class ChunkClassifier(WithParameters, ABC, Generic[Queries]):
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

    @abstractmethod
    def _asked(self, labels: NDArray[Any], private: bool) -> _Asked[Queries]:
        """What a run is asked for, labels and parameters checked."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train a model on each chunk; nothing is published yet.

        Raises ValueError if X and y differ in length, a label is out of range, or a parameter is.

        Parameters
        ----------
        X : array, shape (n, ...)
        y : array, shape (n,)
            Labels as the class says.
        """
        own = self._fresh()
        check_base(own.base)
        points, labels = same_examples(X, y)
        source = open_source(own.seed)
        labels, classes, tests, budget, named = own._asked(labels, source.private)
        chunks = default_chunks(budget, own.chunks)
        chunk = assign_chunks(len(points), chunks, source)
        with open_mapper(own.workers) as mapper:
            models = train_chunks(own.base, points, labels, chunk, chunks, classes, mapper=mapper)
        self.private_models_: PrivateModels[Queries] = PrivateModels(models, tests(budget, source))
        halts, queries = named
        public: tuple[tuple[str, Any], ...]
        public = (("queries", queries), (halts, budget.halts), ("chunks", chunks))
        self.release_: ClassifierRelease = ClassifierRelease(
            type(self).__name__, (*public, ("constants", own.constants)), budget.spent.of_run()
        )
        self.diagnostics_ = ClassifierDiagnostics(tuple(models.sizes.tolist()), models.failed)
        return self

    @property
    def queries_left_(self) -> int:
        """Queries that may still be asked; public."""
        self._fitted()
        return self.private_models_.queries.queries_left


def asked_points(X: ArrayLike, left: int) -> NDArray[Any]:
    """Points to be asked about, refused if fewer queries are left."""
    points = unmasked(X)
    if points.ndim == 0:
        raise ValueError("points to be asked about must have shape (m, ...)")
    if len(points) > left:
        raise ValueError(f"{len(points)} points are too many: {left} queries are left")
    return points


@dataclass(frozen=True, slots=True)
class QueryDiagnostics:
    """What only the curator may see of one query.

    Votes for each class, the class with most of them, and its distance to instability in votes.
    """

    votes: tuple[int, ...]
    winner: int
    distance: int


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """One query: what is published, and what is not."""

    release: QueryRelease
    diagnostics: QueryDiagnostics


class StableQueryClassifier(ChunkClassifier[StableQueries], after={"chunks": ["classes"]}):
    """(epsilon, delta)-private answers to classification queries, from any learner.

    Parameters
    ----------
    base : object with fit and predict, or factory of such
        Trained on each chunk.
    epsilon, delta : float
        Privacy of all queries together.
    queries : int
        m: most queries.
    halts : int
        T: queries that may go unanswered before the run is halted.
    chunks : int, optional
        K; by default as many as answer queries on which 85 % of the chunks agree.
    classes : sequence of int
        Public labels, among which those of :meth:`fit` are.
    constants : {"tight", "printed"}
        Of the noise, see :mod:`learners.stability.stable_queries`.
    neighbours : {"add-remove", "replace-one", "replace-label"}
        What the privacy statement names; all cost the same here.
    seed : int, optional
        Makes chunks and noise reproducible and therefore not private; the release says so.
    workers : int
        Threads that train and predict; answers do not depend on it.

    Attributes
    ----------
    release_ : ClassifierRelease
    diagnostics_ : ClassifierDiagnostics
        For the curator.
    private_models_ : PrivateModels
        For the curator: what answers the queries to come.  A fitted classifier can therefore not be
        pickled or copied; keep its `release_` and the answers.

    Examples
    --------
    >>> import numpy as np
    >>> from learners.stability.base_learners import MajorityCells
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 100)
    >>> model = StableQueryClassifier(base=MajorityCells(grid=16, cells=4), queries=10, seed=1)
    >>> model.fit(X, X[:, 0] > 7).answer([[2, 3], [15, 3]]).tolist()
    [0, 1]
    """

    classes: ArrayLike = (0, 1)

    def _asked(self, labels: NDArray[Any], private: bool) -> _Asked[StableQueries]:
        classes = check_classes(self.classes)
        _refuse_labels(~np.isin(labels, classes), labels, f"among the classes {classes}")
        budget = plan_for(self, plan_sparse_vector, private)
        return labels.astype(np.int64), classes, StableQueries, budget, ("halts", budget.queries)

    def steps(self, X: ArrayLike) -> Iterator[QueryRecord]:
        """Answer queries, one record each; the budget is that of all calls together.

        Parameters
        ----------
        X : array, shape (m, ...)
            Public points: chosen without a look at the sample, or in view of earlier answers.

        Raises
        ------
        ValueError
            If the points are more than the queries that are left.
        NotFittedError
            Before :meth:`fit`.
        """
        points = asked_points(X, self.queries_left_)
        private = self.private_models_
        with open_mapper(self.validated().workers) as mapper:
            counts = private.models.votes(points, mapper)
        return answer_votes(private.queries, counts, private.models)

    def answer(self, X: ArrayLike) -> Ints:
        """Labels of public points, int64 of shape (m,); -1 where there is no answer (⊥).

        Parameters and errors as in :meth:`steps`; and ValueError if -1 is a class.
        """
        if -1 in check_classes(self.classes):
            raise ValueError("-1 is a class and cannot stand for no answer: use steps")
        values = [record.release.value for record in self.steps(X)]
        return np.array([-1 if v is None else v for v in values], dtype=np.int64)

    @property
    def halts_left_(self) -> int:
        """Queries that may still go unanswered; public."""
        self._fitted()
        return self.private_models_.queries.halts_left


def answer_votes(
    queries: StableQueries, counts: Ints, models: ChunkModels
) -> Iterator[QueryRecord]:
    """Ask one query after the other, by votes (m, classes); a release's value is the class."""
    firsts, far = winners(counts).tolist(), distances(counts).tolist()
    labels = models.classes.tolist()
    for votes, first, distance in zip(counts.tolist(), firsts, far, strict=True):
        release = queries.ask(labels[first], distance)
        yield QueryRecord(release, QueryDiagnostics(tuple(votes), labels[first], distance))


def _refuse_labels(wrong: Flags, labels: NDArray[Any], what: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"row {row}: label {labels[row]!r} is not {what}")


class StableSoftClassifier(ChunkClassifier[SoftQueries], after={"halts": ["width"]}):
    """(epsilon, delta)-private predictions in [0, 1], from any learner.

    Labels are 0/1, or numbers in [0, 1] for a base that learns such.

    Parameters
    ----------
    base, epsilon, delta, queries, halts, chunks, constants, neighbours, seed, workers :
        As in :class:`StableQueryClassifier`; 2T tests may fail, up to two a query.
    width : float
        nu of queries that do not give their own.

    Attributes
    ----------
    release_, diagnostics_, private_models_ :
        As in :class:`StableQueryClassifier`.
    """

    width: float = 0.1

    def _asked(self, labels: NDArray[Any], private: bool) -> _Asked[SoftQueries]:
        check_width(self.width)
        _refuse_labels(~((labels >= 0) & (labels <= 1)), labels, "in [0, 1]")
        budget = plan_for(self, plan_soft_queries, private)
        # the plan is for two tests a query
        return labels, np.array([0, 1]), SoftQueries, budget, ("failures", budget.queries // 2)

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
        points, own = asked_points(X, self.queries_left_), self.validated()
        each = np.full(len(points), own.width) if widths is None else unmasked(widths)
        if each.shape != (len(points),):
            raise ValueError(f"widths must have shape ({len(points)},), got {each.shape}")
        for width in each.tolist():
            check_width(width)
        models, queries = self.private_models_.models, self.private_models_.queries
        with open_mapper(own.workers) as mapper:
            predictions = soft_predictions(models.models, points, mapper)
        return (queries.ask(predictions[:, i], width) for i, width in enumerate(each.tolist()))
