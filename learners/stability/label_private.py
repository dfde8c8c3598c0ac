"""Learns from private answers at public points: the label-private learner (algorithm 5).

m unlabelled points are labelled by a :class:`learners.stability.classifiers.
StableQueryClassifier`; what has no answer gets a fair coin (or is left out); any learner is trained
on the points and these labels.  Its hypothesis is a function of what was published, so it costs
nothing more and answers any number of queries.  Two modes:

public   `fit(X, y, public)`: the sample is private, the points to label are public:
         (epsilon, delta)-DP for whole examples.
split    `fit(X, y)`: only the labels are private.  m random rows give points without labels, the
         others are the private sample: (epsilon, delta)-DP for one label replaced
         (`neighbours = "replace-label"`), and for nothing else: all points, and n, are public
         (docs/privacy.md, lemma S6).

Theorem 4.6, with constants (*derived*): let c be a concept, at most r of the m points not have its
label after answers and coins, and the final learner minimize mistakes over a class of N concepts.
Its choice disagrees with c at no more than 2r points, so for m independent points its error beyond
c's is at most

    2 r / m + sqrt(ln(2 N / beta) / (2 m))        with probability 1 - beta,

r = T by corollary 4.1.  BTT have VC dimension for ln N, and order of magnitude for constants.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.arrays import Flags, Ints
from geometry.coordinates import unmasked
from learners.core.sklearn_support import WithParameters
from learners.declaration import check_count
from learners.privacy.accounting import PrivacySpent, Relation
from learners.privacy.randomness import RandomSource, below, open_source
from learners.stability.classifiers import StableQueryClassifier
from learners.stability.sample_and_aggregate import (
    ConstantModel,
    check_base,
    check_classes,
    fresh_copy,
    same_examples,
    trained,
)
from learners.stability.stable_queries import Constants, QueryRelease

Unanswered = Literal["coin", "omit"]


@dataclass(frozen=True, slots=True)
class LabelPrivateRelease:
    """What may be published: the answers, and the model trained on public points and answers."""

    learner: str
    parameters: tuple[tuple[str, Any], ...]
    answers: tuple[QueryRelease, ...]
    model: Any
    privacy: PrivacySpent


class LabelPrivateLearner(WithParameters):
    """Algorithm 5 for any two learners.

    Parameters
    ----------
    base : object with fit and predict, or factory of such
        Trained on each chunk.
    final : object with fit and predict, or factory of such, optional
        Trained on the labelled points; by default as `base`.
    epsilon, delta, queries, halts, chunks, classes, constants, neighbours, seed, workers :
        As in :class:`StableQueryClassifier
        <learners.stability.classifiers.StableQueryClassifier>`.  Without public
        points `neighbours` must be "replace-label"; by default it is, and "replace-one" with them.
    unanswered : {"coin", "omit"}

    Attributes
    ----------
    release_ : LabelPrivateRelease

    Examples
    --------
    >>> import numpy as np
    >>> from learners.stability.base_learners import MajorityCells
    >>> X = np.array([[x, y] for x in range(17) for y in range(17)] * 100)
    >>> model = LabelPrivateLearner(base=MajorityCells(grid=16, cells=2), queries=40, seed=1)
    >>> model.fit(X, X[:, 0] > 8, public=X[:289:8]).predict([[2, 3], [15, 3]]).tolist()
    [0, 1]
    """

    base: Any
    final: Any = None
    epsilon: float = 1.0
    delta: float = 1e-6
    queries: int = 1000
    halts: int = 1
    chunks: int | None = None
    classes: ArrayLike = (0, 1)
    unanswered: Unanswered = "coin"
    constants: Constants = "tight"
    neighbours: Relation | None = None
    seed: int | None = None
    workers: int = 1

    def fit(self, X: ArrayLike, y: ArrayLike, public: ArrayLike | None = None) -> Self:
        """Label points and learn from them.

        Parameters
        ----------
        X : array, shape (n, ...)
        y : array of int, shape (n,)
        public : array, shape (a, ...), optional
            Public points without labels, chosen without a look at the sample; at most `queries`.
            By default the sample is split, and only its labels are protected.

        Raises
        ------
        ValueError
            If a shape, a label or a parameter is wrong.
        """
        configured = self._fresh()
        final = configured.base if configured.final is None else configured.final
        check_base(final)
        classes = check_classes(configured.classes)
        source = open_source(configured.seed)
        points, labels = same_examples(X, y)
        # only labels are protected where points of the sample are published
        neighbours = configured.neighbours or ("replace-label" if public is None else "replace-one")
        if public is None:
            if neighbours != "replace-label":
                raise ValueError(
                    "without public points only labels are protected: neighbours must be "
                    f"'replace-label', got {neighbours!r}"
                )
            most = check_count("queries", configured.queries)
            points, labels, asked = split_sample(points, labels, most, source)
        else:
            asked = unmasked(public)
        if not asked.ndim or not 1 <= len(asked) <= check_count("queries", configured.queries):
            raise ValueError(
                f"public must hold 1 to {configured.queries} points, not of shape {asked.shape}"
            )
        shared = configured.get_params(deep=False)
        del shared["final"], shared["unanswered"]
        # coins of its own: the same stream must not be read twice
        seed = None if configured.seed is None else configured.seed + 1
        shared |= {"neighbours": neighbours, "seed": seed}
        queries = StableQueryClassifier(**shared).fit(points, labels)
        answers = tuple(record.release for record in queries.steps(asked))
        kept, targets = known_labels(answers, configured.unanswered, classes, source)
        seen = np.unique(targets)
        if len(seen) < 2:
            model = ConstantModel(seen[0] if len(seen) else classes[0])
        else:
            model = trained(fresh_copy(final), asked[kept], targets)
        parameters = (*queries.release_.parameters, ("unanswered", configured.unanswered))
        self.release_: LabelPrivateRelease = LabelPrivateRelease(
            type(self).__name__, parameters, answers, model, queries.release_.privacy
        )
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels of any points by the final hypothesis, shape (n,)."""
        return np.asarray(self._fitted().model.predict(np.asarray(X)))


