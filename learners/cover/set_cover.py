"""Runs the private set cover of KMMS section 3: a union or an intersection of pieces of any kind.

Disjunction (a union of pieces): in each of m steps a noisy count b of the positive examples
still alive is drawn, a piece T is selected by the exponential mechanism with score
min{#S1 in T - b/k, -#S0 in T}, and the examples in T are removed.  Conjunction (an
intersection) swaps the roles: negatives outside a halfplane are gained, positives outside are
lost, and what lies outside is removed.

    b = #gain + DiscreteLaplace(m / epsilon_noise) - Delta,
    Delta = ceil(m / epsilon_noise * ln(m / beta)),

so that #gain - 2 Delta <= b <= #gain in all steps with probability 1 - beta.

The number of steps is public and never cut short; but a run with k = "auto" may end sooner, by
its noisy counts, and is charged for all its steps (:func:`ends_before`; docs/privacy.md, lemma 9).
Counts and selections are charged together, by the optimal account
(:mod:`learners.privacy.composition`; lemma 4), once the samplers' arithmetic has been paid for
(lemma 5).  KMMS spend epsilon on each and so twice epsilon in all.

For comparison the same run by other accounts (:func:`by_account`; lemma A1), the *naive* one above
all, by which KMMS motivate their section 3 (example 3.3): every selection is a general exponential
mechanism, weighted by exp(eta' q / 2) and eta'-DP, composed by basic or advanced composition,
whichever grants more.  With m proportional to k the loss of the run grows like k^2 or k^1.5; by the
set-cover account, whose eta does not depend on m, like k.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from geometry.arrays import Flags
from geometry.grid_counts import GridCounts
from learners.core.records import Mistakes, StepDiagnostics, StepRecord, StepRelease, inside_piece
from learners.core.selection import (
    Role,
    Sampler,
    Score,
    Selected,
    Watch,
    mistakes_score,
    set_cover_score,
)
from learners.declaration import check_count, check_open_unit
from learners.privacy.accounting import (
    MOST_RATE,
    AccountName,
    Charge,
    Neighbours,
    PrivacySpent,
    after_arithmetic,
    check_budget,
    inner_budget,
    neglected_delta,
    noise_scale,
)
from learners.privacy.composition import advanced_rate, run_rate, selection_account
from learners.privacy.exponential_mechanism import log_over
from learners.privacy.noise import discrete_laplace
from learners.privacy.randomness import RandomSource

#: What follows the pieces of a union: their edges drawn again (:mod:`learners.cover.sharpening`),
#: or nothing.
Finish = Literal["sharpen", "none"]

#: Pieces of a good hypothesis; "auto" where nobody knows (:func:`ends_before`).
Pieces = int | Literal["auto"]

#: What the noisy counts may cost alone, in parts of epsilon; they cost the selections hardly any
#: rate, but for very few steps (docs/decisions/0010-the-optimal-account.md).
NOISE_SHARE = 0.2

#: Steps for each unit of k: exp(-3), a twentieth, of the examples to gain may be left.
_STEPS_PER_K = 3

#: The same of triangles, of which later ones are noise
#: (docs/decisions/0016-k-not-told.md), and whose edges may be drawn again afterwards.
_TRIANGLES_PER_K = 2

#: Most steps of a run with k = "auto" (docs/decisions/0016-k-not-told.md).
_AUTO_STEPS = 8

#: What its noisy counts may cost alone, in parts of epsilon: they steer it.
_AUTO_NOISE_SHARE = 0.6

#: It ends where what is left to gain weighs fewer nats, by a noisy count without its margin.
_LEAST_WEIGHT = 5.0


def noise_share(k: Pieces) -> float:
    """What the noisy counts of a run may cost alone, in parts of its epsilon."""
    return _AUTO_NOISE_SHARE if k == "auto" else NOISE_SHARE


def score_k(k: Pieces) -> int:
    """The k of the score: with "auto" each piece is asked for all that is left."""
    return 1 if k == "auto" else k


def ends_before(k: Pieces, budget: Budget, noisy: int) -> bool:
    """Whether a run ends before a step with that noisy count, which is never its first."""
    return k == "auto" and budget.eta * (noisy + budget.margin) < _LEAST_WEIGHT


def default_steps(k: Pieces, *, triangles: bool = False) -> int:
    """Steps when none are given: one piece needs one step, k pieces three each, triangles two.

    KMMS's m = ceil(2k ln(2/alpha)) is what their theorem needs; in practice its later steps
    cost more noise than they gain.
    """
    if k == "auto":
        return _AUTO_STEPS
    return 1 if k == 1 else (_TRIANGLES_PER_K if triangles else _STEPS_PER_K) * k


def theorem_steps(k: int, alpha: float) -> int:
    """KMMS's number of steps, ceil(2k ln(2/alpha))."""
    return math.ceil(2 * k * log_over(2, alpha))


