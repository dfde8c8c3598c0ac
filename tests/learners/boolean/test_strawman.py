"""A private list of good literals and a cover from it: the whole law, its delta, its examples."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from chi_square import assert_drawn_from
from noise_laws import at_least
from tiny_samples import all_neighbours, excess

from learners import StrawmanConjunctionLearner, StrawmanDisjunctionLearner
from learners.boolean.conjunction import LiteralCover, strawman_budget
from learners.boolean.formulas import candidate_literal, read_columns
from learners.core.selection import Role
from learners.cover.set_cover import Budget
from learners.theory.cover_sizes import strawman_examples

D, STEPS = 2, 2
KINDS = [(*x, y) for x in itertools.product((0, 1), repeat=D) for y in (0, 1)]
Sample = tuple[tuple[int, ...], ...]
LEARNERS = {"conjunction": StrawmanConjunctionLearner, "disjunction": StrawmanDisjunctionLearner}


def law(role: Role, sample: Sample, budget: Budget) -> dict[tuple, float]:
    """Probability of every list and every sequence of candidates, by the books of the engine."""
    table = np.array(sample, dtype=np.int64).reshape(-1, D + 1)

    def listed(lost: int) -> float:
        """P(lost + noise <= margin)."""
        return at_least(lost - budget.margin, budget.scale)

    def fresh() -> LiteralCover:
        return LiteralCover(read_columns(table[:, :D]), table[:, D] == 1, role)

    @cache
    def gained(taken: tuple[int, ...]) -> tuple[int, ...]:
        cover = fresh()
        for one in taken:
            cover.take(one, 0.0, 0.0)
        return tuple(cover.gained().tolist())

    chances = [listed(int(lost)) for lost in fresh().lost()[:-1]]
    found = {}
    for flags in itertools.product((False, True), repeat=2 * D):
        chosen = [i for i, one in enumerate(flags) if one] + [2 * D]
        share = math.prod(c if one else 1 - c for c, one in zip(chances, flags, strict=True))
        for sequence in itertools.product(chosen, repeat=STEPS):
            weight = share
            for step, one in enumerate(sequence):
                scores = gained(sequence[:step])
                odds = [math.exp(budget.eta * scores[other]) for other in chosen]
                weight *= math.exp(budget.eta * scores[one]) / sum(odds)
            found[flags, sequence] = weight
    assert math.isclose(sum(found.values()), 1)
    return found


@pytest.mark.parametrize("role", ["conjunction", "disjunction"])
def test_the_whole_law_keeps_epsilon_and_delta_for_all_neighbours(role: Role) -> None:
    """Lists are published too: what is released is a function of them and of the draws."""
    epsilon, delta = 0.8, 0.02
    budget = strawman_budget(epsilon, delta, D, STEPS, 0.3)
    pairs = all_neighbours(KINDS, 1)
    laws = cache(lambda sample: list(law(role, sample, budget).values()))
    assert max(excess(laws(a), laws(b), epsilon) for a, b in pairs) <= delta
    # not for want of trying: a rate four times as high breaks it
    doubled = replace(budget, eta=4 * budget.eta)
    gains = (1, 1, 0) if role == "conjunction" else (0, 0, 1)
    p, q = law(role, (), doubled), law(role, (gains,), doubled)
    assert sum(max(0.0, q[t] - math.exp(epsilon) * p[t]) for t in p) > delta


@pytest.mark.parametrize("role", ["conjunction", "disjunction"])
def test_runs_follow_the_law(role: Role) -> None:
    sample: Sample = ((1, 0, 1), (1, 0, 1), (0, 1, 0), (1, 1, 0), (0, 0, 1), (0, 0, 1))
    table, runs = np.array(sample), 800
    make = LEARNERS[role]
    given = {"k": 1, "epsilon": 4.0, "n_steps": STEPS, "beta": 0.3}
    expected: Counter[tuple] = Counter()
    for (_, sequence), p in law(role, sample, strawman_budget(4.0, 1e-6, D, STEPS, 0.3)).items():
        expected[tuple(candidate_literal(role, one, D) for one in sequence)] += p
    seen = Counter(
        make(**given, seed=seed).fit(table[:, :D], table[:, D]).release_.literals
        for seed in range(runs)
    )
    assert_drawn_from(dict(expected), seen, runs, outcomes=5)


def test_a_hopeless_budget_has_no_number_of_examples() -> None:
    assert strawman_examples(50, 3, 1e-9, 0.1, epsilon=1e-6).examples is None
