"""benchmarks/scale.py makes the rows that it says, and measures them."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from programs import program

from geodp_app.tables.counts import read_counts
from geodp_app.tables.source import table_source
from geometry.polygons import contains_points


@pytest.fixture
def scale(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = program("scale", monkeypatch)
    monkeypatch.setattr(module, "apart", lambda work, *arguments: work(*arguments))
    monkeypatch.setattr(module, "unit_seconds", lambda *_: 1.0)
    monkeypatch.setattr(module, "PART", 2_000)
    return module


@pytest.mark.parametrize("kind", ["grid", "degrees", "persons", "degrees-persons"])
def test_rows_are_labelled_by_the_target_in_several_files(scale, tmp_path, kind):
    place = scale.make_rows(tmp_path, kind, 5_000, "star")
    assert len(list(place.iterdir())) == 3
    found = read_counts(table_source(f"parquet:{place}/*.parquet"), **scale.options_of(kind)).counts
    inside = contains_points(scale.load_target("star", scale.GRID), found.points)
    assert (found.labels == inside).all()
    # of n persons about 1 - 1/e have a row
    assert found.n == 5_000 if "persons" not in kind else 3_000 < found.n < 3_300


def test_files_of_the_rows_are_read_and_labelled(scale, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["scale.py", "--engine", "none", "--rows", "1e3", "--folder",
                                      str(tmp_path)])  # fmt: skip
    some = {name: scale.FILES[name] for name in ("x,y,label", "with `--id`", "GeoParquet")}
    monkeypatch.setattr(scale, "FILES", some)
    scale.main()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [line.split(" | ")[0][2:] for line in lines[2:]] == list(some)


def test_the_table_has_a_line_for_every_size(scale, tmp_path, monkeypatch, capsys):
    argv = ["scale.py", "--rows", "1e3", "3e3", "--folder", str(tmp_path), "--tiles", "2"]
    monkeypatch.setattr(sys, "argv", argv)
    scale.main()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [line.count("|") for line in lines] == [13] * 4
    assert lines[2].startswith("| grid | 1,000 | ")
    assert lines[3].startswith("| grid | 3,000 | ")
