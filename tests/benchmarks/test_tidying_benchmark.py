"""benchmarks/tidying.py."""

from __future__ import annotations

import sys

import pytest
from programs import program
from shapely.geometry import LineString, Polygon, box


def test_a_row_for_each_distribution_and_the_outlines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = program("tidying", monkeypatch)
    monkeypatch.setattr(bench, "TARGETS", {"tri": 1})
    monkeypatch.setattr(bench, "OUTLINES", ("flood",))
    outcome = ["tidying.py", "--learners", "tiles", "--n", "300", "--seeds", "2"]
    monkeypatch.setattr(sys, "argv", outcome)
    bench.main()
    shown = capsys.readouterr().out.splitlines()
    rows = [line.split(" | ") for line in shown if line.startswith("| ") and "300" in line]
    assert [row[0] for row in rows] == ["| uniform, 300", "| clustered, 300", "| outlines, 300"]
    assert {len(row) for row in rows} == {8}
    assert all(" → " in row[column] for row in rows for column in (1, 3, 4, 5, 6, 7))


def test_steps_are_turns_there_and_back_by_a_border(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = program("tidying", monkeypatch)
    border = LineString([(512, 1), (512, 1023)])

    def jog(at: float, high: float) -> Polygon:
        return Polygon(
            [(0, 0), (0, 300), (at, 300), (at, 300 + high), (1024, 300 + high), (1024, 0)]
        )

    assert bench.steps(jog(512, 20), border, 128) == 1
    # far from the border, longer than a third of a tile, a corner, and a tooth of two steps
    assert bench.steps(jog(560, 20), border, 128) == 0
    assert bench.steps(jog(512, 60), border, 128) == 0
    assert bench.steps(box(0, 0, 512, 300), border, 128) == 0
    tooth = [(0, 0), (0, 300), (508, 300), (512, 320), (516, 300), (1024, 300), (1024, 0)]
    assert bench.steps(Polygon(tooth), border, 128) == 2
