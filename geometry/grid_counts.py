"""Counts the examples of each label on each grid point: all that learners of regions ask.

A grid of side d has (d + 1)**2 points, so the size of the counts is bounded whatever the number
of examples is, and a database can make them without giving away a single row.  Rows are the small
case: examples on one grid point with one label are one *entry*.

Entries stand in one order, by x, then y, then label, and none is empty; so two samples with the
same counts are the same object for every learner, draw for draw.  A sample in space has a third
coordinate z after y, and nothing else changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.arrays import Flags, Ints
from geometry.coordinates import unmasked

#: Most examples in all: their number times 16, the parts of a mix of two scores
#: (:mod:`learners.envelope.factorised_boxes`), stays exact in doubles, sums and differences
#: included.
MOST_EXAMPLES = 1 << 48

#: Names of the coordinates.
_AXES = "xyz"


@dataclass(frozen=True, slots=True, eq=False)
class GridCounts:
    """Labelled examples on the grid {0..d}^D, counted; D is 2 or, in space, 3.

    Made by :meth:`of`, :meth:`of_examples`, :meth:`of_array` or :meth:`of_entries`, which check;
    the arrays are read-only.

    Attributes
    ----------
    d : int
        Grid size.
    points : ndarray of int64, shape (m, D)
        Coordinates of each entry, in 0..d; by x, then y, then label, each point and label once.
    labels : ndarray of bool, shape (m,)
    amounts : ndarray of int64, shape (m,)
        Examples of each entry, at least 1.
    """

    d: int
    points: Ints
    labels: Flags
    amounts: Ints

    def __post_init__(self) -> None:
        for array in (self.points, self.labels, self.amounts):
            array.setflags(write=False)

    def __len__(self) -> int:
        """Entries, m."""
        return len(self.amounts)

    @property
    def n(self) -> int:
        """The number of examples, n."""
        return int(self.amounts.sum())

    @property
    def positives(self) -> int:
        """Examples with label 1."""
        return int(self.amounts[self.labels].sum())

    @property
    def negatives(self) -> int:
        """Examples with label 0."""
        return self.n - self.positives

    @property
    def count_type(self) -> type[np.signedinteger[Any]]:
        """What tables of sums are made of: 32 bits as long as these hold all examples."""
        return np.int32 if self.n <= np.iinfo(np.int32).max else np.int64

    @property
    def begins(self) -> Flags:
        """Which entries are the first of their point, shape (m,)."""
        changes = (self.points[1:] != self.points[:-1]).any(axis=1)
        return np.append(True, changes)[: len(self)]

    def where(self, kept: Flags | Ints) -> GridCounts:
        """The entries that `kept` marks, bool of shape (m,), or numbers, rising."""
        # numbers of rows are much faster than a mask of them
        rows = np.flatnonzero(kept) if kept.dtype == np.bool_ else kept
        return GridCounts(
            self.d, self.points.take(rows, axis=0), self.labels.take(rows), self.amounts.take(rows)
        )

    def by_group(self, group: Ints, count: int) -> Ints:
        """Examples of each label in each group of entries, int64 of shape (2, count).

        Parameters
        ----------
        group : ndarray of int64, shape (m,)
            The group of every entry, in 0..count-1.
        count : int
        """
        # sums of amounts are exact in doubles
        sums = np.bincount(group + count * self.labels, self.amounts, 2 * count)
        return sums.astype(np.int64).reshape(2, count)

    @classmethod
    def of(cls, counts: GridCounts | ArrayLike, d: int, dimensions: int = 2) -> GridCounts:
        """Counts in whichever form they come, on a grid of size d.

        Parameters
        ----------
        counts : GridCounts, array of int, shape (2, d + 1, d + 1), or entries, shape (m, 4)
            As :meth:`of_array` and :meth:`of_entries` take them.
        d : int
        dimensions : int

        Raises
        ------
        ValueError
            If they are counts on another grid, or as these two.
        """
        if isinstance(counts, GridCounts):
            given = counts
        else:
            array = unmasked(counts)
            if array.ndim < 3:
                return cls.of_entries(array, d, dimensions)
            given = cls.of_array(array, dimensions)
        if given.points.shape[1] != dimensions:
            raise ValueError(
                f"counts are of points with {given.points.shape[1]} coordinates, not {dimensions}"
            )
        if given.d != d:
            raise ValueError(f"counts are on the grid 0..{given.d}, not on 0..{d}")
        return given

    @classmethod
    def of_examples(cls, points: Ints, labels: Flags, d: int) -> GridCounts:
        """Counts of examples given one by one.

        Parameters
        ----------
        points : ndarray of int64, shape (n, D)
            Grid coordinates in 0..d; not checked.
        labels : ndarray of bool, shape (n,)
        d : int

        Raises
        ------
        ValueError
            If there are not as many labels as points.
        """
        if len(points) != len(labels):
            raise ValueError("there must be as many labels as points")
        keys = _keys(points, labels, d)
        if 2 * (int(d) + 1) ** points.shape[1] <= len(keys):
            # every place takes less time and memory than a sort
            places = np.bincount(keys)
            found = np.flatnonzero(places)
            amounts = places[found]
        else:
            found, amounts = np.unique(keys, return_counts=True)
        return cls._of_keys(d, points.shape[1], found, amounts.astype(np.int64))

    @classmethod
    def of_array(cls, counts: ArrayLike, dimensions: int = 2) -> GridCounts:
        """Counts of every grid point.

        Parameters
        ----------
        counts : array of int, shape (2, d + 1, d + 1)
            counts[label, x, y]; in space counts[label, x, y, z].
        dimensions : int

        Raises
        ------
        ValueError
            If the shape is another, or a count is negative, no whole number or too large.
        """
        array = unmasked(counts)
        if array.ndim != dimensions + 1 or len(array) != 2 or len(set(array.shape[1:])) != 1:
            raise ValueError(f"counts must have shape {_shape(dimensions)}, not {array.shape}")
        if array.shape[1] < 2:
            raise ValueError(f"counts must have shape {_shape(dimensions)} with d at least 1")
        whole = np.moveaxis(_whole("count", array), 0, -1).reshape(-1)
        keys = np.flatnonzero(whole)
        return cls._of_keys(array.shape[1] - 1, dimensions, keys, _checked(whole[keys]))

    @classmethod
    def of_entries(cls, entries: ArrayLike, d: int, dimensions: int = 2) -> GridCounts:
        """Counts of the grid points that hold examples, as a database gives them.

        Parameters
        ----------
        entries : array of int, shape (m, 4)
            Rows (x, y, label, count) in any order; rows with the same x, y and label are added.
            In space (x, y, z, label, count).
        d : int
            Grid size.
        dimensions : int

        Raises
        ------
        ValueError
            If the shape is another, a coordinate lies off 0..d, a label is neither 0 nor 1, or a
            count is negative, no whole number or too large.
        """
        names = (*_AXES[:dimensions], "label")
        rows = np.asarray(entries)
        if rows.size == 0:
            rows = np.zeros((0, dimensions + 2), dtype=np.int64)
        if rows.ndim != 2 or rows.shape[1] != dimensions + 2:
            # without the number of entries, which is private
            columns = f"{rows.shape[1]} columns" if rows.ndim == 2 else f"{rows.ndim} dimensions"
            raise ValueError(
                f"entries must have shape (m, {dimensions + 2}), {', '.join(names)}, count, "
                f"not {columns}"
            )
        rows = _whole("entry", rows)
        for column, name in enumerate(names):
            most = 1 if name == "label" else d
            wrong = (rows[:, column] < 0) | (rows[:, column] > most)
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                raise ValueError(f"entry {row}: {name} = {rows[row, column]} is not in 0..{most}")
        amounts = _checked(rows[:, -1])
        keys = _keys(rows[:, :dimensions], rows[:, dimensions], d)
        order = np.argsort(keys, kind="stable")
        found, first = np.unique(keys[order], return_index=True)
        total = np.add.reduceat(amounts[order], first) if len(found) else amounts
        held = total > 0
        return cls._of_keys(d, dimensions, found[held], total[held])

    @classmethod
    def _of_keys(cls, d: int, dimensions: int, keys: Ints, amounts: Ints) -> GridCounts:
        """From the keys of :func:`_keys`, ascending."""
        points = np.empty((len(keys), dimensions), dtype=np.int64)
        places, side = keys >> 1, int(d) + 1
        for axis in reversed(range(1, dimensions)):
            # a quotient of places below 2^42 is no nearer to the next integer than 2^-42 of itself:
            # division in doubles, much faster, is rounded to no other integer
            further = (places / side).astype(np.int64)
            points[:, axis] = places - further * side
            places = further
        points[:, 0] = places
        return cls(d, points, (keys & 1).astype(np.bool_), amounts)


def _shape(dimensions: int) -> str:
    return f"(2{', d + 1' * dimensions})"


def _keys(points: Ints, labels: Flags | Ints, d: int) -> Ints:
    """One number an entry, x first and the label last: (x * (d + 1) + y) * 2 + label."""
    places = points[:, 0].astype(np.int64)
    for coordinate in points.T[1:]:
        places *= int(d) + 1
        places += coordinate
    places *= 2
    places += labels
    return places


def _whole(what: str, values: NDArray[np.generic]) -> Ints:
    """The same as int64; ValueError if one is no whole number."""
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


def _checked(amounts: Ints) -> Ints:
    """The amounts; ValueError if one is negative or their sum is out of bounds."""
    if amounts.size and amounts.min() < 0:
        raise ValueError(f"a count is negative: {amounts.min()}")
    if amounts.sum(dtype=np.float64) > MOST_EXAMPLES:
        raise ValueError(f"counts add up to more than {MOST_EXAMPLES} examples")
    return amounts


def settle_conflicts(counts: GridCounts) -> GridCounts:
    """Drop pairs of examples on the same grid point with different labels.

    Every piece holds both or neither, so a score that is a sum has the same law without them.  With
    them, the bound of a box would count both as right as long as a boundary may pass through the
    point, and hardly any box is narrow enough to rule that out.
    """
    first = np.flatnonzero(counts.begins)
    surplus = np.where(counts.labels, counts.amounts, -counts.amounts)
    net = np.add.reduceat(surplus, first) if len(first) else surplus
    left = net != 0
    return GridCounts(counts.d, counts.points[first[left]], net[left] > 0, np.abs(net[left]))


def order_by_column(counts: GridCounts) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Ordinates of the entries by label, each int32 of shape (d + 2 + entries,).

    Number x says at which place the ordinates of column x begin, rising, and number d + 1 where
    the last column ends.
    """
    width = counts.d + 1
    found = []
    for label in (False, True):
        x, y = np.compress(counts.labels == label, counts.points, axis=0).T
        places = np.empty(width + 1 + len(y), dtype=np.int32)
        places[0] = width + 1
        places[1 : width + 1] = width + 1 + np.bincount(x, minlength=width).cumsum()
        places[width + 1 :] = y
        found.append(places)
    return found[0], found[1]
