"""A quick learner for chunks: the majority label of every cell of a grid.

Not private by itself.  Cells without examples take the majority of all.  O(n + cells^2) to train,
O(1) a prediction.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.estimator import check_examples, check_points


class MajorityCells:
    """Labels 0/1 by cells.

    Parameters
    ----------
    grid : int
        d: points have integer coordinates in 0..d.
    cells : int
        Along a side.
    """

    def __init__(self, *, grid: int = 1024, cells: int = 8) -> None:
        self.grid = grid
        self.cells = cells

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Count labels; errors as in :func:`learners.estimator.check_examples`."""
        points, labels = check_examples(X, y, self.grid)
        cell = self._cell(points)
        lead = np.bincount(cell, 2.0 * labels - 1.0, minlength=self.cells**2)
        whole = bool(2 * np.count_nonzero(labels) > len(labels))
        self.inside_: NDArray[np.bool_] = np.where(lead == 0, whole, lead > 0)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Labels 0/1, int64 of shape (n,), of grid points, shape (n, 2)."""
        return self.inside_[self._cell(check_points(X, self.grid))].astype(np.int64)

    def _cell(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        at: Any = points * self.cells // (self.grid + 1)
        return np.asarray(at[:, 1] * self.cells + at[:, 0])
