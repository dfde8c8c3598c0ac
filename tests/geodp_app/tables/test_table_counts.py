"""A table is counted as its rows would be: engines, files, borders of cells, faults, persons."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import chisquare

from geodp import Bounds, GridMap, InputError
from geodp_app.files.persons import NIL_UUID, names_of
from geodp_app.files.points import PointOptions, read_points
from geodp_app.tables.counts import TableCounts, read_counts
from geodp_app.tables.source import table_source
from geometry.grid_counts import GridCounts
from learners.core.examples import LabelWords

BOX = Bounds(13.2, 42.1, 19.8, 46.9)
ROWS = {"x": [3, 0, 8, 3, 3], "y": [4, 0, 8, 4, 4], "label": [1, 0, 1, 1, 0]}


def parquet(path: Path, columns: dict[str, Any]) -> Path:
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


def database(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def count(where: str, **options: Any) -> TableCounts:
    return read_counts(table_source(where), PointOptions(**options))


def cells(found: TableCounts) -> dict[tuple[int, int, int], int]:
    counts = found.counts
    keys = zip(*counts.points.T.tolist(), counts.labels.astype(int).tolist(), strict=True)
    return dict(zip(keys, counts.amounts.tolist(), strict=True))


def same(one: GridCounts, other: GridCounts) -> bool:
    return (
        one.d == other.d
        and np.array_equal(one.points, other.points)
        and np.array_equal(one.labels, other.labels)
        and np.array_equal(one.amounts, other.amounts)
    )


def counts_of_csv(path: Path, **options: Any) -> GridCounts:
    examples = read_points(path, PointOptions(**options)).examples
    return GridCounts.of_examples(examples.points, examples.labels == 1, examples.frame.d)


def refusal(where: str, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        count(where, **options)
    return str(caught.value)


# -- where tables lie --------------------------------------------------------------------------

EXPECTED = {(0, 0, 0): 1, (3, 4, 0): 1, (3, 4, 1): 2, (8, 8, 1): 1}


def test_every_form_of_where_gives_the_same_counts(tmp_path, monkeypatch):
    parquet(tmp_path / "r.parquet", ROWS)
    pa.csv.write_csv(pa.table(ROWS), tmp_path / "r.csv")
    database(
        tmp_path / "r.db",
        f"CREATE TABLE reports AS FROM '{tmp_path}/r.parquet'",
        "CREATE VIEW seen AS FROM reports",
        "CREATE SCHEMA old",
        'CREATE TABLE old."two words" AS FROM reports',
    )
    monkeypatch.chdir(tmp_path)
    for where in (
        "parquet:r.parquet",
        f"parquet:{tmp_path}/r.parquet",
        "csv:r.csv",
        "duckdb:r.db::reports",
        "duckdb://r.db::seen",
        f"duckdb://{tmp_path}/r.db::reports",
        "duckdb:r.db::old.two words",
        "CSV:r.csv",
        f"parquet:FILE://{tmp_path}/r.parquet",
        "DUCKDB:r.db::reports",
        f"DuckDB://{tmp_path}/r.db::reports",
    ):
        assert cells(count(where, grid=8)) == EXPECTED, where


def test_other_engines_are_asked_through_their_url(tmp_path):
    sqlite3 = pytest.importorskip("sqlite3")
    connection = sqlite3.connect(tmp_path / "r.sqlite")
    for name, kinds in (
        ("reports", "x INTEGER, y REAL, label INTEGER, who INTEGER"),
        ("odd", "x INTEGER, y, label TEXT"),
    ):
        connection.execute(f"CREATE TABLE {name} ({kinds})")
    rows = list(zip(*ROWS.values(), strict=True))
    connection.executemany("INSERT INTO reports VALUES (?, ?, ?, 1)", rows)
    connection.execute("INSERT INTO odd VALUES (10.5, 2, 'yes')")
    connection.execute("CREATE TABLE endless AS SELECT * FROM reports")
    connection.execute("INSERT INTO endless VALUES (1, 9e999, 1, 1)")
    connection.commit()
    connection.close()
    file = f"{tmp_path}/r.sqlite"
    for url in (f"sqlite://{file}", f"SQLite://{file}", f"file://{file}", f"FILE:{file}"):
        assert cells(count(f"{url}::reports", grid=8)) == EXPECTED
        assert table_source(f"{url}::reports").files() == [tmp_path / "r.sqlite"]
    where = f"sqlite://{file}::endless"
    assert "column y: is empty, or no finite number" in refusal(where, grid=8)
    assert cells(count(where, grid=8, unusable="drop")) == EXPECTED  # as in a file
    where = f"sqlite://{file}::reports"
    assert "this engine lacks" in refusal(where, grid=8, person="who")
    assert refusal(f"{where}2") == f"{where}2: there is no such table"
    # what a column is said to hold binds no value of SQLite
    assert "column x: is not an integer" in refusal(f"sqlite://{file}::odd")


def test_a_file_that_is_no_database_of_that_engine_is_refused_and_none_is_made(
    tmp_path, monkeypatch
):
    sqlite3 = pytest.importorskip("sqlite3")
    with sqlite3.connect(tmp_path / "r.sqlite") as connection:
        connection.execute("CREATE TABLE r (x INTEGER, y INTEGER, label INTEGER)")
    connection.close()
    (tmp_path / "p.csv").write_text("x,y,label\n1,2,1\n")
    (tmp_path / "p.csv.gz").write_text("x,y,label\n1,2,1\n")
    (tmp_path / "empty.db").touch()
    monkeypatch.chdir(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    other = f"is not a DuckDB file: give --table sqlite://{tmp_path}/r.sqlite::r"
    expected = {
        "sqlite://nosuch.sqlite::r": "nosuch.sqlite: there is no such file",
        "SQLITE:nosuch.sqlite::r": "nosuch.sqlite: there is no such file",
        f"sqlite://{tmp_path}/nosuch.db::r": "nosuch.db: there is no such file",
        "sqlite://no/such.db?mode=rwc::r": "such.db: there is no such file",
        "file:nosuch.duckdb::r": "nosuch.duckdb: there is no such file",
        "duckdb:r.sqlite::r": f"r.sqlite::r: {other}",
        f"duckdb://{tmp_path}/r.sqlite::r": other,
        "duckdb:p.csv::r": "p.csv::r: is not a DuckDB file",
        "duckdb:empty.db::r": "empty.db::r: is not a DuckDB file",
        "csv:p.csv.gz": "p.csv.gz: cannot be read: Not a gzipped file (b'x,')",
    }
    for where, reason in expected.items():
        outcome = refusal(where)
        assert outcome.endswith(reason), outcome
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    for where in ("sqlite://r.sqlite::r", f"sqlite://{tmp_path}/r.sqlite::r"):
        assert count(where).counts.n == 0


def test_many_files_are_one_table_whatever_their_columns_order_and_types(tmp_path):
    parquet(tmp_path / "part 1.parquet", ROWS)
    parquet(tmp_path / "part 2.parquet", {"label": [1.0], "more": ["?"], "y": [4.0], "x": [3.0]})
    (tmp_path / "a.csv").write_text("x,y,label\n3,4,1\n3,4,1\n3,4,0\n")
    (tmp_path / "b.csv").write_text('y,label,x\n0,0,0\n8,1,"8"\n4,1,3\n')
    assert cells(count(f"parquet:{tmp_path}/part*.parquet", grid=8)) == EXPECTED | {(3, 4, 1): 3}
    assert cells(count(f"csv:{tmp_path}/[ab].csv", grid=8)) == EXPECTED | {(3, 4, 1): 3}
    # the second file's coordinate is none of the grid; the first file's type must not round it
    parquet(tmp_path / "part 2.parquet", {"x": [3.4], "y": [4.0], "label": [1]})
    assert "column x: is not an integer" in refusal(f"parquet:{tmp_path}/part*.parquet", grid=8)


def test_odd_names_of_files_and_columns_are_taken_as_they_are(tmp_path):
    bad = 'y"; DROP TABLE reports; --'
    names = {"lon [°]": [1.5], "y": [2], bad: [0], "x": [7]}
    odd = parquet(tmp_path / 'it\'s [1] "odd".parquet', names)
    columns = {"x": "x", "y": "y", "label": bad}
    assert cells(count(f"parquet:{odd}", columns=columns, grid=8)) == {(7, 2, 0): 1}
    file = database(tmp_path / "r.db", "CREATE TABLE reports AS SELECT 1 x, 2 y, 1 label")
    outcome = refusal(f"duckdb:{file}::reports", columns={"label": bad}, person='id"', grid=8)
    assert "missing column" in outcome
    assert cells(count(f"duckdb:{file}::reports", grid=8)) == {(1, 2, 1): 1}


def test_a_csv_file_brings_its_frame(tmp_path):
    (tmp_path / "a.csv").write_text(
        '# geodp {"grid": 8, "bounds": [13, 42, 20, 47]}\n# more\nx,y,label\n3,4,1\n'
    )
    found = count(f"csv:{tmp_path}/a.csv")
    assert (found.frame.d, found.frame.bounds) == (8, Bounds(13, 42, 20, 47))
    assert cells(found) == {(3, 4, 1): 1}
    outcome = refusal(f"csv:{tmp_path}/a.csv", bounds=BOX)
    assert "its first line says bounds" in outcome
    (tmp_path / "b.csv").write_text("x,y,label\n3,4,1\n")
    assert "the lines before its header are not those of" in refusal(f"csv:{tmp_path}/*.csv")


def test_columns_are_found_by_any_case_and_take_other_names(tmp_path):
    columns = {" X": [1], "Y": [2], "Label": [1], "lon": [14.0], "breite": [43.0]}
    where = f"parquet:{parquet(tmp_path / 'r.parquet', columns)}"
    assert cells(count(where, grid=8)) == {(1, 2, 1): 1}
    degrees = count(where, grid=10, bounds=Bounds(14, 42, 15, 43), columns={"lat": "Breite"})
    assert cells(degrees) == {(0, 10, 1): 1}
    assert "need public bounds" in refusal(where, columns={"lat": "breite"})
    assert "missing column b: it has" in refusal(where, columns={"lat": "b"}, bounds=BOX)


@pytest.mark.parametrize("kind", ["TINYINT", "UBIGINT", "HUGEINT", "FLOAT", "DECIMAL(9,3)"])
def test_all_kinds_of_numbers_are_coordinates_and_labels(tmp_path, kind):
    for label in ("true", f"1::{kind}"):
        rows = f"SELECT 3::{kind} AS x, 4::{kind} AS y, {label} AS label"
        file = database(tmp_path / "r.db", f"CREATE OR REPLACE TABLE reports AS {rows}")
        assert cells(count(f"duckdb:{file}::reports", grid=8)) == {(3, 4, 1): 1}


# -- the same counts as the CSV reader's --------------------------------------------------------


@st.composite
def near_borders(draw: st.DrawFn) -> tuple[GridMap, np.ndarray]:
    """A frame, and degrees a few steps of a double beside borders of cells and bounds."""
    d = draw(st.sampled_from([1, 2, 3, 7, 10, 333, 1024, 2**20]))
    west = draw(st.floats(-180, 179))
    south = draw(st.floats(-90, 89))
    east = draw(st.floats(west, 180).filter(lambda e: e - west > 1e-6))
    north = draw(st.floats(south, 90).filter(lambda n: n - south > 1e-6))
    place = GridMap(d, Bounds(west, south, east, north))
    halves = draw(st.lists(st.tuples(*[st.integers(0, 2 * d)] * 2), min_size=20, max_size=60))
    degrees = place.to_lonlat(np.array(halves) / 2)
    for _ in range(draw(st.integers(0, 3))):
        toward = draw(st.sampled_from([-np.inf, np.inf]))
        degrees = np.vstack([degrees, np.nextafter(degrees, toward)])
    return place, np.clip(degrees, [west, south], [east, north])


@settings(max_examples=16)
@given(near_borders())
def test_degrees_are_rounded_to_the_grid_as_the_csv_reader_rounds_them(tmp_path_factory, drawn):
    place, degrees = drawn
    folder = tmp_path_factory.mktemp("r")
    lon, lat = degrees.T
    label = np.arange(len(lon)) % 2
    parquet(folder / "r.parquet", {"lon": lon, "lat": lat, "label": label})
    rows = "".join(
        f"{a!r},{b!r},{c}\n"
        for a, b, c in zip(*map(list, (lon.tolist(), lat.tolist(), label.tolist())), strict=True)
    )
    (folder / "r.csv").write_text("lon,lat,label\n" + rows)
    frame = {"grid": place.d, "bounds": place.bounds}
    expected = GridCounts.of_examples(place.to_grid(degrees), label == 1, place.d)
    assert same(counts_of_csv(folder / "r.csv", **frame), expected)
    assert same(count(f"parquet:{folder}/r.parquet", **frame).counts, expected)
    assert same(count(f"csv:{folder}/r.csv", **frame).counts, expected)


# -- refusals ----------------------------------------------------------------------------------

SECRET = 987654.25


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("x", SECRET, "column x: is off the grid 0..8 in some row (set its size with --grid)"),
        ("x", -1.0, "column x: is off the grid"),
        ("y", 4.25, "column y: is not an integer in some row (degrees need --columns"),
        ("y", float("nan"), "column y: is empty, or no finite number, in some row"),
        ("y", float("inf"), "column y: is empty, or no finite number, in some row"),
        ("x", None, "column x: is empty, or no finite number, in some row"),
        ("label", SECRET, "column label: is empty, or no label, in some row"),
        ("label", 0.5, "column label: is empty, or no label"),
        ("label", float("nan"), "column label: is empty, or no label"),
        ("label", None, "column label: is empty, or no label"),
        (
            "who",
            None,
            "column who: is empty, blank, NaN or infinite in some row; every row must",
        ),
    ],
)
def test_a_wrong_row_is_refused_and_not_shown(tmp_path, column, value, reason):
    columns = {name: list(map(float, values)) for name, values in ROWS.items()}
    columns["who"] = [7.0, 7.0, 1.0, 2.0, 3.0]  # the wrong row has a neighbour of the same person
    columns[column][0] = value
    where = f"parquet:{parquet(tmp_path / 'r.parquet', columns)}"
    for person in ("who",) if column == "who" else (None, "who"):
        outcome = refusal(where, grid=8, person=person)
        assert reason in outcome
        assert str(SECRET) not in outcome
        assert "correct such rows, or read a view without them" in outcome


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("lon,lat,label\n13.2,42.1,1\n19.8,46.9,0\n", None),
        ("lon,lat,label\n13.199999999999998,42.1,1\n", "column lon: is outside the bounds"),
        ("lon,lat,label\n13.2,46.900000000000006,1\n", "column lat: is outside the bounds 42.1"),
        ("lon,lat,label\n1e999,43,1\n", "column lon: is empty, or no finite number"),
        ("lon,lat,label\n14,,1\n", "column lat: is empty, or no finite number"),
        ("lon,lat,label\n1_4,43,1\n", "column lon: is empty, or no finite number"),
        ("lon,lat,label\n14,43,1\n14,43\n", "every row"),
        ("lon,lat\n14,43\n", "missing column label: it has 'lon,lat'"),
    ],
)  # fmt: skip
def test_both_readers_of_csv_refuse_the_same_files(write, text, reason):
    path = write("r.csv", text)
    if reason is None:
        assert same(count(f"csv:{path}", bounds=BOX).counts, counts_of_csv(path, bounds=BOX))
        return
    with pytest.raises(InputError):
        read_points(path, PointOptions(bounds=BOX))
    assert reason in refusal(f"csv:{path}", bounds=BOX)


def test_a_row_of_another_length_far_down_is_named_by_its_line(tmp_path):
    rows = ["3,4,1"] * 60_000
    rows[50_000] = f"3,{SECRET}"
    for above, line in (("", 50002), ("# note\n\n", 50004)):
        (tmp_path / "r.csv").write_text(f"{above}x,y,label\n" + "\n".join(rows) + "\n")
        outcome = refusal(f"csv:{tmp_path}/r.csv", grid=8)
        assert f"line {line} cannot be read" in outcome
        assert str(SECRET) not in outcome


def test_what_is_not_there_is_one_line(tmp_path, write):
    folder = tmp_path
    write("not.parquet", "no parquet")
    file = database(folder / "r.db", "CREATE TABLE reports AS SELECT 'a' x, DATE '2020-01-01' y")
    expected = {
        f"parquet:{folder}/no*.pq": "there is no such file",
        f"parquet:{folder}": "is a folder: name its files",
        f"parquet:{folder}/not.parquet": "not.parquet: ",
        f"csv:{folder}/none.csv": "there is no such file",
        f"duckdb:{folder}/none.db::reports": "none.db: there is no such file",
        f"duckdb:{file}::report": "there is no such table",
        f"duckdb:{file}::old.reports": "there is no such table",
        f"duckdb:{folder}/not.parquet::reports": "not.parquet::reports: ",
        f"duckdb:{file}::reports": "missing column label: it has 'x,y'",
        "nosuchengine::reports": "nosuchengine::reports: ",
        "postgres://me:hunter2@localhost:1/db?password=hunter2::reports": "postgres://me:***@",
    }
    for where, reason in expected.items():
        outcome = refusal(where)
        assert reason in outcome, outcome
        assert "\n" not in outcome
        assert "hunter2" not in outcome


def test_what_holds_no_numbers_is_refused_by_its_kind(tmp_path):
    file = database(
        tmp_path / "r.db", "CREATE TABLE r AS SELECT 'a' x, DATE '2020-01-01' y, 1 label"
    )
    other = database(tmp_path / "s.db", "CREATE TABLE r AS SELECT 'a' x, '2' y, 'yes' label")
    assert "column x: is empty, or no finite number" in refusal(f"duckdb:{other}::r")
    assert "column y: holds date" in refusal(f"duckdb:{file}::r", columns={"x": "x"})


def test_an_engine_that_fails_on_a_row_does_not_quote_it(tmp_path):
    rows = f"SELECT CAST(s AS INTEGER) x, 1 y, 1 label FROM (VALUES ('1'), ('w{SECRET}')) t(s)"
    file = database(tmp_path / "r.db", f"CREATE VIEW reports AS {rows}")
    outcome = refusal(f"duckdb:{file}::reports")
    assert "the engine stopped with ConversionException" in outcome
    assert str(SECRET) not in outcome


def test_without_ibis_one_line_says_what_to_install(tmp_path, monkeypatch):
    where = f"parquet:{parquet(tmp_path / 'r.parquet', ROWS)}"
    monkeypatch.setitem(sys.modules, "ibis", None)
    assert "pip install 'geodp[tables]'" in refusal(where)


# -- DuckDB files ------------------------------------------------------------------------------

HOLD = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "r")
print("open", flush=True)
sys.stdin.read()
"""


