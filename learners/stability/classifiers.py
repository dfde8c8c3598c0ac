"""Private classification queries: labels of public points, step by step (algorithm 4, section 4).

`fit` trains a model on every chunk of the private sample.  `steps(points)` then answers queries at
public points one after the other: the majority's class where its distance to instability passes the
noisy test, ⊥ where it does not, halted after T of these.  Points may be chosen in view of earlier
answers, by several calls.  (epsilon, delta)-DP for all calls together (docs/privacy.md, lemma S5).

The number m of queries and T are public and fixed before the sample is seen.  The noise does
not depend on m, and grows with the root of T.  Settings with a promise:
:mod:`learners.stability.query_settings`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.randomness import open_source
from learners.sklearn_support import keyword_parameters
from learners.stability.chunk_classifier import ChunkClassifier, open_mapper, plan_for
from learners.stability.sample_and_aggregate import (
    ChunkModels,
    check_base,
    check_classes,
    same_examples,
)
from learners.stability.sparse_vector import plan_sparse_vector
from learners.stability.stable_queries import QueryRelease, StableQueries
from learners.stability.votes import distances, winners


@dataclass(frozen=True, slots=True)
class QueryDiagnostics:
    """What only the curator may see of one query.

    Attributes
    ----------
    votes : tuple of int
        For each class.
    winner : int
        Class with most votes.
    distance : int
        Votes that may change without a change of the winner.
    """

    votes: tuple[int, ...]
    winner: int
    distance: int


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """One query: what is published, and what is not."""

    release: QueryRelease
    diagnostics: QueryDiagnostics


@keyword_parameters(after={"chunks": ["classes"]})
class StableQueryClassifier(ChunkClassifier[StableQueries]):
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
        Public labels.
    constants : {"tight", "printed"}
        Of the noise, see :mod:`learners.stability.sparse_vector`.
    neighbours : {"add-remove", "replace-one", "replace-label"}
        A statement: all relations cost the same here.
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
        pickled or copied; keep its release_ and the answers.

    Examples
    --------
    >>> import numpy as np
    >>> from learners.stability.majority_cells import MajorityCells
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 100)
    >>> model = StableQueryClassifier(base=MajorityCells(grid=16, cells=4), queries=10, seed=1)
    >>> model.fit(X, X[:, 0] > 7).answer([[2, 3], [15, 3]]).tolist()
    [0, 1]
    """

    classes: ArrayLike = (0, 1)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train a model on each chunk; nothing is published yet.

        Parameters
        ----------
        X : array, shape (n, ...)
        y : array of int, shape (n,)
            Labels among `classes`.

        Raises
        ------
        ValueError
            If X and y differ in length, a label is no class, or a parameter is out of range.
        """
        self._begin()
        check_base(self.base)
        classes = check_classes(self.classes)
        sample = _check_sample(X, y, classes)
        source = open_source(self.seed)
        budget = plan_for(self, plan_sparse_vector, source.private)
        parameters = (("queries", budget.queries), ("halts", budget.halts))
        self._train(sample, classes, StableQueries, budget, parameters, source)
        return self

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
        points = self._asked(X)
        private = self.private_models_
        with open_mapper(self.workers) as mapper:
            counts = private.models.votes(points, mapper)
        return answer_votes(private.queries, counts, private.models)

    def answer(self, X: ArrayLike) -> NDArray[np.int64]:
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
        self._require_fitted()
        return self.private_models_.queries.halts_left


def answer_votes(
    queries: StableQueries, counts: NDArray[np.int64], models: ChunkModels
) -> Iterator[QueryRecord]:
    """Ask one query after the other; a release's value is the class itself.

    Parameters
    ----------
    queries : StableQueries
    counts : ndarray of int64, shape (m, classes)
        Votes.
    models : ChunkModels
        Whose classes they are.
    """
    firsts, far = winners(counts).tolist(), distances(counts).tolist()
    labels = models.classes.tolist()
    for votes, first, distance in zip(counts.tolist(), firsts, far, strict=True):
        release = queries.ask(labels[first], distance)
        yield QueryRecord(release, QueryDiagnostics(tuple(votes), labels[first], distance))


def _check_sample(
    X: ArrayLike, y: ArrayLike, classes: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    points, labels = same_examples(X, y)
    wrong = ~np.isin(labels, classes)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"row {row}: label {labels[row]!r} is not among the classes {classes}")
    return points, labels.astype(np.int64)
