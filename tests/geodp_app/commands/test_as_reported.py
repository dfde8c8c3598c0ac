"""A run that can be repeated: its report says what was asked for, and `--as` asks for it again."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from known_targets import square_geojson
from terminal import fails

import geodp
from geodp_app.cli import build_parser, main
from geodp_app.commands import arguments
from geodp_app.commands.learn import as_reported
from geodp_app.document.examples import Frame
from geodp_app.files.run_report import report, run_stated
from learners import __version__
from learners.registry import BY_ID, offered

SEED = 918273645


@pytest.fixture
def reports(write) -> Path:
    """Reports of persons in degrees, in columns of other names, some of them out of bounds."""
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(9, 20, 400), rng.uniform(10, 20, 400)
    rows = [
        f"{x:.5f},{y:.5f},{'yes' if x < 15 else 'no'},p{number // 2}\n"
        for number, (x, y) in enumerate(zip(lon, lat, strict=True))
    ]
    return write("p.csv", "east_of,north_of,the_water,who\n" + "".join(rows))


@pytest.fixture
def asked(reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A command that says much of what can be said."""
    monkeypatch.chdir(tmp_path)
    Path("land.geojson").write_text(json.dumps(square_geojson(11, 19)))
    return [
        "--learner", "histogram", "--epsilon", "0.5", "--cells", "6",
        "--neighbours", "replace-one", "--bounds", "10,10,20,20", "--grid", "64",
        "--columns", "lon=east_of,lat=north_of,label=the_water", "--id", "who",
        "--out-of-bounds", "drop", "--within", "land.geojson",
    ]  # fmt: skip


def learned(points: Path, name: str, *more: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """The report of a run, and its file."""
    files = ["--report", f"{name}.json", "-o", f"{name}.geojson", "--overwrite", "--quiet"]
    assert main(["learn", *map(str, (points, *files, "--seed", SEED, *more))]) == 0
    texts = [Path(f"{name}.{ending}").read_text() for ending in ("json", "geojson")]
    first, second = map(json.loads, texts)
    return first, second


def test_a_report_says_what_was_asked_for_and_nothing_that_was_found(reports, asked) -> None:
    told, _ = learned(reports, "a", *asked, "--date", "2026-03-31")
    assert told["geodp"] == __version__
    assert told["date"] == "2026-03-31"
    assert told["within"] == "land.geojson"
    assert told["run"] == {
        "learner": "histogram", "epsilon": 0.5, "delta": 1e-6, "neighbours": "replace-one",
        "cells": 6, "grid": 64, "bounds": [10, 10, 20, 20], "out_of_bounds": "drop",
        "unusable": "refuse", "id": "who",
        "columns": {"lon": "east_of", "lat": "north_of", "label": "the_water"},
    }  # fmt: skip
    assert str(SEED) not in json.dumps(told)
    # names that were recognised are those of the file, which may have no header
    lines = reports.read_text().splitlines()
    reports.write_text("\n".join(["lon,lat,label,who", *lines[1:]]))
    told, _ = learned(reports, "b", *asked[:12], "--out-of-bounds", "drop")
    assert "columns" not in told["run"]
    assert "date" not in told  # no clock is asked


def test_as_a_report_says_is_the_same_run(reports, asked) -> None:
    first, shape = learned(reports, "a", *asked)
    again, same = learned(reports, "b", "--as", "a.json")
    assert (again, same) == (first, shape)
    by_python = geodp.learn(reports, **first["run"], seed=SEED)
    assert by_python.release == geodp.load("a.geojson").release


def test_in_another_system(write, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    rows = rng.uniform((480_000, 4_980_000), (600_000, 5_100_000), (300, 2)).round()
    text = "".join(f"{x},{y},{int(x < 540_000)}\n" for x, y in rows)
    points = write("utm.csv", "x,y,label\n" + text)
    box = ["--crs", "EPSG:32633", "--bounds", "480000,4980000,600000,5100000"]
    first, shape = learned(points, "a", "--learner", "quadtree", *box)
    assert first["run"]["crs"] == "EPSG:32633"
    assert learned(points, "b", "--as", "a.json") == (first, shape)


@pytest.mark.parametrize("before", [True, False])
def test_what_is_given_beside_goes_first(reports, asked, before: bool) -> None:
    learned(reports, "a", *asked)
    beside = ["--epsilon", "2", "--out-of-bounds", "clip"]
    like = ["--as", "a.json"]
    told, _ = learned(reports, "b", *(beside + like if before else like + beside))
    assert told["run"]["epsilon"] == 2
    assert told["run"]["out_of_bounds"] == "clip"
    assert told["run"]["cells"] == 6


@pytest.mark.parametrize("typed", [["--learner", "quadtree"], ["--learner=quadtree"]])
def test_another_learner_takes_what_it_has_of_it(reports, asked, typed) -> None:
    learned(reports, "a", *asked)  # with cells, which a quadtree has not
    told, _ = learned(reports, "b", "--as", "a.json", *typed)
    assert (told["run"]["learner"], told["run"]["epsilon"]) == ("quadtree", 0.5)
    assert "cells" not in told["run"]


@pytest.mark.parametrize("learner", [each.id for each in offered("learn")])
def test_every_parameter_of_a_run_can_be_asked_for_again(learner, tmp_path) -> None:
    parser, given = build_parser(), ["learn", "p.csv", "-o", "h.geojson", "--learner", learner]
    more = ["--check", "10%"] + (["--k", "3"] if BY_ID[learner].counts else [])
    declared, first = arguments.resolved_learner(parser.parse_args(given + more), "learn")
    reading = {"columns": {"label": 'a,"b"'}, "inside": ["wet, deep", 'say "yes"']}
    run = run_stated(declared, first, Frame(64), reading)
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"geodp": __version__, "run": run}))
    like = ["learn", "p.csv", "-o", "h.geojson", "--as", str(path)]
    options = parser.parse_args(as_reported(parser.parse_args(like), like))
    assert arguments.resolved_learner(options, "learn") == (declared, first)
    assert (options.grid, options.columns) == (64, reading["columns"])
    assert options.inside == tuple(reading["inside"])


