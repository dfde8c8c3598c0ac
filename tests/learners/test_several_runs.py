"""Several runs under one budget: the worst a curious analyst can make of the rule, exactly."""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
import pytest
from scipy.optimize import linprog
from stability_laws import pass_law

from learners.cover.polygons import PolygonUnionLearner
from learners.cover.set_cover import plan_budget
from learners.cover.sharpening import plan_sharpened
from learners.privacy.accounting import Charge, PrivacySpent
from learners.privacy.composition import zcdp_epsilon
from learners.privacy.several_runs import (
    Budget,
    Rule,
    added_up,
    joint_relation,
    renyi_cost,
    restated,
)
from learners.stability.stable_queries import plan_sparse_vector

#: A mechanism on two neighbours: each outcome's probability under either.
Outcomes = Sequence[tuple[float, float]]


def pure(epsilon: float, delta: float = 0.0) -> PrivacySpent:
    return PrivacySpent(epsilon, delta, "add-remove", "basic", (), True)


def selected(eta: float) -> PrivacySpent:
    """One selection of bounded range eta, drawn exactly."""
    return PrivacySpent(eta, 0.0, "add-remove", "basic", (Charge("selections", eta),), True)


def two_points(epsilon: float, delta: float = 0.0) -> Outcomes:
    """The worst (epsilon, delta)-DP mechanism: it tells outright with probability delta."""
    right = (1 - delta) / (1 + math.exp(-epsilon))
    wrong = 1 - delta - right
    return ((right, wrong), (wrong, right), (delta, 0.0), (0.0, delta))


def of_range(eta: float, t: float) -> Outcomes:
    """A selection of two outcomes, with losses t and t - eta."""
    first = -math.expm1(t - eta) / -math.expm1(-eta)
    p, q = first, first * math.exp(-t)
    return ((p, q), (1 - p, 1 - q))


def worst(
    rule: Rule,
    budget: Budget,
    choices: Sequence[tuple[PrivacySpent, Outcomes]],
    depth: int,
    *,
    slack: int = 0,
) -> float:
    """The greatest delta at the budget's epsilon over all analysts who choose up to `depth` runs,
    each in view of the outcomes so far, as the rule allows; `slack` runs more than it does."""

    def value(spent: tuple[PrivacySpent, ...], loss: float, left: int, free: int) -> float:
        stop = max(0.0, -math.expm1(min(budget.epsilon - loss, 0.0)))
        if not left:
            return stop
        best = stop
        for statement, outcomes in choices:
            allowed = rule.allows(budget, (*spent, statement))
            if not allowed and not free:
                continue
            total = 0.0
            for p, q in outcomes:
                if p:
                    ratio = math.log(p / q) if q else math.inf
                    now = (*spent, statement)
                    total += p * value(now, loss + ratio, left - 1, free - (not allowed))
            best = max(best, total)
        return best

    return value((), 0.0, depth, slack)


MIXED = [
    (pure(0.5), two_points(0.5)),
    (pure(0.2, 0.01), two_points(0.2, 0.01)),
    (pure(0.8, 0.02), two_points(0.8, 0.02)),
]


def test_the_worst_analyst_stays_within_a_budget_by_basic_composition() -> None:
    budget, rule = Budget(1.2, 0.03), Rule("add-remove")
    delta = worst(rule, budget, MIXED, 4)
    assert 0.02 < delta <= budget.delta
    # and the rule is needed: one run more breaks it
    assert worst(rule, budget, MIXED, 4, slack=1) > budget.delta


def test_the_worst_analyst_stays_within_a_budget_by_renyi_divergence() -> None:
    """Selections whose loss the analyst shapes, and runs with a delta, chosen one by one."""
    budget = Budget(1.0, 0.3)
    rule = Rule.of_budget(budget, "add-remove", "renyi")
    eta = 0.5
    choices = [(selected(eta), of_range(eta, t)) for t in (0.1, 0.25, 0.4)]
    choices.append((pure(0.3, 0.05), two_points(0.3, 0.05)))
    allowed = next(n for n in range(1, 99) if not rule.allows(budget, [selected(eta)] * n)) - 1
    assert allowed > 2 * budget.epsilon / eta  # far more than by basic composition
    delta = worst(rule, budget, choices, 4)
    assert 0.05 < delta <= budget.delta


# -- runs that answer step by step (lemma R4) --------------------------------------------------


