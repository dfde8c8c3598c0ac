"""Discs and ellipses: counts, bounds, the sampler's law against enumeration, and learners."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
import shapely
from chi_square import assert_counted
from conics import assert_draws_follow_the_law, law, score_of, target_of
from counted import counted
from grids import grid_points

from geometry.geojson_write import feature_collection
from geometry.grid import Frame
from geometry.lift import ConicLattice
from geometry.polygons import contains_points
from learners import DiscUnionLearner
from learners.core.selection import (
    Cancelled,
    Score,
    SelectionProgress,
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


@pytest.mark.parametrize(
    ("kind", "d", "bits", "draws", "rule", "max_boxes"),
    [
        # every pair of a kind and a rule
        ("disc", 4, 0, 1900, "cover", 4),
        ("disc", 2, 1, 1900, "mistakes", 1 << 16),
        ("ellipse", 2, 0, 2600, "cover", 1 << 16),
        ("ellipse", 2, 0, 2600, "mistakes", 1),
    ],
)
def test_draws_follow_the_enumerated_law(kind, d, bits, draws, rule, max_boxes):
    """The number of boxes must not matter."""
    counts = counted(*random_examples(d, 25, seed=7), d)
    assert_draws_follow_the_law(
        ConicLattice(d, kind, bits), counts, score_of(rule, counts), 0.55, (0.75, 1.25),
        draws, max_boxes, 4 * d + max_boxes,
    )  # fmt: skip


@pytest.mark.parametrize(("kind", "d"), [("disc", 3), ("ellipse", 1)])
def test_one_example_moves_no_probability_by_more_than_eta(kind: str, d: int) -> None:
    """The whole law, for every neighbour, given the noisy count; and the bound is attained,
    up to the softening, where pieces fit: all do where every label is 1 and the noisy count 0.
    """
    lattice = ConicLattice(d, kind, 0)
    points, labels = random_examples(d, 12, seed=2)
    eta, k = 0.4, 2

    def chances(xy: np.ndarray, y: np.ndarray, noisy: int) -> np.ndarray:
        counts = counted(xy, y, d)
        score = set_cover_score("disjunction", k, noisy, counts.positives, counts.negatives)
        return np.array(list(law(lattice, counts, score, eta / k).values()))

    spread = []
    cells = range(d + 1)
    samples = ((labels, 3), (np.ones(12, dtype=bool), 0))
    for (own, noisy), x, y, label in itertools.product(samples, cells, cells, (False, True)):
        after = chances(np.vstack([points, [[x, y]]]), np.append(own, label), noisy)
        loss = np.log(after / chances(points, own, noisy))
        assert np.abs(loss).max() <= eta + 1e-9
        spread.append(loss.max() - loss.min())
    assert max(spread) <= eta + 1e-9
    assert max(spread) > 0.99 * eta


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
    assert_counted(np.ones(4), np.array(list(drawn.values())), outcomes=4)


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


def uniform(d: int, n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, d + 1, (n, 2))


def disc(X: np.ndarray, p: float, q: float, r: float) -> np.ndarray:
    return (X[:, 0] - p) ** 2 + (X[:, 1] - q) ** 2 <= r * r


def two_discs(X: np.ndarray) -> np.ndarray:
    return disc(X, 80, 90, 55) | disc(X, 180, 170, 60)


@pytest.fixture(scope="module")
def fitted() -> DiscUnionLearner:
    X = uniform(256, 20_000, seed=1)
    return DiscUnionLearner(k=2, grid=256, seed=3).fit(X, two_discs(X))


def test_a_disc_at_the_edge_is_recovered() -> None:
    X, test = uniform(256, 20_000, seed=1), uniform(256, 20_000, seed=2)
    model = DiscUnionLearner(grid=256, seed=1).fit(X, disc(X, 250, 5, 100))
    assert model.score(test, disc(test, 250, 5, 100)) > 0.995


def test_the_shape_is_the_hypothesis_up_to_its_chords(fitted: DiscUnionLearner) -> None:
    shape = fitted.polygons_
    X = grid_points(256)
    near = shapely.distance(shape.boundary, shapely.points(X)) <= 1 / 64 + 1e-9
    inside = contains_points(shape, X)
    assert (inside == (fitted.predict(X) == 1))[~near].all()
    collection = feature_collection(shape, Frame(256), member={})
    assert collection["features"][0]["geometry"]["type"] in ("Polygon", "MultiPolygon")
