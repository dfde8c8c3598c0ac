"""Sizes of samples for covers: each inequality they rest on, in both directions."""

import itertools
import math
from functools import partial

import pytest

from geometry.halfplane import HalfplaneLattice
from learners import (
    ConvexPolygonLearner,
    DiscUnionLearner,
    EllipseUnionLearner,
    PolygonUnionLearner,
)
from learners.theory.cover_sizes import (
    piece_count,
    polygon_examples,
    printed_examples,
    printed_finite_loss,
    printed_halfplanes_loss,
    printed_sample_examples,
    printed_selection_epsilon,
)
from learners.theory.theorems import alpha_for, examples_for, find_theorem, plan_for, theorem_of

ASKED = {
    "k": 4, "d": 1024, "epsilon": 1.0, "delta": 1e-6, "neighbours": "add-remove",
    "measure": "chord", "direction": None,
}  # fmt: skip
BETA = 0.1
COVER, CONVEX = find_theorem("cover"), find_theorem("convex-cover")


def needed(alpha: float, **changes: object) -> int:
    found = examples_for(COVER, alpha, BETA, ASKED | changes)
    assert found is not None
    return found


@pytest.mark.parametrize("theorem", [COVER, CONVEX])
def test_fewer_examples_promise_more_error(theorem):
    n = examples_for(theorem, 0.1, BETA, ASKED)
    short = alpha_for(theorem, int(n * 0.98), BETA, ASKED)
    assert short is None or short > 0.1


def test_more_privacy_more_pieces_or_less_error_needs_more_examples():
    base = needed(0.1)
    for harder in (
        {"epsilon": 0.5}, {"delta": 1e-9}, {"k": 5}, {"neighbours": "replace-one"},
        {"measure": "paper"},
    ):  # fmt: skip
        assert needed(0.1, **harder) > base
    assert needed(0.05) > base
    assert examples_for(COVER, 0.1, 0.01, ASKED) > base > examples_for(CONVEX, 0.1, BETA, ASKED)


def test_a_hopeless_budget_is_called_void():
    hopeless = ASKED | {"epsilon": 1e-3, "delta": 1e-39, "k": 500}
    assert examples_for(COVER, 1e-6, BETA, hopeless) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"k": 0}, "k must be"),
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"epsilon": 1e-12}, "too small"),
        ({"delta": 0.0}, "delta must lie"),
    ],
)
def test_bad_parameters_are_refused(change, reason):
    with pytest.raises(ValueError, match=reason):
        needed(0.1, **change)
    with pytest.raises(ValueError, match="at least 1"):
        alpha_for(COVER, 0, BETA, ASKED)


@pytest.mark.parametrize(("measure", "size"), [("chord", 1), ("chord", 2), ("paper", 2)])
def test_the_number_of_pieces_is_counted_right(measure, size):
    lattice = HalfplaneLattice(size, measure, 1)
    span = range(lattice.low, lattice.high + 1)
    admitted = sum(lattice.admits(u, v) for u, v in itertools.product(span, span))
    halfplanes = admitted * len(lattice.sheets)
    assert piece_count(lattice, 3) == halfplanes**3
    assert piece_count(lattice, 1) == halfplanes


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_one_triangle_is_planned_at_the_rate_that_its_run_has(neighbours):
    asked = ASKED | {"k": 1, "neighbours": neighbours}
    theorem, drawn = theorem_of("cover", asked, 16, alone=True)
    run = PolygonUnionLearner(k=1, grid=16, delta=1e-6, neighbours=neighbours, n_steps=1)
    assert drawn["epsilon"] == run.plan().charge("selections").each
    assert drawn["size"] == piece_count(HalfplaneLattice(16), 3)
    # no sample of this size does better than the mechanism's own tail
    alpha = alpha_for(theorem, 100_000, 0.1, drawn)
    assert alpha >= (math.log(drawn["size"]) + math.log(10)) / (drawn["epsilon"] * 100_000)


