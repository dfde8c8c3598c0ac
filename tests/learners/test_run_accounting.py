"""What the first steps of a run have cost."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from learners.cover.set_cover import plan_budget
from learners.privacy.accounting import ARITHMETIC, MOST_RATE, Charge, PrivacySpent, neglected_delta
from learners.privacy.composition import run_delta, run_epsilon, selection_account, spent_after


def spent(epsilon: float, delta: float, steps: int, neighbours: str = "add-remove") -> PrivacySpent:
    return plan_budget(epsilon, delta, steps, 0.1, neighbours, True).spent  # type: ignore[arg-type]


def eta_of(privacy: PrivacySpent) -> float:
    selections = privacy.charge("selections")
    return selections.each


budgets = st.builds(
    spent,
    st.floats(0.01, 20),
    st.floats(-30, -1).map(lambda exponent: 10**exponent),
    st.integers(1, 80),
    st.sampled_from(["add-remove", "replace-one"]),
)


@given(budgets, st.data())
def test_every_step_costs_something_and_no_step_more_than_the_run(
    privacy: PrivacySpent, data: st.DataObject
) -> None:
    last = privacy.steps
    # the ends, and two steps that follow one another anywhere between
    j = data.draw(st.integers(0, last - 1))
    costs = [spent_after(privacy, i)[0] for i in sorted({0, 1, j, j + 1, last - 1, last})]
    assert costs[0] == 0
    assert costs[-1] == privacy.epsilon
    assert all(before < after for before, after in itertools.pairwise(costs))


@given(budgets)
def test_the_last_step_is_charged_what_was_left_for_it(privacy: PrivacySpent) -> None:
    """The formula, carried to the last step, gives the run's own epsilon up to rounding."""
    if privacy.steps < 2:
        return
    # the same eta and noise
    more = privacy.steps + 1
    charges = tuple(replace(charge, times=more) for charge in privacy.charges)
    longer = replace(privacy, charges=charges)
    formula, account = spent_after(longer, privacy.steps)
    if eta_of(privacy) < MOST_RATE:
        assert formula == pytest.approx(privacy.epsilon, rel=1e-7)
    else:
        # a rate below the granted one costs less
        assert formula < privacy.epsilon
    assert account == privacy.account


def test_the_charge_of_counts_and_selections_together() -> None:
    """epsilon = 1, delta = 1e-6, 12 steps."""
    privacy = spent(1.0, 1e-6, 12)
    assert privacy.account == "optimal"
    first, account = spent_after(privacy, 1)
    assert account == "optimal"
    # one step is little but its count and its range
    assert first == pytest.approx(0.2 / 12 + eta_of(privacy), rel=1e-2)
    for j in (2, 7, 11):
        charge = spent_after(privacy, j)[0]
        assert charge == pytest.approx(run_epsilon(eta_of(privacy), 1e-6, j, 0.2 / 12), rel=1e-8)
        assert run_delta(eta_of(privacy), j, charge, 0.2 / 12) <= 1e-6
        assert run_delta(eta_of(privacy), j, 0.99 * charge, 0.2 / 12) > 1e-6


def test_the_arithmetic_of_every_draw_is_charged() -> None:
    """To the last digits: epsilon for the draws that were made, delta for all of the run."""
    privacy = spent(1.0, 1e-6, 12)
    eta = eta_of(privacy)
    delta = (1e-6 - neglected_delta(eta, 12, "add-remove")) * math.exp(-12 * ARITHMETIC)
    for j in (1, 5, 11):
        ideal = run_epsilon(eta, delta, j, 0.2 / 12)
        assert spent_after(privacy, j)[0] - ideal == pytest.approx(2 * j * ARITHMETIC, rel=1e-3)


def test_the_charge_of_each_other_account() -> None:
    """Stored runs of general accounts keep their statements: 12 and 200 steps, 0.2 on counts."""

    def stored(steps: int) -> PrivacySpent:
        granted = selection_account(0.8, 1e-6, steps)
        planned = spent(1.0, 1e-6, steps)
        charges = (planned.charges[0], Charge("selections", granted.eta, steps))
        return replace(planned, account=granted.name, charges=charges)

    privacy = stored(12)
    # zCDP grants eta; single steps are cheaper by basic
    assert privacy.account == "zcdp"
    first, account = spent_after(privacy, 1)
    assert account == "basic"
    assert first == pytest.approx(0.2 / 12 + eta_of(privacy), rel=1e-6)
    assert spent_after(privacy, 11)[1] == "zcdp"
    # many steps of a small eta: an example stops mattering once it is covered
    long = stored(200)
    assert long.account == "set-cover"
    selections = math.expm1(eta_of(long)) * (1 + math.log(1e6))
    assert spent_after(long, 199) == (
        pytest.approx(0.2 * 199 / 200 + selections, rel=1e-6),
        "set-cover",
    )


def test_a_replacement_costs_two_neighbouring_steps() -> None:
    one = spent(1.0, 1e-6, 12, "replace-one")
    delta = 1e-6 / (1 + math.exp(0.5))
    half = replace(one, neighbours="add-remove", epsilon=0.5, delta=delta)
    for j in range(13):
        assert spent_after(one, j)[0] == pytest.approx(2 * spent_after(half, j)[0], rel=1e-9)


def test_a_negative_number_of_steps_is_refused_and_after_the_last_all_is_spent() -> None:
    privacy = spent(1.0, 1e-6, 12)
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        spent_after(privacy, -1)
    assert spent_after(privacy, 13) == (1.0, "optimal")
