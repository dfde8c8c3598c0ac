"""The rule of thumb stays near what runs reach, and moves the right way."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assets import example_path
from geodp_app.sampling import draw_examples, open_generator, place_target
from geometry.geojson import read_geojson
from geometry.halfplane import HalfplaneLattice
from learners import PolygonUnionLearner
from learners.theory.planner import Setting
from learners.theory.rule_of_thumb import (
    examples_by_tiles,
    expected_error,
    expected_error_by_tiles,
)

LATTICE = HalfplaneLattice(1024)


def setting(k: int, epsilon: float = 1.0) -> Setting:
    return Setting(k=k, beta=0.1, epsilon=epsilon, delta=1e-6, lattice=LATTICE)


@pytest.mark.parametrize(("name", "k"), [("tri", 1), ("star", 5)])
def test_within_a_factor_of_three_of_runs(name: str, k: int) -> None:
    shape, frame = place_target(read_geojson(example_path(name)), 1024)
    fresh = draw_examples(shape, 50_000, frame, rng=open_generator(9))
    errors = []
    for seed in range(3):
        sample = draw_examples(shape, 10_000, frame, rng=open_generator(seed))
        model = PolygonUnionLearner(k=k, seed=seed).fit(sample.points, sample.labels)
        errors.append(float(np.mean(model.predict(fresh.points) != fresh.labels)))
    expected = expected_error(setting(k), 10_000, float(fresh.labels.mean()))
    assert abs(math.log(float(np.median(errors)) / expected)) < math.log(3)


@pytest.mark.parametrize(("name", "n"), [("tri", 10_000), ("star", 10_000), ("star", 40_000)])
def test_by_tiles_within_a_factor_of_three_of_runs(name: str, n: int) -> None:
    shape, frame = place_target(read_geojson(example_path(name)), 1024)
    fresh = draw_examples(shape, 100_000, frame, rng=open_generator(9))
    errors = []
    for seed in range(5):
        sample = draw_examples(shape, n, frame, rng=open_generator(seed))
        model = PolygonUnionLearner(seed=seed).fit(sample.points, sample.labels)
        errors.append(float(np.mean(model.predict(fresh.points) != fresh.labels)))
    expected = expected_error_by_tiles(1.0, "add-remove", n)
    print(name, n, np.median(errors), expected)
    assert abs(math.log(float(np.median(errors)) / expected)) < math.log(3)


def test_by_tiles_error_and_examples_belong_together() -> None:
    for neighbours in ("add-remove", "replace-one"):
        for error in (0.3, 0.01, 1e-5):
            n = examples_by_tiles(0.7, neighbours, error)
            assert expected_error_by_tiles(0.7, neighbours, n) <= error
            assert expected_error_by_tiles(0.7, neighbours, n - 1) > error
    assert expected_error_by_tiles(1.0, "add-remove", 1) == 0.5
    with pytest.raises(ValueError, match="epsilon"):
        expected_error_by_tiles(0.0, "add-remove", 10)


def test_more_examples_and_more_epsilon_never_hurt() -> None:
    by_n = [expected_error(setting(4), n, 0.3) for n in (1_000, 10_000, 100_000, 1_000_000)]
    assert by_n == sorted(by_n, reverse=True)
    by_epsilon = [expected_error(setting(4, e), 50_000, 0.3) for e in (0.1, 0.5, 1.0, 4.0)]
    assert by_epsilon == sorted(by_epsilon, reverse=True)


def test_no_worse_than_learning_nothing() -> None:
    assert expected_error(setting(9), 100, 0.2) == 0.2
    assert expected_error(setting(9), 100, 0.9) == 0.5
