"""Predicts with expert advice: by multiplicative weights, and privately with a correct account.

In each of T rounds one of N experts is chosen, then all experts' losses, in [0, 1], are seen.
Multiplicative weights (Hedge: Littlestone, Warmuth 1994; Freund, Schapire 1997) gives expert i the
weight exp(-rate * its losses so far).  Its expected loss exceeds the best expert's by at most

    ln N / rate + rate T / 8,     sqrt(T ln(N) / 2) at rate = sqrt(8 ln(N) / T),

for losses fixed beforehand or chosen in view of the weights.  (ln of the sum of weights falls by at
least rate * (expected loss) - rate^2/8 a round, by Hoeffding's lemma, and is at least -rate *
(loss of the best).)

Private: the experts are *drawn* by these weights, and only the draws are published.  That is the
exponential mechanism once a round.  Neighbours differ in the losses of one round:

add-remove    one has no losses (all 0) in that round.  All later scores move by 0..1 the same way:
              every later draw has bounded range rate.
replace-one   any other losses in that round.  Scores move by -1..1: bounded range 2 rate.

The first draw looks at nothing, so at most T - 1 draws are affected: basic composition, or zCDP
with range^2/8 a draw, whichever grants the larger rate (docs/privacy.md, lemma F3).  The set-cover
account is not valid here: a round keeps mattering.

Departs from the source (lecture notes *Private and PAC; experts*, theorem 3), whose printed delta
is wrong, as whole numbers show (lemma F3; benchmarks/promises/experts.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from geometry.arrays import Floats, Ints
from geometry.coordinates import unmasked
from learners.declaration import check_count, real, whole
from learners.finite.empirical_risk import check_sums
from learners.privacy.accounting import (
    GIVEN_UP,
    AccountName,
    Charge,
    Neighbours,
    PrivacySpent,
    check_budget,
    inner_budget,
)
from learners.privacy.composition import selection_account
from learners.privacy.exponential_mechanism import exponential_index
from learners.privacy.randomness import open_source
from learners.registry import BOUND


def hedge_rate(experts: int, rounds: int) -> float:
    """The rate of the least regret bound: sqrt(8 ln N / T)."""
    return math.sqrt(8 * math.log(experts) / rounds)


def regret_bound(experts: int, rounds: int, rate: float) -> float:
    """Most by which the expected loss exceeds the best expert's: ln N / rate + rate T / 8."""
    return math.log(experts) / rate + rate * rounds / 8


class MultiplicativeWeights:
    """Hedge; not private.

    Parameters
    ----------
    experts : int
        N.
    rate : float
        Nats per unit of loss.
    bound : int
        Losses are whole numbers 0..bound, in units of 1/bound.

    Attributes
    ----------
    cumulative : ndarray of int64, shape (N,)
        Losses so far, in those units.

    Examples
    --------
    >>> hedge = MultiplicativeWeights(experts=2, rate=1.0)
    >>> hedge.update([0, 1])
    >>> hedge.weights().round(3)
    array([0.731, 0.269])
    """

    def __init__(self, *, experts: int, rate: float, bound: int = 1) -> None:
        self.rate = real("rate", rate)
        if self.rate <= 0:
            raise ValueError(f"rate must be a positive number, got {rate}")
        self.experts = check_count("experts", experts)
        self.bound = whole("bound", bound)
        if not BOUND.accepts(self.bound):
            raise ValueError(BOUND.refusal(bound))
        self.cumulative = np.zeros(self.experts, dtype=np.int64)

    def weights(self) -> Floats:
        """Probability of each expert in the next round, float of shape (N,)."""
        ahead = (self.cumulative - self.cumulative.min()) / self.bound
        weights = np.exp(-self.rate * ahead)
        return np.asarray(weights / weights.sum())

    def update(self, losses: ArrayLike) -> None:
        """See the losses of a round, shape (N,).

        Raises
        ------
        ValueError
            If they are not N whole numbers in 0..bound.
        """
        self.cumulative = self.cumulative + check_losses(losses, self.experts, self.bound)


