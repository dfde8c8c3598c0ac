"""`geodp ledger`, and the verbs that spend: entered before they draw, refused in one line."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from run_charges import run_charge
from terminal import fails, interrupted

import geodp
from geodp import Examples, Frame, InputError
from geodp_app.cli import main
from geodp_app.commands import learn as learning, ledger as verb
from geodp_app.document.document import Document
from geodp_app.document.work import Work
from geodp_app.files import ledger as ledger_module
from geodp_app.files.document_files import import_examples
from geodp_app.files.ledger import Ledger
from geodp_app.files.points import format_examples
from geodp_app.files.session import save_session
from learners.core.estimator import Estimator
from learners.privacy.noise import discrete_laplace

D = 16


@pytest.fixture
def points(tmp_path: Path) -> Path:
    xy = np.random.default_rng(0).integers(0, D + 1, (200, 2))
    path = tmp_path / "p.csv"
    path.write_text(format_examples(Examples(xy, (xy.sum(axis=1) <= D).astype(int), Frame(D))))
    return path


@pytest.fixture
def ledger(tmp_path: Path, capsys) -> Ledger:
    """Beside the points, with a budget of 2."""
    path = tmp_path / "geodp.ledger"
    said(capsys, path, "--new", "--epsilon", 2, "--delta", 1e-5)
    return Ledger(path)


def said(capsys, *argv: object) -> str:
    assert main(["ledger", *map(str, argv)]) == 0
    return capsys.readouterr().out


def learn(points: Path, *argv: object) -> list[object]:
    shape = points.parent / "h.geojson"
    return ["learn", points, "--learner", "histogram", "--quiet", "-o", shape, *argv]


def spend(points: Path, *argv: object) -> int:
    return main([*map(str, learn(points, *argv))])


def test_learning_enters_and_a_budget_that_is_spent_refuses(points, ledger, capsys) -> None:
    assert spend(points) == 0
    assert spend(points, "--epsilon", 0.5, "--learner", "quadtree") == 0
    (points.parent / "h.geojson").unlink()
    outcome = fails(capsys, *learn(points))
    assert outcome == (
        f"geodp: {ledger.path}: epsilon would be 2.5, and the budget allows 2: 0.5 is left; "
        "nothing was drawn\n"
    )
    assert sorted(os.listdir(points.parent)) == ["geodp.ledger", "p.csv"]
    entries = ledger.state().entries
    assert [(e.verb, e.learner, e.end) for e in entries] == [
        ("learn", "histogram", "released"),
        ("learn", "quadtree", "released"),
    ]
    assert [e.privacy.epsilon for e in entries] == [1.0, 0.5]


def test_nothing_is_drawn_before_the_run_is_on_the_disk(points, ledger, monkeypatch) -> None:
    """Every draw of the noise looks into the file."""
    seen = []

    def looking(source, scale):
        seen.append([entry.end for entry in ledger.state().entries])
        return discrete_laplace(source, scale)

    monkeypatch.setattr("learners.baselines.noisy_histogram.discrete_laplace", looking)
    assert spend(points) == 0
    assert seen == [[None]]


def test_nothing_is_drawn_of_a_run_that_is_refused(points, ledger, capsys, monkeypatch) -> None:
    steps = Estimator.steps

    def drawing():
        raise AssertionError("drew")
        yield

    def watched(self, X, *more: object, **named: object):
        # a comparison tries its learners on so many points of its own
        return steps(self, X, *more, **named) if len(X) <= 81 else drawing()

    monkeypatch.setattr(Estimator, "steps", watched)
    for argv in (["compare", points, "--learners", "histogram"], learn(points)):
        assert "nothing was drawn" in fails(capsys, *argv, "--epsilon", 3)
        with pytest.raises(AssertionError, match="drew"):
            main([*map(str, argv)])


def test_a_run_that_fails_or_is_cancelled_counts(points, ledger, capsys, monkeypatch) -> None:
    fit = learning.fit_learner
    for error, code, end in ((KeyboardInterrupt(), 130, "cancelled"), (OSError(), 2, "failed")):

        def broken(*args, error=error, **named):
            fit(*args, **named)
            raise error

        monkeypatch.setattr(learning, "fit_learner", broken)
        assert spend(points) == code
        assert ledger.state().entries[-1].end == end
        assert "the run was entered, and counts in full" in capsys.readouterr().err
    assert ledger.state().together == (2.0, 0.0)


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--learner tiles --tiles 18", "a grid of size 16 has no 18 tiles along a side"),
        ("--cells 18", "cells must be at most 17 along a side, got 18"),
        ("--learner discs --k 1 --grid 4096", "grid size d = 4096 is outside 1..2048"),
        ("--learner polynomials --k 1 --levels 100000", "use fewer levels"),
        ("--learner stability --k 1 --ask 1000", "--ask: must be at most 999, not 1000"),
    ],
)
def test_a_run_of_options_that_no_learner_takes_is_not_entered(
    points, ledger, capsys, option, why
) -> None:
    points.write_text(points.read_text().partition("\n")[2])  # which says the grid
    outcome = fails(capsys, *learn(points, "--grid", D, *option.split()))
    assert why in outcome
    assert ledger.state().entries == ()


def test_a_run_that_the_examples_are_too_few_for_is_not_entered(points, ledger, capsys) -> None:
    """Where labels alone are protected, their number is no secret."""
    why = "200 examples are too few to give 1000 of them away"
    options = ["--learner", "stability", "--k", 1, "--neighbours", "replace-label"]
    assert why in fails(capsys, *learn(points, *options))
    with pytest.raises(InputError, match=why):
        geodp.learn(points, "stability", k=1, neighbours="replace-label")
    assert ledger.state().entries == ()


def test_a_label_that_is_forgotten_is_no_other_peoples_words(points, ledger, capsys) -> None:
    """As `--inside "$LABEL"` of a script may be: it was read as if nothing had been said."""
    for option in ("--inside", "--outside"):
        assert "a label is empty" in fails(capsys, *learn(points, option, ""))
    assert ledger.state().entries == ()


def test_ctrl_c_on_a_terminal_writes_nothing_and_counts_the_run(points, ledger) -> None:
    """A real process on a pseudo-terminal, interrupted once its bar shows a finished step."""
    argv = ["learn", points, "--learner", "cover", "--k", 40, "--steps", 4000]
    argv += ["-o", points.parent / "h.geojson"]
    status, shown = interrupted(argv, shows=b" of 16000, ")
    assert status == 130
    assert b"cancelled; nothing was written" in shown
    assert b"Traceback" not in shown
    (entry,) = ledger.state().entries
    assert (entry.end, entry.privacy.epsilon) == ("cancelled", 1.0)
    assert sorted(os.listdir(points.parent)) == ["geodp.ledger", "p.csv"]


def test_a_comparison_is_entered_whole_or_refused_whole(points, ledger, capsys) -> None:
    argv = ["compare", points, "--learners", "histogram,quadtree,greedy-convex", "--k", 3]
    assert "epsilon would be 3" in fails(capsys, *argv, "--epsilon", 1.5)
    assert ledger.state().entries == ()
    assert main([*map(str, argv), "--quiet", "--epsilon", "0.5"]) == 0
    entries = ledger.state().entries
    assert [entry.end for entry in entries] == ["released"] * 3
    assert [entry.spends for entry in entries] == [True, True, False]
    assert ledger.state().together == (1.0, 0.0)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"points": np.full((200, 2), 99)}, r"row 0: \(99, 99\) is off the grid 0..16"),
        ({"labels": np.full(200, 3)}, "neither 0 nor 1"),
        ({"labels": np.ones(7)}, "there are too few"),
        ({"frame": D}, "frame must be a Frame, not int"),
    ],
)
def test_examples_that_no_learner_takes_are_not_entered(points, ledger, changes, why) -> None:
    """Those to test on neither: a comparison would be entered whole, and end by its first row."""
    good = geodp.read_points(points)
    bad = replace(good, **changes)
    for examples, tested in ((bad, None), (good, bad)):
        with pytest.raises(InputError, match=why):
            geodp.compare(examples, ["quadtree", "histogram"], test=tested)
    with pytest.raises(InputError, match=why):
        geodp.learn(bad, "quadtree")
    assert ledger.state().entries == ()


def test_persons_are_protected_by_a_ledger_for_persons(tmp_path, capsys) -> None:
    rows = tmp_path / "p.csv"
    rows.write_text("x,y,label,who\n1,2,1,a\n3,4,0,b\n")
    path = tmp_path / "a.ledger"
    said(capsys, path, "--new", "--id", "who")
    assert "(--id who)" in fails(capsys, *learn(rows, "--grid", D, "--ledger", path))
    assert spend(rows, "--grid", D, "--ledger", path, "--id", "who") == 0
    assert spend(rows, "--grid", D, "--ledger", path, "--id", "who", "--rows", 3) == 0
    both = Ledger(path).state()
    assert [entry.privacy.rows for entry in both.entries] == [1, 3]
    assert both.together == (2.0, 0.0)
    read = geodp.read_points(rows, id="who", grid=D, rows=3)
    geodp.learn(read, "histogram", ledger=path)
    assert Ledger(path).state().entries[-1].privacy.rows == 3
    other = tmp_path / "other.ledger"
    said(capsys, other, "--new", "--id", "who")
    said(capsys, other, "--join", tmp_path / "h.geojson")
    assert Ledger(other).state().entries[0].privacy == both.entries[1].privacy


def test_in_python_too(points, ledger) -> None:
    read = geodp.read_points(points)
    geodp.learn(read, "histogram", epsilon=0.5)
    geodp.compare(read, ["quadtree", "histogram"], epsilon=0.25)
    with pytest.raises(InputError, match=r"epsilon would be 2\.5.*nothing was drawn"):
        geodp.learn(read, "histogram", epsilon=1.5)
    assert [e.verb for e in ledger.state().entries] == ["learn", "compare", "compare"]
    shape = geodp.learn(geodp.sample("L", 100, grid=D), "histogram", ledger=ledger.path)
    assert shape.accounting["whole"]["epsilon"] == 1.0
    assert ledger.state().together == (2.0, 0.0)


@pytest.fixture
def linked(points, ledger, tmp_path) -> Path:
    """A folder without a ledger from which links lead to the points."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "q.csv").symlink_to(points)
    duckdb = pytest.importorskip("duckdb")
    rows = points.read_text().splitlines()
    (other / "plain.csv").symlink_to("bare.csv")
    (other / "bare.csv").symlink_to(tmp_path / "bare.csv")
    (tmp_path / "bare.csv").write_text("\n".join(rows[1:]) + "\n")
    with duckdb.connect(str(other / "a.db")) as made:
        made.execute(f"CREATE VIEW direct AS SELECT * FROM '{tmp_path}/bare.csv'")
        made.execute("CREATE VIEW over AS SELECT * FROM direct WHERE label < 2")
        made.execute("CREATE MACRO m(f) AS TABLE SELECT * FROM read_csv(f)")
        made.execute(f"CREATE VIEW called AS SELECT * FROM m('{tmp_path}/ba?e.csv')")
        made.execute("CREATE TABLE own AS SELECT * FROM direct")
    shutil.copy(other / "a.db", other / "a.duckdb")
    with contextlib.closing(sqlite3.connect(other / "s.db")) as made, made:
        made.execute("CREATE TABLE own (x INTEGER, y INTEGER, label INTEGER)")
    return other


