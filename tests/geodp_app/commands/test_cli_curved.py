"""`geodp learn` and `geodp evaluate` with discs and ellipses."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import shapely

from geodp_app.cli import main
from geometry.lift import ConicLattice
from learners.boolean.conjunction_bounds import set_cover_examples
from learners.codec import release_from_dict, release_to_dict
from learners.releases import ConicRelease


@pytest.fixture
def points(tmp_path: Path) -> Path:
    """20,000 points of a grid of size 256, labelled by a disc."""
    X = np.random.default_rng(1).integers(0, 257, (20_000, 2))
    y = (X[:, 0] - 130) ** 2 + (X[:, 1] - 110) ** 2 <= 70**2
    path = tmp_path / "points.csv"
    rows = "\n".join(f"{a},{b},{int(c)}" for (a, b), c in zip(X, y, strict=True))
    path.write_text(f"x,y,label\n{rows}\n")
    return path


@pytest.mark.parametrize(("learner", "kind"), [("discs", "disc"), ("ellipses", "ellipse")])
def test_learn_and_evaluate(points: Path, capsys, learner: str, kind: str) -> None:
    out, report, records = (points.with_name(n) for n in ("o.geojson", "r.json", "s.jsonl"))
    given = ["learn", str(points), "--learner", learner, "--grid", "256", "--seed", "3"]
    files = ["-o", str(out), "--report", str(report), "--records", str(records)]
    assert main([*given, *files]) == 0
    assert f"1 {kind}" in capsys.readouterr().err
    assert main(["evaluate", str(out), str(points), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["decided_by"] == learner
    assert figures["error"] < 0.01
    collection = json.loads(out.read_text())
    release = release_from_dict(collection["geodp"]["release"])
    assert isinstance(release, ConicRelease)
    assert release.lattice.kind == kind
    assert json.loads(report.read_text())["release"] == release_to_dict(release)
    shape = shapely.geometry.shape(collection["features"][0]["geometry"])
    assert shape.is_valid
    assert shape.area * 256**2 == pytest.approx(np.pi * 70**2, rel=0.02)
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    assert lines[1]["release"]["conics"] == [list(release.conics[0].parameters)]


def test_steps_and_k_are_taken(points: Path) -> None:
    out = points.with_name("o.geojson")
    given = ["learn", str(points), "--learner", "discs", "--k", "2", "--steps", "3"]
    assert main([*given, "--grid", "256", "-o", str(out), "--quiet"]) == 0
    release = release_from_dict(json.loads(out.read_text())["geodp"]["release"])
    assert dict(release.parameters) == {"k": 2, "steps": 3, "beta": 0.1}
    assert release.privacy is not None
    assert release.privacy.private


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--tiles", "3"], "--tiles means nothing to discs"),
        (["--edges", "1"], "--edges means nothing to discs"),
        (["--alpha", "0.1"], "--alpha means nothing to discs"),
        (["--measure", "paper"], "--measure means nothing to discs"),
        (["--grid", "4096"], "use a coarser grid"),
    ],
)
def test_options_that_do_not_apply_are_refused(
    points: Path, capsys, options: list[str], reason: str
) -> None:
    out = points.with_name("o.geojson")
    grid = [] if "--grid" in options else ["--grid", "256"]
    assert main(["learn", str(points), "--learner", "discs", *grid, *options, "-o", str(out)]) == 2
    assert reason in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(("learner", "kind"), [("discs", "disc"), ("ellipses", "ellipse")])
def test_the_plan_is_that_of_a_cover_by_so_many_pieces(capsys, learner: str, kind: str) -> None:
    plan = ["plan", "--learner", learner, "--grid", "256", "--k", "2"]
    assert main([*plan, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    members = ConicLattice(256, kind).members
    expected = set_cover_examples(math.log(members), 2, 0.1, 0.1, softened=True)
    assert (told["size"], told["n"], told["steps"]) == (
        members, expected.examples, expected.steps,
    )  # fmt: skip
    assert told["learner_beta"] == expected.beta
    assert main(plan) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert f"geodp learn --learner {learner} --k 2 --steps {expected.steps} --beta" in line
    assert float(line.split("--beta ")[1].split()[0]) == expected.beta  # no digit is lost
    # the other way round, within a part in a thousand
    assert main([*plan, "--n", str(told["n"]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["alpha"] <= 0.1 * 1.001


def test_what_is_no_plan_for_discs_is_refused(capsys) -> None:
    for options, reason in (
        (["--grid", "4096"], "1..2048"),
        (["--measure", "paper"], "--measure means nothing to discs"),
    ):
        assert main(["plan", "--learner", "discs", *options]) == 2
        assert reason in capsys.readouterr().err
    assert main(["plan", "--learner", "discs", "--n", "100"]) == 0
    assert "guarantee void" in capsys.readouterr().out
