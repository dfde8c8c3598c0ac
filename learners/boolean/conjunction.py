"""Private learners of conjunctions and disjunctions of at most k literals (KMMS theorem 3.5).

The set cover of KMMS section 3 (:mod:`learners.set_cover`) with literals as pieces.  In each of m
steps a noisy count b of the examples still to gain is drawn (a conjunction gains negatives), and
a literal is selected by the exponential mechanism with

    q(h) = min{ (gain examples alive that h decides) - b/k, -(loss examples alive that h decides) };

what it decides (:mod:`learners.boolean.literals`) is removed.  The draw is exact
(:mod:`learners.exponential_mechanism`): its candidates are the 2d literals and the constant, its
scores the integers k q, its rate eta/k.

Time O(ones of the examples + m d), whatever n; memory that of the examples, sparse ones twice.

Departs from the source: the constant is one more candidate, so that a step with nothing left to
gain has a choice without loss; epsilon is divided between counts and selections, where KMMS
spend it twice; the rate comes from the optimal account.  What is guaranteed of the error:
:func:`learners.boolean.conjunction_bounds.cover_examples`.  Privacy: docs/privacy.md,
lemma C1.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.accounting import Neighbours
from learners.boolean.conjunction_budget import AccountChoice, cover_budget
from learners.boolean.conjunction_estimator import BooleanCover
from learners.boolean.formulas import LiteralRelease, LiteralStep
from learners.boolean.literal_columns import Columns
from learners.boolean.literal_cover import LiteralCover
from learners.estimator import check_count
from learners.exponential_mechanism import exponential_index
from learners.noise import discrete_laplace
from learners.randomness import RandomSource, open_source
from learners.scores import Role
from learners.set_cover import Budget, default_steps, theorem_steps
from learners.sklearn_support import keyword_parameters


def private_literal_steps(
    columns: Columns,
    labels: NDArray[np.bool_],
    *,
    role: Role,
    k: int,
    budget: Budget,
    source: RandomSource,
) -> Iterator[LiteralStep]:
    """Run the engine, one record a step.

    Parameters
    ----------
    columns : Columns
        Examples.
    labels : ndarray of bool, shape (n,)
    role : {"disjunction", "conjunction"}
    k : int
        Literals of a good formula.
    budget : Budget
    source : RandomSource
    """
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
class PrivateLiteralCover(BooleanCover):
    """The private learner; its two named forms fix the role.

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
        see :mod:`learners.boolean.conjunction_budget`.
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.

    Attributes
    ----------
    release_ : FormulaRelease
        What may be published.
    """

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
        """Run the learner, one record a step; `release_` is set when the last one is taken.

        Parameters and errors as in :meth:`fit`.  Checks happen at the call, before the first
        record is asked for.
        """
        k = check_count("k", self.k)
        n_steps = self._step_count(k)
        if not 0 < self.beta < 1:
            raise ValueError(f"beta must lie strictly between 0 and 1, got {self.beta}")
        source = open_source(self.seed)
        budget = cover_budget(
            self.epsilon,
            self.delta,
            n_steps,
            self.beta,
            self.neighbours,
            source.private,
            self.account,
        )
        columns, labels = self._begin(X, y)
        stream = private_literal_steps(
            columns, labels, role=self.role, k=k, budget=budget, source=source
        )
        parameters = (("k", k), ("steps", n_steps), ("beta", self.beta))
        return self._publish(stream, columns.d, parameters, budget.spent)

    def _step_count(self, k: int) -> int:
        if self.n_steps is not None:
            return check_count("the number of steps", self.n_steps)
        if self.alpha is None:
            return default_steps(k)
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha must lie strictly between 0 and 1, got {self.alpha}")
        return theorem_steps(k, self.alpha)


class ConjunctionLearner(PrivateLiteralCover):
    """(epsilon, delta)-private conjunction of literals; parameters as in the base class.

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


class DisjunctionLearner(PrivateLiteralCover):
    """(epsilon, delta)-private disjunction of literals; parameters as in the base class.

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
