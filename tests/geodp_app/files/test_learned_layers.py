"""A learned shape as a GIS layer: seen by GDAL as it is, and read back with its hypothesis."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import geopandas
import numpy as np
import pytest
import shapely

from assets import asset_path
from geodp import Bounds, Examples, Frame, GridMap, InputError, LearnedShape, load, save
from geodp_app.files.learned_file import SHAPE_FORMATS, read_learned, shape_files
from geometry.geojson import target_of
from geometry.grid import checked_bounds
from geometry.mask import Mask
from learners import PolygonUnionLearner
from learners.core.releases import Release, support_shape

GRID = 64
METRES = checked_bounds((480_000, 4_980_000, 600_000, 5_100_000), "EPSG:32633")
FRAMES = {
    "degrees": Frame(GRID, Bounds(13, 42, 20, 47)),
    "metres": Frame(GRID, METRES),
    "nowhere": Frame(GRID),
    "across": Frame(GRID, Bounds(170, -20, -170, -10)),
    "pole": Frame(GRID, Bounds(-2e6, -2e6, 2e6, 2e6, crs="EPSG:3413")),
    "south pole": Frame(GRID, Bounds(-3e6, -2e6, 2e6, 2e6, crs="EPSG:3031")),
    "Pacific": Frame(GRID, Bounds(1e6, -5e6, 6e6, 5e6, crs="EPSG:3832")),
}


@pytest.fixture(scope="module")
def release() -> Release:
    points = np.stack(np.meshgrid(np.arange(GRID + 1), np.arange(GRID + 1)), -1).reshape(-1, 2)
    labels = ((points - 30) ** 2).sum(axis=1) < 400
    model = PolygonUnionLearner(epsilon=4.0, grid=GRID, seed=2, support=0.2)
    return model.fit(points, labels).release_


def seen_by_gdal(path: Path) -> list[tuple[str, shapely.Geometry]]:
    """Layer and shape of each feature, by ogr2ogr, in the file's own coordinates."""
    text = subprocess.run(
        ["ogr2ogr", "-f", "CSV", "/vsistdout/", path, "-lco", "GEOMETRY=AS_WKT"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    import csv
    import io

    rows = list(csv.DictReader(io.StringIO(text)))
    return [(row["layer"], shapely.from_wkt(row["WKT"])) for row in rows]


#: Every frame in one format, and some in the others.
SEEN = [(".gpkg", where) for where in FRAMES]
SEEN += [(ending, where) for ending in (".fgb", ".shp") for where in ("metres", "across", "pole")]


@pytest.mark.parametrize(("ending", "where"), SEEN)
def test_gdal_sees_the_shape_and_where_there_was_support(tmp_path, release, ending, where):
    frame, path = FRAMES[where], tmp_path / f"learned{ending}"
    save(LearnedShape(release, frame), path)
    place = GridMap(GRID, frame.bounds or Bounds(0, 0, 1, 1))
    expected = {"learned": release.shape(), "support": support_shape(release)}
    found = seen_by_gdal(path)
    assert sorted(name for name, _ in found) == ["learned", "support"]
    for name, shape in found:
        if where == "across":  # cut at 180 degrees: moved on again, it is whole
            shape = shapely.transform(
                shape, lambda xy: np.where(xy < [170, -99], xy + [360, 0], xy)
            )
            shape = shapely.union_all(shapely.get_parts(shape))
        there = shapely.transform(expected[name], place.to_own)
        assert shapely.is_valid(shape)
        assert shapely.symmetric_difference(shape, there).area <= 1e-6 * there.area
    outcome = subprocess.run(["ogrinfo", "-al", "-so", path], capture_output=True, text=True).stdout
    assert ("UTM zone 33N" in outcome) == (where == "metres")
    assert "neighbours: String" in outcome


@pytest.mark.parametrize("where", FRAMES)
@pytest.mark.parametrize("ending", SHAPE_FORMATS)
def test_it_is_read_back_with_the_same_labels(tmp_path, release, ending, where):
    frame, path = FRAMES[where], tmp_path / f"learned{ending}"
    save(LearnedShape(release, frame), path)
    learned = read_learned(path)
    points = np.random.default_rng(0).integers(0, GRID + 1, (500, 2))
    examples = Examples(points, np.zeros(500, dtype=np.int64), frame)
    exact = ending in (".gpkg", ".parquet")
    assert (learned.release == release) == exact
    assert learned.frame == (frame if exact else None)
    if exact:
        assert (learned.predict(examples) == release.predict(points)).all()
    elif where != "nowhere":
        # a file of polygons alone: points on an edge may fall to the other side
        assert np.mean(learned.predict(examples) != release.predict(points)) < 0.02


@pytest.mark.parametrize("where", ["across", "pole", "south pole", "Pacific", "metres"])
def test_all_files_of_polygons_alone_say_the_same_in_any_frame(tmp_path, release, where):
    frame = FRAMES[where]
    own = [tmp_path / f"learned{ending}" for ending in (".fgb", ".shp", ".geojson")]
    for path in own:
        save(LearnedShape(release, frame), path)
    document = json.loads(own[2].read_text())
    del document["geodp"]  # as another program saves it; the second feature is support still
    assert document["features"][1]["properties"]["layer"] == "support"
    own[2].write_text(json.dumps(document))
    points = np.random.default_rng(0).integers(0, GRID + 1, (500, 2))
    other = Frame(GRID, Bounds(-180, -90, 180, 90))
    for there in (frame, other):
        examples = Examples(points, np.zeros(500, dtype=np.int64), there)
        # by the hypothesis, where a point of another grid lies beside the edges it is rounded to
        place = GridMap(GRID, there.bounds)
        in_frame = frame.bounds.of_lonlat(_degrees(place, points))
        within = ((in_frame >= frame.bounds.low) & (in_frame <= frame.bounds.high)).all(axis=1)
        real = GridMap(GRID, frame.bounds).own_to_grid_float(in_frame)
        shape = release.shape()
        held = within & shapely.intersects_xy(shape, *real.T)
        away = ~(shapely.distance(shape.boundary, shapely.points(real)) <= 1 / 64)
        for path in own:
            said = read_learned(path).predict(examples)
            assert (said == held)[away].all()
        assert away.mean() > 0.8


def _degrees(place: GridMap, points: np.ndarray) -> np.ndarray:
    lonlat = place.to_lonlat(points.astype(float))
    return np.column_stack([(lonlat[:, 0] + 180) % 360 - 180, lonlat[:, 1]])


def test_geopandas_metadata_of_geoparquet(tmp_path: Path, release: Release) -> None:
    import pyarrow.parquet as parquet

    path = tmp_path / "learned.parquet"
    save(LearnedShape(release, FRAMES["metres"]), path)
    table = parquet.read_table(path)
    geo = json.loads(table.schema.metadata[b"geo"])
    assert geo["version"] == "1.1.0"
    assert geo["columns"]["geometry"]["crs"]["id"] == {"authority": "EPSG", "code": 32633}
    shape = shapely.from_wkb(table["geometry"].to_pylist()[0])
    assert shape.area == pytest.approx(release.shape().area * (120_000 / GRID) ** 2)


@pytest.mark.parametrize("ending", [".geojson", ".gpkg", ".parquet"])
@pytest.mark.parametrize("where", ["degrees", "metres"])
def test_a_clipped_shape_is_read_back_clipped(tmp_path, release, ending, where):
    """To all of its maps, of which polygons that lie elsewhere are not in the file."""
    west = shapely.MultiPolygon([shapely.box(14, 44, 15.3, 46), shapely.box(50, 0, 60, 10)])
    maps = [west, shapely.box(14.2, 44.2, 18, 46), shapely.box(90, 0, 91, 1)]
    features = [{"type": "Feature", "properties": {}, "geometry": json.loads(shapely.to_geojson(m))}
                for m in maps]  # fmt: skip
    collections = [{"type": "FeatureCollection", "features": some}
                   for some in (features[::2], features[1:2])]  # fmt: skip
    masks = [Mask.of(target_of(each, "map"), f"{i}.geojson") for i, each in enumerate(collections)]
    shape = LearnedShape(release, FRAMES[where], tuple(masks))
    path = tmp_path / f"learned{ending}"
    save(shape, path)
    again = load(path)
    assert again.clipped_to == "0.geojson and 1.geojson"
    assert [len(shapely.get_parts(mask.target.outlines)) for mask in again.masks] == [1, 1]
    points = np.stack(np.meshgrid(np.arange(GRID + 1), np.arange(GRID + 1)), -1).reshape(-1, 2)
    assert (again.labels(points) == shape.labels(points)).all()
    assert 0 < again.labels(points).sum() < release.predict(points).sum()
    assert again.polygons.equals(shape.polygons)
    there = shapely.box(14.2, 44.2, 15.3, 46).buffer(1e-5)
    assert there.contains(shapely.from_geojson(json.dumps(again.to_geojson()["features"][0])))
    save(again, tmp_path / f"again{ending}")
    assert load(tmp_path / f"again{ending}") == again


def test_a_file_whose_map_is_lost_or_damaged_is_refused(tmp_path: Path, release: Release) -> None:
    path = tmp_path / "learned.geojson"
    save(LearnedShape(release, FRAMES["degrees"]), path)
    whole = path.read_text()
    far = json.loads(shapely.to_geojson(shapely.box(-60, -50, -59, -49)))
    for member, message in (
        ({"clipped_to": "land.geojson"}, "clipped to a map that is not in it"),
        ({"within": {}}, "geodp.within: must be a list of maps"),
        ({"within": [{"name": "a"}]}, "geodp.within: must be an object of name and map"),
        ({"within": [{"name": "sea", "map": far}]}, "learned.geojson: geodp.sea: nothing of it"),
    ):
        document = json.loads(whole)
        document["geodp"] |= member
        path.write_text(json.dumps(document))
        with pytest.raises(InputError, match=message):
            load(path)


@pytest.mark.parametrize("ending", SHAPE_FORMATS)
def test_an_empty_shape_is_a_layer_without_features(tmp_path: Path, ending: str) -> None:
    points = np.stack(np.meshgrid(np.arange(9), np.arange(9)), -1).reshape(-1, 2)
    empty = PolygonUnionLearner(epsilon=20.0, grid=8, seed=1).fit(points, np.zeros(81)).release_
    assert empty.shape().is_empty
    path = tmp_path / f"learned{ending}"
    save(LearnedShape(empty, Frame(8, METRES)), path)
    if ending in (".gpkg", ".parquet"):
        assert read_learned(path).target.geometry.is_empty


def test_what_cannot_be_written_or_read_is_told(tmp_path, release, monkeypatch):
    path = tmp_path / "learned.gpkg"
    with pytest.raises(InputError, match="leave --raw-grid out"):
        shape_files(path, LearnedShape(release, FRAMES["degrees"]), raw_grid=True)
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"SQLite format 3\0" + b"x" * 100)
    with pytest.raises(InputError, match="cannot be read"):
        read_learned(path)
    for name, ending in (("pyogrio", ".fgb"), ("pyarrow", ".parquet")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(InputError, match=r"pip install 'geodp\[geo\]'"):
            save(LearnedShape(release, FRAMES["degrees"]), tmp_path / f"l{ending}")
    assert list(tmp_path.iterdir()) == [path]


SQUARE = shapely.box(14, 43, 16, 45)


@pytest.mark.parametrize("ending", SHAPE_FORMATS)
@pytest.mark.parametrize(
    ("ring", "at"),
    [
        ([(14, 43), (16, 45), (16, 43), (14, 45)], r"at \(15, 44\)"),
        ([(14, 43), (18, 43), (18, 45), (16, 43), (14, 45)], r"at \(16, 43\)"),
        ([(14, 43), (17, 46), (14, 46), (17, 43.5), (14, 44)], "at"),
    ],
)
def test_a_feature_whose_outline_crosses_itself_is_named(tmp_path, ending, ring, at):
    path = written(tmp_path / f"a{ending}", [SQUARE, shapely.Polygon(ring)])
    with pytest.raises(InputError, match=rf"a{ending}: feature 2: .*touches itself {at}"):
        read_learned(path)


@pytest.mark.parametrize("ending", SHAPE_FORMATS)
def test_features_without_a_geometry_are_left_out(tmp_path: Path, ending: str) -> None:
    target = read_learned(written(tmp_path / f"a{ending}", [None, SQUARE, None])).target
    assert target.geometry.equals(SQUARE)
    assert target.skipped == 2
    path = written(tmp_path / f"b{ending}", [None, None])
    with pytest.raises(InputError, match="no polygons in it"):
        read_learned(path)


def test_several_layers_are_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path / "a.gpkg", [SQUARE], layer="land")
    written(path, [shapely.Point(15, 44)], layer="towns")
    written(path, [None], layer="notes")
    assert read_learned(path).target.geometry.equals(SQUARE)  # the only one of polygons
    written(path, [SQUARE.buffer(1)], layer="lakes")
    with pytest.raises(InputError, match=r"several layers \(land, towns, notes, lakes\).*ogr2ogr"):
        read_learned(path)
    subprocess.run(["ogr2ogr", tmp_path / "one.gpkg", path, "lakes"], check=True)
    assert read_learned(tmp_path / "one.gpkg").target.geometry.area > SQUARE.area


def written(path: Path, shapes: list[shapely.Geometry | None], layer: str | None = None) -> Path:
    """A layer of shapes as other programs write them."""
    frame = geopandas.GeoDataFrame({"n": range(len(shapes))}, geometry=shapes, crs="EPSG:4326")
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        # without an index FlatGeobuf keeps the order, and takes features without a geometry
        options = {"SPATIAL_INDEX": "NO"} if path.suffix == ".fgb" else {}
        frame.to_file(path, **({} if layer is None else {"layer": layer}), **options)
    return path


def test_the_style_is_xml_with_a_symbol_for_each_layer() -> None:
    root = ElementTree.parse(asset_path("maps", "learned.qml")).getroot()
    renderer = root.find("renderer-v2")
    assert renderer.get("attr") == "layer"
    symbols = {each.get("name") for each in renderer.iter("symbol")}
    shown = {each.get("value"): each.get("symbol") for each in renderer.iter("category")}
    assert set(shown) == {"learned", "support"}
    assert set(shown.values()) == symbols
