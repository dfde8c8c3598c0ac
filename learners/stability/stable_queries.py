"""Online queries by stability: exact answers for as long as few are unstable (algorithm 3).

The sparse vector technique on the queries' distances to instability.  A query that passes is
answered by its true value; one that does not is answered ⊥, and after T of these the run is halted.
(epsilon, delta)-DP for queries chosen in view of the answers: docs/privacy.md, lemma S5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from learners.randomness import RandomSource
from learners.stability.sparse_vector import SparseVector, SparseVectorBudget

QueryStatus = Literal["answered", "unstable", "halted"]


@dataclass(frozen=True, slots=True)
class QueryRelease:
    """What one query publishes.

    Attributes
    ----------
    query : int
        Its number, from 1.
    value : int or None
        The answer: the index of a class or of a bin; None for ⊥.
    status : {"answered", "unstable", "halted"}
        "unstable": the test was not passed, which counts as a halt.  "halted": no test was made.
    halts_left, queries_left : int
        Of the budget, after this query.
    """

    query: int
    value: int | None
    status: QueryStatus
    halts_left: int
    queries_left: int


class StableQueries:
    """A run of algorithm 3.

    Parameters
    ----------
    budget : SparseVectorBudget
    source : RandomSource
    """

    def __init__(self, budget: SparseVectorBudget, source: RandomSource) -> None:
        self._tests = SparseVector(budget, source)
        self._most = budget.queries
        self._asked = 0

    @property
    def halts_left(self) -> int:
        """Queries that may still go unanswered; public."""
        return self._tests.halts_left

    @property
    def queries_left(self) -> int:
        """Queries that may still be asked; public."""
        return self._most - self._asked

    def ask(self, value: int, distance: int) -> QueryRelease:
        """Answer one query, or not.

        Parameters
        ----------
        value : int
            f(D).
        distance : int
            To instability, see :meth:`learners.stability.distance_test.DistanceTest.answer`.

        Raises
        ------
        ValueError
            If the distance is negative, or all m queries have been asked.
        """
        if distance < 0:
            raise ValueError(f"a distance is at least 0, got {distance}")
        if self.queries_left == 0:
            raise ValueError(f"the budget is used up: all {self._most} queries have been asked")
        self._asked += 1
        if self._tests.halts_left == 0:
            return self._release(None, "halted")
        if self._tests.test(distance):
            return self._release(value, "answered")
        return self._release(None, "unstable")

    def _release(self, value: int | None, status: QueryStatus) -> QueryRelease:
        return QueryRelease(self._asked, value, status, self.halts_left, self.queries_left)
