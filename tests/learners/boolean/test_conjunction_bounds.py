"""Conjunctions: how many examples are enough, and what each account grants."""

import math
from typing import Any

import pytest

from learners.boolean.conjunction import NOISE_SHARE, cover_budget
from learners.boolean.consistent_conjunction import (
    consistency_examples,
    consistent_examples,
    greedy_examples,
    log_conjunctions,
    log_formulas,
)
from learners.cover.set_cover import plan_budget
from learners.privacy.composition import advanced_rate, selection_account
from learners.theory.cover_sizes import cover_examples, cover_steps

# -- bounds --------------------------------------------------------------------------------


def test_sizes_of_classes() -> None:
    assert log_conjunctions(4) == pytest.approx(math.log(82), rel=1e-12)
    assert log_conjunctions(4, monotone=True) == pytest.approx(math.log(16), rel=1e-12)
    assert log_conjunctions(5000) == pytest.approx(5000 * math.log(3))
    for d, most in ((6, 2), (9, 3)):
        number = sum(math.comb(2 * d, i) for i in range(most + 1))
        assert log_formulas(d, most) == pytest.approx(math.log(number), rel=1e-9)
    assert log_formulas(4, 8) == log_conjunctions(4)


def test_bounds_in_closed_form() -> None:
    assert consistent_examples(10, 0.1, 0.05) == math.ceil((math.log(59050) + math.log(20)) / 0.1)
    assert consistent_examples(10, 0.1, 0.05, monotone=True) == math.ceil(math.log(20480) / 0.1)
    for size, monotone in ((2**6, True), (3**6 + 1, False)):
        a = math.log(size) + math.log(2 / 0.05)
        n = consistency_examples(6, 0.1, 0.05, 0.5, monotone=monotone)
        # put back into (2): e = A / (eta n), t = A / n
        for count, enough in ((n, True), (n - 1, False)):
            e, t = a / (0.5 * count), a / count
            assert (e + t + math.sqrt(t * t + 2 * t * e) <= 0.1) == enough
    assert consistency_examples(6, 0.1, 0.05, 1.0, "replace-one") == n
    n = greedy_examples(1000, 3, 0.1, 0.05)
    for count, enough in ((n, True), (n - 1, False)):
        log_class = log_formulas(1000, math.ceil(3 * math.log(count)))
        assert (log_class + math.log(20) <= 0.1 * count) == enough
    assert n < consistent_examples(1000, 0.1, 0.05) / 9


def test_the_plan_of_a_private_cover() -> None:
    plan = cover_examples(50, 3, 0.1, 0.06)
    assert (plan.steps, plan.beta) == (cover_steps(3, 0.1), pytest.approx(0.02))
    budget = cover_budget(1.0, 1e-6, plan.steps, 0.02, "add-remove", True)
    assert (plan.eta, plan.noise) == (budget.eta, budget.margin)
    assert plan.selection_loss == pytest.approx(math.log(101 * plan.steps / 0.02) / plan.eta)
    for n, enough in ((plan.examples, True), (plan.examples - 1, False)):
        wrong = 2 * plan.noise + (3 + plan.steps) * plan.selection_loss
        e = (2 / 3) ** plan.steps + wrong / n
        t = (log_formulas(50, plan.steps) + math.log(50)) / n
        assert (e + t + math.sqrt(t * t + 2 * t * e) <= 0.1) == enough
    naive = cover_examples(50, 3, 0.1, 0.06, account="naive")
    assert naive.examples > 1.5 * plan.examples


@pytest.mark.parametrize("bad", [0.0, 1.0, -1.0, math.nan])
def test_bounds_refuse_what_is_no_probability(bad: float) -> None:
    for bound in (
        lambda a, b: consistent_examples(3, a, b),
        lambda a, b: greedy_examples(3, 1, a, b),
        lambda a, b: consistency_examples(3, a, b, 1.0),
        lambda a, b: cover_examples(3, 1, a, b),
    ):
        with pytest.raises(ValueError, match="alpha"):
            bound(bad, 0.1)
        with pytest.raises(ValueError, match="beta"):
            bound(0.1, bad)
    with pytest.raises(ValueError, match="k must"):
        cover_examples(3, 0, 0.1, 0.1)


# -- accounts ------------------------------------------------------------------------------


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
def test_advanced_composition_is_solved_for_its_rate(epsilon, delta, steps):
    eta = advanced_rate(epsilon, delta, steps)

    def cost(rate: float) -> float:
        return rate * math.sqrt(2 * steps * math.log(1 / delta)) + steps * rate * math.expm1(rate)

    assert cost(eta) <= epsilon
    assert cost(eta * 1.000001) > epsilon
    with pytest.raises(ValueError, match="at least 1"):
        advanced_rate(epsilon, delta, 0)
