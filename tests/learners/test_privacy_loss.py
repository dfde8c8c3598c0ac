"""The loss of each charge, against laws that are written out."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from learners import ConjunctionLearner, PrivateConsistentConjunctionLearner, PrivateParityLearner
from learners.baselines.noisy_histogram import plan_histogram
from learners.baselines.quadtree import plan_quadtree
from learners.boolean.conjunction import strawman_budget
from learners.cover.set_cover import plan_budget
from learners.cover.sharpening import plan_sharpened
from learners.finite.experts import plan_experts
from learners.privacy.accounting import AccountName, Charge, ChargeName, Neighbours, PrivacySpent
from learners.privacy.composition import selections_delta
from learners.privacy.privacy_loss import LossLaw, accounting_document, check_statement, mechanism
from learners.registry import offered
from learners.stability.sample_and_aggregate import plan_noisy_votes
from learners.stability.stable_queries import plan_sparse_vector
from learners.tiles.tiles import plan_tiles

SIZES = (1e-6, 0.02, 0.3, 1.0, 4.0, 16.0)
LAWS = [LossLaw(kind, size) for kind in ("two points", "log-uniform") for size in SIZES]
TILES = PrivacySpent(
    1.0, 1e-40, "add-remove", "basic",
    (Charge("noisy number of examples", 0.02), Charge("selections", 0.98)), True,
)  # fmt: skip


def span(size: float) -> np.ndarray:
    return np.linspace(-1.5 * size, 1.5 * size, 61)


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_noisy_count_loses_what_two_points_say_exactly(size: float) -> None:
    """Integer Laplace noise on counts 0 and 1, each integer's probability written out."""
    z = np.arange(-int(60 / size + 60), int(60 / size + 60))
    p = np.exp(-size * np.abs(z)) * math.tanh(size / 2)
    q = np.exp(-size * np.abs(z - 1)) * math.tanh(size / 2)
    epsilon = span(size)
    exact = np.maximum(p[:, None] - np.exp(epsilon) * q[:, None], 0).sum(axis=0)
    assert LossLaw("two points", size).delta(epsilon) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_the_log_uniform_law_is_the_least_above_all_selections_of_that_range(size: float) -> None:
    """Two outcomes, of losses t and t - size: the greatest delta over t, and that of lemma 4."""
    law, epsilon = LossLaw("log-uniform", size), span(size)
    t = np.linspace(0, size, 4001)[:, None]
    odds = -np.expm1(t - size) / -math.expm1(-size)  # of the loss t
    first = np.maximum(-np.expm1(epsilon - t), 0)
    second = np.maximum(-np.expm1(epsilon - t + size), 0)
    greatest = (odds * first + (1 - odds) * second).max(axis=0)
    assert law.delta(epsilon) == pytest.approx(greatest, rel=1e-5, abs=1e-12)
    assert (law.delta(epsilon) >= greatest - 1e-12).all()
    inside = epsilon[np.abs(epsilon) <= size]
    assert law.delta(inside) == pytest.approx(selections_delta(size, 1, inside), rel=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_delta_is_what_the_distribution_says(law: LossLaw) -> None:
    """E[(1 - e^(epsilon - L))+] over a fine division of the law, bounded from both sides."""
    ends = np.linspace(-law.size, law.size, 200_001)
    inner = np.diff(law.cdf(ends))
    atoms = np.append(law.cdf(ends[0]), inner), np.append(ends[0], ends[1:])
    assert atoms[0].sum() == pytest.approx(1.0, abs=1e-12)
    assert (atoms[0] >= 0).all()
    for epsilon in span(law.size)[::10]:
        upper = float(atoms[0] @ np.maximum(-np.expm1(epsilon - atoms[1]), 0))
        slack = 2 * law.size / 200_000
        assert float(law.delta(epsilon)) <= upper + 1e-12
        assert upper <= float(law.delta(epsilon)) + slack


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_both_ways_lose_the_same_and_probabilities_come_from_a_pair_of_laws(law: LossLaw) -> None:
    epsilon = span(law.size)
    other = -np.expm1(epsilon) + np.exp(epsilon) * law.delta(-epsilon)
    assert law.delta(epsilon) == pytest.approx(other, abs=1e-15 * math.exp(1.5 * law.size) + 1e-11)
    # under the other law: E[e^-L] = 1
    ends = np.linspace(-law.size, law.size, 100_001)
    masses = np.append(law.cdf(ends[0]), np.diff(law.cdf(ends)))
    assert float(masses @ np.exp(-ends)) == pytest.approx(1.0, abs=2e-3 * min(law.size, 1))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_rounded_up_it_never_loses_less(law: LossLaw) -> None:
    for step in (law.size / 7.3, law.size / 50, 3 * law.size):
        masses = law.upper_masses(step)
        assert sum(masses.values()) == pytest.approx(1.0, abs=1e-12)
        losses = np.array(list(masses)) * step
        weights = np.array(list(masses.values()))
        for epsilon in span(law.size)[::7]:
            rounded = float(weights @ np.maximum(-np.expm1(epsilon - losses), 0))
            exact = float(law.delta(epsilon))
            assert exact - 1e-12 <= rounded <= exact + step + 1e-12
    with pytest.raises(ValueError, match="step must be positive"):
        law.upper_masses(0.0)


def test_every_name_of_a_charge_has_a_mechanism() -> None:
    for name in get_args(ChargeName):
        assert mechanism(Charge(name, 0.5)).epsilon == 0.5


def test_what_a_charge_is_in_other_terms() -> None:
    count, selection = (mechanism(charge) for charge in TILES.charges)
    assert (count.epsilon, count.rho, count.range, count.exact) == (0.02, 0.0002, 0.04, True)
    assert (selection.epsilon, selection.range, selection.exact) == (0.98, 0.98, False)
    assert selection.rho == pytest.approx(0.98**2 / 8)
    twice = mechanism(TILES.charges[1], "replace-one")
    assert (twice.epsilon, twice.range, twice.rho) == (1.96, 1.96, pytest.approx(0.98**2 / 2))
    # these are for their own neighbours already
    assert mechanism(Charge("parities", 0.5), "replace-one").epsilon == 0.5
    assert mechanism(Charge("parities", 0.5), "replace-one", "replace-label").epsilon == 0.5
    # but a statement for add-remove is not one for a replacement
    assert mechanism(Charge("parities", 0.5), "add-remove", "replace-one").epsilon == 1.0
    votes = mechanism(Charge("noisy votes", 0.5), "replace-one").to_dict()
    assert (votes["rate"], votes["one_way"], votes["range"]) == (0.25, False, 0.5)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("learner", offered("learn"), ids=lambda learner: learner.id)
def test_the_charges_of_learners_of_the_plane_make_up_the_whole(learner, neighbours):
    check_charges(learner.build(neighbours=neighbours).plan())


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    "make", [ConjunctionLearner, PrivateConsistentConjunctionLearner, PrivateParityLearner]
)
def test_the_charges_of_learners_of_formulas_make_up_the_whole(make, neighbours: str) -> None:
    check_charges(make(neighbours=neighbours).fit([[0, 1], [1, 1]], [0, 1]).privacy_)


