"""What each account grants the steps of a Boolean cover."""

from __future__ import annotations

import math
from typing import Any

import pytest

from learners.boolean.conjunction import NOISE_SHARE, cover_budget
from learners.cover.set_cover import plan_budget
from learners.privacy.composition import advanced_rate, selection_account


@pytest.mark.parametrize("steps", [1, 12, 300])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_each_account_grants_what_it_says(steps: int, neighbours: Any) -> None:
    def plan(account: Any) -> Any:
        return cover_budget(1.0, 1e-6, steps, 0.1, neighbours, True, account)

    best = plan("optimal")
    assert best == plan_budget(1.0, 1e-6, steps, 0.1, neighbours, True, NOISE_SHARE)
    inner = (1.0, 1e-6) if neighbours == "add-remove" else (0.5, 1e-6 / (1 + math.exp(0.5)))
    rates = dict(selection_account((1 - NOISE_SHARE) * inner[0], inner[1], steps).alternatives)
    for account in ("basic", "zcdp", "set-cover"):
        found = plan(account)
        assert found.eta == pytest.approx(rates[account], rel=1e-7)
        counts, selections = found.spent.charges
        assert (selections.each, found.spent.account) == (found.eta, account)
        assert found.eta <= best.eta
        assert counts.alone == pytest.approx(NOISE_SHARE * inner[0], rel=1e-15)
        assert (found.scale, found.margin) == (best.scale, best.margin)
    naive = plan("naive")
    advanced = advanced_rate((1 - NOISE_SHARE) * inner[0], inner[1], steps)
    assert naive.eta == pytest.approx(max(rates["basic"], advanced) / 2, rel=1e-7)
    assert naive.spent.account == ("advanced" if advanced > rates["basic"] else "basic")
    # whatever the naive account grants, the better ones grant more than twice as much
    assert naive.eta < best.eta / 1.99


@pytest.mark.parametrize("steps", [1, 10, 1000])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (8.0, 0.01)])
def test_advanced_composition_is_solved_for_its_rate(
    epsilon: float, delta: float, steps: int
) -> None:
    eta = advanced_rate(epsilon, delta, steps)

    def cost(rate: float) -> float:
        return rate * math.sqrt(2 * steps * math.log(1 / delta)) + steps * rate * math.expm1(rate)

    assert cost(eta) <= epsilon
    assert cost(eta * 1.000001) > epsilon
    with pytest.raises(ValueError, match="at least 1"):
        advanced_rate(epsilon, delta, 0)
