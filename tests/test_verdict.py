"""The two sentences beside n."""

from __future__ import annotations

from dataclasses import replace

import pytest

from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.verdict import verdict
from geometry.halfplane import HalfplaneLattice
from learners.planner import Setting, error_guaranteed

SQUARE = Drawing(64, (Shape(((8, 8), (40, 8), (40, 40), (8, 40))),))


def work(n: int, **run: object) -> Work:
    base = Work(drawing=SQUARE)
    return replace(base, sampling=replace(base.sampling, n=n), run=replace(base.run, k=1, **run))


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


@pytest.mark.parametrize("change", [{"epsilon": -1.0}, {"delta": 2.0}, {"beta": 0.0}])
def test_impossible_settings_are_named(change: dict[str, float]) -> None:
    assert "cannot run" in verdict(work(1_000, **change)).practice