def check_charges(privacy: PrivacySpent) -> None:
    """By pure epsilons where they add up; else they are no less than the whole."""
    outcome = accounting_document(privacy)
    assert json.loads(json.dumps(outcome, allow_nan=False)) == outcome
    assert outcome["neighbours"] == privacy.neighbours
    together = math.fsum(one["times"] * one["epsilon"] for one in outcome["charges"])
    together += outcome["besides"]["epsilon"]
    whole, account = outcome["whole"]["epsilon"], outcome["whole"]["account"]
    if account == "basic":
        assert 0.9 * whole <= together <= whole * (1 + 1e-12)
    else:
        assert together > whole * (1 - 1e-6)
    assert outcome["besides"]["delta"] <= privacy.delta


def test_what_is_planned_is_what_its_charges_compose_to() -> None:
    """Whatever epsilon, delta, steps and neighbours: else a ledger could not take the run."""
    plans: list[Callable[[float, float, Any], PrivacySpent]] = [
        lambda e, d, n: plan_tiles(e, d, n, True, True, tiles_counted=True, chosen=True).spent,
        lambda e, d, n: plan_tiles(e, d, n, True, True, 0.3).spent,
        lambda e, d, n: plan_tiles(e, d, n, True, False).spent,
        lambda e, d, n: plan_histogram(e, d, n, True, counted=True).spent,
        lambda e, d, n: plan_quadtree(e, d, n, True).spent,
        lambda e, d, n: plan_experts(4, 300, e, d, n).spent,
        lambda e, d, n: plan_noisy_votes(e, d, queries=40, neighbours=n).spent,
        lambda e, d, n: plan_noisy_votes(e, d, queries=40, account="advanced", neighbours=n).spent,
        *(
            lambda e, d, n, m=m, plan=plan: plan(e, d, m, 0.1, n, True).spent
            for m in (1, 6, 200)
            for plan in (plan_budget, plan_sharpened, strawman)
        ),
        *(
            lambda e, d, n, m=m: plan_sparse_vector(e, d, queries=500, halts=m, neighbours=n).spent
            for m in (1, 7, 100)
        ),
    ]
    planned = 0
    for epsilon in (1e-6, 1e-3, 0.1, 1.0, 7.0, 60.0, 5000.0):
        for delta in (1e-40, 1e-12, 1e-6, 0.3):
            for neighbours in ("add-remove", "replace-one"):
                for plan in plans:
                    try:
                        spent = plan(epsilon, delta, neighbours)
                    except ValueError:
                        continue  # too little to pay for it
                    planned += 1
                    check_statement(spent)
                    if 1e3 * delta < epsilon < 10 and spent.account in ("optimal", "stability"):
                        # no rate is the greatest there is, and delta does not pay for it all
                        with pytest.raises(ValueError, match="compose"):
                            check_statement(replace(spent, epsilon=0.5 * epsilon))
    assert planned > 600


def strawman(
    epsilon: float, delta: float, m: int, beta: float, neighbours: Any, private: bool
) -> Any:
    return strawman_budget(epsilon, delta, 5, m, beta, neighbours, private)


@pytest.mark.parametrize("each", [1e-300, 20.0, 1e4, 1e200, 1e308])
@pytest.mark.parametrize("account", get_args(AccountName))
def test_any_charges_are_weighed_without_a_word(account: AccountName, each: float) -> None:
    """Numbers of a hostile file overflow nothing, and what costs more than it says is refused."""
    name: ChargeName = "unanswered queries" if account == "stability" else "selections"
    for times in (1, 3, 1000):
        for relation in get_args(Neighbours):
            said = PrivacySpent(0.5, 1e-6, relation, account, (Charge(name, each, times),), True)
            if each > 1:
                with pytest.raises(ValueError, match="compose"):
                    check_statement(said)
