"""Labelled points of any file: other names, other separators, other systems, other formats."""

import json
import struct
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path

import geopandas
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import shapely
from pyproj import Transformer

from geodp import Bounds, Examples, InputError
from geodp_app.files.points import OUT_OF_BOUNDS, PointOptions, read_points
from geometry.grid import checked_bounds

BOX = Bounds(15, 45, 16, 46)
DEGREES = PointOptions(grid=1000, bounds=BOX)
#: Two places, and what they are in a grid of 1000 in that box and in one of metres.
LONLAT = np.array([[15.1, 45.2], [15.3, 45.6]])
CELLS = [[100, 200], [300, 600]]
UTM = checked_bounds((480_000, 4_980_000, 600_000, 5_100_000), "EPSG:32633")
METRES = PointOptions(grid=1000, bounds=UTM, crs=UTM.crs)
THERE = np.column_stack(
    Transformer.from_crs(4326, 32633, always_xy=True).transform(*LONLAT.T)
)  # fmt: skip
CELLS_UTM = np.rint((THERE - (480_000, 4_980_000)) / 120).astype(int).tolist()

Write = Callable[[str, str | bytes | dict], Path]


def test_what_was_guessed_is_told_and_what_was_named_is_not(write: Write) -> None:
    path = write("p.csv", "a,longitude,latitude,b\n1,15.1,45.2,0\n")
    with pytest.raises(InputError, match=r"missing column label: it has .*--columns label="):
        read_points(path, DEGREES)
    found = read_points(path, PointOptions(grid=10, bounds=BOX, columns={"label": "A"}))
    assert found.guessed == f"{path}: read by its column names: lon=longitude, lat=latitude"
    named = {"lon": "longitude", "lat": "latitude", "label": "b"}
    assert not read_points(path, PointOptions(grid=10, bounds=BOX, columns=named)).guessed
    with pytest.raises(InputError, match="missing column c: it has 'a,longitude"):
        read_points(path, PointOptions(bounds=BOX, columns={"label": "c"}))


def test_of_geometries_nothing_is_guessed(write: Write) -> None:
    feature = {
        "type": "Feature",
        "properties": {"class": 1},
        "geometry": {"type": "Point", "coordinates": [15.1, 45.2]},
    }
    path = write("p.geojson", {"type": "FeatureCollection", "features": [feature]})
    options = PointOptions(grid=1000, bounds=BOX, columns={"label": "class"})
    assert read_points(path, options).guessed == ""
    assert read_points(path, DEGREES).guessed == f"{path}: read by its column names: label=class"


def test_columns_are_guessed_without_a_look_at_the_rows(write: Write) -> None:
    first = write("p.csv", "lon,lat,a,b\n15.1,45.2,yes,7\n")
    second = write("q.csv", "lon,lat,a,b\n15.1,45.2,7,yes\n")
    for path in (first, second):  # a first row that speaks for one column decides nothing
        with pytest.raises(InputError, match="missing column label"):
            read_points(path, DEGREES)


def test_numbers_mean_the_same_whatever_other_rows_hold(write: Write) -> None:
    """With a decimal comma as well as without, in one file."""
    path = write("p.csv", "lon;lat;label\n15,1;45.2;1\n15.3;45,6;0\n")
    assert read_points(path, DEGREES).examples.points.tolist() == CELLS


def as_rows(examples: Examples) -> list[list[int]]:
    return np.column_stack([examples.points, examples.labels]).tolist()


@pytest.mark.parametrize("mode", OUT_OF_BOUNDS)
def test_a_row_more_is_at_most_one_example_more(write: Write, mode: str) -> None:
    """Enumerated: every file of up to three of these rows, and every row that may be added."""
    rows = ["15.1,45.2,yes", "14.0,45.5,no", "15.5,99,1", "15.9,45.9,0"]

    def examples(chosen: tuple[int, ...]) -> list[list[int]] | None:
        text = "lon,lat,label\n" + "".join(f"{rows[i]}\n" for i in chosen)
        try:
            outcome = PointOptions(grid=10, bounds=BOX, out_of_bounds=mode)  # type: ignore[arg-type]
            found = read_points(write("p.csv", text), outcome).examples
        except InputError:
            return None
        return as_rows(found)

    alone = [examples((i,)) for i in range(4)]
    assert alone[0] == [[1, 2, 1]]
    assert alone[1] == {"refuse": None, "drop": [], "clip": [[0, 5, 0]]}[mode]
    assert alone[2] == {"refuse": None, "drop": [], "clip": [[5, 10, 1]]}[mode]
    for chosen in [(0, 3), (0, 1, 3), (1, 2), (3, 2, 1)]:
        parts = [alone[i] for i in chosen]
        whole = None if None in parts else [each for part in parts if part for each in part]
        assert examples(chosen) == whole


