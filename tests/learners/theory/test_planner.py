"""The sample-size planner: each inequality it rests on, and both of its directions."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from geometry.halfplane import HalfplaneLattice
from learners import PolygonUnionLearner
from learners.cover.set_cover import NOISE_SHARE
from learners.privacy.accounting import noise_scale
from learners.theory.planner import (
    Setting,
    drawn_alone,
    error_guaranteed,
    examples_needed,
)
from learners.theory.theorems import alpha_for, find_theorem

LATTICE = HalfplaneLattice(1024)
SETTING = Setting(k=4, beta=0.1, epsilon=1.0, delta=1e-6, lattice=LATTICE)


@pytest.mark.parametrize("learner", ["cover", "convex-cover"])
@pytest.mark.parametrize("alpha", [0.3, 0.1, 0.02])
def test_the_plan_is_the_least_number_and_inverts(learner, alpha):
    setting = replace(SETTING, learner=learner)
    plan = examples_needed(setting, alpha)
    assert plan.alpha == alpha
    back = error_guaranteed(setting, plan.examples)
    assert back.alpha <= alpha * (1 + 2e-3)
    short = error_guaranteed(setting, int(plan.examples * 0.98))
    assert short.alpha is None or short.alpha > alpha


def test_more_privacy_more_pieces_or_less_error_needs_more_examples():
    base = examples_needed(SETTING, 0.1).examples
    for harder in (
        replace(SETTING, epsilon=0.5),
        replace(SETTING, delta=1e-9),
        replace(SETTING, k=5),
        replace(SETTING, beta=0.01),
        replace(SETTING, neighbours="replace-one"),
        replace(SETTING, lattice=HalfplaneLattice(1024, "paper")),
    ):
        assert examples_needed(harder, 0.1).examples > base
    assert examples_needed(SETTING, 0.05).examples > base
    assert examples_needed(replace(SETTING, learner="convex-cover"), 0.1).examples < base


def test_too_few_examples_guarantee_nothing():
    plan = error_guaranteed(SETTING, 100)
    assert plan.alpha is None
    assert plan.examples == 100


def test_a_hopeless_budget_is_called_void():
    hopeless = replace(SETTING, epsilon=1e-3, delta=1e-39, k=500)
    assert examples_needed(hopeless, 1e-6).examples is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"k": 0}, "k must be"),
        ({"beta": 1.0}, "beta must lie"),
        ({"learner": "star"}, "unknown learner"),
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"delta": 0.0}, "delta must lie"),
    ],
)
def test_bad_parameters_are_refused(change, reason):
    with pytest.raises(ValueError, match=reason):
        replace(SETTING, **change)


def test_bad_questions_are_refused():
    with pytest.raises(ValueError, match="alpha must lie"):
        examples_needed(SETTING, 1.0)
    with pytest.raises(ValueError, match="too small"):
        examples_needed(replace(SETTING, epsilon=1e-12), 0.1)
    with pytest.raises(ValueError, match="at least 1"):
        error_guaranteed(SETTING, 0)


@pytest.mark.parametrize(("measure", "size"), [("chord", 1), ("chord", 2), ("paper", 2)])
def test_the_number_of_pieces_is_counted_right(measure, size):
    lattice = HalfplaneLattice(size, measure, 1)
    span = range(lattice.low, lattice.high + 1)
    admitted = sum(lattice.admits(u, v) for u, v in itertools.product(span, span))
    halfplanes = admitted * len(lattice.sheets)
    setting = replace(SETTING, lattice=lattice)
    assert setting.pieces == halfplanes**3
    convex = replace(setting, learner="convex-cover")
    assert convex.pieces == halfplanes


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_one_triangle_is_planned_at_the_rate_that_its_run_has(neighbours):
    lattice = HalfplaneLattice(16)
    setting = replace(SETTING, k=1, lattice=lattice, neighbours=neighbours)
    drawn = drawn_alone(setting)
    run = PolygonUnionLearner(k=1, grid=16, delta=1e-6, neighbours=neighbours, n_steps=1)
    assert drawn["epsilon"] == run.plan().charge("selections").each
    assert drawn["size"] == setting.pieces
    # no sample of this size does better than the mechanism's own tail
    alpha = alpha_for(find_theorem("private-finite"), 100_000, 0.1, drawn)
    assert alpha is not None
    assert alpha >= (math.log(setting.pieces) + math.log(10)) / (drawn["epsilon"] * 100_000)
    for other in (replace(setting, k=2), replace(setting, learner="convex-cover")):
        with pytest.raises(ValueError, match="not drawn alone"):
            drawn_alone(other)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("alpha", [0.3, 0.05])
def test_the_training_bound_holds_for_the_worst_run(k, alpha):
    """Each step gains as little, and loses as much, as the events of the proof allow."""
    plan = examples_needed(replace(SETTING, k=k), alpha)
    for n in (plan.examples, 4 * plan.examples):
        for start in (1.0, 0.5, 0.01):
            left, lost = n * start, 0.0
            for _ in range(plan.steps):
                gain = max(0.0, (left - 2 * plan.noise) / k - plan.selection_loss)
                left, lost = left - min(left, gain), lost + plan.selection_loss
            allowed = max(alpha * n / 2, 4 * plan.noise)
            allowed += (2 * k + plan.steps) * plan.selection_loss
            assert left + lost <= allowed
            # and the source's own, looser form
            assert allowed <= max(alpha * n / 2, 4 * plan.noise) + (
                4 * k * plan.selection_loss * math.log(2 / alpha) * (1 + 1 / plan.steps)
            )


def test_the_noise_stays_within_its_bound_as_often_as_claimed():
    plan = examples_needed(SETTING, 0.1)
    scale = float(noise_scale(NOISE_SHARE * SETTING.epsilon, plan.steps))
    r = math.exp(-1 / scale)
    # discrete Laplace: P(|Z| > t) = 2 r^(t+1) / (1 + r)
    outside = 2 * r ** (plan.noise + 1) / (1 + r)
    assert plan.steps * outside <= SETTING.beta / 3
    # the learner centres its counts by its own beta, which the plan states
    assert plan.learner_beta == pytest.approx(SETTING.beta / 3)


def test_halfplanes_label_n_points_in_at_most_so_many_ways():
    rng = np.random.default_rng(0)
    for n in range(1, 8):
        points = rng.random((n, 2))
        labelings = {tuple([True] * n), tuple([False] * n)}
        directions = [0.0, math.pi]
        for a, b in itertools.combinations(points, 2):
            across = math.atan2(*(b - a)[::-1]) + math.pi / 2
            directions += [across + turn + tiny for turn in (0, math.pi) for tiny in (-1e-9, 1e-9)]
        for angle in directions:
            heights = points @ [math.cos(angle), math.sin(angle)]
            labelings |= {tuple((heights >= h).tolist()) for h in heights}
        assert len(labelings) == n * n - n + 2


# -- the promise held against runs

#: Of runs at the promised number of examples.
D, ALPHA, BETA, RUNS = 16, 0.3, 0.2, 30
