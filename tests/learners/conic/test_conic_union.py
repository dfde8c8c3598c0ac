"""Learners of discs and ellipses: recovery, release, parameters."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import shapely

from geometry.geojson import feature_collection
from geometry.polygons import contains_points
from learners.codec import release_from_dict, release_to_dict
from learners.conic.union import DiscUnionLearner, EllipseUnionLearner
from learners.releases import ConicRelease


def uniform(d: int, n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, d + 1, (n, 2))


def disc(X: np.ndarray, p: float, q: float, r: float) -> np.ndarray:
    return (X[:, 0] - p) ** 2 + (X[:, 1] - q) ** 2 <= r * r


def ellipse(X: np.ndarray) -> np.ndarray:
    """Axes 90 and 45, turned by 0.6, around (130, 120)."""
    x, y = X[:, 0] - 130, X[:, 1] - 120
    cos, sin = np.cos(0.6), np.sin(0.6)
    return ((x * cos + y * sin) / 90) ** 2 + ((y * cos - x * sin) / 45) ** 2 <= 1


def two_discs(X: np.ndarray) -> np.ndarray:
    return disc(X, 80, 90, 55) | disc(X, 180, 170, 60)


def one_disc(X: np.ndarray) -> np.ndarray:
    return disc(X, 120, 140, 75)


@pytest.fixture(scope="module")
def fitted() -> DiscUnionLearner:
    X = uniform(256, 20_000, seed=1)
    return DiscUnionLearner(k=2, grid=256, seed=3).fit(X, two_discs(X))


@pytest.mark.parametrize(
    ("learner", "truth", "k", "most"),
    [
        (DiscUnionLearner, one_disc, 1, 0.004),
        (DiscUnionLearner, two_discs, 2, 0.03),
        (EllipseUnionLearner, ellipse, 1, 0.005),
        (EllipseUnionLearner, one_disc, 1, 0.005),
    ],
)
def test_the_shape_is_recovered(learner: type, truth: object, k: int, most: float) -> None:
    X, test = uniform(256, 20_000, seed=1), uniform(256, 50_000, seed=2)
    for seed in (1, 2):
        model = learner(k=k, grid=256, seed=seed).fit(X, truth(X))  # type: ignore[operator]
        assert 1 - model.score(test, truth(test)) <= most  # type: ignore[operator]


def test_a_disc_at_the_edge_is_recovered() -> None:
    X, test = uniform(256, 20_000, seed=1), uniform(256, 20_000, seed=2)
    model = DiscUnionLearner(grid=256, seed=1).fit(X, disc(X, 250, 5, 100))
    assert model.score(test, disc(test, 250, 5, 100)) > 0.995


def test_the_release_comes_back_from_its_json(fitted: DiscUnionLearner) -> None:
    release = fitted.release_
    assert isinstance(release, ConicRelease)
    again = release_from_dict(json.loads(json.dumps(release_to_dict(release))))
    assert again == release
    X = uniform(256, 1000, seed=5)
    stages = list(fitted.staged_predict(X))
    assert len(stages) == len(release.conics) == 6
    assert (stages[-1] == fitted.predict(X)).all()
    assert all((a <= b).all() for a, b in itertools.pairwise(stages))


def test_a_release_publishes_these_members_and_no_others(fitted: DiscUnionLearner) -> None:
    assert set(release_to_dict(fitted.release_)) == {
        "kind", "version", "learner", "shape", "grid", "bits", "conics", "thresholds",
        "parameters", "privacy",
    }  # fmt: skip
    assert dict(fitted.release_.parameters) == {"k": 2, "steps": 6, "beta": 0.1}


@pytest.mark.parametrize(
    "change",
    [
        {"bits": -1},
        {"conics": [[1, 2]]},
        {"conics": [[-5, 2, 3]] * 6},
        {"kind": "square"},
        {"thresholds": [1]},
        {"grid": 4096},
    ],
)
def test_a_damaged_release_is_refused(fitted: DiscUnionLearner, change: dict) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        release_from_dict(release_to_dict(fitted.release_) | change)


def test_the_shape_is_the_hypothesis_up_to_its_chords(fitted: DiscUnionLearner) -> None:
    shape = fitted.polygons_
    X = np.array([[x, y] for x in range(257) for y in range(257)])
    near = shapely.distance(shape.boundary, shapely.points(X)) <= 1 / 64 + 1e-9
    inside = contains_points(shape, X)
    assert (inside == (fitted.predict(X) == 1))[~near].all()
    collection = feature_collection(shape, member={}, d=256)
    assert collection["features"][0]["geometry"]["type"] in ("Polygon", "MultiPolygon")


def test_the_privacy_statement_is_that_of_the_cover(fitted: DiscUnionLearner) -> None:
    spent = fitted.privacy_
    assert spent is not None
    assert (spent.epsilon, spent.steps, spent.private) == (1.0, 6, False)
    assert spent.account == "optimal"
    assert sum(charge.alone for charge in spent.charges) > 1
    X = uniform(32, 50, seed=1)
    assert DiscUnionLearner(grid=32).fit(X, one_disc(X)).privacy_.private  # type: ignore[union-attr]


def test_the_number_of_steps_does_not_depend_on_the_examples() -> None:
    X = uniform(32, 40, seed=1)
    for labels in (np.zeros(40), np.ones(40), X[:, 0] > 9):
        model = EllipseUnionLearner(k=2, grid=32, n_steps=4, epsilon=0.3).fit(X, labels)
        assert len(model.release_.conics) == 4  # type: ignore[attr-defined]
    empty = DiscUnionLearner(grid=32).fit(np.empty((0, 2)), np.empty(0))
    assert len(empty.release_.conics) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"k": 0}, "k must be"),
        ({"n_steps": 1.5}, "n_steps must be"),
        ({"beta": 1.0}, "beta"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"grid": 4096}, r"outside 1\.\.2048"),
        ({"neighbours": "all"}, "neighbours"),
    ],
)
def test_parameters_are_checked_before_anything_is_drawn(parameters: dict, reason: str) -> None:
    X = uniform(32, 10, seed=1)
    with pytest.raises(ValueError, match=reason):
        DiscUnionLearner(**parameters).steps(X, X[:, 0] > 5)


def test_replacing_costs_half_the_rate() -> None:
    rates = [
        DiscUnionLearner(grid=32, seed=1, neighbours=n).plan().charges[-1].each  # type: ignore
        for n in ("add-remove", "replace-one")
    ]
    # delta is halved, and more, too
    assert rates[1] == pytest.approx(rates[0] / 2, rel=1e-3)
    assert rates[1] < rates[0] / 2
