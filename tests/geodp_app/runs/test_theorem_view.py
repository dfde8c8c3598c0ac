"""The theorem's figures: those of the functions that prove them, and KMMS's printed constants."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from geodp_app.document.work import PARAMETERS, RunSettings
from geodp_app.runs.theorem_view import THEOREMS, Question, answer, figures
from geometry.halfplane import HalfplaneLattice
from geometry.lift import ConicLattice
from learners import ConvexPolygonLearner, PolygonUnionLearner
from learners.cover.set_cover import Finish
from learners.theory import planner
from learners.theory.planner import Setting, error_guaranteed, examples_needed
from learners.theory.theorems import examples_for, find_theorem


def question(learner: str = "cover", k: int = 4, **changes: object) -> Question:
    of_run = {
        name: value for name, value in changes.items() if name in PARAMETERS and name != "beta"
    }
    others = {name: value for name, value in changes.items() if name not in of_run}
    run = RunSettings(learner=learner, k=k, **of_run)
    return replace(Question(run, 256), **others)


@pytest.mark.parametrize("learner", ["cover", "convex-cover"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_examples_are_the_planners(learner: str, neighbours: str) -> None:
    q = question(
        learner, 3, epsilon=0.7, delta=1e-7, neighbours=neighbours, alpha=0.05, beta=0.2,
        planned=20_000_000,
    )  # fmt: skip
    setting = Setting(3, 0.2, 0.7, 1e-7, HalfplaneLattice(256), learner, neighbours)
    a = answer(q)
    assert a.here == examples_needed(setting, 0.05).examples
    assert a.theorem_steps == examples_needed(setting, 0.05).steps == 23
    assert a.reached == error_guaranteed(setting, 20_000_000).alpha
    order = {"k": 3, "d": 256, "epsilon": 0.7}
    assert a.order == examples_for(find_theorem("cover-printed"), 0.05, 0.2, order)


def test_discs_have_the_theorem_of_any_set_cover() -> None:
    a = answer(question("discs", 2, alpha=0.05))
    size = ConicLattice(256, "disc").members
    parameters = {
        "k": 2, "size": size, "epsilon": 1.0, "delta": 1e-6, "neighbours": "add-remove",
    }  # fmt: skip
    assert a.here == examples_for(find_theorem("conic-cover"), 0.05, 0.1, parameters)
    assert a.order is None


@pytest.mark.parametrize(("finish", "share"), [("none", 1.0), ("sharpen", 0.3)])
def test_rates_are_what_each_account_grants(finish: Finish, share: float) -> None:
    """The triangles of a run that is sharpened have three tenths of its epsilon."""
    q = question("cover", 5, epsilon=2.0, delta=1e-5, n_steps=11, alpha=0.2, finish=finish)
    a = answer(q)
    assert (a.theorem_steps, a.run_steps) == (24, 11)
    spent = PolygonUnionLearner(k=5, epsilon=2.0, delta=1e-5, n_steps=11, grid=256, finish=finish)
    own = spent.plan().charge("selections")
    assert own is not None
    assert a.run_rates.optimal == own.each
    for rates, m, left in ((a.theorem_rates, 24, 1.6), (a.run_rates, 11, 1.6 * share)):
        assert 2 * m * rates.basic == pytest.approx(left)
        e = 2 * rates.advanced
        spread = math.sqrt(2 * m * math.log(1e5))
        assert e * spread + m * e * math.expm1(e) == pytest.approx(left)
        assert math.expm1(rates.set_cover) * math.log(math.e / 1e-5) == pytest.approx(left)
        assert rates.optimal > max(rates.basic, rates.advanced, rates.set_cover)


def test_a_run_without_a_number_of_steps_has_the_learners_own() -> None:
    for learner, k in (("cover", 1), ("cover", 4), ("convex-cover", 6)):
        made = PolygonUnionLearner if learner == "cover" else ConvexPolygonLearner
        a = answer(question(learner, k))
        assert a.run_steps == made(k=k, grid=256).plan().steps
    unsharpened = answer(question("cover", 4, finish="none")).run_steps
    assert (answer(question("cover", 4)).run_steps, unsharpened) == (8, 8)


@pytest.mark.parametrize(
    ("k", "alpha", "epsilon", "loss"), [(4, 0.1, 1.0, 50.0), (2, 0.3, 0.1, 0.1)]
)
def test_printed_examples_are_the_least_of_claim_3_1(
    k: int, alpha: float, epsilon: float, loss: float
) -> None:
    log = math.log(2 / alpha)
    delta = 2 * k * log / epsilon * math.log(2 * k * log / 0.05)

    def enough(n: int) -> bool:
        return max(alpha * n / 2, 4 * delta) + 4 * k * loss * log <= alpha * n

    n = planner.printed_sample_examples(k, alpha, 0.05, epsilon, loss)
    assert enough(n)
    assert not enough(n - 1)


def test_printed_losses_make_the_proofs_bounds_hold() -> None:
    d, beta, epsilon = 1024, 0.002, 0.03
    for edges in (1, 3):
        loss = planner.printed_halfplanes_loss(edges, d, epsilon, beta)
        # the end of the proof of lemma 4.6, a factor for each halfplane
        assert edges * math.log(128 * d**8) - epsilon * loss <= math.log(beta)
    loss = planner.printed_finite_loss(math.log(5_000), epsilon, beta)
    assert 5_000 * math.exp(-epsilon * loss / 2) == pytest.approx(beta)
    assert planner.printed_selection_epsilon(1.0, 1e-6) == pytest.approx(0.0337, abs=1e-4)


def test_nothing_is_told_of_a_budget_that_cannot_run() -> None:
    with pytest.raises(ValueError, match="delta"):
        answer(question(delta=1e-40, epsilon=500.0, n_steps=1_000))


@pytest.mark.parametrize("learner", THEOREMS)
def test_every_figure_has_its_sentence_and_its_source(learner: str) -> None:
    empty, outcome = figures(None), figures(answer(question(learner, 2)))
    for before, after in zip(empty, outcome, strict=True):
        assert [row.label for row in before.rows] == [row.label for row in after.rows]
        assert after.words.endswith(".")
        assert "KMMS" in after.formula
        assert all(row.run != "" or not any(r.run for r in after.rows) for row in after.rows)
    assert THEOREMS[learner] in outcome[1].formula
    assert max(row.share or 0 for row in outcome[2].rows) == 1
