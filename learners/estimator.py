"""What the learners share: parameters, examples, and scikit-learn's conventions.

Parameters are stored unchanged and checked when a run starts; learned attributes end in ``_``.
scikit-learn is not imported, but its pipelines, scores and searches take the learners, see
:mod:`learners.sklearn_support`.  Only `release_` may be published (docs/privacy.md, lemma 6).

A learner declares its parameters and picks the :class:`Run` that they ask for; how that goes is a
matter of the run (docs/decisions/0022-runs.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import index
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from shapely.geometry.base import BaseGeometry

from geometry.grid_counts import GridCounts
from learners.accounting import PrivacySpent
from learners.labels import as_numbers
from learners.records import StepRecord
from learners.releases import Lattice, Release, release_of
from learners.scores import Role
from learners.selection import Watch
from learners.sklearn_support import (
    WithParameters,
    check_column_names,
    classifier_tags,
    column_names,
    refuse_sparse,
)
from learners.support import Support


@dataclass(frozen=True, slots=True)
class Stream:
    """A run that has begun.

    Attributes
    ----------
    records : iterator of StepRecord
        To come.
    lattice : HalfplaneLattice, ConicLattice or HalfspaceLattice3
        As the release states it.
    parameters : tuple of (str, value)
        Public parameters of the run, in order.
    support : Support or None
        Where there were enough examples, of a run that releases it.
    """

    records: Iterator[StepRecord]
    lattice: Lattice
    parameters: tuple[tuple[str, Any], ...]
    support: Support | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What parameters ask for: planned by public numbers alone, and not begun.

    Attributes
    ----------
    spent : PrivacySpent or None
        What it will spend; None for a learner that is not private.
    begin : callable
        begin(counts, watch) starts it on a sample that has been checked.  Refuses other parameters
        than those of the plan before anything is drawn.
    """

    spent: PrivacySpent | None
    begin: Callable[[GridCounts, Watch | None], Stream]


