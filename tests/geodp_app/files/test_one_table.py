"""One table of reports: the same inputs by every road they can take are the same examples, or are
refused for the same reason.  Right values come from pandas, pyproj, shapely, GDAL and DuckDB."""

import contextlib
import gzip
import io
import json
import os
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import geopandas
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as parquet
import pyogrio
import pytest
import shapely
from counted import Cells, cells
from pyproj import Transformer
from terminal import fails

import geodp
from geodp import Bounds, Frame, InputError
from geodp_app.files.import_file import guess_columns
from geodp_app.files.import_rows import Meaning, as_zero_or_one, check_rows, read_rows
from geodp_app.files.points import PointOptions, in_system, open_import, read_points
from geodp_app.tables.counts import read_counts
from geodp_app.tables.source import table_source
from geometry.grid import checked_bounds

BOX = Bounds(-100, 30, -90, 40)
GRID = 1_000_000
AT = np.array([[-97.5, 35.25], [-91.125, 31.5]])
LABELS = [1, 0]
CELLS = np.rint((AT - (-100, 30)) / 10 * GRID).astype(int).tolist()

RIGHT: Cells = Cells({(x, y, label): 1 for (x, y), label in zip(CELLS, LABELS, strict=True)})


# -- roads --------------------------------------------------------------------------------------


def by_file(path: Path, **outcome: Any) -> Cells:
    """The command line's road."""
    found = read_points(path, PointOptions(GRID, BOX, person=outcome.get("id"))).examples
    return cells(found.points, found.labels)


def by_python(path: Path, **outcome: Any) -> Cells:
    found = geodp.read_points(path, bounds=BOX, grid=GRID, **outcome)
    return cells(found.points, found.labels)


def by_frame(path: Path, **outcome: Any) -> Cells:
    frame = pandas.read_parquet(path) if path.suffix == ".parquet" else geopandas.read_file(path)
    found = geodp.read_points(frame, bounds=BOX, grid=GRID, **outcome)
    return cells(found.points, found.labels)


def by_table(path: Path, **outcome: Any) -> Cells:
    kind = "parquet" if path.suffix == ".parquet" else "csv"
    source = table_source(f"{kind}:{path}")
    found = read_counts(source, PointOptions(GRID, BOX, person=outcome.get("id"))).counts
    return cells(found.points, found.labels, found.amounts)


def by_window(path: Path, **outcome: Any) -> Cells:
    """What the import dialog does where nothing is chosen by hand."""
    file = open_import(path)
    columns, kind = guess_columns(file.columns, file.preview, placed=file.placed, loose=file.loose)
    if not columns.complete:
        raise InputError(f"{file.name}: choose columns")
    rows = read_rows(file, columns)
    assert rows is not None
    rows = as_zero_or_one(in_system(file, rows, BOX))
    checked = check_rows(rows, Meaning(kind, Frame(GRID, BOX), "1", "0"))
    if checked.dropped:
        raise InputError(f"{file.name}: {checked.misfits[0].reason}")
    return cells(checked.examples.points, checked.examples.labels)


FILES = (by_file, by_python, by_window)
TEXT = (*FILES, by_table)
ROADS = {"text": TEXT, "file": FILES, "layer": (*FILES, by_frame), "parquet": (*TEXT, by_frame)}


# -- what is read -------------------------------------------------------------------------------

POINTS = shapely.points(AT)
WKB = shapely.to_wkb(POINTS, hex=True)
EWKB = shapely.to_wkb(shapely.set_srid(POINTS, 4326), hex=True, include_srid=True)
NAD27 = np.column_stack(Transformer.from_crs(4326, 4267, always_xy=True).transform(*AT.T))
METRES = np.column_stack(Transformer.from_crs(4326, 32614, always_xy=True).transform(*AT.T))


def wkt(place: Any, srid: int) -> str:
    x, y = place.tolist()
    return f'"SRID={srid};POINT ({x!r} {y!r})"'


def rows(*columns: Any, header: str, sep: str = ",") -> str:
    return f"{header}\n" + "".join(f"{sep.join(map(str, row))}\n" for row in zip(*columns))  # noqa: B905


