"""Every learner that the command line takes: learned, evaluated, by votes asked about points."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import shapely
from grids import grid_points
from terminal import fails, geodp, printed

from geodp import InputError
from geodp_app.cli import main
from geodp_app.commands.ask import until_cancelled
from geodp_app.files.learned_file import read_learned
from geometry.lift import ConicLattice
from learners.core.codec import release_to_dict
from learners.registry import offered
from learners.theory.cover_sizes import set_cover_examples

every = pytest.mark.parametrize("learner", offered("learn"), ids=lambda learner: learner.id)
#: The error of a run on 8,000 points of a corner cut off, or of a disc.
MOST = {
    "threshold": 0.3,
    "histogram": 0.2,
    "stability": 0.5,
    "quadtree": 0.2,
    "plain-histogram": 0.2,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """8,000 points of a grid of size 64, labelled by a disc and by a corner cut off."""
    X = np.random.default_rng(1).integers(0, 65, (8_000, 2))
    folder = tmp_path_factory.mktemp("given")
    disc = (X[:, 0] - 33) ** 2 + (X[:, 1] - 28) ** 2 <= 18**2
    for name, y in (("disc", disc), ("corner", X.sum(axis=1) <= 60)):
        rows = "\n".join(f"{a},{b},{int(c)}" for (a, b), c in zip(X, y, strict=True))
        (folder / f"{name}.csv").write_text(f"x,y,label\n{rows}\n")
    return folder


@every
def test_it_is_learned_reported_recorded_and_evaluated(learner, folder, tmp_path, capsys):
    points = folder / f"{'disc' if learner.piece in ('disc', 'ellipse') else 'corner'}.csv"
    out, report, records = (tmp_path / name for name in ("o.geojson", "r.json", "s.jsonl"))
    k = ["--k", "1"] if learner.counts else []
    given = ["learn", points, "--learner", learner.id, *k, "--grid", 64]
    given += ["--epsilon", 8] if learner.id == "stability" else []  # of fewer chunks
    files = ["-o", out, "--report", report, "--records", records]
    assert geodp(*given, "--seed", 3, *files) == 0
    assert f"{out}: " in capsys.readouterr().err
    learned = read_learned(out)
    release = learned.release
    assert not release.privacy.private
    outcome = json.loads(report.read_text())
    assert outcome["release"] == json.loads(json.dumps(release_to_dict(release)))
    assert "epsilon " in outcome["account"]
    figures = printed(capsys, "evaluate", out, points)
    assert figures["examples"] == 8_000
    assert figures["error"] < MOST.get(learner.id, 0.1)
    # the polygons of the file are where the release says 1
    grid = grid_points(64)
    spots, shape = shapely.points(grid / 64), learned.target.geometry
    clear = ~shapely.dwithin(spots, shape.boundary, 1e-3) & ((grid % 64) > 0).all(axis=1)
    held = shapely.intersects_xy(shape, grid / 64)
    assert (held == (release.predict(grid) == 1))[clear].all()
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    assert "Do not publish" in lines[0]["warning"]
    assert [line["step"] for line in lines[1:]] == list(range(1, len(lines)))
    assert geodp(*given, "--seed", 3, "--quiet", "-o", tmp_path / "again.geojson") == 0
    assert (tmp_path / "again.geojson").read_bytes() == out.read_bytes()


@every
def test_options_of_other_learners_are_refused(learner, tmp_path, capsys):
    own = {parameter.name for parameter in learner.parameters}
    others = {
        parameter.name: parameter
        for each in offered("learn")
        for parameter in each.parameters
        if parameter.name not in own and not parameter.of_python
    }
    assert others
    for name, parameter in others.items():
        value = 0.5 if parameter.kind == "number" else int(max(parameter.low, 1))
        value = parameter.choices[0][0] if parameter.choices else value
        option = f"--{parameter.typed}"
        ask = ["learn", tmp_path / "p.csv", "--learner", learner.id, "--grid", 8]
        outcome = fails(capsys, *ask, "-o", tmp_path / "o.geojson", option, value)
        assert f"{option} means nothing to {learner.id}" in outcome, name
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("learner", "kind"), [("discs", "disc"), ("ellipses", "ellipse")])
def test_the_plan_of_curved_pieces_is_that_of_a_cover_by_so_many(capsys, learner, kind):
    plan = ["plan", "--learner", learner, "--grid", 256, "--k", 2]
    outcome = printed(capsys, *plan)
    members = ConicLattice(256, kind).members
    expected = set_cover_examples(members, 2, 0.1, 0.1, softened=True)
    assert (outcome["size"], outcome["n"], outcome["steps"]) == (
        members, expected.examples, expected.steps,
    )  # fmt: skip
    assert outcome["learner_beta"] == expected.beta
    assert geodp(*plan) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert f"geodp learn --learner {learner} --k 2 --steps {expected.steps} --beta" in line
    assert float(line.split("--beta ")[1].split()[0]) == expected.beta  # no digit is lost
    # the other way round, within a part in a thousand
    assert printed(capsys, *plan, "--n", outcome["n"])["alpha"] <= 0.1 * 1.001
    assert "1..2048" in fails(capsys, "plan", "--learner", learner, "--grid", 4096)
    assert geodp("plan", "--learner", learner, "--n", 100) == 0
    assert "guarantee void" in capsys.readouterr().out


def test_the_plan_of_a_threshold_counts_its_halfplanes(capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["plan", "--learner", "threshold", "--grid", 1024]
    outcome, known = printed(capsys, *ask), printed(capsys, *ask, "--direction", "left")
    assert (outcome["size"], known["size"]) == (4 * 1026, 1026)
    assert 100 < outcome["n"] < 1000
    assert known["n"] < outcome["n"]


# -- points asked about after a run by votes -------------------------------------------------------


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


def test_outside_of_the_clip_nobody_is_asked(points, tmp_path, monkeypatch, capsys):
    clip = {"type": "Polygon", "coordinates": [[[0, 0], [8, 0], [8, 8], [0, 8], [0, 0]]]}
    path = tmp_path / "clip.geojson"
    path.write_text(json.dumps({"geodp": {"frame": "grid", "grid": 32}, **clip}))
    monkeypatch.setattr("sys.stdin", io.StringIO("3,4\n3,9\n"))
    assert learn(points, "--ask", "1", "--within", str(path), "--quiet") == 0
    assert capsys.readouterr().out == "3,4,1\n3,9,0\n"  # it would be 1 by the votes


def test_questions_and_answers_have_standard_input_and_output_for_themselves(
    points, monkeypatch, capsys
):
    monkeypatch.setattr("sys.stdin", io.StringIO("3,4\n"))
    for source, *more in (("/dev/stdin",), (points, "-o", "-"), (points, "--report=-")):
        assert learn(Path(source), "--ask", "1", "-o", str(points.with_suffix(".json")), *more) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert "name files for all else" in said.err


def test_other_learners_are_not_asked(points, tmp_path, capsys):
    target = str(tmp_path / "o.geojson")
    assert main(["learn", str(points), "--grid", "32", "--ask", "1", "-o", target]) == 2
    assert "--ask means nothing to tiles" in capsys.readouterr().err
