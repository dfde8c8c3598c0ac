"""Public bounds are checked, the grid map is affine and invertible; counts on the grid."""

import math
from collections import Counter

import numpy as np
import pytest
from counted import as_counter
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from geodp import Bounds, BoundsError, GridMap
from geodp_app.document.work import RunSettings
from geodp_app.runs.learner_process import make_learner
from geometry import bulk_labels
from geometry.bulk_labels import bulk_labels as labels_of
from geometry.grid import checked_bounds
from geometry.grid_counts import MOST_EXAMPLES, GridCounts
from geometry.halfplane import MAX_D
from geometry.rings import held_points

finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def grid_maps(draw: st.DrawFn) -> GridMap:
    """A map onto a box at least a thousandth of a degree wide and high."""
    d = draw(st.integers(1, MAX_D))
    west, south = draw(st.floats(-180, 179.99)), draw(st.floats(-90, 89.99))
    east = draw(st.floats(west + 0.001, 180))
    north = draw(st.floats(south + 0.001, 90))
    return GridMap(d, Bounds(west, south, east, north))


UTM = "EPSG:32633"


@pytest.mark.parametrize(
    ("box", "crs", "word"),
    [
        ((10, 0, 10, 1), None, "west"),
        ((10, 0, -10, 1), None, "antimeridian"),
        ((-181, 0, 0, 1), None, "west"),
        ((0, 0, 180.5, 1), None, "east"),
        ((0, 5, 1, 5), None, "south"),
        ((0, 6, 1, 5), None, "north"),
        ((0, -90.1, 1, 5), None, "south"),
        ((0, 0, 1, 91), None, "north"),
        ((math.nan, 0, 1, 1), None, "finite"),
        ((0, 0, math.inf, 1), None, "finite"),
        ((0, 0, 1, 1), "EPSG:1", "no such"),
        ((0, 0, 1, 1), "EPSG:5773", "two axes"),
        ((2, 0, 1, 1), UTM, "west < east"),
        ((0, 0, math.nan, 1), UTM, "finite"),
        ((0, 0, 1e12, 1), UTM, "beyond the reach"),
    ],
)
def test_unusable_bounds_are_refused_with_the_reason(box, crs, word):
    with pytest.raises(BoundsError, match=word):
        checked_bounds(box, crs)


def test_across_the_antimeridian_longitudes_go_on() -> None:
    fiji = GridMap(200, Bounds(170, -20, -170, -10))
    assert fiji.bounds.size == (20, 10)
    there = np.array([[170.0, -20], [180, -15], [-180, -15], [-175, -15], [-170, -10]])
    assert fiji.to_grid(there).tolist() == [[0, 0], [100, 100], [100, 100], [150, 100], [200, 200]]
    assert fiji.to_lonlat(np.array([[150.0, 100.0]])).tolist() == [[185, -15]]
    for beyond in ([169.9, -15], [-169.9, -15], [0, -15]):
        with pytest.raises(BoundsError, match="outside the bounds"):
            fiji.to_grid(np.array([beyond]))


@pytest.mark.parametrize(
    ("box", "crs", "place", "nearest"),
    [
        ((170, -20, -170, -10), None, (169, -15), (170, -15)),
        ((170, -20, -170, -10), None, (-169, -25), (190, -20)),
        ((170, -20, -170, -10), None, (-175, 0), (185, -10)),
        ((170, -20, 180, -10), None, (-179, -15), (180, -15)),
        ((-180, -20, -170, -10), None, (179, -15), (-180, -15)),
        ((-180, -20, -170, -10), None, (-120, -15), (-170, -15)),
        ((1.9e7, 0, 2e7, 1e6), "EPSG:3857", (-2e7, 5e5), (2e7, 5e5)),
        ((4e5, 4.9e6, 5e5, 5e6), "EPSG:32633", (3e5, 6e6), (4e5, 5e6)),
    ],
)
def test_the_nearest_place_of_a_box_may_lie_across_the_antimeridian(box, crs, place, nearest):
    bounds = checked_bounds(box, crs)
    assert bounds.nearest(np.array([place])).tolist() == [list(nearest)]
    # what was made to go on is the same place
    assert bounds.nearest(bounds.unrolled(np.array([place]))).tolist() == [list(nearest)]


