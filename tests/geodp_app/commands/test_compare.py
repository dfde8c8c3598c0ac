"""`geodp compare`, its engine, and `geodp rehearse`: rows, sums of epsilon, whole folders."""

import csv
import os
import shlex
from pathlib import Path

import numpy as np
import pytest
import shapely
from known_targets import square_geojson
from shapely.geometry import box
from terminal import fails, geodp as command_line, printed

import assets
import geodp
from geodp import Examples, Frame, InputError
from geodp_app.cli import build_parser, main
from geodp_app.commands import Parser, compare as command
from geodp_app.commands.arguments import add_verb
from geodp_app.document.examples import hold_out
from geodp_app.files.learned_file import read_learned
from geodp_app.files.points import format_examples, read_examples
from geodp_app.runs import comparison, rehearsal
from geodp_app.runs.comparison import (
    KINDS,
    Contender,
    Progress,
    compare,
    count_vertices,
    make_contender,
    total_spent,
)
from geodp_app.runs.rehearsal import contenders_of, rehearse
from learners.core.selection import Cancelled

D = 64


def triangle(n: int, seed: int = 0) -> Examples:
    """Examples of the lower left half of a grid."""
    points = np.random.default_rng(seed).integers(0, D + 1, (n, 2))
    return Examples(points, (points.sum(axis=1) <= D).astype(np.int64), Frame(D))


@pytest.fixture
def points(write) -> Path:
    """4,000 examples of the half grid, in a file."""
    return write("p.csv", format_examples(triangle(4_000)))


def run(capsys, *argv: object) -> str:
    """What a command that must work prints."""
    assert main(["compare", *map(str, argv)]) == 0
    return capsys.readouterr().out


# -- the command -------------------------------------------------------------------------------


def test_the_default_learners_have_a_row_each(points, capsys):
    lines = run(capsys, points).splitlines()
    assert lines[0].split() == [
        "learner", "private", "epsilon", "delta", "test", "error", "seconds", "bytes", "vertices",
    ]  # fmt: skip
    assert [line.split()[:3] for line in lines[1:4]] == [
        ["tiles", "yes", "1"],
        ["histogram", "yes", "1"],
        ["quadtree", "yes", "1"],
    ]
    assert lines[4] == ""


def test_epsilons_add_up_and_errors_are_for_the_curator(points, capsys):
    argv = [points, "--learners", "tiles,cover,greedy-cover", "--k", 1, "--epsilon", 0.5]
    out = run(capsys, *argv)
    assert "The 2 private learners together spend epsilon = 1, delta = 1e-06" in out
    assert "add up" in out
    assert "Not private, for comparison only: greedy-cover. Do not publish." in out
    assert "for the curator's eyes" in out
    assert "held out to test on" in out
    alone = run(capsys, points, "--learners", "cover", "--k", 1, "--epsilon", 0.5)
    assert "The private learner spends epsilon = 0.5, delta = 1e-06" in alone


def test_shapes_are_written_and_are_what_was_tested(points, write, tmp_path, capsys):
    test = write("t.csv", format_examples(triangle(1_000, seed=1)))
    folder = tmp_path / "shapes"
    argv = [points, "--test", test, "--learners", "tiles,greedy-cover", "--k", 1, "-o", folder]
    document = printed(capsys, "compare", *argv)
    assert (document["examples"], document["test_examples"]) == (4_000, 1_000)
    assert document["held_out"] is False
    assert document["together"]["epsilon"] == 1.0
    assert "curator" in document["warning"]
    stated = [[row[key] for key in ("private", "epsilon", "name")] for row in document["learners"]]
    assert stated == [[True, 1.0, "tiles"], [False, None, "greedy-cover"]]
    assert sorted(os.listdir(folder)) == ["greedy-cover.geojson", "tiles.geojson"]
    assert sorted(os.listdir(tmp_path)) == ["p.csv", "shapes", "t.csv"]
    for row in document["learners"]:
        assert row["file"] == str(folder / f"{row['name']}.geojson")
        assert row["errors"] == row["false_positives"] + row["false_negatives"]
        assert row["error"] == row["errors"] / 1_000 < 0.1
        assert Path(row["file"]).stat().st_size == row["bytes"]
        learned, examples = read_learned(Path(row["file"])), read_examples(test)
        assert (learned.predict(examples) != examples.labels).sum() == row["errors"]
        assert count_vertices(learned.target.geometry) == row["vertices"]


