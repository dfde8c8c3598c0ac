"""What is audited: the learners' declared audits, and mechanisms on their worst samples.

A mechanism's sample is what it is asked about, in y: counts, distances, losses.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.audits.declared import SIZES, SUBJECTS
from benchmarks.audits.events import Auditable, Outcome, Pair, Statistic
from learners import PrivateExperts
from learners.boolean.parity import PrivateParityLearner
from learners.finite.amplification import AmplifiedLearner
from learners.privacy.accounting import Neighbours, PrivacySpent, noise_scale, pure_spent
from learners.privacy.noise import discrete_laplace, discrete_laplace_array
from learners.privacy.randomness import RandomSource, open_source
from learners.stability import sample_and_aggregate, stable_queries

#: Privacy of everything that is audited.
EPSILON, DELTA = 1.0, 1e-6

#: Larger than what a margin leaves to chance, so that an audit sees it spent.
SEEN_DELTA = 0.05


@dataclass(frozen=True, slots=True)
class Case:
    """One audit.

    Attributes
    ----------
    title : str
    factory : callable
        From a seed, or None, to what makes learners, each with the next seed.
    pairs : sequence of Pair
    events : mapping of str to Statistic
    claim : (float, float) or None
        What is put to the test of a learner that claims nothing, and must be refuted.
    """

    title: str
    factory: Callable[[int | None], Callable[[], Auditable]]
    pairs: Sequence[Pair]
    events: Mapping[str, Statistic]
    claim: tuple[float, float] | None = None


def declared(
    name: str, neighbours: Neighbours = "add-remove", sizes: Sequence[int] = SIZES
) -> Case:
    """A learner's audit as it is declared, or with other numbers of copies of its example."""
    subject = SUBJECTS[name]
    return Case(
        subject.audit.title,
        lambda seed: subject.factory(EPSILON, DELTA, neighbours, seed),
        subject.pairs(neighbours, sizes),
        subject.events,
        subject.claim(EPSILON, DELTA),
    )


def numbered(seed: int | None, make: Callable[[int | None], Auditable]) -> Callable[[], Auditable]:
    """Makes learners; with a seed each has the next one of a series."""
    numbers = itertools.count()
    return lambda: make(None if seed is None else (seed << 32) + next(numbers))


# -- mechanisms --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Told:
    """What a mechanism publishes: whole numbers, -1 for no answer."""

    values: tuple[int, ...]
    privacy: PrivacySpent


class Mechanism:
    """A mechanism as an audit runs it; `tell` draws from the numbers of its sample."""

    release_: Told

    def __init__(
        self, tell: Callable[[list[int], RandomSource], Told], seed: int | None = None
    ) -> None:
        self._tell, self._seed = tell, seed

    def fit(self, X: Any, y: Any) -> None:
        """Run it."""
        self.release_ = self._tell(list(y), open_source(self._seed))


def _count(numbers: list[int], source: RandomSource) -> Told:
    noise = discrete_laplace(source, noise_scale(EPSILON, 1))
    return Told((sum(numbers) + noise,), pure_spent(EPSILON, "add-remove", "noisy counts", True))


def _cells(numbers: list[int], source: RandomSource) -> Told:
    noise = discrete_laplace_array(source, noise_scale(EPSILON, 1), len(numbers))
    spent = pure_spent(EPSILON, "add-remove", "noisy cells", True)
    return Told(tuple((numbers + noise).tolist()), spent)


def _sparse(numbers: list[int], source: RandomSource) -> Told:
    """Distances, from the margin down."""
    budget = stable_queries.plan_sparse_vector(EPSILON, SEEN_DELTA, queries=len(numbers), halts=1)
    tests = stable_queries.SparseVector(budget, source)
    outcome = []
    for number in numbers:
        if tests.halts_left:
            outcome.append(int(tests.test(budget.margin + number)))
    return Told(tuple(outcome), budget.spent)


def _stable(numbers: list[int], source: RandomSource) -> Told:
    """Distances, and whether the value is another one: it changes where the distance is 0."""
    budget = stable_queries.plan_sparse_vector(EPSILON, SEEN_DELTA, queries=1, halts=1)
    queries = stable_queries.StableQueries(budget, source)
    distance, value = numbers
    outcome = queries.ask(value, distance).value
    return Told((-1 if outcome is None else outcome,), budget.spent)


def _distance(numbers: list[int], source: RandomSource) -> Told:
    test = stable_queries.DistanceTest.plan(EPSILON, SEEN_DELTA)
    distance, value = numbers
    outcome = test.answer(value, distance, source)
    return Told((-1 if outcome is None else outcome,), test.spent)


def _votes(numbers: list[int], source: RandomSource) -> Told:
    budget = sample_and_aggregate.plan_noisy_votes(EPSILON, DELTA, queries=1)
    return Told(
        (sample_and_aggregate.NoisyVotes(budget, source).ask(np.array(numbers)),), budget.spent
    )


class Game(Mechanism):
    """Experts of rounds whose losses the sample lists, two experts."""

    def __init__(self, seed: int | None = None) -> None:
        self._seed = seed

    def fit(self, X: Any, y: Any) -> None:
        """Play the game."""
        losses = np.array(y).reshape(-1, 2)
        game = PrivateExperts(
            experts=2, rounds=len(losses), epsilon=EPSILON, delta=DELTA, seed=self._seed
        )
        release = game.run(losses)
        self.release_ = Told(release.chosen, release.privacy)


def values(release: Any) -> Outcome:
    """What a mechanism tells."""
    return tuple(release.values)


def _case(
    title: str, tell: Callable[[list[int], RandomSource], Told], *pairs: tuple[list[int], list[int]]
) -> Case:
    return Case(
        title,
        lambda seed: numbered(seed, lambda own: Mechanism(tell, own)),
        [Pair(f"{one} and {two}", ([], one), ([], two)) for one, two in pairs],
        {"values": values},
    )


_FLAT = [0, 0] * 3

#: Mechanisms that no learner is made of alone, or not within a moment, by name.
MECHANISMS: dict[str, Case] = {
    "noise": _case("integer Laplace noise on a count", _count, ([0], [1])),
    "noise-arrays": _case("the same on many counts at once", _cells, ([0, 0, 0], [0, 1, 0])),
    "sparse-vector": _case("sparse vector", _sparse, ([0, 0, 0, 1], [1, 1, 1, 0])),
    "stable-query": _case("one stable query", _stable, ([0, 0], [0, 1]), ([1, 0], [0, 0])),
    "distance-test": _case("distance to instability", _distance, ([0, 0], [0, 1])),
    "noisy-votes": _case("noisy votes", _votes, ([5, 5], [6, 4])),
    "two-experts": Case(
        "private experts",
        lambda seed: numbered(seed, Game),
        [Pair("a round's losses", ([], [0, 0, *_FLAT]), ([], [1, 0, *_FLAT]))],
        {"values": values},
    ),
    "amplified": Case(
        "amplified parity",
        lambda seed: numbered(
            seed,
            lambda own: AmplifiedLearner(learner=PrivateParityLearner(beta=None), seed=own),
        ),
        [
            Pair(
                f"{n} of label 0, one of label 1 more",
                (np.ones((n, 1), dtype=np.int64), np.zeros(n, dtype=np.int64)),
                (np.ones((n + 1, 1), dtype=np.int64), np.array([0] * n + [1])),
            )
            for n in (0, 3)
        ],
        SUBJECTS["private-parity"].events,
    ),
}
