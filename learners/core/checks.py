"""What a learner asks of its examples and parameters, told in one line where it is not so."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.grid import Bounds, GridMap
from geometry.places import coordinates, has_geometry, unmasked
from learners.core.labels import as_numbers
from learners.core.sklearn_support import refuse_sparse
from learners.parameters import real, shown, whole

Computed = TypeVar("Computed", bound=Callable[..., Any])


def within_floats(compute: Computed) -> Computed:
    """Decorator of what is computed of numbers that people give: beyond all floats is an error.

    Raises
    ------
    ValueError
        Where a float overflows or a divisor vanishes: a number is larger or smaller than anybody's.
    """

    @wraps(compute)
    def computed(*args: Any, **kwargs: Any) -> Any:
        try:
            return compute(*args, **kwargs)
        except (OverflowError, ZeroDivisionError):
            raise ValueError(
                "one of these numbers is so large, or so near to 0 or 1, that the answer is beyond "
                "what can be computed: take less extreme ones"
            ) from None

    return cast(Computed, computed)


def accuracy(
    predicted: NDArray[np.int64],
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    positive: Any = None,
) -> float:
    """Share of the examples that are predicted right as 0 or 1, each counted by its weight.

    Raises
    ------
    ValueError
        As :func:`check_labels`.
    """
    right = predicted == check_labels(y, len(predicted), positive)
    return float(
        np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight))
    )


class _OfTwoLabels(Protocol):
    """A learner of two labels."""

    positive: Any

    def _zeros_and_ones(self, X: ArrayLike | Any) -> NDArray[np.int64]: ...

    def _as_came(self, predicted: NDArray[np.int64]) -> NDArray[Any]: ...


def predict_as_came(self: _OfTwoLabels, X: ArrayLike | Any) -> NDArray[Any]:
    """Labels as the examples had, shape (n,), of points as :meth:`fit` takes them; exact.

    After counts they are 0 and 1; `release_.predict` gives 0 and 1 always.

    Raises
    ------
    ValueError, TypeError
        As :meth:`fit`; or if X is a data frame with other columns than the examples had, or the
        run ended without a hypothesis.
    NotFittedError
        If no run is complete.
    """
    return self._as_came(self._zeros_and_ones(X))


def share_right(
    self: _OfTwoLabels, X: ArrayLike | Any, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Share of labelled points that are predicted right, 0..1: private, if these are.

    Parameters
    ----------
    X, y : array or data frame
        Points and labels, shape (n,), as :meth:`fit` takes them.
    sample_weight : array of float, shape (n,), optional
        What each point counts; by default all the same.
    """
    return accuracy(self._zeros_and_ones(X), y, sample_weight, self.positive)


# scikit-learn asks a method for its name
for method, name in ((predict_as_came, "predict"), (share_right, "score")):
    method.__name__ = method.__qualname__ = name


def check_count(name: str, value: int) -> int:
    """A whole number of at least 1, as an int.

    Raises
    ------
    ValueError
        Otherwise.
    """
    return whole(name, value, 1)


def check_open_unit(**values: float) -> None:
    """Refuse values that do not lie strictly between 0 and 1.

    Raises
    ------
    ValueError
        With the name of the first such value.
    """
    for name, value in values.items():
        try:
            inside = 0 < real(name, value) < 1
        except ValueError:
            inside = False
        if not inside:
            raise ValueError(f"{name} must lie strictly between 0 and 1, got {shown(value)}")


def check_points(
    X: ArrayLike, d: int, dimensions: int = 2, bounds: Bounds | None = None
) -> NDArray[np.int64]:
    """Grid points as int64 of shape (n, dimensions).

    With bounds X holds coordinates as :func:`geometry.places.coordinates` takes them, and each
    point becomes the nearest of the grid.

    Raises
    ------
    ValueError
        If the shape is wrong, or a coordinate is not a whole number in 0..d, or not within the
        bounds; the message names the first such row.
    TypeError
        If X is a sparse matrix, or holds objects that are no numbers.
    """
    refuse_sparse(X)
    if bounds is None and has_geometry(X):
        raise ValueError("points of geopandas need bounds=(west, south, east, north), public ones")
    points = _as_numbers(unmasked(X) if bounds is None else coordinates(X, bounds))
    if points.ndim != 2:
        raise ValueError(
            f"X must have shape (n, {dimensions}), not {points.ndim} dimension(s): "
            "reshape your data"
        )
    if points.dtype.kind == "f":
        _refuse_rows(~np.isfinite(points), points, "holds NaN or inf")
    if bounds is None:
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
    if bounds is not None:
        return GridMap(d, bounds).own_to_grid(points)
    if points.dtype.kind == "f":
        wrong = "is not a pair of whole numbers; degrees and metres need bounds="
        _refuse_rows(points != np.floor(points), points, wrong)
    _refuse_rows(points > d, points, f"is off the grid 0..{d}")
    return np.ascontiguousarray(points, dtype=np.int64)


def check_labels(y: ArrayLike, n: int, positive: Any = None) -> NDArray[np.bool_]:
    """Labels of n examples, bool of shape (n,).

    They are 1 and 0, True and False, 1 and -1, or words such as yes and no; or with `positive`
    that label and another one (:mod:`learners.core.labels`).

    Raises
    ------
    ValueError
        If y has another shape, or holds anything else; the message names the first such row.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    labels = unmasked(y)
    _refuse_complex(labels, "y")
    if labels.shape != (n,):
        raise ValueError(
            f"y must have shape (n,), one label for each example; {_described(labels, n)}"
        )
    given, labels = labels, as_numbers(labels, positive)
    wrong = np.asarray(~((labels == 0) | (labels == 1)))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        fraction = given.dtype.kind == "f" and given[row] != np.floor(given[row])
        why = "a continuous target" if fraction else "Only binary classification is supported."
        hint = "" if positive is not None or fraction else " positive= names the label that is 1."
        raise ValueError(f"row {row}: label {given[row]!r} is neither 0 nor 1: {why}{hint}")
    return labels.astype(np.bool_)


def _described(labels: NDArray[Any], n: int) -> str:
    """What is wrong with the shape of y, without a number of examples: that is private."""
    if labels.ndim != 1:
        return f"it has {labels.ndim} dimensions"
    return "there are too many" if len(labels) > n else "there are too few"


def check_examples(
    X: ArrayLike,
    y: ArrayLike,
    d: int,
    dimensions: int = 2,
    bounds: Bounds | None = None,
    positive: Any = None,
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
    plain: Any = X if has_geometry(X) else unmasked(X)
    labels = check_labels(y, len(plain) if plain.ndim else 0, positive)
    return check_points(plain if bounds is None else X, d, dimensions, bounds), labels


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
