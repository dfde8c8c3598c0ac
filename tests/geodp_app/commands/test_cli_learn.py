"""`geodp learn` end to end: outputs, and what they may not hold."""

import contextlib
import io
import json
import os
import re
import sys
from pathlib import Path

import pytest
import shapely
from known_targets import square_geojson
from terminal import fails, geodp, printed

from geodp_app.cli import main
from geodp_app.commands import learn as verb
from geodp_app.files.learned_file import parts_text, read_learned
from geodp_app.files.points import read_examples
from geodp_app.files.run_report import report
from geometry.geojson import read_geojson
from geometry.halfplane import HalfplaneLattice
from learners.core.releases import CoverRelease, TilesRelease
from learners.cover.set_cover import plan_budget
from learners.cover.sharpening import plan_sharpened
from learners.privacy.composition import run_epsilon

SEED = 987654321
N = 20_000


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A folder after sample and learn on a square in degrees."""
    folder = tmp_path_factory.mktemp("run")
    target = folder / "t.geojson"
    target.write_text(json.dumps(square_geojson(10, 20)))
    points, out = folder / "p.csv", folder / "l.geojson"
    sample = ["sample", "--target", target, "--n", N, "--grid", 256, "--seed", 3, "-o", points]
    learn = ["learn", points, "--learner", "cover", "--k", 2, "--steps", 3, "--seed", SEED]
    learn += ["-o", out]
    learn += ["--report", folder / "r.json", "--records", folder / "s.jsonl", "--quiet"]
    for argv in (sample, learn):
        assert geodp(*argv) == 0
    return folder


def evaluate(learned: Path, points: Path, capsys) -> dict:
    capsys.readouterr()
    return printed(capsys, "evaluate", learned, points)


def test_the_learned_shape_is_in_degrees_and_good(run, capsys):
    target = read_geojson(run / "l.geojson")
    assert target.frame == "lonlat"
    truth = shapely.box(10, 10, 20, 20)
    off = target.geometry.symmetric_difference(truth).area / 12**2
    figures = evaluate(run / "l.geojson", run / "p.csv", capsys)
    assert figures["examples"] == N
    # two triangles, three steps: each leaves half of what was left, 68 % / 8 in the end
    assert figures["error"] < 0.12
    assert off < 0.12


def test_the_report_states_the_guarantee_and_that_a_seed_voids_it(run, write, tmp_path):
    report = json.loads((run / "r.json").read_text())
    assert report["statement"].startswith("Not private: the run was seeded")
    assert report["release"] == json.loads((run / "l.geojson").read_text())["geodp"]["release"]
    path = tmp_path / "r.json"
    points = write("p.csv", '# geodp {"grid": 8}\nx,y,label\n3,4,1\n5,6,0\n7,7,1\n')
    argv = ["learn", points, "--learner", "cover", "--k", 1, "--steps", 1]
    argv += ["-o", tmp_path / "l.geojson", "--quiet"]
    argv += ["--report", path, "--epsilon", 2, "--delta", 1e-5, "--neighbours", "replace-one"]
    assert geodp(*argv) == 0
    report = json.loads(path.read_text())
    assert report["statement"] == (
        "(2, 1e-05)-differentially private with respect to replacing one labelled example by "
        "another."
    )
    outcome = report["account"]
    assert outcome.startswith("selection: epsilon 2, by the optimal account")
    assert outcome.endswith(" in one step, which is twice 1 for adding or removing an example")
    path.unlink()
    again = ["--finish", "none", "-o", tmp_path / "again.geojson"]
    assert geodp(*(argv + again)) == 0
    outcome = json.loads(path.read_text())["account"]
    assert outcome.startswith(
        "noisy counts and selections: together epsilon 2, by the optimal account"
    )
    assert "twice 1 for adding or removing an example; alone the counts would cost 0.2 " in outcome


@pytest.mark.parametrize(("epsilon", "more"), [(1.0, True), (1000.0, False)])
def test_the_report_says_why_the_parts_of_a_cover_sum_to_more_than_epsilon(epsilon, more):
    spent = plan_budget(epsilon, 1e-6, 6, 0.1, "add-remove", private=True).spent
    counts, selections = spent.charges
    alone = run_epsilon(selections.each, 1e-6, 6)
    assert (counts.alone + alone > epsilon) == more
    release = CoverRelease("", HalfplaneLattice(8), (), spent, "disjunction", (), ())
    outcome = report(release)["account"]
    assert f"together epsilon {epsilon:g}" in outcome
    assert f"{counts.alone:g} and the selections {alone:.4g}" in outcome
    why = ", in sum more, but delta covers that both lose so much in one run"
    assert outcome.endswith(why) == more


@pytest.mark.parametrize(
    ("neighbours", "outcome"),
    [
        (
            "add-remove",
            "sharpening: epsilon 0.7, however many edges there are: an example lies in the zone "
            "of one; noisy counts and selections: together epsilon 0.3, by the optimal account of "
            "a set cover, eta = 0.0764567 in each of 4 steps; alone the counts would cost 0.06 ",
        ),
        (
            "replace-one",
            "sharpening: epsilon 0.7, which is twice 0.35, however many edges there are: an "
            "example lies in the zone of one; noisy counts and selections: together epsilon 0.3, "
            "by the optimal account of a set cover, eta = 0.0382222 in each of 4 steps, which is "
            "twice 0.15 for adding or removing an example; alone the counts would cost 0.03 ",
        ),
    ],
)
def test_the_report_says_what_sharpening_costs(neighbours, outcome):
    spent = plan_sharpened(1.0, 1e-6, 4, 0.1, neighbours, private=True).spent
    release = CoverRelease("", HalfplaneLattice(8), (), spent, "disjunction", (), ())
    assert report(release)["account"].startswith(outcome)


def test_the_summary_says_that_edges_were_drawn_again(run):
    release = read_learned(run / "l.geojson").release
    zones = len(release.zones)
    assert zones > 3 * 3
    assert parts_text(release) == f"3 triangles with their edges drawn again in {zones} zones"


def test_the_records_say_first_that_they_are_private(run):
    lines = [json.loads(line) for line in (run / "s.jsonl").read_text().splitlines()]
    assert "Do not publish" in lines[0]["warning"]
    # three triangles, and the zones of their edges
    release = json.loads((run / "l.geojson").read_text())["geodp"]["release"]
    zones = len(release["zones"])
    assert zones > 3 * 3
    assert [line["step"] for line in lines[1:]] == list(range(1, 3 + zones + 1))
    # the last zone may say what is changed along all borders
    kinds = [sorted(set(line["release"]) - {"tidied"}) for line in lines[1:]]
    assert kinds == [["piece", "threshold"]] * 3 + [["box", "inside", "piece", "side"]] * zones
    positives = int(read_examples(run / "p.csv").labels.sum())
    assert lines[1]["private"]["positives_alive"] == positives
    assert len(lines[1]["release"]["piece"]) == 3


@pytest.mark.parametrize("road", ["points", "table", "compare"])
def test_one_class_is_told_on_a_terminal_alone(write, tmp_path, capsys, monkeypatch, road):
    """It is a fact about the examples."""
    rows = "".join(f"{x},{y},1\n" for x in range(30) for y in range(30))
    path = write("p.csv", f'# geodp {{"grid": 64}}\nx,y,label\n{rows}')
    learn = ["learn", "--learner", "histogram", "-o", tmp_path / "l.geojson"]
    argv = {
        "points": [*learn, path],
        "table": [*learn, "--table", f"csv:{path}"],
        "compare": ["compare", path, "--learners", "histogram"],
    }[road]
    assert geodp(*argv) == 0
    assert "all labels" not in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert geodp(*argv) == 0
    assert f"geodp: warning: {path}: all labels are 1\n" in capsys.readouterr().err
    assert geodp(*argv, "--quiet") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("learner", ["tiles", "cover", "quadtree", "histogram", "discs"])
def test_it_is_said_of_the_epsilon_that_was_given(write, tmp_path, capsys, learner):
    points = write("p.csv", "x,y,label\n1,2,1\n")
    k = ["--k", "2"] if learner in ("cover", "discs") else []
    argv = ["learn", points, "-o", tmp_path / "l.geojson", "--learner", learner, *k]
    line = fails(capsys, *argv, "--epsilon", "1e-11")
    assert re.search(
        r"epsilon is too small (for|to pay for) (a|one|\d+) .*choose a larger one", line
    )
    assert "e-" not in line


@pytest.mark.parametrize(
    ("argv", "outcome"),
    [
        (["--tiles", 60], "60 tiles a side are 3,600 tiles, learned one after the other: minutes"),
        (["--learner", "cover", "--k", 1000], "k = 1000 .* about 8,000 draws, one after the other"),
        (["--learner", "discs", "--k", 400], "k = 400 .* about 1,200 draws"),
    ],
)
def test_of_a_run_that_takes_minutes_it_is_said_before(
    write, tmp_path, capsys, monkeypatch, argv, outcome
):
    points = write("p.csv", "x,y,label\n1,2,1\n")

    def begun(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(verb, "fit_learner", begun)
    with contextlib.suppress(KeyboardInterrupt):
        main(["learn", str(points), "-o", str(tmp_path / "l.geojson"), *map(str, argv)])
    line = next(line for line in capsys.readouterr().err.splitlines() if "after" in line)
    assert re.match(rf"geodp: {outcome}", line)


# -- by tiles ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def by_tiles(run, tmp_path_factory) -> tuple[Path, str]:
    """A folder after a run by tiles on the same points, and what it said."""
    folder = tmp_path_factory.mktemp("by_tiles")
    argv = ["learn", run / "p.csv", "-o", folder / "l.geojson", "--picture", folder / "l.png"]
    argv += ["--report", folder / "r.json", "--records", folder / "s.jsonl"]
    with contextlib.redirect_stderr(io.StringIO()) as said:
        assert geodp(*argv) == 0
    return folder, said.getvalue()


def test_without_k_a_union_is_learned_by_tiles(by_tiles, run, capsys):
    folder, outcome = by_tiles
    release = read_learned(folder / "l.geojson").release
    assert isinstance(release, TilesRelease)
    # 2.6 (0.98 * 20,000 / 1000)^(1/4) = 5.47, which noise of some tens hardly moves, makes the list
    per_side = dict(release.parameters)["tiles"]
    assert per_side in (3, 4, 5, 8, 11, 15, 22)
    assert len(release.tiles) == per_side**2
    assert (
        f"{folder / 'l.geojson'}: {per_side**2} tiles, (1, 1e-40)-differentially private" in outcome
    )
    assert f"{folder / 'l.png'}: private" in outcome
    assert (folder / "l.png").read_bytes().startswith(b"\x89PNG\r\n")
    # measured: about 90 mistakes of 20,000; a cover of two triangles errs on some 10 %
    assert evaluate(folder / "l.geojson", run / "p.csv", capsys)["error"] < 0.02


def test_the_report_of_a_run_by_tiles_says_what_was_spent_and_on_what(by_tiles):
    report = json.loads((by_tiles[0] / "r.json").read_text())
    assert report["statement"].startswith("(1, 1e-40)-differentially private")
    assert report["account"] == (
        "noisy number of examples: epsilon 0.00995; noisy number of mistakes: epsilon 0.005; "
        "tile counts: epsilon 0.00995; selections: epsilon 0.9751, however many tiles there are: "
        "an example lies in one; 0.048755 of it chose how many there are"
    )
    assert "seed" not in report["release"]["parameters"]


@pytest.mark.parametrize("noise", [0.0, 0.25])
def test_where_many_labels_look_wrong_it_says_about_how_many(run, tmp_path, capsys, noise):
    points, out, report = (tmp_path / name for name in ("p.csv", "l.geojson", "r.json"))
    sample = ["sample", "--target", run / "t.geojson", "--n", N, "--grid", 256, "--noise", noise]
    for argv in (
        [*sample, "--seed", 3, "-o", points],
        ["learn", points, "--learner", "tiles", "--seed", 1, "-o", out, "--report", report],
    ):
        assert geodp(*argv) == 0
    found = re.findall(r"about (\d+) % of the labels look wrong", capsys.readouterr().err)
    outcome = json.loads(report.read_text())
    if noise:
        # the noise is some 280 of 20,000, and three in a hundred are taken to be bends
        assert 18 <= int(found[0]) <= 26
        assert outcome["wrong labels"].startswith(f"about {found[0]} % of the labels look wrong")
    else:
        assert not found
        assert "wrong labels" not in outcome


SENSELESS = [
    (
        ["--tiles", 2, "--learner", "cover", "--k", 3],
        "--tiles means nothing to cover: leave it out, or take --learner tiles or convex",
    ),
    (["--alpha", 0.1], "--alpha means nothing to tiles: leave it out, or take --learner cover or"),
    (
        ["--learner", "cover", "--k", 2, "--steps", 3, "--alpha", 0.1],
        "--steps and --alpha both choose",
    ),
    (["--tiles", 0], "--tiles: must lie between 1 and 128, not 0"),
    (["--k", 3], "--k means nothing to tiles: with k pieces it is --learner cover --k K"),
    (
        ["--learner", "convex", "--k", 3],
        "--k means nothing to convex: with k pieces it is --learner convex-cover --k K",
    ),
    (["--learner", "union"], "the learner 'union' is now called cover or tiles"),
    (
        ["--learner", "cover", "--k", 1000, "--alpha", 1e-99],
        "--alpha 1e-99 with --k 1000 asks for 457,299 steps",
    ),
]


@pytest.mark.parametrize(("options", "reason"), SENSELESS)
def test_options_that_do_not_go_together_are_refused(run, tmp_path, capsys, options, reason):
    argv = ["learn", run / "p.csv", "-o", tmp_path / "l.geojson", *options]
    assert reason in fails(capsys, *argv)
    assert os.listdir(tmp_path) == []


WRONG_ENDINGS = [
    ("learn", ["p.csv", "-o", "l.kml"], "l.kml: a shape is what is written", ".geojson or .json"),
    ("learn", ["p.csv", "-o", "l.json", "--picture", "p.jpg"], "p.jpg: PNG", ".png"),
    ("learn", ["p.csv", "-o", "l.json", "--report", "r.txt"], "r.txt: JSON is", ".json"),
    ("learn", ["p.csv", "-o", "l.json", "--records", "s.json"], "s.json: JSON lines", ".jsonl or"),
    ("learn", ["--table", "csv:p.csv", "-o", "l.tif"], "l.tif: a shape", ".geojson or"),
    ("sample", ["--target", "t.geojson", "--n", "5", "-o", "q.parquet"], "q.parquet: CSV", ".csv"),
    ("shot", ["-o", "w.svg"], "w.svg: PNG", ".png"),
    ("shot", ["-o", "w.png", "--learned", "l.kml"], "l.kml: GeoJSON", ".geojson or .json"),
    ("audit", ["--learner", "threshold", "--plot", "a.png"], "a.png: SVG", ".svg"),
    ("compare", ["p.csv", "-o", "s.geojson"], "s.geojson: would be a folder", "leave it out"),
]


@pytest.mark.parametrize(("verb", "argv", "reason", "goes"), WRONG_ENDINGS)
def test_a_name_that_says_something_else_than_the_file_is_refused(
    run, capsys, monkeypatch, verb, argv, reason, goes
):
    monkeypatch.chdir(run)
    before = sorted(os.listdir(run))
    line = fails(capsys, verb, *argv)
    assert reason in line
    assert goes in line
    assert sorted(os.listdir(run)) == before


def test_endings_in_any_case_and_names_without_one_go(run, tmp_path):
    argv = ["learn", run / "p.csv", "--learner", "threshold", "--quiet", "-o"]
    for name in ("a.GeoJSON", "b.json", "c"):
        assert geodp(*argv, tmp_path / name) == 0
        assert read_learned(tmp_path / name).release is not None


def test_a_shape_without_bounds_is_said_to_lie_nowhere(write, run, tmp_path, capsys):
    points, out = write("p.csv", "x,y,label\n3,4,1\n60,6,0\n"), tmp_path / "l.geojson"
    argv = ["learn", points, "--grid", 64, "--learner", "threshold", "-o", out]
    note = f"{out}: lies at 0..1 degrees, in the Gulf of Guinea, because no bounds are known"
    for more, outcome in (([], True), (["--raw-grid"], False), (["--bounds", "9,9,21,21"], False)):
        assert geodp(*argv, *more) == 0
        assert (note in capsys.readouterr().err) == outcome
    folder = tmp_path / "s"
    assert main(["compare", str(write("q.csv", "x,y,label\n" + "3,4,1\n6,6,0\n" * 200)),
                 "--grid", "64", "--learners", "tiles", "-o", str(folder)]) == 0  # fmt: skip
    assert f"{folder}: lies at 0..1 degrees" in capsys.readouterr().err


def test_what_is_private_is_its_owners_alone(run, tmp_path):
    names = {"-o": "l.geojson", "--report": "r.json", "--records": "s.jsonl", "--picture": "p.png"}
    outputs = {option: tmp_path / name for option, name in names.items()}
    before = os.umask(0o022)
    try:
        for path in outputs.values():  # files that all may read are there
            path.touch(0o644)
        argv = ["learn", run / "p.csv", "--learner", "threshold", "--quiet"]
        assert main([*map(str, argv), *(str(a) for pair in outputs.items() for a in pair)]) == 0
    finally:
        os.umask(before)
    modes = {option: path.stat().st_mode & 0o777 for option, path in outputs.items()}
    assert modes == {"-o": 0o644, "--report": 0o644, "--records": 0o600, "--picture": 0o600}


# -- no examples ------------------------------------------------------------------------------


OF_NOBODY = ("", "--edges 1", "--tiles 2", "--learner cover --k 2", "--learner convex",
             "--learner convex-cover --k 3", "--learner threshold", "--learner discs",
             "--learner ellipses --k 2", "--learner stability")  # fmt: skip


@pytest.mark.parametrize(("number", "options"), [*enumerate(OF_NOBODY)])
def test_no_examples_and_one_end_alike(write, tmp_path, capsys, number, options):
    """They are neighbours: a refusal of one of them would tell them apart for sure."""
    head = '# geodp {"grid": 16, "bounds": [9, 9, 21, 21]}\n' if number % 2 else ""
    options = options.split()
    frame = [] if head else ["--grid", 16]
    for name, rows in (("none", ""), ("one", "3,4,1\n")):
        points, out = write(f"{name}.csv", f"{head}x,y,label\n{rows}"), tmp_path / f"{name}.geojson"
        argv = ["learn", points, *frame, *options, "--report", tmp_path / "r.json", "-o", out]
        argv += ["--records", tmp_path / "s.jsonl"]
        assert geodp(*argv) == 0
        assert read_learned(out).release.privacy.private
        assert capsys.readouterr().out == ""


def test_a_picture_of_no_examples_is_drawn(write, tmp_path):
    points, picture = write("p.csv", "x,y,label\n"), tmp_path / "p.png"
    argv = ["learn", points, "--grid", 16, "--picture", picture, "-o", tmp_path / "l.geojson"]
    assert geodp(*argv) == 0
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
