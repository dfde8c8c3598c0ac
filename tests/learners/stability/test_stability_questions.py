"""Questions after a run by votes: one budget for the run and for all that is asked later."""

import pickle
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest
from chi_square import assert_drawn_from
from numpy.typing import NDArray
from stability_laws import Law, divided_law, law_of_tests, worst_of_neighbours

from learners import StabilityLearner
from learners.privacy.randomness import RandomSource, SeededRandom
from learners.stability.base_learners import MajorityCells
from learners.stability.label_private import split_sample
from learners.stability.sample_and_aggregate import distances, winners
from learners.stability.stable_queries import (
    QueryRelease,
    SparseVectorBudget,
    StableQueries,
    plan_sparse_vector,
)

D = 32

#: In the middle of a cell of the base, on which chunks therefore differ.
BORDER = 12


def sample(n: int = 4_000) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    X = np.random.default_rng(0).integers(0, D + 1, (n, 2))
    return X, (X[:, 0] >= BORDER).astype(int)


def learner(**more: Any) -> StabilityLearner:
    given: dict[str, Any] = {
        "k": 1, "grid": D, "base": MajorityCells(grid=D, cells=4), "epsilon": 8.0, "seed": 5,
        "halts": 3, "kept": 2, "queries": 200,
    }  # fmt: skip
    return StabilityLearner(**given | more)


# -- the law -------------------------------------------------------------------------------------


def strategy(answers: tuple[int | None, ...]) -> int | None:
    """The run asks query 0 at most twice, until it has no halt left; then come two questions, of
    which the second depends on all answers."""
    own = answers.index(None) + 1 if None in answers[:2] else 2
    if len(answers) < own:
        return 0
    if len(answers) >= own + 2 or answers.count(None) == 2:
        return None
    return 1 if answers.count(1) % 2 else 0


def interaction_law(facts: tuple[tuple[int, int], ...], budget: SparseVectorBudget) -> Law:
    """Probability of every sequence of answers, if query q has value and distance facts[q]."""

    def answered(passes: tuple[bool, ...]) -> tuple[int | None, ...]:
        answers: tuple[int | None, ...] = ()
        for passed in passes:
            query = strategy(answers)
            assert query is not None
            answers = (*answers, facts[query][0] if passed else None)
        return answers

    def distance_after(passes: tuple[bool, ...]) -> int | None:
        query = strategy(answered(passes))
        return None if query is None else facts[query][1]

    law = law_of_tests(distance_after, budget, reach=150)
    return {answered(passes): chance for passes, chance in law.items()}


def interact(
    facts: tuple[tuple[int, int], ...], budget: SparseVectorBudget, source: RandomSource
) -> tuple[int | None, ...]:
    """The same by the code: one halt and half of the queries are kept for the questions."""
    queries = StableQueries(budget, source, kept=1)
    answers: tuple[int | None, ...] = ()
    while queries.halts_left and queries.queries_left:
        answers = (*answers, queries.ask(*facts[0]).value)
    queries.take_up()
    while (query := strategy(answers)) is not None:
        answers = (*answers, queries.ask(*facts[query]).value)
    return answers


def facts_of(votes: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """Two queries that see the same votes, one of them with the classes exchanged."""
    counts = np.array([votes, votes[::-1]])
    return tuple(zip(winners(counts).tolist(), distances(counts).tolist(), strict=True))


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.3), (2.0, 0.1)])
def test_run_and_questions_together_keep_epsilon_and_delta_for_all_neighbours(epsilon, delta):
    budget = plan_sparse_vector(epsilon, delta, queries=4, halts=2)
    of = cache(lambda votes: interaction_law(facts_of(votes), budget))
    assert sum(divided_law((1, 0, 1), 3, of).values()) == pytest.approx(1)
    worst = worst_of_neighbours(lambda labels: divided_law(labels, 3, of), 3, epsilon)
    assert 0 < worst <= delta


def test_the_code_follows_that_law() -> None:
    budget = plan_sparse_vector(2.0, 0.3, queries=4, halts=2)
    facts = ((0, budget.margin), (1, budget.margin - 1))
    law = interaction_law(facts, budget)
    runs, source = 2_000, SeededRandom(8)
    seen = Counter(interact(facts, budget, source) for _ in range(runs))
    assert_drawn_from(law, seen, runs, outcomes=9)


# -- the budget ----------------------------------------------------------------------------------