class Estimator(WithParameters, ABC):
    """fit, predict and score of a learner that is a stream of step records.

    Examples may come as rows or as their counts: the same release under the same seed, as it asks
    only how many of each label lie on each grid point; where chunks vote rows have their own coins.

    Attributes
    ----------
    release_ : Release
        The hypothesis of a complete run.
    feature_names_in_ : ndarray of object, shape (2,)
        Column names of the examples; only where they came as a data frame.
    """

    #: Columns of X.
    dimensions: ClassVar[int] = 2

    role: ClassVar[Role]
    grid: int
    release_: Release
    feature_names_in_: NDArray[np.object_]

    @abstractmethod
    def _planned(self) -> Run:
        """The run that the parameters ask for; raises as :meth:`plan`."""

    def plan(self) -> PrivacySpent | None:
        """What a run with these parameters will spend, by public numbers alone.

        Returns
        -------
        PrivacySpent or None
            As `privacy_` says after the run; None for a learner that is not private.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        return self._planned().spent

    def steps(
        self, X: ArrayLike, y: ArrayLike, *, watch: Watch | None = None
    ) -> Iterator[StepRecord]:
        """Run the learner, one record a step; `release_` is set when the last one is taken.

        Parameters and errors as in :meth:`fit`.  Checks happen at the call, before the first
        record is asked for.
        """
        return self._start(GridCounts.of_examples(*self._begin(X, y), self.grid), watch)

    def steps_counts(
        self, counts: GridCounts | ArrayLike, *, watch: Watch | None = None
    ) -> Iterator[StepRecord]:
        """As :meth:`steps`, of counted examples; parameters and errors as in :meth:`fit_counts`."""
        self._forget()
        return self._start(GridCounts.of(counts, self._side(), self.dimensions), watch)

    def fit(self, X: ArrayLike, y: ArrayLike, *, watch: Watch | None = None) -> Self:
        """Run all steps.

        Parameters
        ----------
        X : array or data frame of int, shape (n, 2)
            Grid coordinates (x, y), each in 0..grid.
        y : array, shape (n,)
            Labels: 0 or 1, False or True, -1 or 1, or words such as no and yes.  Predictions are 0
            and 1 all the same.
        watch : callable, optional
            Called now and then with a SelectionProgress; may raise Cancelled.

        Raises
        ------
        ValueError
            If an example or a parameter is out of range.
        TypeError
            If X is a sparse matrix, or holds objects that are no numbers.
        """
        for _ in self.steps(X, y, watch=watch):
            pass
        return self

    def fit_counts(self, counts: GridCounts | ArrayLike, *, watch: Watch | None = None) -> Self:
        """Run all steps on examples that are counted already, however many they are.

        Parameters
        ----------
        counts : GridCounts or array of int
            Counts of every grid point, counts[label, x, y], shape (2, grid + 1, grid + 1); or
            entries (x, y, label, count) in any order, shape (m, 4).  In three dimensions with a z
            after the y.
        watch : callable, optional
            As in :meth:`fit`.

        Raises
        ------
        ValueError
            If the counts are of another grid, a count is negative or no whole number, or a
            parameter is out of range.
        """
        for _ in self.steps_counts(counts, watch=watch):
            pass
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Labels 0/1, int64 of shape (n,), of grid points, shape (n, 2); exact.

        Raises
        ------
        ValueError, TypeError
            As :meth:`fit`; or if X is a data frame with other columns than the examples had.
        NotFittedError
            If no run is complete.
        """
        release = self._fitted()
        return release.predict(self._check_points(X, release))

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[np.int64]]:
        """Labels after the first step, the second, and so on."""
        release = self._fitted()
        return release.staged_predict(self._check_points(X, release))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy on labelled grid points.

        Parameters
        ----------
        X : array or data frame of int, shape (n, 2)
        y : array, shape (n,)
            Labels 0 or 1.
        sample_weight : array of float, shape (n,), optional
            What each point counts; by default all the same.
        """
        return accuracy(self.predict(X), y, sample_weight)

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Labels, always [0, 1]: to take them from the examples would publish something."""
        self._require_fitted()
        return np.array([0, 1], dtype=np.int64)

    @property
    def n_features_in_(self) -> int:
        """Columns of X: 2, or 3 for a learner in space."""
        self._require_fitted()
        return self.dimensions

    @property
    def polygons_(self) -> BaseGeometry:
        """The learned region, valid shapely geometry in grid units."""
        return self._fitted().shape()

    def _begin(self, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Forget the last run, and check the examples of the next; as :func:`check_examples`."""
        self._forget()
        points, labels = check_examples(X, y, self._side(), self.dimensions)
        names = column_names(X)
        if names is not None:
            self.feature_names_in_ = names
        return points, labels

    def _side(self) -> int:
        try:
            return index(self.grid)
        except TypeError:
            raise ValueError(f"grid must be a whole number, got {self.grid!r}") from None

    def _start(self, counts: GridCounts, watch: Watch | None) -> Iterator[StepRecord]:
        """The records of a run on a sample that has been checked; checks the parameters now."""
        run = self._planned()
        return self._keep(run.begin(counts, watch), run.spent)

    def _keep(self, stream: Stream, spent: PrivacySpent | None) -> Iterator[StepRecord]:
        """Pass the records on, and keep the release once the run is complete."""
        released = []
        for record in stream.records:
            released.append(record.release)
            if record.step == record.steps:
                common = type(self).__name__, stream.lattice, stream.parameters, spent
                self.release_ = release_of(common, self.role, released, stream.support)
            yield record

    def _check_points(self, X: ArrayLike, release: Release) -> NDArray[np.int64]:
        check_column_names(X, getattr(self, "feature_names_in_", None))
        return check_points(X, release.d, self.dimensions)

    def _fitted(self) -> Release:
        self._require_fitted()
        return self.release_

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of a learner's kind and input."""
        return classifier_tags(random=getattr(self, "seed", 0) is None)


def accuracy(
    predicted: NDArray[np.int64], y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Share of the examples that are labelled right, 0..1, each counted by its weight.

    Raises
    ------
    ValueError
        As :func:`check_labels`.
    """
    right = predicted == check_labels(y, len(predicted))
    return float(
        np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight))
    )


def check_count(name: str, value: int) -> int:
    """A whole number of at least 1.

    Raises
    ------
    ValueError
        Otherwise.
    """
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def check_open_unit(**values: float) -> None:
    """Refuse values that do not lie strictly between 0 and 1.

    Raises
    ------
    ValueError
        With the name of the first such value.
    """
    for name, value in values.items():
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie strictly between 0 and 1, got {value}")


def check_points(X: ArrayLike, d: int, dimensions: int = 2) -> NDArray[np.int64]:
    """Grid points as int64 of shape (n, dimensions).

    Raises
    ------
    ValueError
        If the shape is wrong, or a coordinate is not a whole number in 0..d; the message
        names the first such row.
    TypeError
        If X is a sparse matrix, or holds objects that are no numbers.
    """
    refuse_sparse(X)
    points = _as_numbers(np.asarray(X))
    if points.ndim != 2:
        raise ValueError(
            f"X must have shape (n, {dimensions}), not {points.ndim} dimension(s): "
            "reshape your data"
        )
    if points.dtype.kind == "f":
        _refuse_rows(~np.isfinite(points), points, "holds NaN or inf")
    # before the columns are counted, as scikit-learn asks of who takes no negative values
    _refuse_rows(points < 0, points, f"is off the grid 0..{d}: Negative values in data")
    columns, names = points.shape[1], "x and y" if dimensions == 2 else "x, y and z"
    if columns < dimensions:
        # scikit-learn asks for the shape of what has no columns; else it would tell n
        shape = "" if columns else f" (shape={points.shape})"
        raise ValueError(
            f"X has {columns} feature(s){shape} while a minimum of {dimensions} is required: "
            f"{names}"
        )
    if columns > dimensions:
        raise ValueError(
            f"X has {columns} features, but {dimensions} are expected as input: {names}"
        )
    if points.dtype.kind == "f":
        _refuse_rows(points != np.floor(points), points, "is not a pair of whole numbers")
    _refuse_rows(points > d, points, f"is off the grid 0..{d}")
    return np.ascontiguousarray(points, dtype=np.int64)


def check_labels(y: ArrayLike, n: int) -> NDArray[np.bool_]:
    """Labels of n examples, bool of shape (n,).

    They are 1 and 0, True and False, 1 and -1, or words such as yes and no
    (:mod:`learners.labels`).

    Raises
    ------
    ValueError
        If y has another shape, or holds anything else; the message names the first such row.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    labels = np.asarray(y)
    _refuse_complex(labels, "y")
    if labels.shape != (n,):
        raise ValueError(f"y must have shape (n,), one label for each example; {_told(labels, n)}")
    given, labels = labels, as_numbers(labels)
    wrong = np.asarray(~((labels == 0) | (labels == 1)))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        fraction = given.dtype.kind == "f" and given[row] != np.floor(given[row])
        why = "a continuous target" if fraction else "Only binary classification is supported."
        raise ValueError(f"row {row}: label {given[row]!r} is neither 0 nor 1: {why}")
    return labels.astype(np.bool_)


def _told(labels: NDArray[Any], n: int) -> str:
    """What is wrong with the shape of y, without a number of examples: that is private."""
    if labels.ndim != 1:
        return f"it has {labels.ndim} dimensions"
    return "there are too many" if len(labels) > n else "there are too few"


def check_examples(
    X: ArrayLike, y: ArrayLike, d: int, dimensions: int = 2
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Labelled grid points: int64 (n, dimensions) and bool (n,).

    Raises
    ------
    ValueError
        As :func:`check_points` and :func:`check_labels`.
    TypeError
        As :func:`check_points`.
    """
    refuse_sparse(X)
    # the labels first: what is wrong with them is told even of points that cannot be used
    points = np.asarray(X)
    labels = check_labels(y, len(points) if points.ndim else 0)
    return check_points(points, d, dimensions), labels


def _as_numbers(points: NDArray[Any]) -> NDArray[Any]:
    """The same as integers or floats."""
    _refuse_complex(points, "X")
    if points.dtype.kind == "O":
        return points.astype(np.float64)
    if points.dtype.kind not in "iufb":
        raise ValueError(f"X must hold numbers, got dtype {points.dtype}")
    return points


def _refuse_complex(values: NDArray[Any], name: str) -> None:
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {values.dtype}")


def _refuse_rows(wrong: NDArray[np.bool_], points: NDArray[Any], what: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong.any(axis=1))[0])
        raise ValueError(f"row {row}: ({', '.join(map(str, points[row]))}) {what}")
