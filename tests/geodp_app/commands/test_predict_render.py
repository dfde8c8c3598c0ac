"""`geodp predict` says of points what the shape says, `geodp render` draws the shape."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QImage
from terminal import geodp

from geodp import Bounds, GridMap
from geodp_app.files.learned_file import read_learned

GRID, BOX = 64, Bounds(15, 45, 16, 46)
BOUNDS = ("--grid", GRID, "--bounds", "15,45,16,46")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learned shape, with support, and points with a name and no label."""
    folder = tmp_path_factory.mktemp("predict")
    rng = np.random.default_rng(1)
    lonlat = rng.uniform((15, 45), (15.7, 46), (3000, 2))
    inside = ((lonlat - (15.4, 45.5)) ** 2).sum(axis=1) < 0.06
    lines = [f"{x!r},{y!r},{int(v)}" for (x, y), v in zip(lonlat.tolist(), inside, strict=True)]
    (folder / "p.csv").write_text("\n".join(["lon,lat,label", *lines, ""]))
    argv = ("learn", folder / "p.csv", *BOUNDS, "--support", 0.3, "--seed", 1, "--quiet")
    for name in ("l.geojson", "l.gpkg"):
        assert geodp(*argv, "-o", folder / name) == 0
    rows = ['"a, b",15.4,45.5', "c,15.05,45.05", "d,15.95,45.9", "e,17,45"]
    (folder / "q.csv").write_text("\n".join(["name,longitude,latitude", *rows, ""]))
    return folder


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("learned", ["l.geojson", "l.gpkg"])
def test_rows_keep_their_columns_and_get_what_the_shape_says(folder, tmp_path, learned):
    out = tmp_path / "out.csv"
    argv = ("predict", folder / learned, folder / "q.csv", "-o", out)
    assert geodp(*argv) == 2  # the last point lies outside the bounds
    assert not out.exists()
    assert geodp(*argv, "--out-of-bounds", "drop") == 0
    found = table(out)
    assert [row["name"] for row in found] == ["a, b", "c", "d"]
    assert found[0]["longitude"] == "15.4"
    release = read_learned(folder / learned).release
    there = np.array([[15.4, 45.5], [15.05, 45.05], [15.95, 45.9]])
    expected = release.predict(GridMap(GRID, BOX).to_grid(there))
    assert [int(row["predicted"]) for row in found] == expected.tolist()
    assert expected[0] == 1
    # nobody reported from the east
    assert [row["supported"] for row in found][::2] == ["1", "0"]
    assert out.stat().st_mode & 0o777 == 0o600


def test_a_name_that_is_taken_is_kept(folder: Path, tmp_path: Path) -> None:
    points, out = tmp_path / "p.csv", tmp_path / "out.csv"
    points.write_text("lon,lat,Predicted\n15.4,45.5,mine\n")
    assert geodp("predict", folder / "l.geojson", points, "-o", out, "--quiet") == 0
    assert table(out)[0].keys() == {"lon", "lat", "Predicted", "predicted_", "supported"}
    assert table(out)[0]["Predicted"] == "mine"


def test_a_shape_of_another_program_labels_points_too(folder: Path, tmp_path: Path) -> None:
    shape, out = tmp_path / "s.geojson", tmp_path / "out.csv"
    ring = "[[15.3,45.4],[15.5,45.4],[15.5,45.6],[15.3,45.6],[15.3,45.4]]"
    shape.write_text(f'{{"type":"Polygon","coordinates":[{ring}]}}')
    argv = ("predict", shape, folder / "q.csv", *BOUNDS, "--out-of-bounds", "drop", "-o", out)
    assert geodp(*argv) == 0
    assert [row["predicted"] for row in table(out)] == ["1", "0", "0"]
    assert "supported" not in table(out)[0]
    assert geodp(*argv, "--within", folder / "l.geojson") == 0


@pytest.mark.parametrize("learned", ["l.geojson", "l.gpkg"])
def test_pictures_show_the_shape_and_nothing_of_the_examples(folder, tmp_path, learned):
    png, svg = tmp_path / "p.png", tmp_path / "p.svg"
    for out in (png, svg):
        assert geodp("render", folder / learned, "-o", out, "--title", "A <flood>") == 0
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


def test_polygons_of_another_program_are_drawn_on_their_own_box(tmp_path, folder):
    shape, out = tmp_path / "s.geojson", tmp_path / "p.png"
    shape.write_text('{"type":"Polygon","coordinates":[[[1,2],[3,2],[3,5],[1,5],[1,2]]]}')
    assert geodp("render", shape, "-o", out, "--quiet") == 0
    assert geodp("render", shape, "-o", tmp_path / "p.gif") == 2
    assert geodp("render", folder / "q.csv", "-o", out) == 2


@pytest.mark.parametrize("title", ["a\x01b", "tab\tand\x1f<&>", "\ufffe\x00", "\udcff"])
def test_a_picture_is_readable_whatever_its_title_holds(folder, tmp_path, title):
    drawn = tmp_path / "l.svg"
    shape = tmp_path / f"{title[:1] if title[0] != chr(0xDCFF) else 'x'}\x02.geojson"
    shape.write_bytes((folder / "l.geojson").read_bytes())
    for argv in (("--title", title), ()):
        assert geodp("render", shape, "-o", drawn, *argv, "--quiet") == 0
        found = ElementTree.fromstring(drawn.read_text(encoding="utf-8"))
        assert found.find("{http://www.w3.org/2000/svg}title") is not None
