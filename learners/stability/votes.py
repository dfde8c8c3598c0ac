"""Plurality of votes, and how many votes may change before it does.

The winner is the class with most votes, the first of equals.  Its distance to instability (BTT
section 3.2) is the number of votes that may change with the winner staying the same for sure,
whatever one further vote does:

    distance = min over rivals b of  ceil((votes(winner) - votes(b) + [winner < b]) / 2)  -  1.

Proof.  One changed vote moves the difference of two classes by at most 2.  So b wins only after r
changes with 2 r > gap, or 2 r >= gap where b precedes the winner: at least ceil((gap + [winner <
b]) / 2) of them; moving so many votes from the winner to b is enough (the winner has at least
these).  The least such r is the number of changes to another winner; all data at r - 2 or fewer
changes have neighbours with the same winner only.

* One changed vote moves the distance by at most 1: the number of changes to another winner does.
* If the distance is at least 1, every single change leaves the winner.

Departs from the source: BTT take votes(first) - votes(second) with sensitivity 1, but a vote that
moves from the first to the second changes that by 2.  The simple repair max(0, ceil(gap/2) - 1)
is never more than the distance here, and at most one less.

Part of lemma S1 (docs/privacy.md).  O(classes) a query.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def winners(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The class with most votes, the first of equals, int64 of shape (m,).

    Parameters
    ----------
    counts : ndarray of int64, shape (m, classes)
        Votes for each class; at least two classes.
    """
    return np.asarray(np.argmax(counts, axis=1), dtype=np.int64)


def distances(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Distance of each winner to instability, in votes, int64 of shape (m,), at least 0.

    Parameters
    ----------
    counts : ndarray of int64, shape (m, classes)

    Raises
    ------
    ValueError
        If there are fewer than two classes.
    """
    m, classes = counts.shape
    if classes < 2:
        raise ValueError(f"votes need at least two classes, got {classes}")
    rows = np.arange(m)
    first = winners(counts)
    gaps = counts[rows, first][:, None] - counts
    # the winner keeps what is equal from the classes after it
    gaps += first[:, None] < np.arange(classes)
    changes = (gaps + 1) // 2
    changes[rows, first] = np.iinfo(np.int64).max
    return np.asarray(changes.min(axis=1) - 1)


def simple_distances(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """max(0, ceil((first - second) / 2) - 1): a bound on the distance by two counts alone."""
    top = np.sort(counts, axis=1)[:, -2:]
    return np.asarray(np.maximum(0, (top[:, 1] - top[:, 0] + 1) // 2 - 1))
