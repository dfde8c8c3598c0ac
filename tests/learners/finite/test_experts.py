"""Experts: regret, the private law enumerated, and the printed theorem's failure."""

from __future__ import annotations

import importlib
import itertools
import math
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from learners import MultiplicativeWeights, PrivateExperts
from learners.finite.experts import hedge_rate, plan_experts, regret_bound
from learners.privacy.accounting import Neighbours
from learners.privacy.composition import zcdp_epsilon

Losses = tuple[tuple[int, ...], ...]

# the same as in the table of promises
sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
binomial_tail = importlib.import_module("promises.experts").binomial_tail


def expected_regret(losses: NDArray[np.int64], rate: float, bound: int = 1) -> float:
    hedge = MultiplicativeWeights(experts=losses.shape[1], rate=rate, bound=bound)
    expected = 0.0
    for row in losses:
        expected += float(hedge.weights() @ row)
        hedge.update(row)
    return (expected - int(losses.sum(axis=0).min())) / bound


def adversary(experts: int, rounds: int, rate: float) -> NDArray[np.int64]:
    """Losses that fall on the heaviest expert of each round."""
    hedge = MultiplicativeWeights(experts=experts, rate=rate)
    rows = []
    for _ in range(rounds):
        rows.append((np.arange(experts) == np.argmax(hedge.weights())).astype(int))
        hedge.update(rows[-1])
    return np.array(rows)


@pytest.mark.parametrize("experts", [2, 10])
@pytest.mark.parametrize("rate", [0.01, 0.2, 1.5, None])
def test_regret_stays_within_the_bound(experts: int, rate: float | None) -> None:
    rounds = 400
    chosen = hedge_rate(experts, rounds) if rate is None else rate
    bound = regret_bound(experts, rounds, chosen)
    rng = np.random.default_rng(experts)
    for losses in (
        adversary(experts, rounds, chosen),
        rng.integers(0, 2, (rounds, experts)),
        (rng.random((rounds, experts)) < np.linspace(0.3, 0.6, experts)).astype(int),
    ):
        assert expected_regret(losses, chosen) <= bound
    if rate is None:
        assert bound == pytest.approx(math.sqrt(rounds * math.log(experts) / 2))
        # attained to a constant when the losses are fair coins
        coins = [rng.integers(0, 2, (rounds, experts)) for _ in range(30)]
        assert np.mean([expected_regret(one, chosen) for one in coins]) > 0.4 * bound


def test_losses_in_finer_units() -> None:
    losses = np.random.default_rng(1).integers(0, 11, (50, 3))
    fine = expected_regret(losses, 0.3, bound=10)
    assert fine <= regret_bound(3, 50, 0.3)
    coarse = MultiplicativeWeights(experts=3, rate=0.03)
    hedge = MultiplicativeWeights(experts=3, rate=0.3, bound=10)
    for row in losses:
        hedge.update(row)
    coarse.cumulative = hedge.cumulative
    np.testing.assert_allclose(hedge.weights(), coarse.weights())


# -- the account ---------------------------------------------------------------------------


@cache
def transcript_law(losses: Losses, rate: float) -> NDArray[np.float64]:
    """Probabilities of all sequences of draws."""
    law = np.ones(1)
    hedge = MultiplicativeWeights(experts=len(losses[0]), rate=rate)
    for row in losses:
        law = np.multiply.outer(law, hedge.weights()).ravel()
        hedge.update(row)
    return law


def true_delta(rate: float, epsilon: float, rounds: int, experts: int, by: Neighbours) -> float:
    """Largest delta at epsilon over all neighbouring tables of 0/1 losses."""
    rows = list(itertools.product((0, 1), repeat=experts))
    worst = 0.0
    for losses in itertools.product(rows, repeat=rounds):
        law = transcript_law(losses, rate)
        for changed in range(rounds):
            others = rows if by == "replace-one" else [(0,) * experts]
            for row in others:
                near = transcript_law((*losses[:changed], row, *losses[changed + 1 :]), rate)
                for one, two in ((law, near), (near, law)):
                    worst = max(worst, float(np.maximum(one - math.exp(epsilon) * two, 0).sum()))
    return worst


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("rounds", "experts"), [(2, 3), (4, 2)])
def test_every_transcript_of_small_games_is_within_the_budget(
    neighbours: Neighbours, rounds: int, experts: int
) -> None:
    epsilon = 1.0
    plan = plan_experts(experts, rounds, epsilon, 1e-6, neighbours)
    # few rounds: basic composition, no delta
    assert (plan.spent.account, plan.spent.delta) == ("basic", 0.0)
    spread = 2 if neighbours == "replace-one" else 1
    assert plan.spent.charges[0].alone * spread <= epsilon
    assert plan.spent.charges[0].times == rounds - 1
    assert true_delta(plan.rate, epsilon, rounds, experts, neighbours) <= 1e-15
    assert true_delta(2.5 * plan.rate, epsilon, rounds, experts, neighbours) > 1e-3


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_delta_of_many_rounds_is_covered(neighbours: Neighbours) -> None:
    from scipy.stats import binom

    # a first round, then all losses equal: T - 1 draws of one coin.  Worst for two experts
    rounds, epsilon, delta = 2001, 1.0, 1e-4
    plan = plan_experts(2, rounds, epsilon, delta, neighbours)
    assert plan.spent.account == "zcdp"
    assert plan.rate < hedge_rate(2, rounds)
    signs = (1, -1) if neighbours == "replace-one" else (1, 0)
    one, two = (
        binom.pmf(np.arange(rounds), rounds - 1, 1 / (1 + math.exp(-sign * plan.rate)))
        for sign in signs
    )
    true = np.maximum(one - math.exp(epsilon) * two, 0).sum()
    assert delta / 100 < true <= delta