def test_a_box_in_metres_has_square_steps_and_its_points_in_degrees() -> None:
    box = Bounds(400_000, 4_900_000, 500_000, 5_000_000, crs=UTM)
    grid = GridMap(1000, box)
    assert not box.in_degrees
    assert box.aspect == 1
    assert grid.own_to_grid(np.array([[400_100.0, 4_999_949]])).tolist() == [[1, 999]]
    centre = grid.to_lonlat(np.array([[1000.0, 0.0]]))
    # the zone's middle meridian is 15 degrees east, and its false easting 500 km
    assert centre[0, 0] == pytest.approx(15, abs=1e-9)
    assert grid.to_grid(centre).tolist() == [[1000, 0]]
    corners = np.array([[0.0, 0], [1000, 0], [0, 1000], [1000, 1000], [321, 654]])
    assert (grid.to_grid(grid.to_lonlat(corners)) == corners).all()


def test_a_system_that_crosses_the_antimeridian_keeps_shapes_in_one_piece() -> None:
    fiji = GridMap(100, Bounds(1_600_000, 3_500_000, 2_400_000, 4_300_000, crs="EPSG:3460"))
    lon = fiji.to_lonlat(np.array([[0.0, 50], [50, 50], [100, 50]]))[:, 0]
    assert (np.diff(lon) > 0).all()
    assert lon[0] < 180 < lon[2]


def test_bounds_are_read_back_with_their_system() -> None:
    box = checked_bounds((400_000, 4_900_000, 500_000, 5_000_000), "epsg:32633")
    assert box.crs == UTM
    assert Bounds.of_json(box.to_json()) == box
    degrees = checked_bounds((1, 2, 3, 4), "EPSG:4326")
    assert degrees == Bounds(1, 2, 3, 4)
    assert degrees.to_json() == [1, 2, 3, 4]
    for damaged in ([1, 2, 3], [1, 2, 3, 4, 5], [1, 2, 3, "4"], [1, 2, 3, 10**400], None, "box"):
        with pytest.raises(BoundsError):
            Bounds.of_json(damaged)


def test_x_runs_east_and_y_runs_north() -> None:
    assert Bounds(-180, -90, 180, 90).as_tuple() == (-180, -90, 180, 90)
    grid = GridMap(100, Bounds(10, 40, 20, 60))
    corners = np.array([[0, 0], [100, 0], [0, 100], [50, 25]])
    assert grid.to_lonlat(corners).tolist() == [[10, 40], [20, 40], [10, 60], [15, 45]]
    assert grid.to_grid(np.empty((0, 2))).shape == grid.to_lonlat(np.empty((0, 2))).shape == (0, 2)


@given(grid_maps(), st.data())
def test_every_grid_point_comes_back_from_degrees(grid: GridMap, data: st.DataObject) -> None:
    xy = np.array([[data.draw(st.integers(0, grid.d)), data.draw(st.integers(0, grid.d))]])
    lonlat = grid.to_lonlat(xy)
    west, south, east, north = grid.bounds.as_tuple()
    assert (lonlat >= (west, south)).all()
    assert (lonlat <= (east, north)).all()
    back = grid.to_grid(lonlat)
    assert back.dtype == np.int64
    assert back.tolist() == xy.tolist()


@given(grid_maps(), st.data())
def test_degrees_go_to_the_nearest_grid_point(grid: GridMap, data: st.DataObject) -> None:
    west, south, east, north = grid.bounds.as_tuple()
    lonlat = np.array([[data.draw(st.floats(west, east)), data.draw(st.floats(south, north))]])
    real = grid.own_to_grid_float(lonlat)
    point = grid.to_grid(lonlat)
    assert (np.abs(point - real) <= 0.5).all()
    assert (point >= 0).all()
    assert (point <= grid.d).all()


@pytest.mark.parametrize(
    "point", [(9.9, 50), (20.1, 50), (15, 39), (15, 61), (math.nan, 50), (15, math.inf)]
)
def test_points_outside_the_bounds_are_refused_by_row(point: tuple[float, float]) -> None:
    grid = GridMap(100, Bounds(10, 40, 20, 60))
    with pytest.raises(BoundsError, match="row 1: "):
        grid.to_grid(np.array([[15, 50], point, [0, 0]]))


