"""The command line: what it prints and writes in any terminal, and one line for wrong input."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from known_targets import square_geojson
from terminal import fails, geodp, printed

from geodp import Bounds, Frame, LearnedShape, save
from geodp_app.cli import VERBS, join_negative_values, main
from geodp_app.files.learned_file import read_learned
from geodp_app.files.points import read_examples
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.core.releases import CoverRelease, Release
from learners.theory.theorems import THEOREMS

ROOT = Path(__file__).parents[3]
CSV = "x,y,label\n3,4,1\n5,6,0\n7,7,1\n"


def left_half(d: int = 1024) -> Release:
    """A hypothesis to evaluate: x <= d/2, as the conjunction of one halfplane."""
    lattice = HalfplaneLattice(d)
    middle = (d // 2) << lattice.bits
    piece = (Halfplane(lattice, Sheet.STEEP_LEFT, middle, middle),)
    return CoverRelease("hand", lattice, (), None, "conjunction", (piece,), (0,))


# -- sample ------------------------------------------------------------------------------------


def test_sample_writes_the_frame_that_learn_needs(write, tmp_path, capsys):
    target, out = write("t.geojson", square_geojson(10, 20)), tmp_path / "p.csv"
    argv = ["sample", "--target", target, "--n", 500, "--grid", 60, "--seed", 1, "-o", out]
    assert geodp(*argv) == 0
    assert "500 examples" in capsys.readouterr().err
    first, header = out.read_text().splitlines()[:2]
    assert first == '# geodp {"grid": 60, "bounds": [9.0, 9.0, 21.0, 21.0], "simulated": true}'
    assert header == "x,y,label"
    examples = read_examples(out)
    inside = ((examples.points >= 5) & (examples.points <= 55)).all(axis=1)
    assert (examples.labels == inside).all()


BOW_TIE = '{"type": "Polygon", "coordinates": [[[0,0],[2,2],[2,0],[0,2],[0,0]]]}'


@pytest.mark.parametrize(
    ("content", "reason"), [("{", "not JSON"), (BOW_TIE, "crosses or touches itself")]
)
def test_an_unusable_target_is_named(write, tmp_path, capsys, content, reason):
    target, out = write("t.geojson", content), tmp_path / "p.csv"
    line = fails(capsys, "sample", "--target", target, "--n", 5, "-o", out)
    assert str(target) in line
    assert reason in line
    assert not out.exists()


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--n", "0", "--n: must be at least 1"),
        ("--n", "1000000000", "--n: must be at most"),
        ("--grid", "0", "outside 1..1048576"),
        ("--noise", "1.5", "--noise: must lie between 0 and 1"),
        ("--seed", "-1", "must not be negative"),
        ("--distribution", "painted", "invalid choice: 'painted'"),
        ("--bounds", "1,2,3", "needs four numbers"),
        ("--bounds", "1,2,3,x", "'x' is not a finite number"),
        ("--bounds", "-10,20,-20,30", "west"),
    ],
)
def test_a_wrong_option_of_sample_is_named(write, tmp_path, capsys, option, value, reason):
    target = write("t.geojson", square_geojson(10, 20))
    out = tmp_path / "p.csv"
    base = ["sample", "--target", target, "--n", 5, "-o", out]
    assert reason in fails(capsys, *base, option, value)
    assert not out.exists()


def test_bounds_may_start_with_a_minus_and_quiet_is_quiet(write, tmp_path, capsys):
    target, out = write("t.geojson", square_geojson(-5, 5)), tmp_path / "p.csv"
    argv = ["sample", "--target", str(target), "--n", "5", "-o", str(out)]
    assert main([*argv, "--bounds", "-10,-10,10,10", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    assert read_examples(out).frame.bounds.as_tuple() == (-10, -10, 10, 10)
    assert join_negative_values(["--bounds", "1,2", "-o"]) == ["--bounds", "1,2", "-o"]


# -- cancelling --------------------------------------------------------------------------------


def test_ctrl_c_while_the_command_is_loaded_is_one_line(tmp_path):
    (tmp_path / "numpy.py").write_text(
        "import time\ntry:\n    print('loading', flush=True)\n    time.sleep(60)\n"
        "except BaseException as error:\n    raise ImportError('another word') from error\n"
    )
    with subprocess.Popen(
        [sys.executable, "-m", "geodp_app", "plan"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "loading\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert said == "geodp: cancelled; nothing was written\n"


# -- evaluate ----------------------------------------------------------------------------------


def labelled(points: np.ndarray) -> str:
    """CSV of points with the labels of x <= 512, the last label wrong."""
    labels = (points[:, 0] <= 512).astype(int)
    labels[-1] = 1 - labels[-1]
    rows = zip(points.tolist(), labels.tolist(), strict=True)
    return "x,y,label\n" + "".join(f"{x},{y},{s}\n" for (x, y), s in rows)


@pytest.fixture
def halves(tmp_path, write) -> tuple[Path, Path]:
    """A learned left half, and 200 examples of it of which one is wrong (a false positive)."""
    rng = np.random.default_rng(0)
    points = rng.integers(0, 1025, (200, 2))
    points[-1] = (800, 3)
    points[:3, 0] = 512  # on the line: inside
    learned = tmp_path / "l.geojson"
    save(LearnedShape(left_half(), Frame(1024)), learned)
    return learned, write("p.csv", labelled(points))


def test_evaluate_counts_errors_exactly(halves, capsys):
    figures = printed(capsys, "evaluate", *halves)
    assert figures["examples"] == 200
    assert figures["errors"] == figures["false_negatives"] == 1
    assert figures["false_positives"] == 0
    assert figures["error"] == pytest.approx(1 / 200)
    assert figures["decided_by"] == "halfplanes"


def test_evaluate_prints_a_table_and_says_that_it_is_private(halves, capsys):
    assert main(["evaluate", *map(str, halves)]) == 0
    out = capsys.readouterr().out
    assert "0.5000%" in out
    assert "1 of 200" in out
    assert "private" in out


def test_evaluate_and_compare_refuse_no_examples(halves, write, capsys):
    learned, points = halves
    empty = write("none.csv", '# geodp {"grid": 1024}\nx,y,label\n')
    refused = f"geodp: {empty}: has no examples to compare"
    assert fails(capsys, "evaluate", learned, empty) == f"{refused} with\n"
    assert fails(capsys, "compare", empty) == f"{refused} on\n"
    assert fails(capsys, "compare", points, "--test", empty) == f"{refused} on\n"


def test_evaluate_polygons_in_degrees_needs_bounds(write, capsys):
    target = write("t.geojson", square_geojson(10, 20))
    points = write("p.csv", "x,y,label\n5,5,1\n9,5,0\n")
    assert "give --bounds" in fails(capsys, "evaluate", target, points)
    argv = ["evaluate", target, points, "--grid", 10, "--bounds", "10,10,30,30", "--json"]
    assert geodp(*argv) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["errors"], figures["decided_by"]) == (0, "polygons")


def test_evaluate_brings_another_frame_into_its_own(tmp_path, write, capsys):
    learned = tmp_path / "l.geojson"
    save(LearnedShape(left_half(), Frame(1024, Bounds(0, 0, 20, 20))), learned)
    # another grid over another box: x = 0..10 on degrees 5..15, so x <= 5 is inside
    mark = '# geodp {"grid": 10, "bounds": [5, 5, 15, 15]}\n'
    points = write("p.csv", mark + "x,y,label\n0,0,1\n5,5,1\n6,5,0\n10,10,0\n")
    assert printed(capsys, "evaluate", learned, points)["errors"] == 0
    degrees = write("q.csv", "lon,lat,label\n10,3,1\n10.1,3,0\n20,20,0\n0,0,1\n")
    assert printed(capsys, "evaluate", learned, degrees)["errors"] == 0
    far = write("r.csv", '# geodp {"bounds": [5, 5, 50, 50]}\nx,y,label\n0,0,1\n1024,0,0\n')
    assert "does not cover the examples" in fails(capsys, "evaluate", learned, far)
    other = write("s.csv", '# geodp {"grid": 512, "bounds": [0, 0, 1, 1]}\nx,y,label\n0,0,1\n')
    save(LearnedShape(left_half(), Frame(1024)), learned)
    assert "bounds that could match" in fails(capsys, "evaluate", learned, other)


def test_the_same_box_on_a_finer_grid_matches_to_its_corners(tmp_path, write, capsys):
    box = Bounds(13.1, 42.3, 20.7, 47.9)
    learned = tmp_path / "l.geojson"
    save(LearnedShape(left_half(), Frame(1024, box)), learned)
    mark = f'# geodp {{"grid": 3, "bounds": {list(box.as_tuple())}}}\n'
    points = write("p.csv", mark + "x,y,label\n0,0,1\n3,3,0\n0,3,1\n1,1,1\n2,1,0\n")
    assert printed(capsys, "evaluate", learned, points)["errors"] == 0


def test_a_damaged_release_is_named(halves, write, capsys):
    learned, points = halves
    document = json.loads(learned.read_text())
    del document["geodp"]["release"]["pieces"]
    broken = write("b.geojson", document)
    assert "geodp.release: not a learned hypothesis" in fails(capsys, "evaluate", broken, points)
    document = json.loads(learned.read_text())
    document["geodp"]["grid"] = 512
    assert "its release says 1024" in fails(
        capsys, "evaluate", write("b.geojson", document), points
    )
    document["features"] = []
    del document["geodp"]["release"], document["bbox"]
    assert "no polygons" in fails(capsys, "evaluate", write("b.geojson", document), points)


def test_a_missing_file_is_named(halves, tmp_path, capsys):
    learned, points = halves
    none = tmp_path / "none"
    assert f"{none}: No such file" in fails(capsys, "evaluate", none, points)
    assert f"{none}: cannot be read: No such file" in fails(capsys, "evaluate", learned, none)
    assert f"{tmp_path}: " in fails(capsys, "evaluate", tmp_path, points)


# -- plan --------------------------------------------------------------------------------------


def test_plan_answers_in_both_directions(capsys):
    argv = ["plan", "--learner", "cover", "--k", "4", "--alpha", ".1", "--epsilon", "1"]
    argv += ["--grid", "1024", "--json"]
    assert main(argv) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["steps"] == 24  # ceil(2 * 4 * ln 20)
    assert main([*argv, "--n", str(plan["examples"])]) == 0
    assert json.loads(capsys.readouterr().out)["alpha"] == pytest.approx(0.1, rel=2e-3)


def test_plan_names_the_command_that_its_guarantee_is_for(capsys):
    assert main(["plan", "--learner", "convex-cover", "--k", "3"]) == 0
    out = capsys.readouterr().out
    assert "examples suffice for error at most 0.1" in out
    assert "--learner convex-cover --k 3 --steps 18 --beta 0.03333" in out
    assert "--finish" not in out  # nothing follows its halfplanes
    assert main(["plan", "--learner", "cover", "--k", "4", "--n", "100"]) == 0
    assert "guarantee void" in capsys.readouterr().out


def test_the_command_of_a_plan_stops_at_the_triangles_as_the_theorem_does(capsys, write, tmp_path):
    assert main(["plan", "--learner", "cover", "--k", "2", "--alpha", ".5", "--grid", "64"]) == 0
    out = capsys.readouterr().out
    (line,) = (line for line in out.splitlines() if line.startswith("The guarantee is for: "))
    assert line.endswith(" --measure chord --finish none")
    name, verb, *options = line.removeprefix("The guarantee is for: ").split()
    assert (name, verb) == ("geodp", "learn")
    learned = tmp_path / "l.geojson"
    points = write("p.csv", "x,y,label\n3,4,1\n50,6,0\n")
    assert main(["learn", str(points), *options, "-o", str(learned), "--quiet"]) == 0
    release = read_learned(learned).release
    assert release.kind == "cover"
    assert f"{len(release.pieces)} steps for k = 2 triangles" in out


def test_a_plan_without_k_tells_what_runs_by_tiles_reached(capsys):
    assert main(["plan", "--n", "9000"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("In practice, with 9,000 examples at epsilon = 1 and right labels, ")
    assert "for shapes of few edges" in out
    assert "for outlines with many bends, such as coasts" in out
    assert "not proved" in out
    outcome = printed(capsys, "plan", "--n", 9_000)
    assert (outcome["k"], outcome["examples"], outcome["proved"]) == (None, 9_000, False)
    drawn, outlines = (kind["error"] for kind in outcome["in_practice"])
    # what runs reached: star and three; Croatia and Italy
    assert drawn[0] < 0.008 < 0.01 < drawn[1]
    assert outlines[0] < 0.021 < 0.026 < outlines[1]
    half = printed(capsys, "plan", "--n", 9_000, "--epsilon", 2, "--neighbours", "replace-one")
    assert half["in_practice"] == outcome["in_practice"]
    assert "--beta means nothing to tiles" in fails(capsys, "plan", "--beta", ".1")


def test_plan_and_learn_mean_the_same_learner(capsys):
    """A convex polygon goes by tiles unless --k is given."""
    outcome = printed(capsys, "plan", "--learner", "convex", "--n", 10_000)
    assert (outcome["learner"], outcome["k"], outcome["proved"]) == ("convex", None, False)
    (kind,) = outcome["in_practice"]
    assert kind["shapes"] == "convex shapes of few edges"
    cover = printed(capsys, "plan", "--learner", "convex-cover", "--k", 4, "--n", 10_000)
    assert cover["k"] == 4
    assert cover["alpha"] is None  # nothing is proved for so few
    assert cover["in_practice"][0]["shapes"] == "convex polygons of 4 edges"


# -- options that learn and plan share ---------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--epsilon", "0", "--epsilon: must be above 0"),
        ("--epsilon", "inf", "not a finite number"),
        ("--epsilon", "1e300", "--epsilon: must be below 1e+300, not 1e300"),
        ("--delta", "0", "--delta: must lie strictly between 0 and 1"),
        ("--delta", "1", "--delta: must lie strictly between 0 and 1"),
        ("--delta", "nan", "not a finite number"),
        ("--k", "0", "--k: must lie between 1 and 1000"),
        ("--k", "1e2", "'1e2' is not an integer in digits"),
        ("--alpha", "1", "--alpha: must lie strictly"),
        ("--grid", "1048577", "outside 1..1048576, where counting is exact"),
        ("--learner", "star", "unknown learner 'star': use cover"),
        ("--neighbours", "none", "invalid choice: 'none'"),
    ],
)
def test_a_wrong_parameter_is_named(write, tmp_path, capsys, option, value, reason):
    out = tmp_path / "l.geojson"
    for base in (["learn", write("p.csv", CSV), "-o", out], ["plan"]):
        assert reason in fails(capsys, *base, option, value)
    assert not out.exists()


def test_what_no_plan_takes_is_not_said_of_one_way_of_planning(capsys):
    assert fails(capsys, "plan", "--delta", 1e-50).startswith("geodp: delta must be at least")


def test_the_command_itself(capsys):
    assert "invalid choice: 'lern'" in fails(capsys, "lern")
    assert "required: -o/--output" in fails(capsys, "sample", "--target", "t", "--n", 5)
    words = "unrecognized arguments: --fast (see geodp plan --help)"
    assert words in fails(capsys, "plan", "--fast")
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("geodp 0.")
    for verb in ("sample", "learn", "evaluate", "plan", "shot"):
        assert main([verb, "--help"]) == 0
        assert f"usage: geodp {verb}" in capsys.readouterr().out


# -- terminals of any letters, and numbers of any size ---------------------------------------------


def said(monkeypatch: pytest.MonkeyPatch, encoding: str, *argv: object) -> tuple[int, str]:
    """The exit code, and what is read of a terminal of that encoding."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
    for name, stream in zip(("stdout", "stderr"), streams, strict=True):
        monkeypatch.setattr(sys, name, stream)
    code = geodp(*argv)
    for stream in streams:
        stream.flush()
    written = b"".join(stream.buffer.getvalue() for stream in streams)  # type: ignore[attr-defined]
    return code, written.decode(encoding)


