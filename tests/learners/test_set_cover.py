"""The private engine: its budget, its thresholds, and its books against brute force."""

import math
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest
from counted import counted
from numpy.typing import NDArray
from scripted_cover import LATTICE, Script, covered, random_pieces, sample

from geometry.grid_counts import GridCounts
from learners.core.records import Piece, StepDiagnostics, StepRecord, StepRelease
from learners.core.selection import Role, Score, Selected, SelectionProgress, set_cover_score
from learners.cover import cover_run, set_cover
from learners.cover.polygons import PolygonUnionLearner
from learners.cover.set_cover import (
    NOISE_SHARE,
    Budget,
    Cover,
    default_steps,
    plan_budget,
    theorem_steps,
)
from learners.privacy.accounting import after_arithmetic, halve_for_replacement
from learners.privacy.composition import run_epsilon, run_rate
from learners.privacy.randomness import RandomSource, SeededRandom

ROLES: tuple[Role, ...] = ("disjunction", "conjunction")


# -- budget --------------------------------------------------------------------------------


def budget(epsilon: float = 1.0, delta: float = 1e-6, steps: int = 6, beta: float = 0.1) -> Budget:
    return plan_budget(epsilon, delta, steps, beta, "add-remove", private=True)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0])
@pytest.mark.parametrize("steps", [1, 6, 100])
def test_counts_and_selections_cost_epsilon_together(epsilon: float, steps: int) -> None:
    plan = budget(epsilon, 1e-6, steps)
    spent = plan.spent
    counts, selections = spent.charges
    assert (counts.name, selections.name) == ("noisy counts", "selections")
    assert counts.times == selections.times == steps
    assert counts.alone == pytest.approx(NOISE_SHARE * epsilon, rel=1e-15)
    # each noisy count costs 1 / scale, together at most what is stated
    assert steps / plan.scale <= Fraction(NOISE_SHARE * epsilon)
    left, left_delta = after_arithmetic(epsilon, 1e-6, steps)
    assert plan.eta == run_rate(left, left_delta, steps, counts.each)
    assert spent.account == "optimal"
    # what the selections cost alone is less than all, and more than their part of a sum
    assert (1 - NOISE_SHARE) * epsilon < run_epsilon(plan.eta, 1e-6, steps) < epsilon
    assert (selections.each, spent.steps) == (plan.eta, plan.steps) == (plan.eta, steps)
    assert (spent.epsilon, spent.delta, spent.neighbours) == (epsilon, 1e-6, "add-remove")


def test_replacement_runs_on_half_and_states_the_whole() -> None:
    plan = plan_budget(1.0, 1e-6, 6, 0.1, "replace-one", private=False)
    inner = budget(*halve_for_replacement(1.0, 1e-6))
    assert (plan.eta, plan.scale, plan.margin) == (inner.eta, inner.scale, inner.margin)
    assert plan.spent.charges == inner.spent.charges
    assert (plan.spent.epsilon, plan.spent.delta) == (1.0, 1e-6)
    assert not plan.spent.private


@pytest.mark.parametrize("steps", [1, 6, 40])
@pytest.mark.parametrize("beta", [0.5, 0.1, 1e-3])
def test_the_margin_bounds_the_noise_of_all_steps(steps: int, beta: float) -> None:
    plan = budget(steps=steps, beta=beta)
    p = math.exp(-1 / plan.scale)
    beyond = 2 * p ** (plan.margin + 1) / (1 + p)  # P(|noise| > margin)
    assert steps * beyond <= beta
    assert steps * 2 * p ** (plan.margin - 1) / (1 + p) > 0.9 * beta


def test_step_counts() -> None:
    assert [default_steps(k) for k in (1, 2, 5)] == [1, 6, 15]
    # KMMS: ceil(2 k ln(2 / alpha)); after it a share alpha / 2 of the gain is left
    for k, alpha in ((1, 0.1), (3, 0.1), (4, 0.01)):
        steps = theorem_steps(k, alpha)
        assert (1 - 1 / (2 * k)) ** steps <= alpha / 2
        assert steps == math.ceil(2 * k * math.log(2 / alpha))


# -- the engine ----------------------------------------------------------------------------