class Node:
    """A run from some history on: weights of that history under two samples, and for each request
    the runs that may follow, one an answer."""

    def __init__(self, p: float, q: float, requests: Sequence[Sequence[Self]] = ()) -> None:
        self.p, self.q, self.requests = p, q, requests

    def greatest(self, whole: Callable[[float, float], float]) -> float:
        """Of what whole histories count, the most that any asking attains."""
        if not self.requests:
            return whole(self.p, self.q)
        return max(sum(each.greatest(whole) for each in answers) for answers in self.requests)

    def stated(self, epsilon: float) -> float:
        """The least delta at which it is DP, however it is asked."""
        factor = math.exp(epsilon)
        return max(
            self.greatest(lambda p, q: max(0.0, p - factor * q)),
            self.greatest(lambda p, q: max(0.0, q - factor * p)),
        )

    def shared(self, factor: float) -> tuple[float, float]:
        """m and m' of the proof."""
        return (
            -self.greatest(lambda p, q: -min(p, factor * q)),
            -self.greatest(lambda p, q: -min(q, factor * p)),
        )


def random_run(
    rng: random.Random, depth: int, spread: float, p: float = 1.0, q: float = 1.0
) -> Node:
    requests = []
    for _ in range(2 if depth else 0):
        one = [rng.random() + 0.05 for _ in range(2)]
        other = [each * math.exp(rng.uniform(-spread, spread)) for each in one]
        odds = zip(one, other, strict=True)
        weights = [(p * a / sum(one), q * b / sum(other)) for a, b in odds]
        requests.append([random_run(rng, depth - 1, spread, *each) for each in weights])
    return Node(p, q, requests)


def votes(fars: Sequence[tuple[int, int]], depth: int) -> Node:
    """Tests of distances under two samples, one of a few a request, until one is not passed."""
    budget = plan_sparse_vector(1.5, 0.1, queries=depth, halts=1)

    def node(asked: tuple[tuple[int, int], ...], over: bool) -> Node:
        laws = (
            [pass_law(far, budget) for far in zip(*asked, strict=True)]
            if asked
            else [{(): 1.0}] * 2
        )
        outcome = (True,) * (len(asked) - over) + (False,) * over
        weights = [law.get(outcome, 0.0) for law in laws]
        if over or len(asked) == depth:
            return Node(weights[0], weights[1])
        return Node(*weights, [[node((*asked, far), end) for end in (False, True)] for far in fars])

    return node((), False)


def divide(run: Node, factor: float, x: float, y: float) -> None:
    """Divide the weights x and y of two rules among answers as the proof does, and look at each
    whole history."""
    assert y / factor * (1 - 1e-9) <= x <= factor * y * (1 + 1e-9)
    if not run.requests:
        assert x <= run.p * (1 + 1e-9)
        assert y <= run.q * (1 + 1e-9)
        return
    for answers in run.requests:
        shares = [each.shared(factor) for each in answers]
        m, n = np.sum(shares, axis=0)
        corners = [(m, m / factor), (m, n), (n / factor, n), (0, 0)]
        found = linprog(
            [0] * 4, A_eq=[*zip(*corners, strict=True), [1] * 4], b_eq=[x, y, 1], bounds=(0, 1)
        )
        assert found.success  # (x, y) lies among the corners of the sum of all answers' sets
        u, v, w, _ = found.x
        for each, (a, b) in zip(answers, shares, strict=True):
            part = (u + v) * a + w * b / factor, u * a / factor + (v + w) * b
            divide(each, factor, part[0] * (1 - 1e-9), part[1] * (1 - 1e-9))


def test_a_run_that_answers_step_by_step_is_one_draw_at_its_beginning() -> None:
    rng = random.Random(1)
    runs = [(random_run(rng, 3, 0.6), epsilon) for _ in range(10) for epsilon in (0.3, 1.0)]
    runs.append((votes([(0, 1), (1, 0), (60, 59)], 3), 1.5))
    for run, epsilon in runs:
        delta, factor = run.stated(epsilon), math.exp(epsilon)
        assert min(run.shared(factor)) == pytest.approx(1 - delta)
        divide(run, factor, 1 - delta, 1 - delta)