def test_a_duckdb_file_is_only_read(tmp_path):
    file = database(tmp_path / "r.db", "CREATE TABLE reports AS SELECT 1 x, 2 y, 1 label")
    before = file.read_bytes(), file.stat().st_mtime_ns
    where = f"duckdb:{file}::reports"
    for mode in "rw":
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, file, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as other:
            assert other.stdout.readline() == b"open\n"
            if mode == "r":
                assert cells(count(where)) == {(1, 2, 1): 1}
                assert (file.read_bytes(), file.stat().st_mtime_ns) == before
            else:
                assert "lock" in refusal(where)
            other.stdin.close()
    database(file, "INSERT INTO reports VALUES (1, 2, 1)")  # nothing holds it any more
    assert cells(count(where)) == {(1, 2, 1): 2}
    assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


# -- persons -----------------------------------------------------------------------------------


@settings(max_examples=15)
@given(st.data())
def test_a_person_more_is_one_example_more(tmp_path_factory, data):
    """Lemma T1: all rows of one person more are one example more, and nothing else moves."""
    folder = tmp_path_factory.mktemp("persons")
    row = st.tuples(*[st.integers(0, 2)] * 2, st.integers(0, 1), st.integers(0, 3))
    others = data.draw(st.lists(row, min_size=1, max_size=12))
    own = [(*r[:3], 9) for r in data.draw(st.lists(row, min_size=1, max_size=5))]
    mixed = data.draw(st.permutations([*others, *own]))
    found = []
    for rows in (others, mixed):
        columns = dict(
            zip(("x", "y", "label", "who"), map(list, zip(*rows, strict=True)), strict=True)
        )
        where = f"parquet:{parquet(folder / 'r.parquet', columns)}"
        found.append(Counter(cells(count(where, grid=2, person="who"))))
    more = found[1] - found[0]
    assert not found[0] - found[1]
    assert sum(more.values()) == 1
    assert set(more) <= {r[:3] for r in own}