def known_labels(
    answers: Iterable[QueryRelease], unanswered: Unanswered, classes: Ints, source: RandomSource
) -> tuple[Flags, Ints]:
    """Which of m answers to learn from, bool (m,), and the labels of these: a coin's for a ⊥."""
    kept, labels = [], []
    for answer in answers:
        kept.append(answer.value is not None or unanswered == "coin")
        if answer.value is not None:
            labels.append(answer.value)
        elif unanswered == "coin":
            labels.append(int(classes[below(source, len(classes))]))
    return np.array(kept, dtype=np.bool_), np.array(labels, dtype=np.int64)


def split_sample(
    X: NDArray[Any], y: NDArray[Any], most: int, source: RandomSource
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Points and labels of the private rows, and the points of `most` random others.

    Raises ValueError if no row would be left.  n is public where a sample is split.
    """
    check_split(most, len(X))
    chosen = random_rows(len(X), most, source)
    kept = np.ones(len(X), dtype=np.bool_)
    kept[chosen] = False
    return X[kept], y[kept], X[chosen]


def check_split(most: int, n: int) -> None:
    """Refuse to give `most` of n examples away if none would be left: ValueError."""
    if most >= n:
        raise ValueError(f"{n} examples are too few to give {most} of them away")


def random_rows(n: int, count: int, source: RandomSource) -> list[int]:
    """`count` different rows of 0..n-1, uniform; O(count)."""
    moved: dict[int, int] = {}
    rows = []
    for first in range(count):
        other = first + below(source, n - first)
        rows.append(moved.get(other, other))
        moved[other] = moved.get(first, first)
    return rows
