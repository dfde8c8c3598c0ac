"""Commands on points in other formats and systems: what is learned lies where it should."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import shapely
from pyproj import Geod, Transformer
from terminal import geodp, printed

from geodp import read_points
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


def test_a_file_in_metres_and_one_in_degrees_are_the_same_reports(folder: Path) -> None:
    learned = []
    for name in ("degrees.csv", "metres.gpkg"):
        out = folder / f"{name}.geojson"
        assert geodp("learn", folder / name, "--bounds", BOX, "--grid", GRID, "-o", out, *SEED) == 0
        learned.append(out.read_bytes())
    assert learned[0] == learned[1]


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
    assert geodp("evaluate", out, metres, "--crs", "EPSG:1") == 2
    assert "argument --crs: EPSG:1: no such" in capsys.readouterr().err


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
    assert geodp("learn", folder / "degrees.csv", "-o", out, *options) == 2
    outcome = capsys.readouterr().err
    assert reason in outcome
    assert outcome.count("\n") == 1
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