def collection(places: Any, crs: str | None = None, **more: Any) -> bytes:
    features = [
        {"type": "Feature", "properties": {"wet": label},
         "geometry": {"type": "Point", "coordinates": list(place)}}
        for place, label in zip(np.asarray(places).tolist(), LABELS, strict=True)
    ]  # fmt: skip
    document = {"type": "FeatureCollection", "features": features, **more}
    if crs:
        document["crs"] = {"type": "name", "properties": {"name": crs}}
    return json.dumps(document).encode()


def sequence(mark: str = "") -> bytes:
    features = json.loads(collection(AT))["features"]
    return "".join(f"{mark}{json.dumps(each)}\n" for each in features).encode()


X, Y = AT.T.tolist()
NAMES = "lon,lat,label"
PLAIN = rows(X, Y, LABELS, header=NAMES)
READ: dict[str, dict[str, str | bytes]] = {
    "text": {
        "plain": PLAIN,
        "a line of the separator": f"sep=;\n{rows(X, Y, LABELS, header='lon;lat;label', sep=';')}",
        "the separator in quotes": '"sep=;"\n' + PLAIN.replace(",", ";"),
        "a separator and decimal commas": rows(
            X, Y, ["1,0", "0,0"], header="lon;lat;label", sep=";"
        ).replace(".", ","),
        "empty lines above": "\n\n" + PLAIN.replace("\n", "\n\n"),
        "empty lines below a separator": "sep=,\n\n" + PLAIN,
        "a space of another alphabet": rows(X, Y, ["\u00a0yes", "no\u00a0"], header=NAMES),
        "tabs": rows(X, Y, ["yes", "no"], header="lon\tlat\tlabel", sep="\t"),
        "spaces before quotes": rows(X, Y, [' "yes"', ' "no"'], header=NAMES),
        "spaces before a quoted comma": rows(
            X, Y, [' "a, b"', ' "c, ""d"""'], ["t", "F"], header="lon,lat,note,label"
        ),
        "bars": rows(X, Y, ["inside", "outside"], header="lon|lat|label", sep="|"),
        "true and false": rows(X, Y, ["true", "FALSE"], header=NAMES),
        "one and minus one": rows(X, Y, ["+1", "-1.0"], header=NAMES),
        "other names": rows(X, Y, LABELS, header="Longitude,Latitude,wet"),
        "names of two customs": rows(X, Y, LABELS, header="lng,LATITUDE,wet"),
    },
    "file": {
        "WKT, called the_geom": rows([wkt(at, 4326) for at in AT], LABELS, header="the_geom,wet"),
        "UTF-16": PLAIN.encode("utf-16"),
        "big-endian UTF-16": b"\xfe\xff" + PLAIN.encode("utf-16-be"),
        "WKT": rows([f'"{p.wkt}"' for p in POINTS], LABELS, header="wkt,label"),
        "WKB in hex digits": rows(WKB, LABELS, header="geom,label"),
        "WKB with a system": rows(EWKB, LABELS, header="the_geom,label"),
        "WKB beside places": rows(WKB, X, Y, LABELS, header="geom,longitude,latitude,label"),
        "WKT of one point in a MultiPoint": rows(
            [f'"MULTIPOINT (({x} {y}))"' for x, y in AT.tolist()], LABELS, header="wkt,label"
        ),
        "systems of their own, each another": rows(
            [wkt(NAD27[0], 4267), wkt(METRES[1], 32614)], LABELS, header="wkt,label"
        ),
        "lines.json": sequence(),
    },
    "layer": {
        "p.geojson": collection(AT),
        "nad27.geojson": collection(NAD27, "urn:ogc:def:crs:EPSG::4267"),
        "metres.geojson": collection(METRES, "EPSG:32614"),
        "lines.geojsonl": sequence(),
        "records.geojsons": sequence("\x1e"),
    },
}


def cases(table: dict[str, dict[str, Any]]) -> pytest.MarkDecorator:
    named = [(kind, name) for kind, several in table.items() for name in several]
    return pytest.mark.parametrize(("kind", "case"), named)


@cases(READ)
def test_every_road_reads_the_same(tmp_path: Path, kind: str, case: str) -> None:
    content = READ[kind][case]
    path = tmp_path / (case if Path(case).suffix else "p.csv")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for road in ROADS[kind]:
        assert road(path) == RIGHT, road.__name__


