"""What leads along borders from side to side turns as little as its area allows."""

import itertools
import math

import numpy as np
import pytest
import shapely
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from shapely.geometry import LineString, Polygon

from learners.tiles import outline_sides
from learners.tiles.outline_sides import FREE_NATS, TURN_NATS, joint

Path = NDArray[np.float64]


def ends(path: Path) -> tuple[Path, Path]:
    """The middle of the first side, and of the last: what `joint` leaves out where none is a
    corner."""
    return path[:1], path[-1:]


def whole(path: Path, found: Path) -> Path:
    """Found corners with both ends."""
    first, last = ends(path)
    parts = [first] if not len(found) or (found[0] != first[0]).any() else []
    parts.append(found)
    if not len(found) or (found[-1] != last[0]).any():
        parts.append(last)
    return np.vstack(parts)


def turning(path: Path) -> float:
    """Sum of turns, by cross and dot products."""
    vectors = np.diff(path, axis=0)
    pairs = itertools.pairwise(vectors)
    return sum(abs(math.atan2(a[0] * b[1] - a[1] * b[0], float(a @ b))) for a, b in pairs)


def drawn_out(path: Path, found: Path) -> Path:
    """With a point before and one behind, on the two sides: turns at its ends count too."""
    return np.vstack([2 * path[:1] - path[1:2], found, 2 * path[-1:] - path[-2:-1]])


def between(one: Path, other: Path) -> float:
    """Area between two paths with the same ends, by shapely."""
    ring = np.vstack([one, other[::-1]])
    return float(shapely.make_valid(Polygon(ring)).area)


def counted(nats: float) -> float:
    """What nats between a piece and the old path weigh: the first two an eighth of their number."""
    return max(nats / 8, nats - FREE_NATS)


def least(path: Path, square: float, most: float, stops: list[tuple[Path, int]]) -> float:
    """The least weight of all paths with corners among the stops, each with its stretch."""
    points = [point for point, _ in stops]
    sides = (0, len(path) - 2)
    found = math.inf
    for size in range(len(points) - 1):
        for inner in itertools.combinations(range(1, len(points) - 1), size):
            visited = [0, *inner, len(points) - 1]
            weight, allowed = 0.0, True
            for i, j in itertools.pairwise(visited):
                if j == i + 1:
                    continue
                ring = [points[k] for k in range(i, j + 1)]
                area = float(shapely.make_valid(Polygon(ring)).area)
                on = {stops[k][1] for k in range(i, j)}
                allowed &= area <= most and not (len(on) == 1 and on <= set(sides))
                weight += counted(area / square)
            if allowed:
                weight += TURN_NATS * turning(
                    drawn_out(path, np.array([points[k] for k in visited]))
                )
                found = min(found, weight)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_of_all_paths_with_corners_among_the_stops_it_is_the_lightest(seed, monkeypatch):
    """Against an enumeration, areas by shapely: paths that go ahead only have the same."""
    monkeypatch.setattr(outline_sides, "_DISTANCES", np.array([1.0, 2.5]))
    monkeypatch.setattr(outline_sides, "_MOST_STOPS", 2)
    rng = np.random.default_rng(seed)
    steps = rng.uniform([5.0, -2.5], [9.0, 2.5], (5, 2))
    path = np.vstack([[0.0, 0.0], np.cumsum(steps, axis=0)])
    square, most = float(rng.uniform(0.5, 6.0)), float(rng.uniform(5.0, 60.0))
    squares = np.full(5, square)
    points, stretch = outline_sides.stops_along(path, squares, (True, True))
    assert len(points) <= 13
    stops = list(zip(points, [*stretch.tolist(), 4], strict=True))
    found = whole(path, joint(path, squares, (True, True), most))
    weight, at = 0.0, 0
    for corner in itertools.pairwise(found):
        rest = [i for i in range(at, len(points)) if np.allclose(points[i], corner[1])]
        ring = points[at : rest[0] + 1]
        bent = len(ring) > 2 and Polygon(ring).area > 1e-9
        if bent:
            weight += counted(shapely.make_valid(Polygon(ring)).area / square)
        at = rest[0]
    weight += TURN_NATS * turning(drawn_out(path, found))
    assert weight == pytest.approx(least(path, square, most, stops), abs=1e-9)


def jog(high: float, long: float = 200.0) -> Path:
    """Two level sides, one higher than the other by this much where a border stands upright."""
    return np.array([[-long, 0.0], [0.0, 0.0], [0.0, high], [long, high]])


@pytest.mark.parametrize("high", [1.0, 5.0, 20.0])
def test_a_jog_becomes_a_slope_around_the_same_place(high: float) -> None:
    path = jog(high)
    found = whole(path, joint(path, np.full(3, 9.0), (True, True), math.inf))
    assert len(found) in (4, 5)
    assert turning(found) < 0.8 * turning(path)
    slope = LineString(found[1:-1])
    assert slope.distance(shapely.Point(0, high / 2)) < high / 2
    assert between(found, path) <= 9.0 * (FREE_NATS + TURN_NATS * turning(path))


def test_a_path_from_the_rim_begins_where_it_began() -> None:
    path = np.array([[0.0, 40.0], [50.0, 40.0], [50.0, 44.0], [150.0, 44.0]])
    forth = joint(path, np.full(3, 4.0), (False, True), math.inf)
    assert forth[0].tolist() == [0.0, 40.0]
    assert len(forth) < 4
    back = joint(path[::-1], np.full(3, 4.0), (True, False), math.inf)
    assert back[-1].tolist() == [0.0, 40.0]
    assert turning(whole(path[::-1], back)) == pytest.approx(turning(whole(path, forth)))


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.floats(0.2, 30.0), st.integers(2, 30), st.floats(0.1, 400.0))
def test_any_path_keeps_its_ends_and_never_turns_farther(seed, unit, stretches, most):
    """Long ones too, of right angles as borders have them."""
    rng = np.random.default_rng(seed)
    steps = np.zeros((stretches + 1, 2))
    level = np.arange(stretches + 1) % 2
    steps[np.arange(stretches + 1), level] = rng.integers(-40, 40, stretches + 1) + 0.5
    path = np.vstack([[0.0, 0.0], np.cumsum(steps, axis=0)])
    found = whole(path, joint(path, np.full(stretches + 1, unit**2), (True, True), most))
    assert found[0].tolist() == path[0].tolist()
    assert found[-1].tolist() == path[-1].tolist()
    assert turning(found) <= turning(path) + 1e-9


def test_areas_of_pieces_are_those_of_polygons() -> None:
    """Where a path leads back over itself, too: random ones of three stretches that lie on one side
    of the piece, by shapely."""
    rng = np.random.default_rng(5)
    seen = 0
    while seen < 200:
        corners = rng.integers(0, 8, (4, 2)).astype(float)
        loop = Polygon(corners)
        along, across = corners[3] - corners[0], corners[1:3] - corners[0]
        heights = along[0] * across[:, 1] - along[1] * across[:, 0]
        if not loop.is_valid or not (heights > 0).all():
            continue
        seen += 1
        costs, _ = outline_sides.pieces_between(corners, np.ones(3), math.inf)
        assert costs[2] == pytest.approx(counted(loop.area))
