"""Counts on the grid: the same whether they come as rows, as an array or as entries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from counted import as_counter

from geometry.grid_counts import MOST_EXAMPLES, GridCounts


def drawn(d: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, d + 1, size=(n, 2)), rng.integers(0, 2, size=n).astype(bool)


@pytest.mark.parametrize(("d", "n"), [(1, 0), (1, 1), (1, 50), (7, 200), (1 << 20, 300)])
def test_rows_are_counted_as_by_hand(d: int, n: int) -> None:
    points, labels = drawn(d, n, seed=d + n)
    counts = GridCounts.of_examples(points, labels, d)
    by_hand = Counter((x, y, bool(t)) for (x, y), t in zip(points.tolist(), labels, strict=True))
    assert as_counter(counts) == by_hand
    assert len(counts) == len(by_hand)
    assert (counts.n, counts.positives) == (n, int(labels.sum()))
    assert counts.negatives == n - labels.sum()


@pytest.mark.parametrize("seed", range(5))
def test_rows_array_and_entries_give_the_same_arrays(seed: int) -> None:
    d = 6
    points, labels = drawn(d, 150, seed)
    dense = np.zeros((2, d + 1, d + 1), dtype=int)
    np.add.at(dense, (labels.astype(int), points[:, 0], points[:, 1]), 1)
    single = np.column_stack([points, labels, np.ones(len(points), int)])
    rows = GridCounts.of_examples(points, labels, d)
    empty = np.array([[0, 0, 0, 0], [d, d, 1, 0]])
    others = (
        GridCounts.of_array(dense),
        GridCounts.of_array(dense.astype(float)),
        GridCounts.of_entries(np.concatenate([single, empty]), d),
        GridCounts.of_examples(points[::-1], labels[::-1], d),
    )
    for other in others:
        assert other.d == d
        for name in ("points", "labels", "amounts"):
            np.testing.assert_array_equal(getattr(rows, name), getattr(other, name))
            assert getattr(other, name).dtype == getattr(rows, name).dtype


def test_masked_counts_are_those_of_the_masked_rows() -> None:
    points, labels = drawn(9, 400, seed=3)
    inside = points.sum(axis=1) < 9
    counts = GridCounts.of_examples(points, labels, 9)
    kept = counts.where(counts.points.sum(axis=1) < 9)
    assert as_counter(kept) == as_counter(GridCounts.of_examples(points[inside], labels[inside], 9))


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (np.zeros((3, 4, 4), int), r"shape \(2, d \+ 1, d \+ 1\)"),
        (np.zeros((2, 4, 5), int), r"shape \(2, d \+ 1, d \+ 1\)"),
        (np.zeros((2, 1, 1), int), "d at least 1"),
        (np.full((2, 2, 2), -1), "negative"),
        (np.full((2, 2, 2), 0.5), "0.5 is not a whole number"),
        (np.full((2, 2, 2), np.nan), "nan is not a whole number"),
        (np.full((2, 2, 2), MOST_EXAMPLES), "more than"),
        (np.full((2, 2, 2), 2**64 - 1, np.uint64), "above"),
        (np.full((2, 2, 2), "1"), "whole numbers"),
    ],
)
def test_wrong_arrays_are_refused(counts: np.ndarray, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GridCounts.of_array(counts)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ((5, 0, 0, 1), r"entry 1: x = 5 is not in 0\.\.4"),
        ((0, -1, 0, 1), r"entry 1: y = -1 is not in 0\.\.4"),
        ((0, 0, 2, 1), r"entry 1: label = 2 is not in 0\.\.1"),
        ((0, 0, 1, -3), "negative: -3"),
        ((0, 0, 1, 0.25), "0.25 is not a whole number"),
        (None, r"shape \(m, 4\)"),
    ],
)
def test_wrong_entries_are_refused(entry: tuple[float, ...] | None, said: str) -> None:
    entries = [[1, 2, 1]] if entry is None else [(1, 1, 1, 1), entry]
    with pytest.raises(ValueError, match=said):
        GridCounts.of_entries(entries, 4)


def test_labels_must_match_points() -> None:
    with pytest.raises(ValueError, match="as many labels as points"):
        GridCounts.of_examples(np.zeros((4, 2), dtype=np.int64), np.zeros(3, dtype=bool), 3)