def test_the_worst_analyst_who_asks_runs_in_turns_stays_within_a_budget() -> None:
    """Two runs of two requests each, and one that is over at once, begun as the budget allows and
    asked in any turns: each request may follow all that has been answered."""
    budget, epsilon = Budget(1.0, 0.3), 0.35
    rule = Rule.of_budget(budget, "add-remove", "renyi")
    rng = random.Random(3)
    runs = [random_run(rng, 2, 0.6) for _ in range(2)]
    entered = [pure(epsilon, run.stated(epsilon)) for run in runs]
    assert all(one.delta > 0.01 for one in entered)
    third = two_points(0.3, 0.01)
    assert rule.allows(budget, [*entered, pure(0.3, 0.01)])
    assert not rule.allows(budget, [*entered, *entered, pure(0.3, 0.01)])
    least = math.exp(budget.epsilon)

    def worth(nodes: tuple[Node, ...], p: float, q: float, more: bool, turns: bool) -> float:
        """The greatest delta from here on; p and q are weights of what else has been answered."""
        weights = math.prod([p, *(n.p for n in nodes)]), math.prod([q, *(n.q for n in nodes)])
        best = max(0.0, weights[0] - least * weights[1])
        for i, node in enumerate(nodes):
            for answers in node.requests:
                rests = [(*nodes[:i], each, *nodes[i + 1 :]) for each in answers]
                best = max(best, sum(worth(rest, p, q, more, turns) for rest in rests))
            if node.requests and not turns:
                break  # the first is asked to its end
        if more:
            best = max(best, sum(worth(nodes, p * a, q * b, False, turns) for a, b in third))
        return best

    apart, in_turns = (worth(tuple(runs), 1.0, 1.0, True, turns) for turns in (False, True))
    assert 0.02 < apart <= in_turns <= budget.delta


def test_of_many_selections_the_exact_delta_is_below_the_budgets() -> None:
    """As many as the rule allows, of the losses that are worst together: binomial sums."""
    for budget in (Budget(1.0, 1e-6), Budget(4.0, 1e-5), Budget(0.3, 1e-3)):
        rule = Rule.of_budget(budget, "add-remove", "renyi")
        for eta in (0.02, 0.05):
            cost = rule.cost(selected(eta))[0]
            runs = int(rule.capacity(budget)[0] / cost)
            assert rule.allows(budget, [selected(eta)] * runs)
            assert not rule.allows(budget, [selected(eta)] * (runs + 1))
            found = max(delta_of_many(eta, runs, t, budget.epsilon) for t in (0.3, 0.5, 0.7))
            assert found <= budget.delta
            # with three times as many it would not be
            more = max(delta_of_many(eta, 3 * runs, t, budget.epsilon) for t in (0.3, 0.5, 0.7))
            assert more > budget.delta


def delta_of_many(eta: float, runs: int, share: float, epsilon: float) -> float:
    (p, q), _ = of_range(eta, share * eta)
    k = np.arange(runs + 1)
    log_ways = np.array([math.lgamma(runs + 1) - math.lgamma(i + 1) - math.lgamma(runs - i + 1)
                         for i in k])  # fmt: skip
    odds = np.exp(log_ways + k * math.log(p) + (runs - k) * math.log1p(-p))
    loss = k * math.log(p / q) + (runs - k) * math.log((1 - p) / (1 - q))
    return float(odds @ np.maximum(-np.expm1(np.minimum(epsilon - loss, 0)), 0))


@pytest.mark.parametrize("order", [1.01, 1.5, 3.0, 20.0, 400.0])
def test_what_a_run_is_charged_bounds_its_divergence(order: float) -> None:
    for epsilon in (1e-3, 0.1, 1.0, 5.0):
        exact = divergence(two_points(epsilon)[:2], order)
        assert exact <= renyi_cost(pure(epsilon), "add-remove", order)[0] * (1 + 1e-9) + 1e-15
        bound, delta = renyi_cost(selected(epsilon), "add-remove", order)
        assert delta == 0
        shapes = [of_range(epsilon, epsilon * share) for share in np.linspace(0.01, 0.99, 50)]
        either = max(
            divergence(pair, order)
            for shape in shapes
            for pair in (shape, [(q, p) for p, q in shape])
        )
        assert either <= bound * (1 + 1e-9) + 1e-15
        if order * epsilon < 0.3:
            assert either > 0.95 * bound  # it is no idle bound


def divergence(outcomes: Outcomes, order: float) -> float:
    logs = [order * math.log(p) + (1 - order) * math.log(q) for p, q in outcomes]
    return float(np.logaddexp.reduce(logs)) / (order - 1)


def test_a_cover_is_charged_by_its_parts_and_its_arithmetic_or_by_its_statement() -> None:
    cover = plan_budget(1.0, 1e-6, 6, 0.1, "add-remove", True).spent
    counts, selections = cover.charges
    order = 5.0
    parts = 6 * (order * counts.each**2 / 2 + order * selections.each**2 / 8)
    cost, delta = renyi_cost(cover, "add-remove", order)
    assert parts < cost < parts * (1 + 2e-9) + 1e-9
    assert 0 < delta < 1e-40  # what the arithmetic neglects, and nothing for the account
    # replaced: every part moves twice
    assert renyi_cost(cover, "replace-one", order)[0] == pytest.approx(4 * parts, rel=1e-6)
    # at a high order the statement is less
    cost, delta = renyi_cost(cover, "add-remove", 1e4)
    assert (cost, delta) == (pytest.approx(1.0), 1e-6)


