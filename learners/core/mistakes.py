"""How wrong a run is after each of its steps, for the curator: the one place that keeps it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts
from learners.core.records import StepDiagnostics


class Mistakes:
    """The labels that a run has given so far; a step gives some entries another one.

    Parameters
    ----------
    counts : GridCounts
        All examples, m entries.
    labels : bool or ndarray of bool, shape (m,)
        What is predicted before the first step.
    """

    def __init__(self, counts: GridCounts, labels: bool | NDArray[np.bool_]) -> None:
        self._counts, self._n = counts, counts.n
        self.labels: NDArray[np.bool_] = np.full(len(counts), labels)
        wrong = np.where(self.labels != counts.labels, counts.amounts, 0)
        self._false_positives = int(wrong[self.labels].sum())
        self._false_negatives = int(wrong[~self.labels].sum())

    def relabel(self, rows: NDArray[np.int64], labels: bool | NDArray[np.bool_]) -> None:
        """Give entries, numbers of shape (k,), other labels."""
        new = np.full(len(rows), labels)
        changed = rows[new != self.labels[rows]]
        self.labels[rows] = new
        amounts = self._counts.amounts[changed]
        # each goes from one label to the other: from wrong to right, or from right to wrong
        signed = np.where(self.labels[changed], amounts, -amounts)
        positive = self._counts.labels[changed]
        self._false_negatives -= int(signed[positive].sum())
        self._false_positives += int(signed[~positive].sum())

    def diagnostics(
        self, alive: tuple[int, int], taken: tuple[int, int], **others: Any
    ) -> StepDiagnostics:
        """Of a step: (negatives, positives) that it has seen and taken, and the other fields."""
        wrong = self._false_positives, self._false_negatives
        return StepDiagnostics.tallied(alive, taken, wrong, self._n, **others)
