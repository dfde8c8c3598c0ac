"""Masks of every format by every road, and what a clipped shape says of itself when read back.

Right values come from shapely, pyproj and geopandas: the same polygons, and no part of geodp.
"""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import shapely
from numpy.typing import NDArray
from pyproj import Transformer
from terminal import geodp as command

import assets
import geodp
from geodp import Bounds, Frame, GeoJSONError, InputError, LearnedShape
from geodp_app.cli import build_parser
from geodp_app.commands.arguments import read_within
from geodp_app.document.document import Document
from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files.document_files import import_mask
from geodp_app.files.learned_file import read_learned, whole_square
from geometry.geojson_write import placed_shape
from geometry.gis_files import SeveralLayersError
from geometry.mask import Mask

BOX = Bounds(500_000.0, 5_000_000.0, 600_000.0, 5_100_000.0, crs="EPSG:32633")
FRAME = Frame(100, BOX)
#: A quadrangle with a hole, over the box's edge, in metres; no edge runs through a grid point.
METRES = shapely.Polygon(
    [(480_130, 5_010_170), (570_310, 5_020_190), (560_290, 5_090_410), (510_330, 5_080_090)],
    [[(530_110, 5_040_130), (530_170, 5_055_210), (545_230, 5_050_330)]],
)
TO_DEGREES = Transformer.from_crs(32633, 4326, always_xy=True)


def in_degrees(shape: shapely.Geometry) -> shapely.Geometry:
    """With corners on the way, as edges bend."""
    often = shapely.segmentize(shape, 2_000)
    return shapely.transform(often, lambda xy: np.column_stack(TO_DEGREES.transform(*xy.T)))


GRID = np.stack(np.meshgrid(np.arange(101), np.arange(101)), axis=-1).reshape(-1, 2)
#: Grid points in metres.
PLACES = shapely.points(GRID * 1000.0 + BOX.low)
INSIDE = shapely.covers(METRES, PLACES)
FAR = geopandas.GeoDataFrame(geometry=[shapely.box(0, 0, 1, 1)], crs=4326)


def frame_of(crs: int | None = 32633) -> geopandas.GeoDataFrame:
    """The polygon in two parts, in degrees or in metres."""
    halves = [shapely.box(0, 0, 540_000, 9e6), shapely.box(540_000, 0, 1e6, 9e6)]
    parts = [METRES.intersection(half) for half in halves]
    if crs not in (32633, None):
        degrees = geopandas.GeoDataFrame(geometry=list(map(in_degrees, parts)), crs=4326)
        return degrees.to_crs(crs)
    return geopandas.GeoDataFrame({"layer": ["west", "east"]}, geometry=parts, crs=crs)


def file_of(name: str, crs: int) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        frame_of(crs).to_file(folder / name, engine="pyogrio")
        return folder / name

    return write


def parquet(folder: Path) -> Path:
    frame_of().to_parquet(folder / "m.parquet")
    return folder / "m.parquet"


def zipped(folder: Path) -> Path:
    file_of("m.shp", 32633)(folder)
    with zipfile.ZipFile(folder / "m.zip", "w") as packed:
        for each in folder.glob("m.*"):
            if each.suffix != ".zip":
                packed.write(each, each.name)
    return folder / "m.zip"


def layered(folder: Path) -> Path:
    FAR.to_file(folder / "m.gpkg", layer="m")
    FAR.to_file(folder / "m.gpkg", layer="far")
    frame_of().to_file(folder / "m.gpkg", layer="land")
    return folder / "m.gpkg"


