"""A rehearsal: learners at several epsilons and sizes on simulated examples, which cost nothing."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path

import numpy as np
import pytest
from shapely.geometry import box
from terminal import fails

import assets
import geodp
from geodp_app.cli import build_parser, main
from geodp_app.document.examples import Frame
from geodp_app.runs import comparison, rehearsal
from geodp_app.runs.rehearsal import contenders_of, rehearse
from learners.core.selection import Cancelled

HALF = box(0, 0, 32, 64)
FRAME = Frame(64)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "TESTED", 5_000)


def argv(*more: object) -> list[str]:
    target = assets.example_path("L")
    words = ["rehearse", "--target", target, "--n", "200,800", "--epsilon", "0.5,2", "--grid", 64]
    return [*map(str, words), "--learners", "histogram,quadtree", "--runs", "2", *map(str, more)]


def test_there_is_a_row_for_each_learner_epsilon_and_number(tmp_path: Path, capsys) -> None:
    assert main(argv("-o", tmp_path / "t.csv", "--quiet")) == 0
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
        (["--learners", "nobody"], "unknown learner"),
        (["--learners", "discs"], "discs needs --k"),
        (["-o", "t.geojson"], "t.geojson"),
    ],
)
def test_wrong_options_are_named(tmp_path: Path, capsys, monkeypatch, more, reason) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rehearsal, "rehearse", lambda *args, **kwargs: pytest.fail("learned first"))
    assert reason in fails(capsys, *argv(*more))
