"""Sides drawn by several tiles become one line, and nothing else changes."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from shapely.geometry import Polygon, box
from shapely.geometry.base import BaseGeometry

from learners.tiles.borders import price_of_a_side, rings_of, straightened
from learners.tiles.outline_sides import Chain, nearest_lines

D = 1024
SIDE = 64
BORDERS = shapely.union_all([box(x, 0, x + SIDE, D).boundary for x in range(0, D, SIDE)])
NEAR = 1 / 1024


def even(unit: float) -> Any:
    """The same u^2 everywhere."""
    return lambda points: np.full(len(points), unit**2)


def straight(shape: BaseGeometry, unit: float, most: float = math.inf) -> BaseGeometry | None:
    return straightened(shape, BORDERS, D, unit, even(unit), NEAR, most)


def below(heights: Sequence[tuple[float, float]]) -> Polygon:
    """What lies below one edge in every column, from its left height to its right one."""
    tops = [(SIDE * (i + end), h) for i, both in enumerate(heights) for end, h in enumerate(both)]
    return Polygon([(0, 0), *tops, (D, 0)])


def noisy(line: Any, spread: float, seed: int) -> Polygon:
    rng = np.random.default_rng(seed)
    ends = [(line(SIDE * i), line(SIDE * (i + 1))) for i in range(D // SIDE)]
    return below([tuple(np.array(both) + rng.normal(0, spread, 2)) for both in ends])


def corners(shape: BaseGeometry) -> int:
    return sum(len(shapely.get_coordinates(r)) - 1 for r in shapely.get_rings([shape]))


# -- sides ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_side_that_is_drawn_in_sixteen_tiles_is_one_line_and_nearer_to_the_truth(seed):
    truth = below([(300 + 20 * i, 320 + 20 * i) for i in range(16)])
    drawn = noisy(lambda x: 300 + x * 20 / SIDE, 1.0, seed)
    found = straight(drawn, 8.0)
    assert corners(found) == 4 < 30 < corners(drawn)
    assert found.symmetric_difference(truth).area < drawn.symmetric_difference(truth).area / 2


@pytest.mark.parametrize("seed", range(5))
def test_two_sides_meet_at_their_corner(seed: int) -> None:
    """A roof whose top lies in a tile of its own."""
    drawn = noisy(lambda x: 300 + min(x, D - x), 0.5, seed)
    found = straight(drawn, 8.0)
    assert found is not None
    assert corners(found) == 5
    top = shapely.get_coordinates(found)[:, 1].max()
    assert top == pytest.approx(812, abs=2)


def test_what_noise_does_not_explain_stays() -> None:
    """A zigzag of 30 units, an area of 15 * 64 a tile, is noise where u^2 is that, else a shape."""
    zigzag = below([(300 + 30 * (i % 2), 330 - 30 * (i % 2)) for i in range(16)])
    assert straight(zigzag, 6.0) is None
    found = straight(zigzag, 31.0)
    assert found is not None
    assert corners(found) == 4


def test_a_square_a_triangle_and_nothing_stay() -> None:
    tri = Polygon([(100, 100), (900, 130), (450, 800)])
    for shape in (box(100.5, 200.5, 700.5, 900.5), tri, Polygon(), box(0, 0, D, D)):
        assert straight(shape, 8.0) is None


def test_a_right_angle_stays_a_right_angle() -> None:
    """However small the step is: its edges are never of one side."""
    step = below([(300, 300)] * 8 + [(303, 303)] * 8)
    for unit in (1.0, 8.0):
        found = straight(step, unit)
        assert found is None or corners(found) in (4, 6)
    inside = Polygon([(0, 0), (0, 300), (96, 300), (96, 310), (D, 310), (D, 0)])
    assert straight(inside, 8.0) is None


# -- joints ---------------------------------------------------------------------------------------


def test_a_jog_between_two_sides_gives_way_to_a_slope() -> None:
    """Parallel sides, nine units apart on a border: too far to be one."""
    drawn = below([(300 + i + 9 * (i > 7), 301 + i + 9 * (i > 7)) for i in range(16)])
    for unit in (1.0, 2.0, 4.0):
        found = straight(drawn, unit)
        assert found is not None
        assert corners(found) <= 7
        tops = shapely.get_coordinates(found)
        slope = tops[(tops[:, 1] > 305) & (tops[:, 1] < 320), 0]
        assert slope.min() < 512 < slope.max()
        # the fewer examples the longer
        assert unit < slope.max() - slope.min() < 24 * unit + 12


def test_an_edge_shorter_than_two_u_is_a_part_of_a_joint() -> None:
    """A tooth of two edges, drawn inside a tile beside its border."""
    drawn = below([(300, 300)] * 16)
    tooth = Polygon([(510, 300), (512, 306), (515, 300)])
    found = straight(drawn.union(tooth), 6.0)
    assert found.equals(drawn)
    fine = straight(drawn.union(tooth), 1.0)
    assert fine is None or fine.equals(drawn.union(tooth))


def test_lines_that_cross_near_their_ends_meet_there() -> None:
    drawn = below([(300 + 10 * i, 310 + 10 * i) for i in range(8)] + [(380.0, 380.0)] * 8)
    # both stop one unit short of where they would meet
    cut = shapely.union(drawn, box(512, 0, D, 381))
    found = straight(cut, 1.0)
    assert corners(found) == 5
    assert Polygon([(518.4, 381)] * 3).centroid.distance(found.boundary) < 1e-9


def test_a_strip_that_passes_where_borders_cross_is_one() -> None:
    """Of four tiles two draw it, and touch at one point."""
    at = 8.0 * SIDE
    left = Polygon([(at - 50, at + 55), (at - 50, at + 35), (at - 12, at), (at, at), (at, at + 12)])
    drawn = shapely.union(left, shapely.affinity.rotate(left, 180, origin=(at, at)))
    assert drawn.geom_type == "MultiPolygon"
    found = straight(drawn, 4.0)
    assert found.geom_type == "Polygon"
    assert found.intersection(box(at - 4, at - 4, at + 4, at + 4)).area > 40


def test_rings_that_meet_one_after_the_other_are_one() -> None:
    squares = [box(64 * i, 64 * i, 64 * i + 64, 64 * i + 64) for i in (1, 3, 2, 5)]
    rings = rings_of(shapely.union_all(squares))
    assert sorted(map(len, rings)) == [4, 12]


def test_tiles_that_touch_at_a_point_and_no_more_stay() -> None:
    borders = shapely.union_all([BORDERS, shapely.affinity.rotate(BORDERS, 90, (D / 2, D / 2))])
    two = shapely.union(box(64, 64, 128, 128), box(128, 128, 192, 192))
    for shape in (two, box(0, 0, 256, 256).difference(two)):
        assert straightened(shape, borders, D, 8.0, even(8.0), NEAR, math.inf) is None


# -- what it keeps to -----------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.floats(0.5, 200), st.floats(0, 60))
def test_any_outline_gives_a_valid_one_and_no_change_is_too_large(seed, unit, spread):
    rng = np.random.default_rng(seed)
    drawn = noisy(lambda x: 500 + 100 * math.sin(x / rng.integers(20, 400)), spread, seed)
    hole = shapely.affinity.translate(drawn, 0, -rng.uniform(0, 300))
    shape = shapely.make_valid(drawn.difference(hole)).buffer(0)
    found = straight(shape, unit, most=D * D / 100)
    if found is None:
        return
    assert found.is_valid
    assert box(0, 0, D, D).buffer(1e-9).contains(found)
    parts = shapely.get_parts(found.symmetric_difference(shape))
    assert shapely.area(parts).max() <= D * D / 100 * (1 + 1e-9)


def test_a_change_that_is_too_large_is_taken_back() -> None:
    zigzag = below([(300 + 30 * (i % 2), 330 - 30 * (i % 2)) for i in range(16)])
    small = straight(zigzag, 31.0, most=1.0)
    assert small.symmetric_difference(zigzag).area == pytest.approx(0, abs=1e-6)


# -- the parts ------------------------------------------------------------------------------------


def chain_of(seed: int, edges: int) -> Chain:
    """Edges and jogs in turn, all ahead by some 60 degrees at most."""
    rng = np.random.default_rng(seed)
    steps, drawn = [], []
    for i in range(edges):
        angle = rng.uniform(-1, 1)
        steps.append(rng.uniform(1, 9) * np.array([math.cos(angle), math.sin(angle)]))
        drawn.append(True)
        if i < edges - 1 and rng.random() < 0.6:
            steps.append(np.array([0.0, rng.uniform(-1, 1)]))
            drawn.append(False)
    points = np.vstack([[0.0, 0.0], np.cumsum(steps, axis=0)])
    return Chain(points, rng.uniform(0.2, 2, len(drawn)), np.flatnonzero(drawn))


def level(heights: Sequence[float]) -> Chain:
    """Level edges, ten long, each at its height; upright stretches along borders between them."""
    points = [(10.0 * (i + end), high) for i, high in enumerate(heights) for end in (0, 1)]
    stretches = len(points) - 1
    return Chain(np.array(points), np.ones(stretches), np.arange(0, stretches, 2))


@pytest.mark.parametrize(
    ("heights", "sides"),
    [([0.0] * 12, 1), ([0.0] * 6 + [30.0] * 6, 2), ([100.0 * (i % 2) for i in range(12)], 12)],
)
def test_a_side_costs_more_where_few_edges_begin_one(heights: list[float], sides: int) -> None:
    """By the odds, one more of either, but by three nats at most."""
    chain = level(heights)
    d, unit = 1024, 1.0
    even = 0.7 * math.log(d**2)
    assert len(chain.divided(even)[1]) == sides
    odds = (sides + 1) / (len(heights) - sides + 1)
    outcome = even - min(max(-3.0, 2 * math.log(odds)), 3.0)
    assert price_of_a_side([chain], d, unit) == pytest.approx(outcome)
    # two outlines have the odds of both together
    pair = price_of_a_side([chain, level([0.0] * 12)], d, unit)
    assert outcome <= pair <= even + 3


def test_what_cannot_be_divided_has_even_odds() -> None:
    assert price_of_a_side([level([0.0])], 1024, 1.0) == pytest.approx(0.7 * math.log(1024**2))
    assert price_of_a_side([], 4, 100.0) == 0


def nats_of(chain: Chain, first: int, last: int) -> float:
    """Between edges and their line, by shapely; the line from a singular value decomposition."""
    if first == last:
        return 0.0
    starts = chain.starts
    ends = [(chain.points[i], chain.points[i + 1]) for i in starts[first : last + 1]]
    weights = [np.hypot(*(b - a)) / chain.squares[i]
               for (a, b), i in zip(ends, starts[first : last + 1], strict=True)]  # fmt: skip
    # 3-point Gauss on an edge is exact for squares
    rows = [(a + (b - a) * (0.5 + at), w * part)
            for (a, b), w in zip(ends, weights, strict=True)
            for at, part in ((-math.sqrt(0.15), 5), (0.0, 8), (math.sqrt(0.15), 5))]  # fmt: skip
    spots, parts = (np.array(each) for each in zip(*rows, strict=True))
    middle = np.average(spots, axis=0, weights=parts)
    _, _, axes = np.linalg.svd((spots - middle) * np.sqrt(parts)[:, None])
    ahead = axes[0] * np.sign(axes[0] @ (ends[-1][1] - ends[0][0]))
    if any((b - a) @ ahead < 0.75 * np.hypot(*(b - a)) for a, b in ends):
        return math.inf
    total = 0.0
    for i in range(starts[first], starts[last] + 1):
        own = [np.array([(p - middle) @ ahead, (p - middle) @ np.array([-ahead[1], ahead[0]])])
               for p in chain.points[i : i + 2]]  # fmt: skip
        (x0, y0), (x1, y1) = own
        if y0 * y1 >= 0:
            area = Polygon([(x0, 0), (x0, y0), (x1, y1), (x1, 0)]).area
        else:
            cross = x0 + (x1 - x0) * y0 / (y0 - y1)
            area = Polygon([(x0, 0), (x0, y0), (cross, 0)]).area
            area += Polygon([(x1, 0), (x1, y1), (cross, 0)]).area
        total += area / chain.squares[i]
    return total


@given(st.integers(0, 10**6), st.integers(2, 7), st.floats(0.1, 8))
def test_the_division_is_the_cheapest_of_all(seed: int, edges: int, price: float) -> None:
    """Against every one of the 2^(e - 1) divisions."""
    chain = chain_of(seed, edges)
    nats = {(i, j): nats_of(chain, i, j) for i in range(edges) for j in range(i, edges)}
    cheapest = math.inf
    for cuts in itertools.product((False, True), repeat=edges - 1):
        stops = [i for i, cut in enumerate(cuts) if cut] + [edges - 1]
        begins = [0, *(stop + 1 for stop in stops[:-1])]
        cost = sum(nats[span] for span in zip(begins, stops, strict=True))
        cheapest = min(cheapest, cost + price * len(stops))
    sides = chain.cheapest(price)
    assert [side.first for side in sides] == [0, *(side.last + 1 for side in sides[:-1])]
    assert sides[-1].last == edges - 1
    found = sum(nats[side.first, side.last] for side in sides) + price * len(sides)
    assert found == pytest.approx(cheapest, rel=1e-6)


def test_the_nearest_line_is_that_of_many_points() -> None:
    rng = np.random.default_rng(3)
    begins = np.cumsum(rng.uniform(0, 5, (6, 2)), axis=0)
    ends = begins + rng.uniform(0.5, 4, (6, 2))
    weights: NDArray[np.float64] = rng.uniform(0.5, 3, 6)
    middles, aheads = nearest_lines(begins, ends, weights)
    shares = (np.arange(2000) + 0.5) / 2000
    for count in range(1, 7):
        spots = np.concatenate(
            [a + shares[:, None] * (b - a) for a, b in zip(begins[:count], ends, strict=False)]
        )
        many = np.repeat(weights[:count], len(shares))
        middle = np.average(spots, axis=0, weights=many)
        spread = np.cov(spots.T, aweights=many)
        ahead = np.linalg.eigh(spread)[1][:, 1]
        assert middles[count - 1] == pytest.approx(middle, rel=1e-9)
        assert abs(ahead @ aheads[count - 1]) == pytest.approx(1, abs=1e-6)
        assert aheads[count - 1] @ (ends[count - 1] - begins[0]) > 0