FILES: dict[str, Callable[[Path], Path]] = {
    "GeoJSON": file_of("m.geojson", 4326),
    "GeoJSON with a system": file_of("m.geojson", 3857),
    "GeoJSON on lines": file_of("m.geojsonl", 4326),
    "GeoPackage": file_of("m.gpkg", 32633),
    "GeoPackage in degrees": file_of("m.gpkg", 4326),
    "a layer of three": layered,
    "shapefile": file_of("m.shp", 32633),
    "zipped shapefile": zipped,
    "FlatGeobuf": file_of("m.fgb", 3857),
    "GeoParquet": parquet,
}
MEMORY: dict[str, Callable[[], Any]] = {
    "GeoDataFrame": frame_of,
    "GeoDataFrame in degrees": lambda: frame_of(4326),
    "GeoDataFrame without a system": lambda: frame_of(None),
    "GeoSeries": lambda: frame_of().geometry,
    "shapely": lambda: METRES,
    "altitudes": lambda: shapely.force_3d(METRES),
    "a collection": lambda: shapely.GeometryCollection([shapely.Point(0, 0), METRES]),
}


def kept(mask: Mask) -> NDArray[np.int64]:
    return mask.keep(np.ones(len(GRID), dtype=np.int64), GRID, FRAME)


def by_python(source: Any, layer: str | None) -> NDArray[np.int64]:
    return whole_square(FRAME).clip(source, layer=layer).labels(GRID)


def by_command(source: Path, layer: str | None) -> NDArray[np.int64]:
    """The labels that `geodp predict` gives to the grid's points in a shape of the whole box."""
    folder = source.parent / "out"
    folder.mkdir()
    geodp.save(whole_square(FRAME), folder / "whole.gpkg")
    rows = "\n".join(f"{x},{y}" for x, y in GRID.tolist())
    (folder / "p.csv").write_text(f"x,y\n{rows}\n")
    named = () if layer is None else ("--within-layer", layer)
    argv = ["predict", folder / "whole.gpkg", folder / "p.csv", "--within", source, *named]
    assert command(*argv, "-o", folder / "q.csv", "--quiet") == 0
    return np.loadtxt(folder / "q.csv", delimiter=",", skiprows=1, dtype=np.int64)[:, 2]


def by_window(source: Path, layer: str | None) -> NDArray[np.int64]:
    drawing = Drawing(100, (Shape(((10, 10), (90, 10), (90, 90), (10, 90))),))
    document = Document(Work(drawing=drawing, bounds=BOX))
    import_mask(source, document, layer)
    assert document.work.within is not None
    return kept(Mask.from_dict(json.loads(json.dumps(document.work.within.to_dict()))))


def typed(source: Path, *options: str) -> NDArray[np.int64]:
    """What `geodp learn` takes for the mask."""
    read = build_parser().parse_args(["learn", *options, f"--within={source}", "--output=l.gpkg"])
    mask = read_within(read)
    assert mask is not None
    return kept(mask)


def by_table(source: Path, layer: str | None) -> NDArray[np.int64]:
    named = [] if layer is None else [f"--within-layer={layer}"]
    return typed(source, "--table=csv:p.csv", *named)


def by_qgis(source: Path, layer: str | None) -> NDArray[np.int64]:
    """What the plugin writes of a layer and types, without QGIS."""
    if source.suffix == ".parquet":
        frame = geopandas.read_parquet(source)
    else:
        frame = geopandas.read_file(source, layer=layer)
    document = json.loads(frame.geometry.to_json(to_wgs84=False))
    name = f"EPSG:{frame.crs.to_epsg()}"
    if name != "EPSG:4326":
        document["crs"] = {"type": "name", "properties": {"name": name}}
    written = source.with_name("in_QGIS.geojson")
    written.write_text(json.dumps(document))
    return typed(written, "p.csv")


def test_the_test_means_something() -> None:
    assert 0.3 < INSIDE.mean() < 0.7


#: Every file, and by every road one of several layers, one in degrees and one in another system.
ASKED = [
    *((by_python, what) for what in FILES),
    *((road, what) for road in (by_command, by_window, by_table, by_qgis)
      for what in ("a layer of three", "GeoPackage in degrees", "GeoParquet")),
]  # fmt: skip