def test_the_set_cover_account_is_not_used() -> None:
    # with so many rounds it would grant more, and it would be wrong: a round keeps mattering
    rounds = 10_000
    plan = plan_experts(2, rounds, 1.0, 1e-6)
    assert plan.spent.account == "zcdp"
    assert plan.rate < 0.01 < math.log1p(1 / (1 + math.log(1e6)))


# -- the printed theorem -------------------------------------------------------------------


def test_the_printed_theorem_fails() -> None:
    rounds, a = 10_000, Fraction(50, 17_321)
    assert 12 * rounds * a**2 <= 1
    printed = math.exp(-rounds * a)
    assert printed < 3e-13
    # Two experts; one neighbour's first losses are (0, 1), the other's (1, 0); then T draws with
    # weights 1 and 1 - a, or the other way round.  E: at least `least` draws of the first expert.
    high, whole = 17_321, 34_592
    assert Fraction(high, whole) == 1 / (2 - a)
    least = 5174
    likely = binomial_tail(rounds, least, high, whole)
    # the terms that were left out fall by a tenth at least: together below 10 * 2^-200 of the sum
    unlikely = binomial_tail(rounds, least, whole - high, whole) * (1 + Fraction(1, 1 << 190))
    e = Fraction(27182818285, 10**10)
    assert float(e) > math.e
    true = float(likely - e * unlikely)
    assert true > 3.2e-5
    assert true > 10**7 * printed
    # the account used here covers it: range 2 a' a draw, a' = -ln(1 - a)
    rho = rounds * (2 * -math.log1p(-a)) ** 2 / 8
    assert zcdp_epsilon(rho, 1e-3) < 1.0 <= zcdp_epsilon(rho, true)


def test_at_the_printed_parameters_the_account_grants_less() -> None:
    # 12 T rate^2 = 1 is far too much at the delta that is printed for it
    printed_rate = 1 / math.sqrt(12 * 10_000)
    plan = plan_experts(2, 10_000, 1.0, 2.9e-13, "replace-one")
    assert plan.rate < printed_rate / 2


# -- runs ----------------------------------------------------------------------------------


def test_draws_follow_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learners.finite.experts.plan_experts", cache(plan_experts))
    losses = np.array([[0, 1, 1], [1, 1, 0], [0, 1, 0], [0, 0, 2]])
    counts, runs = np.zeros(3), 1500
    for seed in range(runs):
        game = PrivateExperts(experts=3, rounds=4, epsilon=6.0, bound=2, seed=seed)
        counts[game.run(losses).chosen[3]] += 1
    weights = np.exp(-game.plan.rate * losses[:3].sum(axis=0) / 2)
    expected = runs * weights / weights.sum()
    assert ((counts - expected) ** 2 / expected).sum() < 2 + 5 * 2


def test_with_enough_budget_the_rate_is_hedges() -> None:
    plan = plan_experts(5, 100, 1000.0, 1e-6)
    assert plan.rate == hedge_rate(5, 100)
    assert plan.regret == pytest.approx(math.sqrt(100 * math.log(5) / 2))


def test_rounds_are_played_in_order_and_no_more_than_paid_for() -> None:
    game = PrivateExperts(experts=2, rounds=1, seed=1)
    with pytest.raises(ValueError, match="choose an expert before"):
        game.observe([0, 1])
    game.choose()
    with pytest.raises(ValueError, match="observe the losses"):
        PrivateExperts.choose(_after_one_choice())
    with pytest.raises(ValueError, match=r"the loss 2 of expert 1 is not a whole number in 0..1"):
        game.observe([0, 2])
    with pytest.raises(ValueError, match="must be 2 numbers"):
        game.observe([0, 1, 1])
    assert not hasattr(game, "release_")
    game.observe([0, 1])
    with pytest.raises(ValueError, match="all 1 rounds are over"):
        game.choose()
    with pytest.raises(ValueError, match=r"shape \(T, N\)"):
        PrivateExperts(experts=2, rounds=3).run([[0, 1]])


def _after_one_choice() -> PrivateExperts:
    game = PrivateExperts(experts=2, rounds=2, seed=1)
    game.choose()
    return game


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"experts": 1}, "at least two experts"),
        ({"rounds": 0}, "rounds must be a whole number"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"delta": 0.0}, "delta must lie"),
        ({"neighbours": "all"}, "neighbours must be"),
        ({"bound": 0}, "bound must be"),
    ],
)
def test_impossible_parameters_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PrivateExperts(**({"experts": 2, "rounds": 5} | options))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rate must be"):
        MultiplicativeWeights(experts=2, rate=math.inf)
