"""Labels of very many points: each place of the grid is asked about once."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from learners.core import releases
from learners.core.releases import by_place


@pytest.mark.parametrize(("d", "dimensions"), [(7, 2), (4000, 2), (5, 3)])
def test_labels_are_those_of_each_point(
    d: int, dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "_AT_ONCE", 100)
    points = np.random.default_rng(1).integers(0, d + 1, (1950, dimensions))
    asked = []

    def label(some: NDArray[np.int64]) -> NDArray[np.int64]:
        asked.append(len(some))
        return (some @ np.arange(1, dimensions + 1) % 3 == 0).astype(np.int64)

    expected = label(points)
    asked.clear()
    found = by_place(label, points, d)
    assert found.dtype == np.int64
    assert np.array_equal(found, expected)
    assert max(asked) <= 100
    places = len(np.unique(points, axis=0))
    assert sum(asked) == (places if d < 4000 else len(points))
    # few points, and points off the grid, are asked about as they are
    assert np.array_equal(by_place(label, points[:50] - 1, d), label(points[:50] - 1))
    assert np.array_equal(by_place(label, points - 1, d), label(points - 1))