def test_what_is_kept_is_left_when_the_run_has_used_its_own() -> None:
    budget = plan_sparse_vector(1.0, 0.1, queries=9, halts=3)
    queries = StableQueries(budget, SeededRandom(1), kept=1)
    far = 10**6
    assert (queries.halts_left, queries.queries_left) == (2, 5)
    outcome = [queries.ask(1, distance).status for distance in (far, 0, 0, far, far)]
    # seed 1: both zeros fail, which is what zeros do but for a part of delta
    assert outcome == ["answered", "unstable", "unstable", "halted", "halted"]
    assert (queries.halts_left, queries.queries_left) == (0, 0)
    with pytest.raises(ValueError, match="used up"):
        queries.ask(1, far)
    queries.take_up()
    assert (queries.halts_left, queries.queries_left) == (1, 4)
    assert queries.ask(1, far) == QueryRelease(6, 1, "answered", 1, 3)
    assert queries.ask(1, 0) == QueryRelease(7, None, "unstable", 0, 2)
    assert queries.ask(1, far).status == "halted"


@pytest.mark.parametrize("kept", [3, 4, -1])
def test_the_run_needs_a_halt_of_its_own(kept: Any) -> None:
    with pytest.raises(ValueError, match=r"kept.* a whole number (below|and lie between)"):
        learner(kept=kept).steps([[3, 4]], [1])


def test_questions_cost_nothing_beyond_the_statement_of_the_run() -> None:
    plain, keeping = learner(kept=0), learner()
    assert plain.plan() == keeping.plan()
    X, y = sample()
    model = keeping.fit(X, y)
    before = model.privacy_
    model.ask([[2, 2], [30, 9]])
    assert model.privacy_ == before == keeping.plan()
    assert dict(model.release_.parameters)["kept"] == 2


# -- questions -----------------------------------------------------------------------------------


def test_questions_one_by_one_are_answered_as_all_at_once() -> None:
    X, y = sample()
    points = np.random.default_rng(2).integers(0, D + 1, (60, 2))
    at_once = learner().fit(X, y).ask(points)
    model = learner().fit(X, y)
    one_by_one = [record for point in points for record in model.ask(point[None])]
    assert list(at_once) == one_by_one
    statuses = Counter(record.release.status for record in at_once)
    assert statuses["answered"] > 5
    # the run had one halt of its own; two were kept
    assert statuses["unstable"] == 2
    assert at_once[-1].release.status == "halted"
    assert at_once[-1].release.halts_left == 0
    for (x, _), record in zip(points.tolist(), at_once, strict=True):
        if abs(x - BORDER) > 8 and record.release.value is not None:
            assert record.release.value == int(x >= BORDER)
        known = record.diagnostics
        assert sum(known.votes) == dict(model.release_.parameters)["chunks"]
        assert known.distance == distances(np.array([known.votes]))[0]


def test_what_cannot_be_asked_is_refused_and_costs_nothing() -> None:
    X, y = sample()
    model = learner(queries=20)
    with pytest.raises(ValueError, match="not been fitted"):
        model.ask([[1, 1]])
    model.fit(X, y)
    with pytest.raises(ValueError, match="off the grid"):
        model.ask([[1, 1], [1, D + 1]])
    left = model.private_models_.queries.queries_left
    assert left >= 10
    with pytest.raises(ValueError, match=f"{left} queries are left"):
        model.ask([[1, 1]] * (left + 1))
    assert model.private_models_.queries.queries_left == left
    with pytest.raises(ValueError, match="nothing was kept for questions"):
        learner(kept=0).fit(X, y).ask([[1, 1]])


def test_models_are_kept_for_questions_alone_and_leave_in_no_file() -> None:
    X, y = sample()
    model = learner().fit(X, y)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(model)
    plain = learner(kept=0).fit(X, y)
    assert not hasattr(plain, "private_models_")
    assert pickle.loads(pickle.dumps(plain)).release_ == plain.release_
    stopped = model.steps(X, y)
    with pytest.raises(ValueError, match="not been fitted"):
        model.ask([[1, 1]])
    assert len(list(stopped)) == 1


def test_with_labels_alone_protected_labels_of_the_points_asked_by_the_run_have_no_part() -> None:
    X, y = sample()
    model = learner(neighbours="replace-label").fit(X, y)
    assert model.privacy_.neighbours == "replace-label"
    points = np.random.default_rng(2).integers(0, D + 1, (40, 2))
    outcome = model.ask(points)
    # half of the queries are the run's own; their rows are drawn first
    rows = np.column_stack([X, np.arange(len(X))])
    _, _, given = split_sample(rows, y, 100, SeededRandom(5))
    assert len(model.answers_) == 100
    assert {p for p, _ in model.answers_} == {(x, y) for x, y, _ in given.tolist()}
    other = y.copy()
    other[given[:, 2]] ^= 1
    assert learner(neighbours="replace-label").fit(X, other).ask(points) == outcome