def test_statements_without_charges_are_never_free() -> None:
    for statement in (pure(0.5), PrivacySpent(0.5, 1e-6, "add-remove", "optimal", (), True)):
        assert renyi_cost(statement, "add-remove", 4.0)[0] >= 0.4999
    parity = PrivacySpent(0.5, 0.0, "add-remove", "basic", (Charge("parities", 0.5),), True)
    assert renyi_cost(parity, "replace-one", 1e3)[0] == pytest.approx(1.0)
    votes = (Charge("unanswered queries", 1e-9, 2),)
    stable = PrivacySpent(0.5, 1e-6, "replace-one", "stability", votes, True)
    assert renyi_cost(stable, "replace-one", 4.0) == (pytest.approx(0.5), 1e-6)


def test_small_runs_by_tiles_are_many_more_by_renyi_divergence() -> None:
    """The figures of docs/questions/several-releases.md."""
    budget = Budget(4.0, 1e-5)
    rules = [Rule.of_budget(budget, "add-remove", name) for name in ("basic", "renyi")]
    found = {}
    for epsilon in (0.1, 0.3, 1.0):
        run = PolygonUnionLearner(epsilon=epsilon).plan()
        found[epsilon] = [
            next(n for n in itertools.count() if not rule.allows(budget, [run] * (n + 1)))
            for rule in rules
        ]
    assert found == {0.1: [40, 295], 0.3: [13, 32], 1.0: [4, 2]}


# -- relations and sums ------------------------------------------------------------------------


def test_statements_are_restated_for_weaker_neighbours_only() -> None:
    assert restated(1.0, 1e-6, "add-remove", "add-remove") == (1.0, 1e-6)
    twice = (2.0, pytest.approx((1 + math.e) * 1e-6))
    assert restated(1.0, 1e-6, "add-remove", "replace-one") == twice
    assert restated(1.0, 1e-6, "add-remove", "replace-label") == twice
    assert restated(1.0, 1e-6, "replace-one", "replace-label") == (1.0, 1e-6)
    for stated, relation in (("replace-one", "add-remove"), ("replace-label", "replace-one")):
        with pytest.raises(ValueError, match="says nothing about"):
            restated(1.0, 1e-6, stated, relation)
    assert restated(1e6, 0.5, "add-remove", "replace-one") == (2e6, 1.0)
    assert joint_relation([]) == joint_relation(["add-remove"]) == "add-remove"
    assert joint_relation(["replace-label", "add-remove", "replace-one"]) == "replace-label"


def test_numbers_count_as_they_are_written() -> None:
    assert added_up([(0.1, 1e-7)] * 10) == (1.0, 1e-6)
    assert Rule("add-remove").allows(Budget(1.0, 0.0), [pure(0.1)] * 10)
    assert not Rule("add-remove").allows(Budget(1.0, 0.0), [pure(0.1)] * 11)
    # the least delta beside counts too
    over = [pure(0.1, 1e-6), pure(0.1, 1e-40)]
    assert not Rule("add-remove").allows(Budget(1.0, 1e-6), over)
    assert Rule("add-remove").allows(Budget(1.0, 1.1e-6), over)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5])
def test_what_the_divergence_may_add_up_to_converts_to_the_budget(epsilon, delta):
    budget = Budget(epsilon, delta)
    rule = Rule.of_budget(budget, "add-remove", "renyi")
    assert rule.order is not None
    most, half = rule.capacity(budget)
    assert half == delta / 2
    converted = zcdp_epsilon(most / rule.order, half)
    assert 0.99 * epsilon < converted <= epsilon
    # another budget by the same rule: nothing may be left
    assert not rule.allows(Budget(1e-4, 1e-12), [pure(1e-6)])


def test_budgets_and_rules_that_state_nothing_are_refused() -> None:
    for epsilon, delta in ((0.0, 0.1), (math.inf, 0.1), (1.0, 1.0), (1.0, -1e-9), (math.nan, 0.0)):
        with pytest.raises(ValueError, match=r"epsilon|delta"):
            Budget(epsilon, delta)
    with pytest.raises(ValueError, match="needs a delta"):
        Rule.of_budget(Budget(1.0, 0.0), "add-remove", "renyi")
    sharpened = plan_sharpened(1.0, 1e-6, 4, 0.1, "add-remove", True)
    assert Rule("add-remove").cost(sharpened.spent) == (1.0, 1e-6)


def test_an_epsilon_whose_square_is_beyond_all_numbers_is_charged() -> None:
    assert renyi_cost(pure(1e300), "add-remove", 4.0)[0] >= 1e299
