"""The fewest mistakes of the pieces of a tile, against all pieces, one by one."""

from __future__ import annotations

import itertools
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from learners.tiles import fewest_mistakes
from learners.tiles.fewest_mistakes import fewest_in_tile, scaled

#: Bins along a side and apexes along a side, few enough to list all pieces.
SIDE, APEXES = 2, 4


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module as Python, with few bins and apexes."""
    monkeypatch.setattr(fewest_mistakes, "SIDE", SIDE)
    monkeypatch.setattr(fewest_mistakes, "APEXES", APEXES)
    monkeypatch.setattr(fewest_mistakes, "_BINS", 4 * SIDE)
    return fewest_mistakes


def around(place: tuple[int, int], point: tuple[int, int], w: int) -> Fraction:
    """How far along the border, counterclockwise, the ray through a point leaves the square."""
    (a, b), (x, y) = place, point
    reached = [Fraction(w - a, x - a)] if x > a else [Fraction(-a, x - a)] if x < a else []
    reached += [Fraction(w - b, y - b)] if y > b else [Fraction(-b, y - b)] if y < b else []
    across, up = a + min(reached) * (x - a), b + min(reached) * (y - b)
    if up == 0 and across < w:
        return across
    if across == w and up < w:
        return w + up
    return 3 * w - across if up == w and across > 0 else 4 * w - up


def bins_from(place: tuple[int, int], points: NDArray[np.int64], w: int) -> list[int]:
    """The bin of every point, -1 for one at the place."""
    return [
        -1 if tuple(point) == place else int(around(place, tuple(point), w) * SIDE / w) % (4 * SIDE)
        for point in points.tolist()
    ]


def all_pieces(points: NDArray[np.int64], w: int) -> dict[int, set[tuple[bool, ...]]]:
    """What the pieces of each number of edges hold of the points."""
    ends = [(w * k // SIDE, 0) for k in range(SIDE)] + [(w, w * k // SIDE) for k in range(SIDE)]
    ends += [(w - x, w - y) for x, y in ends]
    count = 4 * SIDE
    seen = [bins_from(end, points, w) for end in ends]
    chords = {
        (p, q): tuple(p <= b < q for b in seen[p])
        for p, q in itertools.combinations(range(count + 1), 2)
    }
    pieces = {0: {(True,) * len(points)}, 1: set(chords.values()), 2: set()}
    for ((p, q), first), ((r, s), second) in itertools.product(chords.items(), repeat=2):
        if q <= r:
            pieces[2].add(tuple(map(max, first, second)))
        if r <= p and q <= s:
            # what lies beyond the outer one, and the inner one
            pieces[2].add(tuple(a or not b for a, b in zip(first, second, strict=True)))
    steps = [(2 * i + 1) * w // (2 * APEXES) for i in range(APEXES)]
    for apex in itertools.product(steps, repeat=2):
        bins = bins_from(apex, points, w)
        for p, q in itertools.combinations(range(count + 1), 2):
            pieces[2].add(tuple(p <= b < q for b in bins))
    return pieces


def sample(rng: np.random.Generator, width: int, m: int) -> tuple[NDArray[np.int64], ...]:
    places = rng.permutation(2 * width * width)[:m]
    points = np.stack([places // 2 // width, places // 2 % width], axis=1)
    return points, places % 2 == 1, rng.integers(1, 4, m)


@pytest.mark.parametrize("edges", [1, 2])
@pytest.mark.parametrize("edge", [0, 1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_the_fewest_are_those_of_all_pieces(small, seed, edge, edges):
    points, labels, amounts = sample(np.random.default_rng(seed), 4, 14)
    points, w = small.scaled(points, 4)
    held = {edges: np.array(sorted(pieces)) for edges, pieces in all_pieces(points, int(w)).items()}
    least = min(
        int(((inside != (labels ^ swapped)) @ amounts).min()) + edge * count
        for count, inside in held.items()
        for swapped in (False, True)
        if count <= edges
    )
    assert small.fewest_in_tile.py_func(points, labels, amounts, w, edges, edge) == least


def test_what_is_seen_from_a_box_lies_between_what_two_corners_see(small: ModuleType) -> None:
    w = small.scaled(np.zeros((1, 2), dtype=np.int64), 4)[1]
    points = small.scaled(np.array(list(itertools.product(range(4), repeat=2))), 4)[0]
    steps = [(2 * i + 1) * w // (2 * APEXES) for i in range(APEXES)]
    outcome = 0
    for x0, x1, y0, y1 in itertools.product(steps, repeat=4):
        if x0 > x1 or y0 > y1:
            continue
        inside = [
            (x, y) for x, y in itertools.product(steps, repeat=2) if x0 <= x <= x1 and y0 <= y <= y1
        ]
        for point in points:
            x, y = point
            if x0 <= x <= x1 and y0 <= y <= y1:
                continue
            low = small.seen_first(x, y, x0, y0, x1, y1, w)
            high = small.seen_last(x, y, x0, y0, x1, y1, w)
            if low > high:
                continue
            outcome += 1
            for apex in inside:
                assert low <= bins_from(apex, point[None], w)[0] <= high
    assert outcome > 500


def test_compiled_it_is_the_same_and_one_example_changes_it_by_at_most_one() -> None:
    rng = np.random.default_rng(1)
    width = 7
    for m in (5, 30):
        points, labels, _ = sample(rng, width, m)
        places, w = scaled(points, width)
        amounts = np.ones(m, dtype=np.int64)
        before = fewest_in_tile(places, labels, amounts, w, 2, 1)
        assert before == fewest_in_tile.py_func(places, labels, amounts, w, 2, 1)
        changes = set()
        for x, y in rng.integers(0, width, (20, 2)):
            more = np.concatenate([places, scaled(np.array([[x, y]]), width)[0]])
            for label in (False, True):
                after = fewest_in_tile(
                    more, np.append(labels, label), np.ones(m + 1, dtype=np.int64), w, 2, 1
                )
                changes.add(int(after - before))
        assert changes == {0, 1}
