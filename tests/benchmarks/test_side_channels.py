"""What a measurement tells is estimated rightly where it is known, and chance is called chance."""

import math

import numpy as np
import pytest

from benchmarks import side_channels
from benchmarks.audits.declared import SUBJECTS
from benchmarks.side_channels import information, measured, outcome, parts_of


def test_equal_values_stay_together_and_parts_are_full() -> None:
    assert parts_of(np.array([5, 5, 5, 5, 5])).tolist() == [0] * 5
    assert set(parts_of(np.array([1, 1, 1, 9, 9])).tolist()) == {0, 1}
    assert np.bincount(parts_of(np.arange(800))).tolist() == [100] * 8


def test_the_estimate_is_right_where_it_is_known() -> None:
    """A coin that is told rightly nine times of ten: 1 - h(0.1) bits."""
    rng = np.random.default_rng(1)
    sides = rng.permutation(np.repeat([0, 1], 4000))
    parts = sides ^ (rng.random(8000) < 0.1)
    known = 1 + 0.1 * math.log2(0.1) + 0.9 * math.log2(0.9)
    assert information(sides, parts.astype(np.int64)) == pytest.approx(known, abs=0.02)


def test_the_estimate_is_around_nothing_where_nothing_is_told() -> None:
    """By the plug-in estimate 400 runs would seem to tell 0.013 bits."""
    rng = np.random.default_rng(2)
    sides = np.repeat([0, 1], 200)
    found = [information(rng.permutation(sides), parts_of(rng.random(400))) for _ in range(300)]
    assert abs(float(np.mean(found))) < 0.002


def test_chance_is_called_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_channels, "_PERMUTATIONS", 99)
    rng = np.random.default_rng(3)
    sides = np.repeat([0, 1], 50)
    p = [outcome(rng.permutation(sides), rng.random(100), rng).p for _ in range(60)]
    assert sum(one <= 0.05 for one in p) <= 9
    seen = outcome(sides, sides + rng.random(100), rng)
    assert seen.p == 0.01
    assert seen.bits == pytest.approx(1, abs=0.1)
    assert seen.guessed > 0.9


def test_a_learner_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_channels, "_PERMUTATIONS", 19)
    make = SUBJECTS["threshold"].factory(1.0, 1e-6, "add-remove", None)
    samples = [side_channels.sample_of("threshold", n) for n in (2, 3)]
    found = dict(measured(make, samples, 6, np.random.default_rng(4)))
    assert list(found) == ["time", "processor time", "random bytes", "peak memory"]
