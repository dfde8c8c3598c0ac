"""Points that are asked about at the keyboard, after a run by votes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from geodp import InputError
from geodp_app.cli import main
from geodp_app.commands.running import until_cancelled


@pytest.fixture
def points(tmp_path: Path) -> Path:
    # nobody can tell where the border is
    rows = [f"{x},{y},{int(x + y <= 24 + (7 * x + 5 * y) % 13)}" for x in range(33)
            for y in range(33)] * 2  # fmt: skip
    path = tmp_path / "points.csv"
    path.write_text("x,y,label\n" + "\n".join(rows) + "\n")
    return path


def learn(points: Path, *more: str) -> int:
    ask = ["learn", str(points), "--learner", "stability", "--k", "1", "--grid", "32"]
    ask += ["--epsilon", "30", "--seed", "3", "-o", str(points.with_suffix(".geojson")), *more]
    return main(ask)


def test_points_of_standard_input_are_labelled_until_halts_are_used_up(points, monkeypatch, capsys):
    border = [f"{x},{c - x}" for c in (30, 28, 32, 29, 31) for x in range(31) if x <= c <= 32]
    lines = ["3, 4", "", "31,31", "a,b", f"33,{10**30}", "1", *border]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    report = points.with_suffix(".json")
    assert learn(points, "--ask", "1", "--report", str(report)) == 0
    said = capsys.readouterr()
    answers = said.out.splitlines()
    assert answers[:2] == ["3,4,1", "31,31,0"]
    # at the border chunks are of two opinions: the one kept halt goes there
    assert answers[-1].endswith(",?")
    assert not any(answer.endswith("?") for answer in answers[:-1])
    assert len(answers) < 2 + len(border)
    assert "points to be labelled, x,y, a line each: " in said.err
    assert "line 4: 'a,b' is not two whole numbers with a comma between them; give x,y" in said.err
    assert f"line 5: 33,{10**30} is off the grid 0..32" in said.err
    assert "line 6: '1' is not two" in said.err
    assert "no more points may have no answer: the budget is used up" in said.err
    parameters = json.loads(report.read_text())["release"]["parameters"]
    assert (parameters["halts"], parameters["kept"]) == (2, 1)


def test_questions_end_with_ctrl_c_and_are_text() -> None:
    def stopped() -> Iterator[str]:
        yield "1,2"
        raise KeyboardInterrupt

    assert list(until_cancelled(stopped())) == ["1,2"]
    with pytest.raises(InputError, match="is not text"):
        list(until_cancelled(io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), encoding="utf-8")))


def test_degrees_are_asked_about_where_there_are_bounds(tmp_path, monkeypatch, capsys):
    rows = [f"{x / 32},{y / 32},{int(x + y <= 30)}" for x in range(33) for y in range(33)] * 2
    path = tmp_path / "degrees.csv"
    path.write_text("lon,lat,label\n" + "\n".join(rows) + "\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("0.1,0.1\n0.9,0.95\n2,0\nnan,0\n0;1\n"))
    assert learn(path, "--bounds", "0,0,1,1", "--ask", "1", "--quiet") == 0
    said = capsys.readouterr()
    assert said.out == "0.1,0.1,1\n0.9,0.95,0\n"
    assert said.err == ""


def test_other_learners_are_not_asked(points, tmp_path, capsys):
    target = str(tmp_path / "o.geojson")
    assert main(["learn", str(points), "--grid", "32", "--ask", "1", "-o", target]) == 2
    assert "--ask means nothing to tiles" in capsys.readouterr().err
