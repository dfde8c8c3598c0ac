"""The sampler of discs and ellipses: counts, bounds, and its law against enumeration."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from chi_square import assert_drawn_from, power
from counted import counted
from quick_draws import QuickBits
from scipy import stats

from geometry.lift import ConicLattice
from learners.core.selection import (
    POWER,
    Cancelled,
    Score,
    SelectionProgress,
    mistakes_score,
    set_cover_score,
    softened_nats,
    softened_shortfall,
)
from learners.curved import conic_boxes as boxes
from learners.curved.conic_selection import ConicSelection, count_areas
from learners.privacy.randomness import SeededRandom


def random_examples(d: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, d + 1, (n, 2))
    points[-1] = points[0]
    return points, (points.sum(axis=1) < d) ^ (rng.random(n) < 0.2)


def target_of(lattice: ConicLattice, score: Score, rate: float = 1.0) -> boxes.ConicTarget:
    return boxes.ConicTarget(
        score.k, score.c_pos, score.c_neg, score.total, POWER / rate, 0,
        len(lattice.low), lattice.d, lattice.bits,
    )  # fmt: skip


def full(values: object) -> np.ndarray:
    """Parameters as the compiled loops take them."""
    padded = np.zeros(5, dtype=np.int64)
    padded[: len(values)] = values  # type: ignore[arg-type]
    return padded


def test_areas_count_what_lies_below_and_to_the_left() -> None:
    points, labels = random_examples(6, 40, seed=1)
    for label, area in zip((False, True), count_areas(counted(points, labels, 6)), strict=True):
        mine = points[labels == label]
        for j, i in itertools.product(range(8), range(8)):
            assert area[j, i] == np.count_nonzero((mine[:, 0] < i) & (mine[:, 1] < j))


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
@pytest.mark.parametrize(("d", "bits"), [(5, 0), (12, -1), (100, 3), (700, -1), (2048, -1)])
def test_one_member_holds_as_many_as_its_own_test_says(kind: str, d: int, bits: int) -> None:
    lattice = ConicLattice(d, kind, bits)
    points, labels = random_examples(d, 3000, seed=d)
    area = count_areas(counted(points, labels, d))[1]
    target = target_of(lattice, Score(1, 0, 0))
    rng = np.random.default_rng(d)
    for _ in range(60):
        theta = rng.integers(lattice.low, np.array(lattice.high) + 1)
        held = np.count_nonzero(lattice.conic(*theta).contains(points[labels]))
        assert boxes.exact_count(target, area, full(theta)) == held


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
@pytest.mark.parametrize(("d", "bits"), [(5, 0), (12, -1), (100, 3), (700, -1)])
def test_no_member_leaves_the_bounds_of_its_box(kind: str, d: int, bits: int) -> None:
    lattice = ConicLattice(d, kind, bits)
    points, labels = random_examples(d, 4000, seed=d)
    area = count_areas(counted(points, labels, d))[1]
    target = target_of(lattice, Score(1, 0, 0))
    rng = np.random.default_rng(d + 1)
    least, most = np.array(lattice.low), np.array(lattice.high)
    for _ in range(150):
        size = rng.choice([0, 1, 2, 1 << lattice.bits, lattice.side // 8, lattice.side])
        low = rng.integers(least, most + 1)
        high = np.minimum(most, low + rng.integers(0, size + 1, len(low)))
        corners = [low, high, *(np.where(rng.random(len(low)) < 0.5, low, high) for _ in range(4))]
        members = [*corners, *(rng.integers(low, high + 1) for _ in range(4))]
        counts = [boxes.exact_count(target, area, full(theta)) for theta in members]
        for stride in (1, 2, 5, 64):
            outer = boxes.outer_count(target, area, full(low), full(high), stride)
            inner = boxes.inner_count(target, area, full(low), full(high), stride)
            assert inner <= min(counts)
            assert max(counts) <= outer


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
def test_the_bounds_of_a_single_member_are_tight(kind: str) -> None:
    lattice = ConicLattice(60, kind)
    points, labels = random_examples(60, 3000, seed=3)
    area = count_areas(counted(points, labels, 60))[1]
    target = target_of(lattice, Score(1, 0, 0))
    rng = np.random.default_rng(6)
    for _ in range(100):
        theta = full(rng.integers(lattice.low, np.array(lattice.high) + 1))
        held = boxes.exact_count(target, area, theta)
        assert boxes.outer_count(target, area, theta, theta, 1) == held
        assert boxes.inner_count(target, area, theta, theta, 1) == held


def members(lattice: ConicLattice) -> list[tuple[int, ...]]:
    spans = (range(b, h + 1) for b, h in zip(lattice.low, lattice.high, strict=True))
    return list(itertools.product(*spans))


def enumerated(
    lattice: ConicLattice, points: np.ndarray, labels: np.ndarray, score: Score, rate: float
) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Every member and its unnormalised weight under the stated law."""
    thetas = members(lattice)
    values = []
    for theta in thetas:
        held = lattice.conic(*theta).contains(points)
        values.append(
            score.value(int(np.count_nonzero(held & labels)), int(np.count_nonzero(held & ~labels)))
        )
    return thetas, (1 - rate / POWER * np.array(values, dtype=float)) ** -POWER


