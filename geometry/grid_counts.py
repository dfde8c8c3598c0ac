"""How many examples of each label lie on each grid point: all that the learners ask of a sample.

A grid of side d has (d + 1)**2 points, so the size of the counts is bounded whatever the number
of examples is, and a database can make them without giving away a single row.  Rows are the small
case: examples on one grid point with one label are one *entry*.

Entries stand in one order, by x, then y, then label, and none is empty; so two samples with the
same counts are the same object for every learner, draw for draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Most examples in all: sums of counts and twice them stay exact in 64 bits and in doubles.
MOST_EXAMPLES = 1 << 51


@dataclass(frozen=True, slots=True, eq=False)
class GridCounts:
    """Labelled examples on the grid {0..d}^2, counted.

    Made by :meth:`of_examples`, :meth:`of_array` or :meth:`of_entries`, which check; the arrays
    are read-only.

    Attributes
    ----------
    d : int
        Grid size.
    points : ndarray of int64, shape (m, 2)
        (x, y) of each entry, in 0..d; by x, then y, then label, each point and label once.
    labels : ndarray of bool, shape (m,)
    amounts : ndarray of int64, shape (m,)
        Examples of each entry, at least 1.
    """

    d: int
    points: NDArray[np.int64]
    labels: NDArray[np.bool_]
    amounts: NDArray[np.int64]

    def __post_init__(self) -> None:
        for array in (self.points, self.labels, self.amounts):
            array.setflags(write=False)

    def __len__(self) -> int:
        """Entries, m."""
        return len(self.amounts)

    @property
    def n(self) -> int:
        """Examples in all."""
        return int(self.amounts.sum())

    @property
    def positives(self) -> int:
        """Examples with label 1."""
        return int(self.amounts[self.labels].sum())

    @property
    def negatives(self) -> int:
        """Examples with label 0."""
        return self.n - self.positives

    def where(self, kept: NDArray[np.bool_]) -> GridCounts:
        """The entries that `kept`, shape (m,), marks."""
        return GridCounts(self.d, self.points[kept], self.labels[kept], self.amounts[kept])

    @classmethod
    def of_examples(
        cls, points: NDArray[np.int64], labels: NDArray[np.bool_], d: int
    ) -> GridCounts:
        """Counts of examples given one by one.

        Parameters
        ----------
        points : ndarray of int64, shape (n, 2)
            Grid coordinates in 0..d; not checked.
        labels : ndarray of bool, shape (n,)
        d : int
        """
        side = d + 1
        keys = (points[:, 0] * side + points[:, 1]) * 2 + labels
        found, amounts = np.unique(keys, return_counts=True)
        return cls._of_keys(d, found, amounts.astype(np.int64))

    @classmethod
    def of_array(cls, counts: ArrayLike) -> GridCounts:
        """Counts of every grid point.

        Parameters
        ----------
        counts : array of int, shape (2, d + 1, d + 1)
            counts[label, x, y].

        Raises
        ------
        ValueError
            If the shape is another, or a count is negative, no whole number or too large.
        """
        array = np.asarray(counts)
        if array.ndim != 3 or array.shape[0] != 2 or array.shape[1] != array.shape[2]:
            raise ValueError(f"counts must have shape (2, d + 1, d + 1), not {array.shape}")
        if array.shape[1] < 2:
            raise ValueError("counts must have shape (2, d + 1, d + 1) with d at least 1")
        whole = _whole("count", array)
        keys = np.flatnonzero(np.moveaxis(whole, 0, 2))
        amounts = np.moveaxis(whole, 0, 2).reshape(-1)[keys]
        return cls._of_keys(array.shape[1] - 1, keys, _checked(amounts))

    @classmethod
    def of_entries(cls, entries: ArrayLike, d: int) -> GridCounts:
        """Counts of the grid points that hold examples, as a database gives them.

        Parameters
        ----------
        entries : array of int, shape (m, 4)
            Rows (x, y, label, count) in any order; rows with the same x, y and label are added.
        d : int
            Grid size.

        Raises
        ------
        ValueError
            If the shape is another, a coordinate lies off 0..d, a label is neither 0 nor 1, or a
            count is negative, no whole number or too large.
        """
        rows = np.asarray(entries)
        if rows.size == 0:
            rows = np.zeros((0, 4), dtype=np.int64)
        if rows.ndim != 2 or rows.shape[1] != 4:
            raise ValueError(f"entries must have shape (m, 4), x, y, label, count: {rows.shape}")
        rows = _whole("entry", rows)
        for column, name, most in ((0, "x", d), (1, "y", d), (2, "label", 1)):
            wrong = (rows[:, column] < 0) | (rows[:, column] > most)
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                raise ValueError(f"entry {row}: {name} = {rows[row, column]} is not in 0..{most}")
        amounts = _checked(rows[:, 3])
        keys = (rows[:, 0] * (d + 1) + rows[:, 1]) * 2 + rows[:, 2]
        order = np.argsort(keys, kind="stable")
        found, first = np.unique(keys[order], return_index=True)
        total = np.add.reduceat(amounts[order], first) if len(found) else amounts
        held = total > 0
        return cls._of_keys(d, found[held], total[held])

    @classmethod
    def _of_keys(cls, d: int, keys: NDArray[np.int64], amounts: NDArray[np.int64]) -> GridCounts:
        """From keys (x * (d + 1) + y) * 2 + label, ascending."""
        places, labels = keys >> 1, (keys & 1).astype(np.bool_)
        return cls(d, np.column_stack(np.divmod(places, d + 1)), labels, amounts)


def _whole(what: str, values: NDArray[np.generic]) -> NDArray[np.int64]:
    """The same as int64.

    Raises
    ------
    ValueError
        If one is no whole number.
    """
    if values.dtype.kind == "f":
        wrong = (
            ~np.isfinite(values) | (values != np.floor(values)) | (np.abs(values) > MOST_EXAMPLES)
        )
        if wrong.any():
            raise ValueError(f"{what} {values[wrong][0]} is not a whole number")
    elif values.dtype.kind not in "iub":
        raise ValueError(f"{what}s must be whole numbers, not {values.dtype}")
    elif values.dtype.kind == "u" and values.size and values.max() > MOST_EXAMPLES:
        raise ValueError(f"{what} {values.max()} is above {MOST_EXAMPLES}")
    return values.astype(np.int64)


def _checked(amounts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The amounts, none negative and their sum within bounds.

    Raises
    ------
    ValueError
        Otherwise.
    """
    if amounts.size and amounts.min() < 0:
        raise ValueError(f"a count is negative: {amounts.min()}")
    if amounts.sum(dtype=np.float64) > MOST_EXAMPLES:
        raise ValueError(f"counts add up to more than {MOST_EXAMPLES} examples")
    return amounts
