"""`geodp areas`, `predict` and `render`: what a shape covers, says of points and looks like."""

import csv
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from PySide6.QtGui import QImage
from terminal import geodp as run

import geodp
from geodp import Bounds, Frame, GridMap, LearnedShape
from geodp_app.files.learned_file import read_learned
from geometry.grid import checked_bounds
from geometry.polygons import ground_area

geopandas = pytest.importorskip("geopandas", reason="the extra geo")
pyproj = pytest.importorskip("pyproj", reason="the extra geo")

GRID = 64
BOXES = {
    "degrees": Bounds(6, 36, 19, 48),
    "metres": checked_bounds((480_000, 4_980_000, 600_000, 5_100_000), "EPSG:32633"),
    "across": Bounds(170, -20, -170, -10),
    "pole": checked_bounds((-2e6, -1.5e6, 2e6, 1.5e6), "EPSG:3413"),
}
#: Districts in degrees, some of which lie partly outside of each box, or across the antimeridian.
DEGREES = {
    "degrees": [(5, 35, 12, 42), (12, 42, 17, 47), (8, 47, 30, 60)],
    "metres": [(14, 44, 15.5, 45.5), (15.5, 45, 16.2, 45.9)],
    "across": [(165, -18, 178, -12), (178, -30, 184, -10), (-180, -15, -175, -12)],
    "pole": [(0, 78, 90, 90), (-180, 60, -40, 85), (-180, 85, 180, 90)],
}
COLUMNS = ["in_bounds", "area_km2", "shape_km2", "share", "unreported", "in_doubt"]


@pytest.fixture(scope="module")
def released() -> LearnedShape:
    """An L with its support, of examples from all but the north."""
    rng = np.random.default_rng(1)
    points = rng.integers(0, (GRID + 1, GRID - 20), (3000, 2))
    labels = (points[:, 0] < 40) | (points[:, 1] < 20)
    model = geodp.PolygonUnionLearner(grid=GRID, support=0.3, seed=1)
    return model.fit(points, labels).placed()


@pytest.fixture(scope="module")
def shape(released: LearnedShape) -> LearnedShape:
    return LearnedShape(released.release, Frame(GRID, BOXES["degrees"]))


def squares(boxes: list[Any], crs: str = "EPSG:4326", **columns: Any) -> Any:
    named = {"name": [f"d{i}" for i in range(len(boxes))], **columns}
    return geopandas.GeoDataFrame(named, geometry=[shapely.box(*box) for box in boxes], crs=crs)


def flat(box: Bounds) -> Callable[[Any, str], Any]:
    """Shapes of a system on an equal-area map round the middle of a box, edges made dense."""
    lon, lat = box.to_lonlat(np.array([box.middle]))[0].tolist()
    there = f"+proj=laea +lat_0={lat} +lon_0={lon} +ellps=WGS84 +units=m"

    @cache
    def way(crs: str) -> Any:
        return pyproj.Transformer.from_crs(crs, there, always_xy=True).transform

    def moved(drawn: Any, crs: str) -> Any:
        dense = shapely.segmentize(drawn, max(np.ptp(np.reshape(drawn.bounds, (2, 2)), 0)) / 4000)
        return shapely.transform(dense, lambda xy: np.column_stack(way(crs)(*xy.T))).buffer(0)

    return moved


