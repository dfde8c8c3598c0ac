"""A hypothesis that agrees with its sample and is random elsewhere: for demonstration.

Nissim's lecture *Private Learning 1* asks whether a small error on the sample means a small error
on the distribution, and answers by this h: h(x_i) = y_i for all i, and h(x) random for other x.  It
errs on no example and on about half of what is new; and its labels give every example away.
Neither can happen to a learner that is private: what is private generalizes
(docs/privacy.md, lemma F4), and `geodp audit --learner memorizing` refutes any claim of privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.places import unmasked
from learners.checks import Classifier, check_count, check_labels
from learners.noise import below_array
from learners.randomness import open_source
from learners.sklearn_support import keyword_parameters


@dataclass(frozen=True, slots=True)
class MemorizedLabels:
    """What a run returns; it must not be published.

    Attributes
    ----------
    learner : str
    table : tuple of bool
        Labels of points 0..N-1.
    privacy : None
        Nothing of it is private.
    """

    learner: str
    table: tuple[bool, ...]
    privacy: None = None

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Labels 0/1, shape (n,), of points 0..N-1, shape (n,)."""
        labels = np.array(self.table, dtype=np.int64)
        return np.asarray(labels[np.asarray(X, dtype=np.int64)])


@keyword_parameters()
class MemorizingLearner(Classifier):
    """Learns its examples by heart; not private.

    Parameters
    ----------
    points : int
        N: examples are among 0..N-1.
    seed : int, optional
        Of the labels of points that were not seen.

    Attributes
    ----------
    release_ : MemorizedLabels

    Examples
    --------
    >>> model = MemorizingLearner(points=1000, seed=1).fit([3, 4, 5], [1, 0, 1])
    >>> model.predict([3, 4, 5]).tolist()
    [1, 0, 1]
    """

    points: int = 1000
    seed: int | None = None

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Take down the labels of points X (n,); the last label of a point that has several.

        Raises
        ------
        ValueError
            If a point or a label is out of range.
        """
        told = self._fresh()
        points = check_count("points", told.points)
        where = unmasked(X)
        if where.ndim != 1 or (len(where) and where.dtype.kind not in "iu"):
            raise ValueError(f"X must be whole numbers of shape (n,), got {where.dtype}")
        if len(where) and not (where.min() >= 0 and where.max() < points):
            raise ValueError(f"a point of X is outside 0..{points - 1}")
        labels = below_array(open_source(told.seed), 2, points) == 1
        given = check_labels(y, len(where), self.positive)
        self._named(y, given)
        labels[where.astype(np.int64)] = given
        self.release_ = MemorizedLabels(type(self).__name__, tuple(labels.tolist()))
        return self

    def _zeros_and_ones(self, X: ArrayLike) -> NDArray[np.int64]:
        self._require_fitted()
        release: MemorizedLabels = self.release_
        return release.predict(X)
