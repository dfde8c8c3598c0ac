"""The two sentences beside n."""

from __future__ import annotations

from dataclasses import replace

import pytest

from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.verdict import verdict
from geometry.halfplane import HalfplaneLattice
from learners.theory.planner import Setting, error_guaranteed

SQUARE = Drawing(64, (Shape(((8, 8), (40, 8), (40, 40), (8, 40))),))


def work(n: int, **run: object) -> Work:
    base = Work(drawing=SQUARE)
    settings = replace(base.run, **{"learner": "union", "k": 1, **run})
    return replace(base, sampling=replace(base.sampling, n=n), run=settings)


def test_few_examples_promise_nothing_and_say_so() -> None:
    told = verdict(work(1_000))
    assert "nothing below error 50 %" in told.promise
    assert "privacy holds" in told.promise
    assert "expect an error of about" in told.practice


def test_the_promise_is_the_planners() -> None:
    n = 10_000_000
    plan = error_guaranteed(
        Setting(k=1, beta=0.1, epsilon=1.0, delta=1e-6, lattice=HalfplaneLattice(64)), n
    )
    assert plan.alpha is not None
    assert f"{plan.alpha:.2%}" in verdict(work(n)).promise


def test_a_seeded_run_and_a_greedy_one_are_not_called_private() -> None:
    assert "not private" in verdict(work(1_000, seed=3)).promise
    assert "No privacy" in verdict(work(1_000, learner="greedy-union")).promise


@pytest.mark.parametrize(
    ("n", "run", "error"),
    [
        (10_000, {}, "0.90%"),
        (100_000, {}, "0.09%"),
        (10_000, {"neighbours": "replace-one"}, "1.8%"),
        (10_000, {"epsilon": 0.1}, "9.0%"),
        (100, {}, "50%"),
    ],
)
def test_by_tiles_the_expected_error_falls_with_n_times_epsilon(
    n: int, run: dict[str, object], error: str
) -> None:
    told = verdict(work(n, learner="tiles", **run))
    assert told.practice == f"In practice expect an error of about {error} for shapes of few edges."
    assert told.promise.startswith("Proved: nothing about the error")
    assert "not private" not in told.promise


def test_by_tiles_too_a_seed_and_a_number_of_tiles_are_told() -> None:
    told = verdict(work(1_000, learner="tiles", seed=3, tiles=4))
    assert "not private" in told.promise
    assert "as many tiles as a run chooses itself" in told.practice


@pytest.mark.parametrize("change", [{"epsilon": -1.0}, {"delta": 2.0}, {"beta": 0.0}])
def test_impossible_settings_are_named(change: dict[str, float]) -> None:
    assert "cannot run" in verdict(work(1_000, **change)).practice


def test_by_tiles_an_impossible_epsilon_is_named() -> None:
    assert "cannot run" in verdict(work(1_000, learner="tiles", epsilon=-1.0)).practice
