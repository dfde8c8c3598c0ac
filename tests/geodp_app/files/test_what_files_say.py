"""How right a shape is, where it had reports and whether labels look wrong, by every road."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import shapely
import shapely.geometry
from terminal import geodp as run

import assets
import geodp
from geodp import Bounds, GridMap
from geodp_app.commands.plugin import declared
from geodp_app.document.examples import Examples, Frame
from geodp_app.files.document_files import export_release
from geodp_app.files.learned_file import read_learned, wrong_labels_text
from geodp_app.files.points import format_examples
from geodp_app.files.run_report import support_caption
from geodp_app.qgis.command import option_arguments
from geometry.geojson import read_geojson
from geometry.grid_counts import GridCounts
from geometry.mask import read_mask
from learners.core.releases import TilesRelease, support_words
from learners.core.support import Support
from learners.privacy.randomness import SeededRandom
from learners.tiles.tile_choice import noisy_mistakes, wrong_share

BOX = (10, 40, 20, 50)
FRAME = Frame(64, geodp.Bounds(*BOX))


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30,000 reports, all from the western half."""
    folder = tmp_path_factory.mktemp("reports")
    points = np.random.default_rng(2).integers(0, (33, 65), (30_000, 2))
    labels = ((points > 12) & (points < 30)).all(axis=1).astype(np.int64)
    (folder / "p.csv").write_text(format_examples(Examples(points, labels, FRAME)))
    return folder / "p.csv"


@pytest.fixture(scope="module")
def expected(reports: Path) -> geodp.LearnedShape:
    return geodp.learn(reports, check=0.2, seed=3)


def by_command(reports: Path, path: Path) -> None:
    assert run("learn", reports, "--check", "20%", "--seed", 3, "-o", path, "--quiet") == 0


def by_table(reports: Path, path: Path) -> None:
    rows = geodp.read_points(reports)
    table = path.with_name("table.csv")
    lonlat = rows.frame.place.to_lonlat(rows.points)  # type: ignore[union-attr]
    lines = [
        f"{x!r},{y!r},{label}\n" for (x, y), label in zip(lonlat.tolist(), rows.labels, strict=True)
    ]
    table.write_text("lon,lat,label\n" + "".join(lines))
    where = ["--table", f"csv:{table}", "--bounds", "10,40,20,50", "--grid", 64]
    assert run("learn", *where, "--check", 0.2, "--seed", 3, "-o", path, "--quiet") == 0


def by_python(reports: Path, path: Path) -> None:
    geodp.save(geodp.learn(reports, check=0.2, seed=3), path)


def by_window(reports: Path, path: Path) -> None:
    shape = geodp.learn(reports, check=0.2, seed=3)
    export_release(path, shape.release, shape.frame)


def by_qgis(reports: Path, path: Path) -> None:
    """What the plugin types, without QGIS."""
    options = json.loads(json.dumps(declared()))["verbs"]["learn"]
    typed = option_arguments(options, {"learner": "tiles", "check": 0.2, "seed": 3})
    assert run("learn", reports, *typed, f"--output={path}", "--overwrite", "--quiet") == 0


#: Every road, and every ending: all roads write by the same function (test_outputs).
ASKED = [
    *((road, ".geojson") for road in (by_command, by_table, by_python, by_window, by_qgis)),
    *((by_python, ending) for ending in (".gpkg", ".fgb", ".shp", ".parquet")),
]


def test_a_shapefile_states_no_less_than_was_spent(tmp_path):
    """Its numbers have 15 decimals, and those of 1/3 would be less."""
    shape = geodp.learn(geodp.sample("L", 500, grid=64, seed=1), "histogram", epsilon=1 / 3)
    geodp.save(shape, tmp_path / "h.shp")
    assert 1 / 3 < geopandas.read_file(tmp_path / "h.shp")["epsilon"][0] < 1 / 3 + 1e-15


@pytest.mark.parametrize(("road", "ending"), ASKED)
def test_a_file_says_how_right_it_is_and_where_it_had_reports(
    reports, expected, road, ending, tmp_path
):
    path = tmp_path / f"h{ending}"
    road(reports, path)
    check = expected.check
    assert check is not None
    read = geopandas.read_parquet if ending == ".parquet" else geopandas.read_file
    layers = read(path)
    layers["layer"] = layers["layer"].fillna("learned")
    layers = layers.set_index("layer")
    said, reported = layers.loc["learned"], layers.loc["support"].geometry
    assert (said["right_low"], said["right_high"]) == pytest.approx(check.share(), abs=1e-9)
    assert expected.privacy is not None
    assert 1e-40 == expected.privacy.delta <= said["delta"] <= 1e-15  # a shapefile's least number
    if ending != ".shp":  # whose texts are short
        assert said["accuracy"] == check.words()
        assert said["support"].startswith(support_words(expected.release))
    # nobody reported from the east, where one tile in twenty passes for one with reports
    assert reported.contains(shapely.box(10.1, 40.1, 14.9, 49.9))
    assert reported.intersection(shapely.box(16, 40, 20, 50)).area < 8
    assert reported.area == pytest.approx(expected.support.area, rel=1e-6)
    if ending in (".geojson", ".gpkg", ".parquet"):
        shape = read_learned(path).shape
        assert shape is not None
        assert shape.release == expected.release
        assert shape.check == check


