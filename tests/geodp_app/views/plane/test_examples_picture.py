"""What each example is, and the picture with a pixel a grid point."""

from __future__ import annotations

import numpy as np

from geodp_app.views.plane.examples_layer import (
    MAX_SIDE,
    ExampleKinds,
    Kind,
    grid_places,
    picture,
)


def test_kinds_by_label_and_by_what_the_run_did() -> None:
    points = np.array([[0, 0], [1, 0], [2, 0], [3, 0]])
    labels = np.array([True, False, True, False])
    assert list(ExampleKinds.of(points, labels).kinds) == [3, 2, 3, 2]
    decided = np.array([True, True, False, False])
    wrong = np.array([False, True, False, False])
    kinds = ExampleKinds.of(points, labels, decided, wrong)
    assert list(kinds.kinds) == [Kind.DECIDED, Kind.WRONG, Kind.POSITIVE, Kind.NEGATIVE]
    assert kinds.chosen(Kind.WRONG, label=False).tolist() == [[1, 0]]
    assert kinds.chosen(Kind.WRONG, label=True).tolist() == []


def test_every_example_has_its_pixel_and_the_weightiest_kind_wins() -> None:
    rng = np.random.default_rng(1)
    points = rng.integers(0, 8, (60, 2))
    labels = rng.random(60) < 0.5
    wrong = rng.random(60) < 0.2
    kinds = ExampleKinds.of(points, labels, wrong=wrong)
    drawn = picture(kinds, 7, grid_places(points, 7))
    for x in range(8):
        for y in range(8):
            here = (points == (x, y)).all(axis=1)
            expected = max(kinds.kinds[here], default=0)
            assert drawn[y, x] == expected


def test_a_fine_grid_shares_pixels() -> None:
    points = np.array([[0, 0], [4096, 4096]])
    kinds = ExampleKinds.of(points, np.array([True, False]))
    drawn = picture(kinds, 4096, grid_places(points, 4096))
    assert max(drawn.shape) <= MAX_SIDE
    assert drawn[0, 0] == Kind.POSITIVE
    assert drawn[-1, -1] == Kind.NEGATIVE