@pytest.mark.parametrize("where", BOXES)
@pytest.mark.parametrize("drawn", ["own", "degrees"])
def test_areas_are_those_of_an_equal_area_map(released, where, drawn):
    box = BOXES[where]
    crs = "EPSG:4326" if box.crs == "OGC:CRS84" else box.crs
    if drawn == "own":  # quarters, which reach over the box
        (x0, y0), (x1, y1) = box.low, box.high
        x, y, far = (x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) / 3
        quarters = [(x0, y0, x, y), (x, y0, x1, y), (x0, y, x, y1), (x, y, x1, y1 + far / 4)]
        districts = squares([*quarters, (x1 - far, y0, x1 + far / 9, y1)], crs)
    else:
        districts = squares(DEGREES[where])
    placed = LearnedShape(released.release, Frame(GRID, box))
    found, moved = geodp.areas(placed, districts), flat(box)
    learned, reported = moved(placed.polygons, crs), moved(placed.support, crs)
    whole = moved(shapely.box(*box.low, *box.high), crs)
    assert found.crs == districts.crs
    for row, district in zip(found.itertuples(), districts.geometry, strict=True):
        there = moved(district, districts.crs.to_string())
        here = there & whole
        covered = here & learned
        assert row.in_bounds == pytest.approx(here.area / there.area, abs=3e-6)
        assert row.area_km2 == pytest.approx(here.area / 1e6, rel=3e-6)
        assert row.shape_km2 == pytest.approx(covered.area / 1e6, rel=1e-5, abs=1)
        assert row.share == pytest.approx(covered.area / here.area, abs=3e-6)
        assert row.unreported == pytest.approx(1 - (here & reported).area / here.area, abs=3e-6)
        if covered.area > 1e6:
            doubt = 1 - (covered & reported).area / covered.area
            assert row.in_doubt == pytest.approx(doubt, abs=1e-5)
    assert 0 < found.unreported.max() <= 1
    assert (found.in_bounds < 1).any()


def test_an_area_on_the_ground_is_that_of_geodesics_between_close_points() -> None:
    geod = pyproj.Geod(ellps="WGS84")
    rings = [
        [(10, 40), (20, 40), (20, 50), (10, 50)],
        [(-170, -80), (160, 75), (-100, 70)],
        [(-180, 60), (180, 60), (180, 90), (-180, 90)],
    ]
    for ring in rings:
        whole = shapely.Polygon(ring)
        dense = shapely.segmentize(whole, 0.01)
        assert ground_area(whole) == pytest.approx(
            abs(geod.geometry_area_perimeter(dense)[0]), rel=2e-8
        )
    holed = shapely.box(0, 0, 2, 2) - shapely.box(0.5, 0.5, 1, 1)
    parts = ground_area(shapely.box(0, 0, 2, 2)) - ground_area(shapely.box(0.5, 0.5, 1, 1))
    assert ground_area(holed) == pytest.approx(parts, rel=1e-12)
    assert ground_area(shapely.LineString([(0, 0), (1, 1)])) == 0
    # of the ellipsoid, in km^2
    globe = ground_area(shapely.box(-180, -90, 180, 90)) / 1e6
    assert globe == pytest.approx(510_065_621.724, abs=1e-3)


@pytest.mark.parametrize("read", [".gpkg", ".shp", ".fgb", ".parquet", ".geojson", ".geojsonl"])
def test_any_format_says_the_same_and_keeps_its_columns(shape, tmp_path, read):
    """Read by path and as a data frame, in Python and at the command line, and written in each."""
    taken = {"layer": ["a", "support", "learned"], "SHARE": [1, 2, 3]}
    districts = squares(DEGREES["degrees"], **taken)
    source, learned = tmp_path / f"d{read}", tmp_path / "h.gpkg"
    geodp.save(shape, learned)
    if read == ".parquet":
        districts.to_parquet(source)
    else:
        districts.to_file(source, **({"SPATIAL_INDEX": "NO"} if read == ".fgb" else {}))
    expected = geodp.areas(shape, districts)
    columns = [{"share": "share_"}.get(each, each) for each in COLUMNS]
    assert list(expected) == ["name", "layer", "SHARE", "geometry", *columns]
    of_file = geodp.areas(shape, source)
    assert of_file.crs.equals(districts.crs, ignore_axis_order=True)
    every = (".csv", ".gpkg", ".shp", ".fgb", ".parquet", ".geojson", ".geojsonl")
    for written in every if read == ".gpkg" else (".csv", read):
        out = tmp_path / f"out{written}"
        argv = ("areas", learned, "--districts", source, "-o", out, "--quiet")
        assert run(*argv) == run(*argv, "--overwrite") == 0
        assert out.stat().st_mode & 0o777 == 0o644
        reader = geopandas.read_parquet if written == ".parquet" else geopandas.read_file
        again = reader(out)
        assert list(again["name"]) == ["d0", "d1", "d2"]
        assert list(again["layer"]) == taken["layer"]
        for found in (of_file, again):
            for name in columns:
                some = next(each for each in found if each.lower() == name)
                numbers = np.array(found[some].replace("", np.nan), dtype=float)
                np.testing.assert_allclose(numbers, expected[name], rtol=1e-6, err_msg=name)
        if written != ".csv":
            assert again.geometry.geom_equals(districts.geometry).all()


