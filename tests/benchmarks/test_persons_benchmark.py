"""benchmarks/persons.py."""

from __future__ import annotations

import pytest
from programs import program


def test_a_row_for_every_shape_and_their_mean(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    persons = program("persons", monkeypatch)
    monkeypatch.setattr(persons, "SHAPES", ("L", "star"))
    few = ["--n", "200", "--seeds", "1", "--rows", "3", "--learner", "histogram"]
    persons.main([*few, "--spread", "0.1", "inf"])
    shown = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[:3] for line in shown[-6:]] == [
        [f"| {spread}", "200", shape]
        for spread in ("0.1", "inf")
        for shape in ("L", "star", "mean")
    ]
    persons.main([*few, "--spread", "inf", "--plain"])
    assert capsys.readouterr().out.splitlines()[-3:] != shown[-3:]


def test_all_reports_of_a_person_lie_around_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    persons = program("persons", monkeypatch)
    examples, owners = persons.reports("L", 50, 0.0, 0.0, 1)
    assert len({*map(tuple, examples.points.tolist())}) == len(set(owners)) == 50
    assert 50 < len(owners) < 250
