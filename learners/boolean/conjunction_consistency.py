"""The private consistency learner: one exponential mechanism over all conjunctions.

The generic private learner (Kasiviswanathan et al. 2011; the notes' private consistency learner)
for the class of all conjunctions of literals over d variables, 3^d of them and the constant 0:
formula h is drawn with probability proportional to exp(-eta * mistakes(h)), mistakes counted on
the examples.  One example more is one mistake more or none, for every h: all scores move the same
way, so eta = epsilon makes the draw epsilon-DP, without the usual factor 1/2, and delta = 0
(docs/privacy.md, lemma C2).  The sources weigh with exp(-epsilon * mistakes / 2).

Few examples are needed, :func:`learners.boolean.conjunction_bounds.consistency_examples`, but the
time is proportional to 3^d: all mistakes by one sum along each variable,

    count(.., free, ..) = count(.., x_j = 0, ..) + count(.., x_j = 1, ..),

and the draw is exact (:mod:`learners.exponential_mechanism`).  Disjunctions are conjunctions of
the negated literals for the opposite labels.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.accounting import Charge, Neighbours, pure_spent
from learners.boolean.conjunction_bounds import consistency_rate
from learners.boolean.conjunction_estimator import BooleanLearner
from learners.boolean.formulas import LiteralRelease
from learners.boolean.literal_columns import Columns
from learners.boolean.literals import Literal
from learners.exponential_mechanism import exponential_index
from learners.randomness import open_source
from learners.scores import Role
from learners.sklearn_support import keyword_parameters

#: Most variables: 3^14 formulas take about 100 MB and half a second.
MOST_VARIABLES = 14


def mistakes_of_all(columns: Columns, labels: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Mistakes of every conjunction, shape (3^d + 1,).

    Conjunction i < 3^d has the digits of i to base 3, the first variable's the most significant:
    0 for the negated variable, 1 for the variable, 2 if it is free.  The last one is constant 0.
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
        table = np.concatenate([table, table.sum(axis=axis, keepdims=True)], axis=axis)
    positives = int(np.count_nonzero(labels))
    return np.append(table.ravel(), 0) + positives


def literals_of(formula: int, d: int, negate: bool = False) -> list[Literal]:
    """Literals of that conjunction; with `negate` all negated.  Constant 0 is x0 and not x0."""
    if formula == 3**d:
        return [Literal(0, False), Literal(0, True)]
    digits = np.unravel_index(formula, (3,) * d)
    return [
        Literal(variable, negated=(int(digit) == 0) != negate)
        for variable, digit in enumerate(digits)
        if digit != 2
    ]


@keyword_parameters()
class PrivateConsistentConjunctionLearner(BooleanLearner):
    """epsilon-private conjunction over few variables, by one draw from all.

    Parameters
    ----------
    epsilon : float
        Privacy of the draw; delta is 0.
    neighbours : {"add-remove", "replace-one"}
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.

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

    def fit(self, X: ArrayLike | Any, y: ArrayLike) -> Self:
        """Draw a formula; parameters as in the base class.

        Raises
        ------
        ValueError
            If an example or a parameter is out of range, or there are more than 14 variables.
        """
        rate = consistency_rate(self.epsilon, self.neighbours)
        columns, labels = self._begin(X, y)
        d = columns.d
        if d > MOST_VARIABLES:
            raise ValueError(
                f"X has {d} columns: this learner weighs all 3^d formulas, so at most "
                f"{MOST_VARIABLES}; ConjunctionLearner takes any number"
            )
        source = open_source(self.seed)
        dual = self.role == "disjunction"
        mistakes = mistakes_of_all(columns, ~labels if dual else labels)
        drawn = exponential_index(source, -mistakes, rate)
        selection = Charge("selections", float(rate))
        spent = pure_spent(self.epsilon, self.neighbours, source.private, selection)
        released = [LiteralRelease(literal, None) for literal in literals_of(drawn, d, dual)]
        self._keep(released, d, (), spent)
        return self


class PrivateConsistentDisjunctionLearner(PrivateConsistentConjunctionLearner):
    """epsilon-private disjunction over few variables; parameters as in the base class."""

    role: ClassVar[Role] = "disjunction"