@pytest.mark.parametrize(
    "source",
    ["q.csv", "--table csv:*.csv", "--table csv:file://HERE/plain.csv", "--table duckdb:a.db::over",
     "--table duckdb:a.db::called", "--table duckdb:a.db::main.direct"],
)  # fmt: skip
def test_a_link_or_a_view_does_not_lead_past_a_ledger(linked, ledger, capsys, monkeypatch, source):
    monkeypatch.chdir(linked)
    given = source.replace("HERE", str(linked)).split()
    if "*" in source:
        (linked / "q.csv").unlink()  # its first line is another one
    argv = ["learn", *given, "--grid", D, "--learner", "histogram", "--epsilon", 3, "-o", "o.gpkg"]
    assert "epsilon would be 3, and the budget allows 2" in fails(capsys, *argv)
    if given == ["q.csv"]:
        assert "epsilon would be 6" in fails(capsys, "compare", "q.csv", "--learners",
                                             "histogram,quadtree", "--epsilon", 3)  # fmt: skip
        with pytest.raises(InputError, match="epsilon would be 3"):
            geodp.learn(geodp.read_points("q.csv"), "histogram", epsilon=3.0)
        document = Document()
        import_examples(linked / "q.csv", document)
        assert document.work.ledger == str(ledger.path)
    assert ledger.state().entries == ()


