"""Which step of a run decided each point, and so what is alive and what is wrong after any step.

One integer a point replays the whole run: no mask is kept per step.  A step costs O(points still
alive), a look back O(points); a million points take a few hundredths of a second.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from learners.records import Piece, inside_piece
from learners.scores import Role


class Decisions:
    """Labelled grid points under a growing list of pieces.

    A union decides what lies inside a piece (it is predicted 1), an intersection what lies
    outside (it is predicted 0); what no piece has decided is predicted the other way.

    Parameters
    ----------
    points : ndarray of int64, shape (n, 2)
        Grid points in 0..d.
    labels : ndarray of bool or of 0 and 1, shape (n,)
    role : {"disjunction", "conjunction"}
    """

    def __init__(self, points: NDArray[np.int64], labels: NDArray[np.generic], role: Role) -> None:
        self.points = np.asarray(points, dtype=np.int64)
        self.labels = np.asarray(labels).astype(np.bool_)
        self._role = role
        # the step that decided each point, from 1; 0 for none yet
        self._step = np.zeros(len(self.points), dtype=np.int32)
        positives = int(np.count_nonzero(self.labels))
        negatives = len(self.labels) - positives
        union = role == "disjunction"
        # predicted 1 though 0, and 0 though 1, after each number of steps
        self._wrong = [(0, positives) if union else (negatives, 0)]

    def __len__(self) -> int:
        """Number of steps."""
        return len(self._wrong) - 1

    def add(self, piece: Piece) -> None:
        """One more step."""
        alive = np.flatnonzero(self._step == 0)
        held = inside_piece(piece, self.points[alive])
        decided = alive[held if self._role == "disjunction" else ~held]
        self._step[decided] = len(self) + 1
        positives = int(np.count_nonzero(self.labels[decided]))
        negatives = len(decided) - positives
        false_positives, false_negatives = self._wrong[-1]
        if self._role == "disjunction":
            self._wrong.append((false_positives + negatives, false_negatives - positives))
        else:
            self._wrong.append((false_positives - negatives, false_negatives + positives))

    def alive(self, step: int) -> NDArray[np.bool_]:
        """Points that the first `step` steps leave undecided, bool of shape (n,)."""
        alive: NDArray[np.bool_] = (self._step == 0) | (self._step > step)
        return alive

    def predicted(self, step: int) -> NDArray[np.bool_]:
        """Labels predicted after `step` steps, bool of shape (n,)."""
        alive = self.alive(step)
        return ~alive if self._role == "disjunction" else alive

    def wrong(self, step: int) -> NDArray[np.bool_]:
        """Points whose label is not the one predicted after `step` steps, bool of shape (n,)."""
        wrong: NDArray[np.bool_] = self.predicted(step) != self.labels
        return wrong

    def error_rates(self, step: int) -> tuple[float, float]:
        """Points predicted 1 though 0, and 0 though 1, after `step` steps, over all points."""
        n = max(1, len(self.labels))
        false_positives, false_negatives = self._wrong[step]
        return false_positives / n, false_negatives / n
