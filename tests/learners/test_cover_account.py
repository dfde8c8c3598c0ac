"""The optimal account: the game it solves, samples that attain it, whole runs enumerated."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from enumerated_runs import PIECES, Model, lone_example, neighbours
from numpy.typing import NDArray

from learners.core.selection import Role
from learners.cover.set_cover import Budget, plan_budget
from learners.privacy.accounting import (
    ARITHMETIC,
    GIVEN_UP,
    MOST_RATE,
    NEGLECTED,
    Neighbours,
    neglected_delta,
)
from learners.privacy.composition import (
    run_delta,
    run_epsilon,
    run_rate,
    selection_account,
    selections_delta,
)

BUDGETS = [(0.1, 1e-9), (0.5, 0.05), (1.0, 1e-6), (3.0, 1e-12), (8.0, 1e-3)]


# -- the game ------------------------------------------------------------------------------


def game(way: str, eta: float, steps: int, epsilon: float, grid: int) -> float:
    """What an adversary gets who picks the loss t of each step, by brute force over a grid.

    An undecided step costs t in [0, eta]; the deciding one costs t - eta, and ends the game.
    The other way, from the sample of higher scores, each costs the negative of that.
    """
    options = np.linspace(0, eta, grid + 1)
    undecided = (math.exp(eta) - np.exp(options)) / math.expm1(eta)
    sign = 1 if way == "lower" else -1
    if way == "higher":
        undecided = undecided * np.exp(-options)

    def value(left: int, x: float) -> float:
        if left == 0:
            return max(0.0, -math.expm1(x))
        ended = np.maximum(0.0, -np.expm1(x - sign * (options - eta)))
        if left == 1:
            later = np.maximum(0.0, -np.expm1(x - sign * options))
        else:
            later = np.array([value(left - 1, x - sign * t) for t in options.tolist()])
        return float(np.max(undecided * later + (1 - undecided) * ended))

    return value(steps, epsilon)


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("eta", [0.15, 0.7, 3.0])
def test_the_formula_is_the_value_of_the_game(eta: float, steps: int) -> None:
    grid = 60 if steps < 3 else 30
    # from where all outcomes speak for the data to where none can
    for x in np.linspace(-1.5 * eta, 1.05 * steps * eta, 9).tolist():
        lower = float(selections_delta(eta, steps, x))
        higher = 1 - math.exp(x) * (1 - float(selections_delta(eta, steps, -x)))
        for way, formula in (("lower", lower), ("higher", max(0.0, higher))):
            brute = game(way, eta, steps, x, grid)
            # a grid of choices is a part of all choices
            assert brute <= formula + 1e-15
            assert brute == pytest.approx(formula, abs=2 * eta / grid**2 + 1e-15)
        assert run_delta(eta, steps, x) == pytest.approx(max(lower, higher), abs=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 5, 30, 400])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_sample_of_one_example_attains_it(epsilon: float, delta: float, steps: int) -> None:
    eta = run_rate(epsilon, delta, steps) / (1 - GIVEN_UP)

    def found(rate: float, loss: float) -> tuple[float, float]:
        """Delta both ways if each undecided step costs `loss`."""
        low, high = lone_example(math.expm1(loss) / math.expm1(rate), rate, steps)
        gap = math.exp(epsilon)
        return (
            float(np.maximum(low - gap * high, 0).sum()),
            float(np.maximum(high - gap * low, 0).sum()),
        )

    # the losses that the proof finds worst, each way
    worst = [(epsilon + eta) / (steps + 1), max(0.0, eta - epsilon) / (steps + 1)]
    lower, higher = found(eta, worst[0])[0], found(eta, worst[1])[1]
    assert max(lower, higher) == pytest.approx(delta, rel=1e-5, abs=1e-13)
    # no loss is worse, and a rate of one part in a thousand more is too much for these
    for loss in np.linspace(0, min(eta, 2 * worst[0]), 9).tolist():
        assert max(found(eta, loss)) <= delta * (1 + 1e-7) + 1e-13
    assert max(max(found(1.001 * eta, loss)) for loss in worst) > delta


# -- whole runs ----------------------------------------------------------------------------

EPSILON, DELTA = 0.4, 0.02


@pytest.mark.parametrize("role", ["disjunction", "conjunction"])
@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("share", [0.2, 0.6])
def test_counts_and_selections_together_hold_exactly(role: Role, steps: int, share: float) -> None:
    noise = share * EPSILON / steps
    eta = run_rate(EPSILON, DELTA, steps, noise)
    pairs = neighbours(2 if steps < 3 else 1, 3)
    measures = [(0.25, 0.25, 0.5), (0.02, 0.08, 0.9)]
    worst, broken = 0.0, 0.0
    for measure in measures:
        model = Model(role, 1, PIECES[role], measure, eta, noise=noise)
        worst = max(worst, *(model.delta(a, b, steps, EPSILON) for a, b in pairs))
        greedy = Model(role, 1, PIECES[role], measure, 2.5 * eta, noise=noise)
        broken = max(broken, *(greedy.delta(a, b, steps, EPSILON) for a, b in pairs))
    assert worst <= DELTA
    assert broken > DELTA


def test_no_small_class_loses_more_and_some_loses_as_much() -> None:
    """Random pieces, measures, rates and noise: exact deltas of all neighbours, at six epsilons."""
    rng = np.random.default_rng(1)
    closest = 0.0
    for _ in range(120):
        steps, elements = int(rng.integers(1, 3)), int(rng.integers(2, 4))
        pieces = tuple(
            frozenset(np.flatnonzero(rng.random(elements) < 0.5).tolist())
            for _ in range(rng.integers(2, 5))
        )
        measure = tuple(rng.dirichlet(np.full(len(pieces), 0.5)) + 1e-6)
        eta, noise = np.exp(rng.uniform((-2, -2), (1.5, 0.5))).tolist()
        noise = noise if rng.random() < 0.6 else None
        role: Role = "disjunction" if rng.random() < 0.5 else "conjunction"
        k, fixed = int(rng.integers(1, 4)), int(rng.integers(0, 3))
        model = Model(role, k, pieces, measure, eta, noise=noise, fixed=fixed)
        pairs = neighbours(1, elements)
        for share in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9):
            epsilon = share * steps * (eta + (noise or 0.0))
            stated = run_delta(eta, steps, epsilon, noise or 0.0)
            exact = max(model.delta(a, b, steps, epsilon) for a, b in pairs)
            assert exact <= stated * (1 + 1e-9) + 1e-12
            closest = max(closest, exact / stated)
    assert closest > 0.98


def test_noise_alone_costs_as_much_as_bits_of_randomized_response() -> None:
    # three counts of integer Laplace noise, every triple of outcomes, one example more or less
    noise, steps = 0.3, 3
    p = math.exp(-noise)
    z = np.arange(-120, 121)
    without = (1 - p) / (1 + p) * p ** np.abs(z)
    with_it = (1 - p) / (1 + p) * p ** np.abs(z - 1)
    law = np.einsum("i,j,k->ijk", without, without, without).ravel()
    other = np.einsum("i,j,k->ijk", with_it, with_it, with_it).ravel()
    for epsilon in (0.0, 0.2, 0.5, 0.85):
        exact = float(np.maximum(law - math.exp(epsilon) * other, 0).sum())
        # a selection of hardly any rate
        assert run_delta(1e-12, steps, epsilon, noise) == pytest.approx(exact, abs=1e-9)


# -- the account ---------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 6, 64])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_no_other_account_grants_more(epsilon: float, delta: float, steps: int) -> None:
    for share in (0.0, 0.2):
        eta = run_rate(epsilon, delta, steps, share * epsilon / steps)
        others = selection_account((1 - share) * epsilon, delta, steps)
        assert eta >= others.eta * (1 - 2 * GIVEN_UP)


@pytest.mark.parametrize(
    ("steps", "eta"), [(1, 0.8020), (6, 0.1903), (9, 0.1565), (15, 0.1295), (64, 0.1000)]
)
def test_rates_at_epsilon_1(steps: int, eta: float) -> None:
    """Of the table in docs/privacy.md."""
    assert run_rate(1.0, 1e-6, steps, 0.2 / steps) == pytest.approx(eta, abs=5e-5)


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_epsilon_and_rate_are_inverse(epsilon: float, delta: float, noise: float) -> None:
    for steps in (1, 6, 50):
        if steps * noise < epsilon:
            eta = run_rate(epsilon, delta, steps, noise)
            assert run_epsilon(eta, delta, steps, noise) == pytest.approx(epsilon, rel=1e-9)


# -- rounding ------------------------------------------------------------------------------


def precise_delta(
    eta: float, steps: int, epsilon: float | Decimal, noise: float | Decimal, digits: int = 60
) -> Decimal:
    """The two expectations with sixty digits, or more."""
    with localcontext() as context:
        context.prec = digits
        rate, e, m = Decimal(eta), Decimal(noise), Decimal(steps)
        appears = vanishes = Decimal(0)
        right = 1 / (1 + (-e).exp())
        for b in range(steps + 1):
            odds = math.comb(steps, b) * right**b * (1 - right) ** (steps - b)
            x = Decimal(epsilon) - e * (2 * b - steps)
            u = (m * rate - x) / (m + 1)
            if x < -rate:
                appears += odds * (1 - x.exp())
            elif u > 0:
                appears += odds * (1 - (-u).exp()) ** (steps + 1) / (1 - (-rate).exp()) ** steps
            if x < rate:
                # the same at -x, for its complement
                u = (m * rate + x) / (m + 1)
                v = (1 - (-u).exp()) ** (steps + 1) / (1 - (-rate).exp()) ** steps
                vanishes += odds * (1 - x.exp() * (1 - v) if -x < m * rate else 1 - x.exp())
        return max(appears, vanishes)


ROUNDED = [
    (epsilon, delta, steps, 0.2 * ((i + j) % 2))
    for i, (epsilon, delta) in enumerate(
        [*BUDGETS, (1e-3, 1e-6), (20.0, 1e-9), (1.0, 1e-40), (0.2, 0.3)]
    )
    for j, steps in enumerate((1, 2, 6, 40, 300))
]


@pytest.mark.parametrize(("epsilon", "delta", "steps", "share"), [*ROUNDED, (1.0, 1e-6, 3000, 0.2)])
def test_what_is_given_up_pays_for_rounding_and_leaves_some_of_delta(epsilon, delta, steps, share):
    noise = share * epsilon / steps
    eta = run_rate(epsilon, delta, steps, noise)
    assert precise_delta(eta, steps, epsilon, noise) <= Decimal(delta) * Decimal(1 - 2e-10)
    # and hardly more
    assert precise_delta(eta * (1 + 1e-6), steps, epsilon, noise) > Decimal(delta)


# -- what the samplers' arithmetic neglects ------------------------------------------------


def neglected(eta: float, steps: int, neighbours: Neighbours) -> Decimal:
    """What lemma 5 adds to delta for it."""
    moved = (2 if neighbours == "replace-one" else 1) * Decimal(eta) + 2 * Decimal(ARITHMETIC)
    return steps * (1 + moved.exp()) / Decimal(2) ** 180


def precise_run_delta(plan: Budget) -> Decimal:
    """Delta of a planned run at its epsilon by lemmas 4 and 5, to sixty digits."""
    spent, m = plan.spent, plan.steps
    twice = spent.neighbours == "replace-one"
    with localcontext() as context:
        inner = Decimal(spent.epsilon) / (2 if twice else 1)
        noise = Decimal(plan.scale.denominator) / plan.scale.numerator
        # small numbers are differences of larger ones, and in two steps multiplied
        context.prec = 120 + int(noise) + (int(inner / 2) if twice else 0)
        a = m * Decimal(ARITHMETIC)
        ideal = precise_delta(plan.eta, m, inner - 2 * a, noise, context.prec)
        two_steps = 1 + inner.exp() if twice else 1
        return ideal * a.exp() * two_steps + neglected(plan.eta, m, spent.neighbours)


NEGLECTING = [
    (epsilon, delta, steps, ("add-remove", "replace-one")[(i + j) % 2])
    for i, (epsilon, delta) in enumerate(
        [(0.1, 1e-40), (1.0, 1e-6), (10.0, 1e-40), (30.0, 1e-40), (62.0, 1e-39), (200.0, 1e-30),
         (1500.0, 1e-37)]
    )
    for j, steps in enumerate((1, 6, 15, 60))
]  # fmt: skip
#: Rates of nearly 16, where next to nothing is given up beside what is neglected.
NEGLECTING += [(5440.0, 1e-40, 300, "add-remove"), (5440.0, 1e-40, 300, "replace-one")]


@pytest.mark.parametrize(("epsilon", "delta", "steps", "neighbours"), NEGLECTING)
def test_a_run_pays_for_what_its_arithmetic_neglects(epsilon, delta, steps, neighbours):
    plan = plan_budget(epsilon, delta, steps, 0.1, neighbours, private=True)
    assert precise_run_delta(plan) <= Decimal(delta)
    # and hardly any rate is lost for it
    if plan.eta < MOST_RATE:
        assert precise_run_delta(replace(plan, eta=plan.eta * (1 + 1e-3))) > Decimal(delta)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [1000.0, 1e4, 1e300])
def test_no_epsilon_is_too_large_for_delta_to_pay(epsilon: float, neighbours: Neighbours) -> None:
    """Whatever epsilon allows, rates are capped, and it is the rate that counts."""
    plan = plan_budget(epsilon, 1e-30, 15, 0.1, neighbours, private=True)
    assert plan.eta == MOST_RATE
    assert neglected(plan.eta, 15, neighbours) < Decimal("1e-30") / 10**8


def test_a_delta_that_does_not_pay_for_it_is_refused() -> None:
    # two examples of 16 nats: 5e-41 a draw
    with pytest.raises(ValueError, match=r"delta = 1e-40 does not pay .* 15 selections neglects"):
        plan_budget(1000.0, 1e-40, 15, 0.1, "replace-one", private=True)
    assert plan_budget(1000.0, 1e-40, 1, 0.1, "replace-one", private=True).eta == MOST_RATE
    assert plan_budget(1000.0, 1e-40, 15, 0.1, "add-remove", private=True).eta == MOST_RATE


def test_neglected_events_cost_what_lemma_5_says() -> None:
    """Two adaptive draws that leave the stated laws with probability gamma each, the worst way."""
    gamma, closest = 1e-3, 0.0
    for eta, chance in product((0.2, 1.2, 3.0), (0.02, 0.3, 0.8)):
        low, high = lone_example(chance, eta, 2)
        for one, other in ((low, high), (high, low)):
            for epsilon in np.linspace(0, 2 * eta, 9).tolist():
                added = max(
                    excess(moved(one, *here), moved(other, *there), epsilon)
                    for here in product((-gamma, 0.0, gamma), repeat=2)
                    for there in product((-gamma, 0.0, gamma), repeat=2)
                ) - excess(one, other, epsilon)
                charged = neglected_delta(eta, 2, "add-remove") * gamma / NEGLECTED
                closest = max(closest, added / charged)
    # less than the whole of epsilon would cost, exp(2 eta) a draw, and hardly less than is charged
    assert 0.8 < closest <= 1


def excess(law: NDArray[np.float64], other: NDArray[np.float64], epsilon: float) -> float:
    """The least delta, one way."""
    return float(np.maximum(law - math.exp(epsilon) * other, 0).sum())


def moved(law: NDArray[np.float64], first: float, second: float) -> NDArray[np.float64]:
    """The law of :func:`lone_example` in two steps, each deciding draw likelier by so much."""
    chance = law[0] + first
    again = law[1] / (1 - law[0]) + second
    return np.array([chance, (1 - chance) * again, (1 - chance) * (1 - again)])
