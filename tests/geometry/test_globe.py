"""Shapes keep their place between systems: what pyproj and shapely say of points is what holds.

Points are judged where they are drawn: a point of the grid by its degrees in the map, a point of a
written shape by its place on the grid.  One counts as wrong if all that is nearer to it than a
sixty-fourth of a grid step has the other label.
"""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import shapely
import shapely.geometry
from numpy.typing import NDArray
from pyproj import Geod, Transformer
from shapely.geometry import Point, Polygon, box
from shapely.geometry.base import BaseGeometry

import geodp
from assets import land_path
from geodp import Bounds, BoundsError, Examples, Frame, GridMap
from geodp_app.cli import main
from geodp_app.document.document import Document
from geodp_app.document.sampling import padded_box, place_target
from geodp_app.document.targets import GridChange
from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing
from geodp_app.files.document_files import bounds_of_map, import_mask, import_target
from geodp_app.files.learned_file import read_learned
from geometry.crs import LONLAT
from geometry.geojson import read_geojson, target_of
from geometry.geojson_write import feature_collection
from geometry.globe import in_degrees, lonlat_box, on_grid
from geometry.mask import read_mask

D = 256
Points = NDArray[np.float64]
Labels = NDArray[np.bool_]


#: PROJ takes a while to find a way.
way_between = cache(partial(Transformer.from_crs, always_xy=True))


def moved(xy: Points, source: str, target: str) -> Points:
    """By pyproj alone."""
    return xy if source == target else np.column_stack(way_between(source, target).transform(*xy.T))


@cache
def way_to_degrees(bounds: Bounds) -> Any:
    """Of several operations of PROJ that of the middle holds for all of the box."""
    way = Transformer.from_crs(bounds.crs, "OGC:CRS84", always_xy=True)
    way.transform(*np.mean([bounds.low, bounds.high], axis=0))
    return way.get_last_used_operation()


def degrees(bounds: Bounds, xy: Points) -> Points:
    """Places of a grid in degrees, by a formula of our own."""
    own = np.array(bounds.low) + xy * (np.array(bounds.size) / D)
    if bounds.crs == LONLAT:
        return own
    return np.column_stack(way_to_degrees(bounds).transform(*own.T))


def inside(shape: BaseGeometry, xy: Points) -> Labels:
    shapely.prepare(shape)
    return np.asarray(shapely.intersects_xy(shape, *xy.T))


def inside_any_turn(shape: BaseGeometry, lonlat: Points) -> Labels:
    lon = lonlat[:, 0] % 360
    turns = (-360.0, 0.0, 360.0)
    return np.any([inside(shape, np.c_[lon + by, lonlat[:, 1]]) for by in turns], axis=0)


def grid_points(n: int = 2000) -> Points:
    return np.random.default_rng(0).integers(0, D + 1, (n, 2)).astype(float)


def wrong(
    truth: Callable[[Points], Labels], labels: Any, points: Points, near: float = 1 / 64
) -> list[list[float]]:
    """Points whose label is that of nothing near them."""
    ways = np.linspace(0, 2 * np.pi, 17)[:-1]
    ring = np.column_stack([np.cos(ways), np.sin(ways)])
    labels = np.asarray(labels, dtype=bool)
    found = []
    for i in np.flatnonzero(truth(points) != labels):
        beside = np.concatenate([points[i] + near * far * ring for far in (1, 0.3, 0.03)])
        if not (truth(beside) == labels[i]).any():
            found.append(points[i].tolist())
    return found


def geojson(shape: BaseGeometry) -> dict[str, Any]:
    return json.loads(json.dumps(shapely.geometry.mapping(shapely.segmentize(shape, 170))))


@cache
def land() -> BaseGeometry:
    return read_geojson(land_path()).geometry


def cut(shape: BaseGeometry) -> BaseGeometry:
    """A shape that goes on after 180, as two."""
    west = shape.intersection(box(0, -90, 180, 90))
    east = shape.intersection(box(180, -90, 540, 90))
    return shapely.union_all([west, shapely.transform(east, lambda xy: xy - (360, 0))])