@pytest.mark.skipif(sys.platform == "win32", reason="what standard input is has no name there")
@pytest.mark.parametrize("way", ["a file, elsewhere", "a pipe, beside the ledger"])
def test_standard_input_is_the_file_that_it_is_or_here(points, ledger, tmp_path, way) -> None:
    (tmp_path / "other").mkdir()
    name, where = ("-", tmp_path / "other") if "file" in way else ("/dev/stdin", ledger.path.parent)
    argv = ["learn", name, "--grid", D, "--learner", "histogram", "--epsilon", 3, "-o", "o.geojson"]
    own = ["-c", f"import geodp; geodp.learn({name!r}, 'histogram', epsilon=3.0)"]
    how = {"cwd": where, "env": os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}}
    for words in (["-m", "geodp_app", *map(str, argv)], own):
        with open(points, "rb") as file:
            given = {"stdin": file} if "file" in way else {"input": points.read_bytes()}
            run = subprocess.run(
                [sys.executable, *words], capture_output=True, check=False, **how, **given
            )
        assert run.returncode
        assert ledger.state().entries == ()
        assert b"epsilon would be 3, and the budget allows 2" in run.stderr


@pytest.mark.parametrize(
    "table",
    [
        "DuckDB://a.db",
        "DUCKDB:a.db",
        "file:a.duckdb",
        "sqlite://s.db",
        "SQLite://s.db",
        "FILE:s.db",
    ],
)
def test_a_database_has_the_ledger_beside_it_however_it_is_spelled(
    linked, capsys, monkeypatch, table
):
    monkeypatch.chdir(linked)
    said(capsys, linked / "geodp.ledger", "--new", "--epsilon", 2)
    argv = ["learn", "--table", f"{table}::own", "--grid", D, "--learner", "histogram"]
    outcome = fails(capsys, *argv, "--epsilon", 3, "-o", "o.gpkg")
    assert "epsilon would be 3, and the budget allows 2" in outcome


