"""Formulas that are released, what a run leaves behind, and what the learners of formulas share.

As :mod:`learners.core.records` and :mod:`learners.core.estimator`, for examples of {0,1}^d, dense
or sparse, and formulas in place of polygons: literals released, diagnostics apart.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learners.boolean.literals import (
    Columns,
    Literal,
    decided_by,
    evaluate,
    formula_text,
    read_columns,
)
from learners.core.examples import check_column_names, column_names
from learners.core.records import Diagnostics
from learners.core.selection import Role
from learners.core.sklearn_support import TwoLabels, classifier_tags, keyword_parameters
from learners.privacy.accounting import PrivacySpent


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
class LiteralStep:
    """One step of a run: its number (from 1), of how many, its release and its diagnostics."""

    step: int
    steps: int
    release: LiteralRelease
    diagnostics: Diagnostics


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

    #: In files (:mod:`learners.core.codec`).
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


@keyword_parameters()
class BooleanLearner(TwoLabels):
    """fit, predict, score and parameters of a learner of Boolean formulas.

    Attributes
    ----------
    release_ : FormulaRelease
        The formula of a complete run.
    feature_names_in_ : ndarray of object, shape (d,)
        Column names of the examples; only where they came as a data frame.
    """

    role: ClassVar[Role]

    @abstractmethod
    def _run(self, X: ArrayLike | Any, y: ArrayLike) -> Iterator[LiteralStep]:
        """Check parameters and examples now, then learn; see :func:`run_by_steps`."""

    def fit(self, X: ArrayLike | Any, y: ArrayLike) -> Self:
        """Learn a formula.

        Parameters
        ----------
        X : array, data frame or scipy sparse matrix, shape (n, d)
            Zeros and ones.  The number of columns is public.
        y : array, shape (n,)
            Labels as :meth:`learners.core.estimator.Estimator.fit` takes them.

        Raises
        ------
        ValueError
            If an example or a parameter is out of range.
        """
        for _ in self._run(X, y):
            pass
        return self

    def staged_predict(self, X: ArrayLike | Any) -> Iterator[NDArray[Any]]:
        """Labels after the first step, the second, and so on."""
        return map(self._as_came, self._fitted().staged_predict(X))

    @property
    def n_features_in_(self) -> int:
        """Number of variables, d."""
        return self._fitted().d

    def _zeros_and_ones(self, X: ArrayLike | Any) -> NDArray[np.int64]:
        release = self._fitted()
        check_column_names(X, getattr(self, "feature_names_in_", None))
        return release.predict(X)

    def _examples(self, X: ArrayLike | Any, y: ArrayLike) -> tuple[Columns, NDArray[np.bool_]]:
        """Check the examples of a run."""
        columns = read_columns(X)
        labels = self._check_labels(y, columns.n)
        names = column_names(X)
        if names is not None:
            self.feature_names_in_: NDArray[np.object_] = names
        return columns, labels

    def _keep(
        self,
        steps: Iterable[LiteralRelease],
        d: int,
        parameters: tuple[tuple[str, Any], ...],
        privacy: PrivacySpent | None,
    ) -> None:
        """Set the release of a complete run."""
        released = tuple(steps)
        self.release_: FormulaRelease = FormulaRelease(
            learner=type(self).__name__,
            role=self.role,
            d=d,
            literals=tuple(step.literal for step in released),
            thresholds=tuple(s.threshold for s in released if s.threshold is not None),
            parameters=parameters,
            privacy=None if privacy is None else privacy.of_run(),
        )

    def _publish(
        self,
        stream: Iterator[LiteralStep],
        d: int,
        parameters: tuple[tuple[str, Any], ...],
        privacy: PrivacySpent | None,
    ) -> Iterator[LiteralStep]:
        """Pass the records on, and keep the release once the run is complete."""
        released = []
        for record in stream:
            released.append(record.release)
            if record.step == record.steps:
                self._keep(released, d, parameters, privacy)
            yield record

    def _fitted(self) -> FormulaRelease:
        self._require_fitted()
        return self.release_

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of a learner's kind and input."""
        tags = classifier_tags(random=getattr(self, "seed", 0) is None)
        tags.input_tags.sparse = True
        return tags


def run_by_steps(self: BooleanLearner, X: ArrayLike | Any, y: ArrayLike) -> Iterator[LiteralStep]:
    """Run the learner, one record a step; `release_` is set when the last one is taken.

    Parameters and errors as in :meth:`fit`.  Checks happen at the call, before the first record is
    asked for.
    """
    return self._run(X, y)
