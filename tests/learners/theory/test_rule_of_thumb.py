"""What is said of runs in practice: read off the measured table, held by other runs, no further."""

from typing import Any

import numpy as np
import pytest

from assets import example_path
from geodp_app.document.sampling import draw_examples, open_generator, place_target
from geometry.geojson import read_geojson
from learners import ConvexPolygonLearner, PolygonUnionLearner
from learners.core.estimator import Estimator
from learners.theory.rule_of_thumb import (
    EPSILONS,
    RANGES,
    ErrorRange,
    NotMeasuredError,
    examples_for,
    expected_error,
    kinds_of,
    means_of,
)

KINDS = tuple(RANGES)


def kinds(learner: str, k: int | None = None, grid: int = 1024, **changes: Any) -> tuple[str, ...]:
    """Of runs with the parameters that were measured, but for some."""
    measured = {"epsilon": 1.0, "delta": 1e-6, "beta": 0.1, "measure": "chord", "k": k}
    return kinds_of(learner, measured | changes, grid)


# -- runs: the seeds have no part in the table


slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("kind", "name", "n", "model"),
    [
        ("few-edges", "star", 9_000, PolygonUnionLearner()),
        pytest.param("few-edges", "three", 20_000, PolygonUnionLearner(epsilon=0.3), marks=slow),
        ("outlines", "switzerland", 9_000, PolygonUnionLearner()),
        pytest.param("outlines", "croatia", 9_000, PolygonUnionLearner(), marks=slow),
        pytest.param("outlines", "flood", 9_000, PolygonUnionLearner(epsilon=10.0), marks=slow),
        pytest.param("outlines", "italy", 20_000, PolygonUnionLearner(), marks=slow),
        (*kinds("cover", 1), "tri", 10_000, PolygonUnionLearner(k=1)),
        (*kinds("convex-cover", 3), "tri", 10_000, ConvexPolygonLearner(k=3)),
    ],
)
def test_runs_lie_in_the_range(kind: str, name: str, n: int, model: Estimator) -> None:
    """Three of four at least: one in ten lies elsewhere (docs/accuracy.md)."""
    shape, frame = place_target(read_geojson(example_path(name)), 1024)
    fresh = draw_examples(shape, 100_000, frame, rng=open_generator(9))
    expected = expected_error(kind, model.epsilon, n)
    inside = 0
    for seed in range(50, 54):
        sample = draw_examples(shape, n, frame, rng=open_generator(seed))
        model.set_params(seed=seed).fit(sample.points, sample.labels)
        error = float(np.mean(model.predict(fresh.points) != fresh.labels))
        inside += expected.least <= error <= expected.largest
    assert inside >= 3


def test_where_it_is_hopeless_runs_do_learn_nothing() -> None:
    shape, frame = place_target(read_geojson(example_path("star")), 1024)
    fresh = draw_examples(shape, 100_000, frame, rng=open_generator(9))
    chance = min(fresh.labels.mean(), 1 - fresh.labels.mean())
    assert expected_error("few-edges", 0.3, 30) is None
    lost = 0
    for seed in range(50, 60):
        sample = draw_examples(shape, 30, frame, rng=open_generator(seed))
        model = PolygonUnionLearner(epsilon=0.3, seed=seed).fit(sample.points, sample.labels)
        lost += float(np.mean(model.predict(fresh.points) != fresh.labels)) >= 0.9 * chance
    assert lost >= 7


# -- the table


@pytest.mark.parametrize("kind", KINDS)
def test_more_examples_and_more_epsilon_are_never_worse(kind: str) -> None:
    ranges = RANGES[kind]
    assert len(ranges.sizes) >= 4
    assert list(ranges.sizes) == sorted(ranges.sizes)
    for table in (ranges.least, ranges.largest):
        values = np.array(table)
        assert values.shape == (len(EPSILONS), len(ranges.sizes))
        assert (np.diff(values, axis=0) <= 0).all()
        assert (np.diff(values, axis=1) <= 0).all()
    assert (np.array(ranges.least) <= np.array(ranges.largest)).all()
    assert list(ranges.hopeless) == sorted(ranges.hopeless, reverse=True)


@pytest.mark.parametrize("kind", KINDS)
def test_at_what_was_measured_the_range_is_the_tables(kind: str) -> None:
    ranges = RANGES[kind]
    for row, epsilon in enumerate(EPSILONS):
        for column, n in enumerate(ranges.sizes):
            found = expected_error(kind, epsilon, n)
            if n <= ranges.hopeless[row]:
                assert found is None
            else:
                assert found.least == pytest.approx(ranges.least[row][column] / 100)
                assert found.largest == pytest.approx(ranges.largest[row][column] / 100)


