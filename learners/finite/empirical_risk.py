"""Chooses the hypothesis of least loss from a finite list, with privacy and without.

Nikolov's lecture and Nissim's generic learner; losses are whole numbers 0..bound, an example each.
With S_h the sum of the losses of hypothesis h over the sample, and epsilon for neighbours that
add or remove an example:

exponential   P(h) proportional to exp(-epsilon S_h / bound).  An example moves all sums the same
              way by 0..bound, so the factor 1/2 of the general mechanism is not needed.  For
              neighbours that replace an example epsilon is halved: with losses L in [0, 1] the
              law is the source's, exp(-epsilon n L / 2).
laplace       the baseline: all sums are released with integer Laplace noise of scale
              |H| bound / epsilon, for an example moves them by up to |H| bound together; the
              least noisy one is chosen.

Both are epsilon-DP with delta = 0, exactly: docs/privacy.md, lemmas F1 and F2.
Losses in [0, 1] that are no whole numbers are rounded to multiples of 1/levels, a public step,
example by example; that moves an average by at most 1/(2 levels).

How many examples are enough: :mod:`learners.finite.sample_sizes`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.arrays import Ints
from geometry.coordinates import unmasked
from learners.core.sklearn_support import WithParameters
from learners.privacy.accounting import (
    Charge,
    Neighbours,
    PrivacySpent,
    noise_scale,
    pure_budget,
    pure_spent,
)
from learners.privacy.exponential_mechanism import exponential_index, private_rate
from learners.privacy.noise import discrete_laplace_array
from learners.privacy.randomness import RandomSource, open_source

Mechanism = Literal["exponential", "laplace"]

#: Losses of a batch of examples, (X, y) -> array of shape (n, hypotheses).
Losses = Callable[[NDArray[Any], NDArray[Any]], ArrayLike]

#: Numbers of a batch.
_BATCH = 1 << 22


@dataclass(frozen=True, slots=True)
class Choice:
    """What a choice publishes: all noisy sums of losses, too, but with the exponential mechanism;
    and what it spent, but of a choice that is not private."""

    index: int
    noisy_sums: tuple[int, ...] | None = None
    spent: PrivacySpent | None = None

    def release(self, learner: object, parameters: tuple[tuple[str, Any], ...]) -> ErmRelease:
        """The same as the release of a learner with these public parameters."""
        name = type(learner).__name__
        spent = None if self.spent is None else self.spent.of_run()
        return ErmRelease(name, self.index, self.noisy_sums, parameters, spent)


def check_sums(count: int, bound: int) -> None:
    """Refuse so many examples, or rounds, of losses up to the bound that int64 might not hold
    their sums (ValueError)."""
    if count * bound > 1 << 62:
        raise ValueError(
            f"{count:,} losses of up to {bound:,} may add up to more than 64 bits hold"
        )


def choose_least(
    sums: Ints,
    bound: int,
    epsilon: float,
    source: RandomSource,
    neighbours: Neighbours = "add-remove",
    mechanism: Mechanism = "exponential",
) -> Choice:
    """Choose a hypothesis by its sum of losses, int64 of shape (hypotheses,); one example's loss is
    at most the bound, and the sums of all examples are exact (:func:`check_sums`).

    Raises ValueError if a parameter is out of range.
    """
    inner = pure_budget(epsilon, neighbours)
    if mechanism == "exponential":
        rate = private_rate(inner, bound, one_way=True)
        index = exponential_index(source, -sums, rate)
        # an example moves all sums by the bound at most, the same way
        selection = Charge("selections", float(rate * bound))
        spent = pure_spent(epsilon, neighbours, source.private, selection)
        return Choice(index, None, spent)
    scale = bound * noise_scale(inner, len(sums))
    sums_charge = Charge("noisy sums of losses", float(bound / scale), len(sums))
    noisy = sums + discrete_laplace_array(source, scale, len(sums))
    spent = pure_spent(epsilon, neighbours, source.private, sums_charge)
    return Choice(int(np.argmin(noisy)), tuple(int(s) for s in noisy), spent)


def chosen(learner: Any, sums: Ints, bound: int) -> tuple[Choice, tuple[tuple[str, Any], ...]]:
    """What a learner's mechanism chooses, and that parameter; the least sum without privacy."""
    mechanism = getattr(learner, "mechanism", None)
    if mechanism is None:
        return Choice(int(np.argmin(sums))), ()
    source = open_source(learner.seed)
    choice = choose_least(sums, bound, learner.epsilon, source, learner.neighbours, mechanism)
    return choice, (("mechanism", mechanism),)


@dataclass(frozen=True, slots=True)
class ErmRelease:
    """A chosen hypothesis that may be published, by its index in the list of hypotheses.

    `noisy_sums` are of losses, in units of 1/levels where those are given; `privacy` is None for a
    learner that is not private.
    """

    #: In files (:mod:`learners.core.codec`).
    kind: ClassVar[str] = "choice"

    learner: str
    index: int
    noisy_sums: tuple[int, ...] | None
    parameters: tuple[tuple[str, Any], ...]
    privacy: PrivacySpent | None


@dataclass(frozen=True, slots=True)
class ErmDiagnostics:
    """What only the curator may see: the average loss of the chosen hypothesis, and of the best
    one; of its scale."""

    examples: int
    loss: float
    least_loss: float