def holds(piece: Piece, x: int, y: int) -> bool:
    """Membership from the coefficients, in Python integers."""
    return all(a * x + b * y >= c for a, b, c in (h.coefficients for h in piece))


def run(
    role: Role, seed: int, plan: Budget, k: int = 2
) -> tuple[Script, list[StepRecord], NDArray[np.int64], NDArray[np.bool_]]:
    points, labels = sample(seed)
    script = Script(random_pieces(seed, plan.steps, 3 if role == "disjunction" else 1))
    stream = covered((points, labels), script, plan, SeededRandom(seed), role, k)
    return script, list(stream), points, labels


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("seed", range(8))
def test_the_books_agree_with_brute_force(role: Role, seed: int) -> None:
    plan = budget(steps=4)
    script, records, points, labels = run(role, seed, plan)
    alive = list(range(len(points)))
    # prediction so far: an intersection of nothing is everything
    predicted = [role == "conjunction"] * len(points)
    assert [record.step for record in records] == [1, 2, 3, 4]
    for piece, record, asked in zip(script.pieces, records, script.asked, strict=True):
        shown, score, rate = asked
        expected = counted(points[alive], labels[alive], LATTICE.d)
        assert shown.points.tolist() == expected.points.tolist()
        assert shown.labels.tolist() == expected.labels.tolist()
        assert shown.amounts.tolist() == expected.amounts.tolist()
        assert rate == plan.eta / 2
        positives = sum(bool(labels[i]) for i in alive)
        negatives = len(alive) - positives
        threshold = record.release.threshold
        assert score == set_cover_score(role, 2, threshold, positives, negatives)
        inside = {i for i in range(len(points)) if holds(piece, *map(int, points[i]))}
        gone = [i for i in alive if (i in inside) == (role == "disjunction")]
        books = record.diagnostics
        assert (books.positives_alive, books.negatives_alive) == (positives, negatives)
        assert books.positives_taken == sum(bool(labels[i]) for i in gone)
        assert books.negatives_taken == len(gone) - books.positives_taken
        # KMMS's score of the piece, in examples
        gained, lost = books.positives_taken, books.negatives_taken
        if role == "conjunction":
            gained, lost = lost, gained
        assert books.score == min(gained - threshold / 2, -lost)
        if role == "disjunction":
            predicted = [p or i in inside for i, p in enumerate(predicted)]
        else:
            predicted = [p and i in inside for i, p in enumerate(predicted)]
        wrong_1 = sum(p and not label for p, label in zip(predicted, labels, strict=True))
        wrong_0 = sum(not p and bool(label) for p, label in zip(predicted, labels, strict=True))
        assert books.false_positive_rate == wrong_1 / len(points)
        assert books.false_negative_rate == wrong_0 / len(points)
        assert books.empirical_error == pytest.approx((wrong_1 + wrong_0) / len(points))
        assert (books.trials, books.boxes, books.log_mass) == (5, 7, -1.5)
        alive = [i for i in alive if i not in gone]


@pytest.mark.parametrize("role", ROLES)
def test_one_example_moves_every_score_the_same_way_by_at_most_one(role: Role) -> None:
    # lemma 1, with the constants as the engine sets them
    points, labels = sample(3)
    pieces = random_pieces(4, 40, 1)
    for k, noisy in ((1, 12), (3, 30), (2, -4)):
        for extra, label in (((4, 4), True), ((4, 4), False), ((0, 8), True), ((7, 1), False)):
            more_points = np.vstack([points, np.array([extra])])
            more_labels = np.append(labels, label)
            moved = []
            for piece in pieces:
                less, more = (
                    _value(role, k, noisy, piece, p, s)
                    for p, s in ((points, labels), (more_points, more_labels))
                )
                decided = holds(piece, *extra) == (role == "disjunction")
                assert decided or more == less
                moved.append(Fraction(more - less, k))
            gains = label == (role == "disjunction")
            assert all(0 <= move <= 1 if gains else -1 <= move <= 0 for move in moved)