def check_losses(losses: ArrayLike, experts: int, bound: int) -> Ints:
    """Losses of one round, int64 of shape (N,).

    Raises
    ------
    ValueError
        If they are not N whole numbers in 0..bound.
    """
    values = unmasked(losses)
    if values.shape != (experts,) or values.dtype.kind not in "iufb":
        raise ValueError(f"losses of a round must be {experts} numbers, got {values.shape}")
    wrong = ~((values >= 0) & (values <= bound) & (values == np.floor(values)))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"the loss {values[i]} of expert {i} is not a whole number in 0..{bound}")
    return np.asarray(values, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ExpertsPlan:
    """What a private run may do, fixed by public numbers.

    Attributes
    ----------
    rate : float
        Nats per unit of loss in [0, 1].
    regret : float
        Bound on the expected regret over all rounds.
    spent : PrivacySpent
    """

    rate: float
    regret: float
    spent: PrivacySpent


def plan_experts(
    experts: int,
    rounds: int,
    epsilon: float,
    delta: float,
    neighbours: Neighbours = "add-remove",
    private: bool = True,
) -> ExpertsPlan:
    """The largest rate that the account grants, or the best rate without privacy if that is less.

    Raises
    ------
    ValueError
        If there are fewer than two experts or one round, or the budget states no guarantee.
    """
    check_budget(epsilon, delta)
    # refuses other neighbours; a replacement is charged by its own range, not as two steps
    inner_budget(epsilon, delta, neighbours)
    if check_count("experts", experts) < 2:
        raise ValueError("there must be at least two experts")
    draws = max(1, check_count("rounds", rounds) - 1)
    options = dict(selection_account(epsilon, delta, draws).alternatives)
    names: tuple[AccountName, ...] = ("basic", "zcdp")
    name = max(names, key=lambda one: options[one])
    spread = 2 if neighbours == "replace-one" else 1
    rate = min(options[name] * (1 - GIVEN_UP) / spread, hedge_rate(experts, rounds))
    # one round's losses are seen by all draws after it
    charges = (Charge("selections", rate, draws),)
    delta = 0.0 if name == "basic" else delta
    spent = PrivacySpent(epsilon, delta, neighbours, name, charges, private)
    return ExpertsPlan(rate, regret_bound(experts, rounds, rate), spent)


@dataclass(frozen=True, slots=True)
class ExpertsRelease:
    """The experts that were drawn.

    Attributes
    ----------
    learner : str
    chosen : tuple of int
        One a round.
    parameters : tuple of (str, value)
    privacy : PrivacySpent
        Of all rounds.
    """

    #: In files (:mod:`learners.core.codec`).
    kind: ClassVar[str] = "experts"

    learner: str
    chosen: tuple[int, ...]
    parameters: tuple[tuple[str, Any], ...]
    privacy: PrivacySpent


@dataclass(frozen=True, slots=True)
class ExpertsDiagnostics:
    """What only the curator may see: losses over all rounds, in units of 1/bound.

    Attributes
    ----------
    loss : int
        Of the experts that were drawn.
    best_loss : int
        Of the best expert.
    """

    loss: int
    best_loss: int


class PrivateExperts:
    """(epsilon, delta)-private choice of experts over a fixed number of rounds.

    Parameters
    ----------
    experts, rounds : int
        N and T, public.
    epsilon, delta : float
        Privacy of all draws together.
    bound : int
        Losses are whole numbers 0..bound, in units of 1/bound.
    neighbours : {"add-remove", "replace-one"}
        Samples are the rounds; see the module.
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.

    Attributes
    ----------
    plan : ExpertsPlan
    release_ : ExpertsRelease
        After the last round.
    diagnostics_ : ExpertsDiagnostics
        Likewise.

    Examples
    --------
    >>> game = PrivateExperts(experts=2, rounds=300, epsilon=2.0, seed=1)
    >>> for _ in range(300):
    ...     expert = game.choose()
    ...     game.observe([0, 1])
    >>> game.diagnostics_.loss < 60
    True
    """

    release_: ExpertsRelease
    diagnostics_: ExpertsDiagnostics

    def __init__(
        self,
        *,
        experts: int,
        rounds: int,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bound: int = 1,
        neighbours: Neighbours = "add-remove",
        seed: int | None = None,
    ) -> None:
        self._source = open_source(None if seed is None else whole("seed", seed, 0))
        self._rounds = check_count("rounds", rounds)
        budget = real("epsilon", epsilon), real("delta", delta)
        private = self._source.private
        self.plan = plan_experts(experts, self._rounds, *budget, neighbours, private)
        self._weights = MultiplicativeWeights(experts=experts, rate=self.plan.rate, bound=bound)
        check_sums(self._rounds, self._weights.bound)
        # per unit of the whole losses, exactly
        self._rate = Fraction(self.plan.rate) / self._weights.bound
        self._chosen: list[int] = []
        self._loss, self._seen = 0, 0

    def choose(self) -> int:
        """Draw the expert of the next round.

        Raises
        ------
        ValueError
            If all rounds are over, or the losses of the last one have not been observed.
        """
        if len(self._chosen) == self._rounds:
            raise ValueError(f"all {self._rounds} rounds are over: the account grants no more")
        if len(self._chosen) > self._seen:
            raise ValueError("observe the losses of this round before the next choice")
        self._chosen.append(exponential_index(self._source, -self._weights.cumulative, self._rate))
        return self._chosen[-1]

    def observe(self, losses: ArrayLike) -> None:
        """See the losses of the round, shape (N,).

        Raises
        ------
        ValueError
            If no expert has been chosen, or the losses are not N whole numbers in 0..bound.
        """
        if len(self._chosen) == self._seen:
            raise ValueError("choose an expert before the losses of a round are observed")
        values = check_losses(losses, self._weights.experts, self._weights.bound)
        self._weights.update(values)
        self._loss += int(values[self._chosen[-1]])
        self._seen += 1
        if self._seen < self._rounds:
            return
        self.diagnostics_ = ExpertsDiagnostics(self._loss, int(self._weights.cumulative.min()))
        parameters = (
            ("experts", self._weights.experts),
            ("rounds", self._rounds),
            ("bound", self._weights.bound),
        )
        name = type(self).__name__
        spent = self.plan.spent.of_run()
        self.release_ = ExpertsRelease(name, tuple(self._chosen), parameters, spent)

    def run(self, losses: ArrayLike) -> ExpertsRelease:
        """Play all rounds with these losses, shape (T, N), none of them seen before its choice."""
        table = unmasked(losses)
        if table.ndim != 2 or len(table) != self._rounds:
            raise ValueError(f"losses must have shape (T, N), T = {self._rounds}: {table.shape}")
        for row in table:
            self.choose()
            self.observe(row)
        return self.release_