ENCODINGS = ("cp437", "cp1252", "ascii", "utf-8")
#: The verb of the most letters in all of them, the others by turns.
HELP = [("learn", encoding) for encoding in ENCODINGS]
HELP += [(verb, ENCODINGS[i % 4]) for i, verb in enumerate(VERBS) if verb != "learn"]


@pytest.mark.parametrize(("verb", "encoding"), HELP)
def test_help_is_read_in_any_terminal(monkeypatch, verb, encoding):
    code, text = said(monkeypatch, encoding, verb, "--help")
    assert code == 0
    assert text.startswith("usage: geodp")
    if verb == "learn":
        assert ("\u03b5" if encoding in ("utf-8", "cp437") else "epsilon") in text
        assert "?" not in text


@pytest.mark.parametrize("encoding", ENCODINGS[1:3])
@pytest.mark.parametrize(
    "argv",
    [
        ["plan", "--alpha", 0.01], ["plan", "--learner", "cover", "--k", 2], ["plan", "--theorems"],
        ["plan", "--learner", "cover"], ["learners"], ["learners", "--markdown"],
        ["learn", "\u65e5.csv"],
    ],
)  # fmt: skip
def test_output_is_read_in_any_terminal(monkeypatch, encoding, argv):
    code, text = said(monkeypatch, encoding, *argv)
    assert code == (2 if argv[0] == "learn" else 0)
    assert text