@pytest.mark.parametrize(("road", "what"), ASKED)
def test_a_mask_of_any_file_is_its_polygons_where_they_lie(tmp_path, road, what):
    layer = "land" if what == "a layer of three" else None
    assert (road(FILES[what](tmp_path), layer) == INSIDE).all()


@pytest.mark.parametrize("what", MEMORY)
def test_a_mask_in_memory_is_its_polygons_where_they_lie(what: str) -> None:
    assert (by_python(MEMORY[what](), None) == INSIDE).all()


@pytest.mark.parametrize("name", ["croatia", "land"])
def test_a_name_is_the_map_that_ships_with_geodp(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = str(assets.shape_path(name))
    whole = whole_square(FRAME)
    assert whole.clip(name).polygons.equals(whole.clip(path).polygons)
    assert (by_python(name, None) == by_python(path, None)).all()
    assert geodp.areas(whole, name).equals(geodp.areas(whole, path))
    geodp.save(whole, tmp_path / "w.gpkg")
    assert command("areas", "w.gpkg", "--districts", name, "-o", "a.csv", "--quiet") == 0
    Path(name).write_text("{}")
    for taken in (whole.clip, lambda name: geodp.areas(whole, name)):
        with pytest.raises(InputError, match=f"{name} is a file here, and an example"):
            taken(name)


@pytest.mark.parametrize("ending", [".geojson", ".gpkg"])
def test_a_map_round_a_pole_is_read_back(tmp_path, ending):
    """Its edges, along the pole and the parallel, are 360 degrees long."""
    arctic = geopandas.GeoDataFrame(geometry=[shapely.box(-180, 70, 180, 90)], crs=4326)
    arctic.to_file(tmp_path / "arctic.gpkg")
    frame = Frame(100, Bounds(-3e6, -3e6, 3e6, 3e6, crs="EPSG:3413"))
    in_metres = shapely.points(GRID * 6e4 - 3e6)
    latitudes = shapely.get_y(geopandas.GeoSeries(in_metres, crs=3413).to_crs(4326).array)
    for source in (arctic, tmp_path / "arctic.gpkg"):
        clipped = whole_square(frame).clip(source)
        assert (clipped.labels(GRID) == (latitudes >= 70)).all()
        geodp.save(clipped, tmp_path / f"clipped{ending}", overwrite=True)
        assert (
            geodp.load(tmp_path / f"clipped{ending}").labels(GRID) == clipped.labels(GRID)
        ).all()


def test_a_geometry_without_bounds_is_in_grid_units() -> None:
    shape = whole_square(Frame(10)).clip(shapely.box(2, 3, 5, 7))
    assert shape.polygons.equals(shapely.box(2, 3, 5, 7))


def test_a_geometry_in_grid_units_that_goes_over_the_square_is_read_back(tmp_path):
    clipped = whole_square(Frame(100)).clip(shapely.box(-10, -10, 50.5, 130))
    assert (clipped.labels(GRID) == (GRID[:, 0] <= 50)).all()
    geodp.save(clipped, tmp_path / "clipped.geojson")
    assert (geodp.load(tmp_path / "clipped.geojson").labels(GRID) == clipped.labels(GRID)).all()


def test_which_of_several_layers_is_asked_about(tmp_path: Path) -> None:
    path = layered(tmp_path)
    for road in (by_python, by_window):
        with pytest.raises(
            SeveralLayersError, match=r"name one with .*layer: m, far, land"
        ) as told:
            road(path, None)
        assert told.value.layers == ["m", "far", "land"]
        with pytest.raises(InputError, match=r"has no layer 'sea', but m, far, land"):
            road(path, "sea")
    with pytest.raises(InputError, match=r"has no layers: leave layer out"):
        by_python(parquet(tmp_path), "land")


def crossed() -> shapely.Geometry:
    return shapely.Polygon([(510_000, 5_010_000), (590_000, 5_090_000), (590_000, 5_010_000),
                            (510_000, 5_090_000)])  # fmt: skip


def damaged(folder: Path) -> Path:
    (folder / "m.gpkg").write_bytes(b"x" * 99)
    return folder / "m.gpkg"


def nowhere(folder: Path) -> Path:
    return file_of("m.shp", 32633)(folder).with_suffix(".prj").unlink() or folder / "m.shp"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (lambda folder: crossed(), "the geometry: the outline crosses or touches itself"),
        (lambda folder: shapely.Point(510_000, 5_010_000), "no polygons"),
        (lambda folder: shapely.box(0, 0, 1, 1), "nothing of it lies within"),
        (lambda folder: FAR.to_crs(3857), "nothing of it lies within"),
        (lambda folder: 7, "a mask is a file, a GeoDataFrame or a shapely geometry, not int"),
        (nowhere, "m.shp: holds no degrees, and states no other coordinate reference system"),
        (lambda folder: folder / "none.gpkg", "none.gpkg"),
        (damaged, "cannot be read"),
    ],
)  # fmt: skip
def test_what_is_no_mask_is_refused_in_one_line(tmp_path, source, message):
    with pytest.raises((GeoJSONError, InputError, OSError), match=message):
        whole_square(FRAME).clip(source(tmp_path))