def range_of(kind: str, n: int) -> ErrorRange:
    """At epsilon = 1, where it is not hopeless."""
    found = expected_error(kind, 1.0, n)
    assert found is not None
    return found


def test_between_it_lies_between() -> None:
    left, middle, right = (range_of("outlines", n) for n in (3_000, 5_000, 10_000))
    assert left.least > middle.least > right.least
    assert left.largest > middle.largest > right.largest


@pytest.mark.parametrize("kind", ["few-edges", "outlines"])
@pytest.mark.parametrize("error", [0.1, 0.05, 0.02])
def test_error_and_examples_belong_together(kind: str, error: float) -> None:
    needed = examples_for(kind, 1.0, error)
    assert needed.most is not None
    assert range_of(kind, needed.least).least <= error < range_of(kind, needed.least - 1).least
    assert range_of(kind, needed.most).largest <= error < range_of(kind, needed.most - 1).largest


def test_an_error_that_was_never_reached_has_no_number() -> None:
    needed = examples_for("outlines", 0.1, 1e-5)
    assert (needed.least, needed.most) == (None, None)


def test_replacing_one_is_as_half_of_epsilon() -> None:
    replaced = expected_error("outlines", 2.0, 9_000, "replace-one")
    assert replaced == expected_error("outlines", 1.0, 9_000)
    with pytest.raises(NotMeasuredError, match=r"from 0\.2 to 20, not at 0\.1"):
        expected_error("outlines", 0.1, 9_000, "replace-one")


# -- nothing is said beyond


@pytest.mark.parametrize(
    ("n", "epsilon", "reason"),
    [
        (10**8, 1.0, r"n was measured from 30 to [\d,]+, not at 100,000,000"),
        (29, 10.0, "n was measured from 30 to"),
        (9_000, 10.1, r"epsilon was measured from 0\.1 to 10, not at 10\.1"),
        (9_000, 0.09, r"epsilon was measured from 0\.1 to 10, not at 0\.09"),
    ],
)
def test_beyond_what_was_measured_nothing_is_said(n: int, epsilon: float, reason: str) -> None:
    with pytest.raises(NotMeasuredError, match=reason):
        expected_error("few-edges", epsilon, n)


def test_less_than_a_hopeless_sample_is_hopeless_too() -> None:
    assert expected_error("few-edges", 0.3, 1) is None
    assert expected_error("few-edges", 0.01, 100) is None


def test_settings_have_their_kinds() -> None:
    assert kinds("tiles") == kinds("tiles", delta=1e-9) == ("few-edges", "outlines")
    assert kinds("convex") == ("convex",)
    assert kinds("cover", 1) == ("one-triangle",)
    assert kinds("convex-cover", 4) == ("halfplanes",)


@pytest.mark.parametrize(
    ("learner", "changes", "reason"),
    [
        ("cover", {"k": 2}, "k = 1 triangle"),
        ("cover", {"k": "auto"}, "k = 1 triangle"),
        ("convex-cover", {"k": 9}, "k = 3 to 8 edges"),
        ("cover", {"k": 1, "delta": 1e-9}, "delta = 1e-06"),
        ("cover", {"k": 1, "n_steps": 7}, "default steps"),
        ("tiles", {"measure": "paper"}, "chord measure"),
        ("tiles", {"grid": 255}, "d = 256 to 16,384"),
        ("tiles", {"grid": 2**20}, "d = 256 to 16,384"),
    ],
)
def test_other_settings_were_not_measured(learner, changes, reason):
    with pytest.raises(NotMeasuredError, match=reason):
        kinds(learner, **changes)


@pytest.mark.parametrize("finish", ["none", "sharpen"])
def test_what_has_no_range_has_means_with_a_source(finish: str) -> None:
    for k in (0, 2, 5, 6, 1000):
        found = means_of("cover", finish, k)
        assert len(found) == (2 if k == 0 else 1)
        assert all(one.source and list(one.errors) == sorted(one.errors) for one in found)
    assert means_of("cover", finish, 1) == means_of("tiles") == ()


def test_a_budget_that_states_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        expected_error("few-edges", 0.0, 10)
    with pytest.raises(ValueError, match="epsilon"):
        kinds("tiles", epsilon=-1.0)
