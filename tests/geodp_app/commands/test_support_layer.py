"""`--support`: a second layer of the learned file, what is said of it, and what readers take."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
import shapely.geometry
from terminal import geodp

from geodp import Bounds, GridMap
from geodp_app.files.learned_file import read_learned
from geodp_app.files.run_report import support_caption
from geometry.geojson import read_geojson
from geometry.mask import read_mask
from learners.core.releases import TilesRelease
from learners.core.support import Support

BOX = Bounds(10, 40, 20, 50)


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20,000 examples of a square, all from the western half of 10..20 E, 40..50 N."""
    path = tmp_path_factory.mktemp("support") / "p.csv"
    rng = np.random.default_rng(1)
    at = rng.integers(0, (60, 129), (20_000, 2))
    inside = ((at > 30) & (at < 90)).all(axis=1).astype(int)
    rows = "".join(f"{x},{y},{label}\n" for (x, y), label in zip(at, inside, strict=True))
    path.write_text(f"x,y,label\n{rows}")
    return path


def learn(points: Path, out: Path, *more: object) -> int:
    bounds = ["--bounds", "10,40,20,50"]
    return geodp("learn", points, "--grid", 128, *bounds, "--seed", 5, "-o", out, *more)


@pytest.fixture(scope="module")
def learned(points: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("learned") / "h.geojson"
    assert learn(points, out, "--support", 0.1, "--quiet") == 0
    return out


def support_of(path: Path) -> Any:
    release = read_learned(path).release
    assert isinstance(release, TilesRelease)
    assert release.support is not None
    return release.support


def test_the_file_has_the_shape_and_then_the_support(learned: Path) -> None:
    collection = json.loads(learned.read_text())
    shape, layer = collection["features"]
    said = shape["properties"]
    assert (said["name"], said["label"], said["epsilon"]) == ("learned", 1, 1.0)
    assert said["support"].startswith(f"{sum(support_of(learned).cells)} of ")
    assert layer["properties"] == {"name": "support", "layer": "support"}
    region = shapely.geometry.shape(layer["geometry"])
    assert region.is_valid
    place = GridMap(128, BOX).to_lonlat
    expected = shapely.transform(support_of(learned).shape(128), place)
    assert region.symmetric_difference(expected).area < 1e-9
    # the east is not supported, the west is
    assert region.contains(shapely.box(10.1, 40.1, 13, 49.9))
    assert not region.intersects(shapely.box(16, 40.1, 19.9, 49.9))
    both = shapely.union_all([shapely.geometry.shape(one["geometry"]) for one in (shape, layer)])
    assert collection["bbox"] == pytest.approx(both.bounds)
    assert layer["bbox"] == pytest.approx(region.bounds)


def test_readers_take_the_shape_alone(learned: Path, points: Path, capsys, tmp_path) -> None:
    file = read_learned(learned)
    whole = file.release.shape()
    assert file.target.on_grid(128).symmetric_difference(whole).area < 1e-6
    for target in (read_geojson(learned), read_mask(learned).target):
        assert target.on_grid(128).symmetric_difference(whole).area < 1e-6
    assert read_geojson(learned).name == "learned"
    capsys.readouterr()
    assert geodp("evaluate", learned, points, "--grid", 128, "--bounds", "10,40,20,50") == 0
    assert "error" in capsys.readouterr().out
    # a file that another program has made may call its features as it likes
    foreign = json.loads(learned.read_text())
    del foreign["geodp"]
    (tmp_path / "foreign.geojson").write_text(json.dumps(foreign))
    read = read_geojson(tmp_path / "foreign.geojson").geometry
    parts = [shapely.geometry.shape(feature["geometry"]) for feature in foreign["features"]]
    assert read.symmetric_difference(shapely.union_all(parts)).area < 1e-9


def test_an_empty_shape_keeps_its_support(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = "".join(f"{x},{y},0\n" for x, y in rng.integers(0, 65, (5_000, 2)))
    (tmp_path / "p.csv").write_text(f"x,y,label\n{rows}")
    out = tmp_path / "h.geojson"
    assert geodp("learn", tmp_path / "p.csv", "--grid", 64, "--tiles", 1, "--support", 0.5,
               "--seed", 5, "-o", out, "--quiet") == 0  # fmt: skip
    (feature,) = json.loads(out.read_text())["features"]
    assert feature["properties"]["layer"] == "support"
    file = read_learned(out)
    assert file.target.geometry.is_empty
    assert file.release.shape().is_empty


def test_without_it_the_counts_of_tiles_tell_and_cost_nothing(points, tmp_path, capsys) -> None:
    out, outcome = tmp_path / "h.geojson", tmp_path / "r.json"
    assert learn(points, out, "--report", outcome) == 0
    shape, layer = json.loads(out.read_text())["features"]
    region = shapely.geometry.shape(layer["geometry"])
    assert region.contains(shapely.box(10.1, 40.1, 13, 49.9))
    assert not region.intersects(shapely.box(18.5, 40.1, 19.9, 49.9))
    document = json.loads(outcome.read_text())
    said = document["support"]
    assert "had hardly any reports" in said
    assert "cost" not in said
    assert shape["properties"]["support"].startswith(said)
    assert "support counts" not in outcome.read_text()
    line = f"{out}: {said}: clip it with --within a public map, or release more about it with "
    assert f"{line}--support" in capsys.readouterr().err.splitlines()


def test_a_cover_says_nothing_of_where_there_were_reports(points, tmp_path) -> None:
    out, outcome = tmp_path / "h.geojson", tmp_path / "r.json"
    options = ["--learner", "threshold", "--report", outcome, "--quiet"]
    assert learn(points, out, *options) == 0
    assert len(json.loads(out.read_text())["features"]) == 1
    assert "support" not in out.read_text() + outcome.read_text()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_it_is_told_what_it_means_and_costs(points, tmp_path, capsys, neighbours) -> None:
    out, outcome = tmp_path / "h.geojson", tmp_path / "r.json"
    options = ["--support", 0.1, "--epsilon", 2, "--neighbours", neighbours, "--report", outcome]
    assert learn(points, out, *options) == 0
    support, document = support_of(out), json.loads(outcome.read_text())
    sentence = document["support"]
    m = support.per_side
    assert sentence.startswith(f"{sum(support.cells)} of {m * m} cells ({m} a side) had enough")
    assert f"at least {support.threshold} by a count with noise" in sentence
    # for the run's neighbours
    assert "which cost epsilon 0.2 of the whole" in sentence
    alone = 0.2 if neighbours == "add-remove" else 0.1
    assert f"support counts: epsilon {alone:g}, however many cells" in document["account"]
    assert f"{out}: {sentence}" in capsys.readouterr().err.splitlines()
    charges = document["release"]["privacy"]["charges"]
    inner = 2 if neighbours == "add-remove" else 1
    assert sum(charge["each"] for charge in charges) == pytest.approx(inner, abs=1e-9)


def test_a_mask_clips_the_shape_and_not_the_support(points, learned, tmp_path) -> None:
    (tmp_path / "map.geojson").write_text(shapely.to_geojson(shapely.box(10, 40, 14, 50)))
    out = tmp_path / "h.geojson"
    within = ["--within", tmp_path / "map.geojson"]
    assert learn(points, out, "--support", 0.1, *within, "--quiet") == 0
    files = [json.loads(path.read_text()) for path in (learned, out)]
    assert files[0]["features"][1] == files[1]["features"][1]
    assert files[0]["features"][0] != files[1]["features"][0]
    assert files[0]["geodp"]["release"] == files[1]["geodp"]["release"]


def test_the_picture_hatches_what_is_not_supported(points, tmp_path, monkeypatch) -> None:
    drawn = []
    monkeypatch.setattr(
        "geodp_app.files.svg_picture.picture_svg",
        lambda frame, layers, *_, caption, **__: drawn.append((layers, caption)) or "<svg/>",
    )
    monkeypatch.setattr("geodp_app.views.pictures.drawn_png", str.encode)
    out, picture = tmp_path / "h.geojson", tmp_path / "h.png"
    assert learn(points, out, "--support", 0.1, "--picture", picture, "--quiet") == 0
    assert learn(points, out, "--picture", picture, "--quiet", "--overwrite") == 0
    (layers, caption), without = drawn
    assert layers["support"].area == pytest.approx(65 * 128, rel=0.2)
    said = "Hatched: too few reports to say anything (released with ε\xa0=\xa00.1)"
    assert caption == said
    assert (list(without[0]), without[1]) == (["learned", "support"], "Hatched: hardly any reports")


def test_where_nothing_is_hatched_it_says_so(points, tmp_path) -> None:
    out = tmp_path / "h.geojson"
    assert learn(points, out, "--support", 0.1, "--quiet") == 0
    release = read_learned(out).release
    assert isinstance(release, TilesRelease)
    everywhere = replace(release, support=Support(1, 9, (True,)))
    assert support_caption(release, short=True) == "Hatched: too few reports (ε\xa0=\xa00.1)"
    assert support_caption(everywhere, short=True) == "Enough reports everywhere (ε\xa0=\xa00.1)"
    assert support_caption(replace(release, support=None, privacy=None)) == ""
