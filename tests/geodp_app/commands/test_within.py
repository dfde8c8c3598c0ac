"""`--within`: what is written is the release's shape within the map; the release stays whole."""

import json
import stat
from pathlib import Path

import numpy as np
import pytest
import shapely
import shapely.geometry
from known_targets import square_geojson
from terminal import fails, geodp

from geodp import Bounds, GridMap
from geodp_app.files.learned_file import read_learned
from geodp_app.files.points import read_examples

BOX = Bounds(10, 40, 20, 50)
#: A map with a hole, over an edge of the box: it cuts the target, and what is learned of it.  No
#: grid point is on its edges.
MAP = shapely.box(0, 42.001, 16.001, 47.001).difference(shapely.box(13.001, 44.001, 14.001, 45.001))
LEARNERS = ("tiles", "cover", "discs")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A map and 5,000 examples of a square at 12..18 E, 41..46 N."""
    folder = tmp_path_factory.mktemp("within")
    (folder / "map.geojson").write_text(shapely.to_geojson(MAP))
    (folder / "t.geojson").write_text(shapely.to_geojson(shapely.box(12, 41, 18, 46)))
    sample = ["sample", "--target", folder / "t.geojson", "--n", 5_000, "--grid", 128]
    where = ["--bounds", "10,40,20,50", "-o", folder / "p.csv"]
    assert geodp(*sample, "--seed", 3, *where, "--quiet") == 0
    return folder


def learn(folder: Path, out: Path, *more: object) -> int:
    return geodp("learn", folder / "p.csv", "--seed", 5, "-o", out, *more)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_polygons_are_clipped_and_the_release_is_whole(folder, tmp_path, capsys, learner):
    whole, cut = tmp_path / "whole.geojson", tmp_path / "cut.geojson"
    assert learn(folder, whole, "--learner", learner) == 0
    assert learn(folder, cut, "--learner", learner, "--within", folder / "map.geojson") == 0
    outcome = capsys.readouterr().err.splitlines()
    told = [line for line in outcome if ", clipped to map.geojson, " in line]
    assert [line.startswith(f"{cut}: ") for line in told] == [True]
    assert "clipped to" not in outcome[0]
    files = [json.loads(path.read_text()) for path in (whole, cut)]
    # the same release to the bit, the same statement; only the polygons differ
    assert files[0]["geodp"]["release"] == files[1]["geodp"]["release"]
    assert files[1]["geodp"].pop("clipped_to") == "map.geojson"
    (within,) = files[1]["geodp"].pop("within")
    assert shapely.geometry.shape(within["map"]).equals(MAP)
    assert files[0]["geodp"] == files[1]["geodp"]
    # in degrees, as a reader of the two files would cut one by the map
    shapes = [shapely.geometry.shape(file["features"][0]["geometry"]) for file in files]
    expected = shapes[0].intersection(MAP)
    assert shapes[1].is_valid
    assert shapes[1].symmetric_difference(expected).area < 1e-9 * expected.area
    assert 0.2 < shapes[1].area / shapes[0].area < 0.9
    assert files[1]["bbox"] == pytest.approx(expected.bounds)


def test_the_grid_frame_is_clipped_too(folder, tmp_path):
    out = tmp_path / "raw.geojson"
    assert learn(folder, out, "--raw-grid", "--within", folder / "map.geojson") == 0
    learned = read_learned(out)
    moved = shapely.transform(MAP, GridMap(128, BOX).own_to_grid_float)
    expected = learned.release.shape().intersection(moved)
    assert learned.target.frame == "grid"
    assert learned.target.geometry.symmetric_difference(expected).area < 1e-6


def test_examples_on_a_grid_that_lies_nowhere_take_a_map_in_grid_units(tmp_path, write, capsys):
    rng = np.random.default_rng(1)
    rows = "".join(f"{x},{y},{int(x < 40)}\n" for x, y in rng.integers(0, 65, (2_000, 2)))
    points = write("p.csv", f"x,y,label\n{rows}")
    mask = write("m.geojson", square_geojson(8, 24, frame="grid", grid=32))
    out = tmp_path / "l.geojson"
    argv = ["learn", points, "--grid", 64, "-o", out, "--within"]
    assert geodp(*argv, mask) == 0
    learned = read_learned(out)
    expected = learned.release.shape().intersection(shapely.box(16, 16, 48, 48))
    placed = learned.target.on_grid(64)
    assert placed.symmetric_difference(expected).area < 1e-6
    # nobody knows where on the globe the square is
    out.unlink()
    outcome = fails(capsys, *argv, write("d.geojson", square_geojson(8, 24)))
    assert outcome.startswith(
        "geodp: d.geojson: is in degrees, and where the grid lies is not known"
    )
    assert "give --bounds" in outcome
    assert not out.exists()


def test_a_map_without_what_was_learned_leaves_an_empty_file_that_still_predicts(folder, tmp_path):
    (tmp_path / "corner.geojson").write_text(shapely.to_geojson(shapely.box(19.5, 49.5, 20, 50)))
    out = tmp_path / "l.geojson"
    assert learn(folder, out, "--within", tmp_path / "corner.geojson", "--quiet") == 0
    file = json.loads(out.read_text())
    assert file["features"] == []
    assert read_learned(out).release.shape().area > 0


def test_a_table_is_clipped_as_a_file_is(folder, tmp_path):
    outs = [tmp_path / "file.geojson", tmp_path / "table.geojson"]
    within = ["--within", folder / "map.geojson", "--quiet"]
    assert learn(folder, outs[0], *within) == 0
    table = ["--table", f"csv:{folder / 'p.csv'}", "--seed", 5]
    assert geodp("learn", *table, "-o", outs[1], *within) == 0
    assert outs[0].read_text() == outs[1].read_text()


def test_the_picture_shows_what_is_left_and_its_error(folder, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "geodp_app.files.svg_picture.picture_svg",
        lambda *shown, **_: drawn.append(shown) or "<svg/>",
    )
    monkeypatch.setattr("geodp_app.views.pictures.drawn_png", str.encode)
    out = tmp_path / "l.geojson"
    more = ["--picture", tmp_path / "l.png", "--within", folder / "map.geojson", "--quiet"]
    assert learn(folder, out, *more) == 0
    ((_, layers, _, figures),) = drawn
    moved = shapely.transform(MAP, GridMap(128, BOX).own_to_grid_float)
    learned, examples = read_learned(out), read_examples(folder / "p.csv")
    assert stat.S_IMODE((tmp_path / "l.png").stat().st_mode) == 0o600
    assert layers["learned"].symmetric_difference(learned.release.shape() & moved).area < 1e-6
    predicted = learned.release.predict(examples.points) & shapely.intersects_xy(
        moved, examples.points.astype(float)
    )
    assert dict(figures)["training error"] == f"{(predicted != examples.labels).mean():.2%}"


# -- evaluate -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clipped(folder: Path) -> Path:
    out = folder / "clipped.geojson"
    assert learn(folder, out, "--within", folder / "map.geojson", "--quiet") == 0
    return out


def test_a_clipped_file_remembers_its_map(folder, clipped, tmp_path, capsys):
    """What is said of it is the same whether the map is given again or not."""
    drawn, labelled, points = tmp_path / "l.svg", tmp_path / "p.csv", folder / "p.csv"
    said = []
    for more in ([], ["--within", folder / "map.geojson"]):
        assert geodp("evaluate", clipped, points, "--json", *more) == 0
        assert geodp("render", clipped, "-o", drawn, "--quiet", *more) == 0
        assert geodp("predict", clipped, points, "-o", labelled, "--quiet", *more) == 0
        said.append((capsys.readouterr(), drawn.read_text(), labelled.read_text()))
    assert said[0] == said[1]
    assert said[0][0].err == ""


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"type": "Point", "coordinates": [12, 42]}, "m.geojson: no polygons in it"),
        (square_geojson(60, 70), "m.geojson: nothing of it lies within (10.0, 40.0, 20.0, 50.0)"),
        (square_geojson(4e5, 5e5), "is outside longitude -360..360"),
        ("lon,lat\n1,2\n", "m.geojson: not JSON"),
    ],
)
@pytest.mark.parametrize("verb", ["learn", "evaluate"])
def test_a_map_that_cannot_be_used_is_refused_before_anything_is_learned(
    folder, clipped, tmp_path, write, capsys, monkeypatch, verb, content, message
):
    mask, out = write("m.geojson", content), tmp_path / "l.geojson"

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a learner was run")

    monkeypatch.setattr("geodp_app.commands.learn.fit_learner", refuse)
    points = folder / "p.csv"
    argv = [points, "-o", out] if verb == "learn" else [clipped, points]
    assert message in fails(capsys, verb, *argv, "--within", mask)
    assert sorted(tmp_path.iterdir()) == [mask]


def test_a_map_that_is_not_there_and_one_that_would_be_overwritten(folder, tmp_path, capsys):
    assert learn(folder, tmp_path / "l.geojson", "--within", tmp_path / "no.geojson") == 2
    assert "no.geojson: No such file" in capsys.readouterr().err
    before = (folder / "map.geojson").read_bytes()
    assert learn(folder, folder / "map.geojson", "--within", folder / "map.geojson") == 2
    assert "map.geojson: is an input too; choose another name" in capsys.readouterr().err
    assert (folder / "map.geojson").read_bytes() == before
