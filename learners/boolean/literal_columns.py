"""Examples over Boolean variables, dense or sparse, by columns and by rows.

Two questions are asked of them: where a variable is 1, and how often each variable is 1 among
given rows.  Dense examples are an array; sparse ones any of scipy's matrices or arrays, which
convert themselves (``tocsr``, ``tocsc``), so scipy is not imported here.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Rows whose sum of ones fits into a byte.
_BYTE_ROWS = 255
#: Rows that are gathered at once from sparse examples: their indices fit into the cache.
_SPARSE_ROWS = 1 << 13


class Columns(Protocol):
    """Examples of {0,1}^d: n rows, d columns."""

    n: int
    d: int

    def column(self, variable: int) -> NDArray[np.bool_]:
        """Where the variable is 1, shape (n,)."""

    def ones(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """How many of these rows have a 1 in each column, shape (d,)."""


class DenseColumns:
    """Examples as an array of bytes, 0 or 1."""

    def __init__(self, values: NDArray[np.uint8]) -> None:
        self.n, self.d = values.shape
        self._values = values

    def column(self, variable: int) -> NDArray[np.bool_]:
        """Where the variable is 1, shape (n,)."""
        return np.asarray(self._values[:, variable] == 1)

    def ones(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """How many of these rows have a 1 in each column, shape (d,); O(len(rows) d)."""
        counts = np.zeros(self.d, dtype=np.int64)
        for start in range(0, len(rows), _BYTE_ROWS):
            some = self._values[rows[start : start + _BYTE_ROWS]]
            counts += np.add.reduce(some, axis=0, dtype=np.uint8)
        return counts


class SparseColumns:
    """Examples as lists of the ones of each row and of each column.

    Parameters
    ----------
    matrix : scipy sparse matrix or array, shape (n, d)
        Zeros, ones and no doubles, see :func:`read_columns`.
    """

    def __init__(self, matrix: Any) -> None:
        self.n, self.d = map(int, matrix.shape)
        self._matrix = matrix
        # each form is made when it is first needed: predictions need columns alone
        self._by_row: Any = None
        self._by_column: Any = None

    def column(self, variable: int) -> NDArray[np.bool_]:
        """Where the variable is 1, shape (n,)."""
        if self._by_column is None:
            self._by_column = self._matrix.tocsc()
        start, end = self._by_column.indptr[variable : variable + 2]
        mask = np.zeros(self.n, dtype=np.bool_)
        mask[self._by_column.indices[start:end]] = True
        return mask

    def ones(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """How many of these rows have a 1 in each column, shape (d,); O(d + their ones)."""
        if self._by_row is None:
            self._by_row = self._matrix.tocsr()
        starts, indices = self._by_row.indptr, self._by_row.indices
        counts = np.zeros(self.d, dtype=np.int64)
        # with few ones a row, larger parts, so that adding d counts costs less than gathering
        size = max(_SPARSE_ROWS, self.d * self.n // max(1, len(indices)))
        for first in range(0, len(rows), size):
            some = rows[first : first + size]
            begin = starts[some].astype(np.int64)
            length = starts[some + 1] - begin
            shift = begin - (np.cumsum(length) - length)
            at = np.repeat(shift, length) + np.arange(int(length.sum()))
            counts += np.bincount(indices[at], minlength=self.d)
        return counts


def is_sparse(X: object) -> bool:
    """Whether X is one of scipy's sparse matrices or arrays."""
    return hasattr(X, "tocsr") and hasattr(X, "tocsc")


def read_columns(X: ArrayLike | Any) -> Columns:
    """Examples, checked.

    Parameters
    ----------
    X : array, data frame or scipy sparse matrix, shape (n, d)
        Zeros and ones, of any numeric or Boolean type; at least one column.

    Raises
    ------
    ValueError
        If the shape is wrong, or a value is neither 0 nor 1; the message names the first row.
    """
    if is_sparse(X):
        return SparseColumns(_clean(X))
    values = np.asarray(X)
    _check_shape(values.shape)
    if values.dtype.kind == "O":
        values = values.astype(np.float64)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers 0 and 1, got dtype {values.dtype}")
    if values.dtype.kind == "b":
        return DenseColumns(values.view(np.uint8))
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row, column = (int(at[0]) for at in np.nonzero(wrong))
        _refuse(row, column, values[row, column])
    return DenseColumns(values.astype(np.uint8, copy=False))


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
