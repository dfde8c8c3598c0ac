"""Amplification: every transcript of all neighbours, what is published, and the promise."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tiny_samples
from numpy.typing import NDArray

from learners import (
    FiniteClassLearner,
    PrivateFiniteClassLearner,
    PrivateParityLearner,
    ThresholdLearner,
)
from learners.core.codec import release_from_dict, release_to_dict
from learners.finite import amplification, empirical_risk
from learners.finite.amplification import AmplifiedLearner, plan_amplification
from learners.finite.finite_class import FiniteClass, PointClass
from learners.finite.sample_sizes import private_examples

#: Three concepts over two points; two runs.
TINY = FiniteClass(np.array([[0, 0], [1, 0], [1, 1]]))
BETA, RUNS = 0.8, 2
KINDS = [(x, label) for x in range(2) for label in (0, 1)]
Sample = tuple[tuple[int, int], ...]


# -- privacy -------------------------------------------------------------------------------


class Enumerated:
    """Runs the learner once for each place of every example and every choice."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, epsilon: float, neighbours: Any) -> None:
        base = PrivateFiniteClassLearner(concepts=TINY, epsilon=epsilon, neighbours=neighbours)
        self.model = AmplifiedLearner(learner=base, beta=BETA)
        self.plan = plan_amplification(epsilon, BETA, neighbours)
        assert self.plan.runs == RUNS
        self.places: tuple[int, ...] = ()
        self.path: Iterator[int] = iter(())
        self.chance = 1.0
        monkeypatch.setattr(amplification, "below_array", self.coins)
        for module in (amplification, empirical_risk):
            monkeypatch.setattr(module, "exponential_index", self.choose)

    def coins(self, source: Any, bound: int, count: int) -> NDArray[np.int64]:
        assert (bound, count) == (amplification.COIN, len(self.places))
        return np.array([place * self.plan.used for place in self.places], dtype=np.int64)

    def choose(self, source: Any, scores: NDArray[np.int64], rate: Fraction) -> int:
        weights = np.exp(float(rate) * np.asarray(scores))
        chosen = next(self.path)
        self.chance *= float(weights[chosen] / weights.sum())
        return chosen

    def law(self, sample: Sample) -> NDArray[np.float64]:
        """Of every transcript: both hypotheses and which was chosen."""
        X, y = (np.array([one[i] for one in sample], dtype=np.int64) for i in (0, 1))
        shares = [self.plan.used] * RUNS + [self.plan.tested]
        paths = list(itertools.product(range(3), range(3), range(RUNS)))
        law = np.zeros(len(paths))
        for self.places in itertools.product(range(RUNS + 1), repeat=len(sample)):
            placed = math.prod(shares[place] / amplification.COIN for place in self.places)
            for i, path in enumerate(paths):
                self.path, self.chance = iter(path), placed
                assert self.model.fit(X, y).release_.index == path[path[2]]
                law[i] += self.chance
        assert law.sum() == pytest.approx(1)
        return law


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_every_transcript_of_all_neighbours_is_within_epsilon(monkeypatch, neighbours):
    epsilon = 1.5
    enumerated = Enumerated(monkeypatch, epsilon, neighbours)
    worst = tiny_samples.most_moved(
        enumerated.law, tiny_samples.all_neighbours(KINDS, 1, neighbours)
    )
    # an example is in one place of three, so less than epsilon is spent here
    assert 0.2 * epsilon < worst <= epsilon + 1e-12


def test_what_is_published_is_one_run_under_this_name() -> None:
    base = PrivateFiniteClassLearner(concepts=PointClass(3), epsilon=0.7)
    model = AmplifiedLearner(learner=base, beta=0.2, seed=5).fit([0, 1, 2] * 50, [0, 1, 0] * 50)
    assert dict(model.release_.parameters) == {
        "amplified": "PrivateFiniteClassLearner", "runs": 4, "tested": 0.25, "concepts": 4,
        "domain": 3, "mechanism": "exponential",
    }  # fmt: skip
    assert model.release_.learner == "AmplifiedLearner"
    assert release_from_dict(release_to_dict(model.release_)) == model.release_
    spent = model.privacy_
    assert (spent.epsilon, spent.delta, spent.private) == (0.7, 0.0, False)
    assert sum(model.diagnostics_.examples) + model.diagnostics_.tested == 150
    assert model.predict([0, 1, 2]).tolist() == [0, 1, 0]
    again = AmplifiedLearner(learner=base, beta=0.2, seed=5).fit([0, 1, 2] * 50, [0, 1, 0] * 50)
    assert again.diagnostics_ == model.diagnostics_
    fresh = AmplifiedLearner(learner=base).fit([], []).privacy_
    assert fresh.private


