"""An audit by canaries: many examples that are in the sample or not, guessed from one release.

An audit of one pair of samples (:mod:`benchmarks.audits.events`) needs thousands of runs.  Where a
release says something about many examples, one run will do (Steinke, Nasr, Jagielski 2023, *Privacy
auditing with one (1) training run*): of m examples, the canaries, each is put into the sample by
the toss of a coin; whoever sees the release guesses of r of them whether they are in.  If the
learner is epsilon-DP for neighbours that add or remove an example, then given the other coins and
the guesses so far a guess is right with probability at most q = 1 / (1 + e^-epsilon), so the number
of right ones is at most as large as a binomial variable B of r and q (their theorem 5.2).  With
(epsilon, delta)-DP

    P(at least v are right) <= P(B >= v) + 2 m delta max over i >= 1 of P(v - i <= B < v) / i.

The least epsilon that this does not make improbable bounds from below what the learner loses.
Several runs add up: their canaries are canaries of one mechanism, all of the runs.  The canaries
may be anything, and whoever guesses may know all of them and all but the coins.

An audit refutes a claim; it proves none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.audits.events import Auditable
from learners.privacy.accounting import PrivacySpent
from learners.privacy.randomness import RandomSource, words

#: Of each canary, from a release: 1 for in, -1 for out, 0 for no guess.
Guess = Callable[[Any], NDArray[np.int64]]

#: No bound is above this; halvings of the interval in which it lies.
_MOST, _HALVINGS = 64.0, 50


@dataclass(frozen=True, slots=True)
class CanaryAudit:
    """Outcome of an audit by canaries.

    Attributes
    ----------
    epsilon, delta : float
        The claim: what the releases state.
    runs, canaries : int
        Runs, and canaries in all of them.
    guesses, right : int
        How many were guessed, and how many of these rightly.
    confidence : float
    lower : float
        What the learner loses at least, in nats.
    """

    epsilon: float
    delta: float
    runs: int
    canaries: int
    guesses: int
    right: int
    confidence: float
    lower: float

    @property
    def refuted(self) -> bool:
        """Whether the learner loses more than it claims, at the confidence."""
        return self.lower > self.epsilon


def chance(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Bound of the probability that so many guesses are right by an (epsilon, delta)-DP learner."""
    # loaded here: most that is imported from this package needs no scipy (decision 21)
    from scipy.special import bdtr, bdtrc

    q = 1 / (1 + np.exp(-epsilon))
    # bdtrc(k, ...) is the probability of more than k
    bound = float(bdtrc(right - 1, guesses, q)) if right else 1.0
    if delta and right:
        under = bdtr(np.arange(right), guesses, q)
        below = under[-1] - np.concatenate([under[-2::-1], [0.0]])
        bound += 2 * canaries * delta * float((below / np.arange(1, right + 1)).max())
    return min(1.0, bound)


def least_epsilon(
    canaries: int, guesses: int, right: int, delta: float = 0.0, confidence: float = 0.999
) -> float:
    """What a learner loses at least of whose canaries so many guesses were right.

    Parameters
    ----------
    canaries, guesses, right : int
        right <= guesses <= canaries.
    delta : float
    confidence : float
        Strictly between 0 and 1.

    Examples
    --------
    >>> round(least_epsilon(1000, 1000, 800), 3)
    1.144
    >>> least_epsilon(1000, 1000, 500)
    0.0
    """
    if not 0 <= right <= guesses <= canaries:
        raise ValueError(f"{right} right of {guesses} guesses of {canaries} canaries cannot be")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence}")
    low, high = 0.0, _MOST
    if chance(canaries, guesses, right, low, delta) > 1 - confidence:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if chance(canaries, guesses, right, middle, delta) > 1 - confidence:
            high = middle
        else:
            low = middle
    return low


def audit_canaries(
    factory: Callable[[], Auditable],
    canaries: tuple[ArrayLike, ArrayLike],
    guess: Guess,
    coins: RandomSource,
    *,
    runs: int = 1,
    confidence: float = 0.999,
) -> CanaryAudit:
    """Run a learner on some of the canaries, and let them be guessed.

    Parameters
    ----------
    factory : callable
        Makes a learner; it must state add/remove neighbours.
    canaries : (array, array)
        X and y of the m canaries.
    guess : callable
    coins : RandomSource
        Which canaries are in.
    runs : int
    confidence : float

    Raises
    ------
    ValueError
        If the learner claims no privacy, or that of other neighbours.
    """
    X, y = np.asarray(canaries[0]), np.asarray(canaries[1])
    guesses = right = 0
    spent = None
    for _ in range(runs):
        inside = words(coins, len(y)) >> np.uint64(63) == 1
        model = factory()
        model.fit(X[inside], y[inside])
        spent = model.release_.privacy
        if not isinstance(spent, PrivacySpent) or spent.neighbours != "add-remove":
            raise ValueError("canaries audit learners whose neighbours add or remove an example")
        outcome = guess(model.release_)
        guesses += int(np.count_nonzero(outcome))
        right += int(np.count_nonzero((outcome != 0) & ((outcome > 0) == inside)))
    if spent is None:
        raise ValueError("an audit by canaries takes a run at least")
    lower = least_epsilon(runs * len(y), guesses, right, spent.delta, confidence)
    return CanaryAudit(
        spent.epsilon, spent.delta, runs, runs * len(y), guesses, right, confidence, lower
    )
