"""Settings of queries; what algorithm 5 promises.  More: benchmarks/promises/stability.py."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from majority import Majority, sample

from benchmarks.promises.bounds import halts_needed, plan_queries, printed_chunks
from learners.privacy.randomness import SeededRandom
from learners.stability.base_learners import MajorityCells
from learners.stability.label_private import LabelPrivateLearner, random_rows
from learners.stability.sparse_vector import chunks_needed, plan_sparse_vector

# -- settings ------------------------------------------------------------------------------------


def test_settings_are_the_formulas() -> None:
    m, alpha, gamma, beta = 400, 0.02, 0.1, 0.1
    assert halts_needed(m, alpha, beta) == math.ceil(
        3 * (alpha * m + math.sqrt(m * math.log(1 / beta) / 2))
    )
    assert halts_needed(m, alpha, beta, gamma=gamma, constants="printed") == math.ceil(
        3 * ((alpha + gamma) * m + math.sqrt(m * math.log(m / beta) / 2))
    )
    settings = plan_queries(1.0, 1e-6, queries=m, alpha=alpha, beta=beta)
    printed = plan_queries(1.0, 1e-6, queries=m, alpha=alpha, beta=beta, constants="printed")
    assert settings.chunks < printed.chunks
    assert settings.error == settings.halts / m
    assert printed.chunks == printed_chunks(1.0, 1e-6, m, printed.halts, beta)
    budget = plan_sparse_vector(1.0, 1e-6, queries=m, halts=3)
    assert chunks_needed(budget, beta) == 6 * (budget.margin + budget.slip(beta) + 2)
    for bad in ({"alpha": 2.0}, {"beta": 0.0}, {"gamma": -1.0}):
        with pytest.raises(ValueError, match="must lie"):
            halts_needed(**{"queries": 5, "alpha": 0.1, "beta": 0.1} | bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="agreement"):
        chunks_needed(budget, beta, 0.5)


# -- algorithm 5 ---------------------------------------------------------------------------------


def test_random_rows_are_a_uniform_subset() -> None:
    source = SeededRandom(4)
    seen = Counter(tuple(random_rows(4, 2, source)) for _ in range(3000))
    assert len(seen) == 12
    assert sum((c - 250) ** 2 / 250 for c in seen.values()) < 31.3


def test_a_split_protects_labels_and_says_so() -> None:
    X, y = sample(20_000)
    common: dict[str, Any] = {
        "base": MajorityCells(grid=16, cells=2), "queries": 60, "epsilon": 2.0, "seed": 5
    }  # fmt: skip
    learner = LabelPrivateLearner(**common).fit(X, y)
    release = learner.release_
    assert release.privacy.neighbours == "replace-label"
    assert len(release.answers) == 60
    assert np.mean(learner.predict(X) == y) > 0.85
    with pytest.raises(ValueError, match="only labels are protected"):
        LabelPrivateLearner(**common, neighbours="add-remove").fit(X, y)
    with pytest.raises(ValueError, match="too few"):
        LabelPrivateLearner(**common).fit(X[:60], y[:60])
    with pytest.raises(ValueError, match="public must hold"):
        LabelPrivateLearner(**common).fit(X, y, public=X[:61])


def test_coins_and_omissions() -> None:
    X, y = sample(20_000)[0], np.random.default_rng(1).integers(0, 2, 20_000)
    common: dict[str, Any] = {"base": MajorityCells(grid=16, cells=2), "queries": 200, "seed": 5}
    public = np.repeat([[3, 3]], 200, axis=0)
    # labels are coins: everything is ⊥
    coins = LabelPrivateLearner(**common, final=Majority).fit(X, y, public=public)
    assert {a.value for a in coins.release_.answers} == {None}
    assert [a.status for a in coins.release_.answers[:2]] == ["unstable", "halted"]
    omitted = LabelPrivateLearner(**common, unanswered="omit").fit(X, y, public=public)
    assert omitted.predict(X[:3]).tolist() == [0, 0, 0]

    class Remember(Majority):
        def fit(self, X: Any, y: Any) -> Majority:
            self.seen = np.asarray(y)
            return super().fit(X, y)

    outcome = LabelPrivateLearner(**common, final=Remember).fit(X, y, public=public)
    assert 60 < outcome.release_.model.seen.sum() < 140
    with pytest.raises(ValueError, match="unanswered"):
        LabelPrivateLearner(**common, unanswered="guess").fit(X, y, public=public)  # type: ignore[arg-type]
