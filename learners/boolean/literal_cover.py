"""The books of a set cover by literals: who is alive, and what each literal would decide.

For every candidate literal the number of alive examples that it would decide is kept, for those
to gain and those to lose.  Examples that a step decides are taken off row by row, so a whole run
costs O(ones of the examples + steps * d), dense or sparse.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from learners.boolean.formulas import LiteralDiagnostics
from learners.boolean.literal_columns import Columns
from learners.boolean.literals import Literal, candidate_literal, decided_by
from learners.scores import Role


class LiteralCover:
    """Alive examples and counts of a run.

    A conjunction gains negatives and loses positives, a disjunction the other way round.

    Parameters
    ----------
    columns : Columns
    labels : ndarray of bool, shape (n,)
    role : {"disjunction", "conjunction"}

    Attributes
    ----------
    alive : ndarray of bool, shape (n,)
        Examples that no literal has decided.
    gain, loss : int
        How many of them there are to gain, and to lose.
    """

    def __init__(self, columns: Columns, labels: NDArray[np.bool_], role: Role) -> None:
        self._columns = columns
        self._labels = labels
        self._role = role
        self._gains = labels if role == "disjunction" else ~labels
        self.alive = np.ones(columns.n, dtype=np.bool_)
        self.gain, self.loss = _count(self._gains), _count(~self._gains)
        self._gain_ones = columns.ones(np.flatnonzero(self._gains))
        self._loss_ones = columns.ones(np.flatnonzero(~self._gains))

    def gained(self) -> NDArray[np.int64]:
        """Alive examples to gain that each candidate decides, shape (2 d + 1,)."""
        return _by_candidate(self._gain_ones, self.gain)

    def lost(self) -> NDArray[np.int64]:
        """Alive examples to lose that each candidate decides, shape (2 d + 1,)."""
        return _by_candidate(self._loss_ones, self.loss)

    def take(
        self, candidate: int, started: float, score: float | None = None
    ) -> tuple[Literal | None, LiteralDiagnostics]:
        """Remove what the candidate decides, and say what it did."""
        literal = candidate_literal(self._role, candidate, self._columns.d)
        removed = self.alive & decided_by(self._role, literal, self._columns)
        gained, lost = removed & self._gains, removed & ~self._gains
        gain, loss = self.gain, self.loss
        self._gain_ones -= self._columns.ones(np.flatnonzero(gained))
        self._loss_ones -= self._columns.ones(np.flatnonzero(lost))
        self.alive &= ~removed
        self.gain, self.loss = gain - _count(gained), loss - _count(lost)
        before, taken = (gain, loss), (gain - self.gain, loss - self.loss)
        if self._role == "conjunction":
            before, taken = before[::-1], taken[::-1]
        wrong_alive, wrong_decided = self.gain, len(self.alive) - _count(self._gains) - self.loss
        positive, negative = wrong_alive, wrong_decided
        if self._role == "disjunction":
            positive, negative = wrong_decided, wrong_alive
        n = max(1, len(self._labels))
        return literal, LiteralDiagnostics(
            positives_alive=before[0],
            negatives_alive=before[1],
            positives_taken=taken[0],
            negatives_taken=taken[1],
            score=score,
            empirical_error=(positive + negative) / n,
            false_positive_rate=positive / n,
            false_negative_rate=negative / n,
            seconds=time.perf_counter() - started,
        )


def _by_candidate(ones: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Decided examples by candidate: the ones, the zeros, and none for the constant."""
    return np.concatenate([ones, total - ones, np.zeros(1, dtype=np.int64)])


def _count(mask: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(mask))