def test_a_table_of_its_own_is_beside_its_own_database(linked, ledger, monkeypatch) -> None:
    """It is a copy: nothing tells of what."""
    monkeypatch.chdir(linked)
    argv = ["learn", "--table", "duckdb:a.db::own", "--grid", str(D), "--learner", "histogram"]
    assert main([*argv, "-o", "o.geojson", "--quiet"]) == 0
    assert ledger.state().entries == ()
    Ledger.create(linked / "geodp.ledger")
    assert main([*argv, "-o", "o.geojson", "--quiet"]) == 0
    assert len(Ledger(linked / "geodp.ledger").state().entries) == 1


def test_a_run_that_asks_for_a_head_is_not_entered_in_an_older_ledger(points, ledger, capsys):
    old = ledger.path.read_bytes()
    assert spend(points) == 0
    head = ledger.state().head
    assert spend(points, "--epsilon", 0.5, "--head", head) == 0
    ledger.path.write_bytes(old)
    outcome = fails(capsys, *learn(points, "--head", head[:16]))
    assert "was never its head" in outcome
    assert "was never its head" in fails(capsys, "compare", points, "--head", head)
    assert ledger.path.read_bytes() == old
    ledger.path.unlink()
    assert "--head is of a ledger, and there is none" in fails(
        capsys, *learn(points, "--head", head)
    )


# -- names of runs -----------------------------------------------------------------------------


