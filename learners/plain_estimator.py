"""Parameters, score and privacy statement of learners whose examples need not lie on a grid.

The same conventions as :class:`learners.estimator.Estimator`: parameters are stored unchanged and
checked when a run starts, learned attributes end in ``_``, and what may be published is
``release_``; ``diagnostics_`` is for the curator alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.accounting import (
    LEAST_DELTA,
    Neighbours,
    PrivacySpent,
    check_budget,
    inner_budget,
)
from learners.estimator import check_labels
from learners.sklearn_support import WithParameters


class Published(Protocol):
    """What any release states."""

    @property
    def privacy(self) -> PrivacySpent | None:
        """None for a learner that is not private."""


class PlainEstimator(WithParameters):
    """Parameters and privacy statement of a learner with one release."""

    release_: Published

    @property
    def privacy_(self) -> PrivacySpent | None:
        """What the run spent; None for a learner that is not private."""
        self._require_fitted()
        return self.release_.privacy

    def _begin(self) -> None:
        """Forget the last run: one that fails leaves nothing behind."""
        self.__dict__.pop("release_", None)
        self.__dict__.pop("diagnostics_", None)


class PlainClassifier(PlainEstimator, ABC):
    """A plain learner of labels 0/1."""

    @abstractmethod
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from examples; see the learner."""

    @abstractmethod
    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Labels 0/1, shape (n,); see the learner."""

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Share of the examples that are labelled right, 0..1."""
        predicted = self.predict(X)
        return float(np.mean(predicted == check_labels(y, len(predicted))))


def pure_budget(epsilon: float, neighbours: Neighbours) -> float:
    """Epsilon for add/remove neighbours of a run that is epsilon-DP, delta = 0, for these.

    Raises
    ------
    ValueError
        If epsilon states no guarantee, or there are no such neighbours.
    """
    check_budget(epsilon, LEAST_DELTA)
    return inner_budget(epsilon, LEAST_DELTA, neighbours)[0]
