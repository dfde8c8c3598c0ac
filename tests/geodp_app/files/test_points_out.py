"""What `geodp predict` leaves of a file: all that was in it as it was, and one column more."""

import json
import sqlite3
import subprocess
import sys
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import shapely

from geodp_app.cli import main
from geodp_app.files import csv_table
from geometry.geojson_reading import SEQUENCES

pyogrio = pytest.importorskip("pyogrio")
geopandas = pytest.importorskip("geopandas")
pyarrow = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")

BOX = "4320000,3200000,4330000,3210000"
#: Of EPSG:3035: inside, outside, inside.
PLACES = [(4321000.5, 3201000.25), (4329000.0, 3209000.0), (4324000.0, 3202000.0)]
LABELS = [1, 0, 1]


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The western half of the box."""
    points = np.stack(np.meshgrid(np.arange(65), np.arange(65)), -1).reshape(-1, 2)
    folder = tmp_path_factory.mktemp("learned")
    rows = "".join(f"{x},{y},{int(x <= 32)}\n" for x, y in points)
    (folder / "p.csv").write_text(f"x,y,label\n{rows * 3}")
    path = folder / "learned.geojson"
    argv = ["learn", folder / "p.csv", "--grid", 64, "--epsilon", 20, "--seed", 1, "-o", path]
    assert main([*map(str, argv), "--quiet"]) == 0
    document = json.loads(path.read_text())
    # placed in another system, as `--crs` does it
    west, south, east, north = map(float, BOX.split(","))
    document["geodp"] |= {"bounds": [west, south, east, north, "EPSG:3035"], "georeferenced": True}
    path.write_text(json.dumps(document))
    return path


def predict(learned: Path, points: Path, output: Path, *more: str) -> None:
    how = ("--overwrite", "--quiet")
    assert main(["predict", str(learned), str(points), "-o", str(output), *how, *more]) == 0


ZONE = timezone(timedelta(hours=2))
#: A field of every kind, by name; some are called as ours would be.
FIELDS: dict[str, Any] = {
    "whole": pyarrow.array([1, None, 3], pyarrow.int32()),
    "large": pyarrow.array([1, None, 2**60], pyarrow.int64()),
    "real": pyarrow.array([0.1, None, 1e300], pyarrow.float64()),
    "short_real": pyarrow.array([0.5, None, 2], pyarrow.float32()),
    "yes": pyarrow.array([True, None, False], pyarrow.bool_()),
    "day": pyarrow.array([date(2020, 1, 1), None, date(2021, 2, 3)]),
    "zoned": pyarrow.array([datetime(2020, 1, 1, 12, tzinfo=ZONE), None,
                            datetime(2020, 7, 1, 13, tzinfo=ZONE)],
                           pyarrow.timestamp("ms", "+02:00")),
    "local": pyarrow.array([datetime(2020, 1, 1, 12), None, datetime(2020, 7, 1, 13)],
                           pyarrow.timestamp("ms")),
    "text": pyarrow.array(["ä 'b' \"c\"", None, "007"], pyarrow.string()),
    "longitude": pyarrow.array(["theirs", None, "too"], pyarrow.string()),
    "latitude": pyarrow.array([7.5, 8.5, None], pyarrow.float64()),
    "layer": pyarrow.array([9, 8, 7], pyarrow.int64()),
    "Predicted": pyarrow.array(["old", "old", "old"], pyarrow.string()),
}  # fmt: skip


#: GDAL puts features of FlatGeobuf in another order where it makes an index of them.
ORDERED = {".fgb": {"SPATIAL_INDEX": "NO"}}


def layer_of(path: Path, places: list[Any], crs: str | None, **options: Any) -> None:
    geometry = pyarrow.array(shapely.to_wkb(places).tolist(), pyarrow.binary())
    table = pyarrow.table({**FIELDS, "where": geometry})
    driver = {".gpkg": "GPKG", ".fgb": "FlatGeobuf", ".shp": "ESRI Shapefile"}[path.suffix]
    options |= ORDERED.get(path.suffix, {})
    kind = "Point Z" if shapely.has_z(places[0]) else "Point"
    pyogrio.write_arrow(table, path, layer=path.stem, driver=driver, geometry_name="where",
                        geometry_type=kind, crs=crs, **options)  # fmt: skip


@pytest.mark.parametrize("ending", [".gpkg", ".fgb", ".shp"])
@pytest.mark.parametrize("z", [False, True], ids=["2d", "3d"])
@pytest.mark.filterwarnings("ignore")
def test_a_layer_has_a_column_more_and_all_else_as_it_was(tmp_path, learned, ending, z):
    source, output = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    places = [shapely.Point(x, y, 5.5) if z else shapely.Point(x, y) for x, y in PLACES]
    options = {"FID": "number", "GEOMETRY_NAME": "where"} if ending == ".gpkg" else {}
    layer_of(source, places, "EPSG:3035", **options)
    if ending == ".gpkg":  # numbers that are not 1, 2, 3
        with sqlite3.connect(source) as database:
            database.create_function("ST_IsEmpty", 1, lambda _: 0)
            for name, *_ in database.execute("SELECT name FROM sqlite_master WHERE type='trigger'"):
                if "rtree" in name:
                    database.execute(f'DROP TRIGGER "{name}"')
            database.execute("UPDATE a SET number = number * 10")
        database.close()
    predict(learned, source, output)
    before, after = pyogrio.read_info(source), pyogrio.read_info(output)
    added = "Predicted_" if ending == ".shp" else "predicted_"
    new = next(name for name in after["fields"] if name not in before["fields"])
    assert new.lower() == added.lower()
    for what in ("fields", "dtypes", "ogr_types", "ogr_subtypes"):
        assert list(after[what])[:-1] == list(before[what]), what
    for what in ("crs", "geometry_type", "geometry_name", "fid_column"):
        assert after[what] == before[what], what
    _, old_ids, old_places, old = pyogrio.raw.read(
        source, return_fids=True, datetime_as_string=True
    )
    _, new_ids, new_places, found = pyogrio.raw.read(output, return_fids=True,
                                                     datetime_as_string=True)  # fmt: skip
    assert old_ids.tolist() == new_ids.tolist()
    assert old_places.tolist() == new_places.tolist()
    for one, other in zip(old, found[:-1], strict=True):
        numbers = one.dtype.kind == "f"
        assert np.array_equal(one, other, equal_nan=True) if numbers else list(one) == list(other)
    assert found[-1].tolist() == LABELS


@pytest.mark.parametrize("geo", [True, False], ids=["geoparquet", "parquet"])
@pytest.mark.parametrize("compression", ["snappy", "zstd", "none"])
def test_a_parquet_file_keeps_its_schema(tmp_path, learned, geo, compression):
    from pyarrow import parquet

    source, output = tmp_path / "a.parquet", tmp_path / "b.parquet"
    more = [] if geo else ["--columns", "x=x,y=y", "--bounds", BOX, "--crs", "EPSG:3035"]
    if geo:
        frame = pyarrow.table(FIELDS).to_pandas()
        frame = geopandas.GeoDataFrame(frame, geometry=[shapely.Point(*p) for p in PLACES],
                                       crs="EPSG:3035")  # fmt: skip
        frame.to_parquet(source, compression=None if compression == "none" else compression)
    else:
        xs, ys = zip(*PLACES, strict=True)
        table = pyarrow.table({"x": xs, "y": ys, **FIELDS, "list": [[1], [2, 3], None]})
        parquet.write_table(table, source, compression=compression)
    predict(learned, source, output, *more)
    before, after = parquet.read_table(source), parquet.read_table(output)
    assert after.drop_columns(["predicted_"]).equals(before, check_metadata=True)
    assert after["predicted_"].to_pylist() == LABELS
    files = [parquet.ParquetFile(path).metadata.row_group(0).column(0) for path in (source, output)]
    assert files[0].compression == files[1].compression
    if geo:
        assert geopandas.read_parquet(output).crs == "EPSG:3035"


def text_of(delimiter: str, comma: bool, end: str, quotes: bool, added: list[str]) -> str:
    note = '"a ""b""\n c;d,e"' if quotes else "a"
    rows = [["id", "lon x", "lat y", "note", "predicted"]]
    for i, place in enumerate(PLACES):
        numbers = [f"{v:.2f}".replace(".", ",") if comma else f"{v:.2f}" for v in place]
        rows.append([f"00{i}", *numbers, note, " kept "])
    rows = [[*row, *added[i : i + 1]] for i, row in enumerate(rows)]
    return "".join(delimiter.join(row) + end for row in rows)


@pytest.mark.parametrize(("delimiter", "comma"), [(",", False), (";", True), ("\t", True),
                                                  ("|", False), (";", False)])  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_csv_file_comes_back_with_a_cell_more_in_each_row(
    tmp_path, learned, delimiter, comma, end
):
    source, output = tmp_path / "a.csv", tmp_path / "b.csv"
    added = ["predicted_", *map(str, LABELS)]
    for start in ("", "\ufeff", "# a comment\n", "\ufeff# a comment\r\n"):
        for quotes, cut in ((True, ""), (False, end)):
            texts = [start + text_of(delimiter, comma, end, quotes, more) for more in ([], added)]
            before, after = (text.removesuffix(cut).encode() for text in texts)
            source.write_bytes(before)
            predict(learned, source, output, "--columns", "x=lon x,y=lat y", "--bounds", BOX,
                    "--crs", "EPSG:3035")  # fmt: skip
            assert output.read_bytes() == after


#: Rows of x, y and a note, and what becomes of them: a label, or nothing of empty and far ones.
RECORDS = [
    ("8,8,a", "1"), ("60,8,b", "0"), ("", ""), ("99,8,far", ""), ('8,60,"c\n""d"", e"', "1"),
    ("60,60,'", "0"), ('"8","8",""', "1"), ("99,99,\xe9", ""), ('60, 8,"\n"', "0"),
    ("8,9,\u65e5", "1"),
]  # fmt: skip


@pytest.mark.parametrize("marks", [("", "utf-8"), ("\ufeff", "utf-8"), ("\ufeff", "utf-16-le")])
@pytest.mark.parametrize("doubtful", ["", '5" pipe', 'a"b"'])
@pytest.mark.parametrize("part", [5, 1 << 18])
def test_rows_of_any_line_ends_are_written_as_they_were(tmp_path, learned, marks, doubtful, part):
    """By whole parts and, behind a doubtful quote, one by one; some lines are left out."""
    source, output, rng = tmp_path / "a.csv", tmp_path / "b.csv", np.random.default_rng(part)
    records = [RECORDS[i] for i in rng.integers(0, len(RECORDS), 60)]
    records.insert(30, (f"8,8,{doubtful}", "1"))
    for ends in (["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"]):
        before, after = marks[0] + "x,y,note\n", marks[0] + "x,y,note,predicted\n"
        for i, (row, label) in enumerate(records):
            end = ends[rng.integers(len(ends))] * (i < len(records) - 1 or not label)
            before += row + end
            after += f"{row},{label}{end}" if label else ""
        source.write_bytes(before.encode(marks[1]))
        with (
            mock.patch.object(csv_table, "PART", part),
            mock.patch.object(csv_table, "LONGEST_PART", 4 * part),
        ):
            predict(learned_grid(learned), source, output, "--out-of-bounds", "drop", "--overwrite")
        assert output.read_bytes().decode(marks[1]) == after


def learned_grid(learned: Path) -> Path:
    """The same shape on the grid alone."""
    document = json.loads(learned.read_text())
    del document["geodp"]["bounds"]
    document["geodp"]["georeferenced"] = False
    path = learned.with_name("grid.geojson")
    path.write_text(json.dumps(document))
    return path


def test_geojson_keeps_its_members(tmp_path: Path, learned: Path) -> None:
    xy = geopandas.GeoSeries(shapely.points(PLACES), crs="EPSG:3035").to_crs(4326)
    document = {
        "type": "FeatureCollection", "name": "mine", "more": {"a": [1, None]},
        "features": [
            {"type": "Feature", "id": f"id{i}", "extra": i,
             "properties": None if i == 2 else {"deep": {"a": [i]}, "n": None, "big": 2**60},
             "geometry": {"type": "Point", "coordinates": [p.x, p.y, 3.5]}}
            for i, p in enumerate(xy)
        ],
    }  # fmt: skip
    source, output = tmp_path / "a.geojson", tmp_path / "b.geojson"
    source.write_text(json.dumps(document))
    predict(learned, source, output)
    found = json.loads(output.read_text())
    for feature, label in zip(found["features"], LABELS, strict=True):
        assert feature["properties"].pop("predicted") == label
    found["features"][2]["properties"] = None
    assert found == document


FORMATS = [".csv", ".geojson", ".geojsonl", ".geojsons", ".gpkg", ".fgb", ".shp", ".parquet"]


#: Each is read for three others, and written from three: for itself, and for two by turns.
PAIRS = [(one, FORMATS[(i + far) % 8]) for i, one in enumerate(FORMATS) for far in (0, 3, 4)]


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.filterwarnings("ignore")
def test_another_format_keeps_what_it_can_hold(tmp_path, learned, source, target):
    given, output = tmp_path / f"a{source}", tmp_path / f"b{target}"
    frame = geopandas.GeoDataFrame(
        {"whole": [1, 2, 3], "text": ["007", "ü", "x y"], "real": [0.5, 1.25, 1e6],
         "fid": ["a", "b", "c"], "name": ["p", "q", "r"], "NAME": ["P", "Q", "R"]},
        geometry=shapely.points(PLACES), crs="EPSG:3035",
    )  # fmt: skip
    more: list[str] = []
    if source == ".csv":
        table = pandas.DataFrame(frame.drop(columns="geometry"))
        table["x"], table["y"] = frame.geometry.x, frame.geometry.y
        table.to_csv(given, index=False)
        more = ["--bounds", BOX, "--crs", "EPSG:3035", "--columns", "x=x,y=y"]
    elif source == ".parquet":
        frame.to_parquet(given)
    else:
        if source in (".gpkg", ".shp"):  # they cannot hold these
            frame = frame.drop(columns=["NAME", "fid"])
        lines = {"driver": "GeoJSONSeq", "COORDINATE_PRECISION": 15, "RS": source == ".geojsons"}
        driver = lines if source in SEQUENCES else {}
        (frame.to_crs(4326) if ".geojson" in source else frame).to_file(
            given, **driver, **ORDERED.get(source, {})
        )
    predict(learned, given, output, *more)
    if target == ".csv":
        found = pandas.read_csv(output, dtype={"text": str})
    elif target == ".parquet":
        found = geopandas.read_parquet(output)
    else:
        found = geopandas.read_file(output)
    assert found["predicted"].tolist() == LABELS
    assert found["text"].tolist() == ["007", "ü", "x y"]
    assert found["whole"].tolist() == [1, 2, 3]
    assert found["real"].tolist() == [0.5, 1.25, 1e6]
    if "fid" in frame:
        assert found["fid"].tolist() == ["a", "b", "c"]
        assert found["name"].tolist() == ["p", "q", "r"]
        other = {".gpkg": "NAME_", ".shp": "NAME_", ".fgb": "NAME_"}.get(target, "NAME")
        assert found[other].tolist() == ["P", "Q", "R"]
    if target == ".csv":
        assert ("longitude" in found) == (".geojson" in source)  # what is called so is so
        xy = ["x", "y"] if "x" in found else ["longitude", "latitude"]
        own = geopandas.GeoSeries(shapely.points(found[xy].to_numpy()),
                                  crs=3035 if "x" in found else 4326)  # fmt: skip
    else:
        own = found.geometry
        wanted = 4326 if ".geojson" in source + target else 3035
        assert own.crs.to_epsg() == wanted
        if target == ".geojson" != source:
            assert "crs" not in json.loads(output.read_text())
    there = own.to_crs(3035)
    assert there.distance(geopandas.GeoSeries(shapely.points(PLACES), crs=3035)).max() < 1e-3


def test_lines_of_a_map_in_another_system_are_in_degrees(tmp_path: Path, learned: Path) -> None:
    """A line has no place for a system, and RFC 8142 knows degrees alone."""
    features = [{"type": "Feature", "properties": {"a": i},
                 "geometry": {"type": "Point", "coordinates": xy}}
                for i, xy in enumerate(PLACES)]  # fmt: skip
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3035"}}
    document = {"type": "FeatureCollection", "crs": crs, "features": features}
    (tmp_path / "a.geojson").write_text(json.dumps(document))
    for name in ("b.geojsonl", "b.ndjson", "b.jsonl"):
        predict(learned, tmp_path / "a.geojson", tmp_path / name)
        lines = (tmp_path / name).read_text().splitlines()
        found = [json.loads(line) for line in lines]
        assert [each["properties"] for each in found] == [
            {"a": i, "predicted": label} for i, label in enumerate(LABELS)
        ]
        xy = [each["geometry"]["coordinates"] for each in found]
        there = geopandas.GeoSeries(shapely.points(xy), crs=4326).to_crs(3035)
        assert there.distance(geopandas.GeoSeries(shapely.points(PLACES), crs=3035)).max() < 1e-3
    again = tmp_path / "c.geojsonl"
    predict(learned, tmp_path / "b.geojsonl", again)  # and what is written is read
    written = map(json.loads, again.read_text().splitlines())
    assert [each["properties"]["predicted_"] for each in written] == LABELS


def test_only_rows_that_are_kept_are_written(tmp_path: Path, learned: Path) -> None:
    places = [PLACES[0], (0.0, 0.0), PLACES[1]]
    frame = geopandas.GeoDataFrame({"n": [1, 2, 3]}, geometry=shapely.points(places), crs=3035)
    for name in ("a.gpkg", "a.parquet", "a.geojson"):
        write = frame.to_parquet if name.endswith("parquet") else frame.to_file
        if name.endswith("geojson"):
            frame.to_crs(4326).to_file(tmp_path / name)
        else:
            write(tmp_path / name)
        output = tmp_path / f"b{name}"
        predict(learned, tmp_path / name, output, "--out-of-bounds", "drop")
        read = geopandas.read_parquet if name.endswith("parquet") else geopandas.read_file
        assert read(output)["n"].tolist() == [1, 3]
        assert read(output)["predicted"].tolist() == [1, 0]


def test_rows_without_a_place_are_left_out_of_any_layer(tmp_path: Path, learned: Path) -> None:
    at = shapely.Point(*PLACES[0])
    for ending, places in ((".fgb", [at, None, at]), (".fgb", [None, at]), (".gpkg", [at, None])):
        source, output = tmp_path / f"a{ending}", tmp_path / "b.gpkg"
        frame = geopandas.GeoDataFrame({"k": range(len(places))}, geometry=places, crs=3035)
        frame.to_file(source, **ORDERED.get(ending, {}))
        predict(learned, source, output, "--unusable", "drop")
        assert list(geopandas.read_file(output)["k"]) == [i for i, p in enumerate(places) if p]


def test_a_layer_without_a_system_gets_none(tmp_path: Path) -> None:
    box = {"type": "Polygon", "coordinates": [[[0, 0], [5, 0], [5, 9], [0, 9], [0, 0]]]}
    (tmp_path / "shape.geojson").write_text(json.dumps(box))
    for ending in (".gpkg", ".fgb", ".shp"):
        source, output = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
        frame = geopandas.GeoDataFrame({"n": [1, 2]}, geometry=shapely.points([(1, 1), (7, 7)]))
        frame.to_file(source, **ORDERED.get(ending, {}))
        before = pyogrio.read_info(source)["crs"]
        predict(tmp_path / "shape.geojson", source, output, "--bounds", "0,0,10,10")
        assert pyogrio.read_info(output)["crs"] == before
        assert geopandas.read_file(output)["predicted"].tolist() == [1, 0]


def test_a_layer_of_fields_alone_gets_the_places_that_they_say(tmp_path, learned):
    source, output = tmp_path / "a.gpkg", tmp_path / "b.gpkg"
    frame = pandas.DataFrame(PLACES, columns=["x", "y"]).assign(k=[5, 6, 7])
    pyogrio.write_dataframe(frame, source)
    predict(learned, source, output, "--bounds", BOX, "--crs", "EPSG:3035")
    found = geopandas.read_file(output)
    assert [(each.x, each.y) for each in found.geometry] == PLACES
    assert (list(found["k"]), list(found["predicted"])) == ([5, 6, 7], LABELS)


@pytest.mark.parametrize("ending", ["gpkg", "fgb", "shp"])
@pytest.mark.parametrize("name", ["a.geojson", "a.csv"])
def test_geojson_is_read_as_such_whatever_its_name_with_fields_or_none(
    tmp_path: Path, learned: Path, name: str, ending: str
) -> None:
    source, output = tmp_path / name, tmp_path / f"b.{ending}"
    places = geopandas.GeoSeries(shapely.points(PLACES), crs="EPSG:3035").to_crs(4326)
    source.write_text(shapely.to_geojson(places[0]))
    predict(learned, source, output)
    assert geopandas.read_file(output)["predicted"].tolist() == LABELS[:1]
    text = geopandas.GeoDataFrame({"k": [7, 8, 9]}, geometry=places).to_json()
    source.write_text(text.replace("}, ", "},\n"))
    predict(learned, source, output)
    found = geopandas.read_file(output)
    assert (found["k"].tolist(), found["predicted"].tolist()) == ([7, 8, 9], LABELS)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of a shell")
def test_points_may_come_by_a_pipe(tmp_path: Path, learned: Path) -> None:
    rows = "".join(f"{x},{y}\n" for x, y in PLACES)
    (tmp_path / "p.csv").write_text(f"x,y\n{rows}")
    more = f"--bounds {BOX} --crs EPSG:3035 --columns x=x,y=y --quiet"
    script = (
        f"'{sys.executable}' -m geodp_app predict '{learned}' <(cat '{tmp_path}/p.csv') -o - {more}"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "x,y,predicted"
    assert [line[-1] for line in done.stdout.splitlines()[1:]] == ["1", "0", "1"]


def test_points_of_a_grid_lie_in_its_bounds(learned: Path, tmp_path: Path) -> None:
    path = tmp_path / "grid.csv"
    path.write_text("x,y\n0,0\n64,32\n")
    predict(learned, path, tmp_path / "out.gpkg")
    found = geopandas.read_file(tmp_path / "out.gpkg")
    assert found.crs == "EPSG:3035"
    places = [(each.x, each.y) for each in found.geometry]
    assert places == [(4320000.0, 3200000.0), (4330000.0, 3205000.0)]
    assert found["predicted"].tolist() == [1, 0]


def test_ids_of_many_digits_are_told_apart(learned: Path, tmp_path: Path) -> None:
    path, ids = tmp_path / "ids.csv", ["1234567890123456789", "1234567890123456790"]
    path.write_text("x,y,who,part\n" + "".join(f"1,1,{each},0.5\n" for each in ids))
    predict(learned, path, tmp_path / "out.gpkg")
    found = geopandas.read_file(tmp_path / "out.gpkg")
    assert found["who"].tolist() == ids
    assert found["part"].tolist() == [0.5, 0.5]
