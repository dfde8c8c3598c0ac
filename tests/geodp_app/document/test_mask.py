"""Masks: where they lie on a grid, what they leave of a shape, and how they follow the work."""

import json

import numpy as np
import pytest
import shapely
import shapely.affinity
from full_work import MASK
from hypothesis import given, strategies as st
from known_targets import square_geojson

from geodp import Bounds, Examples, Frame, GeoJSONError, InputError
from geodp_app.document.document import Document
from geodp_app.document.work import SampleSettings, Work
from geodp_app.drawing.shapes import Drawing, Shape
from geometry.geojson import target_of
from geometry.mask import Mask, clipped, read_mask

BOX = Bounds(10, 40, 20, 50)
HERE = Frame(100, BOX)
DRAWING = Drawing(100, (Shape(((10, 10), (90, 10), (90, 90), (10, 90))),))


def square(low: float, high: float, **member: object) -> Mask:
    return Mask.of(target_of(square_geojson(low, high, **member), "m"), "m.geojson")


def lon_lat_box(west: float, south: float, east: float, north: float) -> Mask:
    shape = shapely.box(west, south, east, north)
    return Mask.of(target_of(json.loads(shapely.to_geojson(shape)), "m"), "m.geojson")


# -- where it lies --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mask", "frame", "expected"),
    [
        # 10 degrees are 100 steps
        (lon_lat_box(12, 41, 15, 45), HERE, (20, 10, 50, 50)),
        # what lies over the square's edges is cut off
        (lon_lat_box(0, 0, 15, 45), HERE, (0, 0, 50, 50)),
        (lon_lat_box(12, 41, 15, 45), Frame(100, Bounds(11, 40, 16, 45)), (20, 20, 80, 100)),
        # the bounds are the file's where the examples have none, else the examples'
        (square(2, 4, bounds=[0, 0, 10, 10], grid=50), Frame(100), (20, 20, 40, 40)),
        (square(2, 4, bounds=[0, 0, 10, 10]), Frame(100, Bounds(0, 0, 4, 4)), (50, 50, 100, 100)),
        # grid units are stretched
        (square(10, 20, frame="grid", grid=50), Frame(100), (20, 20, 40, 40)),
        (square(10, 20, frame="grid", grid=50), HERE, (20, 20, 40, 40)),
        # but a grid that lies somewhere else is moved there: here to 12..14 E, 42..44 N
        (square(10, 20, frame="grid", grid=50, bounds=[10, 40, 20, 50]), HERE, (20, 20, 40, 40)),
        (
            square(10, 20, frame="grid", grid=50, bounds=[10, 40, 20, 50]),
            Frame(100, Bounds(12, 42, 32, 62)),
            (0, 0, 10, 10),
        ),
        # degrees that stand for a grid that lies nowhere
        (square(0.2, 0.4, georeferenced=False, bounds=[0, 0, 1, 1]), HERE, (20, 20, 40, 40)),
        (
            square(0.2, 0.4, georeferenced=False, bounds=[0, 0, 1, 1], grid=7),
            Frame(10),
            (2, 2, 4, 4),
        ),
    ],
)
def test_a_mask_lies_where_its_frame_and_that_of_the_examples_put_it(mask, frame, expected):
    region = mask.region(frame)
    assert region.symmetric_difference(shapely.box(*expected)).area < 1e-9 * region.area


@pytest.mark.parametrize(
    ("mask", "frame", "message"),
    [
        (square(1, 2), Frame(100), "m.geojson: is in degrees, and where the grid lies is not"),
        (square(1, 2, georeferenced=False), HERE, "m.geojson: is in degrees"),
        (square(1, 2), HERE, r"nothing of it lies within \(10, 40, 20, 50\)"),
        # it only touches the square
        (lon_lat_box(0, 40, 10, 50), HERE, "nothing of it lies within"),
        (
            square(20, 30, frame="grid", grid=50, bounds=[0, 0, 9, 9]),
            HERE,
            "nothing of it lies within",
        ),
    ],
)
def test_a_mask_that_cannot_be_placed_or_is_elsewhere_is_refused(mask, frame, message):
    with pytest.raises(GeoJSONError, match=message):
        mask.region(frame)


def test_features_that_overlap_are_one_mask(write):
    parts = (square_geojson(11, 13), square_geojson(12, 14))
    features = [{"type": "Feature", "properties": {}, "geometry": part} for part in parts]
    path = write("m.geojson", {"type": "FeatureCollection", "features": features})
    region = read_mask(path).region(Frame(100, Bounds(10, 10, 20, 20)))
    assert region.is_valid
    assert region.area == pytest.approx(700)


# -- what it leaves -------------------------------------------------------------------------------

#: Rings that a circle's points make are simple; their middles and sizes are drawn.
blobs = st.tuples(
    st.integers(0, 40), st.integers(0, 40), st.lists(st.integers(1, 30), min_size=3, max_size=9)
)


def blob(x: int, y: int, radii: list[int]) -> shapely.Polygon:
    angles = np.linspace(0, 2 * np.pi, len(radii), endpoint=False)
    return shapely.Polygon(
        [(x + r * np.cos(a), y + r * np.sin(a)) for r, a in zip(radii, angles, strict=True)]
    )