def test_equal_releases_of_several_runs_count_each_and_a_file_counts_once(points, tmp_path, capsys):
    files = [tmp_path / f"{name}.geojson" for name in "abc"]
    rows = ["x,y,label", *(f"{i % D},{i // 2},{int(i >= 20)}" for i in range(20))]
    rows += [f"{D},{D},1"] * 20
    points.write_text("\n".join(rows) + "\n")
    for path in files:
        argv = ["learn", points, "--grid", D, "--learner", "threshold", "--direction", "right"]
        assert main([*map(str, argv), "--quiet", "-o", str(path)]) == 0
    shapes = [geodp.load(path) for path in files]
    assert len({shape.release.privacy.run for shape in shapes}) == 3
    copies = [tmp_path / "d.gpkg", tmp_path / "e.geojson"]
    for copy in copies:
        geodp.save(shapes[0], copy)
    path = tmp_path / "own" / "l.ledger"
    path.parent.mkdir()
    said(capsys, path, "--new", "--epsilon", 2, "--delta", 1e-5)
    text = said(capsys, path, "--join", *files, *copies, files[0])
    assert "3 runs together: epsilon = 3" in text
    outcome = fails(
        capsys, "learn", points, "--grid", D, "--ledger", path, "-o", tmp_path / "f.gpkg"
    )
    assert "epsilon would be 4" in outcome


def test_what_was_learned_under_a_ledger_is_in_it_already(points, ledger, tmp_path, capsys) -> None:
    report = tmp_path / "r.json"
    assert spend(points, "--epsilon", 0.5, "--report", report) == 0
    argv = ["compare", points, "--learners", "quadtree,histogram", "--epsilon", 0.25, "--quiet"]
    assert main([*map(str, argv), "-o", str(tmp_path / "shapes")]) == 0
    shape = geodp.learn(geodp.read_points(points), "quadtree", epsilon=0.5)
    geodp.save(shape, tmp_path / "p.gpkg")
    names = [entry.run for entry in ledger.state().entries]
    released = json.loads(report.read_text())["release"]["privacy"]["run"]
    assert (released, shape.release.privacy.run) == (names[0], names[3])
    files = [points.parent / "h.geojson", *sorted((tmp_path / "shapes").glob("*.geojson"))]
    assert len(files) == 3
    assert "4 runs together: epsilon = 1.5" in said(
        capsys, ledger.path, "--join", *files, tmp_path / "p.gpkg"
    )


def test_a_report_is_told_from_the_shape_that_it_is_about(points, ledger, tmp_path, capsys) -> None:
    report = tmp_path / "r.json"
    assert spend(points, "--report", report) == 0
    for argv in (("ledger", ledger.path, "--join", report),
                 ("predict", report, points, "-o", tmp_path / "o.csv"),
                 ("evaluate", report, points),
                 ("render", report, "-o", tmp_path / "p.svg")):  # fmt: skip
        outcome = fails(capsys, *argv)
        assert "is a report or another record of geodp, and no map: name the shape" in outcome
    outcome = fails(capsys, "ledger", ledger.path, "--join", ledger.path)
    assert outcome.startswith(f"geodp: {ledger.path}: is not a session (.geodp), a target (.geojs")


def test_files_that_do_not_name_their_run_count_each(points, tmp_path, capsys) -> None:
    spend(points)
    file = points.parent / "h.geojson"
    data = json.loads(file.read_text())
    data["geodp"]["release"]["privacy"]["run"] = None
    file.write_text(json.dumps(data))
    path = tmp_path / "l.ledger"
    said(capsys, path, "--new")
    assert "2 runs together: epsilon = 2" in said(capsys, path, "--join", file, file)