LEARNERS = [
    ("tiles", []), ("cover", ["--k", 1]), ("cover", ["--k", 30]), ("convex-cover", ["--k", 3]),
    ("discs", ["--k", 2]), ("threshold", []), ("stability", []), ("cover", []), ("convex", []),
]  # fmt: skip
EXTREMES = [
    {"epsilon": 1e6, "alpha": 1e-300}, {"epsilon": 1e6}, {"epsilon": 1e300, "n": 100},
    {"epsilon": 1e-300}, {"alpha": 1e-320}, {"alpha": 1 - 1e-16}, {"beta": 1e-320},
    {"n": 10**30}, {"n": 10**400}, {"delta": 1 - 1e-16}, {"delta": 1e-320},
]  # fmt: skip


def check(capsys: pytest.CaptureFixture[str], argv: list[object]) -> None:
    """An answer in finite numbers, or one line that says why there is none."""
    code = geodp(*argv)
    out, err = capsys.readouterr()
    outcome = [line for line in err.splitlines() if not line.startswith("geodp: warning")]
    assert code in (0, 2), argv
    assert len(outcome) == (code == 2), argv
    assert not {"nan", "inf"} & set(out.split()), argv
    if code == 0 and "--json" in argv:
        json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} in {argv}"))


@pytest.mark.parametrize(("learner", "k"), LEARNERS, ids=lambda one: "".join(map(str, one)))
def test_plans_at_extreme_numbers(capsys, learner, k):
    for number, extreme in enumerate(EXTREMES):
        taken = {n: v for n, v in extreme.items() if not (n == "beta" and learner == "stability")}
        options = [one for name, value in taken.items() for one in (f"--{name}", value)]
        more = ["--json"] if (number + LEARNERS.index((learner, k))) % 2 else []
        check(capsys, ["plan", "--learner", learner, *k, *options, *more])


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda one: one.name)
def test_theorems_at_extreme_numbers(capsys: pytest.CaptureFixture[str], theorem: object) -> None:
    given = {"k": 3, "d": 8, "size": 100, "vc": 3, "experts": 5, "queries": 100, "halts": 3}
    given |= {"stable": 1}
    needs = {name: value for name, value in given.items() if name in theorem.needs}  # type: ignore[attr-defined]
    for extreme in EXTREMES:
        options = [one for pair in (needs | extreme).items() for one in (f"--{pair[0]}", pair[1])]
        check(capsys, ["plan", "--theorem", theorem.name, *options])  # type: ignore[attr-defined]