# -- counts on the grid ---------------------------------------------------------------------


def drawn(d: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, d + 1, size=(n, 2)), rng.integers(0, 2, size=n).astype(bool)


@pytest.mark.parametrize(("d", "n"), [(1, 0), (1, 1), (1, 50), (7, 200), (1 << 20, 300)])
def test_rows_are_counted_as_by_hand(d: int, n: int) -> None:
    points, labels = drawn(d, n, seed=d + n)
    counts = GridCounts.of_examples(points, labels, d)
    by_hand = Counter((x, y, bool(t)) for (x, y), t in zip(points.tolist(), labels, strict=True))
    assert as_counter(counts) == by_hand
    assert len(counts) == len(by_hand)
    assert (counts.n, counts.positives) == (n, int(labels.sum()))
    assert counts.negatives == n - labels.sum()


@pytest.mark.parametrize("seed", range(5))
def test_rows_array_and_entries_give_the_same_arrays(seed: int) -> None:
    d = 6
    points, labels = drawn(d, 150, seed)
    dense = np.zeros((2, d + 1, d + 1), dtype=int)
    np.add.at(dense, (labels.astype(int), points[:, 0], points[:, 1]), 1)
    single = np.column_stack([points, labels, np.ones(len(points), int)])
    rows = GridCounts.of_examples(points, labels, d)
    empty = np.array([[0, 0, 0, 0], [d, d, 1, 0]])
    others = (
        GridCounts.of_array(dense),
        GridCounts.of_array(dense.astype(float)),
        GridCounts.of_entries(np.concatenate([single, empty]), d),
        GridCounts.of_examples(points[::-1], labels[::-1], d),
    )
    for other in others:
        assert other.d == d
        for name in ("points", "labels", "amounts"):
            np.testing.assert_array_equal(getattr(rows, name), getattr(other, name))
            assert getattr(other, name).dtype == getattr(rows, name).dtype


def test_masked_counts_are_those_of_the_masked_rows() -> None:
    points, labels = drawn(9, 400, seed=3)
    inside = points.sum(axis=1) < 9
    counts = GridCounts.of_examples(points, labels, 9)
    kept = counts.where(counts.points.sum(axis=1) < 9)
    assert as_counter(kept) == as_counter(GridCounts.of_examples(points[inside], labels[inside], 9))


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (np.zeros((3, 4, 4), int), r"shape \(2, d \+ 1, d \+ 1\)"),
        (np.zeros((2, 4, 5), int), r"shape \(2, d \+ 1, d \+ 1\)"),
        (np.zeros((2, 1, 1), int), "d at least 1"),
        (np.full((2, 2, 2), -1), "negative"),
        (np.full((2, 2, 2), 0.5), "0.5 is not a whole number"),
        (np.full((2, 2, 2), np.nan), "nan is not a whole number"),
        (np.full((2, 2, 2), MOST_EXAMPLES), "more than"),
        (np.full((2, 2, 2), 2**64 - 1, np.uint64), "above"),
        (np.full((2, 2, 2), "1"), "whole numbers"),
    ],
)
def test_wrong_arrays_are_refused(counts: np.ndarray, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GridCounts.of_array(counts)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ((5, 0, 0, 1), r"entry 1: x = 5 is not in 0\.\.4"),
        ((0, -1, 0, 1), r"entry 1: y = -1 is not in 0\.\.4"),
        ((0, 0, 2, 1), r"entry 1: label = 2 is not in 0\.\.1"),
        ((0, 0, 1, -3), "negative: -3"),
        ((0, 0, 1, 0.25), "0.25 is not a whole number"),
        (None, r"shape \(m, 4\)"),
    ],
)
def test_wrong_entries_are_refused(entry: tuple[float, ...] | None, said: str) -> None:
    entries = [[1, 2, 1]] if entry is None else [(1, 1, 1, 1), entry]
    with pytest.raises(ValueError, match=said):
        GridCounts.of_entries(entries, 4)


def test_labels_must_match_points() -> None:
    with pytest.raises(ValueError, match="as many labels as points"):
        GridCounts.of_examples(np.zeros((4, 2), dtype=np.int64), np.zeros(3, dtype=bool), 3)