#: A box, or what makes it once it is used: PROJ takes a while to find the way to one in metres.
Box = Bounds | Callable[[], Bounds]


def crs(code: int, *edges: float) -> Callable[[], Bounds]:
    return partial(Bounds, *edges, crs=f"EPSG:{code}")


def made(bounds: Box) -> Bounds:
    return bounds if isinstance(bounds, Bounds) else bounds()


STAR = Polygon([(172, -30), (178, -2), (184, -28), (166, -12), (191, -9)])
RING = box(150, 60, 250, 89).difference(box(178, 65, 200, 75))

#: A map in degrees, as people write it, and a box.
READ: dict[str, tuple[BaseGeometry | None, Box]] = {
    "across, one that ends before 180": (box(160, -30, 174, 0), Bounds(165, -20, -175, -5)),
    "across, one that begins after 180": (box(-178, -30, -140, 0), Bounds(160, -20, -150, -5)),
    "across, one that is round it": (box(-160, -30, 160, 30), Bounds(150, -40, -150, 40)),
    "across, cut at 180": (cut(STAR.buffer(0)), Bounds(165, -31, -165, -1)),
    "across, from 0 to 360": (STAR.buffer(0), Bounds(165, -31, -165, -1)),
    "across, land of New Zealand": (None, Bounds(160, -50, -170, -30)),
    "across, land, half the globe": (None, Bounds(91, -80, -90, 85)),
    "not across, from 0 to 360": (box(185, 50, 220, 61), Bounds(-179, 45, -130, 65)),
    "not across, from -360 to 0": (box(-200, 50, -170, 61), Bounds(150, 45, 180, 65)),
    "wider than half the globe": (cut(RING), Bounds(-180, 50, 180, 90)),
    "wider, land": (None, Bounds(-170, -89, 175, 88)),
    "pole, land": (None, crs(3413, -3e6, -2.5e6, 2e6, 2.5e6)),
    "pole, a cap": (box(-180, 81, 180, 90), crs(3995, -2e6, -2e6, 2e6, 2e6)),
    "pole, a sector with a hole": (cut(RING), crs(5041, 1e6, 1e6, 3e6, 3.5e6)),
    "pole, at the edge": (box(-60, 70, 90, 90), crs(3413, 0, -1e6, 2e6, 1e6)),
    "pole, beside it": (box(20, 81, 160, 89.95), crs(3413, 1e4, -1e6, 2e6, 1e6)),
    "pole, all land of the south": (None, crs(3031, -3.1e6, -3e6, 3e6, 3e6)),
    "pole, ice without the pole": (
        box(-180, -88, 180, -70), crs(3976, -2.5e6, -2.5e6, 2.5e6, 2.5e6)
    ),
    "pole, in zone 33": (box(-180, 84, 180, 90), crs(32633, 1e5, 9e6, 9e5, 1.09e7)),
    "metres, land": (None, crs(32633, -2e5, 4e6, 1.2e6, 6.2e6)),
    "metres, land of Europe": (None, crs(3035, 2.5e6, 1.3e6, 7.5e6, 5.5e6)),
    "metres, land, Mercator": (None, crs(3857, -2e7, -2e7, 2.0037e7, 2.0037e7)),
    "metres, across": (None, crs(32760, 2e5, 5.2e6, 9e5, 6.5e6)),
    "metres, across, Pacific Mercator": (cut(STAR.buffer(0)), crs(3832, 2e6, -4e6, 4.5e6, 0)),
    "metres, across, Fiji": (box(-180, -18, -178, -16), crs(3460, 1.6e6, 3.5e6, 2.4e6, 4.3e6)),
    "metres, after the edge of Mercator": (STAR.buffer(0), crs(3857, 1.85e7, -3.5e6, 2.2e7, 0)),
    "other degrees, across": (box(172, 51, 186, 56), crs(4269, 165, 50, 190, 58)),
    "long edges, Canada": (box(-140, 50, -60, 70), crs(3978, -2.5e6, -8e5, 3e6, 3.9e6)),
    "long edges, Australia": (box(112, -38, 154, -12), crs(3577, -2.2e6, -5e6, 2.4e6, -9e5)),
    "where two operations of PROJ meet": (
        Polygon([(-146, 71.3), (-143, 71.2), (-142, 71.75), (-144, 71.69), (-145.5, 71.8)]),
        crs(26706, 543722.5, 7957603.4, 662796.1, 7968782.4),
    ),
    "where they meet, a long box": (
        box(-150, 66, -149.4, 72.5), crs(26706, 393556.9, 6767420.1, 419997.5, 8159948.5)
    ),
    "long edges, Europe": (box(-11, 36, 41, 60), crs(3035, 2e6, 1.2e6, 7.4e6, 5e6)),
}  # fmt: skip


