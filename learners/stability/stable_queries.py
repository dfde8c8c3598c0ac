"""Answers queries exactly where one record could not change the answer (algorithms 1 to 3).

*The sparse vector technique* makes many tests and pays for the failed ones alone (algorithm 1).

Values f_1, f_2, ... are whole numbers, chosen one after the other in view of the answers, and one
neighbouring step moves each of them by at most 1.  A noisy threshold is drawn; the test of f is
passed if f + DiscreteLaplace(s_query) > w + DiscreteLaplace(s_threshold).  A test that is not
passed is a halt: a new threshold is drawn; after T halts there are no more tests.

From one halt to the next the answers are (1/s_threshold + 2/s_query)-DP, however many tests are
passed in between; T times that is composed by the optimal bound for pure mechanisms
(docs/privacy.md, lemmas S2 and S3).  For values that are distances to instability, the margin w is
so large that no value of 0 passes but for a part of delta (lemma S4).

tight    s_threshold = s_query = 3 / epsilon0, epsilon0 the largest that composes to (epsilon,
         delta_1), w the least with T P(noise > w) <= delta_2; delta_1 + delta_2 = delta, and
         delta_1 = 0 (basic composition) or delta / 2, whichever gives the smaller margin.
printed  BTT's lambda = sqrt(32 T ln(2/delta)) / epsilon, s_threshold = lambda, s_query = 2 lambda,
         w = 2 lambda ln(2m/delta).  Their proof is for real noise and small epsilon; here it is
         checked for the parameters at hand by the same lemmas, and refused where it fails.

Departs from the source: noise is integer, its sampler exact; w does not depend on m, since a value
of 0 that does not pass is a halt.  At epsilon = 1, delta = 1e-6, m = 1000 the tight margin is 46
against 923 printed at T = 1, and 2694 against 9230 at T = 100.

Tails of the noise, rounded up by more than the error of their few roundings: with P(z)
proportional to p^|z|, p = exp(-1/scale), P(Z > w) = p^(w+1) / (1 + p) for w >= -1; that of a
difference of two independent such integers is a sum of geometric series (lemma S4).

*One query* (:class:`DistanceTest`).  f(D) is released if its distance to instability plus
DiscreteLaplace(1/epsilon) exceeds w, the least whole number with P(noise > w) <= delta; BTT's
ln(1/delta)/epsilon is at most one more.  A function that is further than w + ln(1/beta)/epsilon
from instability is answered with probability 1 - beta.

*Queries online* (:class:`StableQueries`).  The sparse vector technique on the queries' distances to
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
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal, get_args

from learners.declaration import check_count, check_open_unit
from learners.privacy.accounting import (
    GIVEN_UP,
    Charge,
    Neighbours,
    PrivacySpent,
    Relation,
    check_budget,
    inner_budget,
    noise_scale,
)
from learners.privacy.composition import MOST_MECHANISMS, largest_epsilon0, optimal_delta
from learners.privacy.noise import discrete_laplace
from learners.privacy.randomness import RandomSource

#: More than the relative error of the closed forms of tails.
_ROUNDING = 1e-9

Constants = Literal["tight", "printed"]


def tail(scale: Fraction, w: int) -> float:
    """P(Z > w) for w >= 0, rounded up."""
    if w < 0:
        raise ValueError(f"w must not be negative, got {w}")
    rate = float(1 / scale)
    return math.exp(-rate * (w + 1)) / (1 + math.exp(-rate)) * (1 + _ROUNDING)


def difference_tail(first: Fraction, second: Fraction, w: int) -> float:
    """P(A - B > w) for w >= 0, A and B independent of these scales; rounded up."""
    if w < 0:
        raise ValueError(f"w must not be negative, got {w}")
    a, b = float(1 / first), float(1 / second)
    p, q = math.exp(-a), math.exp(-b)
    both = -math.expm1(-(a + b))
    # B >= 0, then -w <= B < 0, then B < -w
    above = math.exp(-a * (w + 1)) / ((1 + p) * both)
    between = _geometric_between(a, b, w) / (1 + p)
    beyond = math.exp(-b * (w + 1)) * (1 / -math.expm1(-b) - p / ((1 + p) * both))
    return min(1.0, -math.expm1(-b) / (1 + q) * (above + between + beyond) * (1 + _ROUNDING))


def _geometric_between(a: float, b: float, w: int) -> float:
    """Sum over j = 1..w of exp(-b j - a (w + 1 - j))."""
    if w == 0:
        return 0.0
    slow, fast = min(a, b), max(a, b)
    apart = fast - slow
    # the sum is the same with a and b swapped
    scaled = float(w) if apart * w < 1e-9 else math.expm1(-apart * w) / math.expm1(-apart)
    return math.exp(-slow * w - fast) * scaled


def least_margin(bound: Callable[[int], float], most: float) -> int:
    """The least w >= 0 with bound(w) <= most, for a bound that falls with w."""
    return bisect_left(range(1 << 60), True, key=lambda w: bound(w) <= most)


@dataclass(frozen=True, slots=True)
class SparseVectorBudget:
    """What one run may spend, fixed before it starts by public numbers alone.

    m `queries` are tested at most, and T `halts` of the tests may fail, each at the cost that
    `spent` charges; the scales are those of the integer Laplace noise, `margin` is w.
    """

    queries: int
    halts: int
    threshold_scale: Fraction
    query_scale: Fraction
    margin: int
    spent: PrivacySpent

    def slip(self, beta: float) -> int:
        """u: with probability 1 - beta, all of m tests of values above w + u are passed."""
        check_open_unit(beta=beta)
        share = beta / self.queries
        return least_margin(
            lambda u: difference_tail(self.threshold_scale, self.query_scale, u), share
        )


def stability_spent(
    epsilon: float,
    delta: float,
    neighbours: Relation,
    private: bool,
    *,
    epsilon0: float,
    halts: int,
) -> PrivacySpent:
    """The privacy statement of a run of so many halts that cost epsilon0 each.

    `neighbours` is what the statement names: a run costs the same for any relation, since one
    record lies in one chunk (docs/privacy.md, lemma S1).
    """
    if neighbours != "replace-label":
        inner_budget(epsilon, delta, neighbours)
    charges = (Charge("unanswered queries", epsilon0, halts),)
    return PrivacySpent(epsilon, delta, neighbours, "stability", charges, private)


def plan_sparse_vector(
    epsilon: float,
    delta: float,
    *,
    queries: int,
    halts: int,
    constants: Constants = "tight",
    neighbours: Relation = "add-remove",
    private: bool = True,
) -> SparseVectorBudget:
    """Noise and margin for m tests of distances to instability, T of which may fail.

    Raises ValueError if a parameter is out of range, or the printed constants do not give (epsilon,
    delta).

    Parameters
    ----------
    epsilon, delta : float
        Of the whole run.
    queries, halts : int
        m and T, public.
    constants : {"tight", "printed"}
    neighbours : {"add-remove", "replace-one", "replace-label"}
    private : bool
        False when the noise is seeded.
    """
    check_budget(epsilon, delta)
    m, most = check_count("queries", queries), check_count("halts", halts)
    if most > MOST_MECHANISMS:
        raise ValueError(f"halts must be at most {MOST_MECHANISMS}, got {most}")
    spent = partial(stability_spent, epsilon, delta, neighbours, private, halts=most)
    if constants not in get_args(Constants):
        raise ValueError(f"constants must be 'tight' or 'printed', got {constants!r}")
    if constants == "printed":
        return _printed(epsilon, delta, m, most, spent)

    def tight(share: float) -> SparseVectorBudget:
        """The budget in which this share of delta pays for the composition."""
        epsilon0 = largest_epsilon0(epsilon, share * delta, most)
        scale = noise_scale(epsilon0, 3)
        left = (1 - share) * delta / most * (1 - GIVEN_UP)
        margin = least_margin(lambda w: difference_tail(scale, scale, w), left)
        return SparseVectorBudget(m, most, scale, scale, margin, spent(epsilon0=epsilon0))

    return min(map(tight, (0.0, 0.5)), key=lambda budget: budget.margin)


def _printed(
    epsilon: float, delta: float, m: int, halts: int, spent: Callable[..., PrivacySpent]
) -> SparseVectorBudget:
    rate = epsilon / math.sqrt(32 * halts * math.log(2 / delta))
    scale = noise_scale(rate, 1)
    margin = math.ceil(2 * float(scale) * math.log(2 * m / delta))
    passes = halts * difference_tail(2 * scale, scale, margin)
    if passes + optimal_delta(2 * rate, halts, epsilon) > delta * (1 - GIVEN_UP):
        raise ValueError(
            f"the printed constants do not give (epsilon, delta) = ({epsilon}, {delta}) with "
            f"{halts} halts: use constants='tight'"
        )
    return SparseVectorBudget(m, halts, scale, 2 * scale, margin, spent(epsilon0=2 * rate))


class SparseVector:
    """A run of tests.

    Attributes
    ----------
    halts_left, queries_left : int
        Public: functions of the answers.
    """

    def __init__(self, budget: SparseVectorBudget, source: RandomSource) -> None:
        self._budget = budget
        self._source = source
        self.halts_left = budget.halts
        self.queries_left = budget.queries
        self._threshold = self._draw_threshold()

    def test(self, value: int) -> bool:
        """Whether a value, which one neighbouring step moves by at most 1, passes.

        Raises
        ------
        ValueError
            If no test is left.
        """
        if self.halts_left == 0 or self.queries_left == 0:
            raise ValueError("the budget is used up: no test is left")
        self.queries_left -= 1
        noise = discrete_laplace(self._source, self._budget.query_scale)
        if value + noise > self._threshold:
            return True
        self.halts_left -= 1
        if self.halts_left:
            self._threshold = self._draw_threshold()
        return False

    def _draw_threshold(self) -> int:
        return self._budget.margin + discrete_laplace(self._source, self._budget.threshold_scale)


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
    """What one query publishes, `query` being its number, from 1.

    `value` is the answer, the index of a class or of a bin; None for ⊥.  "unstable": the test was
    not passed, which counts as a halt.  "halted": no test was made.  What is left is that of the
    budget, after this query.
    """

    query: int
    value: int | None
    status: QueryStatus
    halts_left: int
    queries_left: int


def kept_queries(budget: SparseVectorBudget, kept: int) -> int:
    """How many queries are kept with so many halts: half of them, or none with none.

    Raises ValueError unless at least one halt and one query are left to begin with.
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

    beta, in (0, 1), is for all queries together; `agreement`, in (1/2, 1], is the share of the
    chunks that vote for the winner, taken to four digits.  Raises ValueError if a parameter is out
    of range.
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

    Raises ValueError if the number that is given is none, or so many are needed that no sample
    fills them.
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