def _value(
    role: Role,
    k: int,
    noisy: int,
    piece: Piece,
    points: NDArray[np.int64],
    labels: NDArray[np.bool_],
) -> int:
    inside = np.array([holds(piece, int(x), int(y)) for x, y in points])
    score = set_cover_score(role, k, noisy, int(labels.sum()), int((~labels).sum()))
    return score.value(int((inside & labels).sum()), int((inside & ~labels).sum()))


@pytest.mark.parametrize("role", ROLES)
def test_thresholds_are_the_gain_less_the_margin_plus_integer_laplace_noise(role, monkeypatch):
    plan = budget(epsilon=4.0, steps=2)
    points, labels = sample(5, n=41)
    gain = int(labels.sum()) if role == "disjunction" else int((~labels).sum())
    asked = []
    monkeypatch.setattr(set_cover, "discrete_laplace", lambda *given: asked.append(given[1]) or 17)
    script, source = Script(random_pieces(5, 2, 1)), SeededRandom(1)
    stream = covered((points, labels), script, plan, source, role, 1)
    assert next(stream).release.threshold == gain + 17 - plan.margin
    assert set(asked) == {plan.scale}


@pytest.mark.parametrize("role", ROLES)
def test_the_number_of_steps_does_not_depend_on_the_examples(role: Role) -> None:
    plan = budget(steps=5)
    pieces = random_pieces(6, 5, 1)
    none = np.zeros((0, 2), dtype=np.int64)
    for examples in (sample(1), sample(2, n=1), (none, np.zeros(0, dtype=np.bool_))):
        records = list(covered(examples, Script(pieces), plan, SeededRandom(1), role))
        assert [record.release.piece for record in records] == pieces
        assert {record.steps for record in records} == {5}


class Sealed:
    private = True

    def bytes(self, count: int) -> bytes:
        raise AssertionError("drew early")

    def spawn(self) -> RandomSource:
        raise AssertionError("spawned early")


def test_nothing_is_drawn_before_a_step_is_asked_for() -> None:
    stream = covered(sample(1), Script([]), budget(), Sealed())
    with pytest.raises(AssertionError, match="drew early"):
        next(stream)


def test_nothing_is_drawn_of_a_run_whose_first_step_is_prepared_for(monkeypatch):
    monkeypatch.setattr(cover_run, "open_source", lambda seed: Sealed())
    looks: list[int] = []
    steps = PolygonUnionLearner(k=2, grid=LATTICE.d).steps(*sample(1, n=300))
    steps.refine(lambda: looks.append(1) is not None)
    assert looks
    with pytest.raises(AssertionError, match="drew early"):
        next(steps)


@pytest.mark.parametrize("sharpened", [False, True])
def test_what_is_expected_between_two_steps_is_what_is_asked_for_next(sharpened: bool) -> None:
    script = Script(random_pieces(4, 4, 1))
    heard: list[tuple[GridCounts, Score, float]] = []
    steps = covered(
        sample(3), script, budget(steps=4), SeededRandom(1), sharpened=sharpened,
        expect=lambda *asked: heard.append(asked),
    )  # fmt: skip
    for record in steps:
        assert len(heard) == min(record.step, 3)
    for (counts, *law), (asked, *asked_law) in zip(heard, script.asked[1:], strict=True):
        assert law == asked_law
        assert np.array_equal(counts.points, asked.points)
        assert np.array_equal(counts.amounts, asked.amounts)


def test_what_a_step_releases_has_no_private_field() -> None:
    released = {f.name for f in fields(StepRelease)}
    assert released == {"piece", "threshold"}
    assert not released & {f.name for f in fields(StepDiagnostics)}
    _, records, _, _ = run("disjunction", 1, budget(steps=2))
    for record in records:
        assert {f.name for f in fields(record)} == {"step", "steps", "release", "diagnostics"}
        assert not hasattr(record.release, "__dict__")


def test_the_curators_cover_needs_no_examples() -> None:
    cover = Cover(counted(np.zeros((0, 2)), np.zeros(0), LATTICE.d), "disjunction")
    selected = Selected(random_pieces(1, 1, 3)[0], SelectionProgress(1, 1, 0.0))
    books = cover.take(selected, Score(2, -4, 0), 0.0)
    assert (books.empirical_error, books.positives_alive, books.score) == (0.0, 0, -2.0)