@pytest.fixture(params=READ)
def read_case(request: pytest.FixtureRequest) -> tuple[BaseGeometry, Bounds]:
    shape, bounds = READ[request.param]
    return land() if shape is None else shape, made(bounds)


def test_a_map_in_degrees_labels_points_by_where_they_are(read_case, tmp_path):
    shape, bounds = read_case
    path = tmp_path / "map.geojson"
    path.write_text(json.dumps(geojson(shape)))

    def truth(xy: Points) -> Labels:
        return inside_any_turn(shape, degrees(bounds, xy))

    target, frame, points = read_geojson(path), Frame(D, bounds), grid_points()
    drawn, placed = place_target(target, D, bounds)
    assert placed == frame
    assert wrong(truth, inside(drawn, points), points) == []
    # a mask is the same within the box
    kept = read_mask(path).keep(np.ones(len(points), np.int64), points.astype(np.int64), frame)
    assert wrong(truth, kept, points) == []
    # in the window vertices go to grid points: what is two steps off stays
    work = Work(drawing=Drawing(D), bounds=bounds, simulated=False, examples=_nothing(frame))
    document = Document(work)
    import_target(path, document)
    assert document.work.bounds == bounds
    assert wrong(truth, inside(document.drawing.region(), points), points, near=2.0) == []
    import_mask(path, document)


def _nothing(frame: Frame) -> Examples:
    return Examples(np.zeros((1, 2), np.int64), np.zeros(1, np.int64), frame)


@pytest.mark.parametrize(
    ("shape", "bounds"),
    [
        (box(163, -15, 177, -11), Bounds(160, -18, -170, -9)),
        (box(181, 51, 195, 61), Bounds(170, 50, -160, 63)),
        (box(-170, -40, -95, -5), Bounds(140, -45, -100, 0)),
    ],
)
def test_the_command_line_and_python_draw_the_same_labels(tmp_path, shape, bounds):
    path, out = tmp_path / "map.geojson", tmp_path / "s.csv"
    path.write_text(json.dumps(geojson(shape)))
    edges = ",".join(map(str, bounds.as_tuple()))
    sample = ["sample", "--target", str(path), "--bounds", edges, "--grid", str(D), "--n", "2000"]
    assert main([*sample, "--seed", "1", "-o", str(out), "--quiet"]) == 0
    typed = geodp.read_points(out)
    called = geodp.sample(path, 2000, grid=D, bounds=bounds.as_tuple(), seed=1)
    for each in (typed, called):
        points = each.points.astype(float)
        assert 0 < each.labels.sum() < len(each.labels)
        assert wrong(
            lambda xy: inside_any_turn(shape, degrees(bounds, xy)), each.labels, points
        ) == []  # fmt: skip