@pytest.mark.parametrize(
    "name",
    ["a!b.gpkg", "zip:a.fgb", "http:a.shp", "PG:a.gpkg", "a;b?c.gpkg", "e[1]*.gpkg",
     "gzip+tar:b.fgb", "new\nline.gpkg", "a%20b#c&d.fgb"],
)  # fmt: skip
def test_a_path_is_a_path_whatever_it_is_called(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    frame = geopandas.GeoDataFrame({"label": LABELS}, geometry=POINTS, crs=4326)
    ending = Path(name).suffix
    frame.to_file(f"plain{ending}")
    for part in tmp_path.glob("plain.*"):
        part.rename(tmp_path / (name.removesuffix(ending) + part.suffix))
    for road in FILES:
        assert road(Path(name)) == RIGHT
    table = io.BytesIO()
    pandas.DataFrame({"lon": X, "lat": Y, "label": LABELS}).to_parquet(table)
    of_table = Path(name).with_suffix(".parquet")
    of_table.write_bytes(table.getvalue())
    for road in TEXT:
        assert road(of_table) == RIGHT


@pytest.mark.parametrize("form", ["csv", "geojson", "gpkg", "parquet"])
def test_a_pipe_is_read_whole_and_once(tmp_path, form, monkeypatch):
    frame = geopandas.GeoDataFrame({"label": LABELS}, geometry=POINTS, crs=4326)
    path, pipe = tmp_path / f"p.{form}", tmp_path / "pipe"
    if form == "csv":
        path.write_text(PLAIN * 1 + "\n" * 100_000)  # more than a pipe holds at once
    elif form == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_file(path)
    os.mkfifo(pipe)
    data = path.read_bytes()
    for road in FILES:
        writer = threading.Thread(target=lambda: pipe.write_bytes(data))
        writer.start()
        assert road(pipe) == RIGHT
        writer.join()
    out, into = os.pipe()
    with open(out, "rb") as read, open(into, "wb") as write:
        writer = threading.Thread(target=lambda: (write.write(data), write.close()))
        writer.start()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(read))
        assert by_file(Path("-")) == RIGHT
        writer.join()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_pipe_is_no_table_as_an_engine_reads_it_more_than_once(tmp_path: Path, kind: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"is no file, such as a pipe.* give it as POINTS"):
        read_counts(table_source(f"{kind}:{tmp_path}/pipe"))


def empty(path: Path) -> None:
    """Without rows; a layer's name says what it is said to hold."""
    none = geopandas.GeoDataFrame({"label": LABELS}, geometry=POINTS, crs=4326)[:0]
    fields = none.drop(columns="geometry").assign(lon=[], lat=[])
    if path.suffix == ".csv":
        path.write_text("lon,lat,label\n")
    elif path.suffix == ".geojsonl":
        path.touch()
    elif path.suffix == ".parquet":
        fields.to_parquet(path)
    elif path.stem == "Fields":
        pyogrio.write_dataframe(fields, path)
    else:
        pyogrio.write_dataframe(none, path, geometry_type=path.stem)


@pytest.mark.parametrize(
    "name",
    ["p.csv", "Point.geojson", "p.geojsonl", "Point.gpkg", "Unknown.gpkg", "Polygon.gpkg",
     "Fields.gpkg", "Point.shp", "Unknown.shp", "Point.fgb", "Unknown.fgb", "p.parquet"],
)  # fmt: skip
def test_what_is_empty_is_a_sample_of_no_examples(tmp_path: Path, name: str) -> None:
    """It is the neighbour of every sample of one: none may be refused that another is read for."""
    path = tmp_path / name
    empty(path)
    for road in TEXT if name in ("p.csv", "p.parquet") else FILES:
        assert road(path) == Cells(), road.__name__


# -- what is refused ----------------------------------------------------------------------------

