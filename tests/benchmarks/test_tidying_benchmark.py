"""benchmarks/tidying.py."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_a_row_for_each_distribution_and_the_outlines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    bench = importlib.import_module("tidying")
    monkeypatch.setattr(bench, "TARGETS", {"tri": 1})
    monkeypatch.setattr(bench, "OUTLINES", ("flood",))
    told = ["tidying.py", "--learners", "tiles", "--n", "300", "--seeds", "2"]
    monkeypatch.setattr(sys, "argv", told)
    bench.main()
    shown = capsys.readouterr().out.splitlines()
    rows = [line.split(" | ") for line in shown if line.startswith("| ") and "300" in line]
    assert [row[0] for row in rows] == ["| uniform, 300", "| clustered, 300", "| outlines, 300"]
    assert {len(row) for row in rows} == {7}
    assert all(" → " in row[column] for row in rows for column in (1, 3, 4, 5, 6))
