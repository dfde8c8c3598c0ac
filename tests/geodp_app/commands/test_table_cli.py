"""`geodp learn --table` end to end: what it writes and says, cancelling, options that do not go."""

from __future__ import annotations

import json
import os
from pathlib import Path

import duckdb
import pytest
from known_targets import square_geojson
from terminal import fails, geodp, interrupted, printed

from geodp_app.files.learned_file import read_learned

ROOT = Path(__file__).parents[3]
SEED = 5
N = 3_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A sample as CSV, as Parquet and in a DuckDB file, and what is learned from the CSV."""
    folder = tmp_path_factory.mktemp("tables")
    (folder / "t.geojson").write_text(json.dumps(square_geojson(10, 20)))
    points = folder / "p.csv"
    assert geodp("sample", "--target", folder / "t.geojson", "--n", N, "--grid", 64, "--seed", 3,
               "-o", points, "--quiet") == 0  # fmt: skip
    with duckdb.connect(str(folder / "p.db")) as connection:
        connection.execute(
            f"CREATE TABLE reports AS FROM read_csv('{points}', comment='#', delim=',')"
        )
        connection.execute("CREATE TABLE nothing AS SELECT * FROM reports WHERE x < 0")
        connection.execute(
            "CREATE VIEW twice AS SELECT *, x * 100 + y AS who FROM reports"
            " UNION ALL SELECT *, x * 100 + y FROM reports"
        )
        connection.execute(f"COPY reports TO '{folder}/p.parquet'")
    assert geodp("learn", points, "--seed", SEED, "-o", folder / "h.geojson", "--report",
               folder / "h.json", "--records", folder / "h.jsonl", "--quiet") == 0  # fmt: skip
    return folder


def test_the_same_seed_learns_the_same_from_a_table(folder, tmp_path, capsys):
    out, report, records = tmp_path / "l.geojson", tmp_path / "r.json", tmp_path / "s.jsonl"
    frame = ["--grid", 64, "--bounds", "9,9,21,21"]
    for where, more in ((f"csv:{folder}/p.csv", []), (f"duckdb:{folder}/p.db::reports", frame)):
        files = ["-o", out, "--report", report, "--records", records]
        assert geodp("learn", "--table", where, *more, "--seed", SEED, *files) == 0
        assert out.read_text() == (folder / "h.geojson").read_text()
        assert report.read_text() == (folder / "h.json").read_text()
        lines = [json.loads(line) for line in records.read_text().splitlines()]
        expected = [json.loads(line) for line in (folder / "h.jsonl").read_text().splitlines()]
        for line in [*lines, *expected]:
            line.get("private", {}).pop("seconds", None)
        assert lines == expected
        outcome = capsys.readouterr().err
        assert "each row counts as one person; where a person may have more, give --id" in outcome
        assert str(N) not in outcome


def test_with_id_the_unit_is_in_what_is_published(folder, tmp_path, capsys):
    out, report = tmp_path / "l.geojson", tmp_path / "r.json"
    argv = ["--table", f"duckdb:{folder}/p.db::twice", "--id", "who", "--grid", 64]
    assert geodp("learn", *argv, "-o", out, "--report", report) == 0
    assert "one row of each who was counted; no person has two" in capsys.readouterr().err
    assert dict(read_learned(out).release.parameters)["unit"] == "who"
    document = json.loads(report.read_text())
    assert document["unit"] == "an example is one row of each who, chosen among that one's rows"
    assert document["statement"].startswith("(1, 1e-40)-differentially private")
    assert printed(capsys, "evaluate", out, folder / "p.csv")["error"] < 0.1


@pytest.mark.parametrize("source", ["table", "file"])
def test_several_rows_of_a_person_are_in_what_is_published(folder, tmp_path, capsys, source):
    out, report = tmp_path / "l.geojson", tmp_path / "r.json"
    where = ["--table", f"duckdb:{folder}/p.db::twice"]
    if source == "file":
        where = [tmp_path / "t.parquet"]
        with duckdb.connect(str(folder / "p.db")) as connection:
            connection.execute(f"COPY twice TO '{where[0]}'")
    argv = [*where, "--id", "who", "--rows", "2", "--learner", "histogram", "--grid", 64]
    assert geodp("learn", *argv, "-o", out, "--report", report) == 0
    said = capsys.readouterr().err
    assert "each who was counted 2 times, by own rows alone" in said
    assert "one person, who counts as 2 labelled examples" in said
    spent = read_learned(out).release.privacy
    assert (spent.epsilon, spent.rows) == (1.0, 2)
    assert sum(charge.alone for charge in spent.charges) == pytest.approx(0.5)
    document = json.loads(report.read_text())
    assert document["unit"].startswith("each who counts as 2 examples")
    assert "each of 2 rows of a person has a share of epsilon" in document["account"]
    assert document["release"]["privacy"]["rows"] == 2
    assert printed(capsys, "evaluate", out, folder / "p.csv")["error"] < 0.1


def test_several_rows_are_of_a_person_and_of_no_check(folder, tmp_path, capsys):
    argv = ["learn", folder / "p.csv", "-o", tmp_path / "l.geojson", "--rows", 2]
    assert "--rows is how many rows of a person: give --id" in fails(capsys, *argv)
    table = ["learn", "--table", f"duckdb:{folder}/p.db::twice", "--id", "who", "--grid", 64,
             "-o", tmp_path / "l.geojson", "--rows"]  # fmt: skip
    assert "several of one person are not" in fails(capsys, *table, 2, "--check", 0.1)
    assert "a person has 1 to 1000 rows, not 1001" in fails(capsys, *table, 1001)
    assert not (tmp_path / "l.geojson").exists()


def test_a_convex_polygon_is_learned_from_a_table(folder, tmp_path):
    argv = ["--table", f"parquet:{folder}/p.parquet", "--grid", 64, "--learner", "convex"]
    assert geodp("learn", *argv, "--quiet", "-o", tmp_path / "l.geojson") == 0
    assert read_learned(tmp_path / "l.geojson").release.role == "conjunction"


REFUSED = [
    ([], "give either POINTS, a CSV file, or --table WHERE"),
    (["p.csv", "--table", "csv:p.csv"], "give either POINTS, a CSV file, or --table WHERE"),
    (["p.csv", "--id", "who"], "missing column who"),
    (["p.csv", "--columns", "x=a"], "missing column a"),
    (["--table", "csv:p.csv", "--out-of-bounds", "drop"], "are for POINTS"),
    (["--table", "csv:p.csv", "--bounds", "170,-20,-170,-10"], "does not cross the antimeridian"),
    (["--table", "csv:p.csv", "--picture", "p.png"], "--picture draws examples"),
    (["--table", "csv:p.csv", "--learner", "stability"], "needs the examples one by one"),
    (["--table", "csv:p.csv", "--report", "p.csv"], "p.csv: is an input too"),
    (["--table", "duckdb:p.db::reports", "--report", "p.db"], "p.db: is an input too"),
    (["--table", "p.csv"], "must be parquet:FILES, csv:FILES, duckdb:FILE::TABLE or URL::TABLE"),
    (["--table", "parquet:"], "name the files after the colon"),
    (["--table", "duckdb:::reports"], "name the DuckDB file before ::reports"),
    (["--table", "duckdb:///p.db::reports"], "/p.db: there is no such file; for the one in this"),
    (["--table", "duckdb:p.db::reports", "--grid", "8"], "column x: is off the grid 0..8"),
    (["--table", "duckdb:p.db::reports", "--grid", "64", "--id", "me"], "missing column me"),
    (["--table", "csv:p.csv", "--columns", "a=b"], "'a=b' must be ROLE=NAME, with a role of x"),
    (["--table", "csv:p.csv", "--columns", "x=a,x=b"], "names x twice"),
    (["--table", "csv:p.csv", "--columns", "x=a,lat=b"], "names x,y on the grid and lon,lat"),
]


@pytest.mark.parametrize(("argv", "reason"), REFUSED)
def test_what_does_not_go_together_is_refused(folder, capsys, monkeypatch, argv, reason):
    monkeypatch.chdir(folder)
    before = sorted(os.listdir(folder))
    assert geodp("learn", *argv, "-o", "new.geojson") == 2
    outcome = capsys.readouterr().err
    assert reason in outcome
    assert outcome.count("\n") == 1
    assert sorted(os.listdir(folder)) == before


def test_help_tells_what_is_protected(capsys):
    assert geodp("learn", "--help") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "What is protected is one row." in shown
    assert "with --id COLUMN one row of each person is counted" in shown


def test_ctrl_c_stops_the_engine_at_once(tmp_path):
    """A table without end, on a pseudo-terminal, interrupted when the bar shows the engine."""
    with duckdb.connect(str(tmp_path / "p.db")) as connection:
        connection.execute(
            "CREATE VIEW r AS SELECT range % 9 AS x, 1 AS y, 1 AS label"
            " FROM range(1000000000000000)"
        )
    argv = ["learn", "--table", f"duckdb:{tmp_path}/p.db::r", "-o", tmp_path / "l.geojson"]
    status, shown = interrupted(argv, shows=b"duckdb at work", after=0.5)
    assert status == 130
    assert shown.endswith(b"geodp: cancelled; nothing was written\r\n")
    assert os.listdir(tmp_path) == ["p.db"]