DISC = Point(D / 2, D / 2).buffer(D / 2 - 10)
#: A shape on the grid, and where this lies.
WRITTEN: dict[str, tuple[BaseGeometry, Box]] = {
    "round the north pole": (DISC, crs(3413, -2.5e6, -2.4e6, 2.5e6, 2.4e6)),
    "round the south pole": (DISC, crs(3031, -3e6, -3e6, 3e6, 3e6)),
    "round the pole of UPS": (DISC, crs(5042, 1e6, 1.2e6, 3e6, 3e6)),
    "round the pole of an equal-area map": (DISC, crs(6931, -2e6, -1e6, 4e6, 5e6)),
    "round it, with a hole there": (
        DISC.difference(Point(D / 2, D / 2).buffer(20)), crs(3995, -2e6, -2e6, 2e6, 2e6)
    ),
    "round it, with a hole beside it": (
        DISC.difference(Point(D / 2 + 40, D / 2).buffer(20)), crs(3976, -2e6, -2e6, 2e6, 2e6)
    ),
    "an edge through the pole": (
        box(D / 2, 20, D - 20, D - 30), crs(3413, -2e6, -2e6, 2e6, 2e6)
    ),
    "a corner at the pole": (
        Polygon([(D / 2, D / 2), (D, 20), (D - 9, D), (9, D), (20, 20)]),
        crs(3031, -2e6, -2e6, 2e6, 2e6),
    ),
    "two that meet at the pole": (
        shapely.union(box(9, 9, D / 2, D / 2), box(D / 2, D / 2, D - 9, D - 9)),
        crs(32661, 1e6, 1e6, 3e6, 3e6),
    ),
    "the pole on the edge of the box": (box(0, 40, 99, 200), crs(3413, 0, -2e6, 2e6, 2e6)),
    "the pole in a corner": (box(0, 0, D, 200), crs(3031, 0, 0, 2e6, 2e6)),
    "both poles": (box(30, 1, 220, D - 1), crs(32633, 1e5, -1.01e7, 9e5, 1.01e7)),
    "a pole, where operations of PROJ meet": (
        DISC, crs(2589, 191596.7, 9985924.6, 808660.7, 10018214.9)
    ),
    "Pacific Mercator": (DISC, crs(3832, 1e6, -5e6, 6e6, 5e6)),
    "after the edge of Mercator": (DISC, crs(3857, 1.8e7, -3e6, 2.3e7, 2e6)),
    "Fiji, with a hole": (
        DISC.difference(box(90, 90, 170, 150)), crs(3460, 1.6e6, 3.5e6, 2.4e6, 4.3e6)
    ),
    "other degrees, across": (DISC, crs(4269, 165, 50, 190, 58)),
    "degrees, across": (DISC, Bounds(150, -20, -160, 20)),
    "degrees, all": (box(0, 0, D, D), Bounds(-180, -90, 180, 90)),
    "a conic map": (box(3, 3, 250, 240), crs(5070, -2.4e6, 2e5, 2.3e6, 3.2e6)),
}  # fmt: skip


@pytest.mark.parametrize("case", WRITTEN)
def test_a_shape_is_written_where_it_lies(case: str) -> None:
    shape, bounds = WRITTEN[case][0], made(WRITTEN[case][1])
    document = feature_collection(shape, Frame(D, bounds), member={})
    (feature,) = document["features"]
    written = shapely.geometry.shape(feature["geometry"])
    assert shapely.is_valid(written)
    for part in shapely.get_parts(written):
        for ring in (part.exterior, *part.interiors):
            lon, lat = shapely.get_coordinates(ring).T
            assert np.abs(np.diff(lon)).max() <= 180
            assert np.abs(lon).max() <= 180
            assert np.abs(lat).max() <= 90
    points = grid_points()
    there = inside_any_turn(written, degrees(bounds, points))
    assert wrong(lambda xy: inside(shape, xy), there, points) == []
    # what is written is read back as it was
    target = read_target(document)
    back, _ = place_target(target, D, bounds)
    assert wrong(lambda xy: inside(shape, xy), inside(back, points), points, near=1 / 32) == []


def read_target(document: dict[str, Any]) -> Any:
    bare = {key: value for key, value in document.items() if key != "geodp"}
    return target_of(json.loads(json.dumps(bare)), "a")


def test_a_disc_round_a_pole_has_its_area() -> None:
    # in an equal-area system the area of what is written is that of the disc
    bounds = made(crs(6931, -2e6, -2e6, 2e6, 2e6))
    radius = (D / 2 - 10) * 4e6 / D
    document = feature_collection(DISC, Frame(D, bounds), member={})
    written = shapely.geometry.shape(document["features"][0]["geometry"])
    equal = shapely.transform(
        shapely.segmentize(written, 0.5), lambda xy: moved(xy, "OGC:CRS84", "EPSG:6933")
    )
    assert equal.area == pytest.approx(DISC.area * (4e6 / D) ** 2, rel=1e-3)
    assert DISC.area * (4e6 / D) ** 2 == pytest.approx(np.pi * radius**2, rel=1e-2)
    assert document["bbox"][3] == 90
    assert Geod(ellps="WGS84").geometry_area_perimeter(written)[0] > 0