# -- a clipped shape, read back -----------------------------------------------------------------


@pytest.fixture(scope="module")
def clipped() -> LearnedShape:
    """A disc learned from reports, and clipped."""
    rng = np.random.default_rng(4)
    points = rng.integers(0, 101, (20_000, 2))
    labels = (np.hypot(*(points - 50).T) < 35).astype(np.int64)
    return geodp.learn(geodp.Examples(points, labels, FRAME), seed=1).clip(METRES)


@pytest.mark.parametrize("ending", ["geojson", "gpkg", "parquet", "fgb", "shp"])
def test_a_clipped_file_labels_measures_and_draws_what_it_shows(clipped, tmp_path, ending, capsys):
    path = tmp_path / f"h.{ending}"
    geodp.save(clipped, path)
    shown = geopandas.read_file(path) if ending != "parquet" else geopandas.read_parquet(path)
    shown = shown.to_crs(32633).geometry.iloc[0]
    assert shown.difference(METRES).area < 1.0  # square metres
    clear = shapely.distance(shown.boundary, PLACES) > 0.01
    inside = shapely.contains(shown, PLACES)

    rows = "\n".join(f"{x},{y},{int(inside[i])}" for i, (x, y) in enumerate(GRID.tolist()))
    header = f"# geodp {json.dumps({'grid': 100, 'bounds': BOX.to_json()})}\nx,y,label\n"
    (tmp_path / "p.csv").write_text(f"{header}{rows}\n")
    argv = ["predict", path, tmp_path / "p.csv", "-o", tmp_path / "q.csv", "--quiet"]
    assert command(*argv) == 0
    text = [line for line in (tmp_path / "q.csv").read_text().splitlines() if line[0].isdigit()]
    predicted = np.array([int(line.split(",")[-1]) for line in text])
    assert (predicted == inside)[clear].all()

    capsys.readouterr()
    assert command("evaluate", path, tmp_path / "p.csv", "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["errors"] == int((predicted != inside).sum()) <= int((~clear).sum())

    back = read_learned(path)
    if ending in ("fgb", "shp"):  # polygons alone
        assert back.shape is None
    else:
        again = geodp.load(path)
        assert again.clipped_to == "the geometry"
        assert (again.labels(GRID) == predicted).all()
        assert again.polygons.symmetric_difference(shown).area < 1.0
        assert placed_shape(
            again.layers()["learned"], 100, FRAME.place, degrees=False
        ).area == pytest.approx(shown.area, rel=1e-6)
    assert command("render", path, "-o", tmp_path / "h.svg", "--quiet") == 0
    assert (tmp_path / "h.svg").read_text().count("<path")