def test_shapes_of_examples_in_degrees_lie_in_degrees(write, tmp_path, capsys):
    target, points = write("t.geojson", square_geojson(10, 20)), tmp_path / "p.csv"
    sample = ["sample", "--target", target, "--n", 3_000, "--grid", D, "-o", points, "--quiet"]
    assert command_line(*sample) == 0
    run(capsys, points, "--learners", "tiles", "-o", tmp_path / "s")
    shape = read_learned(tmp_path / "s" / "tiles.geojson").target.geometry
    assert shape.symmetric_difference(shapely.box(10, 10, 20, 20)).area < 0.2 * 100


def test_a_seed_repeats_a_comparison_and_voids_its_privacy(points, capsys):
    argv = [points, "--learners", "tiles", "--seed", 5]
    first = printed(capsys, "compare", *argv)
    again = printed(capsys, "compare", *argv)
    keys = ("name", "errors", "bytes", "vertices", "private")
    assert [first["learners"][0][key] for key in keys] == [
        again["learners"][0][key] for key in keys
    ]
    assert first["test_examples"] == again["test_examples"]
    assert first["learners"][0]["private"] is False
    assert first["seeded"] is True
    assert "nothing here is private" in run(capsys, *argv)


def test_k_brings_the_learners_that_need_it(points):
    options = Parser()
    verbs = options.add_subparsers()
    add_verb(verbs, "compare", command)

    def chosen(*argv: object) -> list[str]:
        parsed = options.parse_args(["compare", str(points), *map(str, argv)])
        found = comparison.make_contenders(parsed.learners, k=parsed.k)
        return [contender.name for contender in found]

    assert chosen() == ["tiles", "histogram", "quadtree"]
    assert chosen("--k", 2) == ["tiles", "histogram", "quadtree", "cover", "greedy-cover"]
    assert chosen("--learners", "cover, tiles", "--k", 2) == ["cover", "tiles"]


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["--learners", "tiles,forest"], "--learners: unknown learner 'forest': use cover, tiles,"),
        (["--learners", "tiles,tiles"], "--learners: tiles is there twice"),
        (["--learners", ""], "unknown learner ''"),
        (["--learners", "discs"], "discs needs --k: discs that cover the region"),
        (["--learners", "convex-cover"], "convex-cover needs --k: edges of the convex polygon"),
        (["--learners", "tiles", "--k", "3"], "--k is for learners that need it; tiles take no k"),
        (["--holdout", "1"], "--holdout: must lie strictly between 0 and 1"),
        (["--holdout", "0.2", "--test", "p.csv"], "not allowed with argument"),
        (
            ["--epsilon", "1e-12", "--learners", "tiles"],
            "tiles: epsilon is too small to pay for one selection",
        ),
        (["--test", "none.csv"], "none.csv: cannot be read: No such file"),
    ],
)
def test_wrong_options_are_named(points, tmp_path, capsys, argv, reason):
    assert reason in fails(capsys, "compare", points, *argv, "-o", tmp_path / "s")
    assert os.listdir(tmp_path) == ["p.csv"]


# -- the folder --------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_made_is_found_first(points, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(comparison, "compare", lambda *args: pytest.fail("learned first"))
    assert "is a file; name a new folder" in fails(capsys, "compare", points, "-o", points)
    assert "is not empty; name a new folder" in fails(capsys, "compare", points, "-o", tmp_path)
    assert "there is no folder" in fails(capsys, "compare", points, "-o", tmp_path / "a" / "b")
    assert "cannot write to /proc" in fails(capsys, "compare", points, "-o", "/proc/shapes")