@given(blobs, blobs)
def test_what_is_left_is_what_both_hold(one, other):
    shape, region = blob(*one), blob(*other)
    left = clipped(shape, region)
    assert left.is_valid
    assert left.geom_type in ("Polygon", "MultiPolygon")
    grid = np.stack(np.meshgrid(np.arange(-31, 72), np.arange(-31, 72)), -1).reshape(-1, 2) + 0.5
    edges = shapely.union_all([shape.boundary, region.boundary])
    clear = grid[shapely.distance(edges, shapely.points(grid)) > 1e-6]
    held = [shapely.contains_xy(each, clear) for each in (shape, region, left)]
    assert (held[2] == (held[0] & held[1])).all()


def test_shapes_that_only_touch_leave_nothing():
    left = clipped(shapely.box(0, 0, 10, 10), shapely.box(10, 0, 20, 10))
    assert left.is_empty
    assert left.geom_type == "Polygon"


def test_labels_outside_are_0_and_the_edge_is_inside():
    mask = square(20, 40, frame="grid", grid=100)
    points = np.array([[20, 30], [19, 30], [30, 30], [40, 40], [41, 40], [30, 25]])
    labels = np.array([1, 1, 1, 1, 1, 0])
    kept = mask.keep(labels, points, Frame(100))
    assert kept.tolist() == [1, 0, 1, 1, 0, 0]
    assert kept.dtype == np.int64


def test_a_mask_comes_back_from_json_as_it_was():
    for mask in (MASK, square(2, 4, bounds=[0, 0, 10, 10], grid=50), square(1, 2, frame="grid",
                 grid=9), square(0.2, 0.4, georeferenced=False, bounds=[0, 0, 1, 1])):  # fmt: skip
        assert Mask.from_dict(json.loads(json.dumps(mask.to_dict()))) == mask


def test_nothing_else_of_a_file_is_kept(write):
    feature = {"type": "Feature", "properties": {"name": "who"}, "geometry": square_geojson(1, 2)}
    path = write("m.geojson", {**feature, "geodp": {"release": {"n": 12345}}, "name": "secret"})
    kept = json.dumps(read_mask(path).to_dict())
    assert not any(word in kept for word in ("12345", "who", "secret"))


# -- in the document ------------------------------------------------------------------------------


def document(**fields: object) -> Document:
    settings = SampleSettings(n=50)
    return Document(Work(**{"drawing": DRAWING, "bounds": BOX, "sampling": settings, **fields}))


def test_clipping_is_one_step_that_touches_neither_examples_nor_what_runs_spent():
    d = document()
    d.sample()
    before, mask = d.work, lon_lat_box(12, 41, 15, 45)
    d.set_within(mask)
    assert d.work.within is mask
    assert d.work.examples is before.examples
    assert (d.work.drawing, d.work.run, d.work.spent) == (before.drawing, before.run, before.spent)
    assert d.history.undo_label == "clip to m.geojson"
    d.set_within(None)
    assert d.history.undo_label == "clip no more"
    assert (d.undo(), d.work.within) == ("clip no more", mask)
    assert (d.undo(), d.work) == ("clip to m.geojson", before)
    assert (d.redo(), d.work.within) == ("clip to m.geojson", mask)


def test_a_mask_elsewhere_leaves_the_document_as_it_was():
    d = document()
    before = d.work
    with pytest.raises(InputError, match="nothing of it lies within"):
        d.set_within(square(1, 2))
    assert d.work is before


def test_a_mask_follows_another_grid_and_keeps_its_place_on_the_globe():
    d = document()
    d.set_within(lon_lat_box(9, 41, 15, 45))
    d.set_grid(200)
    assert d.work.within.region(d.work.frame).equals(shapely.box(0, 20, 100, 100))
    # what was cut off before is there when the bounds become wider
    d.change("change the bounds", bounds=Bounds(0, 40, 20, 50))
    region = d.work.within.region(d.work.frame)
    assert region.symmetric_difference(shapely.box(90, 20, 150, 100)).area < 1e-9


def test_a_frame_without_the_mask_is_refused_until_the_mask_is_gone():
    d = document()
    d.set_within(lon_lat_box(12, 41, 15, 45))
    before = d.work
    for bounds in (Bounds(60, 0, 70, 10), None):
        with pytest.raises(InputError, match="is clipped to it: remove the outline first"):
            d.change("change the bounds", bounds=bounds)
        assert d.work is before
    d.set_within(None)
    d.change("change the bounds", bounds=None)
    assert d.work.bounds is None


def test_another_example_begins_without_a_mask():
    d = document()
    d.set_within(lon_lat_box(12, 41, 15, 45))
    d.open_example("L")
    assert d.work.within is None
    d.undo()
    assert d.work.within is not None


def test_imported_examples_keep_the_mask_and_their_own_spent_budget():
    examples = Examples(np.array([[1, 2], [30, 40]]), np.array([0, 1]), HERE)
    d = document()
    d.set_within(lon_lat_box(12, 41, 15, 45))
    d.change("import", examples=examples, simulated=False)
    assert d.work.within is not None
    assert d.work.examples is examples