@pytest.mark.parametrize("read", [".shp", ".fgb"])
def test_a_district_may_be_several_islands_or_nothing(shape, tmp_path, read):
    source, learned = tmp_path / f"d{read}", tmp_path / "h.gpkg"
    geodp.save(shape, learned)
    one, two, three = (shapely.box(x, 40, x + 2, 42) for x in (7, 10, 13))
    places = [one, None, shapely.MultiPolygon([two, three])]
    districts = geopandas.GeoDataFrame({"k": [0, 1, 2]}, geometry=places, crs=4326)
    districts.to_file(source, **({"SPATIAL_INDEX": "NO"} if read == ".fgb" else {}))
    for written in (".gpkg", ".shp", ".fgb"):
        out = tmp_path / f"out{written}"
        assert run("areas", learned, "--districts", source, "-o", out, "--quiet") == 0
        again = geopandas.read_file(out)
        assert again.geometry.isna().tolist() == [False, True, False]
        assert again.geometry[[0, 2]].geom_equals(districts.geometry[[0, 2]]).all()
        if written == ".gpkg":
            assert list(geopandas.list_layers(out)["geometry_type"]) != ["Polygon"]


def test_edges_of_other_systems_bend_in_geojson(released: LearnedShape, tmp_path: Path) -> None:
    """As they do wherever geodp goes to degrees: the ground stays the same."""
    box = BOXES["pole"]
    geodp.save(LearnedShape(released.release, Frame(GRID, box)), tmp_path / "h.gpkg")
    squares([(-1e6, -1e6, 1e6, 1e6)], box.crs).to_file(tmp_path / "d.gpkg")
    argv = ("areas", tmp_path / "h.gpkg", "--districts", tmp_path / "d.gpkg", "-o")
    assert run(*argv, tmp_path / "o.geojson", "--quiet") == 0
    (found,) = geopandas.read_file(tmp_path / "o.geojson").itertuples()
    assert found.geometry.bounds[3] == 90
    assert ground_area(found.geometry) / 1e6 == pytest.approx(found.area_km2, rel=1e-5)


def test_a_table_names_the_districts_and_says_what_the_shape_is(shape, tmp_path, capfd):
    geodp.save(shape, tmp_path / "h.geojson")
    squares([(6, 36, 12.5, 42), (12.5, 36, 19, 42)], code=[7, 8]).to_file(tmp_path / "d.gpkg")
    argv = ("areas", tmp_path / "h.geojson", "--districts", tmp_path / "d.gpkg")
    assert run(*argv) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].split() == ["district", *COLUMNS]
    assert [line.split()[0] for line in lines[1:3]] == ["d0", "d1"]
    assert lines[-1] == shape.statement
    assert run(*argv, "--name", "code", "-o", "-") == 0
    said = capfd.readouterr()
    assert said.out.splitlines()[0] == ",".join(["name", "code", *COLUMNS])
    assert [line.split()[0] for line in said.err.splitlines()[1:3]] == ["7", "8"]
    assert run(*argv, "--name", "nobody") == 2
    assert "missing column nobody: it has" in capfd.readouterr().err


def test_a_clipped_shape_is_measured_as_clipped(shape: LearnedShape, tmp_path: Path) -> None:
    (tmp_path / "west.geojson").write_text(shapely.to_geojson(shapely.box(6, 36, 9, 48)))
    clipped = shape.clip(tmp_path / "west.geojson")
    (whole,) = geodp.areas(shape, squares([(6, 36, 9, 48)])).shape_km2
    west, east = geodp.areas(clipped, squares([(6, 36, 9, 48), (9, 36, 19, 48)])).shape_km2
    assert (west, east) == (pytest.approx(whole), 0)


