"""Budgets that protect hardly anybody are warned about, without a word from the examples."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from terminal import geodp

from geodp import Examples, Frame
from geodp_app.files.examples_csv import format_examples
from geodp_app.runs.practice import budget_warning, warn_of_budget
from geometry.halfplane import HalfplaneLattice
from learners.core.releases import CoverRelease

D = 64


@pytest.fixture
def points(write) -> Path:
    """3,000 examples of the half grid."""
    grid = np.random.default_rng(0).integers(0, D + 1, (3_000, 2))
    labels = (grid.sum(axis=1) <= D).astype(np.int64)
    return write("p.csv", format_examples(Examples(grid, labels, Frame(D))))


def warnings(capsys, *argv: object) -> list[str]:
    """The warnings of a command that must work."""
    assert geodp(*argv) == 0
    return re.findall(r"^geodp: warning: (.*)$", capsys.readouterr().err, re.MULTILINE)


@pytest.mark.parametrize(
    ("epsilon", "delta", "n"),
    [(1.0, 1e-6, None), (20.0, 9.9e-4, None), (1.0, 1e-6, 999_999), (0.1, 1e-5, 10_000)],
)
def test_sound_budgets_are_not_warned_about(epsilon: float, delta: float, n: int | None) -> None:
    assert budget_warning(epsilon, delta, n=n) == ""


@pytest.mark.parametrize(
    ("epsilon", "delta", "n", "outcome"),
    [
        (20.1, 1e-6, None, ["epsilon = 20.1 protects hardly anybody", "e^20.1 times"]),
        (1.0, 1e-3, None, ["delta = 0.001", "one report in 1,000 outright"]),
        (1.0, 0.4, None, ["delta = 0.4", "one report in 2 outright"]),
        (1.0, 1e-6, 1_000_000, ["delta = 1e-06", "one report in 1,000,000 outright"]),
        (30.0, 0.1, 5, ["epsilon = 30", "delta = 0.1"]),
    ],
)
def test_silly_ones_are_in_one_line(
    epsilon: float, delta: float, n: int | None, outcome: list[str]
) -> None:
    text = budget_warning(epsilon, delta, n=n)
    assert all(part in text for part in outcome)
    assert "\n" not in text


def test_a_delta_that_is_not_used_is_not_called_a_danger() -> None:
    assert budget_warning(1.0, 0.5, used=False) == (
        "delta = 0.5 would be far too large, but this learner needs none"
    )
    assert budget_warning(1.0, 1e-6, used=False, n=10**9) == ""


def released(*thresholds: int) -> CoverRelease:
    lattice = HalfplaneLattice(D)
    pieces = ((),) * len(thresholds)
    return CoverRelease("hand", lattice, (), None, "disjunction", pieces, thresholds)


def test_a_release_is_asked_for_the_number_of_examples(capsys) -> None:
    warn_of_budget(1.0, 5e-4, release=released(1_900, 10))
    assert capsys.readouterr().err == ""
    warn_of_budget(1.0, 5e-4, release=released(2_000, 10))
    assert "delta = 0.0005 protects hardly anybody" in capsys.readouterr().err
    # has been told before the run
    warn_of_budget(1.0, 5e-3, release=released(2_000, 10))
    warn_of_budget(50.0, 1e-9, release=released(2_000, 10))
    warn_of_budget(1.0, 5e-4, release=released(2_000, 10), quiet=True)
    warn_of_budget(1.0, 5e-4, release=released())
    assert capsys.readouterr().err == ""


def test_learn_warns_once_and_not_when_quiet(points: Path, tmp_path: Path, capsys) -> None:
    learn = ["learn", points, "-o", tmp_path / "h.geojson", "--seed", 1]
    assert warnings(capsys, *learn) == []
    (outcome,) = warnings(capsys, *learn, "--epsilon", 50)
    assert outcome.startswith("epsilon = 50 protects hardly anybody")
    (outcome,) = warnings(capsys, *learn, "--learner", "cover", "--k", 1, "--delta", 0.01)
    assert "one report in 100 outright" in outcome
    (outcome,) = warnings(capsys, *learn, "--delta", 0.01)
    assert "needs none" in outcome
    cover = ["--learner", "cover", "--k", 1, "--delta", 0.01]
    assert warnings(capsys, *learn, *cover, "--epsilon", 50, "--quiet") == []


def test_learn_compares_delta_with_the_released_count_alone(
    points: Path, tmp_path: Path, capsys
) -> None:
    """Half of 3,000 are to be gained: the noisy count tells 1/2,000 from 1/1,000, not from n."""
    learn = ["learn", points, "-o", tmp_path / "h.geojson", "--seed", 1]
    learn += ["--learner", "cover", "--k", 1, "--finish", "none"]
    assert warnings(capsys, *learn, "--delta", 4e-4) == []  # 1/2,500 is more than 1/n
    (outcome,) = warnings(capsys, *learn, "--delta", 9e-4)
    assert "one report in 1,111 outright" in outcome
    assert "3,000" not in outcome


def test_plan_compares_delta_with_a_public_n(capsys) -> None:
    plan = ["plan", "--learner", "cover", "--k", 2, "--json", "--delta", 5e-4]
    assert warnings(capsys, *plan, "--n", 1_999) == []
    (outcome,) = warnings(capsys, *plan, "--n", 2_000)
    assert "one report in 2,000 outright" in outcome
    assert warnings(capsys, *plan) == []
    (outcome,) = warnings(capsys, "plan", "--learner", "cover", "--k", 2, "--epsilon", 21)
    assert outcome.startswith("epsilon = 21")


def test_compare_warns_once_and_not_when_quiet(points: Path, capsys) -> None:
    compare = ["compare", points, "--learners", "histogram,quadtree", "--seed", 1]
    assert warnings(capsys, *compare) == []
    (outcome,) = warnings(capsys, *compare, "--epsilon", 25)
    assert outcome.startswith("epsilon = 25")
    assert warnings(capsys, *compare, "--epsilon", 25, "--quiet") == []
    (outcome,) = warnings(capsys, *compare, "--delta", 0.002)
    assert "needs none" in outcome
    greedy = ["compare", points, "--learners", "greedy-cover", "--k", 1, "--epsilon", 25]
    assert warnings(capsys, *greedy) == []
