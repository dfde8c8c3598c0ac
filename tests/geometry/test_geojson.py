"""What is written is RFC 7946 and keeps its area; what is read is checked, with one clear line."""

import contextlib
import json
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings, strategies as st
from shapely.geometry import GeometryCollection, MultiPolygon, Point, Polygon, box
from shapely.geometry.base import BaseGeometry

from geodp import Bounds, Frame, GeoJSONError
from geometry.geojson import read_geojson
from geometry.geojson_reading import check_lonlat
from geometry.geojson_write import feature_collection, geojson_text
from geometry.polygons import orient_valid

Save = Callable[[Any], Path]
Ring = list[list[float]]

SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]
HOLE = [[1, 1], [1, 2], [2, 2], [2, 1], [1, 1]]
DONUT = {"type": "Polygon", "coordinates": [SQUARE, HOLE]}


def polygon(*rings: Any) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


def feature(geometry: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def collection(*features: Any, **members: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features), **members}


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Writes an object (or raw text or bytes) to target.geojson."""

    def write(document: Any) -> Path:
        path = tmp_path / "target.geojson"
        if not isinstance(document, bytes | str):
            document = json.dumps(document)
        path.write_bytes(document if isinstance(document, bytes) else document.encode())
        return path

    return write


# Reading


@pytest.mark.parametrize(
    "document",
    [
        DONUT,
        feature(DONUT),
        collection(feature(DONUT)),
        {"type": "MultiPolygon", "coordinates": [[SQUARE, HOLE]]},
        {"type": "GeometryCollection", "geometries": [DONUT]},
        collection(feature({"type": "GeometryCollection", "geometries": [DONUT]})),
        feature(DONUT) | {"properties": None},
    ],
)
def test_every_wrapping_of_a_polygon_reads_the_same(save: Save, document: Any) -> None:
    target = read_geojson(save(document))
    assert target.frame == "lonlat"
    assert target.grid is None
    assert target.bounds is None
    assert target.geometry.equals_exact(orient_valid(Polygon(SQUARE, [HOLE])))
    assert target.name == "target"


def test_several_features_are_united_and_other_geometries_skipped(save: Save) -> None:
    target = read_geojson(
        save(
            collection(
                feature({"type": "Point", "coordinates": [100, 50]}, name="a town"),
                feature(None),
                feature(polygon(SQUARE), name="first", depth=2),
                feature(polygon([[3, 0], [7, 0], [7, 4], [3, 4], [3, 0]]), name="second"),
            )
        )
    )
    assert target.geometry.equals(box(0, 0, 7, 4))
    assert target.skipped == 2
    assert target.name == "first"


def test_altitudes_and_a_byte_order_mark_are_accepted(save: Save) -> None:
    ring = [[*p, 120.5] for p in SQUARE]
    path = save(b"\xef\xbb\xbf" + json.dumps(polygon(ring)).encode())
    assert read_geojson(path).geometry.area == 16


def test_a_target_is_placed_on_another_grid(save: Save) -> None:
    own = {"frame": "grid", "grid": 8, "source": "x"}
    grid = read_geojson(save({**polygon(SQUARE), "geodp": own}))
    assert (grid.frame, grid.grid, grid.member["source"]) == ("grid", 8, "x")
    assert grid.on_grid(64).equals(box(0, 0, 32, 32))
    degrees = read_geojson(save({**polygon(SQUARE), "geodp": {"bounds": [-4, 0, 4, 16]}}))
    assert degrees.on_grid(8).equals(box(4, 0, 8, 2))
    assert degrees.on_grid(8, Bounds(0, 0, 8, 8)).equals(box(0, 0, 4, 4))
    with pytest.raises(GeoJSONError, match="give bounds"):
        read_geojson(save(polygon(SQUARE))).on_grid(8)


@pytest.mark.parametrize("name", ["urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326"])
def test_the_old_crs_member_may_name_wgs84(save: Save, name: str) -> None:
    crs = {"type": "name", "properties": {"name": name}}
    assert read_geojson(save({**polygon(SQUARE), "crs": crs})).geometry.area == 16


def nested(depth: int) -> str:
    outer = '{"type":"GeometryCollection","geometries":['
    return outer * depth + json.dumps(polygon(SQUARE)) + "]}" * depth


def ring_of(*points: Any) -> dict[str, Any]:
    return collection(feature(polygon(SQUARE)), feature(polygon([list(p) for p in points])))


BOW_TIE = [[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]
FAULTS: dict[str, tuple[Any, str]] = {
    "empty file": ("", "not JSON"),
    "not json": ("{'type': 1}", "not JSON, as GeoJSON is: Expecting"),
    "cut off": (json.dumps(DONUT)[:-5], "not JSON"),
    "not utf-8": (b'{"type":\n "\xff"}', r"line 2 is not UTF-8 text: .* iconv -f WINDOWS-1252"),
    "not text": (b"SQLite format 3\0\xff", r"not UTF-8 text \(byte 16\): .* by ogr2ogr"),
    "a report": ({"geodp": "0.2", "statement": ""}, "is a report or another record"),
    "a member that is no object": ({"geodp": 2, **DONUT}, "member geodp must be an object, not 2"),
    "a list": ([DONUT], "must be a JSON object"),
    "no type": ({"coordinates": []}, "the geometry: None is no GeoJSON type"),
    "unknown type": ({"type": "Circle"}, "'Circle' is no GeoJSON type"),
    "list as type": ({"type": []}, r"\[\] is no GeoJSON type"),
    "features missing": ({"type": "FeatureCollection"}, "features must be a list"),
    "feature is a geometry": (collection(feature(DONUT), DONUT), r"features\[1\]: must be a Feat"),
    "feature is null": (collection(None), r"features\[0\]: must be a Feature, not None"),
    "geometry is text": (collection(feature("x")), r"features\[0\]: a geometry must be an object"),
    "properties a list": (
        {**feature(DONUT), "properties": [1]},
        "the feature: properties must be an object",
    ),
    "no polygons": (collection(feature({"type": "Point", "coordinates": [1, 2]})), "no polygons"),
    "no features": (collection(), "no polygons"),
    "empty polygon": (polygon(), "no polygons"),
    "polygon without coordinates": ({"type": "Polygon"}, "coordinates must be a list"),
    "short ring": (
        ring_of((0, 0), (1, 0), (0, 0)),
        r"features\[1\], ring 0: .* needs at least 4 positions, this one has 3",
    ),
    "open ring": (
        ring_of((0, 0), (1, 0), (1, 1), (0, 1)),
        r"features\[1\], ring 0: is open, it starts at \(0, 0\) and ends at \(0, 1\)",
    ),
    "crossing ring": (
        collection(feature(polygon(BOW_TIE))),
        r"features\[0\]: the outline crosses or touches itself at \(1, 1\)",
    ),
    "flat ring": (polygon([[0, 0], [1, 1], [2, 2], [0, 0]]), "the geometry: "),
    "hole outside": (
        polygon(SQUARE, [[8, 8], [8, 9], [9, 9], [8, 8]]),
        r"Hole lies outside shell at \(8, 8\)",
    ),
    "second polygon broken": (
        {"type": "MultiPolygon", "coordinates": [[SQUARE], [SQUARE[:2]]]},
        "the geometry, polygon 1, ring 0: .* this one has 2",
    ),
    "longitude": (ring_of((0, 0), (361, 0), (1, 1), (0, 0)), r"position 1 \(361, 0\) is outside"),
    "latitude": (ring_of((0, 0), (1, -90.5), (1, 1), (0, 0)), r"\(1, -90.5\) is outside"),
    "antimeridian": (
        ring_of((170, 0), (-170, 0), (-170, 5), (170, 5), (170, 0)),
        r"features\[1\], ring 0: crosses the antimeridian between \(170, 0\) and \(-170, 0\)"
        ".*or put a vertex between",
    ),
    "NaN": (json.dumps(ring_of((0, 0), (math.nan, 0), (1, 1), (0, 0))), "position 1: .* not fin"),
    "Infinity": (json.dumps(ring_of((0, 0), (1, math.inf), (1, 1), (0, 0))), "not finite"),
    "1e999": ('{"type":"Polygon","coordinates":[[[0,0],[1e999,0],[1,1],[0,0]]]}', "not finite"),
    "1e999 elsewhere": (
        json.dumps(feature(DONUT, a=7)).replace("7", "-1e999"),
        "-1e999 is not a finite number",
    ),
    "long integer": (
        json.dumps(polygon(SQUARE)).replace("[4, 0]", f"[{10**400}, 0]"),
        "position 1: .* not finite",
    ),
    "very long integer": (
        json.dumps(polygon(SQUARE)).replace("[4, 0]", f"[{'1' * 5000}, 0]"),
        "not JSON|not finite",
    ),
    "text as number": (ring_of((0, 0), ("1", 0), (1, 1), (0, 0)), "position 1: must be two numb"),
    "boolean": (ring_of((0, 0), (True, 0), (1, 1), (0, 0)), "position 1: must be two numbers"),
    "null": (ring_of((0, 0), (None, 0), (1, 1), (0, 0)), "position 1: must be two numbers"),
    "one number": (ring_of((0, 0), (1,), (1, 1), (0, 0)), "position 1: must be two numbers"),
    "ring of numbers": (polygon([1, 2, 3, 4]), "position 0: must be two numbers, not 1"),
    "ring is an object": (polygon({}), r"ring 0: a ring must be a list, not \{\}"),
    "deep list": ("[" * 200_000, "nested too deeply"),
    "deep collections": (nested(20_000), "nested too deeply"),
    "deep coordinates": (polygon([SQUARE] * 4), r"position 0: must be two numbers, not \["),
    "member": ({**DONUT, "geodp": []}, "member geodp must be an object"),
    "frame": ({**DONUT, "geodp": {"frame": "utm"}}, "geodp.frame must be"),
    "grid missing": ({**DONUT, "geodp": {"frame": "grid"}}, "geodp.grid must be an integer"),
    "grid a boolean": ({**DONUT, "geodp": {"grid": True}}, "geodp.grid must be an integer"),
    "grid too large": ({**DONUT, "geodp": {"grid": 2**21}}, r"integer in 1..1048576, not 2097152"),
    "off the grid": (
        {**DONUT, "geodp": {"frame": "grid", "grid": 3}},
        r"ring 0: position 1 \(4, 0\) is outside the grid 0..3",
    ),
    "bounds short": ({**DONUT, "geodp": {"bounds": [1, 2, 3]}}, "geodp.bounds: must be four"),
    "bounds empty": ({**DONUT, "geodp": {"bounds": [1, 2, 1, 3]}}, "geodp.bounds: .*west < east"),
    "projected": (
        {**DONUT, "crs": {"type": "name", "properties": {"name": "EPSG:25832"}}},
        "'EPSG:25832' is not longitude/latitude",
    ),
    "odd crs": ({**DONUT, "crs": [1]}, "not longitude/latitude"),
    "line break in a type": ({"type": "a\nb"}, "no GeoJSON type"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_one_line_that_names_the_file_and_the_reason(save: Save, fault: str) -> None:
    document, reason = FAULTS[fault]
    path = save(document)
    with pytest.raises(GeoJSONError, match=reason) as caught:
        read_geojson(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 250


def test_huge_files_are_refused_by_bytes_and_by_positions(save: Save) -> None:
    path = save(polygon(SQUARE))
    size = path.stat().st_size
    assert read_geojson(path, max_bytes=size, max_vertices=5).geometry.area == 16
    with pytest.raises(GeoJSONError, match="larger than"):
        read_geojson(path, max_bytes=size - 1)
    with pytest.raises(GeoJSONError, match="more than 4 positions"):
        read_geojson(path, max_vertices=4)


def test_a_missing_file_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_geojson(tmp_path / "none.geojson")


_MEMBERS = ["type", "features", "geometry", "coordinates", "geometries", "geodp", "crs", "frame"]
_TYPES = ["Feature", "FeatureCollection", "Polygon", "MultiPolygon", "GeometryCollection"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-200, 200) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(_MEMBERS), inner | st.sampled_from(_TYPES), max_size=4)
    ),
    max_leaves=30,
)


@settings(max_examples=400, deadline=None)
@given(json_values)
def test_no_json_value_makes_the_reader_fail_in_another_way(tmp_path_factory, document):
    path = tmp_path_factory.getbasetemp() / "any.geojson"
    path.write_text(json.dumps(document), encoding="utf-8")
    with contextlib.suppress(GeoJSONError):
        target = read_geojson(path)
        assert shapely.is_valid(target.geometry)
        assert not target.geometry.is_empty


# Checking


def test_check_lonlat_takes_the_edges_of_the_world_and_nothing_beyond() -> None:
    check_lonlat(np.array([[-180.0, -90], [0, -90], [180, 90], [0, 90], [-180, -90]]))
    for bad in ([180.0000001, 0], [0, 90.0000001], [math.nan, 0], [0, -math.inf]):
        with pytest.raises(GeoJSONError, match="position 1 "):
            check_lonlat(np.array([[0, 0], bad, [1, 1], [0, 0]]))


def test_check_lonlat_refuses_a_jump_over_more_than_half_the_globe() -> None:
    check_lonlat(np.array([[-90.0, 0], [90, 0], [0, 5], [-90, 0]]))
    with pytest.raises(GeoJSONError, match="antimeridian"):
        check_lonlat(np.array([[-90.1, 0], [90, 0], [0, 5], [-90.1, 0]]))


# Writing


@st.composite
def shapes(draw: st.DrawFn, d: int = 1024) -> BaseGeometry:
    """Unions of triangles minus triangles on a d-grid: parts, holes, slivers, or nothing."""
    fine = st.integers(0, d << 20).map(lambda v: v / 2**20)
    value = st.integers(0, d) | fine
    corner = st.tuples(value, value)
    triangle = st.builds(lambda *p: orient_valid(Polygon(p)), corner, corner, corner)
    plus = shapely.union_all(draw(st.lists(triangle, min_size=1, max_size=5)))
    minus = shapely.union_all(draw(st.lists(triangle, max_size=3)))
    return orient_valid(shapely.difference(plus, minus))


BOXES = (None, Bounds(5.5, 45.0, 10.9, 48.6), Bounds(-180, -90, 180, 90), Bounds(170, -1, 180, 2))


def rings_of(geometry: dict[str, Any]) -> list[list[Ring]]:
    coordinates: list[Any] = geometry["coordinates"]
    return coordinates if geometry["type"] == "MultiPolygon" else [coordinates]


def signed_area(ring: Any) -> float:
    return float(sum(p[0] * q[1] - q[0] * p[1] for p, q in pairwise(ring)) / 2)


@settings(max_examples=200, deadline=None)
@given(shapes(), st.sampled_from(BOXES), st.booleans())
def test_a_written_shape_is_closed_oriented_valid_and_keeps_its_area(shape, bounds, raw):
    document = feature_collection(shape, Frame(1024, bounds), member={"version": 1}, raw_grid=raw)
    assert "crs" not in document
    if not document["features"]:
        assert shape.area < 1e-6
        return
    (written,) = document["features"]
    polygons = rings_of(written["geometry"])
    for outer, *holes in polygons:
        for ring in (outer, *holes):
            assert len(ring) >= 4
            assert ring[0] == ring[-1]
        assert signed_area(np.subtract(outer, outer[0])) > 0
        assert all(signed_area(np.subtract(hole, hole[0])) < 0 for hole in holes)
    back = MultiPolygon([(outer, holes) for outer, *holes in polygons])
    assert shapely.is_valid(back)
    assert document["bbox"] == written["bbox"] == list(back.bounds)
    west, south, east, north = (bounds or Bounds(0, 0, 1, 1)).as_tuple()
    unit = 1 if raw else (east - west) * (north - south) / 1024**2
    assert back.area == pytest.approx(shape.area * unit, rel=1e-9, abs=1e-6 * unit)


def test_a_shape_whose_edges_cross_once_they_are_rounded_keeps_its_area() -> None:
    """Its edges come within 1e-8 of one another; in degrees they cross, and GEOS gave up."""
    shape = shapely.from_wkt(
        "MULTIPOLYGON (((0.8110974156816395 0.00719669383845316, 1 0, 1 0.00719764456085109,"
        "905 0.01174736022949219, 9.5367431640625e-7 0.00719261169433594, 9.483248597455221e-7"
        " 1.000000466636042, 0 1, 0 0.03809738159179688, 0 0.00099658966064453,"
        "0.01219891915809592 0.00719267308512652, 0.8110974156816395 0.00719669383845316)),"
        "((0 281, 3.5297034786737863e-7 176.9999999309706, 905 0.01174736022949219, 0 281)))"
    )
    bounds = Bounds(5.5, 45.0, 10.9, 48.6)
    document = feature_collection(shape, Frame(1024, bounds), member={"version": 1})
    polygons = rings_of(document["features"][0]["geometry"])
    back = MultiPolygon([(outer, holes) for outer, *holes in polygons])
    unit = (bounds.east - bounds.west) * (bounds.north - bounds.south) / 1024**2
    assert shapely.is_valid(back)
    assert back.area == pytest.approx(shape.area * unit, rel=1e-9)


@settings(max_examples=150, deadline=None)
@given(shapes(), st.sampled_from(BOXES), st.booleans())
def test_what_is_written_reads_back_onto_the_grid(tmp_path_factory, shape, bounds, raw):
    path = tmp_path_factory.getbasetemp() / "back.geojson"
    path.write_text(
        geojson_text(feature_collection(shape, Frame(1024, bounds), member={}, raw_grid=raw))
    )
    target = read_geojson(path, allow_empty=True)
    assert target.frame == ("grid" if raw else "lonlat")
    assert target.grid == 1024
    again = target.on_grid(1024)
    assert again.symmetric_difference(shape).area <= 1e-6 * max(1.0, shape.length)
    assert again.area == pytest.approx(shape.area, rel=1e-9, abs=1e-6 * max(1.0, shape.length))


def test_touching_slivers_survive_a_map_of_the_whole_world(tmp_path: Path) -> None:
    """Rounding makes these parts overlap; neither may be lost in mending them."""
    corner = (19.0, 402.0)
    parts = [
        [(0, 1), (0, 0), corner, (0.0705460597913066, 1.4926061071634338)],
        [(1.5200299513290902, 11.614002246349681), corner, (1, 0),
         (1.4565217391304348, 10.195652173913043), (58, 406)],
    ]  # fmt: skip
    shape = orient_valid(MultiPolygon([Polygon(part) for part in parts]))
    world = Frame(1024, Bounds(-180, -90, 180, 90))
    path = tmp_path / "world.geojson"
    path.write_text(geojson_text(feature_collection(shape, world, member={})))
    again = read_geojson(path).on_grid(1024)
    assert again.area == pytest.approx(shape.area, rel=1e-9, abs=1e-6 * max(1.0, shape.length))


def test_the_member_holds_the_map_and_what_the_caller_gave_and_nothing_else() -> None:
    member = {"version": "1.2", "epsilon": 1.0}
    bounds = Bounds(5.5, 45.0, 10.9, 48.6)
    document = feature_collection(box(0, 0, 8, 8), Frame(16, bounds), member=member)
    assert set(document) == {"type", "geodp", "bbox", "features"}
    assert document["geodp"] == {
        "frame": "lonlat",
        "grid": 16,
        "georeferenced": True,
        "bounds": [5.5, 45.0, 10.9, 48.6],
        "version": "1.2",
        "epsilon": 1.0,
    }
    assert document["features"][0]["properties"] == {}


def test_without_bounds_the_grid_goes_to_the_unit_box() -> None:
    document = feature_collection(box(0, 0, 8, 16), Frame(16), member={})
    assert document["bbox"] == [0, 0, 0.5, 1]
    assert document["geodp"]["bounds"] == [0, 0, 1, 1]
    assert document["geodp"]["georeferenced"] is False


def test_raw_grid_units_stay_as_they_are() -> None:
    document = feature_collection(box(0, 0, 900, 700), Frame(1024), member={}, raw_grid=True)
    assert document["bbox"] == [0, 0, 900, 700]
    assert document["geodp"] == {"frame": "grid", "grid": 1024, "georeferenced": False}


@pytest.mark.parametrize("nothing", [Polygon(), MultiPolygon(), Point(1, 1), GeometryCollection()])
def test_an_empty_shape_is_a_collection_without_features(tmp_path, nothing):
    document = feature_collection(nothing, Frame(16), member={})
    assert document["features"] == []
    assert "bbox" not in document
    (tmp_path / "a.geojson").write_text(geojson_text(document))
    assert read_geojson(tmp_path / "a.geojson", allow_empty=True).geometry.is_empty
    with pytest.raises(GeoJSONError, match="no polygons"):
        read_geojson(tmp_path / "a.geojson")


def test_a_stray_shape_is_refused() -> None:
    with pytest.raises(GeoJSONError, match=r"leaves the grid 0\.\.16"):
        feature_collection(box(0, 0, 17, 1), Frame(16), member={})
    with pytest.raises(GeoJSONError, match=r"leaves the grid 0\.\.16"):
        feature_collection(box(-1, 0, 1, 1), Frame(16), member={}, raw_grid=True)


def test_a_shape_over_the_whole_world_stays_within_its_edges_and_can_be_read(tmp_path):
    world = Frame(1000, Bounds(-180, -90, 180, 90))
    document = feature_collection(box(0, 0, 1000, 1000), world, member={})
    assert document["bbox"] == [-180, -90, 180, 90]
    (tmp_path / "a.geojson").write_text(geojson_text(document))
    assert read_geojson(tmp_path / "a.geojson").geometry.area == 360 * 180


@pytest.mark.parametrize(("d", "west"), [(100, -173.83), (3, -123.6), (49, -25.9), (7, -93.97)])
def test_a_map_that_rounds_past_the_edge_of_the_world_is_held_at_the_edge(d, west):
    frame = Frame(d, Bounds(west, -90, 180, 90))
    rounded = west + d * ((180 - west) / d)
    assert rounded > 180  # the plain affine formula leaves the world here
    document = feature_collection(box(0, 0, d, d), frame, member={})
    assert document["bbox"] == [west, -90, 180, 90]


def test_an_overlay_that_rounds_past_the_square_is_held_at_its_edge() -> None:
    document = feature_collection(
        box(-1e-12, -0.0, 16 + 1e-9, 9), Frame(16), member={}, raw_grid=True
    )
    assert document["bbox"] == [0, 0, 16, 9]
    assert "-0.0" not in json.dumps(document)


def test_slivers_thinner_than_degrees_resolve_are_left_out() -> None:
    hair = Polygon([(0, 0), (1000, 0), (1000, 1e-13)])
    assert shapely.is_valid(hair)
    frame = Frame(1000, Bounds(100, 50, 110, 60))
    assert feature_collection(hair, frame, member={})["features"] == []
    # valid in degrees, yet its computed area is 0: no telling which side is inside
    needle = Polygon([(9.537e-7, 181), (5.269e-9, 1), (5.269e-9, 1.000001)])
    placed = shapely.transform(needle, lambda xy: xy / 1024)
    assert shapely.is_valid(placed)
    assert feature_collection(needle, Frame(1024), member={})["features"] == []
    both = MultiPolygon([hair, box(0, 10, 10, 20)])
    (written,) = feature_collection(both, frame, member={})["features"]
    assert written["geometry"]["type"] == "Polygon"


def test_writing_keeps_doubles_and_numpy_numbers_and_refuses_the_rest() -> None:
    text = geojson_text({"x": 0.1 + 0.2, "n": np.int64(3), "f": np.float64(1 / 3)})
    assert json.loads(text) == {"x": 0.1 + 0.2, "n": 3, "f": 1 / 3}
    for bad, error in ((math.nan, ValueError), (np.float32("inf"), ValueError), ({1}, TypeError)):
        with pytest.raises(error):
            geojson_text({"x": bad})


# A reader that nobody here wrote


def union_of(*parts: BaseGeometry) -> BaseGeometry:
    return orient_valid(shapely.union_all(list(parts)))


WRITTEN = {
    "polygon": Polygon([(100, 90), (811, 333), (417, 777)]),
    "hole": box(100, 100, 900, 800) - Polygon([(200, 200), (500, 701), (311, 666)]),
    "hole at the rim": box(0, 0, 900, 800) - Polygon([(0, 200), (500, 701), (311, 666)]),
    "multipolygon": union_of(box(0, 0, 333, 111), box(700, 700, 1024, 1024)),
    "parts that touch": union_of(box(0, 0, 400, 400), box(400, 400, 777, 777)),
    "island in a lake": union_of(
        box(0, 0, 900, 900) - box(100, 100, 800, 800), box(300, 300, 501, 502)
    ),
    "triangles": union_of(*(Polygon([(9 * i, 100), (500, 7 * i), (300, 900)]) for i in range(9))),
    "whole square": box(0, 0, 1024, 1024),
    "empty": Polygon(),
}
PLACES: dict[str, tuple[Bounds | None, bool]] = {
    "unit box": (None, False),
    "bounds": (Bounds(5.5, 45.0, 10.9, 48.6), False),
    "world": (Bounds(-180, -90, 180, 90), False),
    "raw grid": (None, True),
}


def export(path: Path, name: str, place: str) -> float:
    """Write the export; its exact area in the units of the file."""
    bounds, raw = PLACES[place]
    document = feature_collection(
        WRITTEN[name], Frame(1024, bounds), member={"learner": "union"}, raw_grid=raw
    )
    path.write_text(geojson_text(document))
    west, south, east, north = (bounds or Bounds(0, 0, 1, 1)).as_tuple()
    area = float(WRITTEN[name].area)
    return area * (1 if raw else (east - west) * (north - south) / 1024**2)


#: Every shape and every place.
EXPORTED = [*zip((name for name in WRITTEN if name != "empty"), 2 * [*PLACES], strict=True)]


@pytest.mark.parametrize(("name", "place"), EXPORTED)
def test_ogr_reads_every_kind_of_export_as_valid_and_of_the_same_area(tmp_path, name, place):
    pyogrio = pytest.importorskip("pyogrio")
    area = export(tmp_path / "learned.geojson", name, place)
    _, _, (found,), _ = pyogrio.raw.read(tmp_path / "learned.geojson")
    shape = shapely.from_wkb(found)
    assert shape.is_valid
    assert shape.area == pytest.approx(area, rel=1e-9)
    assert shape.geom_type == WRITTEN[name].geom_type