@pytest.mark.parametrize(
    ("learner", "parameters", "members", "ending"),
    [
        ("tiles", {}, {"epsilon": 0.01}, ".geojson"),
        ("cover", {"k": 2}, {"delta": 1e-12}, ".gpkg"),
        ("quadtree", {}, {"neighbours": "replace-one"}, ".parquet"),
        ("stability", {"k": 1, "queries": 20, "chunks": 20}, {"delta": 1e-12}, ".geojson"),
        ("stability", {"k": 1, "queries": 20, "chunks": 20}, {"neighbours": "replace-label"},
         ".gpkg"),
    ],
)  # fmt: skip
def test_no_format_brings_a_statement_that_nobody_made(
    points, tmp_path, capsys, learner, parameters, members, ending
):
    """Written as if it were so, and read by every road."""
    examples = geodp.read_points(points)
    release = geodp.learn(examples, learner, **parameters).release
    assert release.privacy is not None
    file, path = tmp_path / f"a{ending}", tmp_path / "l.ledger"
    said(capsys, path, "--new")
    for change in ({}, members):
        false = replace(release, privacy=replace(release.privacy, **change))
        geodp.save(geodp.LearnedShape(false, examples.frame), file, overwrite=True)
        if not change:
            geodp.load(file)
            continue
        for argv in (["render", file, "-o", tmp_path / "a.svg"], ["ledger", path, "--join", file],
                     ["predict", file, points, "-o", tmp_path / "q.csv"],
                     ["evaluate", file, points]):  # fmt: skip
            assert "geodp.release: " in fails(capsys, *argv)
        with pytest.raises(InputError, match=r"geodp\.release: "):
            geodp.load(file)
    assert Ledger(path).state().entries == ()


# -- the verb ----------------------------------------------------------------------------------


def test_a_statement_says_what_was_spent_and_what_may_be_published(points, ledger, capsys) -> None:
    spend(points)
    outcome = said(capsys, ledger.path).splitlines()
    assert outcome[0].split() == ["entered", "verb", "learner", "source", "epsilon", "delta", "end"]
    assert outcome[1].split()[2:] == ["learn", "histogram", "1", "1", "0", "released"]
    text = "\n".join(outcome)
    assert "1 run together: epsilon = 1, delta = 0, by basic composition." in text
    assert "Budget: epsilon = 1 of 2, delta = 0 of 1e-05." in text
    assert (
        "May be published: all that private runs release under this ledger is together "
        "(2, 1e-05)-differentially private, with respect to one row that is added or removed."
    ) in text
    document = json.loads(said(capsys, ledger.path, "--json"))
    (entered,) = document["runs"]
    assert entered["accounting"]["charges"][1]["name"] == "noisy cells"
    assert document["together"]["epsilon"] == 1.0
    assert document["head"] == ledger.state().head
    assert document["as_written"] == list(ledger.state().lines)
    assert said(capsys, ledger.path, "--quiet") == ""


def test_a_head_that_was_noted_finds_an_end_that_was_cut_off(points, ledger, capsys) -> None:
    spend(points)
    head = ledger.state().head
    said(capsys, ledger.path, "--head", head[:16])
    with contextlib.closing(sqlite3.connect(ledger.path)) as file, file:
        file.execute("DELETE FROM lines WHERE rowid > 2")
    said(capsys, ledger.path)  # by itself it looks whole
    assert "was never its head" in fails(capsys, "ledger", ledger.path, "--head", head)
    assert "at least 16 hexadecimal" in fails(capsys, "ledger", ledger.path, "--head", "12")


def test_budgets_are_set_anew_and_that_is_kept(points, ledger, capsys) -> None:
    spend(points)
    text = said(capsys, ledger.path, "--epsilon", 5)
    assert "Budget: epsilon = 1 of 5, delta = 0 of 1e-05." in text  # delta stays
    assert "The budget was set 2 times" in text
    lowered = said(capsys, ledger.path, "--epsilon", 0.5)
    assert "It is exceeded" in lowered
    assert "May be published" not in lowered


def test_sessions_and_learned_files_of_the_past_join(points, tmp_path, capsys) -> None:
    spend(points)
    document = Document()
    import_examples(points, document)
    document.charge(document.work.examples, run_charge(0.5, 0.0, "add-remove", finished=True))
    save_session(tmp_path / "a.geodp", document.work)
    path = tmp_path / "b.ledger"
    said(capsys, path, "--new")
    for _ in range(2):  # once and for all
        text = said(capsys, path, "--join", tmp_path / "a.geodp", points.parent / "h.geojson")
        assert "2 runs together: epsilon = 1.5, delta = 0" in text
    assert fails(capsys, "ledger", path, "--join", points)
    persons = tmp_path / "c.ledger"
    said(capsys, persons, "--new", "--id", "who")
    for past in (points.parent / "h.geojson", tmp_path / "a.geodp"):
        outcome = fails(capsys, "ledger", persons, "--join", past)
        assert "protects one row, and" in outcome
        assert "one person, named by who: they do not add up" in outcome


