"""The benchmark of the Boolean learners runs, and draws what it measured."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest
from programs import program


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """benchmarks/conjunctions.py on small samples."""
    module = program("conjunctions", monkeypatch)
    monkeypatch.setattr(module, "VARIABLES", 20)
    monkeypatch.setattr(module, "FRESH", 1000)
    return module


def test_every_literal_of_the_target_is_needed(bench: ModuleType) -> None:
    X, y = bench.draw_sample(4, 500, 20, np.random.default_rng(0))
    assert (X[:, :4].sum(axis=1) == np.where(y, 4, 3)).all()
    sparse, y = bench.sparse_sample(4, 500, 50, 6, 0)
    assert (sparse[:, :4].toarray().sum(axis=1) == np.where(y, 4, 3)).all()
    assert set(sparse.data) == {1}


def test_the_part_on_examples_writes_a_table_and_a_drawing(
    bench: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    file = tmp_path / "drawing.svg"
    arguments = ["--quick", "--part", "examples", "--picture", str(file)]
    monkeypatch.setattr(sys, "argv", ["conjunctions.py", *arguments])
    bench.main()
    shown = capsys.readouterr().out
    rows = [row.split("|")[1:-1] for row in shown.splitlines() if re.match(r"\| \d", row)]
    assert [int(row[0]) for row in rows] == [2, 4]
    for row in rows:
        naive, _, best = (int(cell.replace(",", "")) for cell in row[1:4])
        assert float(row[4]) == pytest.approx(naive / best, abs=0.051)
        guaranteed = [int(cell.replace(",", "")) for cell in row[5:7]]
        assert guaranteed[0] > guaranteed[1] > best
    drawing = ElementTree.parse(file).getroot()
    lines = drawing.findall("{http://www.w3.org/2000/svg}polyline")
    assert [len(line.attrib["points"].split()) for line in lines] == [2, 2, 2]