@pytest.mark.parametrize(
    ("learner", "made"),
    [
        ("cover", partial(PolygonUnionLearner, finish="none")),
        ("convex-cover", ConvexPolygonLearner),
        ("discs", DiscUnionLearner),
        ("ellipses", EllipseUnionLearner),
    ],
)
def test_covers_are_planned_with_the_budget_that_their_runs_have(learner, made):
    theorem, asked = theorem_of(learner, ASKED | {"k": 2}, 64)
    plan = plan_for(theorem, 0.1, BETA, asked)
    spent = made(k=2, grid=64, n_steps=plan.steps, beta=plan.beta).plan()
    assert spent.charge("selections").each == plan.eta
    scale = 1 / spent.charge("noisy counts").each
    assert math.ceil(scale * math.log(plan.steps / plan.beta)) == plan.noise


def test_every_learner_has_the_theorem_about_it_and_others_have_none():
    found = {}
    for learner in ("cover", "convex-cover", "discs", "ellipses", "threshold", "tiles"):
        asked = theorem_of(learner, ASKED, 64)
        found[learner] = asked and asked[0].name
    assert found == {
        "cover": "cover", "convex-cover": "convex-cover", "discs": "conic-cover",
        "ellipses": "conic-cover", "threshold": "private-finite", "tiles": None,
    }  # fmt: skip
    assert theorem_of("cover", ASKED | {"k": "auto"}, 64) is None


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("alpha", [0.3, 0.05])
def test_the_training_bound_holds_for_the_worst_run(k, alpha):
    """Each step gains as little, and loses as much, as the events of the proof allow."""
    plan = polygon_examples(1024, k, alpha, BETA)
    for n in (plan.examples, 4 * plan.examples):
        for start in (1.0, 0.5, 0.01):
            left, lost = n * start, 0.0
            for _ in range(plan.steps):
                gain = max(0.0, (left - 2 * plan.noise) / k - plan.selection_loss)
                left, lost = left - min(left, gain), lost + plan.selection_loss
            allowed = max(alpha * n / 2, 4 * plan.noise)
            allowed += (2 * k + plan.steps) * plan.selection_loss
            assert left + lost <= allowed
            assert plan.training_error(n) == pytest.approx(min(1, allowed / n))
            # and the source's own, looser form
            assert allowed <= max(alpha * n / 2, 4 * plan.noise) + (
                4 * k * plan.selection_loss * math.log(2 / alpha) * (1 + 1 / plan.steps)
            )


# -- KMMS's own constants


@pytest.mark.parametrize(
    ("k", "alpha", "epsilon", "loss"), [(4, 0.1, 1.0, 50.0), (2, 0.3, 0.1, 0.1)]
)
def test_printed_examples_are_the_least_of_claim_3_1(k, alpha, epsilon, loss):
    log = math.log(2 / alpha)
    delta = 2 * k * log / epsilon * math.log(2 * k * log / 0.05)

    def enough(n: int) -> bool:
        return max(alpha * n / 2, 4 * delta) + 4 * k * loss * log <= alpha * n

    n = printed_sample_examples(k, alpha, 0.05, epsilon, loss)
    assert enough(n)
    assert not enough(n - 1)


def test_printed_losses_make_the_proofs_bounds_hold() -> None:
    d, beta, epsilon = 1024, 0.002, 0.03
    for edges in (1, 3):
        loss = printed_halfplanes_loss(edges, d, epsilon, beta)
        # the end of the proof of lemma 4.6, a factor for each halfplane
        assert edges * math.log(128 * d**8) - epsilon * loss <= math.log(beta)
    loss = printed_finite_loss(math.log(5_000), epsilon, beta)
    assert 5_000 * math.exp(-epsilon * loss / 2) == pytest.approx(beta)
    assert printed_selection_epsilon(1.0, 1e-6) == pytest.approx(0.0337, abs=1e-4)
    # both together are what the rows of the table have
    failure = 0.1 / (4 * 3 * math.log(2 / 0.05))
    loss = printed_halfplanes_loss(3, 64, printed_selection_epsilon(0.5, 1e-6), failure)
    asked = {"k": 3, "alpha": 0.05, "beta": 0.1, "epsilon": 0.5}
    found = printed_examples(**asked, delta=1e-6, d=64, edges=3)
    assert found == printed_sample_examples(**asked, loss=loss)
