"""Linear binning, smoothing and interpolation: sums, neighbours, and what scipy says."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from counted import counted
from heard_draws import silent_noise
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from geometry.grid_counts import MOST_EXAMPLES, GridCounts
from learners.baselines import noisy_histogram
from learners.baselines.noisy_histogram import (
    KERNEL,
    SHARES,
    SHARES_PER_AXIS,
    bin_linearly,
    cell_cuts,
    fine_per_side,
    noisy_field,
    plan_histogram,
    signs,
    smooth,
)
from learners.privacy.randomness import SeededRandom

#: Standard deviation of the filter, in cells.
SIGMA = 0.6

TINY = [(1, 1), (1, 2), (2, 2), (4, 3), (6, 7), (9, 4), (12, 5)]


def one(x: int, y: int, label: int, d: int) -> GridCounts:
    return counted(np.array([[x, y]]), np.array([label == 1]), d)


def every_point(d: int) -> list[tuple[int, int]]:
    return list(itertools.product(range(d + 1), repeat=2))


# -- linear binning ------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "per_side"), TINY)
def test_an_example_is_divided_among_four_cells_and_nothing_is_lost(d: int, per_side: int) -> None:
    for (x, y), label in itertools.product(every_point(d), (0, 1)):
        field = bin_linearly(one(x, y, label, d), per_side)
        assert field.sum() == (SHARES if label else -SHARES)
        assert np.abs(field).sum() == SHARES
        assert np.count_nonzero(field) <= 4


@pytest.mark.parametrize(("d", "per_side"), TINY)
def test_the_parts_are_those_of_a_bilinear_weight(d: int, per_side: int) -> None:
    centres = [(Fraction(2 * i + 1, 2) * (d + 1)) / per_side for i in range(per_side)]
    for x, y in every_point(d):
        field = bin_linearly(one(x, y, 1, d), per_side)
        for row, column in itertools.product(range(per_side), repeat=2):
            weight = Fraction(1)
            for at, place in ((column, x), (row, y)):
                middle = min(max(place + Fraction(1, 2), centres[0]), centres[-1])
                distance = abs(middle - centres[at]) * per_side / (d + 1)
                weight *= max(Fraction(0), 1 - distance)
            assert abs(field[row, column] - SHARES * weight) <= SHARES_PER_AXIS + Fraction(1, 4)


def test_examples_add_up_and_labels_count_against_each_other() -> None:
    rng = np.random.default_rng(1)
    points, labels = rng.integers(0, 31, (60, 2)), rng.random(60) < 0.5
    parts = [
        bin_linearly(one(x, y, int(label), 30), 7)
        for (x, y), label in zip(points.tolist(), labels.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(bin_linearly(counted(points, labels, 30), 7), sum(parts))


# -- smoothing and interpolation -----------------------------------------------------------


def random_field(m: int, seed: int) -> NDArray[np.int64]:
    """A slope with noise, in parts of examples."""
    rng = np.random.default_rng(seed)
    rows, columns = np.indices((m, m))
    slope = SHARES * (rows + columns - m + 1)
    return np.asarray(slope + rng.integers(-2 * SHARES, 2 * SHARES + 1, (m, m)), dtype=np.int64)


def by_hand(field: NDArray[np.int64], d: int, cuts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Labels of fine cells by Python's own whole numbers, one at a time."""
    m, places = len(field), noisy_histogram.PLACES
    values = field.tolist()

    def mirrored(i: int) -> int:
        i %= 2 * m
        return min(i, 2 * m - 1 - i)

    def smoothed(row: int, column: int) -> int:
        return sum(
            KERNEL[i + 2] * KERNEL[j + 2] * values[mirrored(row + i)][mirrored(column + j)]
            for i, j in itertools.product(range(-2, 3), repeat=2)
        )

    def weights(first: int, after: int) -> list[tuple[int, int]]:
        at = Fraction((first + after) * m, 2 * (d + 1)) - Fraction(1, 2)
        low = math.floor(at)
        part = math.floor((at - low) * places + Fraction(1, 2))
        inner = [min(max(i, 0), m - 1) for i in (low, low + 1)]
        return list(zip(inner, (places - part, part), strict=True))

    spans = list(itertools.pairwise(cuts.tolist()))
    return np.array(
        [
            [
                sum(
                    a * b * smoothed(row, column)
                    for (row, a), (column, b) in itertools.product(weights(*up), weights(*across))
                )
                > 0
                for across in spans
            ]
            for up in spans
        ]
    )


