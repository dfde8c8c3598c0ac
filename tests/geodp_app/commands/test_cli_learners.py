"""`geodp learn` and `geodp evaluate` with every learner that the command line takes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import shapely
from grids import grid_points
from terminal import fails, geodp, printed

from geodp_app.files.learned_file import read_learned
from geometry.lift import ConicLattice
from learners.core.codec import release_to_dict
from learners.registry import LEARNERS, offered
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
    # the seed repeats it; without one it is private
    assert geodp(*given, "--seed", 3, "--quiet", "-o", tmp_path / "again.geojson") == 0
    assert (tmp_path / "again.geojson").read_bytes() == out.read_bytes()
    assert geodp(*given, "--quiet", "-o", out) == 0
    again = read_learned(out).release
    assert again.privacy.private


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


def test_learners_of_other_places_are_named_by_those_of_this(tmp_path, capsys):
    for learner in set(LEARNERS) - set(offered("learn")):
        ask = ["learn", tmp_path / "p.csv", "--learner", learner.id, "-o", tmp_path / "o.geojson"]
        assert f"unknown learner '{learner.id}': use cover, " in fails(capsys, *ask)


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
