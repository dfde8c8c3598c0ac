"""Votes, composition, margins, the sparse vector and the distance test: against enumerations."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from chi_square import assert_drawn_from
from noise_laws import at_least, laplace
from stability_laws import exact_delta, pass_law, query_law

from learners.core.accuracy import clopper_pearson
from learners.core.codec_parts import privacy_from_dict, privacy_to_dict
from learners.privacy.composition import (
    advanced_epsilon,
    largest_epsilon0,
    optimal_delta,
    spent_after,
    zcdp_epsilon,
)
from learners.privacy.randomness import SeededRandom
from learners.stability.sample_and_aggregate import NoisyVotes, distances, plan_noisy_votes, winners
from learners.stability.stable_queries import (
    DistanceTest,
    QueryRelease,
    SparseVector,
    SparseVectorBudget,
    StableQueries,
    difference_tail,
    least_margin,
    plan_sparse_vector,
    stability_spent,
    tail,
)

# -- votes ---------------------------------------------------------------------------------------


def vote_counts(chunks: int, classes: int) -> list[tuple[int, ...]]:
    return [c for c in itertools.product(range(chunks + 1), repeat=classes) if sum(c) == chunks]


def one_change(counts: tuple[int, ...]) -> set[tuple[int, ...]]:
    found = {counts}
    for a, b in itertools.permutations(range(len(counts)), 2):
        if counts[a]:
            moved = list(counts)
            moved[a] -= 1
            moved[b] += 1
            found.add(tuple(moved))
    return found


def brute_distance(counts: tuple[int, ...]) -> int:
    """Changes to another winner, less one: by walking."""
    winner, reached, changes = int(np.argmax(counts)), {counts}, 0
    while all(int(np.argmax(c)) == winner for c in reached):
        reached = {n for c in reached for n in one_change(c)}
        changes += 1
    return changes - 1


@pytest.mark.parametrize(("chunks", "classes"), [(1, 2), (4, 2), (7, 2), (5, 3), (6, 3), (4, 4)])
def test_the_distance_is_the_number_of_changes_to_another_winner(chunks: int, classes: int) -> None:
    every = vote_counts(chunks, classes)
    found = distances(np.array(every)).tolist()
    assert found == [brute_distance(counts) for counts in every]
    # max(0, ceil((first - second) / 2) - 1), a bound by two counts alone
    top = np.sort(np.array(every), axis=1)[:, -2:]
    simple = np.maximum(0, (top[:, 1] - top[:, 0] + 1) // 2 - 1)
    assert ((np.array(found) - simple >= 0) & (np.array(found) - simple <= 1)).all()
    if classes > 2 or chunks % 2 == 0:
        assert (np.array(found) > simple).any()


@pytest.mark.parametrize(("chunks", "classes"), [(6, 2), (6, 3), (5, 4)])
def test_one_vote_moves_the_distance_by_one_and_no_stable_winner(chunks: int, classes: int) -> None:
    far = {c: int(distances(np.array([c]))[0]) for c in vote_counts(chunks, classes)}
    gaps = set()
    for counts, distance in far.items():
        for other in one_change(counts):
            assert abs(far[other] - distance) <= 1
            if distance >= 1:
                assert winners(np.array([counts])) == winners(np.array([other]))
            first, second = (sorted(c)[-1] - sorted(c)[-2] for c in (counts, other))
            gaps.add(abs(first - second))
    # the source takes the gap with sensitivity 1
    assert max(gaps) == 2


def test_votes_need_a_rival() -> None:
    with pytest.raises(ValueError, match="two classes"):
        distances(np.array([[5]]))


# -- composition ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 5, 9])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 2.5])
def test_the_optimal_bound_is_that_of_randomized_response(count: int, epsilon: float) -> None:
    """Every outcome of `count` answers that are right with probability 2/3, in fractions."""
    exact = 0.0
    for answers in itertools.product((0, 1), repeat=count):
        right = Fraction(2 ** sum(answers), 3**count)
        wrong = Fraction(2 ** (count - sum(answers)), 3**count)
        exact += max(0.0, float(right) - math.exp(epsilon) * float(wrong))
    found = optimal_delta(math.log(2), count, epsilon)
    assert exact - 1e-15 <= found <= exact * (1 + 1e-6) + 1e-15


@pytest.mark.parametrize("count", [2, 10, 100, 3000])
def test_the_granted_epsilon0_fits_and_more_does_not(count: int) -> None:
    epsilon0 = largest_epsilon0(1.0, 1e-6, count)
    assert optimal_delta(epsilon0, count, 1.0) <= 1e-6
    if count * epsilon0 > 1.001:
        assert optimal_delta(epsilon0 * 1.001, count, 1.0) > 1e-6
    # never less than the other accounts grant
    assert count * epsilon0 >= 1 - 1e-8
    assert zcdp_epsilon(count * epsilon0**2 / 2, 1e-6) >= 1
    assert advanced_epsilon(epsilon0, count, 1e-6) >= 1
    assert largest_epsilon0(1.0, 0.0, count) == pytest.approx(1 / count)


# -- margins -------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [Fraction(1, 2), Fraction(3), Fraction(31, 10)])
@pytest.mark.parametrize("second", [Fraction(1, 2), Fraction(3), Fraction(6)])
@pytest.mark.parametrize("w", [0, 1, 7, 20])
def test_tails_are_sums(first: Fraction, second: Fraction, w: int) -> None:
    reach = 400
    law = laplace(first, reach)
    assert tail(first, w) == pytest.approx(law[reach + w + 1 :].sum(), rel=1e-8)
    both = np.convolve(law, laplace(second, reach))
    exact = both[2 * reach + w + 1 :].sum()
    assert difference_tail(first, second, w) == pytest.approx(exact, rel=1e-8)
    assert difference_tail(first, second, w) >= exact * (1 - 1e-12)


def test_the_least_margin_is_least() -> None:
    scale = Fraction(5)
    w = least_margin(lambda w: tail(scale, w), 1e-3)
    assert tail(scale, w) <= 1e-3 < tail(scale, w - 1)
    assert least_margin(lambda w: 0.0, 0.5) == 0


# -- the sparse vector's law ---------------------------------------------------------------------


def plan(epsilon: float, delta: float, m: int, halts: int, **more: object) -> SparseVectorBudget:
    return plan_sparse_vector(epsilon, delta, queries=m, halts=halts, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("halts", [1, 2])
def test_tests_have_the_enumerated_law(halts: int) -> None:
    budget = plan(2.0, 0.2, 3, halts)
    values = (budget.margin + 1, budget.margin, budget.margin - 2)
    law = pass_law(values, budget)
    assert sum(law.values()) == pytest.approx(1)
    runs, seen = 2000, Counter[tuple[bool, ...]]()
    source = SeededRandom(halts)
    for _ in range(runs):
        tests, done = SparseVector(budget, source), []
        for value in values:
            if tests.halts_left:
                done.append(tests.test(value))
        seen[tuple(done)] += 1
    assert_drawn_from(law, seen, runs, outcomes=len(law))


@pytest.mark.parametrize(("epsilon", "halts"), [(0.7, 1), (1.5, 1), (1.5, 2), (2.0, 3)])
def test_epochs_are_pure_and_compose_as_stated(epsilon: float, halts: int) -> None:
    """Algorithm 1: any values that move by at most 1, in any direction."""
    budget = plan(epsilon, 1e-3, 3, halts)
    cost = float(1 / budget.threshold_scale + 2 / budget.query_scale)
    assert cost <= budget.spent.charges[0].each
    worst = 0.0
    base = budget.margin
    for first in itertools.product((base - 4, base, base + 3), repeat=3):
        law = pass_law(first, budget)
        for move in itertools.product((-1, 0, 1), repeat=3):
            other = pass_law(tuple(v + x for v, x in zip(first, move, strict=True)), budget)
            for passes, p in law.items():
                worst = max(worst, math.log(p / other[passes]) / max(1, passes.count(False)))
            spent = exact_delta(law, other, epsilon)  # type: ignore[arg-type]
            assert spent <= optimal_delta(budget.spent.charges[0].each, halts, epsilon) + 1e-12
    assert cost * 0.5 < worst <= cost + 1e-9


def neighbours(values: tuple[int, ...], far: tuple[int, ...]):  # type: ignore[no-untyped-def]
    """All answers and distances of a neighbour: other values only where both distances are 0."""
    for moved in itertools.product(*[[d for d in (f - 1, f, f + 1) if d >= 0] for f in far]):
        free = [f == d == 0 for f, d in zip(far, moved, strict=True)]
        choices = [(v, 1 - v) if ok else (v,) for v, ok in zip(values, free, strict=True)]
        for changed in itertools.product(*choices):
            yield changed, moved


@pytest.mark.parametrize(
    ("epsilon", "delta", "halts"), [(1.0, 0.1, 1), (1.0, 0.02, 2), (2.0, 0.3, 2), (3.0, 0.1, 3)]
)
def test_stable_queries_keep_epsilon_and_delta_for_every_neighbour(epsilon, delta, halts):
    budget = plan(epsilon, delta, 3, halts)
    top, worst = budget.margin + 1, 0.0
    for far in itertools.product((0, 1, top), repeat=3):
        values = (0, 0, 0)
        law = query_law(values, far, budget)
        for changed, moved in neighbours(values, far):
            other = query_law(changed, moved, budget)
            worst = max(worst, exact_delta(law, other, epsilon))
    assert worst <= delta
    # not idle: the worst pair uses a good part of delta
    assert worst > delta / 10


def test_a_smaller_margin_or_less_noise_breaks_it() -> None:
    budget = plan(1.0, 0.05, 2, 1)
    small = SparseVectorBudget(2, 1, budget.threshold_scale, budget.query_scale, 0, budget.spent)
    law, other = (query_law((v, v), (0, 0), small) for v in (0, 1))
    assert exact_delta(law, other, 1.0) > 0.05
    quiet = SparseVectorBudget(2, 1, Fraction(3, 5), Fraction(3, 5), budget.margin, budget.spent)
    w = budget.margin
    law, other = (query_law((0, 0), (w + 1 + x, w + 1 - x), quiet) for x in (0, 1))
    assert exact_delta(law, other, 1.0) > 0.05


def test_the_margin_does_not_depend_on_the_number_of_queries() -> None:
    """A value of 0 that does not pass is a halt, so at most T values of 0 are tested in all."""
    budgets = [plan(1.0, 1e-6, m, 4) for m in (4, 100, 10**6)]
    assert len({b.margin for b in budgets}) == 1
    budget = plan(1.5, 0.2, 8, 1)
    zeros, ones = (query_law((v,) * 8, (0,) * 8, budget) for v in (0, 1))
    answered = sum(p for answers, p in zeros.items() if answers[0] is not None)
    assert answered <= 0.2
    assert exact_delta(zeros, ones, 0.0) <= 0.2
    # with distances of 1 before, survival speaks for a low threshold; still no more than delta
    far = (1,) * 7 + (0,)
    law = query_law((0,) * 8, far, budget)
    assert sum(p for a, p in law.items() if len(a) == 8 and a[7] is not None) <= 0.2


@pytest.mark.parametrize("halts", [1, 3, 30, 300])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_printed_constants_hold_with_room_and_the_tight_ones_are_smaller(halts, epsilon):
    printed = plan(epsilon, 1e-6, 1000, halts, constants="printed")
    rate = math.sqrt(32 * halts * math.log(2 / 1e-6)) / epsilon
    assert float(printed.threshold_scale) == pytest.approx(rate, rel=1e-5)
    assert printed.query_scale == 2 * printed.threshold_scale
    assert printed.margin == pytest.approx(2 * rate * math.log(2e9), abs=2)
    tight = plan(epsilon, 1e-6, 1000, halts)
    assert 2 * tight.margin < printed.margin
    assert tight.slip(0.1) < printed.slip(0.1)


def test_printed_constants_are_refused_where_they_fail() -> None:
    with pytest.raises(ValueError, match="printed constants"):
        plan(40.0, 0.4, 100, 100, constants="printed")


def test_halts_are_counted_and_the_budget_ends() -> None:
    budget = plan(1.0, 1e-6, 6, 2)
    queries = StableQueries(budget, SeededRandom(5))
    far = 10 * (budget.margin + 1)
    answers = [queries.ask(7, d) for d in (far, 0, far, 0, far, far)]
    assert [a.status for a in answers] == [
        "answered", "unstable", "answered", "unstable", "halted", "halted"
    ]  # fmt: skip
    assert [a.value for a in answers] == [7, None, 7, None, None, None]
    assert [a.halts_left for a in answers] == [2, 1, 1, 0, 0, 0]
    assert [a.queries_left for a in answers] == [5, 4, 3, 2, 1, 0]
    assert isinstance(answers[0], QueryRelease)
    with pytest.raises(ValueError, match="used up"):
        queries.ask(7, far)
    with pytest.raises(ValueError, match="at least 0"):
        StableQueries(budget, SeededRandom(5)).ask(7, -1)
    tests = SparseVector(budget, SeededRandom(1))
    tests.test(-(10**6)), tests.test(-(10**6))
    with pytest.raises(ValueError, match="used up"):
        tests.test(far)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0.0}, {"epsilon": math.nan}, {"delta": 0.0}, {"delta": 1.0}, {"m": 0},
        {"halts": 0}, {"halts": 10**6}, {"constants": "loose"}, {"neighbours": "both"},
    ],
)  # fmt: skip
def test_budgets_refuse_what_states_no_guarantee(wrong: dict[str, object]) -> None:
    given: dict[str, object] = {"epsilon": 1.0, "delta": 1e-6, "m": 10, "halts": 1} | wrong
    with pytest.raises(ValueError):  # noqa: PT011
        plan(**given)  # type: ignore[arg-type]


def test_all_is_spent_before_the_first_step() -> None:
    spent = stability_spent(1.0, 1e-6, "replace-one", True, epsilon0=0.2, halts=5)
    assert spent_after(spent, 1) == (1.0, "stability")
    assert spent_after(spent, 0)[0] == 0
    assert privacy_from_dict(privacy_to_dict(spent)) == spent


# -- algorithm 2 ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.1), (1.0, 1e-3), (3.0, 0.3)])
def test_the_distance_test_keeps_epsilon_and_delta(epsilon: float, delta: float) -> None:
    test = DistanceTest.plan(epsilon, delta)
    # no more than the source's threshold, rounded up
    assert test.margin <= math.ceil(math.log(1 / delta) / epsilon)

    def law(value: int, distance: int) -> dict[int | None, float]:
        passes = at_least(test.margin - distance + 1, test.scale)
        return {value: passes, None: 1 - passes}

    worst = 0.0
    for far in range(test.margin + 4):
        for moved in (far, far + 1):
            for value in (0, 1) if far == moved == 0 else (0,):
                worst = max(worst, exact_delta(law(0, far), law(value, moved), epsilon))
    assert delta / 10 < worst <= delta
    runs = 3000
    source = SeededRandom(3)
    got = sum(test.answer(1, test.margin, source) is not None for _ in range(runs))
    lower, upper = clopper_pearson(got, runs, 0.9999)
    assert lower <= law(1, test.margin)[1] <= upper
    with pytest.raises(ValueError, match="at least 0"):
        test.answer(1, -1, source)


# -- the baseline --------------------------------------------------------------------------------


def test_noisy_votes_have_bounded_range_and_all_queries_pay() -> None:
    budget = plan_noisy_votes(1.0, 1e-6, queries=100)
    every = [np.array(c) for c in vote_counts(6, 3)]

    def law(votes: np.ndarray) -> np.ndarray:
        weights = np.exp(budget.rate * votes)
        return weights / weights.sum()

    worst = 0.0
    for votes in every:
        for other in one_change(tuple(votes.tolist())):
            ratio = np.log(law(votes) / law(np.array(other)))
            worst = max(worst, ratio.max() - ratio.min())
    # the range is what the account was asked for
    assert worst <= budget.spent.charges[0].each + 1e-12
    assert worst == pytest.approx(budget.spent.charges[0].each, rel=1e-6)
    assert budget.spent.account == "zcdp"
    advanced = plan_noisy_votes(1.0, 1e-6, queries=100, account="advanced")
    assert advanced.rate < budget.rate
    assert advanced_epsilon(2 * advanced.rate, 100, 1e-6) <= 1
    # one query is basic composition in either account
    assert plan_noisy_votes(1.0, 1e-6, queries=1).rate >= 0.5 - 1e-6
    votes = NoisyVotes(plan_noisy_votes(1.0, 1e-6, queries=2), SeededRandom(1))
    assert [votes.ask(np.array([0, 400])), votes.ask(np.array([400, 0]))] == [1, 0]
    with pytest.raises(ValueError, match="used up"):
        votes.ask(np.array([400, 0]))
