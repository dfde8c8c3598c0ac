"""Budgets that protect hardly anybody are warned about, without a word from the examples."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from terminal import geodp

from geodp import Examples, Frame
from geodp_app.files.points import format_examples
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
def test_silly_ones_are_in_one_line(epsilon, delta, n, outcome):
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


_COVER = ["--learner", "cover", "--k", 1]
#: Half of 3,000 are to be gained: the noisy count tells 1/2,000 from 1/1,000, not from n.
_COUNTED = [*_COVER, "--finish", "none"]


@pytest.mark.parametrize(
    ("verb", "more", "outcome"),
    [
        ("learn", [], ""),
        ("learn", ["--epsilon", 50], "epsilon = 50 protects hardly anybody"),
        ("learn", [*_COVER, "--delta", 0.01], "one report in 100 outright"),
        ("learn", ["--delta", 0.01], "needs none"),
        ("learn", [*_COVER, "--delta", 0.01, "--epsilon", 50, "--quiet"], ""),
        ("learn", [*_COUNTED, "--delta", 4e-4], ""),  # 1/2,500 is more than 1/n
        ("learn", [*_COUNTED, "--delta", 9e-4], "one report in 1,111 outright"),
        ("compare", [], ""),
        ("compare", ["--epsilon", 25], "epsilon = 25"),
        ("compare", ["--epsilon", 25, "--quiet"], ""),
        ("compare", ["--delta", 0.002], "needs none"),
        ("compare", ["--learners", "greedy-cover", "--k", 1, "--epsilon", 25], ""),
        # n is public here
        ("plan", ["--json", "--delta", 5e-4, "--n", 1_999], ""),
        ("plan", ["--json", "--delta", 5e-4, "--n", 2_000], "one report in 2,000 outright"),
        ("plan", ["--json", "--delta", 5e-4], ""),
        ("plan", ["--epsilon", 21], "epsilon = 21"),
    ],
)
def test_commands_warn_once_and_not_when_quiet(points, tmp_path, capsys, verb, more, outcome):
    start = {
        "learn": [points, "-o", tmp_path / "h.geojson", "--seed", 1],
        "compare": [points, "--learners", "histogram,quadtree", "--seed", 1],
        "plan": ["--learner", "cover", "--k", 2],
    }[verb]
    found = warnings(capsys, verb, *start, *more)
    assert len(found) == bool(outcome)
    assert outcome in "".join(found)
    assert "3,000" not in "".join(found)
