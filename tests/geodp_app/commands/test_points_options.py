"""What commands read: points in other formats and systems, and tables by `--table`."""

import json
import os
import subprocess
from pathlib import Path

import duckdb
import numpy as np
import pytest
import shapely
from known_targets import square_geojson
from pyproj import Geod, Transformer
from terminal import fails, geodp, interrupted, printed

from geodp import read_points
from geodp_app.files.learned_file import read_learned
from geometry.geojson import read_geojson

GRID = 64
BOX = "15,45,16,46"
SEED = ("--seed", "3", "--quiet")


def rows(folder: Path, name: str, lonlat: np.ndarray, labels: np.ndarray) -> Path:
    path = folder / name
    lines = [f"{x!r},{y!r},{int(v)}" for (x, y), v in zip(lonlat.tolist(), labels, strict=True)]
    path.write_text("\n".join(["longitude,latitude,wet", *lines, ""]))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of a disc of 30 km: in degrees, and in metres by GDAL."""
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(5)
    lonlat = rng.uniform((15.02, 45.02), (15.98, 45.98), (4000, 2))
    centre = np.broadcast_to([15.5, 45.5], lonlat.shape)
    far = np.array(Geod(ellps="WGS84").inv(*lonlat.T, *centre.T)[2])
    path = rows(folder, "degrees.csv", lonlat, far < 30_000)
    subprocess.run(
        ["ogr2ogr", "-f", "GPKG", folder / "metres.gpkg", path, "-oo", "X_POSSIBLE_NAMES=longitude",
         "-oo", "Y_POSSIBLE_NAMES=latitude", "-s_srs", "EPSG:4326", "-t_srs", "EPSG:32633"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder


def test_a_grid_in_metres_is_written_in_degrees(folder, capsys):
    """The disc comes back with its true area, seen by another reader, and is evaluated as it is."""
    out = folder / "utm.geojson"
    box = ("--bounds", "500000,4990000,580000,5090000", "--crs", "epsg:32633")
    where = (*box, "--grid", GRID, "--out-of-bounds", "drop")
    assert geodp("learn", folder / "metres.gpkg", *where, "-o", out, *SEED) == 0
    outcome = subprocess.run(["ogrinfo", "-al", out], check=True, capture_output=True, text=True)
    assert "Feature Count: 1" in outcome.stdout
    shape = read_geojson(out).geometry
    assert shape.is_valid
    area, _ = Geod(ellps="WGS84").geometry_area_perimeter(shapely.orient_polygons(shape))
    assert abs(area) == pytest.approx(np.pi * 30_000**2, rel=0.1)
    capsys.readouterr()
    for name in ("metres.gpkg", "degrees.csv"):  # the file's own bounds are in metres
        argv = ("evaluate", out, folder / name, "--out-of-bounds", "drop", "--json")
        assert geodp(*argv) == 0
        assert json.loads(capsys.readouterr().out)["error"] < 0.05


def test_points_without_names_of_degrees_lie_in_the_system_that_is_said(folder, tmp_path, capsys):
    """Bounds are the learned shape's own, and in another system than the points."""
    out, metres = tmp_path / "l.geojson", tmp_path / "metres.csv"
    argv = ("--bounds", BOX, "--grid", GRID, "-o", out, *SEED)
    assert geodp("learn", folder / "degrees.csv", *argv) == 0
    lon, lat, wet = np.loadtxt(folder / "degrees.csv", delimiter=",", skiprows=1).T
    x, y = Transformer.from_crs(4326, 32633, always_xy=True).transform(lon, lat)
    metric = zip(x.tolist(), y.tolist(), wet.astype(int).tolist(), strict=True)
    lines = [f"{a!r},{b!r},{label}" for a, b, label in metric]
    metres.write_text("\n".join(["x,y,label", *lines, ""]))
    outcome = []
    for argv in (("degrees.csv",), (metres, "--crs", "EPSG:32633")):
        outcome.append(printed(capsys, "evaluate", out, folder / argv[0], *argv[1:]))
    assert outcome[0] == outcome[1]
    refused = fails(capsys, "evaluate", out, metres, "--crs", "EPSG:1")
    assert "argument --crs: EPSG:1: no such" in refused


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((170, -20, -170, -10), [[0, 50], [100, 50], [50, 50]]),
        ((165, -20, 180, -10), [[27, 50], [100, 50], [100, 50]]),
        ((-180, -20, -165, -10), [[0, 50], [73, 50], [0, 50]]),
    ],
)
def test_points_are_clipped_to_the_nearest_place_across_the_antimeridian(
    tmp_path, bounds, expected
):
    path = tmp_path / "p.csv"
    path.write_text("lon,lat,label\n169,-15,1\n-169,-15,0\n180,-15,1\n")
    read = read_points(path, grid=100, bounds=bounds, out_of_bounds="clip")
    assert read.points.tolist() == expected


