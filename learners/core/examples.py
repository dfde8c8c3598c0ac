"""Checks the points and labels that a learner gets, and says in one line what is wrong with them.

A label is 1 or 0 by any of the words that people have for them, or by one that is named.  A word
means the same in every sample, whatever other words are there, so that what an example becomes
depends on that example alone (docs/privacy.md, lemma T0).  Only how labels were spelled is taken
from the sample, for the curator: predictions come back as the labels came, and a release holds 0
and 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.arrays import Flags, Ints
from geometry.coordinates import coordinates, has_geometry, refuse_swapped, unmasked
from geometry.errors import InputError
from geometry.grid import Bounds, GridMap

#: What says inside, and what outside, in the form of :func:`normal`.
OPPOSITES = (
    ("1", "0"), ("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"),
    ("inside", "outside"), ("in", "out"), ("positive", "negative"), ("1", "-1"),
)  # fmt: skip

_MEANT = {word: word == pair[0] for pair in OPPOSITES for word in pair}


def normal(text: str) -> str:
    """A label without what makes no difference: outer spaces, capitals, 1.0 for 1."""
    plain = text.strip().casefold()
    try:
        value = float(plain)
    except ValueError:
        return plain
    return str(int(value)) if value in (-1, 0, 1) else plain


def meant(word: str) -> bool | None:
    """Whether a word says inside; None if it says neither."""
    return _MEANT.get(normal(word))


def one_form(text: str) -> str:
    """A label by which equal numbers are one, however they are written: 2, 2.0 and 2e0."""
    label = normal(text)
    try:
        value = float(label) if label.isascii() and "_" not in label else math.nan
    except ValueError:
        return label
    if not abs(value) < 2**53:
        return label
    return str(int(value)) if value.is_integer() else repr(value)


@dataclass(frozen=True, slots=True)
class LabelWords:
    """Which labels say inside and which outside: the words of all people, or those that are named.

    Attributes
    ----------
    inside, outside : frozenset of str
        In the form of :func:`one_form`.  If only the first are named, every other label says
        outside; if none are, the words of all people count.
    """

    inside: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()

    @classmethod
    def named(cls, inside: Iterable[str], outside: Iterable[str] = ()) -> LabelWords:
        """Those that options name.

        Raises
        ------
        InputError
            If a label is empty or says both, or only those outside are named.
        """
        words = cls(*(frozenset(map(one_form, each)) for each in (inside, outside)))
        if "" in words.inside | words.outside:
            raise InputError("--inside and --outside: a label is empty")
        if words.outside and not words.inside:
            raise InputError("--outside goes with --inside: name the labels that are inside, too")
        if both := sorted(words.inside & words.outside):
            raise InputError(f"--inside and --outside: {both[0]!r} cannot be both")
        return words

    @property
    def known(self) -> frozenset[str]:
        """All that are told apart."""
        return self.inside | self.outside or frozenset(_MEANT)

    def says(self, label: str) -> bool | None:
        """Whether a label, in that form, says inside; None if it says neither."""
        if not self.inside:
            return meant(label)
        if label in self.inside:
            return True
        return False if not self.outside or label in self.outside else None


#: The words of all people.
COMMON = LabelWords()


def as_numbers(labels: NDArray[Any], positive: Any = None) -> NDArray[Any]:
    """Labels as numbers 1 and 0 where they are words, or -1 and 1; others stay as they are.

    Parameters
    ----------
    labels : ndarray, shape (n,)
    positive : label, optional
        The one that says inside: then all others say outside.

    Returns
    -------
    ndarray, shape (n,)
        What says neither is left for the caller to refuse: words as NaN, numbers as they are.
    """
    if positive is not None:
        return _named(labels, positive)
    if labels.dtype.kind in "OUST":
        found = {word: meant(str(word)) for word in set(labels.tolist())}
        values = [float("nan") if found[word] is None else found[word] for word in labels.tolist()]
        return np.array(values, dtype=np.float64)
    if labels.dtype.kind in "if":
        return np.where(labels == -1, 0, labels)
    return labels


def _named(labels: NDArray[Any], positive: Any) -> NDArray[Any]:
    """1 for the label that is named, 0 for the others, NaN for what is no label."""
    if labels.dtype.kind in "OUST":
        named = normal(str(positive))
        words = labels.tolist()
        found = {word: normal(str(word)) == named for word in set(words)}
        # None and NaN are no labels: a NaN is not equal to itself
        none = {word for word in found if word is None or word != word}
        return np.array([float("nan") if w in none else found[w] for w in words], dtype=np.float64)
    try:
        known = not len(labels) or bool(np.full((), positive, labels.dtype) == positive)
    except (OverflowError, TypeError, ValueError):
        known = False
    if not known:
        raise ValueError(f"positive = {positive!r:.60} cannot be a label of y, of {labels.dtype}")
    ones = (labels == positive).astype(np.float64)
    return np.where(np.isnan(labels), np.nan, ones) if labels.dtype.kind == "f" else ones


def spelled(labels: NDArray[Any], ones: Flags, positive: Any = None) -> NDArray[Any]:
    """How a sample spells 0 and 1.  Private: it tells which labels are there.

    Of a sample of one class the other is the opposite of that: "no" of "yes", 0 of 1; of a word
    without one "not" and the word.

    Parameters
    ----------
    labels : ndarray, shape (n,)
        As they came.
    ones : ndarray of bool, shape (n,)
        What they say.
    positive : label, optional
        As in :func:`as_numbers`.

    Returns
    -------
    ndarray, shape (2,)
        The label that says 0 and the one that says 1, of the labels' own dtype; 0 and 1 of a
        sample without examples.

    Raises
    ------
    ValueError
        If several labels stand beside the one that is named.
    """
    if not len(labels):
        return np.array([0, 1], dtype=np.int64)
    zero, one = (labels[ones == side][:1].tolist() for side in (False, True))
    if positive is not None and zero:
        others = labels[~ones]
        strange = others[others != zero[0]]
        if len(strange):
            raise ValueError(
                f"besides {positive!r} there are the labels {zero[0]!r} and "
                f"{strange.tolist()[0]!r}: Only binary classification is supported."
            )
    if positive is not None and not one:
        one = [positive]
    pair = [*(zero or [_opposite(*one)]), *(one or [_opposite(*zero)])]
    return np.array(pair, dtype=None if labels.dtype.kind in "US" else labels.dtype)


def _opposite(label: Any) -> Any:
    """The label that a sample of this one alone does not have."""
    if isinstance(label, bool):
        return not label
    if not isinstance(label, str):
        return {0: 1, -1: 1}.get(label, 0)
    other = next(
        (pair[1 - pair.index(normal(label))] for pair in OPPOSITES if normal(label) in pair), None
    )
    if other is None:
        return f"not {label}"
    return other.upper() if label.isupper() else other.title() if label.istitle() else other


def check_points(X: ArrayLike, d: int, dimensions: int = 2, bounds: Bounds | None = None) -> Ints:
    """Grid points as int64 of shape (n, dimensions).

    With bounds X holds coordinates as :func:`geometry.coordinates.coordinates` takes them, and each
    point becomes the nearest of the grid.

    Raises
    ------
    ValueError
        If the shape is wrong, or a coordinate is not a whole number in 0..d, or not within the
        bounds; the message names the first such row.  Or if by their names the columns of a data
        frame are in the other order.
    TypeError
        If X is a sparse matrix, or holds objects that are no numbers.
    """
    _refuse_odd(X)
    if bounds is None and type(X) is not np.ndarray and has_geometry(X):
        raise ValueError("points of geopandas need bounds=(west, south, east, north), public ones")
    points = _as_numbers(_array(X) if bounds is None else coordinates(X, bounds))
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


def check_labels(y: ArrayLike, n: int, positive: Any = None) -> Flags:
    """Labels of n examples, bool of shape (n,).

    They are 1 and 0, True and False, 1 and -1, or words such as yes and no; or with `positive`
    that label and another one.

    Raises
    ------
    ValueError
        If y has another shape, or holds anything else; the message names the first such row.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    labels = _array(y)
    _refuse_complex(labels, "y")
    if labels.shape != (n,):
        # without a number of examples: that is private
        odd = f"it has {labels.ndim} dimensions"
        if labels.ndim == 1:
            odd = "there are too many" if len(labels) > n else "there are too few"
        raise ValueError(f"y must have shape (n,), one label for each example; {odd}")
    given, labels = labels, as_numbers(labels, positive)
    wrong = np.asarray(~((labels == 0) | (labels == 1)))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        fraction = given.dtype.kind == "f" and given[row] != np.floor(given[row])
        why = "a continuous target" if fraction else "Only binary classification is supported."
        hint = "" if positive is not None or fraction else " positive= names the label that is 1."
        raise ValueError(f"row {row}: label {given[row]!r} is neither 0 nor 1: {why}{hint}")
    return labels.astype(np.bool_)


