"""What is asked about reports, whose rows are and which bounds, by every road; and examples by
their names, in any folder."""

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import geopandas
import numpy as np
import pandas
import pytest
import shapely
from terminal import fails, geodp as command

import assets
import geodp
from geodp import InputError
from geodp_app.commands.plugin import declared
from geodp_app.files.import_file import PERSON_COLUMN, person_column
from geometry.grid import Bounds, checked_bounds

# -- whose rows are -----------------------------------------------------------------------------

PERSONS = [
    "user_id", "userId", "USERID", "userid", "User", "device", "deviceId", "DEVICE_ID",
    "phone", "phone_number", "telephone", "e-mail", "EMAIL", "imei", "name", "Name",
    "first_name", "firstName", "Benutzer", "Benutzername", "Gerät", "geraet_id",
    "Kunden-Nr", "utilisateur", "téléphone", "usuario", "owner", "reporter", "participants",
    "ip_address", "prénom", "Nachname",
]  # fmt: skip
OTHERS = [
    "id", "uid", "fid", "station_name", "street", "machine", "MACHINE", "macro", "cellar",
    "wet", "label", "x", "lon", "flooded", "superuser", "time", "clientele", "mobility",
    "cell_id", "authority", "phoneme", "remember", "accountability", "userland",
    "names_of_places",
]  # fmt: skip


def test_names_of_columns_say_who_may_be_meant() -> None:
    assert [name for name in PERSONS if person_column([name]) != name] == []
    assert [name for name in OTHERS if person_column([name])] == []
    assert person_column(["wet", "phone", "user"], ["phone"]) == "user"
    assert declared()["person"] == PERSON_COLUMN


def table(name: str = "user", seed: int = 0) -> pandas.DataFrame:
    rng = np.random.default_rng(seed)
    lon, lat = rng.uniform(13.1, 19.9, 50), rng.uniform(42.1, 46.9, 50)
    return pandas.DataFrame({
        "lon": lon, "lat": lat, "label": (lon < 16).astype(int), name: rng.integers(0, 9, 50)
    })  # fmt: skip


def geo(frame: pandas.DataFrame) -> geopandas.GeoDataFrame:
    places = geopandas.points_from_xy(frame["lon"], frame["lat"])
    return geopandas.GeoDataFrame(frame.drop(columns=["lon", "lat"]), geometry=places, crs=4326)


FORMATS: dict[str, Callable[[pandas.DataFrame, Path], None]] = {
    "p.csv": lambda frame, path: frame.to_csv(path, index=False),
    "p.parquet": lambda frame, path: frame.to_parquet(path),
    "p.geojson": lambda frame, path: geo(frame).to_file(path),
    "p.gpkg": lambda frame, path: geo(frame).to_file(path),
    "p.shp": lambda frame, path: geo(frame).to_file(path),
    "p.fgb": lambda frame, path: geo(frame).to_file(path),
}
TABLES = ("p.csv", "p.parquet")
BOX = "13,42,20,47"


def said(capsys: pytest.CaptureFixture[str], folder: Path, *words: object) -> str:
    capsys.readouterr()
    argv = ["learn", *words, "--seed", 1, "-o", folder / "h.geojson", "--overwrite"]
    assert command(*argv, "--grid", 64, "--learner", "quadtree") == 0
    return capsys.readouterr().err


@pytest.mark.parametrize("name", FORMATS)
def test_whose_rows_are_is_asked_by_every_road_and_from_names_alone(name, tmp_path, capsys):
    path, hint = tmp_path / name, "column user may say whose a row is"
    FORMATS[name](table(), path)
    roads: list[list[object]] = []
    if name in TABLES:  # a layer is asked about by the same road, in Python below
        roads = [[path], ["--table", f"{path.suffix[1:]}:{path}"]]
    for road in roads:
        words = said(capsys, tmp_path, *road, "--bounds", BOX)
        assert f"{hint}, and each row counts as a person of its own: then give --id user\n" in words
        assert hint not in said(capsys, tmp_path, *road, "--bounds", BOX, "--id", "user")
        assert hint not in said(capsys, tmp_path, *road, "--bounds", BOX, "--quiet")
    for source in (path, geo(table()) if name == "p.gpkg" else table()):
        with pytest.warns(geodp.PrivacyWarning, match=f"{hint}.*give id='user'"):
            geodp.read_points(source, bounds=(13, 42, 20, 47))
        with warnings.catch_warnings(action="error"):
            geodp.read_points(source, bounds=(13, 42, 20, 47), id="user")
    path.unlink()
    FORMATS[name](table("score"), path)
    with warnings.catch_warnings(action="error"):
        geodp.read_points(path, bounds=(13, 42, 20, 47))


