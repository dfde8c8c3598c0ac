"""What KMMS set out to better: list the good literals privately, then cover from the list.

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
   account (:mod:`learners.cover_account`), whatever m is.

The first part looks at the examples to lose alone and the second at the others, and an example is
one or the other: each has all of epsilon (docs/privacy.md, lemma C3).  So this is the strongest
form of the idea, and it still needs n in proportion to d:
:func:`learners.boolean.conjunction_bounds.strawman_examples`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from learners.accounting import (
    Charge,
    Neighbours,
    PrivacySpent,
    check_budget,
    inner_budget,
    noise_scale,
)
from learners.boolean.conjunction import LiteralCover
from learners.boolean.formulas import BooleanLearner, LiteralRelease, LiteralStep, run_by_steps
from learners.checks import check_count, check_open_unit
from learners.cover_account import run_rate
from learners.exponential_mechanism import exponential_index
from learners.noise import discrete_laplace_array
from learners.parameters import log_over
from learners.randomness import open_source
from learners.scores import Role
from learners.set_cover import step_count
from learners.sklearn_support import keyword_parameters


@dataclass(frozen=True, slots=True)
class StrawmanBudget:
    """What a run may spend, by public numbers alone.

    Attributes
    ----------
    scale : Fraction
        Of the integer Laplace noise of each literal's count.
    margin : int
        Delta: a literal is listed if its noisy count is at most that.
    eta : float
        Nats per example in each draw.
    spent : PrivacySpent
    """

    scale: Fraction
    margin: int
    eta: float
    spent: PrivacySpent


def strawman_budget(
    epsilon: float,
    delta: float,
    d: int,
    steps: int,
    beta: float,
    neighbours: Neighbours = "add-remove",
    private: bool = True,
) -> StrawmanBudget:
    """Noise of the list and rate of the draws over d variables.

    Raises
    ------
    ValueError
        If a parameter states no guarantee.
    """
    check_budget(epsilon, delta)
    inner = inner_budget(epsilon, delta, neighbours)
    scale = noise_scale(inner[0], check_count("the number of variables", d))
    margin = math.ceil(float(scale) * log_over(2 * d, beta))
    eta = run_rate(*inner, steps)
    charges = (Charge("noisy literals", float(1 / scale), d), Charge("selections", eta, steps))
    spent = PrivacySpent(epsilon, delta, neighbours, "optimal", charges, private)
    return StrawmanBudget(scale, margin, eta, spent)


@keyword_parameters()
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

    steps = run_by_steps

    role: ClassVar[Role] = "conjunction"

    epsilon: float = 1.0
    delta: float = 1e-6
    k: int = 4
    n_steps: int | None = None
    beta: float = 0.1
    neighbours: Neighbours = "add-remove"
    seed: int | None = None

    def _run(self, X: ArrayLike | Any, y: ArrayLike) -> Iterator[LiteralStep]:
        told = self._fresh()
        k = check_count("k", told.k)
        steps = step_count(told.n_steps, k)
        check_open_unit(beta=told.beta)
        source = open_source(told.seed)
        columns, labels = self._examples(X, y)
        budget = strawman_budget(
            told.epsilon, told.delta, columns.d, steps, told.beta, told.neighbours, source.private
        )

        def records() -> Iterator[LiteralStep]:
            cover = LiteralCover(columns, labels, told.role)
            lost = cover.lost()[:-1]
            noisy = lost + discrete_laplace_array(source, budget.scale, len(lost))
            # the constant, the last candidate, loses nothing
            listed = np.append(np.flatnonzero(noisy <= budget.margin), 2 * columns.d)
            for step in range(1, steps + 1):
                started = time.perf_counter()
                gained = cover.gained()[listed]
                drawn = exponential_index(source, gained, Fraction(budget.eta))
                literal, diagnostics = cover.take(int(listed[drawn]), started, float(gained[drawn]))
                yield LiteralStep(step, steps, LiteralRelease(literal, None), diagnostics)

        parameters = (("k", k), ("steps", steps), ("beta", told.beta))
        return self._publish(records(), columns.d, parameters, budget.spent)


@keyword_parameters()
class StrawmanDisjunctionLearner(StrawmanConjunctionLearner):
    """(epsilon, delta)-private disjunction by a list of good literals; parameters as of the
    conjunction."""

    role: ClassVar[Role] = "disjunction"