def test_another_version_is_told(reports, asked, capsys) -> None:
    learned(reports, "a", *asked)
    old = json.loads(Path("a.json").read_text()) | {"geodp": "0.0.1\n"}
    Path("old.json").write_text(json.dumps(old))
    command = ["learn", str(reports), "--as", "old.json", "--seed", "1", "-o", "h.geojson"]
    capsys.readouterr()
    assert main(command) == 0
    said = f"old.json: written by geodp 0.0.1 , and this is {__version__}: it may learn otherwise"
    assert said in capsys.readouterr().err


GOOD = {"geodp": __version__, "run": {"learner": "histogram", "grid": 64}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is no report of a run"),
        ([], "is no report of a run"),
        ({"geodp": __version__}, "is no report of a run"),
        (GOOD | {"run": ["tiles"]}, "is no report of a run"),
        (GOOD | {"run": {"learner": ["tiles"]}}, "is no report of a run"),
        (GOOD | {"run": GOOD["run"] | {"output": "x"}}, "says output, which no run is told"),
        (GOOD | {"run": GOOD["run"] | {"tiles": 3}}, "says tiles, which no run is told"),
        (GOOD | {"run": GOOD["run"] | {"grid": {"a": 1}}}, "is not an integer"),
        (GOOD | {"run": GOOD["run"] | {"epsilon": -1}}, "--epsilon: must be above 0"),
        (
            GOOD | {"run": {"learner": "greedy-cover"}},
            "'greedy-cover' is not offered here: use cover",
        ),
    ],
)
def test_what_is_no_report_is_told(write, capsys, content, reason) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    path = write("r.json", text)
    assert reason in fails(capsys, "learn", "p.csv", "--as", path, "-o", path.parent / "h.geojson")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--date", "2026-03-31"], "--date is what a report says: give --report FILE, too"),
        (["--date", "31.3.26", "--report", "r.json"], "'31.3.26' is no day such as 2026-03-31"),
    ],
)
def test_a_day_is_one_and_stands_in_a_report(reports, asked, capsys, more, reason) -> None:
    assert reason in fails(capsys, "learn", reports, *asked, "-o", "h.geojson", *more)


def test_a_report_is_not_written_over_by_its_own_run(reports, asked, capsys) -> None:
    learned(reports, "a", *asked)
    command = ["learn", reports, "--as", "a.json", "--report", "a.json", "-o", "h.geojson"]
    assert "a.json: is an input too" in fails(capsys, *command, "--overwrite")


def test_a_report_of_a_release_alone_says_nothing_of_its_run(reports, asked) -> None:
    learned(reports, "a", *asked)
    assert not {"run", "date", "within"} & set(report(geodp.load("a.geojson").release))