def test_shapes_that_are_not_private_are_their_owners_alone(points, tmp_path, capsys):
    folder = tmp_path / "s"
    folder.mkdir()  # an empty one is filled
    before = os.umask(0o022)
    try:
        run(capsys, points, "--learners", "tiles,greedy-cover", "--k", 1, "-o", folder)
    finally:
        os.umask(before)
    modes = {path.stem: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == {"tiles": 0o644, "greedy-cover": 0o600}


def test_ctrl_c_leaves_nothing(points, tmp_path, capsys, monkeypatch):
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    argv = ["compare", points, "--learners", "tiles", "-o", tmp_path / "s"]
    for home, name in ((os, "replace"), (command, "compare")):
        with monkeypatch.context() as patch:
            patch.setattr(home, name, interrupted)
            assert command_line(*argv) == 130
        assert capsys.readouterr().err == "geodp: cancelled; nothing was written\n"
        assert os.listdir(tmp_path) == ["p.csv"]


# -- the engine --------------------------------------------------------------------------------


def test_every_kind_learns_a_triangle():
    # by votes it takes hundreds of chunks: below, with a larger epsilon; a triangle is no disc
    others = ("stability", "discs", "ellipses", "threshold")
    kinds = {name: kind for name, kind in KINDS.items() if name not in others}
    contenders = [make_contender(name, k=3, seed=1) for name in kinds]
    rows = list(compare(triangle(6_000), triangle(2_000, seed=1), contenders))
    assert [row.name for row in rows] == list(kinds)
    for row in rows:
        assert row.error < 0.2, row.name
        assert row.tested == 2_000
        assert (row.privacy is not None) is KINDS[row.name].private
        assert row.private is False  # seeded
        assert row.shape.is_valid
        assert row.bytes == len(row.geojson)
        assert row.seconds > 0
    assert total_spent(rows)[0] == sum(kind.private for kind in kinds.values())


def test_the_watch_hears_of_every_learner_and_step():
    heard: list[Progress] = []
    contenders = [make_contender(name, k=2, seed=0) for name in ("tiles", "cover")]
    list(compare(triangle(500), triangle(50), contenders, heard.append))
    assert heard[0] == Progress("tiles", 1, 2)
    shares = [p.share for p in heard[len(contenders) :]]  # the trials come first
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    steps = [(p.name, p.number, p.step, p.steps) for p in heard]
    # four triangles, and three zones each
    assert ("cover", 2, 16, 16) in steps


def test_the_watch_may_cancel_between_learners_and_inside():
    examples = triangle(500)
    contenders = [make_contender(name, k=2, seed=0) for name in ("tiles", "cover")]

    def stop_at(name: str, step: int):
        def watch(progress: Progress) -> None:
            if progress.name == name and progress.step == step and progress.steps:
                raise Cancelled

        return watch

    with pytest.raises(Cancelled):
        next(compare(examples, examples, contenders, stop_at("tiles", 1)))
    rows = compare(examples, examples, contenders, stop_at("cover", 3))
    assert next(rows).name == "tiles"
    with pytest.raises(Cancelled):
        next(rows)


def test_what_cannot_be_compared_is_refused_at_the_call():
    examples, tiles = triangle(100), make_contender("tiles")
    nothing = Examples(examples.points[:0], examples.labels[:0], examples.frame)
    with pytest.raises(InputError, match="no test examples"):
        compare(examples, nothing, [tiles])
    with pytest.raises(InputError, match="examples and test examples differ"):
        compare(examples, Examples(examples.points, examples.labels, Frame(100)), [tiles])
    with pytest.raises(InputError, match="same name: tiles, tiles"):
        compare(examples, examples, [tiles, tiles])
    wrong = Contender("odd", KINDS["tiles"], (("epsilon", -1.0),))
    with pytest.raises(InputError, match="odd: epsilon must be a number and be above 0"):
        compare(examples, examples, [tiles, wrong])


def test_a_learner_with_settings_of_its_own_keeps_its_name():
    kind = KINDS["tiles"]
    contenders = [
        Contender(f"tiles-{side}", kind, (("tiles", side), ("seed", 0))) for side in (1, 3)
    ]
    rows = list(compare(triangle(2_000), triangle(500, seed=1), contenders))
    assert [row.name for row in rows] == ["tiles-1", "tiles-3"]
    assert [dict(row.release.parameters)["tiles"] for row in rows] == [1, 3]


def test_each_example_is_held_out_by_a_coin_of_its_own():
    examples = triangle(20_000)
    learned, tested = hold_out(examples, 0.2)
    assert len(learned.labels) + len(tested.labels) == 20_000
    assert abs(len(tested.labels) - 4_000) < 5 * np.sqrt(20_000 * 0.16)
    again = [len(hold_out(examples, 0.2)[1].labels) for _ in range(3)]
    assert len({len(tested.labels), *again}) > 1  # no fixed share
    one, two = (hold_out(examples, 0.2, seed=3)[1] for _ in range(2))
    assert (one.points == two.points).all()
    together = np.concatenate([learned.points, tested.points])
    assert (np.sort(together, axis=0) == np.sort(examples.points, axis=0)).all()


def test_too_few_to_hold_some_out_are_refused_on_every_road(tmp_path, capsys):
    (tmp_path / "p.csv").write_text("x,y,label\n3,4,1\n")
    few = "1 example: too few to hold some out to test on"
    assert f"give --test FILE or another --holdout: {few}" in fails(
        capsys, "compare", tmp_path / "p.csv", "--grid", 8
    )
    with pytest.raises(InputError, match=few):
        geodp.compare(geodp.read_points(tmp_path / "p.csv", grid=8), ["histogram"])


def test_corners_are_counted_once():
    square = shapely.box(0, 0, 4, 4)
    hole = shapely.box(1, 1, 2, 2)
    assert count_vertices(square) == 4
    assert count_vertices(square.difference(hole)) == 8
    assert count_vertices(shapely.union_all([hole, shapely.box(6, 6, 7, 7)])) == 8
    assert count_vertices(shapely.Polygon()) == 0


# -- a rehearsal on simulated examples, which costs nothing ----------------------------------------


HALF = box(0, 0, 32, 64)
FRAME = Frame(64)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "TESTED", 5_000)


