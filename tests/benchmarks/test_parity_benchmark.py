"""benchmarks/parity.py runs and prints a row a size and learner."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from programs import program


def test_the_benchmark_prints_its_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = program("parity", monkeypatch)
    monkeypatch.setattr(bench, "unit_seconds", lambda repeats: 1.0)
    monkeypatch.setattr(sys, "argv", ["parity.py", "--quick"])
    bench.main()
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith("| ") and "d = 64" in line]
    assert len(rows) == 2
    assert "training error 0.000; ranks 64" in rows[0]


def test_examples_are_labelled_by_one_parity(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = program("parity", monkeypatch)
    X, y = bench.draw(70, 200, 3)
    took, outcome = bench.seconds(bench.ParityLearner, X, y)
    assert took > 0
    assert "training error 0.000" in outcome
    assert set(np.unique(y)) == {0, 1}