@pytest.mark.parametrize("rows", [2, 5])
def test_each_person_counts_as_often_as_is_asked_for(tmp_path, rows):
    """Lemma T2: by own rows alone, different ones first, and these in turn."""
    rng = np.random.default_rng(rows)
    columns = {name: rng.integers(0, 3, 40).tolist() for name in ("x", "y")}
    columns |= {"label": rng.integers(0, 2, 40).tolist(), "who": rng.integers(0, 8, 40).tolist()}
    persons = set(columns["who"])
    different = Counter(row[3] for row in set(zip(*columns.values(), strict=True)))
    assert min(different.values()) < rows < max(different.values())

    def of(some):
        kept = [i for i, who in enumerate(columns["who"]) if who in some]
        part = {name: [column[i] for i in kept] for name, column in columns.items()}
        where = f"parquet:{parquet(tmp_path / 'r.parquet', part)}"
        own = {row[:3] for row in zip(*part.values(), strict=True)}
        return Counter(cells(count(where, grid=2, person="who", rows=rows))), own

    whole = Counter()
    for who in persons:
        alone, own = of({who})
        assert alone.total() == rows
        assert set(alone) <= own
        assert len(alone) == min(rows, len(own))
        assert max(alone.values()) - min(alone.values()) <= 1
        whole += alone
    assert of(persons)[0] == whole