class _LeastLoss(WithParameters):
    """Sums of losses, checked and in whole numbers."""

    losses: Losses
    bound: int = 1
    levels: int | None = None

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose a hypothesis.

        Raises ValueError if X and y differ in length, or a loss or a parameter is out of range.

        Parameters
        ----------
        X : array, shape (n, ...)
        y : array, shape (n, ...)
        """
        own = self._fresh()
        rows, targets = unmasked(X), unmasked(y)
        if rows.ndim == 0 or targets.ndim == 0 or len(rows) != len(targets):
            raise ValueError("X and y must hold the same examples: as many rows of each")
        bound = own.levels or own.bound
        check_sums(n := len(rows), bound)
        sums = own._sum(rows, targets, bound)
        choice, more = chosen(own, sums, bound)
        losses = sums / (max(1, n) * (own.levels or 1))
        self.diagnostics_ = ErmDiagnostics(n, float(losses[choice.index]), float(losses.min()))
        parameters = (("hypotheses", len(sums)), ("bound", bound), ("levels", own.levels), *more)
        self.release_: ErmRelease = choice.release(self, parameters)
        return self

    def _sum(self, X: NDArray[Any], y: NDArray[Any], bound: int) -> Ints:
        """Sums of whole losses over the sample, int64 of shape (hypotheses,)."""
        sums, at, rows = np.zeros(0, dtype=np.int64), 0, 1
        # a sample without examples is asked for its losses too: how many hypotheses there are
        while at < len(X) or at == 0:
            found = self._whole(self.losses(X[at : at + rows], y[at : at + rows]), bound, at)
            if found.shape[0] != len(X[at : at + rows]) or (at and found.shape[1] != len(sums)):
                raise ValueError(
                    "losses must have shape (n, hypotheses): a row for each example of the batch, "
                    "and as many hypotheses for every batch"
                )
            sums = found.sum(axis=0) if at == 0 else sums + found.sum(axis=0)
            at += rows
            rows = max(1, _BATCH // len(sums))
        return np.asarray(sums, dtype=np.int64)

    def _whole(self, losses: ArrayLike, bound: int, at: int) -> Ints:
        """Losses of a batch as whole numbers 0..bound; `at` is its first row."""
        values = unmasked(losses)
        if values.ndim != 2 or values.shape[1] == 0 or values.dtype.kind not in "iufb":
            raise ValueError(
                f"losses must be numbers of shape (n, hypotheses), not {values.dtype} in "
                f"{values.ndim} dimension(s)"
            )
        most = bound if self.levels is None else 1
        wrong = ~((values >= 0) & (values <= most))
        if self.levels is None:
            wrong |= values != np.floor(values)
        if wrong.any():
            row, hypothesis = (int(i[0]) for i in np.nonzero(wrong))
            kind = f"a whole number in 0..{most}" if self.levels is None else "in [0, 1]"
            raise ValueError(
                f"row {at + row}: the loss {values[row, hypothesis]} of hypothesis {hypothesis} "
                f"is not {kind}"
            )
        if self.levels is None:
            return np.asarray(values, dtype=np.int64)
        return np.asarray(np.rint(values * bound), dtype=np.int64)


class EmpiricalRiskMinimizer(_LeastLoss):
    """The first hypothesis of the least average loss; not private.

    Its loss on new examples is within 2 alpha of the best one's wherever all averages are within
    alpha of their expectations (uniform convergence); :func:`agnostic_examples
    <learners.finite.sample_sizes.agnostic_examples>` needs fewer examples for the same.

    Parameters
    ----------
    losses, bound, levels :
        As in :class:`PrivateERM`.

    Attributes
    ----------
    release_ : ErmRelease
        Its privacy is None.
    diagnostics_ : ErmDiagnostics

    Examples
    --------
    >>> import numpy as np
    >>> centres = np.linspace(0, 1, 11)
    >>> model = EmpiricalRiskMinimizer(losses=lambda X, y: abs(y[:, None] - centres), levels=100)
    >>> model.fit(np.zeros((9, 1)), np.full(9, 0.5)).release_.index
    5
    """


class PrivateERM(_LeastLoss, after={"losses": ["epsilon"]}):
    """epsilon-private empirical risk minimization over a finite list of hypotheses.

    With probability 1 - beta the sum of losses of the chosen hypothesis exceeds the least one by
    less than bound * (ln(hypotheses) + ln(1/beta)) / epsilon
    (:func:`learners.privacy.exponential_mechanism.utility_loss`); twice that when an example is
    replaced.

    Parameters
    ----------
    losses : callable
        losses(X, y) gives the losses of every example in X, y (a batch of consecutive rows) for
        every hypothesis, shape (n, hypotheses).  Each row may depend on its own example only.
    epsilon : float
    bound : int
        Whole losses lie in 0..bound.  Ignored with `levels`.
    levels : int, optional
        Losses are real numbers in [0, 1], rounded to multiples of 1/levels.
    mechanism : {"exponential", "laplace"}
    neighbours : {"add-remove", "replace-one"}
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.

    Attributes
    ----------
    release_ : ErmRelease
        What may be published.
    diagnostics_ : ErmDiagnostics

    Examples
    --------
    >>> import numpy as np
    >>> centres = np.linspace(0, 1, 11)
    >>> model = PrivateERM(losses=lambda X, y: abs(y[:, None] - centres), levels=100, seed=1)
    >>> X, y = np.zeros((1000, 1)), np.full(1000, 0.3)
    >>> float(centres[model.fit(X, y).release_.index])
    0.30000000000000004
    """

    epsilon: float = 1.0
    mechanism: Mechanism = "exponential"
    neighbours: Neighbours = "add-remove"
    seed: int | None = None
