"""Labels of very many points: each place of the grid is asked about once, or each run of places."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from geodp_app.document.work import RunSettings
from geodp_app.runs.learner_process import make_learner
from geometry import bulk_labels as module
from geometry.bulk_labels import bulk_labels


@pytest.mark.parametrize(("d", "dimensions"), [(7, 2), (4000, 2), (5, 3)])
def test_labels_are_those_of_each_point(d, dimensions, monkeypatch):
    monkeypatch.setattr(module, "_MANY", 101)
    monkeypatch.setattr(module, "_AT_ONCE", 100)
    points = np.random.default_rng(1).integers(0, d + 1, (1950, dimensions))
    sides = (d + 1,) * dimensions
    asked = []

    def label(some: NDArray[np.int64]) -> NDArray[np.int64]:
        asked.append(len(some))
        return (some @ np.arange(1, dimensions + 1) % 3 == 0).astype(np.int64)

    expected = label(points)
    asked.clear()
    found = bulk_labels(label, points, sides)
    assert found.dtype == np.int64
    assert np.array_equal(found, expected)
    assert max(asked) <= 100
    places = len(np.unique(points, axis=0))
    assert sum(asked) == (places if d < 4000 else len(points))
    # few points, and points off the grid, are asked about as they are
    assert np.array_equal(bulk_labels(label, points[:50] - 1, sides), label(points[:50] - 1))
    assert np.array_equal(bulk_labels(label, points - 1, sides), label(points - 1))


_PARAMETERS = {
    "tiles": {"tiles": 4},
    "cover": {"k": 2},
    "triangles": {"k": 2, "finish": "none"},
    "convex": {},
    "convex-cover": {"k": 3},
    "histogram": {},
    "quadtree": {},
    "discs": {"k": 2},
    "greedy-cover": {"k": 2},
    "greedy-convex": {"k": 2},
}


@pytest.mark.parametrize("learner", _PARAMETERS)
@pytest.mark.parametrize(("d", "seed"), [(4, 1), (31, 2)])
def test_every_place_has_the_label_that_it_has_by_itself(learner, d, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, d + 1, (1000, 2))
    labels = np.abs(points - [d / 3, d / 2]) @ [1, 2] < d / 2
    parameters = dict(_PARAMETERS[learner])
    name = "cover" if learner == "triangles" else learner
    model = make_learner(RunSettings(name, seed=seed, **parameters), d)
    release = model.fit(points, labels).release_
    places = np.indices((d + 1, d + 1)).reshape(2, -1).T.astype(np.int64)
    expected = np.concatenate([release.predict(some) for some in np.array_split(places, 2)])
    monkeypatch.setattr(module, "_MANY", 8)
    monkeypatch.setattr(module, "_AT_ONCE", 8)
    monkeypatch.setattr(module, "_MOST_CROSSED", 1000)
    assert np.array_equal(release.predict(places), expected)
