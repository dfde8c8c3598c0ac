"""How many tiles a side: the list, the scores, and the law of the draw."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest
from heard_draws import heard_choices
from numpy.typing import NDArray

from geometry.grid_counts import GridCounts
from geometry.tiling import TileIndex, tile_square
from learners import PolygonUnionLearner
from learners.core.selection import Cancelled
from learners.privacy.randomness import SeededRandom
from learners.tiles import fewest_mistakes as tile_mistakes, tile_choice, tiles
from learners.tiles.fewest_mistakes import fewest_in_tile
from learners.tiles.tile_choice import (
    CHOICE_SHARE,
    LEAST_PAYS,
    candidates,
    choice_rate,
    choose_per_side,
    fewest_mistakes,
    label_rate,
    noisy_mistakes,
    piece_rate,
    scaled,
    usual_per_side,
    wrong_share,
)
from learners.tiles.tiles import plan_tiles

D = 11


def coast(d: int, n: int, seed: int = 0) -> GridCounts:
    """Land below a wave."""
    points = np.random.default_rng(seed).integers(0, d + 1, (n, 2))
    x, y = points.T / d
    return GridCounts.of_examples(points, y < 0.5 + 0.2 * np.sin(17 * x), d)


def with_one_more(counts: GridCounts, point: tuple[int, int], label: bool) -> GridCounts:
    rows = np.repeat(np.arange(len(counts)), counts.amounts)
    points = np.append(counts.points[rows], [point], axis=0)
    return GridCounts.of_examples(points, np.append(counts.labels[rows], label), counts.d)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """A short list for any number of examples."""
    short = {1: 2, 2: 4, 3: 8, 4: 4, 6: 2}
    monkeypatch.setattr(tile_choice, "candidates", lambda *outcome: short)
    return short


# -- the list ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "per_side"),
    [
        (10_000, (2, 3, 5, 7, 9, 13, 18)),
        (100_000, (4, 6, 8, 12, 16, 23, 33)),
        (1_000_000, (7, 10, 15, 21, 29, 41, 58)),
    ],
)
def test_the_list_reaches_from_half_the_usual_number_to_four_times(count, per_side):
    listed = candidates(count, 1.0, 1024)
    assert tuple(listed) == per_side
    assert tuple(listed.values()) == (4, 8, 16, 8, 4, 2, 1)
    assert per_side[2] == usual_per_side(count, 1.0, 1024)
    # what counts is eta times the number of examples
    assert list(candidates(10 * count, 0.1, 1024).items()) == list(listed.items())


def test_numbers_that_fall_together_weigh_as_much_together() -> None:
    assert list(candidates(10**6, 1.0, 31).items()) == [(7, 4), (10, 8), (15, 16), (16, 15)]
    assert candidates(10**15, 1.0, 1 << 20) == {128: 43}


def test_few_examples_have_no_choice() -> None:
    for count, per_side in ((-5, 1), (0, 1), (600, 2), (750, 3), (2500, 3), (LEAST_PAYS - 1, 4)):
        assert candidates(count, 1.0, 1024) == {per_side: 1}
    # a count may be too small
    assert usual_per_side(750, 1.0, 1024) == 2
    assert len(candidates(LEAST_PAYS, 1.0, 1024)) > 1


# -- scores --------------------------------------------------------------------------------


def fewest(points: Any, labels: Any, amounts: Any, *rest: Any) -> int:
    """Of labels and amounts that are read-only, as those of counts are: one loop is compiled."""
    labels.flags.writeable = amounts.flags.writeable = False
    return int(fewest_in_tile(points, labels, amounts, *rest))


@pytest.mark.parametrize("edges", [1, 2])
def test_a_score_is_the_sum_over_its_tiles(edges: int) -> None:
    counts = coast(90, 2000)
    found = []
    for per_side in (1, 3, 4):
        tiles = tile_square(90, per_side)
        rows = TileIndex.of(tiles).groups(counts.points)
        width = max(tile.x1 - tile.x0 for tile in tiles) + 1
        total = 0
        for tile, held in zip(tiles, rows, strict=True):
            points, w = scaled(tile.to_own_frame(counts.points[held]), width)
            total += fewest(points, counts.labels[held], counts.amounts[held], w, edges, 3)
        found.append(total)
    assert fewest_mistakes(counts, (1, 3, 4), edges, 3).tolist() == found
    assert found[0] > found[1] > 0


@pytest.mark.parametrize("most_wide", [1 << 13, 3])
@pytest.mark.parametrize("most_examples", [10**6, 30])
def test_one_example_more_raises_every_score_by_nothing_or_by_one(
    monkeypatch: pytest.MonkeyPatch, most_examples: int, most_wide: int
) -> None:
    """Every place and label, also where scores count part of the grid, or see it coarsened."""
    monkeypatch.setattr(tile_choice, "MOST_WIDE", most_wide)
    monkeypatch.setattr(tile_choice, "MOST_EXAMPLES", most_examples)
    d = 8
    counts, numbers = coast(d, 60), (1, 2, 3, 5)

    def scores(which: GridCounts) -> NDArray[np.int64]:
        share = min(1.0, most_examples / min(60, (d + 1) ** 2))
        kept = which if share == 1 else which.where(tile_choice.kept_of(which.points, share))
        return fewest_mistakes(kept, numbers, 2, 1)

    before, changes = scores(counts), Counter[int]()
    for x, y, label in itertools.product(range(d + 1), range(d + 1), (False, True)):
        changes.update((scores(with_one_more(counts, (x, y), label)) - before).tolist())
    assert set(changes) == {0, 1}
    assert changes[1] > 40


def test_the_grid_points_that_are_kept_are_scattered_and_always_the_same() -> None:
    d = 255
    points = np.stack(np.meshgrid(np.arange(d + 1), np.arange(d + 1)), axis=-1).reshape(-1, 2)
    kept = tile_choice.kept_of(points, 0.2)
    assert (kept == tile_choice.kept_of(points[::-1], 0.2)[::-1]).all()
    for part in kept.reshape(4, 64, 4, 64).mean(axis=(1, 3)).ravel():
        # 4,096 points each: four standard deviations
        assert abs(part - 0.2) < 0.025


def test_only_so_many_examples_are_scored(listed, monkeypatch):
    counts, scored = coast(200, 4000), []

    def fewest(kept: GridCounts, *others: object) -> NDArray[np.int64]:
        scored.append((kept.n, others[2]))
        return np.full(5, 7)

    monkeypatch.setattr(tile_choice, "fewest_mistakes", fewest)
    choose_per_side(counts, 4000, 1.0, 2, SeededRandom(1))
    monkeypatch.setattr(tile_choice, "MOST_EXAMPLES", 1000)
    choose_per_side(counts, 4000, 1.0, 2, SeededRandom(1))
    assert scored[0] == (4000, 5)
    assert scored[1] == (pytest.approx(1000, rel=0.1), 2)
    # a quarter of the examples, a quarter of the mistakes
    assert wrong_share(300, 4000, 200) == pytest.approx(0.3 - 0.03)


# -- the draw ------------------------------------------------------------------------------


def law(
    counts: GridCounts, listed: dict[int, int], rate: float, wrong: float = 0.0
) -> dict[int, float]:
    """Of the draw, if eta is 1: an edge costs 4 nats and a tile .1, and 5 for each wrong label."""
    nat = 1 / min(1 - CHOICE_SHARE, label_rate(wrong))
    scores = fewest_mistakes(counts, tuple(listed), 2, math.ceil(4 * nat))
    scores = scores + np.ceil((0.1 + 5 * wrong) * nat * np.square(list(listed)))
    weights = [
        weight * math.exp(-rate * (score - int(scores.min())))
        for weight, score in zip(listed.values(), scores.tolist(), strict=True)
    ]
    return {m: each / sum(weights) for m, each in zip(listed, weights, strict=True)}


@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_the_draw_follows_its_law(listed: dict[int, int], monkeypatch, wrong: float) -> None:
    counts = coast(60, 700)
    heard = heard_choices(monkeypatch, tile_choice, 3)
    assert choose_per_side(counts, 700, 1.0, 2, SeededRandom(3), wrong=wrong) == [*listed][3]
    ((scores, rate, weights),) = heard
    assert (rate, weights) == (CHOICE_SHARE, [*listed.values()])
    assert len(set(scores)) == len(listed)
    masses = np.array(weights) * np.exp(rate * (np.array(scores) - max(scores)))
    stated = law(counts, listed, CHOICE_SHARE, wrong)
    assert masses / masses.sum() == pytest.approx([*stated.values()], rel=1e-9)


def test_no_neighbour_is_more_than_the_rate_apart() -> None:
    counts, listed, rate = coast(D, 40), {1: 1, 2: 2, 3: 2, 5: 1}, 0.7
    stated, largest = law(counts, listed, rate), 0.0
    for x, y, label in itertools.product(range(D + 1), range(D + 1), (False, True)):
        other = law(with_one_more(counts, (x, y), label), listed, rate)
        for m in listed:
            largest = max(largest, abs(math.log(other[m] / stated[m])))
    assert 0.3 * rate < largest <= rate * (1 + 1e-12)


def test_choice_and_pieces_together_spend_eta(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: dict[str, float] = {}

    def draw_one(source: object, scores: object, rate: float, weights: object) -> int:
        rates["choice"] = rate
        return 0

    def no_steps(counts: GridCounts, **outcome: object) -> list[object]:
        rates["pieces"] = float(str(outcome["eta"]))
        return []

    monkeypatch.setattr(tile_choice, "exponential_index", draw_one)
    monkeypatch.setattr(tiles, "tile_steps", no_steps)
    for n, share in ((2000, 0.0), (8000, CHOICE_SHARE)):
        rates["choice"] = 0.0
        counts = coast(60, n)
        rows = np.repeat(np.arange(len(counts)), counts.amounts)
        points, labels = counts.points[rows], counts.labels[rows]
        list(PolygonUnionLearner(grid=60, seed=1).steps(points, labels))
        eta = plan_tiles(1.0, 1e-6, "add-remove", False, counted=True, chosen=True).eta
        assert rates["choice"] == pytest.approx(share * eta)
        assert rates["choice"] + rates["pieces"] <= eta
        assert rates["choice"] + rates["pieces"] == pytest.approx(eta)
        assert rates == {"choice": choice_rate(n, eta, 60), "pieces": piece_rate(n, eta, 60)}


# -- wrong labels --------------------------------------------------------------------------


@pytest.mark.parametrize(("eta", "per_side", "edge"), [(0.25, 4, 16), (1.0, 6, 4), (9.0, 6, 4)])
def test_mistakes_are_those_of_the_usual_number_with_noise(monkeypatch, eta, per_side, edge):
    """That of a rate of at most 1, and the noise is the one of the stated scale."""
    monkeypatch.setattr(tile_choice, "discrete_laplace", lambda source, scale: int(10 * scale))
    counts = coast(60, 700)
    least = int(fewest_mistakes(counts, (per_side,), 2, edge)[0])
    found = noisy_mistakes(counts, 28_000, eta, 2, Fraction(3, 2), SeededRandom(5))
    assert found == least + 15


def test_a_share_of_wrong_labels_lies_between_nothing_and_a_third() -> None:
    shares = [wrong_share(mistakes, 10_000, 1024) for mistakes in (-400, 0, 300, 1300, 5000)]
    assert shares == [0, 0, 0, pytest.approx(0.1), pytest.approx(1 / 3)]


def test_no_piece_is_drawn_more_sharply_than_labels_are_worth() -> None:
    """At the rate of the posterior: ln(7/3) where three labels in ten are wrong."""
    assert label_rate(0.3) == pytest.approx(math.log(7 / 3))
    assert label_rate(0.0) == math.inf
    assert piece_rate(10_000, 5.0, 1024) == pytest.approx(4.75)
    assert piece_rate(10_000, 5.0, 1024, 0.3) == label_rate(0.3)
    assert piece_rate(10_000, 0.5, 1024, 0.3) == piece_rate(10_000, 0.5, 1024)
    # and tiles are as many as that rate asks for
    assert list(candidates(10_000, 5.0, 1024, 0.3))[2] == usual_per_side(
        10_000, label_rate(0.3), 1024
    )
    # where few examples leave no choice, there is none with wrong labels either
    assert candidates(1000, 1.0, 1024, 0.3) == candidates(1000, 1.0, 1024)


@cache
def fitted(wrong: float) -> tuple[PolygonUnionLearner, float, float]:
    """A learner of a half with so large a share of wrong labels, the share there is, and the side
    of a square that tidying takes for one nat."""
    rng = np.random.default_rng(8)
    points = rng.integers(0, 257, (10_000, 2))
    flipped = rng.random(10_000) < wrong
    model = PolygonUnionLearner(grid=256, epsilon=5.0, seed=4)
    with mock.patch.object(tiles, "tidied", wraps=tiles.tidied) as tidied:
        model.fit(points, (points.sum(axis=1) < 300) ^ flipped)
    return model, float(flipped.mean()), tidied.call_args[0][1]


@pytest.mark.parametrize(("wrong", "errors"), [(0.0, 0.01), (0.2, 0.025)])
def test_wrong_labels_are_seen_and_not_followed(wrong: float, errors: float) -> None:
    """At a large epsilon pieces would follow them, and seven points in a hundred be wrong."""
    model, share, _ = fitted(wrong)
    public = dict(model.release_.parameters)
    assert public["noisy_mistakes"] / 10_000 == pytest.approx(share, abs=0.03)
    found = wrong_share(public["noisy_mistakes"], public["noisy_count"], 256)
    assert public.get("wrong_labels", 0.0) == found
    assert (found > 0) == (share > 0.1)
    grid = np.indices((257, 257)).reshape(2, -1).T
    assert np.mean(model.predict(grid) != (grid.sum(axis=1) < 300)) < errors


def test_tidying_counts_wrong_labels_out() -> None:
    """An example in what changes its label speaks against it once less 2w times."""
    model, _, unit = fitted(0.2)
    public = dict(model.release_.parameters)
    count, wrong = public["noisy_count"], public["wrong_labels"]
    assert wrong > 0.1
    nats = count * label_rate(wrong) * (1 - 2 * wrong) * unit**2 / 256**2
    assert nats == pytest.approx(1)


def test_a_cancelled_choice_draws_nothing(listed: dict[int, int]) -> None:
    def watch(progress: object) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        choose_per_side(coast(60, 700), 700, 1.0, 2, SeededRandom(1), watch)


# -- the fewest mistakes, against all pieces one by one -------------------------------------

#: Bins along a side and apexes along a side, few enough to list all pieces.
SIDE, APEXES = 2, 4


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module as Python, with few bins and apexes."""
    monkeypatch.setattr(tile_mistakes, "SIDE", SIDE)
    monkeypatch.setattr(tile_mistakes, "APEXES", APEXES)
    monkeypatch.setattr(tile_mistakes, "_BINS", 4 * SIDE)
    return tile_mistakes


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