def test_what_simulated_examples_spent_is_nobodys_and_does_not_join(ledger, tmp_path, capsys):
    document = Document()
    document.open_example("L")
    document.sample()
    charge = run_charge(1.0, 1e-6, "add-remove", finished=True)
    assert document.work.examples is not None
    document.charge(document.work.examples, charge)
    save_session(tmp_path / "l.geodp", document.work)
    outcome = fails(capsys, "ledger", ledger.path, "--join", tmp_path / "l.geodp")
    assert "its examples are simulated, and nobody's" in outcome
    assert ledger.state().entries == ()


def test_a_session_of_persons_joins_their_ledger_and_no_other(points, tmp_path, capsys) -> None:
    document = Document()
    import_examples(points, document)
    persons = replace(document.work.examples, unit="who")
    charge = run_charge(0.5, 0.0, "add-remove", finished=True)
    save_session(tmp_path / "a.geodp", Work(examples=persons, simulated=False, spent=(charge,)))
    said(capsys, tmp_path / "rows.ledger", "--new")
    outcome = fails(capsys, "ledger", tmp_path / "rows.ledger", "--join", tmp_path / "a.geodp")
    assert "they do not add up" in outcome
    said(capsys, tmp_path / "c.ledger", "--new", "--id", "who")
    text = said(capsys, tmp_path / "c.ledger", "--join", tmp_path / "a.geodp")
    assert "1 run together: epsilon = 0.5" in text


def test_a_ledger_of_persons_knows_their_column_as_the_data_call_it(tmp_path, capsys) -> None:
    people = tmp_path / "p.csv"
    people.write_text("x,y,label,Who\n" + "".join(f"{i},{i},{i % 2},p{i}\n" for i in range(60)))
    path, out = tmp_path / "a.ledger", tmp_path / "h.geojson"
    said(capsys, path, "--new", "--id", "Who")
    argv = [people, "--grid", 64, "--id", "who", "--ledger", path, "--epsilon", 0.5, "-o", out]
    assert main([str(each) for each in ("learn", *argv)]) == 0
    table = ["--table", f"csv:{people}", "--grid", 64, "--id", "who", "--ledger", path]
    table += ["--epsilon", 0.5, "-o", tmp_path / "t.geojson"]
    assert main([str(each) for each in ("learn", *table)]) == 0
    geodp.learn(geodp.read_points(people, grid=64, id="who"), "tiles", epsilon=0.5, ledger=path)
    text = said(capsys, path, "--join", out, tmp_path / "t.geojson")
    assert "3 runs together: epsilon = 1.5" in text
    said(capsys, tmp_path / "b.ledger", "--new", "--id", "who")
    argv[argv.index(path)] = tmp_path / "b.ledger"
    assert "as the data call it (--id 'Who')" in fails(capsys, "learn", *argv)


def test_a_ledger_is_looked_at_while_another_program_writes(ledger, capsys) -> None:
    with contextlib.closing(sqlite3.connect(ledger.path, isolation_level=None)) as file:
        file.execute("BEGIN IMMEDIATE")
        assert "Nothing was spent so far" in said(capsys, ledger.path)


def test_what_is_joined_joins_as_a_whole(points, tmp_path, capsys) -> None:
    spend(points)
    path = tmp_path / "b.ledger"
    said(capsys, path, "--new")
    assert fails(capsys, "ledger", path, "--join", points.parent / "h.geojson", points)
    assert "Nothing was spent so far" in said(capsys, path)


def test_a_first_budget_has_room_for_the_delta_of_rounding(points, tmp_path, capsys) -> None:
    path = tmp_path / "a.ledger"
    said(capsys, path, "--new", "--epsilon", 1)
    assert spend(points, "--ledger", path, "--learner", "tiles") == 0
    none = tmp_path / "b.ledger"
    said(capsys, none, "--new", "--epsilon", 1, "--delta", 0)
    outcome = fails(capsys, *learn(points, "--ledger", none, "--learner", "tiles"))
    assert "delta would be 1e-40, and the budget allows 0" in outcome


