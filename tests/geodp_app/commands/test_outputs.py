"""What commands write: whole, together, tried before anything is drawn, the same whenever it is
written, and never in the place of what somebody else made."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from terminal import fails, printed

import geodp
from geodp_app.cli import main
from geodp_app.files import gdal_layers
from geodp_app.files.learned_file import read_learned

pyogrio = pytest.importorskip("pyogrio")
geopandas = pytest.importorskip("geopandas")

SHAPES = (".geojson", ".gpkg", ".fgb", ".shp", ".parquet")
POINTS = (".csv", *SHAPES)
BOX = ["--bounds", "13,42,20,47", "--grid", "64"]

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with labelled points and a shape that was learned from them."""
    folder = tmp_path_factory.mktemp("given")
    places = np.random.default_rng(0).uniform([13, 42], [20, 47], (300, 2))
    rows = "".join(f"{x:.5f},{y:.5f},{int(x < 16)}\n" for x, y in places)
    (folder / "points.csv").write_text(f"lon,lat,label\n{rows}")
    assert main([*learn(folder, folder / "learned.geojson")]) == 0
    return folder


def learn(folder: Path, output: Path, *more: object) -> list[str]:
    options = [*BOX, "--seed", "1", "--epsilon", "2", "--quiet", "-o", output, *more]
    return ["learn", str(folder / "points.csv"), *map(str, options)]


def predict(folder: Path, points: Path, output: Path, *more: object) -> list[str]:
    options = ["--quiet", "-o", output, *more]
    return ["predict", str(folder / "learned.geojson"), str(points), *map(str, options)]


def held(folder: Path) -> Files:
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}


def run(*arguments: object, shell: str = "") -> subprocess.CompletedProcess[str]:
    """The program in a process of its own, with redirections as a shell has them."""
    words = " ".join([f"'{sys.executable}' -m geodp_app", *(f"'{each}'" for each in arguments)])
    return subprocess.run(
        ["sh", "-c", f"{words} {shell}"], capture_output=True, text=True, check=False
    )


