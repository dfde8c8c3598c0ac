"""Thresholds on the grid: sides, mistakes, the law and its neighbours, and the release."""

import json
from fractions import Fraction

import numpy as np
import pytest
import shapely
from counted import counted
from grids import grid_points
from heard_draws import heard_choices
from numpy.typing import NDArray
from tiny_samples import all_neighbours, most_moved

from geometry.halfplane import HalfplaneLattice
from learners import ThresholdLearner
from learners.core.codec import release_from_dict, release_to_dict
from learners.core.releases import CoverRelease
from learners.cover import threshold_learner
from learners.cover.threshold_learner import (
    Direction,
    threshold_class_size,
    threshold_mistakes,
    threshold_piece,
)
from learners.privacy.accounting import Charge

DIRECTIONS: tuple[Direction, ...] = ("right", "left", "above", "below")


def held(direction: Direction, t: int, points: NDArray[np.int64]) -> NDArray[np.bool_]:
    along = points[:, 0] if direction in ("right", "left") else points[:, 1]
    return along >= t if direction in ("right", "above") else along <= t


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("bits", [0, 1, 7, -1])
def test_the_lattice_halfplane_holds_exactly_the_threshold(direction: Direction, bits: int) -> None:
    d = 9
    lattice = HalfplaneLattice(d, bits=bits)
    for t in range(d + 1):
        (halfplane,) = threshold_piece(lattice, direction, t)
        assert halfplane.u == halfplane.v
        points = grid_points(d)
        np.testing.assert_array_equal(halfplane.contains(points), held(direction, t, points))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("d", [1023, (1 << 20) - 3, 1 << 20])
def test_the_border_is_exact_on_large_grids(direction: Direction, d: int) -> None:
    lattice = HalfplaneLattice(d)
    axis = 0 if direction in ("right", "left") else 1
    for t in (0, 1, d // 3, d - 1, d):
        points = np.array([[d, 0], [0, d], [d // 2, d // 2]])
        near = np.repeat(points, 3, axis=0)
        near[:, axis] = np.clip(t + np.tile([-1, 0, 1], 3), 0, d)
        (halfplane,) = threshold_piece(lattice, direction, t)
        found = halfplane.contains(near)
        np.testing.assert_array_equal(found, held(direction, t, near))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_mistakes_are_counted_for_every_threshold(direction: Direction) -> None:
    rng = np.random.default_rng(3)
    points, labels = rng.integers(0, 13, (80, 2)), rng.random(80) < 0.4
    expected = [
        np.count_nonzero(held(direction, t, points) != labels) for t in places(direction, 12)
    ]
    assert threshold_mistakes(counted(points, labels, 12), direction).tolist() == expected


def places(direction: Direction, d: int) -> range:
    """All t: one of them labels everything 0, one everything 1."""
    return range(d + 2) if direction in ("right", "above") else range(-1, d + 1)


def hypotheses(direction: Direction | None, d: int) -> list[tuple[Direction, int]]:
    chosen = DIRECTIONS if direction is None else (direction,)
    return [(one, t) for one in chosen for t in places(one, d)]


def law(
    sample: list[tuple[int, int, int]], direction: Direction | None, d: int, rate: float
) -> NDArray[np.float64]:
    table = np.array(sample).reshape(-1, 3)
    wrong = [
        np.count_nonzero(held(*h, table[:, :2]) != (table[:, 2] == 1))
        for h in hypotheses(direction, d)
    ]
    weights = np.exp(-rate * np.array(wrong))
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("direction", [None, "left"])
def test_a_threshold_is_drawn_by_its_mistakes(direction: Direction | None, monkeypatch) -> None:
    sample = [(0, 0, 0), (1, 0, 0), (2, 1, 1), (2, 2, 1), (1, 2, 0), (2, 0, 1)]
    table, members = np.array(sample), hypotheses(direction, 2)
    labels = table[:, 2] == 1
    wrong = [int(np.count_nonzero(held(*each, table[:, :2]) != labels)) for each in members]
    for index, (side, t) in enumerate(members):
        heard = heard_choices(monkeypatch, threshold_learner, index)
        model = ThresholdLearner(grid=2, direction=direction, epsilon=1.2, seed=1)
        release = model.fit(table[:, :2], labels).release_
        assert release.pieces == (threshold_piece(HalfplaneLattice(2), side, t),)
        assert heard == [([-each for each in wrong], Fraction(1.2), None)]


@pytest.mark.parametrize("direction", [None, "left"])
def test_neighbours_are_within_epsilon(direction: Direction | None) -> None:
    kinds = [(x, y, label) for x in range(2) for y in range(2) for label in (0, 1)]
    worst = most_moved(lambda s: law(list(s), direction, 1, 1.0), all_neighbours(kinds, 2))
    assert 0.7 < worst <= 1 + 1e-12


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_run_finds_the_side_and_publishes_one_halfplane(direction: Direction) -> None:
    points = np.random.default_rng(1).integers(0, 1025, (3333, 2))
    labels = held(direction, 300, points)
    model = ThresholdLearner(seed=424242)
    (record,) = model.steps(points, labels)
    release = model.release_
    assert (release.role, len(release.pieces), len(release.pieces[0])) == ("conjunction", 1, 1)
    assert model.score(points, labels) > 0.99
    assert record.diagnostics.score == -round(3333 * record.diagnostics.empirical_error)
    assert release.parameters == (("direction", None),)
    spent = model.privacy_
    assert (spent.epsilon, spent.delta, spent.charges) == (1.0, 0.0, (Charge("selections", 1.0),))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("d", [1, 8])
def test_one_shape_is_empty_and_one_the_square(direction: Direction, d: int) -> None:
    lattice, points = HalfplaneLattice(d), grid_points(d)
    areas = []
    for t in places(direction, d):
        piece = threshold_piece(lattice, direction, t)
        release = CoverRelease("", lattice, (), None, "conjunction", (piece,), ())
        inside = shapely.intersects_xy(release.shape(), points.astype(float))
        np.testing.assert_array_equal(release.predict(points), held(direction, t, points))
        np.testing.assert_array_equal(release.predict(points), inside.astype(int))
        areas.append(release.shape().area)
        assert release_from_dict(json.loads(json.dumps(release_to_dict(release)))) == release
    assert (areas.count(0.0), areas.count(d * d)) == (1, 1)
    assert len(areas) == threshold_class_size(d, direction) == threshold_class_size(d) // 4


def test_thresholds_outside_the_class_are_refused() -> None:
    for side, t in (("left", 9), ("left", -2), ("above", 10), ("above", -1)):
        least = -1 if side == "left" else 0
        with pytest.raises(ValueError, match=rf"t must lie in {least}..{least + 9}, got {t}"):
            threshold_piece(HalfplaneLattice(8), side, t)  # type: ignore[arg-type]
