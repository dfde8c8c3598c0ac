"""VC tools: against brute force, known classes, Cover's count and the arrangement."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from learners.finite.sample_sizes import (
    combined_vc_bound,
    consistent_size,
    dichotomies,
    largest_shattered,
    log2_growth,
    lower_bound_size,
    sauer_bound,
    shatters,
    vc_dimension,
)


def brute_vc(matrix: NDArray[np.bool_]) -> int:
    best = 0
    for size in range(1, matrix.shape[1] + 1):
        for points in itertools.combinations(range(matrix.shape[1]), size):
            if len({tuple(row) for row in matrix[:, points].tolist()}) == 2**size:
                best = size
                break
        else:
            return best
    return best


@pytest.mark.parametrize("seed", range(25))
def test_vc_dimension_of_random_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    concepts, points = int(rng.integers(1, 40)), int(rng.integers(1, 9))
    matrix = rng.random((concepts, points)) < rng.choice([0.2, 0.5, 0.8])
    found = largest_shattered(matrix)
    assert vc_dimension(matrix) == len(found) == brute_vc(matrix)
    assert shatters(matrix, found)
    # Sauer and Shelah on every subset
    for size in range(points + 1):
        for chosen in itertools.combinations(range(points), size):
            rows = dichotomies(matrix, chosen)
            expected = sorted({tuple(row) for row in matrix[:, chosen].tolist()})
            assert [tuple(row) for row in rows.tolist()] == expected
            assert len(rows) <= sauer_bound(size, len(found))


def subsets(n: int, most: int) -> NDArray[np.bool_]:
    """Indicators of all subsets of at most so many of n points."""
    rows = [r for r in itertools.product((0, 1), repeat=n) if sum(r) <= most]
    return np.array(rows, dtype=bool)


@pytest.mark.parametrize(("n", "vc"), [(6, 0), (7, 1), (9, 3), (8, 8)])
def test_sauers_bound_is_attained_by_small_subsets(n: int, vc: int) -> None:
    matrix = subsets(n, vc)
    assert len(matrix) == sauer_bound(n, vc) == sum(math.comb(n, i) for i in range(vc + 1))
    assert vc_dimension(matrix) == vc


def test_known_classes() -> None:
    thresholds = np.arange(100)[None, :] >= np.arange(101)[:, None]
    intervals = np.array(
        [(np.arange(20) >= a) & (np.arange(20) < b) for a in range(21) for b in range(21)]
    )
    assert vc_dimension(thresholds) == 1
    assert vc_dimension(intervals) == 2
    assert vc_dimension(np.eye(50, dtype=bool)) == 1
    parities = np.array([[(r & x).bit_count() % 2 for x in range(64)] for r in range(64)])
    assert vc_dimension(parities) == 6
    assert vc_dimension(np.zeros((3, 4), dtype=bool)) == 0


def test_what_is_too_large_is_refused() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.random((3000, 200)) < 0.5
    with pytest.raises(ValueError, match=r"3000 distinct concepts on 200 points, .* use fewer"):
        vc_dimension(matrix, most_work=1_000_000)
    with pytest.raises(ValueError, match="point 9 is not one of the 4"):
        dichotomies(np.zeros((1, 4)), [9])
    with pytest.raises(ValueError, match="0 and 1 only"):
        vc_dimension([[2, 0]])
    with pytest.raises(ValueError, match="must have shape"):
        vc_dimension([])
    assert not shatters(np.eye(2), [0, 0])


# -- growth --------------------------------------------------------------------------------


@pytest.mark.parametrize("vc", [1, 2, 3, 7])
@pytest.mark.parametrize("k", [1, 2, 3, 10, 50])
def test_the_exact_bound_is_below_the_textbooks_and_fails_one_further(vc: int, k: int) -> None:
    bound = combined_vc_bound(vc, k)
    assert sauer_bound(bound + 1, vc) ** k < 2 ** (bound + 1)
    assert all(sauer_bound(n, vc) ** k >= 2**n for n in range(bound + 1))
    assert bound <= 2 * vc * k * math.log2(3 * k)
    assert bound >= vc
    if k == 1:
        assert bound == vc


# -- sizes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("vc", "alpha", "beta"), [(1, 0.1, 0.1), (3, 0.05, 0.01), (30, 0.2, 0.1)])
def test_the_vc_learners_size(vc: int, alpha: float, beta: float) -> None:
    n = consistent_size(vc, alpha, beta)
    bound = 2 * sauer_bound(2 * n, vc) * 2 ** (-alpha * n / 2)
    assert bound <= beta
    assert n >= 8 / alpha
    less = n - 1
    assert 2 * sauer_bound(2 * less, vc) * 2 ** (-alpha * less / 2) > beta or less < 8 / alpha
    textbook = max(4 / alpha * math.log2(2 / beta), 8 * vc / alpha * math.log2(13 / alpha))
    assert n <= math.ceil(textbook)


@pytest.mark.parametrize("vc", [1001, 2500])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.49, 0.5, 0.9, 1.5])
def test_the_growth_of_a_large_class_is_bounded_closely(vc: int, share: float) -> None:
    n = round(vc / share)
    exact = math.log2(sauer_bound(n, vc))  # of a whole number of any size
    assert exact - 1e-6 <= log2_growth(n, vc) <= exact + 0.5 * math.log2(8 * vc)


def test_the_lower_bound_is_below_what_suffices() -> None:
    for vc, alpha, beta in ((1, 0.1, 0.01), (10, 0.05, 0.001), (1000, 0.1, 0.01)):
        assert 0 < lower_bound_size(vc, alpha, beta) < consistent_size(vc, alpha, beta)
    assert lower_bound_size(321, 0.1, 0.01) == 100
    with pytest.raises(ValueError, match="alpha up to 1/8"):
        lower_bound_size(3, 0.2, 0.01)
    with pytest.raises(ValueError, match="strictly between"):
        consistent_size(3, 0.0, 0.1)
