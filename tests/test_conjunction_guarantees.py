"""What the Boolean learners promise: privacy on enumerated laws, error by many runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from learners.accounting import selection_account
from learners.boolean import conjunction, conjunction_consistency
from learners.boolean.conjunction import (
    ConjunctionLearner,
    DisjunctionLearner,
    private_literal_steps,
)
from learners.boolean.conjunction_bounds import (
    consistency_examples,
    consistent_examples,
    cover_examples,
    cover_steps,
    greedy_examples,
    log_conjunctions,
    log_formulas,
)
from learners.boolean.conjunction_budget import advanced_rate, cover_budget
from learners.boolean.conjunction_consistency import (
    PrivateConsistentConjunctionLearner,
    PrivateConsistentDisjunctionLearner,
)
from learners.boolean.conjunction_greedy import (
    ConsistentConjunctionLearner,
    ConsistentDisjunctionLearner,
    GreedyConjunctionLearner,
    GreedyDisjunctionLearner,
)
from learners.boolean.literal_columns import read_columns
from learners.boolean.literal_cover import LiteralCover
from learners.boolean.literals import Literal, evaluate
from learners.cover_account import run_delta, run_rate
from learners.randomness import SeededRandom
from learners.scores import Role
from learners.set_cover import Budget

ROLES: tuple[Role, ...] = ("conjunction", "disjunction")

#: Examples: a point of the cube and a label.  A sample is a sorted tuple of examples.
Sample = tuple[tuple[tuple[int, ...], int], ...]


def neighbours(size: int, d: int) -> list[tuple[Sample, Sample]]:
    """All samples of up to `size` examples, each with all samples of one example more."""
    kinds = [(x, label) for x in product((0, 1), repeat=d) for label in (0, 1)]
    return [
        (sample, tuple(sorted((*sample, extra))))
        for n in range(size + 1)
        for sample in combinations_with_replacement(kinds, n)
        for extra in kinds
    ]


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
    covers: list[LiteralCover] = []
    asked: list[NDArray[np.int64]] = []
    script: tuple[tuple[int, int], ...] = ()
    noise: list[int] = []

    def books(*arguments: Any) -> LiteralCover:
        covers.append(LiteralCover(*arguments))
        return covers[-1]

    def laplace(source: Any, scale: Fraction) -> int:
        wanted = fixed if fixed is not None else script[len(asked)][0]
        noise.append(wanted - covers[-1].gain)
        return noise[-1]

    def draw(source: Any, scores: NDArray[np.int64], rate: Fraction) -> int:
        assert rate == Fraction(1, k)
        asked.append(scores)
        return script[len(asked) - 1][1]

    monkeypatch.setattr(conjunction, "LiteralCover", books)
    monkeypatch.setattr(conjunction, "discrete_laplace", laplace)
    monkeypatch.setattr(conjunction, "exponential_index", draw)
    options = list(product(thresholds, range(2 * d + 1)))
    parts: list[tuple[Any, ...]] = []
    for one in product(options, repeat=steps):
        script, asked, noise = one, [], []
        stream = private_literal_steps(
            columns, y, role=role, k=k, budget=budget, source=SeededRandom(0)
        )
        released = [record.release.threshold for record in stream]
        parts.append((np.array(asked), [c for _, c in one], noise, released))
    return Paths(*(np.array(part) for part in zip(*parts, strict=True)))


def excess(p: NDArray[np.float64], q: NDArray[np.float64], epsilon: float) -> float:
    """The least delta, both ways."""
    return max(
        float(np.maximum(p - math.exp(epsilon) * q, 0).sum()),
        float(np.maximum(q - math.exp(epsilon) * p, 0).sum()),
    )


EPSILON, DELTA = 0.2, 0.02


@pytest.mark.parametrize(
    ("role", "k", "fixed"),
    [("conjunction", 1, 0), ("conjunction", 2, 1), ("disjunction", 1, 1), ("disjunction", 2, 2)],
)
def test_selections_of_whole_runs_are_private_for_all_neighbours(
    monkeypatch: pytest.MonkeyPatch, role: Role, k: int, fixed: int
) -> None:
    """Three steps over two variables: every transcript, samples of up to two examples."""
    steps, d = 3, 2
    pairs = neighbours(1, d)
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
def test_counts_and_selections_together_are_private_for_all_neighbours(
    monkeypatch: pytest.MonkeyPatch, role: Role
) -> None:
    """Two steps over one variable with the noise: all thresholds of -2..4, all literals."""
    steps, share, eta = 2, 1.5, 0.4
    p = math.exp(-share)
    pairs = neighbours(1, 1)
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
    ratios = [np.abs(np.log(laws[a] / laws[b])).max() for a, b in pairs]
    assert max(ratios) <= epsilon + 1e-9
    # the noise of both counts is seen in full, and the selections besides
    assert max(ratios) > steps * share + 0.1 * eta
    # and all the deltas that the account states for less than that
    for less in (0.2, 0.5, 0.8):
        exact = max(excess(laws[a], laws[b], less * epsilon) for a, b in pairs)
        stated = run_delta(eta, steps, less * epsilon, share)
        assert 0.3 * stated < exact <= stated


@pytest.mark.parametrize("role", ROLES)
def test_one_example_moves_every_score_the_same_way_by_at_most_k(
    monkeypatch: pytest.MonkeyPatch, role: Role
) -> None:
    k = 3
    for one, other in neighbours(2, 2):
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
def test_the_law_over_all_formulas_for_all_neighbours(
    monkeypatch: pytest.MonkeyPatch, learner: Any, relation: Any
) -> None:
    epsilon = 0.8
    laws: dict[Sample, NDArray[np.float64]] = {}

    def draw(source: Any, scores: NDArray[np.int64], rate: Fraction) -> int:
        weights = np.exp(float(rate) * (scores - scores.max()))
        laws[sample] = weights / weights.sum()
        return 0

    monkeypatch.setattr(conjunction_consistency, "exponential_index", draw)
    pairs = neighbours(2, 2)
    for sample in {sample for pair in pairs for sample in pair}:
        learner(epsilon=epsilon, neighbours=relation).fit(*arrays(sample, 2))
    if relation == "replace-one":
        pairs = [(a, b) for _, a in pairs for _, b in pairs if len(set(a) & set(b)) >= len(a) - 1]
        pairs = [(a, b) for a, b in pairs if len(a) == len(b) <= 2]
    ratios = [np.abs(np.log(laws[a] / laws[b])).max() for a, b in pairs]
    assert 0.6 * epsilon < max(ratios) <= epsilon + 1e-12


# -- bounds --------------------------------------------------------------------------------


def test_sizes_of_classes() -> None:
    assert log_conjunctions(4) == pytest.approx(math.log(82), rel=1e-12)
    assert log_conjunctions(5000) == pytest.approx(5000 * math.log(3))
    for d, most in ((6, 2), (9, 3)):
        number = sum(math.comb(2 * d, i) for i in range(most + 1))
        assert log_formulas(d, most) == pytest.approx(math.log(number), rel=1e-9)
    assert log_formulas(4, 8) == log_conjunctions(4)


def test_bounds_in_closed_form() -> None:
    assert consistent_examples(10, 0.1, 0.05) == math.ceil((math.log(59050) + math.log(20)) / 0.1)
    a = math.log(3**6 + 1) + math.log(2 / 0.05)
    n = consistency_examples(6, 0.1, 0.05, 0.5)
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
    assert plan.examples is not None
    for n, enough in ((plan.examples, True), (plan.examples - 1, False)):
        wrong = 2 * plan.noise + (3 + plan.steps) * plan.selection_loss
        e = (2 / 3) ** plan.steps + wrong / n
        t = (log_formulas(50, plan.steps) + math.log(50)) / n
        assert (e + t + math.sqrt(t * t + 2 * t * e) <= 0.1) == enough
    # too few steps never reach alpha
    assert cover_examples(50, 3, 0.1, 0.06, n_steps=2).examples is None
    naive = cover_examples(50, 3, 0.1, 0.06, account="naive")
    assert naive.examples is not None
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


@pytest.mark.parametrize(
    ("gain", "k", "noise", "loss"), [(1000, 3, 10, 5.0), (50, 1, 3, 0.0), (10**6, 10, 400, 30.0)]
)
def test_the_recursion_of_the_private_cover(gain: int, k: int, noise: int, loss: float) -> None:
    """Examples left, step by step in the worst case, stay below the closed form."""
    left = float(gain)
    for step in range(1, 60):
        left -= max(0.0, (left - 2 * noise) / k - loss)
        assert left <= (1 - 1 / k) ** step * gain + 2 * noise + k * loss + 1e-6


# -- error by many runs --------------------------------------------------------------------

ALPHA, BETA, RUNS, D = 0.1, 0.05, 200, 8
CUBE = np.array(list(product((0, 1), repeat=D)))


@dataclass(frozen=True)
class Promise:
    """A learner and the number of examples at which it promises alpha and beta."""

    make: Callable[[int], Any]
    role: Role
    literals: int
    examples: int


def promises() -> dict[str, Promise]:
    k = 2
    plan = cover_examples(D, k, ALPHA, BETA)
    assert plan.examples is not None
    found = {}
    for role, (consistent, greedy, private, one_draw) in {
        "conjunction": (
            ConsistentConjunctionLearner,
            GreedyConjunctionLearner,
            ConjunctionLearner,
            PrivateConsistentConjunctionLearner,
        ),
        "disjunction": (
            ConsistentDisjunctionLearner,
            GreedyDisjunctionLearner,
            DisjunctionLearner,
            PrivateConsistentDisjunctionLearner,
        ),
    }.items():

        def cover(seed: int, learner: Any = private) -> Any:
            return learner(k=k, n_steps=plan.steps, beta=plan.beta, seed=seed)

        def one(seed: int, learner: Any = one_draw) -> Any:
            return learner(seed=seed)

        rows = {
            "consistent": (lambda seed, a=consistent: a(), D, consistent_examples(D, ALPHA, BETA)),
            "greedy": (lambda seed, a=greedy: a(), k, greedy_examples(D, k, ALPHA, BETA)),
            "private cover": (cover, k, plan.examples),
            "one private draw": (one, D, consistency_examples(D, ALPHA, BETA, 1.0)),
        }
        for name, (make, literals, examples) in rows.items():
            found[f"{name}, {role}"] = Promise(make, role, literals, examples)  # type: ignore[arg-type]
    return found


PROMISES = promises()


def failures(promise: Promise, examples: int, runs: int) -> int:
    """Runs whose true error exceeds alpha, on random targets and distributions."""
    rng = np.random.default_rng(examples)
    cube = read_columns(CUBE)
    failed = 0
    for run in range(runs):
        number = int(rng.integers(1, promise.literals + 1))
        target = [
            Literal(int(j), bool(rng.integers(2))) for j in rng.choice(D, number, replace=False)
        ]
        truth = evaluate(promise.role, target, cube)
        # heavy and light points; the rarer label gets its share
        weights = np.exp(rng.normal(0, rng.uniform(0, 3), len(CUBE)))
        for label in (truth, ~truth):
            weights[label] *= rng.uniform(0.3, 1) / weights[label].sum()
        weights /= weights.sum()
        counts = rng.multinomial(examples, weights)
        X, y = np.repeat(CUBE, counts, axis=0), np.repeat(truth, counts)
        predicted = promise.make(run).fit(X, y).predict(CUBE) == 1
        failed += float(weights[predicted != truth].sum()) > ALPHA
    return failed


@pytest.mark.parametrize("name", PROMISES)
def test_promised_examples_suffice(name: str) -> None:
    """The exact (Clopper-Pearson) upper bound, at 99.9 %, on the failure rate is below beta."""
    promise = PROMISES[name]
    failed = failures(promise, promise.examples, RUNS)
    assert binomtest(failed, RUNS).proportion_ci(0.998).high <= BETA


@pytest.mark.parametrize("name", PROMISES)
def test_far_fewer_examples_do_not(name: str) -> None:
    """So the check would notice: with a 150th of the examples, failures exceed beta."""
    promise = PROMISES[name]
    failed = failures(promise, max(1, promise.examples // 150), 100)
    assert binomtest(failed, 100).proportion_ci(0.998).low > BETA
