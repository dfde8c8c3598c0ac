"""What the Boolean learners promise of privacy: whole laws enumerated, for all neighbours."""

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from heard_draws import heard_choices, silent_noise
from noise_laws import at_least
from numpy.typing import NDArray
from tiny_samples import all_neighbours, excess, most_moved

from learners import (
    PrivateConsistentConjunctionLearner,
    PrivateConsistentDisjunctionLearner,
    StrawmanConjunctionLearner,
    StrawmanDisjunctionLearner,
)
from learners.boolean import conjunction, consistent_conjunction
from learners.boolean.conjunction import LiteralCover, private_literal_steps, strawman_budget
from learners.boolean.formulas import candidate_literal, read_columns
from learners.core.selection import Role
from learners.cover.set_cover import Budget
from learners.privacy.composition import advanced_rate, run_delta, run_rate, selection_account
from learners.privacy.randomness import SeededRandom
from learners.theory.cover_sizes import strawman_examples

ROLES: tuple[Role, ...] = ("conjunction", "disjunction")

#: Examples: a point of the cube and a label.  A sample is a sorted tuple of examples.
Sample = tuple[tuple[tuple[int, ...], int], ...]


def examples(d: int) -> list[tuple[tuple[int, ...], int]]:
    return [(x, label) for x in product((0, 1), repeat=d) for label in (0, 1)]


