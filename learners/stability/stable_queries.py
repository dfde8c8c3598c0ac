"""Online queries by stability: exact answers for as long as few are unstable (algorithm 3).

The sparse vector technique on the queries' distances to instability.  A query that passes is
answered by its true value; one that does not is answered ⊥, and after T of these the run is halted.
(epsilon, delta)-DP for queries chosen in view of the answers: docs/privacy.md, lemma S5.

Some halts and queries can be kept for later: who asks first is then halted early, by a count of
answers that are published, and all queries together are still one run with one budget.
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


def kept_queries(budget: SparseVectorBudget, kept: int) -> int:
    """How many queries are kept with so many halts: half of them, or none with none.

    Raises
    ------
    ValueError
        Unless at least one halt and one query are left to begin with.
    """
    if isinstance(kept, bool) or int(kept) != kept or not 0 <= kept < budget.halts:
        raise ValueError(
            f"halts kept for questions: use a whole number below halts = {budget.halts}, "
            f"got {kept!r}"
        )
    return budget.queries // 2 if kept else 0


class StableQueries:
    """A run of algorithm 3.

    Parameters
    ----------
    budget : SparseVectorBudget
    source : RandomSource
    kept : int
        Halts that are kept until :meth:`take_up`, and with them :func:`kept_queries`.
    """

    def __init__(self, budget: SparseVectorBudget, source: RandomSource, kept: int = 0) -> None:
        self._tests = SparseVector(budget, source)
        self._most = budget.queries
        self._asked = 0
        self._kept_halts, self._kept_queries = kept, kept_queries(budget, kept)

    def take_up(self) -> None:
        """From here on what was kept may be used, too."""
        self._kept_halts = self._kept_queries = 0

    @property
    def halts_left(self) -> int:
        """Queries that may still go unanswered; public."""
        return max(0, self._tests.halts_left - self._kept_halts)

    @property
    def queries_left(self) -> int:
        """Queries that may still be asked; public."""
        return max(0, self._most - self._kept_queries - self._asked)

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
        if self.halts_left == 0:
            return self._release(None, "halted")
        if self._tests.test(distance):
            return self._release(value, "answered")
        return self._release(None, "unstable")

    def _release(self, value: int | None, status: QueryStatus) -> QueryRelease:
        return QueryRelease(self._asked, value, status, self.halts_left, self.queries_left)
