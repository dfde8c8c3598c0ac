"""What a run of a Boolean learner leaves behind: literals released, diagnostics apart.

As :mod:`learners.records`, for formulas in place of polygons.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.accounting import PrivacySpent
from learners.boolean.literal_columns import Columns, read_columns
from learners.boolean.literals import Literal, decided_by, evaluate, formula_text
from learners.scores import Role


@dataclass(frozen=True, slots=True)
class LiteralRelease:
    """What one step publishes.

    Attributes
    ----------
    literal : Literal or None
        What the step adds to the formula; None if the constant was selected, which adds nothing.
    threshold : int or None
        b_j, the noisy lower estimate of the examples left to gain; None when no noise was drawn.
    """

    literal: Literal | None
    threshold: int | None


@dataclass(frozen=True, slots=True)
class LiteralDiagnostics:
    """What only the curator may see of one step.

    Attributes
    ----------
    positives_alive, negatives_alive : int
        Examples that no literal had decided before the step.
    positives_taken, negatives_taken : int
        Examples that the step's literal decided.
    score : float or None
        Score of the literal in examples; None when nothing was scored.
    empirical_error, false_positive_rate, false_negative_rate : float
        Of the formula so far, as fractions of all examples.
    seconds : float
        Wall time of the step.
    """

    positives_alive: int
    negatives_alive: int
    positives_taken: int
    negatives_taken: int
    score: float | None
    empirical_error: float
    false_positive_rate: float
    false_negative_rate: float
    seconds: float


@dataclass(frozen=True, slots=True)
class LiteralStep:
    """One step of a run: its number (from 1), of how many, its release and its diagnostics."""

    step: int
    steps: int
    release: LiteralRelease
    diagnostics: LiteralDiagnostics


@dataclass(frozen=True, slots=True)
class FormulaRelease:
    """A learned formula with its privacy statement: all that may be published.

    Attributes
    ----------
    learner : str
    role : {"disjunction", "conjunction"}
    d : int
        Number of variables.
    literals : tuple of (Literal or None)
        One a step, None where the constant was selected; a literal may occur twice.
    thresholds : tuple of int
        The noisy counts, one a step; empty when none were drawn.
    parameters : tuple of (str, value)
        Public parameters of the run, in order.
    privacy : PrivacySpent or None
        None for a learner that is not private.
    """

    #: In files (:mod:`learners.codec`).
    kind: ClassVar[str] = "formula"

    learner: str
    role: Role
    d: int
    literals: tuple[Literal | None, ...]
    thresholds: tuple[int, ...]
    parameters: tuple[tuple[str, Any], ...]
    privacy: PrivacySpent | None

    def __str__(self) -> str:
        return formula_text(self.role, self.literals)

    def predict(self, X: ArrayLike | Any) -> NDArray[np.int64]:
        """Labels 0/1, shape (n,), of examples, shape (n, d), dense or sparse.

        Raises
        ------
        ValueError
            If X has other values than 0 and 1, or another number of columns.
        """
        return evaluate(self.role, self.literals, self._columns(X)).astype(np.int64)

    def staged_predict(self, X: ArrayLike | Any) -> Iterator[NDArray[np.int64]]:
        """Labels after the first step, the second, and so on."""
        columns = self._columns(X)
        decided = np.zeros(columns.n, dtype=np.bool_)
        for literal in self.literals:
            decided |= decided_by(self.role, literal, columns)
            yield (~decided if self.role == "conjunction" else decided).astype(np.int64)

    def _columns(self, X: ArrayLike | Any) -> Columns:
        columns = read_columns(X)
        if columns.d != self.d:
            raise ValueError(f"X has {columns.d} columns, but the formula is over {self.d}")
        return columns
