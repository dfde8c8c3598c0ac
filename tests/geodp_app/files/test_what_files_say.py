"""How right a shape is and where it had reports, in every format and by every road."""

from __future__ import annotations

import json
from pathlib import Path

import geopandas
import numpy as np
import pytest
import shapely
from terminal import geodp as run

import geodp
from geodp_app.commands.plugin import declared
from geodp_app.document.examples import Examples, Frame
from geodp_app.files.document_files import export_release
from geodp_app.files.learned_file import read_learned
from geodp_app.files.points import format_examples
from geodp_app.qgis.command import option_arguments
from learners.core.releases import support_words

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