SEVERAL = "several columns are places"
REFUSED: dict[str, dict[str, tuple[str | bytes, str]]] = {
    "text": {
        "two labels": ("lon,lat,label,label\n-95,35,1,0\n", "'label' and 'label' have one name"),
        "label and Label": ("lon,lat,Label,label\n-95,35,1,0\n", "have one name"),
        "two longitudes": ("lon,lat,lon,label\n-95,35,-94,1\n", "'lon' and 'lon' have one name"),
        "two pairs": ("x,y,lon,lat,label\n1,2,-95,35,1\n", "x=x,y=y or --columns lon=lon,lat=lat"),
        "two spellings": ("lon,lat,longitude,latitude,label\n-95,35,1,2,1\n", SEVERAL),
        "two names of labels": (
            "lon,lat,class,inside\n-95,35,1,0\n",
            "--columns label=class or --columns label=inside",
        ),
        "an empty cell too many": ("lon,lat,label\n-95,35,1,\n", " fields"),
        "one in the last row": ("lon,lat,label\n-95,35,1\n-95,35,0,", " fields"),
        "a space of another alphabet": ("lon,lat,label\n\u00a0-95,35,1\n", "column lon"),
        "a second latitude": (
            "lon,latitude,lat,label\n-95,35,36,1\n",
            "--columns lon=lon,lat=latitude or --columns lon=lon,lat=lat",
        ),
        "a second easting": ("easting,east,northing,label\n5,6,7,1\n", SEVERAL),
        "WKT beside x and y": ('wkt,x,y,label\n"POINT (-95 35)",1,2,1\n', SEVERAL),
        "a word": (
            "lon,lat,label\n-95,35,maybe\n",
            "labels are 1 and 0, true and false, yes and no",
        ),
        "degrees as x and y": ("x,y,label\n8.5,45.25,1\n", "--columns lon=NAME,lat=NAME"),
        "Latin-1": (
            "lon,lat,label,note\n-95,35,1,é\n".encode("latin-1"),
            "line 2 is not UTF-8 text: save it as UTF-8; if it is in Latin-1 (Windows-1252): iconv",
        ),
        "Latin-1 in a label": (
            "lon,lat,label\n-95,35,1\n-95,35,é\n".encode("cp1252"),
            "line 3 is not UTF-8",
        ),
        "Latin-1 in a header": ("lon,lat,label,é\n-9,3,1,2\n".encode("latin-1"), "line 1 is not"),
        "half a character": ("lon,lat,label\n-95,35,é".encode()[:-1], "line 2 is not UTF-8"),
        "nothing": (b"", "the file is empty"),
    },
    "file": {
        "an empty point": ("wkt,label\nPOINT EMPTY,1\n", "is an empty point"),
        "several points": (
            'wkt,label\n"MULTIPOINT ((-95 35), (-94 35))",1\n',
            "is a MultiPoint of 2 points",
        ),
        "a line": (
            'wkt,label\n"LINESTRING (-95 35, -94 35)",1\n',
            "is a LineString, where a point was expected",
        ),
        "no such system": ('wkt,label\n"SRID=1;POINT (-95 35)",1\n', "EPSG:1: no such"),
        "UTF-16 without its mark": ("lon,lat,label\n-95,35,é\n".encode("utf-16-le"), "NUL"),
        "gzip": (gzip.compress(PLAIN.encode()), "is packed (gzip): unpack it first"),
        "a spreadsheet": (b"PK\x03\x04xl/worksheets", "save its sheet as CSV"),
    },
}


@cases(REFUSED)
def test_no_road_reads_what_another_refuses(tmp_path, kind, case, capsys):
    content, reason = REFUSED[kind][case]
    path = tmp_path / "p.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for road in ROADS[kind]:
        with pytest.raises(InputError) as caught:
            road(path)
        if road not in (by_window, by_python):  # one asks, the other calls options parameters
            assert reason in str(caught.value)
    out = tmp_path / "l.geojson"
    assert reason in fails(capsys, "learn", path, "--bounds=-100,30,-90,40", "-o", out)
    assert not out.exists()