def test_what_is_not_released_is_not_told(released: LearnedShape) -> None:
    """Without support nothing, where noisy counts of tiles tell nothing; with reports in all
    blocks, that no part had hardly any."""
    points = np.random.default_rng(1).integers(0, GRID + 1, (20_000, 2))
    labels = points[:, 0] < 30
    one = geodp.NoisyHistogramLearner(grid=GRID, seed=1).fit(points, labels)
    all_over = geodp.PolygonUnionLearner(grid=GRID, seed=1).fit(points, labels)
    districts = squares([(0, 0, 32, 64), (32, 0, 64, 64)], None)
    assert geodp.areas(one, districts).unreported.isna().all()
    found = geodp.areas(all_over, districts)
    assert "there were reports in all" in all_over.placed().statement.lower()
    assert found.unreported.tolist() == [0, 0]
    # on a grid that lies nowhere there are shares alone
    assert list(found)[2:] == ["in_bounds", "share", "unreported", "in_doubt"]
    shape = all_over.polygons_
    shares = [(shape & each).area / each.area for each in districts.geometry]
    assert found.share.tolist() == pytest.approx(shares, abs=1e-6)
    empty = geopandas.GeoDataFrame(geometry=[shapely.box(0, 0, 9, 9), None, shapely.Point(1, 1)])
    assert geodp.areas(all_over, empty).in_bounds.isna().tolist() == [False, True, True]


def test_districts_that_cannot_be_used_are_refused(shape: LearnedShape, tmp_path: Path) -> None:
    bare = LearnedShape(shape.release, Frame(GRID))
    bow = geopandas.GeoDataFrame(
        geometry=[shapely.Polygon([(7, 40), (9, 42), (9, 40), (7, 42)])], crs=4326
    )
    (tmp_path / "d.csv").write_text("lon,lat\n1,2\n")
    squares([(7, 40, 8, 41)]).to_file(tmp_path / "d.gpkg", layer="one")
    squares([(7, 40, 8, 41)]).to_file(tmp_path / "d.gpkg", layer="two")
    for each, districts, message in [
        (bare, squares([(0, 0, 1, 1)]), "learned without bounds"),
        (shape, squares([(30, 30, 31, 31)]), "no district lies where the shape was learned"),
        (shape, bow, "feature 1: the outline crosses or touches itself"),
        (shape, geopandas.GeoDataFrame(geometry=[shapely.Point(7, 40)]), "no polygons in it"),
        (shape, bow.drop(columns="geometry"), "a path or a GeoDataFrame, not DataFrame"),
        (shape, tmp_path / "d.csv", "a file of polygons"),
        (shape, tmp_path / "d.gpkg", "has several layers"),
        ("shape", bow, "a learned shape or a fitted learner is measured, not str"),
    ]:
        with pytest.raises(geodp.InputError, match=message):
            geodp.areas(each, districts)
    assert len(geodp.areas(shape, tmp_path / "d.gpkg", layer="two")) == 1


# -- predict and render ----------------------------------------------------------------------------


SIDE, HERE = 64, Bounds(15, 45, 16, 46)
BOUNDS = ("--grid", SIDE, "--bounds", "15,45,16,46")