# -- bounds -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_bounds_that_are_the_points_are_told_to_the_curator_by_every_road(
    name, tmp_path, capsys, monkeypatch
):
    frame, path, hint = table("score"), tmp_path / name, "the bounds are the extent of the points"
    FORMATS[name](frame, path)
    west, south, east, north = geo(frame).total_bounds.tolist()
    tight = f"{west!r},{south!r},{east!r},{north!r}"
    near = f"{west!r},{south!r},{east!r},{north + 0.001!r}"
    roads: list[list[object]] = []
    if name in TABLES:  # a layer is asked about by the same road, in Python below
        roads = [[path], ["--table", f"{path.suffix[1:]}:{path}"]]
    for road in roads:
        assert hint not in said(capsys, tmp_path, *road, "--bounds", tight)
        with monkeypatch.context() as at_terminal:
            at_terminal.setattr(sys.stderr, "isatty", lambda: True)
            assert hint in said(capsys, tmp_path, *road, "--bounds", tight)
            assert hint not in said(capsys, tmp_path, *road, "--bounds", near)
            assert hint not in said(capsys, tmp_path, *road, "--bounds", tight, "--quiet")
    for source in (path, geo(frame)):
        with pytest.warns(geodp.PrivacyWarning, match=hint):
            geodp.read_points(source, bounds=(west, south, east, north))
        with warnings.catch_warnings(action="error"):
            geodp.read_points(source, bounds=(west, south, east, north + 0.001))


def test_a_box_is_spanned_by_points_on_all_four_sides_and_by_no_others() -> None:
    box = Bounds(170, -10, -170, 10)  # across the antimeridian
    sides = np.array([[170, 0], [-170, 1], [179, -10], [-179, 10.0]])
    assert box.spanned_by(sides)
    assert not any(box.spanned_by(np.delete(sides, i, axis=0)) for i in range(4))
    assert not box.spanned_by(np.zeros((0, 2)))
    metres = checked_bounds((5e5, 5e6, 6e5, 5.1e6), "EPSG:32633")
    assert metres.spanned_by(np.array([metres.low, metres.high]))


# -- names --------------------------------------------------------------------------------------


def test_examples_and_land_have_names_in_any_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "italy").mkdir()  # a folder is no map
    drawn = ["--n", 500, "--grid", 64, "--seed", 1, "--quiet"]
    for name in assets.examples():
        assert command("sample", "--target", name, *drawn, "-o", f"{name}.csv") == 0
        assert command("sample", "--target", assets.example_path(name), *drawn, "-o", "p.csv") == 0
        assert (tmp_path / f"{name}.csv").read_bytes() == (tmp_path / "p.csv").read_bytes()
    learned = ["learn", "italy.csv", "--learner", "quadtree", "--seed", 1, "--quiet"]
    assert command(*learned, "--within", "land", "-o", "by-name.geojson") == 0
    assert command(*learned, "--within", assets.land_path(), "-o", "by-path.geojson") == 0
    texts = [(tmp_path / f"by-{how}.geojson").read_text() for how in ("name", "path")]
    assert texts[0] == texts[1]
    assert command("evaluate", "by-name.geojson", "italy.csv", "--within", "italy", "--json") == 0
    assert command("render", "by-name.geojson", "--within", "italy", "-o", "h.svg", "--quiet") == 0


def test_a_name_that_a_file_has_too_is_refused_and_both_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    square = json.loads(shapely.to_geojson(shapely.box(1, 2, 3, 4)))
    (tmp_path / "croatia").write_text(json.dumps(square))
    argv = ["sample", "--n", 9, "-o", "p.csv", "--target"]
    words = fails(capsys, *argv, "croatia")
    assert "./croatia" in words
    assert str(assets.example_path("croatia")) in words
    assert command(*argv, "./croatia", "--quiet") == 0
    assert command(*argv, assets.example_path("croatia"), "--quiet", "--overwrite") == 0
    with pytest.raises(InputError, match="croatia is a file here, and an example of geodp"):
        geodp.sample("croatia", 9)
    assert geodp.sample("./croatia", 9).frame != geodp.sample("italy", 9).frame