def check_examples(
    X: ArrayLike,
    y: ArrayLike,
    d: int,
    dimensions: int = 2,
    bounds: Bounds | None = None,
    positive: Any = None,
) -> tuple[Ints, Flags]:
    """Labelled grid points: int64 (n, dimensions) and bool (n,).

    Raises
    ------
    ValueError
        As :func:`check_points` and :func:`check_labels`.
    TypeError
        As :func:`check_points`.
    """
    _refuse_odd(X)
    # the labels first: what is wrong with them is told even of points that cannot be used
    plain: Any = X if type(X) is np.ndarray or has_geometry(X) else unmasked(X)
    labels = check_labels(y, len(plain) if plain.ndim else 0, positive)
    return check_points(plain if bounds is None else X, d, dimensions, bounds), labels


def _array(values: ArrayLike) -> NDArray[Any]:
    """The same as an array: what NumPy itself made is one, and nothing of it is masked."""
    return values if type(values) is np.ndarray else unmasked(values)


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


def _refuse_rows(wrong: Flags, points: NDArray[Any], what: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong.any(axis=1))[0])
        raise ValueError(f"row {row}: ({', '.join(map(str, points[row]))}) {what}")


def _refuse_odd(X: ArrayLike) -> None:
    """Refuse scipy's sparse matrices and arrays, which numpy takes for single objects (TypeError),
    and data frames whose columns are named in the other order (ValueError)."""
    if hasattr(X, "tocsr") and hasattr(X, "toarray"):
        raise TypeError("Sparse data was passed for X, but dense data is required: use toarray()")
    if type(X) is not np.ndarray:
        refuse_swapped(X)


def column_names(X: object) -> NDArray[np.object_] | None:
    """Column names of a data frame, shape (columns,).

    None for an array, for points of geopandas, or if one is no string.
    """
    columns = getattr(X, "columns", None)
    if columns is None or has_geometry(X):
        return None
    names = list(columns)
    if not all(isinstance(name, str) for name in names):
        return None
    return np.array(names, dtype=object)


def check_column_names(X: object, fitted: NDArray[np.object_] | None) -> None:
    """Refuse a data frame whose columns are not those of the examples, in the same order.

    Parameters
    ----------
    X : array or data frame
    fitted : ndarray of object or None
        The examples' column names; None if they had none.

    Raises
    ------
    ValueError
        If both have names, and they differ.
    """
    names = column_names(X)
    if names is None or fitted is None or list(names) == list(fitted):
        return
    raise ValueError(
        "The feature names should match those that were passed during fit: "
        f"{list(fitted)}, got {list(names)}"
    )