# -- labels of very many points -------------------------------------------------------------


@pytest.mark.parametrize(("d", "dimensions"), [(7, 2), (4000, 2), (5, 3)])
def test_labels_are_those_of_each_point(d, dimensions, monkeypatch):
    monkeypatch.setattr(bulk_labels, "_MANY", 101)
    monkeypatch.setattr(bulk_labels, "_AT_ONCE", 100)
    points = np.random.default_rng(1).integers(0, d + 1, (1950, dimensions))
    sides = (d + 1,) * dimensions
    asked = []

    def label(some: NDArray[np.int64]) -> NDArray[np.int64]:
        asked.append(len(some))
        return (some @ np.arange(1, dimensions + 1) % 3 == 0).astype(np.int64)

    expected = label(points)
    asked.clear()
    found = labels_of(label, points, sides)
    assert found.dtype == np.int64
    assert np.array_equal(found, expected)
    assert max(asked) <= 100
    places = len(np.unique(points, axis=0))
    assert sum(asked) == (places if d < 4000 else len(points))
    # few points, and points off the grid, are asked about as they are
    assert np.array_equal(labels_of(label, points[:50] - 1, sides), label(points[:50] - 1))
    assert np.array_equal(labels_of(label, points - 1, sides), label(points - 1))


_PARAMETERS = {
    "tiles": {"tiles": 4},
    "cover": {"k": 2},
    "triangles": {"k": 2, "finish": "none"},
    "convex": {},
    "convex-cover": {"k": 3},
    "histogram": {},
    "quadtree": {},
    "discs": {"k": 2},
    "greedy-cover": {"k": 2},
    "greedy-convex": {"k": 2},
}


@pytest.mark.parametrize("learner", _PARAMETERS)
@pytest.mark.parametrize(("d", "seed"), [(4, 1), (31, 2)])
def test_every_place_has_the_label_that_it_has_by_itself(learner, d, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, d + 1, (1000, 2))
    labels = np.abs(points - [d / 3, d / 2]) @ [1, 2] < d / 2
    parameters = dict(_PARAMETERS[learner])
    name = "cover" if learner == "triangles" else learner
    model = make_learner(RunSettings(name, seed=seed, **parameters), d)
    release = model.fit(points, labels).release_
    places = np.indices((d + 1, d + 1)).reshape(2, -1).T.astype(np.int64)
    expected = np.concatenate([release.predict(some) for some in np.array_split(places, 2)])
    monkeypatch.setattr(bulk_labels, "_MANY", 8)
    monkeypatch.setattr(bulk_labels, "_AT_ONCE", 8)
    monkeypatch.setattr(bulk_labels, "_MOST_CROSSED", 1000)
    assert np.array_equal(release.predict(places), expected)


#: How far corners lie off grid points: to either side of what borders are thickened by.
_OFF = (0.0, 0.5, 1e-6, -1e-6, 2.0**-20, 1e-9, -1e-13)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_runs_between_borders_have_the_labels_of_each_place(data: st.DataObject) -> None:
    """Corners off grid points by little, edges that are vertical but for that, far away ends."""
    width, height = (data.draw(st.integers(1, 60)) for _ in range(2))
    scale = data.draw(st.sampled_from((1, 1, 1000)))

    def coordinate(size: int) -> st.SearchStrategy[float]:
        whole = st.integers(-scale * size // 4, scale * size * 5 // 4)
        return st.builds(lambda a, b: a + b, whole, st.sampled_from(_OFF))

    corner = st.tuples(coordinate(width), coordinate(height))
    ring = st.lists(corner, min_size=3, max_size=8).map(np.array)
    rings = data.draw(st.lists(ring, min_size=1, max_size=4))
    borders = np.concatenate([np.hstack([each, np.roll(each, -1, axis=0)]) for each in rings])
    points = np.random.default_rng(1).integers(0, (width + 1, height + 1), (1500, 2))

    def label(some: NDArray[np.int64]) -> NDArray[np.bool_]:
        return held_points([[each] for each in rings], some.astype(np.float64))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk_labels, "_MANY", 1000)
        found = labels_of(label, points, (width + 1, height + 1), lambda: borders)
    assert np.array_equal(found, label(points))
