"""Sizes of private queries and labels, settings that keep a promise, and the final learner."""

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from chi_square import assert_drawn_from
from majority import Majority, sample
from scipy.stats import binom
from terminal import printed

from benchmarks.promises.bounds import halts_needed, plan_queries, printed_chunks
from geodp_app.cli import main
from learners.finite import sample_sizes as vc
from learners.privacy.randomness import SeededRandom
from learners.stability.base_learners import MajorityCells
from learners.stability.label_private import LabelPrivateLearner, random_rows
from learners.stability.query_sizes import (
    examples_of_chunks,
    label_sizes,
    query_sizes,
    soft_sizes,
    soft_width,
)
from learners.stability.soft_labels import plan_soft_queries
from learners.stability.stable_queries import chunks_needed, plan_sparse_vector

PRIVACY: dict[str, Any] = {"epsilon": 8.0, "delta": 1e-6}


@pytest.mark.parametrize(("chunks", "each"), [(2, 1), (7, 1), (7, 40), (300, 12), (5000, 500)])
def test_no_chunk_gets_too_few(chunks: int, each: int) -> None:
    n = examples_of_chunks(chunks, each, 0.05)
    assert chunks * binom.cdf(each - 1, n, 1 / chunks) <= 0.05
    # and not many more than are needed
    assert chunks * binom.cdf(each - 1, n // 2, 1 / chunks) > 0.05
    assert examples_of_chunks(1, each, 0.05) == each


@pytest.mark.parametrize(("agnostic", "gamma"), [(False, 0.0), (True, 0.0), (True, 0.02)])
def test_queries_have_what_corollary_4_1_asks_for(agnostic: bool, gamma: float) -> None:
    m, alpha, beta, dimension = 800, 0.3, 0.2, 2
    found = query_sizes(
        vc=dimension, queries=m, alpha=alpha, beta=beta, gamma=gamma, agnostic=agnostic, **PRIVACY
    )
    assert found.halts <= alpha * m
    budget = plan_sparse_vector(**PRIVACY, queries=m, halts=found.halts)
    assert found.chunks == chunks_needed(budget, beta / 4)
    # the excess error that n0 examples grant a model, all chunks together
    if agnostic:
        excess = 2 * vc.deviation(found.each, dimension, beta / 4 / found.chunks)
    else:
        excess = next(
            (e - 1) / 1e4 for e in range(1, 5000)
            if vc.consistent_size(dimension, e / 1e4, beta / 4 / found.chunks) <= found.each
        )  # fmt: skip
    assert halts_needed(m, excess, beta / 4, gamma=gamma) <= found.halts
    assert found.examples == examples_of_chunks(found.chunks, found.each, beta / 4)


def test_labels_have_what_the_final_learner_needs() -> None:
    m, alpha, part = 20_000, 0.3, 0.02
    found = label_sizes(vc=1, queries=m, alpha=alpha, beta=5 * part, **PRIVACY)
    growth = (math.log(vc.sauer_bound(2 * m, 1)) + math.log(4 / part)) / m

    def error(halts: int) -> float:
        wrong = 2 * halts / m
        return wrong + 2 * math.sqrt(wrong * growth) + 4 * growth

    assert error(found.halts) <= alpha < error(found.halts + 1)
    noisy = label_sizes(
        vc=1, queries=m, alpha=alpha, beta=5 * part, gamma=0.01, agnostic=True, **PRIVACY
    )
    far = 2 * vc.deviation(m, 1, part)
    assert 0.01 + 2 * noisy.halts / m + far <= alpha < 0.01 + 2 * (noisy.halts + 1) / m + far


def test_soft_queries_have_a_stable_histogram() -> None:
    m, alpha, beta, stable = 50, 0.15, 0.3, 0.5
    found = soft_sizes(queries=m, halts=2, stable=stable, alpha=alpha, beta=beta, **PRIVACY)
    budget = plan_soft_queries(**PRIVACY, queries=m, halts=2)
    share = 8 * stable**2 / (found.each * soft_width(alpha) ** 2)
    most = share * found.chunks + math.sqrt(found.chunks * math.log(m / (beta / 3)) / 2)
    assert most < found.chunks / 3
    # the distance of a histogram with so many votes elsewhere, at least
    distance = math.ceil((found.chunks - 2 * math.floor(most)) / 2) - 1
    assert distance > budget.margin + budget.slip(beta / 3)
    assert all(1 / soft_width(a) == round(1 / soft_width(a)) for a in (0.75, 0.2, 0.15, 0.1))
    assert [soft_width(a) for a in (0.75, 0.3, 0.15)] == [1, 1 / 3, 1 / 5]
    fewer = soft_sizes(queries=m, halts=2, stable=stable / 2, alpha=alpha, beta=beta, **PRIVACY)
    assert fewer.examples < found.examples


def test_what_cannot_be_promised_is_not() -> None:
    few: dict[str, Any] = {"vc": 3, "queries": 10, "alpha": 0.1, "beta": 0.1, **PRIVACY}
    assert query_sizes(**few) is None
    assert label_sizes(**few) is None
    wrong = {**few, "queries": 10**5, "agnostic": True, "gamma": 0.04}
    assert query_sizes(**wrong) is None
    assert query_sizes(**wrong | {"gamma": 0.02}) is not None
    assert label_sizes(**wrong | {"gamma": 0.02}) is None
    soft: dict[str, Any] = {"queries": 9, "halts": 1, "stable": 1.0, "beta": 0.1, **PRIVACY}
    assert soft_sizes(**soft, alpha=0.8) is None
    with pytest.raises(ValueError, match="unless agnostic"):
        query_sizes(**few, gamma=0.1)
    with pytest.raises(ValueError, match="gamma must lie"):
        query_sizes(**few | {"gamma": 1.0, "agnostic": True})
    with pytest.raises(ValueError, match="stable must be positive"):
        soft_sizes(**soft | {"stable": 0.0}, alpha=0.1)


def test_deviations_are_bounded_and_inverted() -> None:
    # one concept: Hoeffding's bound is below it
    far = vc.deviation(500, 0, 0.1)
    assert 2 * math.exp(-2 * 500 * far**2) <= 0.1
    assert vc.deviation(500, 3, 0.1) > far > vc.deviation(5000, 0, 0.1)
    size = vc.agnostic_size(3, 0.4, 0.1)
    assert 2 * vc.deviation(size, 3, 0.1) <= 0.4 < 2 * vc.deviation(size - 1, 3, 0.1)


def test_plan_tells_halts_and_chunks(capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["plan", "--theorem", "queries-agnostic", "--vc", "2", "--queries", "800"]
    ask += ["--gamma", "0.02", "--alpha", "0.3", "--beta", "0.2", "--epsilon", "8"]
    found = query_sizes(
        vc=2, queries=800, alpha=0.3, beta=0.2, gamma=0.02, agnostic=True, **PRIVACY
    )
    outcome = printed(capsys, *ask)
    numbers = (outcome["n"], outcome["halts"], outcome["chunks"], outcome["examples_of_a_chunk"])
    assert numbers == (found.examples, found.halts, found.chunks, found.each)
    assert main(ask) == 0
    shown = capsys.readouterr().out
    assert f"With halts T = {found.halts} and K = {found.chunks:,} chunks" in shown
    assert main(["plan", "--theorem", "queries", "--vc", "2"]) == 2
    assert "needs queries (number of queries m" in capsys.readouterr().err


def test_plan_tells_the_chunks_of_votes(capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["plan", "--learner", "stability", "--epsilon", "8", "--queries", "200", "--halts", "3"]
    budget = plan_sparse_vector(8.0, 1e-6, queries=200, halts=3)
    chunks = chunks_needed(budget, 0.1, 0.85)
    outcome = printed(capsys, *ask)
    assert (outcome["queries"], outcome["halts"], outcome["chunks"]) == (200, 3, chunks)
    assert outcome["proved"] is False
    assert main([*ask, "--n", "50000", "--neighbours", "replace-label"]) == 0
    shown = capsys.readouterr().out
    assert (
        f"T = 3 may have no answer, plan K = {chunks} chunks, of about {50000 / chunks:,.0f}"
        in (shown)
    )
    assert main(["plan", "--learner", "stability"]) == 0
    assert "1,000 queries, of which T = 1" in capsys.readouterr().out
    assert main(["plan", "--learner", "stability", "--halts", "1000000"]) == 2
    assert "halts must be at most" in capsys.readouterr().err


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
    assert_drawn_from(dict.fromkeys(itertools.permutations(range(4), 2), 1 / 12), seen, 3000, 12)


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
    with pytest.raises(ValueError, match="public must hold"):
        LabelPrivateLearner(**common).fit(X, y, public=5)


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
