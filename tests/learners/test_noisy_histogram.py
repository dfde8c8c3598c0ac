"""The noisy histograms: their law, their neighbours, their rectangles, what they publish."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from counted import counted
from grids import grid_points
from heard_draws import silent_noise
from known_targets import halved, mean_error
from noise_laws import at_least
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates
from tiny_samples import SAMPLES, TYPES, all_neighbours, most_moved

from geometry.tiling import tile_square
from learners import NoisyHistogramLearner
from learners.baselines import noisy_histogram
from learners.baselines.noisy_histogram import (
    COUNT_SHARE,
    DEFAULT_MOST,
    MOST_PER_SIDE,
    PLAIN_MOST,
    SHARES,
    cell_cuts,
    cells_per_side,
    merge_cells,
    noisy_cells,
    noisy_field,
    plan_histogram,
)
from learners.privacy.randomness import SeededRandom

# -- budget --------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 7.0])
@pytest.mark.parametrize("counted", [True, False])
def test_the_shares_never_exceed_epsilon(epsilon: float, counted: bool) -> None:
    plan = plan_histogram(epsilon, 1e-6, "add-remove", True, counted)
    count = 1 / plan.count_scale if plan.count_scale else Fraction(0)
    assert bool(count) == counted
    assert count + 1 / plan.cell_scale <= Fraction(epsilon)
    assert float(count + 1 / plan.cell_scale) == pytest.approx(epsilon, rel=1e-4)
    assert float(count) == pytest.approx(COUNT_SHARE * epsilon * counted, rel=1e-4)
    spent = plan.spent
    assert (spent.epsilon, spent.delta, spent.account) == (epsilon, 0.0, "basic")
    names = ["noisy number of examples"] * counted + ["noisy cells"]
    assert [charge.name for charge in spent.charges] == names
    assert sum(charge.alone for charge in spent.charges) == pytest.approx(epsilon, rel=1e-4)
    assert (spent.steps, spent.neighbours, spent.private) == (1, "add-remove", True)


def test_no_rounding_lets_the_shares_exceed_epsilon() -> None:
    for epsilon in np.random.default_rng(3).uniform(1e-4, 1e5, 2000) ** 0.5:
        # few digits: the shares fall on what the scales can express
        short = float(round(epsilon, 4))
        plan = plan_histogram(short, 1e-6, "add-remove", True, counted=True)
        assert 1 / plan.count_scale + 1 / plan.cell_scale <= Fraction(short)


def test_the_number_of_cells_is_a_public_function_of_the_noisy_count() -> None:
    by_count = [cells_per_side(10**e, 1.0, 1024, True) for e in range(2, 8)]
    assert by_count == [8, 18, 43, 103, 243, 577]
    assert [cells_per_side(10**e, 1.0, 1024, False) for e in range(3, 7)] == [16, 32, 64, 128]
    # epsilon times the count is all that matters
    assert cells_per_side(10**4, 0.1, 1024, True) == 18
    assert cells_per_side(10**12, 1.0, 1 << 20, True) == DEFAULT_MOST
    assert cells_per_side(10**12, 1.0, 1 << 20, False) == PLAIN_MOST
    assert cells_per_side(10**6, 1.0, 12, True) == 13
    assert cells_per_side(-40, 1.0, 1024, True) == cells_per_side(0, 1.0, 1024, False) == 1


# -- merging -------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2, 7, 40])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_rectangles_hold_equal_cells_each_once(m: int, share: float) -> None:
    inside = np.random.default_rng(5).random((m, m)) < share
    spans, labels, owner = merge_cells(inside)
    np.testing.assert_array_equal(labels[owner], inside)
    drawn = np.full((m, m), -1)
    for number, (left, low, right, top) in enumerate(spans.tolist()):
        assert (drawn[low:top, left:right] == -1).all()
        drawn[low:top, left:right] = number
    np.testing.assert_array_equal(drawn, owner)
    # from the top down, and from the left
    reading = [(-top, left) for left, low, right, top in spans.tolist()]
    assert reading == sorted(reading)


def test_equal_rows_become_one_rectangle_each_run() -> None:
    inside = np.array([[0, 1, 1, 0]] * 3 + [[0, 0, 0, 0]], dtype=bool)
    spans, labels, _ = merge_cells(inside)
    assert spans.tolist() == [[0, 3, 4, 4], [0, 0, 1, 3], [1, 0, 3, 3], [3, 0, 4, 3]]
    assert labels.tolist() == [False, False, True, False]


def test_a_row_between_equal_rows_keeps_them_apart() -> None:
    inside = np.array([[1, 0], [0, 1], [1, 0]], dtype=bool)
    assert len(merge_cells(np.pad(inside, ((0, 0), (0, 1))))[0]) > 6
    stripes = np.array([[1, 1, 1], [0, 0, 0], [1, 1, 1]], dtype=bool)
    assert merge_cells(stripes)[0].tolist() == [[0, 2, 3, 3], [0, 1, 3, 2], [0, 0, 3, 1]]


@pytest.mark.parametrize(("d", "per_side"), [(1, 1), (1, 2), (12, 5), (1024, 100), (30, 31)])
def test_cells_are_the_tiles_of_the_square(d: int, per_side: int) -> None:
    cuts = cell_cuts(d, per_side).tolist()
    tiles = tile_square(d, per_side)
    assert sorted({tile.x0 for tile in tiles}) == cuts[:-1]
    assert cuts[-1] == d + 1


# -- privacy -------------------------------------------------------------------------------


def test_one_example_moves_one_cell_by_one_and_every_cell_has_noise_of_its_own(monkeypatch):
    asked = silent_noise(monkeypatch, noisy_histogram)
    rng = np.random.default_rng(2)
    cells, labels = rng.integers(0, 9, 30), rng.random(30) < 0.5

    def counts(rows: NDArray[np.int64]) -> NDArray[np.int64]:
        # an entry an example: two on one point are in one cell
        places = np.column_stack([rows, rows])
        return noisy_cells(
            counted(places, labels[rows], 29), cells[rows], 9, Fraction(3, 2), SeededRandom(0)
        )

    whole = counts(np.arange(30))
    for i in range(30):
        moved = whole - counts(np.delete(np.arange(30), i))
        assert moved[cells[i]] == (1 if labels[i] else -1)
        assert np.count_nonzero(moved) == 1
    assert set(asked) == {(Fraction(3, 2), 9)}


def positive(difference: int, scale: Fraction) -> float:
    """Probability that a difference is positive with integer Laplace noise."""
    return at_least(1 - difference, scale)


def release_law(examples: tuple[tuple[int, int, int], ...], scale: Fraction) -> list[float]:
    """Probabilities of the 16 labellings of the grid 0..1, one cell a point, x fastest."""
    differences = [0] * 4
    for x, y, label in examples:
        differences[2 * y + x] += 2 * label - 1
    # that a cell is not positive is the mirror image of its positive: 1 - c would round
    chances = [(positive(1 - c, scale), positive(c, scale)) for c in differences]
    return [
        math.prod(c[one] for c, one in zip(chances, pattern, strict=True))
        for pattern in itertools.product((False, True), repeat=4)
    ]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_neighbours_differ_by_epsilon_at_most_over_every_release(epsilon: float) -> None:
    scale = plan_histogram(epsilon, 1e-6, "add-remove", True, counted=False).cell_scale
    pairs = all_neighbours(TYPES, 3)
    assert all(sum(release_law(sample, scale)) == pytest.approx(1) for sample in SAMPLES)
    worst = most_moved(lambda sample: release_law(sample, scale), pairs)
    assert worst == pytest.approx(epsilon, rel=1e-6)
    assert worst <= epsilon * (1 + 1e-12)


def test_labels_are_the_signs_of_cells_with_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the law above is that of releases; without a majority the label is 0."""
    asked = silent_noise(monkeypatch, noisy_histogram, [-3, 2, 1, 0])
    examples = ((0, 0, 1), (0, 0, 1), (1, 0, 0), (1, 1, 1), (1, 1, 0))
    table = np.array(examples)
    model = NoisyHistogramLearner(epsilon=1.2, grid=1, cells=2, smooth=False, seed=1)
    model.fit(table[:, :2], table[:, 2])
    # 2, -1, 0, 0 and that noise
    assert model.predict([[0, 0], [1, 0], [0, 1], [1, 1]]).tolist() == [0, 1, 1, 0]
    plan = plan_histogram(1.2, 1e-6, "add-remove", False, counted=False)
    assert asked == [(plan.cell_scale, 4)]


