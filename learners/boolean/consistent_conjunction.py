"""Learns consistent conjunctions: by elimination, by a greedy cover, and privately.

Not private, time O(ones + steps * d):

*Elimination* (Valiant 1984; the consistent AND learner of lectures): keep every literal that is
true on all positive examples.  Their conjunction is consistent if any conjunction is, and has
up to d literals (2d without positives: then it is constant 0).

*Greedy cover* (Haussler 1988; KMMS section 3): of the kept literals, take the one that is false
on most negative examples still alive, remove those, and go on until none is left or none is
gained.  If k literals suffice, every step takes at least a k-th of what is left, so
ceil(k ln n) literals are consistent: few literals, hence fewer examples.

With noisy labels a literal that is false on a single positive is eliminated, and the formula may
be poor: the sources' learners are for consistent samples.

Private: the generic private learner (Kasiviswanathan et al. 2011; the notes' private consistency
learner) for the class of all conjunctions of literals over d variables, 3^d of them and the
constant 0.  Formula h is drawn with probability proportional to exp(-epsilon * mistakes(h)),
mistakes counted on the examples: epsilon-DP, delta = 0 (docs/privacy.md, lemma C2).  The sources
weigh with exp(-epsilon * mistakes / 2).  The time is proportional to 3^d: all mistakes by one sum
along each variable,

    count(.., free, ..) = count(.., x_j = 0, ..) + count(.., x_j = 1, ..),

and the draw is exact (:mod:`learners.privacy.exponential_mechanism`).

`monotone` learners know variables alone, none negated: the class of the notes, the 2^d ANDs of
subsets of the variables (there is no constant 0 then; the AND of none is constant 1).

Disjunctions are conjunctions of the negated literals for the opposite labels.

How many independent examples make the error at most alpha, except with probability beta, if some
formula errs on none.  H is the finite set of functions that the learner may return.

*Consistent* (Occam's razor; Blumer et al. 1987).  A function of error above alpha agrees with n
examples with probability below (1 - alpha)^n <= exp(-alpha n); a union bound over H gives

    n >= (ln|H| + ln(1/beta)) / alpha.                                                        (1)

Elimination returns one of 3^d + 1 functions (every variable occurs, occurs negated, or is free;
and the constant 0), monotone one of 2^d.  Greedy cover returns at most ceil(k ln n) literals.

*Private.*  But with probability beta/2 the draw makes at most A / eta mistakes, A = ln|H| +
ln(2/beta).  By Chernoff, with another beta/2, the error is at most e + t + sqrt(t^2 + 2 t e) with
e = A / (eta n) and t = A / n, so

    n >= (A / alpha) (1 + 1/eta + sqrt(1 + 2/eta)).                                           (2)
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from geometry.arrays import Flags, Ints
from learners.boolean.conjunction import LiteralCover
from learners.boolean.formulas import (
    BooleanLearner,
    Columns,
    Literal,
    LiteralRelease,
    LiteralStep,
    candidate_literal,
)
from learners.core.selection import Role
from learners.declaration import check_count, check_open_unit
from learners.finite.sample_sizes import least_count
from learners.privacy.accounting import Charge, Neighbours, inner_budget, pure_spent
from learners.privacy.exponential_mechanism import exponential_index, private_rate
from learners.privacy.randomness import open_source


class GreedyConjunctionLearner(BooleanLearner):
    """Eliminate, then cover greedily; not private.

    There is at least one step; it takes the constant if no literal gains anything.

    Parameters
    ----------
    n_steps : int, optional
        Most literals.  By default as many as gain anything.

    Attributes
    ----------
    release_ : FormulaRelease
        The formula; its `privacy` is None.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (500, 30))
    >>> y = X[:, 4] & (1 - X[:, 11])
    >>> model = GreedyConjunctionLearner().fit(X, y)
    >>> model.score(X, y), str(model.release_), model.privacy_
    (1.0, 'x4 ∧ ¬x11', None)
    """

    role: ClassVar[Role] = "conjunction"

    n_steps: int | None = None

    def steps(self, X: ArrayLike | Any, y: ArrayLike) -> Iterator[LiteralStep]:
        learner = self._fresh()
        limit, (columns, labels) = learner.n_steps, learner._examples(X, y)
        parameters = () if limit is None else (("steps", limit),)
        records = _greedy_steps(columns, labels, learner.role, limit)
        return self._publish(learner, records, columns.d, parameters, None)


class GreedyDisjunctionLearner(GreedyConjunctionLearner):
    """The dual of :class:`GreedyConjunctionLearner`; not private.

    >>> str(GreedyDisjunctionLearner().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1]).release_)
    'x0'
    """

    role: ClassVar[Role] = "disjunction"


def _greedy_steps(
    columns: Columns, labels: Flags, role: Role, limit: int | None
) -> Iterator[LiteralStep]:
    """A record comes when it is known whether it is the last."""
    started = time.perf_counter()
    cover = LiteralCover(columns, labels, role)
    # losses stay 0: what is kept never removes an example to lose
    kept = cover.lost() == 0
    taken, ended = 0, False
    while not ended:
        gained = np.where(kept, cover.gained(), 0)
        best = int(np.argmax(gained)) if gained.any() else 2 * columns.d
        literal, diagnostics = cover.take(best, started, float(gained[best]))
        started = time.perf_counter()
        taken += 1
        more = (kept & (cover.gained() > 0)).any()
        ended = not more or taken == limit
        release = LiteralRelease(literal, None)
        # `steps` is the number of steps taken, known with the last one
        yield LiteralStep(taken, taken if ended else taken + 1, release, diagnostics)


class ConsistentConjunctionLearner(BooleanLearner):
    """Elimination alone: all literals that no positive example refutes; not private.

    There are no steps.  The literals come in the order of the variables.

    Parameters
    ----------
    monotone : bool
        Whether literals are variables alone, none negated.

    Examples
    --------
    >>> X, y = [[0, 0, 1], [0, 1, 1], [1, 1, 0]], [1, 1, 0]
    >>> str(ConsistentConjunctionLearner().fit(X, y).release_)
    '¬x0 ∧ x2'
    >>> str(ConsistentConjunctionLearner(monotone=True).fit(X, y).release_)
    'x2'
    """

    role: ClassVar[Role] = "conjunction"

    monotone: bool = False

    def steps(self, X: ArrayLike | Any, y: ArrayLike) -> Iterator[LiteralStep]:
        learner = self._fresh()
        columns, labels = learner._examples(X, y)
        d = columns.d
        kept = np.flatnonzero(LiteralCover(columns, labels, learner.role).lost()[: 2 * d] == 0)
        order = kept[np.argsort(kept % d, kind="stable")].tolist()
        literals = [candidate_literal(learner.role, candidate, d) for candidate in order]
        kept_ones = [
            one for one in literals if one is not None and not (learner.monotone and one.negated)
        ]
        released = [LiteralRelease(one, None) for one in kept_ones]
        self._keep(learner, released, d, _stated(learner.monotone), None)
        return iter(())


class ConsistentDisjunctionLearner(ConsistentConjunctionLearner):
    """The dual: all literals that no negative example satisfies; not private.

    >>> str(ConsistentDisjunctionLearner().fit([[1, 0], [0, 0], [0, 1]], [1, 0, 1]).release_)
    'x0 ∨ x1'
    """

    role: ClassVar[Role] = "disjunction"


def _stated(monotone: bool) -> tuple[tuple[str, Any], ...]:
    """The public parameter of a release, where it says anything."""
    return (("monotone", True),) if monotone else ()


#: Most variables, and most of monotone formulas: 3^14 or 2^22 formulas take about 100 MB and half a
#: second.
MOST_VARIABLES, MOST_MONOTONE = 14, 22


def mistakes_of_all(columns: Columns, labels: Flags, only: int | None = None) -> Ints:
    """Mistakes of every conjunction, shape (3^d + 1,), or (2^d,) of one kind of literals, for
    labels, bool of shape (n,).

    Conjunction i < 3^d has the digits of i to base 3, the first variable's the most significant: 0
    for the negated variable, 1 for the variable, 2 if it is free.  The last one is constant 0.
    With `only`, 1 for conjunctions of variables alone, 0 of negated variables alone, they are
    digits to base 2: 0 for the literal, 1 if the variable is free.
    """
    d = columns.d
    code = np.zeros(columns.n, dtype=np.int64)
    for variable in range(d):
        code = 2 * code + columns.column(variable)
    # what labelling a point 1 rather than 0 adds in mistakes
    wrong = np.bincount(code[~labels], minlength=1 << d)
    right = np.bincount(code[labels], minlength=1 << d)
    table = (wrong - right).reshape((2,) * d)
    for axis in range(d):
        held = table if only is None else table.take([only], axis=axis)
        table = np.concatenate([held, table.sum(axis=axis, keepdims=True)], axis=axis)
    every = table.ravel() if only is not None else np.append(table.ravel(), 0)
    return every + int(np.count_nonzero(labels))


def literals_of(
    formula: int, d: int, negate: bool = False, only: int | None = None
) -> list[Literal]:
    """Literals of that conjunction; with `negate` all negated.  Constant 0 is x0 and not x0.

    `only` is that of :func:`mistakes_of_all`.
    """
    if only is None and formula == 3**d:
        return [Literal(0, False), Literal(0, True)]
    values = (0, 1) if only is None else (only,)
    digits = np.unravel_index(formula, (len(values) + 1,) * d)
    return [
        Literal(variable, negated=(values[int(digit)] == 0) != negate)
        for variable, digit in enumerate(digits)
        if digit < len(values)
    ]


class PrivateConsistentConjunctionLearner(BooleanLearner):
    """epsilon-private conjunction over few variables, by one draw from all.

    At most 14 variables; 22 if it is monotone.

    Parameters
    ----------
    epsilon : float
        Privacy of the draw; delta is 0.
    neighbours : {"add-remove", "replace-one"}
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.
    monotone : bool
        Whether literals are variables alone, none negated: one of 2^d formulas is drawn.

    Attributes
    ----------
    release_ : FormulaRelease
        What may be published.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (400, 8))
    >>> y = X[:, 1] & (1 - X[:, 6])
    >>> model = PrivateConsistentConjunctionLearner(seed=1).fit(X, y)
    >>> str(model.release_), model.privacy_.epsilon, model.privacy_.delta
    ('x1 ∧ ¬x6', 1.0, 0.0)
    """

    role: ClassVar[Role] = "conjunction"

    epsilon: float = 1.0
    neighbours: Neighbours = "add-remove"
    seed: int | None = None
    monotone: bool = False

    def steps(self, X: ArrayLike | Any, y: ArrayLike) -> Iterator[LiteralStep]:
        learner = self._fresh()
        rate = consistency_rate(learner.epsilon, learner.neighbours)
        columns, labels = learner._examples(X, y)
        d = columns.d
        base, most = ("2^d", MOST_MONOTONE) if learner.monotone else ("3^d", MOST_VARIABLES)
        if d > most:
            raise ValueError(
                f"X has {d} columns: this learner weighs all {base} formulas, so at most "
                f"{most}; ConjunctionLearner takes any number"
            )
        source = open_source(learner.seed)
        dual = learner.role == "disjunction"
        # of the dual's conjunction every literal is negated
        only = (0 if dual else 1) if learner.monotone else None
        mistakes = mistakes_of_all(columns, ~labels if dual else labels, only)
        drawn = exponential_index(source, -mistakes, rate)
        selection = Charge("selections", float(rate))
        spent = pure_spent(learner.epsilon, learner.neighbours, source.private, selection)
        released = [LiteralRelease(one, None) for one in literals_of(drawn, d, dual, only)]
        self._keep(learner, released, d, _stated(learner.monotone), spent)
        return iter(())


class PrivateConsistentDisjunctionLearner(PrivateConsistentConjunctionLearner):
    """epsilon-private disjunction over few variables; parameters as of the conjunction.

    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 50, [0, 0, 1, 1] * 50
    >>> str(PrivateConsistentDisjunctionLearner(seed=1).fit(X, y).release_)
    'x0'
    """

    role: ClassVar[Role] = "disjunction"


# -- examples that suffice ---------------------------------------------------------------------


def log_conjunctions(d: int, *, monotone: bool = False) -> float:
    """ln(3^d + 1), all functions that conjunctions over d variables can be; or ln(2^d), of those
    without negations."""
    if monotone:
        return d * math.log(2)
    return d * math.log(3) + math.log1p(math.exp(-d * math.log(3)))


def log_formulas(d: int, most: int) -> float:
    """Bound on ln of the number of functions of at most `most` literals over d variables.

    The sets of so many of 2d literals, or all conjunctions if these are fewer.
    """
    terms = [
        math.lgamma(2 * d + 1) - math.lgamma(i + 1) - math.lgamma(2 * d - i + 1)
        for i in range(min(most, 2 * d) + 1)
    ]
    top = max(terms)
    return min(top + math.log(sum(math.exp(a - top) for a in terms)), log_conjunctions(d))


def consistent_examples(d: int, alpha: float, beta: float, *, monotone: bool = False) -> int:
    """Examples that elimination over d variables needs, by (1)."""
    check_sizes(alpha, beta, d=d)
    log_size = log_conjunctions(d, monotone=monotone)
    return math.ceil((log_size + math.log(1 / beta)) / alpha)


def greedy_examples(d: int, k: int, alpha: float, beta: float) -> int:
    """Examples that the greedy cover needs if some conjunction of k literals is right, by (1)."""
    check_sizes(alpha, beta, d=d, k=k)

    def enough(n: int) -> bool:
        most = max(1, math.ceil(k * math.log(n)))
        return alpha * n >= log_formulas(d, most) + math.log(1 / beta)

    return least_count(enough)


def consistency_rate(epsilon: float, neighbours: Neighbours) -> Fraction:
    """Nats per mistake in the private consistency learner: all of epsilon under add/remove.

    Raises ValueError if epsilon is not positive, or there are no such neighbours.
    """
    rate = private_rate(epsilon, one_way=True)
    # with delta = 0 a replacement halves epsilon, and exactly
    return rate * Fraction(inner_budget(1.0, 0.0, neighbours)[0])


def consistency_examples(
    d: int,
    alpha: float,
    beta: float,
    epsilon: float,
    neighbours: Neighbours = "add-remove",
    *,
    monotone: bool = False,
) -> int:
    """Examples that the private consistency learner needs, by (2)."""
    check_sizes(alpha, beta, d=d)
    eta = float(consistency_rate(epsilon, neighbours))
    log_part = log_conjunctions(d, monotone=monotone) + math.log(2 / beta)
    return math.ceil(log_part / alpha * (1 + 1 / eta + math.sqrt(1 + 2 / eta)))


def check_sizes(alpha: float, beta: float, **counts: int) -> None:
    """Refuse, with its name, what is no probability, or no number of at least 1 (ValueError)."""
    check_open_unit(alpha=alpha, beta=beta)
    for name, count in counts.items():
        check_count(name, count)