def test_a_budget_of_no_delta_says_what_has_room_for_tiles(points, ledger, capsys) -> None:
    said(capsys, ledger.path, "--epsilon", 2, "--delta", 0)
    assert spend(points, "--epsilon", 0.5) == 0  # a histogram states a delta of 0
    tiles = [*learn(points, "--epsilon", 0.5), "--learner", "tiles"]
    refused = fails(capsys, *tiles)
    assert "which admits only what states 0, as threshold, histogram and quadtree do" in refused
    advised = re.search(r"geodp (ledger \S+ --epsilon 2 --delta 1e-30) has room", refused)
    assert main(advised[1].split()) == 0
    assert main([str(word) for word in tiles]) == 0
    # what needs delta for more than arithmetic is told of no such way
    said(capsys, ledger.path, "--epsilon", 2, "--delta", 0)
    cover = [*learn(points, "--epsilon", 0.5), "--learner", "cover", "--k", 1]
    assert "and the budget allows 0: 0 is left" in fails(capsys, *cover)


def test_what_it_is_of_can_be_shown_later(tmp_path, capsys) -> None:
    path = tmp_path / "a.ledger"
    said(capsys, path, "--new", "--of", "water reports, 2026")
    said(capsys, path, "--of", "water reports, 2026")
    assert "was not begun for 'fire'" in fails(capsys, "ledger", path, "--of", "fire")


@pytest.mark.parametrize(
    ("argv", "outcome"),
    [
        (["none.ledger"], "there is no such ledger; --new begins one"),
        (["a.ledger", "--new"], "is there already"),
        (["-", "--new"], "a ledger is a file"),
        (["a.ledger", "--delta", "0.1"], "--delta is of a budget"),
        (["a.ledger", "--neighbours", "replace-one"], "--neighbours is fixed"),
        (["a.ledger", "--contents"], "--contents is fixed"),
        (["b.ledger", "--new", "--composition", "renyi"], "needs a budget"),
        (["b.ledger", "--new", "--composition", "renyi", "--epsilon", "1e9"], "a smaller epsilon"),
        (["b.ledger", "--new", "--delta", "1"], "--delta: must be at least 0 and below 1, not 1"),
        (["b.ledger", "--new", "--head", "0" * 16], "leave --new out"),
        (["b.ledger", "--new", "--id", " "], "no column is named that says whose a row is"),
        (["a.ledger", "--epsilon", "1", "--delta", "1e-50"], "delta must be at least"),
        (["p.csv"], "p.csv: is no ledger of geodp, or an older one: begin another"),
    ],
)
def test_what_goes_wrong_is_one_line(points, tmp_path, capsys, monkeypatch, argv, outcome) -> None:
    monkeypatch.chdir(tmp_path)
    Ledger.create("a.ledger")
    assert outcome in fails(capsys, "ledger", *argv)
    assert not Path("b.ledger").exists()


def test_a_ledger_that_cannot_be_read_ends_before_the_examples_are(
    points, ledger, capsys, monkeypatch
):
    changed = ledger.path.read_bytes().replace(b'"epsilon":2.0', b'"epsilon":9.0')
    ledger.path.write_bytes(changed)
    points.write_text("no examples at all")
    assert "line 2 does not follow" in fails(capsys, *learn(points))
    assert "is not the ledger of these data" in fails(
        capsys, *learn(points, "--ledger", points.parent / "other")
    )
    ledger.path.unlink()
    outcome = fails(capsys, *learn(points, "--ledger", ledger.path))
    assert "there is no such ledger; geodp ledger --new begins one" in outcome


def test_times_are_those_of_the_entry_alone(points, ledger, monkeypatch) -> None:
    """How long a run took depends on the examples: no line says when it ended."""
    monkeypatch.setattr(ledger_module, "now", lambda: "2026-01-01T00:00:00Z")
    spend(points)
    assert set(ledger.state().lines[-1]) == {"kind", "run", "end"}
    assert ledger.state().entries[0].time == "2026-01-01T00:00:00Z"
    assert verb.statement(ledger.state())[1].startswith("2026-01-01 00:00")