def test_of_features_the_row_that_is_no_point_is_named(tmp_path: Path) -> None:
    odd = {
        "is empty": None,
        "is an empty point": shapely.Point(),
        "is a Polygon, where a point": shapely.box(-95, 33, -94, 34),
        "is a MultiPoint of 2 points": shapely.MultiPoint([(-95, 33), (-94, 34)]),
    }
    for reason, shape in odd.items():
        frame = geopandas.GeoDataFrame({"wet": LABELS}, geometry=[POINTS[0], shape], crs=4326)
        for ending in ("gpkg", "geojson", "parquet"):
            path = tmp_path / f"p.{ending}"
            frame.to_parquet(path) if ending == "parquet" else frame.to_file(path)
            for road in FILES:
                with pytest.raises(
                    InputError, match="is empty|is an empty" if "empty" in reason else reason
                ):
                    road(path)
        with pytest.raises(InputError, match=f"row 2, column longitude: {reason}"):
            geodp.read_points(frame, bounds=BOX, grid=GRID)


def test_what_a_frame_states_holds_for_geometries_that_keep_an_old_number(tmp_path: Path) -> None:
    numbered = shapely.set_srid(POINTS, 4326)
    moved = geopandas.GeoDataFrame({"label": LABELS}, geometry=numbered, crs=4326).to_crs(32614)
    moved = moved.set_geometry(shapely.set_srid(moved.geometry.array, 4326), crs=32614)
    bare = geopandas.GeoDataFrame({"label": LABELS}, geometry=numbered)
    for frame in (moved, bare):
        found = geodp.read_points(frame, bounds=BOX, grid=GRID)
        assert cells(found.points, found.labels) == RIGHT


