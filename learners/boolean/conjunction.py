"""Private learners of conjunctions and disjunctions of at most k literals (KMMS theorem 3.5).

The set cover of KMMS section 3 (:mod:`learners.set_cover`) with literals as pieces.  In each of m
steps a noisy count b of the examples still to gain is drawn (a conjunction gains negatives), and
a literal is selected by the exponential mechanism with

    q(h) = min{ (gain examples alive that h decides) - b/k, -(loss examples alive that h decides) };

what it decides (:mod:`learners.boolean.literals`) is removed.  The draw is exact
(:mod:`learners.exponential_mechanism`): its candidates are the 2d literals and the constant, its
scores the integers k q, its rate eta/k.

For every candidate the number of alive examples that it would decide is kept, for those to gain
and those to lose, and examples that a step decides are taken off row by row: time O(ones of the
examples + m d), whatever n, dense or sparse; memory that of the examples, sparse ones twice.

Departs from the source: the constant is one more candidate, so that a step with nothing left to
gain has a choice without loss; epsilon is divided between counts and selections, where KMMS
spend it twice; the rate comes from the optimal account.  What is guaranteed of the error:
:func:`learners.boolean.conjunction_bounds.cover_examples`.  Privacy: docs/privacy.md,
lemma C1.

Other accounts are there to be compared, with the same noise: :mod:`learners.other_accounts`.
The laws of the draws are exact, so nothing need be charged for arithmetic;
:func:`learners.set_cover.plan_budget` takes 2^-37 of epsilon a step off nevertheless, which is
left over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.accounting import Neighbours
from learners.boolean.formulas import (
    BooleanLearner,
    LiteralRelease,
    LiteralStep,
    run_by_steps,
)
from learners.boolean.literals import Columns, Literal, candidate_literal, decided_by
from learners.checks import check_count, check_open_unit
from learners.exponential_mechanism import exponential_index
from learners.noise import discrete_laplace
from learners.other_accounts import AccountChoice, by_account
from learners.randomness import RandomSource, open_source
from learners.records import Diagnostics
from learners.scores import Role
from learners.set_cover import Budget, plan_budget, step_count
from learners.sklearn_support import keyword_parameters


class LiteralCover:
    """Alive examples of a run, and how many of them each literal would decide.

    A conjunction gains negatives and loses positives, a disjunction the other way round.

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
        booked = (gain, loss), (gain - self.gain, loss - self.loss), wrong
        if self._role == "disjunction":
            booked = booked[0][::-1], booked[1][::-1], booked[2][::-1]
        seconds = time.perf_counter() - started
        return literal, Diagnostics.booked(*booked, len(self._labels), score=score, seconds=seconds)


def _by_candidate(ones: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Decided examples by candidate: the ones, the zeros, and none for the constant."""
    return np.concatenate([ones, total - ones, np.zeros(1, dtype=np.int64)])


def _count(mask: NDArray[np.bool_]) -> int:
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

    Raises
    ------
    ValueError
        If a parameter states no guarantee, or there is no such account.
    """
    budget = plan_budget(epsilon, delta, steps, beta, neighbours, private, NOISE_SHARE)
    return by_account(budget, account)


def private_literal_steps(
    columns: Columns,
    labels: NDArray[np.bool_],
    *,
    role: Role,
    k: int,
    budget: Budget,
    source: RandomSource,
) -> Iterator[LiteralStep]:
    """The set cover for examples and labels (n,), one record a step; k literals are enough."""
    cover = LiteralCover(columns, labels, role)
    rate = Fraction(budget.eta) / k
    assert budget.scale is not None  # formulas always have counts
    for step in range(1, budget.steps + 1):
        started = time.perf_counter()
        noisy = cover.gain + discrete_laplace(source, budget.scale) - budget.margin
        scores = np.minimum(k * cover.gained() - noisy, -k * cover.lost())
        chosen = exponential_index(source, scores, rate)
        literal, diagnostics = cover.take(chosen, started, float(scores[chosen]) / k)
        yield LiteralStep(step, budget.steps, LiteralRelease(literal, noisy), diagnostics)


@keyword_parameters()
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

    steps = run_by_steps

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

    def _run(self, X: ArrayLike | Any, y: ArrayLike) -> Iterator[LiteralStep]:
        told = self._fresh()
        k = check_count("k", told.k)
        n_steps = step_count(told.n_steps, k, told.alpha)
        check_open_unit(beta=told.beta)
        source = open_source(told.seed)
        budget = cover_budget(
            told.epsilon,
            told.delta,
            n_steps,
            told.beta,
            told.neighbours,
            source.private,
            told.account,
        )
        columns, labels = self._examples(X, y)
        stream = private_literal_steps(
            columns, labels, role=told.role, k=k, budget=budget, source=source
        )
        parameters = (("k", k), ("steps", n_steps), ("beta", told.beta))
        return self._publish(stream, columns.d, parameters, budget.spent)


@keyword_parameters()
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
