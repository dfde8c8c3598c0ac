"""Rows of experts by multiplicative weights, with and without privacy.

The lecture notes *Private and PAC; experts*, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from learners.finite.experts import (
    MultiplicativeWeights,
    PrivateExperts,
    hedge_rate,
    plan_experts,
    regret_bound,
)
from learners.privacy.composition import zcdp_epsilon
from promises.row import Row, Verdict, exact

_EXPERTS, _ROUNDS = 8, 400

#: Losses of a round, in view of the weights and of the round's number.
Adversary = Callable[[NDArray[np.float64], int, np.random.Generator], NDArray[np.int64]]


def _coins(weights: NDArray[np.float64], t: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.integers(0, 2, len(weights))


def _heaviest(weights: NDArray[np.float64], t: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Whoever is trusted most errs."""
    return (np.arange(len(weights)) == weights.argmax()).astype(np.int64)


def _all_but_last(
    weights: NDArray[np.float64], t: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The last expert is right, the others are as long as nobody trusts it."""
    losses = rng.integers(0, 2, len(weights))
    losses[-1] = 0
    return losses


def _turns(weights: NDArray[np.float64], t: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Halves of the experts err by turns, in ever longer blocks."""
    return ((np.arange(len(weights)) + int(math.log2(t + 1))) % 2).astype(np.int64)


_ADVERSARIES: tuple[Adversary, ...] = (_coins, _heaviest, _all_but_last, _turns)


def _regret(adversary: Adversary, rate: float, seed: int) -> float:
    """Expected loss, by the weights themselves, above the best expert's."""
    rng = np.random.default_rng(seed)
    game = MultiplicativeWeights(experts=_EXPERTS, rate=rate)
    expected = 0.0
    for t in range(_ROUNDS):
        weights = game.weights()
        losses = adversary(weights, t, rng)
        expected += float(weights @ losses)
        game.update(losses)
    return expected - float(game.cumulative.min())


def _bounded(rate: float, bound: float) -> Callable[[int], Verdict]:
    def check(runs: int) -> Verdict:
        worst = max(
            _regret(adversary, rate, seed) for seed in range(runs) for adversary in _ADVERSARIES
        )
        outcome = f"regret {worst:.1f} at most, stated {bound:.1f}"
        return exact(worst <= bound, f"{outcome}; four kinds of losses, {runs} of each")

    return check


_PRINTED = math.sqrt(math.log(_EXPERTS) / _ROUNDS)
_RATE = hedge_rate(_EXPERTS, _ROUNDS)
_PLAN = plan_experts(_EXPERTS, _ROUNDS, 1.0, 1e-6)


def _drawn(runs: int) -> Verdict:
    """The private game itself: experts that are drawn, losses that were fixed beforehand."""
    losses = np.random.default_rng(0).integers(0, 2, (_ROUNDS, _EXPERTS))
    losses[:, 3] = np.random.default_rng(1).random(_ROUNDS) < 0.2
    found = []
    for seed in range(runs):
        game = PrivateExperts(experts=_EXPERTS, rounds=_ROUNDS, seed=seed)
        game.run(losses)
        found.append(game.diagnostics_.loss - game.diagnostics_.best_loss)
    # the mean of independent regrets, each a sum of 400 numbers in [-1, 1] (Hoeffding, 0.1 %)
    off = 2 * math.sqrt(_ROUNDS * math.log(1000) / (2 * runs))
    mean = float(np.mean(found))
    outcome = f"mean regret {mean:.1f} of {runs} runs, {mean + off:.1f} at most but for 0.1 %; "
    outcome += f"stated {_PLAN.regret:.1f}"
    if mean - off > _PLAN.regret:
        return Verdict("refuted", outcome)
    return Verdict("confirmed" if mean + off <= _PLAN.regret else "not refuted", outcome)


def binomial_tail(rounds: int, least: int, numerator: int, denominator: int) -> Fraction:
    """P(Binomial(rounds, numerator / denominator) >= least), less a relative 10 * 2^-200."""
    rest = denominator - numerator
    term = math.comb(rounds, least) * numerator**least * rest ** (rounds - least)
    total = term
    for k in range(least, rounds):
        term = term * (rounds - k) * numerator // ((k + 1) * rest)
        total += term
        if term < total >> 200:
            break
    return Fraction(total, denominator**rounds)


def _printed_privacy(runs: int) -> Verdict:
    """Two experts whose first losses are exchanged; then T draws, in whole numbers."""
    del runs
    rounds, rate = 10_000, Fraction(50, 17_321)
    printed = math.exp(-rounds * float(rate))
    high, whole, least = 17_321, 34_592, 5174
    likely = binomial_tail(rounds, least, high, whole)
    unlikely = binomial_tail(rounds, least, whole - high, whole) * (1 + Fraction(1, 1 << 190))
    true = float(likely - Fraction(27182818285, 10**10) * unlikely)
    return exact(true <= printed, f"delta is at least {true:.2g}; printed {printed:.2g}")


def _account(runs: int) -> Verdict:
    """The account that is used, at the same rate: it grants no less than that delta."""
    del runs
    rounds, rate, true = 10_000, -math.log1p(-50 / 17_321), 3.2e-5
    needed = zcdp_epsilon(rounds * (2 * rate) ** 2 / 8, true)
    return exact(needed >= 1, f"at delta = {true:g} it asks for epsilon = {needed:.2f}")


_GAME = f"{_EXPERTS} experts, {_ROUNDS} rounds, losses by coins and in view of the weights"

ROWS: tuple[Row, ...] = (
    Row(
        (21,), "Notes, theorem 2 as printed",
        "The expected regret is at most alpha T + ln(K) / alpha.",
        f"{_GAME}, alpha = sqrt(ln(K) / T)",
        _bounded(_PRINTED, _PRINTED * _ROUNDS + math.log(_EXPERTS) / _PRINTED), 100, 4,
        "Losses in place of rewards: a reward is 1 less a loss.",
    ),
    Row(
        (21,), "learners/finite/experts.py, for the notes' theorem 2",
        "The same with Hoeffding's lemma: at most sqrt(T ln(K) / 2), at alpha = sqrt(8 ln(K) / T).",
        _GAME, _bounded(_RATE, regret_bound(_EXPERTS, _ROUNDS, _RATE)), 100, 4,
    ),
    Row(
        (21,), "learners/finite/experts.py, for the notes' theorem 3",
        "At the rate that a right account grants: expected regret ln(K) / alpha + alpha T / 8.",
        f"{_GAME}, epsilon = 1, delta = 1e-6",
        _bounded(_PLAN.rate, _PLAN.regret), 100, 4,
        "Basic composition or zCDP, whichever grants the larger rate.",
    ),
    Row(
        (21,), "learners/finite/experts.py, for the notes' theorem 3",
        "The same of experts that are drawn.",
        f"{_EXPERTS} experts, {_ROUNDS} rounds, epsilon = 1, delta = 1e-6; fixed losses",
        _drawn, 200, 4,
    ),
    Row(
        (21,), "Notes, theorem 3 as printed",
        "(epsilon, exp(-Omega(sqrt(T epsilon))))-DP at 12 T alpha^2 = epsilon.",
        "two experts, T = 10,000, epsilon = 1, in whole numbers", _printed_privacy, 1, 1,
        "Wrong: at a fixed T alpha^2 the draws tell neighbours apart like a Gaussian of fixed "
        "width, so delta cannot fall with T. Charged by a right account.",
        known_wrong=True,
    ),
    Row(
        (21,), "learners/finite/experts.py, for the notes' theorem 3",
        "The account that is used asks for at least the epsilon that this example shows.",
        "the example of the row before", _account, 1, 1,
    ),
)  # fmt: skip