def sample(rng: np.random.Generator, width: int, m: int) -> tuple[NDArray[np.int64], ...]:
    places = rng.permutation(2 * width * width)[:m]
    points = np.stack([places // 2 // width, places // 2 % width], axis=1)
    return points, places % 2 == 1, rng.integers(1, 4, m)


def a_sample(seed: int) -> tuple[NDArray[np.int64], ...]:
    return sample(np.random.default_rng(seed), 4, 14)


@cache
def all_pieces(seed: int) -> dict[int, NDArray[np.bool_]]:
    """What the pieces of each number of edges hold of that sample's points."""
    points, w = scaled(a_sample(seed)[0], 4)
    w = int(w)
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
    return {edges: np.array(sorted(held)) for edges, held in pieces.items()}


@pytest.mark.parametrize("edges", [1, 2])
@pytest.mark.parametrize("edge", [0, 1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_the_fewest_are_those_of_all_pieces(small, seed, edge, edges):
    points, labels, amounts = a_sample(seed)
    points, w = scaled(points, 4)
    least = min(
        int(((inside != (labels ^ swapped)) @ amounts).min()) + edge * count
        for count, inside in all_pieces(seed).items()
        for swapped in (False, True)
        if count <= edges
    )
    assert small.fewest_in_tile.py_func(points, labels, amounts, w, edges, edge) == least


def test_what_is_seen_from_a_box_lies_between_what_two_corners_see(small: ModuleType) -> None:
    w = scaled(np.zeros((1, 2), dtype=np.int64), 4)[1]
    points = scaled(np.array(list(itertools.product(range(4), repeat=2))), 4)[0]
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
        before = fewest(places, labels, amounts, w, 2, 1)
        assert before == fewest_in_tile.py_func(places, labels, amounts, w, 2, 1)
        changes = set()
        for x, y in rng.integers(0, width, (20, 2)):
            more = np.concatenate([places, scaled(np.array([[x, y]]), width)[0]])
            for label in (False, True):
                after = fewest(
                    more, np.append(labels, label), np.ones(m + 1, dtype=np.int64), w, 2, 1
                )
                changes.add(int(after - before))
        assert changes == {0, 1}
