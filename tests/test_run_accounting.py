"""What the first steps of a run have cost."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.accounting import PrivacySpent, spent_after
from learners.set_cover import plan_budget


def spent(epsilon: float, delta: float, steps: int, neighbours: str = "add-remove") -> PrivacySpent:
    return plan_budget(epsilon, delta, steps, 0.1, neighbours, True).spent  # type: ignore[arg-type]


budgets = st.builds(
    spent,
    st.floats(0.01, 20),
    st.floats(-30, -1).map(lambda exponent: 10**exponent),
    st.integers(1, 80),
    st.sampled_from(["add-remove", "replace-one"]),
)


@given(budgets)
def test_every_step_costs_something_and_no_step_more_than_the_run(privacy: PrivacySpent) -> None:
    costs = [spent_after(privacy, j)[0] for j in range(privacy.steps + 1)]
    assert costs[0] == 0
    assert costs[-1] == privacy.epsilon
    assert all(before < after for before, after in itertools.pairwise(costs))


@given(budgets)
def test_the_last_step_is_charged_what_was_left_for_it(privacy: PrivacySpent) -> None:
    """The formula, carried to the last step, gives the run's own epsilon up to rounding."""
    if privacy.steps < 2:
        return
    longer = PrivacySpent(**(privacy.to_dict() | {"steps": privacy.steps + 1}))
    # the same eta; noise that is a little finer, so that the counts cost the same in all
    formula, account = spent_after(longer, privacy.steps)
    factor = 2 if privacy.neighbours == "replace-one" else 1
    counts = privacy.epsilon_noise * (1 - privacy.steps / longer.steps)
    assert formula + factor * counts == pytest.approx(privacy.epsilon, rel=1e-7)
    assert account == privacy.account


def test_the_charge_of_each_account() -> None:
    """epsilon = 1, delta = 1e-6, 12 steps: zCDP grants eta; single steps are cheaper by basic."""
    privacy = spent(1.0, 1e-6, 12)
    assert privacy.account == "zcdp"
    first, account = spent_after(privacy, 1)
    assert account == "basic"
    assert first == pytest.approx(0.2 / 12 + privacy.eta, rel=1e-6)
    assert spent_after(privacy, 11)[1] == "zcdp"
    # many steps of a small eta: an example stops mattering once it is covered
    long = spent(1.0, 1e-6, 200)
    assert long.account == "set-cover"
    selections = math.expm1(long.eta) * (1 + math.log(1e6))
    assert spent_after(long, 199) == (
        pytest.approx(0.2 * 199 / 200 + selections, rel=1e-6),
        "set-cover",
    )


def test_a_replacement_costs_two_neighbouring_steps() -> None:
    one = spent(1.0, 1e-6, 12, "replace-one")
    half = PrivacySpent(
        **(
            one.to_dict()
            | {
                "neighbours": "add-remove",
                "epsilon": 0.5,
                "delta": 1e-6 / (1 + math.exp(0.5)),
            }
        )
    )
    for j in range(13):
        assert spent_after(one, j)[0] == pytest.approx(2 * spent_after(half, j)[0], rel=1e-9)


@pytest.mark.parametrize("steps", [-1, 13])
def test_steps_that_the_run_does_not_have_are_refused(steps: int) -> None:
    with pytest.raises(ValueError, match=r"0\.\.12"):
        spent_after(spent(1.0, 1e-6, 12), steps)