@pytest.mark.parametrize("bounds", [None, (0, 0, 16, 16)])
def test_learners_of_regions_are_amplified_too(bounds: Any) -> None:
    X = np.indices((17, 17)).reshape(2, -1).T.repeat(9, axis=0)
    one = ThresholdLearner(grid=16, bounds=bounds, direction="right")
    model = AmplifiedLearner(learner=one, seed=1).fit(X, X[:, 0] > 7)
    assert model.score(X, X[:, 0] > 7) > 0.9
    assert release_from_dict(release_to_dict(model.release_)) == model.release_


def test_runs_without_an_answer_are_left_out() -> None:
    X = np.random.default_rng(0).integers(0, 2, (3000, 4))
    seen = set()
    for seed in range(12):
        base = PrivateParityLearner(beta=None, epsilon=2.0)
        model = AmplifiedLearner(learner=base, beta=0.7, seed=seed).fit(X, X[:, 0])
        outcome = model.diagnostics_.mistakes
        seen.add(tuple(one is None for one in outcome))
        if all(one is None for one in outcome):
            assert model.release_.parity is None
            with pytest.raises(ValueError, match="without a parity"):
                model.predict(X)
        else:
            assert model.release_.parity == (1, 0, 0, 0)
        assert release_from_dict(release_to_dict(model.release_)) == model.release_
    assert len(seen) > 3  # of eight


@pytest.mark.parametrize(
    ("learner", "options", "message"),
    [
        (FiniteClassLearner(concepts=TINY), {}, "no parameter epsilon, neighbours, seed: only a"),
        (PrivateFiniteClassLearner(concepts=TINY, seed=1), {}, "give the seed to Amplified"),
        (PrivateFiniteClassLearner(concepts=TINY), {"beta": 0.0}, "beta must lie strictly"),
        (PrivateFiniteClassLearner(concepts=TINY), {"failure": 1.0}, "failure must lie"),
        (PrivateFiniteClassLearner(concepts=TINY), {"test_share": 0}, "test_share must lie"),
        (PrivateFiniteClassLearner(concepts=TINY, epsilon=0.0), {}, "epsilon"),
    ],
)
def test_what_cannot_be_amplified_is_refused(learner, options, message):
    with pytest.raises(ValueError, match=message):
        AmplifiedLearner(learner=learner, **options).fit([0, 1], [0, 1])


# -- how many examples ---------------------------------------------------------------------


def test_the_plan_is_what_its_inequalities_allow() -> None:
    alpha, beta, size = 0.1, 0.03, 50
    plan = plan_amplification(1.0, beta)
    b = beta / 3
    assert 0.5**plan.runs <= b < 0.5 ** (plan.runs - 1)
    asked = []

    def base(a: float) -> int:
        asked.append(a)
        return private_examples(size, a, 0.5, 1.0)

    n = plan.examples_needed(base, alpha, beta)
    q, w = plan.used / amplification.COIN, plan.tested / amplification.COIN

    def enough(count: int, a: float) -> bool:
        mean = count * q
        small = math.exp(-((mean - base(a)) ** 2) / (2 * mean)) if mean > base(a) else 1.0
        t = math.log(alpha / a) / 2
        m = 1 - alpha * (1 - math.exp(-t)) + a * math.expm1(t)
        return small <= b / plan.runs * (1 + 1e-9) and plan.runs * (1 - w * (1 - m)) ** count <= b

    tried = set(asked)
    assert any(enough(n, a) for a in tried)
    assert not any(enough(n - 1, a) for a in tried)