def test_how_many_rows_lay_outside_is_counted(write: Write) -> None:
    path = write("p.csv", "lon,lat,label\n15.1,45.2,1\n10,45,0\n15,50,1\n")
    for mode in ("drop", "clip"):
        assert read_points(path, PointOptions(bounds=BOX, out_of_bounds=mode)).beyond == 2  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"row 2 \(line 3\), column lon: 10 is outside"):
        read_points(path, PointOptions(bounds=BOX))


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two points in every format, written by GDAL, in degrees and in metres."""
    folder = tmp_path_factory.mktemp("layers")
    source = folder / "p.csv"
    source.write_text("lon,lat,wet\n15.1,45.2,1\n15.3,45.6,0\n")
    places = ["-oo", "X_POSSIBLE_NAMES=lon", "-oo", "Y_POSSIBLE_NAMES=lat"]
    for ending, driver in FORMATS.items():
        for name, system in (("degrees", "EPSG:4326"), ("metres", "EPSG:32633")):
            subprocess.run(
                ["ogr2ogr", "-f", driver, folder / f"{name}{ending}", source, *places,
                 "-s_srs", "EPSG:4326", "-t_srs", system],
                check=True, capture_output=True,
            )  # fmt: skip
    return folder


FORMATS = {".gpkg": "GPKG", ".shp": "ESRI Shapefile", ".fgb": "FlatGeobuf", ".gml": "GML"}


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("name", ["degrees", "metres"])
@pytest.mark.parametrize(("outcome", "cells"), [(DEGREES, CELLS), (METRES, CELLS_UTM)])
def test_gdal_s_files_are_read_in_their_own_system(layers, ending, name, outcome, cells):
    found = read_points(layers / f"{name}{ending}", outcome).examples
    # FlatGeobuf orders features by their place
    order = np.argsort(found.points[:, 0])
    assert found.points[order].tolist() == cells
    assert found.labels[order].tolist() == [1, 0]


def test_coordinates_in_metres_in_a_csv(write: Write) -> None:
    for names in ("easting,northing", "x,y", "point_x,point_y"):
        rows = "".join(f"{x!r},{y!r},{1 - i}\n" for i, (x, y) in enumerate(THERE.tolist()))
        found = read_points(write("p.csv", f"{names},label\n{rows}"), METRES).examples
        assert found.points.tolist() == CELLS_UTM


def geoparquet(path: Path, encoding: str, table: pa.Table) -> Path:
    geo = {"primary_column": "geometry", "columns": {"geometry": {"encoding": encoding}}}
    parquet.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)
    return path


def test_geoparquet_of_coordinates(tmp_path: Path) -> None:
    places = [{"x": x, "y": y} for x, y in LONLAT]
    table = pa.table({"wet": [True, False], "geometry": places})
    found = read_points(geoparquet(tmp_path / "p.parquet", "point", table), DEGREES).examples
    assert (found.points.tolist(), found.labels.tolist()) == (CELLS, [1, 0])


PLAIN = np.random.default_rng(0).uniform((15, 45), (16, 46), (40, 2))
A, LINE = shapely.Point(15.5, 45.5), shapely.LineString([(15, 45), (16, 46)])
#: A point in other forms of WKB, or what has no place.
OTHER_WKB: list[tuple[bytes | None, bool]] = [
    (A.wkb, True), (shapely.to_wkb(A, byte_order=0), True), (shapely.MultiPoint([A]).wkb, True),
    (shapely.Point(15.5, 45.5, 7).wkb, True), (shapely.to_wkb(shapely.set_srid(A, 4326),
    include_srid=True), True), (None, False), (b"", False), (A.wkb[:-1], False),
    (b"\1\x63" + A.wkb[2:], False), (shapely.Point().wkb, False), (LINE.wkb, False),
    (struct.pack("<BIdd", 1, 1, np.nan, 45), False),
    (struct.pack("<BIdd", 1, 1, 15, np.inf), False),
]  # fmt: skip


@pytest.mark.parametrize(("wkb", "usable"), OTHER_WKB)
def test_plain_places_are_read_bit_by_bit_whatever_stands_beside_them(tmp_path, wkb, usable):
    values = pa.array([*shapely.to_wkb(shapely.points(PLAIN)), wkb], pa.binary())
    path = geoparquet(tmp_path / "p.parquet", "WKB", pa.table({"geometry": values}))
    read = read_points(path, PointOptions(1000, BOX, unusable="drop", labelled=False))
    right = np.array([*PLAIN, (15.5, 45.5)] if usable else PLAIN)
    assert read.places is not None
    assert read.places.tobytes() == right.tobytes()
    assert read.dropped == (not usable)


def test_layers_are_chosen(layers: Path, tmp_path: Path) -> None:
    path = tmp_path / "two.gpkg"
    for layer in ("a", "b"):
        subprocess.run(["ogr2ogr", "-update", "-append", "-f", "GPKG", "-nln", layer, path,
                        layers / "degrees.gpkg"], check=True, capture_output=True)  # fmt: skip
    with pytest.raises(InputError, match="several layers: name one with --layer: a, b"):
        read_points(path, DEGREES)
    found = read_points(path, PointOptions(grid=1000, bounds=BOX, layer="b"))
    assert found.examples.points.tolist() == CELLS
    with pytest.raises(InputError, match="has no layer 'c', but a, b"):
        read_points(path, PointOptions(bounds=BOX, layer="c"))
    with pytest.raises(InputError, match="has no layers"):
        read_points(layers / "p.csv", PointOptions(bounds=BOX, layer="c"))
    squares = geopandas.GeoDataFrame(
        {"label": [1]}, geometry=[shapely.box(15, 45, 16, 46)], crs=4326
    )
    squares.to_file(tmp_path / "squares.gpkg", layer="one")
    with pytest.raises(InputError, match="row 1, column longitude: is a Polygon, where a point"):
        read_points(tmp_path / "squares.gpkg", DEGREES)
    squares.to_file(tmp_path / "squares.gpkg", layer="other")
    with pytest.raises(InputError, match="has no layer of points"):
        read_points(tmp_path / "squares.gpkg", DEGREES)


def test_without_the_libraries_it_is_said_what_to_install(layers, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyogrio", None)
    with pytest.raises(InputError, match=r"pip install 'geodp\[geo\]'"):
        read_points(layers / "degrees.gpkg", DEGREES)


def test_a_person_more_is_at_most_one_example_more(write: Write) -> None:
    """Lemma T1 for files: what each person contributes does not depend on the others' rows."""
    rng = np.random.default_rng(3)
    rows = [f"{rng.integers(5)},{rng.integers(9)},{rng.integers(9)},{rng.integers(2)}"
            for _ in range(60)]  # fmt: skip

    def of(kept: list[str]) -> list[list[int]]:
        path = write("p.csv", "who,x,y,label\n" + "".join(f"{row}\n" for row in kept))
        found = read_points(path, PointOptions(grid=8, person="who"))
        return sorted(as_rows(found.examples))

    everyone = of(rows)
    assert len(everyone) == 5
    alone = [of([row for row in rows if row[0] == str(who)]) for who in range(5)]
    assert sorted(each for part in alone for each in part) == everyone
    assert of(rows[::-1]) == everyone
    without = of([row for row in rows if row[0] != "2"])
    assert sorted([*without, *alone[2]]) == everyone


def test_places_of_a_file_that_states_its_grid_stay_there(tmp_path: Path) -> None:
    """Also where its bounds are given again, in the system that they are in."""
    stated = json.dumps({"grid": 1000, "bounds": UTM.to_json()})
    path = tmp_path / "s.csv"
    path.write_text(f"# geodp {stated}\nx,y,label\n100,200,1\n300,600,0\n")
    assert read_points(path, METRES).examples.points.tolist() == CELLS
    other = checked_bounds(UTM.as_tuple(), "EPSG:32634")
    with pytest.raises(InputError, match=r"EPSG:32633.*EPSG:32634"):
        read_points(path, PointOptions(grid=1000, bounds=other, crs=other.crs))


def test_a_point_of_no_finite_number_is_named_without_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("wkt,label\nPOINT (15.5 45.5),1\nPOINT (1e400 45.5),0\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="line 3"):
            read_points(path, PointOptions(bounds=BOX))