@pytest.mark.parametrize("m", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("fine", [1, 2, 7, 13])
def test_labels_are_the_signs_of_exact_sums(m: int, fine: int) -> None:
    field, cuts = random_field(m, m), cell_cuts(12, fine)
    np.testing.assert_array_equal(signs(field, 12, cuts), by_hand(field, 12, cuts))


@pytest.mark.parametrize("m", [1, 2, 3, 5, 9, 40])
def test_smoothing_is_scipys_gaussian_filter_but_for_rounded_weights(m: int) -> None:
    field = random_field(m, m)
    expected = gaussian_filter(field.astype(float), SIGMA, mode="reflect")
    assert sum(KERNEL) ** 2 == 1 << 16
    # no weight is off by more than half of 1/256 along an axis
    slack = 2 * len(KERNEL) * 0.5 / 256 * np.abs(field).max()
    np.testing.assert_allclose(smooth(field) / (1 << 16), expected, atol=slack)


def test_a_tie_is_labelled_0() -> None:
    cuts = cell_cuts(12, 13)
    assert not signs(np.zeros((4, 4), dtype=np.int64), 12, cuts).any()
    # odd about the middle column, where it is 0
    field = np.tile(np.array([-3, -1, 0, 1, 3], dtype=np.int64), (5, 1))
    inside = signs(field, 14, cell_cuts(14, 15))
    assert not inside[:, :8].any()
    assert inside[:, 8:].all()


@pytest.mark.parametrize("least", [1, MOST_EXAMPLES >> 20, MOST_EXAMPLES])
def test_no_sum_overflows_however_many_examples_there_are(least: int) -> None:
    field = np.full((3, 3), -least * SHARES, dtype=np.int64)
    field[1, 1] = least * SHARES * 2
    cuts = cell_cuts(12, 13)
    np.testing.assert_array_equal(signs(field, 12, cuts), by_hand(field, 12, cuts))


def test_fine_cells_are_even_or_grid_points() -> None:
    assert fine_per_side(16, 1024) == 128
    assert fine_per_side(64, 1024) == 512
    assert fine_per_side(65, 1024) == fine_per_side(1024, 1024) == 1025
    assert fine_per_side(3, 12) == 13
    assert fine_per_side(500, 1 << 20) == fine_per_side(2048, 1 << 20) == 2048


# -- privacy -------------------------------------------------------------------------------


def test_noise_is_drawn_for_all_parts_of_an_example_and_for_every_cell(monkeypatch):
    asked = silent_noise(monkeypatch, noisy_histogram)
    counts = one(3, 4, 1, 8)
    field = noisy_field(counts, 5, Fraction(3, 2), SeededRandom(0))
    np.testing.assert_array_equal(field, bin_linearly(counts, 5))
    assert asked == [(SHARES * Fraction(3, 2), 25)]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize(("d", "per_side"), [(1, 1), (1, 2), (2, 2), (4, 3)])
def test_neighbours_differ_by_epsilon_at_most_over_every_noisy_field(epsilon, d, per_side):
    plan = plan_histogram(epsilon, 1e-6, "add-remove", True, counted=False)
    scale = float(SHARES * plan.cell_scale)
    # beyond the fields themselves the ratio of two values' probabilities stays the same
    window = np.arange(-3 * SHARES, 3 * SHARES + 1)

    @cache
    def extremes(before: int, after: int) -> tuple[float, float]:
        """Of what the probabilities of a cell's noisy values change by, as logarithms."""
        gaps = (np.abs(window - before) - np.abs(window - after)) / scale
        return float(gaps.max()), float(gaps.min())

    examples = [one(x, y, label, d) for (x, y) in every_point(d) for label in (0, 1)]
    moves = [bin_linearly(example, per_side) for example in examples]
    samples = [0 * moves[0], *moves, *(a + b for a, b in itertools.product(moves[::3], moves[::2]))]
    worst = 0.0
    for sample, move in itertools.product(samples, moves):
        changed = sample + move
        # cells are independent: the worst field has the worst value in each
        cells = zip(sample.ravel().tolist(), changed.ravel().tolist(), strict=True)
        most, least = zip(*itertools.starmap(extremes, cells), strict=True)
        worst = max(worst, math.fsum(most), -math.fsum(least))
    assert worst == pytest.approx(epsilon, rel=1e-6)
    assert worst <= epsilon * (1 + 1e-12)
