"""Defines examples over Boolean variables, literals, and formulas: conjunctions and disjunctions.

An example is a vector x of {0,1}^d.  A literal is a variable x_j or its negation; a conjunction
is 1 where all its literals are, a disjunction where one of them is.  The empty conjunction is 1
everywhere, the empty disjunction 0.

A literal *decides* the examples whose label it fixes alone: those where it is false in a
conjunction, those where it is true in a disjunction.  The learners count decided examples only, so
that both roles are one algorithm: candidate c of 0..2d decides

    x_c = 1          for c < d,
    x_(c-d) = 0      for d <= c < 2d,
    nothing          for c = 2d, the constant, which leaves the formula as it is.

Two questions are asked of examples: where a variable is 1, and how often each variable is 1 among
given rows.  Dense examples are an array; sparse ones any of scipy's matrices or arrays, which
convert themselves (``tocsr``, ``tocsc``), so scipy is not imported here.

What is released, and what the learners share, is as in :mod:`learners.core.records` and
:mod:`learners.core.estimator`, with formulas in place of polygons: literals released, diagnostics
apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.arrays import Flags, Ints
from geometry.coordinates import unmasked
from learners.core.examples import check_column_names, column_names
from learners.core.records import Diagnostics
from learners.core.selection import Role
from learners.core.sklearn_support import (
    WithParameters,
    classifier_tags,
    predict_as_came,
    share_right,
)
from learners.privacy.accounting import PrivacySpent

#: Rows whose sum of ones fits into a byte.
_BYTE_ROWS = 255


class Columns(Protocol):
    """Examples of {0,1}^d: n rows, d columns."""

    n: int
    d: int

    def column(self, variable: int) -> Flags:
        """Where the variable is 1, shape (n,)."""

    def ones(self, rows: NDArray[np.intp]) -> Ints:
        """How many of these rows have a 1 in each column, shape (d,)."""


class DenseColumns:
    """Examples as an array of bytes, 0 or 1."""

    def __init__(self, values: NDArray[np.uint8]) -> None:
        self.n, self.d = values.shape
        self._values = values

    def column(self, variable: int) -> Flags:
        """Where the variable is 1, shape (n,)."""
        return np.asarray(self._values[:, variable] == 1)

    def ones(self, rows: NDArray[np.intp]) -> Ints:
        """How many of these rows have a 1 in each column, shape (d,); O(len(rows) d)."""
        counts = np.zeros(self.d, dtype=np.int64)
        for start in range(0, len(rows), _BYTE_ROWS):
            some = self._values[rows[start : start + _BYTE_ROWS]]
            counts += np.add.reduce(some, axis=0, dtype=np.uint8)
        return counts


class SparseColumns:
    """Examples as a scipy sparse matrix, shape (n, d), as :func:`read_columns` cleans it."""

    def __init__(self, matrix: Any) -> None:
        self.n, self.d = map(int, matrix.shape)
        self._matrix = matrix
        # each form is made when it is first needed: predictions need columns alone
        self._by_row: Any = None
        self._by_column: Any = None

    def column(self, variable: int) -> Flags:
        """Where the variable is 1, shape (n,)."""
        if self._by_column is None:
            self._by_column = self._matrix.tocsc()
        start, end = self._by_column.indptr[variable : variable + 2]
        mask = np.zeros(self.n, dtype=np.bool_)
        mask[self._by_column.indices[start:end]] = True
        return mask

    def ones(self, rows: NDArray[np.intp]) -> Ints:
        """How many of these rows have a 1 in each column, shape (d,); O(d + their ones)."""
        if self._by_row is None:
            self._by_row = self._matrix.tocsr()
        return np.bincount(self._by_row[rows].indices, minlength=self.d)


def read_columns(X: ArrayLike | Any) -> Columns:
    """Examples, checked: an array, data frame or scipy sparse matrix of shape (n, d), d >= 1, of
    zeros and ones of any numeric or Boolean type.

    Raises ValueError if the shape is wrong, or a value is neither 0 nor 1; the message names the
    first row.
    """
    sparse = hasattr(X, "tocsr") and hasattr(X, "tocsc")  # scipy's matrices and arrays
    return SparseColumns(_clean(X)) if sparse else DenseColumns(zeros_and_ones(X))


def zeros_and_ones(X: ArrayLike) -> NDArray[np.uint8]:
    """Dense examples as bytes 0 and 1, shape (n, d); errors as :func:`read_columns`."""
    values = unmasked(X)
    _check_shape(values.shape)
    if values.dtype.kind == "O":
        values = values.astype(np.float64)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers 0 and 1, got dtype {values.dtype}")
    if values.dtype.kind == "b":
        return values.view(np.uint8)
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row, column = (int(at[0]) for at in np.nonzero(wrong))
        _refuse(row, column, values[row, column])
    return values.astype(np.uint8, copy=False)


def _clean(X: Any) -> Any:
    """A sparse matrix in a form that holds every one once and no zero."""
    _check_shape(X.shape)
    compressed = X if getattr(X, "format", "") in ("csr", "csc") else X.tocsr()
    if not compressed.has_canonical_format:
        compressed = compressed.copy()
        compressed.sum_duplicates()
    data = compressed.data
    if not (data == 1).all():
        entries = compressed.tocoo()
        wrong = np.flatnonzero((entries.data != 0) & (entries.data != 1))
        if len(wrong):
            first = wrong[np.argmin(entries.row[wrong])]
            _refuse(int(entries.row[first]), int(entries.col[first]), entries.data[first])
        compressed = compressed.copy()
        compressed.eliminate_zeros()
    return compressed


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"X must have shape (n, d), not {len(shape)} dimension(s): reshape your data"
        )
    if shape[1] < 1:
        raise ValueError("X has no columns: there must be at least one variable")


def _refuse(row: int, column: int, value: Any) -> None:
    raise ValueError(f"row {row}, column {column}: {value!r} is neither 0 nor 1")


@dataclass(frozen=True, slots=True, order=True)
class Literal:
    """A variable, by its column of the examples, or its negation."""

    variable: int
    negated: bool = False

    def __str__(self) -> str:
        return f"{'¬' if self.negated else ''}x{self.variable}"

    def holds(self, columns: Columns) -> Flags:
        """Where it is true, shape (n,)."""
        value = columns.column(self.variable)
        return ~value if self.negated else value


def candidate_literal(role: Role, candidate: int, d: int) -> Literal | None:
    """The literal that decides what the candidate of 0..2d decides; None for the constant."""
    if candidate == 2 * d:
        return None
    decides_ones = candidate < d
    return Literal(candidate % d, negated=decides_ones == (role == "conjunction"))


def decided_by(role: Role, literal: Literal | None, columns: Columns) -> Flags:
    """Examples that the literal decides, bool of shape (n,)."""
    if literal is None:
        return np.zeros(columns.n, dtype=np.bool_)
    holds = literal.holds(columns)
    return ~holds if role == "conjunction" else holds


def evaluate(role: Role, literals: Iterable[Literal | None], columns: Columns) -> Flags:
    """Value of the formula at every example, shape (n,); None stands for no literal."""
    decided = np.zeros(columns.n, dtype=np.bool_)
    for literal in set(literals):
        decided |= decided_by(role, literal, columns)
    return ~decided if role == "conjunction" else decided


def formula_text(role: Role, literals: Iterable[Literal | None]) -> str:
    """The formula in signs, each literal once, such as ``x3 ∧ ¬x7``."""
    kept = sorted({literal for literal in literals if literal is not None})
    if not kept:
        return "true" if role == "conjunction" else "false"
    return (" ∧ " if role == "conjunction" else " ∨ ").join(map(str, kept))


@dataclass(frozen=True, slots=True)
class LiteralRelease:
    """What one step publishes: what it adds to the formula, None if the constant was selected,
    which adds nothing; and b_j, the noisy lower estimate of the examples left to gain, None when no
    noise was drawn."""

    literal: Literal | None
    threshold: int | None


@dataclass(frozen=True, slots=True)
class LiteralStep:
    """One step of a run: its number (from 1), of how many, its release and its diagnostics."""

    step: int
    steps: int
    release: LiteralRelease
    diagnostics: Diagnostics


@dataclass(frozen=True, slots=True)
class FormulaRelease:
    """A learned formula with its privacy statement: all that may be published.

    Attributes
    ----------
    role : {"disjunction", "conjunction"}
    d : int
        Number of variables.
    literals : tuple of (Literal or None)
        One a step, None where the constant was selected; a literal may occur twice.
    thresholds : tuple of int
        The noisy counts, one a step; empty when none were drawn.
    parameters : tuple of (str, value)
        Public parameters of the run, in order.
    privacy : PrivacySpent or None
        None for a learner that is not private.
    """

    #: In files (:mod:`learners.core.codec`).
    kind: ClassVar[str] = "formula"

    learner: str
    role: Role
    d: int
    literals: tuple[Literal | None, ...]
    thresholds: tuple[int, ...]
    parameters: tuple[tuple[str, Any], ...]
    privacy: PrivacySpent | None

    def __str__(self) -> str:
        return formula_text(self.role, self.literals)

    def predict(self, X: ArrayLike | Any) -> Ints:
        """Labels 0/1, shape (n,), of examples, shape (n, d), dense or sparse.

        Raises ValueError if X has other values than 0 and 1, or another number of columns.
        """
        return evaluate(self.role, self.literals, self._columns(X)).astype(np.int64)

    def staged_predict(self, X: ArrayLike | Any) -> Iterator[Ints]:
        """Labels after the first step, the second, and so on."""
        columns = self._columns(X)
        decided = np.zeros(columns.n, dtype=np.bool_)
        for literal in self.literals:
            decided |= decided_by(self.role, literal, columns)
            yield (~decided if self.role == "conjunction" else decided).astype(np.int64)

    def _columns(self, X: ArrayLike | Any) -> Columns:
        columns = read_columns(X)
        if columns.d != self.d:
            raise ValueError(f"X has {columns.d} columns, but the formula is over {self.d}")
        return columns


class BooleanLearner(WithParameters, ABC):
    """fit, predict, score and parameters of a learner of Boolean formulas.

    Attributes
    ----------
    release_ : FormulaRelease
        The formula of a complete run.
    feature_names_in_ : ndarray of object, shape (d,)
        Column names of the examples; only where they came as a data frame.
    """

    role: ClassVar[Role]

    positive: Any = None
    predict, score = predict_as_came, share_right

    @abstractmethod
    def steps(self, X: ArrayLike | Any, y: ArrayLike) -> Iterator[LiteralStep]:
        """Run the learner, one record a step; `release_` is set when the last one is taken.

        Parameters and errors as in :meth:`fit`.  Checks happen at the call, before the first record
        is asked for; a learner without steps is done then.
        """

    def fit(self, X: ArrayLike | Any, y: ArrayLike) -> Self:
        """Learn a formula.

        Raises ValueError if an example or a parameter is out of range.

        Parameters
        ----------
        X : array, data frame or scipy sparse matrix, shape (n, d)
            Zeros and ones.  The number of columns is public.
        y : array, shape (n,)
            Labels as :meth:`learners.core.estimator.Estimator.fit` takes them.
        """
        for _ in self.steps(X, y):
            pass
        return self

    def staged_predict(self, X: ArrayLike | Any) -> Iterator[NDArray[Any]]:
        """Labels after the first step, the second, and so on."""
        return map(self._as_came, self._fitted().staged_predict(X))

    @property
    def n_features_in_(self) -> int:
        """Number of variables, d."""
        return int(self._fitted().d)

    def _zeros_and_ones(self, X: ArrayLike | Any) -> Ints:
        release: FormulaRelease = self._fitted()
        check_column_names(X, getattr(self, "feature_names_in_", None))
        return release.predict(X)

    def _examples(self, X: ArrayLike | Any, y: ArrayLike) -> tuple[Columns, Flags]:
        """Check the examples of a run."""
        columns = read_columns(X)
        labels = self._check_labels(y, columns.n)
        names = column_names(X)
        if names is not None:
            self.feature_names_in_ = names
        return columns, labels

    def _keep(
        self,
        learner: BooleanLearner,
        released: Sequence[LiteralRelease],
        d: int,
        parameters: tuple[tuple[str, Any], ...],
        privacy: PrivacySpent | None,
    ) -> None:
        """Set the release of a learner's complete run, and what it learned of its examples."""
        self._take(vars(learner))
        self.release_: FormulaRelease = FormulaRelease(
            learner=type(self).__name__,
            role=self.role,
            d=d,
            literals=tuple(step.literal for step in released),
            thresholds=tuple(s.threshold for s in released if s.threshold is not None),
            parameters=parameters,
            privacy=None if privacy is None else privacy.of_run(),
        )

    def _publish(
        self,
        learner: BooleanLearner,
        stream: Iterator[LiteralStep],
        d: int,
        parameters: tuple[tuple[str, Any], ...],
        privacy: PrivacySpent | None,
    ) -> Iterator[LiteralStep]:
        """Pass the records on, and keep the release once the run is complete."""
        released = []
        for record in stream:
            released.append(record.release)
            if record.step == record.steps:
                self._keep(learner, released, d, parameters, privacy)
            yield record

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of a learner's kind and input."""
        tags = classifier_tags(random=getattr(self, "seed", 0) is None)
        tags.input_tags.sparse = True
        return tags