def test_a_shape_across_the_antimeridian_is_cut_there(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    lon, lat = rng.uniform(170, 190, 3000), rng.uniform(-20, -10, 3000)
    inside = (abs(lon - 180) < 5) & (abs(lat + 15) < 3)
    lon = np.where(lon > 180, lon - 360, lon)
    path = rows(tmp_path, "fiji.csv", np.column_stack([lon, lat]), inside)
    out = tmp_path / "l.geojson"
    assert (
        geodp("learn", path, "--bounds", "170,-20,-170,-10", "--grid", GRID, "-o", out, *SEED) == 0
    )
    shape = read_geojson(out).geometry
    assert -180 <= shape.bounds[0] <= shape.bounds[2] <= 180
    for side in ((175, 180), (-180, -175)):
        there = shapely.box(side[0], -18, side[1], -12)
        assert shapely.intersection(shape, there).area == pytest.approx(30, rel=0.15)
    assert geodp("evaluate", out, path) == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--crs", "EPSG:32633"], "--crs is the system of --bounds"),
        (["--crs", "EPSG:1", "--bounds", BOX], "no such coordinate reference system"),
        (["--bounds", "480000,4980000,600000,5100000"], "need --crs, such as EPSG:32633"),
        (["--bounds", "15,45,15.5,46"], "--out-of-bounds drop leaves such rows out"),
        (["--bounds", BOX, "--columns", "label=dry"], "missing column dry"),
        (["--bounds", BOX, "--layer", "a"], "has no layers"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_and_nothing_is_written(
    folder, tmp_path, capsys, options, reason
):
    out = tmp_path / "l.geojson"
    assert reason in fails(capsys, "learn", folder / "degrees.csv", "-o", out, *options)
    assert not out.exists()


def test_a_target_is_sampled_on_a_grid_in_metres(tmp_path, write, capsys):
    ring = [[15.2, 45.2], [15.8, 45.2], [15.8, 45.8], [15.2, 45.8], [15.2, 45.2]]
    target = write("t.geojson", {"type": "Polygon", "coordinates": [ring]})
    points = tmp_path / "p.csv"
    argv = ["--bounds", "500000,4980000,590000,5090000", "--crs", "EPSG:32633", "--seed", 1]
    assert geodp("sample", "--target", target, "--n", 500, "--grid", GRID, *argv, "-o", points) == 0
    x, y, label = np.loadtxt(points, delimiter=",", skiprows=2).T
    own = np.column_stack([500_000 + x * 90_000 / GRID, 4_980_000 + y * 110_000 / GRID])
    lon, lat = Transformer.from_crs(32633, 4326, always_xy=True).transform(*own.T)
    inside = (abs(lon - 15.5) < 0.3) & (abs(lat - 45.5) < 0.3)
    # meridians and parallels are no straight lines there: corners alone are placed
    assert np.count_nonzero(inside != (label == 1)) <= 5


# -- tables ----------------------------------------------------------------------------------------


TABLE_SEED = 5
ROWS = 3_000


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> Path:
    """A sample as CSV, as Parquet and in a DuckDB file, and what is learned from the CSV."""
    tables = tmp_path_factory.mktemp("tables")
    (tables / "t.geojson").write_text(json.dumps(square_geojson(10, 20)))
    points = tables / "p.csv"
    assert geodp("sample", "--target", tables / "t.geojson", "--n", ROWS, "--grid", 64, "--seed", 3,
               "-o", points, "--quiet") == 0  # fmt: skip
    with duckdb.connect(str(tables / "p.db")) as connection:
        connection.execute(
            f"CREATE TABLE reports AS FROM read_csv('{points}', comment='#', delim=',')"
        )
        connection.execute("CREATE TABLE nothing AS SELECT * FROM reports WHERE x < 0")
        connection.execute(
            "CREATE VIEW twice AS SELECT *, x * 100 + y AS who FROM reports"
            " UNION ALL SELECT *, x * 100 + y FROM reports"
        )
        connection.execute(f"COPY reports TO '{tables}/p.parquet'")
    assert geodp("learn", points, "--seed", TABLE_SEED, "-o", tables / "h.geojson", "--report",
               tables / "h.json", "--records", tables / "h.jsonl", "--quiet") == 0  # fmt: skip
    return tables


def test_the_same_seed_learns_the_same_from_a_table(tables, tmp_path, capsys):
    out, report, records = tmp_path / "l.geojson", tmp_path / "r.json", tmp_path / "s.jsonl"
    frame = ["--grid", 64, "--bounds", "9,9,21,21"]
    for where, more in ((f"csv:{tables}/p.csv", []), (f"duckdb:{tables}/p.db::reports", frame)):
        files = ["-o", out, "--report", report, "--records", records]
        assert geodp("learn", "--table", where, *more, "--seed", TABLE_SEED, *files) == 0
        assert out.read_text() == (tables / "h.geojson").read_text()
        assert report.read_text() == (tables / "h.json").read_text()
        lines = [json.loads(line) for line in records.read_text().splitlines()]
        expected = [json.loads(line) for line in (tables / "h.jsonl").read_text().splitlines()]
        for line in [*lines, *expected]:
            line.get("private", {}).pop("seconds", None)
        assert lines == expected
        outcome = capsys.readouterr().err
        assert "each row counts as one person; where a person may have more, give --id" in outcome
        assert str(ROWS) not in outcome


def test_with_id_the_unit_is_in_what_is_published(tables, tmp_path, capsys):
    out, report = tmp_path / "l.geojson", tmp_path / "r.json"
    argv = ["--table", f"duckdb:{tables}/p.db::twice", "--id", "who", "--grid", 64]
    assert geodp("learn", *argv, "-o", out, "--report", report) == 0
    assert "one row of each who was counted; no person has two" in capsys.readouterr().err
    assert dict(read_learned(out).release.parameters)["unit"] == "who"
    document = json.loads(report.read_text())
    assert document["unit"] == "an example is one row of each who"
    assert document["statement"].startswith("(1, 1e-40)-differentially private")
    assert geodp("render", out, "-o", tmp_path / "l.svg") == 0
    assert "An example is one row of each who" in capsys.readouterr().err
    assert printed(capsys, "evaluate", out, tables / "p.csv")["error"] < 0.1


@pytest.mark.parametrize("source", ["table", "file"])
def test_several_rows_of_a_person_are_in_what_is_published(tables, tmp_path, capsys, source):
    out, report = tmp_path / "l.geojson", tmp_path / "r.json"
    where = ["--table", f"duckdb:{tables}/p.db::twice"]
    if source == "file":
        where = [tmp_path / "t.parquet"]
        with duckdb.connect(str(tables / "p.db")) as connection:
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
    assert document["unit"].endswith("of whoever has fewer, these in turn")
    assert printed(capsys, "evaluate", out, tables / "p.csv")["error"] < 0.1


def test_several_rows_are_of_a_person_and_of_no_check(tables, tmp_path, capsys):
    argv = ["learn", tables / "p.csv", "-o", tmp_path / "l.geojson", "--rows", 2]
    assert "--rows is how many rows of a person: give --id" in fails(capsys, *argv)
    table = ["learn", "--table", f"duckdb:{tables}/p.db::twice", "--id", "who", "--grid", 64,
             "-o", tmp_path / "l.geojson", "--rows"]  # fmt: skip
    assert "several of one person are not" in fails(capsys, *table, 2, "--check", 0.1)
    assert "a person has 1 to 1000 rows, not 1001" in fails(capsys, *table, 1001)
    assert not (tmp_path / "l.geojson").exists()


REFUSED = [
    ([], "give either POINTS, a CSV file, or --table WHERE"),
    (["p.csv", "--table", "csv:p.csv"], "give either POINTS, a CSV file, or --table WHERE"),
    (["p.csv", "--id", "who"], "missing column who"),
    (["p.csv", "--id", "label"], "column label is read as a place or a label"),
    (["--table", "csv:p.csv", "--id", "x"], "column x is read as a place or a label"),
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
def test_what_does_not_go_together_is_refused(tables, capsys, monkeypatch, argv, reason):
    monkeypatch.chdir(tables)
    before = sorted(os.listdir(tables))
    assert reason in fails(capsys, "learn", *argv, "-o", "new.geojson")
    assert sorted(os.listdir(tables)) == before


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