def rehearsed(*more: object) -> list[str]:
    target = assets.example_path("L")
    words = ["rehearse", "--target", target, "--n", "200,800", "--epsilon", "0.5,2", "--grid", 64]
    return [*map(str, words), "--learners", "histogram,quadtree", "--runs", "2", *map(str, more)]


def test_there_is_a_row_for_each_learner_epsilon_and_number(tmp_path: Path, capsys) -> None:
    assert main(rehearsed("-o", tmp_path / "t.csv", "--quiet")) == 0
    table = capsys.readouterr().out.splitlines()
    with open(tmp_path / "t.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["n"], row["epsilon"], row["learner"]) for row in rows] == [
        (n, epsilon, learner)
        for n in ("200", "800")
        for epsilon in ("0.5", "2.0")
        for learner in ("histogram", "quadtree")
    ]
    for row in rows:
        assert 0 <= float(row["least"]) <= float(row["error"]) <= float(row["most"]) <= 1
    # a star for the least of each two
    starred = [line.split()[0] for line in table if " * " in line]
    pairs = zip(rows[::2], rows[1::2], strict=True)
    assert starred == [min(pair, key=lambda row: float(row["error"]))["learner"] for pair in pairs]
    assert "2 runs each: nothing was spent" in table[-2]


def test_epsilons_that_begin_alike_are_rows_of_their_own(capsys) -> None:
    near = "0.12345678901234567", "0.12345678", "0.1234567"
    assert main([*rehearsed("--quiet"), "--epsilon", ",".join(near), "--n", "200"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if " geodp learn " in line]
    for epsilon in near:
        assert sum(line.count(f" {float(epsilon)} ") for line in lines) == 2 * 2


def test_its_commands_run_and_are_what_was_rehearsed(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = geodp.rehearse("L", 300, ["histogram", "quadtree"], epsilon=[0.5, 2], runs=1, grid=64)
    target = str(assets.example_path("L"))
    assert main(["sample", "--target", target, "--n", "300", "--grid", "64", "-o", "POINTS"]) == 0
    for line, epsilon in zip(table["command"], table["epsilon"], strict=True):
        assert main([*shlex.split(line)[1:], "--quiet", "--overwrite"]) == 0
        assert geodp.load("learned.geojson").privacy.epsilon == epsilon


def test_commands_say_all_that_is_not_as_by_default() -> None:
    (one,) = contenders_of(["cover"], [0.25], [3], delta=1e-9, neighbours="replace-one", seed=4)
    (row,) = rehearse(HALF, FRAME, contenders_of(["quadtree"], [1.0]), [50], runs=1)
    said = rehearsal.Rehearsed(one, row.n, row.grid, row.errors, row.seconds).command
    options = build_parser().parse_args(shlex.split(said)[1:])
    assert (options.learner, options.k, options.epsilon, options.delta) == ("cover", 3, 0.25, 1e-9)
    assert (options.neighbours, options.grid, options.seed) == ("replace-one", 64, None)


def test_learners_that_count_have_a_row_for_each_k_and_those_without_privacy_one() -> None:
    names = ["tiles", "cover", "greedy-cover"]
    found = contenders_of(names, [0.5, 1.0], [2, 3])
    ks = [dict(one.parameters).get("k") for one in found]
    assert [(one.kind.id, k) for one, k in zip(found, ks, strict=True)] == [
        ("tiles", None), ("cover", 2), ("cover", 3), ("greedy-cover", 2), ("greedy-cover", 3),
        ("tiles", None), ("cover", 2), ("cover", 3),
    ]  # fmt: skip


def test_all_are_tested_on_the_same_fresh_points_without_wrong_labels(monkeypatch) -> None:
    seen = []

    def spied(examples, test, *others):
        seen.append((examples, test))
        return comparison.compare(examples, test, *others)

    monkeypatch.setattr(rehearsal, "compare", spied)
    contenders = contenders_of(["histogram"], [1.0, 2.0])
    rows = list(rehearse(HALF, FRAME, contenders, [100, 400], runs=3, noise=0.3, seed=1))
    assert [len(examples.labels) for examples, _ in seen] == [100] * 3 + [400] * 3
    assert len({id(test) for _, test in seen}) == 1
    test = seen[0][1]
    assert len(test.labels) == 5_000
    assert np.array_equal(test.labels, test.points[:, 0] <= 32)
    wrong = np.mean([np.mean(each.labels != (each.points[:, 0] <= 32)) for each, _ in seen[3:]])
    assert 0.2 < wrong < 0.4
    assert len({each.points.tobytes() for each, _ in seen}) == 6
    assert [(row.n, len(row.errors)) for row in rows] == [(100, 3), (100, 3), (400, 3), (400, 3)]


def test_a_seed_repeats_it_and_each_run_has_noise_of_its_own() -> None:
    contenders = contenders_of(["histogram"], [0.1], seed=5)
    first, again = (
        [row.errors for row in rehearse(HALF, FRAME, contenders, [300], runs=3, seed=5)]
        for _ in range(2)
    )
    assert first == again
    assert len(set(first[0])) > 1


def test_the_watch_hears_how_far_it_is_and_may_cancel() -> None:
    shares: list[float] = []
    contenders = contenders_of(["histogram", "quadtree"], [1.0])

    def watch(share: float, text: str) -> None:
        shares.append(share)
        assert "examples" in text
        if share > 0.6:
            raise Cancelled

    with pytest.raises(Cancelled):
        list(rehearse(HALF, FRAME, contenders, [50, 100], runs=2, watch=watch))
    assert shares == sorted(shares)


def test_python_has_a_tidy_table_of_the_same() -> None:
    table = geodp.rehearse("L", [200, 800], "histogram", epsilon=(0.5, 2), runs=2, grid=64, seed=3)
    assert list(table[["n", "epsilon"]].itertuples(index=False, name=None)) == [
        (200, 0.5), (200, 2.0), (800, 0.5), (800, 2.0),
    ]  # fmt: skip
    assert (table["least"] <= table["error"]).all()
    for wrong in ({"n": []}, {"n": 0}, {"n": 9, "names": "nobody"}, {"n": 9, "epsilon": 0}):
        with pytest.raises(geodp.InputError):
            geodp.rehearse("L", **wrong, grid=64)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--k", 2], "--k is for learners that need it"),
        (["--n", "10,x"], "'x' is not an integer"),
        (["--n", 10, 20], "20; several values of an option have commas between them"),
        (["--learners", "tiles", "discs"], "discs; several values of an option have commas"),
        (["--epsilon", "1,-1"], "must be above 0"),
        (["--learners", "discs"], "discs needs --k"),
        (["-o", "t.geojson"], "t.geojson"),
    ],
)
def test_wrong_options_of_a_rehearsal_are_named(tmp_path, capsys, monkeypatch, more, reason):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rehearsal, "rehearse", lambda *args, **kwargs: pytest.fail("learned first"))
    assert reason in fails(capsys, *rehearsed(*more))
