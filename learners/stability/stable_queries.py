"""Answers queries exactly where one record could not change the answer (algorithms 2 and 3).

One query (:class:`DistanceTest`).  f(D) is released if its distance to instability plus
DiscreteLaplace(1/epsilon) exceeds w, the least whole number with P(noise > w) <= delta; BTT's
ln(1/delta)/epsilon is at most one more.  A function that is further than w + ln(1/beta)/epsilon
from instability is answered with probability 1 - beta.

Queries online (:class:`StableQueries`).  The sparse vector technique on the queries' distances to
instability.  A query that passes is answered by its true value; one that does not is answered ⊥,
and after T of these the run is halted.  Some halts and queries can be kept for later: who asks
first is then halted early, by a count of answers that are published, and all queries together are
still one run with one budget.  Both are (epsilon, delta)-DP: docs/privacy.md, lemma S5.

Halts T and chunks K of classification queries (corollary 4.1)
--------------------------------------------------------------
A model trained on a chunk errs on a random query with probability at most e = alpha (realizable:
some concept of the class errs nowhere) or e = gamma + alpha (agnostic: the best errs with
probability gamma).  Among m independent queries the share of chunks that err sums to at most

    e m + sqrt(m ln(1/beta) / 2)        with probability 1 - beta (Hoeffding),

so at most T = 3 (that) queries have more than K/3 wrong votes.  At all others the right class leads
by at least K/3 votes, its distance to instability is at least K/6 - 1, and with

    K = 6 (w + u + 2)                     w the margin, u what noise adds with probability beta,

all of them are answered, rightly, with probability 1 - beta.  Error and ⊥ together: at most T/m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from learners.parameters import check_count
from learners.privacy.accounting import Neighbours, PrivacySpent, check_budget, noise_scale
from learners.privacy.noise import discrete_laplace
from learners.privacy.randomness import RandomSource
from learners.stability.sparse_vector import (
    SparseVector,
    SparseVectorBudget,
    least_margin,
    stability_spent,
    tail,
)


@dataclass(frozen=True, slots=True)
class DistanceTest:
    """One test: the scale of its integer Laplace noise, its margin w, and what it spends."""

    scale: Fraction
    margin: int
    spent: PrivacySpent

    @classmethod
    def plan(
        cls,
        epsilon: float,
        delta: float,
        neighbours: Neighbours = "add-remove",
        private: bool = True,
    ) -> DistanceTest:
        """The test that is (epsilon, delta)-DP.

        Raises
        ------
        ValueError
            If a parameter states no guarantee.
        """
        check_budget(epsilon, delta)
        scale = noise_scale(epsilon, 1)
        margin = least_margin(lambda w: tail(scale, w), delta * (1 - 1e-9))
        spent = stability_spent(epsilon, delta, neighbours, private, epsilon0=epsilon, halts=1)
        return cls(scale, margin, spent)

    def answer(self, value: int, distance: int, source: RandomSource) -> int | None:
        """The value, or None (⊥).

        Parameters
        ----------
        value : int
            f(D).
        distance : int
            Neighbouring steps that leave f(D) the same whatever one further step does; a bound
            from below will do if one step moves it by at most 1.
        """
        if distance < 0:
            raise ValueError(f"a distance is at least 0, got {distance}")
        passed = distance + discrete_laplace(source, self.scale) > self.margin
        return value if passed else None


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

    `kept` halts are kept until :meth:`take_up`, and with them :func:`kept_queries`.
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
        """Answer one query, or not; `value` and `distance` as in :meth:`DistanceTest.answer`.

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
        status: QueryStatus = "halted"
        if self.halts_left:
            status = "answered" if self._tests.test(distance) else "unstable"
        told = value if status == "answered" else None
        return QueryRelease(self._asked, told, status, self.halts_left, self.queries_left)


#: Share of the chunks that must agree, by default, for an answer with probability 1 - beta.
DEFAULT_AGREEMENT = 0.85

#: Probability with which noise may turn away a query on which so many agree.
DEFAULT_BETA = 0.1


def chunks_needed(budget: SparseVectorBudget, beta: float, agreement: float = 2 / 3) -> int:
    """Chunks that answer every query on which this share agrees, with probability 1 - beta.

    Parameters
    ----------
    budget : SparseVectorBudget
    beta : float
        For all queries together, in (0, 1).
    agreement : float
        Share of the chunks that vote for the winner, in (1/2, 1]; taken to four digits.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    if not 0.5002 < agreement <= 1:
        raise ValueError(f"agreement must lie in (1/2, 1], got {agreement}")
    # distance >= gap/2 - 1 must exceed w + u
    share = Fraction(agreement).limit_denominator(10_000)
    return math.ceil((budget.margin + budget.slip(beta) + 2) * 2 / (2 * share - 1))


#: More chunks are refused unless they are asked for: a model is trained on each.
MOST_CHUNKS = 1_000_000


def default_chunks(budget: SparseVectorBudget, chunks: int | None) -> int:
    """K: as given, or as many as answer queries on which 85 % of the chunks agree.

    Raises
    ------
    ValueError
        If the number that is given is none, or so many are needed that no sample fills them.
    """
    if chunks is not None:
        return check_count("chunks", chunks)
    needed = chunks_needed(budget, DEFAULT_BETA, DEFAULT_AGREEMENT)
    if needed > MOST_CHUNKS:
        raise ValueError(
            f"such a budget needs {needed:,} chunks, each with examples of its own, and no more "
            f"than {MOST_CHUNKS:,} are trained: choose a larger epsilon, fewer halts, or chunks"
        )
    return needed