def test_a_stranger_is_told_whose_it_is_what_may_be_published_and_what_was_clipped(tmp_path):
    rng = np.random.default_rng(5)
    points = rng.integers(0, (33, 65), (30_000, 2))
    labels = (points[:, 0] > 12).astype(np.int64)
    shape = geodp.learn(Examples(points, labels, FRAME, "user")).clip(shapely.box(11, 41, 19, 49))
    geodp.save(shape, tmp_path / "h.gpkg")
    said = geopandas.read_file(tmp_path / "h.gpkg").set_index("layer").loc["learned"]
    assert said["statement"] == (
        "(1, 1e-40)-differentially private with respect to adding or removing one labelled "
        "example. An example is one row of each user. All that is in this file may be published."
    )
    assert said["clipped_to"] == "the geometry"
    assert said["support"].endswith("; feature support: where there were enough")
    assert (
        "may be published"
        not in geodp.learn(Examples(points, labels, FRAME), "quadtree", seed=1).fields()[
            "statement"
        ]
    )


# -- a layer of support ----------------------------------------------------------------------------


BOUNDS = Bounds(10, 40, 20, 50)


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
    return run("learn", points, "--grid", 128, *bounds, "--seed", 5, "-o", out, *more)


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
    # the guarantee goes with each: whoever takes one feature takes it along
    del said["label"]
    assert layer["properties"] == said | {"name": "support", "layer": "support"}
    assert "statement" in said
    region = shapely.geometry.shape(layer["geometry"])
    assert region.is_valid
    place = GridMap(128, BOUNDS).to_lonlat
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
    assert run("evaluate", learned, points, "--grid", 128, "--bounds", "10,40,20,50") == 0
    assert "error" in capsys.readouterr().out
    # also where another program has saved it; one that made it may call its features as it likes
    foreign = json.loads(learned.read_text())
    del foreign["geodp"]
    parts = [shapely.geometry.shape(feature["geometry"]) for feature in foreign["features"]]
    for name, own in (("support", parts[:1]), ("fields", parts)):
        foreign["features"][1]["properties"]["layer"] = name
        (tmp_path / "foreign.geojson").write_text(json.dumps(foreign))
        read = read_geojson(tmp_path / "foreign.geojson").geometry
        assert read.symmetric_difference(shapely.union_all(own)).area < 1e-9


def test_an_empty_shape_keeps_its_support(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = "".join(f"{x},{y},0\n" for x, y in rng.integers(0, 65, (5_000, 2)))
    (tmp_path / "p.csv").write_text(f"x,y,label\n{rows}")
    out = tmp_path / "h.geojson"
    assert run("learn", tmp_path / "p.csv", "--grid", 64, "--tiles", 1, "--support", 0.5,
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
    shape = geodp.load(out)
    geodp.save(shape, tmp_path / "h.gpkg")
    for rows in (shape.to_geodataframe(), geopandas.read_file(tmp_path / "h.gpkg")):
        assert rows.clipped_to.fillna("").tolist() == ["map.geojson", ""]
        assert rows.statement.tolist() == [shape.fields()["statement"]] * 2


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


def test_where_nothing_is_hatched_it_says_so(learned: Path) -> None:
    release = read_learned(learned).release
    assert isinstance(release, TilesRelease)
    everywhere = replace(release, support=Support(1, 9, (True,)))
    assert support_caption(release, short=True) == "Hatched: too few reports (ε\xa0=\xa00.1)"
    assert support_caption(everywhere, short=True) == "Enough reports everywhere (ε\xa0=\xa00.1)"
    assert support_caption(replace(release, support=None, privacy=None)) == ""


# -- labels that look wrong ------------------------------------------------------------------------


#: Next to no noise.
QUIET = Fraction(1, 1000)


@pytest.fixture(scope="module")
def release() -> TilesRelease:
    """Of a quick run, with which other numbers are released."""
    examples = geodp.sample("tri", 6_000, grid=64, seed=1)
    found = geodp.learn(examples, "tiles", epsilon=1.0, seed=1).release
    assert isinstance(found, TilesRelease)
    return found


def outcome(release: TilesRelease, n: int, mistakes: int) -> str | None:
    """What is said of so many mistakes among n examples."""
    new = {"noisy_count": n, "noisy_mistakes": mistakes}
    new["wrong_labels"] = wrong_share(mistakes, n, release.d)
    parameters = tuple((name, new.get(name, value)) for name, value in release.parameters)
    if "wrong_labels" not in dict(parameters):
        parameters += (("wrong_labels", new["wrong_labels"]),)
    return wrong_labels_text(replace(release, parameters=parameters))


def mistakes_on(name: str, distribution: str, n: int, noise: float = 0.0) -> int:
    drawn = geodp.sample(name, n, distribution=distribution, noise=noise, seed=3)  # type: ignore[arg-type]
    counts = GridCounts.of_examples(drawn.points, drawn.labels == 1, drawn.frame.d)
    return noisy_mistakes(counts, n, 0.975, 2, QUIET, SeededRandom(1))


@pytest.mark.parametrize("distribution", ["uniform", "clustered"])
@pytest.mark.parametrize("name", assets.examples())
def test_of_right_labels_nothing_is_said_whatever_the_outline(release, name, distribution):
    for n in (5_200, 20_000):
        found = mistakes_on(name, distribution, n)
        # and the noise that a run at epsilon = 1 adds, but for one run in twenty
        assert outcome(release, n, found + int(200 * np.log(10))) is None, (n, found / n)


@pytest.mark.parametrize("name", ["tri", "croatia", "letters"])
def test_of_one_wrong_label_in_six_about_so_many_are_told(release: TilesRelease, name: str) -> None:
    found = mistakes_on(name, "uniform", 20_000, noise=1 / 6)
    text = outcome(release, 20_000, found - int(200 * np.log(10)))
    assert 11 <= int(text.split("about ")[1].split(" %")[0]) <= 19


def test_where_it_was_not_asked_nothing_is_said() -> None:
    examples = geodp.sample("tri", 500, grid=64, noise=0.3, seed=1)
    for learner in ("tiles", "quadtree", "threshold"):
        assert wrong_labels_text(geodp.learn(examples, learner, seed=1).release) is None