def step_count(
    n_steps: int | None, k: Pieces, alpha: float | None = None, *, triangles: bool = False
) -> int:
    """Steps as given, or as alpha asks for, or the default.

    Raises
    ------
    ValueError
        If a number is out of range, or alpha is given without k.
    """
    if n_steps is not None:
        return check_count("the number of steps", n_steps)
    if alpha is None:
        return default_steps(k, triangles=triangles)
    if k == "auto":
        raise ValueError("alpha chooses the number of steps by k: give k, or no alpha")
    check_open_unit(alpha=alpha)
    return theorem_steps(k, alpha)


#: In a cover that will be sharpened, the examples that a step has still to cover weigh no more
#: nats together, by the noisy counts: at first 100, later 120 times the root of the share that is
#: left (docs/decisions/0015-sharpening.md).
_FIRST_NATS, _LATER_NATS = 100.0, 120.0


@dataclass(frozen=True, slots=True)
class Budget:
    """What one run may spend, fixed before it starts by public numbers alone.

    Attributes
    ----------
    steps : int
    scale : Fraction or None
        Scale of the integer Laplace noise of each count, in examples; None where none is drawn.
    margin : int
        Delta, taken off each noisy count.
    eta : float
        Nats per example in each selection.
    spent : PrivacySpent
    """

    steps: int
    scale: Fraction | None
    margin: int
    eta: float
    spent: PrivacySpent


def plan_budget(
    epsilon: float,
    delta: float,
    steps: int,
    beta: float,
    neighbours: Neighbours,
    private: bool,
    noise_share: float = NOISE_SHARE,
) -> Budget:
    """Noise of the counts and rate of the selections of a run that is (epsilon, delta)-DP.

    `noise_share` is what the noisy counts may cost alone, in parts of epsilon; at 0 none are drawn.

    Raises
    ------
    ValueError
        If a parameter states no guarantee, or delta does not pay for the events that the samplers'
        arithmetic neglects.
    """
    check_budget(epsilon, delta)
    inner_epsilon, _ = inner_budget(epsilon, delta, neighbours)
    epsilon_noise = noise_share * inner_epsilon
    scale = noise_scale(epsilon_noise, steps) if epsilon_noise else None

    def granted(delta: float) -> float:
        inner = inner_budget(epsilon, delta, neighbours)
        left = after_arithmetic(*inner, steps)
        return min(run_rate(*left, steps, epsilon_noise / steps), MOST_RATE)

    # charged at the rate that all of delta would grant: the lower one that is used neglects less
    neglected = neglected_delta(granted(delta), steps, neighbours)
    if neglected >= delta:
        raise ValueError(
            f"delta = {delta:g} does not pay for what the arithmetic of {steps} selections "
            f"neglects at epsilon = {epsilon:g}: use a delta above {neglected:.1e}, or a smaller "
            "epsilon"
        )
    eta = granted(delta - neglected)
    selections, margin = Charge("selections", eta, steps), 0
    charges: tuple[Charge, ...] = (selections,)
    if scale is not None:
        charges = Charge("noisy counts", epsilon_noise / steps, steps), selections
        margin = math.ceil(float(scale) * log_over(steps, beta))
    spent = PrivacySpent(epsilon, delta, neighbours, "optimal", charges, private)
    return Budget(steps, scale, margin, eta, spent)


def rate_before_sharpening(eta: float, noisy: int, first: int) -> float:
    """Nats per example in the selections of a cover that will be sharpened; at most eta.

    Where there are many examples, triangles need not fit as well as they could: what they leave,
    sharpening finds, and draws from a law that is less sharp take a fraction of the time.

    Parameters
    ----------
    eta : float
        What the budget grants.
    noisy, first : int
        The step's noisy count and the first step's, which are published.
    """
    left, all_of_them = max(1, noisy), max(1, first)
    return min(eta, _FIRST_NATS / left, _LATER_NATS / math.sqrt(left * all_of_them))


def private_steps(
    counts: GridCounts,
    *,
    role: Role,
    k: Pieces,
    budget: Budget,
    selection: Sampler,
    source: RandomSource,
    watch: Watch | None = None,
    sharpened: bool = False,
    expect: Callable[[GridCounts, Score, float], None] | None = None,
) -> Iterator[StepRecord]:
    """Run the engine, one record a step; the last one's `steps` is the number of steps made.

    Parameters
    ----------
    counts : GridCounts
        Examples on the grid.
    role : {"disjunction", "conjunction"}
    k : int or "auto"
        Pieces of a good hypothesis.
    budget : Budget
    selection : Sampler
    source : RandomSource
    watch : callable, optional
        Called from inside every selection; may raise Cancelled.
    sharpened : bool
        Whether the rate is that of :func:`rate_before_sharpening`.
    expect : callable, optional
        Told the examples of the next selection, its score and rate, before a step is yielded.
    """
    cover = Cover(counts, role)

    def look() -> tuple[GridCounts, int | None]:
        """The examples alive, and the step's noisy count if any."""
        alive = counts.where(cover.alive)
        if budget.scale is None:
            return alive, None
        return alive, expected_count(alive, role, budget) + discrete_laplace(source, budget.scale)

    started = time.perf_counter()
    (alive, noisy), step, steps = look(), 0, budget.steps
    first = noisy if sharpened else None
    score, rate = step_law(alive, role, k, budget, noisy, first)
    while step < steps:
        step += 1
        selected = selection.select(alive, score, rate / score.k, source, watch)
        released = StepRelease(selected.piece, noisy)
        diagnostics = cover.take(selected, score, started, rate)
        started = time.perf_counter()
        if step < steps:
            alive, noisy = look()
            score, rate = step_law(alive, role, k, budget, noisy, first)
            # the count that ends a run is paid for like those of all steps
            ends = noisy is not None and ends_before(k, budget, noisy)
            steps = step if ends else steps
            if expect is not None and not ends:
                expect(alive, score, rate / score.k)
        yield StepRecord(step, steps, released, diagnostics)