@pytest.mark.parametrize(
    ("kind", "d", "bits", "draws"), [("disc", 4, 0, 1900), ("disc", 2, 1, 1900),
                                     ("ellipse", 2, 0, 2600)],
)  # fmt: skip
@pytest.mark.parametrize("rule", ["cover", "mistakes"])
@pytest.mark.parametrize("max_boxes", [1, 4, 1 << 16])
def test_draws_follow_the_enumerated_law(
    kind: str, d: int, bits: int, draws: int, rule: str, max_boxes: int
) -> None:
    """Member by member; the number of boxes must not matter.

    A rate that is a quarter higher or lower is caught with probability above 0.995.
    """
    lattice = ConicLattice(d, kind, bits)
    points, labels = random_examples(d, 25, seed=7)
    positives = int(labels.sum())
    score = mistakes_score(positives)
    if rule == "cover":
        score = set_cover_score("disjunction", 2, positives - 3, positives, 25 - positives)
    rate = 0.55
    law, *others = (
        dict(zip(thetas, (weights / weights.sum()).tolist(), strict=True))
        for thetas, weights in (
            enumerated(lattice, points, labels, score, r * rate) for r in (1, 0.75, 1.25)
        )
    )
    assert min(power(law, other, draws) for other in others) > 0.995
    counts = counted(points, labels, d)
    source, selection = QuickBits(4 * d + max_boxes), ConicSelection(lattice, max_boxes)
    drawn = Counter(
        selection.select(counts, score, rate, source).piece[0].parameters  # type: ignore[attr-defined]
        for _ in range(draws)
    )
    assert_drawn_from(law, drawn, draws, outcomes=20)


@pytest.mark.parametrize(("kind", "d"), [("disc", 3), ("ellipse", 1)])
def test_one_example_moves_no_probability_by_more_than_eta(kind: str, d: int) -> None:
    """The whole law, for every neighbour, given the noisy count; and the bound is attained,
    up to the softening, where pieces fit: all do where every label is 1 and the noisy count 0.
    """
    lattice = ConicLattice(d, kind, 0)
    points, labels = random_examples(d, 12, seed=2)
    eta, k = 0.4, 2

    def law(xy: np.ndarray, y: np.ndarray, noisy: int) -> np.ndarray:
        positives = int(y.sum())
        score = set_cover_score("disjunction", k, noisy, positives, len(y) - positives)
        weights = enumerated(lattice, xy, y, score, eta / k)[1]
        return weights / weights.sum()

    spread = []
    cells = range(d + 1)
    samples = ((labels, 3), (np.ones(12, dtype=bool), 0))
    for (own, noisy), x, y, label in itertools.product(samples, cells, cells, (False, True)):
        after = law(np.vstack([points, [[x, y]]]), np.append(own, label), noisy)
        loss = np.log(after / law(points, own, noisy))
        assert np.abs(loss).max() <= eta + 1e-9
        spread.append(loss.max() - loss.min())
    assert max(spread) <= eta + 1e-9
    assert max(spread) > 0.99 * eta


def test_a_selection_is_repeated_by_its_seed_alone() -> None:
    lattice = ConicLattice(64, "ellipse")
    points, labels = random_examples(64, 500, seed=4)
    counts = counted(points, labels, 64)
    score = set_cover_score("disjunction", 1, 100, int(labels.sum()), int((~labels).sum()))
    drawn = [
        ConicSelection(lattice).select(counts, score, 0.5, SeededRandom(seed)).piece
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_watch_sees_the_envelope_sink_and_can_stop_it() -> None:
    lattice = ConicLattice(256, "ellipse")
    points, labels = random_examples(256, 4000, seed=4)
    score = set_cover_score("disjunction", 1, 1000, int(labels.sum()), int((~labels).sum()))
    seen: list[SelectionProgress] = []

    def watch(progress: SelectionProgress) -> None:
        seen.append(progress)
        if len(seen) == 4:
            raise Cancelled

    with pytest.raises(Cancelled):
        ConicSelection(lattice).select(
            counted(points, labels, 256), score, 0.8, SeededRandom(1), watch
        )
    masses = [progress.log_mass for progress in seen]
    assert masses == sorted(masses, reverse=True)
    assert seen[-1].boxes > seen[0].boxes > 1


def test_a_sample_without_examples_is_drawn_from_uniformly() -> None:
    lattice = ConicLattice(1, "disc", 0)
    nobody = counted(np.empty((0, 2)), np.empty(0), 1)
    source, score = SeededRandom(3), set_cover_score("disjunction", 1, -2, 0, 0)
    drawn = Counter(
        ConicSelection(lattice).select(nobody, score, 1.0, source).piece for _ in range(800)
    )
    assert len(drawn) == 4
    assert stats.chisquare(list(drawn.values())).pvalue > 1e-3


def test_a_softened_score_moves_by_at_most_the_score() -> None:
    for rate in (1e-3, 0.4, 16.0):
        nats = [softened_nats(value, rate) for value in range(-3000, 1)]
        moved = np.diff(nats)
        assert moved.min() > 0
        assert moved.max() <= rate
        assert nats[-1] == 0.0
        for value in (-3000, -7, 0):
            fallen = -softened_nats(value, rate)
            assert softened_shortfall(fallen) == pytest.approx(-rate * value, rel=1e-12)


def test_a_score_above_0_is_refused() -> None:
    points, labels = random_examples(8, 20, seed=1)
    with pytest.raises(ValueError, match="at most 0"):
        ConicSelection(ConicLattice(8, "disc")).select(
            counted(points, labels, 8), Score(1, 0, 5), 1.0, SeededRandom(1)
        )


def test_too_many_boxes_are_refused() -> None:
    with pytest.raises(ValueError, match="max_boxes"):
        ConicSelection(ConicLattice(4, "disc"), (1 << 22) + 1)
