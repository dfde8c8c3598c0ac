"""Experts: losses, the private law enumerated, and rounds in order."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from heard_draws import heard_choices
from numpy.typing import NDArray

from learners import MultiplicativeWeights, PrivateExperts
from learners.finite import experts
from learners.finite.experts import hedge_rate, plan_experts, regret_bound
from learners.privacy.accounting import Neighbours

Losses = tuple[tuple[int, ...], ...]


def expected_regret(losses: NDArray[np.int64], rate: float, bound: int = 1) -> float:
    hedge = MultiplicativeWeights(experts=losses.shape[1], rate=rate, bound=bound)
    expected = 0.0
    for row in losses:
        expected += float(hedge.weights() @ row)
        hedge.update(row)
    return (expected - int(losses.sum(axis=0).min())) / bound


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
def test_every_transcript_of_small_games_is_within_the_budget(neighbours, rounds, experts):
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


# -- runs ----------------------------------------------------------------------------------


def test_experts_are_drawn_by_their_losses_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = np.array([[0, 1, 1], [1, 1, 0], [0, 1, 0], [0, 0, 2]])
    heard = heard_choices(monkeypatch, experts, 1)
    game = PrivateExperts(experts=3, rounds=4, epsilon=6.0, bound=2, seed=1)
    assert tuple(game.run(losses).chosen) == (1, 1, 1, 1)
    sums = np.vstack([np.zeros((1, 3), dtype=int), np.cumsum(losses, axis=0)[:3]])
    assert [scores for scores, *_ in heard] == (-sums).tolist()
    assert [float(rate) for _, rate, _ in heard] == pytest.approx([game.plan.rate / 2] * 4)


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
        ({"bound": 2**62}, "bound must be"),  # the losses' sum would wrap around
    ],
)
def test_impossible_parameters_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PrivateExperts(**({"experts": 2, "rounds": 5} | options))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rate must be"):
        MultiplicativeWeights(experts=2, rate=math.inf)