@pytest.fixture(scope="module")
def learned_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learned shape, with support, and points with a name and no label."""
    learned_folder = tmp_path_factory.mktemp("predict")
    rng = np.random.default_rng(1)
    lonlat = rng.uniform((15, 45), (15.7, 46), (3000, 2))
    inside = ((lonlat - (15.4, 45.5)) ** 2).sum(axis=1) < 0.06
    lines = [f"{x!r},{y!r},{int(v)}" for (x, y), v in zip(lonlat.tolist(), inside, strict=True)]
    (learned_folder / "p.csv").write_text("\n".join(["lon,lat,label", *lines, ""]))
    argv = ("learn", learned_folder / "p.csv", *BOUNDS, "--support", 0.3, "--seed", 1, "--quiet")
    for name in ("l.geojson", "l.gpkg"):
        assert run(*argv, "-o", learned_folder / name) == 0
    rows = ['"a, b",15.4,45.5', "c,15.05,45.05", "d,15.95,45.9", "e,17,45"]
    (learned_folder / "q.csv").write_text("\n".join(["name,longitude,latitude", *rows, ""]))
    return learned_folder


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("learned", ["l.geojson", "l.gpkg"])
def test_rows_keep_their_columns_and_get_what_the_shape_says(learned_folder, tmp_path, learned):
    out = tmp_path / "out.csv"
    argv = ("predict", learned_folder / learned, learned_folder / "q.csv", "-o", out)
    assert run(*argv) == 2  # the last point lies outside the bounds
    assert not out.exists()
    assert run(*argv, "--out-of-bounds", "drop") == 0
    found = table(out)
    assert [row["name"] for row in found] == ["a, b", "c", "d"]
    assert found[0]["longitude"] == "15.4"
    release = read_learned(learned_folder / learned).release
    there = np.array([[15.4, 45.5], [15.05, 45.05], [15.95, 45.9]])
    expected = release.predict(GridMap(SIDE, HERE).to_grid(there))
    assert [int(row["predicted"]) for row in found] == expected.tolist()
    assert expected[0] == 1
    # nobody reported from the east
    assert [row["supported"] for row in found][::2] == ["1", "0"]
    assert out.stat().st_mode & 0o777 == 0o600


def test_a_shape_of_another_program_labels_points_too(learned_folder: Path, tmp_path: Path) -> None:
    shape, out = tmp_path / "s.geojson", tmp_path / "out.csv"
    ring = "[[15.3,45.4],[15.5,45.4],[15.5,45.6],[15.3,45.6],[15.3,45.4]]"
    shape.write_text(f'{{"type":"Polygon","coordinates":[{ring}]}}')
    argv = (
        "predict",
        shape,
        learned_folder / "q.csv",
        *BOUNDS,
        "--out-of-bounds",
        "drop",
        "-o",
        out,
    )
    assert run(*argv) == 0
    assert [row["predicted"] for row in table(out)] == ["1", "0", "0"]
    assert "supported" not in table(out)[0]
    assert run(*argv, "--overwrite", "--within", learned_folder / "l.geojson") == 0


@pytest.mark.parametrize("learned", ["l.geojson", "l.gpkg"])
def test_pictures_show_the_shape_and_nothing_of_the_examples(learned_folder, tmp_path, learned):
    png, svg = tmp_path / "p.png", tmp_path / "p.svg"
    for out in (png, svg):
        assert run("render", learned_folder / learned, "-o", out, "--title", "A <flood>") == 0
    image = QImage(str(png))
    assert (image.width(), image.height()) == (1600, 1000)
    colours = {image.pixelColor(x, y).name() for x in range(0, 1600, 4) for y in range(0, 1000, 4)}
    assert "#009e73" in colours or "#c4e8dd" in colours
    assert not colours & {"#0072b2", "#e69f00"}  # examples
    root = ElementTree.parse(svg).getroot()
    assert root.tag.endswith("svg")
    text = svg.read_text()
    assert "A &lt;flood&gt;" in text
    assert "no: seeded" in text


def test_polygons_of_another_program_are_drawn_on_their_own_box(tmp_path, learned_folder):
    shape, out = tmp_path / "s.geojson", tmp_path / "p.png"
    shape.write_text('{"type":"Polygon","coordinates":[[[1,2],[3,2],[3,5],[1,5],[1,2]]]}')
    assert run("render", shape, "-o", out, "--quiet") == 0
    assert run("render", shape, "-o", tmp_path / "p.gif") == 2
    assert run("render", learned_folder / "q.csv", "-o", out) == 2


@pytest.mark.parametrize("title", ["a\x01b", "tab\tand\x1f<&>", "\ufffe\x00", "\udcff"])
def test_a_picture_is_readable_whatever_its_title_holds(learned_folder, tmp_path, title):
    drawn = tmp_path / "l.svg"
    shape = tmp_path / f"{title[:1] if title[0] != chr(0xDCFF) else 'x'}\x02.geojson"
    shape.write_bytes((learned_folder / "l.geojson").read_bytes())
    for argv in (("--title", title), ()):
        assert run("render", shape, "-o", drawn, *argv, "--quiet") == 0
        found = ElementTree.fromstring(drawn.read_text(encoding="utf-8"))
        assert found.find("{http://www.w3.org/2000/svg}title") is not None