@pytest.mark.parametrize(
    ("shape", "old", "new"),
    [
        (box(150, 20, 250, 200), Bounds(170, -20, -170, -10), Bounds(-179, -19, -165, -9)),
        (box(20, 20, 250, 200), Bounds(-179, -20, -160, -10), Bounds(175, -19, -170, -9)),
        (box(9, 9, 30, 200), Bounds(-180, -60, 180, 60), Bounds(170, -50, -140, 50)),
        (DISC, Bounds(4, 44, 12, 50), crs(32632, 2e5, 4.8e6, 9e5, 5.6e6)),
        (DISC, crs(3413, -2e6, -2e6, 2e6, 2e6), Bounds(-180, 60, 180, 90)),
        (DISC, crs(3413, -2e6, -2e6, 2e6, 2e6), crs(3995, -2.1e6, -2e6, 2e6, 2.2e6)),
        (DISC, crs(3857, 1.8e7, -3e6, 2.3e7, 2e6), Bounds(160, -20, -160, 20)),
    ],
)
def test_a_drawing_keeps_its_place_in_another_frame(shape, old, new):
    drawing, old, new = Drawing.of(shape, D), made(old), made(new)
    change = GridChange(Frame(D, old), Frame(D, new))
    points = grid_points()

    def truth(xy: Points) -> Labels:
        there = moved(degrees(new, xy), "OGC:CRS84", old.crs)
        size, low = np.array(old.size), np.array(old.low)
        turn = 360.0 if old.crs == LONLAT else 2 * 20037508.342789244
        back = [(there + (by, 0) - low) * (D / size) for by in (-turn, 0, turn)]
        return np.any([inside(drawing.region(), each) for each in back], axis=0)

    assert truth(points).any()
    got = change.drawing(drawing).region()
    assert wrong(truth, inside(got, points), points, near=2.0) == []
    middle = change.dabs(((D // 2, D // 2, 9),))
    at = moved(degrees(old, np.full((1, 2), D / 2)), "OGC:CRS84", new.crs)[0]
    x, y = (at - np.array(new.low)) * (D / np.array(new.size))
    beyond = [(x + by * 360 * D / new.size[0], y) for by in (-1, 0, 1)]
    fits = [each for each in beyond if min(each) >= 0 and max(each) <= D]
    assert len(middle) == len(fits[:1])
    for (cx, cy, radius), each in zip(middle, fits, strict=False):
        assert abs(cx - each[0]) <= 0.6
        assert abs(cy - each[1]) <= 0.6
        assert radius > 0


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (cut(box(176, -20, 183, -12)), (176, -20, -177, -12)),
        (shapely.union(box(-179, 1, -178, 2), box(177, 1, 178, 4)), (177, 1, -178, 4)),
        (cut(box(172, 51, 228, 71)), (172, 51, -132, 71)),
        (box(-20, 1, 30, 2), (-20, 1, 30, 2)),
        (box(-180, 60, 180, 90), (-180, 60, 180, 90)),
        (shapely.union(box(-150, 1, -140, 2), box(30, 1, 40, 2)), (-150, 1, 40, 2)),
    ],
)
def test_the_box_of_a_map_is_the_narrowest(tmp_path, shape, expected):
    assert lonlat_box(shape) == expected
    path = tmp_path / "map.geojson"
    path.write_text(json.dumps(geojson(shape) | {"bbox": list(expected)}))
    assert bounds_of_map(path) == Bounds(*expected)
    padded = padded_box(shape)
    assert padded.crosses == (expected[0] > expected[2])
    # all of the map lies in the box
    drawn, _ = place_target(read_geojson(path), D)
    assert box(0, 0, D, D).buffer(1e-6).contains(drawn)


def test_what_is_written_across_has_a_box_across() -> None:
    bounds = Bounds(170, -20, -170, -10)
    document = feature_collection(box(64, 64, 192, 128), Frame(D, bounds), member={})
    assert document["bbox"] == document["features"][0]["bbox"] == [175, -17.5, -175, -15]
    assert read_target(document).geometry.bounds == (-180, -17.5, 180, -15)


@pytest.mark.parametrize(
    "box_of",
    [
        ("ESRI:54009", -1.8e7, -9e6, 1.8e7, 9e6),
        ("EPSG:3857", -3e7, -1e6, 3e7, 1e6),
        ("EPSG:4269", -60, 80, -50, 91),
        ("EPSG:4267", -200, 0, 200, 10),
        ("EPSG:5070", -1.5e7, -1.5e7, 1.5e7, 1.5e7),
        # round the tip of a cone, which has a gap
        ("EPSG:3252", -2468239.0, -16953.5, 2468239.0, 16953.5),
        ("EPSG:3271", -8612.4, -8851.2, 8612.4, 8851.2),
        ("EPSG:3035", -9e6, -9e6, 1.7e7, 1.6e7),
    ],
)
def test_a_box_beyond_the_map_is_refused_before_anything_is_drawn(box_of: Any) -> None:
    name, *edges = box_of
    with pytest.raises(BoundsError, match="lie beyond the reach"):
        Bounds(*edges, crs=name)


@pytest.mark.parametrize(
    "box_there",
    [
        crs(26706, 543722.5, 7957603.4, 662796.1, 7968782.4),
        crs(27700, 0, 0, 7e5, 1.3e6),
        crs(4145, 61, 21, 77.5, 37),
        crs(23031, 2e5, 4e6, 8e5, 7e6),
    ],
)
def test_the_way_to_a_box_leads_back_where_operations_of_proj_meet(box_there: Box) -> None:
    points, bounds = grid_points(), made(box_there)
    place = GridMap(D, bounds)
    assert place.to_grid(place.to_lonlat(points)).tolist() == points.astype(int).tolist()
    away = bounds.of_lonlat(bounds.to_lonlat(place.to_own(points))) - place.to_own(points)
    assert np.abs(away).max() <= 1e-8 * max(bounds.size)


@pytest.mark.parametrize(
    ("source", "target", "lon", "lat", "width"),
    [
        (7855, 28355, 146, -37, 1.0),  # of two ages of one continent, 1.5 m apart
        (28992, 31370, 4.5, 51.4, 0.3),  # two operations meet in the box
        (31467, 25832, 9, 50, 1.0),
        (4267, 26714, -99, 40, 2.0),
        (27700, 3035, -2, 53, 1.0),
        (2193, 27200, 172, -43, 0.5),
    ],
)
def test_points_and_polygons_take_one_way_between_two_systems(source, target, lon, lat, width):
    """That of PROJ at the middle of the box, without a third system between."""
    names = f"EPSG:{source}", f"EPSG:{target}"
    rng = np.random.default_rng(source)
    own = moved(rng.uniform(-width, width, (200, 2)) + (lon, lat), LONLAT, names[0])
    own = own[np.argsort(np.arctan2(*(own - own.mean(axis=0)).T))]
    way = Transformer.from_crs(*names, always_xy=True)
    middle = moved(np.array([[lon, lat]]), LONLAT, names[0])[0]
    way.transform(*middle)
    right = np.column_stack(way.get_last_used_operation().transform(*own.T))
    spread = np.abs(right - np.array(way.transform(*middle))).max(axis=0)
    corner = np.array(way.transform(*middle))
    bounds = Bounds(*(corner - spread), *(corner + spread), crs=names[1])
    millimetres = 1e-3 * (2e-5 if bounds.in_degrees else 2)
    assert np.abs(bounds.of_system(own, names[0]) - right).max() <= millimetres
    ring = on_grid(Polygon(own), names[0], GridMap(2**20, bounds)).boundary
    xy = GridMap(2**20, bounds).own_to_grid_float(right)
    step = min(bounds.size) / 2**20
    # what the edges of a ring that is moved may be off, and what two ways by datums may
    assert shapely.distance(shapely.points(xy), ring).max() * step <= 2 * millimetres + step / 256


def test_points_of_a_map_and_of_a_box_in_another_datum_agree(tmp_path: Path) -> None:
    """Labels of points read from a layer are those of a polygon that is read from another."""
    square = box(320000, 5800000, 330000, 5810000)
    rng = np.random.default_rng(7)
    at = rng.uniform((315000, 5795000), (335000, 5815000), (4000, 2))
    frame = geopandas.GeoDataFrame(
        {"label": shapely.contains_xy(square, *at.T).astype(int)},
        geometry=shapely.points(at), crs=7855,
    )  # fmt: skip
    frame.to_file(tmp_path / "p.gpkg")
    geopandas.GeoDataFrame(geometry=[square], crs=7855).to_file(tmp_path / "s.gpkg")
    bounds = Bounds(*moved(np.array([[314000, 5794000], [336000, 5816000]]), "EPSG:7855",
                           "EPSG:28355").ravel(), crs="EPSG:28355")  # fmt: skip
    examples = geodp.read_points(tmp_path / "p.gpkg", bounds=bounds, grid=2**18)  # 8 cm a step
    polygon = read_learned(tmp_path / "s.gpkg")
    wrong = polygon.predict(examples) != examples.labels
    far = shapely.distance(shapely.points(at), square.boundary) > 0.1
    assert not (wrong & far).any()


def test_threads_share_the_way_to_a_box() -> None:
    boxes = [made(crs(26706, 4e5, 7.2e6, 6e5, north)) for north in (8.1e6, 8.2e6, 8.3e6)]
    points = grid_points(20_000)

    def moved_often(_: int) -> list[Points]:
        return [GridMap(D, boxes[i % 3]).to_lonlat(points) for i in range(20)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(moved_often, range(4)))
    for each in found:
        assert np.array_equal(each, found[0])


def test_an_empty_shape_is_empty_everywhere() -> None:
    assert in_degrees(Polygon(), "EPSG:3413", 1.0, (0, 0)).is_empty


def test_a_part_that_rounding_makes_cross_itself_is_placed_all_the_same() -> None:
    # 360 degrees farther east two of its vertices are one
    thin = Polygon(
        [
            (-12.149889920022881, -89.19487164445908),
            (-12.076535801106832, -89.16057305821971),
            (-11.398764169957055, -88.73032819434752),
            (-11.398764169957033, -88.7303281943475),
        ]
    )
    land = box(175, -89.5, 180, -88)
    placed = on_grid(
        shapely.MultiPolygon([thin, land]), LONLAT, GridMap(64, Bounds(174, -89.9, -8, -60))
    )
    assert placed.is_valid
    step = (178 / 64) * (29.9 / 64)
    assert placed.area * step == pytest.approx(land.area + thin.area, rel=1e-9)


def test_a_narrow_box_round_a_pole_of_another_datum_is_written_whole() -> None:
    # a step is 6 cm wide, and PROJ knows the pole to a centimetre
    size = 16_613.334, 171_490.572
    west, south = 5_491_778.587, -10_087_210.601
    place = GridMap(1024, Bounds(west, south, west + size[0], south + size[1], crs="EPSG:5669"))
    shape = box(171, 179, 774, 542)
    document = feature_collection(shape, Frame(place.d, place.bounds), member={})
    parts = [shapely.geometry.shape(each["geometry"]) for each in document["features"]]
    assert all(part.is_valid for part in parts)
    globe = Geod(ellps="WGS84")
    area = sum(abs(globe.geometry_area_perimeter(part)[0]) for part in parts)
    assert area == pytest.approx(shape.area * size[0] * size[1] / 1024**2, rel=1e-3)


def test_edges_get_no_more_vertices_than_proj_can_tell_apart() -> None:
    """Far outside of its area a step of the grid may be as narrow as rounding."""
    shape = box(-1104487.5, 1672080.1, -845096.7, 3447307.6)
    placed = in_degrees(shape, "EPSG:2026", 1.6e-7, (-845096.7, 1672080.1))
    assert shapely.get_num_coordinates(placed) < 200_000