def test_a_faulty_row_is_found_among_many_of_a_person(tmp_path):
    columns = {"x": [*range(8), 9], "y": [0] * 9, "label": [1] * 9, "who": ["a"] * 9}
    where = f"parquet:{parquet(tmp_path / 'r.parquet', columns)}"
    assert "column x: is off the grid" in refusal(where, grid=8, person="who", rows=2)


def test_each_of_a_persons_different_rows_is_as_likely(tmp_path):
    persons, rows = 6000, 5
    who = np.repeat(np.arange(persons), rows)
    columns = {"x": np.tile(np.arange(rows), persons), "y": who % 7, "label": who % 2, "who": who}
    where = f"parquet:{parquet(tmp_path / 'r.parquet', columns)}"
    found = count(where, grid=8, person="who").counts
    assert found.n == persons
    chosen = np.bincount(found.points[:, 0], found.amounts, minlength=rows)
    assert chisquare(chosen).pvalue > 0.01
    # texts as names of persons, degrees as coordinates
    columns = {"lon": 13.2 + columns["x"] * 1.2, "lat": np.full(len(who), 43.0),
               "label": columns["label"], "who": [f"person {w}" for w in who]}  # fmt: skip
    parquet(tmp_path / "r.parquet", columns)
    found = count(where, grid=8, bounds=BOX, person="who").counts
    assert found.n == persons
    _, chosen = np.unique(np.repeat(found.points[:, 0], found.amounts), return_counts=True)
    assert len(chosen) == rows
    assert chisquare(chosen).pvalue > 0.01