def test_the_count_has_noise_of_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = silent_noise(monkeypatch, noisy_histogram, [900] * 17**2)
    release = NoisyHistogramLearner(grid=16, seed=1).fit(*halved(500, 16, 1)).release_
    public = dict(release.parameters)
    assert public["noisy_count"] == 1400
    assert (
        public["cells"] == cells_per_side(1400, 1.0, 16, True) != cells_per_side(500, 1.0, 16, True)
    )
    plan = plan_histogram(1.0, 1e-6, "add-remove", False, counted=True)
    # and all parts of an example in every cell
    assert asked == [(plan.count_scale, 1), (SHARES * plan.cell_scale, public["cells"] ** 2)]


# -- runs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 1e-9}, "too small"),
        ({"cells": 18}, "cells must be at most 17 along a side, got 18"),
        ({"cells": MOST_PER_SIDE + 1, "grid": 1 << 20}, f"at most {MOST_PER_SIDE} along a side"),
    ],
)
def test_impossible_parameters_are_refused(options: dict[str, Any], message: str) -> None:
    model = NoisyHistogramLearner(**{"grid": 16} | options)
    with pytest.raises(ValueError, match=message):
        model.steps(np.zeros((2, 2), dtype=int), [0, 1])


# -- accuracy ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_what_is_released_is_scipys_interpolation_of_the_noisy_cells(seed, monkeypatch):
    d, fields = 63, []

    def kept(*arguments: Any) -> NDArray[np.int64]:
        fields.append(noisy_field(*arguments))
        return fields[-1]

    monkeypatch.setattr(noisy_histogram, "noisy_field", kept)
    model = NoisyHistogramLearner(grid=d, seed=seed).fit(*halved(2_000, d, seed))
    (field,) = fields
    values = gaussian_filter(field / SHARES, 0.6, mode="reflect")
    points = grid_points(d)
    places = (points.T[::-1] + 0.5) * len(field) / (d + 1) - 0.5
    expected = map_coordinates(values, places, order=1, mode="nearest")
    # rounded weights decide where the field is all but 0
    clear = np.abs(expected) > 0.05
    assert clear.mean() > 0.97
    np.testing.assert_array_equal(model.predict(points)[clear], expected[clear] > 0)


@pytest.mark.parametrize(
    ("n", "smooth", "most"),
    [(10_000, True, 0.0215), (10_000, False, 0.047)],
)
def test_the_examples_are_learned_as_well_as_stated(n: int, smooth: bool, most: float) -> None:
    assert mean_error(lambda: NoisyHistogramLearner(smooth=smooth, seed=1), n) < most
