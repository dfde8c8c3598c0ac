"""Finite concept classes over a finite domain 0..N-1, and their mistakes on a sample.

All that the learners of a finite class need is the number of mistakes of every concept, and that
depends on the sample only through the positive and negative examples at each point.  Points and
thresholds count theirs in O(N); any other class is a bool matrix.

Sources: Nissim's lecture (POINT_d and THRESH_d); KMMS section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.estimator import check_count, check_labels
from learners.theory.vc import as_class


class ConceptClass(Protocol):
    """Concepts 0..size-1 on points 0..domain-1."""

    @property
    def size(self) -> int:
        """Number of concepts."""

    @property
    def domain(self) -> int:
        """Number of points."""

    def mistakes(
        self, positives: NDArray[np.int64], negatives: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Mistakes of every concept, shape (size,), given the examples at each point."""

    def predict(self, index: int, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Labels of points by one concept."""


@dataclass(frozen=True, slots=True)
class FiniteClass:
    """A class given by all its labels.

    Parameters
    ----------
    concepts : array of 0/1, shape (size, domain)

    Raises
    ------
    ValueError
        If there is no concept or no point, or a label is neither 0 nor 1.
    """

    concepts: NDArray[np.bool_]

    def __post_init__(self) -> None:
        matrix = as_class(self.concepts)
        if matrix.shape[1] == 0:
            raise ValueError("a class must have at least one point")
        object.__setattr__(self, "concepts", matrix)

    @classmethod
    def of(cls, concepts: Sequence[Callable[[Any], bool]], domain: Sequence[Any]) -> FiniteClass:
        """The labels that functions give to the points of a domain."""
        return cls(np.array([[bool(c(x)) for x in domain] for c in concepts], dtype=np.bool_))

    @property
    def size(self) -> int:
        """Number of concepts."""
        return len(self.concepts)

    @property
    def domain(self) -> int:
        """Number of points."""
        return int(self.concepts.shape[1])

    def mistakes(
        self, positives: NDArray[np.int64], negatives: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Mistakes of every concept, int64 of shape (size,); O(size * domain)."""
        wrong = np.where(self.concepts, negatives, positives)
        return np.asarray(wrong.sum(axis=1, dtype=np.int64))

    def predict(self, index: int, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Labels of points by one concept."""
        return np.asarray(self.concepts[index, points])


@dataclass(frozen=True, slots=True)
class PointClass:
    """Concept j labels the point j alone 1; VC dimension 1.

    Parameters
    ----------
    domain : int
        Number of points, and of concepts.
    """

    domain: int

    def __post_init__(self) -> None:
        check_count("domain", self.domain)

    @property
    def size(self) -> int:
        """Number of concepts."""
        return self.domain

    def mistakes(
        self, positives: NDArray[np.int64], negatives: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Mistakes of every concept: all positives elsewhere, and negatives on the point."""
        return np.asarray(positives.sum() - positives + negatives)

    def predict(self, index: int, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Labels of points by one concept."""
        return np.asarray(points == index)


@dataclass(frozen=True, slots=True)
class ThresholdClass:
    """Concept t, 0 <= t <= d + 1, labels x in 0..d by x >= t; VC dimension 1.

    Parameters
    ----------
    d : int
    """

    d: int

    def __post_init__(self) -> None:
        check_count("d", self.d)

    @property
    def size(self) -> int:
        """Number of concepts; the last one labels everything 0."""
        return self.d + 2

    @property
    def domain(self) -> int:
        """Number of points."""
        return self.d + 1

    def mistakes(
        self, positives: NDArray[np.int64], negatives: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Mistakes of every concept: positives below t and negatives from t on."""
        moved = np.concatenate([[negatives.sum()], positives - negatives])
        return np.asarray(np.cumsum(moved, dtype=np.int64))

    def predict(self, index: int, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Labels of points by one concept."""
        return np.asarray(points >= index)


def concept_matrix(concepts: ConceptClass) -> NDArray[np.bool_]:
    """All labels, bool of shape (size, domain): for small classes and :mod:`learners.theory.vc`."""
    points = np.arange(concepts.domain)
    return np.array([concepts.predict(i, points) for i in range(concepts.size)], dtype=np.bool_)


def check_domain_points(X: ArrayLike, domain: int) -> NDArray[np.int64]:
    """Points of the domain, int64 of shape (n,).

    Parameters
    ----------
    X : array of int, shape (n,) or (n, 1)
    domain : int

    Raises
    ------
    ValueError
        If the shape is another, or a point is no whole number in 0..domain-1; the message names
        the first such row.
    """
    points = np.asarray(X)
    if points.ndim == 2 and points.shape[1] == 1:
        points = points[:, 0]
    if points.ndim != 1:
        raise ValueError("X must have shape (n,) or (n, 1)")
    if points.dtype.kind not in "iufb":
        raise ValueError(f"X must hold numbers, got an array of {points.dtype}")
    # NaN fails every comparison
    good = (points >= 0) & (points < domain) & (points == np.floor(points))
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise ValueError(f"row {row}: {points[row]} is not a point of the domain 0..{domain - 1}")
    return points.astype(np.int64)


def count_labels(
    X: ArrayLike, y: ArrayLike, domain: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positive and negative examples at each point, int64 of shape (domain,); checks both."""
    points = check_domain_points(X, domain)
    labels = check_labels(y, len(points))
    positives = np.bincount(points[labels], minlength=domain)
    negatives = np.bincount(points[~labels], minlength=domain)
    return positives, negatives
