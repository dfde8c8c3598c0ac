"""The accounts, and what the first steps of a run have cost."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from enumerated_runs import PIECES, Model, lone_example, neighbours
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from tiny_samples import excess

from learners.core.codec_parts import privacy_from_dict, privacy_to_dict
from learners.core.selection import Role
from learners.cover.set_cover import plan_budget
from learners.privacy.accounting import (
    ARITHMETIC,
    LEAST_DELTA,
    MOST_RATE,
    Charge,
    PrivacySpent,
    after_arithmetic,
    check_budget,
    halve_for_replacement,
    neglected_delta,
    noise_scale,
)
from learners.privacy.composition import (
    Account,
    run_delta,
    run_epsilon,
    run_rate,
    selection_account,
    spent_after,
    zcdp_budget,
    zcdp_epsilon,
)

BUDGETS = [(0.1, 1e-9), (0.5, 0.05), (1.0, 1e-6), (3.0, 1e-12), (8.0, 1e-3)]
NO_EPSILONS = [0.0, -1.0, math.nan, math.inf]
NO_DELTAS = [0.0, 1.0, -0.1, 2.0, math.nan]


def planned(
    epsilon: float, delta: float, steps: int, neighbours: str = "add-remove"
) -> PrivacySpent:
    return plan_budget(epsilon, delta, steps, 0.1, neighbours, True).spent  # type: ignore[arg-type]


# -- conversions ---------------------------------------------------------------------------


def orders() -> NDArray[np.float64]:
    """a - 1 for Renyi orders a, dense on a log scale."""
    return np.logspace(-6, 8, 400_001)


def brute_epsilon(rho: float, delta: float) -> float:
    """Proposition 12 of Canonne, Kamath, Steinke over a grid of orders."""
    b = orders()
    a = 1 + b
    return float(np.min(a * rho + (math.log(1 / delta) - np.log(a)) / b + np.log1p(-1 / a)))


def brute_delta(rho: float, epsilon: float) -> float:
    b = orders()
    a = 1 + b
    return float(np.exp(np.min(b * (a * rho - epsilon) + b * np.log1p(-1 / a) - np.log(a))))


def gaussian_delta(rho: float, epsilon: float) -> float:
    """Exact delta of the Gaussian mechanism that is tightly rho-zCDP (Balle, Wang 2018)."""
    shift = math.sqrt(2 * rho)

    def normal(z: float) -> float:
        return math.erfc(-z / math.sqrt(2)) / 2

    return normal(shift / 2 - epsilon / shift) - math.exp(epsilon) * normal(
        -shift / 2 - epsilon / shift
    )


@pytest.mark.parametrize("rho", [1e-4, 0.003, 0.02, 0.5, 4.0])
@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-6, 1e-12])
def test_zcdp_epsilon_is_the_optimum_over_orders(rho: float, delta: float) -> None:
    best = max(0.0, brute_epsilon(rho, delta))
    assert zcdp_epsilon(rho, delta) == pytest.approx(best, rel=1e-7, abs=0)


@pytest.mark.parametrize("rho", [0.001, 0.02, 0.3])
@pytest.mark.parametrize("deviations", [0.5, 2.0, 4.0])
def test_zcdp_conversion_covers_the_gaussian_mechanism_closely(rho, deviations):
    epsilon = rho + deviations * math.sqrt(2 * rho)
    exact = gaussian_delta(rho, epsilon)
    assert zcdp_epsilon(rho, 8 * exact) < epsilon <= zcdp_epsilon(rho, exact)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_zcdp_budget_is_the_largest_that_converts(epsilon: float, delta: float) -> None:
    rho = zcdp_budget(epsilon, delta)
    assert brute_epsilon(rho, delta) <= epsilon * (1 + 1e-8)
    assert brute_epsilon(rho * 1.0001, delta) > epsilon
    assert brute_delta(rho, epsilon) == pytest.approx(delta, rel=1e-4, abs=0)
    assert zcdp_epsilon(0.0, delta) == 0.0


def test_selections_of_range_eta_cost_no_more_than_zcdp_grants() -> None:
    # lemma 2: all Renyi orders, scores raised by 0 or 1 in one direction
    rng = np.random.default_rng(1)
    nearest = 0.0
    for epsilon, steps in ((0.3, 8), (1.0, 4), (8.0, 4), (100.0, 8)):
        eta = dict(selection_account(epsilon, 1e-6, steps).alternatives)["zcdp"]
        rho = zcdp_budget(epsilon, 1e-6)
        for _ in range(60):
            pieces = int(rng.integers(2, 7))
            score = rng.integers(-4, 1, pieces) + np.log(rng.uniform(0.01, 1, pieces)) / eta
            raised = score + rng.integers(0, 2, pieces)
            p, q = (np.exp(eta * s) / np.exp(eta * s).sum() for s in (score, raised))
            ratio = np.log(p / q)
            assert np.abs(ratio).max() <= eta + 1e-12
            assert np.ptp(ratio) <= eta + 1e-12
            for one, sign in ((p, 1), (q, -1)):
                for a in (1.01, 1.5, 2.0, 5.0, 30.0):
                    divergence = math.log(np.sum(one * np.exp((a - 1) * sign * ratio))) / (a - 1)
                    assert steps * divergence <= a * rho + 1e-12
                    nearest = max(nearest, steps * divergence / (a * rho))
    # and no more could be granted
    assert nearest > 0.9


# -- granting eta --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "name"),
    [(1, "basic"), (5, "basic"), (6, "zcdp"), (45, "zcdp"), (46, "set-cover"), (400, "set-cover")],
)
def test_the_largest_eta_is_granted(steps: int, name: str) -> None:
    account = selection_account(1.0, 1e-6, steps)
    assert account.name == name
    best = max(eta for _, eta in account.alternatives)
    assert dict(account.alternatives)[account.name] == best  # type: ignore[index]
    # less by the part in 10^9 that covers rounding, and no more
    assert best * (1 - 2e-9) < account.eta < best


@pytest.mark.parametrize(
    ("asked", "arguments", "reason"),
    [
        *((check_budget, (e, 1e-6), "epsilon must be a positive number") for e in NO_EPSILONS),
        *((selection_account, (e, 1e-6, 4), "epsilon") for e in NO_EPSILONS),
        *((check_budget, (1.0, d), "delta must lie strictly between 0 and 1") for d in NO_DELTAS),
        (check_budget, (1.0, 0.99 * LEAST_DELTA), "delta must be at least 1e-40"),
        (selection_account, (1.0, 1e-6, 0), "at least 1"),
        (after_arithmetic, (2.0**-38, 1e-6, 1), "too small to pay"),
        (noise_scale, (1e-9, 2), "too small"),
        (run_rate, (1.0, 1e-6, 4, 0.25), "does not pay for 4 counts"),
        (planned, (1.0, 1e-6, 4, "friends"), "add-remove"),
        *(
            (planned, (*bad, 4), "must")
            for bad in ((0.0, 1e-6), (math.inf, 1e-6), (1.0, 0.0), (1, 1))
        ),
    ],
)
def test_what_states_no_guarantee_is_refused(asked, arguments, reason):
    with pytest.raises(ValueError, match=reason):
        asked(*arguments)


# -- charges -------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_replacement_is_two_neighbouring_steps(epsilon: float, delta: float) -> None:
    half, small = halve_for_replacement(epsilon, delta)
    # P(S) <= e^h Q(S) + d and Q(S) <= e^h R(S) + d
    assert 2 * half == epsilon
    assert math.exp(half) * small + small == pytest.approx(delta, rel=1e-14, abs=0)
    assert small < delta / 2


@pytest.mark.parametrize("steps", [1, 12, 500])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_arithmetic_is_paid_for(epsilon: float, delta: float, steps: int) -> None:
    left, left_delta = after_arithmetic(epsilon, delta, steps)
    # what lemma 5 makes of the ideal guarantee, in exact arithmetic but for exp
    back = Fraction(left) + 2 * steps * Fraction(ARITHMETIC)
    assert back == pytest.approx(epsilon, rel=1e-15, abs=0)
    assert left < epsilon
    assert left_delta * math.exp(steps * ARITHMETIC) == pytest.approx(delta, rel=1e-15, abs=0)
    assert left_delta < delta


def test_laws_off_by_a_factor_have_the_guarantee_that_arithmetic_was_paid_for() -> None:
    # so many draws that it is seen; worst case: P inflated on the event, Q deflated, by e^s each
    steps, epsilon, q = 1 << 34, 0.5, 0.3
    s = steps * ARITHMETIC
    for delta in (0.0, 0.02):
        left, left_delta = after_arithmetic(epsilon, delta, steps)
        real_p = (math.exp(left) * q + left_delta) * math.exp(s)
        real_q = q * math.exp(-s)
        allowed = math.exp(epsilon) * real_q + delta
        # and not more than needed is paid
        assert real_p <= allowed + 1e-12
        assert real_p > allowed - 1e-9


@pytest.mark.parametrize("steps", [1, 3, 7, 100])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.2, 1 / 3, 5.0])
def test_noise_never_costs_more_than_its_share(epsilon: float, steps: int) -> None:
    scale = noise_scale(epsilon, steps)
    spent = steps / scale  # each draw costs 1 / scale
    assert spent <= Fraction(epsilon)
    assert spent >= Fraction(epsilon) - Fraction(steps, 10**9)
    assert scale.numerator <= 10**9


def test_a_privacy_statement_survives_its_dictionary() -> None:
    charges = (Charge("noisy counts", 0.05, 4), Charge("selections", 0.1, 4))
    spent = PrivacySpent(1.0, 1e-6, "add-remove", "zcdp", charges, True)
    written = privacy_to_dict(spent)
    assert privacy_from_dict(written) == spent
    assert privacy_from_dict(json.loads(json.dumps(written))) == spent
    assert (spent.steps, replace(spent, charges=()).steps) == (4, 1)
    one = written["charges"][0]
    wrong: dict[str, Any] = {
        "neighbours": ["x"], "epsilon": "1", "delta": math.nan, "private": 1,
        "account": None, "charges": 3,
    }  # fmt: skip
    altered = [{**written, name: value} for name, value in wrong.items()]
    odd = [{"each": -1}, {"each": "1"}, {"times": 0.5}, {"times": 0}, {"times": True}]
    odd += [{"name": "\0"}, {"surplus": 1}]
    altered += [{**written, "charges": [{**one, **change}]} for change in odd]
    altered += [{**written, "charges": [3]}]
    for broken in ({**written, "\0\n": 5}, {"epsilon": 1.0}, [1, 2], *altered):
        with pytest.raises(ValueError, match="not a privacy statement") as outcome:
            privacy_from_dict(broken)
        assert str(outcome.value).isprintable()


# -- the whole run, enumerated -------------------------------------------------------------


def worst(model: Model, size: int, elements: int, steps: int, epsilon: float) -> float:
    return max(model.delta(a, b, steps, epsilon) for a, b in neighbours(size, elements))


MEASURE = (0.25, 0.25, 0.5)
EPSILON, DELTA = 0.2, 0.02


@cache
def worst_selection(role: Role, steps: int, eta: float) -> float:
    """Worst exact delta at EPSILON of `steps` selections with common thresholds."""
    models = [Model(role, 1, PIECES[role], MEASURE, eta, fixed=b) for b in (0, 2)]
    return max(worst(model, 1, 3, steps, EPSILON) for model in models)


def etas(steps: int) -> dict[str, float]:
    account: Account = selection_account(EPSILON, DELTA, steps)
    return {str(name): eta for name, eta in account.alternatives}


@pytest.mark.parametrize("role", ["disjunction", "conjunction"])
@pytest.mark.parametrize("steps", [4, 7])
@pytest.mark.parametrize("name", ["basic", "zcdp", "set-cover"])
def test_every_account_holds_exactly_on_enumerated_selections(role, steps, name):
    exact = worst_selection(role, steps, etas(steps)[name])
    assert exact <= (1e-12 if name == "basic" else DELTA)


@pytest.mark.parametrize("role", ["disjunction", "conjunction"])
def test_a_clearly_larger_eta_breaks_the_enumerated_guarantee(role: Role) -> None:
    granted = etas(7)
    assert granted["basic"] < granted["set-cover"] < granted["zcdp"]
    # as granted, a good part of delta is needed; twice the rate breaks it
    assert worst_selection(role, 7, granted["zcdp"]) > DELTA / 5
    assert worst_selection(role, 7, 2 * granted["zcdp"]) > DELTA
    assert worst_selection(role, 7, 6 * granted["set-cover"]) > DELTA
    # basic composition leaves no delta at all
    assert worst_selection(role, 7, 6 * granted["basic"]) > 1e-6


def test_one_selection_of_rate_epsilon_is_tight() -> None:
    # lemma 2 with m = 1: a rare piece loses almost a factor e^eta, and not more
    model = Model("disjunction", 1, (frozenset({0}), frozenset()), (1e-4, 1 - 1e-4), EPSILON)
    assert model.delta((), ((0, 0),), 1, EPSILON) == 0.0
    assert model.delta((), ((0, 0),), 1, EPSILON * 0.999) > 0.0


@pytest.mark.parametrize("role", ["disjunction", "conjunction"])
@pytest.mark.parametrize("steps", [2, 3])
@pytest.mark.parametrize("name", ["basic", "zcdp", "set-cover"])
def test_noisy_counts_and_selections_together_hold_exactly(role, steps, name):
    noise = 0.2
    eta = etas(steps)[name]
    for k in (1, 2):
        model = Model(role, k, PIECES[role], MEASURE, eta, noise=noise / steps)
        pairs = neighbours(2 if steps == 2 else 1, 3)
        exact = max(model.delta(a, b, steps, EPSILON + noise) for a, b in pairs)
        assert exact <= (1e-12 if name == "basic" else DELTA)
    # noise and selections both spend: neither alone covers the run
    both = Model(role, 1, PIECES[role], MEASURE, etas(steps)["basic"], noise=noise / steps)
    share = 0.75 * EPSILON
    assert max(both.delta(a, b, steps, share) for a, b in neighbours(1, 3)) > 1e-6


def test_spending_epsilon_twice_breaks_the_enumerated_guarantee() -> None:
    # the source spends epsilon on the counts and again on the selections
    model = Model("disjunction", 1, PIECES["disjunction"], MEASURE, EPSILON / 2, noise=EPSILON / 2)
    assert max(model.delta(a, b, 2, EPSILON) for a, b in neighbours(1, 3)) > 1e-3


def test_the_set_cover_account_outlasts_any_number_of_steps() -> None:
    # 200 steps over one example's states: covered or not; c is the chance to cover it
    eta = selection_account(EPSILON, DELTA, 200).eta
    assert selection_account(EPSILON, DELTA, 200).name == "set-cover"
    for c in (0.002, 0.01, 0.03, 0.1, 0.5):
        assert excess(*lone_example(c, eta, 200), EPSILON) <= DELTA
    broken = (excess(*lone_example(c, 5 * eta, 200), EPSILON) for c in (0.01, 0.02, 0.03))
    assert max(broken) > DELTA


def eta_of(privacy: PrivacySpent) -> float:
    selections = privacy.charge("selections")
    return selections.each


budgets = st.builds(
    planned,
    st.floats(0.01, 20),
    st.floats(-30, -1).map(lambda exponent: 10**exponent),
    st.integers(1, 80),
    st.sampled_from(["add-remove", "replace-one"]),
)


@given(budgets, st.data())
def test_every_step_costs_something_and_no_step_more_than_the_run(privacy, data):
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
    privacy = planned(1.0, 1e-6, 12)
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
    privacy = planned(1.0, 1e-6, 12)
    eta = eta_of(privacy)
    delta = (1e-6 - neglected_delta(eta, 12, "add-remove")) * math.exp(-12 * ARITHMETIC)
    for j in (1, 5, 11):
        ideal = run_epsilon(eta, delta, j, 0.2 / 12)
        assert spent_after(privacy, j)[0] - ideal == pytest.approx(2 * j * ARITHMETIC, rel=1e-3)


def test_the_charge_of_each_other_account() -> None:
    """Stored runs of general accounts keep their statements: 12 and 200 steps, 0.2 on counts."""

    def stored(steps: int) -> PrivacySpent:
        granted = selection_account(0.8, 1e-6, steps)
        plan = planned(1.0, 1e-6, steps)
        charges = (plan.charges[0], Charge("selections", granted.eta, steps))
        return replace(plan, account=granted.name, charges=charges)

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
    one = planned(1.0, 1e-6, 12, "replace-one")
    delta = 1e-6 / (1 + math.exp(0.5))
    half = replace(one, neighbours="add-remove", epsilon=0.5, delta=delta)
    for j in range(13):
        assert spent_after(one, j)[0] == pytest.approx(2 * spent_after(half, j)[0], rel=1e-9)


def test_a_negative_number_of_steps_is_refused_and_after_the_last_all_is_spent() -> None:
    privacy = planned(1.0, 1e-6, 12)
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        spent_after(privacy, -1)
    assert spent_after(privacy, 13) == (1.0, "optimal")
