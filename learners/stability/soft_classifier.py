"""Private soft labels from any learner, step by step (algorithm 8 on chunks of a sample).

As :mod:`learners.stability.classifiers`, with predictions in [0, 1] in the place of classes;
the tests are those of :mod:`learners.stability.soft_labels`.  (epsilon, delta)-DP:
docs/privacy.md, lemma S7.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from learners.randomness import open_source
from learners.sklearn_support import keyword_parameters
from learners.stability.chunk_classifier import ChunkClassifier, open_mapper, plan_for
from learners.stability.sample_and_aggregate import check_base, same_examples
from learners.stability.soft_labels import (
    SoftQueries,
    SoftRecord,
    check_width,
    plan_soft_queries,
    soft_predictions,
)


@keyword_parameters(after={"halts": ["width"]})
class StableSoftClassifier(ChunkClassifier[SoftQueries]):
    """(epsilon, delta)-private predictions in [0, 1], from any learner.

    Parameters
    ----------
    base, epsilon, delta, queries, halts, chunks, constants, neighbours, seed, workers :
        As in :class:`learners.stability.classifiers.StableQueryClassifier`; 2T tests may fail,
        up to two a query.
    width : float
        nu of queries that do not give their own.

    Attributes
    ----------
    release_, diagnostics_, private_models_ :
        As in :class:`learners.stability.classifiers.StableQueryClassifier`.
    """

    width: float = 0.1

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
        points, labels = same_examples(X, y)
        wrong = ~((labels >= 0) & (labels <= 1))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"row {row}: label {labels[row]!r} is not in [0, 1]")
        source = open_source(self.seed)
        budget = plan_for(self, plan_soft_queries, source.private)
        # the plan is for two tests a query
        parameters = (("queries", budget.queries // 2), ("failures", budget.halts))
        self._train((points, labels), np.array([0, 1]), SoftQueries, budget, parameters, source)
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
        points = self._asked(X)
        each = np.full(len(points), self.width) if widths is None else np.asarray(widths)
        if each.shape != (len(points),):
            raise ValueError(f"widths must have shape ({len(points)},), got {each.shape}")
        for width in each.tolist():
            check_width(width)
        private = self.private_models_
        with open_mapper(self.workers) as mapper:
            predictions = soft_predictions(private.models.models, points, mapper)
        queries = private.queries
        return (queries.ask(predictions[:, i], width) for i, width in enumerate(each.tolist()))