def arrays(sample: Sample, d: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    return (
        np.array([x for x, _ in sample], dtype=np.int64).reshape(-1, d),
        np.array([label for _, label in sample], dtype=bool),
    )


# -- the private cover, every transcript ----------------------------------------------------


@dataclass
class Paths:
    """Every transcript of the engine on one sample, run by the engine itself.

    Noise comes from `noises`, or is what makes every threshold equal `fixed`; selections take
    every candidate in turn.  `scores` has shape (paths, steps, candidates), `chosen` and `noise`
    shape (paths, steps); paths are in one order for all samples.
    """

    scores: NDArray[np.int64]
    chosen: NDArray[np.int64]
    noise: NDArray[np.int64]
    thresholds: NDArray[np.int64]

    def selections(self, rate: float) -> NDArray[np.float64]:
        """Probability of each path's selections given its thresholds."""
        weights = np.exp(rate * (self.scores - self.scores.max(axis=2, keepdims=True)))
        chances = np.take_along_axis(weights, self.chosen[:, :, None], axis=2)[:, :, 0]
        return np.prod(chances / weights.sum(axis=2), axis=1)


def every_path(
    monkeypatch: pytest.MonkeyPatch,
    sample: Sample,
    d: int,
    role: Role,
    k: int,
    steps: int,
    *,
    fixed: int | None = None,
    thresholds: range = range(1),
) -> Paths:
    """Run the engine once for every sequence of thresholds and candidates."""
    X, y = arrays(sample, d)
    columns, budget = read_columns(X), Budget(steps, Fraction(1), 0, 1.0, None)  # type: ignore[arg-type]
    cover: LiteralCover
    asked: list[NDArray[np.int64]] = []
    script: tuple[tuple[int, int], ...] = ()
    noise: list[int] = []

    def laplace(source: Any, scale: Fraction) -> int:
        wanted = fixed if fixed is not None else script[len(asked)][0]
        noise.append(wanted - cover.gain)
        return noise[-1]

    def draw(source: Any, scores: NDArray[np.int64], rate: Fraction) -> int:
        assert rate == Fraction(1, k)
        asked.append(scores)
        return script[len(asked) - 1][1]

    monkeypatch.setattr(conjunction, "discrete_laplace", laplace)
    monkeypatch.setattr(conjunction, "exponential_index", draw)
    options = list(product(thresholds, range(2 * d + 1)))
    parts: list[tuple[Any, ...]] = []
    for one in product(options, repeat=steps):
        script, asked, noise = one, [], []
        cover = LiteralCover(columns, y, role)
        stream = private_literal_steps(cover, k, budget, SeededRandom(0))
        released = [record.release.threshold for record in stream]
        parts.append((np.array(asked), [c for _, c in one], noise, released))
    return Paths(*(np.array(part) for part in zip(*parts, strict=True)))


EPSILON, DELTA = 0.2, 0.02


@pytest.mark.parametrize(
    ("role", "k", "fixed"),
    [("conjunction", 1, 0), ("conjunction", 2, 1), ("disjunction", 1, 1), ("disjunction", 2, 2)],
)
def test_selections_of_whole_runs_are_private_for_all_neighbours(monkeypatch, role, k, fixed):
    """Three steps over two variables: every transcript, samples of up to two examples."""
    steps, d = 3, 2
    pairs = all_neighbours(examples(d), 1)
    laws = {
        sample: every_path(monkeypatch, sample, d, role, k, steps, fixed=fixed)
        for sample in {sample for pair in pairs for sample in pair}
    }

    def worst(eta: float, epsilon: float) -> float:
        law = {sample: paths.selections(eta / k) for sample, paths in laws.items()}
        assert all(p.sum() == pytest.approx(1) for p in law.values())
        return max(excess(law[a], law[b], epsilon) for a, b in pairs)

    granted = {name: eta for name, eta in selection_account(EPSILON, DELTA, steps).alternatives}
    assert worst(granted["basic"], EPSILON) < 1e-12
    assert worst(granted["zcdp"], EPSILON) <= DELTA
    assert worst(granted["set-cover"], EPSILON) <= DELTA
    assert worst(run_rate(EPSILON, DELTA, steps), EPSILON) <= DELTA
    assert worst(advanced_rate(EPSILON, DELTA, steps) / 2, EPSILON) <= DELTA
    # no idle test: a much larger rate breaks each statement
    assert worst(6 * granted["basic"], EPSILON) > DELTA
    # one step's rate cannot be much larger: the best candidate of five, or the worst, moves
    assert worst(granted["basic"] * steps, EPSILON) > 0


@pytest.mark.parametrize("role", ROLES)
def test_counts_and_selections_together_are_private_for_all_neighbours(monkeypatch, role):
    """Two steps over one variable with the noise: all thresholds of -2..4, all literals."""
    steps, share, eta = 2, 1.5, 0.4
    p = math.exp(-share)
    pairs = all_neighbours(examples(1), 1)
    laws, mass = {}, {}
    for sample in {sample for pair in pairs for sample in pair}:
        paths = every_path(monkeypatch, sample, 1, role, 1, steps, thresholds=range(-2, 5))
        assert len({tuple(row) for row in paths.thresholds.tolist()}) == 7**2
        counts = np.prod((1 - p) / (1 + p) * p ** np.abs(paths.noise), axis=1)
        laws[sample] = counts * paths.selections(eta)
        mass[sample] = laws[sample].sum()
    # other thresholds are rare, and by the same argument as these no exception
    assert min(mass.values()) > 0.95
    epsilon = steps * (share + eta)
    worst = most_moved(laws.__getitem__, pairs)
    # the noise of both counts is seen in full, and the selections besides
    assert steps * share + 0.1 * eta < worst <= epsilon + 1e-9
    # and all the deltas that the account states for less than that
    for less in (0.2, 0.5, 0.8):
        exact = max(excess(laws[a], laws[b], less * epsilon) for a, b in pairs)
        stated = run_delta(eta, steps, less * epsilon, share)
        assert 0.3 * stated < exact <= stated


@pytest.mark.parametrize("role", ROLES)
def test_one_example_moves_every_score_the_same_way_by_at_most_k(monkeypatch, role):
    k = 3
    for one, other in all_neighbours(examples(2), 2):
        a, b = (
            every_path(monkeypatch, sample, 2, role, k, 1, fixed=2).scores[0, 0]
            for sample in (one, other)
        )
        moved = b - a
        assert np.abs(moved).max() <= k
        assert (moved >= 0).all() or (moved <= 0).all()


# -- the private consistency learner, its whole law ----------------------------------------


@pytest.mark.parametrize(
    "learner", [PrivateConsistentConjunctionLearner, PrivateConsistentDisjunctionLearner]
)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("monotone", [False, True])
def test_the_law_over_all_formulas_for_all_neighbours(monkeypatch, learner, relation, monotone):
    epsilon = 0.8
    laws: dict[Sample, NDArray[np.float64]] = {}

    def draw(source: Any, scores: NDArray[np.int64], rate: Fraction) -> int:
        weights = np.exp(float(rate) * (scores - scores.max()))
        laws[sample] = weights / weights.sum()
        return 0

    monkeypatch.setattr(consistent_conjunction, "exponential_index", draw)
    pairs = all_neighbours(examples(2), 2 if relation == "add-remove" else 1, relation)
    for sample in {sample for pair in pairs for sample in pair}:
        made = learner(epsilon=epsilon, neighbours=relation, monotone=monotone)
        made.fit(*arrays(sample, 2))
    assert {len(one) for one in laws.values()} == {4 if monotone else 10}
    assert 0.6 * epsilon < most_moved(laws.__getitem__, pairs) <= epsilon + 1e-12


# -- the list of good literals and the cover from it ----------------------------------------

D, STEPS = 2, 2
KINDS = [(*x, y) for x in itertools.product((0, 1), repeat=D) for y in (0, 1)]
Rows = tuple[tuple[int, ...], ...]
LEARNERS = {"conjunction": StrawmanConjunctionLearner, "disjunction": StrawmanDisjunctionLearner}


def law(role: Role, sample: Rows, budget: Budget) -> dict[tuple, float]:
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
def test_literals_of_the_noisy_list_are_drawn_by_what_they_gain(role: Role, monkeypatch) -> None:
    table = np.array([(1, 0, 1), (1, 0, 1), (0, 1, 0), (1, 1, 0), (0, 0, 1), (0, 0, 1)])
    cover = LiteralCover(read_columns(table[:, :D]), table[:, D] == 1, role)
    budget = strawman_budget(4.0, 1e-6, D, STEPS, 0.3)
    # two just within the margin, the others just beyond
    beyond = np.array([0, 1, 1, 0])
    noise = budget.margin + beyond - cover.lost()[:-1]
    asked = silent_noise(monkeypatch, conjunction, noise.tolist())
    heard = heard_choices(monkeypatch, conjunction, 1)
    model = LEARNERS[role](k=1, epsilon=4.0, n_steps=STEPS, beta=0.3, seed=1)
    release = model.fit(table[:, :D], table[:, D]).release_
    assert asked == [(budget.scale, 2 * D)]
    assert release.literals == (candidate_literal(role, 3, D),) * STEPS
    for scores, rate, _ in heard:
        assert (scores, rate) == (cover.gained()[[0, 3, 2 * D]].tolist(), Fraction(budget.eta))
        cover.take(3, 0.0, 0.0)
    assert len(heard) == STEPS


def test_a_hopeless_budget_has_no_number_of_examples() -> None:
    assert strawman_examples(50, 3, 1e-9, 0.1, epsilon=1e-6).examples is None