def entered(ledger: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """How the runs of a ledger ended."""
    return [each["end"] for each in printed(capsys, "ledger", ledger)["runs"]]


# -- the same whenever -------------------------------------------------------------------------


def writers(given: Path) -> dict[str, Callable[[Path], None]]:
    """Everything that may be published, or says how points are labelled, by verb and ending."""
    shape = geodp.load(given / "learned.geojson")

    def command(*words: str) -> Callable[[Path], None]:
        def write(path: Path) -> None:
            assert main([*words, "-o", str(path), "--quiet"]) == 0

        return write

    points = str(given / "points.csv")
    return {
        **{f"learn{e}": lambda path: _ok(learn(given, path, "--report", f"{path}.json"))
           for e in SHAPES},
        **{f"save{e}": lambda path: geodp.save(shape, path) for e in SHAPES},
        **{f"predict{e}": command("predict", str(given / "learned.geojson"), points, *BOX[:2])
           for e in POINTS},
        **{f"render{e}": command("render", str(given / "learned.geojson"))
           for e in (".png", ".svg")},
        "plugin.zip": command("plugin"),
    }  # fmt: skip


def _ok(arguments: list[str]) -> None:
    assert main(arguments) == 0


NAMES = [
    *(f"{verb}{e}" for verb in ("learn", "save") for e in SHAPES),
    *(f"predict{e}" for e in POINTS), "render.png", "render.svg", "plugin.zip",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_no_file_says_when_it_was_written(tmp_path, given, name, monkeypatch):
    write, path = writers(given)[name], tmp_path / f"a{Path(name).suffix}"
    write(path)
    first = held(tmp_path)
    days = [each for each in _days() if any(each in data for data in first.values())]
    assert days == []
    if name.startswith("predict"):  # rows are people's own, and go only if that is told
        for each in tmp_path.iterdir():
            each.unlink()
    write(path)  # what else geodp wrote is written over without being told to
    assert held(tmp_path) == first


def _days() -> list[bytes]:
    """Today as formats would say it: ISO, and the bytes of a table of dBase."""
    from datetime import UTC, datetime, timedelta

    now = [datetime.now(UTC) + timedelta(days=days) for days in (-1, 0, 1)]
    outcome = [f"{day:%Y-%m-%d}".encode() for day in now]
    return outcome + [bytes([3, day.year - 1900, day.month, day.day]) for day in now]


# -- together ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("ending", [".geojson", ".gpkg", ".shp"])  # others are one file as well
@pytest.mark.parametrize(("call", "number"), [("fsync", 1), ("fsync", 3), ("replace", 1),
                                              ("replace", 2)])  # fmt: skip
def test_a_run_that_is_interrupted_has_written_all_or_nothing(
    tmp_path, given, ending, call, number, monkeypatch, capsys
):
    ledger, output = tmp_path / "a.ledger", tmp_path / "out"
    output.mkdir()
    assert main(["ledger", str(ledger), "--new"]) == 0
    also = ["--report", output / "r.json", "--records", output / "s.jsonl", "--ledger", ledger]
    parts = [".shp", ".shx", ".dbf", ".prj", ".cpg"] if ending == ".shp" else [ending]
    style = [] if ending == ".geojson" else ["a.qml"]
    wanted = {*(f"a{part}" for part in parts), *style, "r.json", "s.jsonl"}
    real, calls = getattr(os, call), 0

    def interrupted(*arguments: object, **keys: object) -> object:
        nonlocal calls
        about = str(arguments[1] if len(arguments) > 1 else "")
        if call == "fsync":
            about = os.readlink(f"/proc/self/fd/{arguments[0]}")
        if str(output) in about and (call == "replace" or not _is_folder(arguments[0])):
            calls += 1
            if calls == number:
                signal.raise_signal(signal.SIGINT)
        return real(*arguments, **keys)

    # trials come first: only what follows the entry in the ledger is interrupted
    from geodp_app.files.ledger_recording import Recording

    enter = Recording.enter

    def entered_then(self: Recording, *runs: Any) -> None:
        enter(self, *runs)
        monkeypatch.setattr(os, call, interrupted)

    monkeypatch.setattr(Recording, "enter", entered_then)
    code = main(learn(given, output / f"a{ending}", *also))
    monkeypatch.undo()
    assert code == 130
    outcome = capsys.readouterr().err
    there = set(held(output))
    assert there in (set(), wanted)
    end = entered(ledger, capsys)[-1]
    if there:
        assert end == "released"
        assert "cancelled when it had written" in outcome
        assert all(name in outcome for name in wanted)
    else:
        assert end == "cancelled"
        assert "cancelled; nothing was written" in outcome


def _is_folder(handle: object) -> bool:
    import stat

    return stat.S_ISDIR(os.fstat(handle).st_mode)  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", [".geojson", ".shp"])
def test_a_release_that_cannot_be_written_is_kept_elsewhere(
    tmp_path, given, ending, monkeypatch, capsys
):
    from geodp_app.files.ledger_recording import Recording

    ledger, output = tmp_path / "a.ledger", tmp_path / "out"
    output.mkdir()
    assert main(["ledger", str(ledger), "--new"]) == 0
    enter = Recording.enter

    def entered_then(self: Recording, *runs: Any) -> None:  # the folder goes while the run is made
        enter(self, *runs)
        output.rmdir()

    monkeypatch.setattr(Recording, "enter", entered_then)
    assert main(learn(given, output / f"a{ending}", "--ledger", ledger)) == 2
    outcome = capsys.readouterr().err.splitlines()[-1]
    assert "what was learned is kept in " in outcome
    kept = Path(outcome.rpartition(" kept in ")[2])
    same = geodp.load(given / "learned.geojson")
    assert geodp.load(kept).release == same.release
    assert entered(ledger, capsys) == ["released"]
    kept.unlink()


# -- tried before ------------------------------------------------------------------------------

#: Options, and what is said.
BEFORE = {
    "grid units in another format": ("-o x.gpkg --raw-grid", ""),
    "a loop of links": ("-o loop", ""),
    "a report to a device that is full": ("-o x.geojson --report /dev/full", ""),
    "an output to a device that is full": ("-o /dev/full", ""),
    "a name that is the format's own": ("-o gpkg_water.gpkg", ""),
    "a name that is the data base's own": ("-o sqlite_water.gpkg", ""),
    "no folder": ("-o none/x.geojson", "there is no folder"),
    "a file for a folder": ("-o points.csv/x.geojson", "there is no folder"),
    "a folder that takes nothing": ("-o /proc/x.geojson", "cannot write to /proc"),
    "a folder": ("-o folder.geojson", "is a folder"),
    "a part of a shapefile is a folder": ("-o folder.shp", ""),
    "the same file twice": ("-o x.geojson --report x.geojson", "is another output too"),
    "the same file by a link": ("-o x.json --report link.json", ""),
    "standard output twice": ("-o - --report -", ""),
    "another's ending": ("-o x.png", ""),
    "records in a folder that is none": ("-o x.geojson --records none/x.jsonl", ""),
    "an input": ("-o points.csv", "is an input too"),
    "an input for records": ("-o x.geojson --records points.csv", "is an input too"),
    "a map that geodp has not made": ("-o theirs.geojson", ""),
    "a table beside": ("-o table.shp", ""),
    "no GeoPackage": ("-o theirs.gpkg", ""),
    "a layer that geodp has not made": ("-o layers.gpkg", ""),
    "a report that geodp has not made": ("-o x.geojson --report theirs.json", ""),
}


@pytest.mark.parametrize("mistake", BEFORE)
def test_what_can_be_seen_before_costs_nothing(tmp_path, given, mistake, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "points.csv").write_bytes((given / "points.csv").read_bytes())
    os.symlink("loop", "loop2")
    os.symlink("loop2", "loop")
    os.symlink("x.json", "link.json")
    for name in ("folder.geojson", "folder.dbf"):
        os.mkdir(name)
    for name in ("theirs.geojson", "theirs.json", "theirs.gpkg", "table.dbf"):
        Path(name).write_bytes(b'{"type": "FeatureCollection", "features": []}')
    frame = geopandas.GeoDataFrame(geometry=[shapely.box(0, 0, 1, 1)], crs="EPSG:4326")
    frame.to_file("layers.gpkg", layer="layers")
    before = held(tmp_path)
    assert main(["ledger", "a.ledger", "--new"]) == 0
    given_options, said = BEFORE[mistake]
    options = [*BOX, "--ledger", "a.ledger", *given_options.split()]
    assert said in fails(capsys, "learn", "points.csv", *options)
    assert entered(tmp_path / "a.ledger", capsys) == []
    after = held(tmp_path)
    del after["a.ledger"]
    assert after == before


@pytest.mark.parametrize(
    ("library", "ending"),
    [("pyogrio", ".fgb"), ("pyogrio", ".gpkg"), ("pyarrow", ".parquet"), ("pyproj", ".parquet")],
)
def test_a_missing_library_costs_nothing(tmp_path, given, library, ending, monkeypatch, capsys):
    ledger = tmp_path / "a.ledger"
    assert main(["ledger", str(ledger), "--new"]) == 0
    monkeypatch.setitem(sys.modules, library, None)
    refused = fails(capsys, *learn(given, tmp_path / f"a{ending}", "--ledger", ledger))
    assert "pip install 'geodp[geo]'" in refused
    monkeypatch.undo()
    assert entered(ledger, capsys) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")
def test_a_trial_does_not_end_a_pipe(tmp_path: Path, given: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        done = run(*learn(given, pipe))
        assert done.returncode == 0
        assert reader.stdout.read().startswith(b'{"type": "FeatureCollection"')


# -- what is there already ---------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["learn", "predict"])
def test_other_layers_of_a_geopackage_stay(tmp_path: Path, given: Path, verb: str) -> None:
    path = tmp_path / "multi.gpkg"
    theirs = geopandas.GeoDataFrame(
        {"fid2": [4, 7], "name": ["a", None]}, geometry=[shapely.Point(1, 2), shapely.Point(3, 4)],
        crs="EPSG:3035",
    )  # fmt: skip
    theirs.to_file(path, layer="roads")
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE layer_styles (id INTEGER)")
    database.close()
    points = given / "points.csv"
    arguments = learn(given, path) if verb == "learn" else predict(given, points, path, *BOX[:2])
    for _ in range(2):
        assert main(arguments) == 0
        assert sorted(name for name, _ in pyogrio.list_layers(path)) == [
            "layer_styles", "multi", "roads"
        ]  # fmt: skip
        found = geopandas.read_file(path, layer="roads")
        assert found.equals(theirs[["fid2", "name", "geometry"]])
        assert found.crs == theirs.crs
    if verb == "learn":
        assert read_learned(path).release == read_learned(given / "learned.geojson").release
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


#: Words of geodp in what somebody else has written.
OTHERS = b"""# geodp {"grid": 64}
x,y,label,predicted,statement
1,1,1,0.3,"Not private land; a ""geodp"": note"
"""


def test_rows_go_only_if_that_is_told(tmp_path: Path, given: Path, capsys) -> None:
    """Whatever the lines and members say that they kept of their file."""
    points = tmp_path / "p.geojson"
    feature = {"type": "Feature", "properties": {"label": 1}}
    feature["geometry"] = {"type": "Point", "coordinates": [15, 44]}
    member = {"frame": "lonlat", "bounds": [13, 42, 20, 47]}
    points.write_text(json.dumps({"type": "FeatureCollection", "geodp": member,
                                  "features": [feature]}))  # fmt: skip
    (tmp_path / "p.csv").write_text('# geodp {"grid": 64, "bounds": [13, 42, 20, 47]}\nx,y\n1,1\n')
    for source in (points, tmp_path / "p.csv"):
        output = tmp_path / f"out{source.suffix}"
        assert main(predict(given, source, output)) == 0
        before = output.read_bytes()
        assert main(predict(given, source, output)) == 2
        assert output.read_bytes() == before
        assert "give --overwrite" in capsys.readouterr().err


def test_simulated_examples_are_written_over_by_others(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    for n in (10, 20):
        argv = ["sample", "--target", "L", "--n", n, "--grid", 64, "-o", path, "--quiet"]
        assert main([*map(str, argv)]) == 0
    assert len(path.read_text().splitlines()) == 22


def test_a_ledger_is_written_over_by_nothing(tmp_path: Path, given: Path) -> None:
    for name in ("spent", "spent.geojson"):
        assert main(["ledger", str(tmp_path / name), "--new", "--quiet"]) == 0
        before = (tmp_path / name).read_bytes()
        assert main(learn(given, tmp_path / name)) == 2
        assert (tmp_path / name).read_bytes() == before


def test_what_geodp_has_not_written_goes_only_if_told(tmp_path: Path, given: Path) -> None:
    for name in ("a.geojson", "a.gpkg", "a.fgb", "a.parquet", "a.csv", "a.png"):
        path = tmp_path / name
        path.write_bytes(OTHERS)
        arguments = learn(given, path)
        if name == "a.csv":
            arguments = predict(given, given / "points.csv", path, *BOX[:2])
        if name == "a.png":
            arguments = ["render", str(given / "learned.geojson"), "-o", str(path), "--quiet"]
        assert main(arguments) == 2
        assert path.read_bytes() == OTHERS
        if path.suffix in SHAPES:
            with pytest.raises(geodp.InputError, match="overwrite"):
                geodp.save(geodp.load(given / "learned.geojson"), path)
        assert main([*arguments, "--overwrite"]) == 0
        assert path.read_bytes() != OTHERS
        path.write_bytes(b"")  # nothing is lost with an empty file, such as mktemp makes
        assert main(arguments) == 0


@pytest.mark.parametrize("others", [False, True])
def test_a_layer_in_other_capitals_is_the_same_one(tmp_path, given, capsys, others):
    path, theirs = tmp_path / "mine3.gpkg", geopandas.GeoDataFrame(geometry=[shapely.Point(1, 1)])
    names = ["Mine3", "roads"] if others else ["Mine3"]
    for name in names:
        theirs.to_file(path, layer=name)
    assert main(learn(given, path)) == 2
    assert "has a layer Mine3 that geodp has not written" in capsys.readouterr().err
    for more in (["--overwrite"], []):
        assert main([*learn(given, path), *more]) == 0
        assert sorted(geopandas.list_layers(path)["name"]) == names
        assert read_learned(path).release == read_learned(given / "learned.geojson").release


def test_a_style_that_somebody_made_stays(tmp_path: Path, given: Path) -> None:
    for ending in (".qml", ".sld"):
        (tmp_path / f"a{ending}").write_text("red")
    for more in ((), ("--overwrite",)):
        assert main(learn(given, tmp_path / "a.gpkg", *more)) == 0
        assert main(learn(given, tmp_path / "a.shp", *more)) == 0
    assert (tmp_path / "a.qml").read_text() == (tmp_path / "a.sld").read_text() == "red"


def test_no_index_of_another_shapefile_stays_beside(tmp_path: Path, given: Path) -> None:
    path = tmp_path / "a.shp"
    rng = np.random.default_rng(1)
    corners = rng.uniform([13, 42], [13.1, 42.1], (50, 2))
    old = geopandas.GeoDataFrame({"predicted": 0}, index=range(50), crs="EPSG:4326",
                                 geometry=shapely.points(corners))  # fmt: skip
    old.to_file(path)
    subprocess.run(["ogrinfo", "-q", "-sql", "CREATE SPATIAL INDEX ON a", path], check=True)
    for ending in (".sbn", ".sbx", ".qpj", ".ain", ".shp.aux.xml"):
        (tmp_path / f"a{ending}").write_text("old")
    (tmp_path / "a.shp.xml").write_text("notes")
    (tmp_path / "ab.qix").write_text("another's")
    assert (tmp_path / "a.qix").exists()
    assert main(predict(given, given / "points.csv", path, *BOX[:2], "--overwrite")) == 0
    assert {each.name for each in tmp_path.iterdir()} == {
        "a.shp", "a.shx", "a.dbf", "a.prj", "a.cpg", "a.shp.xml", "ab.qix"
    }  # fmt: skip
    box = (14.0, 43.0, 19.0, 46.0)
    everything = geopandas.read_file(path)
    assert len(geopandas.read_file(path, bbox=box)) == everything.intersects(
        shapely.box(*box)
    ).sum()  # fmt: skip


@pytest.mark.parametrize("left", ["by a program that ended", "by one that has it open"])
def test_a_log_beside_a_geopackage_does_not_damage_the_new_one(tmp_path, given, left, capsys):
    path = tmp_path / "a.gpkg"
    assert main(learn(given, path)) == 0
    first = sqlite3.connect(path)
    first.execute("PRAGMA journal_mode=WAL")
    first.execute("CREATE TABLE more (a)")
    first.execute("INSERT INTO more VALUES (1)")
    first.commit()
    beside = [tmp_path / "a.gpkg-wal", tmp_path / "a.gpkg-shm"]
    assert all(each.exists() for each in beside)
    if left == "by a program that ended":
        kept = [(each, each.read_bytes()) for each in (path, *beside)]
        first.close()
        for each, data in kept:
            each.write_bytes(data)
    code = main(learn(given, path))
    if left == "by one that has it open":
        assert code == 2
        assert "open in another program" in capsys.readouterr().err
        first.close()
        return
    assert code == 0
    assert not any(each.exists() for each in beside)
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    assert read_learned(path).release == read_learned(given / "learned.geojson").release


# -- paths are paths ---------------------------------------------------------------------------

ODD = ("a!b", "zip:x", "http:x", "PG:dbname=x", "file:x", "what?mode=memory", ":memory:", "a#b",
       "ümläut", "with space", "s3:bucket", "(1)")  # fmt: skip


@pytest.mark.parametrize(
    ("stem", "ending"),
    [*((stem, e) for stem in ODD for e in (".gpkg", ".shp")),  # by GDAL, which knows such names
     *(("what?mode=memory", e) for e in (".geojson", ".fgb", ".parquet"))],
)  # fmt: skip
def test_a_name_is_a_name(tmp_path, given, stem, ending, monkeypatch):
    monkeypatch.chdir(tmp_path)
    learned, name = geodp.load(given / "learned.geojson"), f"{stem}{ending}"
    for _ in range(2):
        geodp.save(learned, name)
        assert Path(name).is_file()
        assert {each.stem for each in tmp_path.iterdir()} == {stem}
        found = read_learned(Path(name)).target.geometry
        assert found.area == pytest.approx(learned.polygons.area, rel=1e-6)


# -- standard streams --------------------------------------------------------------------------


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_closed_streams_cost_no_run(tmp_path: Path, given: Path, closed: str) -> None:
    output = tmp_path / "a.geojson"
    done = run(*learn(given, output)[:-3], "-o", output, shell=closed)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert read_learned(output).release is not None


def test_a_reader_of_what_is_said_may_leave(tmp_path: Path, given: Path) -> None:
    output = tmp_path / "a.geojson"
    words = [*learn(given, output), "--progress"]
    words.remove("--quiet")
    run(*words, shell="2>&1 | head -n 1")
    assert read_learned(output).release is not None


@pytest.mark.parametrize("words", [["plan", "--json"], ["--version"], ["learn", "--help"]])
def test_a_closed_output_is_told_where_something_is_printed(words: list[str]) -> None:
    done = run(*words, shell=">&-")
    assert done.returncode == 2
    assert done.stderr == "geodp: standard output: cannot be written: Bad file descriptor\n"


STREAMED = {
    "learn": lambda given: learn(given, Path("-")),
    "predict": lambda given: predict(given, given / "points.csv", Path("-"), *BOX[:2]),
    "render": lambda given: ["render", str(given / "learned.geojson"), "-o", "-"],
}


@pytest.mark.parametrize("verb", STREAMED)
def test_a_dash_is_standard_output(tmp_path: Path, given: Path, verb: str) -> None:
    words = [sys.executable, "-m", "geodp_app", *STREAMED[verb](given)]
    root = Path(__file__).parents[3]
    environment = os.environ | {"PYTHONPATH": str(root)}
    starts = {"learn": b'{"type": "FeatureCollection"', "predict": b"lon,lat", "render": b"\x89PNG"}
    with open(tmp_path / "log", "wb") as log:  # appended to, not replaced
        log.write(b"first\n")
        log.flush()
        subprocess.run(words, stdout=log, check=True, cwd=tmp_path, env=environment)
    assert (tmp_path / "log").read_bytes().startswith(b"first\n" + starts[verb])
    assert [each.name for each in tmp_path.iterdir()] == ["log"]


# -- one name for longitude and latitude -------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "named"),
    [*((e, None) for e in SHAPES), (".gpkg", "EPSG:4326"), (".parquet", "OGC:CRS84")],
)
@pytest.mark.filterwarnings("error")
def test_layers_go_with_other_data(tmp_path, given, ending, named):
    path = tmp_path / f"a{ending}"
    arguments = learn(given, path)
    assert main(arguments if named is None else [*arguments, "--crs", named]) == 0
    read = geopandas.read_parquet if ending == ".parquet" else geopandas.read_file
    found = read(path)
    assert found.crs.to_epsg() == 4326
    assert found.crs.to_authority() == ("EPSG", "4326")
    other = geopandas.GeoDataFrame(geometry=[shapely.box(14, 43, 18, 46)], crs="EPSG:4326")
    assert len(geopandas.overlay(other, found)) == 1
    own = geodp.load(given / "learned.geojson").to_geodataframe()
    assert own.crs == found.crs
    assert len(geopandas.overlay(own, found)) == 1


def test_distinct_names() -> None:
    assert gdal_layers.distinct(["a", "A", "b", "a"]) == ["a", "A_", "b", "a__"]
