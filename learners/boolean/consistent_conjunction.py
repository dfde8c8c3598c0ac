"""Conjunctions and disjunctions without privacy: elimination, and a greedy cover of the rest.

*Elimination* (Valiant 1984; the consistent AND learner of lectures): keep every literal that is
true on all positive examples.  Their conjunction is consistent if any conjunction is, and has
up to d literals (2d without positives: then it is constant 0).  See
:func:`learners.boolean.conjunction_bounds.consistent_examples` for how many examples suffice.

*Greedy cover* (Haussler 1988; KMMS section 3): of the kept literals, take the one that is false
on most negative examples still alive, remove those, and go on until none is left or none is
gained.  If k literals suffice, every step takes at least a k-th of what is left, so
ceil(k ln n) literals are consistent: few literals, hence fewer examples
(:func:`learners.boolean.conjunction_bounds.greedy_examples`).

Disjunctions are the same with the roles of the labels exchanged.  With noisy labels a literal
that is false on a single positive is eliminated, and the formula may be poor: the sources'
learners are for consistent samples.

Nothing here is differentially private.  Time O(ones + steps * d).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.boolean.conjunction_estimator import BooleanCover, BooleanLearner
from learners.boolean.formulas import LiteralRelease, LiteralStep
from learners.boolean.literal_columns import Columns
from learners.boolean.literal_cover import LiteralCover
from learners.boolean.literals import candidate_literal
from learners.estimator import check_count
from learners.scores import Role
from learners.sklearn_support import keyword_parameters


@keyword_parameters()
class GreedyLiteralCover(BooleanCover):
    """Elimination and greedy cover; its two named forms fix the role.

    Parameters
    ----------
    n_steps : int, optional
        Most literals.  By default as many as gain anything.

    Attributes
    ----------
    release_ : FormulaRelease
        The formula; its `privacy` is None.
    """

    n_steps: int | None = None

    def steps(self, X: ArrayLike | Any, y: ArrayLike) -> Iterator[LiteralStep]:
        """Run the learner, one record a step; `release_` is set when the last one is taken.

        There is at least one step; it takes the constant if no literal gains anything.  A record
        comes when it is known whether it is the last.
        """
        limit = None
        if self.n_steps is not None:
            limit = check_count("the number of steps", self.n_steps)
        columns, labels = self._begin(X, y)
        parameters = () if limit is None else (("steps", limit),)
        stream = self._records(columns, labels, limit)
        return self._publish(stream, columns.d, parameters, None)

    def _records(
        self, columns: Columns, labels: NDArray[np.bool_], limit: int | None
    ) -> Iterator[LiteralStep]:
        started = time.perf_counter()
        cover = LiteralCover(columns, labels, self.role)
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


class GreedyConjunctionLearner(GreedyLiteralCover):
    """Eliminate, then cover greedily; not private.

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


class GreedyDisjunctionLearner(GreedyLiteralCover):
    """The dual of :class:`GreedyConjunctionLearner`; not private."""

    role: ClassVar[Role] = "disjunction"


class ConsistentConjunctionLearner(BooleanLearner):
    """Elimination alone: all literals that no positive example refutes; not private.

    There are no steps.  The literals come in the order of the variables.

    Examples
    --------
    >>> X, y = [[1, 0, 1], [1, 1, 1], [0, 1, 1]], [1, 1, 0]
    >>> str(ConsistentConjunctionLearner().fit(X, y).release_)
    'x0 ∧ x2'
    """

    role: ClassVar[Role] = "conjunction"

    def fit(self, X: ArrayLike | Any, y: ArrayLike) -> Self:
        """Keep what is consistent; parameters and errors as in the base class."""
        columns, labels = self._begin(X, y)
        d = columns.d
        kept = np.flatnonzero(LiteralCover(columns, labels, self.role).lost()[: 2 * d] == 0)
        order = kept[np.argsort(kept % d, kind="stable")].tolist()
        literals = [candidate_literal(self.role, candidate, d) for candidate in order]
        self._keep([LiteralRelease(literal, None) for literal in literals], d, (), None)
        return self


class ConsistentDisjunctionLearner(ConsistentConjunctionLearner):
    """The dual: all literals that no negative example satisfies; not private."""

    role: ClassVar[Role] = "disjunction"