def test_a_feature_s_own_coordinates_stay_its_own(tmp_path: Path) -> None:
    more = {"longitude": [1, 2], "latitude": [3, 4], "x": [5, 6], "y": [7, 8], "label": LABELS}
    frame = geopandas.GeoDataFrame(more, geometry=POINTS, crs=4326)
    frame.to_crs(32614).to_file(tmp_path / "p.gpkg")
    assert [road(tmp_path / "p.gpkg") for road in (*FILES, by_frame)] == [RIGHT] * 4
    wide = PointOptions(GRID, Bounds(0, 0, 10, 10), {"lon": "longitude", "lat": "latitude"})
    found = read_points(tmp_path / "p.gpkg", wide).examples  # in degrees, as they are called
    assert found.points.tolist() == [[GRID // 10, 3 * GRID // 10], [2 * GRID // 10, 4 * GRID // 10]]


def test_no_format_has_a_column_twice(tmp_path: Path) -> None:
    columns = [pa.array(values) for values in (X, Y, LABELS, LABELS[::-1])]
    table = pa.table(columns, names=["lon", "lat", "label", "label"])
    parquet.write_table(table, tmp_path / "p.parquet")
    feature = '{"type":"Feature","geometry":{"type":"Point","coordinates":[-95,35]},"properties":'
    (tmp_path / "p.geojson").write_text(feature + '{"label":1,"label":0}}')
    for road in TEXT:
        with pytest.raises(InputError):
            road(tmp_path / "p.parquet")
    for road in FILES:
        with pytest.raises(InputError, match="names its member 'label' twice"):
            road(tmp_path / "p.geojson")
    frame = pandas.DataFrame(dict(zip("abcd", columns, strict=True)))
    frame.columns = pandas.Index(["lon", "lat", "label", "Label"])
    with pytest.raises(InputError, match="'label' and 'Label' have one name"):
        geodp.read_points(frame, bounds=BOX)


def test_one_column_is_not_two(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("x,y,label\n1,2,1\n")
    for read in (
        lambda: read_points(tmp_path / "p.csv", PointOptions(8, columns={"x": "x", "y": "x"})),
        lambda: read_counts(
            table_source(f"csv:{tmp_path}/p.csv"), PointOptions(columns={"x": "x", "y": "X"})
        ),
    ):
        with pytest.raises(InputError, match="x and y are one column, x: name two"):
            read()


def test_coordinates_without_a_system_are_in_the_one_that_is_told(tmp_path: Path) -> None:
    box = checked_bounds((200_000, 3_300_000, 1_300_000, 4_400_000), "EPSG:32614")
    right = np.rint((METRES - (200_000, 3_300_000)) / 1_100_000 * GRID).astype(int).tolist()
    texts = [f'"POINT ({x!r} {y!r})"' for x, y in METRES.tolist()]
    (tmp_path / "p.csv").write_text(rows(texts, LABELS, header="wkt,label"))
    (tmp_path / "p.geojson").write_bytes(collection(METRES, "EPSG:32614"))
    bare = geopandas.GeoDataFrame({"label": LABELS}, geometry=shapely.points(METRES))
    bare.to_file(tmp_path / "p.shp")
    for name in ("p.csv", "p.geojson", "p.shp"):
        found = read_points(tmp_path / name, PointOptions(GRID, box, crs=box.crs)).examples
        assert found.points.tolist() == right, name
    outcome = {"bounds": box.as_tuple(), "crs": "EPSG:32614", "grid": GRID}
    assert geodp.read_points(bare, **outcome).points.tolist() == right
    both = geodp.read_points(bare.set_crs(32614), bounds=box, grid=GRID)
    assert both.points.tolist() == right


# -- persons ------------------------------------------------------------------------------------


def persons(path: Path, road: Callable[..., Cells]) -> int:
    return sum(road(path, id="who").values())


def of_persons(path: Path, *ids: Any) -> Path:
    """A Parquet file for each list of ids, each row in a place of its own."""
    for i, each in enumerate(ids):
        n = len(each)
        table = {"lon": np.linspace(-99, -91, n), "lat": np.full(n, 33.0 + i), "label": [1] * n}
        parquet.write_table(pa.table({**table, "who": each}), path.with_stem(f"{path.stem}{i}"))
    return path.with_stem(f"{path.stem}0")


SAME: dict[str, tuple[Any, int]] = {
    "whole numbers": (pa.array([7, 7, 8]), 2),
    "doubles": (pa.array([7.0, 7.0, 7.5, -0.0, 0.0]), 3),
    "single precision": (pa.array([7.0, 7.0, 16777215.0], pa.float32()), 2),
    "half precision": (pa.array(np.array([7, 7, 2047], np.float16)), 2),
    "text": (pa.array(["7", "7.0", "7.00", "007", "-0", "0.0", " 7", "a", "A"]), 6),
    "large text": (pa.array(["9007199254740993", "9007199254740992"]), 2),
    "decimals": (pa.array([Decimal("7.00"), Decimal("7.10"), Decimal("7.00")]), 2),
    "bytes": (pa.array([b"7", b"7", b"8"]), 2),
    "dates": (pa.array([1, 2, 1], pa.date32()), 2),
    "truth": (pa.array([True, False, True]), 2),
    "section numbers": (pa.array(["1.1", "1.10", "1.1"]), 2),
}


@pytest.mark.parametrize("case", SAME)
def test_every_road_takes_the_same_rows_for_one_person(tmp_path: Path, case: str) -> None:
    ids, n = SAME[case]
    path = of_persons(tmp_path / "p.parquet", ids)
    roads = (by_file, by_python, by_table, by_frame)
    assert [persons(path, road) for road in roads] == [n] * 4
    if case in ("doubles", "text", "large text", "whole numbers", "section numbers"):
        table = parquet.read_table(path).to_pydict()
        text = pandas.DataFrame(table).astype({"who": object})
        text.to_csv(tmp_path / "p.csv", index=False)
        assert [persons(tmp_path / "p.csv", road) for road in (by_file, by_table)] == [n] * 2


#: The rows may hold them once: they may have been somebody else's before.
FAULTS: dict[str, Any] = {
    "single precision": pa.array([1.0, 16777216.0], pa.float32()),
    "half precision": pa.array(np.array([1, 2048], np.float16)),
    "double precision": pa.array([1.0, -(2.0**53)]),
    "text of a double": pa.array(["1", "9007199254740992.0"]),
    "text with an exponent": pa.array(["1", "1e16"]),
    "infinity": pa.array([1.0, float("inf")]),
    "none": pa.array(["a", None]),
    "NaN": pa.array([1.0, float("nan")]),
    "blank": pa.array(["a", " \u200b"]),
    "a word for nothing": pa.array(["a", "NaN"]),
    "NULL as a word": pa.array(["a", "null "]),
    "the UUID of zeros": pa.array(["a", str(UUID(int=0))]),
    "no bytes": pa.array([b"a", b""]),
}


def test_every_road_refuses_times_without_end_spans_and_records(tmp_path: Path) -> None:
    """A table took the rows of all whose time is infinite for one person's, and a file took spans
    of time and JSON for names, two of one record among them."""
    with contextlib.closing(duckdb.connect()) as engine:
        for i, who in enumerate(
            ("TIMESTAMP 'infinity'", "DATE '-infinity'", """'{"a": 1}'::JSON""")
        ):
            path = tmp_path / f"{i}.parquet"
            engine.sql(f"SELECT -99.0 lon, 33.0 lat, 1 label, {who} who").write_parquet(str(path))
            for road in (by_file, by_python, by_table):
                with pytest.raises(InputError):
                    persons(path, road)
    later = np.array([2**52], "M8[s]")
    for ids in (pandas.Series([1], dtype="m8[s]"), pandas.Series(later), pandas.Timedelta(1)):
        frame = pandas.DataFrame({"x": [1], "y": [2], "label": [1]}).assign(who=ids)
        with pytest.raises(InputError, match="column who: is a span of time, or lies outside"):
            geodp.read_points(frame, grid=8, id="who")


@pytest.mark.parametrize("case", FAULTS)
def test_every_road_refuses_who_is_nobody_or_several(tmp_path: Path, case: str) -> None:
    path = of_persons(tmp_path / "p.parquet", FAULTS[case])
    for road in (by_file, by_python, by_table, by_frame):
        with pytest.raises(InputError, match="column who: "):
            persons(path, road)


@pytest.mark.parametrize("dtype", ["float16", "float32", "Float32"])
def test_ids_that_blur_are_refused_and_never_merged(dtype: str, tmp_path: Path) -> None:
    """400 persons were 301 examples."""
    first = 2**11 if dtype == "float16" else 2**24
    ids = pandas.Series(np.arange(first, first + 400)).astype(dtype)
    frame = pandas.DataFrame({"x": np.arange(400), "y": 0, "label": 1, "who": ids})
    assert ids.nunique() < 400
    alike = pandas.Series(list(ids.to_numpy()), dtype=object)
    for blurred in (frame, frame.assign(who=alike), frame.assign(who=Decimal("-Infinity"))):
        with pytest.raises(InputError, match="stands for several whole numbers"):
            geodp.read_points(blurred, grid=1024, id="who")
    small = frame.assign(who=ids - ids.min())
    small["who"] = pandas.Series(np.arange(400)).astype(dtype)
    assert len(geodp.read_points(small, grid=1024, id="who").labels) == 400


@pytest.mark.parametrize(
    "zero",
    [0, -0.0, np.float32(-0.0), Decimal("-0"), Decimal("-0.00"), Decimal("-0E+3"), "-0", "-0.0"],
)
def test_every_zero_of_a_frame_is_one_number_one_label_and_one_person(zero: Any) -> None:
    columns = {"x": [zero, 5], "y": [1, 2], "label": [zero, 1], "who": [zero, "0"]}
    frame = pandas.DataFrame(columns, dtype=object)
    found = geodp.read_points(frame, grid=8)
    assert cells(found.points, found.labels) == Cells({(0, 1, 0): 1, (5, 2, 1): 1})
    assert len(geodp.read_points(frame, grid=8, id="who").labels) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array([7.0]), pa.array(["7"])),
        (pa.array([7]), pa.array(["7.0"])),
        (pa.array([7.0], pa.float32()), pa.array(["7"])),
        (pa.array([7]), pa.array([7.0])),
        (pa.array([Decimal("7.00")]), pa.array(["7"])),
    ],
)
def test_one_person_in_two_files_is_one(tmp_path: Path, one: Any, other: Any) -> None:
    of_persons(tmp_path / "p.parquet", one, other)
    assert persons(tmp_path / "*.parquet", by_table) == 1


@pytest.mark.parametrize("other", [pa.array(["a"]), pa.array([1.5]), pa.array([3])])
@pytest.mark.parametrize(
    "blurred", [pa.array(np.array([2048], np.float16)), pa.array([2.0**24], pa.float32())]
)
def test_what_one_file_has_blurred_another_file_s_type_does_not_hide(tmp_path, blurred, other):
    of_persons(tmp_path / "p.parquet", blurred, other)
    with pytest.raises(InputError, match="too large to tell whole numbers apart"):
        persons(tmp_path / "*.parquet", by_table)