def expected_count(alive: GridCounts, role: Role, budget: Budget) -> int:
    """The noisy count of a step, but for its noise.  Private."""
    return (alive.positives if role == "disjunction" else alive.negatives) - budget.margin


def step_law(
    alive: GridCounts, role: Role, k: Pieces, budget: Budget, noisy: int | None, first: int | None
) -> tuple[Score, float]:
    """The score of a step by its noisy count, and nats per example.

    Without a count it is that of one piece alone.  `first` is the first step's count, in a cover
    that will be sharpened.
    """
    if noisy is None:
        score = mistakes_score(alive.positives)
    else:
        score = set_cover_score(role, score_k(k), noisy, alive.positives, alive.negatives)
    rate = budget.eta
    if noisy is not None and first is not None:
        rate = rate_before_sharpening(rate, noisy, first)
    return score, rate


class Cover:
    """Which examples of a run are alive, and how wrong it is so far: for the curator.

    Attributes
    ----------
    alive : ndarray of bool, shape (m,)
        Entries whose examples no piece has decided.
    """

    def __init__(self, counts: GridCounts, role: Role) -> None:
        self._counts = counts
        self._union = role == "disjunction"
        # a union labels 1 what it decides, an intersection 0
        self._mistakes = Mistakes(counts, not self._union)
        self.alive: Flags = np.ones(len(counts), dtype=np.bool_)

    def take(
        self, selected: Selected, score: Score, started: float, rate: float = 0.0
    ) -> StepDiagnostics:
        """Remove what the piece decides, and say what it did; it was drawn at so many nats per
        example."""
        held = inside_piece(selected.piece, self._counts.points)
        # examples of each label: dead, alive outside, alive inside
        outside, inside = self._counts.by_group(self.alive * (1 + held), 3).T[1:].tolist()
        decided = self.alive & (held == self._union)
        self.alive = self.alive & ~decided
        self._mistakes.relabel(np.flatnonzero(decided), self._union)
        return self._mistakes.diagnostics(
            (outside[0] + inside[0], outside[1] + inside[1]),
            tuple(inside if self._union else outside),
            score=score.value(inside[1], inside[0]) / score.k,
            seconds=time.perf_counter() - started,
            rate=rate,
            **selected.progress.work(),
        )


AccountChoice = Literal["optimal", "naive", "basic", "zcdp", "set-cover"]


def by_account(budget: Budget, account: AccountChoice) -> Budget:
    """The same run with the rate that this account grants its selections.

    Parameters
    ----------
    budget : Budget
        By the optimal account, with noisy counts, of neighbours that add, remove or replace one
        example.
    account : {"optimal", "naive", "basic", "zcdp", "set-cover"}

    Raises
    ------
    ValueError
        If the budget is too small for it.
    """
    if account == "optimal":
        return budget
    rates, kept = rates_by_account(budget)
    name: AccountName
    if account == "naive":
        name = max(("basic", "advanced"), key=lambda one: rates[one])
        rate = rates[name] / 2
    else:
        name, rate = account, rates[account]
    eta, counts = rate * kept, budget.spent.charge("noisy counts")
    assert counts is not None
    charges = (counts, Charge("selections", eta, budget.steps))
    return replace(budget, eta=eta, spent=replace(budget.spent, account=name, charges=charges))


def rates_by_account(budget: Budget) -> tuple[dict[AccountName, float], float]:
    """Nats for each selection by every other account, with the same noisy counts, and the part of
    them that an account keeps for the rounding of its own lines.

    By "basic" and "advanced" composition a selection has half of these nats per example: KMMS weigh
    by exp(epsilon^ q / 2).
    """
    spent, steps = budget.spent, budget.steps
    assert spent.neighbours != "replace-label"  # of a set cover
    inner = inner_budget(spent.epsilon, spent.delta, spent.neighbours)
    counts = spent.charge("noisy counts")
    left = after_arithmetic(inner[0] - (counts.alone if counts else 0.0), inner[1], steps)
    granted = selection_account(*left, steps)
    rates: dict[AccountName, float] = dict(granted.alternatives)
    kept = granted.eta / rates[granted.name]
    return rates | {"advanced": advanced_rate(*left, steps)}, kept