def test_the_choice_does_not_depend_on_order_files_or_threads(tmp_path):
    rng = np.random.default_rng(2)
    n = 30_000
    columns = {
        name: rng.integers(0, high, n)
        for name, high in (("x", 65), ("y", 65), ("label", 2), ("who", n // 3))
    }
    parquet(tmp_path / "a.parquet", columns)
    once = count(f"parquet:{tmp_path}/a.parquet", grid=64, person="who").counts
    order = rng.permutation(n)
    for part in range(3):
        rows = order[part::3]
        parquet(tmp_path / f"part{part}.parquet", {k: v[rows] for k, v in columns.items()})
    again = count(f"parquet:{tmp_path}/part*.parquet", grid=64, person="who").counts
    assert same(once, again)
    assert once.n == len(np.unique(columns["who"]))


NOBODIES = [
    "NULL::DOUBLE", "'nan'::DOUBLE", "'-nan'::DOUBLE", "'nan'::FLOAT", "NULL::VARCHAR", "''",
    "' '", "'  '", "chr(9)", "chr(10) || ' ' || chr(13)", "chr(160)", "chr(8199)", "chr(12288)",
    "chr(8203)", "chr(65279)", "NULL::BLOB", "''::BLOB", "NULL::UUID", "NULL::DATE",
    "'00000000-0000-0000-0000-000000000000'::UUID", "NULL::INTEGER", "NULL::DECIMAL(9, 2)",
]  # fmt: skip


@pytest.fixture(scope="module")
def of_nobody(tmp_path_factory) -> tuple[str, str]:
    """A table with a column for each of them, in two forms."""
    folder = tmp_path_factory.mktemp("nobody")
    names = ", ".join(f"{value} AS who{i}" for i, value in enumerate(NOBODIES))
    rows = f"SELECT range x, range y, 1 AS label, {names} FROM range(2)"
    copied = f"COPY r TO '{folder}/r.parquet'"
    file = database(folder / "r.db", f"CREATE TABLE r AS {rows}", copied)
    return f"duckdb:{file}::r", f"parquet:{folder}/r.parquet"


def test_the_nil_uuid_names_nobody_as_a_text_either() -> None:
    names, faults = names_of([NIL_UUID, f" {NIL_UUID}\t", NIL_UUID[:-1] + "1"])
    assert (names[:2], list(faults)) == (["", ""], [0, 1])
    assert all("is nobody" in fault for fault in faults.values())


@pytest.mark.parametrize("value", NOBODIES)
def test_a_row_of_nobody_is_refused(of_nobody, value):
    """Two of them would be one person, and one person less would replace an example."""
    number = NOBODIES.index(value)
    outcome = refusal(of_nobody[number % 2], grid=8, person=f"who{number}")
    assert (
        f"column who{number}: is empty, blank, NaN or infinite in some row; every row must"
        in outcome
    )


def test_where_no_person_is_named_rows_of_nobody_count(of_nobody):
    for where in of_nobody:
        assert cells(count(where, grid=8)) == {(0, 0, 1): 1, (1, 1, 1): 1}


@pytest.mark.parametrize(
    ("value", "several"),
    [
        ("9007199254740992::DOUBLE", True),  # 2^53, and 2^53 + 1 as well
        ("-9007199254740992::DOUBLE", True),
        ("9007199254740991::DOUBLE", False),
        ("16777216::FLOAT", True),
        ("16777215::FLOAT", False),
        ("'inf'::DOUBLE", True),
        ("9007199254740993::BIGINT", False),
        ("9007199254740993::DECIMAL(18, 0)", False),
    ],
)
def test_a_number_that_stands_for_several_whole_ones_names_nobody(tmp_path, value, several):
    rows = f"SELECT 1 x, 2 y, 1 AS label, {value} AS who"
    where = f"duckdb:{database(tmp_path / 'r.db', f'CREATE TABLE r AS {rows}')}::r"
    if several:
        assert "column who: is a floating-point number too large" in refusal(where, person="who")
    else:
        assert cells(count(where, person="who")) == {(1, 2, 1): 1}


def test_ids_that_files_would_merge_are_refused(tmp_path):
    """Read by name, integers of one file become the doubles of another."""
    row = {"x": [1, 2], "y": [2, 2], "label": [1, 1]}
    parquet(tmp_path / "a.parquet", {**row, "who": [2**53, 2**53 + 1]})
    assert count(f"parquet:{tmp_path}/a.parquet", person="who").counts.n == 2
    parquet(tmp_path / "b.parquet", {**row, "who": [1.0, 2.0]})
    assert "too large to tell" in refusal(f"parquet:{tmp_path}/*.parquet", person="who")


@pytest.mark.parametrize(
    "values",
    [
        ["' a'", "'a'", "'a '"],
        ["'0'", "'00'", "' 0'"],
        ["chr(160) || 'ß'", "'ß'"],
        ["0", "-1", "1"],
        ["'a'::BLOB", "' '::BLOB", "'\\x00'::BLOB"],
        ["false", "true"],
        ["DATE '2020-01-01'", "DATE '2020-01-02'"],
        ["'00000000-0000-0000-0000-000000000001'::UUID", "uuid()"],
        ["'u'::ENUM ('u', 'v')", "'v'::ENUM ('u', 'v')"],
    ],
)
def test_different_names_are_different_persons(tmp_path, values):
    rows = " UNION ALL ".join(f"SELECT 1 x, 2 y, 1 AS label, {value} AS who" for value in values)
    file = database(tmp_path / "r.db", f"CREATE TABLE r AS {rows}")
    assert cells(count(f"duckdb:{file}::r", person="who")) == {(1, 2, 1): len(values)}


@pytest.mark.parametrize("value", ["[1]", "{'a': 1}", "MAP {'a': 1}", "'null'::JSON"])
def test_what_is_no_single_value_does_not_name_a_person(tmp_path, value):
    rows = f"SELECT 1 x, 2 y, 1 AS label, {value} AS who"
    file = database(tmp_path / "r.db", f"CREATE TABLE r AS {rows}")
    assert "which does not name a person" in refusal(f"duckdb:{file}::r", person="who")


def test_signs_of_comments_within_rows_belong_to_them(write):
    for above in ("", "# note\n", '# geodp {"grid": 64, "bounds": [1, 2, 3, 4]}\n\n# a, "b\n'):
        path = write("r.csv", f"{above}x,y,label,who\n1,2,1,a#1\n1,2,1,a#2\n")
        assert cells(count(f"csv:{path}", person="who")) == {(1, 2, 1): 2}
        path = write("r.csv", f"{above}label,x,y\nzone#1,1,2\n#2,3,4\n")
        words = LabelWords.named(["zone#1"])
        assert cells(count(f"csv:{path}", labels=words)) == {(1, 2, 1): 1, (3, 4, 0): 1}


def test_a_large_grid_has_room_for_the_lots(tmp_path):
    d = 2**20
    columns = {"x": [d, d, 0], "y": [d, 0, d], "label": [1, 1, 1], "who": [1, 2, 3]}
    where = f"parquet:{parquet(tmp_path / 'r.parquet', columns)}"
    assert cells(count(where, grid=d, person="who")) == {(d, d, 1): 1, (d, 0, 1): 1, (0, d, 1): 1}


# -- Spark -------------------------------------------------------------------------------------


def test_spark_counts_as_duckdb_does(tmp_path):
    sql = pytest.importorskip("pyspark.sql")
    rng = np.random.default_rng(1)
    place = GridMap(50, BOX)
    degrees = np.vstack([place.to_lonlat(rng.integers(0, 101, (2000, 2)) / 2) for _ in range(2)])
    degrees[2000:] = np.clip(np.nextafter(degrees[2000:], 90), [13.2, 42.1], [19.8, 46.9])
    who = rng.integers(0, 1000, 4000)
    columns = {"lon": degrees[:, 0], "lat": degrees[:, 1], "label": who % 2, "who": who}
    path = parquet(tmp_path / "r.parquet", columns)
    session = sql.SparkSession.builder.master("local[1]").getOrCreate()
    session.read.parquet(str(path)).createOrReplaceTempView("reports")
    frame = {"grid": 50, "bounds": BOX}
    expected = count(f"parquet:{path}", **frame)
    assert same(count("pyspark::reports", **frame).counts, expected.counts)
    persons = count("pyspark::reports", **frame, person="who").counts
    assert persons.n == len(np.unique(who))
    assert "there is no such table" in refusal("pyspark::nothing", **frame)
