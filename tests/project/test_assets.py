"""The example targets are complete, valid, placed in their frames, and what they say they are."""

import math

import numpy as np
import pytest
import shapely
from shapely.affinity import rotate, scale
from shapely.geometry.base import BaseGeometry

from assets import UnknownExampleError, example_path, examples, land_path, towns_path
from geometry.geojson import read_geojson

DRAWN = ("flood", "fire", "letters")
BENCHMARKS = ("tri", "L", "star", "three")
COUNTRIES = {"croatia": 1, "switzerland": 1, "italy": 3}


def test_every_file_is_an_example_and_every_example_a_file() -> None:
    folder = example_path("tri").parent
    assert sorted(examples()) == sorted(p.stem for p in folder.iterdir())
    assert set(examples()) == {*DRAWN, *BENCHMARKS, *COUNTRIES}


@pytest.mark.parametrize("name", ["", "triangle", "../PROVENANCE", "tri.geojson"])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownExampleError, match="there are: L, star"):
        example_path(name)


@pytest.mark.parametrize("name", examples())
def test_every_example_is_valid_and_lies_on_a_grid_of_1024(name: str) -> None:
    target = read_geojson(example_path(name))
    assert target.skipped == 0
    assert target.grid == 1024
    shape = target.on_grid(1024)
    assert shapely.is_valid(shape)
    west, south, east, north = shape.bounds
    assert min(west, south) >= 0
    assert max(east, north) <= 1024
    assert shape.area > 0.1 * 1024**2  # large enough to learn


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_examples_have_whole_grid_coordinates_and_a_handful_of_vertices(name: str) -> None:
    xy = shapely.get_coordinates(read_geojson(example_path(name)).geometry)
    assert (xy == np.rint(xy)).all()
    assert 30 <= len(xy) <= 80


@pytest.mark.parametrize("name", COUNTRIES)
def test_countries_are_in_degrees_inside_their_public_bounds(name: str) -> None:
    target = read_geojson(example_path(name))
    assert target.frame == "lonlat"
    assert target.name == name.capitalize()
    assert len(shapely.get_parts(target.geometry)) == COUNTRIES[name]
    assert shapely.box(*target.bounds.as_tuple()).contains_properly(target.geometry)


def expected_benchmark(name: str) -> BaseGeometry:
    """The targets on the unit square, built with shapely's own affine maps."""
    if name == "tri":
        return shapely.Polygon([(0.15, 0.15), (0.85, 0.2), (0.45, 0.9)])
    if name == "L":
        low, high = shapely.box(0.2, 0.2, 0.8, 0.45), shapely.box(0.2, 0.45, 0.45, 0.85)
        return rotate(low | high, 17, origin=(0.5, 0.5))
    if name == "star":
        spokes = [(i * math.pi / 5 + 0.3, 0.19 if i % 2 else 0.45) for i in range(10)]
        return shapely.Polygon([(0.5 + r * math.cos(t), 0.5 + r * math.sin(t)) for t, r in spokes])
    return shapely.union_all(
        [
            shapely.Polygon([(0.07, 0.55), (0.45, 0.62), (0.2, 0.93)]),
            shapely.Polygon([(0.58, 0.6), (0.9, 0.55), (0.95, 0.88), (0.66, 0.93)]),
            rotate(shapely.box(0.12, 0.3, 0.88, 0.32), -14, origin="center"),
        ]
    )


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_targets_are_their_definitions_times_1024(name: str) -> None:
    target = read_geojson(example_path(name))
    expected = scale(expected_benchmark(name), 1024, 1024, origin=(0, 0))
    assert target.frame == "grid"
    assert target.geometry.symmetric_difference(expected).area < 1e-6


def test_provenance_names_every_example() -> None:
    text = (example_path("tri").parents[1] / "PROVENANCE.md").read_text(encoding="utf-8")
    for name in examples():
        assert f"examples/{name}.geojson" in text


def test_towns_lie_on_land_within_their_bounds_and_are_labelled_by_country() -> None:
    lines = towns_path().read_text(encoding="utf-8").splitlines()
    assert lines[0] == "lon,lat,label"
    rows = np.array([line.split(",") for line in lines[1:]], dtype=float)
    assert len(rows) == 15_674
    assert (rows[:, :2] >= (6, 36)).all()
    assert (rows[:, :2] <= (19, 48)).all()
    assert (np.diff(rows[:, 0]) >= 0).all()  # in no order that tells anything else
    inside = rows[:, 2] == 1
    italy = read_geojson(example_path("italy")).geometry
    by_outline = shapely.contains_xy(italy.buffer(0.3), rows[:, :2])
    assert np.mean(by_outline[inside]) > 0.99
    land = read_geojson(land_path()).geometry
    assert np.mean(shapely.contains_xy(land.buffer(0.3), rows[:, :2])) > 0.99
