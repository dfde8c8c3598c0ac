"""Learns conjunctions and disjunctions of at most k literals privately (KMMS theorem 3.5).

The set cover of KMMS section 3 (:mod:`learners.cover.set_cover`) with literals as pieces.  In each
of m steps a noisy count b of the examples still to gain is drawn (a conjunction gains negatives),
and a literal is selected by the exponential mechanism with

    q(h) = min{ (gain examples alive that h decides) - b/k, -(loss examples alive that h decides) };

what it decides (:mod:`learners.boolean.formulas`) is removed.  The draw is exact
(:mod:`learners.privacy.exponential_mechanism`): its candidates are the 2d literals and the
constant, its scores the integers k q, its rate eta/k.

For every candidate the number of alive examples that it would decide is kept, for those to gain
and those to lose, and examples that a step decides are taken off row by row: time O(ones of the
examples + m d), whatever n, dense or sparse; memory that of the examples, sparse ones twice.

Departs from the source: the constant is one more candidate, so that a step with nothing left to
gain has a choice without loss; epsilon is divided between counts and selections, where KMMS
spend it twice; the rate comes from the optimal account.  What is guaranteed of the error:
:func:`learners.theory.cover_sizes.cover_examples`.  Privacy: docs/privacy.md,
lemma C1.

Other accounts are there to be compared, with the same noise: :mod:`learners.cover.set_cover`.
The laws of the draws are exact, so nothing need be charged for arithmetic;
:func:`learners.cover.set_cover.plan_budget` takes 2^-37 of epsilon a step off nevertheless, which
is left over.

The strawman, what KMMS set out to better
-----------------------------------------
The introduction of Kaplan, Mansour, Matias, Stemmer 2019 (KMMS) names a first idea: "identify, in a
private manner, a collection L of all literals that correctly classify (most of) the positive data,
and then run the private algorithm of Gupta et al. (2010) to choose a small number of literals from
L", and says why it is no good: the list alone takes a number of examples in proportion to d.  It
is here so that this can be seen.

1. *List.*  For each of the 2d literals the examples that it would lose are counted, with integer
   Laplace noise.  An example is decided by one literal of each variable, so it moves d of the
   counts by 1: noise of scale d / epsilon makes all of them epsilon-DP together.  L are the
   literals whose noisy count is at most Delta = ceil(d / epsilon * ln(2d / beta)).
2. *Cover* (Gupta, Ligett, McSherry, Roth, Talwar 2010, section 5).  In each of m steps a literal of
   L, or the constant, is drawn with weight exp(eta * examples that it gains), and what it decides
   is removed.  An example stops mattering once it is decided, so eta is that of a set cover's
   account (:mod:`learners.privacy.composition`), whatever m is.

Each part has all of epsilon (docs/privacy.md, lemma C3).  So this is the strongest form of the
idea, and it still needs n in proportion to d:
:func:`learners.theory.cover_sizes.strawman_examples`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from geometry.arrays import Flags, Ints
from learners.boolean.formulas import (
    BooleanLearner,
    Columns,
    Literal,
    LiteralRelease,
    LiteralStep,
    candidate_literal,
    decided_by,
)
from learners.core.records import Diagnostics
from learners.core.selection import Role, set_cover_score
from learners.cover.set_cover import AccountChoice, Budget, by_account, plan_budget, step_count
from learners.declaration import check_count
from learners.privacy.accounting import (
    Charge,
    Neighbours,
    PrivacySpent,
    check_budget,
    inner_budget,
    noise_scale,
)
from learners.privacy.composition import run_rate
from learners.privacy.exponential_mechanism import exponential_index, log_over
from learners.privacy.noise import discrete_laplace, discrete_laplace_array
from learners.privacy.randomness import RandomSource, open_source


class LiteralCover:
    """Alive examples of a run, and how many of them each literal would decide.

    A conjunction gains negatives and loses positives, a disjunction the other way round.  `alive`,
    bool of shape (n,), are the examples that no literal has decided; `gain` and `loss` are how many
    of them there are to gain, and to lose.
    """

    def __init__(self, columns: Columns, labels: Flags, role: Role) -> None:
        self._columns, self._role = columns, role
        self._gains = labels if role == "disjunction" else ~labels
        self.alive = np.ones(columns.n, dtype=np.bool_)
        self.gain, self.loss = _count(self._gains), _count(~self._gains)
        self._gain_ones = columns.ones(np.flatnonzero(self._gains))
        self._loss_ones = columns.ones(np.flatnonzero(~self._gains))

    def gained(self) -> Ints:
        """Alive examples to gain that each candidate decides, shape (2 d + 1,)."""
        return _by_candidate(self._gain_ones, self.gain)

    def lost(self) -> Ints:
        """Alive examples to lose that each candidate decides, shape (2 d + 1,)."""
        return _by_candidate(self._loss_ones, self.loss)

    def take(
        self, candidate: int, started: float, score: float
    ) -> tuple[Literal | None, Diagnostics]:
        """Remove the examples that the candidate of 0..2d decides; its literal and diagnostics."""
        literal = candidate_literal(self._role, candidate, self._columns.d)
        removed = self.alive & decided_by(self._role, literal, self._columns)
        gained, lost = removed & self._gains, removed & ~self._gains
        gain, loss = self.gain, self.loss
        self._gain_ones -= self._columns.ones(np.flatnonzero(gained))
        self._loss_ones -= self._columns.ones(np.flatnonzero(lost))
        self.alive &= ~removed
        self.gain, self.loss = gain - _count(gained), loss - _count(lost)
        wrong = self.gain, len(self.alive) - _count(self._gains) - self.loss
        # a conjunction gains negatives: what it gained stands first, of mistakes those still alive
        tallies = (gain, loss), (gain - self.gain, loss - self.loss), wrong
        if self._role == "disjunction":
            tallies = tallies[0][::-1], tallies[1][::-1], tallies[2][::-1]
        seconds = time.perf_counter() - started
        return literal, Diagnostics.tallied(*tallies, len(self.alive), score=score, seconds=seconds)


def _by_candidate(ones: Ints, total: int) -> Ints:
    """Decided examples by candidate: the ones, the zeros, and none for the constant."""
    return np.concatenate([ones, total - ones, np.zeros(1, dtype=np.int64)])


def _count(mask: Flags) -> int:
    return int(np.count_nonzero(mask))


#: What the noisy counts may cost alone, in parts of epsilon: a selection among literals loses fewer
#: examples than one among triangles, so the counts' noise weighs more
#: (docs/decisions/0010-the-optimal-account.md).
NOISE_SHARE = 0.4


def cover_budget(
    epsilon: float,
    delta: float,
    steps: int,
    beta: float,
    neighbours: Neighbours,
    private: bool,
    account: AccountChoice = "optimal",
) -> Budget:
    """Noise of the counts and rate of the selections by this account, (epsilon, delta)-DP.

    Raises ValueError if a parameter states no guarantee, or there is no such account.
    """
    budget = plan_budget(epsilon, delta, steps, beta, neighbours, private, NOISE_SHARE)
    return by_account(budget, account)


def private_literal_steps(
    cover: LiteralCover, k: int, budget: Budget, source: RandomSource
) -> Iterator[LiteralStep]:
    """The set cover, one record a step; k literals are enough."""
    rate = Fraction(budget.eta) / k
    assert budget.scale is not None  # formulas always have counts
    for step in range(1, budget.steps + 1):
        started = time.perf_counter()
        noisy = cover.gain + discrete_laplace(source, budget.scale) - budget.margin
        score = set_cover_score("disjunction", k, noisy, 0, 0)  # what is gained, and lost
        scores = score.values(cover.gained(), cover.lost())
        chosen = exponential_index(source, scores, rate)
        literal, diagnostics = cover.take(chosen, started, float(scores[chosen]) / k)
        yield LiteralStep(step, budget.steps, LiteralRelease(literal, noisy), diagnostics)


def _one_by_one(
    self: ConjunctionLearner | StrawmanConjunctionLearner,
    X: ArrayLike | Any,
    y: ArrayLike,
    budget_of: Callable[[Any, int, int, bool], Budget],
    records: Callable[[LiteralCover, int, Budget, RandomSource], Iterator[LiteralStep]],
) -> Iterator[LiteralStep]:
    """A private run that picks a literal, or the constant, in every step.

    `budget_of` says what a learner may spend over d variables in so many steps.
    """
    learner = self._fresh()
    k = learner.k
    steps = step_count(learner.n_steps, k, getattr(learner, "alpha", None))
    source = open_source(learner.seed)
    columns, labels = learner._examples(X, y)
    budget = budget_of(learner, columns.d, steps, source.private)
    stream = records(LiteralCover(columns, labels, learner.role), k, budget, source)
    parameters = (("k", k), ("steps", steps), ("beta", learner.beta))
    return self._publish(learner, stream, columns.d, parameters, budget.spent)


class ConjunctionLearner(BooleanLearner):
    """(epsilon, delta)-private conjunction of literals.

    Parameters
    ----------
    epsilon, delta : float
        Privacy of the whole run.
    k : int
        Literals of a good formula.
    n_steps : int, optional
        Steps m of the run, at most one literal each.  By default 1 for k = 1, else 3k, or with
        `alpha` the source's ceil(2k ln(2/alpha)).
    alpha : float, optional
        Error aimed at, in (0, 1): only chooses the number of steps.
    beta : float
        Probability, in (0, 1), with which some noisy count may exceed the true one.
    neighbours : {"add-remove", "replace-one"}
    account : {"optimal", "naive", "basic", "zcdp", "set-cover"}
        The account of the selections.  All are valid; others than the best are for comparison,
        see the module.
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.

    Attributes
    ----------
    release_ : FormulaRelease
        What may be published.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (20_000, 30))
    >>> y = X[:, 4] & (1 - X[:, 11])
    >>> model = ConjunctionLearner(k=2, n_steps=3, seed=1).fit(X, y)
    >>> model.score(X, y), str(model.release_)
    (1.0, 'x4 ∧ ¬x11')
    """

    role: ClassVar[Role] = "conjunction"

    epsilon: float = 1.0
    delta: float = 1e-6
    k: int = 4
    n_steps: int | None = None
    alpha: float | None = None
    beta: float = 0.1
    neighbours: Neighbours = "add-remove"
    account: AccountChoice = "optimal"
    seed: int | None = None

    def steps(self, X: ArrayLike | Any, y: ArrayLike) -> Iterator[LiteralStep]:
        def budget(own: Self, d: int, steps: int, private: bool) -> Budget:
            spent = own.epsilon, own.delta, steps, own.beta, own.neighbours, private
            return cover_budget(*spent, own.account)

        return _one_by_one(self, X, y, budget, private_literal_steps)


class DisjunctionLearner(ConjunctionLearner):
    """(epsilon, delta)-private disjunction of literals; parameters as of the conjunction.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (20_000, 30))
    >>> y = X[:, 4] | X[:, 11]
    >>> model = DisjunctionLearner(k=2, n_steps=3, seed=1).fit(X, y)
    >>> model.score(X, y), str(model.release_)
    (1.0, 'x4 ∨ x11')
    """

    role: ClassVar[Role] = "disjunction"


def strawman_budget(
    epsilon: float,
    delta: float,
    d: int,
    steps: int,
    beta: float,
    neighbours: Neighbours = "add-remove",
    private: bool = True,
) -> Budget:
    """Noise of the list and rate of the draws over d variables: a literal is listed if its noisy
    count is at most the margin.

    Raises ValueError if a parameter states no guarantee.
    """
    check_budget(epsilon, delta)
    inner = inner_budget(epsilon, delta, neighbours)
    scale = noise_scale(inner[0], check_count("the number of variables", d))
    margin = math.ceil(float(scale) * log_over(2 * d, beta))
    eta = run_rate(*inner, steps)
    charges = (Charge("noisy literals", float(1 / scale), d), Charge("selections", eta, steps))
    spent = PrivacySpent(epsilon, delta, neighbours, "optimal", charges, private)
    return Budget(steps, scale, margin, eta, spent)


class StrawmanConjunctionLearner(BooleanLearner):
    """(epsilon, delta)-private conjunction by a list of good literals; see the module.

    Parameters
    ----------
    epsilon, delta, k, n_steps, neighbours, seed :
        As in :class:`learners.boolean.conjunction.ConjunctionLearner`.
    beta : float
        Probability, in (0, 1), with which a good literal may be missing in the list.

    Examples
    --------
    >>> import numpy as np
    >>> coins = np.random.default_rng(0).integers(0, 2, (20_000, 30))
    >>> model = StrawmanConjunctionLearner(k=2, n_steps=3, seed=1)
    >>> print(model.fit(coins, coins[:, 4] & (1 - coins[:, 11])).release_)
    x4 ∧ ¬x11
    """

    role: ClassVar[Role] = "conjunction"

    epsilon: float = 1.0
    delta: float = 1e-6
    k: int = 4
    n_steps: int | None = None
    beta: float = 0.1
    neighbours: Neighbours = "add-remove"
    seed: int | None = None

    def steps(self, X: ArrayLike | Any, y: ArrayLike) -> Iterator[LiteralStep]:
        def budget(own: Self, d: int, steps: int, private: bool) -> Budget:
            given = own.epsilon, own.delta, d, steps, own.beta, own.neighbours, private
            return strawman_budget(*given)

        return _one_by_one(self, X, y, budget, _strawman_steps)


def _strawman_steps(
    cover: LiteralCover, k: int, budget: Budget, source: RandomSource
) -> Iterator[LiteralStep]:
    """A list of literals, and a cover from it; k chose the number of steps."""
    assert budget.scale is not None  # there is always a list
    lost = cover.lost()
    noisy = lost[:-1] + discrete_laplace_array(source, budget.scale, len(lost) - 1)
    # the constant, the last candidate, loses nothing
    listed = np.append(np.flatnonzero(noisy <= budget.margin), len(noisy))
    for step in range(1, budget.steps + 1):
        started = time.perf_counter()
        gained = cover.gained()[listed]
        drawn = exponential_index(source, gained, Fraction(budget.eta))
        literal, diagnostics = cover.take(int(listed[drawn]), started, float(gained[drawn]))
        yield LiteralStep(step, budget.steps, LiteralRelease(literal, None), diagnostics)


class StrawmanDisjunctionLearner(StrawmanConjunctionLearner):
    """(epsilon, delta)-private disjunction by a list of good literals; parameters as of the
    conjunction.

    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 500, [0, 0, 1, 1] * 500
    >>> str(StrawmanDisjunctionLearner(k=1, seed=1).fit(X, y).release_)
    'x0'
    """

    role: ClassVar[Role] = "disjunction"
